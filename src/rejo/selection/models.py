"""Which model is best for this table? Many are tuned on the same folds, and blended.

All are tuned on a few cases, and what is not far behind goes on to more, until all cases are
judged out of fold.  The blend is taken unless a single model is better beyond chance.  Learners by
data replication take part if they are asked for by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo._errors import RejoError
from rejo._io import percent, progress
from rejo._jobs import each_done
from rejo._typing import Floats, Indices
from rejo.baselines import (
    BlendClassifier,
    ThresholdRejectClassifier,
    believable,
    learn_pool,
    pooled,
)
from rejo.catalogue import METHODS, TRAINED, Method, ProblemSize, find
from rejo.decisions import uniform_prices
from rejo.estimators import encode_classes
from rejo.metrics import Interval
from rejo.prices import of_rows, price_of, reject_cost_of
from rejo.selection.expected import independent_cases, likely_classes, mean_cost
from rejo.selection.folds import (
    Fold,
    Splits,
    alike,
    candidate,
    case_loss,
    check_cases,
    described,
    price_parameters,
    shuffled_folds,
    split_cases,
)
from rejo.selection.out_of_fold import (
    OutOfFold,
    best_points,
    gathered,
    in_order,
    judge_fold,
    of_posteriors,
    rounds_of,
)

REJECT_COSTS = (0.08, 0.24, 0.4)  # at which models are compared if there are no prices
MANY = 8_000  # cases above which three folds say enough
LEGS = (1_000, 4_000)  # cases in the first legs; the last is run on all
LEG_FOLDS = 3  # of the folds, in the first legs
LOST = 1.25  # out of the race with a log loss above this times the lowest, beyond chance
CALIBRATED = 1.005  # log loss up to this times that after calibration: a model stays as it is
LEAST_WEIGHT = 0.03  # in a blend; others are left out
GROWTH = 0.75  # power of the number of cases by which a fit takes longer: 0.2 to 1.5 seen
SETTLING = 1.0  # seconds after the last fit, for the operating point and the file: 0.6 to 1.4 seen
SOON = 3.0  # seconds; that less than this is left is not said: the estimate is not that good
UNTRAINABLE = "cannot be trained for these prices"
REMEDY = "A model that decides by posteriors, such as 'logistic-posterior', takes any prices."
BEHIND = 2.0  # standard errors at which it is beyond chance that a model is behind
# ... and that the best single model is better than the blend: with 2, 150 cases cost 6 % more.
BEYOND = 3.0


class NotSuited(RejoError):
    """A model that was asked for cannot be trained on these classes, or for these prices."""


class Tried(NamedTuple):
    """A model that was tuned on all cases."""

    name: str  # in the catalogue
    model: Any  # unfitted, tuned
    params: dict[str, Any]  # tuned parameters
    weights: dict[str, float]  # of the models in a blend, else empty
    cases: OutOfFold | None  # all cases out of fold; None by boundaries
    log_losses: Floats | None  # (n,) of the posteriors
    cost: Interval[float]  # mean cost of a case, mean over the prices
    seconds: float  # that a fit on all cases may take

    @property
    def log_loss(self) -> float:
        """Mean log loss; NaN without posteriors."""
        return np.nan if self.log_losses is None else float(self.log_losses.mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and what it was chosen from."""

    name: str  # of the chosen model, in the catalogue
    tried: list[Tried]  # on all cases: the chosen one, then by log loss, or by cost
    left_out: dict[str, str]  # names of others, and why
    prices: list[Floats]  # the cost of a case is the mean over these
    n_folds: int
    prepare: Any  # the step that prepares the cases, unfitted
    y: Indices  # (n,) true classes

    @property
    def chosen(self) -> Tried:
        """The chosen one of those tried."""
        return next(entry for entry in self.tried if entry.name == self.name)

    @property
    def estimator(self) -> Pipeline:
        """The chosen model, unfitted; the steps are "prepare" and "model"."""
        model = clone(self.chosen.model)
        if len(self.prices) == 1 and self.chosen.cases is None and self.prices[0].ndim == 2:
            order = np.array(model.get_params()["class_order"])
            model.set_params(**price_parameters(model, self.prices[0], order) or {})
        return Pipeline([("prepare", clone(self.prepare)), ("model", model)])

    @property
    def baselines(self) -> dict[str, float]:
        """Mean cost of a case if all are reviewed and, with posteriors, if all are decided."""
        every = [price_of(L, self.y, np.array(-1)).mean() for L in self.prices]
        found = {"reviewing every case": float(np.mean(every))}
        if (cases := self.chosen.cases) is not None:
            likely = likely_classes(cases)
            decided = [
                mean_cost(cases.at_prices(L).all_decided(), L, likely=likely) for L in self.prices
            ]
            found["deciding every case"] = float(np.mean([cost.estimate for cost in decided]))
        return found


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
    """Tune several models on the same folds, blend them, and choose.

    The blend is taken, unless a single model has a lower log loss by more than three standard
    errors.

    Parameters
    ----------
    prepare : transformer
        Turns ``X`` into standardised numbers; fitted once on each training part.
    %X, y
    models : iterable of str, default=None
        Names in the catalogue; by default all that decide by posteriors and suit the table.
        "blend" is the blend of them, whatever single models may say; "simple" is the best single
        one.
    prices : sequence of ndarray of shape (n_classes, n_classes + 1), default=None
        What is said of costs is the mean over these prices; see :mod:`rejo.decisions`.  By default
        an error costs 1 and a review 0.08, 0.24 and 0.4.  Or one array, by case.
    class_order : array-like of shape (n_classes,), default=None
        Parameter of the models: the classes, lowest first.
    ordered : bool, default=True
        Whether three or more classes have an order.  If not, only models that need none are tried.
    reject_label : label, default=None
        Parameter of the models: the label of a rejection.
    cv : int, default=5
        Number of stratified, shuffled folds; at most three for more than 8,000 cases.
    %groups
    random_state : int, default=0
        Shuffles the folds, and seeds the models.
    %n_jobs
    tell : callable, default=None
        Called with a line of text at the start of each leg.

    Returns
    -------
    choice : Choice
        The chosen model, unfitted, and what it was chosen from.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import choose_model
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> some = ["logistic-posterior", "kernel-posterior"]
    >>> choose_model(StandardScaler(), X, y, models=some).name  # no line separates these classes
    'kernel-posterior'
    """
    X, y, groups, _ = check_cases(X, y, groups, None, "choose_model")
    classes, k = encode_classes(y, "sorted" if class_order is None else class_order)
    K, n = len(classes), len(k)
    ordered = ordered or K == 2
    given = None if prices is None else [np.asarray(L, dtype=np.float64) for L in prices]
    prices = given or [uniform_prices(K, w) for w in REJECT_COSTS]
    folds = split_stratified(min(cv, 3) if n > MANY else cv, X, k, groups, random_state)
    n_features = clone(prepare).fit_transform(_safe_indexing(X, folds[0][0][:500])).shape[1]
    problem = ProblemSize(K, n_features, n, random_state, ordered)
    asked = None if models is None else [name.strip() for name in models]
    methods, left_out = _entries(asked, problem, prices, k)
    tell = tell or (lambda _: None)
    race = Race(prepare, X, k, K, folds, prices, random_state, n_jobs, tell)
    runners, lost = race.run([Runner.of(method, problem) for method in methods])
    fold = np.empty(n, dtype=np.intp)
    for f, (_, test) in enumerate(folds):
        fold[test] = f
    about = {"fold": fold, "classes": classes, "y": k, "rows": np.arange(n)}
    size = independent_cases(n, None, groups)
    blends = asked is None or "blend" in asked or ("simple" not in asked and len(asked) > 1)
    tried = _tried(race, runners, about, size, blends, least=1 if asked == ["blend"] else 2)
    for entry in tried:
        names = entry.model.get_params()
        labels = [key for key in names if key.rpartition("__")[2] == "class_order"]
        entry.model.set_params(**dict.fromkeys(labels, classes.tolist()), reject_label=reject_label)
    name = "blend" if asked == ["blend"] else best_of(tried, size)
    by_loss = all(entry.cases is not None for entry in tried)
    key = (lambda e: e.log_loss) if by_loss else (lambda e: e.cost.estimate)
    tried.sort(key=lambda entry: (entry.name != name, key(entry)))
    return Choice(name, tried, left_out | lost, list(prices), len(folds), prepare, k)


def best_of(tried: Sequence[Tried], size: float) -> str:
    """Name of the blend, unless a single model is better beyond chance, over ``size`` cases.

    Models that have no posteriors are compared by their cost.
    """
    if any(entry.log_losses is None for entry in tried):
        return min(tried, key=lambda entry: entry.cost.estimate).name
    best = min(tried, key=lambda entry: entry.log_loss)
    blend = next((entry for entry in tried if entry.name == "blend"), best)
    gap = blend.log_losses - best.log_losses  # type: ignore[operator]
    return best.name if _above(gap, size, BEYOND) else blend.name


def _above(gap: Floats, size: float, errors: float) -> bool:
    """Whether a mean of differences, ``size`` independent, is some standard errors above 0."""
    return bool(gap.mean() > errors * gap.std() / np.sqrt(size))


def _entries(
    asked: list[str] | None, problem: ProblemSize, prices: Sequence[Floats], k: Indices
) -> tuple[list[Method], dict[str, str]]:
    """Methods that take part, and why others do not."""
    K, n_features, n, _, ordered = problem
    every = [name for name in TRAINED if METHODS[name].blended]
    named = [name for name in asked or () if name not in ("blend", "simple")]
    wanted = named if asked is not None and named == asked else [*dict.fromkeys([*named, *every])]
    try:
        find(named, K, ordered)
    except ValueError as error:
        raise NotSuited(str(error), parameter="estimator") from None
    methods, left_out = [], dict[str, str]()
    for method in find(wanted):
        unasked = method.name not in named
        if not method.takes(K, ordered):
            if not ordered and method.multiclass:
                left_out[method.name] = "needs classes in an order"
        elif not (method.blended or _trainable(method, problem, prices, k)):
            left_out[method.name] = UNTRAINABLE
        elif unasked and method.max_samples and n > method.max_samples:
            left_out[method.name] = f"slow on more than {method.max_samples:,} rows"
        elif unasked and method.max_features and n_features > method.max_features:
            left_out[method.name] = f"slow with more than {method.max_features} features"
        else:
            methods.append(method)
    if not methods:
        name, why = next(iter(left_out.items()), ("auto", "finds no model for these classes"))
        remedy = REMEDY if why == UNTRAINABLE else None
        raise NotSuited(f"{name!r} {why}", parameter="estimator", remedy=remedy)
    return methods, left_out


def _trainable(method: Method, problem: ProblemSize, prices: Sequence[Floats], k: Indices) -> bool:
    """Return whether a method by boundaries can be trained for all of the prices."""
    model, classes = method.build(problem)[0], np.arange(problem[0])
    return all(
        (price_parameters(model, L, classes) if L.ndim == 2 else case_loss(model, L, k)) is not None
        for L in prices
    )


def _tried(
    race: Race, runners: list[Runner], about: dict[str, Any], size: float, blends: bool,
    least: int,
) -> list[Tried]:  # fmt: skip
    """Calibrate the posteriors of each model, blend them, and say what each costs."""
    y, n = race.k, len(race.k)
    tuned = {r.name: clone(r.model).set_params(**r.best) for r in runners}
    times = {r.name: r.seconds(n) for r in runners}
    best = {r.name: r.best for r in runners}
    parts: dict[str, Any] = {r.name: r.points_at[0].p for r in runners if r.by_posteriors}
    found = []
    for runner in runners:
        if not runner.by_posteriors:
            points = [replace(point, **about) for point in runner.points_at]
            cost = _mean([mean_cost(p, L, size) for p, L in zip(points, race.prices, strict=True)])
            name = runner.name
            found.append(Tried(name, tuned[name], best[name], {}, None, None, cost, times[name]))
    members_of = {name: {name: p} for name, p in parts.items()}
    if blends and len(parts) >= least:
        members_of["blend"] = parts
    for name, members in members_of.items():
        p, weights, rest = blend(members, about["fold"], y, n / size)
        cases = of_posteriors(p, **about)
        losses = cases.log_losses()
        if name in parts:
            own = of_posteriors(parts[name], **about)
            if own.log_losses().mean() <= CALIBRATED * losses.mean():  # calibrated as it is
                cases, weights, losses = own, {}, own.log_losses()
        inner = tuned.get(name)
        if weights:
            inner = BlendClassifier(
                [(member, tuned[member]) for member in weights],
                weights=list(weights.values()),
                temperature=rest["temperature"],
                offsets=[rest["offsets"][i] for i in np.argsort(about["classes"])],
            )
        likely = likely_classes(cases)
        costs = [mean_cost(cases.at_prices(L), L, size, likely=likely) for L in race.prices]
        found.append(
            Tried(
                name, ThresholdRejectClassifier(inner), best.get(name, {}),
                weights if name == "blend" else {}, cases, losses, _mean(costs),
                sum(times[m] for m in weights or [name]),
            )
        )  # fmt: skip
    return found


def _mean(costs: Sequence[Interval[float]]) -> Interval[float]:
    return Interval(*(float(part) for part in np.mean(costs, axis=0)))


def blend(
    parts: Mapping[str, Floats], fold: Indices, y: Indices, n_alike: float = 1.0
) -> tuple[Floats, dict[str, float], dict[str, Any]]:
    """Posteriors (n, K) of a blend, each fold by what the others gave; weights; what else it takes.

    There are ``n_alike`` cases for each independent one.
    """
    names, p = list(parts), np.array(list(parts.values()))  # (m, n, K)
    powers, _ = learn_pool(p, y, alike=n_alike)
    some = powers >= min(LEAST_WEIGHT * powers.sum(), powers.max())
    names, p = [name for name, kept in zip(names, some, strict=True) if kept], p[some]
    powers, offsets = learn_pool(p, y, alike=n_alike)
    held_out = np.empty(p.shape[1:])
    for f in range(fold.max() + 1):
        mine = fold == f
        held_out[mine] = pooled(p[:, mine], *learn_pool(p[:, ~mine], y[~mine], alike=n_alike))
    weights = dict(zip(names, (powers / powers.sum()).tolist(), strict=True))
    rest = {"temperature": float(1 / powers.sum()), "offsets": offsets.tolist()}
    return believable(held_out, len(y)), weights, rest


# ---- the race -----------------------------------------------------------------------------


@dataclass
class Runner:
    """A candidate: a model, and the points of its grid that are still in the race."""

    method: Method
    model: Any  # a plain classifier, or a learner by data replication
    points: list[dict[str, Any]]
    best: dict[str, Any] = field(default_factory=dict)  # the best point of the last leg
    times: dict[int, float] = field(default_factory=dict)  # seconds of a fit, by number of cases
    points_at: list[OutOfFold] = field(default_factory=list)  # tested cases, at the best point
    judged: list[list[list[OutOfFold]]] = field(default_factory=list)  # at each point, by fold

    @classmethod
    def of(cls, method: Method, problem: ProblemSize) -> Runner:
        """Build a method for a problem."""
        model, grid, *_ = method.build(problem)
        if method.blended:  # its own classifier gives the posteriors
            model = model.estimator
            grid = {key.removeprefix("estimator__"): values for key, values in grid.items()}
        return cls(method, model, list(ParameterGrid(grid)))

    @property
    def name(self) -> str:
        """Name in the catalogue."""
        return self.method.name

    @property
    def by_posteriors(self) -> bool:
        """Whether it is run for its posteriors, not for its decisions."""
        return self.method.blended

    @property
    def n_fits(self) -> int:
        """Number of fits in a fold; those that differ in the number of trees share one."""
        staged = hasattr(self.model, "staged_predict_proba")
        shared = rounds_of(self.model) if staged else ""
        return len(alike(self.points, shared))

    def seconds(self, n: int) -> float:
        """Time that a fit on ``n`` cases may take, from those on fewer cases."""
        (first, time), *others = self.times.items()
        if not others:
            return time * max(1.0, n / first) ** GROWTH
        before, last = [(first, time), *others][-2:]
        slope = max(last[1] - before[1], 0.0) / max(last[0] - before[0], 1)
        return last[1] + slope * max(n - last[0], 0)

    def keep_best(self) -> None:
        """Drop all points but the best; how many trees are best is asked again on more cases."""
        rounds = rounds_of(self.model) if hasattr(self.model, "staged_predict_proba") else ""
        rest = {key: value for key, value in self.best.items() if key != rounds}
        kept = [i for i, point in enumerate(self.points) if rest.items() <= point.items()]
        self.points = [self.points[i] for i in kept]
        self.judged = [[of_fold[i] for i in kept] for of_fold in self.judged]


@dataclass
class Race:
    """The cases, their folds, and the prices at which learners by boundaries are trained."""

    prepare: Any
    X: Any
    k: Indices
    K: int
    folds: Splits
    prices: Sequence[Floats]
    random_state: int | None
    n_jobs: int | None
    tell: Callable[[str], None]
    ahead: list[int] = field(default_factory=list)  # cases of the legs to come, before the last
    _encoded: tuple[Indices, list[Fold]] | None = None  # of the last leg

    def run(self, runners: list[Runner]) -> tuple[list[Runner], dict[str, str]]:
        """Run all legs; who reached the end, with all cases out of fold, and why others did not."""
        n, left_out = len(self.k), dict[str, str]()
        sizes = [m for m in LEGS if m <= 0.7 * n]
        if len(runners) > 1 or len(runners[0].points) > 1:
            sizes = sizes or [n]
        self.ahead = sizes.copy()
        for m in sizes:
            rows = np.arange(n) if m == n else draw_rows(self.k, m, self.random_state)
            kinds = "1 kind" if len(runners) == 1 else f"{len(runners)} kinds"
            self.tell(
                f"Comparing {kinds} of model on {len(rows):,} of {n:,} cases{self._left(runners)}."
            )
            self.ahead.pop(0)
            self.leg(runners, rows, LEG_FOLDS)
            runners = self._still_in(runners, left_out)
        names = ", ".join(runner.name for runner in runners)
        self.tell(f"Cross-fitting on all {n:,} cases: {names}{self._left(runners)}.")
        self.leg(runners, np.arange(n), len(self.folds))
        for runner in runners:
            runner.points_at = [in_order(cases) for cases in runner.points_at]
        return runners, left_out

    def leg(self, runners: list[Runner], rows: Indices, n_folds: int) -> None:
        """Cross-fit all points on these rows, and keep the best of each."""
        parts = [
            (np.intersect1d(train, rows), np.intersect1d(test, rows))
            for train, test in self.folds[:n_folds]
        ]
        # A few cases, in whole groups, may leave a fold with one class to learn from.
        parts = [part for part in parts if len(np.unique(self.k[part[0]])) > 1]
        if self._encoded is None or not np.array_equal(self._encoded[0], rows):
            self._encoded = rows, []
            for runner in runners:
                runner.judged = []
        folds = self._encode(parts, self._encoded[1])
        known = len(runners[0].judged)  # folds of the leg before, if it had the same rows
        # What learners by boundaries are trained for: what a review costs where an error costs 1,
        # or prices that differ between two classes.
        relative = [reject_cost_of(L) for L in self.prices]
        costs = self.prices if None in relative else sorted({c or 0.5 for c in relative})
        # More threads than cores wait for each other, which takes far longer than the work.
        threads = None if self.n_jobs in (None, 1) else 1
        cells = [
            delayed(_run_cell)(
                r.model, r.by_posteriors, r.points, fold, self.K,
                [of_rows(L, train) for L in costs], threads,
            )
            for fold, (train, _) in list(zip(folds, parts, strict=True))[known:]
            for r in runners
        ]  # fmt: skip
        done: list[tuple[float, Any]] = []
        for cell in progress(each_done(cells, self.n_jobs), len(cells), "fitting"):
            done.append(cell)
            if len(done) == len(runners) and not runners[0].times:  # the first fold of all
                spent = sum(seconds for seconds, _ in done)
                for runner, (seconds, _) in zip(runners, done, strict=True):
                    runner.times[len(rows)] = seconds / runner.n_fits
                rest = spent * (n_folds - 1) / max(1, self.n_jobs or 1)
                self.tell(f"One of {n_folds} folds is done{self._left(runners, rest)}.")
        tested = np.concatenate([test for _, test in parts])
        for i, runner in enumerate(runners):
            mine = done[i :: len(runners)]
            spent = sum(seconds for seconds, _ in mine)
            if mine:
                runner.times[len(rows)] = spent / (len(mine) * runner.n_fits)
            runner.judged += [found for _, found in mine]
            points = gathered(runner.judged, y=self.k[tested], rows=tested)
            middle = costs[len(costs) // 2]
            if isinstance(middle, float):
                middle = uniform_prices(self.K, middle)
            prices = None if runner.by_posteriors else middle
            at = [[point[len(point) // 2]] for point in points]
            (best,) = best_points(at, [prices])
            runner.points_at, runner.best = points[best], runner.points[best]

    def _encode(self, parts: Splits, folds: list[Fold]) -> list[Fold]:
        """Prepare the cases of each fold, once for all candidates and legs on the same rows."""
        for train, test in parts[len(folds) :]:
            steps = clone(self.prepare)
            X_train = steps.fit_transform(_safe_indexing(self.X, train))
            X_test = steps.transform(_safe_indexing(self.X, test))
            folds.append(Fold(X_train, self.k[train], None, X_test))
        return folds[: len(parts)]

    def _still_in(self, runners: list[Runner], left_out: dict[str, str]) -> list[Runner]:
        """Drop what, once calibrated, is far behind beyond chance, and all but the best points."""
        losses = {}
        for runner in runners:
            if runner.by_posteriors:
                cases: Any = runner.points_at[0]
                p = pooled(cases.p[None], *learn_pool(cases.p[None], cases.y))
                losses[runner.name] = of_posteriors(p, y=cases.y).log_losses()
        best, kept = min(losses.values(), key=np.mean, default=np.zeros(1)), []
        for runner in runners:
            mine = losses.get(runner.name, best)
            if mine.mean() > LOST * best.mean() and _above(mine - best, len(mine), BEHIND):
                more = percent(mine.mean() / best.mean() - 1)
                left_out[runner.name] = f"a log loss {more} higher on {len(mine):,} cases"
            else:
                runner.keep_best()
                kept.append(runner)
        return kept

    def _left(self, runners: list[Runner], rest: float = 0.0) -> str:
        """Say how long the rest, the legs ahead and the final fit may take; at first nothing."""
        n, jobs = len(self.k), max(1, self.n_jobs or 1)
        if not runners[0].times:
            return ""
        some = [runner for runner in runners if runner.by_posteriors] or runners
        left = len(self.folds) - (LEG_FOLDS if n in runners[0].times else 0)
        fits = [(n, max(left, 0) / jobs + 1), *((m, LEG_FOLDS / jobs) for m in self.ahead)]
        total = rest + SETTLING + sum(f * runner.seconds(m) for m, f in fits for runner in some)
        return f"; about {clock(total)} left" if total >= SOON else ""


def _run_cell(
    model: Any, by_posteriors: bool, points: list[dict[str, Any]], fold: Fold, n_classes: int,
    costs: Any, threads: int | None,
) -> tuple[float, list[list[OutOfFold]]]:  # fmt: skip
    """Seconds, and the test cases at each point and, by boundaries, each reject cost or prices."""
    start, classes = monotonic(), np.arange(n_classes)
    if isinstance(model, Pipeline):  # all of its steps belong to the model
        model = ThresholdRejectClassifier(model)
        points = [{f"estimator__{k}": v for k, v in point.items()} for point in points]
    with quiet(), threadpool_limits(threads):
        if by_posteriors or isinstance(costs[0], float):
            found = judge_fold(model, points, fold, classes, costs=costs, posteriors=by_posteriors)
        else:
            each = []
            for L in costs:
                one, part = model, fold
                if L.ndim == 2:
                    one = candidate(model, price_parameters(model, L, classes) or {})
                else:
                    part = fold._replace(loss=case_loss(model, L, fold.y_train))
                each.append(judge_fold(one, points, part, classes, costs=None, posteriors=False))
            found = [[cases for (cases,) in of_point] for of_point in zip(*each, strict=True)]
    return monotonic() - start, found


@contextmanager
def quiet() -> Iterator[None]:
    """Points that do not converge, or that reject everything, lose by their score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        yield


def split_stratified(cv: int, X: Any, k: Indices, groups: Any, random_state: int | None) -> Splits:
    """Return stratified, shuffled folds, of which every training part has two classes.

    So there are at most as many as the second largest class has cases.
    """
    n_folds = min(cv, int(np.sort(np.bincount(k))[-2]))
    if n_folds < 2:
        raise RejoError(
            "all cases but one are of one class, and cross-validation needs two of another",
            parameter="y",
            remedy="Give more cases of the other classes.",
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = split_cases(shuffled_folds(n_folds, groups, random_state), X, k, groups)
    if any(len(np.unique(k[train])) < 2 for train, _ in folds):
        raise RejoError(
            "a fold of whole groups leaves cases of one class only to learn from",
            parameter="groups",
            remedy="Give smaller groups, or more cases of the rare class in other groups.",
        )
    return folds


def clock(seconds: float) -> str:
    """Say a time in seconds or minutes."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def draw_rows(y: Any, n: int, random_state: int | None = 0, least: int = 10) -> Indices:
    """Draw ``n`` cases, stratified by class, and up to ``least`` of each class; the rows ascend."""
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
