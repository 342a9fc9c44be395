"""From a target to a fitted model: by one cross-fit, or by a fit for each reject cost.

A posterior does not depend on prices: cross-fit once, and every target is a cut in the ranking by
what a review is worth (:func:`search_cut`).  Other learners are trained for one reject cost and
fitted at each of several; the one that comes closest to the target then reviews more, or fewer,
cases along its own ranking (:func:`search_path`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from rejo._typing import Floats, Indices, Labels
from rejo.baselines import with_last
from rejo.decisions import uniform_prices
from rejo.metrics import tally
from rejo.selection.crossfit import (
    CrossFit,
    cut_curve,
    cut_outcomes,
    cuts_of,
    fit_folds,
    log_losses,
    mean_costs,
    relative_price,
    with_cut,
)
from rejo.selection.cuts import (
    CutRanking,
    Margin,
    cut_decision,
    find_cut,
    limit_at,
    luck_of,
    margin_of,
    refuse_budget,
    share_cuts,
    sureness_cuts,
)
from rejo.selection.expected import effective_sizes, independent_cases, learning_drift
from rejo.selection.folds import (
    REJECT_COSTS,
    by_posteriors,
    candidate,
    check_reject_costs,
    check_rejects,
    fit_weighted,
    highest_reject_cost,
    last_step,
    split_cases,
    tests_once,
)
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.guarantee import Guarantee
from rejo.selection.outcomes import Outcomes, OutOfFold, judge_folds
from rejo.selection.path import RejectCurve, fold_curve
from rejo.selection.rate_limits import Limit
from rejo.selection.summary import MeanCosts
from rejo.selection.target import Target

#: Reject costs from which a search starts, for learners that are trained for one reject cost.  At
#: 1/2, the two edges of a learned reject region are one, and nothing is rejected.
CANDIDATES = (0.02, *REJECT_COSTS, 0.5)
SHARES = np.linspace(0.0, 1.0, 101)  # of reviews, at which outcomes are kept
Fit = Callable[[Any], Any]  # from a model to the same model, fitted


@dataclass(frozen=True)
class Request:
    """What is asked for, and the cases to learn from."""

    estimator: Any
    X: Any
    y: Any
    classes: Labels  # (K,)
    k: Indices  # (n,) y as indices
    weight: Floats | None
    groups: Any
    target: Target
    prices: Floats | None  # (K, K + 1) if they are known
    reject_costs: Any  # None: the default candidates
    param_grid: Any
    cv: Any
    n_jobs: int | None
    limits: Sequence[Limit] = ()  # all of them; the target is the first
    group: Indices | None = None  # (n,) to promise by
    group_names: Sequence[str] = ()
    time: Any = None  # (n,) rising; the latest cases are held out
    small_groups: str = "error"
    apart: bool = False  # whether these cases are not those that the model learns from

    @property
    def points(self) -> list[dict[str, Any]]:
        """Parameters to try."""
        return list(ParameterGrid(self.param_grid or {}))

    @property
    def ranking_prices(self) -> Floats:
        """Prices (K, K + 1) by which cases are ranked; without any, every error counts alike."""
        return uniform_prices(len(self.classes), 0.0) if self.prices is None else self.prices

    @property
    def cases(self) -> float:
        """Number of independent cases that these are worth."""
        return independent_cases(len(self.k), self.weight, self.groups)

    def candidates(self) -> list[float]:
        """Reject costs to choose from."""
        highest = highest_reject_cost(len(self.classes), by_posteriors(self.estimator))
        if self.reject_costs is None:
            return [2 * highest * cost for cost in CANDIDATES]
        return check_reject_costs(self.reject_costs, highest)


class Found(NamedTuple):
    """A fitted model at its operating point."""

    model: Any
    params: dict[str, Any]  # chosen from the grid
    reject_cost: float  # that it was fitted for, or to which the cut amounts
    cut: float | None  # in the ranking by worth
    curve: RejectCurve  # rates at several operating points
    outcomes: list[Outcomes] | None  # at the same points
    chosen: int  # which of them it is
    rates: tuple[float, float]  # estimated shares of rejections and of errors
    sizes: tuple[float, float]  # number of independent cases behind each of these
    guarantees: Sequence[Guarantee] = ()
    policy: GroupPolicy | None = None
    costs: MeanCosts | None = None  # at the prices that were given
    margin: Margin | None = None  # to be surer of an allowed error


def outcome_costs(
    decision: Indices, forced: Indices, y: Indices, weight: Floats | None, prices: Floats | None
) -> MeanCosts | None:
    """What cases cost as they are decided, if all are reviewed, and if all are decided."""
    if prices is None:
        return None
    ways = decision, np.full(len(y), -1), forced  # -1 is the last column
    return MeanCosts(*(float(np.average(prices[y, way], weights=weight)) for way in ways))


def _point_costs(point: Outcomes, *cases: Any) -> MeanCosts | None:
    return outcome_costs(point.decision, point.forced, *cases)


def estimate_rates(
    request: Request, curve: RejectCurve, chosen: int, crossfit: CrossFit | None = None,
    cut: float | None = None, error_rate: float | None = None, **how: Any,
) -> tuple[tuple[float, float], tuple[float, float]]:  # fmt: skip
    """Estimate the rates of a point of the curve over folds, and what the estimates are worth.

    The ``error_rate`` replaces the counted one, if that chose the point.
    """
    if error_rate is None:
        error_rate = float(curve.error_rate[chosen])
    rates = float(curve.rejection_rate[chosen]), error_rate
    if request.apart:  # chance in the cases, and nothing else
        return rates, (request.cases, request.cases / (1.0 + how.get("luck", 0.0)))
    total = len(request.k) if request.weight is None else float(request.weight.sum())
    drift = None
    if crossfit is not None and cut is not None:
        share = 1.0 - float(curve.sizes.mean()) / total
        drift = learning_drift(crossfit, request.ranking_prices, cut, share)
    tested = float(curve.sizes.sum()) / total
    sizes = effective_sizes(curve, chosen, request.cases, tested=tested, drift=drift, **how)
    return rates, sizes


def fit_on(request: Request) -> Fit:
    """Return a function that fits a model on all cases of a request."""
    return lambda model: fit_weighted(model, request.X, request.y, request.weight)


# ---- posteriors ---------------------------------------------------------------------------


def search_cut(request: Request, crossfit: CrossFit | None = None, fit: Fit | None = None) -> Found:
    """Find the cut that meets the target out of fold, and fit the model on all cases.

    A ``crossfit`` that exists already saves the folds, and ``fit`` may return a model that is
    fitted already.
    """
    params: dict[str, Any] = {}
    once = True
    if crossfit is None:
        splits = split_cases(request.cv, request.X, request.y, request.groups)
        crossfit, params = tune(request, splits)
        once = tests_once(splits, len(request.k))
        if once:
            place = np.argsort(np.concatenate([test for _, test in splits]))
            crossfit = crossfit.take(place)
    else:
        _check_crossfit(crossfit, request)
    prices, target = request.ranking_prices, request.target
    cuts = cuts_of(crossfit, prices, smooth=target.limits_errors)
    cut, kept = 0.0, cuts.cut[share_cuts(cuts, SHARES)]
    error_rate = None
    if target.rate is not None:
        at = find_cut(cuts, target)
        cut = float(cuts.cut[at])
        if target.limits_errors:
            error_rate = float(cuts.error_rate[at])
        if request.prices is not None:  # the limit counts where prices would not keep it
            cut = min(cut, 0.0) if target.limits_errors else max(cut, 0.0)
            error_rate = error_rate if cut < 0 else None
    kept = np.unique(np.append(kept, cut))
    margin = margin_of(cuts, target, request.cases)
    points = cut_outcomes(crossfit, prices, kept)
    curve = cut_curve(crossfit, prices, kept.tolist())
    chosen = int(np.flatnonzero(kept == cut)[0])
    model = (fit or fit_on(request))(candidate(request.estimator, params))
    model = at_prices(model, with_cut(prices, cut))
    return Found(
        model, params, points[chosen].reject_cost, cut, curve, points if once else None, chosen,
        *estimate_rates(request, curve, chosen, crossfit, cut, error_rate, luck=luck_of(margin)),
        costs=_point_costs(points[chosen], crossfit.y, crossfit.weight, request.prices),
        margin=margin,
    )  # fmt: skip


def at_prices(model: Any, prices: Floats) -> Any:
    """Return a copy of a fitted model that decides at these prices and shares its parts."""
    return with_last(model, last_step(model).at(prices=prices))


def last_at(model: Any, reject_cost: float) -> Any:
    """Return a copy of a fitted model that decides at this reject cost; itself, if it does so."""
    last = last_step(model)
    if last.reject_cost_ == reject_cost:
        return model
    return with_last(model, last.at(reject_cost))


def tune(request: Request, splits: Any) -> tuple[CrossFit, dict[str, Any]]:
    """Cross-fit every point of the grid; choose by what cases cost or, without prices, log loss."""
    points = request.points
    fits = fit_folds(
        request.estimator, request.X, request.y, splits,
        grid=points, sample_weight=request.weight, n_jobs=request.n_jobs,
    )  # fmt: skip

    def loss(found: CrossFit) -> float:
        if request.target.rate is None and request.prices is not None:
            losses = mean_costs(found, request.prices)
        else:
            losses = log_losses(found)
        return round(float(np.average(losses, weights=found.weight)), 12)

    best = int(np.argmin([loss(found) for found in fits])) if len(fits) > 1 else 0
    return fits[best], points[best]


def _check_crossfit(crossfit: CrossFit, request: Request) -> None:
    """Refuse a cross-fit of other cases, or with other weights."""
    same = len(crossfit.y) == len(request.k) and np.array_equal(crossfit.y, request.k)
    if not (same and np.array_equal(crossfit.classes, request.classes)):
        raise ValueError("crossfit is not of these cases: its classes or its y differ.")
    one = np.ones(len(request.k))
    given, ours = (one if w is None else w for w in (crossfit.weight, request.weight))
    if not np.array_equal(given, ours):
        raise ValueError(
            "crossfit and sample_weight differ: give both cross_fit and fit the same sample_weight."
        )
    if request.param_grid is not None:
        raise ValueError("crossfit is of one estimator: leave param_grid out.")


# ---- learners that are trained for one reject cost ----------------------------------------


def search_path(request: Request, judged: OutOfFold | None = None, fit: Fit | None = None) -> Found:
    """Find the reject cost, and then the place in the ranking, that meets the target.

    Cases that are ``judged`` already save the folds; ``fit`` as in :func:`search_cut`.
    """
    target = request.target
    if judged is None:
        costs = [relative_price(request.prices)] if request.prices is not None else []
        judged = judge_costs(request, request.candidates() if target.rate else costs)
    costs, best = judged.reject_costs, best_points(judged)
    points = judged.tested(best)
    chosen, cut, error_rate, margin = 0, None, None, None  # the only one, if the price is given
    if target.rate is not None:
        curve = points_curve(points, judged)
        limits = getattr(curve, target.rate)
        chosen = choose(target, limits, curve)
        cut, points[chosen], error_rate, margin = _finish(
            points[chosen], judged, target, request.cases
        )
    params = request.points[best[chosen]]
    model = candidate(request.estimator, params, {check_rejects(request.estimator): costs[chosen]})
    model = (fit or fit_on(request))(model)
    if cut is not None:
        model = at_sureness(model, *cut)
    curve = points_curve(points, judged)
    return Found(
        model, params, costs[chosen], None, curve, judged.by_case(points), chosen,
        *estimate_rates(request, curve, chosen, error_rate=error_rate, luck=luck_of(margin)),
        costs=_point_costs(points[chosen], judged.y, judged.weight, request.prices),
        margin=margin,
    )  # fmt: skip


def judge_costs(request: Request, costs: list[float]) -> OutOfFold:
    """Judge all cases out of fold, at each point of the grid and each reject cost."""
    return judge_folds(
        request.estimator, request.X, request.y, costs,
        split_cases(request.cv, request.X, request.y, request.groups),
        grid=request.points, sample_weight=request.weight, n_jobs=request.n_jobs,
    )  # fmt: skip


def best_points(judged: OutOfFold) -> list[int]:
    """Index of the best point of the grid at each reject cost."""
    costs = np.array(judged.reject_costs)
    risk = [tally(point.decision.T, judged.y, judged.weight).risk(costs) for point in judged.points]
    found: list[int] = np.round(risk, 12).argmin(axis=0).tolist()  # of (n_points, n_costs)
    return found


def points_curve(points: list[Outcomes], judged: OutOfFold) -> RejectCurve:
    """Rates of each point over the folds."""
    decision = np.array([point.decision for point in points])
    return fold_curve(judged.reject_costs, decision, judged.y, judged.fold, judged.weight)


def _finish(
    point: Outcomes, judged: OutOfFold, target: Target, cases: float
) -> tuple[tuple[float, bool] | None, Outcomes, float | None, Margin | None]:
    """Move along the ranking to the target; the cut is None if the point is there already."""
    wrong, smooth = point.forced != judged.y, target.limits_errors
    if point.kind is not None:
        refuse_budget(target, float(np.average(point.kind > 0, weights=judged.weight)))
    cuts = sureness_cuts(point.decision, point.sureness, wrong, judged.weight, smooth=smooth)
    place = find_cut(cuts, target, stacklevel=5)
    error_rate = float(cuts.error_rate[place]) if smooth else None
    margin = margin_of(cuts, target, cases)
    cut = limit_at(float(cuts.cut[place]), point.decision, point.sureness)
    decision = cut_decision(point.decision, point.forced, point.sureness, *cut)
    if np.array_equal(decision < 0, point.decision < 0):
        return None, point, error_rate, margin
    return cut, replace(point, decision=decision, bands=None), error_rate, margin


def at_sureness(model: Any, limit: float, widen: bool) -> Any:
    """Return a copy of a fitted model that decides by a cut in its own ranking."""
    last = last_step(model)
    cut = CutRanking(estimator=clone(last), limit=limit, widen=widen)
    return with_last(model, cut.answer_for(last))


def choose(target: Target, limits: Floats, curve: RejectCurve) -> int:
    """Return the best of the candidates whose ``limits`` (n_costs,) are kept, else the closest."""
    R, E = curve.rejection_rate, curve.error_rate
    within = limits <= target.limit + 1e-12
    if not within.any():
        return int(np.nan_to_num(limits, nan=np.inf).argmin())
    keys = (R, E) if target.rate == "rejection_rate" else (E, R)  # the last one counts most
    return int(np.lexsort((*np.round(keys, 12), ~within))[0])
