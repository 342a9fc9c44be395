"""Columns of strings: each distinct word once, a code for each cell, and the numbers among them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.errors import import_pandas

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
FEW = 0.05  # of the cells
LARGEST = 1e100  # the square of a larger number would overflow


class Unread(str):
    """A cell that a reader could not read as what the column holds; nobody tries it again."""

    __slots__ = ()


class Unclear(Unread):
    """A number or a date that may be another one: 2.100 two thousand, 03/02/2024 in March."""

    __slots__ = ()


class Share(Unclear):
    """A number that may be a share, in a column of percentages: a workbook has 0.12 for 12 %."""

    __slots__ = ()


class Words(NamedTuple):
    """A column of strings."""

    codes: Indices  # (n_rows,), positions in ``words``; -1 for a missing value
    words: list[str]  # distinct


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
    return np.array([*column.words, None], dtype=object)[column.codes]


def texts_of(column: Any) -> NDArray[np.object_]:
    """Return a Series of strings, stripped of blanks, with None for empty ones."""
    texts = [(value.strip() or None) if type(value) is str else None for value in column.tolist()]
    return np.array(texts, dtype=object)


def frame_of(columns: Mapping[str, Any], start: int = 0) -> Any:
    """Return columns as a DataFrame whose rows are numbered from ``start``."""
    pd = import_pandas()
    # pandas would give strings a type of its own.
    series = {
        name: pd.Series(values, dtype=object if values.dtype == object else None)
        for name, values in columns.items()
    }
    frame = pd.DataFrame(series)
    frame.index = pd.RangeIndex(start, start + len(frame))
    return frame


def missing_words(more: Iterable[str]) -> frozenset[str]:
    """Return the entries that mean a missing value anywhere; ``more`` count in upper case too."""
    also = [more] if isinstance(more, str) else list(more)
    cases = (form for word in also for form in (word, word.lower(), word.upper(), word.title()))
    return frozenset(["", *MISSING, *cases])


def means_missing(word: str) -> bool:
    """Return whether a word means a missing value in a column of numbers or dates."""
    return not word or (len(word) <= 16 and word.casefold() in AMONG_NUMBERS)


def any_missing(words: list[str]) -> bool:
    """Return whether any of many words may mean a missing value in a column of numbers or dates."""
    folded = "\n".join(words).casefold().split("\n")
    return "" in folded or not AMONG_NUMBERS.isdisjoint(folded)


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
