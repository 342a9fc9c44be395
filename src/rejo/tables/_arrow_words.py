"""Columns of strings as pyarrow has them: words with a code for each cell, or one text for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Indices
from rejo.tables.values import Words, distinct

# Bytes at the ends of a string from which nothing is stripped.
INK = np.zeros(256, dtype=bool)
INK[33:127] = True


def codes_in(strings: Any, pa: Any) -> tuple[Indices, Any]:
    """Return the code of each string, -1 for null, and the strings that occur."""
    if not pa.types.is_dictionary(strings.type):
        strings = strings.dictionary_encode()
    codes = strings.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    occurs = np.zeros(len(strings.dictionary) + 1, dtype=bool)
    occurs[codes] = True
    occurs[-1] = True  # where -1 leads
    if occurs.all():
        return codes, strings.dictionary
    place = np.cumsum(occurs) - 1
    place[-1] = -1
    return place[codes], strings.dictionary.take(pa.array(np.flatnonzero(occurs[:-1])))


def words_with(codes: Indices, strings: Any, missing: frozenset[str] = frozenset([""])) -> Words:
    """Return a column of words, stripped of blanks; some words are missing values."""
    words = strings.to_numpy(zero_copy_only=False).tolist()
    different = set(words)
    if len(different) == len(words) and is_bare(strings) and missing.isdisjoint(different):
        return Words(codes, words)
    return distinct(codes, ["" if word is None else word.strip() for word in words], missing)


def texts_in(strings: Any) -> NDArray[np.object_]:
    """Return each string, stripped of blanks; None for those without any, and for null."""
    texts: NDArray[np.object_] = strings.to_numpy(zero_copy_only=False)
    if not is_bare(strings):
        stripped = [(text.strip() or None) if text is not None else None for text in texts.tolist()]
        texts = np.array([*stripped, None], dtype=object)[:-1]
    return texts


def is_bare(strings: Any) -> bool:
    """Return whether no string is null or empty, or begins or ends with something to strip."""
    if strings.null_count or not len(strings):
        return not len(strings)
    _, offsets, data = strings.buffers()
    width = np.int64 if str(strings.type).startswith("large") else np.int32
    places = np.frombuffer(offsets, width)[strings.offset : strings.offset + len(strings) + 1]
    if not (np.diff(places) > 0).all():
        return False
    letters = np.frombuffer(data, np.uint8)
    return bool(INK[letters[places[:-1]]].all() and INK[letters[places[1:] - 1]].all())
