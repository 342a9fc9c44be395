"""A cell of the suite: a family of methods on one split, tuned, fitted and tried at all costs.

A family is a learner and the rivals around its ordinary classifier. Every method is tuned by the
folds of the training part, on its grid in the catalogue. What decides by posteriors is tuned by log
loss and fitted once; all others are tuned and fitted for each reject cost, by the cost.
``TUNED_ONCE`` names those that would take too long: they are tuned for one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo import metrics
from rejo.catalogue import METHODS, ProblemSize
from rejo.decisions import decide, uniform_prices
from rejo.replication import loss_from_costs, replica_costs
from rejo.selection import candidate, choose_model, fit_path, judge_fold
from rejo.tables import TableEncoder
from studies.run import Floats, Indices, Row
from studies.splits import Parts, group_folds
from studies.suite import AUTO, BUDGETS, DECIDE_ALL, MEASURES

TUNED_ONCE = ("embedded",)
LONGEST = 300  # characters of a reason
LEAST = 1e-15  # posterior; lower ones count as this in a log loss
OF_THE_MACHINE = (MemoryError, OSError, ImportError)  # and not of a method or its data

Point = Mapping[str, Any]  # of a grid


class Tried(NamedTuple):
    """What a method made of the test part at one reject cost."""

    decision: Indices  # (n_test,) -1: rejected
    forced: Indices  # (n_test,) decision without rejection
    lower: Indices  # (n_test,) lower of the two neighbouring classes that it lies between
    sureness: Floats  # (n_test,)
    params: Point
    seconds: float  # of all reject costs together, these add up to the time of the method


def try_family(
    methods: Sequence[str], parts: Parts, costs: Sequence[float], tuning_cost: float
) -> Iterator[Row]:
    """Yield a row for each method and reject cost; one with a ``problem`` if the method fails.

    Errors of the machine, such as too little memory or a package that is missing, are raised.
    """
    # More threads do not help with so few rows, and would sum in another order.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points that do not converge, rare classes, and so on
        for name in methods:
            try:
                if name == AUTO:
                    tried = run_auto(parts, costs)
                else:
                    tried = run_method(name, parts, costs, tuning_cost)
                rows = [
                    {"method": name, "reject_cost": w, **measured(found, parts, w)}
                    for w, found in zip(costs, tried, strict=True)
                ]
            except OF_THE_MACHINE:  # the cell fails, and the next run tries it again
                raise
            except Exception as error:  # of one method: the others go on
                yield from failed(name, costs, f"{type(error).__name__}: {error}")
                continue
            yield from rows
            for w, found in zip(costs, tried, strict=True) if name == AUTO else ():
                # It takes no time of its own: that of the choice counts for auto.
                everything = found._replace(decision=found.forced, seconds=0.0)
                yield {"method": DECIDE_ALL, "reject_cost": w, **measured(everything, parts, w)}


def failed(method: str, costs: Sequence[float], problem: str) -> Iterator[Row]:
    """Yield the rows of a method that could not be fitted."""
    for w in costs:
        row = {"method": method, "reject_cost": w, **dict.fromkeys(MEASURES), "seconds": 0.0}
        yield row | {"params": "{}", "problem": " ".join(problem.split())[:LONGEST]}


def run_method(name: str, parts: Parts, costs: Sequence[float], tuning_cost: float) -> list[Tried]:
    """Tune, fit and try a method of the catalogue, at each reject cost."""
    clock = _Clock()
    built = METHODS[name].build(parts.problem)
    model = clone(built.estimator)
    folds = group_folds(parts)
    if folds is not None and "cv" in model.get_params(deep=False):
        model.set_params(cv=folds)
    points = list(ParameterGrid(built.grid))
    if not model.decides_by_posteriors:
        if name in TUNED_ONCE:
            tuned = _tuned(model, points, parts, [tuning_cost]) * len(costs)
        else:
            tuned = _tuned(model, points, parts, costs)
        shared = clock.lap() / len(costs)
        return [
            found._replace(seconds=found.seconds + shared)
            for found in _fitted_for(model, tuned, parts, costs, clock)
        ]
    chosen = by_log_loss(model, points, parts) if len(points) > 1 else points[0]
    fitted = candidate(model, chosen).fit(parts.whole.X, parts.y)
    p = fitted.predict_proba(parts.whole.X_test)
    return _by_prices(p, costs, chosen, clock.lap() / len(costs))


def _tuned(
    model: Any, points: Sequence[Point], parts: Parts, costs: Sequence[float]
) -> list[Point]:
    """Return the point of the grid with the lowest cost in the folds, for each reject cost."""
    scores = np.zeros((len(points), len(costs), len(parts.folds)))
    for i, point in enumerate(points if len(points) > 1 else ()):
        for f, fold in enumerate(parts.folds):
            for c, fitted in enumerate(fit_path(candidate(model, point), costs, fold.fold)):
                scores[i, c, f] = fitted.score(fold.X_test, fold.y_test)
    return [points[i] for i in scores.mean(axis=2).argmax(axis=0)]


def _fitted_for(
    model: Any, tuned: Sequence[Point], parts: Parts, costs: Sequence[float], clock: _Clock
) -> list[Tried]:
    """Fit for each reject cost at its point; those that share a point are fitted as a path."""
    found: dict[float, Tried] = {}
    for point in {repr(point): point for point in tuned}.values():
        some = [w for w, own in zip(costs, tuned, strict=True) if own == point]
        fits = fit_path(candidate(model, point), some, parts.whole.fold)
        for w, fitted in zip(some, fits, strict=True):
            judged = fitted.judge(parts.whole.X_test)
            found[w] = _tried(judged, point)._replace(seconds=clock.lap())
    return [found[w] for w in costs]


def run_auto(parts: Parts, costs: Sequence[float]) -> list[Tried]:
    """Try what ``rejo train`` would choose, at each reject cost."""
    clock, K = _Clock(), parts.problem.n_classes
    choice = choose_model(
        TableEncoder(), parts.X, parts.y, prices=[uniform_prices(K, w) for w in costs],
        class_order=list(range(K)), ordered=parts.problem.ordered, groups=parts.groups,
        random_state=parts.problem.random_state,
    )  # fmt: skip
    params = {"model": choice.name, **choice.chosen.params}
    p = choice.estimator.fit(parts.X, parts.y).predict_proba(parts.X_test)
    return _by_prices(p, costs, params, clock.lap() / len(costs))


def _tried(judged: Any, params: Point) -> Tried:
    return Tried(judged.decision, judged.forced, judged.lower, judged.sureness, params, 0.0)


def _by_prices(p: Floats, costs: Sequence[float], params: Point, seconds: float) -> list[Tried]:
    """Decide by posteriors (n_test, K) at each reject cost."""
    tried = []
    for w in costs:
        found = decide(p, uniform_prices(p.shape[1], w))
        sureness = np.maximum(1.0 - found.worth, 0.0)
        tried.append(Tried(found.decision, found.forced, found.lower, sureness, params, seconds))
    return tried


def measured(tried: Tried, parts: Parts, reject_cost: float) -> Row:
    """Return the measures of a row: of the decisions, and of the ranking by sureness."""
    problem: ProblemSize = parts.problem
    y, wrong = parts.y_test, tried.forced != parts.y_test
    output = np.where(tried.decision >= 0, 2 * tried.decision, 2 * tried.lower + 1)
    loss = loss_from_costs(replica_costs(problem.n_classes, reject_cost=reject_cost))[y, output]
    found, ranked = metrics.tally(tried.decision, y), (y, tried.forced, tried.sureness)
    return {
        "R": float(found.rejection_rate),
        "E": float(found.error_rate),
        "risk": float(found.risk(reject_cost)),
        "ordinal_risk": float(loss.mean()) if problem.ordered else None,
        "forced_E": float(wrong.mean()),
        "auarc": metrics.auarc(*ranked),
        "augrc": metrics.augrc(*ranked),
        "aurc": metrics.aurc(*ranked),
        **{name: error_within(wrong, tried.sureness, b) for name, b in BUDGETS.items()},
        "seconds": tried.seconds,
        "params": json.dumps(dict(tried.params)),
        "problem": None,
    }


def error_within(wrong: Any, sureness: Floats, budget: float) -> float:
    """Errors among the decided cases, if the least sure share of all cases is reviewed.

    Cases of equal sureness at the edge count by the share of them that is decided: the mean over
    all ways to choose among them.

    >>> wrong, sureness = np.array([1, 0, 1, 0]), np.array([0.1, 0.5, 0.5, 0.9])
    >>> [error_within(wrong, sureness, budget) for budget in (0, 0.25, 0.5)]
    [0.5, 0.3333333333333333, 0.25]
    """
    n = len(sureness)
    n_decided = n - round(budget * n)
    if n_decided == 0:
        return 0.0
    edge = np.sort(sureness)[n - n_decided]  # the least sure that is decided
    above, level = sureness > edge, sureness == edge
    share = (n_decided - above.sum()) / level.sum()
    return float((np.sum(wrong[above]) + share * np.sum(wrong[level])) / n_decided)


def by_log_loss(model: Any, points: Sequence[Point], parts: Parts) -> Point:
    """Return the point of the grid with the lowest log loss of all test parts together."""
    losses, classes = np.zeros(len(points)), np.arange(parts.problem.n_classes)
    for part in parts.folds:
        found = judge_fold(model, points, part.fold, classes, costs=None, posteriors=True)
        for i, (cases,) in enumerate(found):
            assert cases.p is not None
            right = cases.p[np.arange(len(part.y_test)), part.y_test]
            losses[i] += -np.log(np.maximum(right, LEAST)).sum()
    return points[int(np.argmin(np.round(losses / len(parts.y), 9)))]


class _Clock:
    """Seconds since the last lap."""

    def __init__(self) -> None:
        self._last = perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, perf_counter()
        return self._last - before
