"""One column of a DataFrame, of whatever type, as numbers, dates or words."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._frames import is_arrow, is_polars
from rejo._typing import Floats, Indices
from rejo.tables.dates import ISO, NO_DATE, parse_dates
from rejo.tables.errors import TableError, import_pandas, shown
from rejo.tables.marks import number
from rejo.tables.values import (
    LARGEST,
    Unread,
    Words,
    distinct,
    means_missing,
    too_large,
    word_of,
    words_of,
)

MICROSECONDS = 86_400e6  # in a day
NOWHERE = np.empty(0, dtype=np.intp)


def as_pandas(X: Any) -> Any:
    """Return a frame of polars, or a table of pyarrow, as one of pandas; else ``X`` as it is.

    That of polars needs no pyarrow.
    """
    if is_arrow(X):
        import_pandas("TableEncoder")
        return X.to_pandas()
    if not is_polars(X):
        return X
    pd = import_pandas("TableEncoder")
    return pd.DataFrame({column.name: _from_polars(column) for column in X.get_columns()})


def _from_polars(column: Any) -> Any:
    """Return a polars Series as one of pandas; numbers have NaN for nulls, other cells None."""
    pd = import_pandas("TableEncoder")
    dtype = column.dtype
    if dtype.is_temporal() and type(dtype).__name__ != "Time":
        return pd.Series(column.to_numpy())  # in UTC
    if dtype.is_numeric():
        return pd.Series(
            column.cast(float).to_numpy() if column.null_count() else column.to_numpy()
        )
    cells = column.to_list()
    if type(dtype).__name__ == "Enum":
        return pd.Series(pd.Categorical(cells, dtype.categories.to_list(), ordered=True))
    if type(dtype).__name__ == "Categorical":
        return pd.Series(pd.Categorical(cells))
    if type(dtype).__name__ == "Boolean" and not column.null_count():
        return pd.Series(cells, dtype=bool)
    return pd.Series(cells, dtype=object)


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


def read(column: Any, kind: str, written: Mapping[str, str]) -> Read:
    """Read a Series as numbers or dates.

    Numbers that are infinite or above 1e100 cannot be read.  Durations are numbers of days.
    Strings are read as training wrote them, unless a reader has tried already.
    """
    pd = import_pandas("TableEncoder")
    types = pd.api.types
    if kind == "date":
        if types.is_datetime64_any_dtype(column.dtype):
            if column.dt.tz is not None:
                column = column.dt.tz_convert("UTC").dt.tz_localize(None)
            return Read(column.to_numpy(dtype="datetime64[us]"), NOWHERE)
        return _one_by_one(column, partial(_date, written.get("format", ISO)), NO_DATE)
    if types.is_timedelta64_dtype(column.dtype):
        column = column / pd.Timedelta(days=1)
    dtype = column.dtype
    strange = types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype)
    if types.is_numeric_dtype(dtype) and not strange:
        found = Read(column.to_numpy(dtype=np.float64, na_value=np.nan), NOWHERE)
    else:
        found = _one_by_one(
            column, partial(_float, written.get("decimal", "."), written.get("unit", "")), np.nan
        )
    if len(large := too_large(found.values)):
        values = found.values.copy()
        values[large] = np.nan
        found = Read(values, np.union1d(found.unread, large))
    return found


def _one_by_one(column: Any, value_of: Callable[[Any], Any], nothing: Any) -> Read:
    """Read cells of several types; each string once."""
    known: dict[str, Any] = {}

    def of(cell: Any) -> Any:
        if type(cell) is not str:
            return value_of(cell)
        if cell not in known:
            known[cell] = value_of(cell)
        return known[cell]

    there = np.flatnonzero(column.notna().to_numpy(dtype=bool))
    found = [of(cell) for cell in column.to_numpy(dtype=object)[there]]
    values = np.full(len(column), nothing)
    values[there] = [nothing if value is None else value for value in found]
    return Read(values, there[np.array([value is None for value in found], dtype=bool)])


def _float(decimal: str, unit: str, cell: Any) -> float | None:
    """Return a cell as a number, NaN if it is missing, None if it is something else."""
    if isinstance(cell, str):
        if means_missing(word := cell.strip()):
            return np.nan
        return None if isinstance(cell, Unread) else number(word, decimal, unit)
    if isinstance(cell, timedelta | np.timedelta64):
        return float(np.timedelta64(cell) / np.timedelta64(1, "D"))
    if isinstance(cell, bool) or not isinstance(cell, Real | Decimal):
        return None
    try:
        return float(cell)
    except OverflowError:
        return np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def is_number(cell: Any) -> bool:
    """Return whether a cell is a number, of any size."""
    return _float(".", "", cell) is not None


def _date(format: str, cell: Any) -> np.datetime64 | None:
    """Return a cell as a date in UTC, NaT if it is missing, None if it is something else."""
    if isinstance(cell, str):
        if means_missing(word := cell.strip()):
            return NO_DATE
        found = NO_DATE if isinstance(cell, Unread) else parse_dates([word], format)[0]
        return None if np.isnat(found) else found
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        with suppress(OverflowError):
            cell = cell.astimezone(UTC)
        cell = cell.replace(tzinfo=None)
    if not isinstance(cell, date | np.datetime64):  # no number is one
        return None
    day: np.datetime64 = np.array([cell], dtype="datetime64[us]")[0]
    return day


def as_floats(column: Any, written: Mapping[str, str] | None = None) -> Floats:
    """Return numbers, NaN where missing; refuse a column with a cell that is something else."""
    found: Floats = _whole(column, "number", written or {})
    return found


def as_days(column: Any, written: Mapping[str, str] | None = None) -> Floats:
    """Return days since 1970, NaN where missing; refuse a column that does not hold dates."""
    return days_of(_whole(column, "date", written or {}))


def days_of(dates: NDArray[np.datetime64]) -> Floats:
    """Return dates as days since 1970; NaN for NaT."""
    days: Floats = dates.astype(np.int64) / MICROSECONDS
    days[np.isnat(dates)] = np.nan
    return days


def _whole(column: Any, kind: str, written: Mapping[str, str]) -> NDArray[Any]:
    values, unread = read(column, kind, written)
    if not len(unread):
        return values
    row = int(unread[0])
    cell = column.iloc[row]
    where, held = f"column {shown(column.name)}", {"number": "numbers", "date": "dates"}[kind]
    if kind == "number" and is_number(cell):
        raise TableError(
            f"{cell} in row {row} is infinite or above {LARGEST:g}",
            where=where,
            remedy="Use NaN for unknown values.",
        )
    now = "truth values" if isinstance(cell, bool | np.bool_) else shown(cell)
    now = "dates" if kind == "number" and isinstance(cell, date) else now
    raise TableError(f"it held {held} in training, but now holds {now}", where=where)


def as_words(column: Any) -> Words:
    """Return the distinct values as strings, and the code of each row; -1 where missing."""
    pd = import_pandas("TableEncoder")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise TableError(
            "it held words in training, but now holds dates", where=f"column {shown(column.name)}"
        )
    if column.dtype != object:
        return words_of(column, missing=(), text=word_of)
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
    return np.flatnonzero([not _is_single(cell) for cell in column])


def _is_single(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True
