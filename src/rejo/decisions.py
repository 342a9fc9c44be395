"""From posteriors and prices to decisions, and what a review is worth.

Prices are a matrix ``L`` of shape (K, K + 1): rows are true classes, columns the K decisions and,
last, the review.  A case with the posteriors ``p`` (K,) is expected to cost ``p @ L``, an entry for
each column, and the cheapest column is the decision; a tie goes to the review.  Prices of each case
have the shape (n, K, K + 1).  With one price 1 for every error and one price ``w`` for a review
this is Chow's rule: review iff ``max p <= 1 - w``.

*What a review is worth* is the cost of the cheapest decision minus that of the review.  It is the
order of a review queue, and every operating point is a cut in it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._typing import Floats, Indices

BLOCK = 16_384  # cases with prices of their own that are decided at a time, to stay in the cache
TIE = 1e-12  # posteriors, and costs by the highest price, that differ by less are equal

__all__ = ["Decided", "decide", "uniform_prices"]


class Decided(NamedTuple):
    """What posteriors and prices say about each case, as :func:`decide` returns it.

    Attributes
    ----------
    decision : ndarray of int of shape (n_samples,)
        Index of the class; -1: review.
    forced : ndarray of int of shape (n_samples,)
        The cheapest decision without a review.
    lower, upper : ndarray of int of shape (n_samples,)
        The two likeliest classes, the lower and the higher index.
    worth : ndarray of float of shape (n_samples,)
        What a review is expected to save, in the unit of the prices; negative where it costs more
        than it saves.
    """

    decision: Indices
    forced: Indices
    lower: Indices
    upper: Indices
    worth: Floats


def uniform_prices(n_classes: int, reject_cost: float) -> Floats:
    """Return prices of 1 for every error and ``reject_cost`` for every review.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    reject_cost : float
        Price of a review, where an error costs 1.

    Returns
    -------
    prices : ndarray of shape (n_classes, n_classes + 1)
        Price of each decision and, last, of a review, for each true class.

    Examples
    --------
    >>> from rejo.decisions import uniform_prices
    >>> uniform_prices(3, reject_cost=0.2)
    array([[0. , 1. , 1. , 0.2],
           [1. , 0. , 1. , 0.2],
           [1. , 1. , 0. , 0.2]])
    """
    prices = np.full((n_classes, n_classes + 1), float(reject_cost))
    prices[:, :-1] = 1.0 - np.eye(n_classes)
    return prices


def expected_costs(p: Floats, prices: Floats) -> Floats:
    """What each decision and, last, a review of each case is expected to cost (n, K + 1)."""
    if prices.ndim == 2:
        return p @ prices
    parts = zip(p.T.copy(), np.moveaxis(prices, 0, -1), strict=True)  # (n,), (K + 1, n)
    return sum(of_class * L for of_class, L in parts).T


def decide(p: ArrayLike, prices: ArrayLike) -> Decided:
    """Choose the decision with the lowest expected cost, or a review.

    See :footcite:t:`chow1970` and, for prices that differ, :footcite:t:`elkan2001`.

    Parameters
    ----------
    p : array-like of shape (n_samples, n_classes)
        Posteriors.
    prices : array-like of shape (n_classes, n_classes + 1) or (n_samples, n_classes, n_classes + 1)
        Price of each decision and, last, of a review, for each true class; also for each case.
        Only differences within a row matter, and a positive factor changes nothing but the unit
        of ``worth``.

    Returns
    -------
    decided : Decided
        Of equally cheap decisions, the likelier class is taken, and of equally likely classes the
        first.  A case whose posteriors or prices are NaN goes to the review.

    Examples
    --------
    >>> from rejo.decisions import decide
    >>> from rejo.prices import price_matrix
    >>> prices = price_matrix("error:ill=5000,error:well=300,review=40", ["ill", "well"])
    >>> found = decide([[0.95, 0.05], [0.2, 0.8], [0.001, 0.999]], prices)
    >>> found.decision
    array([ 0, -1,  1])
    >>> found.worth.round()
    array([-25., 200., -35.])

    A loan of 500 and one of 90,000 with the same doubt:

    >>> costs = "error:default=0.6*amount,error:repaid=0.02*amount,review=40"
    >>> loans = {"amount": [500.0, 90000.0]}
    >>> prices = price_matrix(costs, ["default", "repaid"], columns=loans)
    >>> decide([[0.02, 0.98], [0.02, 0.98]], prices).decision
    array([ 1, -1])
    """
    p = np.asarray(p, dtype=np.float64)
    L = np.asarray(prices, dtype=np.float64)
    if L.ndim == 3 and len(L) and (L[0] == L[-1]).all() and (L[0] == L).all():
        L = np.ascontiguousarray(L[0])  # the same bits as prices for all cases
    if L.ndim == 3 and len(L) > BLOCK:
        starts = range(0, len(L), BLOCK)
        parts = [decide(p[i : i + BLOCK], L[i : i + BLOCK]) for i in starts]
        return Decided(*map(np.concatenate, zip(*parts, strict=True)))
    costs = expected_costs(p, L)
    slack = TIE * np.abs(L.T).max(axis=(0, 1))  # of all cases, or of each
    two = np.argsort(-p, axis=1, kind="stable")[:, :2]
    best = costs[:, :-1].min(axis=1)
    level = ~(costs[:, :-1] > (best + slack)[:, None])  # without prices, all are
    among = np.where(level, p, -1.0)
    forced = (among >= among.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
    worth = best - costs[:, -1]
    return Decided(
        decision=np.where(worth < -slack, forced, -1),  # NaN is no reason to decide
        forced=forced,
        lower=two.min(axis=1),
        upper=two.max(axis=1),
        worth=worth,
    )
