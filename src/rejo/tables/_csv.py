"""A CSV file, open: how it is written, its blocks of rows, and pandas to parse them.

The separator, the header and the decimal mark are found from the first lines.
"""

import csv
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.tables._bytes import HEAD, BlankSeparated, Utf8, name_of, open_bytes, refuse_json
from rejo.tables._records import RowBlock, code_columns, line_of, mark_columns, row_blocks
from rejo.tables.errors import TableError, check_different, import_pandas, shown
from rejo.tables.limits import HEADER, PIECE, check_count, too_large
from rejo.tables.values import few, missing_words

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "\\s+": " "}  # as a shell or pandas writes them
LOOK = 50  # rows
# The most frequent words for a missing value among numbers: pandas takes time for each.
GAPS = ["n/a", "#N/A", "-", "--", ".", "none", "None", "null", "na", "n.a."]
DOT_NUMBER = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


class CsvFile:
    """A CSV file that is read once, from beginning to end."""

    def __init__(
        self,
        reader: Utf8,
        sep: str | None,
        decimal: str | None,
        missing: Iterable[str],
        header: bool,
    ) -> None:
        self._reader = reader
        self._head, whole = reader.read(HEAD), reader.short
        refuse_json(self._head, reader.name)
        while b"\n" not in self._head.lstrip() and not whole:  # a long header line
            if len(self._head) > HEADER:
                raise _long_header(reader.name)
            more = reader.read(HEAD)
            self._head, whole = self._head + more, not more
        style = sniff(reader.name, self._head, sep, decimal, whole, header)
        self.name = reader.name
        self.encoding = reader.encoding
        self.sep = " " if isinstance(reader, BlankSeparated) else style.sep
        self.decimal = style.decimal
        self.missing = missing_words(missing)
        self.names = [name for name in style.names if name]
        self._place = {name: i for i, name in enumerate(style.names) if name}
        self.unnamed = [i for i, name in enumerate(style.names) if not name]
        self._width = len(style.names)
        self._style = style

    @property
    def delimiter(self) -> str:
        """What separates the fields of a block; a tab where it was a run of blanks."""
        return self._style.sep

    def place_of(self, column: str) -> int:
        return self._place[column]

    def blocks(self, rows: int, keep_ragged: bool = False) -> Iterator[RowBlock]:
        """Yield blocks of about ``rows`` rows; a few may be ragged if these are kept."""
        style = self._style
        start, line = self._head[style.header_size :], style.header_lines + 1
        size = min(max(int(rows * style.row_size), 1 << 12), PIECE)
        return row_blocks(
            self._reader,
            start,
            line,
            sep=style.sep,
            n_columns=self._width,
            size=size,
            keep_ragged=keep_ragged,
        )

    def parse(
        self,
        block: RowBlock,
        columns: Sequence[str | int],
        dtypes: Mapping[Any, Any],
        text: Collection[str] = (),
        numbers: Collection[str] = (),
    ) -> Any:
        """Return some columns of a block as a DataFrame; pandas infers the types not given.

        The columns of ``text`` are strings as written, including ``NA`` and the empty string.
        In those of ``numbers`` more words mean a missing value.
        Columns are given by name, or by position if they have none.
        """
        pd = import_pandas()
        if not block.data:
            return pd.DataFrame(columns=list(columns), dtype=object)
        place = {name: name if isinstance(name, int) else self._place[name] for name in columns}
        words = list(self.missing)
        gaps = [*words, *GAPS] if numbers else words
        types = {**dtypes, **dict.fromkeys(text, object)}
        try:
            frame = pd.read_csv(
                _Handle(block.data),
                header=None,
                names=range(self._width),
                usecols=[place[name] for name in columns],
                dtype={place[name]: dtype for name, dtype in types.items()},
                sep=self._style.sep,
                decimal=self.decimal,
                na_values={
                    place[name]: gaps if name in numbers else words
                    for name in columns
                    if name not in text
                },
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                encoding="utf-8",
            )
        except pd.errors.ParserError as error:
            reason = " ".join(str(error).split())
            raise TableError(
                f"the rows from here on cannot be read ({reason[:120]})",
                where=f"{self.name}, line {block.line}",
                parameter="sep",
                remedy="Fix them, or pass another separator, such as sep=';'.",
            ) from None
        frame.columns = [self._style.names[place] or place for place in frame.columns]
        return frame[list(columns)]

    def code_columns(self, block: RowBlock) -> set[str]:
        """Return the columns in which a cell of the block looks like 007."""
        found = code_columns(block.data, self._style.sep)
        return {self._style.names[i] for i in found if i < self._width}

    def repeated_header(self, block: RowBlock) -> int | None:
        """Return the first line of a block that repeats the header."""
        header = self._head[: self._style.header_size].strip(b"\r\n").rpartition(b"\n")[2]
        if self._width < 2 or not self._style.has_header:
            return None
        data = b"\n" + block.data
        at = data.find(b"\n" + header)
        while at >= 0 and data[at + 1 + len(header) : at + 2 + len(header)] not in (b"\n", b"\r"):
            at = data.find(b"\n" + header, at + 1)
        return None if at < 0 else block.line + data[:at].count(b"\n")

    def mark_columns(self, block: RowBlock) -> NDArray[np.int64]:
        """Count what the decimal marks of a block show; see :func:`unclear`."""
        return mark_columns(block.data, self._style.sep, self.decimal, self._width)

    def unclear(self, counts: NDArray[np.int64]) -> set[str]:
        """Return the columns whose decimal mark may also be one between thousands.

        A few cells such as 3.5 do not show it beside many such as 2.100.
        """
        grouped, zeros, broken, sure = counts.T
        shown = (sure > 0) | ((broken > 0) & ((zeros == 0) | ~few(broken, broken + grouped)))
        return {self._style.names[i] for i in np.flatnonzero((grouped > 0) & ~shown)}

    def place(self, block: RowBlock, row: int, column: str) -> str:
        line = line_of(self.name, block, row, self._style.sep, self._width)
        return f"{self.name}, line {line}, column {shown(column)}"


@contextmanager
def open_csv(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] = (),
    header: bool = True,
) -> Iterator[CsvFile]:
    """Open a CSV file and find out how it is written."""
    sep = NAMED_SEPARATORS.get(sep, sep) if sep else sep
    kind, sep = (BlankSeparated, "\t") if sep == " " else (Utf8, sep)
    with open_bytes(path) as stream:
        yield CsvFile(kind(stream, encoding, name_of(path)), sep, decimal, missing, header)


class _Handle:
    """A file that gives pandas bytes of UTF-8 as they are.

    pandas would decode a ``BytesIO``, and encode it again for the parser.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        part = self._data[self._at : end]
        self._at += len(part)
        return part

    def __iter__(self) -> Iterator[bytes]:
        raise NotImplementedError("pandas' C parser reads by size")


# ---- the first lines ------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    sep: str
    decimal: str
    names: list[str]  # of the columns; empty for a column without a name
    header_size: int  # bytes before the first data row
    header_lines: int
    row_size: float  # bytes in a typical row
    has_header: bool = True


def sniff(
    name: str, head: bytes, sep: str | None, decimal: str | None, whole: bool, header: bool
) -> Style:
    """Find out how a file is written from its beginning, or the whole of it, in UTF-8."""
    lines = [line + "\n" for line in head.decode("utf-8", "ignore").split("\n")]
    if not whole and len(lines) > 2:
        lines.pop()  # incomplete
    skip = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    # Excel writes, and reads, a first line that gives the separator.
    if skip < len(lines) and (told := re.fullmatch(r'"?sep=(.)"?\s*', lines[skip], re.IGNORECASE)):
        skip, sep = skip + 1, sep or told[1]
    sep = sep and _check_separator(name, sep)
    skip += _remarks_before(name, lines[skip:], sep)
    if not "".join(lines[skip:]).strip():
        raise TableError(
            "the file is empty", where=name, remedy="Its first line must name the columns."
        )
    sep = sep or _best_separator(lines[skip:])

    rows, ends = _first_rows(lines[skip:], sep)
    if not rows and "".join(lines).strip(" \n\r" + sep):
        raise TableError(
            f"the header line cannot be read with the separator {sep!r}: a quote is not closed, "
            "or the line is too long",
            where=name,
            parameter="sep",
            remedy="Fix that line, or pass another separator, such as sep=';'.",
        )
    if rows and not whole and ends[0] >= len(lines) - skip:
        raise _long_header(name)
    if rows and "".join(lines[skip : skip + ends[0]]).count('"') % 2 and ends[0] > 1:
        raise TableError(
            "a quote opens in the header and is never closed",
            where=f"{name}, line {skip + 1}",
            remedy="Close it or remove it.",
        )
    names = [field.strip() for field in rows[0]] if rows else []
    check_count(len(names), name)
    header_lines = skip
    if not header:
        names = [f"column {i + 1}" for i in range(len(names))]
    elif rows:
        rows, header_lines = rows[1:], skip + ends[0]
    if not any(names):
        raise TableError(
            "the header line names no column", where=name, remedy="Write the names there."
        )
    check_different(name, names)
    if decimal is None or sep == ",":
        decimal = "." if sep == "," else _decimal_mark(names, rows)
    seen = sum(len(line.encode()) for line in lines[skip : skip + ends[-1]])
    return Style(
        sep,
        decimal,
        names,
        min(sum(len(line.encode()) for line in lines[:header_lines]), len(head)),
        header_lines,
        max(seen / len(ends), 1.0),
        header,
    )


def _remarks_before(name: str, lines: list[str], sep: str | None) -> int:
    """Return the number of comment lines before the header; refuse a title."""
    for i in range(min(len(lines) - 2, LOOK)):
        rows, ends = _first_rows(lines[i:], sep or _best_separator(lines[i:]))
        if len(rows) < 3 or len(rows[0]) > 1:
            return i
        after = lines[i + ends[0] :]
        widths = {len(row) for row in _first_rows(after, sep or _best_separator(after))[0][:5]}
        if len(widths) > 1 or min(widths) < 2:
            return i
        if not lines[i].lstrip().startswith(("#", "//")):
            raise TableError(
                f"the first line is {shown(rows[0][0].strip())}, but the lines after it have "
                f"{widths.pop()} columns",
                where=f"{name}, line {i + 1}",
                remedy="Remove the lines before the header, which names the columns.",
            )
    return 0


def _long_header(name: str) -> TableError:
    return too_large(
        "the header line, with blank lines before it, is too long",
        HEADER,
        f"{name}, line 1",
        "Is a quote not closed, or is this not a table?",
    )


def _first_rows(lines: list[str], sep: str) -> tuple[list[list[str]], list[int]]:
    """Return the first rows that are not blank, and the number of lines up to the end of each."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=True, strict=False)
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for fields in reader:
            if fields and any(map(str.strip, fields)):
                rows.append(fields)
                ends.append(reader.line_num)
            if len(rows) > LOOK:
                break
    except csv.Error:  # a cell too long, or a stray carriage return: reported later, with its line
        pass
    return rows, ends


def _best_separator(lines: list[str]) -> str:
    """Return the separator that splits the header and the rows after it in the same way."""

    def merit(sep: str) -> tuple[float, int]:
        rows, _ = _first_rows(lines, sep)
        if not rows or len(rows[0]) < 2:
            return 0.0, 0
        alike = [len(row) == len(rows[0]) for row in rows[1:]]
        return sum(alike) / len(alike) if alike else 1.0, len(rows[0])

    return max(SEPARATORS, key=merit)  # a comma, if there is only one column


def _check_separator(name: str, sep: str) -> str:
    if len(sep) != 1 or sep in '"\n\r \0' or not sep.isascii():
        raise TableError(
            f"sep={shown(sep)} is not one character such as ',' ';' '|' or a tab",
            where=name,
            parameter="sep",
        )
    return sep


def _decimal_mark(names: list[str], rows: list[list[str]]) -> str:
    counts = {".": 0, ",": 0}
    for row in rows:
        for cell in row[: len(names)]:
            cell = cell.strip()
            counts["."] += DOT_NUMBER.fullmatch(cell) is not None
            counts[","] += COMMA_NUMBER.fullmatch(cell) is not None
    return "," if counts[","] > counts["."] else "."
