"""How often new cases fall in the prediction intervals, and how wide these are.

For many random splits of real tables, ``RejectClassifierCV`` is fitted on one part, and the shares
of reviews and of errors in the other part are compared with its 95 % intervals for a batch of this
size.  Without the tables (``../shared/data``, or the folder in REJO_DATA) it does nothing.

    python -m benchmarks.bench_intervals [--splits 200] [--tables a,b] [--learners logistic,...]
"""

from __future__ import annotations

import argparse
import os
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, ThresholdRejectClassifier
from rejo.selection import RejectClassifierCV, TargetUnattainable, cross_fit

FOLDER = Path(os.environ.get("REJO_DATA") or Path(__file__).parents[2] / "shared" / "data")
TABLES = ("german_credit", "pima_diabetes", "default_credit_card", "winequality_red", "car")
MOST = 10_000  # rows of a table, drawn anew for each split; half of them to train on
LEARNERS = {
    "logistic": lambda: make_pipeline(
        StandardScaler(), ThresholdRejectClassifier(LogisticRegression(max_iter=1000))
    ),
    "boosting": lambda: ThresholdRejectClassifier(
        HistGradientBoostingClassifier(max_iter=50, random_state=0)
    ),
    "replication": lambda: make_pipeline(StandardScaler(), RejoLinear()),
}
TARGETS = (
    {"review_budget": 0.1},
    {"review_budget": 0.3},
    {"reject_cost": 0.1},
    {"reject_cost": 0.3},
    {"max_error": 0.5},
)


@lru_cache
def read(name: str) -> pd.DataFrame:
    """A table from the data folder; the last column is the class."""
    return pd.read_csv(FOLDER / f"{name}.csv")


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table as numbers; rows of very rare classes are left out."""
    table = read(name)
    if len(table) > MOST:
        table = table.sample(MOST, random_state=seed)
    y = table.iloc[:, -1].to_numpy()
    X = np.nan_to_num(pd.get_dummies(table.iloc[:, :-1]).to_numpy(float))
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 10])
    return X[kept], y[kept]


def run(name: str, learner: str, splits: int) -> list[dict[str, object]]:
    """Coverage and median width over the splits; ``max_error`` is a share of the error rate."""
    inside: dict[int, list[list[bool]]] = {i: [] for i in range(len(TARGETS))}
    widths: dict[int, list[list[float]]] = {i: [] for i in range(len(TARGETS))}
    for seed in range(splits):
        X, y = load(name, seed)
        size = 0.5 if len(y) > MOST // 2 else 0.4
        old, new, y_old, y_new = train_test_split(X, y, test_size=size, random_state=seed)
        shared = {}
        if learner != "replication":  # one round of fits for all targets
            shared["cases"] = cross_fit(LEARNERS[learner](), old, y_old)
        error = 1.0
        for i, target in enumerate(TARGETS):
            asked = {key: value * error ** (key == "max_error") for key, value in target.items()}
            model = RejectClassifierCV(LEARNERS[learner](), **asked, per=len(y_new))
            try:
                model.fit(old, y_old, **shared)
            except TargetUnattainable:
                continue
            if model.outcomes_ is not None:  # the error rate if all cases are decided
                k = np.searchsorted(model.classes_, y_old)
                error = float(np.mean(model.outcomes_[-1].forced != k))
            decision = model.predict(new)
            reviewed = decision == model.reject_label_
            seen = reviewed.mean(), (~reviewed & (decision != y_new)).mean()
            pairs = list(zip(seen, model.expected_[:2], strict=True))
            inside[i].append([low - 1e-9 <= rate <= high + 1e-9 for rate, (_, low, high) in pairs])
            widths[i].append([high - low for _, (_, low, high) in pairs])
    rows = []
    for i, target in enumerate(TARGETS):
        share, width = np.mean(inside[i], axis=0), np.median(widths[i], axis=0)
        rows.append(
            {
                "table": name,
                "learner": learner,
                "target": " ".join(f"{key}={value}" for key, value in target.items()),
                "splits": len(inside[i]),
                "reviews inside": f"{100 * share[0]:.0f} %",
                "width": round(width[0], 4),
                "errors inside": f"{100 * share[1]:.0f} %",
                "width ": round(width[1], 4),
            }
        )
    return rows


def main() -> None:
    """Print a row for each table, learner and target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--learners", default=",".join(LEARNERS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # few decisions, rare classes in few folds
    rows = [
        row
        for name in arguments.tables.split(",")
        if (FOLDER / f"{name}.csv").exists()
        for learner in arguments.learners.split(",")
        for row in run(name, learner, arguments.splits)
    ]
    print(pd.DataFrame(rows).to_string(index=False) if rows else f"no tables in {FOLDER}")


if __name__ == "__main__":
    main()
