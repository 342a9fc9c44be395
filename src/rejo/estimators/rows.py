"""Rows of arrays, sparse matrices and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rejo._typing import Indices


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
