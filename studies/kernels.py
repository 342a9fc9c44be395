"""The methods with a kernel; all costs, parameters and folds share kernel matrices.

The kernel matrix of the training part is computed once for each ``gamma``, and a fold is a
sub-matrix of it.  Plain machines are those of :class:`rejo.RejoSVC` with one replica, solved
along a path of costs and ``C``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, groupby, product
from typing import Any

import numpy as np
from sklearn.base import clone

from rejo import RejoSVC
from rejo.baselines import EmbeddedRejectSVC
from rejo.replication import replica_costs, replica_labels
from rejo.selection import RejectClassifierCV
from rejo.solvers import Kernel, LogisticProblem, Problem, Step, gram, path_order
from studies.paper import TuningGrid
from studies.run import Floats
from studies.tasks import Task
from studies.tuning import (
    CHOW,
    ORDINAL,
    Above,
    Costs,
    Grid,
    Params,
    PosteriorRule,
    TrainTest,
    Tried,
    by_boundaries,
    tune,
    tune_cutoffs,
    tune_posteriors,
)

DEGREE, COEF0 = 2, 1.0  # (gamma x.x' + 1)^2: all terms up to the second order
TOL = 1e-3

# The thresholds of rejoLogistic are intercepts, as free as in a logistic regression: h is large.
LOGISTIC: dict[str, Any] = {"h": 10.0, "tol": 1e-4}

# The fits for tuning have one start, not nine, as the guide says.
FEW_STARTS: dict[str, Any] = {"n_starts": 1, "tol": 1e-4}


def rejo_svm(task: Task, costs: Costs, grid: TuningGrid, kernel: str) -> list[Tried]:
    """rejoSVM, tuned for all reject costs at once."""
    machine = RejoSVC(kernel=kernel, degree=DEGREE, coef0=COEF0, tol=TOL)
    values = {"C": grid.Cs, "gamma": grid.gammas, "h": grid.hs}
    search = RejectClassifierCV(
        machine, review_budget=0.5, param_grid=values, reject_costs=costs, cv=task.folds
    ).fit(task.X, task.k)
    tried = []
    for w, point in zip(costs, search.curve_params_, strict=True):
        model = clone(machine).set_params(reject_cost=w, **point).fit(task.X, task.k)
        above = model.boundary_scores(task.X_test) > 0
        tried.append(by_boundaries(above, model.classes_, point))
    return tried


def rejo_logistic(task: Task, costs: Costs, grid: TuningGrid, kernel: str) -> list[Tried]:
    """rejoLogistic: the solver of :class:`rejo.RejoKernelLogistic` on the kernel matrices."""
    grams = Grams(task, kernel)

    def boundaries(part: TrainTest, costs: Costs, grid: Grid) -> Above:
        classes, k = np.unique(part.k, return_inverse=True)
        labels = replica_labels(len(classes))
        tables = [replica_costs(len(classes), w) for w in costs]  # (K, Q)
        for gamma, places in _by_gamma(grid):
            K, between = grams.matrices(part, gamma)
            order = [(i, places[c]) for i, c, _ in path_order(len(costs), len(places))]
            steps = [Step(labels, grid[j]["C"] * tables[i], LOGISTIC["h"]) for i, j in order]
            problem = LogisticProblem(K, Kernel("precomputed"), k)
            found = list(problem.solve_path(steps, tol=LOGISTIC["tol"]))
            # All functions are carried by the same points.
            g = between[:, found[0].pivots] @ np.column_stack([each.coef for each in found])
            for (i, j), values, each in zip(order, g.T, found, strict=True):
                yield i, j, values[:, None] > np.sort(-each.b)

    return tune(task, costs, _points(grid), boundaries)


def two_classifiers(task: Task, costs: Costs, grid: TuningGrid, kernel: str) -> list[Tried]:
    """SVM-2C, and FH-2C for more classes: an independent machine for each boundary."""
    grams = Grams(task, kernel)

    def boundaries(part: TrainTest, costs: Costs, grid: Grid) -> Above:
        classes, k = np.unique(part.k, return_inverse=True)
        labels = replica_labels(len(classes))[k]  # (n, Q)
        tables = [replica_costs(len(classes), w)[k] for w in costs]
        for gamma, places in _by_gamma(grid):
            problem, between = grams.part(part, gamma)
            order = [(i, places[c]) for i, c, _ in path_order(len(costs), len(places))]
            scores = []
            for q, y in enumerate(labels.T):
                caps = [grid[j]["C"] * tables[i][:, [q]] for i, j in order]
                scores.append(_solve_path(problem, between, y, caps))
            for (i, j), above in zip(order, np.stack(scores, axis=2) > 0, strict=True):
                yield i, j, above

    return tune(task, costs, _points(grid), boundaries)


def one_classifier(task: Task, costs: Costs, grid: TuningGrid, kernel: str) -> list[Tried]:
    """SVM-1C, and FH-1C for more classes: a machine for each split, with cut-offs."""
    classes, k = np.unique(task.k, return_inverse=True)
    machines = _Machines(task, kernel, replica_labels(len(classes), reject=False)[k])
    return tune_cutoffs(task, costs, _points(grid), machines)


def by_posteriors(
    task: Task, costs: Costs, grid: TuningGrid, kernel: str, rule: PosteriorRule
) -> list[Tried]:
    """Chow-SVC and Ordinal-SVC: posteriors of plain machines, one for each pair of classes."""
    return tune_posteriors(task, costs, _points(grid), _pairs(task, kernel), rule)


def fumera(task: Task, costs: Costs, grid: TuningGrid, kernel: str) -> list[Tried]:
    """Fumera and Roli's machine with an embedded reject option, as in the paper.

    Their program has a linear kernel only, so that the paper adds second-order terms to the
    features: a polynomial kernel of degree 2 without ``gamma``.
    """

    def boundaries(part: TrainTest, costs: Costs, grid: Grid) -> Above:
        more = {} if part.fold is None else FEW_STARTS
        model = EmbeddedRejectSVC(second_order=True, **more)
        Cs = [params["C"] for params in grid]
        models = model.fit_path(part.X, part.k, reject_costs=costs, Cs=Cs)
        places = product(range(len(costs)), range(len(grid)))
        for (i, j), each in zip(places, models, strict=True):
            yield i, j, each.boundary_scores(part.X_new) > 0

    tried = tune(task, costs, [{"C": C} for C in grid.Cs], boundaries)
    return [one._replace(crossing_rate=None) for one in tried]  # two cut-offs on one score


KERNEL_METHODS: dict[str, Callable[..., list[Tried]]] = {
    "rejoSVM": rejo_svm,
    "SVM-1C": one_classifier,
    "FH-1C": one_classifier,
    "SVM-2C": two_classifiers,
    "FH-2C": two_classifiers,
    "Fumera": fumera,
    "Chow-SVC": partial(by_posteriors, rule=CHOW),
    "Ordinal-SVC": partial(by_posteriors, rule=ORDINAL),
    "rejoLogistic": rejo_logistic,
}


# ---- shared kernel matrices ---------------------------------------------------------------


class Grams:
    """Kernel matrices of a task, each computed once."""

    def __init__(self, task: Task, kernel: str) -> None:
        self.task, self.kernel = task, kernel
        self._found: dict[tuple[str, float], Floats] = {}

    def matrices(self, part: TrainTest, gamma: float) -> tuple[Floats, Floats]:
        """Between the points of a part (n, n), and to the new points (m, n)."""
        K = self._gram("train", self.task.X, gamma)
        if part.fold is None:
            return K, self._gram("test", self.task.X_test, gamma)
        train, test = part.fold
        return K[np.ix_(train, train)], K[np.ix_(test, train)]

    def part(self, part: TrainTest, gamma: float) -> tuple[Problem, Floats]:
        """The machine's problem on the points of a part, and its kernel to the new points."""
        K, between = self.matrices(part, gamma)
        return Problem(np.ascontiguousarray(K), Kernel("precomputed")), between

    def _gram(self, name: str, X: Floats, gamma: float) -> Floats:
        if (name, gamma) not in self._found:
            kernel = Kernel(self.kernel, gamma, DEGREE, COEF0)
            self._found[name, gamma] = gram(X, self.task.X, kernel)
        return self._found[name, gamma]


class _Machines:
    """Scores of plain machines, one for each column of labels (n, columns); 0 takes no part."""

    def __init__(self, task: Task, kernel: str, labels: Floats) -> None:
        self.grams, self.labels = Grams(task, kernel), labels

    def __call__(self, part: TrainTest, grid: Grid) -> Iterator[tuple[int, Floats]]:
        labels = self.labels if part.fold is None else self.labels[part.fold[0]]
        for gamma, places in _by_gamma(grid):
            problem, between = self.grams.part(part, gamma)
            scores = []
            for y in labels.T:
                caps = [grid[j]["C"] * np.abs(y[:, None]) for j in places]
                scores.append(_solve_path(problem, between, np.where(y < 0, -1.0, 1.0), caps))
            yield from zip(places, np.stack(scores, axis=2), strict=True)


def _pairs(task: Task, kernel: str) -> _Machines:
    """Machines that tell two classes apart, for every pair."""
    classes, k = np.unique(task.k, return_inverse=True)
    pairs = combinations(range(len(classes)), 2)
    labels = np.column_stack([(k == j) * 1.0 - (k == i) for i, j in pairs])  # 0: takes no part
    return _Machines(task, kernel, labels)


def _solve_path(problem: Problem, between: Floats, y: Floats, caps: list[Floats]) -> Floats:
    """Scores (n_caps, m) of a machine for the labels (n,) and each of the caps (n, 1).

    All caps leave the same points out, those where they are 0.
    """
    y = y[:, None]
    sides = np.unique(y[caps[0] > 0])
    if len(sides) < 2:  # a class is missing: only the other side has been seen
        return np.full((len(caps), len(between)), sides.sum())
    coefs, b = np.zeros((len(y), len(caps))), np.empty(len(caps))
    steps = (Step(y, each) for each in caps)
    for i, solution in enumerate(problem.solve_path(steps, tol=TOL)):
        coefs[solution.basis, i] = solution.coef
        b[i] = solution.b[0]
    return np.asarray(between @ coefs + b).T


def _points(grid: TuningGrid) -> list[Params]:
    return [{"C": C, "gamma": gamma} for C, gamma in product(grid.Cs, grid.gammas)]


def _by_gamma(grid: Grid) -> Iterator[tuple[float, list[int]]]:
    """Each ``gamma`` with the indices of its parameters."""
    order = sorted(range(len(grid)), key=lambda j: grid[j]["gamma"])
    for gamma, places in groupby(order, key=lambda j: grid[j]["gamma"]):
        yield gamma, list(places)
