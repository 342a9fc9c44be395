"""Columns as the readers find them: strings, numbers and dates side by side, and missing values.

Every source gives Arrow arrays.  :func:`cells_of` turns one into :class:`Cells`: each distinct
string once with a code for each cell, an array of numbers, an array of dates.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple
from unicodedata import normalize
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.errors import FIELD, import_pandas, import_pyarrow, shown

#: Entries of a table that mean a missing value.
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL")
"""Entries that mean a missing value; other words, such as ``None``, are values.

In columns of numbers or dates many others mean it too; see :func:`means_missing`.
"""

_AMONG_NUMBERS = """
n/a #n/a #n/a! n.a. n.a n/a. na n/d n.d. nan nat <na> none null nil missing unknown unk tbd blank
(blank) empty (empty) (missing) (none) (null) k.a. unbekannt fehlt inconnu desconocido #value!
#div/0! #ref! #name? #num! #null! #wert! #nv #bezug! - -- --- \u2013 \u2014 \u2212 . .. ... \u2026 ?
?? ??? * ** _ / \\n
"""
AMONG_NUMBERS = frozenset(_AMONG_NUMBERS.split()) | {
    "not available", "not applicable", "not known", "no data", "no value", "no answer", "k. a.",
    "keine angabe",
}  # fmt: skip
FEW = 0.05  # of the cells may be mistakes: at twice that, a column of two kinds would be numbers
LARGEST = 1e100  # the square of a larger number would overflow
NO_DATE = np.datetime64("NaT", "us")
MANY_WORDS = 50  # of which more than half as many as rows are names or free text
# Before the word for a cell that is not a single value: no table has this character.
SEVERAL = "\uf8ff"
WHAT = {f"{SEVERAL}{{...}}": "objects", f"{SEVERAL}[...]": "lists",
        f"{SEVERAL}(binary data)": "binary data"}  # fmt: skip
OBJECTS, LISTS, BINARY = WHAT
WORDED = (UUID, time, timedelta, IPv4Address, IPv6Address)  # their usual form is a good word
_DECIMALS = re.compile(r"([0-9]*)\.([0-9]*)")
# Bytes at the ends of a string from which nothing is stripped.
INK = np.zeros(256, dtype=bool)
INK[33:127] = True


class Unread(str):
    """A cell that a reader could not read as what the column holds; nobody tries it again."""

    __slots__ = ()


class Unclear(Unread):
    """A number or a date that may be another one: 2.100 two thousand, 03/02/2024 in March."""

    __slots__ = ()


class Share(Unclear):
    """A number that may be a share, in a column of percentages: a workbook has 0.12 for 12 %."""

    __slots__ = ()


# ---- words ------------------------------------------------------------------------------------


class Words(NamedTuple):
    """A column of strings."""

    codes: Indices  # (n_rows,), positions in ``words``; -1 for a missing value
    words: list[str]  # distinct


def no_words(n_rows: int) -> Words:
    """Return a column without strings."""
    return Words(np.full(n_rows, -1, dtype=np.intp), [])


def words_of(
    column: Any,
    missing: Collection[str] = frozenset(MISSING),
    text: Callable[[Any], str] = lambda value: str(value).strip(),
) -> Words:
    """Return the distinct words of a Series; ``text`` makes a word of a value."""
    pd = import_pandas()
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, found = column.cat.codes.to_numpy(dtype=np.intp), column.cat.categories
    else:
        codes, found = pd.factorize(column)
    return distinct(codes, list(map(text, found.tolist())), missing)


def distinct(codes: Indices, words: list[str], missing: Collection[str]) -> Words:
    """Return a column of words, of which some may be equal, or missing."""
    kept = [word for word in dict.fromkeys(words) if word not in missing]
    if len(kept) < len(words):
        place = {word: i for i, word in enumerate(kept)}
        codes = np.array([*(place.get(word, -1) for word in words), -1], dtype=np.intp)[codes]
    return Words(codes, kept)


def joined(parts: list[Words]) -> Words:
    """Join the parts of a column."""
    place: dict[str, int] = {}
    codes = [np.empty(0, np.intp)]
    for part in parts:
        numbers = [place.setdefault(word, len(place)) for word in part.words]
        codes.append(np.array([*numbers, -1], dtype=np.intp)[part.codes])
    return Words(np.concatenate(codes), list(place))


def spread(values: Any, column: Words, missing: Any) -> NDArray[Any]:
    """Return for each cell the value of its word."""
    return np.append(values, missing)[column.codes]


def cells(column: Words) -> NDArray[np.object_]:
    """Return the column itself: strings, and None for missing values."""
    words = [word.removeprefix(SEVERAL) for word in column.words]
    return np.array([*words, None], dtype=object)[column.codes]


def count_words(column: Words) -> Indices:
    """Return the number of cells with each word."""
    counts: Indices = np.bincount(column.codes + 1, minlength=len(column.words) + 1)[1:]
    return counts


def frame_of(columns: Mapping[str, Any], start: int = 0) -> Any:
    """Return columns as a DataFrame whose rows are numbered from ``start``."""
    pd = import_pandas()
    # pandas would give strings a type of its own.
    series = {
        name: pd.Series(values, dtype=object if values.dtype == object else None, copy=False)
        for name, values in columns.items()
    }
    frame = pd.DataFrame(series, copy=False)
    frame.index = pd.RangeIndex(start, start + len(frame))
    return frame


# ---- missing values ---------------------------------------------------------------------------


class Gaps(NamedTuple):
    """What means a missing value in any column; a number does so however it is written."""

    words: frozenset[str]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, more: Iterable[str] = ()) -> "Gaps":
        """Return the usual entries and ``more``, which count in upper case too."""
        also = [more] if isinstance(more, str) else list(more)
        cases = (form for word in also for form in (word, word.lower(), word.upper(), word.title()))
        numbers = {value for word in also if (value := _number(word)) is not None}
        return cls(frozenset(["", *MISSING, *cases]), tuple(sorted(numbers)))

    def without(self, numbers: Floats) -> Floats:
        """Return numbers with NaN for those that mean a missing value."""
        for number in self.numbers:
            if (gap := numbers == number).any():
                numbers = np.where(gap, np.nan, numbers)
        return numbers


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def means_missing(word: str) -> bool:
    """Return whether a word means a missing value in a column of numbers or dates."""
    return not word or (len(word) <= 16 and word.casefold() in AMONG_NUMBERS)


def few(n: Any, n_all: Any) -> Any:
    """Return whether so many cells of a column may be mistakes; also for arrays."""
    return n <= np.maximum(FEW * n_all, n_all >= 8)


def too_large(values: Floats) -> Indices:
    """Return the positions of numbers that are infinite or would overflow when squared."""
    return np.flatnonzero(np.abs(values) > LARGEST)


def word_of(value: Any) -> str:
    """Return a value as a word; a whole number is the same word as an integer and as a float."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def day_word(value: datetime) -> str:
    """Return a date as a word, with the time of day if there is one."""
    return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")


# ---- cells ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """Some rows of a column: each has a string, a number or a date, or is missing."""

    words: Words  # strings; code -1 in other rows
    numbers: Floats | None = None  # (n_rows,), NaN in other rows; None without any number
    dates: NDArray[np.datetime64] | None = None  # (n_rows,) datetime64[us], NaT in other rows

    def known(self, gaps: Gaps) -> "Cells":
        """Return the column without cells that mean a missing value."""
        numbers, dates = self.numbers, self.dates
        if numbers is not None:
            numbers = gaps.without(numbers)
        if dates is not None and len(gaps.words) > len(MISSING):
            days = np.unique(dates[~np.isnat(dates)])
            gone = [day for day in days if day_word(day.astype(datetime)) in gaps.words]
            dates = np.where(np.isin(dates, gone), NO_DATE, dates) if gone else dates
        return Cells(distinct(*self.words, gaps.words), numbers, dates)

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

    def without_gaps(self) -> Words:
        """Return the cells as words, but for those that mean a missing number or date."""
        words = self.as_words()
        return distinct(*words, set(filter(means_missing, words.words)))


def array_of(values: list[Any], as_text: bool = False) -> Any:
    """Return values of Python as an Arrow array: of one type, or a union of several.

    With ``as_text`` all are strings: a long number is then kept to its last digit.
    """
    pa = import_pyarrow()
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {str}:
        return _strings(values)
    if as_text:
        return _strings([None if value is None else _text(value) for value in values])
    if kinds <= {int, float}:
        try:
            return pa.array(values, pa.float64(), from_pandas=True, safe=False)
        except (OverflowError, pa.ArrowInvalid):  # a very long integer
            return pa.array([_float(value) for value in values], pa.float64(), from_pandas=True)
    words: list[str | None] = []
    numbers: list[float] = []
    dates: list[datetime | None] = []
    for value in values:
        is_number = isinstance(value, int | float | Decimal) and type(value) is not bool
        day = _naive(value) if isinstance(value, date) else None
        word = None if value is None or is_number or day is not None else _text(value)
        words.append(word)
        numbers.append(_float(value) if is_number else np.nan)
        dates.append(day)
    figures = np.array(numbers, dtype=np.float64)
    days = np.array(dates, dtype="datetime64[us]").reshape(len(dates))
    type_of = np.where(~np.isnat(days), 2, np.where(np.isnan(figures), 0, 1)).astype(np.int8)
    parts = [_strings(words), pa.array(figures, from_pandas=True), pa.array(days)]
    return pa.UnionArray.from_sparse(pa.array(type_of), parts)


def _strings(values: list[Any]) -> Any:
    pa = import_pyarrow()
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # half a character
        return pa.array([v and v.encode("utf-8", "replace").decode() for v in values], pa.string())


def _text(value: Any) -> str:
    """Return a value of Python as a string."""
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == value.to_integral_value() else str(value)
    if isinstance(value, int | float | Decimal):
        return "" if value != value else word_of(value)
    if isinstance(value, date):
        return day_word(_naive(value))
    if isinstance(value, WORDED):
        return str(value)
    return OBJECTS if isinstance(value, dict) else LISTS if isinstance(value, list) else BINARY


def _float(value: Any) -> float:
    try:
        return np.nan if value is None else float(value)
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


def cells_of(array: Any, as_text: bool = False) -> Cells:
    """Return an Arrow array as cells; with ``as_text``, all of them as strings."""
    pa = import_pyarrow()
    types, type = pa.types, array.type
    if are_strings(type):
        return Cells(words_in(array))
    if types.is_union(type):
        strings, numbers, dates = (array.field(i) for i in range(3))
        figures = None if numbers.null_count == len(numbers) else _floats(numbers)
        days = None if dates.null_count == len(dates) else _days(dates)
        found = Cells(words_in(strings), figures, days)
        return Cells(found.as_words()) if as_text else found
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        if as_text:  # in floats, a long number would lose its last digits
            return Cells(words_in(array_of(array.to_pylist(), as_text=True)))
        if types.is_decimal(type):
            array = array.cast(pa.float64(), safe=False)
        return Cells(no_words(len(array)), _floats(array))
    if types.is_date(type) or types.is_timestamp(type):
        dates = Cells(no_words(len(array)), dates=_days(array))
        return Cells(dates.as_words()) if as_text else dates
    return Cells(words_in(array_of(array.to_pylist(), as_text=True)))


def are_strings(type: Any) -> bool:
    """Return whether an Arrow type is that of strings, perhaps in a dictionary."""
    types = import_pyarrow().types
    if types.is_dictionary(type):
        type = type.value_type
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def _floats(array: Any) -> Floats:
    values: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values


def _days(array: Any) -> NDArray[np.datetime64]:
    pa = import_pyarrow()
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = array.cast(pa.timestamp(array.type.unit))  # in UTC
    days: NDArray[np.datetime64] = array.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    return days


def words_in(strings: Any) -> Words:
    """Return the distinct strings of an Arrow array, stripped of blanks, with codes."""
    pa = import_pyarrow()
    if not pa.types.is_dictionary(strings.type):
        strings = strings.dictionary_encode()
    codes = strings.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    found = strings.dictionary
    occurs = np.zeros(len(found) + 1, dtype=bool)
    occurs[codes] = True
    occurs[-1] = True  # where -1 leads
    if not occurs.all():
        place = np.cumsum(occurs) - 1
        place[-1] = -1
        codes, found = place[codes], found.take(pa.array(np.flatnonzero(occurs[:-1])))
    words = found.to_pylist()
    if is_bare(found) and len(set(words)) == len(words):
        return Words(codes, words)
    return distinct(codes, ["" if word is None else word.strip() for word in words], ("",))


def texts_in(strings: Any) -> NDArray[np.object_]:
    """Return each string, stripped of blanks; None for those without any, and for null."""
    texts: NDArray[np.object_] = strings.to_numpy(zero_copy_only=False)
    if not is_bare(strings):
        stripped = [(text.strip() or None) if text is not None else None for text in texts.tolist()]
        texts = np.array([*stripped, None], dtype=object)[:-1]
    return texts


class Letters(NamedTuple):
    """The bytes of an Arrow array of strings, one after the other."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # (n,) of each string
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, strings: Any) -> "Letters":
        """Return those of strings without nulls."""
        _, offsets, data = strings.buffers()
        width = np.int64 if str(strings.type).startswith("large") else np.int32
        every = np.frombuffer(offsets, width).astype(np.int64)
        places = every[strings.offset : strings.offset + len(strings) + 1]
        return cls(np.frombuffer(data or b"", np.uint8), places[:-1], places[1:])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of bytes (n,) of each string."""
        return self.ends - self.starts


def is_bare(strings: Any) -> bool:
    """Return whether no string is null or empty, or begins or ends with something to strip."""
    if strings.null_count or not len(strings):
        return not len(strings)
    data, starts, ends = Letters.of(strings)
    return bool((starts < ends).all() and INK[data[starts]].all() and INK[data[ends - 1]].all())


def lengths_of(array: Any) -> Indices:
    """Return the number of bytes (n,) of each string of an Arrow array; 0 for other cells."""
    pa = import_pyarrow()
    if pa.types.is_union(array.type):
        array = array.field(0)
    if not are_strings(array.type):
        return np.zeros(len(array), dtype=np.int64)
    words = array.dictionary if pa.types.is_dictionary(array.type) else array
    lengths: Indices = pa.compute.binary_length(words).fill_null(0).to_numpy(zero_copy_only=False)
    if words is array:
        return lengths
    return np.append(lengths, 0)[array.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


def long_cell(array: Any) -> int | None:
    """Return the first row of an Arrow array whose string is longer than a cell may be."""
    lengths = lengths_of(array)
    return int((lengths > FIELD).argmax()) if lengths.max(initial=0) > FIELD else None


# ---- one word in several spellings: ``Good``, ``good `` and ``GOOD``; ``1`` and ``1.0`` --------


def same_spelling(word: str) -> str:
    """Return what all spellings of a word have in common.

    >>> same_spelling(" Very  GOOD ") == same_spelling("very good")
    True
    >>> same_spelling("1.0"), same_spelling("01"), same_spelling("1.50")
    ('1', '01', '1.5')
    """
    word = " ".join(word.split())
    if not word.isascii():
        word = normalize("NFC", word)
    sign, digits = (word[:1], word[1:]) if word[:1] in ("+", "-") else ("", word)
    if found := _DECIMALS.fullmatch(digits):
        whole, rest = found[1] or "0", found[2].rstrip("0")
        if found[1] or found[2]:
            return sign.strip("+") + whole + ("." + rest if rest else "")
    return (digits if sign == "+" and digits.isdecimal() else word).casefold()


def merged(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the spelling to use for each word that has a more frequent one.

    ``counts`` gives the number of cells of each word, in the order in which they appear.

    >>> merged({"Good": 7, "bad": 4, "GOOD": 2, "good ": 1})
    {'GOOD': 'Good', 'good ': 'Good'}
    """
    best: dict[str, str] = {}
    keys = {word: same_spelling(word) for word in counts}
    for word, key in keys.items():
        if counts[word] > counts.get(best.get(key, ""), -1):
            best[key] = word
    return {word: best[key] for word, key in keys.items() if best[key] != word}


def one_spelling(column: Words) -> tuple[Words, tuple[str, ...]]:
    """Return a column with each word in its most frequent spelling, and a remark if that matters.

    Names and free text stay as they are.
    """
    if len(column.words) > max(MANY_WORDS, len(column.codes) / 2):
        return column, ()
    other = merged(dict(zip(column.words, count_words(column).tolist(), strict=True)))
    if not other:
        return column, ()
    words = [other.get(word, word) for word in column.words]
    kept = [word for word in column.words if word not in other]
    place = {word: i for i, word in enumerate(kept)}
    codes = np.array([*(place[word] for word in words), -1], dtype=np.intp)
    word, spelled = next(iter(other.items()))
    more = f", and {len(other) - 1} more such words" if len(other) > 1 else ""
    return Words(codes[column.codes], kept), (f"{shown(word)} is read as {shown(spelled)}{more}",)


def spellings_known(categories: Iterable[str]) -> dict[str, str]:
    """Return the word of training for what its spellings have in common; none if there are two."""
    found: dict[str, str] = {}
    twice = set()
    for word in categories:
        key = same_spelling(word)
        if key in found:
            twice.add(key)
        found[key] = word
    return {key: word for key, word in found.items() if key not in twice}


def known_spelling(column: Words, spelled: Mapping[str, str]) -> Words:
    """Return words in the spelling of training, as :func:`spellings_known` gives it."""
    if not spelled:
        return column
    known = set(spelled.values())
    words = [w if w in known else spelled.get(same_spelling(w), w) for w in column.words]
    return column if words == column.words else distinct(column.codes, words, ())
