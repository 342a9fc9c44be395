"""Posteriors from boundaries, and decisions by posteriors and prices."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rejo._state import declare, floats, maybe, optional
from rejo._typing import Floats, Indices
from rejo.decisions import BLOCK, decide, expected_costs
from rejo.estimators.boundaries import BoundaryClassifier, judge_scores, middle_scores
from rejo.estimators.classes import Targets, check_sample_weight, labels_like
from rejo.estimators.reviews import AMBIGUOUS, NO_PRICE, Judgement, refuse_unknown
from rejo.prices import price_of

LARGEST_LOGIT = 700.0  # exp of it is finite


def judge_posteriors(p: Floats, prices: Any, *, rejects: bool = True) -> Judgement:
    """Judge ``n`` points by their posteriors (n, K) and the prices (K, K + 1) or (n, K, K + 1).

    The decision has the lowest expected cost.  ``worth`` is what a review is expected to save,
    ``distance`` its size, and ``sureness`` falls as ``worth`` rises.  Without rejection, every
    point gets the cheapest class, and ``distance`` is how much more the second cheapest costs.

    Prices by case are taken in blocks, and a point without a price is rejected.
    """
    if not rejects:
        refuse_unknown(np.isnan(p))
    if prices.ndim == 2:
        return _judge_block(p, prices, rejects)
    n, most = len(p), 0.0
    found: Any = None
    for start in range(0, max(n, 1), BLOCK):
        rows = slice(start, start + BLOCK)
        L = prices[rows]
        part, most = _judge_block(p[rows], L, rejects), max(most, _most_worth(L))
        if found is None:
            whole: list[Any] = [a if a is None else np.empty(n, a.dtype) for a in part]
            found = Judgement(*whole)
        for values, some in zip(found, part, strict=True):
            if values is not None:
                values[rows] = some
    np.maximum(np.subtract(most, found.worth, out=found.sureness), 0.0, out=found.sureness)
    unknown = np.isnan(found.worth)
    if not unknown.any():
        return found
    none = unknown & ~np.isnan(found.chance)
    found.distance[none] = found.sureness[none] = 0.0
    return found._replace(kind=np.where(none, np.int8(NO_PRICE), np.int8(AMBIGUOUS)))


def _judge_block(p: Floats, prices: Floats, rejects: bool) -> Judgement:
    found = decide(p, prices)
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
        sureness=np.maximum(_most_worth(prices) - found.worth, 0.0),
        worth=found.worth,
        chance=chance_wrong(p, found.forced),
    )


def _most_worth(prices: Floats) -> float:
    """What a review can be worth at most; 0 if there are no prices."""
    L = prices.T  # cases last, as they lie in memory
    if np.isnan(L).any():
        L = np.nan_to_num(L)
    return float(L[:-1].max(initial=0.0) - min(L[-1].min(initial=0.0), 0.0))


def chance_wrong(p: Floats, forced: Indices) -> Floats:
    """Probability (n,) that a class is not the decided one (n,), by the posteriors (n, K)."""
    right: Floats = np.take_along_axis(p, forced[:, None], axis=1)[:, 0]
    return np.maximum(1.0 - right, 0.0)


def mean_price(
    prices: Any, classes: Any, decision: Indices, y: Any, sample_weight: Any = None
) -> float:
    """Mean price of decisions (n,), as indices, and reviews, -1, of cases with the labels ``y``.

    A class that is not among ``classes`` (K,) costs as much as the worst of them, and a case
    without a price as much as the others.
    """
    check_consistent_length(decision, y)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, len(decision))
    place = {label: k for k, label in enumerate(classes.tolist())}
    true = [place.get(label, len(place)) for label in labels_like(y, classes).tolist()]
    prices = prices[:]
    prices = np.concatenate([prices, prices.max(axis=-2, keepdims=True)], axis=-2)
    paid = price_of(prices, np.array(true), decision)
    known = ~np.isnan(paid)
    weight = None if sample_weight is None else sample_weight[known]
    return float(np.average(paid[known], weights=weight))


def _has_posteriors(model: PosteriorsMixin) -> bool:
    """Return whether there is a predict_proba: by the parameters, or by the fit if there is one."""
    fault = model._no_odds()
    if hasattr(model, "classes_"):
        if model._odds_offsets is not None:
            return True
        fault = fault or (
            f"with {len(model.classes_)} classes, the costs it was fitted with leave no posteriors "
            "(fit it with reject_cost=None)"
        )
    if fault:
        raise AttributeError(f"this {type(model).__name__} has no predict_proba: {fault}.")
    return True


class PosteriorsMixin(BoundaryClassifier):
    """The method :meth:`predict_proba`, for scores that estimate log-odds."""

    _odds_offsets: Floats | None = None  # (n_boundaries,) as fitted; None if no posteriors

    @available_if(_has_posteriors)
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of every class.

        It exists after a fit on two classes, or with ``reject_cost=None``.  With more than two
        classes, costs of rejection leave scores that no posterior can be read off.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.  Of three or more classes, :meth:`predict` returns
            the median of the posterior, which is not always the likeliest class.
        """
        check_is_fitted(self)
        odds = self._log_odds(X)
        refuse_unknown(np.isnan(odds))
        offsets: Any = self._odds_offsets
        return boundary_posteriors(odds - offsets, rejects=self._rejects)

    def judge(self, X: Any) -> Judgement:
        scores = self.boundary_scores(X)
        odds = self._odds_of(scores)
        return judge_boundaries(scores, odds, self._odds_offsets, rejects=self._rejects)

    def _log_odds(self, X: Any) -> Floats:
        """Log-odds (n_samples, n_boundaries) of the costs above and below each boundary."""
        return self._odds_of(self.boundary_scores(X))

    def _odds_of(self, scores: Floats) -> Floats:
        """The same from the scores (n_samples, n_boundaries)."""
        return scores

    def _no_odds(self) -> str | None:
        """Return why the parameters exclude posteriors, if they do."""
        return None

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None, loss_matrix: Any = None
    ) -> tuple[Floats, Floats]:
        labels, costs = super()._set_classes(classes, n_boundaries, loss_matrix)
        self._odds_offsets = None if self._no_odds() else odds_offsets(costs)
        return labels, costs

    def _set_tables(
        self, targets: Targets, n_boundaries: int | None = None
    ) -> tuple[Floats, Floats, Indices]:
        tables = super()._set_tables(targets, n_boundaries)
        if targets.costs is not None:
            self._odds_offsets = None  # scores are log-odds of money
        return tables

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        offsets: Any = self._odds_offsets
        odds = graph.add("Sub", graph.apply(self, X), offsets[None, :])
        return boundary_posteriors_to_onnx(graph, odds, len(self.classes_), rejects=self._rejects)


def judge_boundaries(
    scores: Floats, odds: Floats, offsets: Floats | None, *, rejects: bool
) -> Judgement:
    """Judge points by their scores (n, Q); with offsets (Q,) of their log-odds, by chance too."""
    found = judge_scores(scores, rejects=rejects)
    if offsets is None:
        return found
    p = boundary_posteriors(odds - offsets, rejects=rejects)
    return found._replace(chance=chance_wrong(p, found.forced))


def odds_offsets(costs: ArrayLike) -> Floats | None:
    """What the costs (K, Q) of the replicas add to the log-odds of the classes, if they only add.

    A loss that estimates log-odds brings the score of replica ``q`` at the boundary above class
    ``j`` to ``log(sum_{k > j} c_kq p_k / sum_{k <= j} c_kq p_k)``.  If all classes above the
    boundary cost ``a_q`` and all below it ``b_q``, this is ``logit P(y > j) + log(a_q / b_q)``.
    Returned are ``log(a_q / b_q)`` (Q,), or ``None`` if costs differ on a side, or are 0.
    """
    return _offsets(tuple(map(tuple, np.asarray(costs, dtype=np.float64).tolist())))


@lru_cache(maxsize=512)  # many fits share their costs
def _offsets(rows: tuple[tuple[float, ...], ...]) -> Floats | None:
    costs = np.array(rows)
    K, Q = costs.shape
    q = np.arange(Q)
    j = q // (Q // (K - 1))  # the class just below each boundary
    above, below = costs[j + 1, q], costs[j, q]
    level = np.where(np.arange(K)[:, None] > j, above, below)
    if not ((level > 0).all() and (np.abs(costs - level) <= 1e-9 * level).all()):
        return None
    found = np.log(above) - np.log(below)
    found.flags.writeable = False
    return found


def boundary_posteriors(logits: Floats, *, rejects: bool) -> Floats:
    """Posteriors (n, K) from estimates (n, Q) of ``logit P(y > j)``, one or two for each ``j``.

    Two estimates, at the two edges of a reject region, are averaged.  Crossing ones are sorted.
    """
    f = np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)
    f = -np.sort(-middle_scores(f, rejects=rejects) / (2 if rejects else 1), axis=1)
    p = np.empty((len(f), f.shape[1] + 1))
    p[:, 0], p[:, -1] = expit(-f[:, 0]), expit(f[:, -1])
    # expit(f_j) - expit(f_j+1), without the cancellation
    p[:, 1:-1] = expit(f[:, :-1]) * expit(-f[:, 1:]) * -np.expm1(np.diff(f, axis=1))
    return p / p.sum(axis=1, keepdims=True)


def boundary_posteriors_to_onnx(graph: Any, odds: str, n_classes: int, *, rejects: bool) -> str:
    """The same as :func:`boundary_posteriors`, in an ONNX graph."""
    f = graph.add("Clip", odds, np.array(-LARGEST_LOGIT), np.array(LARGEST_LOGIT))
    m = n_classes - 1
    if rejects:
        f = graph.add("Reshape", f, np.array([-1, m, 2]))
        f = graph.add("ReduceMean", f, axes=[2], keepdims=0)
    if m == 1:
        return str(graph.two_columns(graph.add("Sigmoid", f)))
    f = graph.falling(f, m)
    above = graph.add("Sigmoid", f)
    below = graph.add("Sigmoid", graph.add("Neg", f))
    low, high = np.arange(m - 1), np.arange(1, m)
    pick = partial(graph.add, "Gather", axis=1)
    gap = graph.add("Exp", graph.add("Sub", pick(f, high), pick(f, low)))
    middle = graph.add("Mul", pick(above, low), pick(below, high))
    middle = graph.add("Mul", middle, graph.add("Sub", np.array(1.0), gap))
    p = graph.add(
        "Concat", pick(below, np.array([0])), middle, pick(above, np.array([m - 1])), axis=1
    )
    total = graph.add("ReduceSum", p, np.array([1]), keepdims=1)
    return str(graph.add("Div", p, total))


LARGEST_OFFSET = 1500.0  # the logarithm of the largest number over the smallest


OFFSETS = optional(maybe(floats("Q", low=-LARGEST_OFFSET, high=LARGEST_OFFSET)))
declare(
    PosteriorsMixin,
    {"_odds_offsets": OFFSETS},
)
