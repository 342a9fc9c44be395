"""How close pulls of features come to exact Shapley values, and how long they take.

The cases in doubt of five tables of the data folder (``REJO_DATA``), with eight features each, are
explained by each learner in several ways.  The reference is the Shapley value by all 256 coalitions
of features, against 60 training cases; the rank correlation is Spearman's, a mean over cases.  As
60 cases are a sample, exact values against 60 others show what can be reached.

    python -m benchmarks.bench_why [--cases N] [--background N] [--only TEXT]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.shapley import exact_shapley
from benchmarks.tables import Report
from rejo import (
    BlendClassifier,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
)
from rejo.explain import reasons as why
from rejo.explain.features import NumericCases, as_numbers
from rejo.explain.insides import insides, pair_scores, through
from rejo.explain.replacement import typical_cases
from rejo.tables import TableEncoder
from rejo.typical import Typical
from studies.tables import fetch

Floats = NDArray[np.float64]
TABLES = (
    "pima_diabetes", "german_credit", "heart_statlog", "mammographic_mass", "australian_credit",
)  # fmt: skip
N_FEATURES = 8


def learners() -> dict[str, Any]:
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    network = MLPClassifier((10,), "tanh", solver="lbfgs", alpha=1.0, max_iter=300, random_state=0)
    return {
        "logistic regression": ThresholdRejectClassifier(LogisticRegression()),
        "gradient boosting": ThresholdRejectClassifier(
            HistGradientBoostingClassifier(
                max_iter=75, max_leaf_nodes=8, learning_rate=0.05, random_state=0
            )
        ),
        "gradient boosting, data replication": ReplicationClassifier(
            HistGradientBoostingClassifier(max_iter=75, max_leaf_nodes=8, random_state=0),
            class_order="sorted",
        ),
        "random forest": ThresholdRejectClassifier(forest),
        "SVM (RBF), calibrated": ThresholdRejectClassifier(SVC(C=4)),
        "SVM (RBF), data replication": RejoSVC(C=4, class_order="sorted"),
        "neural network": ThresholdRejectClassifier(network),
        "neural network, data replication": RejoMLP(
            (10,), alpha=1.0, max_iter=300, random_state=0, class_order="sorted"
        ),
        "blend of four": ThresholdRejectClassifier(
            BlendClassifier(
                [
                    ("linear", LogisticRegression()),
                    ("forest", forest),
                    ("boosting", HistGradientBoostingClassifier(max_iter=50, random_state=0)),
                    ("network", network),
                ]
            )
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=25, help="cases in doubt of each table")
    parser.add_argument("--background", type=int, default=60, help="training cases to compare with")
    parser.add_argument("--only", default="", help="learners whose names contain this")
    options = parser.parse_args()
    report = Report()
    closeness: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    with threadpool_limits(1):
        for name in TABLES:
            try:
                X, y = table(name)
            except FileNotFoundError as error:
                print(error)
                continue
            for learner, model in learners().items():
                if options.only not in learner:
                    continue
                for way, *found in measured(model, X, y, options.cases, options.background):
                    closeness[learner, way].append(tuple(found))
    report.section(
        "Pulls against exact Shapley values",
        f"Means over {len(TABLES)} tables. *top 3*: share of the three strongest features that are "
        "the same.",
    )
    report.header("learner, way", "rank correlation", "lowest", "top 3", "ms a case")
    for (learner, way), rows in closeness.items():
        rank, top, took = np.mean(rows, axis=0)
        lowest = min(row[0] for row in rows)
        cells = (f"{rank:.2f}", f"{lowest:.2f}", f"{top:.2f}", f"{1000 * took:.1f}")
        report.row(f"{learner}: {way}", *cells)


def table(name: str) -> tuple[Any, NDArray[Any]]:
    data = fetch(name)
    return data.data.iloc[:, :N_FEATURES], np.asarray(data.target)


def measured(
    model: Any, X: Any, y: NDArray[Any], n_cases: int, n_background: int
) -> Iterator[tuple[str, float, float, float]]:
    """Ways to explain a model, with their rank correlation, common top features and seconds."""
    train, test, known, _ = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(TableEncoder(), model).fit(train, known)
    doubt = np.argsort(model[-1].sureness(model[:-1].transform(test)))[:n_cases]
    cases = test.iloc[doubt]
    rows = np.arange(len(cases))
    seen = as_numbers(insides(model), cases)

    def score(Z: Floats) -> Floats:
        inside = through(seen.parts.after, Z)
        some = np.zeros(len(Z), int)
        s = pair_scores(seen.parts, inside, some, some + 1)
        forest = isinstance(seen.parts.scorer, RandomForestClassifier)
        return np.tanh(s / 2) if forest else s  # a forest votes by shares

    background = model[:-1].transform(train)[:n_background]
    exact = exact_shapley(score, seen.Z, background, seen.owner)
    typical = Typical.learn(model[:-1].transform(train))

    def compared(way: str, explain: Callable[[], Floats]) -> tuple[str, float, float, float]:
        start = time.perf_counter()
        found = explain()
        took = (time.perf_counter() - start) / len(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a case without any pull has no ranks
            ranks = [spearmanr(a, b)[0] for a, b in zip(found, exact, strict=True)]
        same = [len(strongest(a) & strongest(b)) / 3 for a, b in zip(found, exact, strict=True)]
        return way, float(np.nanmean(ranks)), float(np.mean(same)), took

    def used() -> Floats:
        return why.pulls(model, cases, background=train, rows=rows).values

    others = model[:-1].transform(train)[n_background : 2 * n_background]
    yield compared("exact, 60 others", lambda: exact_shapley(score, seen.Z, others, seen.owner))
    way = why.pulls(model, cases, background=train, rows=rows[:1]).way
    yield compared(f"{way} (used)", used)
    if way == "trees":
        yield compared("a walk down each tree", lambda: walked(model, cases, rows))
    yield compared("two, by the mean", lambda: both(score, seen, typical.mean[None]))
    yield compared("two, by 16 training cases", lambda: both(score, seen, others[:16]))
    if way != "replacement":
        drawn = typical_cases(typical, 16)
        yield compared("two, by 16 typical cases", lambda: both(score, seen, drawn))
    if isinstance(seen.parts.scorer, BlendClassifier):
        yield compared("members' pulls, weighted", lambda: combined(model, train, cases, rows))


def walked(model: Any, cases: Any, rows: NDArray[np.intp]) -> Floats:
    most, why.MOST_STEPS = why.MOST_STEPS, 0
    try:
        return why.pulls(model, cases, rows=rows).values
    finally:
        why.MOST_STEPS = most


def both(score: Callable[[Floats], Floats], seen: NumericCases, others: Floats) -> Floats:
    """The mean of what it loses, and of what others gain by its value."""
    found = np.zeros((len(seen.Z), len(seen.names)))
    for other in others:
        for j in range(len(seen.names)):
            own = seen.owner == j
            without, alone = np.where(own, other, seen.Z), np.where(own, seen.Z, other)
            found[:, j] += score(seen.Z) - score(without) + score(alone) - score(other[None])
    return found / (2 * len(others))


def combined(model: Any, train: Any, cases: Any, rows: NDArray[np.intp]) -> Floats:
    """Pulls of the members of a blend, by how much their log-odds move those of the blend."""
    blend = model[-1].estimator_
    Z = model[:-1].transform(cases)
    total = blend.predict_proba(Z)[:, 1]
    found: Any = 0.0
    for weight, member in zip(blend.weights_, blend.estimators_, strict=True):
        if member is None:
            continue
        p = member.predict_proba(Z)[:, 1]
        around = ThresholdRejectClassifier(member)
        around.__dict__ |= {**model[-1].__dict__, "estimator": member, "estimator_": member}
        inside = make_pipeline(model[0], around)
        pulls = why.pulls(inside, cases, background=train, rows=rows).values
        votes = isinstance(member, RandomForestClassifier)  # by shares, not by log-odds
        rate = weight * (0.5 if votes else p * (1 - p)) / (total * (1 - total))
        found = found + rate[:, None] * pulls
    return np.asarray(found)


def strongest(pulls: Floats) -> set[int]:
    return set(np.argsort(-np.abs(pulls), kind="stable")[:3].tolist())


if __name__ == "__main__":
    main()
