"""Dates in tables: a short list of explicit formats.

In any cell a time of day may follow the date; one with an offset is converted to UTC.  Cells of one
column may have different formats, but only one order of day and month.  If none of its cells shows
it, another column may; otherwise the user is asked.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rejo._errors import Setting, Text
from rejo.tables.errors import TableError, import_pyarrow, shown
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
    words, pa = list(words), import_pyarrow()
    try:  # much faster, if all are written as 2024-12-31
        days = pa.array(words, pa.string()).cast(pa.date32()).to_numpy(False)
        if not len(days) or days.min() >= FIRST_DAY:
            return days.astype("datetime64[us]")
    except pa.ArrowInvalid:
        pass
    found = [_settled(read_date(word), format) for word in words]
    return np.array(found, dtype="datetime64[us]").reshape(len(found))


def _settled(found: Mapping[str, datetime], format: str) -> datetime | None:
    against = MONTH_FIRST if format in DAY_FIRST else DAY_FIRST if format in MONTH_FIRST else ()
    dates = {date for own, date in found.items() if own not in against}
    return dates.pop() if len(dates) == 1 else None


def _first(found: Mapping[str, datetime]) -> str:
    """Return "day" or "month", if only that can come first."""
    format = next(iter(found)) if len(found) == 1 else ""
    return "day" if format in DAY_FIRST else "month" if format in MONTH_FIRST else ""


def order_of(words: Iterable[str], format: str) -> str:
    """Return a format with the order of day and month that words show, else the format itself.

    One date is not enough to show another order than that of the format.
    """
    some = (word for word in words if "/" in word or "-" in word[1:3])  # others have only one order
    n = Counter(_first(read_date(word)) for word in some)
    if n["day"] > (format in MONTH_FIRST) and not n["month"]:
        return "%d/%m/%Y"
    if n["month"] > (format in DAY_FIRST) and not n["day"]:
        return "%m/%d/%Y"
    return format


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
Place = Callable[[int, str], str]  # of a row and a column


def read_dates(columns: Mapping[str, Words], place: Place) -> dict[str, Parsed]:
    found = {name: read for name, c in columns.items() if (read := _dates(c)) is not None}
    orders = {name: _order(columns[name], read, place, name) for name, read in found.items()}
    known = set(filter(None, orders.values()))
    dates = {}
    for name, read in found.items():
        order = orders[name] or (min(known) if len(known) == 1 else "")
        unclear = [i for i, ways in enumerate(read) if len(set(ways.values())) > 1]
        if not order and unclear:
            word = columns[name].words[unclear[0]]
            day, month = (f"{date:%Y-%m-%d}" for date in read[unclear[0]].values())
            why = "no cell shows whether the day or the month comes first"
            problem = f"{shown(word)} may be {day} or {month}: {why}"
            raise _mixed(problem, columns[name], unclear[0], place, name)
        dates[name] = _as_dates(columns[name], read, order or "day")
    return dates


def _dates(column: Words) -> Found | None:
    read: Found = []
    wrong: list[int] = []
    for i, word in enumerate(column.words):
        read.append(read_date(word))
        if not read[-1] and not means_missing(word):
            wrong.append(i)
            if i == 20 and len(wrong) == 21:  # words; do not look at all of them
                return None
    counts = count_words(column)
    n = int(counts.sum() - counts[_gaps(column)].sum())
    different = len({next(iter(ways.values())) for ways in read if ways})
    enough = different >= (FEWEST_NUMBERS if wrong else 1)
    return read if enough and few(int(counts[wrong].sum()), n) else None


def _gaps(column: Words) -> NDArray[np.bool_]:
    return np.array([means_missing(word) for word in column.words], dtype=bool)


def _order(column: Words, read: Found, place: Place, name: str) -> str:
    """Return what comes first, "day" or "month"; empty if no cell shows it."""
    first: dict[str, int] = {}
    for i, ways in enumerate(read):
        first.setdefault(_first(ways), i)
    first.pop("", None)
    if len(first) < 2:
        return next(iter(first), "")
    day, month = (shown(column.words[first[order]]) for order in ("day", "month"))
    problem = f"{day} has the day first, but {month} has the month first"
    raise _mixed(problem, column, first["month"], place, name)


def _mixed(problem: str, column: Words, word: int, place: Place, name: str) -> TableError:
    return TableError(
        problem,
        where=place(int((column.codes == word).argmax()), name),
        parameter="words",
        remedy=Text("Write the dates as 2024-12-31, or name the column in ", Setting("words"), "."),
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
    values, gap = parse_dates(column.words, next(iter(kept))), _gaps(column)
    remarks: tuple[Said, ...] = ()
    if len(formats) > 1:
        some = [shown(first[format]) for format, _ in formats.most_common(2)]
        remarks = ((f"dates in {len(formats)} formats", f", such as {' and '.join(some)}"),)
    # A format that shows the order is read together with all others.
    common = [format for format, _ in formats.most_common()]
    main = next((format for format in common if format in kept), common[0])
    odd = np.isnat(values) & ~gap
    return Parsed(values, main, np.flatnonzero(gap), np.flatnonzero(odd), remarks)
