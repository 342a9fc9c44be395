"""Decisions from calibrated posteriors: by Chow's rule, or by the ordinal loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rejo._typing import Floats, Indices
from rejo.baselines.calibration import calibrated, fit_calibrator
from rejo.replication import loss_from_costs, replica_costs
from rejo.study._data import Task
from rejo.study._tuning import (
    Params,
    Scores,
    Tried,
    count,
    first_least,
    outputs_of,
    score_held_out,
    score_test,
)


class PosteriorRule(NamedTuple):
    """How posteriors (n, K) become outputs (n,) in ``0..2 (K - 1)``, and what these cost."""

    decide: Callable[[Floats, float], Indices]  # posteriors, reject cost
    risk: Callable[[Indices, Indices, float], float]  # outputs, classes, reject cost


def tune_posteriors(
    task: Task, costs: Sequence[float], grid: Sequence[Params], scores: Scores, rule: PosteriorRule
) -> list[Tried]:
    """Calibrate held-out scores by Platt's sigmoid, and decide by the posteriors.

    More than two classes have a sigmoid for each boundary if there is a score for each; else a
    logistic regression on all scores.  The parameters minimise the risk of each cost on the
    held-out posteriors.
    """
    classes, k = np.unique(task.k, return_inverse=True)
    held_out = score_held_out(task, grid, scores)
    maps = [fit_calibrator(s, k, np.ones(len(k)), "sigmoid") for s in held_out]
    posteriors = [calibrated(m, s) for m, s in zip(maps, held_out, strict=True)]
    risks = [[rule.risk(rule.decide(p, w), k, w) for p in posteriors] for w in costs]
    best = first_least(np.array(risks)).tolist()
    tested = score_test(task, grid, scores, best)
    found = {j: calibrated(maps[j], s) for j, s in tested.items()}
    return [
        Tried(outputs_of(rule.decide(found[j], w), classes), grid[j])
        for j, w in zip(best, costs, strict=True)
    ]


def decide_by_chow(p: Floats, reject_cost: float) -> Indices:
    """Return the likeliest class, or a rejection on that side of it where the second is."""
    top, second = np.argsort(-p, axis=1, kind="stable")[:, :2].T
    rejected = p.max(axis=1) < 1.0 - reject_cost
    return 2 * top + np.where(rejected, np.sign(second - top), 0)


def decide_by_loss(p: Floats, reject_cost: float) -> Indices:
    """Return the output with the least expected ordinal loss, the first of equal ones."""
    return np.asarray((p @ _ordinal_loss(p.shape[1], reject_cost)).argmin(axis=1))


def _risk(outputs: Indices, k: Indices, reject_cost: float) -> float:
    return float(count(outputs, k).risk(reject_cost))


def _ordinal_risk(outputs: Indices, k: Indices, reject_cost: float) -> float:
    return float(_ordinal_loss(int(k.max()) + 1, reject_cost)[k, outputs].mean())


def _ordinal_loss(n_classes: int, reject_cost: float) -> Floats:
    """Loss (K, 2K-1) that data replication trains: it grows with the distance of the classes."""
    return loss_from_costs(replica_costs(n_classes, reject_cost))


CHOW = PosteriorRule(decide_by_chow, _risk)
ORDINAL = PosteriorRule(decide_by_loss, _ordinal_risk)
