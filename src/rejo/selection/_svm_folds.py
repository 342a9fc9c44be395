"""RejoSVC over many costs and parameters on the same folds, without an estimator in the loop.

A cross-validation of every reject cost, ``C``, ``gamma`` and ``h`` solves thousands of small
problems that have nearly everything in common.  The kernel matrix of all cases is computed
once for each ``gamma``, and a fold is a sub-matrix of it; every solve starts from the one
before; and the decisions of all models of a fold come from one product with the kernel values
of its test cases.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from rejo._typing import Floats, Indices
from rejo.estimators.classes import check_sample_weight, check_targets, encode_classes
from rejo.estimators.kernels import check_gram, check_symmetric, choose_gamma
from rejo.estimators.svm import RejoSVC
from rejo.replication import decode, replica_costs, replica_labels
from rejo.solvers.reference import gram
from rejo.solvers.svm import FACTOR_FROM, Kernel, KernelSolution, Problem, evaluate


class Grid(NamedTuple):
    """What is varied; each ascending, so that warm starts are near."""

    reject_costs: Sequence[float]
    Cs: Sequence[float]
    gammas: Sequence[float | str]
    hs: Sequence[float]


class Counts(NamedTuple):
    """What became of the test cases: numbers of them, or sums of their weights."""

    rejected: Floats  # (n_costs, n_Cs, n_gammas, n_hs, n_folds)
    wrong: Floats  # the same shape
    total: Floats  # (n_folds,)


class _Fold(NamedTuple):
    """A split, and what its fits share."""

    train: Indices  # rows with a weight
    test: Indices
    classes: Indices  # (K,) classes of the training rows, as indices into all classes
    indices: Indices  # (n_train,) index into these
    weight: Floats | None  # (n_train,) class weights included
    sample_weight: Floats | None  # (n_train,) without them
    truth: Indices  # (n_test,) index into all classes
    test_weight: Floats  # (n_test,)


def count_outcomes(
    model: RejoSVC,
    X: Any,
    y: Any,
    grid: Grid,
    folds: Iterable[tuple[Indices, Indices]],
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Counts:
    """Fit ``model`` with every combination in ``grid`` on every fold; count what it decides."""
    model = clone(model)
    for name, values in zip(("reject_cost", "C", "gamma", "h"), grid, strict=True):
        for value in values:
            setattr(model, name, value)
            model._check_parameters()
    X = model._check_X(X, reset=True, accept_sparse=model.kernel != "precomputed")
    splits = list(_folds(model, X, y, folds, sample_weight))
    total = np.array([fold.test_weight.sum() for fold in splits])
    if not total.all():
        raise ValueError("sample_weight is 0 for all test cases of a fold: give cv fewer folds.")
    shares = _shares_gram(model, max(len(fold.train) for fold in splits))
    shape = len(grid.reject_costs), len(grid.Cs), len(grid.gammas), len(grid.hs), len(splits)
    rejected, wrong = np.empty(shape), np.empty(shape)
    failures = 0
    for g, gamma in enumerate(grid.gammas):
        Ks: list[Floats | None] = [None] * len(splits)
        if shares and isinstance(gamma, str) and isinstance(model.kernel, str):
            Ks = [_gram(model, X, gamma, fold) for fold in splits]
        elif shares:
            Ks = [_gram(model, X, gamma)] * len(splits)
        # The solver releases the GIL, and threads share the matrix.
        outcomes = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_run_fold)(model, X, K, gamma, fold, grid)
            for K, fold in zip(Ks, splits, strict=True)
        )
        for f, (fold_rejected, fold_wrong, fold_failures) in enumerate(outcomes):
            rejected[:, :, g, :, f], wrong[:, :, g, :, f] = fold_rejected, fold_wrong
            failures += fold_failures
    if failures:
        warnings.warn(
            f"{failures} of {rejected.size} fits stopped before tol={model.tol:g} was reached. "
            "Scale the features, lower C, or raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Counts(rejected, wrong, total)


def _folds(
    model: RejoSVC, X: Any, y: Any, folds: Iterable[tuple[Indices, Indices]], sample_weight: Any
) -> Iterator[_Fold]:
    classes, k = encode_classes(y, model.class_order)
    order, y = classes.tolist(), classes[k]
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(k))
    for train, test in folds:
        targets = check_targets(
            X[train], y[train], None if weight is None else weight[train],
            order, model.class_weight, type(model).__name__,
        )  # fmt: skip
        yield _Fold(
            train if targets.rows is None else train[targets.rows],
            test,
            np.array([order.index(label) for label in targets.classes.tolist()]),
            targets.indices,
            targets.weight,
            targets.sample_weight,
            k[test],
            np.ones(len(test)) if weight is None else weight[test],
        )


def _shares_gram(model: RejoSVC, n: int) -> bool:
    """Whether folds take parts of one matrix: above this size a low-rank factor of each wins."""
    if model.kernel == "precomputed" or callable(model.kernel):
        return True
    return model.kernel != "linear" and n < FACTOR_FROM


def _kernel(model: RejoSVC, gamma: float | str, X: Any, fold: _Fold | None = None) -> Kernel:
    """Return the kernel; "scale" depends on the training rows."""
    if model.kernel == "linear":
        return Kernel("linear")
    if fold is not None:
        gamma = choose_gamma(gamma, X[fold.train], fold.sample_weight)
    return Kernel(str(model.kernel), float(gamma), int(model.degree), float(model.coef0))


def _gram(model: RejoSVC, X: Any, gamma: float | str, fold: _Fold | None = None) -> Floats:
    """Kernel matrix of all cases."""
    if model.kernel == "precomputed":
        return check_symmetric(X, 'X with kernel="precomputed"')
    if callable(model.kernel):
        K = check_gram(model.kernel(X, X), (X.shape[0], X.shape[0]), model.kernel)
        return check_symmetric(K, f"the matrix from kernel={model.kernel!r}")
    with np.errstate(over="ignore"):
        K = gram(X, X, _kernel(model, gamma, X, fold))
    _check_finite(model, np.abs(K).max())
    return K


def _check_finite(model: RejoSVC, value: float) -> None:
    if not np.isfinite(value):
        raise ValueError(
            f"kernel={model.kernel!r} overflows on X: scale the features, or lower gamma or degree."
        )


def _run_fold(
    model: RejoSVC, X: Any, K: Floats | None, gamma: float | str, fold: _Fold, grid: Grid
) -> tuple[Floats, Floats, int]:
    """Weight of rejected and of wrong test cases (n_costs, n_Cs, n_hs), and failed fits."""
    if K is None:
        kernel = _kernel(model, gamma, X, fold)
        train, test = X[fold.train], X[fold.test]
    else:
        kernel = Kernel("precomputed")
        train, test = K[np.ix_(fold.train, fold.train)], K[np.ix_(fold.test, fold.train)]
    shape = len(grid.reject_costs), len(grid.Cs), len(grid.hs)
    g = np.empty((len(fold.test), *shape))
    coefs = np.zeros((len(fold.train), *shape))
    b = np.empty((*shape, 2 * (len(fold.classes) - 1)))
    failures = 0
    for j, solution in _solve_all(model, Problem(train, kernel, model.cache_size), fold, grid):
        _check_finite(model, solution.objective)
        failures += not solution.converged
        b[j] = solution.b
        if K is not None:
            coefs[solution.basis, *j] = solution.coef
        elif kernel.name == "linear":
            g[:, *j] = test @ solution.weights
        else:
            g[:, *j] = evaluate(test, train[solution.basis], solution.coef, kernel)
    if K is not None:
        g = (test @ coefs.reshape(len(coefs), -1)).reshape(g.shape)
    index = decode((g[..., None] + b > 0).sum(axis=-1))  # (n_test, n_costs, n_Cs, n_hs)
    rejected = index < 0
    wrong = ~rejected & (fold.classes[index] != fold.truth[:, None, None, None])
    weight = fold.test_weight
    return np.tensordot(weight, rejected, 1), np.tensordot(weight, wrong, 1), failures


def _solve_all(
    model: RejoSVC, problem: Problem, fold: _Fold, grid: Grid
) -> Iterator[tuple[tuple[int, int, int], KernelSolution]]:
    """Place (cost, C, h) and solution of every model, each solved from the one before.

    The reject costs go up for one ``C`` and down for the next: all steps are short.
    """
    K = len(fold.classes)
    labels = replica_labels(K)[fold.indices]  # (n_train, Q)
    costs = [replica_costs(K, w, model.s)[fold.indices] for w in grid.reject_costs]
    if fold.weight is not None:
        costs = [cost * fold.weight[:, None] for cost in costs]
    places = list(range(len(costs)))
    u = before = None
    for (i, h), (c, C) in product(enumerate(grid.hs), enumerate(grid.Cs)):
        for w in places:
            caps = C * costs[w]
            if u is not None:
                # What was at its bound stays there, the rest keeps its value.
                u = np.where(np.abs(u) >= before, labels * caps, np.clip(u, -caps, caps))
            solution = problem.solve(labels, caps, h=h, tol=model.tol, max_iter=model.max_iter, u=u)
            u, before = solution.u, caps
            yield (w, c, i), solution
        places.reverse()
