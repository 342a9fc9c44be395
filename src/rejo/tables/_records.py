"""Where the rows of a CSV file end: blocks of whole rows, each as wide as the header.

pandas pads short rows and drops the excess of long ones; here both are refused with their line, or,
if they are few, reported with the block.

A block is scanned as an array of bytes, which takes a small part of the time of parsing it; only a
block with something unusual in it is read again by the csv module.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from rejo.tables._bytes import Utf8, count_lines
from rejo.tables.errors import TableError
from rejo.tables.limits import FIELD, ROW, long_field, too_large

QUOTE, NEWLINE, RETURN, BLANK, ZERO = b'"\n\r 0'
BLANKS = b" \t\r\n"
MOST_RAGGED = 0.1  # of the rows of a block

Positions = NDArray[np.int64]
NOWHERE: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class RowBlock:
    """Some whole rows of a file."""

    data: bytes  # UTF-8, ends in a line end
    line: int  # number of its first line in the file; the first is 1
    row: int  # number of its first data row; the first is 0
    # How many fields a row has that is not as wide as the header, by its place in the block.
    ragged: Mapping[int, int] = field(default_factory=dict)
    layout: "FieldEnds | None" = None  # if every line is a row of plain fields


@dataclass(frozen=True)
class FieldEnds:
    """Where the fields of a block end.

    Every line is a row, no field has a line end in it, and a quote stands only at the ends of a
    field.
    """

    seps: Positions  # (n_rows, n_columns - 1)
    newlines: Positions  # (n_rows,)

    def longest(self, column: int) -> int:
        """Return the length of the longest field of a column, with its quotes."""
        starts = np.append(-1, self.newlines[:-1]) if column == 0 else self.seps[:, column - 1]
        last = column == self.seps.shape[1]
        ends = self.newlines if last else self.seps[:, column]
        return int((ends - starts).max()) - 1


def row_blocks(
    reader: Utf8, start: bytes, line: int, *, sep: str, n_columns: int, size: int, keep_ragged: bool
) -> Iterator[RowBlock]:
    """Cut what follows the header into blocks of about ``size`` bytes.

    ``start`` was read already; it begins with the first data row, at the given line.  With
    ``keep_ragged``, a few rows with too many or too few fields are cut or filled up, and reported.
    """
    row, rest, at_end = 0, start, False
    while rest or not at_end:
        parts, have = [rest], len(rest)
        while have < size and not at_end:
            data = reader.read(min(size - have, 1 << 22))
            at_end = not data
            parts.append(data)
            have += len(data)
        ahead = b"".join(parts)
        data, later = ahead[:size], ahead[size:]
        last = at_end and not later
        if last and data and not data.endswith(b"\n"):
            data += b"\n"
        spans = quoted_spans(data, sep)
        newlines = _outside(data, NEWLINE, spans)
        end = int(newlines[-1]) + 1 if len(newlines) else 0
        if end < len(data) and last:
            opened = int(spans[0][-1]) if len(spans[0]) else end
            raise TableError(
                "a quote opens here and is never closed",
                where=f"{reader.name}, line {line + count_lines(data[:opened])}",
                remedy="Close it or remove it.",
            )
        if len(data) - end > ROW:
            raise _long_row(reader.name, line + count_lines(data[:end]))
        data, rest = data[:end], data[end:] + later
        size = max(size, 2 * (len(rest) - len(later)))  # a long row must fit
        n_lines = len(newlines) if not len(spans[0]) else count_lines(data)
        block = RowBlock(data, line, row)
        try:
            found = count_rows(reader.name, block, spans, newlines, sep, n_columns)
        except RaggedRow as error:
            if not keep_ragged or n_columns == 1:
                raise
            block = _made_even(block, sep, n_columns, error)
            spans = quoted_spans(block.data, sep)
            newlines = _outside(block.data, NEWLINE, spans)
            found = count_rows(reader.name, block, spans, newlines, sep, n_columns)
        n_rows, layout = found
        if n_rows:
            yield replace(block, layout=layout)
        row += n_rows
        line += n_lines


class RaggedRow(TableError):
    """A row has more or fewer fields than the header."""


def _made_even(block: RowBlock, sep: str, n_columns: int, error: RaggedRow) -> RowBlock:
    """Return a block whose rows are all as wide as the header.

    If many are not, the separator or the header is wrong, which is an error.
    """
    lines = StringIO(block.data.decode(), newline="\n")
    out = StringIO(newline="")
    writer = csv.writer(out, delimiter=sep, lineterminator="\n")
    ragged, n_rows = {}, 0
    try:
        for fields in csv.reader(lines, delimiter=sep, skipinitialspace=True):
            if not fields or (len(fields) == 1 and not fields[0].strip()):
                out.write("\n")
                continue
            if len(fields) != n_columns:
                ragged[n_rows] = len(fields)
                fields = [*fields[:n_columns], *[""] * (n_columns - len(fields))]
            writer.writerow(fields)
            n_rows += 1
    except csv.Error:
        raise error from None
    if len(ragged) > max(MOST_RAGGED * n_rows, 1):
        raise error
    return RowBlock(out.getvalue().encode(), block.line, block.row, ragged)


def quoted_spans(data: bytes, sep: str) -> tuple[Positions, Positions]:
    """Return the positions of opening and closing quotes; the end if one is not closed."""
    if b'"' not in data:
        return NOWHERE, NOWHERE
    array = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(array == QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    ends = np.append(closing, len(data))[: len(opening)]
    ordinary = np.zeros(256, dtype=bool)
    ordinary[[ord(sep), NEWLINE, RETURN]] = True
    before = array[opening - 1]
    fine = ordinary[before] | (opening == 0)
    fine |= (before == BLANK) & ordinary[array[opening - 2]] & (opening >= 2)
    fine[1:] |= opening[1:] == ends[: len(opening) - 1] + 1  # a doubled quote within quotes
    after = ordinary[array[np.minimum(closing + 1, len(data) - 1)]] | (closing == len(data) - 1)
    after[: len(opening) - 1] |= closing[: len(opening) - 1] + 1 == opening[1:]
    if fine.all() and after.all():
        return opening, ends
    # Quotes within cells, as in 5" pipe: only those at the start of a cell open anything.
    cell = re.compile(
        rb"(?:\A|(?<=[\n\r" + re.escape(sep.encode()) + rb'])) *"[^"]*(?:""[^"]*)*("|\Z)'
    )
    found = ((m.start(), m.end() - 1 if m[1] else len(data)) for m in cell.finditer(data))
    pairs = np.fromiter(chain.from_iterable(found), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _outside(data: bytes, character: int, spans: tuple[Positions, Positions]) -> Positions:
    """Return the positions of a character that are not within quotes."""
    places = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == character)
    starts, ends = spans
    if not len(starts):
        return places
    which = np.searchsorted(starts, places) - 1
    return places[(which < 0) | (places > ends[which])]


def count_rows(
    name: str,
    block: RowBlock,
    spans: tuple[Positions, Positions],
    newlines: Positions,
    sep: str,
    n_columns: int,
) -> tuple[int, FieldEnds | None]:
    """Count the rows of a block; refuse one with more or fewer fields than the header."""
    data = block.data
    if not data:
        return 0, None
    array = np.frombuffer(data, dtype=np.uint8)
    seps = _outside(data, ord(sep), spans)
    lengths = np.diff(newlines, prepend=-1)
    if (lengths > ROW).any():
        start = int(newlines[(lengths > ROW).argmax() - 1]) + 1 if lengths[0] <= ROW else 0
        raise _long_row(name, block.line + count_lines(data[:start]))
    returns = np.flatnonzero(array == RETURN) if b"\r" in data else NOWHERE
    # A row no longer than a cell may be has no cell that is too long.
    if lengths.max() <= FIELD and (array[returns + 1] == NEWLINE).all():  # part of a line end
        if _are_regular(newlines, seps, n_columns):
            plain = n_columns > 1 and _are_plain(array, spans, newlines, sep)
            rows = seps.reshape(len(newlines), n_columns - 1)
            return len(newlines), FieldEnds(rows, newlines) if plain else None
        newlines = _not_blank(array, newlines, sep)
        if _are_regular(newlines, seps, n_columns):
            return len(newlines), None
    return sum(1 for _ in rows_of(name, block, sep, n_columns)), None


def _are_plain(
    array: NDArray[np.uint8], spans: tuple[Positions, Positions], newlines: Positions, sep: str
) -> bool:
    """Return whether quotes stand at both ends of fields and nowhere else, and hold no line end."""
    opening, closing = (places[spans[0] < len(array)] for places in spans)
    if not len(opening):
        return True
    ends = np.zeros(256, dtype=bool)
    ends[[ord(sep), NEWLINE]] = True
    before = ends[array[opening - 1]] | (opening == 0)
    ends[RETURN] = True
    n_quotes = np.count_nonzero(array == QUOTE)
    return bool(
        n_quotes == 2 * len(opening)
        and before.all()
        and ends[array[closing + 1]].all()
        and np.count_nonzero(array == NEWLINE) == len(newlines)
    )


def _are_regular(newlines: Positions, seps: Positions, n_columns: int) -> bool:
    """Return whether each row has as many fields as the header."""
    n, gaps = len(newlines), n_columns - 1
    if len(seps) != n * gaps:
        return False
    # With n * gaps separators in all, the first and the last of each row must lie in that row.
    return gaps == 0 or bool(
        (seps[gaps - 1 :: gaps] < newlines).all() and (seps[::gaps][1:] > newlines[:-1]).all()
    )


def _not_blank(array: NDArray[np.uint8], newlines: Positions, sep: str) -> Positions:
    """Return the ends of the lines that hold more than blanks."""
    ink = np.ones(256, dtype=bool)
    ink[list(BLANKS)] = False
    ink[ord(sep)] = True
    return newlines[np.diff(np.cumsum(ink[array], dtype=np.int32)[newlines], prepend=0) > 0]


def _long_row(name: str, line: int) -> TableError:
    return too_large(
        "the row that begins here is too long",
        ROW,
        f"{name}, line {line}",
        "Is a quote not closed, or is this not a table?",
    )


def code_columns(data: bytes, sep: str) -> set[int]:
    """Return the positions of the columns in which a cell begins with 0 and another digit."""
    array = np.frombuffer(data, dtype=np.uint8)
    zeros = np.flatnonzero((array[:-1] == ZERO) & (array[1:] - ZERO < 10))
    before = np.zeros(256, dtype=bool)
    before[[ord(sep), NEWLINE, QUOTE, BLANK]] = True
    zeros = zeros[before[array[zeros - 1]] | (zeros == 0)]
    return set(np.unique(_columns_at(data, sep, zeros)).tolist()) if len(zeros) else set()


def mark_columns(data: bytes, sep: str, mark: str, n_columns: int) -> Positions:
    """Count the decimal marks of columns of numbers by what they show, (n_columns, 4).

    First cells such as 2.100, which may mean thousands: one to three digits, of which the first is
    not 0, the mark, and three digits.  Second, those among them that end in 0.  Third, cells with
    another number of digits after the mark, such as 2.5.  Last, others, such as 0.420.
    """
    padded = np.frombuffer(b"\n" * 4 + data + b"\n" * 4, dtype=np.uint8)
    digit = padded - ZERO < 10
    at = np.flatnonzero(padded == ord(mark))
    after = digit[at + 1]
    at = at[digit[at - 1] | after]
    counts = np.zeros((n_columns, 4), dtype=np.int64)
    if not len(at):
        return counts
    three = digit[at + 1] & digit[at + 2] & digit[at + 3] & ~digit[at + 4]
    second = digit[at - 2]
    third = second & digit[at - 3]
    few = digit[at - 1] & ~(third & digit[at - 4]) & (padded[at - 1 - second - third] != ZERO)
    unclear = three & few
    columns = _columns_at(data, sep, at - 4)
    fine = columns < n_columns
    for i, which in enumerate(
        (unclear, unclear & (padded[at + 3] == ZERO), ~three, three & ~unclear)
    ):
        counts[:, i] = np.bincount(columns[which & fine], minlength=n_columns)
    return counts


def _columns_at(data: bytes, sep: str, places: Positions) -> Positions:
    """Return the positions of the columns that these bytes are in."""
    if b'"' not in data:
        array = np.frombuffer(data, dtype=np.uint8)
        before = np.cumsum(array == ord(sep), dtype=np.int32)
        ends = np.flatnonzero(array == NEWLINE)
        first = np.append(0, before[ends])  # separators before each line
        return (before[places] - first[np.searchsorted(ends, places)]).astype(np.int64)
    spans = quoted_spans(data, sep)
    seps = _outside(data, ord(sep), spans)
    newlines = np.append(-1, _outside(data, NEWLINE, spans))
    starts = newlines[np.searchsorted(newlines, places) - 1]
    columns: Positions = np.searchsorted(seps, places) - np.searchsorted(seps, starts)
    return columns


def rows_of(name: str, block: RowBlock, sep: str, n_columns: int) -> Iterator[int]:
    """Yield the line of each row of a block that is not blank."""
    latest = ""

    def lines() -> Iterator[str]:
        nonlocal latest
        # Split at line feeds only: str.splitlines would split at other characters too.
        for latest in StringIO(block.data.decode(), newline="\n"):  # noqa: UP028
            yield latest

    reader = csv.reader(lines(), delimiter=sep, skipinitialspace=True)
    line = block.line
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            if "field limit" in str(error):
                raise long_field(f"{name}, line {line}") from None
            raise TableError(
                f"the row cannot be read ({error})",
                where=f"{name}, line {line}",
                remedy="Fix that line.",
            ) from None
        if fields is None:
            return
        if any(len(field) > FIELD // 4 and len(field.encode()) > FIELD for field in fields):
            raise long_field(f"{name}, line {line}")
        if fields and not (len(fields) == 1 and not fields[0].strip()):
            if (found := len(fields)) != n_columns:
                remedy = "Fix that line: cells that contain the separator need quotes around them."
                if found == n_columns + 1:
                    remedy = "Name every column, including row names, or fix that line."
                raise RaggedRow(
                    f"the row has {found} field{'s' * (found != 1)}, but there are {n_columns} "
                    f"columns (separator {sep!r})",
                    where=f"{name}, line {line}",
                    remedy=remedy,
                )
            yield line
        elif n_columns == 1 and latest.strip():  # a quoted empty cell
            yield line
        line = block.line + reader.line_num


def line_of(name: str, block: RowBlock, row: int, sep: str, n_columns: int) -> int:
    """Return the line of a data row of a block."""
    return next(islice(rows_of(name, block, sep, n_columns), row, None), block.line)
