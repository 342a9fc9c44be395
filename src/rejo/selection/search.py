"""From a target to a fitted model: by one cross-fit, or by a fit for each reject cost.

A posterior does not depend on prices: cross-fit once, and every target is a cut in the ranking by
what a review is worth (:func:`search_cut`).  Other learners are trained for one reject cost and
fitted at each of several; the one that comes closest to the target then reviews more, or fewer,
cases along its own ranking (:func:`search_path`).  With a confidence, some cases are held out to
prove one of a few candidates, which are settled before these cases are seen (:func:`prove`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import _safe_split

from rejo._typing import Floats, Indices, Labels
from rejo.decisions import uniform_prices
from rejo.estimators.classes import class_indices
from rejo.estimators.pipelines import final_classifier
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
    cut_decision,
    find_cut,
    limit_at,
    luck_of,
    share_cuts,
    sureness_cuts,
    unattainable,
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
    split_cases,
    tests_once,
)
from rejo.selection.guarantee import Guarantee, simultaneous_bounds
from rejo.selection.outcomes import Outcomes, OutOfFold, judge_folds, look
from rejo.selection.path import RejectCurve, fold_curve
from rejo.selection.summary import MeanCosts
from rejo.selection.target import Target

# At 1/2, the two edges of a learned reject region are one, and nothing is rejected.
CANDIDATES = (0.02, *REJECT_COSTS, 0.5)
SHARES = np.linspace(0.0, 1.0, 101)  # of reviews, at which outcomes are kept


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
    guarantee: Guarantee | None = None
    costs: MeanCosts | None = None  # at the prices that were given


def _mean_costs(
    point: Outcomes, y: Indices, weight: Floats | None, prices: Floats | None
) -> MeanCosts | None:
    """What cases cost as they are decided, if all are reviewed, and if all are decided."""
    if prices is None:
        return None
    ways = point.decision, np.full(len(y), -1), point.forced  # -1 is the last column
    return MeanCosts(*(float(np.average(prices[y, way], weights=weight)) for way in ways))


def _estimate(
    request: Request, curve: RejectCurve, chosen: int, crossfit: CrossFit | None = None,
    cut: float | None = None, **how: Any,
) -> tuple[tuple[float, float], tuple[float, float]]:  # fmt: skip
    """Estimate the rates of a point of the curve over folds, and what the estimates are worth."""
    total = len(request.k) if request.weight is None else float(request.weight.sum())
    drift = None
    if crossfit is not None and cut is not None:
        share = 1.0 - float(curve.sizes.mean()) / total
        drift = learning_drift(crossfit, request.ranking_prices, cut, share)
    tested = float(curve.sizes.sum()) / total
    sizes = effective_sizes(curve, chosen, request.cases, tested=tested, drift=drift, **how)
    return (float(curve.rejection_rate[chosen]), float(curve.error_rate[chosen])), sizes


# ---- posteriors ---------------------------------------------------------------------------


def search_cut(request: Request, crossfit: CrossFit | None = None) -> Found:
    """Find the cut that meets the target out of fold, and fit the model on all cases.

    This fits a model for each fold and point of the grid, and one on all cases.  A ``crossfit``
    that exists already saves the folds.
    """
    params: dict[str, Any] = {}
    once = True
    if crossfit is None:
        splits = split_cases(request.cv, request.X, request.y, request.groups)
        crossfit, params = _tune(request, splits)
        once = tests_once(splits, len(request.k))
        if once:
            place = np.argsort(np.concatenate([test for _, test in splits]))
            parts = crossfit.p[place], crossfit.fold[place]
            crossfit = CrossFit(*parts, crossfit.classes, request.k, request.weight)
    else:
        _check_crossfit(crossfit, request)
    prices = request.ranking_prices
    cuts = cuts_of(crossfit, prices)
    cut, kept = 0.0, cuts.cut[share_cuts(cuts, SHARES)]
    if request.target.rate is not None:
        cut = float(cuts.cut[find_cut(cuts, request.target)])
        if request.prices is not None:  # the limit counts where prices would not keep it
            budget = request.target.rate == "rejection_rate"
            cut = max(cut, 0.0) if budget else min(cut, 0.0)
    kept = np.unique(np.append(kept, cut))
    luck = luck_of(cuts, request.target, request.cases)
    points = cut_outcomes(crossfit, prices, kept)
    curve = cut_curve(crossfit, prices, kept.tolist())
    chosen = int(np.flatnonzero(kept == cut)[0])
    model = fit_weighted(candidate(request.estimator, params), request.X, request.y, request.weight)
    model = at_prices(model, with_cut(prices, cut))
    return Found(
        model, params, points[chosen].reject_cost, cut, curve, points if once else None, chosen,
        *_estimate(request, curve, chosen, crossfit, cut, luck=luck),
        costs=_mean_costs(points[chosen], crossfit.y, crossfit.weight, request.prices),
    )  # fmt: skip


def at_prices(model: Any, prices: Floats) -> Any:
    """Return a copy of a fitted model that decides at these prices and shares its parts."""
    if not isinstance(model, Pipeline):
        return model.at(prices=prices)
    found = copy(model)
    name, last = model.steps[-1]
    found.steps = [*model.steps[:-1], (name, last.at(prices=prices))]
    return found


def _tune(request: Request, splits: Any) -> tuple[CrossFit, dict[str, Any]]:
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


def search_path(request: Request) -> Found:
    """Find the reject cost, and then the place in the ranking, that meets the target."""
    target = request.target
    costs = [relative_price(request.prices)] if request.prices is not None else []
    costs = request.candidates() if target.rate else costs
    judged, best = _judge(request, costs)
    points = judged.tested(best)
    chosen, cut, luck = 0, None, 0.0  # the only candidate, if the price is given
    if target.rate is not None:
        curve = _curve(points, judged)
        limits = getattr(curve, target.rate)
        within = (limits <= target.limit + 1e-12).any()
        chosen = choose(target, limits, curve) if within else int(np.nanargmin(limits))
        cut, points[chosen], luck = _finish(points[chosen], judged, target, request.cases)
    params = request.points[best[chosen]]
    model = candidate(request.estimator, params, {check_rejects(request.estimator): costs[chosen]})
    if cut is not None:
        model = _with_cut(model, *cut)
    model = fit_weighted(model, request.X, request.y, request.weight)
    curve = _curve(points, judged)
    return Found(
        model, params, costs[chosen], None, curve, judged.by_case(points), chosen,
        *_estimate(request, curve, chosen, luck=luck),
        costs=_mean_costs(points[chosen], judged.y, judged.weight, request.prices),
    )  # fmt: skip


def _judge(request: Request, costs: list[float]) -> tuple[OutOfFold, list[int]]:
    """Judge all cases out of fold; the best point of the grid at each reject cost."""
    judged = judge_folds(
        request.estimator, request.X, request.y, costs,
        split_cases(request.cv, request.X, request.y, request.groups),
        grid=request.points, sample_weight=request.weight, n_jobs=request.n_jobs,
    )  # fmt: skip
    risk = [
        tally(point.decision.T, judged.y, judged.weight).risk(np.array(costs))
        for point in judged.points
    ]  # (n_points, n_costs)
    return judged, np.round(risk, 12).argmin(axis=0).tolist()


def _curve(points: list[Outcomes], judged: OutOfFold) -> RejectCurve:
    decision = np.array([point.decision for point in points])
    return fold_curve(judged.reject_costs, decision, judged.y, judged.fold, judged.weight)


def _finish(
    point: Outcomes, judged: OutOfFold, target: Target, cases: float
) -> tuple[tuple[float, bool] | None, Outcomes, float]:
    """Move along the ranking to the target; the cut is None if the point is there already."""
    wrong = point.forced != judged.y
    cuts = sureness_cuts(point.decision, point.sureness, wrong, judged.weight)
    place, luck = find_cut(cuts, target, stacklevel=5), luck_of(cuts, target, cases)
    cut = limit_at(float(cuts.cut[place]), point.decision, point.sureness)
    decision = cut_decision(point.decision, point.forced, point.sureness, *cut)
    if np.array_equal(decision < 0, point.decision < 0):
        return None, point, luck
    return cut, replace(point, decision=decision, bands=None), luck


def _with_cut(model: Any, limit: float, widen: bool) -> Any:
    """Let the last step decide by a cut in its ranking."""
    if not isinstance(model, Pipeline):
        return CutRanking(estimator=model, limit=limit, widen=widen)
    name, last = model.steps[-1]
    return model.set_params(**{name: CutRanking(estimator=last, limit=limit, widen=widen)})


# ---- guarantees ---------------------------------------------------------------------------


def hold_out(
    n_samples: int, size: float, random_state: Any, groups: Any = None
) -> tuple[Indices, Indices]:
    """Draw calibration cases; return the rows to learn from, and these.

    With ``groups``, whole groups are held out, and one case of each, drawn at random, is a
    calibration case: cases of one group may all be right or wrong together, and the bound is for
    independent cases.
    """
    # Not stratified: calibration cases chosen by the class shares of the others would not be
    # independent of the candidates, and the bound would not be exact.
    if groups is None:
        return train_test_split(np.arange(n_samples), test_size=size, random_state=random_state)
    rng = check_random_state(random_state)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    _, held = train_test_split(np.arange(len(names)), test_size=size, random_state=rng)
    mixed = rng.permutation(n_samples)
    _, first = np.unique(group[mixed], return_index=True)  # one row of each group
    return np.flatnonzero(~np.isin(group, held)), np.sort(mixed[first[held]])


def prove(request: Request, confidence: float, size: float, random_state: Any) -> Found:
    """Fit candidates on some of the cases, and accept one that the others prove."""
    train, test = hold_out(len(request.k), size, random_state, request.groups)
    if new := set(request.k[test].tolist()) - set(request.k[train].tolist()):
        label = request.classes.tolist()[min(new)]
        raise ValueError(
            f"class {label!r} is so rare that all its cases were drawn for calibration, so the "
            "model could not learn it. Give more cases of this class, leave it out, or lower "
            "calibration_size."
        )
    X_fit, y_fit = _safe_split(request.estimator, request.X, request.y, train)
    X_new, _ = _safe_split(request.estimator, request.X, request.y, test, train)
    groups = None if request.groups is None else np.asarray(request.groups)[train]
    part = replace(request, X=X_fit, y=y_fit, k=request.k[train], groups=groups)
    costs = request.candidates()
    candidates = _cut_candidates if by_posteriors(request.estimator) else _path_candidates
    models, params, decision, cuts = candidates(part, costs, X_new)
    found = tally(decision.T, request.k[test])  # counts (n_costs,)
    curve = fold_curve(costs, decision, request.k[test], np.zeros(len(test), dtype=np.intp))
    target = request.target
    bad = found.rejected if target.rate == "rejection_rate" else found.wrong
    total = found.decided if target.rate == "accepted_error_rate" else found.total
    bounds = simultaneous_bounds(bad, total, confidence)
    if not (bounds <= target.limit + 1e-12).any():
        best = int(np.where(np.isnan(bounds), np.inf, bounds).argmin())
        raise unattainable(
            target, float(bounds[best]), float(curve.rejection_rate[best]),
            f"with {100 * confidence:g} % confidence, from {len(test)} calibration cases and "
            f"{len(costs)} candidates,",
            "Raise it, or give more cases, fewer reject_costs, or less confidence.",
            reject_cost=costs[best],
        )  # fmt: skip
    best = choose(target, bounds, curve)
    proof = float(bounds[best]), target.limit, confidence, int(total[best]), len(costs)
    held_out = float(curve.rejection_rate[best]), float(curve.error_rate[best]), len(test)
    part = replace(part, estimator=candidate(request.estimator, params[best]), param_grid=None)
    return Found(
        models[best], params[best], costs[best], cuts[best], curve, None, best,
        *_estimate_apart(part, costs[best], cuts[best], held_out),
        Guarantee(str(target.rate), *proof),
    )  # fmt: skip


def _estimate_apart(
    request: Request, cost: float, cut: float | None, held_out: tuple[float, float, int]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Estimate the rates of an accepted candidate from the cases that it learned from, in folds.

    The calibration cases chose it.  If the target was barely met, they were kinder to it than new
    cases will be, and their rates are too low.
    """
    if cut is None:
        judged, _ = _judge(request, [cost])
        return _estimate(request, _curve(judged.tested([0]), judged), 0, held_out=held_out)
    splits = split_cases(request.cv, request.X, request.y, request.groups)
    crossfit, _ = _tune(request, splits)
    curve = cut_curve(crossfit, request.ranking_prices, [cut])
    return _estimate(request, curve, 0, crossfit, cut, held_out=held_out)


def _path_candidates(
    request: Request, costs: list[float], X: Any
) -> tuple[list[Any], list[dict[str, Any]], Indices, list[None]]:
    """A fit for each reject cost; their decisions (n_costs, n) on other cases."""
    name = check_rejects(request.estimator)
    points, best = request.points, [0] * len(costs)
    if len(points) > 1:
        _, best = _judge(request, costs)
    models = [
        candidate(request.estimator, points[i], {name: cost}).fit(request.X, request.y)
        for cost, i in zip(costs, best, strict=True)
    ]
    decision = np.array([look(model, X, request.classes).decision[0] for model in models])
    return models, [points[i] for i in best], decision, [None] * len(costs)


def _cut_candidates(
    request: Request, costs: list[float], X: Any
) -> tuple[list[Any], list[dict[str, Any]], Indices, list[float]]:
    """One fit, and a cut in the ranking of other cases for each reject cost."""
    params = request.points[0]
    if len(request.points) > 1:
        splits = split_cases(request.cv, request.X, request.y, request.groups)
        _, params = _tune(request, splits)
    model = candidate(request.estimator, params).fit(request.X, request.y)
    known = class_indices(final_classifier(model).classes_, request.classes)
    own = model.predict_proba(X)
    p = np.zeros((len(own), len(request.classes)))
    p[:, known] = own
    prices = request.ranking_prices
    K = len(prices)
    error = prices[:, :-1].sum() / (K * (K - 1))
    cuts = [float(cost * error - prices[:, -1].mean()) for cost in costs]
    none = np.zeros(len(p), dtype=np.intp)
    points = cut_outcomes(CrossFit(p, none, request.classes, none), prices, cuts)
    models = [at_prices(model, with_cut(prices, cut)) for cut in cuts]
    return models, [params] * len(costs), np.array([point.decision for point in points]), cuts


def choose(target: Target, limits: Floats, curve: RejectCurve) -> int:
    """Return the best of the candidates whose ``limits`` (n_costs,) are within the target."""
    R, E = curve.rejection_rate, curve.error_rate
    within = limits <= target.limit + 1e-12
    keys = (R, E) if target.rate == "rejection_rate" else (E, R)  # the last one counts most
    return int(np.lexsort((*np.round(keys, 12), ~within))[0])
