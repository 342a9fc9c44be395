"""Neural networks as the authors trained them: one hidden layer, tanh, Rprop, 15 epochs.

All are :class:`rejo.RejoMLP` without a penalty, so that ``h`` has no effect, and from the same
seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from rejo._typing import Floats, Mask
from rejo.estimators import RejoMLP
from rejo.replication import replica_costs
from rejo.study._cells import TuningGrid
from rejo.study._data import Task
from rejo.study._tuning import Params, TrainTest, Tried, tune, tune_cutoffs


def rejo_nn(task: Task, costs: Sequence[float], grid: TuningGrid, seed: int) -> list[Tried]:
    """rejoNN: one network for all boundaries."""

    def boundaries(
        part: TrainTest, costs: Sequence[float], grid: Sequence[Params]
    ) -> Iterator[tuple[int, int, Mask]]:
        for (i, w), (j, params) in product(enumerate(costs), enumerate(grid)):
            model = network(params["units"], w, seed).fit(part.X, part.k)
            yield i, j, model.boundary_scores(part.X_new) > 0

    return tune(task, costs, _points(grid), boundaries)


def two_networks(task: Task, costs: Sequence[float], grid: TuningGrid, seed: int) -> list[Tried]:
    """MLP-2C: an independent network for each of the two boundaries."""

    def boundaries(
        part: TrainTest, costs: Sequence[float], grid: Sequence[Params]
    ) -> Iterator[tuple[int, int, Mask]]:
        for (i, w), (j, params) in product(enumerate(costs), enumerate(grid)):
            weights = replica_costs(2, w)[part.k].T  # (2, n)
            model = network(params["units"], None, seed)
            scores = [model.fit(part.X, part.k, v).boundary_scores(part.X_new) for v in weights]
            yield i, j, np.hstack(scores) > 0

    return tune(task, costs, _points(grid), boundaries)


def one_network(task: Task, costs: Sequence[float], grid: TuningGrid, seed: int) -> list[Tried]:
    """MLP-1C: a network without costs, and two cut-offs on its score."""

    def scores(part: TrainTest, grid: Sequence[Params]) -> Iterator[tuple[int, Floats]]:
        for j, params in enumerate(grid):
            model = network(params["units"], None, seed).fit(part.X, part.k)
            yield j, model.boundary_scores(part.X_new)

    return tune_cutoffs(task, costs, _points(grid), scores)


def network(units: int, reject_cost: float | None, seed: int) -> RejoMLP:
    """Return the authors' network with so many hidden units."""
    return RejoMLP(
        (units,), loss="squared_error", solver="rprop", alpha=0.0, max_iter=15, tol=0.0,
        n_iter_no_change=np.inf, reject_cost=reject_cost, random_state=seed,
    )  # fmt: skip


def _points(grid: TuningGrid) -> list[Params]:
    return [{"units": units} for units in grid.units]


NETWORKS: dict[str, Callable[..., list[Tried]]] = {
    "rejoNN": rejo_nn,
    "MLP-1C": one_network,
    "MLP-2C": two_networks,
}
