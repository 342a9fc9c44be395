"""One column of a table as numbers: what is learnt from it, and how it is encoded.

What is learnt is a plain dict, which can be saved in a model file.  The second part reads a column
of a DataFrame, of whatever type, as numbers, dates or words.
"""

import re
from collections.abc import Collection, Hashable, Mapping
from datetime import date, timedelta
from hashlib import blake2b
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._frames import is_arrow, is_polars
from rejo._typing import Floats, Indices
from rejo.tables.dates import ISO, parse_dates
from rejo.tables.errors import TableError, import_pandas, import_pyarrow, shown
from rejo.tables.numbers import number
from rejo.tables.values import (
    LARGEST,
    MANY_WORDS,
    NO_DATE,
    Column,
    Gaps,
    Unread,
    Words,
    array_of,
    column_of,
    count_words,
    distinct,
    means_missing,
    overflowing,
    same_spelling,
    spellings_known,
    word_of,
    words_in,
    words_of,
)
from rejo.tables.watch import bins_of_numbers

Learnt = dict[str, Any]
#: How numbers and dates are written if nothing else is known.
AS_PYTHON = {"date": {"format": ISO}, "number": {"decimal": ".", "unit": ""}}
SIN, COS = np.sin(np.arange(12) * np.pi / 6), np.cos(np.arange(12) * np.pi / 6)
FEWEST_ROWS_TO_COUNT = 10
FARTHEST = 1e6  # standard deviations; no classifier overflows there
DECADE = 3652.5  # days
MARK = 8  # letters
MOST_MARKS = 4096
# The share of rows whose word occurs once estimates the share of new words to come (Good-Turing).
# From this share on, and unless it is a single row, new words are part of life.
SHARE_NEW, FEWEST_NEW = 0.01, 2
# Share of the range that lies between zero and the smallest number, if it must be positive: nearer,
# zero and small numbers may well be right.
LEAST_GAP = 0.01
OUT_OF_ORDER = 0.01  # share of the steps between rows; sorted tables have none, others half
TIME_NAME = re.compile(
    r"(?i:(?:^|[\W_])(?:appli\w*|request\w*|creat\w*|receiv\w*|submit\w*|record\w*|snapshot|"
    r"timestamp|row|case|antrag\w*|eingang\w*)[\W_]*(?:date|day|time|datum|at|on)?$)|"
    r"(?i:^(?:date|day|datum|when|time)$)"
)


# ---- learning -------------------------------------------------------------------------------


def enough(n_rows: int, min_count: int) -> int:
    """Return how many rows must have something in common for a model to learn from it."""
    return min(min_count, ceil(n_rows / 20))


def learn_number(
    values: Floats, scale: bool, min_count: int, least: float = 0.0, role: str = ""
) -> Learnt | str:
    """Return fill value, centre, scale and limits, or the reason to leave the column out.

    ``least`` is the least width of the range, see :func:`widened`.  With the role ``price`` only
    prices depend on the column: it may be constant, and no value may be missing.
    """
    n, there = len(values), values[~np.isnan(values)]
    if not len(there):
        return "no values"
    missing = n - len(there) >= max(enough(n, min_count), 1) and role != "price"
    lowest, highest = float(there.min()), float(there.max())
    if lowest == highest and not missing and role != "price":
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
            "high": high, "bins": bins_of_numbers(values, low, high), "role": role}  # fmt: skip


def learn_time(days: Floats, min_count: int) -> Learnt:
    """Return what is asked of the dates that order the rows: only to be there."""
    missing = bool(np.isnan(days).sum() >= max(enough(len(days), min_count), 1))
    bins = {"edges": [], "exact": False, "counts": [0, 0]}
    return {"fill": 0.0, "center": 0.0, "scale": 1.0, "missing": missing, "low": -LARGEST,
            "high": LARGEST, "bins": bins, "role": "time"}  # fmt: skip


def widened(lowest: float, highest: float, least: float = 0.0) -> tuple[float, float]:
    """Return the limits beyond which a number is far outside a range: its width away.

    The width is at least ``least``; a single value counts as wide as it is large.  The limits are
    rounded away from the range, by up to a quarter of its width, so that they do not tell its ends.

    In a column of positive numbers, one that is as many times smaller than all others as these
    differ is far outside, too.

    >>> widened(18, 87), widened(-18, 87)
    ((2.0, 160.0), (-140.0, 200.0))
    """
    width = max(highest - lowest, least) or abs(highest)
    width = max(width or 1.0, 1 / LARGEST)
    power = 10.0 ** floor(log10(width / 4))
    step = power * max((f for f in (1, 2, 5) if f * power <= width / 4), default=1)
    low, high = floor((lowest - width) / step) * step, ceil((highest + width) / step) * step
    if LEAST_GAP * width < lowest < highest and not least:
        # As far below in orders of magnitude as the range is wide.
        far = lowest * (lowest / highest)
        power = 10.0 ** floor(log10(far)) if far > 1 / LARGEST else 0.0
        low = max(low, power * max((f for f in (1, 2, 5) if f * power <= far), default=0))
    # Far from zero, rounding errors may be as large as the width.
    return max(min(low, lowest), -LARGEST), min(max(high, highest), LARGEST)


def learn_category(column: Words, max_categories: int, min_count: int) -> Learnt | str:
    """Return the frequent words and marks of the rare ones, or the reason to leave the column out.

    A rare spelling of one frequent word is that word.
    """
    n, counts = len(column.codes), count_words(column).tolist()
    seen = {word: count for count, word in zip(counts, column.words, strict=True) if count}
    least = enough(n, min_count)
    missing = n - sum(counts) >= max(least, 1)
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
    learnt: Learnt = {"categories": frequent, "other": bool(rare), "missing": missing,
                      "rare": None if new else "".join(marks)}  # fmt: skip
    learnt["bins"] = count_levels(column, learnt).tolist()
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


def orders_the_rows(name: str, days: Floats) -> bool:
    """Return whether dates say when the row was written: later files have later ones.

    The rows follow them, or the name of the column says so.
    """
    there = days[~np.isnan(days)]
    if len(there) < max(FEWEST_ROWS_TO_COUNT, 0.9 * len(days)):
        return False
    steps = np.diff(there)
    rising, falling = (steps > 0).sum(), (steps < 0).sum()
    n_moves = rising + falling
    in_order = min(rising, falling) <= OUT_OF_ORDER * n_moves and n_moves >= FEWEST_ROWS_TO_COUNT
    return bool(in_order or TIME_NAME.search(name))


# ---- encoding -------------------------------------------------------------------------------


def n_levels(learnt: Learnt) -> int:
    """Return the number of levels of a category, with other and missing."""
    return len(learnt["categories"]) + bool(learnt["other"]) + bool(learnt["missing"])


def write_numbers(
    out: Floats, values: Floats, kind: str, learnt: Learnt, largest: float = np.inf
) -> None:
    """Write the columns that numbers, or days, become into ``out``; see ``doubts.origins``.

    Numbers are clipped at ``largest`` standard deviations.
    """
    empty = np.isnan(values)
    filled = np.where(empty, learnt["fill"], values) if empty.any() else values
    standard = filled - learnt["center"]
    standard /= learnt["scale"]
    np.clip(standard, -largest, largest, out=out[:, 0])
    if kind == "date" and not learnt["role"]:
        month = filled.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        out[:, 1], out[:, 2] = SIN[month], COS[month]
    if learnt["missing"]:
        out[:, -1] = empty


def levels_of(column: Words, learnt: Learnt) -> Indices:
    """Return the level of each row: a category, other or missing; -1 if it has none of these."""
    other = len(learnt["categories"]) if learnt["other"] else -1
    missing = n_levels(learnt) - 1 if learnt["missing"] else other
    places = [other if place is None else place for place in _places(column.words, learnt)]
    return np.array([*places, missing], dtype=np.intp)[column.codes]


def unseen(words: list[str], learnt: Learnt) -> NDArray[np.bool_]:
    """Return which words training did not have; none if new words are to be expected."""
    if learnt["rare"] is None:
        return np.zeros(len(words), dtype=bool)
    rare = set(marks_in(learnt["rare"]))
    new = np.array([place is None for place in _places(words, learnt)], dtype=bool)
    for i in np.flatnonzero(new) if rare else ():
        new[i] = mark_of(same_spelling(words[i])) not in rare
    return new


def count_levels(column: Words, learnt: Learnt) -> Indices:
    """Count cells by category, rare words, words that training did not have, and missing ones."""
    n = len(learnt["categories"])
    found = [n if place is None else place for place in _places(column.words, learnt)]
    places = np.array([*found, n + 2])
    places[:-1][unseen(column.words, learnt)] = n + 1
    counts: Indices = np.bincount(places[column.codes], minlength=n + 3)
    return counts


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


# ---- columns of a DataFrame -----------------------------------------------------------------

MICROSECONDS = 86_400e6  # in a day
NOWHERE = np.empty(0, dtype=np.intp)


def as_pandas(X: Any) -> Any:
    """Return a frame of polars, or a table of pyarrow, as one of pandas; else ``X`` as it is."""
    if not (is_arrow(X) or is_polars(X)):
        return X
    import_pandas("TableEncoder")
    import_pyarrow("TableEncoder")
    return X.to_pandas()


def kind_of(column: Any) -> str:
    """Return ``number``, ``date`` or ``category``, by the type and the contents of a Series."""
    pd = import_pandas("TableEncoder")
    types, dtype = pd.api.types, column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype):
        return "category"
    if types.is_complex_dtype(dtype):
        raise TableError("complex numbers are not supported", where=f"column {shown(column.name)}")
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    found = types.infer_dtype(column, skipna=True)
    if found in ("integer", "floating", "mixed-integer-float", "decimal"):
        return "number"
    return "date" if found in ("date", "datetime", "datetime64") else "category"


class Read(NamedTuple):
    """A column of numbers or dates, and which cells are neither that nor missing."""

    values: NDArray[Any]  # (n_rows,) float64 or datetime64[us]; NaN or NaT where there is none
    unread: Indices  # positions, rising
    words: list[str]  # that stand there
    large: Indices = NOWHERE  # those of ``unread`` with a number that is infinite or above 1e100


def read(column: Any, kind: str, written: Mapping[str, str]) -> Read:
    """Read a Series as numbers or dates.

    Durations are numbers of days.  Strings are read as training wrote them, unless a reader has
    tried already.
    """
    pd = import_pandas("TableEncoder")
    types = pd.api.types
    if types.is_timedelta64_dtype(column.dtype):
        column = column / pd.Timedelta(days=1)
    dtype = column.dtype
    strange = types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype)
    if kind == "date" and types.is_datetime64_any_dtype(dtype):
        if column.dt.tz is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return Read(column.to_numpy(dtype="datetime64[us]"), NOWHERE, [])
    if kind == "number" and types.is_numeric_dtype(dtype) and not strange:
        found = Read(column.to_numpy(dtype=np.float64, na_value=np.nan), NOWHERE, [])
    else:
        there = column.notna().to_numpy(dtype=bool)
        tried = np.array([isinstance(cell, Unread) for cell in column], dtype=bool)
        cells = column.to_numpy(dtype=object)[there & ~tried]
        whole = np.full(len(column), None)
        whole[there & ~tried] = list(map(_python, cells))
        found = read_column(column_of(array_of(whole.tolist()), Gaps.of()), kind, written)
        found = found._replace(unread=np.union1d(found.unread, np.flatnonzero(tried)))
    if kind == "number" and len(large := overflowing(found.values)):
        values = found.values.copy()
        values[large] = np.nan
        found = Read(values, np.union1d(found.unread, large), [], large)
    return found


def _python(cell: Any) -> Any:
    """Return a cell as Python has it; a duration is a number of days."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell / timedelta(days=1) if isinstance(cell, timedelta) else cell


def read_column(
    column: Column, kind: str, written: Mapping[str, str], unclear: Collection[str] = ()
) -> Read:
    """Read a column as numbers or dates; words that are ``unclear`` are not."""
    if isinstance(column, np.ndarray) and column.dtype.kind == ("M" if kind == "date" else "f"):
        return Read(column, NOWHERE, [])
    codes, words = column if isinstance(column, Words) else words_in(column)
    values: NDArray[Any]
    if kind == "date":
        values = parse_dates(words, written.get("format", ISO))
    else:
        how = written.get("decimal", "."), written.get("unit", "")
        found = [None if word in unclear else number(word, *how) for word in words]
        values = np.array(found, dtype=np.float64)
    odd = np.isnan(values) & np.array([not means_missing(word) for word in words], dtype=bool)
    unread = np.flatnonzero(np.append(odd, False)[codes])
    nothing = NO_DATE if kind == "date" else np.nan
    return Read(np.append(values, nothing)[codes], unread, [words[i] for i in codes[unread]])


def without_number(column: Any) -> Indices:
    """Return the positions of cells that do not hold a number."""
    if kind_of(column) == "date":
        return np.arange(len(column))
    return np.flatnonzero(np.isnan(read(column, "number", {}).values))


def as_days(column: Any, written: Mapping[str, str] | None = None) -> Floats:
    """Return days since 1970, NaN where missing; refuse a column that does not hold dates."""
    days: Floats = read_as(column, "date", written or {})
    return days


def read_as(column: Any, kind: str, written: Mapping[str, str], time: Any = None) -> Any:
    """Return a column as words, numbers or days, NaN where missing; days may be ages at ``time``.

    A column with a cell that is something else is refused.
    """
    if kind == "category":
        return as_words(column)
    values, unread, _, large = read(column, kind, written)
    if not len(unread):
        if kind == "number":
            return values
        return days_of(values) if time is None else time - days_of(values)
    row = int(unread[0])
    cell, where = column.iloc[row], f"column {shown(column.name)}"
    if row in large:
        raise TableError(
            f"{cell} in row {row} is infinite or above {LARGEST:g}",
            where=where,
            remedy="Use NaN for unknown values.",
        )
    now = "truth values" if isinstance(cell, bool | np.bool_) else shown(cell)
    now = "dates" if kind == "number" and isinstance(cell, date) else now
    raise TableError(f"it held {kind}s in training, but now holds {now}", where=where)


def days_of(dates: NDArray[np.datetime64]) -> Floats:
    """Return dates as days since 1970; NaN for NaT."""
    days: Floats = dates.astype(np.int64) / MICROSECONDS
    days[np.isnat(dates)] = np.nan
    return days


def as_words(column: Any) -> Words:
    """Return the distinct values as strings, and the code of each row; -1 where missing."""
    pd = import_pandas("TableEncoder")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise TableError(
            "it held words in training, but now holds dates", where=f"column {shown(column.name)}"
        )
    if column.dtype != object:
        return words_of(column, text=word_of)
    try:
        codes, found = pd.factorize(column)
    except TypeError:
        raise TableError(
            "some cells are not single values", where=f"column {shown(column.name)}"
        ) from None
    if any(type(value) is not str and value in (0, 1) for value in found.tolist()):
        # True and 1 are equal, but different words.
        words = column.map(word_of, na_action="ignore")
        codes, found = pd.factorize(words.astype(object))
    return distinct(codes, list(map(word_of, found.tolist())), ())


def not_words(column: Any) -> Indices:
    """Return the positions of cells that cannot be words: dates, and several values in one cell."""
    if column.dtype != object:
        return np.flatnonzero(column.notna())
    return np.flatnonzero([not isinstance(cell, Hashable) for cell in column])
