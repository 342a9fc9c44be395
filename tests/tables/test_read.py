"""Whole tables: how they are written, what their columns hold, and what is wrong with them."""

import codecs
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from rejo._errors import RejoError  # noqa: E402
from rejo.tables import MISSING, TableError, read_table  # noqa: E402


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def columns(table):
    return {name: table.frame[name].tolist() for name in table.frame}


def refused(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert path.name in message
    return message


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_separators_are_found(write, sep):
    text = "a,b,c\n1,x,2020-01-31\n2,,\n?,y,2020-02-29\n".replace(",", sep)
    table = read_table(write(text))
    assert table.sep == sep
    assert table.written["c"] == {"format": "%Y-%m-%d"}
    assert [str(t) for t in table.frame.dtypes] == ["float64", "object", "datetime64[us]"]
    assert table.frame["b"].tolist() == ["x", None, "y"]
    assert np.isnan(table.frame["a"][2])


def test_a_separator_within_quotes_or_text_is_none(write):
    table = read_table(write('id;text\n1;"a;b, c, d"\n2;e, f, g\n3;"h ""i"", j"\n'))
    assert columns(table) == {"id": [1, 2, 3], "text": ["a;b, c, d", "e, f, g", 'h "i", j']}


def test_decimal_comma(write):
    table = read_table(write("a;b;c\n1,5;2;1.234,5\n-0,25;3;7\n1e-3;4;8\n"))
    assert table.decimal == ","
    assert columns(table) == {
        "a": [1.5, -0.25, 0.001],
        "b": [2, 3, 4],
        "c": [1234.5, 7, 8],
    }
    assert read_table(write("a;b\n1.5;2\n")).decimal == "."
    assert read_table(write('a,b\n"1,5",2\n')).frame["a"].tolist() == [1.5]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(write, ends, last):
    text = "a,b\n1,x\n\n2,y" + "\n" * last
    assert columns(read_table(write(text.replace("\n", ends)))) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("encoding", "option", "found"),
    [
        ("utf-8", None, "utf-8"),
        ("utf-8-sig", None, "utf-8-sig"),
        ("utf-16", None, "utf-16"),
        ("utf-16-le", "utf-16-le", "utf-16-le"),
        ("latin-1", "latin-1", "latin-1"),
        ("cp1252", "cp1252", "cp1252"),
    ],
)
def test_encodings(write, encoding, option, found):
    text = "größe,œuvre\n1,é\n2,ü\n".replace("œ", "oe" if encoding == "latin-1" else "œ")
    table = read_table(write(text, encoding=encoding), encoding=option)
    assert table.encoding == found
    assert table.frame.columns.tolist() == text.splitlines()[0].split(",")
    assert table.frame.iloc[:, 1].tolist() == ["é", "ü"]


def test_utf16_of_the_other_order_and_many_rows(write):
    text = "a,b\n" + "".join(f"{i},wörd{i % 7}\n" for i in range(50_000))
    table = read_table(write(codecs.BOM_UTF16_BE + text.encode("utf-16-be")))
    assert table.frame["a"].tolist() == list(range(50_000))
    assert table.frame["b"].nunique() == 7


def test_gzip(write):
    assert columns(read_table(write(gzip.compress(b"a,b\n1,2\n"), "a.csv.gz"))) == {
        "a": [1],
        "b": [2],
    }
    assert "damaged gzip" in refused(write(gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "b.csv.gz"))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    table = read_table("-")
    assert (table.path, table.sep, columns(table)) == ("stdin", ";", {"a": [1], "b": [2]})


def test_codes_and_labels_stay_as_they_are(write):
    path = write("id,zip,label,n\n0012, 01234 ,1,1\n0013,99999,0,2\n0014,NA,1,10\n")
    table = read_table(path, text=["id", "label"])
    assert columns(table) == {
        "id": ["0012", "0013", "0014"],
        "zip": ["01234", "99999", None],
        "label": ["1", "0", "1"],
        "n": [1, 2, 10],
    }


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.5", "-3e2", "+.5"], [1, 2.5, -300, 0.5]),
        (["0", "0.5", "-0"], [0, 0.5, 0]),
        (["? ", " 7", "8 "], [None, 7, 8]),
        (["True", "False", "True"], ["True", "False", "True"]),
        (["true", "", "1"], ["true", None, "1"]),
        (["1", "x", "1.0"], ["1", "x", "1"]),
        (["00", "1"], ["00", "1"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["0x1F", "2"], ["0x1F", "2"]),
        (["1 000", "2"], [1000, 2]),
        (["123456789012345678901234567890", "1"], [123456789012345678901234567890.0, 1]),
        (["None", "null", "n/a"], ["None", "null", "n/a"]),
        (["NA", "?", ""], [None, None, None]),
        (["2020-01-01", "x"], ["2020-01-01", "x"]),
    ],
)
def test_types_of_columns(write, cells, expected):
    table = read_table(write("k,v\n" + "".join(f"k,{cell}\n" for cell in cells)))
    found = [None if pd.isna(v) else v for v in table.frame["v"]]
    assert found == expected


def test_a_column_that_is_not_a_number_in_its_last_row(write):
    n = 250_000  # several blocks
    path = write("a,b\n" + "".join(f"{i}.50,{i}\n" for i in range(n)) + "x,-1\n")
    table = read_table(path)
    assert table.frame["a"].iloc[[0, n - 1]].tolist() == [0.5, n - 0.5]
    assert np.isnan(table.frame["a"].iloc[n])
    assert (table.readings["a"].n_odd, table.readings["a"].odd) == (1, ("x",))
    assert table.frame["b"].iloc[-1] == -1
    table = read_table(path, words=["a"])
    assert table.frame["a"].iloc[[0, n - 1, n]].tolist() == ["0.50", f"{n - 1}.50", "x"]


@pytest.mark.parametrize(
    ("cells", "format", "first"),
    [
        (["2024-03-01", "1999-12-31"], "%Y-%m-%d", "2024-03-01"),
        (["2024-03-01T10:20", "2024-03-01 10:20:30"], "%Y-%m-%d", "2024-03-01T10:20"),
        (["2024-03-01T10:20:30.25Z", "2024-03-01"], "%Y-%m-%d", "2024-03-01T10:20:30.25"),
        (["2024-03-01T01:00+02:00", "2024-03-01"], "%Y-%m-%d", "2024-02-29T23:00"),
        (["2024/3/1", "2024/12/31"], "%Y/%m/%d", "2024-03-01"),
        (["1.3.2024", "31.12.1999"], "%d.%m.%Y", "2024-03-01"),
        (["01/03/2024", "31/12/1999"], "%d/%m/%Y", "2024-03-01"),
        (["03/01/2024", "12/31/1999"], "%m/%d/%Y", "2024-03-01"),
        (["01.03.2024 10:20", "?"], "%d.%m.%Y", "2024-03-01T10:20"),
        (["9999-12-31", "0001-01-01"], "%Y-%m-%d", "9999-12-31"),
        (["05/05/2024", "06/06/2024"], "%d/%m/%Y", "2024-05-05"),
    ],
)
def test_dates(write, cells, format, first):
    table = read_table(write("k,d\n" + "".join(f"k,{cell}\n" for cell in cells)))
    assert table.written["d"] == {"format": format}
    assert table.frame["d"].to_numpy()[0] == np.datetime64(first)


@pytest.mark.parametrize("cells", [["2024-02-30", "2024-01-01"], ["1.13.2024", "24:61"], ["12:30"]])
def test_what_is_not_a_date_is_a_word(write, cells):
    table = read_table(write("k,d\n" + "".join(f"k,{cell}\n" for cell in cells)))
    assert table.readings["d"].kind != "date"
    assert table.frame["d"].tolist() == cells


def test_ambiguous_dates_are_refused_unless_another_column_settles_them(write):
    message = refused(write("a,b\n01/02/2024,1\n03/04/2024,2\n"))
    assert "'a'" in message
    assert "2024-12-31" in message
    table = read_table(write("a,b\n01/02/2024,31/01/2024\n03/04/2024,1/2/2024\n"))
    assert {reading.format for reading in table.readings.values()} - {""} == {"%d/%m/%Y"}


def test_quotes_within_cells_and_rows_over_several_lines(write):
    text = 'a,b\n5" pipe,1\n"two\nlines, ""quoted""",2\n"x",3\n\'y,4\n'
    assert columns(read_table(write(text))) == {
        "a": ['5" pipe', 'two\nlines, "quoted"', "x", "'y"],
        "b": [1, 2, 3, 4],
    }


def test_columns_without_a_name_are_left_out(write):
    assert columns(read_table(write(",a,b,\n0,1,2,\n1,3,4,\n"))) == {"a": [1, 3], "b": [2, 4]}


def test_the_line_that_excel_writes_first(write):
    assert columns(read_table(write("sep=|\na|b\n1|2\n"))) == {"a": [1], "b": [2]}


def test_header_only_and_one_column(write):
    table = read_table(write("a,b\n"), text=["b"])
    assert table.frame.shape == (0, 2)
    assert columns(read_table(write("a\n1\n2\n"))) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b"\n  \n\n", ["empty"]),
        (b"a,b\n1,2\n3\n", ["line 3", "1 field,", "2 columns"]),
        (b"a,b\n1,2\n3,4,5\n", ["line 3", "3 fields", "Name every column"]),
        (b"a,b\n1,2,3\n3\n", ["line 2", "3 fields"]),  # the counts balance
        (b'a,b\n"x\ny",2\n\n3,4,5,6\n', ["line 5", "4 fields"]),
        (b"a,b,a\n1,2,3\n", ["same name", "'a'", "Rename"]),
        (b"a,b\n1,\xe9\n", ["line 2", "0xe9", "encoding='cp1252'"]),
        (b"a,b\n" + b"1,x\n" * 100_000 + b"1,\xff\n", ["line 100002", "0xff"]),
        (b"a,b\n1,\xc3", ["line 2", "utf-8", "encoding"]),
        (b"a,b\n1,x\0y\n", ["NUL", "line 2"]),
        ("a,b\n1,2\n".encode("utf-16-le"), ["NUL", "utf-16-le"]),
        (b'a,b\n1,"x\n2,y\n3,z\n', ["line 2", "never closed"]),
        (b'a,b\n1,5" x\n2,"y\n3,z\n', ["line 3", "never closed"]),
        (b"a,b\n1,inf\n2,3\n", ["line 2", "'b'", "infinite"]),
        (b"a,b\n1,1e999\n2,3\n", ["line 2", "'b'", "infinite"]),
        (b"PAR1xxxxPAR1", ["Parquet", ".parquet"]),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", ["Excel", ".xls"]),
        (b"%PDF-1.4", ["PDF"]),
        (b",,\n,,\n", ["names no column"]),
    ],
)
def test_files_that_cannot_be_used(write, content, words):
    message = refused(write(content))
    for word in words:
        assert word in message


def test_workbooks_and_archives(write):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
        archive.writestr("xl/workbook.xml", "x")
    assert "Excel file. Give it the ending .xlsx" in refused(write(buffer.getvalue(), "a.csv"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", "x")
    assert "zip archive" in refused(write(buffer.getvalue(), "a.zip"))


def test_wrong_options(write, tmp_path):
    path = write("age,b\n1,2\n")
    message = refused(path, text=["Agee"])
    assert "Did you mean 'age'" in message
    assert "columns are: 'age', 'b'" in message
    assert "'xx'" in refused(path, sep="xx")
    assert "decimal" in refused(path, decimal="'")
    assert "encoding='klingon' is unknown" in refused(path, encoding="klingon")
    assert "folder" in refused(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


def test_the_error_has_parts(write):
    path = write("a;b\n1,500;2\n2,100;3\n", "a.csv")
    with pytest.raises(TableError) as caught:
        read_table(path)
    error = caught.value
    assert isinstance(error, RejoError)
    assert (error.where, error.parameter) == (f"{path}, line 2, column 'a'", "decimal")
    assert str(error) == f"{error.where}: {error.problem}. {error.remedy}"
    with pytest.raises(TableError) as caught:
        read_table(write("a,b\n1,2\n3\n", "a.csv"))
    assert caught.value.where == f"{path}, line 3"
    assert caught.value.parameter is None


@pytest.mark.parametrize("sep", [" ", r"\s+"])
def test_blanks_separate_columns(write, sep):
    text = 'a  b\tname\n 1 2.5   "x  y"  \n\n3\t 4 z\r\n'
    table = read_table(write(text), sep=sep)
    assert (table.sep, columns(table)) == (" ", {"a": [1, 3], "b": [2.5, 4], "name": ["x  y", "z"]})
    assert "line 3" in refused(write("a b\n1 2\n3 4 5\n"), sep=sep)
    many = "a b\n" + "".join(f"{i}   {i % 7}\n" for i in range(100_000)) + "-1 -1"
    frame = read_table(write(many), sep=sep).frame
    np.testing.assert_array_equal(frame["a"], [*range(100_000), -1])


def test_a_file_without_a_header(write):
    table = read_table(write("1;x;1\n2,5;y;3\n"), header=False)
    assert (table.sep, table.decimal) == (";", ",")
    assert columns(table) == {"column 1": [1, 2.5], "column 2": ["x", "y"], "column 3": [1, 3]}
    assert "line 2: the row has 1 field" in refused(write("1,2\n3\n"), header=False)


def test_other_entries_for_missing_values(write):
    path = write("n,word\n-,?\n2,-\n,x\n")
    assert columns(read_table(path))["word"] == [None, "-", "x"]
    frame = read_table(path, missing=["-"]).frame
    assert frame["word"].tolist() == [None, None, "x"]
    np.testing.assert_array_equal(frame["n"], [np.nan, 2, np.nan])


def test_control_characters_do_not_reach_the_terminal(write):
    message = refused(write("\x1b[31m,b\n1,2\n"), text=["x\ny" * 100])
    assert len(message) < 400


def test_without_pandas_the_error_names_the_extra(write):
    script = (
        "import sys; sys.modules['pandas'] = None\n"
        "from rejo.tables import read_table\n"
        "try: read_table(sys.argv[1])\n"
        "except ImportError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(write("a,b\n1,2\n"))],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert 'pip install "rejo[tables]"' in run.stdout, run.stderr


cell = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)


@settings(max_examples=150)
@given(
    rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=8),
    sep=st.sampled_from([",", ";", "\t", "|"]),
)
def test_whatever_the_csv_module_writes_is_read(tmp_path_factory, rows, sep):
    path = tmp_path_factory.mktemp("any") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=sep, quoting=csv.QUOTE_ALL)
        writer.writerow(["first", "second"])
        writer.writerows(rows)
    frame = read_table(path, text=["first", "second"], sep=sep).frame
    expected = [[v.strip() or None for v in row] for row in rows]
    assert frame.to_numpy().tolist() == expected


def test_names_are_kept_as_they_are_written(write):
    names = [*MISSING, "None", " x ", "-", "1.50", "TRUE"]
    lines = [f"{name},{i}" for i, name in enumerate(names)]
    frame = read_table(write("id,n\n" + "\n".join(lines) + "\n"), text=["id"]).frame
    assert frame["id"].tolist() == [None, *names[1:-4], "x", "-", "1.50", "TRUE"]
    assert read_table(write("id,n\nNA,1\n?,\nx,2\n")).frame["id"].tolist() == [None, None, "x"]


@pytest.mark.parametrize("value", ["1e200", "-1.5e101", "9" * 120])
def test_a_number_that_would_overflow(write, value):
    path = write(f"a,b\n1,2\n1e100,3\n{value},4\n")
    with pytest.raises(TableError, match="line 4, column 'a'"):
        read_table(path)
    assert read_table(write("a\n1e100\n-1e100\n")).frame["a"].tolist() == [1e100, -1e100]


@pytest.mark.parametrize("more", ["", "3;4\n", "?;\n", "2,5;3\n" * 9])
@pytest.mark.parametrize("sep", [";", "\t", "|"])
@pytest.mark.parametrize("decimal", [None, ".", ","])
def test_columns_have_decimal_marks_of_their_own(write, more, sep, decimal):
    path = write(("a;b\n1,5;1.2\n" + more).replace(";", sep))
    table = read_table(path, decimal=decimal)
    assert (table.frame["a"][0], table.frame["b"][0]) == (1.5, 1.2)
    assert table.written == {"a": {"decimal": ",", "unit": ""}}


def test_infinity_beside_numbers_that_may_be_thousands(write):
    with pytest.raises(TableError, match=r"'2\.100' may be") as caught:
        read_table(write("a;b\n2.100;x\n3.500;y\ninf;z\n2.100;x\n"))
    assert caught.value.parameter == "decimal"


def test_points_that_are_not_decimal_marks(write):
    text = "a;version;since\n1,5;1.2;31.12.2020\n2,5;1.2b;1.2.2021\n"
    assert read_table(write(text)).decimal == ","
    table = read_table(write("a;b\n1.5;1,5 kg\n2;3\n"))
    assert table.decimal == "."
    assert (table.readings["b"].decimal, table.readings["b"].unit) == (",", "kg")


def test_characters_that_stand_for_nothing_else_are_words(tmp_path):
    """Marks that readers put before a word are no reason to stop, or to read another number."""
    rows = [
        {"a": "\uf8ff", "b": "\0#12"},
        {"a": "\uf8ff x", "b": "\0#x"},
        {"a": "y", "b": "\0several z"},
    ]
    path = tmp_path / "a.csv"
    path.write_text("a,c\n" + "".join(f"{row['a']},1\n" for row in rows))
    assert read_table(path).frame["a"].tolist() == ["\uf8ff", "\uf8ff x", "y"]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:2]))
    assert read_table(path).frame["a"].tolist() == ["\uf8ff", "\uf8ff x"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TableError, match="column 'b'"):
        read_table(path)
