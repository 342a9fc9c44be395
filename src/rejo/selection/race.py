"""A race of models: all are tuned on a few cases, and the best go on to more.

Every leg cross-fits what is still in the race on the same folds, each prepared once.  Models that
decide by posteriors are tuned by log loss.  Learners by data replication are trained for one reject
cost, and are tuned by what their decisions cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo._errors import RejoError
from rejo._io import percent, progress
from rejo._typing import Floats, Indices
from rejo.baselines import ThresholdRejectClassifier, class_floor, learn_temperature, tempered
from rejo.catalogue import Method, ProblemSize
from rejo.decisions import decide
from rejo.metrics import log_loss
from rejo.prices import reject_cost_of
from rejo.selection.folds import Fold, Splits, shuffled_folds, split_cases
from rejo.selection.grids import grid_posteriors, quiet
from rejo.selection.outcomes import judge_path

LEGS = (1_000, 4_000)  # cases in the first legs; the last is run on all
LEG_FOLDS = 3  # of the folds, in the first legs
BEHIND = 1.1  # out of the race with a cost above this times the lowest,
LOST = 1.25  # and a log loss above this times the lowest


@dataclass
class Runner:
    """A candidate: a model, and the points of its grid that are still in the race."""

    method: Method
    model: Any  # a plain classifier, or a learner by data replication
    points: list[dict[str, Any]]
    best: dict[str, Any] = field(default_factory=dict)  # the best point of the last leg
    times: dict[int, float] = field(default_factory=dict)  # seconds of a fit, by number of cases
    p: Any = None  # (n, K) posteriors of the tested cases at the best point
    cost: Any = None  # (n,) what each tested case costs at the best point

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

    def tuned(self) -> Any:
        """Return the model at its best point, unfitted."""
        return clone(self.model).set_params(**self.best)

    @property
    def n_fits(self) -> int:
        """Number of fits in a fold; those that differ in the number of trees share one."""
        shared = "max_iter" if hasattr(self.model, "staged_predict_proba") else None
        kinds = [{k: v for k, v in point.items() if k != shared} for point in self.points]
        return len({repr(kind) for kind in kinds})

    def seconds(self, n: int) -> float:
        """Time that a fit on ``n`` cases may take, from those on fewer cases."""
        before, last = [(0, 0.0), *self.times.items()][-2:]
        slope = max(last[1] - before[1], 0.0) / max(last[0] - before[0], 1)
        return last[1] + slope * max(n - last[0], 0)

    def keep_best(self) -> None:
        """Drop all points but the best; how many trees are best is asked again on more cases."""
        rest = {key: value for key, value in self.best.items() if key != "max_iter"}
        if hasattr(self.model, "staged_predict_proba"):
            self.points = [point for point in self.points if rest.items() <= point.items()]
        else:
            self.points = [self.best]


class Race:
    """The cases, their folds, and the prices at which runners are compared.

    The cost of a case is the mean over the ``prices``; in the first legs the middle one will do.
    """

    def __init__(
        self, prepare: Any, X: Any, k: Indices, n_classes: int, folds: Splits,
        prices: Sequence[Floats], *, random_state: int | None, n_jobs: int | None,
        tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.prepare, self.X, self.k, self.K = prepare, X, k, n_classes
        self.folds, self.prices = folds, list(prices)
        self.random_state, self.n_jobs, self.tell = random_state, n_jobs, tell
        self.at = [prices[len(prices) // 2]]  # of this leg
        self._encoded: tuple[Indices, list[Fold]] | None = None  # of the last leg

    def run(self, runners: list[Runner]) -> tuple[list[Runner], dict[str, str]]:
        """Run all legs; who reached the end, with results on all cases, and why others did not."""
        n, left_out = len(self.k), dict[str, str]()
        sizes = [m for m in LEGS if m <= 0.7 * n]
        if len(runners) > 1 or len(runners[0].points) > 1:
            sizes = sizes or [n]
        for m in sizes:
            rows = np.arange(n) if m == n else draw_rows(self.k, m, self.random_state)
            kinds = "1 kind" if len(runners) == 1 else f"{len(runners)} kinds"
            self.tell(
                f"Comparing {kinds} of model on {len(rows):,} of {n:,} cases{self._left(runners)}."
            )
            tested = self.leg(runners, rows, LEG_FOLDS)
            runners = self._still_in(runners, self.k[tested], left_out)
        names = ", ".join(runner.name for runner in runners)
        self.tell(f"Cross-fitting on all {n:,} cases: {names}{self._left(runners)}.")
        self.at = self.prices
        tested = self.leg(runners, np.arange(n), len(self.folds))
        order = np.argsort(tested)  # every case once
        for runner in runners:
            runner.cost = runner.cost[order]
            runner.p = None if runner.p is None else runner.p[order]
        return runners, left_out

    def leg(self, runners: list[Runner], rows: Indices, n_folds: int) -> Indices:
        """Cross-fit all points on these rows; return the rows that were tested."""
        parts = [
            (np.intersect1d(train, rows), np.intersect1d(test, rows))
            for train, test in self.folds[:n_folds]
        ]
        # A few cases, in whole groups, may leave a fold with one class to learn from.
        parts = [part for part in parts if len(np.unique(self.k[part[0]])) > 1]
        folds = self._encode(rows, parts)
        # What a review costs where an error costs 1, for learners that are trained for that.
        costs = [reject_cost_of(L) or 0.5 for L in self.at]
        # More threads than cores wait for each other, which takes far longer than the work.
        threads = None if self.n_jobs in (None, 1) else 1
        cells = [
            delayed(_run_cell)(r.model, r.by_posteriors, r.points, fold, self.K, costs, threads)
            for fold in folds
            for r in runners
        ]
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        done: list[tuple[float, Any]] = []
        for cell in progress(parallel(cells), len(cells), "fitting"):
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
            runner.times[len(rows)] = spent / (len(mine) * runner.n_fits)
            self._score(runner, np.concatenate([found for _, found in mine], axis=-2), tested)
        return tested

    def cost(self, p: Floats, y: Indices) -> Floats:
        """Cost (n,) of each case if posteriors decide, mean over the prices."""
        return paid(np.array([decide(p, L).decision for L in self.at]), y, self.at)

    def loss(self, p: Floats, y: Indices) -> float:
        """Log loss of posteriors (n, K) in a blend, where no class is impossible."""
        floor = class_floor(self.k)
        return log_loss(y, (p + floor) / (1 + floor.sum()), classes=np.arange(self.K))

    def _encode(self, rows: Indices, parts: Splits) -> list[Fold]:
        """Prepare the cases of each fold, once for all candidates and legs on the same rows."""
        if self._encoded is None or not np.array_equal(self._encoded[0], rows):
            self._encoded = rows, []
        folds = self._encoded[1]
        for train, test in parts[len(folds) :]:
            steps = clone(self.prepare)
            X_train = steps.fit_transform(_safe_indexing(self.X, train))
            X_test = steps.transform(_safe_indexing(self.X, test))
            folds.append(Fold(X_train, self.k[train], None, X_test))
        return folds[: len(parts)]

    def _score(self, runner: Runner, found: Any, tested: Indices) -> None:
        """Find the best point; keep its posteriors, and the cost of each case."""
        y = self.k[tested]
        if runner.by_posteriors:  # found: (n_points, n, K)
            losses = [self.loss(p, y) for p in found]
            best = int(np.argmin(np.round(losses, 9)))
            runner.p = found[best]
            runner.cost = self.cost(runner.p, y)
        else:  # (n_points, n_prices, n, 1)
            costs = [paid(decisions[..., 0], y, self.at) for decisions in found]
            best = int(np.argmin(np.round([cost.mean() for cost in costs], 12)))
            runner.cost = costs[best]
        runner.best = runner.points[best]

    def _still_in(
        self, runners: list[Runner], y: Indices, left_out: dict[str, str]
    ) -> list[Runner]:
        """Drop what is behind, and all but the best points of each grid.

        A learner by data replication is trained anew for each price, so only the best one stays,
        and only as long as it costs less than all that decide by posteriors.
        """
        costs = {runner.name: float(runner.cost.mean()) for runner in runners}
        losses = {}
        for runner in runners:
            if runner.by_posteriors:  # as it would be calibrated in the end
                p = runner.p + class_floor(self.k)
                p = tempered(p, learn_temperature(p, y))
                losses[runner.name] = log_loss(y, p, classes=np.arange(self.K))
                costs[runner.name] = float(self.cost(p, y).mean())
        lowest = min(costs.values())
        kept = []
        for runner in runners:
            cost = costs[runner.name]
            behind = cost > lowest
            if runner.by_posteriors:
                lost = losses[runner.name] > LOST * min(losses.values())
                behind = lost and cost > BEHIND * lowest
            if behind:
                more = f"{percent(cost / lowest - 1)} more" if lowest > 0 else "more"
                left_out[runner.name] = f"cost {more} on {len(y):,} cases"
            else:
                runner.keep_best()
                kept.append(runner)
        return kept

    def _left(self, runners: list[Runner], rest: float = 0.0) -> str:
        """Say how long the rest, the last leg and the final fit may take; at first nothing."""
        n, jobs = len(self.k), max(1, self.n_jobs or 1)
        if not runners[0].times:
            return ""
        some = [runner for runner in runners if runner.by_posteriors] or runners
        last = sum(runner.seconds(n) for runner in some)
        total = rest + last * (len(self.folds) / jobs + 1)
        return f"; about {clock(total)} left"


def _run_cell(
    model: Any, by_posteriors: bool, points: list[dict[str, Any]], fold: Fold, n_classes: int,
    costs: list[float], threads: int | None,
) -> tuple[float, Any]:  # fmt: skip
    """Seconds, and posteriors (n_points, n_test, K) or decisions (n_points, n_costs, n_test, 1)."""
    start, classes = monotonic(), np.arange(n_classes)
    with quiet(), threadpool_limits(threads):
        if by_posteriors:
            if isinstance(model, Pipeline):  # all of its steps belong to the model
                model = ThresholdRejectClassifier(model)
                points = [{f"estimator__{k}": v for k, v in point.items()} for point in points]
            found: Any = grid_posteriors(model, points, fold, classes)
        else:
            models = (clone(model).set_params(**point) for point in points)
            found = [judge_path(tried, costs, fold, classes).decision for tried in models]
            found = np.array(found)[..., None]
    return monotonic() - start, found


def paid(decisions: Indices, y: Indices, prices: Sequence[Floats]) -> Floats:
    """Cost (n,) of decisions (n_prices, n), each at its prices; mean over these."""
    costs = [L[y, d] for L, d in zip(prices, decisions, strict=True)]  # -1: the review, last
    return np.mean(costs, axis=0)


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
