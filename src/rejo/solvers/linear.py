"""The linear problem: one direction, ``Q`` thresholds, and no replica in memory.

Arrays of floats in, a named tuple of arrays out; nothing here knows of labels, estimators or
validation.  For points ``x_i`` of weight ``v_i`` and row ``k_i`` of the tables (of their class or,
if costs differ by point, their own),

    min  1/2 |w|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
         + sum_iq v_i caps[k_i, q] loss(labels[k_i, q] (w.x_i + b_q)),

with a ``loss`` of ``LOSSES``, such as ``log(1 + exp(-m))`` or ``max(0, 1 - m)``.

The parts, in reading order: ``_linear_losses``; ``_linear_objective``, their sum over the points
with its derivatives; ``_linear_descent``, which minimises it, and makes the hinge smooth for that;
``_linear_streams``, which learns from one chunk of points after another.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.solvers import _linear_descent as descent
from rejo.solvers._linear_losses import LOSSES
from rejo.solvers._linear_objective import Objective, products
from rejo.solvers._linear_streams import Stream, advance, begin, resume
from rejo.solvers.types import Step

__all__ = [
    "LOSSES",
    "LinearSolution",
    "Objective",
    "Stream",
    "advance",
    "begin",
    "products",
    "resume",
    "solve",
    "solve_path",
]

SAMPLE = 25  # points for each parameter in the sample whose Hessian serves all points
LEAST_SAMPLE = 4096
OFFSET = 10.0  # centre the columns if the mean of one is so many standard deviations from 0


class LinearSolution(NamedTuple):
    """What a solve returns."""

    w: Floats  # (p,)
    b: Floats  # (Q,) thresholds as solved, not sorted
    objective: float
    gap: float  # (objective - minimum) / objective: a bound (hinge) or an estimate
    gradient: Floats  # (p + Q,) at (w, b); of the last smooth problem for the hinge
    n_iter: int
    converged: bool


def solve(
    X: Any,  # (n, p) float64 or float32, C order, or CSR of float64
    k: Indices,  # (n,) row of each point in the tables
    labels: Floats,  # (K, Q) of +1 and -1
    caps: Floats,  # (K, Q) C * cost, 0 where a class does not take part
    weight: Floats | None = None,  # (n,) positive
    *,
    loss: str = "logistic",
    h: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: tuple[Floats, Floats] | None = None,  # (w, b)
    verbose: bool = False,
) -> LinearSolution:
    """Solve until the relative excess of the objective is at most ``tol``.

    For the hinge this is the duality gap, else it is estimated by half the Newton decrement.
    """
    p, Q = X.shape[1], labels.shape[1]
    sample = _sample(k, np.count_nonzero(labels > 0, axis=1), p + Q)
    shift = None if issparse(X) else _shift(X if sample is None else X[sample[0]])
    x = np.zeros(p + Q)
    if start is not None:
        x[:p], x[p:] = start
        x[p:] += 0.0 if shift is None else x[:p] @ shift

    def objective(points: Any, k: Indices, v: Floats | None) -> Objective:
        return Objective(points, LOSSES[loss](labels, caps, k, v), h, shift)

    def report(i: int, value: float, gap: float) -> None:
        print(f"[rejo] {loss}, step {i}: objective {value:.8g}, relative excess {gap:.1e}")

    every: dict[str, Any] = dict(tol=tol, max_iter=max_iter, report=report if verbose else None)
    whole = objective(X, k, weight)
    if not whole.loss.is_smooth:
        done = descent.minimise_hinge(whole, x, **every)
    elif sample is None or p > descent.NARROW:
        done = descent.minimise(whole, x, **every)
    else:
        rows, factors = sample
        v = factors if weight is None else factors * weight[rows]
        part = objective(X[rows], k[rows], v)
        near = descent.minimise(part, x, tol=1e-3 * p / len(rows), max_iter=50)
        done = descent.minimise(whole, near.point.x, sample=part, **every)
    (x, value, gradient), gap, n_iter, converged = done
    w, b = x[:p].copy(), x[p:].copy()
    if shift is not None:
        b -= w @ shift
    return LinearSolution(w, b, float(value), float(gap), gradient, n_iter, bool(converged))


def solve_path(
    X: Any,  # (n, p), as in `solve`
    k: Indices,  # (n,)
    steps: Iterable[Step],  # labels and caps (K, Q) of the classes, and h
    weight: Floats | None = None,  # (n,)
    *,
    start: tuple[Floats, Floats] | None = None,  # (w, b) of the first
    **params: Any,
) -> Iterator[LinearSolution]:
    """Solve a sequence of problems, each from the solution of the one before.

    Where the number of replicas changes, the path starts anew.
    """
    for labels, caps, h in steps:
        if start is not None and len(start[1]) != labels.shape[1]:
            start = None
        solution = solve(X, k, labels, caps, weight, h=h, start=start, **params)
        yield solution
        start = solution.w, solution.b


def _sample(k: Indices, sides: Indices, n_parameters: int) -> tuple[Indices, Floats] | None:
    """Rows of a stratified sample, and the factors of their weights; None: not worth it.

    ``sides``: in how many replicas a row of the tables is positive, which tells the classes apart.
    """
    size = max(LEAST_SAMPLE, SAMPLE * n_parameters)
    if len(k) < 3 * size:
        return None
    rng = np.random.default_rng(0)
    rows, factors = [], []
    classes = np.unique(sides)
    size //= len(classes)
    for c in classes:
        members = chosen = np.flatnonzero(sides[k] == c)
        if len(members) > size:
            chosen = members[np.unique(rng.integers(len(members), size=size))]
        rows.append(chosen)
        factors.append(np.full(len(chosen), len(members) / max(1, len(chosen))))
    return np.concatenate(rows), np.concatenate(factors)


def _shift(X: Any) -> Floats | None:
    """Column means (p,), if some column lies far from 0: ``b_0`` is free and takes them up."""
    mean = X.mean(axis=0, dtype=np.float64)
    spread = X.std(axis=0, dtype=np.float64)
    return mean if (np.abs(mean) > OFFSET * spread).any() else None
