"""What a case is said to cost, and what it costs, for lenders whose true posteriors are known.

Six simulated lenders (2 to 30 % defaults), errors that cost up to 125 or 10 reviews, 500 and 5,000
loans to learn from.  The true cost is that of 100,000 fresh loans, by their true posteriors.

    python -m benchmarks.bench_costs [--draws 30] [--learner logistic]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.tables import Report, Target
from rejo import RejectClassifierCV

Floats = NDArray[np.float64]

# Share of defaults, number of features, standard deviation of the true logit.
LENDERS = ((0.02, 8, 1.2), (0.02, 14, 2), (0.1, 8, 2), (0.1, 20, 1.2), (0.3, 14, 1.2), (0.3, 20, 2))
PRICES = {
    "1:125": np.array([[0.0, 300, 40], [5000, 0, 40]]),
    "1:10": np.array([[0.0, 120, 40], [400, 0, 40]]),
}
SIZES, N_FRESH, LEAST_DEFAULTS = (500, 5_000), 100_000, 5
LEARNERS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}


class Lender:
    """Loans with skewed features; the true logit is not linear in them."""

    def __init__(self, defaults: float, n_features: int, spread: float) -> None:
        rng = np.random.default_rng(1000 + n_features + int(100 * defaults))
        self.slopes = rng.normal(size=n_features) * (rng.random(n_features) > 0.3)
        self.pairs, self.curved = rng.integers(n_features, size=(3, 2)), rng.integers(n_features)
        raw = self.logit(self.draw(rng, N_FRESH))
        self.mean, self.scale = raw.mean(), raw.std() / spread
        logit = (raw - self.mean) / self.scale
        self.level = brentq(lambda a: expit(logit + a).mean() - defaults, -20, 20)

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw the features of n loans."""
        shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, len(self.slopes)))
        X = np.sqrt(0.3) * shared + np.sqrt(0.7) * own
        X[:, ::3] = np.exp(0.8 * X[:, ::3])
        return X

    def logit(self, X: Floats) -> Floats:
        """True logit (n,), before it is shifted and scaled."""
        U = X.copy()
        U[:, ::3] = 0.6 * np.log(U[:, ::3]) + 0.4 * (U[:, ::3] - 1.4)
        products = (U[:, self.pairs[:, 0]] * U[:, self.pairs[:, 1]]).sum(axis=1)
        return np.asarray(U @ self.slopes + 0.6 * products + 0.8 * np.sin(2 * U[:, self.curved]))

    def posterior(self, X: Floats) -> Floats:
        """True probability (n,) of a default."""
        return np.asarray(expit((self.logit(X) - self.mean) / self.scale + self.level))

    def loans(self, rng: np.random.Generator, n: int) -> tuple[Floats, Any]:
        """Draw loans, and whether each defaults; a few of them do."""
        while True:
            X = self.draw(rng, n)
            y = (rng.random(n) < self.posterior(X)).astype(np.int64)
            if y.sum() >= LEAST_DEFAULTS:
                return X, y


def said_and_true(
    learner: Any, prices: Floats, loans: tuple[Floats, Any], fresh: tuple[Floats, Floats]
) -> tuple[float, float, float, float]:
    """Estimate, limits of its interval, and true mean cost."""
    model = RejectClassifierCV(learner, cost_of=prices).fit(*loans)
    X, p = fresh
    decision = model.predict(X)
    column = np.where(decision == model.reject_label_, 2, decision).astype(np.intp)
    true = p * prices[1, column] + (1 - p) * prices[0, column]
    return *model.costs_.chosen, float(true.mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--learner", choices=LEARNERS, default="logistic")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # plans that are no better than reviewing everything
    report = Report()
    report.section(
        f"Said and true costs of a loan, {arguments.learner}, {arguments.draws} draws",
        "In reviews; bias is said minus true. Costs more: draws in which the chosen plan costs "
        "more than a review of everything; known: those of them that say so.",
    )
    report.header("defaults, features, prices, loans", "said", "true", "bias", "s.e.", "inside",
                  "costs more", "known")  # fmt: skip
    rows = {}
    with threadpool_limits(1):
        for i, kind in enumerate(LENDERS):
            lender = Lender(*kind)
            X = lender.draw(np.random.default_rng(i), N_FRESH)
            fresh = X, lender.posterior(X)
            for n in SIZES:
                drawn = [
                    lender.loans(np.random.default_rng([i, n, seed]), n)
                    for seed in range(arguments.draws)
                ]
                for name, prices in PRICES.items():
                    found = np.array([
                        said_and_true(LEARNERS[arguments.learner], prices, loans, fresh)
                        for loans in drawn
                    ]) / prices[0, -1]  # fmt: skip
                    rows[i, n, name] = found
                    label = f"{100 * kind[0]:.0f} %, {kind[1]}, {name}, {n:,}"
                    report.row(label, *cells(found))
    for name in PRICES:
        for n in SIZES:
            some = np.concatenate([rows[i, n, name] for i in range(len(LENDERS))])
            report.row(f"all, {name}, {n:,}", *cells(some))
            inside = 100 * float(_inside(some).mean())
            report.judge(Target(f"inside, {name}, {n:,} loans", 90, [inside], unit=" %"))
    lowest = min(100 * float(_inside(found).mean()) for found in rows.values())
    report.judge(Target("inside, lowest of the rows", 90, [lowest], unit=" %"))
    report.summary()


def cells(found: Floats) -> list[str]:
    """Columns of the report, from said, limits and true (n_draws, 4), in reviews."""
    said, true = found[:, 0], found[:, 3]
    bias, more = said - true, true > 1
    return [
        f"{said.mean():.3f}", f"{true.mean():.3f}", f"{bias.mean():+.3f}",
        f"{bias.std() / np.sqrt(len(bias)):.3f}", f"{100 * _inside(found).mean():.0f} %",
        f"{more.sum()}", f"{(more & (said >= 1)).sum()}",
    ]  # fmt: skip


def _inside(found: Floats) -> Any:
    return (found[:, 1] <= found[:, 3]) & (found[:, 3] <= found[:, 2])


if __name__ == "__main__":
    main()
