"""Read a whole table, for training, and find out what its columns hold."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.tables.dates import ISO, read_dates
from rejo.tables.errors import (
    TABLE,
    TableError,
    as_list,
    check_columns,
    check_names,
    import_pandas,
    import_pyarrow,
    shown,
    too_large,
)
from rejo.tables.numbers import NumberCounts, decimal_of, plain_numbers, read_numbers, settle
from rejo.tables.sources import Source, name_of, open_source
from rejo.tables.values import (
    NO_DATE,
    SEVERAL,
    WHAT,
    Gaps,
    Parsed,
    Said,
    Words,
    are_strings,
    as_strings,
    bare,
    cells,
    column_of,
    count_words,
    frame_of,
    most_frequent,
    one_spelling,
    overflowing,
    spread,
    texts_in,
    words_in,
)

ROWS = 100_000  # in a piece
TOTALS = {"total", "totals", "grand total", "sum", "summe", "gesamt", "insgesamt", "somme",
          "totale"}  # fmt: skip
# What a reader is told, if nothing else is said.
DEFAULTS: dict[str, Any] = {
    "missing": [], "decimal": None, "thousands": None, "exact": False, "header": True, "rename": {}
}  # fmt: skip
UNNAMED = "\0"  # before the position of a column without a name


@dataclass(frozen=True)
class Reading:
    """How a column was read."""

    kind: str  # "number", "date", "category" (words) or "text" (kept as written)
    decimal: str = "."
    unit: str = ""  # what stands beside each number, such as kg, % or $
    format: str = ""  # of most dates, or of most that show the order of day and month
    n_missing: int = 0  # cells that are empty or mean a missing value
    n_odd: int = 0  # cells that are neither numbers, or dates, nor missing; read as missing
    odd: tuple[str, ...] = ()  # at most two of these
    # What else may surprise, such as "12 cells have no unit", and what to add from the rows.
    remarks: tuple[Said, ...] = ()


#: Values (n_rows,) float64, datetime64[us], or strings with None, and how they were read.
ReadColumn = tuple[NDArray[Any], Reading]


@dataclass(frozen=True)
class Table:
    """A table with typed columns.

    Parameters
    ----------
    frame : DataFrame
        Numbers are float64, dates are datetime64, and all else is strings, with None where a
        value is missing.
    path : str
        As given; ``"stdin"`` for standard input.
    sep, decimal, encoding : str
        How the file is written.
    readings : dict of str to Reading
        How each column was read.
    unnamed : dict of int to str
        Columns without a name, which are left out, by their position from 1: they hold
        ``"row numbers"``, ``"values"``, or are ``"empty"``.
    reading : dict
        What the user said about how to read the table, where it differs from the defaults.
    skipped : str
        What stands above the header and was left out, in words; empty if nothing does.
    """

    frame: Any
    path: str
    sep: str
    decimal: str
    encoding: str
    readings: dict[str, Reading] = field(default_factory=dict)
    unnamed: dict[int, str] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    skipped: str = ""

    @property
    def written(self) -> dict[str, dict[str, str]]:
        """How numbers and dates are written, as :class:`~rejo.tables.TableEncoder` takes it."""
        found = {}
        for name, reading in self.readings.items():
            if reading.kind == "date":
                found[name] = {"format": reading.format}
            elif reading.kind == "number" and (reading.unit or reading.decimal != "."):
                found[name] = {"decimal": reading.decimal, "unit": reading.unit}
        return found


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Iterable[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] = (),
    thousands: str | None = None,
    words: Iterable[str] = (),
    exact: bool = False,
    sheet: str | None = None,
    query: str | None = None,
    header: bool | int = True,
    rename: Mapping[str, str] | None = None,
) -> Table:
    r"""Read a table from a file or a database; needs ``rejo[tables]``.

    A column holds numbers if every value is a number and none is a code such as ``007``; it holds
    dates if every value fits one format; otherwise it holds words.  Columns without a name are
    left out.  Infinite numbers, and those above 1e100, are refused.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input. The ending gives the format: Parquet, Excel, JSON, else CSV; a URL
        such as ``sqlite:///loans.db#loans`` is a table of a database.
    text : iterable of str, default=()
        Columns to keep as strings: identifiers with leading zeros, or class labels.  There ``NA``
        or ``?`` is a value, and only an empty cell is missing (None).
    sep : str, default=None
        Column separator; ``" "`` is any run of blanks. ``None``: comma, semicolon, tab or bar,
        whichever splits the header and the first rows in the same way.
    decimal : str, default=None
        Decimal mark. ``None``: found for each column.
    encoding : str, default=None
        ``None``: what the byte order mark says, else UTF-8.
    missing : iterable of str, default=()
        More entries that mean a missing value, besides an empty cell and those of
        :data:`~rejo.tables.MISSING`. A number such as ``-999`` means it however it is written.
    thousands : str, default=None
        Mark between thousands: ``"."``, ``","``, ``"'"`` or ``" "``. ``None``: found for each
        column.
    words : iterable of str, default=()
        Columns to read as words, even if they look like numbers or dates.
    exact : bool, default=False
        Whether to keep words apart that differ only in upper and lower case or in blanks.
    sheet : str, default=None
        Sheet of an Excel file. ``None``: the only one that is not empty.
    query : str, default=None
        Table of a database, or a ``SELECT``, which is run as it is.
    header : bool or int, default=True
        Line of a CSV file, or row of a sheet, that names the columns; the first is 1. ``True``:
        the first, or the one below a title if that is clear. ``False``: none, and the columns are
        called ``column 1``, ``column 2``, ...
    rename : dict of str to str, default=None
        Other names for columns: ``{"Annual income": "income"}``.

    Returns
    -------
    Table
        Its ``frame`` is the table; the rest says how it was written.

    Raises
    ------
    TableError
        If the file cannot be read; the message gives the line and the column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "loans.csv")
    ...     _ = path.write_text("id;income;since\n007;1.500,50 €;31.12.2020\n008;?;1.2.2021\n")
    ...     table = read_table(path, text=["id"])
    >>> table.frame.drop(columns="since").to_dict("list")
    {'id': ['007', '008'], 'income': [1500.5, nan]}
    >>> table.written
    {'income': {'decimal': ',', 'unit': '€'}, 'since': {'format': '%d.%m.%Y'}}
    """
    import_pandas()
    kept, gone = as_list(text), as_list(missing)
    as_words = [name for name in as_list(words) if name not in kept]
    given = {"missing": gone, "decimal": decimal, "thousands": thousands, "exact": exact,
             "header": header, "rename": dict(rename or {})}  # fmt: skip
    mark = decimal_of(decimal, thousands, name_of(path))
    with open_source(
        path, sep=sep, encoding=encoding, sheet=sheet, query=query, header=header, rename=rename
    ) as source:
        there = [name for name in source.names if name]
        check_columns(source.name, kept, there)
        check_columns(source.name, as_words, there, "words")
        arrays = _whole(source, [*kept, *as_words])
        found = _read(source, arrays, Gaps.of(gone), kept, as_words, mark, exact)
        unnamed = {int(n[1:]): _what(a) for n, a in arrays.items() if n.startswith(UNNAMED)}
        readings = {name: reading for name, (_, reading) in found.items()}
        marks = Counter(one.decimal for one in readings.values() if one.kind == "number")
        table = Table(
            frame_of({name: values for name, (values, _) in found.items()}),
            source.name,
            getattr(source, "sep", ""),
            mark or max(marks, key=lambda mark: marks[mark], default="."),
            getattr(source, "encoding", source.format),
            readings,
            unnamed,
            {name: value for name, value in given.items() if value != DEFAULTS[name]},
            source.skipped,
        )
    table.frame.attrs["written"], table.frame.attrs["reading"] = table.written, table.reading
    return table


def _whole(source: Source, exact: Collection[str]) -> dict[str, list[Any]]:
    """Return all columns, each as Arrow arrays one after the other."""
    pa = import_pyarrow()
    parts: dict[str, list[Any]] = {name: [] for name in source.names if name}
    n_rows = size = 0
    for piece in source.pieces(None, exact, ROWS):
        if piece.doubts:
            row = min(piece.doubts)
            raise source.refusal(n_rows + row, *piece.doubts[row])
        if source.format == "csv":
            _refuse_names(source, piece.columns, n_rows)
        for name in piece.columns:  # in JSON, a column may begin late
            parts.setdefault(name, [pa.nulls(n_rows)] if n_rows else [])
        for name, found in parts.items():
            array = piece.columns.get(name)
            found.append(pa.nulls(piece.n_rows) if array is None else array)
            size += found[-1].nbytes
        n_rows += piece.n_rows
        check_names(source.name, list(parts))
        if size > TABLE:
            problem = "the table is too large to be read whole"
            raise too_large(problem, TABLE, source.name, "Take a sample of its rows.")
    return parts


def _joined(parts: list[Any], as_text: bool = False) -> Any:
    """Return the parts of a column as one Arrow array, of strings if they are of several types."""
    pa = import_pyarrow()
    types = {part.type for part in parts} - {pa.null()}
    if as_text or len(types) > 1:
        parts = [as_strings(part, marked=not as_text) for part in parts]
        if len(types := {part.type for part in parts}) > 1:
            # In a dictionary a long word that is repeated takes the memory of one.
            types = {pa.dictionary(pa.int32(), pa.string())}
            parts = [part if hasattr(part, "dictionary") else part.dictionary_encode()
                     for part in parts]  # fmt: skip
    same = types.pop() if types else pa.string()
    return pa.concat_arrays([part.cast(same) for part in parts] or [pa.array([], same)])


def _read(
    source: Source,
    arrays: dict[str, list[Any]],
    gaps: Gaps,
    text: Collection[str],
    words: Collection[str],
    decimal: str | None,
    exact: bool,
) -> dict[str, ReadColumn]:
    """Find out what columns hold, and read them."""
    names = [name for name in arrays if not name.startswith(UNNAMED)]
    found: dict[str, ReadColumn] = {}
    marks: dict[str, str] = {}  # that plain numbers show
    unmarked: list[str] = []
    rest: dict[str, Words] = {}

    for name in names:
        array = _joined(arrays.pop(name), name in text or name in words)
        if source.format in ("excel", "json", "sql") and are_strings(array.type):
            _refuse_several(array, name, source)
        if name in text:
            texts = texts_in(array)
            n_missing = sum(text is None for text in texts.tolist())
            found[name] = (texts, Reading("text", n_missing=n_missing))
            continue
        if name not in words and (plain := plain_numbers(array, gaps, codes=False)) is not None:
            values, mark = plain
            wrong = decimal is not None and mark not in ("", decimal)
            if not (wrong or len(overflowing(values)) or np.isnan(values).all()):
                found[name] = _of_type(values, mark or ".")
                marks |= {name: mark} if mark else {}
                unmarked += [] if mark else [name]
                continue
        column = column_of(array, gaps)
        if not isinstance(column, Words):
            found[name] = _of_type(column)
        elif name in words:
            found[name] = as_category(words_in(column), exact)
        else:
            rest[name] = column
    found |= _read_words(source, rest, decimal, marks, exact)
    known = {about.decimal for values, about in found.values()
             if about.kind == "number" and about.decimal != "."} | set(marks.values())  # fmt: skip
    for name in unmarked:
        mark = decimal or (min(known) if len(known) == 1 else ".")
        found[name] = (found[name][0], replace(found[name][1], decimal=mark))
    for name, (values, about) in found.items():
        if about.kind == "number" and len(rows := overflowing(values)):
            raise TableError(
                "the number is infinite or above 1e100",
                where=source.place(int(rows[0]), name),
                remedy="Leave the cell empty if the value is unknown.",
            )
    if (total := _summed(found)) is not None:
        raise TableError(
            "the last row is a total, not a case",
            where=source.place(len(found[total][0]) - 1, total),
            remedy="Remove that row.",
        )
    return {name: found[name] for name in names}


def _refuse_names(source: Source, columns: Mapping[str, Any], done: int) -> None:
    """Refuse a row whose cells are the names of the columns; the first in the file is ``done``."""
    compute = import_pyarrow().compute
    own = zip(source.names, source.own_names, strict=True)
    cells = [(columns[name], in_file) for name, in_file in own if name]
    first, name = cells[0]
    if len(cells) < 2 or compute.index(first, name).as_py() < 0:
        return
    for row in np.flatnonzero(compute.equal(first, name).to_numpy(zero_copy_only=False)).tolist():
        if all((array[row].as_py() or "").strip() == name for array, name in cells):
            where = source.place(done + row)
            raise TableError("the header is repeated here", where=where, remedy="Remove it.")


def _refuse_several(column: Any, name: str, source: Source) -> None:
    compute = import_pyarrow().compute
    row = compute.index(compute.starts_with(column, SEVERAL), True).as_py()
    if row >= 0:
        what = WHAT.get(bare(column[row].as_py()), "binary data")
        raise not_single(what, source.place(row, name))


def not_single(what: str, where: str) -> TableError:
    """Return the error for cells that are not single values."""
    return TableError(
        f"its cells are {what}, not single values such as numbers, dates or strings",
        where=where,
        remedy="Leave the column out, or write it as one of these.",
    )


def _of_type(values: NDArray[Any], decimal: str = ".") -> ReadColumn:
    """Return a column that holds numbers or dates."""
    if values.dtype.kind == "f":
        return (values, Reading("number", decimal, n_missing=int(np.isnan(values).sum())))
    return (values, Reading("date", format=ISO, n_missing=int(np.isnat(values).sum())))


def _summed(columns: dict[str, ReadColumn]) -> str | None:
    """Return a column of numbers whose last is the sum of the others, if the row says so."""
    last = [values[-1] for values, _ in columns.values() if len(values) > 2]
    if not any(isinstance(cell, str) and cell.casefold().strip(": ") in TOTALS for cell in last):
        return None
    for name, (values, reading) in columns.items():
        if reading.kind == "number":
            total = np.nansum(values[:-1])
            if total and abs(values[-1] - total) <= 1e-6 * abs(total):
                return name
    return None


def _what(parts: list[Any]) -> str:
    """Say what a column without a name holds."""
    column = words_in(column_of(_joined(parts), Gaps.of()))
    if not column.words:
        return "empty"
    values = spread(NumberCounts(column).values["."], column, np.nan)
    first = values[0] if len(values) else np.nan
    if first in (0, 1) and (values == np.arange(len(values)) + first).all():
        return "row numbers"
    return "values"


# ---- columns of words --------------------------------------------------------------------------


def _read_words(
    source: Source,
    columns: Mapping[str, Words],
    decimal: str | None,
    shown_by: Mapping[str, str],
    exact: bool,
) -> dict[str, ReadColumn]:
    """Find out what columns of words hold, and read them.

    ``decimal`` is for columns whose cells may have either decimal mark, and ``shown_by`` the marks
    of columns that were read already.  ``exact`` keeps several spellings of a word apart.
    """
    tallies = {name: NumberCounts(column) for name, column in columns.items()}
    marks = dict(shown_by)
    marks |= {name: proof for name, found in tallies.items() if (proof := found.proof())}
    sep = getattr(source, "sep", "")
    read: dict[str, ReadColumn] = {}
    rest: dict[str, tuple[Said, ...]] = {}  # remarks on columns that are not numbers
    for name, found in tallies.items():
        if not found.may_be_numbers:
            rest[name] = ()
            continue
        others = {mark for other, mark in marks.items() if other != name}
        mark, remarks = settle(found, decimal, sep, others, partial(source.place, column=name))
        numbers, rest[name] = read_numbers(found, mark, remarks)
        if numbers is not None:
            del rest[name]
            read[name] = _column(columns[name], numbers, Reading("number", mark, numbers.written))
    dates = read_dates({name: columns[name] for name in rest}, source.place)
    for name, remarks in rest.items():
        if name in dates:
            about = Reading("date", format=dates[name].written)
            read[name] = _column(columns[name], dates[name], about)
        else:
            read[name] = as_category(words_in(columns[name]), exact, remarks)
    return read


def as_category(column: Words, exact: bool, remarks: tuple[Said, ...] = ()) -> ReadColumn:
    """Return a column of words as such, each word in one spelling."""
    if not exact:
        column, more = one_spelling(column)
        remarks = (*remarks, *more)
    n_missing = int((column.codes < 0).sum())
    return (cells(column), Reading("category", n_missing=n_missing, remarks=remarks))


def _column(column: Words, found: Parsed, about: Reading) -> ReadColumn:
    """Return a column of numbers or dates, and all that is to be said about it."""
    counts = count_words(column)
    n_gaps, remarks = int(counts[found.gaps].sum()), found.remarks
    if n_gaps:
        some = " or ".join(map(shown, most_frequent(column.words, counts, found.gaps)))
        cells_with = f"{n_gaps:,} cell{'s' * (n_gaps > 1)} read as missing"
        remarks = (*remarks, (cells_with, f" ({some})"))
    about = replace(
        about,
        n_missing=len(column.codes) - int(counts.sum()) + n_gaps,
        n_odd=int(counts[found.odd].sum()),
        odd=tuple(most_frequent(column.words, counts, found.odd)),
        remarks=remarks,
    )
    missing = NO_DATE if about.kind == "date" else np.nan
    return (spread(found.values, column, missing), about)
