"""Decisions by posteriors and prices, as every classifier reports them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from rejo._typing import Floats, Indices
from rejo.decisions import decide, expected_costs
from rejo.estimators.base import Judgement
from rejo.estimators.classes import check_sample_weight, same_kind


def judge_posteriors(p: Floats, prices: Floats, *, rejects: bool = True) -> Judgement:
    """Judge ``n`` points by their posteriors (n, K) and the prices (K, K + 1).

    The decision has the lowest expected cost.  ``worth`` is what a review is expected to save;
    ``distance`` its size: how much cheaper or dearer the decision would have to be to change.
    ``sureness`` falls as ``worth`` rises, and with one price 1 for every error and ``w`` for every
    review it is ``max p + w``.  Without rejection, every point gets the cheapest class, and
    ``distance`` is how much more the second cheapest is expected to cost.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.decisions import uniform_prices
    >>> from rejo.estimators.posteriors import judge_posteriors
    >>> found = judge_posteriors(np.array([[0.9, 0.1], [0.6, 0.4]]), uniform_prices(2, 0.2))
    >>> found.decision, found.worth.round(6)
    (array([ 0, -1]), array([-0.1,  0.2]))
    """
    found = decide(p, prices)
    most = prices[:, :-1].max() - min(prices[:, -1].min(), 0.0)  # that a review can be worth
    distance = np.abs(found.worth)
    if not rejects:
        best, second = np.partition(expected_costs(p, prices)[:, :-1], 1, axis=1)[:, :2].T
        distance = second - best
    return Judgement(
        decision=found.decision if rejects else found.forced,
        forced=found.forced,
        lower=found.lower,
        upper=found.upper,
        distance=distance,
        sureness=np.maximum(most - found.worth, 0.0),
        worth=found.worth,
    )


def mean_price(
    prices: Floats, classes: Any, decision: Indices, y: Any, sample_weight: Any = None
) -> float:
    """Mean price of decisions (n,), as indices, and reviews, -1, of cases with the labels ``y``.

    A class that is not among ``classes`` (K,) costs as much as the worst of them.
    """
    check_consistent_length(decision, y)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, len(decision))
    place = {label: k for k, label in enumerate(classes.tolist())}
    true = [place.get(label, len(place)) for label in same_kind(y, classes).tolist()]
    prices = np.vstack([prices, prices.max(axis=0)])  # (K + 1, K + 1)
    return float(np.average(prices[true, decision], weights=sample_weight))
