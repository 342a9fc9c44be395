"""Where tables come from and go to: formats by name, and what every source gives.

A source has names of columns and gives its rows in pieces: Arrow arrays of bounded size.  The
format of a file is in the ending of its name; a database is named by a URL, in which a password may
stand.  Messages, reports and model files have it from :func:`name_of`, without.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rejo._errors import Setting, Text, close_words
from rejo._io import URL, without_password
from rejo.tables.errors import (
    PIECE,
    ROW,
    TableError,
    check_columns,
    check_count,
    check_different,
    import_pyarrow,
    long_field,
    shown,
    too_large,
)
from rejo.tables.values import array_of, long_cell

EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json",
    ".ndjson": "json", ".json": "json", **dict.fromkeys(EXCEL, "excel"),
}  # fmt: skip
# The module of each format; its ``open_table`` gives a source.
READERS = {"csv": "_csv", "json": "_json", "excel": "_excel", "parquet": "pieces", "sql": "_sql"}
# Endings of tables that are written.
WRITTEN = (
    ".csv", ".csv.gz", ".tsv", ".xlsx", ".jsonl", ".ndjson", ".parquet", ".pq",
)  # fmt: skip
PACKED = ("csv", "json")  # these may end in .gz too
DATABASES = ("sqlite", "postgresql", "postgres")
CELL = 8  # bytes: a number, a date, or the place of a word
LOOK = 50  # rows in which the header is looked for
MOST_TITLES = 10  # rows above the header that are skipped without being asked
NUMERIC = re.compile(r"[\s\d.,:/%€$+-]+")


class Piece(NamedTuple):
    """Some rows of a source."""

    n_rows: int
    columns: dict[str, Any]  # Arrow arrays, by name
    # Rows that cannot be right, by position: a reason of :mod:`rejo.tables.doubts`, and a detail.
    doubts: Mapping[int, tuple[str, str]] = {}


class Source:
    """A table that is open, and read once, from beginning to end."""

    format: str
    name: str  # for messages
    names: list[str]  # of the columns; empty for a column without a name
    own_names: list[str]  # those in the file
    size: int | None = None  # bytes of a file whose contents are packed
    skipped: str = ""  # what stands above the header, in words
    _own: dict[str, str]  # names in the file of columns that were renamed

    def pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        """Yield some columns, or all; those of ``exact`` have strings only."""
        own = self._own
        wanted = None if columns is None else [own.get(name, name) for name in columns]
        names = {own_name: name for name, own_name in own.items()}
        strings = [own.get(name, name) for name in exact]
        done = 0
        for n_rows, found, doubts in self._pieces(wanted, strings, rows):
            for name, array in found.items():
                if (row := long_cell(array)) is not None:
                    raise long_field(self.place(done + row, names.get(name, name)))
            found = {names.get(name, name): array for name, array in found.items()}
            yield Piece(n_rows, found, doubts)
            done += n_rows

    def _pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        raise NotImplementedError

    def own_name(self, column: str) -> str:
        """Return the name of a column in the file."""
        return self._own.get(column, column)

    def place(self, row: int, column: str = "") -> str:
        """Say where a row, or a cell, is; the first row is 0."""
        return f"{self.name}, row {row + 1}" + (f", column {shown(column)}" if column else "")

    def refusal(self, row: int, why: str, detail: str) -> TableError:
        """Return the error for a row that cannot be right, in training."""
        from rejo.tables.doubts import Doubt

        return TableError(
            str(Doubt(why, value=detail, kind=detail)), where=self.place(row), remedy="Correct it."
        )

    def rename(self, names: Mapping[str, str], needed: Collection[str] = ()) -> None:
        """Call columns by other names: ``names`` has the new one for that in the file.

        A name that the file lacks is refused, unless the column is there under its new name.
        """
        check_count(len(self.names), self.name)
        self._own, self.own_names = {}, self.names
        for old, new in names.items():
            if old in self.names and new not in self.names:
                self.names = [new if name == old else name for name in self.names]
                self._own[new] = old
            elif new not in self.names:
                check_columns(self.name, [old], filter(None, self.names), "rename")
        check_different(self.name, self.names)
        there = [name for name in self.names if name]
        try:
            check_columns(self.name, needed, there)
        except TableError as error:
            lacks = str(error.column)
            if close := close_words(lacks, [name for name in there if name not in needed], 1):
                error.parameter = "rename"
                pair = Setting("rename", f"{close[0]}={lacks}")
                said = f"If it is {shown(close[0])} here, add "
                error.remedy = Text(said, pair, ". ", str(error.remedy))
            raise


def row_pieces(
    rows: Iterable[Any],
    columns: Callable[[list[Any]], Mapping[str, list[Any]]],
    exact: Collection[str],
    most: int,
    place: Callable[[int], str],
    doubt: Callable[[Any], tuple[str, str] | None] = lambda _: None,
) -> Iterator[Piece]:
    """Gather rows of Python values, sequences or dicts, whose ``columns`` are taken out of many."""
    batch: list[Any] = []
    doubts: dict[int, tuple[str, str]] = {}
    done = size = 0

    def piece() -> Piece:
        found = columns(batch).items()
        arrays = {name: array_of(values, name in exact) for name, values in found}
        return Piece(len(batch), arrays, dict(doubts))

    for row in rows:
        values = row.values() if isinstance(row, dict) else row
        length = CELL * len(values) + sum([len(value) for value in values if type(value) is str])
        if length > ROW:
            where = place(done + len(batch))
            raise too_large("the row is too long", ROW, where, "Leave out long columns.")
        if (found := doubt(row)) is not None:
            doubts[len(batch)] = found
        batch.append(row)
        size += length
        if len(batch) >= most or size >= PIECE:
            yield piece()
            done, size, batch, doubts = done + len(batch), 0, [], {}
    if batch:
        yield piece()


# ---- the row that names the columns -----------------------------------------------------------


class Wanted(NamedTuple):
    """Which row of a file names its columns."""

    header: bool | int = True  # False: none; a number: that of its line or row, from 1
    needed: frozenset[str] = frozenset()  # names that it must have, if they are known

    def row(self, rows: Sequence[Sequence[str]], numbers: Sequence[int], name: str) -> int:
        """Return the index of the header among the first rows that are not blank.

        ``numbers`` are those of the lines, or rows, at which they end.
        """
        if self.header is not True and self.header > 0:
            found = next((i for i, end in enumerate(numbers) if end >= self.header), None)
            if found is None:
                raise TableError(
                    f"row {self.header} is not among the first {LOOK} that are not blank",
                    where=name,
                    parameter="header",
                )
            return found
        if not self.header or not rows:
            return 0
        if self.needed:
            for i, row in enumerate(rows):
                if self.needed <= {cell.strip() for cell in row}:
                    return i
        return _titles(rows)

    def names(
        self, rows: Sequence[Sequence[str]], place: int, numbers: Sequence[int], name: str, of: str
    ) -> tuple[list[str], str]:
        """Return the names that the header has, and in words what is left out above it.

        ``of`` is what the numbers count.
        """
        names = [cell.strip() for cell in rows[place]] if rows else []
        if self.header is False:
            return [f"column {i + 1}" for i in range(len(names))], ""
        filled = [sum(map(bool, map(str.strip, row))) for row in rows]
        after = filled[place + 1 : place + 6]
        if filled[place : place + 1] == [1] and len(after) > 1 and min(after) > 1:
            raise TableError(
                f"{shown(max(names))} stands alone in {of} {numbers[place]}, and below it there "
                f"are {max(after)} columns: a title seems to stand above the table",
                where=name,
                parameter="header",
                remedy=Text(
                    f"Give the number of the {of} that names the columns, such as ",
                    Setting("header", 3),
                    ".",
                ),
            )
        above = next((cell.strip() for row in rows[:place] for cell in row if cell.strip()), "#")
        if above.startswith(("#", "//")):
            return names, ""
        last = numbers[place]
        return names, f"the {of}s above {of} {last} are left out, which begin {shown(above)}"


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header, if that is clear; else 0."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    width = max(filled)
    first = filled.index(width)
    before = rows[:first]
    if not 0 < first <= MOST_TITLES or first + 1 >= len(rows) or width < 2:
        return 0
    comments = all(row and row[0].lstrip().startswith(("#", "//")) for row in before)
    alone = all(n <= max(1, width // 3) and row[0].strip() for n, row in zip(filled, before,
                strict=False))  # fmt: skip
    if width == 2 and any(len(row) > 1 for row in before):
        return 0
    names = [cell.strip() for cell in rows[first]]
    named = len(set(names)) == len(names) and not any(NUMERIC.fullmatch(n) for n in names if n)
    after = len(rows[first + 1]) == len(rows[first]) or filled[first + 1] > width // 2
    return first if (comments or alone) and named and after else 0


class How(NamedTuple):
    """What is said about a table; each format takes what concerns it."""

    sep: str | None
    encoding: str | None
    sheet: str | None
    query: str | None
    wanted: Wanted


# ---- formats ----------------------------------------------------------------------------------


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a table is named by a URL."""
    return URL.match(os.fspath(path)) is not None


def name_of(path: str | os.PathLike[str]) -> str:
    """Return what messages call the file; the URL of a database has no password there."""
    return "stdin" if os.fspath(path) == "-" else without_password(os.fspath(path))


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a table by its name; ``csv`` for other endings, and for a stream."""
    from rejo.tables.pieces import RowGroup

    name = os.fspath(path)
    if isinstance(path, RowGroup):
        return "parquet"
    if found := URL.match(name):
        if found[1].lower().partition("+")[0] in DATABASES:
            return "sql"
        raise TableError(
            f"tables are not read from {shown(found[0])}",
            where=name_of(path),
            remedy="Save the table as a file, or name a database: sqlite:///FILE, or "
            "postgresql://USER@HOST/NAME.",
        )
    ending = Path(name.lower()).suffix
    if ending == ".numbers":
        raise TableError(
            "this is a Numbers file, which is not read", where=name, remedy="Save it as .xlsx."
        )
    if ending == ".gz":
        found_inside = FORMATS.get(Path(name.lower()[:-3]).suffix, "csv")
        return found_inside if found_inside in PACKED else "csv"
    return FORMATS.get(ending, "csv")


def output_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a table is written in; refuse a name that does not say it."""
    name = os.fspath(path)
    if is_url(name):
        return format_of(name)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):  # a pipe or a device
        return "csv"
    ending = Path(name.lower()).suffix
    if ending == ".gz":
        ending = Path(name.lower()[:-3]).suffix + ending
    if ending not in WRITTEN:
        raise TableError(
            f"the name does not end in {', '.join(WRITTEN)}",
            where=name,
            parameter="output",
            remedy="The ending gives the format; write, for example, decisions.csv.",
        )
    return FORMATS[ending.removesuffix(".gz")]


def check_output_format(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse a table that cannot be written, before any work is done.

    The name must say the format, its packages must be installed, and a table of a database must
    not exist, unless it is to be replaced.  Whether a file exists is not checked.
    """
    format = output_format(path)
    import_pyarrow(f"writing {name_of(path)}")
    if format == "sql":
        from rejo.tables._sql import check_table

        check_table(os.fspath(path), overwrite=overwrite)


@contextmanager
def open_source(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    query: str | None = None,
    header: bool | int = True,
    rename: Mapping[str, str] | str | None = None,
    needed: Collection[str] = (),
) -> Iterator[Source]:
    """Open a table; it must have the columns that are ``needed``, after others are renamed."""
    format = format_of(path)
    renamed = dict([rename.split("=", 1)]) if isinstance(rename, str) else dict(rename or {})
    for parameter, value, owner, what in (
        ("sheet", sheet, "excel", "an Excel file"),
        ("query", query, "sql", "a database"),
    ):
        if value is not None and format != owner:
            raise TableError(
                f"this is not {what}", where=name_of(path), parameter=parameter,
                remedy="Leave it out, or give another table.",
            )  # fmt: skip
    old = {new: own for own, new in renamed.items()}
    wanted = Wanted(header, frozenset(old.get(name, name) for name in needed))
    reader = import_module(f"rejo.tables.{READERS[format]}")
    with reader.open_table(path, How(sep, encoding, sheet, query, wanted)) as source:
        source.rename(renamed, needed)
        yield source


def place_of(path: str | os.PathLike[str], row: int, **reading: Any) -> str:
    """Say where the data row with the index ``row`` is; ``reading`` as for ``read_table``.

    In a CSV file it is a line, of which the header has the first; in a workbook it is a row of the
    sheet.  Both are found by reading the file again, so of a stream or a database it is the number
    of the data row.
    """
    if format_of(path) == "sql" or not Path(path).is_file():
        return f"{name_of(path)}, row {row + 1}"
    how: dict[str, Any] = {n: reading.get(n) for n in ("sep", "encoding", "sheet")}
    with open_source(path, **how, header=reading.get("header", True)) as source:
        return source.place(row)
