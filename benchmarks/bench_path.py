"""A curve of RejoSVC against a grid search of one SVC: ``python -m benchmarks.bench_path``.

Both cross-validate 5 values of C and 5 of gamma on 5 folds, with one thread and ``tol=1e-3``.
GridSearchCV does so for one plain SVC, which may not reject: 125 fits and one on all points.
RejectClassifierCV does so for 12 reject costs: 1,500 fits, and one on all points at the cost that
meets a budget.  A missed target changes no exit code: a benchmark reports.
"""

from __future__ import annotations

import argparse
import os
import platform
from functools import partial

import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.problems import TOL, H
from benchmarks.tables import Report, Target, milliseconds, times, yes
from benchmarks.timing import one_thread, race
from rejo import RejoSVC
from rejo.datasets import make_synthetic_1
from rejo.selection import REJECT_COSTS, RejectClassifierCV, reject_curve
from rejo.solvers import svm

N = 160
CS = tuple(2.0**i for i in (-5, -3, -1, 1, 3))  # the paper's
GAMMAS = tuple(2.0**i for i in (-3, -1, 1, 3, 5))  # the paper's three, and two more
DRAWS = (0, 1, 2)
MOST = 1.0  # of the time of the grid search


class OneByOne(RejoSVC):
    """RejoSVC by the way that is open to any classifier: a clone and a fit for each cost."""


def compare_searches(report: Report, quick: bool) -> None:
    report.header("case", "our 1,500 fits ms", "125 plain fits ms", "ours / plain", "target", "met")
    ratios = []
    for draw in DRAWS:
        X, y = make_synthetic_1(N, random_state=draw)
        ours = RejectClassifierCV(
            RejoSVC(h=H, tol=TOL), review_budget=0.2, reject_costs=REJECT_COSTS,
            param_grid={"C": CS, "gamma": GAMMAS},
        )  # fmt: skip
        plain = GridSearchCV(SVC(tol=TOL), {"C": CS, "gamma": GAMMAS}, cv=5, n_jobs=1)
        best = race(
            {"ours": partial(ours.fit, X, y), "plain": partial(plain.fit, X, y)},
            seconds=1.0 if quick else 6.0,
            least=2 if quick else 5,
        )
        ratio = best["ours"] / best["plain"]
        ratios.append(ratio)
        report.row(
            f"SyntheticI, n={N}, draw {draw}",
            milliseconds(best["ours"]), milliseconds(best["plain"]),
            times(ratio), f"{MOST:g}x", yes(ratio <= MOST),
        )  # fmt: skip
    report.judge(Target("12 tuned models in grid searches", MOST, ratios, True, "x"))


def compare_curves(report: Report, quick: bool) -> None:
    report.header("case", "shared ms", "one by one ms", "one by one / shared")
    for n in (N, 1000):
        X, y = make_synthetic_1(n, random_state=0)
        params = {"gamma": 2.0, "C": 8.0, "tol": TOL}
        best = race(
            {
                "shared": partial(reject_curve, RejoSVC(**params), X, y),
                "one by one": partial(reject_curve, OneByOne(**params), X, y),
            },
            seconds=0.5 if quick else 2.0,
        )
        report.row(
            f"SyntheticI, n={n}, 12 costs, 5 folds",
            milliseconds(best["shared"]), milliseconds(best["one by one"]),
            times(best["one by one"] / best["shared"]),
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_path", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    if svm._svm is None:
        print("The compiled solver was not built; there is nothing to measure without it.")
        return
    print(
        "# RejectClassifierCV(RejoSVC()) against GridSearchCV(SVC())\n\n"
        f"{os.cpu_count()} cores, one thread; Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}"
    )
    report = Report()
    with one_thread():
        report.section("1. Tuning for 12 reject costs", "5 C x 5 gamma, 5 folds, and the refit.")
        compare_searches(report, options.quick)
        report.section("2. A curve over 12 reject costs", "One C and gamma; no target.")
        compare_curves(report, options.quick)
    report.summary()


if __name__ == "__main__":
    main()
