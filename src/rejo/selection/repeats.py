"""Identical rows that chance does not explain: copies, or several rows of one person or thing.

A guarantee counts independent cases.  Copies of a row are right or wrong together, so ``n`` of them
prove no more than one, and a model has seen a calibration case whose copy it learned from.  Rows of
a table with few different values are often identical by chance, and such cases are independent.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rejo._typing import Floats, Indices

SHARE = 0.1  # of the different rows, that occur more than once: fewer hardly matter
FAR_MORE = 1000.0  # times what chance explains; real tables with few values have up to 400
MORE = 10.0  # times, if such rows are nearly always of the same class
SAME = 0.95
FEW = 10  # different rows
BLOCK = 10_000  # rows at a time


class RepeatedRows(UserWarning):
    """Many rows are identical, so cases are not independent."""


def warn_of_repeats(X: Any, y: Indices, groups: Any = None) -> None:
    """Warn if rows are repeated more often than chance explains."""
    if share := repeated_share(X, y, groups):
        warnings.warn(
            f"{100 * share:.0f} % of the rows of X are identical to another row. If these are "
            "copies, or rows of the same person or thing, cases are not independent, and the "
            "guarantee does not hold. Remove the copies, or pass groups= to fit, which says what "
            "belongs together.",
            RepeatedRows,
            stacklevel=3,
        )


def repeated_share(X: Any, y: Indices, groups: Any = None) -> float:
    """Share of the rows that are identical to another; 0 if that may be chance, or hardly matters.

    Identical rows of one group are no problem.  Chance is judged by the share of pairs of rows that
    have the same value in a column, multiplied over the columns, as if these were independent.  A
    table in which every row occurs twice, or another number of times, is a copy whatever it holds.
    """
    rows = _identify(X)
    y = np.asarray(y)
    if groups is not None:  # one row of each group
        _, group = np.unique(np.asarray(groups), return_inverse=True)
        _, kept = np.unique(np.column_stack([rows, group]), axis=0, return_index=True)
        rows, y = rows[kept], y[kept]
    counts = np.bincount(rows)
    counts = counts[counts > 0]
    if np.mean(counts > 1) <= SHARE:
        return 0.0
    share = float(counts[counts > 1].sum() / len(rows))
    _, of_class = np.unique(np.column_stack([rows, y]), axis=0, return_counts=True)
    if len(counts) >= FEW and np.gcd.reduce(of_class) > 1:  # the whole table, copied
        return share
    pairs = _pairs(counts)
    limit = MORE if _pairs(of_class) >= SAME * pairs else FAR_MORE
    return share if pairs > limit * _chance(X, len(rows), pairs / limit) else 0.0


def _chance(X: Any, n: int, least: float) -> float:
    """Expected number of pairs of identical rows, if ``n`` are drawn; exact if above ``least``."""
    expected, columns = n * (n - 1) / 2, []
    for column in _columns(X):
        values, seen = np.unique(column, return_counts=True)
        if len(values) == 1:
            continue
        columns.append(values[np.isfinite(values)])
        expected *= _pairs(seen) / _pairs(np.array([len(column)]))
        if len(columns) > 1 and expected < least:
            break
    if len(columns) == 1:  # chance would be all there is: count values as fine as the closest two
        (values,) = columns
        expected = n * (n - 1) / 2 * (np.diff(values).min() / np.ptp(values))
    return float(expected)


def _pairs(counts: NDArray[Any]) -> float:
    """Number of pairs within groups of these sizes."""
    size = counts.astype(np.float64)
    return float((size * (size - 1) / 2).sum())


def _identify(X: Any) -> Indices:
    """A number for each row (n,), the same for identical rows."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in _row_bytes(X)], dtype=np.intp)


def _row_bytes(X: Any) -> Iterator[bytes]:
    if issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield X.indices[start:end].tobytes() + X.data[start:end].tobytes()
        return
    columns = list(_columns(X))
    for start in range(0, len(columns[0]) if columns else 0, BLOCK):
        block = np.column_stack([column[start : start + BLOCK] for column in columns])
        yield from (row.tobytes() for row in np.ascontiguousarray(block))


def _columns(X: Any) -> Iterator[Floats]:
    """Each column (n,) as numbers; equal where the values are."""
    if issparse(X):
        X = X.tocsc()
        yield from (X[:, [j]].toarray()[:, 0] for j in range(X.shape[1]))
    elif hasattr(X, "columns"):
        yield from (_as_numbers(np.asarray(X[name])) for name in X.columns)
    else:
        table = np.asarray(X)
        yield from (_as_numbers(column) for column in table.reshape(len(table), -1).T)


def _as_numbers(column: NDArray[Any]) -> Floats:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64) + 0.0  # no -0.0
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(str(v), len(codes)) for v in column.tolist()], dtype=float)
