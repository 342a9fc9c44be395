"""The data sets and the contenders: RejoSVC, SVC on the points, SVC on their replicas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from rejo import RejoSVC
from rejo.replication import replica_costs, replicate

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Fit = Callable[[], Any]

REJECT_COST = 0.2
H = 1.0
TOL = 1e-3
GAMMAS = (1, 4)
CS = (1, 10, 100)

# SyntheticIII: where each of its transition zones begins and ends.
ZONES = ((-1.5, -1.25), (-1.0, -0.5), (-0.1, 0.1), (0.5, 1.1))
NOISE = 0.125


def make_synthetic_3(n: int, seed: int = 0) -> tuple[Floats, Labels]:
    """SyntheticIII: SyntheticI with five ordered classes and four transition zones."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 2))
    alpha = _saddle(X)
    noisy, coin = alpha + rng.normal(scale=NOISE, size=n), rng.uniform(size=n)
    y = np.zeros(n, dtype=np.int64)
    for low, high in ZONES:
        inside = (noisy > low) & (noisy < high)
        y += np.where(inside, coin < (alpha - low) / (high - low), noisy >= high)
    return X, y


def make_ordered(n: int, n_classes: int, seed: int = 0) -> tuple[Floats, Labels]:
    """The saddle of SyntheticI plus noise, cut into equally large ordered classes."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 2))
    return X, _cut(_saddle(X) + rng.normal(scale=NOISE, size=n), n_classes)


def make_wide(n: int, n_classes: int, n_features: int = 30, seed: int = 0) -> tuple[Floats, Labels]:
    """Normal features; a smooth nonlinear score plus noise, cut into equally large classes."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, n_features))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] * X[:, 4]
    return X, _cut(score + rng.normal(scale=0.5, size=n), n_classes)


def make_interaction(
    n: int, n_features: int, n_classes: int = 2, seed: int = 0
) -> tuple[Floats, Labels]:
    """Normal features; an interaction and a line plus noise, cut into equally large classes."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, n_features))
    return X, _cut(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(scale=0.5, size=n), n_classes)


def make_linear(n: int, n_features: int, seed: int = 0) -> tuple[Floats, Labels]:
    """Normal features and the sign of a linear score plus noise."""
    rng = np.random.RandomState(seed)
    X, w = rng.normal(size=(n, n_features)), rng.normal(size=n_features)
    return X, np.where(X @ w / np.linalg.norm(w) > 0.5 * rng.normal(size=n), 1, -1)


def ours(X: Floats, y: Labels, **params: Any) -> Fit:
    model = RejoSVC(**{"reject_cost": REJECT_COST, "h": H, "tol": TOL} | params)
    return partial(model.fit, X, y)


def plain(X: Floats, y: Labels, **params: Any) -> Fit:
    model = SVC(**{"tol": TOL} | params)
    return partial(model.fit, X, y)


def anchors(X: Floats, y: Labels, gamma: float, C: float) -> dict[str, Fit]:
    """Other solvers of plain's problem, of those installed, with one thread."""
    found: dict[str, Fit] = {}
    if find_spec("sklearnex"):
        from daal4py import daalinit
        from sklearnex.svm import SVC as IntelSVC

        daalinit(1)
        found["Intel"] = partial(IntelSVC(gamma=gamma, C=C, tol=TOL).fit, X, y)
    if find_spec("libsvm"):
        from libsvm.svmutil import svm_parameter, svm_problem, svm_train

        options = svm_parameter(f"-s 0 -t 2 -g {gamma} -c {C} -e {TOL} -m 200 -q")
        found["LIBSVM"] = partial(svm_train, svm_problem(y, csr_matrix(X)), options)
    return found


def naive(X: Floats, y: Labels, gamma: float, C: float) -> dict[str, Fit]:
    """SVC on the Gram matrix of the replicas, which is built here, outside the clock.

    Once in C order, once in Fortran order, which SVC copies within every fit.
    """
    k = np.unique(y, return_inverse=True)[1]
    costs = replica_costs(k.max() + 1, REJECT_COST)
    marked, labels, weight = replicate(X, k, costs, h=H)
    gram = replicated_gram(X, marked[:: len(X), X.shape[1] :], gamma)
    model = SVC(kernel="precomputed", C=C, tol=TOL)
    return {
        name: partial(model.fit, matrix, labels, sample_weight=weight)
        for name, matrix in (("naive", gram), ("naive F", gram.T))
    }


def replicated_gram(X: Floats, marks: Floats, gamma: float) -> Floats:
    """Block (q, r) is ``K + e_q . e_r``; no more than K is held beside the result."""
    n, Q = len(X), len(marks)
    K, products = rbf_kernel(X, gamma=gamma), marks @ marks.T
    gram = np.empty((Q * n, Q * n))
    for q in range(Q):
        for r in range(Q):
            np.add(K, products[q, r], out=gram[q * n : (q + 1) * n, r * n : (r + 1) * n])
    return gram


def _saddle(X: Floats) -> Floats:
    return 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def _cut(score: Floats, n_classes: int) -> Labels:
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return np.searchsorted(cuts, score).astype(np.int64)
