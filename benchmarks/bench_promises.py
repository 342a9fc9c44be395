"""What ``rejo train`` promises, and what new cases then see.

Each table of the data folder (``REJO_DATA``) is cut in half, several times: one half is trained on,
as by ``rejo train``, for budgets and limits, with and without a confidence; the other half counts.
One race of the models serves all targets, and models that decide by posteriors are fitted once for
all targets.  Races, fits and rows are kept in a folder, so an interrupted run continues where it
stopped; rows of another version of rejo are not used.

    python -m benchmarks.bench_promises [--tables A,B] [--splits N] [--models auto,logistic]
                                        [--confidence 0,0.9] [--cache FOLDER] [--label NAME]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import subprocess
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from benchmarks.tables import Report
from rejo import ThresholdRejectClassifier
from rejo.selection import (
    RejectClassifierCV,
    TargetUnattainable,
    choose_model,
    shuffled_folds,
)
from rejo.selection.folds import held_out_share, hold_out
from rejo.tables import TableEncoder
from studies.tables import fetch

# 5 %, and one or two limits that are easier to keep; car is easy.
LIMITS = {
    "australian_credit": (0.1, 0.05),
    "german_credit": (0.15, 0.1, 0.05),
    "pima_diabetes": (0.15, 0.1, 0.05),
    "mammographic_mass": (0.12, 0.08, 0.05),
    "default_credit_card": (0.13, 0.1, 0.05),
    "heart_statlog": (0.12, 0.08, 0.05),
    "winequality_red": (0.3, 0.2, 0.05),
    "car": (0.05, 0.02),
}
BUDGETS = (0.1, 0.2)
MAX_ROWS = 5_000
FOLDS, SEED = 5, 0  # as in the command line


def main() -> None:
    words: Callable[[str], list[str]] = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=words, default=list(LIMITS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--models", type=words, default=["logistic", "auto"])
    parser.add_argument("--confidence", type=words, default=["0", "0.9"])
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/results/promises"))
    parser.add_argument("--label", default=None, help="name of the rows; by default, of the commit")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    label = arguments.label or _commit()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for split in range(arguments.splits):
            for confidence in map(float, arguments.confidence):
                for table in arguments.tables:
                    for model in arguments.models:
                        rows += _kept(arguments.cache, label, table, split, model, confidence)
    show(rows)


def _kept(
    folder: Path, label: str, table: str, split: int, model: str, confidence: float
) -> list[dict[str, Any]]:
    """The rows of one half split, from the folder if they are there."""
    file = folder / f"{label}-{table}-{split}-{model}-{confidence:g}.jsonl"
    if not file.exists():
        start = perf_counter()
        rows = list(rows_of(folder, table, split, model, confidence or None))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print(f"{file.stem}: {perf_counter() - start:.1f} s", flush=True)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# ---- one half split ------------------------------------------------------------------------


@cache
def load(table: str) -> tuple[pd.DataFrame, Any]:
    data = fetch(table)
    X, y = data.data, np.asarray(data.target, dtype=np.int64)
    if len(y) > MAX_ROWS:
        kept, _ = train_test_split(np.arange(len(y)), train_size=MAX_ROWS, random_state=0)
        X, y = X.iloc[kept], y[kept]
    return X.reset_index(drop=True), y


def rows_of(
    folder: Path, table: str, split: int, model: str, confidence: float | None
) -> Iterator[dict[str, Any]]:
    """Train for each target on one half, and count in the other."""
    X, y = load(table)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=split)
    targets = [("review_budget", budget, budget) for budget in BUDGETS]
    targets += [("max_error", limit, limit) for limit in LIMITS[table]]
    for target, limit, asked in targets:  # a margin adds another
        part = train
        if confidence is not None:
            part = train[hold_out(len(train), held_out_share(len(train)), SEED)[0]]
        row = {
            "table": table, "split": split, "model": model, "confidence": confidence,
            "target": target if asked == limit else "max_error, 90 % sure", "limit": limit,
            "n": len(train),
        }  # fmt: skip
        if set(y[train]) - set(y[part]):  # all cases of a rare class are held out
            yield row | {"refused": True}
            continue
        name = f"{table}-{split}-{model}-{len(part)}"
        choice = _stored(folder / f"{name}.race", partial(_race, X.iloc[part], y[part], model))
        fits = folder / f"{name}.fits"
        Replay.fits = _stored(fits, dict)
        n_fits = len(Replay.fits)
        estimator, out_of_fold = choice.estimator, choice.chosen.cases
        cases: Any = X
        if out_of_fold is not None:
            inner = Pipeline([*estimator.steps[:-1], ("model", estimator.steps[-1][1].estimator)])
            order = out_of_fold.classes.tolist()
            estimator = ThresholdRejectClassifier(Replay(inner, table), class_order=order)
            cases = np.arange(len(y))[:, None]
        search = RejectClassifierCV(
            estimator, confidence=confidence, cv=shuffled_folds(FOLDS, None, SEED),
            random_state=SEED, **{target: asked},
        )  # fmt: skip
        start = perf_counter()
        try:
            given = {"cases": None if confidence is not None else out_of_fold}
            search.fit(_take(cases, train), y[train], **given)
        except TargetUnattainable:
            yield row | {"refused": True}
            continue
        finally:
            if len(Replay.fits) > n_fits:
                fits.write_bytes(pickle.dumps(Replay.fits))
        margin = getattr(search, "margin_", None)
        if margin is not None and margin.limit and asked == limit:
            targets.append((target, limit, margin.limit))
        decision = search.predict(_take(cases, test))
        reviewed = decision == search.reject_label_
        wrong = ~reviewed & (decision != y[test])
        yield row | {
            "refused": False, "R": float(reviewed.mean()), "E": float(wrong.mean()),
            "A": float(wrong.sum() / max(1, (~reviewed).sum())),
            "said_R": search.expected_.rejection_rate.estimate,
            "said_E": search.expected_.error_rate.estimate,
            "said_A": search.expected_.accepted_error_rate.estimate,
            "seconds": perf_counter() - start,
        }  # fmt: skip


def _race(X: Any, y: Any, model: str) -> Any:
    models = None if model == "auto" else [model]
    ordered = {"class_order": np.unique(y).tolist(), "ordered": True}
    return choose_model(
        TableEncoder().fit(X), X, y, models=models, cv=FOLDS, random_state=SEED, **ordered
    )


class Replay(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Posteriors of a model for rows of a table, given by number; no two fits are the same."""

    fits: ClassVar[dict[tuple[str, str], tuple[Any, Any]]] = {}

    def __init__(self, estimator: Any, table: str) -> None:
        self.estimator, self.table = estimator, table

    def fit(self, X: Any, y: Any) -> Replay:
        X_all, _ = load(self.table)
        rows = np.asarray(X)[:, 0].astype(int)
        key = joblib.hash(self.estimator), hashlib.sha1(rows.tobytes()).hexdigest()
        if key not in Replay.fits:
            model = clone(self.estimator).fit(X_all.iloc[rows], y)
            Replay.fits[key] = model.classes_, model.predict_proba(X_all)
        self.classes_, self.p_ = Replay.fits[key]
        self.n_features_in_ = 1
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.p_[np.asarray(X)[:, 0].astype(int)]


def _take(cases: Any, rows: Any) -> Any:
    return cases.iloc[rows] if hasattr(cases, "iloc") else cases[rows]


def _stored(file: Path, make: Callable[[], Any]) -> Any:
    if not file.exists():
        file.write_bytes(pickle.dumps(make()))
    return pickle.loads(file.read_bytes())


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# ---- tables --------------------------------------------------------------------------------


def show(rows: list[dict[str, Any]]) -> None:
    """Print what was asked for, delivered and said, by model and target, and for each table."""
    report = Report()
    report.section("All tables", "Shares in %; bias is delivered minus said, in points.")
    _table(report, rows, ("model", "target", "confidence"))
    report.section("Each table")
    _table(report, rows, ("model", "confidence", "target", "table"))


def _table(report: Report, rows: list[dict[str, Any]], keys: tuple[str, ...]) -> None:
    frame = pd.DataFrame(rows)
    frame["confidence"] = frame["confidence"].fillna(0.0)
    frame["what"] = frame["target"] + " " + frame["limit"].astype(str)
    if "table" not in keys:  # limits differ between tables
        budget = (frame["target"] == "review_budget") | (frame["limit"] == 0.05)
        frame["what"] = np.where(budget, frame["what"], frame["target"])
    by = ["what" if key == "target" else key for key in keys]
    report.header(
        ", ".join(keys), "runs", "refused", "limit", "delivered", "over limit", "said", "bias",
        "s.e.", "errors", "reviews",
    )  # fmt: skip
    for name, part in frame.groupby(by, sort=True):
        met = part[~part["refused"].astype(bool)]
        cells = [str(len(part)), str(len(part) - len(met))]
        if len(met):
            rate = "R" if met["target"].iloc[0] == "review_budget" else "A"
            bias = 100 * (met[rate] - met[f"said_{rate}"])
            over = met[rate] > met["limit"] + 1e-12
            shares = [met["limit"], met[rate], over, met[f"said_{rate}"]]
            cells += [f"{100 * share.mean():.1f}" for share in shares]
            cells += [f"{bias.mean():+.2f}", f"{bias.std() / np.sqrt(len(bias)):.2f}"]
            cells += [f"{100 * met['A'].mean():.1f}", f"{100 * met['R'].mean():.1f}"]
        else:
            cells += [""] * 8
        report.row(", ".join(map(str, name)), *cells)


if __name__ == "__main__":
    main()
