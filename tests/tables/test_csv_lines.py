"""Lines of a CSV file by pyarrow: the bytes that Python writes."""

import io
import threading
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

from rejo.tables import TableWriter, _csv_lines, _writer  # noqa: E402
from rejo.tables._csv_lines import LEAST, MOST, lines_of  # noqa: E402
from rejo.tables._csv_texts import texts_of_cells  # noqa: E402

text = st.text("ab0 =+-@＝,;\"'\t\r\n_é\u200b\ud800", max_size=8)  # noqa: RUF001
plain = st.text("abcXYZ0189-_./ é", min_size=1, max_size=8)
number = (
    st.floats()
    | st.integers(-(10**17), 10**17).map(float)
    | st.decimals(-1000, 1000, places=4, allow_nan=False).map(float)
)
columns = {
    "float64": number,
    "float32": st.floats(width=32),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint8": st.integers(0, 255),
    "Int64": st.none() | st.integers(-(2**63), 2**63 - 1),
    "Float64": st.none() | st.floats(allow_nan=False),
    "bool": st.booleans(),
    "object": st.none() | text,
    "string": st.none() | plain,
    "category": st.none() | text.filter(str.isascii),
    "datetime64[us]": st.none() | st.datetimes(),
}


def by_python(frame, sep):
    """The lines of a frame, cell by cell."""
    cells = [texts_of_cells(frame.iloc[:, i], alone=False) for i in range(frame.shape[1])]
    lines = [sep.join(row) + "\n" for row in zip(*cells, strict=True)]
    return "".join(lines).encode("utf-8", "backslashreplace")


@given(data=st.data(), n=st.integers(1, 12), sep=st.sampled_from(",\t"))
def test_the_bytes_are_those_of_python(data, n, sep):
    dtypes = data.draw(st.lists(st.sampled_from(sorted(columns)), min_size=2, max_size=4))
    found = {
        i: pd.Series(data.draw(st.lists(columns[dtype], min_size=n, max_size=n)), dtype=dtype)
        for i, dtype in enumerate(dtypes)
    }
    frame = pd.DataFrame(found)
    with patch.object(_csv_lines, "FEW", data.draw(st.sampled_from([0, 100]))):
        assert bytes(lines_of(frame, sep, pa)) == by_python(frame, sep)


@given(
    few=st.sampled_from([0, 100]),
    cells=st.lists(st.none() | plain | text | st.integers(0, 1) | st.booleans(), min_size=1),
)
def test_objects_of_several_types_are_written_as_by_python(few, cells):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": range(len(cells))})
    with patch.object(_csv_lines, "FEW", few):
        assert bytes(lines_of(frame, ",", pa)) == by_python(frame, ",")


@given(values=st.lists(st.integers(-1, 10_002).map(lambda n: n / 10_000) | st.just(np.nan)))
@example(values=[-0.0, 0.0, 1.0, 0.5, 0.0001, 1e-4 + 1e-20, 0.9999])
def test_rates_in_four_decimals_look_as_in_python(values):
    frame = pd.DataFrame({"a": values, "b": np.flip(values)}, dtype=np.float64)
    assert bytes(lines_of(frame, ",", pa)) == by_python(frame, ",")


def test_numbers_near_the_limits_of_pyarrow_look_as_in_python():
    around = [1e-5, LEAST, 1.0, 1e6, MOST, 1e15, 1e16, 2.0**53, 5e-324, 1.7976931348623157e308]
    around = np.array(around)
    values = np.concatenate([around, -around, np.nextafter(around, 0), np.nextafter(around, 1e9)])
    frame = pd.DataFrame({"a": values, "b": values[::-1]})
    assert bytes(lines_of(frame, ",", pa)) == by_python(frame, ",")


@pytest.mark.parametrize("words", [3, 5000])
def test_a_large_table_has_the_same_bytes(tmp_path, monkeypatch, words):
    rng = np.random.default_rng(0)
    n = 25_000
    frame = pd.DataFrame(
        {
            "id": [f"A-{i:06d}" for i in range(n)],
            "word": np.array([f"w {i}" for i in range(words)], dtype=object)[
                rng.integers(words, size=n)
            ],
            "number": rng.normal(size=n).round(4),
            "rank": pd.array(np.where(rng.random(n) < 0.5, None, np.arange(n)), dtype="Int64"),
        }
    )
    for name, fewest in (("fast.csv", 1), ("slow.csv", n + 1)):
        monkeypatch.setattr(_writer, "FEWEST", fewest)
        with TableWriter(tmp_path / name) as writer:
            writer.write(frame)
    assert (tmp_path / "fast.csv").read_bytes() == (tmp_path / "slow.csv").read_bytes()


def test_no_thread_is_left_after_an_error(tmp_path):
    frame = pd.DataFrame({"a": range(30_000), "b": "word"})
    before = set(threading.enumerate())

    def interrupted():
        with TableWriter(tmp_path / "a.csv") as writer:
            writer.write(frame)
            assert set(threading.enumerate()) != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert set(threading.enumerate()) == before
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_and_leaves_no_thread(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            if len(data) > 1000:
                raise OSError(28, "No space left on device")
            return len(data)

    before = set(threading.enumerate())
    monkeypatch.setattr("sys.stdout", type("Out", (), {"buffer": Full()}))
    with pytest.raises(OSError, match="No space"), TableWriter("-") as writer:
        writer.write(pd.DataFrame({"a": range(30_000), "b": "word"}))
    assert set(threading.enumerate()) == before
