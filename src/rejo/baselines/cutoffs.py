"""Cut-offs on scores and posteriors that minimise the risk: a sort and cumulative sums."""

from __future__ import annotations

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
    max_rejection: float | None,  # largest share of rejections
) -> Floats:
    """Least posterior ``T_i`` (K,) at which a point whose likeliest class is ``i`` is accepted.

    Rejecting the points of a class up to some ``p`` adds the rejections W and removes the errors E.
    Without ``max_rejection`` every class minimises ``reject_cost * W - E`` by itself.  With it,
    each step takes the stretch of points with the most errors per rejection of those that still
    fit, as long as the accuracy on the accepted points grows.  A threshold is 0 to accept all
    points of a class, above 1 for none, and Chow's ``1 - reject_cost`` for a class without points.
    """
    total = weight.sum()
    thresholds = np.full(n_classes, 1.0 - reject_cost)
    classes = np.unique(top)
    candidates, rejections, errors = [], [], []  # for each class, at each of its m_i places
    for i in classes:
        mine = np.flatnonzero(top == i)
        mine = mine[np.argsort(p[mine], kind="stable")]
        places = _places(p[mine])
        lower, upper = p[mine][places[1:-1] - 1], p[mine][places[1:-1]]
        middle = (lower + upper) / 2
        middle = np.where(middle > lower, middle, upper)  # neighbouring floats
        candidates.append(np.concatenate([[0.0], middle, [np.nextafter(1.0, 2.0)]]))
        rejections.append(_running(weight[mine])[places])
        errors.append(_running(weight[mine] * wrong[mine])[places])
    if max_rejection is None:
        risks = [reject_cost * W - E for W, E in zip(rejections, errors, strict=True)]
        chosen = [int(np.argmax(r <= r.min() + SLACK * total)) for r in risks]
    else:
        chosen = _greedy(rejections, errors, max_rejection * total, SLACK * total)
    thresholds[classes] = [T[m] for T, m in zip(candidates, chosen, strict=True)]
    return thresholds


def _greedy(
    rejections: list[Floats], errors: list[Floats], budget: float, slack: float
) -> list[int]:
    """Place of every class after the best steps within the budget."""
    chosen = [0] * len(rejections)
    accepted = sum(float(W[-1]) for W in rejections)
    left = sum(float(E[-1]) for E in errors)  # errors among the accepted
    budget += slack
    while accepted > slack:
        best = (left / accepted + SLACK, 0, 0)  # errors per rejection that raise the accuracy
        for i, (W, E) in enumerate(zip(rejections, errors, strict=True)):
            m = chosen[i]
            added = W[m + 1 :] - W[m]
            added = added[added <= budget]
            if added.size:
                rates = (E[m + 1 : m + 1 + added.size] - E[m]) / added
                step = int(np.argmax(rates))
                best = max(best, (float(rates[step]), i, m + 1 + step))
        _, i, place = best
        if place == 0:
            break
        added = float(rejections[i][place] - rejections[i][chosen[i]])
        left -= float(errors[i][place] - errors[i][chosen[i]])
        accepted, budget, chosen[i] = accepted - added, budget - added, place
    return chosen


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
