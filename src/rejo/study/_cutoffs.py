"""One classifier for each split of the classes, and two cut-offs on its score for each cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rejo._typing import Floats, Indices
from rejo.baselines.cutoffs import best_cutoffs
from rejo.replication import replica_costs
from rejo.study._outcomes import Tried, crossed, first_least, outputs_of, risk


def choose_cutoffs(
    scores: Sequence[Floats], k: Indices, costs: Sequence[float]
) -> tuple[list[int], list[Floats]]:
    """For each cost the best of several scores (n, K-1), and its cut-offs (2K-2,).

    The scores are of points that were held out.  With the right cut-offs for each, that with the
    least risk is taken.
    """
    classes, places = np.unique(k, return_inverse=True)
    best, cutoffs = [], []
    for w in costs:
        table = replica_costs(len(classes), w)[places]  # (n, 2K-2)
        cuts = [_cut(s, places, table) for s in scores]
        risks = [
            risk(w, outputs_of(_above(s, t).sum(axis=1), classes), k)
            for s, t in zip(scores, cuts, strict=True)
        ]
        i = int(first_least(np.array([risks]))[0])
        best.append(i)
        cutoffs.append(cuts[i])
    return best, cutoffs


def decide(scores: Floats, cutoffs: Floats, classes: Indices, params: dict[str, Any]) -> Tried:
    """Decisions by scores (n_test, K-1)."""
    above = _above(scores, cutoffs)
    # The two cut-offs on one score cannot cross, those of different splits can.
    crossing = crossed(above) if len(classes) > 2 else None
    return Tried(outputs_of(above.sum(axis=1), classes), params, crossing)


def _cut(scores: Floats, k: Indices, costs: Floats) -> Floats:
    return np.concatenate(
        [
            best_cutoffs(scores[:, j], k > j, costs[:, 2 * j : 2 * j + 2])
            for j in range(scores.shape[1])
        ]
    )


def _above(scores: Floats, cutoffs: Floats) -> Any:
    return np.repeat(scores, 2, axis=1) > cutoffs
