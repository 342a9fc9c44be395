"""Excel files: sheets, cells of every kind, and files that are not what they seem."""

import os
import zipfile
from contextlib import suppress
from datetime import date, datetime

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
openpyxl = pytest.importorskip("openpyxl")

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables.errors import FIELD  # noqa: E402

HEADER = ["id", "age", "pay", "since", "job", "ok"]
ROWS = [
    [7, 31, 2.1, datetime(2020, 1, 31), "clerk", True],
    [8, None, 420, date(2020, 2, 1), " cook ", False],
    [9, 33.5, 1.234, datetime(2021, 3, 4, 5, 6, 7), None, True],
]


def write(path, rows, **sheets):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name, others in sheets.items():
        sheet = book.create_sheet(name)
        for row in others:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "a.xlsx", [HEADER, *ROWS])


def test_types(path):
    table = read_table(path, text=["id"])
    frame = table.frame
    assert frame["id"].tolist() == ["7", "8", "9"]
    assert frame["age"].tolist()[::2] == [31.0, 33.5]
    assert frame["pay"].tolist() == [2.1, 420.0, 1.234]  # no thousands
    assert frame["since"].tolist() == [
        datetime(2020, 1, 31),
        datetime(2020, 2, 1),
        datetime(2021, 3, 4, 5, 6, 7),
    ]
    assert frame["job"].tolist() == ["clerk", "cook", None]
    assert frame["ok"].tolist() == ["True", "False", "True"]
    assert table.path == os.fspath(path)
    assert table.encoding == "excel"
    kinds = [reading.kind for reading in table.readings.values()]
    assert kinds == ["text", "number", "number", "date", "category", "category"]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_chunks(path, rows):
    whole = read_table(path, text=["id"])
    encoder = TableEncoder(written=whole.written).fit(whole.frame.drop(columns="id"))
    new = [
        [*HEADER, "more"],
        ["x1", "n.k.", datetime(2020, 1, 1), "soon", 5.0, 1, 3],
        [7.0, 31, 1, 44927, "clerk", "True", None],
        [None, "12", 2.5, "2020-01-01", "x", False, None],
    ]
    write(path, new)
    frames = list(read_chunks(path, encoder, text=["id", "x"], optional=["x"], rows=rows))
    assert max(map(len, frames)) <= rows
    frame = pd.concat([frame.astype(object) for frame in frames])
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["id"].tolist() == ["x1", "7", None]
    assert frame["age"].tolist() == ["n.k.", 31.0, 12.0]
    assert frame["pay"].tolist() == ["2020-01-01", 1.0, 2.5]
    assert frame["since"].tolist() == ["soon", "44927", datetime(2020, 1, 1)]
    assert frame["job"].tolist() == ["5", "clerk", "x"]


def test_words_and_numbers_in_one_column(tmp_path):
    rows = [
        ["n", "d", "both"],
        [1.5, datetime(2020, 1, 2), 1],
        ["2,5", "31.12.2020", "a"],
        ["NA", None, 2],
        [1.125, datetime(2020, 1, 3, 4), "b"],
    ]
    table = read_table(write(tmp_path / "a.xlsx", rows), decimal=",")
    assert table.frame["n"].tolist()[:2] == [1.5, 2.5]
    assert table.frame["n"].tolist()[3] == 1.125
    assert table.readings["n"].n_missing == 1
    assert table.frame["d"].tolist()[:2] == [datetime(2020, 1, 2), datetime(2020, 12, 31)]
    assert table.readings["d"].format == "%Y-%m-%d"  # as a cell with a date counts
    assert table.readings["d"].n_missing == 1
    assert table.frame["both"].tolist() == ["1", "a", "2", "b"]


def test_blank_rows_and_columns(tmp_path):
    table = [[None, "a", None, "b"], [None, 1, 9, 2], [], [None, 3, None, 4]]
    rows = [[], [None, " "], *table, [], [None, " "]]
    table = read_table(write(tmp_path / "a.xlsx", rows))
    assert table.frame["a"].fillna(-1).tolist() == [1, -1, 3]
    assert table.frame["b"].fillna(-1).tolist() == [2, -1, 4]
    assert list(table.frame) == ["a", "b"]


def test_many_blank_rows_before_the_header(tmp_path):
    table = read_table(write(tmp_path / "a.xlsx", [*[[""]] * 40, ["a", "b"], [1, 2]]))
    assert table.frame.to_dict("list") == {"a": [1.0], "b": [2.0]}


def test_a_title_above_the_table(tmp_path):
    path = write(tmp_path / "a.xlsx", [["Loans 2025"], [], ["a", "b"], [1, 2]])
    for header in (True, 3):
        table = read_table(path, header=header)
        assert table.frame.to_dict("list") == {"a": [1.0], "b": [2.0]}
        assert "'Loans 2025'" in table.skipped
    write(path, [["Loans 2025"], [], [2024, 2025], [1, 2]])
    with pytest.raises(TableError, match="'Loans 2025'") as caught:
        read_table(path)
    assert caught.value.parameter == "header"


def test_places_are_those_of_the_sheet(tmp_path):
    path = write(tmp_path / "a.xlsx", [[], ["a", "b"], [1, 2], [], [1e200, 2]])
    with pytest.raises(TableError, match="row 5, column 'a': "):
        read_table(path)


def test_sheets(tmp_path):
    table = [["a", "b"], [1, 2]]
    path = write(tmp_path / "a.xlsx", [], Loans=table, Other=[])
    assert read_table(path).frame.to_dict("list") == {"a": [1.0], "b": [2.0]}
    write(path, [["x"], [5]], Loans=table, Other=[])
    several = r"several sheets are not empty: 'Sheet', 'Loans'"
    with pytest.raises(TableError, match=several) as caught:
        read_table(path)
    assert caught.value.parameter == "sheet"
    assert read_table(path, sheet="Loans").frame["b"].tolist() == [2.0]
    assert read_table(path, sheet="loans").frame["b"].tolist() == [2.0]
    with pytest.raises(TableError, match="'Loans'") as caught:
        read_table(path, sheet="Loan")
    assert caught.value.parameter == "sheet"
    with pytest.raises(TableError, match="sheet 'Other'"):
        read_table(path, sheet="Other")
    book = openpyxl.load_workbook(path)
    book["Sheet"].sheet_state = "hidden"
    book.save(path)
    assert read_table(path).frame["b"].tolist() == [2.0]
    assert read_table(path, sheet="Sheet").frame["x"].tolist() == [5.0]


def test_errors_and_formulas(tmp_path):
    rows = [["a", "b", "c"], [1, "=A2*2", "#N/A"], [2, 5, "#DIV/0!"], [3, 6, 7]]
    path = write(tmp_path / "a.xlsx", rows)  # openpyxl computes no formula
    table = read_table(path)
    assert table.frame["b"].isna().tolist() == [True, False, False]
    assert table.frame["c"].isna().tolist() == [True, True, False]
    assert table.readings["b"].kind == table.readings["c"].kind == "number"
    assert table.readings["c"].n_missing == 2


def test_merged_cells(tmp_path):
    path = write(tmp_path / "a.xlsx", [["a", "b"], ["x", 1], [None, 2]])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A2:A3")
    book.save(path)
    assert read_table(path).frame["a"].tolist() == ["x", None]


def test_names_that_are_not_strings(tmp_path):
    table = read_table(
        write(tmp_path / "a.xlsx", [[2024, " b ", 1.5, date(2020, 1, 1)], [1, 2, 3, 4]])
    )
    assert list(table.frame) == ["2024", "b", "1.5", "2020-01-01"]


# ---- by hand ----------------------------------------------------------------------------------

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
STRICT = 'xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"'
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def relations(**parts):
    found = "".join(
        f'<Relationship Id="{name}" Type="{KIND}/{kind}" Target="{target}"/>'
        for name, (kind, target) in parts.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{found}</Relationships>'


def archive(path, sheet, strings="", space=MAIN, **others):
    parts = {
        "_rels/.rels": relations(a=("officeDocument", "/xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook {space} xmlns:r="{KIND}"><sheets><sheet name="S" '
        'sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            b=("worksheet", "worksheets/s.xml"), c=("sharedStrings", "/xl/sharedStrings.xml")
        ),
        "xl/worksheets/s.xml": f"<worksheet {space}><sheetData>{sheet}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {space}>{strings}</sst>",
        **others,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


HEAD = '<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>'


@pytest.mark.parametrize("space", [MAIN, STRICT])
def test_what_other_programs_write(tmp_path, space):
    strings = (
        '<si><t>one</t></si><si><r><t xml:space="preserve">two </t></r><r><t>parts</t></r>'
        "<rPh><t>hint</t></rPh></si>"
        "<si><t>a_x000D_b</t></si><si><t/></si>"
    )
    sheet = HEAD + (
        '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2"><v>1.5E2</v></c></row>'
        '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="str"><f>X</f><v>7</v></c></row>'
        '<row r="4"><c r="A4" t="s"><v>2</v></c><c r="B4" t="str"><f>X</f><v></v></c></row>'
        '<row r="5"><c r="A5" t="s"><v>3</v></c><c r="B5" s="9"><v>4</v></c></row>'
    )
    path = archive(tmp_path / "a.xlsm", sheet, strings, space)
    table = read_table(path)
    assert table.frame["a"].tolist() == ["one", "two parts", "a\rb", None]
    assert table.frame["b"].fillna(-1).tolist() == [150, 7, -1, 4]


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>"
)


@pytest.mark.parametrize(
    ("sheet", "others", "problem"),
    [
        ("", {}, "the sheet is empty"),
        (HEAD.replace(">b<", ">a<"), {}, "several columns have the same name"),
        (HEAD + '<row r="99999999999"><c><v>1</v></c></row>', {}, "too much memory"),
        (HEAD + '<row r="x"><c><v>1</v></c></row>', {}, "damaged"),
        (HEAD + '<row><c r="ZZZZ1"><v>1</v></c></row>', {}, "columns are more than"),
        (HEAD + '<row><c t="s"><v>5</v></c></row>', {}, "damaged"),
        (HEAD + '<row><c t="s"><v>-1</v></c></row>', {}, "damaged"),
        (HEAD + f"<row><c t='str'><v>{'x' * (FIELD + 1)}</v></c></row>", {}, "a cell is too long"),
        (HEAD, {"xl/workbook.xml": ""}, "damaged"),
        (HEAD, {"_rels/.rels": relations()}, "damaged"),
        (HEAD, {"xl/_rels/workbook.xml.rels": relations()}, "damaged"),
        (HEAD, {"xl/worksheets/s.xml": BOMB + "<x>&j;</x>"}, "defines a document type"),
        (HEAD, {"xl/sharedStrings.xml": BOMB + "<x>&j;</x>"}, "defines a document type"),
        (HEAD, {"xl/workbook.xml": "<!--" + "x" * 99_999 + "-->" + BOMB + "<x/>"}, "document type"),
        (HEAD, {"xl/sharedStrings.xml": " " * (1 << 28) + "<x/>"}, "too large|unpacks to more"),
        (HEAD + " " * (1 << 27), {}, "unpacks to more"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(tmp_path, sheet, others, problem):
    path = archive(tmp_path / "a.xlsx", sheet, **others)
    with pytest.raises(TableError, match=problem) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a,b\n1,2\n", r"not an Excel file. If it is a CSV file, give it the ending .csv"),
        (b"", "not an Excel file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file, or one with a password"),
        (b"PK\x03\x04 rubbish", "damaged"),
    ],
)
def test_other_files_under_that_name(tmp_path, content, problem):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(TableError, match=problem):
        read_table(path)


@pytest.mark.parametrize("ending", ["numbers"])
def test_files_that_are_not_read(tmp_path, ending):
    (tmp_path / f"a.{ending}").write_bytes(b"x")
    with pytest.raises(TableError, match="not read"):
        read_table(tmp_path / f"a.{ending}")


def test_a_workbook_under_another_name(path):
    other = path.rename(path.with_suffix(".csv"))
    with pytest.raises(TableError, match="xlsx"):
        read_table(other)
    with pytest.raises(FileNotFoundError):
        read_table(path)


def test_files_cut_short_or_mutated(path):
    data = path.read_bytes()
    random = np.random.RandomState(0)
    for _ in range(60):
        bad = bytearray(data[: random.randint(len(data))] if random.rand() < 0.3 else data)
        for _ in range(random.randint(1, 8)):
            if bad:
                bad[random.randint(len(bad))] = random.randint(256)
        path.write_bytes(bytes(bad))
        with suppress(TableError):
            read_table(path)


def test_a_long_word_that_is_repeated(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"b": [1.0, 2.0, 4.0]}))
    rows = '<row><c t="s"><v>0</v></c></row>' * 10_000
    path = archive(tmp_path / "a.xlsx", HEAD + rows, f"<si><t>{'x' * 32_000}</t></si>")
    assert len(read_table(path).frame) == 10_000
    with pytest.raises(TableError, match="unpacks to more than"):
        list(read_chunks(path, encoder, text=["a"]))


@pytest.mark.parametrize("option", ["sheet", "query"])
def test_a_csv_file_has_no_sheets_and_no_queries(tmp_path, option):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(TableError, match="this is not") as caught:
        read_table(path, **{option: "Loans"})
    assert caught.value.parameter == option
