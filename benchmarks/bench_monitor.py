"""A lender's years: how often the monitor of a case book is wrong, and how soon it is right.

``python -m benchmarks.bench_monitor [FOLDER] [--years N] [--seed N]`` simulates years of 52 weekly
files with a model that was trained before, audits that are answered in the next week, and outcomes
that come eight weeks late, and prints the tables of ``docs/monitor.md``.  In some of the years
something changes in week 30, or is different from the first week on.  With a folder of tables, the
cases are drawn from those of ``default_credit_card.csv`` that its model has not seen.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rejo._io import percent
from rejo.book import Timeline, audit, watch
from rejo.metrics import Interval, wilson_interval

WEEKS, SHIFT, LATE = 52, 30, 8
TRAINED, REVIEWED = 4_000, 0.2  # cases, and share of them that is sent to review
PRICES = np.array([[0.0, 4.0, 1.0], [20.0, 0.0, 1.0]])  # repaid, default; decisions, and review
COLUMNS, BINS = 6, 10
NUMBERS = ("age", "limit_bal", "bill_amt1", "bill_amt3", "bill_amt6", "pay_amt1")


class Kind(NamedTuple):
    """What becomes different."""

    log_odds: float = 0.0  # of a default, for the same features
    column: float = 0.0  # of one column, in standard deviations
    week: int = SHIFT


NOTHING = Kind()
KINDS = {
    "from the first week, odds of a default 1.6 times higher": Kind(log_odds=0.5, week=0),
    "odds of a default 1.6 times higher": Kind(log_odds=0.5),
    "odds of a default 2.7 times higher": Kind(log_odds=1.0),
    "odds of a default 4.5 times higher": Kind(log_odds=1.5),
    "one column moves by 0.1 standard deviations": Kind(column=0.1),
    "one column moves by 0.2 standard deviations": Kind(column=0.2),
    "one column moves by 0.5 standard deviations": Kind(column=0.5),
}
WAYS = {  # whether outcomes come, and whether the model's own chances are used
    "audits and outcomes, with the model's chances": (True, True),
    "audits and outcomes": (True, False),
    "audits alone, with the model's chances": (False, True),
    "audits alone": (False, False),
}
SHOWN = (4, 13, 26, 52)  # weeks


class Lender:
    """A model, trained on a sample of its own, and the weeks after."""

    def __init__(self, seed: int, weekly: int = 1000, share: float = 0.03) -> None:
        self.rng, self.weekly, self.share = np.random.default_rng(seed), weekly, share
        self.columns = self.values(TRAINED)
        score, y = self.cases(TRAINED)
        self.model = LogisticRegression().fit(score[:, None], y)
        chance, forced = self.judge(score)
        self.cut = np.quantile(chance, 1 - REVIEWED)
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

    def values(self, n: int) -> Any:
        """Columns (n, COLUMNS) of a file."""
        return self.rng.normal(size=(n, COLUMNS))

    def cases(self, n: int, shift: Any = 0.0) -> tuple[Any, Any]:
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
        later = week >= kind.week
        score, y = self.cases(n, kind.log_odds * later)
        chance, forced = self.judge(score)
        decided = chance <= self.cut
        odds = np.sqrt(chance * (1 - chance))  # as rejo predict draws with a book
        odds /= odds[decided].mean()
        probability = np.where(decided, self.share * (0.5 + 0.5 * odds), 0.0)
        drawn = rng.random(n) < probability
        outcome = np.where(rng.random(n) < 0.97, week + LATE + rng.integers(0, 2, n), np.inf)
        answered = np.where(drawn, week + 1.0, outcome)
        answered[~decided | (answered >= WEEKS)] = np.inf
        known = np.isfinite(answered)
        wrong = (forced != y).astype(np.float64)
        columns = [self.values(self.weekly) for _ in range(WEEKS)]
        for w in range(kind.week, WEEKS):
            columns[w][:, 0] += kind.column
        counts = [self.counts(values) for values in columns]
        return Timeline(
            n_weeks=WEEKS, week=week, decided=decided, own=decided, forced=forced, chance=chance,
            cost=np.where(forced == 1, 4.0, 20.0) * chance, drawn=drawn, probability=probability,
            answered=answered, wrong=np.where(known, wrong, 0.0),
            paid=np.where(known, PRICES[y, forced], 0.0), novel=np.zeros(n, dtype=bool),
            truth=np.where(known, y, -1), group=np.full(n, None),
            counts={name: np.array([one[name] for one in counts]) for name in counts[0]},
        ), wrong  # fmt: skip


class Cards(Lender):
    """Customers of a public table; those that default come more often after a change."""

    table: tuple[Any, Any, Any]  # scores, classes and standardised columns of the cases to draw

    def values(self, n: int) -> Any:
        columns = self.table[2]
        found = columns[self.rng.integers(0, len(columns), n)]
        return found + self.rng.normal(0.0, 0.01, found.shape)  # or equal values share a bin

    def cases(self, n: int, shift: Any = 0.0) -> tuple[Any, Any]:
        score, y, _ = self.table
        y_new = (self.rng.random(n) < expit(logit(y.mean()) + shift) * np.ones(n)).astype(np.intp)
        rows = [np.flatnonzero(y == k) for k in (0, 1)]
        drawn = [own[self.rng.integers(0, len(own), n)] for own in rows]
        return score[np.where(y_new == 1, drawn[1], drawn[0])], y_new


def cards(folder: Path) -> type[Cards]:
    """Customers whose scores are those of a model trained on others."""
    frame = pd.read_csv(folder / "default_credit_card.csv")
    y, X = frame.pop("target").to_numpy(), StandardScaler().fit_transform(frame)
    order = np.random.default_rng(0).permutation(len(y))
    own, new = order[:TRAINED], order[TRAINED:]
    score = LogisticRegression(max_iter=1000).fit(X[own], y[own]).decision_function(X[new])
    places = [frame.columns.get_loc(name) for name in NUMBERS]
    return type("Cards", (Cards,), {"table": (score, y[new], X[new][:, places])})


def audits_only(cases: Timeline) -> Timeline:
    """The same year, if outcomes never came."""
    return replace(cases, answered=np.where(cases.drawn, cases.answered, np.inf))


def cumulated(cases: Timeline, values: Any, which: Any) -> Any:
    """Mean of values over some cases up to the week before."""
    n = np.bincount(cases.week[which], minlength=WEEKS).cumsum()
    total = np.bincount(cases.week[which], values[which], minlength=WEEKS).cumsum()
    return np.append(np.nan, (total / n)[:-1])


def wald(cases: Timeline) -> tuple[Any, Any]:
    """The usual interval for the audits of all weeks so far, at each look by itself."""
    weight = np.where(cases.drawn, 1 / np.where(cases.drawn, cases.probability, 1.0), 0.0)
    drawn = cases.drawn & (cases.week < WEEKS - 1)
    sums = [
        np.append(0.0, np.bincount(cases.week[drawn], x[drawn], minlength=WEEKS).cumsum()[:-1])
        for x in (weight, weight * cases.wrong, weight**2 * cases.wrong, weight**2)
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = sums[1] / sums[0]
        spread = sums[2] * (1 - rate) ** 2 + (sums[3] - sums[2]) * rate**2
        half = 1.96 * np.sqrt(spread) / sums[0]
    return rate - half, rate + half


def quiet(made: type[Lender], years: int, seed: int) -> None:
    """Alarms in years without a change; coverage, widths and other estimates in half of each."""
    alarms, covered, missed = [], dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    width, by_wald, others = dict.fromkeys(WAYS, 0), 0, []
    changed = KINDS["odds of a default 2.7 times higher"]
    for i in range(years):
        quiet_lender = made(seed + i)
        cases, wrong = quiet_lender.year(NOTHING)
        found = watch(cases, quiet_lender.about)
        alarms.append({one.kind for one in found if one.raised is not None})
        if i % 2:
            cases, wrong = made(seed + i).year(changed)
        true = cumulated(cases, wrong, cases.decided)
        for name, (outcomes, powered) in WAYS.items():
            seen = audit(cases if outcomes else audits_only(cases), powered=powered)
            right = ~((true < seen.low) | (true > seen.high))  # nothing is known in week 0
            covered[name] = covered[name] + right
            missed[name] += not right.all()
            width[name] = width[name] + (seen.high - seen.low)
        low, high = wald(cases)
        by_wald = by_wald + ~((true < low) | (true > high))
        if i % 2:
            others.append([
                true[-1], cumulated(cases, cases.chance, cases.decided)[-1],
                cumulated(cases, wrong, ~cases.decided)[-1], seen.rate[-1],
            ])  # fmt: skip
    n = years
    print(f"Years without a change: {years}; with any alarm: {sum(map(bool, alarms))} "
          f"({', '.join(sorted(set().union(*alarms))) or 'none'}).\n")  # fmt: skip
    rows = [
        [name, percent(covered[name].min() / n), percent(1 - missed[name] / n),
         *(f"{100 * width[name][week - 1] / n:.1f}" for week in SHOWN)]
        for name in WAYS
    ]  # fmt: skip
    rows.append(["audits alone, usual interval at one look", percent(by_wald[1:].min() / n), ""])
    heads = ["limits of the error rate from", "coverage in the worst week", "in all weeks"]
    table([*heads, *(f"width in week {week}" for week in SHOWN)], rows)
    mean = np.mean(others, axis=0)
    names = ["true error rate of the decided", "the model's own chances", "errors of the reviewed, "
             "had they been decided", "audits alone"]  # fmt: skip
    table(["after a year with a change", "mean"],
          [[name, percent(value)] for name, value in zip(names, mean, strict=True)])  # fmt: skip


def late(made: type[Lender], years: int, seed: int) -> None:
    """Years with a change: how many weeks pass until an alarm is raised."""
    rows = []
    for title, kind in KINDS.items():
        for share, outcomes in ((0.03, True), (0.03, False), (0.1, False)):
            if kind.column and not outcomes:
                continue
            delays: dict[str, list[float]] = {}
            begun = []
            for i in range(years):
                lender = made(seed + i, share=share)
                cases, _ = lender.year(kind)
                found = watch(cases if outcomes else audits_only(cases), lender.about)
                for one in found:
                    week = np.inf if one.raised is None else one.raised
                    if one.name in ("error", "cost", "x0"):
                        delays.setdefault(one.name, []).append(week - kind.week)
                        if np.isfinite(week) and one.name != "cost":
                            begun.append(abs(one.begun - kind.week))
            shown = {"x0": "column", "error": "error", "cost": "cost"}
            for name in ("x0",) if kind.column else ("error", "cost"):
                some = np.array(delays[name])
                middle = np.median(some)
                rows.append([
                    title, shown[name], f"{100 * share:.0f} %" + " and outcomes" * outcomes,
                    percent(np.isfinite(some).mean(), 0),
                    f"{middle:.0f}" if np.isfinite(middle) else "-",
                    f"{np.median(begun):.0f}" if begun else "-",
                ])  # fmt: skip
    table(["change, in week 30 or", "alarm", "audits", "raised by week 52",
           "median weeks until then", "median error of 'since', weeks"], rows)  # fmt: skip


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    for row in [heads, ["---"] * len(heads), *rows]:
        print(f"| {' | '.join(row + [''] * (len(heads) - len(row)))} |")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--years", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = perf_counter()
    made = Lender if arguments.folder is None else cards(arguments.folder)
    quiet(made, arguments.years, arguments.seed)
    late(made, arguments.years // 10, arguments.seed)
    print(f"{perf_counter() - start:,.0f} s")


if __name__ == "__main__":
    main()
