"""Cut-offs on scores and posteriors that minimise the risk: a sort and cumulative sums."""

import numpy as np

from rejo._typing import Floats, Indices, Mask

SLACK = 1e-12  # share of the total cost by which two risks differ through rounding only


def best_cutoffs(
    scores: Floats,  # (n,)
    positive: Mask,  # (n,) points that belong above the cut-offs
    costs: Floats,  # (n, 1) or (n, 2)
) -> Floats:  # (1,) or (2,), ascending
    """Cut-offs on one score, one or two, that minimise the cost of the points on a wrong side.

        minimise  sum_q sum_i c_iq [(s_i > t_q) != positive_i],   t_0 <= t_1

    The minimum is exact.  Of equally cheap pairs one that rejects few points is taken; a cut-off
    lies midway between neighbouring scores, or beyond all by their range.
    """
    order = np.argsort(scores, kind="stable")
    # A cut-off that moves above a positive point loses its cost, above a negative one saves it.
    moves = np.where(positive[:, None], costs, -costs)[order]  # (n, Q)
    places = _places(scores[order])  # (m,) number of points below
    risks = _running(moves)[places]  # (m, Q), less that of a cut-off below all points
    slack = SLACK * costs.sum()
    last = risks[:, -1]
    if risks.shape[1] == 2:
        last = last + np.minimum.accumulate(risks[:, 0])
    upper = int(np.argmax(last <= last.min() + slack))  # the lowest of the best
    chosen = [upper]
    if risks.shape[1] == 2:
        first = risks[: upper + 1, 0]
        chosen = [int(np.flatnonzero(first <= first.min() + slack)[-1]), upper]  # the highest
    return _between(scores[order])[chosen]


def class_thresholds(
    p: Floats,  # (n,) posterior of the likeliest class
    top: Indices,  # (n,) that class
    wrong: Mask,  # (n,) where it is not the true one
    weight: Floats,  # (n,)
    n_classes: int,
    reject_cost: float,
) -> Floats:
    """Least posterior ``T_i`` (K,) at which a point whose likeliest class is ``i`` is accepted.

    Rejecting the points of a class up to some ``p`` adds the rejections W and removes the errors E.
    Every class minimises ``reject_cost * W - E``, which minimises the risk.  A threshold is 0 to
    accept all points of a class, above 1 for none, and Chow's ``1 - reject_cost`` for a class
    without points.
    """
    thresholds = np.full(n_classes, 1.0 - reject_cost)
    for i in np.unique(top):
        mine = np.flatnonzero(top == i)
        mine = mine[np.argsort(p[mine], kind="stable")]
        places = _places(p[mine])
        risk = reject_cost * _running(weight[mine]) - _running(weight[mine] * wrong[mine])
        best = int(np.argmax(risk[places] <= risk[places].min() + SLACK * weight.sum()))
        lower, upper = p[mine][places[1:-1] - 1], p[mine][places[1:-1]]
        middle = (lower + upper) / 2
        middle = np.where(middle > lower, middle, upper)  # neighbouring floats
        thresholds[i] = [0.0, *middle, np.nextafter(1.0, 2.0)][best]
    return thresholds


def _places(ascending: Floats) -> Indices:
    """Numbers (m,) of points below each cut-off that can be told apart; none and all included."""
    inner = np.flatnonzero(np.diff(ascending)) + 1
    return np.concatenate([[0], inner, [len(ascending)]])


def _between(ascending: Floats) -> Floats:
    """A cut-off (m,) for each of ``_places``: a score above it is larger, the others are not."""
    distinct = np.unique(ascending)
    lower, upper = distinct[:-1], distinct[1:]
    middle = lower / 2 + upper / 2
    middle = np.where((lower <= middle) & (middle < upper), middle, lower)  # neighbouring floats
    reach = distinct[-1] - distinct[0] or max(1.0, abs(distinct[0]))
    return np.concatenate([[distinct[0] - reach], middle, [distinct[-1] + reach]])


def _running(steps: Floats) -> Floats:
    """Cumulative sums along the first axis, starting with 0."""
    return np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
