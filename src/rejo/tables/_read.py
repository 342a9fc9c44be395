"""Read a whole table and type its columns by their contents, for training."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rejo.tables._bytes import name_of
from rejo.tables._csv import CsvFile, open_csv
from rejo.tables._records import RowBlock
from rejo.tables._typed import read_whole
from rejo.tables.errors import TableError, check_columns, import_pandas
from rejo.tables.limits import check_whole
from rejo.tables.marks import CODE, decimal_of, have_fractions
from rejo.tables.number_columns import tally
from rejo.tables.reading import (
    ReadColumn,
    Reading,
    as_category,
    as_text,
    check_sizes,
    read_columns,
    written_as,
)
from rejo.tables.sources import open_typed, source_format
from rejo.tables.values import Words, frame_of, joined, spread, texts_of, words_of

ROWS = 100_000  # in a block
TOTALS = {
    "total",
    "totals",
    "grand total",
    "sum",
    "summe",
    "gesamt",
    "insgesamt",
    "somme",
    "totale",
}


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
        Columns without a name, which are left out, by their position, which begins at 1: they hold
        ``"row numbers"``, ``"values"``, or are ``"empty"``.

    Attributes
    ----------
    date_formats : dict of str to str
        Format of each column of dates, such as ``"%d.%m.%Y"``.
    written : dict of str to dict
        How numbers and dates are written, as :class:`TableEncoder` takes it.

    See Also
    --------
    read_table : Read one; with an example.
    """

    frame: Any
    path: str
    sep: str
    decimal: str
    encoding: str
    readings: dict[str, Reading] = field(default_factory=dict)
    unnamed: dict[int, str] = field(default_factory=dict)

    @property
    def date_formats(self) -> dict[str, str]:
        """Format of each column of dates, such as ``"%d.%m.%Y"``; a time may follow the date."""
        return {name: r.format for name, r in self.readings.items() if r.kind == "date"}

    @property
    def written(self) -> dict[str, dict[str, str]]:
        """How numbers and dates are written, as :class:`~rejo.tables.TableEncoder` takes it."""
        return written_as(self.readings)


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
    header: bool = True,
) -> Table:
    r"""Read a table from a file or a database; needs pandas (``rejo[pandas]``).

    A column holds numbers if every value is a number and none is a code such as ``007``; it holds
    dates if every value fits one format; otherwise it holds words.  Columns without a name are
    left out.  Infinite numbers, and those above 1e100, are refused.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input. The ending gives the format: ``.parquet`` or ``.pq`` (needs
        ``rejo[parquet]``), ``.xlsx``, ``.jsonl``, ``.ndjson`` or ``.json`` (an object for each
        row); anything else is a CSV file. CSV and JSON may be compressed with gzip.
        ``sqlite:///loans.db#loans`` and ``postgresql://user@host/name#loans`` are tables of a
        database (needs ``rejo[sql]``).
    text : iterable of str, default=()
        Columns to keep as strings, as written but stripped of blanks: identifiers with leading
        zeros, or class labels.  There ``NA`` or ``?`` is a value, and only an empty cell is
        missing (None).
    sep : str, default=None
        Column separator; ``" "`` is any run of blanks. ``None``: comma, semicolon, tab or bar,
        whichever splits the header and the first rows in the same way.
    decimal : str, default=None
        Decimal mark. ``None``: a comma if the first rows have one and it is not the separator.
    encoding : str, default=None
        ``None``: what the byte order mark says, else UTF-8.
    missing : iterable of str, default=()
        More entries that mean a missing value, besides an empty cell and those of
        :data:`~rejo.tables.MISSING`.
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
    header : bool, default=True
        Whether the first line of a CSV file names the columns. If not, they are called
        ``column 1``, ``column 2``, ...

    Returns
    -------
    Table
        Its ``frame`` is the table; the rest says how it was written.

    Raises
    ------
    TableError
        If the file cannot be read; the message gives the line and the column.

    See Also
    --------
    read_chunks : Read a table in chunks, for prediction.
    TableEncoder : Turn the frame into numbers.
    rejo.datasets.load_table : Features, classes and groups of a table, apart.

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
    kept = [text] if isinstance(text, str) else list(text)
    as_words = [words] if isinstance(words, str) else list(words)
    as_words = [name for name in as_words if name not in kept]
    if (format := source_format(path, sheet, query)) != "csv":
        with open_typed(path, format, sheet=sheet, query=query, encoding=encoding) as typed:
            check_columns(typed.name, kept, filter(None, typed.names))
            columns = read_whole(
                typed,
                text=kept,
                words=as_words,
                decimal=decimal_of(decimal, thousands, typed.name),
                missing=missing,
                exact=exact,
            )
            return table_of(columns, typed.name, encoding=typed.format)
    mark = decimal_of(decimal, thousands, name_of(path))
    with open_csv(
        path, sep=sep, decimal=mark, encoding=encoding, missing=missing, header=header
    ) as file:
        check_columns(file.name, kept, file.names)
        check_columns(file.name, as_words, file.names, "words")
        found, unnamed = _typed(file, kept, as_words, mark, exact)
        return table_of(
            found,
            file.name,
            file.sep,
            mark or _main_mark(found, file.decimal),
            file.encoding,
            unnamed,
        )


def _typed(
    file: CsvFile, text: list[str], as_words: list[str], decimal: str | None, exact: bool
) -> tuple[dict[str, ReadColumn], dict[int, str]]:
    """Return the columns of a file, and what the columns without a name hold."""
    # The bytes stay in memory until all columns are known: a column may turn out in its last row
    # not to hold numbers, and is then read again as strings.
    blocks: list[RowBlock] = []
    parts: dict[str, list[Any]] = {name: [] for name in file.names}
    marked: Any = 0
    size = 0
    for block in file.blocks(ROWS):
        check_whole(size := size + len(block.data), file.name)
        blocks.append(block)
        if (line := file.repeated_header(block)) is not None:
            raise TableError(
                "the header is repeated here",
                where=f"{file.name}, line {line}",
                remedy="Remove it.",
            )
        for name, part in _first_look(file, block, text).items():
            parts[name].append(part)
        marked = marked + file.mark_columns(block)
    unclear = file.unclear(marked) if blocks else set()
    found: dict[str, ReadColumn] = {}
    words: dict[str, Words] = {}
    marks: dict[str, str] = {}  # of columns that can have no other
    for name in file.names:
        if name in text:
            found[name] = as_text(np.concatenate([np.empty(0, dtype=object), *parts[name]]))
            continue
        values = None
        if parts[name] and not any(isinstance(part, Words) for part in parts[name]):
            values = np.concatenate(parts[name])
            # pandas reads 2.100 as 2.1, but it may be 2100.
            if name in unclear or name in as_words:
                values = None
        if values is None:
            words[name] = joined(
                [
                    part if isinstance(part, Words) else _as_words(file, block, [name])[name]
                    for part, block in zip(parts[name], blocks, strict=True)
                ]
            )
        else:
            about = Reading("number", file.decimal, n_missing=int(np.isnan(values).sum()))
            found[name] = ReadColumn(values, about)
            if have_fractions(values).any():
                marks[name] = file.decimal
        parts[name] = []
    found.update({name: as_category(words.pop(name), exact) for name in as_words if name in words})
    place = partial(_place, file, blocks)
    found.update(
        read_columns(
            words, file.name, decimal, sep=file.sep, shown_by=marks, exact=exact, place=place
        )
    )
    check_sizes(found, place)
    if (total := _summed(found)) is not None:
        raise TableError(
            "the last row is a total, not a case",
            where=place(total, len(found[total].values) - 1),
            remedy="Remove that row.",
        )
    unnamed = {i + 1: _what_it_holds(file, blocks, i) for i in file.unnamed}
    return {name: found[name] for name in file.names}, unnamed


def _summed(columns: dict[str, ReadColumn]) -> str | None:
    """Return a column of numbers whose last is the sum of the others, if the row says so."""
    last = [column.values[-1] for column in columns.values() if len(column.values) > 2]
    if not any(isinstance(cell, str) and cell.casefold().strip(": ") in TOTALS for cell in last):
        return None
    for name, column in columns.items():
        if column.reading.kind == "number":
            total = np.nansum(column.values[:-1])
            if total and abs(column.values[-1] - total) <= 1e-6 * abs(total):
                return name
    return None


def _main_mark(columns: dict[str, ReadColumn], sniffed: str) -> str:
    marks = Counter(c.reading.decimal for c in columns.values() if c.reading.kind == "number")
    return sniffed if sniffed in marks or not marks else marks.most_common(1)[0][0]


def _what_it_holds(file: CsvFile, blocks: list[RowBlock], place: int) -> str:
    """Say what a column without a name holds."""
    column = joined([_as_words(file, block, [place])[place] for block in blocks])
    if not column.words:
        return "empty"
    read = tally(column).read["."]
    values = spread([np.nan if cell is None else cell.value for cell in read], column, np.nan)
    first = values[0] if len(values) else np.nan
    if first in (0, 1) and (values == np.arange(len(values)) + first).all():
        return "row numbers"
    return "values"


def table_of(
    columns: dict[str, ReadColumn],
    path: str,
    sep: str = "",
    decimal: str = ".",
    encoding: str = "",
    unnamed: dict[int, str] | None = None,
) -> Table:
    readings = {name: column.reading for name, column in columns.items()}
    frame = frame_of({name: column.values for name, column in columns.items()})
    frame.attrs["written"] = written_as(readings)
    return Table(frame, path, sep, decimal, encoding, readings, unnamed or {})


def _first_look(file: CsvFile, block: RowBlock, text: list[str]) -> dict[str, Any]:
    """Return numbers for the columns that pandas reads as numbers, and words for the others."""
    pd = import_pandas()
    frame = file.parse(block, file.names, {}, text)
    codes = file.code_columns(block)
    found: dict[str, Any] = {}
    unsure = []
    for name, column in frame.items():
        if name in text:
            found[name] = texts_of(column)
        elif column.dtype.kind in "iuf" and name not in codes:
            found[name] = column.to_numpy(np.float64)
        elif pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty"):
            found[name] = words_of(column, file.missing)
        else:  # pandas reads true and false, and numbers of many digits, as objects of other types
            unsure.append(name)
    for name, words in _as_words(file, block, unsure).items():
        number = frame[name].dtype.kind in "iuf" and not any(map(CODE.fullmatch, words.words))
        found[name] = frame[name].to_numpy(np.float64) if number else words
    return found


def _as_words(file: CsvFile, block: RowBlock, names: list[Any]) -> dict[Any, Words]:
    if not names:
        return {}
    frame = file.parse(block, names, dict.fromkeys(names, object))
    return {name: words_of(frame[name], file.missing) for name in names}


def _place(file: CsvFile, blocks: list[RowBlock], column: str, row: int) -> str:
    block = next(block for block in reversed(blocks) if block.row <= row)
    return file.place(block, row - block.row, column)
