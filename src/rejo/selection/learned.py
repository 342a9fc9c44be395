"""A learner, and the ranking of the cases that it learned from, out of fold."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from rejo._typing import Floats, Indices
from rejo.decisions import TIE
from rejo.estimators import class_indices, final_classifier, judge
from rejo.selection.chances import chance_wrong
from rejo.selection.crossfit import CrossFit, most_worth, relative_price, with_cut
from rejo.selection.folds import by_posteriors, candidate, check_rejects, split_cases
from rejo.selection.outcomes import Outcomes, OutOfFold
from rejo.selection.ranked import Ranked, doubt_by_sureness, rank, sureness_limit
from rejo.selection.search import (
    Fit,
    Request,
    at_prices,
    at_sureness,
    best_points,
    choose,
    judge_costs,
    points_curve,
    tune,
)


class Learned(NamedTuple):
    """A fitted learner, and the ranking of the cases that it learned from, out of fold."""

    model: Any
    params: dict[str, Any]  # chosen from the grid
    own: Ranked
    rows: Indices  # (n,) which of the cases these are
    y: Indices  # (n,) their classes
    fold: Indices  # (n,)
    chance: Floats  # (n,) that the decision without a review is wrong, as a smooth curve has it
    ends: tuple[float, float]  # cuts that review as little as possible, and everything
    tie: float  # doubts that differ by less are equal
    prices: Floats | None  # (K, K + 1) by which it ranks; None without posteriors
    reject_cost: float  # that it was fitted for; NaN with posteriors
    crossfit: CrossFit | None = None  # posteriors of the same cases

    @property
    def price_cut(self) -> float:
        """The cut at the prices themselves: what is worth a review, or what is rejected."""
        return 0.0 if self.prices is not None else 1.0 + 1e-12

    def rank(self, X: Any, classes: Any) -> Ranked:
        """Rank other cases."""
        model = self.model if self.prices is None else at_prices(self.model, self.prices)
        known = class_indices(final_classifier(model).classes_, classes)
        return rank(judge(model, X), known)._replace(slack=self.own.slack)

    def at(self, cut: float) -> Any:
        """The fitted model at a cut."""
        if self.prices is not None:
            return at_prices(self.model, with_cut(self.prices, cut))
        return at_sureness(self.model, *sureness_limit(cut))

    def cost(self, cut: float) -> float:
        """Price of a review to which a cut amounts, or that the model was trained for."""
        return (
            self.reject_cost if self.prices is None else relative_price(with_cut(self.prices, cut))
        )


def learn(request: Request, fit: Fit) -> Learned:
    """Cross-fit, and fit on all cases of the request; ``fit`` fits a model on them."""
    if not by_posteriors(request.estimator):
        return learned_boundaries(request, judge_costs(request, costs_of(request)), fit)
    splits = split_cases(request.cv, request.X, request.y, request.groups)
    crossfit, params = tune(request, splits)
    rows = np.concatenate([test for _, test in splits])
    return learned_posteriors(request, crossfit, params, rows, fit)


def learned_posteriors(
    request: Request, crossfit: CrossFit, params: dict[str, Any], rows: Indices, fit: Fit
) -> Learned:
    """A learner by posteriors, from those of the cases ``rows`` (n,)."""
    prices = request.ranking_prices
    found = crossfit.decided(prices)
    doubt = 1.0 - np.take_along_axis(crossfit.p, found.forced[:, None], axis=1)[:, 0]
    scale = float(np.abs(prices).max())
    return Learned(
        fit(candidate(request.estimator, params)), params,
        Ranked(found.worth, found.forced, TIE * scale),
        rows, crossfit.y, crossfit.fold,
        chance_wrong(doubt, found.forced != crossfit.y, crossfit.weight),
        (most_worth(prices), -float(prices[:, -1].max())), 1e-9 * scale, prices, np.nan,
        crossfit,
    )  # fmt: skip


def costs_of(request: Request) -> list[float]:
    """Reject costs at which a learner without posteriors is tried."""
    if request.target.rate is None and request.prices is not None:
        return [relative_price(request.prices)]
    return request.candidates()


def learned_boundaries(request: Request, judged: OutOfFold, fit: Fit) -> Learned:
    """A learner that is trained for one reject cost: the one that comes closest to the target."""
    target, costs = request.target, judged.reject_costs
    best = best_points(judged)
    points, chosen = judged.tested(best), 0
    if len(costs) > 1:
        curve = points_curve(points, judged)
        limits = getattr(curve, str(target.rate or "rejection_rate"))
        chosen = choose(target, limits, curve)
    point, params = points[chosen], request.points[best[chosen]]
    doubt = _doubt_of(point)
    place = rankdata(-np.where(np.isinf(doubt), 3.0, doubt))  # 1: the first to be reviewed
    wrong = point.forced != judged.y
    model = candidate(request.estimator, params, {check_rejects(request.estimator): costs[chosen]})
    return Learned(
        fit(model), params, Ranked(doubt, point.forced), judged.cases, judged.y, judged.fold,
        chance_wrong(0.5 - (place - 0.5) / (2 * len(place)), wrong, judged.weight),
        (2.5, 0.0), 1e-12, None, costs[chosen],
    )  # fmt: skip


def _doubt_of(point: Outcomes) -> Floats:
    doubt = doubt_by_sureness(point.decision, point.sureness)
    kind = getattr(point, "kind", None)
    return doubt if kind is None else np.where(kind > 0, np.inf, doubt)
