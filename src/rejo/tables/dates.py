"""Dates in tables: a short list of explicit formats.

A format gives the date; in any cell a time of day may follow it.  Times with an offset are
converted to UTC.  Cells of one column may have different formats, but only one order of day and
month.  If none of a column's cells shows it, another column may; otherwise the user is asked.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rejo._errors import Setting, Text
from rejo.tables.errors import TableError, shown
from rejo.tables.numbers import FEWEST_NUMBERS
from rejo.tables.values import Parsed, Said, Words, count_words, few, means_missing

ISO = "%Y-%m-%d"
FIRST_DAY = np.datetime64("0001-01-01")  # of Python
DAY_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y", "%d-%m-%Y": "%m-%d-%Y"}
MONTH_FIRST = {month: day for day, month in DAY_FIRST.items()}
FORMATS = (
    ISO, "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", *DAY_FIRST, *MONTH_FIRST, "%d %b %Y",
    "%b %d, %Y",
)  # fmt: skip
LONGEST_DATE = 60  # characters

_MONTHS = {
    name: number
    for number, names in {
        1: "jan january januar", 2: "feb february februar", 3: "mar march mär märz mrz",
        4: "apr april", 5: "may mai", 6: "jun june juni", 7: "jul july juli", 8: "aug august",
        9: "sep sept september", 10: "oct october okt oktober", 11: "nov november",
        12: "dec december dez dezember",
    }.items()
    for name in names.split()
}  # fmt: skip
_TIME = (
    r"(?:(?:[T ]|, )(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})"
    r"(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)? ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_NAME = r"(?P<b>[^\W\d_]{3,9})"
_DAY = r"(?P<d>[0-9]{1,2})(?:st|nd|rd|th)?"
_DIGITS = re.compile(
    r"(?P<one>[0-9]{4}|[0-9]{1,2})(?P<mark>[-/.])(?P<two>[0-9]{1,2})(?P=mark)"
    r"(?P<three>[0-9]{4}|[0-9]{1,2})" + _TIME
)
_DAY_NAME = re.compile(
    _DAY + r"(?:\. ?|[ -])" + _NAME + r"(?:[.,] ?|[ -])(?P<Y>[0-9]{4}|[0-9]{2})" + _TIME
)
_DAYS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:\n[0-9]{4}-[0-9]{2}-[0-9]{2})*")
_NAME_DAY = re.compile(_NAME + r"(?:\. ?|[ -])" + _DAY + r"(?:, ?|[ -])(?P<Y>[0-9]{4})" + _TIME)


@lru_cache(1 << 14)  # days repeat
def read_date(word: str) -> Mapping[str, datetime]:
    """Return the date that a word stands for in each format that it fits.

    There are two if the day or the month may come first, and none if it is not a date.

    >>> read_date("3.2.2024")
    {'%d.%m.%Y': datetime.datetime(2024, 2, 3, 0, 0)}
    >>> list(read_date("03/02/2024")), list(read_date("13/02/2024")), list(read_date("13/13/2024"))
    (['%d/%m/%Y', '%m/%d/%Y'], ['%d/%m/%Y'], [])
    """
    if len(word) > LONGEST_DATE:
        return {}
    if found := _DIGITS.fullmatch(word):
        return _numeric(found)
    for pattern, format in ((_DAY_NAME, "%d %b %Y"), (_NAME_DAY, "%b %d, %Y")):
        if (found := pattern.fullmatch(word)) and (month := _MONTHS.get(found["b"].casefold())):
            date = _date(_year(found["Y"]), month, int(found["d"]), found)
            return {} if date is None else {format: date}
    return {}


def parse_dates(words: Iterable[str], format: str) -> NDArray[np.datetime64]:
    """Parse dates in any format; NaT for a word that is none.

    The format settles whether the day or the month comes first.  If it does not, a word that may
    have either is none.
    """
    words = list(words)
    if (days := _iso_days(words)) is not None:
        return days
    found = [_settled(read_date(word), format) for word in words]
    return np.array(found, dtype="datetime64[us]").reshape(len(found))


def _iso_days(words: list[str]) -> NDArray[np.datetime64] | None:
    """Return dates that are all written as 2024-12-31, much faster; None if one is not."""
    if not words or not _DAYS.fullmatch("\n".join(words)):
        return None
    try:
        days = np.array(words, dtype="datetime64[D]")
    except ValueError:  # such as 31 February
        return None
    return days.astype("datetime64[us]") if days.min() >= FIRST_DAY else None


def _settled(found: Mapping[str, datetime], format: str) -> datetime | None:
    if len(found) == 1:
        ((own, date),) = found.items()
        against = (own in DAY_FIRST and format in MONTH_FIRST) or (
            own in MONTH_FIRST and format in DAY_FIRST
        )
        return None if against else date
    first = format in DAY_FIRST
    if format not in DAY_FIRST and format not in MONTH_FIRST:
        dates = set(found.values())
        return dates.pop() if len(dates) == 1 else None
    return next((date for own, date in found.items() if (own in DAY_FIRST) == first), None)


def order_of(words: Iterable[str], format: str) -> str:
    """Return a format with the order of day and month that words show, else the format itself.

    One date is not enough to show another order than that of the format.
    """
    shown: dict[str, int] = {"%d/%m/%Y": 0, "%m/%d/%Y": 0}
    for word in words:
        if "/" in word or "-" in word[1:3]:  # others have only one order
            for own in found if len(found := read_date(word)) == 1 else ():
                if own in DAY_FIRST or own in MONTH_FIRST:
                    shown["%d/%m/%Y" if own in DAY_FIRST else "%m/%d/%Y"] += 1
    day, month = shown.values()
    if day and not month:
        return "%d/%m/%Y" if day > (format in MONTH_FIRST) else format
    if month and not day:
        return "%m/%d/%Y" if month > (format in DAY_FIRST) else format
    return format


def example(format: str) -> str:
    """Return a date in this format."""
    return datetime(2024, 12, 31).strftime(format)


REMEDY = Text(
    f"Write the dates as {example('%Y-%m-%d')}, or name the column in ", Setting("words"), "."
)


def _numeric(found: re.Match[str]) -> dict[str, datetime]:
    one, mark, two, three = found.group("one", "mark", "two", "three")
    if len(one) == 4:
        if len(three) == 4:
            return {}
        date = _date(int(one), int(two), int(three), found)
        return {} if date is None else {f"%Y{mark}%m{mark}%d": date}
    if len(three) < 4 and (len(three) == 1 or mark == "-"):  # 24-02-03 may begin with the year
        return {}
    year, end = _year(three), "%Y" if len(three) == 4 else "%y"
    ways = [(f"%d{mark}%m{mark}{end}", _date(year, int(two), int(one), found))]
    if mark != ".":
        ways.append((f"%m{mark}%d{mark}{end}", _date(year, int(one), int(two), found)))
    return {format: date for format, date in ways if date is not None}


def _year(digits: str) -> int:
    """Return a year; two digits are those from 1969 to 2068, as in Python."""
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year < 69 else 1900)


def _date(year: int, month: int, day: int, found: re.Match[str]) -> datetime | None:
    H, M, S, f, half, zone = found.group("H", "M", "S", "f", "half", "zone")
    fraction = int((f or "0")[:6].ljust(6, "0"))
    hour = int(H or 0)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half in "Pp")
    try:
        date = datetime(year, month, day, hour, int(M or 0), int(S or 0), fraction)
        if zone and zone[0] in "+-":
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            date = date - ahead if zone[0] == "+" else date + ahead
    except (ValueError, OverflowError):  # such as 31 February
        return None
    return date


# ---- columns ---------------------------------------------------------------------------------

Found = list[Mapping[str, datetime]]  # of each word
Place = Callable[[str, int], str]  # of a column and a row


def read_dates(columns: Mapping[str, Words], place: Place) -> dict[str, Parsed]:
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
                remedy=REMEDY,
            )
        dates[name] = _as_dates(columns[name], read, order or "day")
    return dates


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
    counts = count_words(column)
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
        remedy=REMEDY,
    )


def _as_dates(column: Words, read: Found, order: str) -> Parsed:
    kept = DAY_FIRST if order == "day" else MONTH_FIRST
    formats: Counter[str] = Counter()
    first: dict[str, str] = {}
    for word, ways, n in zip(column.words, read, count_words(column).tolist(), strict=True):
        if ways:
            format = next((format for format in ways if format in kept), next(iter(ways)))
            formats[format] += n
            first.setdefault(format, word)
    values = parse_dates(column.words, "%d/%m/%Y" if order == "day" else "%m/%d/%Y")
    gap = np.array([means_missing(word) for word in column.words], dtype=bool)
    odd = np.isnat(values) & ~gap
    remarks: tuple[Said, ...] = ()
    if len(formats) > 1:
        some = [shown(first[format]) for format, _ in formats.most_common(2)]
        remarks = ((f"dates in {len(formats)} formats", f", such as {' and '.join(some)}"),)
    # A format that shows the order is read together with all others.
    ordered = [format for format, _ in formats.most_common() if format in kept]
    main = ordered[0] if ordered else formats.most_common(1)[0][0]
    return Parsed(values, main, np.flatnonzero(gap), np.flatnonzero(odd), remarks)
