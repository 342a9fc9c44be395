"""The parts of an Excel file (.xlsx): sheets, strings, styles, and the rows of a sheet.

A file is a zip archive of XML.  It is read with the standard library: nothing but the strings of
the workbook is held in memory, every part has a limit, and a document type, which could define
words that grow without end, is refused.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from posixpath import join, normpath
from typing import Any, BinaryIO, NamedTuple
from xml.parsers import expat

from rejo.tables._typed import SPLIT
from rejo.tables.errors import TableError, did_you_mean, listed, shown
from rejo.tables.limits import FIELD, check_unpacked, long_field, too_large

ROWS, COLUMNS = 1 << 20, 1 << 14  # the largest sheet that Excel has
HELD = 1 << 27  # bytes of strings and styles, unpacked
STEP = 1 << 16  # bytes parsed at a time
OTHER = {b"\xd0\xcf\x11\xe0": "an old Excel file, or one with a password"}
ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
# Numbers that mean dates, among the formats that every workbook has; the others are in the file.
DATE_FORMATS = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
TIME_FORMATS = {*range(18, 22), 45, 47}
HOURS_FORMAT = 46
LAST_DAY = 2_958_466  # 1 January 10000


class Sheet(NamedTuple):
    name: str
    part: str  # of the archive
    hidden: bool


# ---- the archive ------------------------------------------------------------------------------


class Workbook:
    """The parts of a workbook."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        start = stream.read(4)
        self.size = stream.seek(0, 2)
        if start != b"PK\x03\x04":
            known = OTHER.get(start, "not an Excel file")
            text = start.isascii() and b"\0" not in start
            raise TableError(
                f"this is {known}",
                where=name,
                remedy="If it is a CSV file, give it the ending .csv."
                if known.startswith("not") and text
                else "Save it as .xlsx without a password, or as CSV.",
            )
        with self._reading():
            self._archive = zipfile.ZipFile(stream)
            self._sizes = {part.filename: part.file_size for part in self._archive.infolist()}
        if "content.xml" in self._sizes and "mimetype" in self._sizes:
            raise TableError(
                "this is a LibreOffice file", where=name, remedy="Save it as .xlsx or as CSV."
            )
        top = self._relations("")
        main = next((part for kind, part in top.values() if kind == "officeDocument"), None)
        if main is None or main not in self._sizes:
            raise self._damaged("it has no workbook")
        if main.endswith(".bin"):
            raise TableError("this is a binary Excel file", where=name, remedy="Save it as .xlsx.")
        self._main = main
        self.sheets, self._dates_from_1904 = self._contents(self._relations(main))
        self._strings: list[str] | None = None
        self._formats: list[str] = []

    def sheet(self, wanted: str | None) -> Sheet:
        """Return the sheet of a name, or the only one with anything in it."""
        if wanted is not None:
            alike = [s for s in self.sheets if s.name.strip().lower() == wanted.strip().lower()]
            found = [s for s in self.sheets if s.name == wanted] or alike
            if len(found) == 1:
                return found[0]
            names = [sheet.name for sheet in self.sheets]
            raise TableError(
                f"no sheet {shown(wanted)}",
                where=self.name,
                parameter="sheet",
                remedy=f"{did_you_mean(wanted, names)}The sheets are: {listed(names)}",
            )
        shown_ones = [s for s in self.sheets if not s.hidden] or self.sheets
        filled = [s for s in shown_ones if any(True for _ in self.rows(s))]
        if len(filled) > 1:
            names = [sheet.name for sheet in filled]
            raise TableError(
                f"several sheets are not empty: {listed(names)}",
                where=self.name,
                parameter="sheet",
                remedy=f"Name one, such as sheet={shown(names[0])}.",
            )
        if not shown_ones:
            raise self._damaged("it has no sheet")
        return (filled or shown_ones)[0]

    def rows(self, sheet: Sheet) -> Iterator["Row"]:
        """Yield the rows of a sheet that are not blank."""
        if self._strings is None:
            self._strings, self._formats = self._read_strings(), self._read_formats()
        how = self._strings, self._formats, self._dates_from_1904, self._damaged
        found = _Rows(self.name, *how)
        check_unpacked(self._sizes.get(sheet.part, 0), self.size, self.name, SPLIT)
        for _ in self._parse(sheet.part, found):
            yield from found.take()

    def _contents(self, relations: dict[str, tuple[str, str]]) -> tuple[list[Sheet], bool]:
        sheets, options = [], {}
        for tag, _, attributes in self._elements(self._main, {"sheet", "workbookPr"}):
            if tag == "workbookPr":
                options = attributes
                continue
            kind, part = relations.get(attributes.get("id", ""), ("", ""))
            if kind == "worksheet":  # others have pictures
                hidden = attributes.get("state", "visible") != "visible"
                sheets.append(Sheet(attributes.get("name", ""), part, hidden))
        return sheets, options.get("date1904", "0") in ("1", "true")

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the parts that a part refers to: kind and name, by id."""
        folder, _, name = part.rpartition("/")
        found = {}
        place = f"{folder}/_rels/{name}.rels".lstrip("/")
        for _, _, attributes in self._elements(place, {"Relationship"}):
            target = attributes.get("Target", "")
            target = normpath(
                target.lstrip("/") if target.startswith("/") else join(folder, target)
            )
            kind = attributes.get("Type", "").rpartition("/")[2]
            found[attributes.get("Id", "")] = (kind, target)
        return found

    def _part(self, kind: str) -> str:
        found = self._relations(self._main).values()
        return next((part for is_kind, part in found if is_kind == kind), "")

    def _read_strings(self) -> list[str]:
        found = _Strings(self.name)
        for _ in self._parse(self._part("sharedStrings"), found, HELD):
            pass
        return found.strings

    def _read_formats(self) -> list[str]:
        """Return for each style whether it shows a date, a time or something else."""
        codes: dict[str, str] = {}
        kinds = []
        wanted = {"numFmt", "xf"}
        for tag, parent, attributes in self._elements(self._part("styles"), wanted):
            if tag == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif parent == "cellXfs":
                number = attributes.get("numFmtId", "0")
                kinds.append(_kind_of_format(number, codes.get(number)))
        return kinds

    def _elements(self, part: str, wanted: set[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield tag, tag of the parent and attributes of some elements."""
        found = _Elements(wanted)
        for _ in self._parse(part, found, HELD):
            yield from found.take()

    def _parse(self, part: str, handler: Any, limit: int | None = None) -> Iterator[None]:
        """Parse a part of the archive, if it is there, in steps."""
        if part not in self._sizes:
            return
        if limit is not None and self._sizes[part] > limit:
            raise too_large(f"the part {shown(part)} is too large", limit, self.name, SPLIT)
        check_unpacked(self._sizes[part], self.size, self.name, SPLIT)
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = handler.start
        parser.EndElementHandler = handler.end
        parser.CharacterDataHandler = handler.text
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        with self._reading():
            file = self._archive.open(part)
        with file:
            while True:
                with self._reading():
                    data = file.read(STEP)
                    parser.Parse(data, not data)
                yield
                if not data:
                    return

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._damaged("it defines a document type")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what goes wrong with an archive into a TableError."""
        try:
            yield
        except expat.ExpatError as error:
            raise self._damaged(str(error)) from None
        except (
            zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError,
            ValueError, OverflowError, IndexError, UnicodeError,
        ) as error:  # fmt: skip
            if isinstance(error, TableError):
                raise
            raise self._damaged(" ".join(str(error).split())[:120]) from None

    def _damaged(self, reason: str) -> TableError:
        return TableError(
            f"this is not an Excel file, or it is damaged ({reason})",
            where=self.name,
            remedy="Open it in Excel and save it again.",
        )


# ---- XML --------------------------------------------------------------------------------------


class Row(NamedTuple):
    number: int  # the first is 1
    cells: dict[int, Any]  # by position; blank ones are left out


class Odd(NamedTuple):
    """A cell without a value: an error, or a formula that was never computed."""

    what: str

    def __str__(self) -> str:
        return ""


class _Elements:
    def __init__(self, wanted: set[str]) -> None:
        self._wanted, self._path = wanted, [""]
        self._found: list[tuple[str, str, dict[str, str]]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag in self._wanted:
            plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
            self._found.append((tag, self._path[-1], plain))
        self._path.append(tag)

    def end(self, name: str) -> None:
        self._path.pop()

    def text(self, text: str) -> None:
        pass

    def take(self) -> list[tuple[str, str, dict[str, str]]]:
        found, self._found = self._found, []
        return found


class _Strings:
    """The strings that cells refer to; the runs of one string are joined, and hints left out."""

    def __init__(self, name: str) -> None:
        self.strings: list[str] = []
        self._name = name
        self._parts: list[str] = []
        self._within = self._hint = False
        self._size = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "si":
            self._parts, self._size = [], 0
        elif tag == "rPh":
            self._hint = True
        elif tag == "t":
            self._within = not self._hint

    def end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "si":
            self.strings.append(_unescaped("".join(self._parts)))
        elif tag == "rPh":
            self._hint = False
        elif tag == "t":
            self._within = False

    def text(self, text: str) -> None:
        if self._within:
            self._parts.append(text)
            self._size += len(text)
            if self._size > FIELD:
                raise long_field(self._name)


class _Rows:
    def __init__(
        self, name: str, strings: list[str], formats: list[str], from_1904: bool, damaged: Any
    ) -> None:
        self._name = name
        self._strings, self._formats, self._damaged = strings, formats, damaged
        self._epoch = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)
        self._found: list[Row] = []
        self._number, self._column = 0, -1
        self._cells: dict[int, Any] | None = None  # of the row that is being read
        self._type = self._style = ""
        self._formula = self._within = self._hint = False
        self._parts: list[str] = []
        self._size = 0

    def take(self) -> list[Row]:
        found, self._found = self._found, []
        return found

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "row":
            number = int(attributes.get("r", self._number + 1))
            if not self._number < number <= ROWS:
                raise self._damaged(f"row {number} follows row {self._number}")
            self._number, self._column, self._cells = number, -1, {}
        elif tag == "c":
            place = attributes.get("r")
            self._column = self._column + 1 if place is None else self._position(place)
            if self._column >= COLUMNS:
                raise self._damaged("it has too many columns")
            self._type, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._formula, self._parts, self._size = False, [], 0
        elif tag == "f":
            self._formula = True
        elif tag == "rPh":
            self._hint = True
        elif tag in ("v", "t"):
            self._within = not self._hint

    def end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag in ("v", "t"):
            self._within = False
        elif tag == "rPh":
            self._hint = False
        elif tag == "c" and self._cells is not None:
            value = self._value("".join(self._parts))
            if value is not None:
                self._cells[self._column] = value
        elif tag == "row" and self._cells is not None:
            if self._cells:
                self._found.append(Row(self._number, self._cells))
            self._cells = None

    def text(self, text: str) -> None:
        if self._within:
            self._parts.append(text)
            self._size += len(text)
            if self._size > FIELD:
                raise long_field(f"{self._name}, row {self._number}")

    def _position(self, place: str) -> int:
        """Return the position of a column from a place such as AB12."""
        position = 0
        for letter in place.rstrip("0123456789")[:4].upper():
            position = 26 * position + ord(letter) - 64
        return position - 1 if position > 0 else self._column + 1

    def _value(self, text: str) -> Any:
        """Return the value of a cell; None for a blank one."""
        kind = self._type
        if kind == "e":
            return Odd("errors")
        if not text:
            # A formula may well give an empty string.
            return Odd("formulas") if self._formula and kind != "str" else None
        if kind == "s":
            return self._strings[int(text)].strip() or None
        if kind in ("str", "inlineStr"):
            return _unescaped(text).strip() or None
        if kind == "b":
            return text.strip() not in ("0", "false")
        if kind == "d":
            with suppress(ValueError):
                return datetime.fromisoformat(text)
            return text
        value = float(text)
        style = int(self._style) if self._style else 0
        shows = self._formats[style] if style < len(self._formats) else ""
        if 0 <= value < LAST_DAY:
            if shows == "hours":
                return _hours(value)
            if shows == "time" and value < 1:
                return self._date(value).time()
            if shows:
                return self._date(value)
        return int(value) if value.is_integer() and abs(value) < 1e15 else value

    def _date(self, days: float) -> datetime:
        # The calendar of Excel has a 29 February 1900.
        shift = 1 if days < 60 and self._epoch.year == 1899 else 0
        with suppress(OverflowError):
            return self._epoch + timedelta(days=shift, milliseconds=round(days * 86_400_000))
        return datetime.max


def _hours(days: float) -> str:
    """Return a duration as it is shown."""
    seconds = round(days * 86_400)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _kind_of_format(number: str, code: str | None) -> str:
    """Return what a number format shows: date, time, hours or something else."""
    if code is None:
        known = int(number) if number.isdecimal() else 0
        if known == HOURS_FORMAT:
            return "hours"
        return "date" if known in DATE_FORMATS else "time" if known in TIME_FORMATS else ""
    code = code.partition(";")[0].lower()
    if re.search(r"\[(?:h+|m+|s+)\]", code):
        return "hours"
    bare = re.sub(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]', "", code)
    if bare == "general" or re.search("[0#?]", re.sub(r"s\.0+", "s", bare)):
        return ""
    if re.search("[yd]", bare) or ("m" in bare and not re.search("[hs]", bare)):
        return "date"
    return "time" if re.search("[hs]", bare) else ""


def _unescaped(text: str) -> str:
    """Return text with its escaped characters, such as _x000D_, as they are."""
    if "_x" not in text:
        return text
    return (
        ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).encode("utf-8", "replace").decode()
    )
