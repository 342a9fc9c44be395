"""Rows of arrays, sparse matrices and data frames, and the extension features beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rejo._typing import Floats, Indices

COPY = 1 << 16  # rows copied at a time


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a data frame."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def column_names(X: Any) -> list[str] | None:
    """Columns of a frame, if all are strings."""
    if not is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return None
    return list(X.columns)


def take_rows(X: Any, rows: Indices) -> Any:
    """Return some rows of an array, a sparse matrix or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def has_nan(X: Any) -> bool:
    """Return whether a value is missing."""
    if is_frame(X):
        return bool(X.isna().to_numpy().any())
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def extend_rows(X: Any, rows: Indices, marks: Floats) -> Any:
    """Rows of ``X`` with their extension features beside them."""
    if sparse.issparse(X):
        extended = sparse.hstack([X[rows], sparse.csr_array(marks)], format="csr")
        return sparse.csr_matrix(extended)  # LightGBM takes no sparse arrays
    if is_frame(X):
        frame = X.iloc[rows].reset_index(drop=True)
        names = column_names(X)
        if names is None:  # names that scikit-learn ignores must not mix with strings
            frame.columns = range(X.shape[1])
        for j, mark in enumerate(marks.T):
            frame[X.shape[1] + j if names is None else _free_name(j, names)] = mark
        return frame
    extended = np.empty((len(rows), X.shape[1] + marks.shape[1]), dtype=X.dtype)
    extended[:, X.shape[1] :] = marks
    for start in range(0, len(rows), COPY):
        part = slice(start, start + COPY)
        extended[part, : X.shape[1]] = X[rows[part]]
    return extended


def _free_name(j: int, names: list[str]) -> str:
    name = f"replica_{j}"
    while name in names:
        name = "_" + name
    return name
