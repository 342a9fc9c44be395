"""Names of cases: strings that stay as they are, and repeat or not."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from rejo.scoring.names import Ids, hashes_of, names_of, packed, unpacked  # noqa: E402

ODD = ["0001", "", "ä", "a\nb", "x" * 63, "x" * 64, "x" * 65, "x" * 1000, "日本", "'=1+2", "0"]


@pytest.fixture(params=[True, False], ids=["pyarrow", "without"])
def arrow(request, monkeypatch):
    """Whether pyarrow is installed."""

    def missing():
        raise ImportError

    if request.param:
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr("rejo.scoring.names.import_pyarrow", missing)


@pytest.mark.usefixtures("arrow")
def test_names_go_and_come_back():
    column = pd.Series([*ODD, None, np.nan], dtype=object)
    names = names_of(column)
    assert names.tolist() == [*ODD, "", ""]
    assert unpacked(packed(names)).tolist() == names.tolist()
    assert unpacked(packed(None)) is None
    nothing = names_of(column[:0])
    assert unpacked(packed(nothing)).tolist() == []


@pytest.mark.usefixtures("arrow")
def test_other_values_become_strings():
    assert names_of(pd.Series([7, 8])).tolist() == ["7", "8"]
    assert names_of(pd.Series(["a", 5, None], dtype=object)).tolist() == ["a", "5", ""]
    half = names_of(pd.Series(["a\ud800", None], dtype=object))
    assert half.tolist() == ["a\\ud800", ""]
    assert unpacked(packed(half)).tolist() == half.tolist()


@pytest.mark.usefixtures("arrow")
def test_a_hash_depends_on_the_string_alone():
    random = np.random.default_rng(0)
    words = [*ODD, *("".join(random.choice(list("ab"), n)) for n in random.integers(0, 70, 500))]
    words = list(dict.fromkeys(words))
    hashes = hashes_of(pd.Series(words, dtype=object))
    assert len(set(hashes.tolist())) == len(words)
    alone = [hashes_of(pd.Series([word], dtype=object))[0] for word in words]
    np.testing.assert_array_equal(hashes, alone)
    some = pd.Series([*ODD, *words], dtype=object)[len(ODD) :]  # not from the beginning
    np.testing.assert_array_equal(hashes_of(names_of(some)), hashes)


def test_similar_names_differ_in_half_of_the_bits():
    pytest.importorskip("pyarrow")
    hashes = hashes_of(pd.Series([f"{i:08d}" for i in range(20_000)], dtype=object))
    assert len(np.unique(hashes)) == 20_000
    bits = np.unpackbits((hashes[1:] ^ hashes[:-1]).view(np.uint8)).reshape(-1, 64)
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.02


@pytest.mark.usefixtures("arrow")
def test_ids_that_repeat():
    random = np.random.default_rng(0)
    names = random.choice([f"n{i}" for i in range(800)] + [""], 1000)
    together, first, second = Ids(), Ids(), Ids()
    for part in np.array_split(names, 3):
        together.add(names_of(pd.Series(part, dtype=object)))
    first.add(names_of(pd.Series(names[:400], dtype=object)))
    second.add(names_of(pd.Series(names[400:], dtype=object)))
    first.merge(second)
    seen = pd.Series(names[names != ""])
    for ids in (together, first):
        assert ids.n_repeated == seen.duplicated().sum()
        assert ids.n_empty == (names == "").sum()
    first.forget()
    assert first.n_repeated == 0
