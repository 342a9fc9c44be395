"""Decisions by posteriors and prices, as every classifier reports them."""

from __future__ import annotations

import numpy as np

from rejo._typing import Floats
from rejo.decisions import decide, expected_costs
from rejo.estimators.base import Judgement


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
