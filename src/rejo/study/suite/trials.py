"""A cell: a family of methods on one split of a table, tuned, fitted and tried at all costs.

A family is a learner and the rivals around its ordinary classifier, which share fits.  Every method
is tuned by the folds of the training part, on its grid in the catalogue.  What decides by
posteriors is tuned by log loss and fitted once; all others are tuned and fitted for each reject
cost, by the cost.  ``TUNED_ONCE`` names those that would take too long: they are tuned for one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo import metrics
from rejo._io import one_line
from rejo._typing import Floats, Indices
from rejo.catalogue import METHODS, ProblemSize
from rejo.decisions import uniform_prices
from rejo.estimators.posteriors import judge_posteriors
from rejo.replication import loss_from_costs, replica_costs
from rejo.selection.auto import Choice, choose_model
from rejo.selection.compared import DECIDE_ALL
from rejo.selection.folds import by_posteriors, candidate, fit_path
from rejo.selection.grids import Tuner, quiet
from rejo.selection.outcomes import look
from rejo.study.suite.sharing import FitMemory
from rejo.study.suite.table_splits import Parts, group_folds
from rejo.tables import TableEncoder

AUTO, BLEND = "auto", "blend"
BUDGETS = {"E05": 0.05, "E10": 0.1, "E20": 0.2, "E30": 0.3}  # columns of rows, and shares
TUNED_ONCE = ("embedded",)
LONGEST = 300  # characters of a reason
OF_THE_MACHINE = (MemoryError, OSError, ImportError)  # and not of a method or its data

Row = dict[str, Any]


class TriedOnce(NamedTuple):
    """What a method made of the test part at one reject cost."""

    decision: Indices  # (n_test,) -1: rejected
    forced: Indices  # (n_test,) decision without rejection
    lower: Indices  # (n_test,) lower of the two neighbouring classes that it lies between
    sureness: Floats  # (n_test,)
    params: Mapping[str, Any]
    seconds: float  # of all reject costs together, these add up to the time of the method


class Settings(NamedTuple):
    """What all methods are given."""

    reject_costs: Sequence[float]
    tuning_cost: float  # for which methods of TUNED_ONCE are tuned


def family_of(method: str) -> str:
    """Return the family of a method: a learner, or what stands alone.

    Examples
    --------
    >>> from rejo.study.suite.trials import family_of
    >>> [family_of(name) for name in ("svm", "svm-pair", "forest-posterior", "blend")]
    ['svm', 'svm', 'forest-posterior', 'auto']
    """
    learner = method.rpartition("-")[0]
    if method in (AUTO, BLEND):
        return AUTO
    return learner if learner in METHODS else method


def try_family(methods: Sequence[str], parts: Parts, settings: Settings) -> Iterator[Row]:
    """Yield a row for each method and reject cost; one with a ``problem`` if the method fails.

    Errors of the machine, such as too little memory or a package that is missing, are raised.
    """
    memory, race = FitMemory(), _Race(parts, settings)
    # More threads do not help with so few rows, and would sum in another order.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points that do not converge, rare classes, and so on
        for name in methods:
            try:
                raced = name in (AUTO, BLEND)
                tried = race.run(name) if raced else run_method(name, parts, settings, memory)
                rows = [
                    {
                        "method": name,
                        "reject_cost": w,
                        **measured(found, parts.y_test, w, parts.problem),
                    }
                    for w, found in zip(settings.reject_costs, tried, strict=True)
                ]
            except OF_THE_MACHINE:  # the cell fails, and the next run tries it again
                raise
            except Exception as error:  # of one method: the others go on
                yield from failed(name, settings, f"{type(error).__name__}: {error}")
                continue
            yield from rows
            if name == AUTO:
                for w, found in zip(settings.reject_costs, tried, strict=True):
                    # It takes no time of its own: the race counts for auto.
                    everything = found._replace(decision=found.forced, seconds=0.0)
                    row = {"method": DECIDE_ALL, "reject_cost": w}
                    yield row | measured(everything, parts.y_test, w, parts.problem)


def failed(method: str, settings: Settings, problem: str) -> Iterator[Row]:
    """Yield the rows of a method that could not be fitted."""
    nothing = dict.fromkeys(MEASURES)
    for w in settings.reject_costs:
        row = {"method": method, "reject_cost": w, **nothing, "seconds": 0.0, "params": "{}"}
        yield row | {"problem": one_line(problem)[:LONGEST]}


def run_method(
    name: str, parts: Parts, settings: Settings, memory: FitMemory | None = None
) -> list[TriedOnce]:
    """Tune, fit and try a method of the catalogue, at each reject cost."""
    memory = FitMemory() if memory is None else memory
    clock = _Clock(memory)
    built = METHODS[name].build(parts.problem)
    model = memory.sharing(built.estimator)
    folds = group_folds(parts)
    if folds is not None and "cv" in model.get_params(deep=False):
        model.set_params(cv=folds)
    points = list(ParameterGrid(built.grid))
    costs, posteriors = list(settings.reject_costs), by_posteriors(model)
    if not posteriors:
        tuned = _tuned(model, points, parts, settings, once=name in TUNED_ONCE)
        shared = clock.lap() / len(costs)
        return [
            found._replace(seconds=found.seconds + shared)
            for found in _fitted_for(model, tuned, parts, costs, clock)
        ]
    chosen = points[0]
    if len(points) > 1:
        chosen = Tuner(model, points, None, parts.y, parts.splits, parts.folds).by_log_loss()
    with quiet():
        fitted = candidate(model, chosen).fit(parts.whole.X_train, parts.y)
    p = fitted.predict_proba(parts.whole.X_test)
    return _by_prices(p, costs, chosen, clock.lap() / len(costs))


def _tuned(
    model: Any, points: Sequence[Any], parts: Parts, settings: Settings, once: bool
) -> list[Any]:
    """Return the point of the grid with the lowest cost in the folds, for each reject cost."""
    costs = [settings.tuning_cost] if once else list(settings.reject_costs)
    scores = np.zeros((len(points), len(costs), len(parts.folds)))
    with quiet():
        for i, point in enumerate(points if len(points) > 1 else ()):
            for f, (fold, (_, test)) in enumerate(zip(parts.folds, parts.splits, strict=True)):
                for c, fitted in enumerate(fit_path(candidate(model, point), costs, fold)):
                    scores[i, c, f] = fitted.score(fold.X_test, parts.y[test])
    best = scores.mean(axis=2).argmax(axis=0)  # of the costs
    return [points[i] for i in (np.repeat(best, len(settings.reject_costs)) if once else best)]


def _fitted_for(
    model: Any, tuned: Sequence[Any], parts: Parts, costs: Sequence[float], clock: _Clock
) -> list[TriedOnce]:
    """Fit for each reject cost at its point; those that share a point are fitted as a path."""
    found: dict[float, TriedOnce] = {}
    for point in {repr(point): point for point in tuned}.values():
        some = [w for w, own in zip(costs, tuned, strict=True) if own == point]
        with quiet():
            for w, fitted in zip(some, fit_path(candidate(model, point), some, parts.whole),
                                 strict=True):  # fmt: skip
                tried = _looked(fitted, parts.whole.X_test, point, parts.problem.n_classes)
                found[w] = tried._replace(seconds=clock.lap())
    return [found[w] for w in costs]


class _Race:
    """What ``rejo train`` would choose, and the blend of the models in the same race."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self.parts, self.settings = parts, settings
        self._found: tuple[Choice, float] | None = None

    def run(self, name: str) -> list[TriedOnce]:
        """Try "auto" or "blend" at each reject cost."""
        choice, seconds = self._choice()
        if name == BLEND:
            choice = replace(choice, name=_blended(choice))
        clock, costs, parts = _Clock(), self.settings.reject_costs, self.parts
        params = {"model": choice.name, **choice.chosen.params}
        model, shared = choice.estimator, seconds / len(costs)
        if choice.crossfit is not None:
            with quiet():
                p = model.fit(parts.X, parts.y).predict_proba(parts.X_test)
            return _by_prices(p, costs, params, shared + clock.lap() / len(costs))
        tried = []
        for w in costs:
            with quiet():
                fitted = candidate(model, {"model__reject_cost": w}).fit(parts.X, parts.y)
            found = _looked(fitted, parts.X_test, params, parts.problem.n_classes)
            tried.append(found._replace(seconds=shared + clock.lap()))
        return tried

    def _choice(self) -> tuple[Choice, float]:
        if self._found is None:
            clock, parts = _Clock(), self.parts
            K = parts.problem.n_classes
            choice = choose_model(
                TableEncoder(), parts.X, parts.y,
                prices=[uniform_prices(K, w) for w in self.settings.reject_costs],
                class_order=list(range(K)), ordered=parts.problem.ordered, groups=parts.groups,
                random_state=parts.problem.random_state,
            )  # fmt: skip
            self._found = choice, clock.lap()
        return self._found


def _blended(choice: Choice) -> str:
    """Return what ``rejo train --model blend`` gives: if one model is left, that one."""
    names = [entry.name for entry in choice.tried]
    left = [n for n in names if n == BLEND] or [n for n in names if METHODS[n].blended]
    if not left:
        raise ValueError("no model with posteriors reached the end of the race.")
    return left[0]


class _Clock:
    """Seconds since the last lap, with those that a memory saved."""

    def __init__(self, memory: FitMemory | None = None) -> None:
        self._memory = memory
        self._last = self._now()

    def lap(self) -> float:
        now = self._now()
        seconds, self._last = now - self._last, now
        return seconds

    def _now(self) -> float:
        return perf_counter() + (0.0 if self._memory is None else self._memory.saved)


def _looked(model: Any, X: Any, params: Mapping[str, Any], n_classes: int) -> TriedOnce:
    """Judge test cases by a model that is trained for one reject cost."""
    found = look(model, X, np.arange(n_classes))
    arrays = found.decision, found.forced, found.lower, found.sureness
    decision, forced, lower, sureness = (array[0] for array in arrays)
    return TriedOnce(decision, forced, lower, sureness, params, 0.0)


def _by_prices(
    p: Floats, costs: Sequence[float], params: Mapping[str, Any], seconds: float
) -> list[TriedOnce]:
    """Decide by posteriors (n_test, K) at each reject cost."""
    tried = []
    for w in costs:
        found = judge_posteriors(p, uniform_prices(p.shape[1], w))
        arrays = found.decision, found.forced, found.lower, found.sureness
        tried.append(TriedOnce(*arrays, params, seconds))
    return tried


MEASURES = ("R", "E", "risk", "ordinal_risk", "forced_E", "auarc", "augrc", "aurc", *BUDGETS)


def measured(tried: TriedOnce, y: Indices, reject_cost: float, problem: ProblemSize) -> Row:
    """Return the measures of a row: of the decisions, and of the ranking by sureness.

    ``risk`` counts every error as 1; ``ordinal_risk``, of ordered classes, is the loss that data
    replication minimises, which grows with the distance between the classes.
    """
    K = problem.n_classes
    output = np.where(tried.decision >= 0, 2 * tried.decision, 2 * tried.lower + 1)
    loss = loss_from_costs(replica_costs(K, reject_cost=reject_cost))[y, output]
    found, ranked = metrics.tally(tried.decision, y), (y, tried.forced, tried.sureness)
    wrong = tried.forced != y
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

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.study.suite.trials import error_within
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
