"""Fumera and Roli's machine with an embedded reject option, as in the paper.

Their program has a linear kernel only, so that the paper adds second-order terms to the features:
a polynomial kernel of degree 2 without ``gamma``.  It has many local minima and is by far the
slowest method: ``C`` is tuned with fits from one start, the final ones have all nine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rejo._typing import Indices
from rejo.baselines import EmbeddedRejectSVC
from rejo.study._data import Task
from rejo.study._grids import Grid
from rejo.study._outcomes import Tried, first_least, risk

TUNING: dict[str, Any] = {"n_starts": 1, "tol": 1e-4}


def fumera(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """Tune ``C`` for each cost, and try the models."""
    risks = np.zeros((len(costs), len(grid.Cs)))
    for train, test in task.folds:
        X, k, points = task.X[train], task.k[train], task.X[test]
        for i, w in enumerate(costs):
            for j, C in enumerate(grid.Cs):
                outputs = _outputs(X, k, points, C=C, reject_cost=w, **TUNING)
                risks[i, j] += len(test) * risk(w, outputs, task.k[test])
    best = [grid.Cs[j] for j in first_least(risks / len(task.k))]
    return [
        Tried(_outputs(task.X, task.k, task.X_test, C=C, reject_cost=w), {"C": C})
        for w, C in zip(costs, best, strict=True)
    ]


def _outputs(X: Any, k: Indices, points: Any, **params: Any) -> Indices:
    model = EmbeddedRejectSVC(second_order=True, **params).fit(X, k)
    index = model._decide(points)  # -1: rejected
    return np.where(index < 0, 1, 2 * index)
