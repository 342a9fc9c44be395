"""From the rows of ``bench_quality`` to a page: costs by table, ratios, tests, and the losses.

A cost is divided by that of reviewing everything at the same prices, so that 1 is what it costs to
send every case to a person, and prices in any unit can be averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.tables import Target
from rejo.selection import corrected_t_test

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]
CONFIDENCE = 0.95
AUTO, FORCED = "auto", "decide everything"

INTRO = """# What is paid on new cases

<!-- Written by `python -m benchmarks.bench_quality --table FILE`; do not edit. -->

`auto` is what `rejo train` chooses by itself. Here it is compared with what a scikit-learn user
would write in ten lines: logistic regression, gradient boosting, a random forest (each with its
defaults) and a calibrated `SVC`, all deciding by the same rule, the lowest expected cost. The
learners by data replication are in the tables if the run included them.

{n_tables} problems, {n_splits} splits each: 60 % of a table, at most {max_train:,} cases, to train
on; at most 6,000 of the others to test on. The synthetic problems have 400 training points. Seven
prices: reject costs of 0.05 to 0.3, and three prices that differ from class to class. For two
classes an error on the first or second class costs 1 and 5, 5 and 1 (a review 0.3), and 1 and 25 (a
review 0.2). For more, an error costs 1 to 5, growing with the class (a review 0.5); a random price
between 0.5 and 3 for each pair (a review 0.4); 1 for each step (a review 0.5). The learners by data
replication are tuned at reject cost 0.2 and trained for each of the prices; for three or more
classes their loss can only come close to these prices.

Costs are divided by the cost of reviewing everything: **1.00 is what it costs to send every case to
a person.** "Decide everything" is `auto` without reviews. Tests are corrected resampled t-tests
(Nadeau and Bengio, 2003) over the splits, at 5 %.
"""


class Pair(NamedTuple):
    """How two methods differ on one table."""

    table: str
    difference: float  # auto - other, in units of reviewing everything
    p_value: float
    ratio: float  # auto / other

    @property
    def verdict(self) -> int:
        """1: auto is significantly better, -1: worse, 0: neither."""
        return 0 if self.p_value >= 1 - CONFIDENCE else (1 if self.difference < 0 else -1)


class Costs:
    """Costs by table, method and prices, one for each split."""

    def __init__(self, rows: Rows) -> None:
        self.tables = list(dict.fromkeys(row["table"] for row in rows))
        self._cells: dict[tuple[str, str, str], dict[int, float]] = {}
        self._ratio: dict[str, float] = {}
        self._prices: dict[str, list[str]] = {}
        self.seconds: dict[str, list[float]] = {}
        for row in rows:
            self._ratio[row["table"]] = row["ratio"]
            prices = self._prices.setdefault(row["table"], [])
            if row["prices"] not in prices:
                prices.append(row["prices"])
            self.seconds.setdefault(row["method"], []).append(row["seconds"])
            self._add(row, row["method"], row["cost"])
            if row["method"] == AUTO:
                self._add(row, FORCED, row["forced"])

    def _add(self, row: dict[str, Any], method: str, cost: float) -> None:
        cell = self._cells.setdefault((row["table"], method, row["prices"]), {})
        cell[row["split"]] = cost / row["review"]

    def has(self, table: str, method: str) -> bool:
        return all((table, method, name) in self._cells for name in self._prices[table])

    def complete(self, methods: Iterable[str]) -> Costs:
        """Keep the tables that all of the methods were run on."""
        self.tables = [t for t in self.tables if all(self.has(t, m) for m in methods)]
        return self

    def prices(self, table: str) -> list[str]:
        return self._prices[table]

    def values(self, table: str, method: str, prices: str | None = None) -> dict[int, float]:
        """Cost of each split, at one of the prices or as the mean over all of them."""
        names = self._prices[table] if prices is None else [prices]
        cells = [self._cells.get((table, method, name), {}) for name in names]
        splits = set.intersection(*(set(cell) for cell in cells))
        return {split: float(np.mean([cell[split] for cell in cells])) for split in splits}

    def mean(self, table: str, method: str, prices: str | None = None) -> float:
        return float(np.mean(list(self.values(table, method, prices).values())))

    def pair(self, table: str, other: str, prices: str | None = None) -> Pair:
        ours, theirs = (self.values(table, m, prices) for m in (AUTO, other))
        both = sorted(ours.keys() & theirs.keys())
        a, b = (np.array([values[s] for s in both]) for values in (ours, theirs))
        d, _, _, p = corrected_t_test(np.round(a - b, 12), self._ratio[table], CONFIDENCE)
        equal = a.mean() == b.mean()
        return Pair(table, d, p, 1.0 if equal else float(a.mean() / b.mean()))

    def excess(self, table: str, prices: str | None = None) -> tuple[float, float]:
        """Return by how much auto costs more than reviewing everything, and in standard errors."""
        d = np.array(list(self.values(table, AUTO, prices).values())) - 1.0
        error = np.sqrt((1 / len(d) + self._ratio[table]) * d.var(ddof=1)) if len(d) > 1 else 0.0
        mean = float(d.mean())
        return mean, mean / error if error > 0 else (0.0 if abs(mean) < 1e-9 else np.inf * mean)


def targets(rows: Rows, rivals: list[str]) -> list[Target]:
    """What was asked for, and what came out."""
    costs = Costs(rows).complete([AUTO, *rivals])
    if not costs.tables:
        return []
    pairs = {rival: [costs.pair(table, rival) for table in costs.tables] for rival in rivals}
    worse = sum(pair.verdict < 0 for found in pairs.values() for pair in found)
    excesses = [costs.excess(table)[1] for table in costs.tables]
    single = [costs.excess(t, prices)[1] for t in costs.tables for prices in costs.prices(t)]
    return [
        Target(
            "mean ratio of auto to each fixed rival", 0.99,
            [float(np.mean([pair.ratio for pair in pairs[rival]])) for rival in rivals],
            at_most=True,
        ),
        Target("tables on which auto is significantly worse than a rival", 0, [worse],
               at_most=True),
        Target("standard errors above reviewing everything", 1, [max(excesses)], at_most=True),
        Target("the same at each of the prices", 1, [max(single)], at_most=True),
    ]  # fmt: skip


def summary(rows: Rows, rivals: list[str]) -> str:
    return "\n".join(f"- {target}" for target in targets(rows, rivals))


def page(rows: Rows, methods: list[str], rivals: list[str]) -> str:
    """Return the page in Markdown."""
    costs = Costs(rows).complete([AUTO, *rivals])
    methods = [m for m in methods if all(costs.has(t, m) for t in costs.tables)]
    others = [m for m in methods if m != AUTO]
    intro = INTRO.format(
        n_tables=len(costs.tables),
        n_splits=len({row["split"] for row in rows if row["method"] == AUTO}),
        max_train=max(row["max_train"] for row in rows),
    )
    return "\n".join(
        [
            intro,
            summary(rows, rivals),
            "\n## Against each method\n",
            *_against(costs, [*others, FORCED]),
            "\n## By table\n",
            *_by_table(costs, [*methods, FORCED], rivals),
            "\n## Losses\n",
            *_losses(costs, others, rivals),
            "\n## Against reviewing everything\n",
            *_reviewing(costs),
            "",
        ]
    )


def _against(costs: Costs, others: list[str]) -> Iterator[str]:
    yield (
        "Ratio: cost of `auto` divided by that of the method, mean over the tables. Wins, ties and "
        "losses of `auto`: by the test, on the mean over the prices. Seconds: tuning and "
        "training on one core, for all prices, median.\n"
    )
    yield from _header(["method", "mean ratio", "lowest", "highest", "wins", "ties", "losses", "s"])
    for other in others:
        pairs = [costs.pair(table, other) for table in costs.tables]
        ratios = [pair.ratio for pair in pairs]
        verdicts = [pair.verdict for pair in pairs]
        seconds = costs.seconds.get(other, costs.seconds[AUTO])
        numbers = [np.mean(ratios), min(ratios), max(ratios)]
        counts = [str(verdicts.count(v)) for v in (1, 0, -1)]
        yield _row([other, *(f"{x:.3f}" for x in numbers), *counts, f"{np.median(seconds):.1f}"])
    yield f"\n`auto` itself: {np.median(costs.seconds[AUTO]):.1f} s."


def _by_table(costs: Costs, methods: list[str], rivals: list[str]) -> Iterator[str]:
    yield "Mean over the splits and the prices; the lowest of a row is bold.\n"
    methods = [m for m in methods if m != "review everything"]
    yield from _header(["table", *methods])
    for table in costs.tables:
        values = [costs.mean(table, method) for method in methods]
        low = f"{min(values):.3f}"
        cells = [f"{v:.3f}" for v in values]
        yield _row([table, *(f"**{c}**" if c == low else c for c in cells)])
    means = [np.mean([costs.mean(table, m) for table in costs.tables]) for m in methods]
    yield _row(["mean", *(f"{m:.3f}" for m in means)])


def _losses(costs: Costs, others: list[str], rivals: list[str]) -> Iterator[str]:
    lost = [
        (pair, other)
        for other in others
        for pair in (costs.pair(table, other) for table in costs.tables)
        if pair.ratio > 1
    ]
    yield "Tables on which `auto` costs more than a method, on average over the prices.\n"
    yield from _header(["table", "method", "ratio", "difference", "p"])
    for pair, other in sorted(lost, key=lambda item: -item[0].ratio):
        numbers = [f"{pair.ratio:.3f}", f"{pair.difference:+.4f}", f"{pair.p_value:.2f}"]
        yield _row([pair.table, other, *numbers])
    cells = [
        costs.pair(table, rival, prices).verdict
        for rival in rivals
        for table in costs.tables
        for prices in costs.prices(table)
    ]
    yield (
        f"\nSingle prices: of {len(cells)} tests of `auto` against a rival on a table at one of "
        f"the prices, {cells.count(1)} are wins, {cells.count(-1)} losses and {cells.count(0)} "
        "ties."
    )


def _reviewing(costs: Costs) -> Iterator[str]:
    yield (
        "Cost of `auto` less that of reviewing everything, in units of the latter and in its "
        "standard errors over the splits: on average over the prices, and at the prices where it "
        "is worst.\n"
    )
    yield from _header(["table", "difference", "in se", "worst difference", "in se", "at"])
    for table in costs.tables:
        worst = max(costs.prices(table), key=lambda prices: costs.excess(table, prices)[0])
        mean, highest = costs.excess(table), costs.excess(table, worst)
        numbers = [
            f"{x:+.{d}f}" for pair in (mean, highest) for x, d in zip(pair, (3, 1), strict=True)
        ]
        yield _row([table, *numbers, worst])


def _header(cells: list[str]) -> list[str]:
    return [_row(cells), _row(["---", *["---:"] * (len(cells) - 1)])]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# ---- the best of others --------------------------------------------------------------------

TEN_LINES = ("best of three", "plain mean")  # of which the better one is known in hindsight
ALONE = {"reject cost 0.2": "error", "1 a step, review 0.5": "distance"}  # without reviews


def anchors(rows: Rows) -> str:
    """What ``auto`` costs beside others, with reviews and without, and what its posteriors say."""
    frame = pd.DataFrame(rows)
    names = np.where(frame["ordered"], "ordered", "no order")
    frame["classes"] = np.where(frame["n_classes"] == 2, "two", names)
    return "\n".join([*_beside(frame), "", *_posteriors(frame), "", *_ordered(frame)])


def _beside(frame: pd.DataFrame) -> Iterator[str]:
    """By cases, classes and prices: ratios of the costs of ``auto`` to each anchor."""
    uniform = frame["prices"].str.startswith("reject cost")
    frame = frame.assign(prices=frame["prices"].where(~uniform, "one price"))
    group = ["max_train", "classes", "prices"]
    costs = frame.groupby([*group, "table", "method", "split"])["cost"].mean()
    share = frame.groupby("table")["ratio"].first()
    numbers = ["tables", "mean", "median", "worst", "wins", "losses"]
    yield from _header(["cases", "classes", "prices", "anchor", *numbers])
    for place, part in costs.groupby(level=group):
        pairs: dict[str, list[Pair]] = {}
        for table, cell in part.groupby(level="table"):
            by_method = cell.droplevel([*group, "table"]).unstack("split")
            if AUTO not in by_method.index:
                continue
            if {*TEN_LINES} <= {*by_method.index}:
                known = by_method.loc[[*TEN_LINES]].mean(axis=1).idxmin()
                by_method.loc["better of these"] = by_method.loc[known]
            for method, theirs in by_method.drop(AUTO).iterrows():
                both = pd.DataFrame({"ours": by_method.loc[AUTO], "theirs": theirs}).dropna()
                d = np.round((both["ours"] - both["theirs"]).to_numpy(), 12)
                difference, _, _, p = corrected_t_test(d, share[table], CONFIDENCE)
                ratio = both["ours"].mean() / max(both["theirs"].mean(), 1e-12)
                pairs.setdefault(str(method), []).append(Pair(table, difference, p, ratio))
        for method, found in pairs.items():
            ratios, worst = [pair.ratio for pair in found], max(found, key=lambda pair: pair.ratio)
            counts = [str(sum(pair.verdict == verdict for pair in found)) for verdict in (1, -1)]
            figures = [f"{np.mean(ratios):.3f}", f"{np.median(ratios):.3f}"]
            last = f"{worst.ratio:.3f} {worst.table}"
            yield _row([*map(str, place), method, str(len(found)), *figures, last, *counts])


def _posteriors(frame: pd.DataFrame) -> Iterator[str]:
    """Log loss of ``auto``, and how often it errs where it says so, by tenths of the chance."""
    tenths = [f"{said / 10:.1f} to {said / 10 + 0.1:.1f}" for said in range(5)]
    yield from _header(["cases", "classes", "log loss", *tenths])
    ours = frame[frame["method"] == AUTO].drop_duplicates(["max_train", "table", "split"])
    for (size, classes), part in ours.groupby(["max_train", "classes"]):
        # Each table counts once, however many of its cases are tested.
        share = np.mean(
            [np.array(sums) / np.sum(sums, axis=0)[0] for sums in part["tenths"]], axis=0
        )
        cells = [f"{w / n:.3f} ({s / n:.3f})" if n > 0 else "" for n, s, w in share[:5]]
        yield _row([str(size), classes, f"{part['log_loss'].mean():.4f}", *cells])


def _ordered(frame: pd.DataFrame) -> Iterator[str]:
    """Errors and mean distances on ordered classes if every case is decided, mean of the splits."""
    frame = frame[(frame["classes"] == "ordered") & frame["prices"].isin(ALONE)]
    found = frame.groupby(["max_train", "table", "method", "prices"])["forced"].mean()
    for size, part in found.groupby(level="max_train"):
        methods = [m for m in (AUTO, *TEN_LINES, "svorex", "redsvm") if m in part.index.unique(2)]
        costs = part.droplevel("max_train").unstack("method")[methods].dropna()
        yield from _header(["cases", "table", "without reviews", *costs.columns])
        for (table, prices), values in costs.iterrows():
            yield _row([str(size), table, ALONE[prices], *(f"{value:.3f}" for value in values)])
        for prices, values in costs.groupby(level="prices").mean().iterrows():
            yield _row([str(size), "mean", ALONE[prices], *(f"{value:.3f}" for value in values)])
