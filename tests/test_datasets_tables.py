"""`load_table` on the files that people have: separators, marks, gaps, wrong names."""

import sys

import numpy as np
import pytest

from rejo import RejoLinear
from rejo.datasets import load_table
from rejo.tables import TableError, read_table

pd = pytest.importorskip("pandas")

ROWS = "age,dose,patient,grade\n41,1.5,a,good\n41,2,a,fair\n63,0,b,poor\n"
GRADES = ["good", "fair", "poor"]


@pytest.fixture
def write(tmp_path):
    def write(text, name="visits.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    ("sep", "encoding", "end"), [(",", "utf-8", "\n"), (";", "utf-8-sig", "\r\n")]
)
def test_separator_mark_and_line_ends_do_not_matter(write, sep, encoding, end):
    path = write(ROWS.replace(",", sep).replace("\n", end), encoding=encoding)
    table = load_table(path, target="grade", groups="patient")
    assert table.feature_names == ["age", "dose"]
    np.testing.assert_array_equal(table.data, [[41, 1.5], [41, 2], [63, 0]])
    assert table.target.tolist() == ["good", "fair", "poor"]
    assert table.target_names == ["fair", "good", "poor"]
    assert table.groups.tolist() == ["a", "a", "b"]
    assert table.name == "visits"
    assert "visits.csv: 3 rows, 2 features, 3 classes in column 'grade'" in table.DESCR


def test_order_gives_an_ordered_target_that_estimators_follow(write):
    table = load_table(write(ROWS), target="grade", order=GRADES, drop="patient")
    assert table.target.cat.ordered
    assert table.target.cat.categories.tolist() == table.target_names == GRADES
    assert table.groups is None
    assert RejoLinear().fit(table.data, table.target).classes_.tolist() == GRADES


def test_numbers_as_classes(write):
    path = write("x,target\n1,2\n2,10\n3,2\n")
    assert load_table(path).target_names == [2, 10]
    assert load_table(path, order=[10, 2]).target.cat.categories.tolist() == [10, 2]


def test_quotes_blanks_and_columns_without_a_name(write):
    path = write('"",a, "b, c" ,target\n1,3,4,x\n2,5,6,y\n')
    table = load_table(path)
    assert table.feature_names == ["a", "b, c"]
    np.testing.assert_array_equal(table.data, [[3, 4], [5, 6]])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("code,n,day,flag,target\n007,1,2024-01-31,true,1\n8,?,2024-02-01,false,2\n", {}),
        ("code;n;day;word;target\n007;1,5;31.12.2020;NA;1\n010;2;1.2.2021;None;2\n", {}),
        ("n|word|target\n-|x|1\n2| y|2\n", {"missing": ["-"]}),
        ("n  word  target\n1   x 1\n2 y  2\n", {"sep": " "}),
        ("größe,target\n1.50,a\n2,b\n", {"encoding": "utf-16"}),
    ],
)
def test_the_values_are_those_of_read_table(write, text, options):
    path = write(text, encoding=options.get("encoding", "utf-8"))
    expected = read_table(path, **options).frame
    table = load_table(path, **options)
    pd.testing.assert_frame_equal(table.data, expected.drop(columns="target"), check_exact=True)
    assert table.target.tolist() == expected["target"].tolist()


def test_whole_numbers_are_integers_as_labels_only(write):
    table = load_table(write("x,visit,target\n1,7,0\n2,8,1\n"), groups="visit")
    assert [column.dtype.kind for column in (table.data["x"], table.target, table.groups)] == list(
        "fii"
    )
    codes = load_table(write("x,visit,target\n1,07,0.5\n2,08,1\n"), groups="visit")
    assert (codes.groups.tolist(), codes.target.tolist()) == (["07", "08"], [0.5, 1])


def test_columns_that_stay_text(write):
    path = write("seen,told,target\n01/02/2024,03/04/2024,1\n02/03/2024,05/06/2024,2\n")
    with pytest.raises(TableError, match="'01/02/2024' may be 2024-02-01 or 2024-01-02"):
        load_table(path, drop="told")
    table = load_table(path, text=["seen", "target"], drop="told")
    assert table.data.to_dict("list") == {"seen": ["01/02/2024", "02/03/2024"]}
    assert table.target.tolist() == ["1", "2"]


def test_a_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "visits.parquet"
    pd.DataFrame({"age": [41, 63], "grade": ["good", "poor"]}).to_parquet(path)
    table = load_table(path, target="grade", order=["poor", "good"])
    assert (table.data["age"].tolist(), table.target_names) == ([41, 63], ["poor", "good"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (ROWS, {"target": "Grades"}, r"visits\.csv: no column 'Grades'. Did you mean 'grade'"),
        (ROWS, {"target": "zzz"}, r"no column 'zzz'. .*: 'age', 'dose', 'patient', 'grade'"),
        (ROWS, {"target": "grade", "groups": "patients"}, "no column 'patients'.* mean 'patient'"),
        (ROWS, {"target": "grade", "drop": ["ages"]}, "no column 'ages'. Did you mean 'age'"),
        (ROWS, {"target": "grade", "groups": "grade"}, "target and groups are the same column"),
        (ROWS, {"target": "grade", "order": GRADES[:2]}, r"\['poor'\] are not in order.*Add them"),
        (ROWS, {"target": "grade", "order": "good"}, "order"),
        (ROWS, {"target": "grade", "order": ["good", "good"]}, "order"),
        ("x,target\n1,0\n2,\n", {}, r"row 2, column 'target': 1 of 2 values are missing"),
        ("x,x,target\n1,2,0\n", {}, "columns have the same name: 'x'. Rename"),
        ("", {}, "the file is empty. Its first line must name the columns"),
        ("x,target\n1,2,0\n3,4,1\n", {}, "line 2: the row has 3 fields, but there are 2 columns"),
        ("x,target\n1,0\n1,2,3,4\n", {}, r"line 3: .* 4 fields.* \(separator ','\). Fix that line"),
    ],
)  # fmt: skip
def test_errors_name_the_file_the_column_and_the_remedy(write, text, options, message):
    with pytest.raises(TableError, match=message) as error:
        load_table(write(text), **options)
    assert "visits.csv" in str(error.value) or "order must" in str(error.value)
    assert error.value.parameter in (*options, None) or "missing" in message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="visit"):
        load_table(tmp_path / "visit.csv")


def test_without_pandas_the_extra_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "rejo\[tables\]"'):
        load_table(write(ROWS))


@pytest.mark.parametrize("column", ["target", "groups"])
def test_codes_too_long_for_floats_are_refused_not_merged(tmp_path, column):
    path = tmp_path / "codes.csv"
    rows = [f"{i},{90071992547409920 + i},{'ab'[i % 2]}" for i in range(6)]
    path.write_text("\n".join(["x,code,class", *rows]))
    names = {"target": "class", "groups": None} | {column: "code"}
    with pytest.raises(TableError, match=r"column 'code': .* text=\['code'\]"):
        load_table(path, **names)
    found = load_table(path, **names, text=["code"])
    assert found[column].nunique() == 6
