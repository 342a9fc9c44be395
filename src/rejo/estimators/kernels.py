"""Checks of kernels and kernel matrices, and the choice of ``gamma``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rejo._sparse import check_sparse
from rejo._typing import Floats

# Sixteen rows, evenly spread, and pairs of them to probe a kernel with.
PROBES = np.arange(16)
PAIRS = np.tile(PROBES, 2), np.concatenate([(PROBES + 3) % 16, (PROBES + 8) % 16])


def choose_gamma(gamma: str | float, X: Any, sample_weight: Floats | None) -> float:
    """Turn ``gamma`` into a number; warn if it makes the kernel nearly constant.

    The variance is weighted, so that a weight of 2 is the row twice.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        value = 1.0 / n_features
    else:
        with np.errstate(over="ignore", divide="ignore"):
            variance = _variance(X, sample_weight)
            value = float(1.0 / (n_features * variance)) if variance > 0 else 1.0
    _warn_if_blind(gamma, value, X)
    return value


def check_gram(K: Any, shape: tuple[int, int], kernel: Callable[[Any, Any], Any]) -> Floats:
    """Return what a callable kernel gave as a float matrix of the right shape."""
    if issparse(K):
        check_sparse(K, f"the matrix from kernel={kernel!r}")
        K = K.toarray()
    try:
        K = np.ascontiguousarray(K, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"kernel={kernel!r} must return numbers: {error}.") from None
    if K.shape != shape:
        raise ValueError(
            f"kernel must return a matrix of shape {shape} for {shape[0]} and {shape[1]} rows; "
            f"{kernel!r} returned {K.shape}."
        )
    if not np.isfinite(K).all():
        raise ValueError(f"kernel returned NaN or infinite values: {kernel!r}.")
    return K


def own_gram(kernel: str | Callable[[Any, Any], Any], X: Any) -> Floats:
    """Gram matrix of the rows of ``X`` for a callable kernel; ``X`` itself if precomputed."""
    K, name = X, 'X with kernel="precomputed"'
    if callable(kernel):
        K = check_gram(kernel(X, X), (X.shape[0], X.shape[0]), kernel)
        name = f"the matrix from kernel={kernel!r}"
    rows = _probe_rows(len(K))  # all of them would take too long
    if not np.allclose(K[rows], K[:, rows].T, rtol=1e-5, atol=1e-8 * np.abs(K[rows]).max()):
        raise ValueError(f"{name} is not symmetric; a kernel matrix must be.")
    return K


def check_square(K: Any) -> None:
    """Refuse a precomputed kernel matrix that is not one of points with themselves."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. "
            f"Input is a {K.shape[0]}x{K.shape[1]} matrix."
        )


def check_no_overflow(values: float | Floats, kernel: Any) -> None:
    """Refuse values that the kernel has made infinite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"kernel={kernel!r} overflows on X: scale the features, or lower gamma or degree, C or "
            "the weights."
        )


def _variance(X: Any, weight: Floats | None) -> float:
    """Variance of all entries of ``X``, each row with its weight."""
    if weight is None and not issparse(X):
        return float(X.var())
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    mean = (share @ X).mean()
    if issparse(X):
        return float((share @ X.multiply(X)).mean() - mean**2)
    return float((share @ (X - mean) ** 2).mean())


def _warn_if_blind(gamma: str, value: float, X: Any) -> None:
    """Warn if ``value * (x - x')^2`` is next to 0, or very large, for most pairs of points.

    One outlier, or one column far from 0, makes the variance that "scale" divides by
    large: the kernel is then the same for all other pairs.  One column of large numbers
    hides the others.
    """
    rows = X[_probe_rows(X.shape[0])]
    squares = rows[PAIRS[0]] - rows[PAIRS[1]]  # (32, n_features)
    squares = squares.toarray() if issparse(squares) else squares
    squares = squares[squares.any(axis=1)]  # duplicate points say nothing
    if len(squares) == 0:
        return
    squares = value * squares**2
    distances = np.sort(squares.sum(axis=1))
    # The fifth largest of 32: one outlier among the probes makes four.
    most, seen = distances[(len(distances) * 27) // 32], squares.max(axis=0)
    if most < 1e-3:
        what = "nearly the same for most pairs of points"
    elif distances[0] > 500.0:
        what = "nearly 0 for all pairs of different points"
    elif len(hidden := np.flatnonzero((seen > 0) & (seen < min(1e-4, 1e-3 * seen.max())))):
        what = f"blind to {len(hidden)} of {len(seen)} features (the first is {hidden[0]})"
    else:
        return
    warnings.warn(
        f"gamma={gamma!r} is {value:.2e} here, and the kernel is {what}. "
        "Scale the features of X (sklearn.preprocessing.StandardScaler, or RobustScaler "
        "if there are outliers), or give gamma a number.",
        UserWarning,
        stacklevel=5,
    )


def _probe_rows(n: int) -> NDArray[np.intp]:
    return PROBES * (n - 1) // (len(PROBES) - 1)
