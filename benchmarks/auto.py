"""What ``rejo train`` chooses by itself, for ``bench_quality``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.quality import Cell, Decider, Floats, Indices, judge
from rejo.decisions import uniform_prices
from rejo.estimators.pipelines import final_step
from rejo.selection import choose_model
from rejo.tables import TableEncoder

REJECT_COST = 0.2  # for which data replication is trained in the race


def auto(cell: Cell) -> Decider:
    """Run one race, and choose from it at each of the prices.

    Posteriors do not depend on prices, so the race and the fits serve all of them.  Learners by
    data replication take part at the reject cost of the race only.
    """
    own = uniform_prices(len(cell.present), REJECT_COST)
    choice = choose_model(TableEncoder(), cell.X, cell.y, prices=[own], groups=cell.groups)
    fits: dict[str, Any] = {}

    def decider(prices: Floats) -> tuple[Indices, Indices]:
        given = prices[cell.present][:, [*cell.present, -1]]
        found = choice if np.array_equal(given, own) else choice.at(given)
        if found.name not in fits:
            model = found.estimator
            if found.crossfit is None:  # data replication
                model.set_params(model__reject_cost=REJECT_COST)
            fits[found.name] = model.fit(cell.X, cell.y)
        model = fits[found.name]
        if found.crossfit is None:
            decision, forced = judge(model, cell.X_test)
        else:
            last, Z = final_step(model, cell.X_test)
            judged = last.at(prices=given).judge(Z)
            decision, forced = judged.decision, judged.forced
        return np.where(decision < 0, -1, cell.present[decision]), cell.present[forced]

    return decider
