"""What the rows of the suite say: rankings, duels, what failed and what is missing.

A table counts once: its cost is the mean over the splits and the reject costs. Not every method
takes every table, so there are three rankings, each complete: all tables with the methods that take
them all, tables of two classes, and tables of ordered classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rejo.catalogue import METHODS
from studies import statistics
from studies.run import Floats
from studies.suite import (
    AUTO,
    BUDGETS,
    DECIDE_ALL,
    ORDERED,
    TABLES,
    TWO_CLASSES,
    TableSuite,
    family_of,
)

AREAS = {"AUARC": "auarc", "AUGRC": "augrc"}
RANKING_MEASURES = AREAS | {f"{share:.0%} reviewed": name for name, share in BUDGETS.items()}
COSTS = ("risk", "ordinal_risk")  # measures at every reject cost
HIGHER = ("auarc",)  # measures of which more is better
DATA_REPLICATION = tuple(name for name, m in METHODS.items() if "data replication" in m.label)
# Gradient boosting has no duels: by data replication it is XGBoost, which stops by itself, while
# its rivals are another implementation, or also tune the number of trees.
OTHER_CLASSIFIERS = ("boosting",)
# Rivals of other names, and the role of the tables on which both use the same classifier.
NAMESAKES = {
    "kernel-logistic": [("kernel-posterior", TWO_CLASSES), ("ordinal-kernel-posterior", ORDERED)],
}

Key = tuple[str, str]  # table, method


@dataclass(frozen=True, eq=False)
class Ranking:
    """Methods on the tables that they all take."""

    name: str  # of its pictures
    title: str
    tables: Sequence[str]
    methods: Sequence[str]
    values: Mapping[Key, Floats]  # (n_splits, n_costs)
    seconds: Mapping[Key, float]

    @cached_property
    def costs(self) -> Floats:
        """Mean cost (n_tables, n_methods) of a case."""
        return self.table(lambda values: float(values.mean()))

    @cached_property
    def mean_ranks(self) -> Floats:
        """Mean ranks (n_methods,) by mean cost."""
        return np.asarray(statistics.rank_methods(self.costs).mean(axis=0))

    @property
    def order(self) -> list[str]:
        """Methods by their mean rank, the best first."""
        return [self.methods[j] for j in np.argsort(self.mean_ranks, kind="stable")]

    @cached_property
    def friedman(self) -> tuple[float, float]:
        """Test of the mean ranks: F and its p-value."""
        return statistics.friedman_test(statistics.rank_methods(self.costs))

    @cached_property
    def difference(self) -> float:
        """Critical difference of Nemenyi."""
        return statistics.critical_difference(len(self.methods), len(self.tables))

    @property
    def cliques(self) -> list[list[str]]:
        """Methods whose mean ranks do not differ significantly."""
        found = statistics.cliques(self.mean_ranks.tolist(), self.difference)
        return [[self.methods[j] for j in clique] for clique in found]

    @property
    def level(self) -> list[str]:
        """Other methods whose mean rank does not differ significantly from the best."""
        ranks = dict(zip(self.methods, self.mean_ranks, strict=True))
        return [m for m in self.order[1:] if ranks[m] - min(ranks.values()) < self.difference]

    def p_values(self, reference: str) -> dict[str, float]:
        """P-values of signed-rank tests against a method, after Holm."""
        found = statistics.signed_rank_tests(self.costs, self.methods.index(reference))
        return dict(zip(self.methods, found.tolist(), strict=True))

    @property
    def has_winner(self) -> bool:
        """Whether the best method costs significantly less than all others, by both tests."""
        best, others = self.order[0], self.order[1:]
        gaps = self.costs - self.costs[:, [self.methods.index(best)]]
        leans = [statistics.rank_lean(gaps[:, self.methods.index(m)]) for m in others]
        p_values = self.p_values(best)
        worse = all(p_values[m] < statistics.ALPHA for m in others)
        return worse and min(leans) > 0 and not self.level

    def ranks_at(self, i: int) -> Floats:
        """Mean ranks (n_methods,) by the cost at one reject cost."""
        table = self.table(lambda values: float(values[:, i].mean()))
        return np.asarray(statistics.rank_methods(table).mean(axis=0))

    def table(self, number: Any) -> Floats:
        """Return a number (n_tables, n_methods) of the values of each method on each table."""
        return np.array([[number(self.values[t, m]) for m in self.methods] for t in self.tables])


class Duel(NamedTuple):
    """A learner by data replication against another way to use the same kind of classifier."""

    learner: str
    rival: str
    n_tables: int
    cheaper: int  # tables on which the learner has the lower mean cost
    lean: float  # above 0 if the signed ranks of the tables are for the learner, below if against
    p_value: float  # signed-rank test, corrected for the number of duels


class Standings:
    """The rows of a suite, arranged."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], plan: TableSuite) -> None:
        self.rows, self.plan = list(rows), plan
        present, names = ({row[column] for row in self.rows} for column in ("dataset", "method"))
        self.tables = [name for name in TABLES if name in present]
        self.methods = [name for name in (AUTO, *METHODS) if name in names]
        self._runs: dict[Key, dict[int, dict[float, Mapping[str, Any]]]] = {}
        for row in self.rows:
            if row["problem"] is None:
                runs = self._runs.setdefault((row["dataset"], row["method"]), {})
                runs.setdefault(row["repetition"], {})[row["reject_cost"]] = row

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The three rankings, those that have two tables and two methods at least."""
        found = [
            self.ranking("all", "All tables", self.tables),
            self.ranking("two-classes", "Two classes", self.in_role(TWO_CLASSES)),
            self.ranking("ordered", "Ordered classes", self.in_role(ORDERED)),
        ]
        return [r for r in found if len(r.tables) > 1 and len(r.methods) > 1]

    def ranking(
        self, name: str, title: str, tables: Sequence[str], measure: str = "risk",
        methods: Sequence[str] | None = None,
    ) -> Ranking:  # fmt: skip
        """Rank the methods that have results on all of these tables, by the cost or a measure.

        A method with results of no more than half of the splits of a table is left out. A split
        on which one of the others failed is left out for all.
        """
        methods = self._ranked(self.methods if methods is None else methods, tables)
        splits = {t: self._common(t, methods) for t in tables}
        costs = self.plan.reject_costs if measure in COSTS else [self.plan.tuning_cost]
        values: dict[Key, Floats] = {}
        seconds: dict[Key, float] = {}
        for table, method in ((t, m) for t in tables for m in methods if splits[t]):
            runs = [self._runs[table, method][i] for i in splits[table]]
            found = np.array([[run[w][measure] for w in costs] for run in runs])
            values[table, method] = -found if measure in HIGHER else found
            spent = [sum(row["seconds"] for row in run.values()) for run in runs]
            seconds[table, method] = float(np.mean(spent))
        return Ranking(name, title, [t for t in tables if splits[t]], methods, values, seconds)

    def measure_ranks(self, ranking: Ranking) -> dict[str, Floats]:
        """Mean ranks (n_methods,) by each measure, for the methods and tables of a ranking."""
        found = {"mean cost": ranking.mean_ranks}
        found |= {f"cost {w:g}": ranking.ranks_at(i) for i, w in enumerate(self.plan.reject_costs)}
        ordinal = {"ordinal loss": "ordinal_risk"} if ranking.name == "ordered" else {}
        for title, measure in (ordinal | RANKING_MEASURES).items():
            found[title] = self.ranking("", title, ranking.tables, measure).mean_ranks
        return found

    @cached_property
    def duels(self) -> list[Duel]:
        """Each learner against the rivals around its ordinary classifier, on two tables or more."""
        found = []
        for learner, rival, tables in self._pairs():
            pair = self.ranking("", "", tables, methods=[learner, rival])
            if len(pair.tables) < 2 or len(pair.methods) < 2:
                continue
            gap = (pair.costs[:, 1] - pair.costs[:, 0]).round(statistics.DIGITS)
            tests = statistics.rank_lean(gap), statistics.signed_rank(gap)
            found.append(Duel(learner, rival, len(gap), int((gap > 0).sum()), *tests))
        corrected = statistics.holm([duel.p_value for duel in found]).tolist()
        return [duel._replace(p_value=p) for duel, p in zip(found, corrected, strict=True)]

    def _pairs(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield learners, rivals, and the tables that both take."""
        tables = {role: self.in_role(role) for role in (TWO_CLASSES, ORDERED)}
        for learner in self.methods:
            if learner not in DATA_REPLICATION or learner in OTHER_CLASSIFIERS:
                continue
            for rival in self.methods:
                if family_of(rival) == learner and rival != learner:
                    yield learner, rival, [*tables[TWO_CLASSES], *tables[ORDERED]]
            for rival, role in NAMESAKES.get(learner, ()):
                if rival in self.methods and tables[role]:
                    yield learner, rival, tables[role]

    def all_costs(self) -> dict[str, Floats]:
        """Mean cost (n_tables,) of every method and of deciding everything; NaN without results."""
        names = [*self.methods, DECIDE_ALL]
        costs = {name: np.full(len(self.tables), np.nan) for name in names}
        for j, table in enumerate(self.tables):
            usual = self._ranked(names, [table])
            common = self._common(table, usual)
            for method in usual if common else ():
                runs = self._runs[table, method]
                risks = [row["risk"] for i in common for row in runs[i].values()]
                costs[method][j] = float(np.mean(risks))
        return {name: values for name, values in costs.items() if not np.isnan(values).all()}

    @property
    def lacking(self) -> list[str]:
        """Say which methods have no results on some splits of a table, and why."""
        lacks: dict[tuple[str, str], dict[str, set[int]]] = {}
        there = {(row["dataset"], row["method"], row["repetition"]) for row in self.rows}
        for row in self.rows:
            if row["problem"] is not None:
                methods = lacks.setdefault((row["dataset"], row["problem"]), {})
                methods.setdefault(row["method"], set()).add(row["repetition"])
        for t in self.tables:
            for m in self.plan.methods_for(TABLES[t]):
                splits = {i for i in range(self.plan.repetitions) if (t, m, i) not in there}
                if splits:
                    lacks.setdefault((t, "not computed"), {})[m] = splits
        return [
            f"{t}, {', '.join(f'{m} ({len(splits)})' for m, splits in methods.items())}: {why}"
            for (t, why), methods in sorted(lacks.items())
        ]

    def in_role(self, role: str) -> list[str]:
        """Tables in a role that have rows."""
        return [name for name in self.tables if TABLES[name].role == role]

    def _ranked(self, methods: Sequence[str], tables: Sequence[str]) -> list[str]:
        """Return those of the methods that have results of most splits of each table."""
        return [m for m in methods if all(self._mostly(t, m) for t in tables)]

    def _splits(self, table: str, method: str) -> set[int]:
        """Splits with results at all reject costs."""
        runs = self._runs.get((table, method), {})
        return {i for i, run in runs.items() if len(run) == len(self.plan.reject_costs)}

    def _mostly(self, table: str, method: str) -> bool:
        """Return whether a method has results of more than half of the splits of a table."""
        most = max((len(self._splits(table, other)) for other in self.methods), default=0)
        return 2 * len(self._splits(table, method)) > most

    def _common(self, table: str, methods: Sequence[str]) -> list[int]:
        """Splits that all of these methods have results of."""
        found = [self._splits(table, method) for method in methods]
        return sorted(set.intersection(*found)) if found else []
