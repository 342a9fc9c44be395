"""Sheets of Excel files (.xlsx), read row by row.

A cell has the value that Excel saw last: a formula has its result, a merged cell its value in the
first place.  Errors such as ``#N/A``, and formulas that were never computed, are missing values.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from rejo.tables._typed import Piece, TypedFile, row_pieces
from rejo.tables._workbook import Odd, Row, Workbook
from rejo.tables.errors import TableError, check_different, refuse_folder, shown
from rejo.tables.limits import check_count
from rejo.tables.typed_cells import day_word
from rejo.tables.values import word_of

LOOK = 10  # rows in which a title above the table shows


class ExcelFile(TypedFile):
    """A sheet of a workbook, open."""

    format = "excel"

    def __init__(self, stream: BinaryIO, path: str, sheet: str | None) -> None:
        self.name = path
        self._book = book = Workbook(stream, path)
        found = book.sheet(sheet)
        if len(book.sheets) > 1:
            self.name = f"{path}, sheet {shown(found.name)}"
        self.size = book.size
        self._rows: Iterator[Row] = book.rows(found)
        self.names, self._start = self._header()
        self._odd: dict[str, dict[int, int]] = {"errors": {}, "formulas": {}}

    def place(self, row: int, column: str) -> str:
        return f"{self.name}, row {self._start + row + 1}, column {shown(column)}"

    def pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        places = {name: i for i, name in enumerate(self.names) if name}
        wanted = {name: places[name] for name in (places if columns is None else columns)}

        def taken(batch: list[list[Any]]) -> Mapping[str, list[Any]]:
            return {name: [row[i] for row in batch] for name, i in wanted.items()}

        return row_pieces(self._filled(), taken, exact, rows, self.place)

    def remarks(self) -> dict[str, list[str]]:
        said = {
            "errors": "{} with an Excel error such as #N/A, read as missing",
            "formulas": "{} with a formula that was never computed, read as missing; open the file "
            "in Excel and save it",
        }
        found: dict[str, list[str]] = {}
        for what, counts in self._odd.items():
            for i, count in counts.items():
                cells = f"{count:,} cell{'s' * (count > 1)}"
                found.setdefault(self.names[i], []).append(said[what].format(cells))
        return found

    def _header(self) -> tuple[list[str], int]:
        """Return the names of the columns, and the number of the row that has them."""
        first = list(islice(self._rows, LOOK))
        if not first:
            raise TableError(
                "the sheet is empty", where=self.name, remedy="Its first row must name the columns."
            )
        cells = first[0].cells
        for row in first[1:] if len(cells) == 1 else []:
            if len(row.cells) > 1:
                raise TableError(
                    f"row {first[0].number} has one cell, {shown(*cells.values())}, and row "
                    f"{row.number} has {len(row.cells)}: a title seems to stand above the table",
                    where=self.name,
                    remedy="Delete the rows above the names of the columns.",
                )
        names = ["" if i not in cells else _name(cells[i]) for i in range(max(cells) + 1)]
        check_count(len(names), self.name)
        check_different(self.name, names)
        self._rows = chain(first[1:], self._rows)
        return names, first[0].number

    def _filled(self) -> Iterator[list[Any]]:
        """Yield a value for each name in every row, with blank rows up to the last that is not."""
        named = [i for i, name in enumerate(self.names) if name]
        width, done = len(self.names), self._start
        for row in self._rows:
            values = [row.cells.get(i) for i in range(width)]
            if all(values[i] is None for i in named):
                continue
            for _ in range(done + 1, row.number):
                yield [None] * width
            for i, value in enumerate(values):
                if isinstance(value, Odd):
                    counts = self._odd[value.what]
                    counts[i] = counts.get(i, 0) + 1
                    values[i] = None
            done = row.number
            yield values


@contextmanager
def open_excel(path: Path, sheet: str | None) -> Iterator[ExcelFile]:
    refuse_folder(path, str(path))
    with path.open("rb") as stream:
        yield ExcelFile(stream, str(path), sheet)


def _name(value: Any) -> str:
    if isinstance(value, datetime):
        return day_word(value)
    return value.strip() if isinstance(value, str) else word_of(value)
