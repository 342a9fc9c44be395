"""Neural networks as the authors trained them: one hidden layer, tanh, Rprop, 15 epochs.

They are those of ``RejoMLP(units, loss="squared_error", solver="rprop", alpha=0, max_iter=15)``,
without a penalty, so that ``h`` has no effect, and all from the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState

from rejo._typing import Floats, Indices
from rejo.replication import replica_costs, replica_labels
from rejo.solvers.mlp import Data, Network, forward, initialise, minimise, unpack
from rejo.study._cutoffs import choose_cutoffs, decide
from rejo.study._data import Task
from rejo.study._grids import Grid
from rejo.study._outcomes import Tried, crossed, first_least, outputs_of, rates

EPOCHS = 15


def rejo_nn(task: Task, costs: Sequence[float], grid: Grid, seed: int) -> list[Tried]:
    """rejoNN: one network for all boundaries."""

    def above(X: Floats, k: Indices, points: Floats, w: float, units: int) -> Any:
        K = int(k.max()) + 1
        return _scores(X, replica_labels(K)[k], replica_costs(K, w)[k], points, units, seed) > 0

    return _tune(task, costs, grid, above)


def two_networks(task: Task, costs: Sequence[float], grid: Grid, seed: int) -> list[Tried]:
    """MLP-2C: an independent network for each of the two boundaries."""

    def above(X: Floats, k: Indices, points: Floats, w: float, units: int) -> Any:
        labels, table = replica_labels(2)[k], replica_costs(2, w)[k]
        columns = [_scores(X, labels[:, [q]], table[:, [q]], points, units, seed) for q in range(2)]
        return np.hstack(columns) > 0

    return _tune(task, costs, grid, above)


def one_network(task: Task, costs: Sequence[float], grid: Grid, seed: int) -> list[Tried]:
    """MLP-1C: a network without costs, and two cut-offs on its score."""
    labels = replica_labels(2, reject=False)[task.k]  # (n, 1)

    def scores(units: int, train: Any, points: Floats) -> Floats:
        y = labels[train]
        return _scores(task.X[train], y, np.ones_like(y), points, units, seed)

    held_out = [np.empty(labels.shape) for _ in grid.units]
    for units, values in zip(grid.units, held_out, strict=True):
        for train, test in task.folds:
            values[test] = scores(units, train, task.X[test])
    best, cutoffs = choose_cutoffs(held_out, task.k, costs)
    tested = {i: scores(grid.units[i], slice(None), task.X_test) for i in set(best)}
    return [
        decide(tested[i], t, np.arange(2), {"units": grid.units[i]})
        for i, t in zip(best, cutoffs, strict=True)
    ]


def _tune(task: Task, costs: Sequence[float], grid: Grid, above: Any) -> list[Tried]:
    """For each cost the number of units with the least risk over the folds, on the test part."""
    risks = np.zeros((len(costs), len(grid.units)))
    for train, test in task.folds:
        classes, k = np.unique(task.k[train], return_inverse=True)
        for i, w in enumerate(costs):
            for j, units in enumerate(grid.units):
                counts = above(task.X[train], k, task.X[test], w, units).sum(axis=1)
                R, E = rates(outputs_of(counts, classes), task.k[test])
                risks[i, j] += len(test) * (w * R + E)
    classes, k = np.unique(task.k, return_inverse=True)
    tried = []
    for w, best in zip(costs, first_least(risks / len(k)), strict=True):
        units = grid.units[best]
        tested = above(task.X, k, task.X_test, w, units)
        outputs = outputs_of(tested.sum(axis=1), classes)
        tried.append(Tried(outputs, {"units": units}, crossed(tested)))
    return tried


def _scores(
    X: Floats, labels: Floats, costs: Floats, points: Floats, units: int, seed: int
) -> Floats:
    """Scores (m, Q) of ``points`` by a network trained on ``X`` with labels and costs (n, Q)."""
    data = Data(X, labels.T.copy(), costs.T.copy(), float(len(X)))
    net = Network((X.shape[1], units, 1), labels.shape[1], "tanh", "squared_error")
    start = initialise(net, data, RandomState(seed))
    fit = minimise(
        start, data, net, solver="rprop", max_iter=EPOCHS, tol=0.0, n_iter_no_change=np.inf
    )
    coefs, intercepts = unpack(fit.theta, net)
    b = -np.sort(-intercepts[-1])  # falling; this changes no count
    return forward(points, coefs, intercepts, net.activation)[:, None] + b
