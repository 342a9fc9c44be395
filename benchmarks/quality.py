"""The problems, prices and methods of ``bench_quality``: what is paid on new cases.

A problem is split into training and test cases; a method is fitted on the training cases and
decides the test cases at each of six prices.  Everything that decides by posteriors is fitted once,
and :func:`rejo.decisions.decide` turns its posteriors into decisions.
"""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.svm import SVC

from benchmarks.outside import outside, read
from rejo import datasets
from rejo.catalogue import METHODS as CATALOGUE
from rejo.catalogue import ProblemSize
from rejo.decisions import decide, uniform_prices
from rejo.replication import loss_from_costs
from rejo.tables import TableEncoder
from studies.tables import CATALOGUE as TABLES
from studies.tables import available, fetch

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SYNTHETIC = ("synthetic_1", "synthetic_2", "synthetic_3", "synthetic_4")
N_SYNTHETIC = (400, 10_000)  # training and test points
SHARE = 0.6  # of a table is trained on
MAX_TEST = 6_000
TUNING_FOLDS = 3
LEAST_SECONDS = 40.0  # that a library of another Python may take
REJECT_COSTS = (0.05, 0.1, 0.2, 0.3)


# ---- problems ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cell:
    """Training and test cases of one split of a table; classes are ``0..K-1``."""

    table: str
    split: int
    X: pd.DataFrame
    y: Indices
    X_test: pd.DataFrame
    y_test: Indices
    n_classes: int
    groups: Any = None
    independent: bool = False  # splits share no cases
    ordered: bool = True  # three or more classes have an order
    seconds: float | None = None  # that a rival may take; None: its own time

    @cached_property
    def encoded(self) -> tuple[Floats, Floats]:
        """Training and test cases as numbers on comparable scales."""
        encoder = TableEncoder().fit(self.X)
        return encoder.transform(self.X), encoder.transform(self.X_test)

    @cached_property
    def present(self) -> Indices:
        """Classes with training cases: a very rare one may have none."""
        return np.unique(self.y)

    @property
    def ratio(self) -> float:
        """Test cases per training case: splits of one table are not independent."""
        return 0.0 if self.independent else len(self.y_test) / len(self.y)

    def folds(self, n: int) -> Iterator[tuple[Indices, Indices]]:
        kind = StratifiedKFold if self.groups is None else StratifiedGroupKFold
        return kind(n, shuffle=True, random_state=self.split).split(self.y, self.y, self.groups)


def tables() -> list[str]:
    """Names of the tables in the data folder, each file once, of made-up ones, and of others."""
    files = [name for name in available() if not TABLES[name].file]
    return [*files, *SYNTHETIC, *outside()]


def make_cell(table: str, split: int, max_train: int, seconds: float | None = None) -> Cell:
    if table in SYNTHETIC:
        draw = getattr(datasets, f"make_{table}")
        (X, y), (X_test, y_test) = (
            draw(n, random_state=10 * split + i) for i, n in enumerate(N_SYNTHETIC)
        )
        classes = np.unique(y_test)
        names = ["x1", "x2"]
        X, X_test = pd.DataFrame(X, columns=names), pd.DataFrame(X_test, columns=names)
        k = [np.searchsorted(classes, labels) for labels in (y, y_test)]
        return Cell(
            table, split, X, k[0], X_test, k[1], len(classes), independent=True, seconds=seconds
        )
    ordered, groups = True, None
    if table in outside():
        features, y, ordered = read(table)
    else:
        data = fetch(table)
        features, y = data.data, np.unique(np.asarray(data.target, int), return_inverse=True)[1]
        groups = None if data.groups is None else np.asarray(data.groups)
    if groups is None:
        size = min(max_train, int(SHARE * len(y)))
        train, test = train_test_split(
            np.arange(len(y)), train_size=size, stratify=y, random_state=split
        )
    else:  # whole groups, such as the answers about one image, on either side
        names, group = np.unique(groups, return_inverse=True)
        first = np.random.RandomState(split).permutation(len(names))[: int(SHARE * len(names))]
        inside = np.isin(group, first)
        train, test = np.flatnonzero(inside), np.flatnonzero(~inside)
    test = test[:MAX_TEST]
    X, X_test, K = features.iloc[train], features.iloc[test], int(y.max()) + 1
    return Cell(
        table, split, X, y[train], X_test, y[test], K,
        None if groups is None else groups[train], ordered=ordered, seconds=seconds,
    )  # fmt: skip


# ---- prices --------------------------------------------------------------------------------


def price_settings(n_classes: int) -> dict[str, Floats]:
    """Four reject costs, and three prices that differ from class to class: (K, K + 1) each."""
    K, k = n_classes, np.arange(n_classes)
    found = {f"reject cost {w}": uniform_prices(K, w) for w in REJECT_COSTS}
    if K == 2:
        found["errors 1 and 5, review 0.3"] = _prices([[1.0], [5.0]], 0.3)
        found["errors 5 and 1, review 0.3"] = _prices([[5.0], [1.0]], 0.3)
        found["errors 1 and 25, review 0.2"] = _prices([[1.0], [25.0]], 0.2)
    else:
        random = np.random.RandomState(K).uniform(0.5, 3.0, size=(K, K))
        found["errors 1 to 5, review 0.5"] = _prices((1 + 4 * k / (K - 1))[:, None], 0.5)
        found["random errors, review 0.4"] = _prices(random, 0.4)
        found["1 a step, review 0.5"] = _prices(np.abs(k[:, None] - k), 0.5)
    return found


def _prices(errors: Any, review: float) -> Floats:
    """Prices (K, K + 1); ``errors`` is one row, or one price, for each true class."""
    K = len(errors)
    prices = np.full((K, K + 1), review)
    prices[:, :-1] = np.asarray(errors) * (1 - np.eye(K))
    return prices


def told(p: Floats, y: Indices) -> dict[str, Any]:
    """Log loss, and the cases by tenths of the chance of an error: how many, said, and seen."""
    chance, wrong = 1 - p.max(axis=1), p.argmax(axis=1) != y
    tenth = np.minimum((10 * chance).astype(int), 9)
    sums = [np.bincount(tenth, weights, 10) for weights in (None, chance, wrong)]
    loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-6)).mean()
    return {"log_loss": float(loss), "tenths": np.round(sums, 6).T.tolist()}


def paid(decision: Indices, y: Indices, prices: Floats) -> Floats:
    """What each case costs (n,): the last column of the prices where the decision is -1."""
    return prices[y, decision]  # -1 is the last column


# ---- methods -------------------------------------------------------------------------------

# What a fitted method decides about the test cases: (decision, forced), given the prices.
Decider = Callable[[Floats], tuple[Indices, Indices]]


@dataclass(frozen=True, eq=False)
class ByPosteriors:
    """Decide by posteriors (n, K) and prices."""

    p: Floats

    def __call__(self, prices: Floats) -> tuple[Indices, Indices]:
        found = decide(self.p, prices)
        return found.decision, found.forced


def review_all(cell: Cell) -> Decider:
    nothing = np.full(len(cell.y_test), -1)
    return lambda prices: (nothing, nothing)


def rival(estimator: Any, cell: Cell) -> ByPosteriors:
    """Posteriors of a scikit-learn classifier as its users write it, and the same rule."""
    X, X_test = cell.encoded
    # Calibration is by five folds: classes with fewer cases cannot be learned.
    enough = np.bincount(cell.y, minlength=cell.n_classes)[cell.y] >= 5
    rows = enough if isinstance(estimator, CalibratedClassifierCV) else slice(None)
    model = clone(estimator).fit(X[rows], cell.y[rows])
    p = np.zeros((len(X_test), cell.n_classes))
    p[:, model.classes_] = model.predict_proba(X_test)
    return ByPosteriors(p)


def best_of_three(cell: Cell) -> ByPosteriors:
    """The classifier with the lowest cross-validated log loss, fitted again: ten lines."""
    X, folds = cell.encoded[0], list(cell.folds(5))

    def loss(name: str) -> float:
        p = cross_val_predict(PLAIN[name], X, cell.y, cv=folds, method="predict_proba")
        return float(log_loss(cell.y, p, labels=cell.present))

    return rival(PLAIN[min(list(PLAIN)[:3], key=loss)], cell)


def plain_mean(cell: Cell) -> ByPosteriors:
    """The mean of the posteriors of four classifiers: ten lines."""
    return ByPosteriors(np.mean([rival(model, cell).p for model in PLAIN.values()], axis=0))


def foreign(method: str, cell: Cell) -> ByPosteriors:
    """A library that is installed for another Python, in as many seconds as ``auto`` took.

    Below ``LEAST_SECONDS``, AutoGluon often returns without a model.
    """
    python = os.environ[f"REJO_{method.partition(' ')[0].upper()}"]
    with TemporaryDirectory() as folder:
        parts = cell.encoded if method == "tabpfn" else (cell.X, cell.X_test)
        train, test = (pd.DataFrame(np.asarray(X) if method == "tabpfn" else X) for X in parts)
        train, test = (
            X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1) for X in (train, test)
        )
        train.assign(**{"class": cell.y}).to_parquet(f"{folder}/train.parquet")
        test.to_parquet(f"{folder}/test.parquet")
        script = str(Path(__file__).with_name("foreign.py"))
        command = [python, script, folder, method, str(max(cell.seconds or 0.0, LEAST_SECONDS))]
        subprocess.run(
            command, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": ""}
        )
        p = np.zeros((len(cell.y_test), cell.n_classes))
        p[:, cell.present] = np.load(f"{folder}/p.npy")
    return ByPosteriors(p)


def booster(library: str, cell: Cell) -> ByPosteriors:
    """Another library's booster; it stops when a fifth of the cases gain nothing in 50 rounds."""
    X, X_test = cell.encoded
    k = np.searchsorted(cell.present, cell.y)
    _, held = next(cell.folds(5))
    held = held[np.bincount(k)[k[held]] >= 5]  # it must learn from all classes
    fit = np.setdiff1d(np.arange(len(k)), held)
    common: dict[str, Any] = {"n_estimators": 1000, "random_state": 0}
    seen: dict[str, Any] = {"eval_set": [(X[held], k[held])]}
    if library == "catboost":
        from catboost import CatBoostClassifier as Booster

        common |= {"early_stopping_rounds": 50, "verbose": False, "allow_writing_files": False}
    elif library == "lightgbm":
        from lightgbm import LGBMClassifier as Booster
        from lightgbm import early_stopping

        common |= {"learning_rate": 0.05, "verbose": -1}
        seen["callbacks"] = [early_stopping(50, verbose=False)]
    else:
        from xgboost import XGBClassifier as Booster

        common |= {"learning_rate": 0.05, "early_stopping_rounds": 50}
        seen["verbose"] = False
    p = np.zeros((len(X_test), cell.n_classes))
    p[:, cell.present] = Booster(**common).fit(X[fit], k[fit], **seen).predict_proba(X_test)
    return ByPosteriors(p)


def ordinal(name: str, cell: Cell) -> Decider:
    """A machine of skordinal for ordered classes, tuned by the mean distance; without reviews."""
    from skordinal.classifiers import REDSVM, SVOR

    X, X_test = cell.encoded
    model = REDSVM() if name == "redsvm" else SVOR(constraints="explicit")
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [g / X.shape[1] for g in (0.1, 1.0, 10.0)]}
    search = GridSearchCV(
        model, grid, scoring="neg_mean_absolute_error", cv=list(cell.folds(TUNING_FOLDS))
    )
    forced = search.fit(X, cell.y).predict(X_test)
    return lambda prices: (forced, forced)


def replication(name: str, cell: Cell) -> Decider:
    """Fit a learner by data replication for each of the prices; tuned at reject cost 0.2."""
    X, X_test = cell.encoded
    y, K = np.searchsorted(cell.present, cell.y), len(cell.present)
    problem = ProblemSize(K, X.shape[1], len(y), 0)
    built = CATALOGUE[name].build(problem)
    place = f"{built.estimator.steps[-1][0]}__" if hasattr(built.estimator, "steps") else ""

    def model(prices: Floats, params: Mapping[str, Any]) -> Any:
        loss = {f"{place}loss_matrix": replication_loss(prices)}
        return clone(built.estimator).set_params(**params, **loss)

    fair = uniform_prices(K, 0.2)
    folds = list(cell.folds(TUNING_FOLDS))

    def cost(params: Mapping[str, Any]) -> float:
        total = 0.0
        for train, test in folds:
            if len(np.unique(y[train])) < K:  # all of a rare class is in the other part
                continue
            fitted = model(fair, params).fit(X[train], y[train])
            total += paid(judge(fitted, X[test])[0], y[test], fair).sum()
        return total

    best = min(ParameterGrid(built.grid), key=cost)

    def decider(prices: Floats) -> tuple[Indices, Indices]:
        own = prices[cell.present][:, [*cell.present, -1]]
        decision, forced = judge(model(own, best).fit(X, y), X_test)
        return np.where(decision < 0, -1, cell.present[decision]), cell.present[forced]

    return decider


def judge(model: Any, X: Floats) -> tuple[Indices, Indices]:
    if hasattr(model, "steps"):
        model, X = model[-1], model[:-1].transform(X)
    found = model.judge(X)
    return found.decision, found.forced


def replication_loss(prices: Floats) -> Floats:
    """Return the loss (K, 2 K - 1) of data replication for prices (K, K + 1).

    Beside the true class a review costs what it costs, and each step farther adds the price of the
    class beyond it less that of a review, as in the paper's table of costs.  For two classes these
    are the prices themselves; for more classes no such loss is equal to them.
    """
    K, review = len(prices), prices[:, -1:]
    k, q = np.arange(K)[:, None], np.arange(2 * (K - 1))
    j = q // 2
    across = np.where(k > j, j, j + 1)  # the class beyond the boundary, as seen from class k
    costs = np.where(k == j + q % 2, review, np.take_along_axis(prices, across, axis=1) - review)
    return loss_from_costs(np.maximum(costs, 0.0))


def quietly(
    method: Callable[[Cell], Decider], cell: Cell, settings: Mapping[str, Floats]
) -> tuple[dict[str, tuple[Indices, Indices]], Floats | None]:
    """Decisions at all prices, and posteriors; without the warnings of candidates that lose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decider = method(cell)
        found = {name: decider(prices) for name, prices in settings.items()}
    return found, decider.p if isinstance(decider, ByPosteriors) else None


PLAIN: Mapping[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
    "calibrated SVC": CalibratedClassifierCV(SVC(), ensemble=False),
}
RIVALS: Mapping[str, Callable[[Cell], Decider]] = {
    name: partial(rival, model) for name, model in PLAIN.items()
}
TEN_LINES: Mapping[str, Callable[[Cell], Decider]] = {
    "best of three": best_of_three,
    "plain mean": plain_mean,
}
FOREIGN: Mapping[str, Callable[[Cell], Decider]] = {  # those whose Python is given
    name: partial(foreign, name)
    for name in ("autogluon medium", "autogluon high", "tabpfn")
    if f"REJO_{name.partition(' ')[0].upper()}" in os.environ
}
BOOSTERS: Mapping[str, Callable[[Cell], Decider]] = {  # those that are installed
    name: partial(booster, name)
    for name in ("catboost", "lightgbm", "xgboost")
    if find_spec(name) is not None
}
ORDINAL: Mapping[str, Callable[[Cell], Decider]] = {  # for tables with an order
    name: partial(ordinal, name) for name in ("svorex", "redsvm") if find_spec("skordinal")
}
REPLICATION: Mapping[str, Callable[[Cell], Decider]] = {
    f"replication: {name}": partial(replication, name)
    for name in ("logistic", "svm", "kernel-logistic", "mlp", "boosting")
}
