"""One sum of trees and ordered thresholds on it, or thresholds on the scores of replicas.

Class ``k`` and weight ``v`` of each row, cost ``c_kq`` and label ``t_kq`` (0 or 1) of a class in
replica ``q`` (see :mod:`rejo.replication`), score ``g`` and thresholds ``b_q`` (a row with costs of
its own is its own class):

    F(g, b) = sum_i v_i sum_q c_kq [log(1 + exp(g_i + b_q)) - t_kq (g_i + b_q)].

Trees descend along the gradient in ``g``; the thresholds take Newton steps from sums of the same
pass.  If every row of the loss is convex, as for any reject cost with ``s=None``, the best ``b``
fall, whatever ``g``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rejo._typing import Floats, Indices

try:
    from rejo.solvers import _trees
except ImportError:  # built without a compiler
    _trees = None  # type: ignore[assignment]

LARGEST_STEP = 1.0  # of a threshold between two rounds
TINY = 1e-9  # share of all costs that stands on either side of a boundary, so that logs are finite
MOST_BINS = 4096  # of scores in a summary


class Slopes(NamedTuple):
    """Derivatives of F."""

    gradient: NDArray[np.float32]  # (n,) by g
    hessian: NDArray[np.float32]  # (n,)
    by_threshold: Floats  # (2, Q) first and second derivative by b


def slopes(
    g: NDArray[np.float32],
    k: NDArray[np.int32],
    v: NDArray[np.float32] | None,
    labels: Floats,
    costs: Floats,
    b: Floats,
) -> Slopes:
    """Derivatives at scores ``g`` (n,) and thresholds ``b`` (Q,) of rows of class ``k`` (n,)."""
    t = (labels > 0).astype(np.float64)
    if _trees is not None:
        weight = np.zeros(0, dtype=np.float32) if v is None else v
        return Slopes(*_trees.gradients(g, k, weight, costs, t, b))
    n, Q = len(g), costs.shape[1]
    gradient, hessian, sums = np.zeros(n), np.zeros(n), np.zeros((2, Q))
    for q in range(Q):
        s = expit(g.astype(np.float64) + b[q])
        c = costs[k, q] if v is None else costs[k, q] * v
        first, second = c * (s - t[k, q]), c * s * (1 - s)
        sums[:, q] = first.sum(), second.sum()
        gradient += first
        hessian += second
    return Slopes(gradient.astype(np.float32), np.maximum(hessian, 1e-12).astype(np.float32), sums)


def first_thresholds(mass: Floats, labels: Floats, costs: Floats) -> Floats:
    """The best ``b`` (Q,) at ``g = 0``, for classes of the weights ``mass`` (K,)."""
    weights = mass[:, None] * costs
    least = TINY * weights.sum()
    above = np.where(labels > 0, weights, 0).sum(axis=0) + least
    below = np.where(labels > 0, 0, weights).sum(axis=0) + least
    return np.minimum.accumulate(np.log(above) - np.log(below))


def newton_step(b: Floats, sums: Floats) -> Floats:
    """Thresholds of the next round, by the sums (2, Q) of the derivatives."""
    first, second = sums
    step = np.clip(first / np.maximum(second, 1e-300), -LARGEST_STEP, LARGEST_STEP)
    return np.minimum.accumulate(b - step)


def total_loss(f: Floats, k: Indices, v: Floats | None, labels: Floats, costs: Floats) -> float:
    """F of scores with their thresholds added, ``f = g + b`` (n, Q)."""
    signed = np.where(labels[k] > 0, f, -f)
    losses = (costs[k] * np.logaddexp(0.0, -signed)).sum(axis=1)
    return float(losses.sum() if v is None else v @ losses)


class ScoreTable(NamedTuple):
    """Scores of held-out rows, summed up: ``m`` values of each of ``S`` scores."""

    scores: Floats  # (S, m) rising
    mass: Floats  # (S, m, K) weight of the rows of each class that have about this score


def score_table(
    scores: Floats, k: Indices, v: Floats | None, n_classes: int, bins: int = MOST_BINS
) -> ScoreTable:
    """Sum up scores (n, S): rows are put together with their neighbours, in equal numbers.

    The weights are (n,), or (n, S) if they differ between the scores.
    """
    n, S = scores.shape
    m = min(n, bins)
    weight = np.ones(n) if v is None else v
    values, mass = np.empty((S, m)), np.zeros((S, m, n_classes))
    of = np.arange(n) * m // max(n, 1)  # bin of each place in the order
    for s in range(S):
        order = np.argsort(scores[:, s], kind="stable")
        w = (weight if weight.ndim == 1 else weight[:, s])[order]
        values[s] = np.bincount(of, scores[order, s] * w, m) / np.bincount(of, w, m)
        np.add.at(mass[s], (of, k[order]), w)
    return ScoreTable(values, mass)


def best_thresholds(table: ScoreTable, labels: Floats, costs: Floats) -> Floats:
    """Thresholds ``b`` (Q,) that minimise F on held-out rows, for any costs (K, Q).

    With one score it is that of every boundary; else there is one score for each.
    """
    Q = costs.shape[1]
    b = np.empty(Q)
    for q in range(Q):
        place = q if len(table.scores) > 1 else 0
        weights = table.mass[place] * costs[:, q]  # (m, K)
        positive = labels[:, q] > 0
        above, below = weights[:, positive].sum(axis=1), weights[:, ~positive].sum(axis=1)
        b[q] = _best_shift(table.scores[place], above, below)
    return b


def _best_shift(g: Floats, above: Floats, below: Floats) -> float:
    """Minimise ``sum above log(1 + e^-(g+b)) + below log(1 + e^(g+b))`` over ``b``: safe Newton.

    Both sides have a little of all weight at every score, so that there is a minimum.
    """
    total = above + below
    least = TINY * total
    above, total = above + least, total + 2 * least
    goal = above.sum()
    low, high = -float(g.max()) - 50.0, -float(g.min()) + 50.0
    b = float(np.clip(np.log(goal) - np.log(total.sum() - goal), low, high))
    for _ in range(200):
        s = expit(g + b)
        slope, bend = float(total @ s) - goal, float(total @ (s * (1 - s)))
        low, high = (low, b) if slope > 0 else (b, high)
        step = slope / bend if bend > 0 else np.inf
        following = b - step if low < b - step < high else (low + high) / 2
        if abs(following - b) < 1e-12 * (1 + abs(b)):
            break
        b = following
    return b
