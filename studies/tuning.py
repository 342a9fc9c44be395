"""How a method is tuned on the folds and tried on the test part; from its decisions to a row.

Everywhere in a study a decision is an *output* ``o`` in ``0..2 (K - 1)``, as the paper counts
boundaries: ``2 k`` is class ``k``, an odd number is a rejection between two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo.baselines import best_cutoffs, calibrated, fit_calibrator
from rejo.metrics import Tally, tally
from rejo.replication import loss_from_costs, replica_costs
from studies.run import Floats, Indices, Mask
from studies.tasks import Task

Params = dict[str, Any]
Costs = Sequence[float]  # of a rejection, ascending
Grid = Sequence[Params]


class Tried(NamedTuple):
    """A tuned method on the test part, at one reject cost."""

    outputs: Indices  # (n_test,)
    params: Params
    crossing_rate: float | None = None  # None: the method has no boundaries that could cross


class TrainTest(NamedTuple):
    """Points to train on and points to decide: those of a fold, or of the whole task."""

    X: Floats  # (n, p)
    k: Indices  # (n,)
    X_new: Floats  # (m, p)
    fold: tuple[Indices, Indices] | None = None  # rows of the task; None: all, and the test part


# Boundaries (m, Q) that each new point is above, with the indices of the cost and of the params.
Above = Iterator[tuple[int, int, Mask]]
Boundaries = Callable[[TrainTest, Costs, Grid], Above]
# Scores (m, columns) of the new points, with the index of the params.
Scores = Callable[[TrainTest, Grid], Iterator[tuple[int, Floats]]]


class PosteriorRule(NamedTuple):
    """How posteriors (n, K) become outputs (n,) in ``0..2 (K - 1)``, and what these cost."""

    decide: Callable[[Floats, float], Indices]  # posteriors, reject cost
    risk: Callable[[Indices, Indices, float], float]  # outputs, classes, reject cost


def tune(task: Task, costs: Costs, grid: Grid, boundaries: Boundaries) -> list[Tried]:
    """Choose for each cost the parameters with the least risk over the folds, and try them."""
    risks = np.zeros((len(costs), len(grid)))
    for train, test in task.folds:
        classes = np.unique(task.k[train])
        outputs = np.empty((len(test), *risks.shape), dtype=np.intp)
        for i, j, above in boundaries(_fold(task, train, test), costs, grid):
            outputs[:, i, j] = outputs_of(above.sum(axis=1), classes)
        risks += len(test) * count(outputs, task.k[test]).risk(np.array(costs)[:, None])
    whole, classes = TrainTest(task.X, task.k, task.X_test), np.unique(task.k)
    tried = []
    for w, best in zip(costs, first_least(risks / len(task.k)), strict=True):
        [(_, _, above)] = boundaries(whole, [w], [grid[best]])
        tried.append(by_boundaries(above, classes, grid[best]))
    return tried


def tune_cutoffs(task: Task, costs: Costs, grid: Grid, scores: Scores) -> list[Tried]:
    """Choose for each cost two cut-offs on each score, and with them the parameters.

    Both have the least risk on scores of points that were held out.
    """
    held_out = score_held_out(task, grid, scores)
    classes, places = np.unique(task.k, return_inverse=True)
    best, cutoffs = [], []
    for w in costs:
        table = replica_costs(len(classes), w)[places]  # (n, 2K-2)
        cuts = [_cut(s, places, table) for s in held_out]
        risks = [
            float(count(outputs_of(_above(s, t).sum(axis=1), classes), task.k).risk(w))
            for s, t in zip(held_out, cuts, strict=True)
        ]
        best.append(int(first_least(np.array([risks]))[0]))
        cutoffs.append(cuts[best[-1]])
    tested = score_test(task, grid, scores, best)
    tried = [
        by_boundaries(_above(tested[j], t), classes, grid[j])
        for j, t in zip(best, cutoffs, strict=True)
    ]
    # The two cut-offs on one score cannot cross, those of different splits can.
    return tried if len(classes) > 2 else [one._replace(crossing_rate=None) for one in tried]


def tune_posteriors(
    task: Task, costs: Costs, grid: Grid, scores: Scores, rule: PosteriorRule
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


def score_held_out(task: Task, grid: Grid, scores: Scores) -> list[Floats]:
    """Scores (n, columns) of every training point by a fit without it, for each of the grid."""
    held_out: dict[int, Floats] = {}
    for train, test in task.folds:
        for j, values in scores(_fold(task, train, test), grid):
            held_out.setdefault(j, np.empty((len(task.k), values.shape[1])))[test] = values
    return [held_out[j] for j in range(len(grid))]


def score_test(task: Task, grid: Grid, scores: Scores, chosen: Iterable[int]) -> dict[int, Floats]:
    """Scores (n_test, columns) of the test part, for some of the grid, by their index."""
    whole = TrainTest(task.X, task.k, task.X_test)
    return {j: values for j in set(chosen) for _, values in scores(whole, [grid[j]])}


def by_boundaries(above: Mask, classes: Indices, params: Params) -> Tried:
    """What a point above some boundaries (m, Q) between the classes gets."""
    crossing_rate = float((above[:, 1:] & ~above[:, :-1]).any(axis=1).mean())
    return Tried(outputs_of(above.sum(axis=1), classes), params, crossing_rate)


def outputs_of(counts: Indices, classes: Indices) -> Indices:
    """Outputs from counts of boundaries between those classes that were trained on."""
    places = np.empty(2 * len(classes) - 1, dtype=np.intp)
    places[0::2], places[1::2] = 2 * classes, 2 * classes[:-1] + 1
    return places[counts]


def count(outputs: Indices, k: Indices) -> Tally:
    """Count rejections and errors among outputs (n, ...) for the classes ``k`` (n,)."""
    return tally(np.where(outputs % 2 == 1, -1, outputs // 2), k)


def first_least(risks: Floats) -> Indices:
    """Index of the least risk (n_costs,) of (n_costs, n_grid); the first of equal ones."""
    return np.round(risks, 12).argmin(axis=1)


def row_of(tried: Tried, k: Indices, n_classes: int, reject_cost: float) -> dict[str, Any]:
    """Measures of one row."""
    found = count(tried.outputs, k)
    loss = _ordinal_loss(n_classes, reject_cost)
    total = float(found.risk(reject_cost))
    return {
        "R": float(found.rejection_rate),
        "E": float(found.error_rate),
        "risk": total,
        # For two classes the same, but for rounding.
        "ordinal_risk": total if n_classes == 2 else float(loss[k, tried.outputs].mean()),
        "crossing_rate": tried.crossing_rate,
    }


def _fold(task: Task, train: Indices, test: Indices) -> TrainTest:
    return TrainTest(task.X[train], task.k[train], task.X[test], (train, test))


def _cut(scores: Floats, k: Indices, costs: Floats) -> Floats:
    """Cut-offs (2K-2,) on scores (n, K-1), two for each split of the classes."""
    pairs = np.split(costs, scores.shape[1], axis=1)
    cuts = [best_cutoffs(s, k > j, pairs[j]) for j, s in enumerate(scores.T)]
    return np.concatenate(cuts)


def _above(scores: Floats, cutoffs: Floats) -> Mask:
    return np.repeat(scores, 2, axis=1) > cutoffs


# ---- decisions from posteriors -----------------------------------------------------------------


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
