"""One word in several spellings: ``Good``, ``good `` and ``GOOD``; ``1`` and ``1.0``."""

import re
from collections.abc import Iterable, Mapping
from unicodedata import normalize

import numpy as np

from rejo.tables.errors import shown
from rejo.tables.values import Words, distinct

MANY_WORDS = 50  # of which more than half as many as rows are names or free text
_DECIMALS = re.compile(r"([0-9]*)\.([0-9]*)")


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
    counts = np.bincount(column.codes + 1, minlength=len(column.words) + 1)[1:]
    other = merged(dict(zip(column.words, counts.tolist(), strict=True)))
    if not other:
        return column, ()
    kept = [word for word in column.words if word not in other]
    place = {word: i for i, word in enumerate(kept)}
    codes = np.array([*(place[other.get(w, w)] for w in column.words), -1], dtype=np.intp)
    return Words(codes[column.codes], kept), (spellings(other),)


def spellings(other: Mapping[str, str]) -> str:
    """Say which spellings are taken for one word."""
    word, kept = next(iter(other.items()))
    more = f", and {len(other) - 1} more such words" if len(other) > 1 else ""
    return f"{shown(word)} is read as {shown(kept)}{more}"


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
