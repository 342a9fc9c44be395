"""From a target to a model that cases which nobody has looked at prove to meet it.

The candidates, and an order to test them in, are settled before the calibration cases are seen.
Each is tested at the full confidence, and the first that fails is the last that is tested: so all
that passed meet the target at once, with that confidence, and any of them may be chosen
(fixed-sequence testing; Angelopoulos et al., Learn then Test).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import _safe_split

from rejo._typing import Indices
from rejo.estimators.classes import class_indices
from rejo.estimators.pipelines import final_classifier
from rejo.metrics import tally
from rejo.selection.crossfit import (
    CrossFit,
    cut_curve,
    cut_outcomes,
    cuts_of,
    relative_price,
    with_cut,
)
from rejo.selection.cuts import likely_limits, share_cuts, unattainable
from rejo.selection.folds import by_posteriors, candidate, check_rejects, split_cases
from rejo.selection.guarantee import Guarantee, sequential_bounds, simultaneous_bounds
from rejo.selection.outcomes import look
from rejo.selection.path import fold_curve
from rejo.selection.search import (
    Found,
    Request,
    at_prices,
    choose,
    estimate_rates,
    judge_costs,
    points_curve,
    tune,
)

SHARES = np.linspace(0.0, 1.0, 201)  # of reviews, at which a model may be cut


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


class Candidates(NamedTuple):
    """What may be proved, settled before the calibration cases are seen."""

    costs: list[float]  # ascending
    cuts: list[float | None]  # in the ranking by worth
    params: list[dict[str, Any]]
    decision: Indices  # (n_candidates, n_calibration)
    order: Indices | None  # in which they are tested; None: all at once
    model: Callable[[int], Any]  # returns one of them, fitted
    crossfit: CrossFit | None  # posteriors of the cases that they learned from, out of fold


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
    if by_posteriors(request.estimator):
        tried = _cut_candidates(part, X_new, confidence)
    else:
        tried = _path_candidates(part, X_new)
    found = tally(tried.decision.T, request.k[test])  # counts (n_candidates,)
    none = np.zeros(len(test), dtype=np.intp)
    curve = fold_curve(tried.costs, tried.decision, request.k[test], none)
    target = request.target
    bad = found.wrong if target.limits_errors else found.rejected
    total = found.decided if target.rate == "accepted_error_rate" else found.total
    if tried.order is None:
        bounds = simultaneous_bounds(bad, total, confidence)
        first = int(bounds.argmin())
    else:
        bounds = sequential_bounds(bad, total, tried.order, target.limit + 1e-12, confidence)
        first = int(tried.order[0])
    if bounds[first] > target.limit + 1e-12:
        fewer = "fewer reject_costs, " if tried.order is None else ""
        raise unattainable(
            target, float(bounds[first]), float(curve.rejection_rate[first]),
            f"with {100 * confidence:g} % confidence, from {len(test)} calibration cases and "
            f"{len(bounds)} candidates,",
            f"Raise it, or give more cases, {fewer}or less confidence.",
            reject_cost=tried.costs[first],
        )  # fmt: skip
    best = choose(target, bounds, curve)
    cost, cut, params = tried.costs[best], tried.cuts[best], tried.params[best]
    proof = float(bounds[best]), target.limit, confidence, int(total[best]), len(bounds)
    held_out = float(curve.rejection_rate[best]), float(curve.error_rate[best]), len(test)
    # The calibration cases chose it.  If the target was barely met, they were kinder to it than
    # new cases will be: the cases that it learned from say what to expect, in folds.
    if tried.crossfit is not None and cut is not None:
        own = cut_curve(tried.crossfit, part.ranking_prices, [cut])
        estimates = estimate_rates(part, own, 0, tried.crossfit, cut, held_out=held_out)
    else:
        part = replace(part, estimator=candidate(request.estimator, params), param_grid=None)
        judged, _ = judge_costs(part, [cost])
        own = points_curve(judged.tested([0]), judged)
        estimates = estimate_rates(part, own, 0, held_out=held_out)
    return Found(
        tried.model(best), params, cost, cut, curve, None, best,
        *estimates, Guarantee(str(target.rate), *proof),
    )  # fmt: skip


def _path_candidates(request: Request, X: Any) -> Candidates:
    """A fit for each reject cost; they decide other cases.

    The higher the reject cost the fewer reviews, so a budget is tested from the highest down.
    Which of them is surest to keep an allowed error nobody knows.
    """
    costs, name = request.candidates(), check_rejects(request.estimator)
    points, best = request.points, [0] * len(costs)
    if len(points) > 1:
        _, best = judge_costs(request, costs)
    models = [
        candidate(request.estimator, points[i], {name: cost}).fit(request.X, request.y)
        for cost, i in zip(costs, best, strict=True)
    ]
    decision = np.array([look(model, X, request.classes).decision[0] for model in models])
    order = None if request.target.limits_errors else np.arange(len(costs))[::-1]
    params = [points[i] for i in best]
    return Candidates(costs, [None] * len(costs), params, decision, order, models.__getitem__, None)


def _cut_candidates(request: Request, X: Any, confidence: float) -> Candidates:
    """One fit, and cuts in its ranking of other cases, by the shares of reviews out of fold."""
    prices, target = request.ranking_prices, request.target
    splits = split_cases(request.cv, request.X, request.y, request.groups)
    crossfit, params = tune(request, splits)
    model = candidate(request.estimator, params).fit(request.X, request.y)
    known = class_indices(final_classifier(model).classes_, request.classes)
    own = model.predict_proba(X)
    p = np.zeros((len(own), len(request.classes)))
    p[:, known] = own
    ranking = cuts_of(crossfit, prices, smooth=target.limits_errors)
    if request.reject_costs is None:
        cuts = ranking.cut[share_cuts(ranking, SHARES)]
    else:
        error = prices[:, :-1].sum() / (len(prices) * (len(prices) - 1))
        cuts = np.array(request.candidates()) * error - prices[:, -1].mean()
    if request.prices is not None:  # the limit counts where prices would not keep it
        cuts = np.minimum(cuts, 0.0) if target.limits_errors else np.maximum(cuts, 0.0)
    cuts = np.unique(cuts)  # from many reviews to few
    order = np.arange(len(cuts))
    if target.limits_errors:  # from the likeliest to be proved
        place = np.searchsorted(-ranking.cut, -cuts).clip(max=len(ranking.cut) - 1)
        likely = likely_limits(ranking, str(target.rate), len(own), confidence)[place]
        order = order[int(likely.argmin()) :]
    else:  # from no reviews
        order = order[::-1]
    none = np.zeros(len(p), dtype=np.intp)
    points = cut_outcomes(CrossFit(p, none, request.classes, none), prices, cuts.tolist())
    return Candidates(
        [relative_price(with_cut(prices, cut)) for cut in cuts.tolist()], cuts.tolist(),
        [params] * len(cuts), np.array([point.decision for point in points]), order,
        lambda i: at_prices(model, with_cut(prices, float(cuts[i]))), crossfit,
    )  # fmt: skip
