"""A lender's years: how often the monitor of a case book is wrong, and how soon it is right.

``python -m benchmarks.bench_monitor [--years N] [--seed N]`` simulates years of 52 weekly files
with a model that was trained before, audits that are answered in the next week, and outcomes that
come eight weeks late, and prints the tables of ``docs/monitor.md``.  Half of the years stay as
they were in training; in the others something changes in week 30.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rejo.book.timeline import Timeline
from rejo.metrics import Interval, wilson_interval

WEEKS, SHIFT, LATE = 52, 30, 8
TRAINED, REVIEWED = 4_000, 0.2  # cases, and share of them that is sent to review
PRICES = np.array([[0.0, 4.0, 1.0], [20.0, 0.0, 1.0]])  # repaid, default; decisions, and review
COLUMNS, BINS = 6, 10
STRATA = (0.25, 0.75)  # quantiles of the chance of an error: twice as many of the upper


class Kind(NamedTuple):
    """What becomes different in week 30."""

    log_odds: float = 0.0  # of a default, for the same features
    column: float = 0.0  # of one column, in standard deviations
    reviews: float = 0.0  # of the scores towards the middle


KINDS = {
    "nothing": Kind(),
    "more defaults at the same scores": Kind(log_odds=1.0),
    "one column moves": Kind(column=0.3),
}


class Lender:
    """A model, trained on a sample of its own, and the weeks after."""

    def __init__(self, seed: int, weekly: int, share: float) -> None:
        self.rng, self.weekly, self.share = np.random.default_rng(seed), weekly, share
        self.columns = self.rng.normal(size=(TRAINED, COLUMNS))
        score, y = self.cases(TRAINED)
        self.model = LogisticRegression().fit(score[:, None], y)
        chance, forced = self.judge(score)
        self.cut = np.quantile(chance, 1 - REVIEWED)
        self.edges = np.quantile(chance[chance <= self.cut], STRATA)
        decided = chance <= self.cut
        wrong = decided & (forced != y)
        paid = PRICES[y[decided], forced[decided]]
        mean = REVIEWED * PRICES[0, -1] + (1 - REVIEWED) * paid.mean()
        error = 1.96 * (1 - REVIEWED) * paid.std() / np.sqrt(len(paid))
        self.bins = np.quantile(self.columns, np.arange(1, BINS) / BINS, axis=0)
        rates = {
            "rejection_rate": wilson_interval(int((~decided).sum()), TRAINED),
            "accepted_error_rate": wilson_interval(int(wrong.sum()), int(decided.sum())),
            "mean_cost": Interval(float(mean), float(mean - error), float(mean + error)),
        }
        self.about: dict[str, Any] = {
            "classes": ["repaid", "default"],
            "prices": PRICES.tolist(),
            "rates": {name: rate._asdict() for name, rate in rates.items()},
            "columns": {
                name: {"bins": n.tolist()} for name, n in self.counts(self.columns).items()
            },
        }

    def cases(self, n: int, shift: float = 0.0) -> tuple[Any, Any]:
        """Scores, and whether the loan defaults; what the score does not know comes on top."""
        score = self.rng.normal(-3.0, 2.6, n)
        risk = 1.1 * score + self.rng.normal(0.0, 0.6, n)
        return score, (self.rng.random(n) < expit(risk + shift)).astype(np.intp)

    def judge(self, score: Any) -> tuple[Any, Any]:
        """Chance that the likelier class is wrong, and this class."""
        p = self.model.predict_proba(score[:, None])[:, 1]
        return np.minimum(p, 1 - p), (p > 0.5).astype(np.intp)

    def counts(self, values: Any) -> dict[str, Any]:
        return {
            f"x{i}": np.bincount(np.searchsorted(self.bins[:, i], column), minlength=BINS)
            for i, column in enumerate(values.T)
        }

    def year(self, kind: Kind) -> tuple[Timeline, Any]:
        """A year of cases, and which decisions are wrong, whether that is known or not."""
        n, rng = WEEKS * self.weekly, self.rng
        week = np.repeat(np.arange(WEEKS), self.weekly)
        later = week >= SHIFT
        score, y = self.cases(n, kind.log_odds * later)
        chance, forced = self.judge(score)
        decided = chance <= self.cut
        stratum = np.searchsorted(self.edges, chance)
        probability = np.where(decided, self.share * np.array([0.5, 1.0, 1.5])[stratum], 0.0)
        drawn = rng.random(n) < probability
        outcome = np.where(rng.random(n) < 0.97, week + LATE + rng.integers(0, 2, n), np.inf)
        answered = np.where(drawn, week + 1.0, outcome)
        answered[~decided | (answered >= WEEKS)] = np.inf
        known = np.isfinite(answered)
        wrong = (forced != y).astype(np.float64)
        columns = [rng.normal(size=(self.weekly, COLUMNS)) for _ in range(WEEKS)]
        for w in range(SHIFT, WEEKS):
            columns[w][:, 0] += kind.column
        counts = [self.counts(values) for values in columns]
        return Timeline(
            n_weeks=WEEKS, week=week, decided=decided, forced=forced, chance=chance,
            cost=np.where(forced == 1, 4.0, 20.0) * chance, drawn=drawn, probability=probability,
            answered=answered, wrong=np.where(known, wrong, 0.0),
            paid=np.where(known, PRICES[y, forced], 0.0), novel=np.zeros(n, dtype=bool),
            truth=np.where(known, y, -1), group=np.full(n, None),
            counts={name: np.array([one[name] for one in counts]) for name in counts[0]},
        ), wrong  # fmt: skip
