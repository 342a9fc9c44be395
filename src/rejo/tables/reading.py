"""How the columns of a table are read: numbers, dates or words, and what was odd about them.

Every reader that finds words (CSV, Excel, JSON, SQL) gives them to :func:`read_columns`, so that
a table means the same in every format.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.tables.date_columns import Dates, read_dates
from rejo.tables.dates import NO_DATE
from rejo.tables.errors import TableError, shown
from rejo.tables.number_columns import Numbers, read_numbers, settle, tally
from rejo.tables.spelling import one_spelling
from rejo.tables.values import Words, cells, spread, too_large


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
    remarks: tuple[str, ...] = ()  # what else may surprise, such as "12 cells have no unit"


def written_as(readings: Mapping[str, Reading]) -> dict[str, dict[str, str]]:
    """Return how numbers and dates are written, for columns where it is not as in Python."""
    found = {}
    for name, reading in readings.items():
        if reading.kind == "date":
            found[name] = {"format": reading.format}
        elif reading.kind == "number" and (reading.unit or reading.decimal != "."):
            found[name] = {"decimal": reading.decimal, "unit": reading.unit}
    return found


class ReadColumn(NamedTuple):
    """A column as it was read."""

    values: NDArray[Any]  # (n_rows,) float64, datetime64[us], or strings with None
    reading: Reading


def read_columns(
    columns: Mapping[str, Words],
    where: str,
    decimal: str | None = None,
    *,
    sep: str = "",
    shown_by: Mapping[str, str] = MappingProxyType({}),
    exact: bool = False,
    place: Callable[[str, int], str] | None = None,
) -> dict[str, ReadColumn]:
    """Find out what columns of words hold, and read them.

    ``decimal`` is for columns whose cells may have either decimal mark, and ``shown_by`` the marks
    of columns that were read already; with the separator ``","``, a comma is no decimal mark by
    itself.  ``exact`` keeps several spellings of a word apart.  ``where`` and ``place`` say where a
    file, and a column and a row, are.
    """

    def place_of(name: str, row: int) -> str:
        return place(name, row) if place else f"{where}, column {shown(name)}"

    tallies = {name: tally(column) for name, column in columns.items()}
    marks = dict(shown_by)
    marks |= {name: proof for name, found in tallies.items() if (proof := found.proof())}
    read: dict[str, ReadColumn] = {}
    rest: dict[str, tuple[str, ...]] = {}  # remarks on columns that are not numbers
    for name, found in tallies.items():
        column = columns[name]
        if not found.may_be_numbers:
            rest[name] = ()
            continue
        others = {mark for other, mark in marks.items() if other != name}
        mark, remarks = settle(found, decimal, sep, others, partial(place_of, name))
        numbers, why_not = read_numbers(found, mark, remarks)
        if numbers is None:
            rest[name] = why_not
        else:
            read[name] = _column(column, numbers, np.nan, Reading("number", mark, numbers.unit))
    dates = read_dates({name: columns[name] for name in rest}, place_of)
    for name, remarks in rest.items():
        if name in dates:
            about = Reading("date", format=dates[name].format)
            read[name] = _column(columns[name], dates[name], NO_DATE, about)
        else:
            read[name] = as_category(columns[name], exact, remarks)
    return {name: read[name] for name in columns}


def as_category(column: Words, exact: bool = False, remarks: tuple[str, ...] = ()) -> ReadColumn:
    """Return a column of words as such, each word in one spelling."""
    if not exact:
        column, more = one_spelling(column)
        remarks = (*remarks, *more)
    n_missing = int((column.codes < 0).sum())
    return ReadColumn(cells(column), Reading("category", n_missing=n_missing, remarks=remarks))


def as_text(values: NDArray[np.object_]) -> ReadColumn:
    """Return a column of strings as written, with None for missing ones."""
    return ReadColumn(values, Reading("text", n_missing=sum(value is None for value in values)))


def check_sizes(columns: Mapping[str, ReadColumn], place: Callable[[str, int], str]) -> None:
    """Refuse numbers that are infinite, or would overflow when squared."""
    for name, (values, about) in columns.items():
        if about.kind == "number" and len(rows := too_large(values)):
            raise TableError(
                "the number is infinite or above 1e100",
                where=place(name, int(rows[0])),
                remedy="Leave the cell empty if the value is unknown.",
            )


def _column(column: Words, found: Numbers | Dates, missing: Any, about: Reading) -> ReadColumn:
    """Return a column of numbers or dates, and all that is to be said about it."""
    counts = np.bincount(column.codes + 1, minlength=len(column.words) + 1)
    empty, counts = int(counts[0]), counts[1:]
    n_gaps = int(counts[found.gaps].sum())
    remarks = found.remarks
    if n_gaps:
        some = quoted(column.words, counts, found.gaps)
        remarks = (*remarks, f"{n_gaps:,} cell{'s' * (n_gaps > 1)} with {some}: read as missing")
    about = replace(
        about,
        n_missing=empty + n_gaps,
        n_odd=int(counts[found.odd].sum()),
        odd=tuple(column.words[i] for i in sorted(found.odd, key=lambda i: -counts[i])[:2]),
        remarks=remarks,
    )
    return ReadColumn(spread(found.values, column, missing), about)


def quoted(words: Sequence[str], counts: Any, which: Iterable[int]) -> str:
    """Quote the two most frequent of some words."""
    return " or ".join(shown(words[i]) for i in sorted(which, key=lambda i: -counts[i])[:2])
