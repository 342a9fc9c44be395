"""What the rows of the suite say: rankings, differences to the best, times, and what failed.

A table counts once: its cost is the mean over the splits and the reject costs.  Not every method
takes every table, so there are three rankings, each complete: all tables with the methods that take
them all, tables of two classes, and tables of ordered classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats
from rejo.catalogue import METHODS
from rejo.selection.compared import DECIDE_ALL, REVIEW_ALL
from rejo.study.suite.ranks import (
    DIGITS,
    FriedmanTest,
    Tallied,
    cliques,
    critical_difference,
    friedman_test,
    rank_methods,
    signed_rank_tests,
    tally_tables,
)
from rejo.study.suite.roster import ORDERED, TABLES, TWO_CLASSES
from rejo.study.suite.trials import AUTO, BUDGETS, family_of
from rejo.study.verdict import holm

RANKED_AT = 0.2  # reject cost whose model ranks the cases, for budgets and areas
RANKING_MEASURES = {
    "AUARC": "auarc",
    "AUGRC": "augrc",
    **{f"{share:.0%} reviewed": name for name, share in BUDGETS.items()},
}
COSTS = ("risk", "ordinal_risk")  # measures at every reject cost
HIGHER = ("auarc",)  # measures of which more is better
DATA_REPLICATION = tuple(name for name, m in METHODS.items() if "data replication" in m.label)

Row = Mapping[str, Any]
Key = tuple[str, str]  # table, method


class Failure(NamedTuple):
    """A method that could not be fitted on some splits of a table."""

    dataset: str
    method: str
    n_splits: int
    problem: str


class MethodLine(NamedTuple):
    """A method in a ranking."""

    method: str
    mean_rank: float
    cost: float  # mean over the tables, in units of reviewing everything
    excess: float  # cost over that of the best method of each table: mean,
    middle_excess: float  # median
    worst_excess: float  # and maximum over the tables
    p_value: float  # signed-rank test against the reference, corrected
    against: Tallied  # the reference: tables won, tied, lost
    slowness: float  # seconds in relation to the fastest method of each table, median
    seconds: float  # median over the tables


class Duel(NamedTuple):
    """A learner by data replication against another way to use the same kind of classifier."""

    learner: str
    rival: str
    n_tables: int
    cheaper: int  # tables on which the learner has the lower mean cost
    difference: float  # cost of the rival minus that of the learner, in reviews of everything
    p_value: float  # signed-rank test, corrected for the number of duels
    tallied: Tallied  # tables that the learner wins, ties, loses by a test over its splits


@dataclass(frozen=True, eq=False)
class Ranking:
    """Methods on the tables that they all take.

    ``values`` of a method on a table are of shape (n_splits, n_costs); ``seconds`` is one number.
    """

    name: str  # of its pictures
    title: str
    tables: list[str]
    methods: list[str]
    reject_costs: list[float]
    values: Mapping[Key, Floats]
    seconds: Mapping[Key, float]
    ratios: Mapping[str, float]  # n_test / n_train of each table

    @cached_property
    def costs(self) -> Floats:
        """Mean cost (n_tables, n_methods) of a case."""
        return self._table(lambda values: float(values.mean()))

    @cached_property
    def ranks(self) -> Floats:
        """Ranks (n_tables, n_methods) by mean cost."""
        return rank_methods(self.costs)

    @property
    def mean_ranks(self) -> Floats:
        """Mean ranks (n_methods,)."""
        return np.asarray(self.ranks.mean(axis=0))

    @cached_property
    def friedman(self) -> FriedmanTest:
        """Test of the mean ranks."""
        return friedman_test(self.ranks)

    @property
    def difference(self) -> float:
        """Critical difference of Nemenyi."""
        return critical_difference(len(self.methods), len(self.tables))

    @property
    def cliques(self) -> list[list[str]]:
        """Methods whose mean ranks do not differ significantly."""
        found = cliques(self.mean_ranks.tolist(), self.difference)
        return [[self.methods[j] for j in clique] for clique in found]

    @property
    def order(self) -> list[str]:
        """Methods by their mean rank, the best first."""
        return [self.methods[j] for j in np.argsort(self.mean_ranks, kind="stable")]

    @property
    def best(self) -> str:
        """The method with the lowest mean rank."""
        return self.order[0]

    @property
    def level(self) -> list[str]:
        """Other methods whose mean rank does not differ significantly from the best."""
        ranks = dict(zip(self.methods, self.mean_ranks, strict=True))
        near = [m for m in self.order if ranks[m] - ranks[self.best] < self.difference]
        return near[1:]

    @property
    def reference(self) -> str:
        """What the others are tested against: ``auto``, or the best."""
        return AUTO if AUTO in self.methods else self.best

    @cached_property
    def excess(self) -> Floats:
        """Cost (n_tables, n_methods) over that of the best, in units of reviewing everything."""
        least = self.costs.min(axis=1, keepdims=True)
        return np.asarray((self.costs - least) / np.mean(self.reject_costs))

    @cached_property
    def lines(self) -> list[MethodLine]:
        """All numbers of each method, the best first."""
        return self.lines_against(self.reference)

    def lines_against(self, reference: str) -> list[MethodLine]:
        """All numbers of each method, tested against this one."""
        at = self.methods.index(reference)
        p_values = signed_rank_tests(self.costs, at)
        seconds = np.array([[self.seconds[t, m] for m in self.methods] for t in self.tables])
        slowness = seconds / seconds.min(axis=1, keepdims=True)
        found = {}
        for j, method in enumerate(self.methods):
            tests = [
                ((self.values[t, method] - self.values[t, reference]).mean(axis=1), self.ratios[t])
                for t in self.tables
            ]
            excess = self.excess[:, j]
            found[method] = MethodLine(
                method,
                float(self.mean_ranks[j]),
                float(self.costs[:, j].mean() / np.mean(self.reject_costs)),
                float(excess.mean()),
                float(np.median(excess)),
                float(excess.max()),
                float(p_values[j]),
                tally_tables(tests),
                float(np.median(slowness[:, j])),
                float(np.median(seconds[:, j])),
            )
        return [found[method] for method in self.order]

    def ranks_at(self, reject_cost: float) -> Floats:
        """Mean ranks (n_methods,) by the cost at one reject cost."""
        i = self.reject_costs.index(reject_cost)
        table = self._table(lambda values: float(values[:, i].mean()))
        return np.asarray(rank_methods(table).mean(axis=0))

    def _table(self, number: Any) -> Floats:
        return np.array([[number(self.values[t, m]) for m in self.methods] for t in self.tables])


class Standings:
    """The rows of a suite, arranged."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        present = {row["dataset"] for row in self.rows}
        self.tables = [name for name in TABLES if name in present]
        self.reject_costs = sorted({float(row["reject_cost"]) for row in self.rows})
        names = {row["method"] for row in self.rows}
        self.methods = [name for name in (AUTO, *METHODS) if name in names]
        self._runs: dict[Key, dict[int, dict[float, Row]]] = {}
        for row in self.rows:
            if row["problem"] is None:
                runs = self._runs.setdefault((row["dataset"], row["method"]), {})
                runs.setdefault(row["repetition"], {})[float(row["reject_cost"])] = row

    @property
    def n_splits(self) -> int:
        """Number of splits of a table."""
        return len({row["repetition"] for row in self.rows})

    @property
    def failures(self) -> list[Failure]:
        """Methods that could not be fitted, with the reason."""
        found: dict[tuple[str, str, str], set[int]] = {}
        for row in self.rows:
            if row["problem"] is not None:
                key = row["dataset"], row["method"], row["problem"]
                found.setdefault(key, set()).add(row["repetition"])
        return [Failure(t, m, len(splits), why) for (t, m, why), splits in sorted(found.items())]

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The three rankings, those that have two tables and two methods at least."""
        kinds = {
            "all": ("All tables", self.tables),
            "two-classes": ("Two classes", self._in_role(TWO_CLASSES)),
            "ordered": ("Ordered classes", self._in_role(ORDERED)),
        }
        found = [self.ranking(name, title, tables) for name, (title, tables) in kinds.items()]
        return [r for r in found if len(r.tables) > 1 and len(r.methods) > 1]

    def ranking(
        self, name: str, title: str, tables: Sequence[str], measure: str = "risk"
    ) -> Ranking:
        """Rank the methods that have results on all of these tables, by the cost or a measure.

        A split on which one of them failed is left out for all.
        """
        methods = [m for m in self.methods if all(self._mostly(t, m) for t in tables)]
        tables = [table for table in tables if methods and self._common(table, methods)]
        values: dict[Key, Floats] = {}
        seconds: dict[Key, float] = {}
        ratios = {}
        costs = self.reject_costs if measure in COSTS else [self.ranked_at]
        for table in tables:
            splits = self._common(table, methods)
            for method in methods:
                runs = [self._runs[table, method][i] for i in splits]
                found = np.array([[run[w][measure] for w in costs] for run in runs])
                values[table, method] = -found if measure in HIGHER else found
                spent = [sum(row["seconds"] for row in run.values()) for run in runs]
                seconds[table, method] = float(np.mean(spent))
            row = next(iter(runs[0].values()))
            ratios[table] = row["n_test"] / row["n_train"]
        return Ranking(name, title, list(tables), methods, costs, values, seconds, ratios)

    @property
    def ranked_at(self) -> float:
        """Reject cost whose model ranks the cases."""
        return min(self.reject_costs, key=lambda w: abs(w - RANKED_AT))

    def measure_ranks(self, ranking: Ranking) -> dict[str, Floats]:
        """Mean ranks (n_methods,) by each measure, for the methods and tables of a ranking."""
        found = {"mean cost": ranking.mean_ranks}
        found |= {f"cost {w:g}": ranking.ranks_at(w) for w in ranking.reject_costs}
        ordinal = {"ordinal loss": "ordinal_risk"} if ranking.name == "ordered" else {}
        for title, measure in (ordinal | RANKING_MEASURES).items():
            by_measure = self.ranking(ranking.name, title, ranking.tables, measure)
            found[title] = by_measure.mean_ranks
        return found

    @cached_property
    def duels(self) -> list[Duel]:
        """Each learner by data replication against the rivals around its ordinary classifier."""
        tables = [*self._in_role(TWO_CLASSES), *self._in_role(ORDERED)]
        rivals = {m: [r for r in self.methods if family_of(r) == m and r != m]
                  for m in self.methods if m in DATA_REPLICATION}  # fmt: skip
        if {"kernel-logistic", "kernel-posterior"} <= set(self.methods):
            rivals["kernel-logistic"] = ["kernel-posterior"]
        found, p_values = [], []
        for learner, others in rivals.items():
            for rival in others:
                pair = self.among([learner, rival]).ranking("", "", tables)
                if len(pair.tables) > 1 and len(pair.methods) == 2:
                    line = next(x for x in pair.lines_against(rival) if x.method == learner)
                    at = pair.methods.index(learner)
                    gap = (pair.costs[:, 1 - at] - pair.costs[:, at]).round(DIGITS)
                    found.append(Duel(learner, rival, len(gap), int((gap > 0).sum()),
                                      float(gap.mean() / np.mean(self.reject_costs)),
                                      line.p_value, line.against))  # fmt: skip
                    p_values.append(line.p_value)
        corrected = holm(p_values).tolist()
        return [duel._replace(p_value=p) for duel, p in zip(found, corrected, strict=True)]

    def among(self, methods: Sequence[str]) -> Standings:
        """Return the standings of these methods alone."""
        return Standings(row for row in self.rows if row["method"] in methods)

    def baselines(self, tables: Sequence[str]) -> dict[str, Floats]:
        """Mean cost (n_tables,) of reviewing everything, and of deciding everything by ``auto``."""
        found = {REVIEW_ALL: np.full(len(tables), np.mean(self.reject_costs))}
        if all((t, DECIDE_ALL) in self._runs for t in tables):
            found[DECIDE_ALL] = np.array([self.mean(t, DECIDE_ALL) for t in tables])
        return found

    def mean(self, table: str, method: str, measure: str = "risk") -> float:
        """Mean of a measure over the splits and reject costs; NaN if there are no results."""
        runs = self._runs.get((table, method), {}).values()
        values = [row[measure] for run in runs for row in run.values()]
        return float(np.mean(values)) if values else float("nan")

    def _in_role(self, role: str) -> list[str]:
        return [name for name in self.tables if TABLES[name].role == role]

    def _splits(self, table: str, method: str) -> set[int]:
        """Splits with results at all reject costs."""
        runs = self._runs.get((table, method), {})
        return {i for i, run in runs.items() if len(run) == len(self.reject_costs)}

    def _mostly(self, table: str, method: str) -> bool:
        """Return whether a method has results of more than half of the splits of a table."""
        most = max((len(self._splits(table, other)) for other in self.methods), default=0)
        return 2 * len(self._splits(table, method)) > most

    def _common(self, table: str, methods: Sequence[str]) -> list[int]:
        """Splits that all of these methods have results of."""
        return sorted(set.intersection(*(self._splits(table, m) for m in methods)))
