"""Dates in tables: a short list of explicit formats.

A format gives the date; in any cell a time of day may follow it.  Times with an offset are
converted to UTC.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

ISO = "%Y-%m-%d"
NO_DATE = np.datetime64("NaT", "us")
_TIME = (
    r"(?:[T ](?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?"
    r" ?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_PARTS = {"%Y": r"(?P<Y>\d{4})", "%m": r"(?P<m>\d{1,2})", "%d": r"(?P<d>\d{1,2})"}


def _pattern(format: str) -> re.Pattern[str]:
    text = re.escape(format).replace(r"\%", "%")
    for directive, pattern in _PARTS.items():
        text = text.replace(directive, pattern)
    return re.compile(text + _TIME, re.ASCII)


FORMATS = {
    format: _pattern(format)
    for format in (ISO, "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
}
DAY_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}


def fitting_formats(words: Sequence[str]) -> list[str]:
    """Return the formats that all words fit; if two give the same dates, only the first."""
    found = [
        format
        for format, pattern in FORMATS.items()
        if words and all(_parsed(word, pattern) is not None for word in words)
    ]
    if len(found) == 2 and (parse_dates(words, found[0]) == parse_dates(words, found[1])).all():
        return found[:1]
    return found


def parse_dates(words: Iterable[str], format: str) -> NDArray[np.datetime64]:
    """Parse dates in this format or in ISO format; NaT for a word in neither."""
    patterns = dict.fromkeys((FORMATS[format], FORMATS[ISO]))
    found = [
        next((date for p in patterns if (date := _parsed(word, p)) is not None), None)
        for word in words
    ]
    return np.array(found, dtype="datetime64[us]").reshape(len(found))


def example(format: str) -> str:
    """Return a date in this format."""
    return datetime(2024, 12, 31).strftime(format)


def _parsed(word: str, pattern: re.Pattern[str]) -> datetime | None:
    found = pattern.fullmatch(word)
    if found is None:
        return None
    Y, m, d, H, M, S, f, zone = found.group("Y", "m", "d", "H", "M", "S", "f", "zone")
    fraction = int((f or "0")[:6].ljust(6, "0"))
    try:
        date = datetime(int(Y), int(m), int(d), int(H or 0), int(M or 0), int(S or 0), fraction)
        if zone and zone != "Z":
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            date = date - ahead if zone[0] == "+" else date + ahead
    except (ValueError, OverflowError):  # such as 31 February
        return None
    return date
