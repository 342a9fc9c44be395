"""Columns of words that may be dates: their format, the order of day and month, what is odd."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Indices
from rejo.tables.dates import DAY_FIRST, MONTH_FIRST, example, parse_dates, read_date
from rejo.tables.errors import TableError, shown
from rejo.tables.number_columns import FEWEST_NUMBERS
from rejo.tables.values import Words, few, means_missing

Found = list[Mapping[str, datetime]]  # of each word
Place = Callable[[str, int], str]  # of a column and a row


class Dates(NamedTuple):
    """A column read as dates."""

    values: NDArray[np.datetime64]  # of each word; NaT if it is missing, or odd
    format: str  # of most cells; of most that show the order of day and month, if some do
    gaps: Indices  # words that mean a missing value
    odd: Indices  # words that are not dates
    remarks: tuple[str, ...]


def read_dates(columns: Mapping[str, Words], place: Place) -> dict[str, Dates]:
    """Read the columns that hold dates.

    The order of day and month is one in a column.  If none of its cells shows it, another column
    may.
    """
    found = {name: read for name, c in columns.items() if (read := _dates(c)) is not None}
    shown_first = {name: _order(columns[name], read, place, name) for name, read in found.items()}
    known = {order for order in shown_first.values() if order}
    dates = {}
    for name, read in found.items():
        order = shown_first[name] or (min(known) if len(known) == 1 else None)
        unclear = [i for i, ways in enumerate(read) if len(set(ways.values())) > 1]
        if order is None and unclear:
            word = columns[name].words[unclear[0]]
            day, month = (f"{date:%Y-%m-%d}" for date in read[unclear[0]].values())
            raise TableError(
                f"{shown(word)} may be {day} or {month}: no cell shows whether the day or the "
                "month comes first",
                where=place(name, int((columns[name].codes == unclear[0]).argmax())),
                parameter="words",
                remedy=f"Write the dates as {example('%Y-%m-%d')}, or name the column in words.",
            )
        dates[name] = _settled(columns[name], read, order or "day")
    return dates


def _counts(column: Words) -> Any:
    return np.bincount(column.codes + 1, minlength=len(column.words) + 1)[1:]


def _dates(column: Words) -> Found | None:
    """Return the dates of all words if the column holds dates."""
    read: Found = []
    wrong: list[int] = []
    for i, word in enumerate(column.words):
        read.append(read_date(word))
        if not read[-1] and not means_missing(word):
            wrong.append(i)
            if i == 20 and len(wrong) == 21:  # words; do not look at all of them
                return None
    counts = _counts(column)
    gap = np.array([means_missing(word) for word in column.words], dtype=bool)
    n = int(counts.sum() - counts[gap].sum())
    different = len({next(iter(ways.values())) for ways in read if ways})
    enough = different >= (FEWEST_NUMBERS if wrong else 1)
    return read if enough and few(int(counts[wrong].sum()), n) else None


def _order(column: Words, read: Found, place: Place, name: str) -> str | None:
    """Return what comes first, "day" or "month"; None if no cell shows it."""
    first: dict[str, int] = {}
    for i, ways in enumerate(read):
        if len(ways) == 1:
            (format,) = ways
            order = "day" if format in DAY_FIRST else "month" if format in MONTH_FIRST else None
            if order:
                first.setdefault(order, i)
    if len(first) < 2:
        return next(iter(first), None)
    day, month = column.words[first["day"]], column.words[first["month"]]
    raise TableError(
        f"{shown(day)} has the day first, but {shown(month)} has the month first",
        where=place(name, int((column.codes == first["month"]).argmax())),
        parameter="words",
        remedy=f"Write the dates as {example('%Y-%m-%d')}, or name the column in words.",
    )


def _settled(column: Words, read: Found, order: str) -> Dates:
    kept = DAY_FIRST if order == "day" else MONTH_FIRST
    formats: Counter[str] = Counter()
    first: dict[str, str] = {}
    for word, ways, n in zip(column.words, read, _counts(column).tolist(), strict=True):
        if ways:
            format = next((format for format in ways if format in kept), next(iter(ways)))
            formats[format] += n
            first.setdefault(format, word)
    values = parse_dates(column.words, "%d/%m/%Y" if order == "day" else "%m/%d/%Y")
    gap = np.array([means_missing(word) for word in column.words], dtype=bool)
    odd = np.isnat(values) & ~gap
    remarks: tuple[str, ...] = ()
    if len(formats) > 1:
        some = [shown(first[format]) for format, _ in formats.most_common(2)]
        remarks = (f"dates in {len(formats)} formats, such as {' and '.join(some)}",)
    # A format that shows the order is read together with all others.
    ordered = [format for format, _ in formats.most_common() if format in kept]
    main = ordered[0] if ordered else formats.most_common(1)[0][0]
    return Dates(values, main, np.flatnonzero(gap), np.flatnonzero(odd), remarks)
