"""Tables as trees see them: numbers, codes of categories, and what is missing; and their growth."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.estimators.growing import (
    Block,
    Grower,
    Growth,
    Plan,
    RowScores,
    as_dense,
    joined,
    no_scores,
)
from rejo.estimators.inner import is_frame

BLOCK = 1 << 22  # numbers of a block, at most
LARGEST = 3.4e38  # in single precision
CATEGORIES = 1 << 16  # that a column may have

Categories = list[NDArray[Any] | None]  # (p,) of each column; None: numbers


def categories_of(X: Any) -> Categories | None:
    """Categories of each column of a pandas frame; ``None`` if no column has any."""
    if not is_frame(X):
        return None
    found = [getattr(kind, "categories", None) for kind in X.dtypes]
    if all(categories is None for categories in found):
        return None
    for name, categories in zip(X.columns, found, strict=True):
        if categories is not None and len(categories) > CATEGORIES:
            raise ValueError(
                f"column {name!r} has {len(categories):,} categories; at most {CATEGORIES:,} are "
                "supported. Is it an id? Leave it out."
            )
    return [None if c is None else _plain(np.asarray(c)) for c in found]


def encoded(X: Any, categories: Categories) -> Floats:
    """Frame as numbers (n, p) in single precision: codes of categories, NaN where unknown."""
    found = np.empty(X.shape, dtype=np.float32)
    for j, known in enumerate(categories):
        column = X.iloc[:, j]
        if known is None:
            found[:, j] = in_single_precision(_as_numbers(column, X.columns[j]))
        else:
            found[:, j] = _codes(column, known)
    return found


def check_numbers(X: Any) -> None:
    """Refuse a pandas frame with a column that is neither numbers nor categories."""
    for j, kind in enumerate(X.dtypes):
        if not hasattr(kind, "categories") and getattr(kind, "kind", "O") not in "biuf":
            _as_numbers(X.iloc[:, j], X.columns[j])


def _as_numbers(column: Any, name: Any) -> Floats:
    try:
        if getattr(column.dtype, "kind", "O") in "mM":  # days count as nanoseconds
            raise TypeError
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} holds {column.dtype}, not numbers. Make it a category, by "
            f"X[{name!r}].astype('category'), or put a rejo.tables.TableEncoder before this "
            "classifier."
        ) from None


def in_single_precision(values: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers as float32; refuse infinity and what is too large for it."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if np.isinf(found).any():
        largest = np.nanmax(np.abs(values))
        raise ValueError(
            f"X contains infinity or values of up to {largest:.1e}, too large for trees in single "
            "precision. Remove them, or scale the feature."
        )
    return found


def blocks_of(X: Any, k: Indices, v: Floats | None, rows: Indices | None = None) -> Iterable[Block]:
    """Some rows of a matrix in blocks of a few megabytes; ``None``: all."""
    n = len(k) if rows is None else len(rows)
    step = max(1, BLOCK // max(1, X.shape[1] if not issparse(X) else X.nnz // max(1, len(k)) + 1))
    for start in range(0, n, step):
        part: Any = slice(start, min(start + step, n))
        if rows is not None:
            part = rows[part]
        x = X[part]
        if issparse(x):
            x = x.copy()
            x.data = in_single_precision(x.data)
        else:
            x = x if x.dtype == np.float32 else in_single_precision(x)
        yield Block(x, k[part], None if v is None else v[part])


def grow_table(
    plan: Plan,
    X: Any,
    k: Indices,
    v: Floats | None,
    parts: list[NDArray[np.bool_]],
    n_threads: int,
) -> tuple[Plan, Growth, RowScores]:
    """Grow on a matrix in memory, by rows that are held out: a part, or each part in turn.

    After several parts, all rows grow the mean number of rounds.  Returned are also the scores of
    rows that growth has not seen, which set the thresholds.
    """

    def grow(plan: Plan, held_out: Any = None) -> tuple[Growth, RowScores]:
        train = rest = None
        if held_out is not None:
            train, rest = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        none: Any = []
        grower = Grower(
            plan,
            lambda: blocks_of(X, k, v, train),
            lambda: none if rest is None else blocks_of(X, k, v, rest),
            n_threads,
        )
        stage = grower.grow()
        posteriors = plan.form == "posteriors"  # which have no thresholds
        return stage, no_scores(plan) if posteriors else grower.held_out_scores(stage)

    found = [grow(plan, part) for part in parts]
    if len(found) == 1:
        return plan, *found[0]
    rounds = [stage.n_rounds for stage, _ in found] or [plan.max_rounds]
    whole = plan._replace(max_rounds=round(np.mean(rounds)), patience=None)
    stage, seen = grow(whole)
    return whole, stage, joined([rows for _, rows in found]) if found else seen


def held_out_parts(
    k: Indices, share: float, random: np.random.RandomState
) -> list[NDArray[np.bool_]]:
    """Rows (n,) to hold out, the same share of each class: once, in folds from 2, or not at all."""
    n, few = len(k), int(np.bincount(k).min())
    n_folds = int(share) if share >= 2 else 1
    if few < max(2, n_folds):
        return []  # all rows are needed to learn from
    place = np.empty(n)  # of a row among those of its class, as a share
    for label in range(int(k.max()) + 1):
        rows = random.permutation(np.flatnonzero(k == label))
        place[rows] = (np.arange(len(rows)) + random.uniform()) % len(rows) / len(rows)
    if n_folds == 1:
        return [place < max(share, 1 / few)]
    return [np.floor(place * n_folds) == fold for fold in range(n_folds)]


def has_gaps(X: Any) -> bool:
    """Return whether a value is missing, as what a sparse matrix does not store."""
    if issparse(X) and X.nnz < X.shape[0] * X.shape[1]:
        return True
    return bool(np.isnan(X.data if issparse(X) else X).any())


def without_zeros(X: Any) -> NDArray[Any]:
    """Dense rows for trees that learned from a sparse matrix: a zero is not there, so missing."""
    if issparse(X):
        stored = X.copy()
        stored.eliminate_zeros()
        return as_dense(stored)
    return np.where(X == 0, np.array(np.nan, dtype=X.dtype), X)


def _plain(categories: NDArray[Any]) -> NDArray[Any]:
    """Categories in a type that a model file keeps: strings, or numbers of 64 bits."""
    if categories.dtype.kind in "iub":
        return categories.astype(np.int64)
    if categories.dtype.kind == "f":
        return categories.astype(np.float64)
    return np.array([str(category) for category in categories.tolist()], dtype=object)


def _like(categories: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Categories as strings or numbers, as the known ones are; as they are if that fails."""
    if known.dtype == object or categories.dtype != object:
        texts = [str(category) for category in categories.tolist()]
        return np.array(texts, dtype=object) if known.dtype == object else categories
    try:
        return categories.astype(np.float64)
    except ValueError:
        return categories


def _codes(column: Any, known: NDArray[Any]) -> Floats:
    """Place of each entry among the known categories (n,); NaN if it is missing or another."""
    import pandas as pd

    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("category")
    own = _like(_plain(np.asarray(column.cat.categories)), known)
    place = {category: code for code, category in enumerate(known.tolist())}
    codes = np.array([place.get(category, np.nan) for category in own.tolist()] + [np.nan])
    return codes[column.cat.codes.to_numpy()]
