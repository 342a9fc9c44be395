"""Columns of words: each word once, and a number for each cell; and the numbers among them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.tables._sniff import MISSING
from rejo.tables.errors import import_pandas

_MISSING = frozenset(MISSING)
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
CODE = re.compile(r"0\d+(?:[.,]\d*)?(?:[eE][+-]?\d+)?", re.ASCII)  # 007 is no number
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
LARGEST = 1e100  # of numbers; the squares of more would overflow
TOO_LARGE = "the number is infinite or above 1e100; leave the cell empty if the value is not known"


class Words(NamedTuple):
    """A column of strings."""

    codes: NDArray[np.intp]  # (n_rows,), places in ``words``; -1 for a missing value
    words: list[str]  # different ones, without blanks around them


def words_of(column: Any) -> Words:
    """Return the words of a Series or Categorical of strings; blanks around them do not count."""
    pd = import_pandas("reading a table")
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, found = column.cat.codes.to_numpy(dtype=np.intp), column.cat.categories
    else:
        codes, found = pd.factorize(column)
    place: dict[str, int] = {}
    renumbered = np.empty(len(found) + 1, dtype=np.intp)
    renumbered[-1] = -1
    for i, value in enumerate(found.tolist()):
        word = str(value).strip()
        renumbered[i] = -1 if word in _MISSING else place.setdefault(word, len(place))
    if len(place) < len(found):
        codes = renumbered[codes]
    return Words(codes, list(place))


def joined(parts: list[Words]) -> Words:
    """Return the words of several parts of a column as one."""
    if len(parts) == 1:
        return parts[0]
    place: dict[str, int] = {}
    codes = []
    for part in parts:
        numbers = [place.setdefault(word, len(place)) for word in part.words]
        codes.append(np.array([*numbers, -1], dtype=np.intp)[part.codes])
    return Words(np.concatenate(codes) if codes else np.empty(0, np.intp), list(place))


def cells(column: Words) -> NDArray[np.object_]:
    """Return the column itself: strings, and None for missing values."""
    return np.array([*column.words, None], dtype=object)[column.codes]


def texts_of(column: Any) -> NDArray[np.object_]:
    """Return a Series of strings without blanks around them; None for empty ones."""
    texts = [(value.strip() or None) if type(value) is str else None for value in column.tolist()]
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def spread(values: Any, column: Words, missing: Any) -> NDArray[Any]:
    """Return for each cell the value of its word."""
    return np.append(values, missing)[column.codes]


def number(word: str, decimal: str) -> float | None:
    """Return the number that a word stands for, if it is one; it may be infinite."""
    text = word.replace(",", ".") if decimal == "," and "." not in word else word
    if decimal == "," and "." in word:
        return None
    return float(text) if NUMBER.fullmatch(text) or INFINITE.fullmatch(text) else None


def too_large(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of the numbers that are infinite, or so large that later steps would overflow."""
    return np.flatnonzero(np.abs(values) > LARGEST)


def word_of(value: Any) -> str:
    """Return a value as a word; whole numbers are the same word as integers and as floats."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def numbers(words: list[str], decimal: str) -> NDArray[np.float64] | None:
    """Return all words as numbers, or None if one is something else or a code such as 007."""
    found = []
    for word in words:
        value = number(word, decimal)
        if value is None or CODE.fullmatch(word):
            return None
        found.append(value)
    return np.array(found, dtype=np.float64)
