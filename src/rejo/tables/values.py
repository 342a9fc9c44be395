"""Columns as the readers find them: strings, numbers or dates, and missing values.

:func:`column_of` turns an Arrow array into an array of numbers, an array of dates, or
:class:`Words`: each distinct string once, with a code for each cell.  In a column of several types,
as a workbook or JSON may have, all cells are strings, and a number has a mark before it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from numbers import Real
from typing import Any, NamedTuple
from unicodedata import normalize
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.errors import import_pandas, import_pyarrow, shown

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
# Before the word for a number that was one in the file, and for a cell that is not a single value.
TYPED, SEVERAL = "\0#", "\0several "
WHAT = {"{...}": "objects", "[...]": "lists", "(binary data)": "binary data"}
WORDED = (UUID, time, timedelta, IPv4Address, IPv6Address)  # their usual form is a good word
_DECIMALS = re.compile(r"([0-9]*)\.([0-9]*)")


class Unread(str):
    """A cell that a reader could not read as what the column holds; nobody tries it again."""


class Unclear(Unread):
    """A number or a date that may be another one: 2.100 two thousand, 03/02/2024 in March."""


class Share(Unclear):
    """A number that may be a share, in a column of percentages: a workbook has 0.12 for 12 %."""


# ---- words ------------------------------------------------------------------------------------


Said = tuple[str, str]  # something that may surprise, and what to add from the rows


class Words(NamedTuple):
    """A column of strings."""

    codes: Indices  # (n_rows,), positions in ``words``; -1 for a missing value
    words: list[str]  # distinct


def words_of(column: Any, missing: Collection[str] = (), text: Callable[[Any], str] = str) -> Words:
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
    place: dict[str, int] = {}
    codes = [np.empty(0, np.intp)]
    for part in parts:
        numbers = [place.setdefault(word, len(place)) for word in part.words]
        codes.append(np.array([*numbers, -1], dtype=np.intp)[part.codes])
    return Words(np.concatenate(codes), list(place))


def spread(values: Any, column: Words, missing: Any) -> NDArray[Any]:
    return np.append(values, missing)[column.codes]


def cells(column: Words) -> NDArray[np.object_]:
    """Return the column itself: strings, and None for missing values."""
    return np.array([*map(bare, column.words), None], dtype=object)[column.codes]


def bare(word: str) -> str:
    return word.removeprefix(TYPED).removeprefix(SEVERAL)


def count_words(column: Words) -> Indices:
    counts: Indices = np.bincount(column.codes + 1, minlength=len(column.words) + 1)[1:]
    return counts


def most_frequent(words: list[str], counts: Indices, which: Any) -> list[str]:
    some = sorted(np.asarray(which, dtype=np.intp).tolist(), key=lambda i: -counts[i])
    return [bare(words[i]) for i in some[:2]]


def frame_of(columns: Mapping[str, Any], start: int = 0) -> Any:
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
        also = list(more)
        cases = (form for word in also for form in (word, word.lower(), word.upper(), word.title()))
        numbers = {value for word in also if (value := _number(word)) is not None}
        return cls(frozenset([*MISSING, *cases]), tuple(sorted(numbers)))

    def has(self, word: str) -> bool:
        return word in self.words or typed_number(word) in self.numbers

    def without(self, numbers: Floats) -> Floats:
        for number in self.numbers:
            if (gap := numbers == number).any():
                numbers = np.where(gap, np.nan, numbers)
        return numbers


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def typed_number(word: str) -> float | None:
    """Return the number of a word with the mark of one; None for other words."""
    return _number(word.removeprefix(TYPED)) if word.startswith(TYPED) else None


def means_missing(word: str) -> bool:
    return not word or (len(word) <= 16 and word.casefold() in AMONG_NUMBERS)


def few(n: Any, n_all: Any) -> Any:
    """Return whether so many cells of a column may be mistakes; also for arrays."""
    return n <= np.maximum(FEW * n_all, n_all >= 8)


def overflowing(values: Floats) -> Indices:
    return np.flatnonzero(np.abs(values) > LARGEST)


def word_of(value: Any) -> str:
    """Return a value as a word; a whole number is the same word as an integer and as a float."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def day_word(value: datetime) -> str:
    return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")


# ---- columns ----------------------------------------------------------------------------------

Column = Words | NDArray[Any]  # (n_rows,) float64 with NaN, or datetime64[us] with NaT


def without_gaps(column: Column, gaps: Gaps) -> Column:
    if isinstance(column, Words):
        return distinct(*column, set(filter(gaps.has, column.words)))
    if column.dtype.kind == "f":
        return gaps.without(column)
    if len(gaps.words) > len(MISSING):
        days = np.unique(column[~np.isnat(column)])
        gone = [day for day in days if day_word(day.astype(datetime)) in gaps.words]
        return np.where(np.isin(column, gone), NO_DATE, column) if gone else column
    return column


def words_in(column: Any) -> Words:
    """Return every cell of a column, or of an Arrow array, as a string stripped of blanks."""
    if isinstance(column, np.ndarray):
        values, codes = np.unique(column, return_inverse=True)
        text = word_of if column.dtype.kind == "f" else day_word
        there = [value for value in values.tolist() if value is not None and value == value]
        return Words(np.where(codes < len(there), codes, -1), list(map(text, there)))
    codes, words = column if isinstance(column, Words) else _words_in(as_strings(column))
    return distinct(codes, list(map(bare, words)), ())


def array_of(values: list[Any], as_text: bool = False) -> Any:
    """Return values of Python as an Arrow array: of numbers, of dates, or of strings.

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
            pass
    if all(issubclass(kind, Real | Decimal) and kind is not bool for kind in kinds):
        return pa.array(list(map(_float, values)), pa.float64(), from_pandas=True)
    if all(issubclass(kind, date) for kind in kinds):
        days = [value and _naive(value) for value in values]
        return pa.array(np.array(days, dtype="datetime64[us]").reshape(len(days)))
    return _strings([_marked(value) for value in values])


def _marked(value: Any) -> str | None:
    if isinstance(value, Real | Decimal) and type(value) is not bool:
        number = _float(value)
        return None if number != number else TYPED + word_of(number)
    return None if value is None else _text(value)


def _strings(values: list[Any]) -> Any:
    pa = import_pyarrow()
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # half a character
        return pa.array([v and v.encode("utf-8", "replace").decode() for v in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == value.to_integral_value() else str(value)
    if isinstance(value, Real | Decimal):
        return "" if value != value else word_of(value)
    if isinstance(value, date):
        return day_word(_naive(value))
    if isinstance(value, WORDED):
        return str(value)
    what = "{...}" if isinstance(value, dict) else "[...]"
    return SEVERAL + (what if isinstance(value, dict | list) else "(binary data)")


def _float(value: Any) -> float:
    try:
        return np.nan if value is None else float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def _naive(value: date) -> datetime:
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        return value
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return value.replace(tzinfo=None)


def column_of(array: Any, gaps: Gaps) -> Column:
    """Return an Arrow array as numbers, dates or words, without those that mean a missing value."""
    pa = import_pyarrow()
    types, type = pa.types, array.type
    column: Column
    if types.is_decimal(type):
        array = array.cast(pa.float64(), safe=False)
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        column = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    elif types.is_date(type) or types.is_timestamp(type):
        if types.is_timestamp(type) and type.tz is not None:
            array = array.cast(pa.timestamp(type.unit))  # in UTC
        column = array.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    else:
        column = _words_in(as_strings(array))
    return without_gaps(column, gaps)


def as_strings(array: Any, *, marked: bool = False) -> Any:
    """Return an Arrow array of strings; numbers are ``marked`` if other cells are not."""
    if are_strings(array.type):
        return array
    cells = array.to_pylist()
    return _strings(list(map(_marked, cells))) if marked else array_of(cells, as_text=True)


def are_strings(type: Any) -> bool:
    types = import_pyarrow().types
    if types.is_dictionary(type):
        type = type.value_type
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def _words_in(strings: Any) -> Words:
    """Return the distinct strings of an Arrow array, stripped of blanks, with codes."""
    pa = import_pyarrow()
    if not pa.types.is_dictionary(strings.type):
        strings = strings.dictionary_encode()
    used = strings.indices.dictionary_encode()  # a dictionary may have words that do not occur
    codes = used.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    words = pa.compute.utf8_trim_whitespace(strings.dictionary.take(used.dictionary))
    return distinct(codes, words.fill_null("").to_pylist(), ("",))


def texts_in(array: Any) -> NDArray[np.object_]:
    """Return each cell as it is written, stripped of blanks; None for those without any."""
    strings, compute = as_strings(array), import_pyarrow().compute
    if hasattr(strings, "dictionary"):
        return cells(_words_in(strings))
    strings = compute.utf8_trim_whitespace(strings)
    strings = compute.replace_substring_regex(strings, f"^(?:{TYPED}|{SEVERAL})", "")
    empty = compute.equal(strings, "")
    texts: NDArray[np.object_] = compute.if_else(empty, None, strings).to_numpy(False)
    return texts


def lengths_of(array: Any) -> Indices:
    """Return the number of bytes (n,) of each string of an Arrow array; 0 for other cells."""
    pa = import_pyarrow()
    if not are_strings(array.type):
        return np.zeros(len(array), dtype=np.int64)
    words = array.dictionary if pa.types.is_dictionary(array.type) else array
    lengths: Indices = pa.compute.binary_length(words).fill_null(0).to_numpy(zero_copy_only=False)
    if words is array:
        return lengths
    return np.append(lengths, 0)[array.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


class Parsed(NamedTuple):
    """A column of words that are numbers or dates."""

    values: NDArray[Any]  # of each word; NaN or NaT if it is missing, or odd
    written: str  # the unit of the numbers, or the format of most dates
    gaps: Indices  # words that mean a missing value
    odd: Indices  # words that are something else
    remarks: tuple[Said, ...]


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


def one_spelling(column: Words) -> tuple[Words, tuple[Said, ...]]:
    """Return a column with each word in its most frequent spelling, and a remark if that matters.

    Names and free text stay as they are.
    """
    if len(column.words) > max(MANY_WORDS, len(column.codes) / 2):
        return column, ()
    other = merged(dict(zip(column.words, count_words(column).tolist(), strict=True)))
    if not other:
        return column, ()
    column = distinct(column.codes, [other.get(word, word) for word in column.words], ())
    word, spelled = next(iter(other.items()))
    more = f", and {len(other) - 1} more such words" if len(other) > 1 else ""
    example = f": {shown(word)} is read as {shown(spelled)}{more}"
    return column, (("several spellings are one word", example),)


def spellings_known(categories: Iterable[str]) -> dict[str, str]:
    """Return the word of training for what its spellings have in common; none if there are two."""
    keys = {word: same_spelling(word) for word in dict.fromkeys(categories)}
    times = Counter(keys.values())
    return {key: word for word, key in keys.items() if times[key] == 1}


def known_spelling(column: Words, spelled: Mapping[str, str]) -> Words:
    """Return words in the spelling of training, as :func:`spellings_known` gives it."""
    if not spelled:
        return column
    known = set(spelled.values())
    words = [w if w in known else spelled.get(same_spelling(w), w) for w in column.words]
    return column if words == column.words else distinct(column.codes, words, ())
