"""Columns whose cells may have types of their own: strings, numbers and dates side by side.

A CSV file has strings, a database numbers and dates, and a workbook all of them in one column.
Every reader gives its columns as :class:`Cells`; here they become the columns of a table, whatever
the format.  A number that has a type is read as it is; strings are read as in a CSV file.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.tables.dates import ISO, NO_DATE, parse_dates, read_date
from rejo.tables.errors import TableError, import_pandas
from rejo.tables.limits import FIELD, long_field
from rejo.tables.marks import number
from rejo.tables.number_columns import unclear_words
from rejo.tables.reading import ReadColumn, Reading, as_category, as_text, check_sizes, read_columns
from rejo.tables.spelling import known_spelling
from rejo.tables.values import (
    Share,
    Unclear,
    Unread,
    Words,
    any_missing,
    cells,
    distinct,
    joined,
    means_missing,
    missing_words,
    spread,
    word_of,
)

Dates = NDArray[np.datetime64]
GROUPED = re.compile(r"-?\d{1,3}\.\d{3}")  # as a word, this may be a number of thousands
WORDED = (UUID, time, timedelta, IPv4Address, IPv6Address)  # their usual form is a good word


class Several(str):
    """A cell that is not a single value: training refuses it, prediction sends it to review."""

    __slots__ = ()


BINARY = Several("(binary data)")
SEVERAL: dict[type, Several] = {dict: Several("{...}"), list: Several("[...]")}
WHAT = {SEVERAL[dict]: "objects", SEVERAL[list]: "lists", BINARY: "binary data"}


@dataclass(frozen=True)
class Cells:
    """Some rows of a column: each has a string, a number or a date, or is missing."""

    words: Words  # strings; code -1 in other rows
    numbers: Floats | None = None  # (n_rows,), NaN in other rows; None without any number
    dates: Dates | None = None  # (n_rows,) datetime64[us], NaT in other rows

    def __len__(self) -> int:
        return len(self.words.codes)

    def known(self, missing: Collection[str]) -> "Cells":
        """Return the column without strings that mean a missing value."""
        return replace(self, words=distinct(*self.words, missing))

    def as_words(self, plain: Callable[[Any], str] = word_of) -> Words:
        """Return every cell as a string; ``plain`` makes one of a number."""
        parts = [self.words]
        if self.numbers is not None:
            values, codes = np.unique(self.numbers, return_inverse=True)
            codes = np.where(np.isnan(self.numbers), -1, codes)
            parts.append(Words(codes, [plain(v) for v in values.tolist() if v == v]))
        if self.dates is not None:
            days, codes = np.unique(self.dates, return_inverse=True)
            codes = np.where(np.isnat(self.dates), -1, codes)
            parts.append(Words(codes, [day_word(d) for d in days.tolist() if d is not None]))
        if len(parts) == 1:
            return self.words
        found = joined(parts)  # one part after the other, and each row is in one part at most
        return Words(found.codes.reshape(len(parts), -1).max(axis=0), found.words)


def no_words(n_rows: int) -> Words:
    """Return a column without strings."""
    return Words(np.full(n_rows, -1, dtype=np.intp), [])


def joined_cells(parts: list[Cells]) -> Cells:
    """Join the parts of a column."""
    numbers = dates = None
    if any(part.numbers is not None for part in parts):
        found = [np.full(len(p), np.nan) if p.numbers is None else p.numbers for p in parts]
        numbers = np.concatenate(found)
    if any(part.dates is not None for part in parts):
        days = [np.full(len(p), NO_DATE) if p.dates is None else p.dates for p in parts]
        dates = np.concatenate(days)
    return Cells(joined([part.words for part in parts]), numbers, dates)


# ---- from values of Python --------------------------------------------------------------------


def cells_of(
    values: Iterable[Any], where: Callable[[int, str], str], column: str, as_text: bool = False
) -> Cells:
    """Return a column of values of Python; ``where`` gives the place of a row and a column.

    With ``as_text`` all are strings: a long number is then kept to its last digit.
    """
    words: dict[str, int] = {}
    codes, numbers, dates = [], [], []
    for value in values:
        code, figure, day = -1, np.nan, None
        kind = type(value)
        if value is None:
            pass
        elif kind is str:
            code = _code(value.strip(), words)
        elif kind is bool:
            code = _code(str(value), words)
        elif kind is int or kind is float or kind is Decimal:
            if as_text:
                code = _code("" if value != value else _digits(value), words)
            else:
                figure = _float(value)
        elif isinstance(value, date):  # also a datetime
            day = _naive(value)
            if as_text:
                code, day = _code(day_word(day), words), None
        elif isinstance(value, WORDED):
            code = _code(str(value), words)
        else:
            code = _code(SEVERAL.get(kind, BINARY), words)
        codes.append(code)
        numbers.append(figure)
        dates.append(day)
    if any(len(word) > FIELD for word in words):
        long = next(code for word, code in words.items() if len(word) > FIELD)
        raise long_field(where(codes.index(long), column))
    figures = np.array(numbers, dtype=np.float64)
    days = np.array(dates, dtype="datetime64[us]").reshape(len(dates))
    return Cells(
        Words(np.array(codes, dtype=np.intp), list(words)),
        None if np.isnan(figures).all() else figures,
        None if np.isnat(days).all() else days,
    )


def not_single(what: str, where: str) -> TableError:
    """Return the error for cells that are not single values."""
    return TableError(
        f"its cells are {what}, not single values such as numbers, dates or strings",
        where=where,
        remedy="Leave the column out, or write it as one of these.",
    )


def _code(word: str, words: dict[str, int]) -> int:
    return words.setdefault(word, len(words)) if word else -1


def _digits(value: Any) -> str:
    """Return a number as a word; a whole number has no decimals."""
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == value.to_integral_value() else str(value)
    return word_of(value)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def _naive(value: date) -> datetime:
    """Return a date with a time of day, in UTC if it has an offset."""
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        return value
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return value.replace(tzinfo=None)


def day_word(value: datetime) -> str:
    """Return a date as a word, with the time of day if there is one."""
    if value.time() == time():
        return value.date().isoformat()
    return value.isoformat(sep=" ")


# ---- for training -----------------------------------------------------------------------------


def read_cells(
    columns: Mapping[str, Cells],
    name: str,
    where: Callable[[int, str], str],
    *,
    text: Collection[str] = (),
    words: Collection[str] = (),
    decimal: str | None = None,
    missing: Iterable[str] = (),
    exact: bool = False,
) -> dict[str, ReadColumn]:
    """Find out what columns hold, and read them; ``name`` is the file, for messages."""
    found: dict[str, ReadColumn] = {}
    typed: dict[str, Cells] = {}  # numbers or dates among other cells
    strings: dict[str, Words] = {}
    gaps = missing_words(missing)
    for column, every in columns.items():
        for code, word in enumerate(every.words.words):
            if isinstance(word, Several):
                row = int((every.words.codes == code).argmax())
                raise not_single(WHAT[word], where(row, column))
        if column in text:
            values = cells(every.as_words())
            found[column] = as_text(values)
            continue
        part = every.known(gaps)
        if column in words:
            found[column] = as_category(part.as_words(), exact)
        elif part.numbers is None and part.dates is None:
            strings[column] = part.words
        elif not part.words.words and part.dates is None:
            found[column] = _of_type("number", part.numbers)
        elif not part.words.words and part.numbers is None:
            found[column] = _of_type("date", part.dates)
        else:
            typed[column] = part
    read = partial(
        read_columns,
        where=name,
        decimal=decimal,
        exact=exact,
        place=lambda column, row: where(row, column),
    )
    found.update(read(strings))
    rest: dict[str, Words] = {}
    for column, part in typed.items():
        merged = _merged(part, column, read)
        if merged is None:
            rest[column] = part.as_words(partial(_plain, decimal=decimal or "."))
        else:
            found[column] = merged
    found.update(read(rest))
    check_sizes(found, lambda column, row: where(row, column))
    return {column: found[column] for column in columns}


def _of_type(kind: str, values: Any) -> ReadColumn:
    gaps = int((np.isnat if kind == "date" else np.isnan)(values).sum())
    return ReadColumn(values, Reading(kind, format=ISO if kind == "date" else "", n_missing=gaps))


def _merged(
    part: Cells, column: str, read: Callable[..., dict[str, ReadColumn]]
) -> ReadColumn | None:
    """Return numbers beside strings that are numbers, or dates beside dates; else None."""
    if not part.words.words:
        return None
    try:
        values, about = read({column: part.words})[column]
    except TableError:  # unclear by themselves; perhaps not among the others
        return None
    typed = {"number": (part.numbers, part.dates), "date": (part.dates, part.numbers)}
    same, other = typed.get(about.kind, (None, None))
    if same is None or other is not None:
        return None
    there = ~(np.isnat(same) if about.kind == "date" else np.isnan(same))
    n_missing = about.n_missing - int(there.sum())
    return ReadColumn(np.where(there, same, values), replace(about, n_missing=n_missing))


def _plain(value: float, decimal: str) -> str:
    """Return a number as a word that can only be read as this number."""
    word = word_of(value)
    return (word + "0" * bool(GROUPED.fullmatch(word))).replace(".", decimal)


# ---- for prediction ---------------------------------------------------------------------------


def as_kind(
    column: Cells,
    kind: str,
    written: Mapping[str, str],
    decimal: str,
    spelled: Mapping[str, str] = MappingProxyType({}),
    usual: float | None = None,
) -> Any:
    """Return a column as what it held in training; a cell that is something else stays a string.

    ``spelled`` gives the spelling that words of a category had in training, and ``usual`` the
    median of its numbers, if it is to settle whether 2.100 is two thousand.
    """
    pd = import_pandas()
    if kind == "text":
        return cells(column.as_words())
    if kind == "category":
        words = known_spelling(column.as_words(), spelled)
        return pd.Categorical.from_codes(words.codes, pd.Index(words.words, dtype=object))
    same: Any
    missing: Any
    if kind == "number":
        same, others = column.numbers, _without_gaps(replace(column, numbers=None))
        percent = written.get("unit") == "%" and same is not None and _are_shares(same, usual)
        if same is not None and not others.words and not percent:
            return same
        unit = written.get("unit", "")
        values: list[Any] = [number(word, decimal, unit) for word in others.words]
        unclear = set() if usual is None else unclear_words(others, decimal, usual)
        values = [None if w in unclear else v for w, v in zip(others.words, values, strict=True)]
        missing, dtype = np.nan, "float64"
    else:
        same, others = column.dates, _without_gaps(replace(column, dates=None))
        percent = False
        if same is not None and not others.words:
            return same
        dates = parse_dates(others.words, written.get("format", ISO))
        if same is None and not np.isnat(dates).any():
            return spread(dates, others, NO_DATE)
        values, missing, dtype = dates.tolist(), None, "datetime64[us]"
        unread = (others.words[i] for i in np.flatnonzero(np.isnat(dates)))
        unclear = {word for word in unread if len(read_date(word)) > 1}
    found = np.empty(len(values) + 1, dtype=object if None in values else dtype)
    pairs = zip(others.words, values, strict=True)
    found[:-1], found[-1] = (
        [
            (Unclear if word in unclear else Unread)(word) if value is None else value
            for word, value in pairs
        ],
        missing,
    )
    found = found[others.codes]
    if same is not None:
        rows = others.codes < 0
        found[rows] = same[rows].tolist()
        if percent:
            there = np.flatnonzero(~np.isnan(same))
            found = found.astype(object)
            found[there] = [Share(word_of(share)) for share in same[there].tolist()]
    return found


def _are_shares(numbers: Floats, usual: float | None) -> bool:
    """Return whether numbers are nearer to a hundredth of the percentage that is usual."""
    there = np.abs(numbers[~np.isnan(numbers)])
    return usual is not None and len(there) > 0 and 10 * float(np.median(there)) < abs(usual)


def _without_gaps(column: Cells) -> Words:
    """Return the words that do not mean a missing value among numbers or dates."""
    words = column.as_words()
    gaps = set(filter(means_missing, words.words)) if any_missing(words.words) else set()
    return distinct(*words, gaps) if gaps else words
