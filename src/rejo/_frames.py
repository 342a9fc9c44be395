"""Frames of polars and pyarrow beside those of pandas: what comes in decides what goes out.

Nothing is imported for a kind of frame that is not there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

# Frames of polars and pyarrow have no index: this column says which row of ``X`` a row is of, by
# the name and the type that ``with_row_index`` of polars gives it.
INDEX = "index"
NO_NUMBER = "could not convert string to float"  # how NumPy's error begins


def is_polars(X: Any) -> bool:
    """Return whether ``X`` is a DataFrame of polars; a LazyFrame is not."""
    return _is_of(X, "polars") and hasattr(X, "get_columns")


def is_arrow(X: Any) -> bool:
    return _is_of(X, "pyarrow") and hasattr(X, "column_names")


def frame_like(X: Any, columns: Mapping[str, Any], rows: Any = None) -> Any:
    """Put columns into a frame of the kind that ``X`` is; one of pandas if it is none.

    A masked array has missing values, and so has an array of objects where it is ``None``.
    ``rows`` says which rows of ``X`` these are; ``None``: all.  A frame of pandas has the index of
    ``X`` there, or else the positions; others have the positions as their first column.
    """
    index: Any = np.arange(len(next(iter(columns.values())))) if rows is None else np.asarray(rows)
    if is_polars(X):
        import polars as pl

        named = {INDEX: pl.Series(index, dtype=pl.get_index_type())}
        return pl.DataFrame(named | {name: _series(values) for name, values in columns.items()})
    if is_arrow(X):
        import pyarrow as pa

        named = {INDEX: pa.array(index, pa.uint32())}
        return pa.table(named | {name: _array(values) for name, values in columns.items()})
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            'a frame of decisions needs pandas: pip install "rejo[pandas]". Or give X as a frame '
            "of polars."
        ) from None
    if isinstance(X, pd.DataFrame):
        index = X.index[index]
    elif rows is None:
        index = None
    found = {
        name: pd.arrays.IntegerArray(values.data, values.mask)
        if isinstance(values, np.ma.MaskedArray)
        else values
        for name, values in columns.items()
    }
    return pd.DataFrame(found, index=index)


def take_rows(X: Any, rows: Any) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if is_arrow(X) else X[rows]


def with_column(frame: Any, name: str, values: Any) -> Any:
    if is_polars(frame):
        return frame.with_columns(_series(values).alias(name))
    if is_arrow(frame):
        return frame.append_column(name, _array(values))
    return frame.assign(**{name: values})


@contextmanager
def naming_words(X: Any) -> Iterator[None]:
    """Name the column of ``X`` whose words cannot be read as numbers, which NumPy does not do."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(NO_NUMBER) or (name := _column_of_words(X)) is None:
            raise
        raise ValueError(
            f"column {name!r} of X holds words: {error}. Put a rejo.tables.TableEncoder, which "
            "takes a DataFrame, before the classifier."
        ) from error


def _column_of_words(X: Any) -> Any:
    """Name, or number, of the first column that is not read as numbers; ``None`` if all are."""
    if not (hasattr(X, "columns") or is_arrow(X)):
        X = np.asarray(X, dtype=object)
    if len(X.shape) != 2:
        return None
    names = X.column_names if is_arrow(X) else getattr(X, "columns", range(X.shape[1]))
    for i, name in enumerate(names):
        column = X.iloc[:, i] if hasattr(X, "iloc") else X.column(i) if is_arrow(X) else X[:, i]
        try:
            np.asarray(column, dtype=np.float64)
        except ValueError:
            return name
        except TypeError:  # dates, say: what failed was a word
            continue
    return None


def _is_of(X: Any, package: str) -> bool:
    return any(base.__module__.partition(".")[0] == package for base in type(X).__mro__)


def _series(values: Any) -> Any:
    import polars as pl

    if isinstance(values, np.ma.MaskedArray):
        found = pl.Series(values.data)
        return found.set(pl.Series(np.ma.getmaskarray(values)), None)
    cells, text = _cells(np.asarray(values))
    return pl.Series(cells, dtype=pl.String if text else None)


def _array(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    cells, text = _cells(np.asarray(values))
    return pa.array(cells, pa.string() if text else None)


def _cells(values: Any) -> tuple[Any, bool]:
    """Cells of one type, which a column of these frames must have, and whether they are texts."""
    if values.dtype.kind not in "OUS":
        return values, False
    cells = values.tolist()
    if len({type(cell) for cell in cells} - {type(None)}) > 1:
        cells = [None if cell is None else str(cell) for cell in cells]
    return cells, all(cell is None or isinstance(cell, str) for cell in cells)
