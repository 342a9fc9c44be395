"""RejoBoost against XGBoost and scikit-learn's boosting: ``python -m benchmarks.bench_boost``.

``fit``
    time and peak memory of a fit on a million rows by 30 columns, in processes of their own, in
    turns; everything from ``fit(X, y)`` to its end counts, also the rows that are held out.
``predict``
    rows a second on one thread, of the same trees, and of scikit-learn's.
``quality``
    risk over the Bayes risk on SyntheticI to IV, and the risk on the tables of ``REJO_DATA`` with
    more than 1,000 rows, at reject costs of 0.1 to 0.4.  Every method stops early by rows that it
    holds out itself.
``directions``
    three classes whose two boundaries have different directions: what each form costs.

    python -m benchmarks.bench_boost [fit] [predict] [quality] [directions] [--rows N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import one_thread

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
Decisions = Iterator[tuple[float, Labels]]  # for each reject cost
Method = Callable[[Floats, Labels, Floats, int], Decisions]

ROWS, COLUMNS, ROUNDS, DEPTH = 1_000_000, 30, 100, 6
COSTS = (0.1, 0.2, 0.3, 0.4)
GROWTH: dict[str, Any] = {"n_estimators": ROUNDS, "max_depth": DEPTH, "learning_rate": 0.1}


def make_rows(n: int, n_classes: int, seed: int = 0) -> tuple[NDArray[np.float32], Labels]:
    """Normal features; a score with products and steps, and logistic noise, cut into classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + (X[:, 3] > 0.5) + 0.5 * X[:, 4] * (X[:, 5] > 0)
    score = 2 * score + rng.logistic(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


# ---- time and memory of a fit ----------------------------------------------------------------


def contender(name: str) -> Any:
    """An estimator by its name in the tables below."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from xgboost import XGBClassifier

    from rejo import RejoBoost, ReplicationClassifier

    whole = {"early_stopping_rounds": None, "validation": 0.1, "min_child_weight": 1.0}
    return {
        "plain XGBoost": lambda: XGBClassifier(**GROWTH),
        "scikit-learn": lambda: HistGradientBoostingClassifier(
            max_iter=ROUNDS, learning_rate=0.1, early_stopping=False
        ),
        "RejoBoost": lambda: RejoBoost(**GROWTH, **whole),
        "RejoBoost, parallel": lambda: RejoBoost(**GROWTH, **whole, boundaries="parallel"),
        "RejoBoost, replicas": lambda: RejoBoost(**GROWTH, **whole, boundaries="replicas"),
        "replicated scikit-learn": lambda: ReplicationClassifier(
            HistGradientBoostingClassifier(max_iter=ROUNDS, early_stopping=False)
        ),
    }[name]()


FITS = {
    2: ("plain XGBoost", "RejoBoost", "replicated scikit-learn"),
    3: ("plain XGBoost", "RejoBoost", "RejoBoost, parallel", "RejoBoost, replicas"),
    5: ("plain XGBoost", "RejoBoost", "RejoBoost, parallel", "RejoBoost, replicas"),
}


def fit_in_this_process(name: str, n_rows: int, n_classes: int) -> None:
    """Print the seconds and the peak memory of one fit."""
    X, y = make_rows(n_rows, n_classes)
    model = contender(name)
    start, cpu = perf_counter(), process_time()
    model.fit(X, y)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak}))


def compare_fits(n_rows: int, repetitions: int) -> None:
    for n_classes, names in FITS.items():
        best: dict[str, dict[str, float]] = {}
        for _ in range(repetitions):
            for name in names:
                if name.startswith("replicated") and name in best:
                    continue  # far slower than the others
                words = [name, str(n_rows), str(n_classes)]
                command = [sys.executable, "-m", "benchmarks.bench_boost", "one-fit", *words]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found = json.loads(said.splitlines()[-1])
                best[name] = {
                    key: min(value, best.get(name, found)[key]) for key, value in found.items()
                }
        print(f"\nfit, {n_rows:,} x {COLUMNS}, {n_classes} classes, {ROUNDS} rounds, depth {DEPTH}")
        plain = best["plain XGBoost"]
        for name, found in best.items():
            print(
                f"  {name:26} {found['seconds']:6.1f} s ({found['seconds'] / plain['seconds']:.2f})"
                f"  cpu {found['cpu']:6.1f} s ({found['cpu'] / plain['cpu']:.2f})"
                f"  peak {found['peak']:6.0f} MB ({found['peak'] / plain['peak']:.2f})",
                flush=True,
            )


# ---- predictions -----------------------------------------------------------------------------


def compare_predictions(n_rows: int) -> None:
    import xgboost as xgb
    from sklearn.ensemble import HistGradientBoostingClassifier

    from rejo import RejoBoost

    n_rows = min(n_rows, 200_000)
    X, y = make_rows(n_rows, 2)
    X_new, _ = make_rows(n_rows, 2, seed=1)
    rounds = 200
    plain = xgb.XGBClassifier(**{**GROWTH, "n_estimators": rounds}, n_jobs=1).fit(X, y)
    ours = RejoBoost(
        boundaries="posteriors", n_estimators=rounds, max_depth=DEPTH, min_child_weight=1.0,
        early_stopping_rounds=None, n_jobs=1,
    ).fit(X, y)  # fmt: skip
    theirs = HistGradientBoostingClassifier(
        max_iter=rounds, max_depth=DEPTH, max_leaf_nodes=None, early_stopping=False
    ).fit(X, y)
    booster = plain.get_booster()
    contenders: dict[str, Callable[[], Any]] = {
        "XGBoost, inplace_predict": lambda: booster.inplace_predict(X_new),
        "XGBoost, predict_proba": lambda: plain.predict_proba(X_new),
        "RejoBoost, predict_proba": lambda: ours.predict_proba(X_new),
        "RejoBoost, predict": lambda: ours.predict(X_new),
        "scikit-learn, predict_proba": lambda: theirs.predict_proba(X_new),
    }
    gap = np.abs(ours.predict_proba(X_new)[:, 1] - booster.inplace_predict(X_new)).max()
    best = dict.fromkeys(contenders, np.inf)
    with one_thread():
        for _ in range(5):
            for name, run in contenders.items():
                start = process_time()
                run()
                best[name] = min(best[name], process_time() - start)
    print(f"\npredict, {n_rows:,} x {COLUMNS}, {rounds} trees of depth {DEPTH}, one thread")
    for name, seconds in best.items():
        print(f"  {name:30} {n_rows / seconds:12,.0f} rows/s")
    print(f"  largest difference of a posterior from XGBoost's: {gap:.1e}", flush=True)


# ---- quality ---------------------------------------------------------------------------------


def by_posteriors(p: Floats) -> Decisions:
    for w in COSTS:
        yield w, np.where(1 - p.max(axis=1) >= w, -1, p.argmax(axis=1))


def rejo_boost(**options: Any) -> Method:
    from rejo import RejoBoost

    def method(X: Floats, k: Labels, X_new: Floats, seed: int) -> Decisions:
        model = RejoBoost(random_state=seed, n_jobs=1, **options).fit(X, k)
        for w in COSTS:
            yield w, model.at(w).judge(X_new).decision

    return method


def xgboost_and_chow(X: Floats, k: Labels, X_new: Floats, seed: int) -> Decisions:
    from sklearn.model_selection import train_test_split
    from xgboost import XGBClassifier

    X, X_val, k, k_val = train_test_split(X, k, test_size=0.2, random_state=seed, stratify=k)
    model = XGBClassifier(
        n_estimators=1000, max_depth=4, learning_rate=0.1, early_stopping_rounds=20, n_jobs=1,
        eval_metric="logloss" if k.max() == 1 else "mlogloss",
    )  # fmt: skip
    model.fit(X, k, eval_set=[(X_val, k_val)], verbose=False)
    yield from by_posteriors(model.predict_proba(X_new))


def scikit_learn_and_chow(**options: Any) -> Method:
    from sklearn.ensemble import HistGradientBoostingClassifier

    def method(X: Floats, k: Labels, X_new: Floats, seed: int) -> Decisions:
        model = HistGradientBoostingClassifier(random_state=seed, **options).fit(X, k)
        yield from by_posteriors(model.predict_proba(X_new))

    return method


def replicated_xgboost(X: Floats, k: Labels, X_new: Floats, seed: int) -> Decisions:
    from xgboost import XGBClassifier

    from rejo import ReplicationClassifier

    booster = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1)
    for w in COSTS:
        model = ReplicationClassifier(booster, reject_cost=w, random_state=seed)
        yield w, model.fit(X, k).judge(X_new).decision


def methods() -> dict[str, Method]:
    return {
        "RejoBoost": rejo_boost(),
        "XGBoost + Chow": xgboost_and_chow,
        "replicated XGBoost": replicated_xgboost,
        "scikit-learn + Chow": scikit_learn_and_chow(),
        "the same, early stopping": scikit_learn_and_chow(
            early_stopping=True, max_iter=1000, n_iter_no_change=20
        ),
    }


def compare_quality() -> None:
    from rejo import datasets
    from rejo.datasets import posterior

    ratios: dict[str, list[float]] = {name: [] for name in methods()}
    for n, draws in ((1_000, 8), (10_000, 3)):
        for number in (1, 2, 3, 4):
            make = getattr(datasets, f"make_synthetic_{number}")
            X_new, _ = make(40_000, random_state=999)
            p = posterior(f"synthetic_{number}", X_new)
            best = {w: np.minimum(1 - p.max(axis=1), w).mean() for w in COSTS}
            rows = np.arange(len(p))
            risks = []
            for seed in range(draws):
                X, y = make(n, random_state=seed)
                k = np.unique(y, return_inverse=True)[1]
                risks.append([
                    [np.where(d < 0, w, 1 - p[rows, d]).mean() / best[w]
                     for w, d in method(X, k, X_new, seed)]
                    for method in methods().values()
                ])  # fmt: skip
            _tell(f"Synthetic{number}, n={n:,}", np.mean(risks, axis=0), ratios, "Bayes risk")
    for name in _tables():
        risks = [_on_table(name, split) for split in range(5)]
        _tell(name, np.mean(risks, axis=0), ratios, "risk")
    print("\nmean over all problems of the risk over that of the best method here")
    for name, found in ratios.items():
        print(f"  {name:26} {np.mean(found):.4f}")


def _tell(problem: str, risks: Floats, ratios: dict[str, list[float]], what: str) -> None:
    """Print the risks (methods, costs), and note how far each mean is from the best."""
    means = risks.mean(axis=1)
    print(f"\n{problem}: {what} at reject costs {COSTS}, mean, over the best")
    for name, risk, mean in zip(ratios, risks, means, strict=True):
        ratios[name].append(mean / means.min())
        said = " ".join(f"{value:.4f}" for value in risk)
        print(f"  {name:26} {said}   {mean:.4f}   {mean / means.min():.4f}", flush=True)


def _tables() -> list[str]:
    from studies import tables

    names = [name for name in tables.available() if not tables.CATALOGUE[name].file]
    return [name for name in names if len(_table(name)[1]) > 1_000]


def _table(name: str) -> tuple[Any, Labels, Any]:
    """Features, classes and groups of a table of ``REJO_DATA``."""
    import os

    import pandas as pd

    frame = pd.read_csv(os.path.join(os.environ["REJO_DATA"], f"{name}.csv"))
    k = np.unique(frame.pop("target"), return_inverse=True)[1]
    groups = frame.pop("group").to_numpy() if "group" in frame else None
    frame = pd.get_dummies(frame.drop(columns=["annotator"], errors="ignore"))
    return frame.to_numpy(dtype=float), k, groups


def _on_table(name: str, split: int) -> list[list[float]]:
    from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

    X, k, groups = _table(name)
    how: Any = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
    for seed in range(split, split + 1000, 50):  # until all classes are in the training part
        train, test = next(how(1, test_size=0.4, random_state=seed).split(X, k, groups))
        if len(set(k[train])) == k.max() + 1:
            break
    return [
        [float(np.where(d < 0, w, d != k[test]).mean())
         for w, d in method(X[train], k[train], X[test], split)]
        for method in methods().values()
    ]  # fmt: skip


# ---- boundaries in different directions --------------------------------------------------------


def two_directions(n: int, seed: int) -> tuple[Floats, Labels, Floats]:
    """Three classes: one feature parts the first from the others, the other one the last two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a, b = 1 / (1 + np.exp(-3 * X.T))
    p = np.column_stack([1 - a, a * (1 - b), a * b])
    return X, (rng.uniform(size=n)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1), p


def compare_directions() -> None:
    from rejo.replication import loss_from_costs, replica_costs

    X_new, _, p = two_directions(100_000, 999)
    rows = np.arange(len(p))
    print("\ntwo boundaries in different directions, n=10,000: risk over the best that there is")
    print(f"  w R + E, and the loss of the replicas, at reject costs {COSTS}")
    for form in ("parallel", "replicas", "posteriors"):
        flat, ordinal = [], []
        for seed in range(3):
            X, k, _ = two_directions(10_000, seed)
            for w, d in rejo_boost(boundaries=form)(X, k, X_new, seed):
                best = np.minimum(1 - p.max(axis=1), w).mean()
                flat.append(np.where(d < 0, w, 1 - p[rows, d]).mean() / best)
        for seed in range(3):
            X, k, _ = two_directions(10_000, seed)
            ordinal += _ordinal_risks(form, X, k, X_new, p, seed, loss_from_costs, replica_costs)
        for what, found in (("w R + E", flat), ("replicas", ordinal)):
            mean = np.reshape(found, (3, -1)).mean(axis=0)
            print(f"  {form:10} {what:9}", " ".join(f"{value:.3f}" for value in mean), flush=True)


def _ordinal_risks(
    form: str,
    X: Floats,
    k: Labels,
    X_new: Floats,
    p: Floats,
    seed: int,
    loss_of: Any,
    costs_of: Any,
) -> list[float]:
    """Mean loss of the replicas over the lowest; posteriors decide by it."""
    from rejo import RejoBoost

    model = RejoBoost(boundaries=form, random_state=seed, n_jobs=1).fit(X, k)
    found = []
    for w in COSTS:
        expected = p @ loss_of(costs_of(3, w))  # (n, 5) of each output
        if form == "posteriors":
            output = (model.predict_proba(X_new) @ loss_of(costs_of(3, w))).argmin(axis=1)
        else:
            output = (model.at(w).boundary_scores(X_new) > 0).sum(axis=1)
        found.append(expected[np.arange(len(p)), output].mean() / expected.min(axis=1).mean())
    return found


def main() -> None:
    if sys.argv[1:2] == ["one-fit"]:
        name, n_rows, n_classes = sys.argv[2:]
        fit_in_this_process(name, int(n_rows), int(n_classes))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["fit", "predict"])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part == "fit":
            compare_fits(arguments.rows, arguments.repetitions)
        elif part == "predict":
            compare_predictions(arguments.rows)
        elif part == "quality":
            compare_quality()
        elif part == "directions":
            compare_directions()
        else:
            parser.error(f"{part!r} is not one of fit, predict, quality, directions")


if __name__ == "__main__":
    main()
