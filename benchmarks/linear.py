"""A linear kernel on many points, against LinearSVC on the same points, un-replicated."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.problems import TOL, Fit, Floats, Labels, make_linear, ours
from benchmarks.tables import Report, Target, times, yes
from benchmarks.timing import race
from rejo import RejoSVC

N_SAMPLES, N_FEATURES = 100_000, 50
CS = (0.01, 0.1, 1)
LARGEST_GAP = 1e-5


def compare(report: Report, quick: bool) -> None:
    X, y = make_linear(N_SAMPLES, N_FEATURES)
    report.header(
        "case", "ours s", "LinearSVC s", "LinearSVC / ours", "target", "met",
        "our duality gap", "LinearSVC above its minimum", "LinearSVC converged",
    )  # fmt: skip
    ratios, gaps = [], []
    for C in CS:
        mine = ours(X, y, kernel="linear", C=C)
        theirs = LinearSVC(loss="hinge", C=C, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            fits: dict[str, Fit] = {"LinearSVC": partial(theirs.fit, X, y), "ours": mine}
            best = race(fits, seconds=4.0, least=2 if quick else 4, most=8)
        converged = not any("Liblinear" in str(w.message) for w in caught)
        gap, excess = mine().duality_gap_, suboptimality(theirs, X, y)
        ratios.append(best["LinearSVC"] / best["ours"])
        gaps.append(gap)
        report.row(
            f"{N_SAMPLES:,} x {N_FEATURES}, C={C:g}",
            f"{best['ours']:.2f}", f"{best['LinearSVC']:.2f}", times(ratios[-1]), "1x",
            yes(ratios[-1] >= 1 and gap <= LARGEST_GAP),
            f"{gap:.1e}", f"{excess:.1e}", "yes" if converged else "not converged",
        )  # fmt: skip
    report.judge(Target("Linear, faster than LinearSVC", 1, ratios, unit="x"))
    report.judge(Target(f"Linear, our duality gap at tol={TOL:g}", LARGEST_GAP, gaps, at_most=True))


def suboptimality(model: LinearSVC, X: Floats, y: Labels) -> float:
    """How far LinearSVC ends above the minimum of its own objective, relative to that.

    Its objective, ``1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w.x_i + b))``, has the bias
    as one more weight.  On the points ``(x, 1)`` and their mirror images ``(-x, -1)`` with the
    opposite label, at half of C, a free threshold has no reason to leave 0: RejoSVC without
    rejection then solves the same problem, and its duality gap says how well.
    """
    w, b = model.coef_[0], model.intercept_[0]
    errors = np.maximum(0, 1 - y * (X @ w + b))
    objective = 0.5 * (w @ w + b * b) + model.C * errors.sum()
    points = np.column_stack([X, np.ones(len(X))])
    twice = np.vstack([points, -points]), np.concatenate([y, -y])
    best = RejoSVC(kernel="linear", C=model.C / 2, reject_cost=None, tol=1e-7).fit(*twice)
    return float(objective / best.objective_ - 1)
