"""Files whose cells may have types: Parquet files, workbooks, JSON, tables of databases.

Such a file gives its columns in pieces of :class:`~rejo.tables.typed_cells.Cells`; here they become
whole tables and frames.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.tables.errors import shown
from rejo.tables.limits import PIECE, ROW, check_count, check_unpacked, check_whole, too_large
from rejo.tables.reading import ReadColumn
from rejo.tables.typed_cells import Cells, as_kind, cells_of, joined_cells, no_words, read_cells
from rejo.tables.values import Words, frame_of, missing_words, spread

CELL = 8  # bytes: a number, a date, or the place of a word
ROWS = 100_000  # in a piece of a table that is read whole
SPLIT = "If that is what it should hold, write it as several files, or as CSV."


class Piece(NamedTuple):
    """Some rows of a file."""

    n_rows: int
    columns: dict[str, Cells]


class TypedFile:
    """A file that is open, and read once, from beginning to end."""

    format: str
    name: str  # for messages
    names: list[str]  # of the columns; empty for a column without a name
    size: int | None = None  # bytes of a file whose contents are packed

    def pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        """Yield some columns, or all; those of ``exact`` have strings only."""
        raise NotImplementedError

    def place(self, row: int, column: str) -> str:
        """Say where a cell is, for a message; the first row is 0."""
        return f"{self.name}, row {row + 1}, column {shown(column)}"

    def remarks(self) -> dict[str, list[str]]:
        """Return what may surprise about columns that have been read."""
        return {}


def read_whole(
    file: TypedFile,
    *,
    text: Collection[str],
    words: Collection[str],
    decimal: str | None,
    missing: Iterable[str],
    exact: bool,
) -> dict[str, ReadColumn]:
    """Read all columns that have a name, and find out what they hold."""
    parts: dict[str, list[Cells]] = {name: [] for name in file.names if name}
    known: dict[str, str] = {}  # equal words of different pieces are one object
    n_rows = 0
    for piece in file.pieces(None, [*text, *words], ROWS):
        for name in piece.columns:  # in JSON, a column may begin late
            parts.setdefault(name, [Cells(no_words(n_rows))])
        check_count(len(parts), file.name)
        n_rows += piece.n_rows
        check_whole(CELL * len(parts) * n_rows + sum(map(len, known)), file.name)
        for name, found in parts.items():
            part = piece.columns.get(name) or Cells(no_words(piece.n_rows))
            same = [known.setdefault(word, word) for word in part.words.words]
            found.append(Cells(Words(part.words.codes, same), part.numbers, part.dates))
    columns = {}
    for name in list(parts):
        columns[name] = joined_cells(parts.pop(name))
    read = read_cells(
        columns, file.name, file.place,
        text=text, words=words, decimal=decimal, missing=missing, exact=exact,
    )  # fmt: skip
    for name, remarks in file.remarks().items():
        values, about = read[name]
        read[name] = ReadColumn(values, replace(about, remarks=(*about.remarks, *remarks)))
    return read


def frames(
    file: TypedFile,
    kinds: Mapping[str, str],
    written: Mapping[str, Mapping[str, str]],
    rows: int,
    *,
    decimal: str | None,
    missing: Iterable[str],
    spelled: Mapping[str, Mapping[str, str]],
    usual: Mapping[str, float],
) -> Iterator[Any]:
    """Yield some columns as these kinds: frames of limited size, at least one."""
    exact = [name for name, kind in kinds.items() if kind in ("text", "category")]
    gaps = missing_words(missing)
    done = size = 0
    nothing = Piece(0, {name: Cells(no_words(0)) for name in kinds})
    for piece in _at_least(file.pieces(list(kinds), exact, rows), nothing):
        sizes = np.full(piece.n_rows, CELL * len(kinds))
        found = {}
        for name, kind in kinds.items():
            cells = piece.columns[name]
            if kind == "text":  # to be written out
                sizes += spread(_lengths(cells.words.words), cells.words, 0)
            else:
                cells = cells.known(gaps)
            how = written.get(name, {})
            mark = decimal or how.get("decimal", ".")
            found[name] = as_kind(
                cells, kind, how, mark, spelled.get(name, {}), None if decimal else usual.get(name)
            )
        if file.size is not None:
            check_unpacked(size := size + int(sizes.sum()), file.size, file.name, SPLIT)
        frame = frame_of(found, done)
        for start, end in _within(sizes, rows):
            yield frame.iloc[start:end]
        done += piece.n_rows


def row_pieces(
    rows: Iterable[Any],
    columns: Callable[[list[Any]], Mapping[str, list[Any]]],
    exact: Collection[str],
    most: int,
    place: Callable[[int, str], str],
) -> Iterator[Piece]:
    """Gather rows of Python values, sequences or dicts, whose ``columns`` are taken out of many."""
    batch: list[Any] = []
    done = size = 0

    def piece() -> Piece:
        def where(row: int, column: str) -> str:
            return place(done + row, column)

        found = columns(batch).items()
        cells = {name: cells_of(values, where, name, name in exact) for name, values in found}
        return Piece(len(batch), cells)

    for row in rows:
        values = row.values() if isinstance(row, dict) else row
        length = CELL * len(values) + sum([len(value) for value in values if type(value) is str])
        if length > ROW:
            where = place(done + len(batch), "").partition(", column")[0]
            raise too_large("the row is too long", ROW, where, "Leave out long columns.")
        batch.append(row)
        size += length
        if len(batch) >= most or size >= PIECE:
            yield piece()
            done, size, batch = done + len(batch), 0, []
    if batch:
        yield piece()


def _at_least(pieces: Iterable[Piece], nothing: Piece) -> Iterator[Piece]:
    empty = True
    for piece in pieces:
        yield piece
        empty = False
    if empty:
        yield nothing


def _lengths(words: list[str]) -> NDArray[np.int64]:
    """Return the length of each word in UTF-8."""
    if not "".join(words).isascii():
        words = [word.encode("utf-8", "replace") for word in words]  # type: ignore[misc]
    return np.fromiter(map(len, words), np.int64, len(words))


def _within(sizes: NDArray[np.int64], rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows of these sizes into limited parts; yield the first row and the end of each."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0  # bytes
        most = int(np.searchsorted(ends, before + PIECE, side="right"))
        end = max(start + 1, min(start + rows, most))
        yield start, end
        start = end
    if not len(sizes):
        yield 0, 0
