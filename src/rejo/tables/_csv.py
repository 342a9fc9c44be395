"""CSV files: pyarrow reads them, all columns as strings.

Ours is what comes before: the bytes as UTF-8 whatever the encoding, gzip, the separator and the
header.  Files that are not text at all (a workbook, an archive) are recognised by their first
bytes.  Rows with too many or too few fields keep their place, and are in doubt.
"""

import codecs
import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from rejo.tables.errors import (
    HEADER,
    ROW,
    TableError,
    check_count,
    check_different,
    check_unpacked,
    import_pyarrow,
    long_field,
    refuse_folder,
    shown,
    too_large,
)
from rejo.tables.sources import LOOK, Piece, Source, Wanted, name_of

HEAD = 1 << 18  # bytes, enough to see how a table is written
BLOCK = 1 << 22  # bytes that pyarrow parses at a time: a longer row is refused
SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "\\s+": " "}  # as a shell or pandas writes them
MOST_RAGGED = 0.1  # of the rows of a file, or one: if there are more, the separator is wrong
SAVE_AS_CSV, UNPACK = "Save it as .xlsx or as CSV.", "Unpack it first."
END = "\x1e"  # a row of these closes the file: without it, a quote was never closed
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# First bytes of files that are often taken for tables: what they are, and what to do.
OTHER_FILES = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "Give it the ending .xls."),
    (b"PAR1", "a Parquet file", "Give it the ending .parquet."),
    (b"%PDF", "a PDF file", "Save the table as CSV."),
    (b"<!DOCTYPE", "a web page", SAVE_AS_CSV),
    (b"<!doctype", "a web page", SAVE_AS_CSV),
    (b"<html", "a web page", SAVE_AS_CSV),
    (b"<table", "a web page", SAVE_AS_CSV),
    (b"<?xml", "an XML file", SAVE_AS_CSV),
    (b"\x1f\x8b", "still compressed with gzip", UNPACK),
    (b"BZh", "compressed with bzip2", UNPACK),
    (b"\xfd7zXZ", "compressed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (b"SQLite format 3\0", "an SQLite database", "Name it as sqlite:///FILE."),
)
JSON = re.compile(rb'\s*(?:\[\s*)?\{\s*(?:"[^"]*"\s*:|\})')


# ---- bytes --------------------------------------------------------------------------------------


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``; unpack gzip on the way."""
    if os.fspath(path) == "-":
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        yield stream
        return
    refuse_folder(path, name_of(path))
    with open(path, "rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        yield cast(BinaryIO, _Unpacked(raw, name_of(path))) if packed else raw


class _Unpacked:
    """The contents of a gzip file; refused where they become far larger than the file."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._name, self._raw, self._packed, self._unpacked = name, raw, 0, 0
        self._file = gzip.GzipFile(fileobj=cast(Any, self))
        self._size = os.fstat(raw.fileno()).st_size  # 0 for a pipe
        self._inner = False

    def read(self, size: int = -1) -> bytes:
        if self._inner:  # gzip reads the packed bytes
            data = self._raw.read(size)
            self._packed += len(data)
            return data
        self._inner = True
        try:
            data = self._file.read(size)
        finally:
            self._inner = False
        self._unpacked += len(data)
        check_unpacked(self._unpacked, max(self._packed, self._size), self._name, UNPACK)
        return data


class Utf8(io.RawIOBase):
    """A stream of bytes, checked and translated to UTF-8; ``name`` is for messages."""

    _left = b""

    def __init__(self, stream: BinaryIO, encoding: str | None, name: str) -> None:
        self.name, self._stream = name, stream
        self._lines = 0  # line ends returned so far
        self._between = False  # within the bytes of a character
        self._ahead = self._raw(HEAD)
        self.short = len(self._ahead) < HEAD  # the first read is the whole file
        self._refuse_other_files(self._ahead)
        mark = next((found for bom, found in MARKS if self._ahead.startswith(bom)), None)
        self.encoding = mark or "utf-8" if encoding is None else encoding
        try:
            known = codecs.lookup(self.encoding).name
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
            self._decoder.decode(b"")
        except (LookupError, AttributeError, TypeError):
            raise TableError(
                f"encoding={shown(encoding)} is unknown",
                where=name,
                parameter="encoding",
                remedy="Common ones are utf-8, latin-1, cp1252 and utf-16.",
            ) from None
        # Already UTF-8: check it, but do not translate.
        self._plain = known in ("utf-8", "utf-8-sig", "ascii")
        if self._plain and self._ahead.startswith(codecs.BOM_UTF8):
            self._ahead = self._ahead[3:]
            self._decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as io.BufferedReader wants it; return how much of it."""
        data = self._left or self.read(len(buffer))
        n = min(len(buffer), len(data))
        buffer[:n], self._left = data[:n], data[n:]
        return n

    def read(self, size: int = -1) -> bytes:
        """Return about ``size`` bytes; empty at the end."""
        while True:
            raw, self._ahead = self._ahead or self._raw(size if size > 0 else BLOCK), b""
            data = self._translated(raw)
            if b"\0" in data:
                raise TableError(
                    "a NUL byte; this is not a text file, or it is UTF-16 without a byte order "
                    "mark",
                    where=self._where(data, data.find(0)),
                    parameter="encoding",
                    remedy="Export it as CSV in UTF-8, or try encoding='utf-16-le'.",
                )
            if data or not raw:
                self._lines += data.count(b"\n")
                return data

    def _raw(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end; a pipe may give less at a time."""
        parts, left = [], size
        try:
            while left > 0 and (part := self._stream.read(left)):
                parts.append(part.encode() if isinstance(part, str) else part)
                left -= len(parts[-1])
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise TableError(
                f"this is a damaged gzip file ({error})", where=self.name, remedy="Copy it again."
            ) from None
        except OSError as error:  # it does not say of which file
            raise OSError(error.errno, error.strerror or str(error), self.name) from None
        return b"".join(parts)

    def _translated(self, raw: bytes) -> bytes:
        if self._plain and not self._between and raw.isascii():
            return raw
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            found = f"byte 0x{raw[start]:02x}" if start < len(raw) else "a broken character"
            raise TableError(
                f"{found} is not valid {self.encoding}",
                where=self._where(raw, start),
                parameter="encoding",
                remedy="Save the file as UTF-8, or pass encoding='cp1252' for most files from "
                "Windows.",
            ) from None
        self._between = bool(self._decoder.getstate()[0])
        return raw if self._plain else text.encode("utf-8", "replace")

    def _where(self, data: bytes, place: int) -> str:
        line = self._lines + data.count(b"\n", 0, place) + 1
        return f"{self.name}, line {line}"

    def _refuse_other_files(self, head: bytes) -> None:
        found = next((other[1:] for other in OTHER_FILES if head.startswith(other[0])), None)
        if head.startswith(b"PK\x03\x04"):
            found = "a zip archive", UNPACK
            if b"opendocument.spreadsheet" in head:
                found = "a LibreOffice file", "Give it the ending .ods."
            elif b"[Content_Types].xml" in head or b"xl/" in head:
                found = "an Excel file", "Give it the ending .xlsx."
        if found is not None:
            raise TableError(f"this is {found[0]}", where=self.name, remedy=found[1])


class _Lines:
    """The rows of a file as pyarrow parses them, and after the last a row that closes the file.

    A separator that is any run of blanks becomes a tab, and blanks before a quote are left out.
    """

    closed = False  # pyarrow asks

    def __init__(self, reader: Utf8, start: bytes, sep: str, width: int, how: str) -> None:
        self._reader, self._start, self._how, self._sep = reader, start, how, sep
        self._end = ("\n" + (END + sep) * width + END + "\n").encode()
        self._rest = b""  # of a line that is not complete
        self._left = b""  # translated, and not given yet

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        if not self._left:
            self._left = self._more(size)
        data = self._left if size < 0 else self._left[:size]
        self._left = self._left[len(data) :]
        return data

    def _more(self, size: int) -> bytes:
        while True:
            data, self._start = self._start or self._reader.read(size), b""
            if not self._how:
                if not data:
                    data, self._end = self._end, b""
                return data
            ahead = self._rest + data
            end = ahead.rfind(b"\n") + 1 if data else len(ahead)
            lines, self._rest = ahead[:end], ahead[end:]
            if len(self._rest) > ROW:
                where = self._reader._where(b"", 0)
                raise too_large("the line is too long", ROW, where, "Is it a table at all?")
            if not data:
                lines, self._end = lines + self._end, b""
            if lines or not data:
                return _changed(lines, self._sep, self._how)

    def close(self) -> None:
        """Leave the file to those who opened it."""


def _changed(lines: bytes, sep: str, how: str) -> bytes:
    """Return whole lines as pyarrow parses them."""
    if how == "quotes":  # leave out blanks between a separator and a quote, outside of quotes
        pattern = rb'("(?:[^"]|"")*")|(?<=[\n%b]) +(?=")' % re.escape(sep.encode())
        return re.sub(pattern, lambda m: m[1] or b"", lines)
    if how == "blanks":
        # First one tab for each run: a pattern for the end of a line must not meet a long run,
        # which it would scan again from each of its blanks.
        lines = re.sub(rb'("[^"\n]*")|[ \t]+', lambda m: m[1] or b"\t", lines)
        return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", lines)
    return lines


# ---- a file -------------------------------------------------------------------------------------


class Ragged(NamedTuple):
    """A row that does not have as many fields as there are columns."""

    before: int  # other rows before it
    n_fields: int
    text: str


class CsvSource(Source):
    """A CSV file that is read once, from beginning to end."""

    format = "csv"

    def __init__(
        self, path: str | os.PathLike[str], reader: Utf8, sep: str | None, wanted: Wanted
    ) -> None:
        self._path, self._reader, self.name = path, reader, reader.name
        self.encoding = reader.encoding
        head, whole = reader.read(HEAD), reader.short
        if JSON.match(head[:ROW]):
            remedy = "Give it the ending .jsonl or .json."
            raise TableError("this is a JSON file", where=reader.name, remedy=remedy)
        while not whole and not re.search(rb"[\r\n]", head.lstrip()):  # a long header line
            if len(head) > HEADER:
                raise _long_header(reader.name)
            more = reader.read(HEAD)
            head, whole = head + more, not more
        self._how = "blanks" if sep == " " else ""
        lines = _changed(head, "\t", self._how)
        style = sniff(reader.name, lines, "\t" if self._how else sep, whole, wanted)
        self._style, self.names, self.skipped = style, style.names, style.title
        self.sep = " " if self._how else style.sep
        if style.has_blanks:
            self._how = "quotes"
        self._start = head[sum(map(len, _lines(head)[: style.header_lines])) :]
        self._bad: list[Ragged] = []
        self._n_bad, self._n_blank, self._is_closed = 0, 0, False

    def _pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        names = [name or f"\0{i + 1}" for i, name in enumerate(self.own_names)]
        wanted = {name: names.index(name) for name in (names if columns is None else columns)}
        width, done, good = len(self.own_names), 0, 0
        empty = {name: import_pyarrow().array([], "string") for name in wanted}
        for batch in self._batches(list(wanted.values())):
            last = batch is None
            n_good = 0 if last else batch.num_rows
            arrays = empty if last else {n: batch.column(str(i)) for n, i in wanted.items()}
            self._check_rows(arrays, done)
            here = [bad for bad in self._bad if last or bad.before < good + n_good]
            self._bad = self._bad[len(here) :]
            doubts = {
                bad.before - good + i: ("ragged", str(bad.n_fields))
                for i, bad in enumerate(here)
                if bad.n_fields != width
            }
            n_rows = n_good + len(here)
            if here:
                arrays = {n: self._with(here, a, wanted[n], good) for n, a in arrays.items()}
            if doubts and (width == 1 or self._n_bad > max(MOST_RAGGED * (done + n_rows), 1)):
                raise self.refusal(done + min(doubts), *doubts[min(doubts)])
            if n_rows:
                yield Piece(n_rows, arrays, doubts)
            done, good = done + n_rows, good + n_good

    def _with(self, bad: list[Ragged], array: Any, column: int, first: int) -> Any:
        """Put rows back that pyarrow left out; fields are missing, or too many are cut."""
        pa = import_pyarrow()
        parts, at = [], 0
        for row in bad:
            end = row.before - first
            (fields,) = self._reader_of([row.text])
            cell = fields[column] if column < len(fields) else ""
            parts += [array[at:end], pa.array([cell], array.type)]
            at = end
        return pa.concat_arrays([*parts, array[at:]])

    def _batches(self, columns: list[int]) -> Iterator[Any]:
        """Yield the rows with as many fields as there are columns; last None."""
        pa, style, width = import_pyarrow(), self._style, len(self.own_names)
        stream = _Lines(self._reader, self._start, style.sep, width, self._how)
        self._start = b""
        names = list(map(str, columns)) or ["0"]
        read = 0
        try:
            batches = pa.csv.open_csv(
                pa.PythonFile(stream, mode="r"),
                pa.csv.ReadOptions(
                    use_threads=False,
                    block_size=BLOCK,
                    column_names=list(map(str, range(width))),
                ),
                pa.csv.ParseOptions(
                    delimiter=style.sep, newlines_in_values=True, invalid_row_handler=self._left_out
                ),
                pa.csv.ConvertOptions(
                    check_utf8=False,  # done
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=names,
                    strings_can_be_null=False,
                ),
            )
            for batch in batches:
                read += batch.num_rows
                yield _not_blank(batch) if width == 1 else batch
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise self._unreadable(read, str(error)) from None
        if not self._is_closed:
            raise self._unreadable(read, "")
        yield None

    def _left_out(self, row: Any) -> str:
        """Keep a row that pyarrow does not take."""
        if row.text.startswith(END):
            self._is_closed = True
        elif not row.text.strip():
            self._n_blank += 1
        else:
            (fields,) = self._reader_of([row.text]) or [[]]
            before = row.number - 1 - self._n_bad - self._n_blank
            self._bad.append(Ragged(before, len(fields), row.text))
            self._n_bad += 1
        return "skip"

    def _check_rows(self, arrays: dict[str, Any], first: int) -> None:
        """Refuse a row that is too long; of each cell others take care."""
        compute = import_pyarrow().compute
        lengths = [compute.binary_length(array) for array in arrays.values()]
        if sum(compute.max(length).as_py() or 0 for length in lengths) > ROW:
            total = np.sum([length.to_numpy(zero_copy_only=False) for length in lengths], axis=0)
            if (total > ROW).any():
                raise _long_row(self.place(first + int((total > ROW).argmax())))

    # ---- places --------------------------------------------------------------------------------

    def _reader_of(self, lines: Any) -> list[list[str]]:
        return list(csv.reader(lines, delimiter=self._style.sep, skipinitialspace=True))

    def refusal(self, row: int, why: str, detail: str) -> TableError:
        """Return the error for a row with too many or too few fields."""
        found, n_columns = int(detail), len(self.own_names)
        remedy = "Fix that line: cells that contain the separator need quotes around them."
        if found == n_columns + 1:
            remedy = "Name every column, including row names, or fix that line."
        return TableError(
            f"the row has {found} field{'s' * (found != 1)}, but there are {n_columns} columns "
            f"(separator {self._style.sep!r})",
            where=self.place(row),
            remedy=remedy,
        )

    def place(self, row: int, column: str = "") -> str:
        where = f"{self.name}, row {row + 1}"
        if os.path.isfile(self._path):
            rows = self._rows_again()
            found = next((line for i, (line, _) in enumerate(rows) if i == row), None)
            where = where if found is None else f"{self.name}, line {found}"
        return where + (f", column {shown(column)}" if column else "")

    def _rows_again(self) -> Iterator[tuple[int, list[str]]]:
        """Read the file once more: yield the line and the fields of each row that is not blank."""
        with open_bytes(self._path) as stream:
            reader = Utf8(stream, self._reader.encoding, self.name)
            text = io.TextIOWrapper(io.BufferedReader(reader), "utf-8", newline="")
            line, size, latest = 0, 0, ""

            def lines() -> Iterator[str]:
                nonlocal line, size, latest
                while latest := text.readline(ROW + 1):
                    line, size = line + 1, size + len(latest)
                    if size > ROW:
                        raise _long_row(f"{self.name}, line {start}")
                    if line >= self._style.header_lines + 1:
                        how = "blanks" if self._how == "blanks" else ""
                        yield _changed(latest.encode(), "\t", how).decode() if how else latest
                    else:
                        size = 0

            start = self._style.header_lines + 1
            rows = csv.reader(lines(), delimiter=self._style.sep, skipinitialspace=True)
            while True:
                try:
                    fields = next(rows, None)
                except csv.Error:
                    raise long_field(f"{self.name}, line {start}") from None
                if fields is None:
                    return
                if any(map(str.strip, fields)) or len(fields) > 1 or '"' in latest:
                    yield start, fields
                start, size = line + 1, 0

    def _unreadable(self, row: int, reason: str) -> TableError:
        """Return the error for a file that pyarrow does not read to its end."""
        where = f"{self.name}, row {row + 1}"
        if os.path.isfile(self._path):
            try:
                for line, _ in self._rows_again():
                    where = f"{self.name}, line {line}"
            except TableError as error:
                return error
        if "straddl" in reason:
            return _long_row(f"{self.name}, row {row + 1}" if "row" in where else where)
        if reason:
            return TableError(
                f"the rows cannot be read ({reason[:120]})", where=where, remedy="Fix that line."
            )
        return TableError(
            "a quote opens here and is never closed", where=where, remedy="Close it or remove it."
        )


def _not_blank(batch: Any) -> Any:
    """Leave out lines of blanks, which are no rows of a single column; an empty cell is one."""
    compute = import_pyarrow().compute
    column = batch.column(0)
    bare = compute.equal(compute.utf8_trim_whitespace(column), "")
    blank = compute.and_(bare, compute.not_equal(column, ""))
    return batch.filter(compute.invert(blank)) if compute.any(blank).as_py() else batch


def _long_row(where: str) -> TableError:
    remedy = "Is a quote not closed, or is this not a table?"
    return too_large("the row that begins here is too long", ROW, where, remedy)


@contextmanager
def open_csv(
    path: str | os.PathLike[str], sep: str | None, encoding: str | None, wanted: Wanted
) -> Iterator[CsvSource]:
    """Open a CSV file and find out how it is written."""
    sep = NAMED_SEPARATORS.get(sep, sep) if sep else sep
    with open_bytes(path) as stream:
        yield CsvSource(path, Utf8(stream, encoding, name_of(path)), sep, wanted)


# ---- the first lines ------------------------------------------------------------------------


class Style(NamedTuple):
    """How a file is written."""

    sep: str
    names: list[str]  # of the columns; empty for a column without a name
    header_lines: int  # before the first data row
    title: str  # what stands above the header, if something is skipped
    has_blanks: bool  # before quotes


def _lines(head: bytes) -> list[bytes]:
    """Return lines with their ends, which may be those of old Macs."""
    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", head)


def sniff(name: str, head: bytes, sep: str | None, whole: bool, wanted: Wanted) -> Style:
    """Find out how a file is written from its beginning, or the whole of it, in UTF-8."""
    lines = [line.decode("utf-8", "ignore") for line in _lines(head)]
    if not whole and len(lines) > 2:
        lines.pop()  # incomplete
    skip = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    # Excel writes, and reads, a first line that gives the separator.
    if skip < len(lines) and (told := re.fullmatch(r'"?sep=(.)"?\s*', lines[skip], re.IGNORECASE)):
        skip, sep = skip + 1, sep or told[1]
    if sep is not None and (len(sep) != 1 or sep in '"\n\r \0' or not sep.isascii()):
        raise TableError(
            f"sep={shown(sep)} is not one character such as ',' ';' '|' or a tab",
            where=name,
            parameter="sep",
        )
    if not "".join(lines[skip:]).strip():
        remedy = "Its first line must name the columns."
        raise TableError("the file is empty", where=name, remedy=remedy)
    found = {s: _first_rows(lines, skip, s) for s in ([sep] if sep else SEPARATORS)}
    header = {s: wanted.row(rows, ends, name) for s, (rows, ends) in found.items()}
    sep = max(found, key=lambda s: _merit(found[s][0], header[s]))  # a comma, if all are equal
    (rows, ends), place = found[sep], header[sep]
    if not rows and "".join(lines).strip(" \n\r" + sep):
        raise TableError(
            f"the header line cannot be read with the separator {sep!r}: a quote is not closed, "
            "or the line is too long",
            where=name,
            parameter="sep",
            remedy="Fix that line, or pass another separator, such as sep=';'.",
        )
    if rows and not whole and ends[place] >= len(lines):
        raise _long_header(name)
    before = ends[place - 1] if place else skip
    if rows and "".join(lines[before : ends[place]]).count('"') % 2 and ends[place] > before + 1:
        raise TableError(
            "a quote opens in the header and is never closed",
            where=f"{name}, line {before + 1}",
            remedy="Close it or remove it.",
        )
    names = [field.strip() for field in rows[place]] if rows else []
    check_count(len(names), name)
    title = ""
    if wanted.header is False:
        names, header_lines = [f"column {i + 1}" for i in range(len(names))], skip
    else:
        header_lines = ends[place] if rows else skip
        _refuse_title(name, rows, place, sep)
        comment = place and rows[0][0].lstrip().startswith(("#", "//"))
        if place and not comment:
            said = " ".join(filter(None, map(str.strip, rows[0])))
            title = f"the lines above line {ends[place]} are left out, which begin {shown(said)}"
    if not any(names):
        raise TableError(
            "the header line names no column", where=name, remedy="Write the names there."
        )
    check_different(name, names)
    cells = chain.from_iterable(_first_rows(lines, skip, sep, strip=False)[0])
    blanks = any(cell[:1] == " " and cell.lstrip()[:1] == '"' for cell in cells)
    return Style(sep, names, header_lines, title, blanks)


def _refuse_title(name: str, rows: list[list[str]], place: int, sep: str) -> None:
    """Refuse a header of one field above rows of several: probably it is a title."""
    widths = {len(row) for row in rows[place + 1 : place + 6]}
    if len(rows) > place + 2 and len(rows[place]) == 1 and len(widths) == 1 and widths != {1}:
        raise TableError(
            f"the header is {shown(rows[place][0].strip())}, but the lines after it have "
            f"{widths.pop()} columns",
            where=f"{name}, line {place + 1}",
            parameter="header",
            remedy="If it is a title, give the number of the line that names the columns, such as "
            "header=3.",
        )


def _first_rows(
    lines: list[str], skip: int, sep: str, *, strip: bool = True
) -> tuple[list[list[str]], list[int]]:
    """Return the first rows that are not blank, and the number of the line where each ends."""
    reader = csv.reader(lines[skip:], delimiter=sep, skipinitialspace=strip, strict=False)
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for fields in reader:
            if fields and (any(map(str.strip, fields)) or (not rows and len(fields) > 1)):
                rows.append(fields)
                ends.append(skip + reader.line_num)
            if len(rows) > LOOK:
                break
    except csv.Error:  # a cell too long: reported later, with its line
        pass
    return rows, ends


def _merit(rows: list[list[str]], place: int) -> tuple[float, bool, int]:
    """Say how well a separator splits the header and the rows after it in the same way."""
    if not rows or len(rows[place]) < 2:
        return 0.0, True, 0
    alike = [len(row) == len(rows[place]) for row in rows[place + 1 :]]
    return sum(alike) / len(alike) if alike else 1.0, place == 0, len(rows[place])


def _long_header(name: str) -> TableError:
    return too_large(
        "the header line, with blank lines before it, is too long",
        HEADER,
        f"{name}, line 1",
        "Is a quote not closed, or is this not a table?",
    )
