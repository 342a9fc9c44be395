"""Small files that stand for huge ones: refused, within a bound of memory, with the place."""

import gzip
import io
import os
import re
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("resource")
if not os.path.exists("/proc/self/status"):
    pytest.skip("needs the peak of memory from Linux", allow_module_level=True)

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables import errors as limits  # noqa: E402
from rejo.tables.errors import COLUMNS  # noqa: E402

MB = 1 << 20
MOST = 700  # MB that a process may take at its peak; Python with pandas and pyarrow takes 180
SCRIPT = """
import resource, sys
import pandas as pd
import pyarrow.parquet
from rejo.tables import TableEncoder, TableError, read_chunks, read_table

resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)
encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))


def rows(how, path, options):
    if how == "table":
        return len(read_table(path, **options).frame)
    frames = read_chunks(path, encoder, text=["id"], optional=["id"], rows=50_000, **options)
    return sum(map(len, frames))


for path in sys.argv[3:]:
    try:
        print(rows(sys.argv[1], path, eval(sys.argv[2])), "rows")
    except TableError as error:
        print(error)
# Not ru_maxrss, which counts the process that forked this one, too.
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
"""


def read(how, *paths, **options):
    """Read tables in a process of their own; return what it says of each, and its peak in MB."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, how, repr(options), *map(str, paths)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    *said, peak = run.stdout.splitlines()
    return said, int(peak)


def packed(start, part, times):
    """Return a gzip file of a start and many equal parts."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(times):
            file.write(part)
    return buffer.getvalue()


ROW = "line 2: the row that begins here is too long; the limit is 4 MB"
HEADER = "line 1: the header line, with blank lines before it, is too long; the limit is 1 MB"
UNPACKED = "unpacks to more than 64 MB, the limit for its size. Unpack it first."
CSV = {
    "quotes": (lambda: packed(b'id,x\n1,"', b'"' * MB, 100), ROW),
    "quotes within UTF-16": (
        lambda: packed("\ufeffid,x\n".encode("utf-16-le"), b'"\0' * MB, 50),
        ROW,
    ),
    "an endless line": (lambda: packed(b"id,x\n1,", b"a" * MB, 100), ROW),
    "endless separators": (lambda: packed(b"id,x\n1,", b"," * MB, 100), ROW),
    "an endless header": (lambda: packed(b"", b"a" * MB, 100), HEADER),
    "endless columns": (lambda: packed(b"", b"a," * (MB // 2), 100), HEADER),
    "a header after blank lines": (lambda: packed(b"", b"\n" * MB, 100), HEADER),
    "newlines": (lambda: packed(b"id,x\n", b"\n" * MB, 100), UNPACKED),
    "lines of blanks": (lambda: packed(b"id,x\n", b" \t\r\n" * (MB // 4), 100), UNPACKED),
    "empty cells": (lambda: packed(b"id,x\n", b'"",""\n' * (MB // 6), 100), UNPACKED),
    "rows": (lambda: packed(b"id,x\n", b"1,2\n" * (MB // 4), 100), UNPACKED),
    "NUL": (lambda: packed(b"id,x\n1,", b"\0" * MB, 100), "line 2: a NUL byte"),
    "gzip in gzip": (lambda: gzip.compress(packed(b"", b"a" * MB, 99)), "still compressed with"),
    "members": (
        lambda: gzip.compress(b"id,x\n") + gzip.compress(b"1,2\n") * 50_000,
        "50000 rows",
    ),
}


# The others take longer.
FEW = ("quotes", "endless separators", "a header after blank lines", "newlines", "gzip in gzip")


@pytest.fixture
def check(tmp_path):
    """Write files, read them, and compare what is said of each."""

    def check(how, bombs, most=MOST, ending=".csv.gz", **options):
        paths = [tmp_path / f"{i}{ending}" for i in range(len(bombs))]
        for path, (make, _) in zip(paths, bombs, strict=True):
            path.write_bytes(make())
        said, peak = read(how, *paths, **options)
        for line, path, (_, expected) in zip(said, paths, bombs, strict=True):
            assert expected in line
            assert path.name in line or line.endswith("rows")
        assert peak < most

    return check


def test_csv_files(check):
    check("chunks", [CSV[name] for name in FEW])


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("chunks", marks=pytest.mark.check),
        pytest.param("table", marks=pytest.mark.slow),
    ],
)
def test_all_csv_files(check, how):
    check(how, list(CSV.values()))


@pytest.mark.slow
def test_cells_of_one_byte(check):
    """The most cells for the bytes: a thousand columns, read whole."""
    names = ",".join(f"c{i}" for i in range(1000)).encode()
    bomb = packed(names + b"\n", b"a," * 999 + b"a\n", 60_000)
    check("table", [(lambda: bomb, UNPACKED)], most=1000)


def test_blanks_that_separate(check):
    """Long runs of blanks take linear time, and are part of the row."""
    run = b" " * (3 * MB)
    bombs = [
        (lambda: b"id x\n1" + run + b"2\n" + run + b"\n2 3" + run + b"\n", "2 rows"),
        (lambda: b"id x\n1" + run * 2, ROW),
    ]
    check("chunks", bombs, ending=".csv", sep=" ")


# ---- workbooks ----------------------------------------------------------------------------------

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
ROWS_OF_A_SHEET = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>x</t></is></c></row>'
)


def workbook(inside=ROWS_OF_A_SHEET, sheets=1, method=zipfile.ZIP_DEFLATED, strings="", raw=None):
    """Return a workbook whose sheets are all the same part."""
    names = "".join(f'<sheet name="s{i}" sheetId="{i + 1}" r:id="r1"/>' for i in range(sheets))
    sheet = f"<worksheet {SPACE}><sheetData>{inside}</sheetData></worksheet>"
    parts = {
        "_rels/.rels": f'<Relationships {RELATIONS}><Relationship Id="a" Type="{KIND}/'
        'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{KIND}"><sheets>{names}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships {RELATIONS}><Relationship Id="r1" Type="'
        f'{KIND}/worksheet" Target="worksheets/s.xml"/></Relationships>',
        "xl/sharedStrings.xml": f"<sst {SPACE}>{strings}</sst>",
        "xl/worksheets/s.xml": sheet if raw is None else raw,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            last = name.endswith("s.xml") and "sheets" in name
            archive.writestr(name, content, method if last else zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def lying(data):
    """Return the archive with a size of 100 bytes wherever it says that of the last part."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = archive.infolist()[-1].file_size.to_bytes(4, "little")
    return data.replace(size, (100).to_bytes(4, "little"))


NESTED = "<a>" * 9_000_000 + "</a>" * 9_000_000
WORKBOOKS = {
    "bz2": (lambda: lying(workbook(" " * (300 * MB), method=zipfile.ZIP_BZIP2)), "unusual way"),
    "lzma": (lambda: workbook(method=zipfile.ZIP_LZMA), "unusual way"),
    "a deflated part that lies": (lambda: lying(workbook(" " * (300 * MB))), "unpacks to more"),
    "nested elements": (lambda: workbook(NESTED), "unpacks to more|damaged|sheet is empty"),
    "fewer nested elements": (
        lambda: workbook(NESTED[:27_000_000] + NESTED[-36_000_000:]),
        "damaged|sheet is empty",
    ),
    "sheets on one part": (lambda: workbook(sheets=3000), "3,000 sheets; the limit is 1,000"),
    "sheets on a large part": (
        lambda: workbook('<row r="1"></row>' + " " * (50 * MB), sheets=900),
        "damaged|the sheet is empty",
    ),
    "a long attribute": (
        lambda: workbook(f'<row r="1" z="{"x" * (60 * MB)}"/>'),
        "sheet is empty|damaged",
    ),
    "the last cell": (
        lambda: workbook(ROWS_OF_A_SHEET + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "too much memory",
    ),
    "string -1": (
        lambda: workbook(ROWS_OF_A_SHEET + '<row r="2"><c r="A2" t="s"><v>-1</v></c></row>'),
        "damaged",
    ),
    "a long string many times": (
        lambda: workbook(
            ROWS_OF_A_SHEET
            + "".join(
                f'<row r="{i + 2}"><c r="A{i + 2}" t="s"><v>0</v></c></row>' for i in range(99_999)
            ),
            strings=f"<si><t>{'x' * 100_000}</t></si>",
        ),
        "too much memory|more than 10 seconds",
    ),
}


QUICK = ("lzma", "sheets on one part", "the last cell", "string -1")


@pytest.mark.parametrize(
    "what",
    [what if what in QUICK else pytest.param(what, marks=pytest.mark.check) for what in WORKBOOKS],
)
def test_workbooks(tmp_path, what):
    """An error within 20 seconds; the process that reads may take 3 GB, this one 700 MB."""
    pytest.importorskip("python_calamine")
    make, expected = WORKBOOKS[what]
    path = tmp_path / "a.xlsx"
    path.write_bytes(make())
    start = time.monotonic()
    said, peak = read("chunks", path)
    assert time.monotonic() - start < 20 + 2  # and to start Python
    assert re.search(expected, said[0])
    assert str(path) in said[0]
    assert peak < MOST


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("a" * (1 << 17), "2 rows"),
        ("a" * ((1 << 17) + 1), "a cell is too long; the limit is 128 KB"),
        ("é" * (1 << 16), "2 rows"),
        ("é" * ((1 << 16) + 1), "a cell is too long; the limit is 128 KB"),
    ],
)
def test_a_long_cell(tmp_path, cell, expected):
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))
    path = tmp_path / "a.csv"
    path.write_text(f'id,x\n"a",1\n"{cell}",2\n', encoding="utf-8")
    for read_it in (read_table, lambda path: pd.concat(read_chunks(path, encoder, text=["id"]))):
        try:
            found = read_it(path)
            said = f"{len(getattr(found, 'frame', found))} rows"
        except TableError as error:
            said = str(error)
        assert expected in said


def test_many_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{i:x}" for i in range(COLUMNS + 1)) + "\n")
    with pytest.raises(TableError, match="32,769 columns"):
        read_table(path)


def test_a_row_of_many_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,x\n1,2\n"' + "a\n" * (limits.ROW // 2) + '",3\n')
    with pytest.raises(TableError, match="line 3: a cell"):
        read_table(path)


def test_a_quote_that_opens_in_the_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,"x\n' + "1,2\n" * 90_000)
    with pytest.raises(TableError, match="header line"):
        read_table(path)
    path.write_text('id,"x\n1,2\n')
    with pytest.raises(TableError, match="quote"):
        read_table(path)


def test_a_table_that_is_too_large_to_be_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("rejo.tables.reading.TABLE", 1000)
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "1\n" * 501)
    with pytest.raises(TableError, match="1000 bytes"):
        read_table(path)


def test_a_gzip_file_of_usual_contents_may_be_large(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED", 1000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("".join(["x,y\n", *(f"{i},1\n" for i in range(9999))]).encode()))
    assert len(read_table(path).frame) == 9999
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,1\n" * 9999))
    with pytest.raises(TableError, match=r"a\.csv\.gz: .* unpacks"):
        read_table(path)


def test_mutated_csv_files(tmp_path):
    """Plain and packed, with quotes and several lines in a cell: a table, or the one error."""
    rows = (f'{i};{i * 1.5};"w{i % 3}\n";2020-01-{1 + i % 28:02d}\n' for i in range(200))
    plain = "".join(["id;x;w;d\n", *rows]).encode()
    files, path = (plain, gzip.compress(plain)), tmp_path / "bad.csv"
    random = np.random.RandomState(0)
    said = []
    for i in range(400):
        data = bytearray(files[i % 2])
        for _ in range(random.randint(1, 5)):
            place, size, how = random.randint(len(data)), random.randint(1, 50), random.randint(4)
            if how == 0:
                data[place] ^= 1 << random.randint(8)
            elif how == 1:
                data[place] = random.choice(list(b'";\n\r\t,\xff\x00'))
            elif how == 2:
                del data[place : place + size]
            else:
                data[place:place] = data[place : place + size]
        path.write_bytes(data)
        try:
            read_table(path, text=["id"])
        except TableError as error:
            said.append(str(error))
    assert len(said) > 200
    assert all(str(path) in message for message in said)
