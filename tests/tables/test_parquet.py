"""Parquet files in and out."""

import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from rejo.tables import (  # noqa: E402
    TableEncoder,
    TableError,
    TableWriter,
    read_chunks,
    read_table,
)

N = 300


@pytest.fixture
def table():
    random = np.random.RandomState(0)
    return pa.table(
        {
            "id": pa.array([f"{i:04d}" for i in range(N)]),
            "n": pa.array([None if i % 9 == 0 else i * i for i in range(N)], pa.int64()),
            "price": pa.array([Decimal(i * i) / 100 for i in range(N)], pa.decimal128(12, 2)),
            "day": pa.array([date(2020, 1, 1 + i % 28) for i in range(N)]),
            "time": pa.array(
                [1_600_000_000 + i**2 for i in range(N)], pa.timestamp("s", "Europe/Berlin")
            ),
            "flag": pa.array((random.rand(N) < 0.5).tolist()),
            "job": pa.array(random.choice(["a", "b", "c"], N).tolist()).dictionary_encode(),
        }
    )


@pytest.fixture
def path(tmp_path, table):
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=64)
    return tmp_path / "table.parquet"


def test_types(path):
    table = read_table(path, text=["id"])
    kinds = TableEncoder().fit(table.frame.drop(columns="id")).kinds_
    assert kinds == {
        "n": "number",
        "price": "number",
        "day": "date",
        "time": "date",
        "flag": "category",
        "job": "category",
    }
    assert table.frame["id"].tolist()[:2] == ["0000", "0001"]
    assert set(table.frame["flag"]) == {"True", "False"}
    assert table.frame["n"].isna().sum() == (N + 8) // 9


@pytest.mark.parametrize("rows", [50, 1000])
def test_chunks_agree_with_the_whole_table(path, rows):
    whole = read_table(path, text=["id"]).frame
    encoder = TableEncoder().fit(whole.drop(columns="id"))
    frames = list(read_chunks(path, encoder, text=["id", "x"], optional=["x"], rows=rows))
    assert max(map(len, frames)) <= rows
    assert [i for f in frames for i in f.index] == list(range(N))
    assert [v for f in frames for v in f["id"]] == whole["id"].tolist()
    pieces = np.concatenate([encoder.transform(f) for f in frames])
    np.testing.assert_array_equal(pieces, encoder.transform(whole))


WORDS = [None, "", " a", "b ", "a", "é", "\u3000x", "001", "1" * 40]


@pytest.mark.parametrize("how", [{}, {"use_dictionary": False}, {"row_group_size": 700}])
def test_words_are_the_same_with_and_without_dictionaries(tmp_path, how):
    words = [WORDS[i % 97] if i % 97 < len(WORDS) else f"A{i // 2}" for i in range(2000)]
    jobs = [("clerk", "cook ", None)[i % 3] for i in range(2000)]
    pq.write_table(
        pa.table({"id": words, "job": jobs, "n": range(2000)}), tmp_path / "a.parquet", **how
    )
    encoder = TableEncoder().fit(pd.DataFrame({"job": ["clerk", "cook"] * 30, "n": [1.5, 2] * 30}))
    frame = pd.concat(read_chunks(tmp_path / "a.parquet", encoder, text=["id"], rows=600))
    expected = [None if word is None else word.strip() or None for word in words]
    assert frame["id"].tolist() == expected
    assert frame["n"].tolist() == list(range(2000))
    assert frame["job"].astype(object).fillna("").tolist()[:3] == ["clerk", "cook", ""]


def test_whole_numbers_as_texts_have_no_decimals(path):
    assert read_table(path, text=["n"]).frame["n"].tolist()[:3] == [None, "1", "4"]
    encoder = TableEncoder().fit(read_table(path).frame[["price"]])
    (frame,) = read_chunks(path, encoder, text=["n"])
    assert frame["n"].tolist()[:3] == [None, "1", "4"]


def test_files_that_cannot_be_used(path, tmp_path, table):
    encoder = TableEncoder().fit(read_table(path).frame[["n", "day"]])
    bad = tmp_path / "bad.parquet"

    def refused(content, read=lambda: list(read_chunks(bad, encoder))):
        if isinstance(content, bytes):
            bad.write_bytes(content)
        else:
            pq.write_table(content, bad)
        with pytest.raises(TableError) as caught:
            read()
        assert str(caught.value).isprintable()
        assert str(bad) in str(caught.value)
        return str(caught.value)

    assert "not a Parquet file" in refused(b"a,b\n1,2\n")
    assert "not a Parquet file" in refused(path.read_bytes()[:-100])
    assert "no column 'n'" in refused(table.drop_columns(["n"]))
    nested = pa.table({"n": [[1], [2]]})
    assert "not single values" in refused(nested, lambda: read_table(bad))


def test_a_cell_that_cannot_be_read_is_one_row_in_doubt(path, table):
    encoder = TableEncoder(reading={"time": None}).fit(read_table(path).frame[["n", "day"]])
    numbers = [*map(str, range(N - 2)), "12 or so", None]
    days = ["2020-01-05"] * (N - 3) + ["soon", "2020-01-01", None]
    table = table.set_column(1, "n", pa.array(numbers)).set_column(3, "day", pa.array(days))
    pq.write_table(table, path)
    (frame,) = read_chunks(path, encoder)
    doubts = {row: found[0] for row, found in encoder.check(frame).doubts.items()}
    assert doubts.keys() >= {N - 3, N - 2}
    assert str(doubts[N - 3]) == "day: 'soon' is not a date"
    assert str(doubts[N - 2]) == "n: '12 or so' is not a number"
    assert frame["n"].tolist()[: N - 2] == list(range(N - 2))


def test_no_rows(path, table):
    encoder = TableEncoder().fit(read_table(path).frame[["n", "day"]])
    pq.write_table(table[:0], path)
    (frame,) = read_chunks(path, encoder)
    assert encoder.transform(frame).shape[0] == 0


def test_writing(tmp_path):
    path = tmp_path / "out.parquet"
    first = pd.DataFrame({"id": [None, None], "risk": [0.5, np.nan], "n": [1, 2]})
    second = pd.DataFrame({"id": ["=1", "b"], "risk": [1.0, 2.0], "n": [3, 4]})
    with TableWriter(path) as writer:
        writer.write(first)
        writer.write(second)
    found = pq.read_table(path).to_pydict()
    assert found["id"] == [None, None, "=1", "b"]  # no spreadsheet runs these
    assert found["n"] == [1, 2, 3, 4]
    with pytest.raises(FileExistsError), TableWriter(path) as writer:
        pass


def test_without_pyarrow_the_error_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"rejo\[tables\]"):
        read_table(path)


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([True, False], ["True", "False"]),
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], ["1", "2"]),
        ([1.5, 2.0], ["1.5", "2"]),
    ],
)
def test_words_that_are_not_strings_in_the_file(tmp_path, values, words, gap):
    gaps = [None] * gap
    known = pd.DataFrame({"w": pd.Series([*words * 20, *gaps], dtype=object)})
    encoder = TableEncoder(min_count=1).fit(known)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"w": [*values * 20, *gaps]}), path)
    expected = encoder.transform(known)
    for rows in (1, 1000):
        frames = list(read_chunks(path, encoder, rows=rows))
        pieces = np.concatenate([encoder.transform(frame) for frame in frames])
        np.testing.assert_array_equal(pieces, expected)
        reasons = {r for frame in frames for r in encoder.check(frame).reasons().values()}
        assert reasons == ({"the row is empty"} if gap else set())
    np.testing.assert_array_equal(encoder.transform(read_table(path).frame), expected)


@pytest.mark.parametrize("value", [1e200, float("-inf")])
def test_a_number_that_would_overflow(tmp_path, value):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": [1.0, 1e100, value]}), path)
    encoder = TableEncoder().fit(pd.DataFrame({"v": [1.0, 2.0, 4.0]}))
    with pytest.raises(TableError, match="row 3, column 'v'"):
        read_table(path)
    assert sum(map(len, read_chunks(path, encoder, rows=2))) == 3


def test_names_are_kept_as_they_are_written(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["NA", "", None, "?"], "v": [1.0, 2.0, 4.0, 8.0]}), path)
    assert read_table(path, text=["id"]).frame["id"].tolist() == ["NA", None, None, "?"]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_strings_that_repeat_late_in_a_file(tmp_path, kind):
    """The first piece has plain strings, the second one a dictionary."""
    words = [f"u{i}" for i in range(100_000)] + ["same"] * 100_000
    column = pa.array(words, getattr(pa, kind)())
    pq.write_table(pa.table({"id": column, "n": range(200_000)}), tmp_path / "a.parquet")
    for how in ({"text": ["id"]}, {"words": ["id"]}):
        assert read_table(tmp_path / "a.parquet", **how).frame["id"].tolist() == words
