"""One column of a table as numbers: what is learnt from it, and how it is written out.

What is learnt is a plain dict, so that it can stand in a model file.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.tables.dates import ISO, parse_dates
from rejo.tables.errors import import_pandas, shown
from rejo.tables.words import LARGEST, too_large, word_of

Learnt = dict[str, Any]

MICROSECONDS = 86_400e6  # of a day
MANY_WORDS = 50
SIN, COS = np.sin(np.arange(12) * np.pi / 6), np.cos(np.arange(12) * np.pi / 6)
FEWEST_ROWS_TO_COUNT = 10
FARTHEST = 1e6  # standard deviations; no classifier overflows there


def kind_of(column: Any) -> str:
    """Return ``number``, ``date`` or ``category``, by the type of a Series and what is in it."""
    pd = import_pandas("TableEncoder")
    types, dtype = pd.api.types, column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype):
        return "category"
    if types.is_complex_dtype(dtype):
        raise ValueError(f"column {shown(column.name)} holds complex numbers")
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    found = types.infer_dtype(column, skipna=True)
    if found in ("integer", "floating", "mixed-integer-float", "decimal"):
        return "number"
    return "date" if found in ("date", "datetime", "datetime64") else "category"


# ---- a Series as an array -------------------------------------------------------------------


def as_floats(column: Any) -> Floats:
    """Numbers, NaN where they are missing; an error if one is infinite or above 1e100."""
    pd = import_pandas("TableEncoder")
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column / pd.Timedelta(days=1)
    elif not pd.api.types.is_numeric_dtype(column.dtype):
        try:
            column = pd.to_numeric(column)
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"column {shown(column.name)} was one of numbers in training, and is not here "
                f"({reason[:120]})"
            ) from None
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(rows := too_large(values)):
        value = float(values[rows[0]])
        what = "an infinite number" if np.isinf(value) else f"{value:g}, which is above {LARGEST:g}"
        raise ValueError(
            f"column {shown(column.name)} holds {what}, first in row {rows[0]}; use NaN where a "
            "value is not known"
        )
    return values


def as_days(column: Any, format: str) -> Floats:
    """Days since 1970, NaN where a date is missing."""
    pd = import_pandas("TableEncoder")
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = column.to_numpy().astype("datetime64[us]")
    else:
        codes, found = pd.factorize(column)
        values = found.tolist()
        if all(isinstance(value, str) for value in values):
            dates = parse_dates(values, format)
        else:
            try:
                dates = np.array(values, dtype="datetime64[us]")
            except (ValueError, TypeError):
                dates = np.full(len(values), np.datetime64("NaT", "us"))
        if np.isnat(dates).any():
            raise ValueError(
                f"column {shown(column.name)} was one of dates in training, and here holds "
                f"{shown(values[int(np.isnat(dates).argmax())])}"
            )
        dates = np.append(dates, np.datetime64("NaT", "us"))[codes]
    days: Floats = dates.astype(np.int64) / MICROSECONDS
    days[np.isnat(dates)] = np.nan
    return days


def as_words(column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Different values as strings, and for each row the place of its own; -1 if it is missing."""
    pd = import_pandas("TableEncoder")
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(dtype=np.intp), column.cat.categories.tolist()
    else:
        try:
            codes, found = pd.factorize(column)
        except TypeError:
            raise ValueError(
                f"column {shown(column.name)} holds other things than single values"
            ) from None
        values = found.tolist()
    words = [word_of(value) for value in values]
    if len(set(words)) < len(words):  # 1 and "1" are the same to a file
        place = {word: i for i, word in enumerate(dict.fromkeys(words))}
        codes = np.array([*(place[word] for word in words), -1], dtype=np.intp)[codes]
        words = list(place)
    return codes, words


# ---- learning -------------------------------------------------------------------------------


def learn_number(values: Floats, scale: bool) -> Learnt | str:
    """Return fill value, centre and scale; or why the column is of no use."""
    there = values[~np.isnan(values)]
    if not len(there):
        return "no value in it"
    missing = len(there) < len(values)
    constant = bool(there.min() == there.max())
    if constant and not missing:
        return "the same value everywhere"
    center, spread = 0.0, 1.0
    if scale:
        unit = max(float(np.abs(there).max()), np.finfo(float).tiny)  # squares must not overflow
        center = float((there / unit).mean()) * unit
        spread = float(np.std(there / unit)) * unit
    if constant or spread < 1 / LARGEST:
        spread = 1.0
    return {
        "fill": float(np.median(there)),
        "center": center,
        "scale": spread,
        "missing": missing,
    }


def learn_category(
    codes: NDArray[np.intp], words: list[str], max_categories: int, min_count: int
) -> Learnt | str:
    """Return the frequent words; or why the column is of no use."""
    n = len(codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    seen = [(-int(count), word) for count, word in zip(counts, words, strict=True) if count]
    missing = bool((codes < 0).any())
    if not seen:
        return "no value in it"
    if len(seen) == 1 and not missing:
        return "the same value everywhere"
    if len(seen) > MANY_WORDS and 2 * len(seen) > n:
        return f"{len(seen)} different values in {n} rows: names or free text"
    enough = min(min_count, ceil(n / 20))
    frequent = [word for count, word in sorted(seen) if -count >= enough][:max_categories]
    learnt = {"categories": frequent, "other": len(frequent) < len(seen), "missing": missing}
    return learnt if n_levels(learnt) > 1 else "no value is frequent"


def counts_the_rows(values: Floats, index: Any) -> bool:
    """Whether the numbers count the rows: up by one, also where rows between were taken out."""
    n = len(values)
    if n < FEWEST_ROWS_TO_COUNT or not np.isfinite(values).all():
        return False
    labels = index.to_numpy()
    if labels.dtype.kind not in "iu" or (np.diff(labels) == 0).any():
        labels = np.arange(n)
    steps = values - values[0] == (labels - labels[0]).astype(np.float64)
    whole = values[0] == np.floor(values[0])
    return bool(whole and (steps.all() or (np.diff(values) == 1).all()))


# ---- writing out ----------------------------------------------------------------------------


def n_levels(learnt: Learnt) -> int:
    """How many different things a category can be."""
    return len(learnt["categories"]) + bool(learnt["other"]) + bool(learnt["missing"])


def width(kind: str, learnt: Learnt) -> int:
    """How many columns one becomes."""
    if kind == "category":
        return 1 if n_levels(learnt) == 2 else n_levels(learnt)
    return (3 if kind == "date" else 1) + bool(learnt["missing"])


def out_names(name: str, kind: str, learnt: Learnt) -> list[str]:
    """Names of the columns that one becomes."""
    if kind == "category":
        names = [f"{name}={word}" for word in learnt["categories"]]
        names += [f"{name}=other"] * bool(learnt["other"])
        names += [f"{name} missing"] * bool(learnt["missing"])
        return names[1:] if len(names) == 2 else names
    days = [f"{name} days", f"{name} month sin", f"{name} month cos"]
    return (days if kind == "date" else [name]) + [f"{name} missing"] * bool(learnt["missing"])


def write_numbers(
    out: Floats, values: Floats, kind: str, learnt: Learnt, largest: float = np.inf
) -> None:
    """Write numbers, or days, into the columns of ``out``, (n_rows, width).

    What is beyond ``largest``, in standard deviations, is written as that.
    """
    empty = np.isnan(values)
    any_empty = bool(empty.any())
    filled = np.where(empty, learnt["fill"], values) if any_empty else values
    standard = filled - learnt["center"]
    standard /= learnt["scale"]
    np.clip(standard, -largest, largest, out=out[:, 0])
    if kind == "date":
        month = filled.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        out[:, 1], out[:, 2] = SIN[month], COS[month]
    if learnt["missing"]:
        out[:, -1] = empty


def levels_of(codes: NDArray[np.intp], words: list[str], learnt: Learnt) -> NDArray[np.intp]:
    """Return the level of each row: a category, other, missing; or -1 if it is none of these."""
    place = {word: i for i, word in enumerate(learnt["categories"])}
    other = len(place) if learnt["other"] else -1
    missing = n_levels(learnt) - 1 if learnt["missing"] else other
    levels = [*(place.get(word, other) for word in words), missing]
    return np.array(levels, dtype=np.intp)[codes]


def count_unseen(codes: NDArray[np.intp], words: list[str], learnt: Learnt) -> int:
    """Count the rows with a word that training did not know; none if it knew "other" words."""
    known = set(learnt["categories"])
    new = [i for i, word in enumerate(words) if word not in known]
    if learnt["other"] or not new:
        return 0
    return int(np.bincount(codes[codes >= 0], minlength=len(words))[new].sum())


def write_levels(out: Floats, levels: NDArray[np.intp]) -> None:
    """Write a 1 for the level of each row into ``out``, (n_rows, width), which holds zeros."""
    if out.shape[1] == 1:  # of two levels, the second
        out[:, 0] = levels == 1
    else:
        rows = np.flatnonzero(levels >= 0)
        out[rows, levels[rows]] = 1.0


def date_format(formats: Any, name: str) -> str:
    """Format of a column of dates, ISO's unless it is known."""
    return str(formats.get(name, ISO))
