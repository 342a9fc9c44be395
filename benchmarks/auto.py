"""What ``rejo train`` chooses by itself at each of the prices, for ``bench_quality``."""

from __future__ import annotations

import numpy as np

from benchmarks.quality import Cell, Decider, Floats, Indices, judge
from rejo.selection import choose_model
from rejo.tables import TableEncoder


def auto(cell: Cell) -> Decider:
    """Choose a model at the prices and fit it, as the command does."""

    def decider(prices: Floats) -> tuple[Indices, Indices]:
        own = prices[cell.present][:, [*cell.present, -1]]
        choice = choose_model(TableEncoder(), cell.X, cell.y, prices=[own], groups=cell.groups)
        model = choice.estimator
        if choice.crossfit is None:  # data replication: only where all errors cost the same
            at = {"model__reject_cost": own[0, -1] / own[0, 1]}
        else:
            at = {"model__cost_of": own}
        decision, forced = judge(model.set_params(**at).fit(cell.X, cell.y), cell.X_test)
        return np.where(decision < 0, -1, cell.present[decision]), cell.present[forced]

    return decider
