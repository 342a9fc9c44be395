"""Which model is best for this table, at these prices? Many are tried, on the same folds.

Models that decide by posteriors are tuned by log loss.  Their posteriors do not depend on prices,
so one round of cross-fitting gives the cost of each at any prices, the weights of a blend of them,
the operating point and the curves of a report.  Learners by data replication are trained for one
reject cost; they take part where the prices can be put into their training.

All candidates run a race: they are first tuned on a small sample of the cases, and each longer leg
is run only by those that were close enough in the one before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from rejo._errors import RejoError
from rejo._io import percent, progress
from rejo._typing import Floats, Indices
from rejo.baselines import BlendClassifier, ThresholdRejectClassifier
from rejo.baselines.blend import class_floor, learn_temperature, learn_weights, tempered
from rejo.catalogue import METHODS, TRAINED, Method, ProblemSize, find
from rejo.decisions import decide, uniform_prices
from rejo.estimators.classes import encode_classes
from rejo.metrics import log_loss, tally
from rejo.selection.crossfit import CrossFit
from rejo.selection.folds import Fold, Splits, check_cases, described, shuffled_folds, split_cases
from rejo.selection.outcomes import judge_path

REJECT_COSTS = (0.08, 0.24, 0.4)  # at which models are compared if there are no prices
LEGS = (1_000, 4_000)  # cases in the first legs of the race; the last is run on all
MANY = 20_000  # cases above which three folds say enough
CLOSE = 1.005  # a simpler model whose cost is at most this times the lowest wins
PRIOR = 50.0  # cases that equal weights in a blend count for
BEHIND = 1.1  # out of the race with a cost above this times the lowest,
LOST = 1.25  # and a log loss above this times the lowest
LEAST_WEIGHT = 0.03  # in a blend; others are left out


class NotSuited(RejoError):
    """A model that was asked for cannot be trained on these classes, or for these prices."""


class Entry(NamedTuple):
    """A model that took part in the race to its end."""

    name: str  # in the catalogue
    cost: float  # mean cost of a case out of fold, over the prices
    error: float  # its standard error
    log_loss: float  # of its posteriors; NaN if it has none
    params: dict[str, Any]  # tuned parameters


class Choice(NamedTuple):
    """What was chosen, and what it was chosen from."""

    name: str  # of the chosen model, in the catalogue
    estimator: Pipeline  # unfitted, tuned; the steps are "prepare" and "model"
    tried: list[Entry]  # lowest cost first
    left_out: dict[str, str]  # models that did not reach the end of the race, and why
    crossfit: CrossFit | None  # posteriors of the chosen model out of fold, if it decides by them
    rivals: dict[str, CrossFit]  # posteriors of the others
    prices: list[Floats]  # (K, K + 1) each; the cost is the mean over these
    weights: dict[str, float]  # of the models in the blend, if there is one
    baselines: dict[str, float]  # mean cost of a case if all are reviewed, or all are decided
    n_cases: int
    n_folds: int
    seconds: float  # that a fit of the chosen model on all cases may take

    def time_left(self) -> str:
        """Say how long the fit of the chosen model will take."""
        return f"; about {_clock(self.seconds)} left"

    @property
    def chosen(self) -> Entry:
        """The entry of the chosen model."""
        return next(entry for entry in self.tried if entry.name == self.name)


class Ending(NamedTuple):
    """How the race ended."""

    name: str
    model: Any  # unfitted
    tried: list[Entry]
    crossfits: dict[str, CrossFit]
    weights: dict[str, float]


@dataclass
class Runner:
    """A candidate in the race: a model, and the points of its grid that are still in it."""

    method: Method
    model: Any  # a plain classifier, or a learner by data replication
    points: list[dict[str, Any]]
    best: dict[str, Any] = field(default_factory=dict)  # the best point of the last leg
    times: dict[int, float] = field(default_factory=dict)  # seconds of a fit, by number of cases
    p: Any = None  # (n, K) posteriors at the best point; of the tested cases
    cost: Any = None  # (n,) cost of each tested case at the best point

    @property
    def name(self) -> str:
        """Name in the catalogue."""
        return self.method.name

    def seconds(self, n: int) -> float:
        """Time that a fit on ``n`` cases may take, from those on fewer cases."""
        before, last = [(0, 0.0), *self.times.items()][-2:]
        slope = max(last[1] - before[1], 0.0) / max(last[0] - before[0], 1)
        return last[1] + slope * max(n - last[0], 0)

    @property
    def by_posteriors(self) -> bool:
        """Whether it is run for its posteriors, not for its decisions."""
        return self.method.blended


class Race:
    """Candidates, the cases they run on, and the prices they are compared at."""

    def __init__(
        self, prepare: Any, X: Any, k: Indices, n_classes: int, folds: Splits,
        prices: Sequence[Floats], random_state: int | None, n_jobs: int | None,
        tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.prepare, self.X, self.k, self.K = prepare, X, k, n_classes
        self.folds, self.prices = folds, prices
        self.random_state, self.n_jobs, self.tell = random_state, n_jobs, tell
        self.encoded: tuple[Indices, list[Fold]] | None = None  # of the last leg
        self.at = [prices[len(prices) // 2]]  # prices of this leg: one will do in the first ones

    def run(self, runners: list[Runner], rows: Indices, n_folds: int) -> Indices:
        """Cross-fit all points on these rows; the tested rows, for which p and cost are given."""
        parts = [
            (np.intersect1d(train, rows), np.intersect1d(test, rows))
            for train, test in self.folds[:n_folds]
        ]
        folds = self._encode(rows, parts)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        cells = [
            delayed(_run_cell)(runner.model, runner.by_posteriors, runner.points, fold, self.K,
                               self._reject_costs())
            for fold in folds
            for runner in runners
        ]  # fmt: skip
        done = list(progress(parallel(cells), len(cells), "fitting"))
        tested = np.concatenate([test for _, test in parts])
        for i, runner in enumerate(runners):
            mine = done[i :: len(runners)]
            n_fits = n_folds * len(_groups(runner.points, "max_iter"))
            runner.times[len(rows)] = sum(seconds for seconds, _ in mine) / n_fits
            self._score(runner, np.concatenate([found for _, found in mine], axis=-2), tested)
        return tested

    def _encode(self, rows: Indices, parts: Splits) -> list[Fold]:
        """Prepare the cases of each fold, once for all candidates and legs on the same rows."""
        if self.encoded is None or not np.array_equal(self.encoded[0], rows):
            self.encoded = rows, []
        folds = self.encoded[1]
        for train, test in parts[len(folds) :]:
            steps = clone(self.prepare)
            X_train = steps.fit_transform(_safe_indexing(self.X, train))
            X_test = steps.transform(_safe_indexing(self.X, test))
            folds.append(Fold(X_train, self.k[train], None, X_test))
        return folds[: len(parts)]

    def _reject_costs(self) -> list[float]:
        """What a review costs where an error costs 1, for learners that are trained for that."""
        return [float(L[0, -1] / L[0, 1]) for L in self.at]

    def _score(self, runner: Runner, found: Any, tested: Indices) -> None:
        """Find the best point; keep its posteriors, and the cost of each case."""
        y = self.k[tested]
        if runner.by_posteriors:  # found: (n_points, n, K)
            losses = [log_loss(y, p, classes=np.arange(self.K)) for p in found]
            best = int(np.argmin(np.round(losses, 9)))
            runner.p = found[best]
            runner.cost = self.cost(runner.p, y)
        else:  # (n_points, n_settings, n, 1)
            costs = [self._paid(decisions[..., 0], y) for decisions in found]
            best = int(np.argmin(np.round([cost.mean() for cost in costs], 12)))
            runner.cost = costs[best]
        runner.best = runner.points[best]

    def cost(self, p: Floats, y: Indices) -> Floats:
        """Cost (n,) of each case if posteriors decide, mean over the prices."""
        return self._paid(np.array([decide(p, L).decision for L in self.at]), y)

    def baselines(self, crossfit: CrossFit | None) -> dict[str, float]:
        """Mean cost of a case if all are reviewed and, with posteriors, if all are decided."""
        everyone = np.full((len(self.at), len(self.k)), -1)
        found = {"reviewing every case": float(self._paid(everyone, self.k).mean())}
        if crossfit is not None:
            forced = np.array([decide(crossfit.p, L).forced for L in self.at])
            found["deciding every case"] = float(self._paid(forced, self.k).mean())
        return found

    def _paid(self, decisions: Indices, y: Indices) -> Floats:
        paid = [L[y, d] for L, d in zip(self.at, decisions, strict=True)]  # -1: the review
        return np.mean(paid, axis=0)


def _run_cell(
    model: Any, by_posteriors: bool, points: list[dict[str, Any]], fold: Fold, n_classes: int,
    costs: list[float],
) -> tuple[float, Any]:  # fmt: skip
    """Seconds, and posteriors (n_points, n_test, K) or decisions (n_points, n_costs, n_test, 1)."""
    start = monotonic()
    with warnings.catch_warnings():
        # Points of a grid that do not converge, or that reject everything, lose by their cost.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        if by_posteriors:
            found: Any = _posteriors(model, points, fold, n_classes)
        else:
            classes = np.arange(n_classes)
            found = [
                judge_path(clone(model).set_params(**point), costs, fold, classes).decision
                for point in points
            ]
            found = np.array(found)[..., None]
    return monotonic() - start, found


def _posteriors(
    model: Any, points: list[dict[str, Any]], fold: Fold, n_classes: int
) -> Floats:  # (n_points, n_test, K)
    """Posteriors of the test part, at each point of the grid.

    Points that differ only in the number of trees share one fit, and those that differ only in
    ``C`` one path, if the model has one.
    """
    found = np.zeros((len(points), fold.X_test.shape[0], n_classes))
    shared = "max_iter" if hasattr(model, "staged_predict_proba") else "C"
    for group in _groups(points, shared):
        params = {key: value for key, value in points[group[0]].items() if key != shared}
        first = clone(model).set_params(**params)
        values: list[Any] = [points[i].get(shared) for i in group]
        if shared == "max_iter" and values[0] is not None:
            first.set_params(max_iter=max(values)).fit(fold.X_train, fold.y_train)
            stages = dict(zip(values, group, strict=True))
            for n_trees, p in enumerate(first.staged_predict_proba(fold.X_test), start=1):
                if n_trees in stages:
                    found[stages[n_trees]][:, first.classes_] = p
            continue
        if hasattr(first, "fit_path") and values[0] is not None:
            fits = first.fit_path(fold.X_train, fold.y_train, Cs=values)
        else:
            fits = [
                clone(model).set_params(**points[i]).fit(fold.X_train, fold.y_train) for i in group
            ]
        for i, fit in zip(group, fits, strict=True):
            found[i][:, fit.classes_] = fit.predict_proba(fold.X_test)
    return found


def _groups(points: list[dict[str, Any]], shared: str) -> list[list[int]]:
    """Indices of the points that differ only in one parameter."""
    groups: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        rest = {key: value for key, value in point.items() if key != shared}
        groups.setdefault(repr(rest), []).append(i)
    return list(groups.values())


@described
def choose_model(
    prepare: Any,
    X: Any,
    y: Any,
    *,
    models: Iterable[str] | None = None,
    prices: Sequence[Floats] | None = None,
    class_order: Any = None,
    ordered: bool = True,
    reject_label: Any = None,
    cv: int = 5,
    groups: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Choice:
    """Choose the model with the lowest cost of a case out of fold, at given prices.

    Parameters
    ----------
    prepare : transformer
        Turns ``X`` into standardised numbers; fitted once on each training part.
    %X, y
    models : iterable of str, default=None
        Names in the catalogue; by default all that suit the table.  "blend" stands for the blend
        of all posteriors.
    prices : sequence of ndarray of shape (n_classes, n_classes + 1), default=None
        The cost is the mean over these prices; see :mod:`rejo.decisions`.  By default an error
        costs 1 and a review 0.08, 0.24 and 0.4.
    class_order, reject_label
        Parameters of the models.
    ordered : bool, default=True
        Whether three or more classes have an order.  If not, only models that need none are tried.
    cv : int, default=5
        Number of stratified, shuffled folds; at most three for more than 20,000 cases.
    %groups
    random_state : int, default=0
    %n_jobs
    tell : callable, default=None
        Called with a line of text at the start of each leg.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rejo import make_synthetic_1
    >>> from rejo.selection import choose_model
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> some = ["logistic-posterior", "kernel-posterior"]
    >>> choice = choose_model(StandardScaler(), X, y, models=some)
    >>> choice.name  # the classes of this problem are not separated by a line
    'kernel-posterior'
    """
    X, y, groups, _ = check_cases(X, y, groups, None, "choose_model")
    classes, k = encode_classes(y, "sorted" if class_order is None else class_order)
    K, n = len(classes), len(k)
    ordered = ordered or K == 2
    given = None if prices is None else [np.asarray(L, dtype=np.float64) for L in prices]
    prices = given or [uniform_prices(K, w) for w in REJECT_COSTS]
    folds = _split(min(cv, 3) if n > MANY else cv, X, k, groups, random_state)
    race = Race(
        prepare, X, k, K, folds, prices, random_state, n_jobs, tell or (lambda _: None)
    )  # fmt: skip
    asked = None if models is None else list(models)
    n_features = clone(prepare).fit_transform(_safe_indexing(X, folds[0][0][:500])).shape[1]
    methods, left_out = _entries(asked, K, ordered, n, n_features, prices)
    problem = ProblemSize(K, n_features, n, random_state, ordered)
    runners = [_runner(method, problem) for method in methods]
    runners = _race(race, runners, left_out)
    tested = np.concatenate([test for _, test in folds])
    order = np.argsort(tested)  # every case once
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])[order]
    for runner in runners:
        runner.cost = runner.cost[order]
        runner.p = None if runner.p is None else runner.p[order]
    name, model, tried, crossfits, weights = _choose(race, runners, fold, classes, groups, asked)
    inside = [key for key in model.get_params() if key.endswith("__class_order")]
    labels = dict.fromkeys([*inside, "class_order"], classes.tolist())
    model.set_params(**labels, reject_label=reject_label)
    pipeline = Pipeline([("prepare", clone(prepare)), ("model", model)])
    crossfit = crossfits.pop(name, None)
    used = weights or {name: 1.0}
    seconds = sum(runner.seconds(n) for runner in runners if runner.name in used)
    return Choice(
        name, pipeline, tried, left_out, crossfit, crossfits, list(prices), weights,
        race.baselines(crossfit), n, len(folds), seconds,
    )  # fmt: skip


def _split(cv: int, X: Any, k: Indices, groups: Any, random_state: int | None) -> Splits:
    with warnings.catch_warnings():  # a rare class may be in few folds
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return split_cases(shuffled_folds(cv, groups, random_state), X, k, groups)


def _entries(
    asked: list[str] | None,
    K: int,
    ordered: bool,
    n: int,
    n_features: int,
    prices: Sequence[Floats],
) -> tuple[list[Method], dict[str, str]]:
    """Methods that take part, and why others do not."""
    wanted = [m for m in (TRAINED if asked is None else asked) if m != "blend"]
    if asked is not None and "blend" in asked:
        wanted += [m for m in TRAINED if METHODS[m].blended and m not in wanted]
    if asked is not None:
        try:
            find([name for name in asked if name != "blend"], K, ordered)
        except ValueError as error:
            raise NotSuited(str(error)) from None
    trained = all(_is_uniform(L) and L[0, -1] <= 0.5 * L[0, 1] for L in prices)
    methods, left_out = [], dict[str, str]()
    for method in find(wanted):
        if not method.takes(K, ordered):
            if not ordered and method.multiclass:
                left_out[method.name] = "needs classes in an order"
        elif not (method.blended or trained):
            left_out[method.name] = "cannot be trained for these prices"
        elif asked is None and method.max_samples and n > method.max_samples:
            left_out[method.name] = f"slow on more than {method.max_samples:,} rows"
        elif asked is None and method.max_features and n_features > method.max_features:
            left_out[method.name] = f"slow with more than {method.max_features} features"
        else:
            methods.append(method)
    if not methods:
        name, why = next(iter(left_out.items()))
        raise NotSuited(f"{name!r} {why}.")
    return methods, left_out


def _is_uniform(prices: Floats) -> bool:
    """Return whether there is one price for all errors and one for all reviews."""
    scaled = uniform_prices(len(prices), prices[0, -1] / prices[0, 1]) * prices[0, 1]
    return bool(np.allclose(prices, scaled, rtol=1e-9, atol=0))


def _runner(method: Method, problem: ProblemSize) -> Runner:
    model, grid, *_ = method.build(problem)
    if method.blended:  # its own classifier gives the posteriors
        model = model.estimator
        grid = {key.removeprefix("estimator__"): values for key, values in grid.items()}
    return Runner(method, model, list(ParameterGrid(grid)))


def _race(race: Race, runners: list[Runner], left_out: dict[str, str]) -> list[Runner]:
    """Run the legs; the runners that are left, with their results on all cases."""
    n, n_folds = len(race.k), len(race.folds)
    sizes = [m for m in LEGS if m <= 0.7 * n]
    if max(len(runner.points) for runner in runners) > 1 or len(runners) > 1:
        sizes = sizes or [n]
    for leg, m in enumerate(sizes):
        rows = np.arange(n) if m == n else draw_rows(race.k, m, race.random_state)
        left = f"; about {_clock(_left(runners, n, n_folds, race))} left" if leg else ""
        race.tell(f"Comparing {_count(runners)} of model on {len(rows):,} of {n:,} cases{left}.")
        tested = race.run(runners, rows, min(3, n_folds))
        runners = _still_in(race, runners, race.k[tested], left_out)
    left = f"; about {_clock(_left(runners, n, n_folds, race))} left" if sizes else ""
    names = ", ".join(runner.name for runner in runners)
    race.tell(f"Cross-fitting on all {n:,} cases: {names}{left}.")
    race.at = list(race.prices)
    race.run(runners, np.arange(n), n_folds)
    return runners


def _count(runners: list[Runner]) -> str:
    return "1 kind" if len(runners) == 1 else f"{len(runners)} kinds"


def _left(runners: list[Runner], n: int, n_folds: int, race: Race) -> float:
    """Seconds that the last leg will take, and the final fit."""
    jobs = max(1, race.n_jobs or 1)
    return sum(runner.seconds(n) for runner in runners) * (n_folds / jobs + 1)


def _clock(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def _still_in(
    race: Race, runners: list[Runner], y: Indices, left_out: dict[str, str]
) -> list[Runner]:
    """Drop what is behind, and all but the best points of each grid.

    A learner by data replication is trained anew for each price, so only the best one stays, and
    only as long as it costs less than all that decide by posteriors.
    """
    lowest = min(runner.cost.mean() for runner in runners)
    losses = {
        runner.name: log_loss(y, runner.p, classes=np.arange(race.K))
        for runner in runners
        if runner.by_posteriors
    }
    kept = []
    for runner in runners:
        cost = runner.cost.mean()
        behind = cost > lowest
        if runner.by_posteriors:
            behind = cost > BEHIND * lowest and losses[runner.name] > LOST * min(losses.values())
        if behind:
            left_out[runner.name] = f"cost {percent(cost / lowest - 1)} more on {len(y):,} cases"
            continue
        stages = isinstance(runner.best.get("max_iter"), int) and len(runner.points) > 1
        rest = {key: value for key, value in runner.best.items() if key != "max_iter"}
        runner.points = [
            point
            for point in runner.points
            if point == runner.best or (stages and rest.items() <= point.items())
        ]
        kept.append(runner)
    return kept


def _choose(
    race: Race, runners: list[Runner], fold: Indices, classes: NDArray[Any], groups: Any,
    asked: list[str] | None,
) -> Ending:  # fmt: skip
    """Calibrate and blend the posteriors, and take the simplest of the best models."""
    y, K = race.k, race.K
    prior = PRIOR if groups is None else PRIOR * len(y) / len(np.unique(groups))
    parts = {r.name: r.p for r in runners if r.by_posteriors}
    mixed = {name: blend({name: p}, fold, y, prior) for name, p in parts.items()}
    if len(parts) > 1 and (asked is None or len(asked) > 1 or asked == ["blend"]):
        mixed["blend"] = blend(parts, fold, y, prior)
    losses = {}
    for name, found in mixed.items():
        own = log_loss(y, parts[name], classes=np.arange(K)) if name in parts else np.inf
        losses[name] = log_loss(y, found.p, classes=np.arange(K))
        if own <= CLOSE * losses[name]:  # calibrated as it is
            mixed[name], losses[name] = Blended(parts[name], {}, 1.0), own
    costs = {r.name: r.cost for r in runners if not r.by_posteriors}
    costs |= {name: race.cost(found.p, y) for name, found in mixed.items()}
    name = "blend" if asked == ["blend"] and "blend" in mixed else simplest(costs, losses)
    params = {runner.name: runner.best for runner in runners}
    tried = [
        Entry(
            entry, float(cost.mean()), float(cost.std() / np.sqrt(len(cost))),
            losses.get(entry, float("nan")), params.get(entry, {}),
        )
        for entry, cost in costs.items()
    ]  # fmt: skip
    tuned = {r.name: clone(r.model).set_params(**r.best) for r in runners}
    weights: dict[str, float] = {}
    if name not in mixed:
        model = tuned[name]
    elif weights := mixed[name].weights:
        members = [(member, tuned[member]) for member in weights]
        values = list(weights.values())
        inner = BlendClassifier(members, weights=values, temperature=mixed[name].temperature)
        model = ThresholdRejectClassifier(inner)
    else:
        model = ThresholdRejectClassifier(tuned[name])
    crossfits = {entry: CrossFit(found.p, fold, classes, y, None) for entry, found in mixed.items()}
    tried.sort(key=lambda entry: entry.cost)
    return Ending(name, model, tried, crossfits, weights)


class Blended(NamedTuple):
    """Posteriors of a blend, and what made it."""

    p: Floats  # (n, K) out of fold
    weights: dict[str, float]  # empty: the posteriors of one model as they are
    temperature: float


def blend(parts: Mapping[str, Floats], fold: Indices, y: Indices, prior: float = PRIOR) -> Blended:
    """Blend posteriors (n, K) of several models out of fold.

    Those of a fold are blended by weights and a temperature that the other folds gave.
    """
    names, p = list(parts), np.array(list(parts.values()))  # (m, n, K)
    w = learn_weights(p, y, prior=prior)
    some = w >= min(LEAST_WEIGHT, w.max())
    names, p = [name for name, kept in zip(names, some, strict=True) if kept], p[some]
    w = learn_weights(p, y, prior=prior)
    floor = class_floor(y)
    temperature = learn_temperature(np.tensordot(w, p, 1) + floor, y)
    held_out = np.empty(p.shape[1:])
    for f in range(fold.max() + 1):
        mine = fold == f
        others = learn_weights(p[:, ~mine], y[~mine], prior=prior)
        mixed = np.tensordot(others, p, 1) + floor
        held_out[mine] = tempered(mixed[mine], learn_temperature(mixed[~mine], y[~mine]))
    return Blended(held_out, dict(zip(names, w.tolist(), strict=True)), temperature)


def simplest(costs: Mapping[str, Floats], losses: Mapping[str, float]) -> str:
    """The simplest of the models that are as good as the best; ``costs`` are (n,) by case.

    A model beats the blend if its costs are clearly lower.  Otherwise a simpler model, one that
    stands before others in the catalogue, wins if it is within half a percent: in its cost and,
    as some hundred cases cannot tell costs apart so finely, in its log loss too.
    """
    means = {name: float(cost.mean()) for name, cost in costs.items()}
    best = min(means, key=lambda name: means[name])
    if not losses:
        return best
    reference = "blend" if "blend" in losses else min(losses, key=lambda name: means[name])
    if clearly_less(costs[best], costs[reference]):
        reference = best
    for name in METHODS:
        close = name in means and means[name] <= CLOSE * means[reference]
        if close and losses.get(name, np.inf) <= CLOSE * losses.get(reference, np.inf):
            return name
    return reference


def clearly_less(cost: Floats, other: Floats) -> bool:
    """Return whether costs (n,) of the same cases are lower by two standard errors."""
    gap = other - cost
    return bool(gap.mean() > 2 * gap.std() / np.sqrt(len(gap)) > 0)


def rival_curves(
    choice: Choice, reject_costs: Iterable[float] | None = None
) -> list[dict[str, Any]]:
    """Rates of the models that were not chosen, as rows for a report or a picture.

    Their posteriors are there already, so the rows cost no fit.  By default the reject costs are
    0.02, 0.06, and so on, as far as a review may pay.
    """
    rows = []
    for name, crossfit in choice.rivals.items():
        highest = 1.0 - 1.0 / len(crossfit.classes)
        for cost in np.arange(0.02, highest, 0.04) if reject_costs is None else reject_costs:
            prices = uniform_prices(len(crossfit.classes), float(cost))
            decision = decide(crossfit.p, prices).decision
            found = tally(decision, crossfit.y, fold=crossfit.fold)
            rows += [
                {
                    "method": METHODS[name].label, "reject_cost": float(cost), "fold": fold,
                    "R": float(R), "E": float(E),
                }
                for fold, (R, E) in enumerate(
                    zip(found.rejection_rate, found.error_rate, strict=True)
                )
            ]  # fmt: skip
    return rows


def draw_rows(y: Any, n: int, random_state: int | None = 0, least: int = 10) -> Indices:
    """Draw ``n`` cases, stratified by class, and more if a rare class would have too few.

    At least ``least`` cases of each class are drawn, if it has that many.  The rows ascend.
    """
    labels, k = np.unique(np.asarray(y), return_inverse=True)
    if len(k) <= n:
        return np.arange(len(k))
    random = np.random.RandomState(random_state)
    counts = np.bincount(k, minlength=len(labels))
    sizes, left = np.divmod(n * counts, len(k))
    sizes[np.argsort(-left, kind="stable")[: n - sizes.sum()]] += 1  # largest remainders
    sizes = np.maximum(np.minimum(counts, least), sizes)
    drawn = [
        random.permutation(np.flatnonzero(k == i))[:size] for i, size in enumerate(sizes.tolist())
    ]
    return np.sort(np.concatenate(drawn))
