"""rejoLogistic: data replication with the logistic loss, in the space of a kernel.

The leading directions of the kernel matrix of the training part are features (a Nystroem map with
all points), computed once for each ``gamma``, and :class:`rejo.RejoLinear` is fitted on them.  Its
thresholds are intercepts, which a logistic regression leaves free: ``h`` is large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.replication import replica_costs, replica_labels
from rejo.solvers import linear
from rejo.solvers.reference import gram
from rejo.study._data import Task
from rejo.study._grids import Grid, snake
from rejo.study._machines import kernel_of
from rejo.study._outcomes import Tried, crossed, first_least, outputs_of, risk

H = 10.0
TOL = 1e-4
LARGEST_RANK = 100
LEAST = 1e-9  # of the largest eigenvalue: what is below is rounding


def rejo_logistic(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """Tune ``C`` and ``gamma`` for each cost, and try the models."""
    maps = {gamma: _features(task.X, kernel, gamma) for gamma in grid.gammas}
    points = list(product(grid.Cs, grid.gammas))
    risks = np.zeros((len(costs), len(points)))
    for gamma, (Z, _) in maps.items():
        places = [i for i, point in enumerate(points) if point[1] == gamma]
        for train, test in task.folds:
            classes, k = np.unique(task.k[train], return_inverse=True)
            for i, c, above in _boundaries(Z[train], k, costs, grid.Cs, Z[test]):
                outputs = outputs_of(above.sum(axis=1), classes)
                risks[i, places[c]] += len(test) * risk(costs[i], outputs, task.k[test])
    classes, k = np.unique(task.k, return_inverse=True)
    tested: dict[float, Floats] = {}  # the features of the test part
    tried = []
    for w, best in zip(costs, first_least(risks / len(k)), strict=True):
        C, gamma = points[best]
        Z, back = maps[gamma]
        if gamma not in tested:
            tested[gamma] = gram(task.X_test, task.X, kernel_of(kernel, gamma)) @ back
        [(_, _, above)] = _boundaries(Z, k, [w], [C], tested[gamma])
        outputs = outputs_of(above.sum(axis=1), classes)
        tried.append(Tried(outputs, {"C": C, "gamma": gamma}, crossed(above)))
    return tried


def _features(X: Floats, kernel: str, gamma: float) -> tuple[Floats, Floats]:
    """Features ``Z`` (n, r) with ``Z Z'`` the kernel matrix, and ``(n, r)`` from kernel to them."""
    K = gram(X, X, kernel_of(kernel, gamma))
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1][:LARGEST_RANK], vectors[:, ::-1][:, :LARGEST_RANK]
    kept = values > LEAST * values[0]
    back = vectors[:, kept] / np.sqrt(values[kept])
    return np.ascontiguousarray(K @ back), back


def _boundaries(
    Z: Floats, k: Indices, costs: Sequence[float], Cs: Sequence[float], points: Floats
) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    """Place of a cost and of a ``C``, and the boundaries (m, Q) that each of ``points`` is above.

    Each fit starts from the one before.
    """
    Z, K = np.ascontiguousarray(Z), int(k.max()) + 1
    labels = replica_labels(K)
    start = None
    for i, c in snake(len(costs), len(Cs)):
        caps = Cs[c] * replica_costs(K, costs[i])
        fit = linear.solve(Z, k, labels, caps, h=H, tol=TOL, start=start)
        start = fit.w, fit.b
        b = -np.sort(-fit.b)  # falling; this changes no count
        yield i, c, (points @ fit.w)[:, None] + b > 0
