"""How the columns of a table are read: numbers, dates or words, and what was odd about them.

Every reader that finds words (CSV, Excel, JSON, SQL) gives them to :func:`read_columns`, so that
a table means the same in every format.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.tables.dates import DAY_FIRST, NO_DATE, example, fitting_formats, parse_dates
from rejo.tables.errors import TableError, shown
from rejo.tables.values import Words, cells, numbers, spread


@dataclass(frozen=True)
class Reading:
    """How a column was read.

    Attributes
    ----------
    kind : str
        ``"number"``, ``"date"``, ``"category"`` (words) or ``"text"`` (kept as written).
    decimal : str
        Decimal mark of numbers.
    unit : str
        What stands beside each number, such as ``"kg"``, ``"%"`` or ``"$"``; empty without one.
    format : str
        Format of most dates.
    n_missing : int
        Cells that are empty or mean a missing value.
    n_odd : int
        Cells that are neither numbers, or dates, nor missing; they are read as missing.
    odd : tuple of str
        At most two of these.
    remarks : tuple of str
        Anything else that may surprise, a clause each, such as ``"12 cells have no unit"``.
    """

    kind: str
    decimal: str = "."
    unit: str = ""
    format: str = ""
    n_missing: int = 0
    n_odd: int = 0
    odd: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def written_as(readings: Mapping[str, Reading]) -> dict[str, dict[str, str]]:
    """Return how numbers and dates are written, for columns where it is not as in Python."""
    found = {}
    for name, reading in readings.items():
        if reading.kind == "date":
            found[name] = {"format": reading.format}
        elif reading.kind == "number" and (reading.unit or reading.decimal != "."):
            found[name] = {"decimal": reading.decimal, "unit": reading.unit}
    return found


class Column(NamedTuple):
    """A column as it was read."""

    values: NDArray[Any]  # (n_rows,) float64, datetime64[us], or strings with None
    reading: Reading


def read_columns(columns: Mapping[str, Words], where: str, decimal: str) -> dict[str, Column]:
    """Find out what columns of words hold, and read them; ``where`` names the file."""
    found: dict[str, Column] = {}
    words: dict[str, Words] = {}
    for name, column in columns.items():
        values = numbers(column.words, decimal)
        if values is None:
            words[name] = column
        else:
            about = Reading("number", decimal, n_missing=_n_missing(column))
            found[name] = Column(spread(values, column, np.nan), about)
    formats = _date_formats(words, where)
    for name, column in words.items():
        n_missing = _n_missing(column)
        if name in formats:
            dates = spread(parse_dates(column.words, formats[name]), column, NO_DATE)
            about = Reading("date", format=formats[name], n_missing=n_missing)
            found[name] = Column(dates, about)
        else:
            found[name] = Column(cells(column), Reading("category", n_missing=n_missing))
    return {name: found[name] for name in columns}


def _n_missing(column: Words) -> int:
    return int((column.codes < 0).sum())


def _date_formats(columns: Mapping[str, Words], where: str) -> dict[str, str]:
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
                where=f"{where}, column {shown(name)}",
                remedy=f"Write the dates as {example('%Y-%m-%d')}.",
            )
        formats[name] = found[0]
    return formats
