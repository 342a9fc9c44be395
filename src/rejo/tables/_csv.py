"""CSV files: pyarrow reads them, all columns as strings.

Ours is what comes before: the bytes as UTF-8 whatever the encoding, gzip, the separator and the
header.  Rows with too many or too few fields keep their place, and are in doubt.
"""

import codecs
import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from threading import RLock
from time import monotonic, sleep
from typing import Any, BinaryIO, cast
from weakref import ref

from rejo._errors import Setting, Text
from rejo.tables.errors import (
    HEADER,
    ROW,
    TableError,
    check_unpacked,
    import_pyarrow,
    long_field,
    refuse_folder,
    shown,
    too_large,
)
from rejo.tables.sources import LOOK, How, Piece, Source, header_names, header_row, name_of

HEAD = 1 << 18  # bytes, enough to see how a table is written
UNKNOWN = 1 << 60  # bytes of a pipe, of which little is in memory at a time
BLOCK = 1 << 22  # bytes that pyarrow parses at a time: a longer row is refused
SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "\\s+": " "}  # as a shell or pandas writes them
MOST_RAGGED = 0.1  # of the rows of a file, or one: if there are more, the separator is wrong
PATIENCE = 1.0  # seconds to wait for pyarrow to free what it has read, which takes microseconds
SAVE_AS_CSV, UNPACK = "Save it as .xlsx or as CSV.", "Unpack it first."
END = "\x1e"  # a row of these closes the file: without it, a quote was never closed
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# How files begin that are often taken for tables: what they are, and what to do.
OTHER_FILES = (
    (rb"PK\x03\x04.*opendocument\.spreadsheet", "a LibreOffice file", "Give it the ending .ods."),
    (rb"PK\x03\x04.*(\[Content_Types\]\.xml|xl/)", "an Excel file", "Give it the ending .xlsx."),
    (rb"PK\x03\x04", "a zip archive", UNPACK),
    (rb"\xd0\xcf\x11\xe0", "an old Excel file", "Give it the ending .xls."),
    (rb"PAR1", "a Parquet file", "Give it the ending .parquet."),
    (rb"%PDF", "a PDF file", "Save the table as CSV."),
    (rb"<(!DOCTYPE|!doctype|html|table)", "a web page", SAVE_AS_CSV),
    (rb"<\?xml", "an XML file", SAVE_AS_CSV),
    (rb"\x1f\x8b", "still compressed with gzip", UNPACK),
    (rb"BZh", "compressed with bzip2", UNPACK),
    (rb"\xfd7zXZ", "compressed with xz", UNPACK),
    (rb"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (rb"7z\xbc\xaf", "a 7z archive", UNPACK),
    (rb"SQLite format 3\0", "an SQLite database", "Name it as sqlite:///FILE."),
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
        yield cast(BinaryIO, _Unpacked(raw, name_of(path)) if packed else raw)


class _Unpacked(gzip.GzipFile):
    """The contents of a gzip file; refused where they become far larger than the file."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        super().__init__(fileobj=raw)
        self._shown, self._unpacked = name, 0
        self._size = os.fstat(raw.fileno()).st_size or UNKNOWN

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self._unpacked += len(data)
        check_unpacked(self._unpacked, self._size, self._shown, UNPACK)
        return data


class Utf8:
    """A stream of bytes, checked and translated to UTF-8; ``name`` is for messages."""

    def __init__(self, stream: BinaryIO, encoding: str | None, name: str) -> None:
        self.name, self._stream = name, stream
        self._lines = 0  # line ends returned so far
        self._between = False  # within the bytes of a character
        self._ahead = self._raw(HEAD)
        self.short = len(self._ahead) < HEAD  # the first read is the whole file
        for pattern, what, remedy in OTHER_FILES:
            if re.match(pattern, self._ahead, re.DOTALL):
                raise TableError(f"this is {what}", where=name, remedy=remedy)
        mark = next((found for bom, found in MARKS if self._ahead.startswith(bom)), None)
        self.encoding = mark or "utf-8" if encoding is None else encoding
        try:
            known = codecs.lookup(self.encoding).name
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
            self._decoder.decode(b"")
        except (LookupError, AttributeError, TypeError):
            raise TableError(
                Text(Setting("encoding", encoding), " is unknown"),
                where=name,
                parameter="encoding",
                remedy="Common ones are utf-8, latin-1, cp1252 and utf-16.",
            ) from None
        # Already UTF-8: check it, but do not translate.
        self._plain = known in ("utf-8", "utf-8-sig", "ascii")
        if self._plain and self._ahead.startswith(codecs.BOM_UTF8):
            self._ahead = self._ahead[3:]
            self._decoder = codecs.getincrementaldecoder("utf-8")()

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
                    remedy=Text(
                        "Export it as CSV in UTF-8, or try ", Setting("encoding", "utf-16-le"), "."
                    ),
                )
            if data or not raw:
                self._lines += data.count(b"\n")
                return data

    def lines(self, start: bytes = b"") -> Iterator[str]:
        """Yield ``start``, and the rest, line by line with their ends, also those of old Macs."""
        data, rest = start or self.read(HEAD), b""
        while data:
            *whole, rest = (rest + data).splitlines(keepends=True)
            yield from map(bytes.decode, whole)
            if len(rest) > ROW:
                raise _long_row(f"{self.name}, line {self._lines + 1}")
            data = self.read(HEAD)
        if rest:
            yield rest.decode()

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
                remedy=Text(
                    "Save the file as UTF-8, or pass ",
                    Setting("encoding", "cp1252"),
                    " for most files from Windows.",
                ),
            ) from None
        self._between = bool(self._decoder.getstate()[0])
        return raw if self._plain else text.encode("utf-8", "replace")

    def _where(self, data: bytes, place: int) -> str:
        line = self._lines + data.count(b"\n", 0, place) + 1
        return f"{self.name}, line {line}"


def _is_used(part: ref[memoryview]) -> bool:
    return part() is not None


class _Stream:
    """Parts of a file, which pyarrow reads ahead, in a thread of its own."""

    closed = False  # pyarrow asks

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._left, self._lock = parts, b"", RLock()
        self._given: list[ref[memoryview]] = []

    def read(self, size: int = -1) -> memoryview:
        with self._lock:
            self._left = self._left or next(self._parts, b"")
            data, self._left = memoryview(self._left[:size]), self._left[size:]
            self._given = [*filter(_is_used, self._given), ref(data)]
            return data

    def stop(self) -> None:
        """Read no more, and wait until the thread has freed what it read.

        Python may end next, and a thread that frees its objects then would abort the process.
        """
        with self._lock:
            self._parts, self._left = iter(()), b""
        last = monotonic() + PATIENCE
        while any(map(_is_used, self._given)) and monotonic() < last:
            sleep(0.0001)

    def close(self) -> None:
        """Leave the file to those who opened it."""


# ---- a file -------------------------------------------------------------------------------------


class CsvSource(Source):
    format = "csv"

    def __init__(self, path: str | os.PathLike[str], reader: Utf8, how: How) -> None:
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
        found = sniff(reader.name, head, whole, how)
        self.sep, self.names, self.skipped, self._n_above, has_blanks = found
        self._start = head
        # What pyarrow does not read as it is: any run of blanks, and blanks before a quote.
        self._is_plain = self.sep != " " and not has_blanks
        # Rows with more or fewer fields than there are columns, and how many others precede them.
        self._bad: list[tuple[int, list[str]]] = []
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
            here = [bad for bad in self._bad if last or bad[0] < good + n_good]
            self._bad = self._bad[len(here) :]
            doubts = {
                before - good + i: ("ragged", str(len(fields)))
                for i, (before, fields) in enumerate(here)
                if len(fields) != width
            }
            n_rows = n_good + len(here)
            if here:
                arrays = {n: _with(here, a, wanted[n], good) for n, a in arrays.items()}
            if doubts and (width == 1 or self._n_bad > max(MOST_RAGGED * (done + n_rows), 1)):
                raise self.refusal(done + min(doubts), *doubts[min(doubts)])
            if n_rows:
                yield Piece(n_rows, arrays, doubts)
            done, good = done + n_rows, good + n_good

    def _batches(self, columns: list[int]) -> Iterator[Any]:
        """Yield the rows with as many fields as there are columns; last None."""
        pa, width = import_pyarrow(), len(self.own_names)
        stream = _Stream(filter(None, self._parts() if self._is_plain else self._rewritten()))
        batches: Any = None
        names = list(map(str, columns)) or ["0"]
        read = 0
        try:
            batches = pa.csv.open_csv(
                pa.PythonFile(stream, mode="r"),
                pa.csv.ReadOptions(
                    use_threads=False, block_size=BLOCK, column_names=list(map(str, range(width)))
                ),
                pa.csv.ParseOptions(
                    delimiter=self.sep if self._is_plain else ",",
                    newlines_in_values=True,
                    invalid_row_handler=self._left_out,
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
        finally:
            batches = batch = None
            stream.stop()
        if not self._is_closed:
            raise self._unreadable(read, "")
        yield None

    def _parts(self) -> Iterator[bytes]:
        yield self._start[sum(map(len, self._start.splitlines(True)[: self._n_above])) :]
        while data := self._reader.read(BLOCK):
            yield data
        yield b"\n" + self._end().encode()

    def _rewritten(self) -> Iterator[bytes]:
        """Yield the rows as others write them, and one that closes the file."""
        lines = islice(self._reader.lines(self._start), self._n_above, None)
        rows = filter(None, split(chain(lines, ["\n", self._end()]), self.sep))
        while some := list(islice(rows, 1000)):
            text = io.StringIO()
            csv.writer(text).writerows(some)
            yield text.getvalue().encode()

    def _end(self) -> str:
        return (END + self.sep) * len(self.own_names) + END + "\n"

    def _left_out(self, row: Any) -> str:
        if row.text.startswith(END):
            self._is_closed = True
        elif not row.text.strip():
            self._n_blank += 1
        else:
            fields = next(csv.reader([row.text], delimiter=self.sep if self._is_plain else ","), [])
            before = row.number - 1 - self._n_bad - self._n_blank
            self._bad.append((before, fields))
            self._n_bad += 1
        return "skip"

    # ---- places --------------------------------------------------------------------------------

    def refusal(self, row: int, why: str, detail: str) -> TableError:
        found, n_columns = int(detail), len(self.own_names)
        remedy = "Fix that line: cells that contain the separator need quotes around them."
        if found == n_columns + 1:
            remedy = "Name every column, including row names, or fix that line."
        return TableError(
            f"the row has {found} field{'s' * (found != 1)}, but there are {n_columns} columns "
            f"(separator {self.sep!r})",
            where=self.place(row),
            remedy=remedy,
        )

    def place(self, row: int, column: str = "") -> str:
        where = f"{self.name}, row {row + 1}"
        if (line := next(islice(self._lines(), row, None), None)) is not None:
            where = f"{self.name}, line {line}"
        return where + (f", column {shown(column)}" if column else "")

    def _lines(self) -> Iterator[int]:
        """Read the file once more: yield the line of each row that is not blank."""
        if not os.path.isfile(self._path):
            return
        with open_bytes(self._path) as stream:
            line, size, latest = self._n_above + 1, 0, ""

            def counted(lines: Iterator[str]) -> Iterator[str]:
                nonlocal size, latest
                for latest in lines:
                    size += len(latest)
                    if size > ROW:
                        raise _long_row(f"{self.name}, line {line}")
                    yield latest

            lines = Utf8(stream, self._reader.encoding, self.name).lines()
            rows = split(counted(islice(lines, self._n_above, None)), self.sep)
            while True:
                try:
                    fields = next(rows, None)
                except csv.Error:
                    raise long_field(f"{self.name}, line {line}") from None
                if fields is None:
                    return
                if any(map(str.strip, fields)) or len(fields) > 1 or '"' in latest:
                    yield line
                line, size = self._n_above + rows.line_num + 1, 0

    def _unreadable(self, row: int, reason: str) -> TableError:
        where = f"{self.name}, row {row + 1}"
        try:
            for line in self._lines():
                where = f"{self.name}, line {line}"
        except TableError as error:
            return error
        if "straddl" in reason:
            return _long_row(where)
        if reason:
            return TableError(
                f"the rows cannot be read ({reason[:120]})", where=where, remedy="Fix that line."
            )
        return TableError(
            "a quote opens here and is never closed", where=where, remedy="Close it or remove it."
        )


def _with(bad: list[tuple[int, list[str]]], array: Any, column: int, first: int) -> Any:
    """Put rows back that pyarrow left out; fields are missing, or too many are cut."""
    pa = import_pyarrow()
    parts, at = [], 0
    for before, fields in bad:
        cell = fields[column] if column < len(fields) else ""
        parts += [array[at : before - first], pa.array([cell], array.type)]
        at = before - first
    return pa.concat_arrays([*parts, array[at:]])


def _not_blank(batch: Any) -> Any:
    """Leave out lines of blanks, which are no rows of a single column; an empty cell is one."""
    compute = import_pyarrow().compute
    column = batch.column(0)
    bare = compute.equal(compute.utf8_trim_whitespace(column), "")
    blank = compute.and_(bare, compute.not_equal(column, ""))
    return batch.filter(compute.invert(blank)) if compute.any(blank).as_py() else batch


def _long_row(where: str, what: str = "the row that begins here", limit: int = ROW) -> TableError:
    remedy = "Is a quote not closed, or is this not a table?"
    return too_large(f"{what} is too long", limit, where, remedy)


@contextmanager
def open_table(path: str | os.PathLike[str], how: How) -> Iterator[CsvSource]:
    with open_bytes(path) as stream:
        yield CsvSource(path, Utf8(stream, how.encoding, name_of(path)), how)


# ---- the first lines ------------------------------------------------------------------------


def split(lines: Iterable[str], sep: str, *, strip: bool = True) -> Any:
    """Return a reader of the fields of each row; a blank as separator is any run of them."""
    if sep == " ":
        lines = (line.replace("\t", " ").strip(" \r\n") + "\n" for line in lines)
    return csv.reader(lines, delimiter=sep, skipinitialspace=strip)


def sniff(name: str, head: bytes, whole: bool, how: How) -> tuple[str, list[str], str, int, bool]:
    """Find out how a file is written from its beginning, or the whole of it, in UTF-8.

    Return the separator, the names of the columns, what stands above them and is skipped, the
    number of lines before the first data row, and whether there are blanks before quotes.
    """
    sep = NAMED_SEPARATORS.get(how.sep or "", how.sep)
    lines = [line.decode("utf-8", "ignore") for line in head.splitlines(keepends=True)]
    if not whole and len(lines) > 2:
        lines.pop()  # incomplete
    skip = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    # Excel writes, and reads, a first line that gives the separator.
    if skip < len(lines) and (told := re.fullmatch(r'"?sep=(.)"?\s*', lines[skip], re.IGNORECASE)):
        skip, sep = skip + 1, sep or told[1]
    if sep is not None and (len(sep) != 1 or sep in '"\n\r\0' or not sep.isascii()):
        raise TableError(
            Text(Setting("sep", sep), " is not one character such as ',' ';' '|' or a tab"),
            where=name,
            parameter="sep",
        )
    if not "".join(lines[skip:]).strip():
        remedy = "Its first line must name the columns."
        raise TableError("the file is empty", where=name, remedy=remedy)
    found = {s: _first_rows(lines, skip, s) for s in ([sep] if sep else SEPARATORS)}
    header = {s: header_row(how, rows, ends, name) for s, (rows, ends) in found.items()}
    sep = max(found, key=lambda s: _merit(found[s][0], header[s]))  # a comma, if all are equal
    (rows, ends), place = found[sep], header[sep]
    if not rows and "".join(lines).strip(" \n\r" + sep):
        raise TableError(
            f"the header line cannot be read with the separator {sep!r}: a quote is not closed, "
            "or the line is too long",
            where=name,
            parameter="sep",
            remedy=Text(
                "Fix that line, or pass another separator, such as ", Setting("sep", ";"), "."
            ),
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
    names, title = header_names(how, rows, place, ends, name, "line")
    if not any(names):
        raise TableError(
            "the header line names no column", where=name, remedy="Write the names there."
        )
    n_above = ends[place] if rows and how.header is not False else skip
    cells = chain.from_iterable(_first_rows(lines, skip, sep, strip=False)[0])
    blanks = any(cell[:1] == " " and cell.lstrip()[:1] == '"' for cell in cells)
    return sep, names, title, n_above, blanks


def _first_rows(
    lines: list[str], skip: int, sep: str, *, strip: bool = True
) -> tuple[list[list[str]], list[int]]:
    """Return the first rows that are not blank, and the number of the line where each ends."""
    reader = split(lines[skip:], sep, strip=strip)
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
    return _long_row(f"{name}, line 1", "the header line, with blank lines before it,", HEADER)
