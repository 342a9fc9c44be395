"""Where tables come from and go to: formats by name, and what every source gives.

A source has names of columns and gives its rows in pieces: Arrow arrays of bounded size.  A
database is named by a URL, in which a password may stand; messages, reports and model files have it
from :func:`name_of`, without.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rejo._errors import Setting, Text, close_words
from rejo._io import URL, without_password
from rejo.tables.doubts import Doubt
from rejo.tables.errors import (
    FIELD,
    MOST_COMPARED,
    MOST_NAMES,
    PIECE,
    ROW,
    TableError,
    check_columns,
    check_names,
    import_pyarrow,
    listed,
    long_field,
    shown,
    too_large,
)
from rejo.tables.values import array_of, lengths_of


class Format(NamedTuple):
    """A format of tables: what there is to know about it is here, and in the modules it names."""

    reader: str  # module, whose ``open_table`` gives a source; ``_writer`` has what writes
    read: tuple[str, ...] = ()  # endings
    written: tuple[str, ...] = ()
    packed: bool = False  # it may end in .gz, too


FORMATS = {
    "csv": Format("_csv", (".csv", ".tsv"), (".csv", ".csv.gz", ".tsv"), True),
    "excel": Format("_excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), (".xlsx",)),
    "json": Format("_json", (".jsonl", ".ndjson", ".json"), (".jsonl", ".ndjson"), True),
    "parquet": Format("pieces", (".parquet", ".pq"), (".parquet", ".pq")),
    "sql": Format("_sql"),
}
DATABASES = ("sqlite", "postgresql", "postgres")
CELL = 8  # bytes: a number, a date, or the place of a word
LOOK = 50  # rows in which the header is looked for
MOST_TITLES = 10  # rows above the header that are skipped without being asked
NUMERIC = re.compile(r"[\s\d.,:/%€$+-]+")


class How(NamedTuple):
    """What is said about a table; each format takes what concerns it."""

    sep: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    query: str | None = None
    header: bool | int = True  # False: none; a number: that of its line or row, from 1
    needed: frozenset[str] = frozenset()  # names that the header must have, if they are known


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

    def pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        """Yield some columns, or all; those of ``exact`` have strings only."""
        own = dict(zip(self.names, self.own_names, strict=True))
        names = dict(zip(self.own_names, self.names, strict=True))
        wanted = None if columns is None else [own[name] for name in columns]
        done = 0
        for n_rows, found, doubts in self._pieces(wanted, [own[name] for name in exact], rows):
            arrays = {names.get(name, name): array for name, array in found.items()}
            for name, array in arrays.items():
                if (lengths := lengths_of(array)).max(initial=0) > FIELD:
                    raise long_field(self.place(done + int((lengths > FIELD).argmax()), name))
            yield Piece(n_rows, arrays, doubts)
            done += n_rows

    def _pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        raise NotImplementedError

    def place(self, row: int, column: str = "") -> str:
        """Say where a row, or a cell, is; the first row is 0."""
        return f"{self.name}, row {row + 1}" + (f", column {shown(column)}" if column else "")

    def refusal(self, row: int, why: str, detail: str) -> TableError:
        """Return the error for a row that cannot be right, in training."""
        said = str(Doubt(why, value=detail, kind=detail))
        return TableError(said, where=self.place(row), remedy="Correct it.")

    def rename(self, names: Mapping[str, str], needed: Collection[str]) -> None:
        """Call columns by other names: ``names`` has the new one for that in the file.

        A name that the file lacks is refused, unless the column is there under its new name.
        """
        check_names(self.name, self.names)
        self.own_names = self.names
        for old, new in names.items():
            if new not in self.names:
                check_columns(self.name, [old], filter(None, self.names), "rename")
                self.names = [new if name == old else name for name in self.names]
        check_names(self.name, self.names)
        there = [name for name in self.names if name]
        try:
            check_columns(self.name, needed, there)
        except TableError as error:
            spare = [name for name in there if name not in needed][:MOST_COMPARED]
            lacking = [name for name in dict.fromkeys(needed) if name not in there][:MOST_NAMES]
            pairs = {own: name for name in lacking for own in close_words(name, spare, 1)}
            if pairs:
                error.parameter = "rename"
                given = Setting("rename", ",".join(map("=".join, pairs.items())))
                said = f"If {listed(pairs)} {'is' if len(pairs) == 1 else 'are'} meant, add "
                error.remedy = Text(said, given, f". The columns are: {listed(there)}")
            raise


class RowSource(Source):
    """A table whose rows are sequences, or dicts, of Python values."""

    _at: dict[str, int]  # where a row has each column

    def _rows(self, columns: Sequence[str]) -> Iterator[Any]:
        raise NotImplementedError

    def _taken(self, batch: list[Any], columns: Sequence[str] | None) -> dict[str, list[Any]]:
        names = filter(None, self.own_names) if columns is None else columns
        return {name: [row[self._at[name]] for row in batch] for name in names}

    def _doubt(self, row: Any) -> tuple[str, str] | None:
        """Return why a row cannot be right."""

    def _pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        batch: list[Any] = []
        doubts: dict[int, tuple[str, str]] = {}
        done = size = 0

        def piece() -> Piece:
            found = self._taken(batch, columns).items()
            return Piece(len(batch), {n: array_of(c, n in exact) for n, c in found}, doubts)

        for row in self._rows(list(filter(None, self.own_names)) if columns is None else columns):
            cells = row.values() if isinstance(row, dict) else row
            length = CELL * len(cells) + sum([len(cell) for cell in cells if type(cell) is str])
            if length > ROW:
                where = self.place(done + len(batch))
                raise too_large("the row is too long", ROW, where, "Leave out long columns.")
            if (found := self._doubt(row)) is not None:
                doubts[len(batch)] = found
            batch.append(row)
            size += length
            if len(batch) >= rows or size >= PIECE:
                yield piece()
                done, size, batch, doubts = done + len(batch), 0, [], {}
        if batch:
            yield piece()


# ---- the row that names the columns -----------------------------------------------------------


def header_row(how: How, rows: Sequence[Sequence[str]], numbers: Sequence[int], name: str) -> int:
    """Return the index of the header among the first rows that are not blank.

    ``numbers`` are those of the lines, or rows, at which they end.
    """
    if how.header is not True and how.header > 0:
        for i, end in enumerate(numbers):
            if end >= how.header:
                return i
        raise TableError(
            f"row {how.header} is not among the first {LOOK} that are not blank",
            where=name,
            parameter="header",
        )
    if not how.header or not rows:
        return 0
    if how.needed:
        for i, row in enumerate(rows):
            if how.needed <= {cell.strip() for cell in row}:
                return i
    return _titles(rows)


def header_names(
    how: How, rows: Sequence[Sequence[str]], place: int, numbers: Sequence[int], name: str, of: str
) -> tuple[list[str], str]:
    """Return the names that the header has, and in words what is left out above it.

    ``of`` is what the numbers count.
    """
    names = [cell.strip() for cell in rows[place]] if rows else []
    if how.header is False:
        return [f"column {i + 1}" for i in range(len(names))], ""
    filled = _filled(rows[place : place + 6])
    if filled[:1] == [1] and len(filled) > 2 and min(filled[1:]) > 1:
        raise TableError(
            f"{shown(max(names))} stands alone in {of} {numbers[place]}, and below it there "
            f"are {max(filled)} columns: a title seems to stand above the table",
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


def _filled(rows: Sequence[Sequence[str]]) -> list[int]:
    return [sum(map(bool, map(str.strip, row))) for row in rows]


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header, if that is clear; else 0."""
    filled = _filled(rows)
    width = max(filled)
    first = filled.index(width)
    before = rows[:first]
    if not 0 < first <= MOST_TITLES or first + 1 >= len(rows) or width < 2:
        return 0
    if width == 2 and any(len(row) > 1 for row in before):
        return 0
    comments = all(row and row[0].lstrip().startswith(("#", "//")) for row in before)
    few = max(filled[:first]) <= max(1, width // 3)
    names = [cell.strip() for cell in rows[first]]
    named = len(set(names)) == len(names) and not any(NUMERIC.fullmatch(n) for n in names if n)
    after = len(rows[first + 1]) == len(rows[first]) or filled[first + 1] > width // 2
    above = comments or (few and all(row[0].strip() for row in before))
    return first if above and named and after else 0


# ---- formats ----------------------------------------------------------------------------------


def is_url(path: str | os.PathLike[str]) -> bool:
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
    inner = Path(name.lower().removesuffix(".gz"))
    if inner.suffix == ".numbers":
        raise TableError(
            "this is a Numbers file, which is not read", where=name, remedy="Save it as .xlsx."
        )
    for format, about in FORMATS.items():
        if inner.suffix in about.read and (about.packed or not name.lower().endswith(".gz")):
            return format
    return "csv"


def output_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a table is written in; refuse a name that does not say it."""
    name = os.fspath(path)
    if is_url(name):
        return format_of(name)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):  # a pipe or a device
        return "csv"
    ending = "".join(Path(name.lower()).suffixes[-2:])
    ending = ending if ending.endswith(".gz") else Path(name.lower()).suffix
    for format, about in FORMATS.items():
        if ending in about.written:
            return format
    endings = [ending for about in FORMATS.values() for ending in about.written]
    raise TableError(
        f"the name does not end in {', '.join(endings)}",
        where=name,
        parameter="output",
        remedy="The ending gives the format; write, for example, decisions.csv.",
    )


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
    rename: Mapping[str, str] | None = None,
    needed: Collection[str] = (),
    **said: Any,
) -> Iterator[Source]:
    """Open a table; it must have the columns that are ``needed``, after others are renamed.

    What else is said is in :class:`How`.
    """
    format, renamed = format_of(path), rename or {}
    for parameter, owner, what in (
        ("sheet", "excel", "an Excel file"), ("query", "sql", "a database"),
    ):  # fmt: skip
        if said.get(parameter) is not None and format != owner:
            raise TableError(
                f"this is not {what}", where=name_of(path), parameter=parameter,
                remedy="Leave it out, or give another table.",
            )  # fmt: skip
    old = {new: own for own, new in renamed.items()}
    how = How(**said, needed=frozenset(old.get(name, name) for name in needed))
    reader = import_module(f"rejo.tables.{FORMATS[format].reader}")
    with reader.open_table(path, how) as source:
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
    how = {n: reading[n] for n in ("sep", "encoding", "sheet", "header") if n in reading}
    with open_source(path, **how) as source:
        return source.place(row)
