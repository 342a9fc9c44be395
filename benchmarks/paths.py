"""Many costs at once, and prediction."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.problems import CS, GAMMAS, REJECT_COST, TOL, Fit, H, make_wide, plain
from benchmarks.tables import Report, Target, milliseconds, times, yes
from benchmarks.timing import race
from rejo import RejoSVC
from rejo.datasets import make_synthetic_1

COSTS = np.linspace(0.04, 0.4, 10)
DRAWS = (0, 1, 2)  # what a warm start saves varies from sample to sample
LONGEST_PATH = 3  # plain fits
FASTER = 3  # prediction
N_TRAIN, N_TEST = 2000, 10_000


def compare_paths(report: Report, quick: bool) -> None:
    report.header("case", "our 10 fits ms", "1 plain fit ms", "ours / plain", "target", "met")
    ratios = [
        _path(report, draw, gamma, C, 0.3 if quick else 1.5)
        for draw in DRAWS
        for gamma in GAMMAS
        for C in CS
    ]
    report.judge(Target("Path of 10 costs in plain fits", LONGEST_PATH, ratios, True, "x"))


def _path(report: Report, draw: int, gamma: float, C: float, seconds: float) -> float:
    X, y = make_synthetic_1(400, random_state=draw)
    model = RejoSVC(gamma=gamma, C=C, h=H, tol=TOL)
    runs: dict[str, Fit] = {
        "plain": plain(X, y, gamma=gamma, C=C),
        "path": partial(model.fit_path, X, y, reject_costs=COSTS),
    }
    best = race(runs, seconds=seconds)
    ratio = best["path"] / best["plain"]
    report.row(
        f"SyntheticI, n=400, draw {draw}, gamma={gamma}, C={C}",
        milliseconds(best["path"]), milliseconds(best["plain"]),
        times(ratio), f"{LONGEST_PATH}x", yes(ratio <= LONGEST_PATH),
    )  # fmt: skip
    return ratio


def compare_predictions(report: Report, quick: bool) -> None:
    report.header(
        "case", "our basis", "plain's vectors", "predict ms", "decision_function ms",
        "plain / ours", "target", "met",
    )  # fmt: skip
    n = N_TRAIN + N_TEST
    ratios = [
        _prediction(
            report, f"SyntheticI, gamma=4, C={C}", 4, C, make_synthetic_1(n, random_state=0)
        )
        for C in (1, 100)
    ]
    ratios.append(_prediction(report, "30 features, gamma=0.0333, C=1", 1 / 30, 1, make_wide(n, 2)))
    report.judge(Target(f"Prediction of {N_TEST:,} points", FASTER, ratios, unit="x"))


def _prediction(report: Report, case: str, gamma: float, C: float, data: Any) -> float:
    X, y = data
    mine = RejoSVC(gamma=gamma, C=C, reject_cost=REJECT_COST, h=H, tol=TOL)
    theirs = SVC(gamma=gamma, C=C, tol=TOL)
    for model in (mine, theirs):
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
    test = X[N_TRAIN:]
    runs: dict[str, Fit] = {
        "plain": lambda: theirs.decision_function(test),
        "ours": lambda: mine.predict(test),
    }
    best = race(runs, seconds=1.5)
    ratio = best["plain"] / best["ours"]
    report.row(
        case, str(len(mine._basis)), str(len(theirs.support_)),
        milliseconds(best["ours"]), milliseconds(best["plain"]),
        times(ratio), f"{FASTER}x", yes(ratio >= FASTER),
    )  # fmt: skip
    return ratio
