"""RejoKernelLogistic against scikit-learn's SVC: ``python -m benchmarks.bench_kernel_logistic``.

Both fit the same points with the same kernel, ``C`` and ``tol=1e-3``, side by side and with one
thread; all of ``fit(X, y)`` counts.  SVC may not reject, and has no posteriors.  The last section
times a grid search, by one call of ``fit_path`` for each fold and ``gamma``, against one fit of
gradient boosting.  A missed target changes no exit code: a benchmark reports.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from benchmarks.problems import (
    CS,
    REJECT_COST,
    TOL,
    Fit,
    Floats,
    Labels,
    make_synthetic_3,
    make_wide,
    plain,
)
from benchmarks.tables import Report, Target, milliseconds, number, times, yes
from benchmarks.timing import geometric_mean, one_thread, race
from rejo import RejoKernelLogistic
from rejo.datasets import make_synthetic_1

MOST = 1.0  # of the time of SVC
SIZES = (400, 2000)
GRID_CS = (0.5, 4.0, 32.0, 256.0)
GRID_GAMMAS = (0.3 / 20, 1.5 / 20, 6.0 / 20)


class Case(NamedTuple):
    """A data set under some kernels; a target only where it was asked for."""

    name: str
    make: Callable[[int], tuple[Floats, Labels]]
    gammas: tuple[float, ...]
    has_target: bool = False


CASES = (
    Case("SyntheticI", lambda n: make_synthetic_1(n, random_state=0), (1, 4), True),
    Case("SyntheticIII, K=5", make_synthetic_3, (1, 4)),
    Case("20 features", lambda n: make_wide(n, 2, 20), (0.3 / 20, 1.5 / 20)),
)


def ours(X: Floats, y: Labels, **params: Any) -> Fit:
    model = RejoKernelLogistic(**{"reject_cost": REJECT_COST, "tol": TOL} | params)
    return partial(model.fit, X, y)


def compare_fits(report: Report, quick: bool) -> None:
    report.header("case", "pivots", "gap", "ours ms", "SVC ms", "ours / SVC", "target", "met")
    for case in CASES:
        for n in SIZES:
            X, y = case.make(n)
            ratios = []
            for gamma in case.gammas:
                for C in CS:
                    fits = {k: f(X, y, gamma=gamma, C=C) for k, f in CONTENDERS.items()}
                    best = race(fits, seconds=0.3 if quick else 2.0, least=3 if quick else 5)
                    model = fits["ours"]()
                    ratios.append(best["ours"] / best["plain"])
                    report.row(
                        f"{case.name}, n={n:,}, gamma={gamma:.3g}, C={C}",
                        str(len(model.pivots_)), f"{model.duality_gap_:.0e}",
                        milliseconds(best["ours"]), milliseconds(best["plain"]), times(ratios[-1]),
                        *((f"{MOST:g}x", yes(ratios[-1] <= MOST)) if case.has_target else ("", "")),
                    )  # fmt: skip
            name = f"{case.name}, n={n:,}, one fit in fits of SVC"
            if case.has_target:
                report.judge(Target(name, MOST, ratios, True, "x"))
            else:
                print(f"\n{name}: geometric mean {times(geometric_mean(ratios))}.\n")


CONTENDERS: dict[str, Callable[..., Fit]] = {"ours": ours, "plain": plain}


def search(X: Floats, y: Labels) -> Floats:
    """Held-out scores (gammas, Cs), means over 5 folds."""
    scores = np.zeros((len(GRID_GAMMAS), len(GRID_CS)))
    for train, test in StratifiedKFold(5).split(X, y):
        for i, gamma in enumerate(GRID_GAMMAS):
            models = RejoKernelLogistic(gamma=gamma).fit_path(X[train], y[train], Cs=GRID_CS)
            scores[i] += [model.score(X[test], y[test]) / 5 for model in models]
    return scores


def compare_search(report: Report, quick: bool) -> None:
    report.header("case", "60 fits s", "one boosting fit s", "ours / boosting")
    X, y = make_wide(2000, 2, 20)
    boosting = HistGradientBoostingClassifier(early_stopping=False)
    contenders: dict[str, Fit] = {"ours": partial(search, X, y), "hgb": partial(boosting.fit, X, y)}
    best = race(contenders, seconds=1.0, least=1 if quick else 3)
    ratio = times(best["ours"] / best["hgb"])
    report.row("n=2,000, p=20", number(best["ours"]), number(best["hgb"]), ratio)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_kernel_logistic", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    print(
        f"# RejoKernelLogistic against SVC\n\n{os.cpu_count()} cores, one thread; "
        f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    )
    report = Report()
    with one_thread():
        report.section(
            "1. One fit", "Where the kernel needs more than 500 pivots, the gap is larger."
        )
        compare_fits(report, options.quick)
        report.section("2. A grid of 4 C x 3 gamma in 5 folds", "No target.")
        compare_search(report, options.quick)
    report.summary()


if __name__ == "__main__":
    main()
