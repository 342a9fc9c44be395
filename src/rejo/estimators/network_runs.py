"""What a fit of :class:`RejoMLP` starts from, and what it warns of."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from rejo._typing import Floats, Indices
from rejo.solvers.mlp import Data, NetworkSolution

WORSE = 1.01  # times the loss of a constant score: the fit failed


class Run(NamedTuple):
    """A solution, and the objective before it, after it, and of a constant score."""

    before: float
    after: float
    constant: float
    solution: NetworkSolution


def layer_sizes(hidden_layer_sizes: Any) -> tuple[int, ...]:
    """Check the sizes of the hidden layers."""
    sizes = np.atleast_1d(np.asarray(hidden_layer_sizes, dtype=object))
    if sizes.ndim > 1 or not all(
        isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1
        for size in sizes
    ):
        raise ValueError(
            "hidden_layer_sizes must be a positive integer or a sequence of them, such as (10,) or "
            f"(20, 10); got {hidden_layer_sizes!r}."
        )
    return tuple(int(size) for size in sizes)


def replica_data(
    X: Any,
    k: Indices,
    weight: Floats | None,
    labels: Floats,
    costs: Floats,
    rows: Indices | None = None,
) -> Data:
    """Signs and weighted costs (n_boundaries, n_samples) of the points, or of some rows."""
    if rows is not None:
        X, k, weight = X[rows], k[rows], None if weight is None else weight[rows]
    C = costs.T[:, k]
    if weight is not None:
        C *= weight
    return Data(X, labels.T[:, k], C, float(len(k) if weight is None else weight.sum()))


def split_points(k: Indices, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
    """Points to train on and points to validate on; all replicas of a point stay together."""
    try:
        train, test = train_test_split(
            np.arange(len(k)), test_size=share, stratify=k, random_state=rng
        )
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True cannot hold out validation_fraction={share:g} of every class "
            f"with {len(k)} points: {error}. Give more data, change validation_fraction, or set "
            "early_stopping=False."
        ) from None
    return train, test


def doubt(run: Run, solver: str, max_iter: int, tol: float, remedy: str) -> str | None:
    """Return what to warn of after a run, if anything."""
    before, after, constant, solution = run
    n_iter = len(solution.loss_curve)
    if after > before:
        return (
            f"The network diverged: its loss rose from {before:.3g} to {after:.3g} in "
            f"{n_iter} iterations. {remedy}."
        )
    if solution.converged and after > WORSE * constant:
        return (
            f"The network settled at a loss of {after:.3g}, above the {constant:.3g} of a "
            f"constant score. {remedy}."
        )
    if not solution.converged:
        first = "Raise max_iter, scale" if n_iter >= max_iter else "Scale"
        return (
            f"solver={solver!r} stopped after {n_iter} iterations (max_iter={max_iter}) before the "
            f"loss, {after:.6g}, had settled (tol={tol:g}). {first} the features, raise alpha, or "
            "raise tol."
        )
    return None
