"""Neural networks as the authors trained them: one hidden layer, tanh, Rprop, 15 epochs.

They are :class:`rejo.RejoMLP` without a penalty, so that ``h`` has no effect.  All networks of a
cell that have the same number of units start from the same weights, and those of a fold (all reject
costs, all boundaries) are trained together: the solver has them as one more axis of its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rejo.replication import replica_costs, replica_labels
from rejo.solvers import Data, Network, forward, initialise, objectives, unpack
from studies.paper import TuningGrid
from studies.run import Floats
from studies.tasks import Task
from studies.tuning import (
    CHOW,
    Above,
    Costs,
    Grid,
    Params,
    TrainTest,
    Tried,
    tune,
    tune_cutoffs,
    tune_posteriors,
)

EPOCHS = 15
GROW, SHRINK = 1.2, 0.5  # of a step of Rprop, as in RejoMLP
FIRST_STEP, LEAST_STEP, LARGEST_STEP = 0.07, 1e-8, 50.0
TOGETHER = 1 << 16  # outputs of a layer, of all points and networks that are trained at a time


def rejo_nn(task: Task, costs: Costs, grid: TuningGrid, seed: int) -> list[Tried]:
    """rejoNN: one network for all boundaries."""

    def boundaries(part: TrainTest, costs: Costs, grid: Grid) -> Above:
        signs, tables = _replicas(part, costs)
        for j, params in enumerate(grid):
            for i, scores in enumerate(_train(part, signs, tables, params["units"], seed)):
                yield i, j, scores > 0

    return tune(task, costs, _points(grid), boundaries)


def two_networks(task: Task, costs: Costs, grid: TuningGrid, seed: int) -> list[Tried]:
    """MLP-2C, and FH-MLP-2C for more classes: an independent network for each boundary."""

    def boundaries(part: TrainTest, costs: Costs, grid: Grid) -> Above:
        signs, tables = _replicas(part, costs)
        alone = (len(costs) * len(signs), 1, len(part.k))  # each boundary is a network
        signs, tables = np.tile(signs, (len(costs), 1)).reshape(alone), tables.reshape(alone)
        for j, params in enumerate(grid):
            scores = _train(part, signs, tables, params["units"], seed)[..., 0]
            for i, each in enumerate(np.split(scores, len(costs))):
                yield i, j, each.T > 0

    return tune(task, costs, _points(grid), boundaries)


def one_network(task: Task, costs: Costs, grid: TuningGrid, seed: int) -> list[Tried]:
    """MLP-1C: a network without costs, and two cut-offs on its score for each boundary."""
    classes = np.unique(task.k)

    def scores(part: TrainTest, grid: Grid) -> Iterator[tuple[int, Floats]]:
        known, k = np.unique(part.k, return_inverse=True)
        signs = replica_labels(len(known), reject=False)[k].T
        n_below = np.searchsorted(known, classes[:-1], side="right")  # of the known classes
        for j, params in enumerate(grid):
            [found] = _train(part, signs, np.ones((1, *signs.shape)), params["units"], seed)
            # A boundary with a missing class at it is that of the next ones; beyond all others
            # only one side has been seen.
            ends = np.ones((len(found), 1))
            yield j, np.hstack([ends, found, -ends])[:, n_below]

    return tune_cutoffs(task, costs, _points(grid), scores)


def split_networks(task: Task, costs: Costs, grid: TuningGrid, seed: int) -> list[Tried]:
    """FH-MLP-1C: a network without costs for each split of the classes, with two cut-offs."""
    return tune_cutoffs(task, costs, _points(grid), _SplitNetworks(task, seed))


def chow_network(task: Task, costs: Costs, grid: TuningGrid, seed: int) -> list[Tried]:
    """Chow-MLP: Chow's rule on the posteriors of the networks of all splits."""
    return tune_posteriors(task, costs, _points(grid), _SplitNetworks(task, seed), CHOW)


NETWORKS: dict[str, Callable[..., list[Tried]]] = {
    "rejoNN": rejo_nn,
    "MLP-1C": one_network,
    "FH-MLP-1C": split_networks,
    "MLP-2C": two_networks,
    "FH-MLP-2C": two_networks,
    "Chow-MLP": chow_network,
}


class _SplitNetworks:
    """Scores (m, K-1) of plain networks, one for each split of the classes into low and high."""

    def __init__(self, task: Task, seed: int) -> None:
        self.classes, self.seed = np.unique(task.k), seed

    def __call__(self, part: TrainTest, grid: Grid) -> Iterator[tuple[int, Floats]]:
        signs = np.where(part.k > self.classes[:-1, None], 1.0, -1.0)[:, None]  # (K-1, 1, n)
        sides = signs.mean(axis=2)  # 1 or -1: a class is missing, only one side has been seen
        seen = np.abs(sides[:, 0]) < 1
        for j, params in enumerate(grid):
            scores = np.tile(sides, (1, len(part.X_new)))  # (K-1, m)
            fitted = _train(
                part, signs[seen], np.ones_like(signs[seen]), params["units"], self.seed
            )
            scores[seen] = fitted[..., 0]
            yield j, scores.T


def _replicas(part: TrainTest, costs: Costs) -> tuple[Floats, Floats]:
    """Labels (Q, n) of the points in the replicas, and their costs (n_costs, Q, n)."""
    classes, k = np.unique(part.k, return_inverse=True)
    tables = [replica_costs(len(classes), w)[k].T for w in costs]
    return replica_labels(len(classes))[k].T, np.stack(tables)


def _train(part: TrainTest, signs: Floats, costs: Floats, units: int, seed: int) -> Floats:
    """Scores (B, m, Q) of the new points by B networks for labels and costs (B, Q, n)."""
    data = Data(part.X, np.broadcast_to(signs, costs.shape), costs, float(len(part.k)))
    net = Network((part.X.shape[1], units, 1), costs.shape[1], loss="squared_error")
    start = initialise(net, data, np.random.RandomState(seed))
    coefs, intercepts = unpack(rprop(start, data, net), net)
    g = forward(part.X_new, coefs, intercepts, net.activation)
    # Sorted, so that the boundaries of a network do not cross; it changes no count.
    return g[..., None] - np.sort(-intercepts[-1], axis=-1)[:, None]


def rprop(theta: Floats, data: Data, net: Network) -> Floats:
    """Train networks (B, parameters) together (iRprop-, Igel and Hüsken 2003); the best of each."""
    found = np.empty_like(theta)
    size = max(1, TOGETHER // (len(data.X) * max(net.units[1:])))  # layers stay in the cache
    with np.errstate(all="ignore"):
        for start in range(0, len(theta), size):
            some = slice(start, start + size)
            part = data._replace(signs=data.signs[some], costs=data.costs[some])
            found[some] = _best_of_rprop(theta[some].copy(), part, net)
    return found


def _best_of_rprop(theta: Floats, data: Data, net: Network) -> Floats:
    best, least = theta.copy(), np.full(len(theta), np.inf)
    steps, before = np.full_like(theta, FIRST_STEP), np.zeros_like(theta)
    _, gradient = objectives(theta, data, net)
    for _ in range(EPOCHS):
        turned = gradient * before
        steps *= np.where(turned > 0, GROW, np.where(turned < 0, SHRINK, 1.0))
        steps.clip(LEAST_STEP, LARGEST_STEP, out=steps)
        gradient[turned < 0] = 0.0
        theta -= np.sign(gradient) * steps
        before = gradient
        losses, gradient = objectives(theta, data, net)
        better = losses < least
        best[better], least[better] = theta[better], losses[better]
    return best


def _points(grid: TuningGrid) -> list[Params]:
    return [{"units": units} for units in grid.units]
