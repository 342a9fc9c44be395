"""One column of a table as numbers: what is learnt from it, and how it is encoded.

What is learnt is a plain dict, which can be saved in a model file.
"""

from hashlib import blake2b
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.spelling import same_spelling, spellings_known
from rejo.tables.values import LARGEST

Learnt = dict[str, Any]

MANY_WORDS = 50
SIN, COS = np.sin(np.arange(12) * np.pi / 6), np.cos(np.arange(12) * np.pi / 6)
FEWEST_ROWS_TO_COUNT = 10
FARTHEST = 1e6  # standard deviations; no classifier overflows there
DECADE = 3652.5  # days
MARK = 8  # letters
MOST_MARKS = 4096
# The share of rows whose word occurs once estimates the share of new words to come (Good-Turing).
# From this share on, and unless it is a single row, new words are part of life.
SHARE_NEW, FEWEST_NEW = 0.01, 2


# ---- learning -------------------------------------------------------------------------------


def enough(n_rows: int, min_count: int) -> int:
    """Return how many rows must have something in common for a model to learn from it."""
    return min(min_count, ceil(n_rows / 20))


def learn_number(values: Floats, scale: bool, min_count: int, least: float = 0.0) -> Learnt | str:
    """Return fill value, centre, scale and limits, or the reason to leave the column out.

    ``least`` is the least width of the range, see :func:`widened`.
    """
    n, there = len(values), values[~np.isnan(values)]
    if not len(there):
        return "no values"
    missing = n - len(there) >= max(enough(n, min_count), 1)
    lowest, highest = float(there.min()), float(there.max())
    if lowest == highest and not missing:
        return "constant"
    center, spread = 0.0, 1.0
    if scale:
        unit = max(-lowest, highest, np.finfo(float).tiny)  # squares must not overflow
        center = float((there / unit).mean()) * unit
        spread = float(np.std(there / unit)) * unit
    if lowest == highest or spread < 1 / LARGEST:
        spread = 1.0
    low, high = widened(lowest, highest, least)
    fill = float(np.median(there))
    return {"fill": fill, "center": center, "scale": spread, "missing": missing, "low": low,
            "high": high}  # fmt: skip


def widened(lowest: float, highest: float, least: float = 0.0) -> tuple[float, float]:
    """Return the limits beyond which a number is far outside a range: its width away.

    The width is at least ``least``; a single value counts as wide as it is large.  The limits are
    rounded away from the range, by up to a quarter of its width, so that they do not tell its ends.

    >>> widened(18, 87)
    (-60.0, 160.0)
    """
    width = max(highest - lowest, least) or abs(highest)
    width = max(width or 1.0, 1 / LARGEST)
    power = 10.0 ** floor(log10(width / 4))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= width / 4)
    low, high = floor((lowest - width) / step) * step, ceil((highest + width) / step) * step
    # Far from zero, rounding errors may be as large as the width.
    return max(min(low, lowest), -LARGEST), min(max(high, highest), LARGEST)


def learn_category(
    codes: Indices, words: list[str], max_categories: int, min_count: int
) -> Learnt | str:
    """Return the frequent words and marks of the rare ones, or the reason to leave the column out.

    A rare spelling of one frequent word is that word.
    """
    n = len(codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    seen = {word: int(count) for count, word in zip(counts, words, strict=True) if count}
    least = enough(n, min_count)
    missing = int((codes < 0).sum()) >= max(least, 1)
    if not seen:
        return "no values"
    if len(seen) == 1 and not missing:
        return "constant"
    if len(seen) > MANY_WORDS and 2 * len(seen) > n:
        return f"{len(seen)} distinct values in {n} rows: names or free text"
    by_count = sorted(seen, key=lambda word: (-seen[word], word))
    frequent = [word for word in by_count if seen[word] >= least][:max_categories]
    spellings = spellings_known(frequent)
    rare = [word for word in by_count[len(frequent) :] if same_spelling(word) not in spellings]
    once = sum(seen[word] == 1 for word in rare)
    marks = sorted({mark_of(same_spelling(word)) for word in rare})
    new = len(marks) > MOST_MARKS or (once >= FEWEST_NEW and once >= SHARE_NEW * n)
    learnt = {"categories": frequent, "other": bool(rare), "missing": missing,
              "rare": None if new else "".join(marks)}  # fmt: skip
    if n_levels(learnt) > 1:
        return learnt
    return "constant" if frequent else "no value is frequent"


def mark_of(key: str) -> str:
    """Return a short hash of a word: it tells whether a word that somebody guesses was there.

    >>> mark_of("red")
    'c6af50eb'
    """
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=MARK // 2).hexdigest()


def marks_in(rare: str) -> list[str]:
    """Return the marks of rare words, which are stored one after the other."""
    return [rare[i : i + MARK] for i in range(0, len(rare), MARK)]


def counts_the_rows(values: Floats, index: Any) -> bool:
    """Return whether the numbers count the rows, even if some rows were removed."""
    n = len(values)
    if n < FEWEST_ROWS_TO_COUNT or not np.isfinite(values).all():
        return False
    labels = index.to_numpy()
    if labels.dtype.kind not in "iu" or (np.diff(labels) == 0).any():
        labels = np.arange(n)
    steps = values - values[0] == (labels - labels[0]).astype(np.float64)
    whole = values[0] == np.floor(values[0])
    return bool(whole and (steps.all() or (np.diff(values) == 1).all()))


# ---- encoding -------------------------------------------------------------------------------


def n_levels(learnt: Learnt) -> int:
    """Return the number of levels of a category, with other and missing."""
    return len(learnt["categories"]) + bool(learnt["other"]) + bool(learnt["missing"])


def out_names(name: str, kind: str, learnt: Learnt) -> list[str]:
    """Return the names of the columns that a column becomes."""
    if kind == "category":
        names = [f"{name}={word}" for word in learnt["categories"]]
        names += [f"{name}=other"] * bool(learnt["other"])
        names += [f"{name} missing"] * bool(learnt["missing"])
        return names[1:] if len(names) == 2 else names
    days = [f"{name} days", f"{name} month sin", f"{name} month cos"]
    return (days if kind == "date" else [name]) + [f"{name} missing"] * bool(learnt["missing"])


def encoded_numbers(
    values: Floats, kind: str, learnt: Learnt, largest: float = np.inf
) -> list[NDArray[Any]]:
    """Return the columns (n_rows,) that numbers, or days, become; see :func:`out_names`.

    Numbers are clipped at ``largest`` standard deviations.
    """
    empty = np.isnan(values)
    filled = np.where(empty, learnt["fill"], values) if empty.any() else values
    standard = filled - learnt["center"]
    standard /= learnt["scale"]
    found: list[NDArray[Any]] = [np.clip(standard, -largest, largest, out=standard)]
    if kind == "date":
        month = filled.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        found += [SIN[month], COS[month]]
    return [*found, empty] if learnt["missing"] else found


def levels_of(codes: Indices, words: list[str], learnt: Learnt) -> Indices:
    """Return the level of each row: a category, other or missing; -1 if it has none of these."""
    other = len(learnt["categories"]) if learnt["other"] else -1
    missing = n_levels(learnt) - 1 if learnt["missing"] else other
    places = [other if place is None else place for place in _places(words, learnt)]
    return np.array([*places, missing], dtype=np.intp)[codes]


def unseen(words: list[str], learnt: Learnt) -> NDArray[np.bool_]:
    """Return which words training did not have; none if new words are to be expected."""
    if learnt["rare"] is None:
        return np.zeros(len(words), dtype=bool)
    rare = set(marks_in(learnt["rare"]))
    return np.array(
        [
            place is None and not (rare and mark_of(same_spelling(word)) in rare)
            for word, place in zip(words, _places(words, learnt), strict=True)
        ],
        dtype=bool,
    )


def _places(words: list[str], learnt: Learnt) -> list[int | None]:
    """Return the place of each word among the categories, also in another spelling."""
    place = {word: i for i, word in enumerate(learnt["categories"])}
    spelled = spellings_known(learnt["categories"])
    known = {key: place[word] for key, word in spelled.items()}
    return [place[word] if word in place else known.get(same_spelling(word)) for word in words]


def write_levels(out: Floats, levels: Indices) -> None:
    """Write a 1 for the level of each row into ``out``, (n_rows, width), which holds zeros."""
    if out.shape[1] == 1:  # two levels: 1 is the second
        out[:, 0] = levels == 1
    else:
        rows = np.flatnonzero(levels >= 0)
        out[rows, levels[rows]] = 1.0
