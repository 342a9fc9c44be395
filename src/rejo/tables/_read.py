"""Read a whole table and type its columns by their contents, for training."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rejo._typing import Floats
from rejo.tables._csv import CsvFile, open_csv
from rejo.tables._parquet import is_parquet, read_parquet
from rejo.tables._records import RowBlock
from rejo.tables.dates import DAY_FIRST, NO_DATE, example, fitting_formats, parse_dates
from rejo.tables.errors import TableError, check_columns, import_pandas, shown
from rejo.tables.limits import check_whole
from rejo.tables.values import (
    CODE,
    MISSING,
    Words,
    cells,
    check_size,
    joined,
    numbers,
    spread,
    texts_of,
    words_of,
)

ROWS = 100_000  # in a block


@dataclass(frozen=True)
class Table:
    """A table with typed columns.

    Attributes
    ----------
    frame : DataFrame
        Numbers are float64, dates are datetime64, and all else is strings, with None where a
        value is missing.
    path : str
        As given; ``"stdin"`` for standard input.
    sep, decimal, encoding : str
        How the file is written.
    date_formats : dict of str to str
        Format of each column of dates, such as ``"%d.%m.%Y"``; a time may follow the date.
    """

    frame: Any
    path: str
    sep: str
    decimal: str
    encoding: str
    date_formats: dict[str, str] = field(default_factory=dict)


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Iterable[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] = MISSING,
    header: bool = True,
) -> Table:
    r"""Read a table from a CSV or Parquet file; needs pandas (``rejo[pandas]``).

    A column holds numbers if every value is a number and none is a code such as ``007``; it holds
    dates if every value fits one format; otherwise it holds words.  Columns without a name are
    left out.  Infinite numbers, and those above 1e100, are refused.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input. A name that ends in ``.parquet`` or ``.pq`` is a Parquet file
        (needs ``rejo[parquet]``). CSV files may be compressed with gzip.
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
    missing : iterable of str
        Entries that mean a missing value, by default those of :data:`~rejo.tables.MISSING`. An
        empty cell is always missing.
    header : bool, default=True
        Whether the first line of a CSV file names the columns. If not, they are called
        ``column 1``, ``column 2``, ...

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be read; the message gives the line and the column.

    See Also
    --------
    read_chunks : Read a table in chunks, for prediction.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "loans.csv")
    ...     _ = path.write_text("id;income;since;job\n007;1,5;31.12.2020;clerk\n008;?;1.2.2021;\n")
    ...     table = read_table(path, text=["id"])
    >>> table.sep, table.decimal, table.date_formats
    (';', ',', {'since': '%d.%m.%Y'})
    >>> table.frame.drop(columns="since").to_dict("list")
    {'id': ['007', '008'], 'income': [1.5, nan], 'job': ['clerk', None]}
    """
    kept = [text] if isinstance(text, str) else list(text)
    if is_parquet(path):
        frame = read_parquet(Path(path), kept)
        return Table(frame, os.fspath(path), sep="", decimal=".", encoding="parquet")
    with open_csv(
        path, sep=sep, decimal=decimal, encoding=encoding, missing=missing, header=header
    ) as file:
        check_columns(file.name, kept, file.names)
        frame, formats = _typed(file, kept)
        return Table(frame, file.name, file.sep, file.decimal, file.encoding, formats)


def _typed(file: CsvFile, text: list[str]) -> tuple[Any, dict[str, str]]:
    pd = import_pandas()
    # The bytes stay in memory until all columns are known: a column may turn out in its last row
    # not to hold numbers, and is then read again as strings.
    blocks: list[RowBlock] = []
    parts: dict[str, list[Any]] = {name: [] for name in file.names}
    size = 0
    for block in file.blocks(ROWS):
        check_whole(size := size + len(block.data), file.name)
        blocks.append(block)
        for name, part in _first_look(file, block, text).items():
            parts[name].append(part)
    columns: dict[str, Any] = {}
    words: dict[str, Words] = {}
    for name in file.names:
        if name in text:
            columns[name] = np.concatenate([np.empty(0, dtype=object), *parts[name]])
            continue
        columns[name] = _all_numbers(parts[name], file.decimal)
        if columns[name] is None:
            words[name] = joined(
                [
                    part if isinstance(part, Words) else _as_words(file, block, [name])[name]
                    for part, block in zip(parts[name], blocks, strict=True)
                ]
            )
        else:
            check_size(columns[name], partial(_place, file, blocks, name))
        parts[name] = []
    blocks.clear()
    formats = _date_formats(file, words)
    for name, column in words.items():
        if name in formats:
            columns[name] = spread(parse_dates(column.words, formats[name]), column, NO_DATE)
        else:
            columns[name] = cells(column)
    frame = pd.DataFrame(
        {
            name: pd.Series(values, dtype=object if values.dtype == object else None)
            for name, values in columns.items()
        }
    )
    frame.attrs["date_formats"] = dict(formats)
    return frame, formats


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


def _as_words(file: CsvFile, block: RowBlock, names: list[str]) -> dict[str, Words]:
    if not names:
        return {}
    frame = file.parse(block, names, dict.fromkeys(names, object))
    return {name: words_of(frame[name], file.missing) for name in names}


def _all_numbers(parts: list[Any], decimal: str) -> Floats | None:
    """Return the column as numbers, or None if it does not hold numbers."""
    found = [np.empty(0)]
    for part in parts:
        if isinstance(part, Words):
            values = numbers(part.words, decimal)
            if values is None:
                return None
            part = spread(values, part, np.nan)
        found.append(part)
    return np.concatenate(found)


def _place(file: CsvFile, blocks: list[RowBlock], column: str, row: int) -> str:
    """Say where a cell is, for a message."""
    block = next(block for block in reversed(blocks) if block.row <= row)
    return file.place(block, row - block.row, column)


def _date_formats(file: CsvFile, columns: dict[str, Words]) -> dict[str, str]:
    """Return the format of each column of dates."""
    fitting = {name: found for name, c in columns.items() if (found := fitting_formats(c.words))}
    sure = {found[0] for found in fitting.values() if len(found) == 1}
    formats = {}
    for name, found in fitting.items():
        if len(found) == 2 and DAY_FIRST.get(found[0]) == found[1]:
            # Another column may show whether the day or the month comes first.
            found = [format for format in found if format in sure] or found
        if len(found) > 1:
            word = columns[name].words[0]
            raise TableError(
                f"{shown(word)} may have the day or the month first, and no cell shows which",
                where=f"{file.name}, column {shown(name)}",
                remedy=f"Write the dates as {example('%Y-%m-%d')}.",
            )
        formats[name] = found[0]
    return formats
