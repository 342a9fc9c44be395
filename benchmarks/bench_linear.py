"""RejoLinear against scikit-learn's LogisticRegression: ``python -m benchmarks.bench_linear``.

Both see the points once, un-replicated; LogisticRegression may not reject.  Every comparison is of
one run, side by side, with one thread, and counts all of ``fit(X, y)``.  Solutions are compared at
equal accuracy: ours ends at a relative excess of the objective, and at a relative gradient, no
larger than those of the rival's solver at its default ``tol``.  A missed target changes no exit
code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from benchmarks.tables import Report, Target, number, times, yes
from benchmarks.timing import one_thread, race
from rejo.estimators.linear import RejoLinear
from rejo.replication import replica_costs, replica_labels
from rejo.solvers import linear

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

N_SAMPLES, N_FEATURES = 200_000, 50
CLASSES = {2: 1.5, 5: 3.0}  # number of classes: largest ratio of the times
MEMORY, PREDICTION = 1.5, 1.3
SOLVERS = ("lbfgs", "newton-cholesky")
REJECT_COST = 0.2
MB = 2**20
STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def make_data(n: int, n_classes: int, seed: int = 0) -> tuple[Floats, Labels]:
    """Normal features and a linear score with logistic noise, cut into equally large classes."""
    rng = np.random.RandomState(seed)
    X, w = rng.normal(size=(n, N_FEATURES)), rng.normal(size=N_FEATURES)
    score = 2 * X @ w / np.linalg.norm(w) + rng.logistic(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def ours(**params: Any) -> RejoLinear:
    return RejoLinear(reject_cost=REJECT_COST, **params)


# ---- accuracy ------------------------------------------------------------------------------


def our_accuracy(model: RejoLinear, X: Floats, y: Labels) -> tuple[float, float]:
    """Relative excess of the objective, and the gradient relative to that at 0."""
    K = len(model.classes_)
    labels, caps = replica_labels(K), model.C * replica_costs(K, REJECT_COST)
    best = linear.solve(X, y, labels, caps, tol=1e-15)
    loss = linear.LOSSES["logistic"](labels, caps, y, None)
    F = linear.Objective(X, loss, model.h)
    value, gradient = F(np.concatenate([model.coef_[0], -model.thresholds_]))
    start = F(np.zeros_like(gradient))[1]
    return _accuracy(value, best.objective, gradient, start)


def their_accuracy(
    model: LogisticRegression, best: LogisticRegression, X: Floats, y: Labels
) -> tuple[float, float]:
    """The same for ``1/2 |W|^2 + C sum_i loss_i``, with ``best`` in place of the minimum."""
    value, gradient = _their_objective(X, y, model.coef_, model.intercept_)
    least, _ = _their_objective(X, y, best.coef_, best.intercept_)
    _, start = _their_objective(X, y, np.zeros_like(best.coef_), np.zeros_like(best.intercept_))
    return _accuracy(value, least, gradient, start)


def _their_objective(X: Floats, y: Labels, W: Floats, b: Floats) -> tuple[float, Floats]:
    scores = X @ W.T + b
    if len(b) == 1:
        scores = np.column_stack([np.zeros(len(X)), scores])
    norms = logsumexp(scores, axis=1)
    value = 0.5 * np.sum(W * W) + np.sum(norms - scores[np.arange(len(y)), y])
    slopes = np.exp(scores - norms[:, None])
    slopes[np.arange(len(y)), y] -= 1
    slopes = slopes[:, -len(b) :]
    return float(value), np.concatenate([(W + slopes.T @ X).ravel(), slopes.sum(axis=0)])


def _accuracy(value: float, least: float, gradient: Floats, start: Floats) -> tuple[float, float]:
    relative = float(np.linalg.norm(gradient) / np.linalg.norm(start))
    return max(value / least - 1, 0.0), relative


# ---- time ----------------------------------------------------------------------------------


def compare_fits(report: Report, quick: bool) -> None:
    report.section("1. Fits", "The target is judged against the faster of the two solvers.")
    report.header(
        "case", "ours s", *(f"{s} s" for s in SOLVERS), "ratio", "target", "met",
        "our excess", "their excess", "our gradient", "their gradient",
    )  # fmt: skip
    for K, bound in CLASSES.items():
        X, y = make_data(N_SAMPLES, K)
        rivals = {s: LogisticRegression(solver=s) for s in SOLVERS}
        best = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y)
        accuracies = {s: their_accuracy(m.fit(X, y), best, X, y) for s, m in rivals.items()}
        mine = {s: _as_accurate(accuracy, X, y) for s, accuracy in accuracies.items()}
        fits: dict[str, Callable[[], Any]] = {s: partial(m.fit, X, y) for s, m in rivals.items()}
        fits |= {f"ours {s}": partial(m.fit, X, y) for s, (m, _) in mine.items()}
        fits["ours"] = partial(ours().fit, X, y)
        seconds = race(fits, seconds=0.0 if quick else 20.0, least=3 if quick else 7, most=15)
        faster = min(SOLVERS, key=seconds.__getitem__)
        for s in SOLVERS:
            ratio = seconds[f"ours {s}"] / seconds[s]
            target = Target(f"Fit, K={K}, against {s}", bound, [ratio], at_most=True, unit="x")
            met = report.judge(target) if s == faster else yes(target.met)
            report.row(
                f"{N_SAMPLES:,} x {N_FEATURES}, K={K}, as accurate as {s}",
                number(seconds[f"ours {s}"]), *(number(seconds[r]) for r in SOLVERS),
                times(ratio), f"{bound}x", met,
                f"{mine[s][1][0]:.0e}", f"{accuracies[s][0]:.0e}",
                f"{mine[s][1][1]:.0e}", f"{accuracies[s][1]:.0e}",
            )  # fmt: skip
        excess, gradient = our_accuracy(ours().fit(X, y), X, y)
        report.row(
            f"{N_SAMPLES:,} x {N_FEATURES}, K={K}, our default tol", number(seconds["ours"]),
            *(number(seconds[r]) for r in SOLVERS), times(seconds["ours"] / seconds[faster]),
            "", "", f"{excess:.0e}", "", f"{gradient:.0e}", "",
        )  # fmt: skip


def _as_accurate(
    accuracy: tuple[float, float], X: Floats, y: Labels
) -> tuple[RejoLinear, tuple[float, float]]:
    """Ours with the largest ``tol`` at which both measures are no worse than the rival's."""
    for tol in 10.0 ** np.arange(-4, -16, -1.0):
        model = ours(tol=tol).fit(X, y)
        reached = our_accuracy(model, X, y)
        if reached[0] <= max(accuracy[0], 1e-14) and reached[1] <= max(accuracy[1], 1e-10):
            break
    return model, reached


def compare_predictions(report: Report, quick: bool) -> None:
    report.section("2. Predictions")
    report.header("case", "ours ms", "plain's ms", "ratio", "target", "met")
    for K in CLASSES:
        X, y = make_data(N_SAMPLES, K)
        runs = {
            "ours": partial(ours().fit(X, y).predict, X),
            "plain": partial(LogisticRegression().fit(X, y).predict, X),
        }
        seconds = race(runs, seconds=1.0 if quick else 4.0, least=5)
        ratio = seconds["ours"] / seconds["plain"]
        target = Target(f"Prediction, K={K}", PREDICTION, [ratio], at_most=True, unit="x")
        report.row(
            f"{N_SAMPLES:,} x {N_FEATURES}, K={K}", number(1e3 * seconds["ours"]),
            number(1e3 * seconds["plain"]), times(ratio), f"{PREDICTION}x", report.judge(target),
        )  # fmt: skip


# ---- memory --------------------------------------------------------------------------------


def compare_memory(report: Report) -> None:
    report.section("3. Memory", "Resident memory that a fit adds at its peak; a process for each.")
    if not RESET.exists():
        print("Not measured: this system does not tell a process its peak memory.")
        return
    report.header("case", "ours MB", *(f"{s} MB" for s in SOLVERS), "ratio", "target", "met")
    for K in CLASSES:
        peaks = {who: _in_a_process(who, K) for who in ("ours", *SOLVERS)}
        ratio = peaks["ours"] / min(peaks[s] for s in SOLVERS)
        target = Target(f"Memory, K={K}", MEMORY, [ratio], at_most=True, unit="x")
        report.row(
            f"{N_SAMPLES:,} x {N_FEATURES}, K={K}", *(number(p / MB) for p in peaks.values()),
            times(ratio), f"{MEMORY}x", report.judge(target),
        )  # fmt: skip


def peak_of_fit(who: str, n_classes: int) -> int:
    """Bytes that one fit adds to the resident memory, at its peak."""
    model = ours() if who == "ours" else LogisticRegression(solver=who)
    model.fit(*make_data(1000, n_classes))
    X, y = make_data(N_SAMPLES, n_classes)
    RESET.write_text("5")
    before = _status("VmRSS")
    model.fit(X, y)
    return _status("VmHWM") - before


def _status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _in_a_process(who: str, n_classes: int) -> int:
    command = [sys.executable, "-m", "benchmarks.bench_linear", "--peak", who, str(n_classes)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--peak", nargs=2, metavar=("WHO", "K"), help="print the peak of one fit")
    options = parser.parse_args()
    with one_thread():
        if options.peak:
            print(peak_of_fit(options.peak[0], int(options.peak[1])))
            return
        report = Report()
        print(f"One thread of {os.cpu_count()} processors.")
        compare_fits(report, options.quick)
        compare_predictions(report, options.quick)
        compare_memory(report)
        report.summary()


if __name__ == "__main__":
    main()
