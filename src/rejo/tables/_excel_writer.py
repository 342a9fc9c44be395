"""An Excel file with one sheet, written row by row.

Strings are written as strings: none is a formula, whatever it begins with.  The same rows give the
same bytes.
"""

import re
import zipfile
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from rejo.tables._sinks import Sink, kinds_of, rows_of
from rejo.tables._workbook import ROWS
from rejo.tables.errors import TableError

LONGEST = 32_767  # characters in a cell of Excel
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
START = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
BOLD, DATE, DATE_AND_TIME = 1, 2, 3  # styles
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
FIRST_DAY = datetime(1899, 12, 30)  # of Excel's calendar, after its 29 February 1900
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": "officeDocument xl/workbook.xml",
    "xl/_rels/workbook.xml.rels": "worksheet worksheets/sheet1.xml styles styles.xml",
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{KIND}"><sheets>'
    '<sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">'
    '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    "<borders><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>",
}
# The names of the columns stay in sight.
SHEET = (
    f'<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
    'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)


class ExcelSink(Sink):
    """An Excel file; its rows are Python values."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True)
        for part, content in PARTS.items():
            if part.endswith(".rels"):
                content = _relations(content.split())
            self._archive.writestr(_entry(part), START + content)
        self._sheet = self._archive.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
        self._sheet.write((START + SHEET).encode())
        self._kinds: dict[str, str] = {}
        self._n_rows = 0

    def write(self, frame: Any) -> None:
        if not self._kinds:
            self._kinds = kinds_of(frame)
            self._append([list(self._kinds)], BOLD)
        for rows in rows_of(frame, self._kinds):
            self._append(rows)

    def _append(self, rows: Any, style: int = 0) -> None:
        self._n_rows += len(rows)
        if self._n_rows > ROWS:
            raise TableError(
                f"an Excel sheet has at most {ROWS - 1:,} rows below its header",
                where=self._name,
                remedy="Write CSV or Parquet, or fewer cases.",
            )
        lines = [f"<row>{''.join([_cell(value, style) for value in row])}</row>" for row in rows]
        self._sheet.write("".join(lines).encode())

    def close(self) -> None:
        self._sheet.write(b"</sheetData></worksheet>")
        self._sheet.close()
        self._archive.close()

    def abandon(self) -> None:
        with suppress(Exception):  # what went wrong before is what matters
            self._sheet.close()
            self._archive.close()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _relations(pairs: list[str]) -> str:
    found = "".join(
        f'<Relationship Id="r{i // 2 + 1}" Type="{KIND}/{pairs[i]}" Target="{pairs[i + 1]}"/>'
        for i in range(0, len(pairs), 2)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{found}</Relationships>'


def _cell(value: Any, style: int) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float) and abs(value) == float("inf"):
        value = repr(value)  # Excel has no such number
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    if isinstance(value, datetime) and value >= datetime(1900, 3, 1):
        days = (value - FIRST_DAY) / timedelta(days=1)
        return f'<c s="{DATE if days.is_integer() else DATE_AND_TIME}"><v>{days!r}</v></c>'
    text = str(value)
    if len(text) > LONGEST:
        text = text[: LONGEST - 3] + "..."
    text = LOOKS_ESCAPED.sub("_x005F_", NOT_XML.sub("\ufffd", text))
    style_of = f' s="{style}"' if style else ""
    text = escape(text, {"\r": "_x000D_"})
    return f'<c t="inlineStr"{style_of}><is><t xml:space="preserve">{text}</t></is></c>'
