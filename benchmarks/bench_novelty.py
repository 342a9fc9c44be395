"""How many cases unlike those of training go to review, with and without ``NoveltyReject``.

Tables of the data folder (``REJO_DATA``) are cut into two parts for training and one of ordinary
cases.  Far cases are made of the latter: numbers shifted or rescaled, columns exchanged, values of
another table, and a cloud 20 units away in encoded features.  All models review 10 % of cases out
of fold.  Then: detectors side by side, and classes left out of training.

    python -m benchmarks.bench_novelty [--part learners|detectors|classes] [--tables A,B]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tables import Report, Target
from rejo import (
    NoveltyReject,
    RejectClassifierCV,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ThresholdRejectClassifier,
)
from rejo.estimators import NOVEL
from rejo.tables import TableEncoder

TABLES = ("pima_diabetes", "winequality_red", "vertebral_2c", "german_credit", "heart_statlog",
          "default_credit_card")  # fmt: skip
CLASSES = ("newthyroid", "bcct", "winequality_red", "car")  # of these, one is left out
OTHER = {"pima_diabetes": "winequality_red"}  # whose values the far cases have
MOST_ROWS = 1500
BUDGET = 0.1
COSTS = [0.05, 0.1, 0.2, 0.35]
LEARNERS = {
    "linear": RejoLinear(),
    "polynomial SVM": RejoSVC(kernel="poly", degree=2),
    "RBF SVM": RejoSVC(),
    "kernel logistic": RejoKernelLogistic(),
    "network": RejoMLP((8,), alpha=0.1, random_state=0),
    "booster": ThresholdRejectClassifier(HistGradientBoostingClassifier(max_iter=50)),
    "forest": ThresholdRejectClassifier(RandomForestClassifier(100, random_state=0)),
}
FAR = ("shifted", "times 10", "exchanged", "other table", "20 away")


class NeighbourDistance(BaseEstimator):
    """Minus the mean distance to the nearest cases of training."""

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the cases."""
        self.index_ = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X)
        return self

    def score_samples(self, X: Any) -> Any:
        """Minus the distance of each case."""
        return -self.index_.kneighbors(X)[0].mean(axis=1)


DETECTORS = {
    "default": None,
    "robust Mahalanobis": make_pipeline(
        StandardScaler(), EllipticEnvelope(support_fraction=0.9, random_state=0)
    ),
    "5 nearest neighbours": make_pipeline(StandardScaler(), NeighbourDistance()),
    "local outlier factor": make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)),
    "isolation forest": IsolationForest(random_state=0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=["learners", "detectors", "classes"])
    parser.add_argument("--tables", type=lambda text: text.split(","), default=TABLES)
    arguments = parser.parse_args()
    if not _folder().is_dir():
        print(f"There are no tables in {_folder()}: set REJO_DATA.")
        return
    warnings.simplefilter("ignore")
    report = Report()
    for part in (learners, detectors, classes):
        if arguments.part in (None, part.__name__):
            part(report, arguments.tables)
    report.summary()


def learners(report: Report, tables: Any) -> None:
    """Share of far cases reviewed by each learner, without and with a detector."""
    for name in tables:
        table = Split(name)
        far = dict(table.far())
        report.section(f"{name}: far cases reviewed, without -> with", _note(table))
        report.header("learner", *FAR, "ordinary", "of these novel")
        for learner, model in LEARNERS.items():
            plain, novel = (
                RejectClassifierCV(
                    estimator, review_budget=BUDGET, cv=3,
                    reject_costs=None if model.decides_by_posteriors else COSTS,
                ).fit(table.Z, table.y)
                for estimator in (model, NoveltyReject(model, random_state=0))
            )  # fmt: skip
            shares = {kind: _shares(plain, novel, Z) for kind, Z in far.items()}
            lost = float((novel.judge(table.ordinary).kind == NOVEL).mean())
            report.row(
                learner,
                *(_arrow(*shares[kind]) for kind in FAR),
                _arrow(*_shares(plain, novel, table.ordinary)),
                f"{lost:.1%}",
            )
            caught = [shares[kind][1] for kind in FAR]
            report.judge(Target(f"{name}, {learner}: far cases", 0.9, caught))
            report.judge(Target(f"{name}, {learner}: ordinary ones", 0.02, [lost], at_most=True))


def detectors(report: Report, tables: Any) -> None:
    """Share of far cases that each detector alone finds."""
    kinds = (*FAR, "by 1.5", "times 0.1", "one times 100", "one outside", "unrelated")
    rows: dict[str, list[list[float]]] = {detector: [] for detector in DETECTORS}
    for name in tables:
        table = Split(name)
        far = dict(table.far()) | dict(table.near())
        for detector, model in DETECTORS.items():
            found = NoveltyReject(LogisticRegression(max_iter=500), detector=model, random_state=0)
            found.fit(table.Z, table.y)
            masks = [found.novel_mask(Z).mean() for Z in (*(far[k] for k in kinds), table.ordinary)]
            rows[detector].append([float(mask) for mask in masks])
    report.section("detectors", f"Share of cases found novel, mean of {len(tables)} tables.")
    report.header("detector", *kinds, "ordinary")
    for detector, found in rows.items():
        report.row(detector, *(f"{share:.0%}" for share in np.mean(found, axis=0)[:-1]),
                   f"{np.mean(found, axis=0)[-1]:.1%}")  # fmt: skip


def classes(report: Report, tables: Any) -> None:
    """Share of the cases of a class that was left out of training."""
    report.section("a class left out of training", "Share of its cases found novel.")
    report.header("table, class left out", *DETECTORS)
    for name in CLASSES:
        X, y = _table(name)
        for left in (y.min(), y.max()):
            table = Split(name, left)
            Z = table.encoder.transform(X[y == left])
            cells = []
            for detector in DETECTORS.values():
                model = LogisticRegression(max_iter=500)
                found = NoveltyReject(model, detector=detector, random_state=0)
                cells.append(f"{found.fit(table.Z, table.y).novel_mask(Z).mean():.0%}")
            report.row(f"{name}, {left} ({len(Z)} cases)", *cells)


class Split:
    """A table in two parts, encoded: ``Z`` and ``y`` to train on, and ordinary cases."""

    def __init__(self, name: str, left_out: Any = None) -> None:
        X, y = _table(name)
        if left_out is not None:
            X, y = X[y != left_out], y[y != left_out]
        elif y.nunique() > 2:
            y = (y > y.mean()).astype(int)
        self.random = np.random.default_rng(0)
        rows = self.random.permutation(len(X))[:MOST_ROWS]
        train, test = np.split(rows, [2 * len(rows) // 3])
        self.name, self.X = name, X.iloc[test]
        self.encoder = TableEncoder().fit(X.iloc[train])
        self.Z, self.y = self.encoder.transform(X.iloc[train]), y.iloc[train].to_numpy()
        self.ordinary = self.encoder.transform(self.X)
        kinds = self.encoder.kinds_
        self.numbers = [column for column in X if kinds.get(column) == "number"]
        known = X.iloc[train][self.numbers]
        self.low, self.high = known.min().to_numpy(), known.max().to_numpy()
        self.spread = known.std().to_numpy()

    def far(self) -> Iterator[tuple[str, Any]]:
        """Kinds of cases that are far from those of training, encoded."""
        values = self._values()
        sides = self.random.choice([-1.0, 1.0], len(self.numbers))
        yield "shifted", self._with(values + 3.0 * sides * self.spread)
        yield "times 10", self._with(values * 10.0)
        yield "exchanged", self._with(np.roll(values, 1, axis=1))
        other, _ = _table(OTHER.get(self.name, "pima_diabetes"))
        other = other.select_dtypes("number").to_numpy(np.float64)
        rows = self.random.integers(len(other), size=len(values))
        yield "other table", self._with(np.resize(other[rows].T, values.T.shape).T)
        yield "20 away", self.random.uniform(20.0, 21.0, size=self.ordinary.shape)

    def near(self) -> Iterator[tuple[str, Any]]:
        """Kinds of cases that may lie among those of training."""
        values, n = self._values(), len(self.X)
        sides = self.random.choice([-1.0, 1.0], len(self.numbers))
        yield "by 1.5", self._with(values + 1.5 * sides * self.spread)
        yield "times 0.1", self._with(values * 0.1)
        one = values.copy()
        one[np.arange(n), self.random.integers(len(self.numbers), size=n)] *= 100.0
        yield "one times 100", self._with(one)
        outside = values.copy()
        column = self.random.integers(len(self.numbers), size=n)
        outside[np.arange(n), column] = (self.high + (self.high - self.low) / 3.0)[column]
        yield "one outside", self._with(outside)
        mixed = self.X.apply(lambda column: self.random.permutation(column.to_numpy()))
        yield "unrelated", self.encoder.transform(mixed)

    def _values(self) -> Any:
        values: Any = self.X[self.numbers].to_numpy(np.float64)
        return values

    def _with(self, values: Any) -> Any:
        return self.encoder.transform(
            self.X.assign(**dict(zip(self.numbers, values.T, strict=True)))
        )


def _shares(plain: Any, novel: Any, Z: Any) -> tuple[float, float]:
    return float(plain.reject_mask(Z).mean()), float(novel.reject_mask(Z).mean())


def _arrow(before: float, after: float) -> str:
    return f"{before:.0%} -> {after:.0%}"


def _note(table: Split) -> str:
    n, p = table.Z.shape
    return f"{n:,} training cases, {p} encoded features; {len(table.ordinary):,} ordinary cases."


def _folder() -> Path:
    return Path(os.environ.get("REJO_DATA", "data"))


def _table(name: str) -> tuple[Any, Any]:
    frame = pd.read_csv(_folder() / f"{name}.csv")
    target = "target" if "target" in frame else frame.columns[-1]
    y = frame[target]
    return frame.drop(columns=[c for c in (target, "group", "annotator") if c in frame]), y


if __name__ == "__main__":
    main()
