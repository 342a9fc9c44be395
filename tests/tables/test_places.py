"""Where a row is: the line of a CSV file, of which the header has the first, else the row."""

import pytest

from rejo.tables.sources import place_of

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("text", "row", "line"),
    [
        ("a,b\n1,2\n3,4\n", 0, 2),
        ("a,b\n1,2\n3,4\n", 1, 3),
        ('a,b\n1,"two\nlines"\n3,4\n', 1, 4),
        ('"a\nb",c\n1,2\n', 0, 3),
        ("a;b\r\n1;2\r\n3;4\r\n", 1, 3),
    ],
)
def test_a_line_of_a_csv_file(tmp_path, text, row, line):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert place_of(path, row) == f"{path}, line {line}"


def test_a_line_far_down(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 40_000)
    assert place_of(path, 34_567, sep=",", decimal=".") == f"{path}, line 34569"


def test_a_row_where_there_are_no_lines(tmp_path):
    assert place_of("-", 4) == "stdin, row 5"
    assert place_of("sqlite:///t.db#t", 4) == "sqlite:///t.db#t, row 5"
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    assert place_of(tmp_path / "t.parquet", 1) == f"{tmp_path / 't.parquet'}, row 2"
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": [1, 2]}).to_excel(tmp_path / "t.xlsx", index=False)
    assert place_of(tmp_path / "t.xlsx", 1) == f"{tmp_path / 't.xlsx'}, row 3"  # of the sheet
