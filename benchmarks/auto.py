"""What ``rejo train`` chooses by itself, for ``bench_quality``: one cross-fit, any prices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline

from benchmarks.quality import Cell, Decider, Floats, from_posteriors

PSEUDO_CASES = 50.0  # by which the weights are shrunk towards equal ones
TEMPERATURES = np.geomspace(0.5, 2.0, 29)


def auto(cell: Cell) -> Decider:
    """Blend of posteriors: weights and a temperature by log loss out of fold."""
    X, X_test = cell.encoded
    y, K = cell.y, cell.n_classes
    folds = list(cell.folds(5))
    prior = (np.bincount(y, minlength=K) + 0.5) / (len(y) + 0.5 * K)
    inside, outside = [], []
    for model, grid in candidates(X.shape[1], len(y)):
        best: tuple[float, Any, Floats] = (np.inf, None, np.empty(0))
        for params in ParameterGrid(grid):
            tuned = clone(model).set_params(**params)
            p = np.zeros((len(y), K))
            for train, test in folds:
                p[test] = posteriors(clone(tuned).fit(X[train], y[train]), X[test], K)
            p = p + (prior - p) / (len(y) + 10)  # no zeros
            best = min(best, (log_loss(p, y), tuned, p), key=lambda found: found[0])
        inside.append(best[2])
        p = posteriors(best[1].fit(X, y), X_test, K)
        outside.append(p + (prior - p) / (len(y) + 10))
    w = weights(np.array(inside), y)
    p, p_test = np.tensordot(w, inside, 1), np.tensordot(w, outside, 1)
    T = min(TEMPERATURES, key=lambda T: log_loss(tempered(p, T), y))
    return from_posteriors(tempered(p_test, T))


def candidates(n_features: int, n: int) -> list[tuple[Any, dict[str, Any]]]:
    kernel = Nystroem(n_components=min(150, n // 2), random_state=0)
    widths = [width / n_features for width in (0.1, 0.4, 1.5, 6.0)]
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.05, max_leaf_nodes=4, early_stopping=False, random_state=0
    )
    return [
        (LogisticRegression(max_iter=500), {"C": (0.01, 0.1, 1.0, 10.0)}),
        (
            make_pipeline(kernel, LogisticRegression(max_iter=300)),
            {"nystroem__gamma": widths, "logisticregression__C": (0.3, 3.0, 30.0, 300.0)},
        ),
        (boosting, {"max_iter": (50, 100, 200, 400)}),
        (RandomForestClassifier(200, min_samples_leaf=3, random_state=0), {}),
    ]


def posteriors(model: Any, X: Floats, K: int) -> Floats:
    p = np.zeros((len(X), K))
    p[:, model.classes_] = model.predict_proba(X)
    return p


def log_loss(p: Floats, y: Any) -> float:
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def weights(p: Floats, y: Any) -> Floats:
    """Weights (M,) on the simplex of posteriors (M, n, K), by expectation maximisation."""
    M, n = len(p), len(y)
    own, w = p[:, np.arange(n), y], np.full(M, 1 / M)  # (M, n)
    for _ in range(300):
        share = w[:, None] * own
        w = ((share / share.sum(axis=0)).sum(axis=1) + PSEUDO_CASES / M) / (n + PSEUDO_CASES)
    return w


def tempered(p: Floats, T: float) -> Floats:
    q = p**T
    return q / q.sum(axis=1, keepdims=True)
