"""RejoMLP against scikit-learn's MLPClassifier: ``python -m benchmarks.bench_mlp``.

Every comparison is of one run, side by side, with one thread.  *Plain* is MLPClassifier of the
same shape, activation and ``alpha``, on the points themselves, which may not reject; ours has one
threshold for each boundary more and sees the points once, whatever their number.  ``tol`` is so
small that both run to ``max_iter``.  A missed target changes no exit code: a benchmark reports.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from functools import partial

import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.problems import Floats, Labels, make_ordered
from benchmarks.tables import Report, Target, milliseconds, times
from benchmarks.timing import one_thread, race
from rejo import RejoMLP
from rejo.datasets import make_synthetic_1

MOST_FIT, MOST_PREDICT = 1.5, 1.3
SETTINGS = {"activation": "tanh", "alpha": 0.1, "tol": 1e-12, "random_state": 0}


def pair(hidden: tuple[int, ...], max_iter: int) -> tuple[RejoMLP, MLPClassifier]:
    return (
        RejoMLP(hidden, max_iter=max_iter, reject_cost=0.2, **SETTINGS),
        MLPClassifier(hidden, solver="lbfgs", max_iter=max_iter, max_fun=100_000, **SETTINGS),
    )


def compare_fits(report: Report, quick: bool) -> None:
    report.header("case", "ours ms", "plain ms", "ours / plain", "iterations", "target", "met")
    X, y = make_synthetic_1(400, random_state=0)
    for hidden in ((5,), (10,), (25,), (20, 20)):
        for max_iter in (50, 200):
            fit_row(report, f"400 x 2, {hidden}", X, y, hidden, max_iter, quick, judged=True)
    for n, n_classes in ((400, 5), (20_000, 2), (20_000, 5)):
        X, y = make_ordered(n, n_classes)
        fit_row(report, f"{n:,} x 2, (10,), K={n_classes}", X, y, (10,), 50, quick, judged=False)


def fit_row(
    report: Report,
    name: str,
    X: Floats,
    y: Labels,
    hidden: tuple[int, ...],
    max_iter: int,
    quick: bool,
    judged: bool,
) -> None:
    mine, theirs = pair(hidden, max_iter)
    best = race(
        {"ours": partial(mine.fit, X, y), "plain": partial(theirs.fit, X, y)},
        seconds=0.5 if quick else 2.0,
    )
    ratio = best["ours"] / best["plain"]
    label = f"{name}, max_iter={max_iter}"
    target = Target(f"Fit, {label}", MOST_FIT, [ratio], at_most=True, unit="x")
    report.row(
        label, milliseconds(best["ours"]), milliseconds(best["plain"]), times(ratio),
        f"{mine.n_iter_} / {theirs.n_iter_}",
        f"{MOST_FIT}x" if judged else "", report.judge(target) if judged else "",
    )  # fmt: skip


def compare_predictions(report: Report, quick: bool) -> None:
    report.header("case", "ours ms", "plain ms", "ours / plain", "target", "met")
    for n_classes in (2, 5):
        X, y = make_ordered(400, n_classes)
        for hidden in ((10,), (20, 20)):
            mine, theirs = (model.fit(X, y) for model in pair(hidden, 200))
            for n in (400, 10_000, 100_000):
                points, _ = make_ordered(n, 2, seed=1)
                best = race(
                    {
                        "ours": partial(mine.predict, points),
                        "plain": partial(theirs.predict, points),
                    },
                    seconds=0.5 if quick else 2.0,
                    most=2_000,
                )
                ratio = best["ours"] / best["plain"]
                label = f"{n:,} points, {hidden}, K={n_classes}"
                target = Target(f"Predict, {label}", MOST_PREDICT, [ratio], at_most=True, unit="x")
                report.row(
                    label, milliseconds(best["ours"]), milliseconds(best["plain"]), times(ratio),
                    f"{MOST_PREDICT}x", report.judge(target),
                )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_mlp", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    print(
        f"# RejoMLP against MLPClassifier\n\n{os.cpu_count()} cores, one thread; "
        f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    )
    report = Report()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with one_thread():
        report.section("1. Fits", "Both by lbfgs, with equal max_iter; K=2 unless said.")
        compare_fits(report, options.quick)
        report.section("2. Prediction", "After a fit on 400 points.")
        compare_predictions(report, options.quick)
    report.summary()


if __name__ == "__main__":
    main()
