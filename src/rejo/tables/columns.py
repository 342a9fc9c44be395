"""One column of a table as numbers: what is learnt from it, and how it is encoded.

What is learnt is a plain dict, which can be saved in a model file.
"""

from contextlib import suppress
from datetime import date
from math import ceil
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.dates import ISO, NO_DATE, parse_dates
from rejo.tables.errors import TableError, import_pandas, shown
from rejo.tables.values import LARGEST, Words, number, too_large, word_of, words_of

Learnt = dict[str, Any]

MICROSECONDS = 86_400e6  # in a day
MANY_WORDS = 50
SIN, COS = np.sin(np.arange(12) * np.pi / 6), np.cos(np.arange(12) * np.pi / 6)
FEWEST_ROWS_TO_COUNT = 10
FARTHEST = 1e6  # standard deviations; no classifier overflows there


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


# ---- a Series as an array -------------------------------------------------------------------


def as_floats(column: Any) -> Floats:
    """Return numbers, NaN where missing; refuse those that are infinite or above 1e100."""
    pd = import_pandas("TableEncoder")
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column / pd.Timedelta(days=1)
    elif (found := _not_numbers(column)) is not None:
        raise TableError(
            f"it held numbers in training, but now holds {found}",
            where=f"column {shown(column.name)}",
        )
    elif not pd.api.types.is_numeric_dtype(column.dtype):
        try:
            column = pd.to_numeric(column)
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise TableError(
                f"it held numbers in training, but does not now ({reason[:120]})",
                where=f"column {shown(column.name)}",
            ) from None
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(rows := too_large(values)):
        raise TableError(
            f"{values[rows[0]]:g} in row {rows[0]} is infinite or above {LARGEST:g}",
            where=f"column {shown(column.name)}",
            remedy="Use NaN for unknown values.",
        )
    return values


def _not_numbers(column: Any) -> str | None:
    """Return what a Series holds, if pandas would take it for numbers that it does not hold."""
    types = import_pandas("TableEncoder").api.types
    if types.is_datetime64_any_dtype(column.dtype):
        return "dates"
    if types.is_bool_dtype(column.dtype):
        return "truth values"
    if column.dtype != object:
        return None
    kinds = {"date": "dates", "datetime": "dates", "datetime64": "dates", "boolean": "truth values"}
    return kinds.get(types.infer_dtype(column, skipna=True))


def readable(column: Any, kind: str, written: dict[str, str]) -> tuple[Any, NDArray[np.bool_]]:
    """Return a Series of objects with cells that cannot be read missing, and which these are."""
    pd = import_pandas("TableEncoder")
    if kind == "date":
        right = column.map(lambda value: isinstance(value, date | np.datetime64))
        texts = column.map(lambda value: isinstance(value, str))
        if texts.any():
            words = column[texts].tolist()
            dates = parse_dates(words, written.get("format", ISO))
            column = column.copy()
            column[texts] = pd.Series(dates, column.index[texts.to_numpy()]).astype(object)
            right[texts] = ~np.isnat(dates)
    else:
        right = column.map(lambda value: isinstance(value, Number) and not isinstance(value, bool))
        texts = column.map(lambda value: isinstance(value, str))
        if texts.any():
            values = [number(word, written.get("decimal", ".")) for word in column[texts]]
            column = column.copy()
            column[texts] = values
            right[texts] = [value is not None for value in values]
    wrong = ~right.astype(bool) & column.notna() | ~right.astype(bool) & texts.astype(bool)
    return column.where(~wrong, None), wrong.to_numpy(dtype=bool)


def as_days(column: Any, format: str) -> Floats:
    """Return days since 1970, NaN where a date is missing."""
    pd = import_pandas("TableEncoder")
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = column.to_numpy().astype("datetime64[us]")
    else:
        codes, found = pd.factorize(column)
        values = found.tolist()
        dates = np.full(len(values), NO_DATE)
        if all(isinstance(value, str) for value in values):
            dates = parse_dates(values, format)
        elif all(isinstance(value, date | np.datetime64) for value in values):  # no number is one
            with suppress(ValueError, TypeError):
                dates = np.array(values, dtype="datetime64[us]")
        if np.isnat(dates).any():
            strange = values[int(np.isnat(dates).argmax())]
            raise TableError(
                f"it held dates in training, but now holds {shown(strange)}",
                where=f"column {shown(column.name)}",
            )
        dates = np.append(dates, NO_DATE)[codes]
    days: Floats = dates.astype(np.int64) / MICROSECONDS
    days[np.isnat(dates)] = np.nan
    return days


def as_words(column: Any) -> Words:
    """Return the distinct values as strings, and the code of each row; -1 where missing."""
    if import_pandas("TableEncoder").api.types.is_datetime64_any_dtype(column.dtype):
        raise TableError(
            "it held words in training, but now holds dates", where=f"column {shown(column.name)}"
        )
    try:
        return words_of(column, missing=(), text=word_of)
    except TypeError:
        raise TableError(
            "some cells are not single values", where=f"column {shown(column.name)}"
        ) from None


# ---- learning -------------------------------------------------------------------------------


def learn_number(values: Floats, scale: bool) -> Learnt | str:
    """Return fill value, centre and scale, or the reason to leave the column out."""
    there = values[~np.isnan(values)]
    if not len(there):
        return "no values"
    missing = len(there) < len(values)
    constant = bool(there.min() == there.max())
    if constant and not missing:
        return "constant"
    center, spread = 0.0, 1.0
    if scale:
        unit = max(float(np.abs(there).max()), np.finfo(float).tiny)  # squares must not overflow
        center = float((there / unit).mean()) * unit
        spread = float(np.std(there / unit)) * unit
    if constant or spread < 1 / LARGEST:
        spread = 1.0
    return {"fill": float(np.median(there)), "center": center, "scale": spread, "missing": missing}


def learn_category(
    codes: Indices, words: list[str], max_categories: int, min_count: int
) -> Learnt | str:
    """Return the frequent words, or the reason to leave the column out."""
    n = len(codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    seen = [(-int(count), word) for count, word in zip(counts, words, strict=True) if count]
    missing = bool((codes < 0).any())
    if not seen:
        return "no values"
    if len(seen) == 1 and not missing:
        return "constant"
    if len(seen) > MANY_WORDS and 2 * len(seen) > n:
        return f"{len(seen)} distinct values in {n} rows: names or free text"
    enough = min(min_count, ceil(n / 20))
    frequent = [word for count, word in sorted(seen) if -count >= enough][:max_categories]
    learnt = {"categories": frequent, "other": len(frequent) < len(seen), "missing": missing}
    return learnt if n_levels(learnt) > 1 else "no value is frequent"


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


def write_numbers(
    out: Floats, values: Floats, kind: str, learnt: Learnt, largest: float = np.inf
) -> None:
    """Write numbers, or days, into the columns of ``out``, (n_rows, width).

    Numbers are clipped at ``largest`` standard deviations.
    """
    empty = np.isnan(values)
    filled = np.where(empty, learnt["fill"], values)
    standard = (filled - learnt["center"]) / learnt["scale"]
    np.clip(standard, -largest, largest, out=out[:, 0])
    if kind == "date":
        month = filled.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        out[:, 1], out[:, 2] = SIN[month], COS[month]
    if learnt["missing"]:
        out[:, -1] = empty


def levels_of(codes: Indices, words: list[str], learnt: Learnt) -> Indices:
    """Return the level of each row: a category, other or missing; -1 if it has none of these."""
    place = {word: i for i, word in enumerate(learnt["categories"])}
    other = len(place) if learnt["other"] else -1
    missing = n_levels(learnt) - 1 if learnt["missing"] else other
    levels = [*(place.get(word, other) for word in words), missing]
    return np.array(levels, dtype=np.intp)[codes]


def unseen(words: list[str], learnt: Learnt) -> NDArray[np.bool_]:
    """Return which words training did not have; none if training had "other" words."""
    known = set(learnt["categories"])
    return np.array([not learnt["other"] and word not in known for word in words], dtype=bool)


def write_levels(out: Floats, levels: Indices) -> None:
    """Write a 1 for the level of each row into ``out``, (n_rows, width), which holds zeros."""
    if out.shape[1] == 1:  # two levels: 1 is the second
        out[:, 0] = levels == 1
    else:
        rows = np.flatnonzero(levels >= 0)
        out[rows, levels[rows]] = 1.0
