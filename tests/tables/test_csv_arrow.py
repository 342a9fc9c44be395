"""Blocks of a CSV file by pyarrow: the frames of the careful reader, bit for bit."""

import sys
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

from rejo.tables import TableEncoder, TableError, TableWriter, read_chunks  # noqa: E402
from rejo.tables._csv import CsvFile  # noqa: E402
from rejo.tables._csv_arrow import ArrowParser, exact_numbers  # noqa: E402
from tests.some_and_many import some_and_many  # noqa: E402

ENCODER = TableEncoder().fit(
    pd.DataFrame(
        {
            "x": [0.5, 1.5, 2.25, None] * 30,
            "y": [100.0, 2000.0, 150.5] * 40,
            "job": ["clerk", "cook", "New York", None] * 30,
            "day": pd.to_datetime(["2020-01-01", "2021-05-06", "2022-11-30"] * 40),
        }
    )
)
NAMES = ["id", "x", "job", "day", "left out", "y"]

plain_number = st.decimals(-1000, 10_000, places=3).map(str) | st.integers(-999, 10**6).map(str)
long_number = st.floats(allow_nan=False, allow_infinity=False).map(repr)
digits = st.from_regex(r"-?[0-9]{0,18}\.?[0-9]{0,18}(e[-+]?[0-9]{1,3})?", fullmatch=True)
ODD_NUMBERS = (
    "+5 .5 5. -0 007 1e5 3E-7 1e22 2.5e300 1e-320 1e400 inf -Infinity nan NaN NAN -nan NA n/a - . "
    "None none null ? 1,5 1.234,5 1,234.5 2.100 $5 (5) 5kg 5% 0x10 1_000 abc TRUE --5 1.2.3"
)
odd_number = st.sampled_from(ODD_NUMBERS.split(" ")) | st.sampled_from(
    ["", " ", " 1.5", "1.5 ", "\t1.5", "1 000", "1\u00a0000", "\u0661"]
)
plain_word = st.sampled_from(["clerk", "cook", "New York", "baker", "é"])
odd_word = st.sampled_from(
    ["", " ", "NA", " NA", "NA ", "nan", "None", "?", "TRUE", "007", "1.0", " cook", "cook ",
     "COOK", "\u3000cook", "new  york", "o'neil", 'a "b"', "x\x0b", "999"]
)  # fmt: skip
plain_day = st.dates().map(str)
ODD_DAYS = (
    "31.12.2020 12/31/2020 01/02/2020 2020-13-01 2020-02-30 0000-01-01 2020-1-1 2020 n/a today "
    "2020-01-01T10:00 2020-01-01T10:00+02:00 20200101"
)
odd_day = st.sampled_from(ODD_DAYS.split(" ")) | st.sampled_from(
    ["", " 2020-01-01", "2020-01-01 ", "2020-01-01 10:30:00"]
)
plain_id = st.integers(0, 10**8).map("{:08d}".format)
odd_id = st.text("a0 é\u00a0\x1f.-", max_size=6) | st.sampled_from(["NA", "nan", "1e5", "TRUE"])

clean = st.tuples(plain_id, plain_number, plain_word, plain_day, plain_word, plain_number)
gaps = st.sampled_from(["", "NA", "?", "n/a"])
cells = [
    plain_id | odd_id,
    plain_number | long_number | digits | odd_number,
    plain_word | odd_word,
    plain_day | odd_day,
    plain_word | odd_word,
    plain_number | long_number | gaps,
]


def written(rows, sep=",", end="\n", quoted=()):
    """A file of these rows; cells of ``quoted`` columns, and those that need it, have quotes."""

    def cell(text, place):
        if place in quoted or any(c in text for c in (sep, '"', "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [sep.join(cell(text, i) for i, text in enumerate(row)) + end for row in rows]
    return (sep.join(NAMES) + end + "".join(lines)).encode()


def frames(path, fast, **options):
    """All chunks of a file, or the message of the error, and how many blocks pyarrow has read."""
    found, n_fast = [], 0
    columns = ArrowParser.columns

    def counted(self, *arguments):
        nonlocal n_fast
        read = columns(self, *arguments) if fast else None
        n_fast += read is not None
        return read

    with (
        patch.object(ArrowParser, "columns", counted),
        patch("rejo.tables._csv_arrow.SMALLEST", 0),
    ):
        try:
            found.extend(read_chunks(path, ENCODER, text=["id"], rows=30, **options))
        except TableError as error:
            found.append(str(error))
    return found, n_fast


def same(path, **options):
    """Compare both ways; return the number of blocks that pyarrow has read."""
    fast, n_fast = frames(path, True, **options)
    slow, none = frames(path, False, **options)
    assert none == 0
    assert len(fast) == len(slow)
    for one, two in zip(fast, slow, strict=True):
        if isinstance(one, str) or isinstance(two, str):
            assert one == two
            continue
        pd.testing.assert_frame_equal(one, two, check_exact=True)
        assert one.attrs == two.attrs
        assert one.index.equals(two.index)
        for name in one.columns:
            a, b = one[name], two[name]
            assert a.dtype == b.dtype
            if a.dtype == np.float64:
                np.testing.assert_array_equal(
                    a.to_numpy().view(np.int64), b.to_numpy().view(np.int64)
                )
            elif a.dtype == object:
                assert [*map(repr, a)] == [*map(repr, b)]
                assert [*map(type, a)] == [*map(type, b)]
            elif a.dtype == "category":
                assert [*map(type, a.cat.categories)] == [*map(type, b.cat.categories)]
                assert a.cat.categories.tolist() == b.cat.categories.tolist()
    return n_fast


styles = st.fixed_dictionaries(
    {
        "sep": st.sampled_from(",;\t|"),
        "end": st.sampled_from(["\n", "\r\n"]),
        "quoted": st.sets(st.integers(0, 5)),
    }
)


def clean_files_are_read_by_pyarrow(tmp_path_factory, rows, style):
    path = tmp_path_factory.mktemp("c") / "a.csv"
    path.write_bytes(written(rows * (800 // len(rows)), **style))
    assert same(path) > 3


test_clean_files, test_many_clean_files = some_and_many(
    clean_files_are_read_by_pyarrow,
    5,
    20,
    rows=st.lists(clean, min_size=5, max_size=20),
    style=styles,
)


def test_missing_numbers_do_not_need_the_careful_reader(tmp_path):
    rows = [("01", gap, "cook", "2020-01-01", "", "1.5") for gap in ("", "NA", "?", "n/a", "-")]
    (tmp_path / "a.csv").write_bytes(written(rows * 200))
    assert same(tmp_path / "a.csv") > 3


def files_with_a_few_odd_cells(tmp_path_factory, rows, odd, style, decimal, missing, data):
    path = tmp_path_factory.mktemp("m") / "a.csv"
    all_rows = [list(rows[i % len(rows)]) for i in range(800)]
    for row, column in odd:
        all_rows[row][column] = data.draw(cells[column])
    if decimal == "," and style["sep"] != ",":
        all_rows = [[c.replace(".", ",") if i in (1, 5) else c for i, c in enumerate(row)]
                    for row in all_rows]  # fmt: skip
    path.write_bytes(written(all_rows, **style))
    same(path, decimal=decimal, missing=missing)


test_odd_cells, test_many_odd_cells = some_and_many(
    files_with_a_few_odd_cells,
    10,
    40,
    rows=st.lists(clean, min_size=3, max_size=10),
    odd=st.lists(st.tuples(st.integers(0, 799), st.integers(0, 5)), max_size=4),
    style=styles,
    decimal=st.sampled_from([None, ",", "."]),
    missing=st.sampled_from([[], ["999"], ["none at all"]]),
    data=st.data(),
)


@example(values=["0.1234567890123456", "12345678901234567890", "9007199254740993"])
@example(values=["123456789012345", "0.00000000000001", "99999999999999.9", "1.5e-7", "1e23"])
def every_number_is_that_of_the_careful_reader(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("n") / "a.csv"
    rows = [("01", "1.5", "cook", "2020-01-01", "", "0.25")] * 150
    rows += [("01", values[i % len(values)], "cook", "2020-01-01", "", "0.25") for i in range(300)]
    path.write_bytes(written(rows))
    same(path)


test_numbers, test_many_numbers = some_and_many(
    every_number_is_that_of_the_careful_reader,
    10,
    40,
    values=st.lists(digits | long_number | plain_number, min_size=1, max_size=30),
)


def test_long_numbers_are_left_to_a_pandas_that_does_not_round(tmp_path):
    """An older pandas is as if it read other numbers: only columns of short ones are taken."""
    rows = [("01", "1.5", "cook", "2020-01-01", "", "0.1234567890123456")] * 800
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows))
    left = set()
    parse = CsvFile.parse

    def noted(self, block, columns, dtypes, *others):
        left.add(tuple(columns))
        return parse(self, block, columns, dtypes, *others)

    with (
        patch("rejo.tables._csv_arrow.pandas_rounds", lambda: False),
        patch.object(CsvFile, "parse", noted),
    ):
        assert frames(path, True)[1] > 3
        assert ("y",) in left
        assert ("x",) not in left
        assert same(path) > 3


@pytest.mark.parametrize(
    ("number", "always", "if_rounded"),
    [
        (-0.0, True, True),
        (1e-7, True, True),
        (-1e15, True, True),
        (1e-8, False, True),
        (1e16, False, True),
        (np.inf, False, False),
        (np.nan, False, False),
    ],
)
def test_numbers_that_both_read_alike(number, always, if_rounded):
    array = pa.array([1.5, number, None])
    for rounds, expected in ((False, always), (True, if_rounded)):
        found = exact_numbers(array, rounds)
        assert (found is not None) == expected
        if expected:
            np.testing.assert_array_equal(found, [1.5, number, np.nan])


LINE = b"01,1.5,cook,2020-01-01,x,2.5\n"


@pytest.mark.parametrize(
    "odd",
    [
        b"\n",
        b"   \n",
        b",,,,,\n",
        b"01,1.5,cook\n",
        b"01,1.5,cook,2020-01-01,x,2.5,7\n",
        b'"01","1.5","cook","2020-01-01","x","2.5"\n',
        b'01,1.5,"a\nb",2020-01-01,x,2.5\n',
        b'01,1.5,"a ""b""",2020-01-01,x,2.5\n',
        b'01,1.5,5" pipe,2020-01-01,x,2.5\n',
        b'01,1.5, "cook",2020-01-01,x,2.5\n',
        b'01,1.5,"cook"x,2020-01-01,x,2.5\n',
        b'01,1.5,"a,b",2020-01-01,x,2.5\n',
        b'"",1.5,"",2020-01-01,x,""\n',
        b"01,1.5,cook,2020-01-01,x,2.5\r\n",
        b"01,1.5,co\rok,2020-01-01,x,2.5\n",
        b"01,1.5,cook,2020-01-01,x,2.5\r",
        b"01,1.5,co\0ok,2020-01-01,x,2.5\n",
        b"01,1.5,\xff,2020-01-01,x,2.5\n",
        "01,1.5,é\u2028,2020-01-01,x,2.5\n".encode(),
        b"#01,1.5,cook,2020-01-01,x,2.5\n",
        b"id,x,job,day,left out,y\n",
        b"01," + b"1" * 400 + b",cook,2020-01-01,x,2.5\n",
        b"01,1.5," + b"w" * 200_000 + b",2020-01-01,x,2.5\n",
    ],
)
def test_odd_lines_among_clean_ones(tmp_path, odd):
    path = tmp_path / "a.csv"
    for before in (0, 300, 799):
        lines = [LINE] * 800
        lines.insert(before, odd)
        path.write_bytes(",".join(NAMES).encode() + b"\n" + b"".join(lines))
        same(path)


def test_decimal_commas(tmp_path):
    rows = [("01", "1,5", "cook", "2020-01-01", "", "2,25")] * 800
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows, sep=";"))
    assert same(path) > 3


@pytest.mark.parametrize("missing", ["999", "-1", "1e3", "inf"])
def test_numbers_that_mean_a_missing_value(tmp_path, missing):
    cells = (missing, missing + ".0", "999.0", "-1.00", "1000", "7")
    rows = [("01", cell, cell, "2020-01-01", "", "2.5") for cell in cells] * 150
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows))
    same(path, missing=[missing])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_other_encodings(tmp_path, encoding):
    rows = [("é1", "1.5", "cook", "2020-01-01", "ü", "2.5")] * 800
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows).decode().encode(encoding))
    assert same(path, encoding=encoding if encoding == "latin-1" else None) > 3


def test_old_line_ends_and_no_line_end_at_the_end(tmp_path):
    rows = [("01", "1.5", "cook", "2020-01-01", "", "2.5")] * 800
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows, end="\r"))
    assert same(path) > 3
    path.write_bytes(written(rows).rstrip(b"\n"))
    assert same(path) > 3


def test_columns_that_are_separated_by_blanks(tmp_path):
    path = tmp_path / "a.csv"
    names = "  ".join(name.replace(" ", "") for name in NAMES)
    path.write_text(names + "\n" + "01  1.5 cook 2020-01-01   x 2.5\n" * 800)
    assert same(path, sep=" ") > 3


def test_a_column_that_stops_being_numbers(tmp_path):
    rows = [("01", "1.5", "cook", "2020-01-01", "", "2.5")] * 400
    rows += [("01", "1.5 kg", "cook", "2020-01-01", "", "2.5")] * 400
    rows += [("01", "7", "cook", "1.2.2020", "", "2.5")] * 400
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows))
    assert same(path) > 6


def test_without_pyarrow_files_are_the_same(tmp_path, monkeypatch):
    rows = [(f"{i:04}", f"{i / 7:.3f}", "cook", "2020-01-01", "", "2.5") for i in range(3000)]
    path = tmp_path / "a.csv"
    path.write_bytes(written(rows))
    for name in ("with.csv", "without.csv"):
        if name == "without.csv":
            monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
        with TableWriter(tmp_path / name) as writer:
            found, n_fast = frames(path, True)
            writer.write(pd.concat(found))
        assert (n_fast > 3) == (name == "with.csv")
    assert (tmp_path / "with.csv").read_bytes() == (tmp_path / "without.csv").read_bytes()
