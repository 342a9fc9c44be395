"""RejoSVC for many reject costs and parameters on the same folds, without an estimator in the loop.

Cross-validating every reject cost, ``C``, ``gamma`` and ``h`` solves thousands of small problems
that have nearly everything in common.  The kernel matrix of all cases is computed once for each
``gamma``, and a fold is a sub-matrix of it; every solve starts from the one before; and the scores
of all models of a fold come from one product with the kernel values of its test cases.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from rejo._typing import Floats, Indices
from rejo.estimators.boundaries import replica_tables
from rejo.estimators.classes import Targets, check_targets, encode_classes
from rejo.estimators.kernel_machine import check_no_overflow, check_square, choose_gamma, own_gram
from rejo.estimators.svm import RejoSVC
from rejo.solvers import FACTOR_FROM, Kernel, Problem, Step, evaluate, gram, path_order

T = TypeVar("T")


class SVMGrid(NamedTuple):
    """The values to try, each ascending, so that warm starts are near."""

    reject_costs: Sequence[float]
    Cs: Sequence[float]
    gammas: Sequence[float | str]
    hs: Sequence[float]


class _Fold(NamedTuple):
    """A split, and what its fits share."""

    train: Indices  # rows with a weight
    test: Indices
    classes: Indices  # (K,) classes of the training rows, as indices into all classes
    targets: Targets  # of the training rows


def score_folds(
    model: RejoSVC,
    X: Any,
    y: Any,
    grid: SVMGrid,
    folds: Iterable[tuple[Indices, Indices]],  # rows to train on, rows to score
    finish: Callable[[int, Indices, Floats], T],
    *,
    sample_weight: Floats | None = None,  # (n_samples,)
    n_jobs: int | None = None,  # folds to work on at the same time
) -> list[list[T]]:  # for each gamma, what `finish` returned for each fold
    """Fit ``model`` with every combination in ``grid`` on every fold, and score the test cases.

    ``finish(f, classes, scores)`` is called for each fold and each ``gamma``, with the number of
    the fold, the classes of its training rows as indices into all classes, and the scores of its
    test cases, an array of shape (n_test, n_costs, n_Cs, n_hs, n_boundaries).
    """
    model = clone(model)
    for name, values in zip(("reject_cost", "C", "gamma", "h"), grid, strict=True):
        for value in values:
            setattr(model, name, value)
            model._check_parameters()
    X = model._check_X(X, reset=True, accept_sparse=model.kernel != "precomputed")
    if model.kernel == "precomputed":
        check_square(X)
    splits = list(_folds(model, X, y, folds, sample_weight))
    if not splits:
        raise ValueError("cv has no folds: give a number of folds, or a splitter.")
    given = model.kernel == "precomputed" or callable(model.kernel)
    few = max(len(fold.train) for fold in splits) < FACTOR_FROM  # else low-rank factors are faster
    shares = given or (few and model.kernel != "linear")  # folds take parts of one matrix
    found, failures = [], 0
    for gamma in grid.gammas:
        Ks: list[Floats | None] = [None] * len(splits)
        if shares and isinstance(gamma, str) and isinstance(model.kernel, str):
            Ks = [_gram(model, X, gamma, fold) for fold in splits]
        elif shares:
            Ks = [_gram(model, X, gamma)] * len(splits)
        # The solver releases the GIL, and threads share the matrix.
        rows = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_run_fold)(model, X, K, gamma, f, fold, grid, finish)
            for f, (K, fold) in enumerate(zip(Ks, splits, strict=True))
        )
        found.append([row for row, _ in rows])
        failures += sum(failed for _, failed in rows)
    if failures:
        n_fits = len(splits) * prod(map(len, grid))
        warnings.warn(
            f"{failures} of {n_fits} fits stopped before tol={model.tol:g} was reached. "
            "Scale the features, lower C, or raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found


def _folds(
    model: RejoSVC, X: Any, y: Any, folds: Iterable[tuple[Indices, Indices]], weight: Floats | None
) -> Iterator[_Fold]:
    classes, k = encode_classes(y, model.class_order)
    order = classes.tolist()
    for train, test in folds:
        targets = check_targets(
            X[train], classes[k[train]], None if weight is None else weight[train],
            order, model.class_weight, type(model).__name__,
        )  # fmt: skip
        known = np.array([order.index(label) for label in targets.classes.tolist()])
        rows = train if targets.rows is None else train[targets.rows]
        yield _Fold(rows, test, known, targets)


def _kernel(model: RejoSVC, gamma: float | str, X: Any, fold: _Fold | None = None) -> Kernel:
    """Return the kernel; "scale" depends on the training rows."""
    if model.kernel == "linear":
        return Kernel("linear")
    if fold is not None:
        gamma = choose_gamma(gamma, X[fold.train], fold.targets.sample_weight)
    return Kernel(str(model.kernel), float(gamma), int(model.degree), float(model.coef0))


def _gram(model: RejoSVC, X: Any, gamma: float | str, fold: _Fold | None = None) -> Floats:
    """Kernel matrix of all cases."""
    if model.kernel == "precomputed" or callable(model.kernel):
        return own_gram(model.kernel, X)
    with np.errstate(over="ignore"):
        K = gram(X, X, _kernel(model, gamma, X, fold))
    check_no_overflow(np.abs(K).max(), model.kernel)
    return K


def _run_fold(
    model: RejoSVC, X: Any, K: Floats | None, gamma: float | str, f: int, fold: _Fold,
    grid: SVMGrid, finish: Callable[[int, Indices, Floats], T],
) -> tuple[T, int]:  # fmt: skip
    """Fit and score; return what ``finish`` makes of the scores, and the number of failed fits."""
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
    order = list(path_order(*shape))
    path = Problem(train, kernel, model.cache_size).solve_path(
        _steps(model, fold, grid, order), tol=model.tol, max_iter=model.max_iter
    )
    for j, solution in zip(order, path, strict=True):
        check_no_overflow(solution.objective, model.kernel)
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
    check_no_overflow(g, model.kernel)
    # Thresholds come from the solver unsorted; sorted, the scores fall and no count changes.
    return finish(f, fold.classes, g[..., None] - np.sort(-b, axis=-1)), failures


def _steps(
    model: RejoSVC, fold: _Fold, grid: SVMGrid, order: list[tuple[int, int, int]]
) -> Iterator[Step]:
    """Yield the problems of a fold, one for each place (cost, C, h) in ``order``."""
    tables = [replica_tables(len(fold.classes), w, model.s) for w in grid.reject_costs]
    indices, weight = fold.targets.indices, fold.targets.weight
    labels = tables[0][0][indices]  # (n_train, Q)
    costs = [
        cost[indices] if weight is None else cost[indices] * weight[:, None] for _, cost in tables
    ]
    for w, c, i in order:
        yield Step(labels, grid.Cs[c] * costs[w], grid.hs[i])
