"""Support vector machines: all costs, parameters and folds on shared kernel matrices.

A kernel matrix of the training part is computed once for each ``gamma``; a fold is a sub-matrix
of it.  The solver is that of :class:`rejo.RejoSVC`, which with one replica is a plain support
vector machine; each solve starts from the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from rejo._typing import Floats, Indices
from rejo.baselines.calibration import calibrated, fit_calibrator
from rejo.replication import replica_costs, replica_labels
from rejo.selection import RejoSVCCV
from rejo.solvers.reference import gram
from rejo.solvers.svm import Kernel, Problem
from rejo.study._cutoffs import choose_cutoffs, decide
from rejo.study._data import Task
from rejo.study._grids import Grid, snake
from rejo.study._outcomes import Tried, crossed, first_least, outputs_of, rates, risk

DEGREE, COEF0 = 2, 1.0  # (gamma x.x' + 1)^2: all terms up to the second order
TOL = 1e-3


class _Part(NamedTuple):
    """Points to train on, points to score, and the kernel between them."""

    problem: Problem
    between: Floats  # (n_scored, n)


class _Point(NamedTuple):
    C: float
    gamma: float

    def params(self) -> dict[str, float]:
        return {"C": self.C, "gamma": self.gamma}


def rejo_svm(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """rejoSVM, tuned by :class:`rejo.selection.RejoSVCCV`."""
    search = RejoSVCCV(
        reject_cost=costs[0],
        Cs=grid.Cs,
        gammas=grid.gammas,
        hs=grid.hs,
        reject_costs=costs,
        cv=task.folds,
        kernel=kernel,
        degree=DEGREE,
        coef0=COEF0,
        tol=TOL,
    ).fit(task.X, task.k)
    tried = []
    for w in costs:
        model = search.best_estimators_[w]
        above = model.boundary_scores(task.X_test) > 0
        outputs = outputs_of(above.sum(axis=1), model.classes_)
        tried.append(Tried(outputs, search.best_params_[w], crossed(above)))
    return tried


def one_classifier(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """SVM-1C, and FH-1C for more classes: a machine for each split, with cut-offs.

    The cut-offs for each cost minimise its risk on held-out scores, and so do ``C`` and ``gamma``.
    """
    classes, k = np.unique(task.k, return_inverse=True)
    labels = replica_labels(len(classes), reject=False)[k]  # (n, K-1)
    points, scores = _held_out(task, grid, kernel, labels)
    best, cutoffs = choose_cutoffs(scores, task.k, costs)
    tested = _refit(task, kernel, labels, [points[i] for i in set(best)])
    return [
        decide(tested[points[i]], t, classes, points[i].params())
        for i, t in zip(best, cutoffs, strict=True)
    ]


def chow(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """Chow's rule on the posteriors of a plain machine, by Platt's sigmoid.

    More than two classes are told apart pair by pair, and the posteriors are those of a logistic
    regression on the scores of all pairs.  ``C`` and ``gamma`` minimise the risk of each cost on
    the held-out posteriors.
    """
    classes, k = np.unique(task.k, return_inverse=True)
    pairs = combinations(range(len(classes)), 2)
    labels = np.column_stack([(k == j) * 1.0 - (k == i) for i, j in pairs])  # 0: takes no part
    points, scores = _held_out(task, grid, kernel, labels)
    maps = [fit_calibrator(s, k, np.ones(len(k)), "sigmoid") for s in scores]
    posteriors = [calibrated(m, s) for m, s in zip(maps, scores, strict=True)]
    risks = [[risk(w, _decide(p, w, classes), task.k) for p in posteriors] for w in costs]
    best = first_least(np.array(risks))
    tested = _refit(task, kernel, labels, [points[i] for i in set(best.tolist())])
    return [
        Tried(_decide(calibrated(maps[i], tested[points[i]]), w, classes), points[i].params())
        for i, w in zip(best, costs, strict=True)
    ]


def two_classifiers(task: Task, costs: Sequence[float], grid: Grid, kernel: str) -> list[Tried]:
    """SVM-2C, and FH-2C for more classes: an independent machine for each boundary."""
    points = [_Point(C, gamma) for C, gamma in product(grid.Cs, grid.gammas)]
    rejected = np.zeros((len(costs), len(points)))
    wrong = np.zeros_like(rejected)
    for gamma in grid.gammas:
        K = gram(task.X, task.X, kernel_of(kernel, gamma))
        places = [i for i, point in enumerate(points) if point.gamma == gamma]
        for train, test in task.folds:
            classes, k = np.unique(task.k[train], return_inverse=True)
            part = _part(K[np.ix_(train, train)], K[np.ix_(test, train)])
            above = _boundaries(part, len(classes), k, costs, grid.Cs) > 0  # (n, Q, costs, Cs)
            R, E = rates(outputs_of(above.sum(axis=1), classes), task.k[test])
            rejected[:, places] += len(test) * R
            wrong[:, places] += len(test) * E
    risks = (np.array(costs)[:, None] * rejected + wrong) / len(task.k)
    best = [points[i] for i in first_least(risks)]
    classes, k = np.unique(task.k, return_inverse=True)
    parts = {gamma: _whole(task, kernel, gamma) for gamma in {point.gamma for point in best}}
    tried = []
    for w, point in zip(costs, best, strict=True):
        scores = _boundaries(parts[point.gamma], len(classes), k, [w], [point.C])
        above = scores[:, :, 0, 0] > 0
        outputs = outputs_of(above.sum(axis=1), classes)
        tried.append(Tried(outputs, point.params(), crossed(above)))
    return tried


# ---- Chow's rule --------------------------------------------------------------------------


def _decide(p: Floats, reject_cost: float, classes: Indices) -> Indices:
    """Outputs: the likeliest class, or a rejection on that side of it where the second is."""
    top, second = np.argsort(-p, axis=1, kind="stable")[:, :2].T
    rejected = p.max(axis=1) < 1.0 - reject_cost
    return 2 * classes[top] + np.where(rejected, np.sign(second - top), 0)


# ---- solves ------------------------------------------------------------------------------


def kernel_of(name: str, gamma: float) -> Kernel:
    """Return the kernel by name, with the degree and constant of this study."""
    return Kernel(name, gamma, DEGREE, COEF0)


def _part(K: Floats, between: Floats) -> _Part:
    return _Part(Problem(np.ascontiguousarray(K), Kernel("precomputed")), between)


def _whole(task: Task, kernel: str, gamma: float) -> _Part:
    """All training points, with the test points to score."""
    how = kernel_of(kernel, gamma)
    return _part(gram(task.X, task.X, how), gram(task.X_test, task.X, how))


def _held_out(
    task: Task, grid: Grid, kernel: str, labels: Floats
) -> tuple[list[_Point], list[Floats]]:
    """Points of the grid; for each the score (n, columns) of every point by a fit without it."""
    points = [_Point(C, gamma) for C, gamma in product(grid.Cs, grid.gammas)]
    scores = {point: np.empty(labels.shape) for point in points}
    for gamma in grid.gammas:
        K = gram(task.X, task.X, kernel_of(kernel, gamma))
        for train, test in task.folds:
            part = _part(K[np.ix_(train, train)], K[np.ix_(test, train)])
            fits = _plain(part, labels[train], grid.Cs)  # (n_test, columns, n_Cs)
            for c, C in enumerate(grid.Cs):
                scores[_Point(C, gamma)][test] = fits[:, :, c]
    return points, [scores[point] for point in points]


def _refit(task: Task, kernel: str, labels: Floats, points: list[_Point]) -> dict[_Point, Floats]:
    """Scores (n_test, columns) of the test part, for some points of the grid."""
    parts = {gamma: _whole(task, kernel, gamma) for gamma in {point.gamma for point in points}}
    return {point: _plain(parts[point.gamma], labels, [point.C])[:, :, 0] for point in points}


def _plain(part: _Part, labels: Floats, Cs: Sequence[float]) -> Floats:
    """Scores (n_scored, columns, n_Cs) of machines without costs; label 0 takes no part."""
    columns = []
    for y in labels.T:
        boxes = [C * np.abs(y[:, None]) for C in Cs]
        columns.append(_solve_path(part, np.where(y < 0, -1.0, 1.0)[:, None], boxes))
    return np.stack(columns, axis=1)


def _boundaries(
    part: _Part, n_classes: int, k: Indices, costs: Sequence[float], Cs: Sequence[float]
) -> Floats:
    """Scores (n_scored, Q, n_costs, n_Cs) of a machine for each boundary, cost and ``C``."""
    labels = replica_labels(n_classes)[k]  # (n, Q)
    tables = [replica_costs(n_classes, w)[k] for w in costs]
    scores = np.empty((len(part.between), labels.shape[1], len(costs), len(Cs)))
    order = list(snake(len(costs), len(Cs)))
    for q in range(labels.shape[1]):
        boxes = [Cs[c] * tables[i][:, q : q + 1] for i, c in order]
        fits = _solve_path(part, labels[:, q : q + 1], boxes)
        for (i, c), f in zip(order, fits.T, strict=True):
            scores[:, q, i, c] = f
    return scores


def _solve_path(part: _Part, y: Floats, boxes: list[Floats]) -> Floats:
    """Scores (n_scored, n_boxes) of a machine for the labels (n, 1) and each of the boxes (n, 1).

    All boxes leave the same points out, those where they are 0.
    """
    sides = np.unique(y[boxes[0] > 0])
    if len(sides) < 2:  # a class is missing: only the other side has been seen
        return np.full((len(part.between), len(boxes)), sides.sum())
    coefs = np.zeros((len(y), len(boxes)))
    b = np.empty(len(boxes))
    u = before = None
    for i, caps in enumerate(boxes):
        if u is not None:
            # What was at its bound stays there, the rest keeps its value.
            u = np.where(np.abs(u) >= before, y * caps, np.clip(u, -caps, caps))
        solution = part.problem.solve(y, caps, tol=TOL, u=u)
        u, before = solution.u, caps
        coefs[solution.basis, i] = solution.coef
        b[i] = solution.b[0]
    return np.asarray(part.between @ coefs + b)
