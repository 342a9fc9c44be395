"""What the rows of the suite say: rankings, reference lines, what failed and what is missing.

A table counts once: its cost is the mean over the splits and the reject costs.  Not every method
takes every table, so there are three rankings, each complete: all tables with the methods that take
them all, tables of two classes, and tables of ordered classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats
from rejo.catalogue import METHODS
from rejo.selection.compared import DECIDE_ALL, REVIEW_ALL
from rejo.study.suite.rank_list import Key, Ranking
from rejo.study.suite.roster import ORDERED, TABLES, TWO_CLASSES
from rejo.study.suite.table_suite import TableSuite
from rejo.study.suite.trials import AUTO, BLEND, BUDGETS

RANKING_MEASURES = {
    "AUARC": "auarc",
    "AUGRC": "augrc",
    **{f"{share:.0%} reviewed": name for name, share in BUDGETS.items()},
}
COSTS = ("risk", "ordinal_risk")  # measures at every reject cost
HIGHER = ("auarc",)  # measures of which more is better
DATA_REPLICATION = tuple(name for name, m in METHODS.items() if "data replication" in m.label)
NOT_COMPUTED = "not computed"

Row = Mapping[str, Any]


class Failure(NamedTuple):
    """A method without results on some splits of a table."""

    dataset: str
    method: str
    n_splits: int
    problem: str


class Standings:
    """The rows of a suite, arranged.

    Parameters
    ----------
    rows : iterable of dict
    plan : TableSuite, default=None
        The suite that the rows belong to.  By default its tables, splits, methods and reject costs
        are those of the rows, and the rest are the defaults.
    """

    def __init__(self, rows: Iterable[Row], plan: TableSuite | None = None) -> None:
        self.rows = list(rows)
        self.plan = _plan_of(self.rows) if plan is None else plan
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
    def absent(self) -> list[Failure]:
        """Methods without rows on splits of the plan, of the tables that have rows."""
        there = {(row["dataset"], row["method"], row["repetition"]) for row in self.rows}
        found = []
        for t in self.tables:
            for m in self.plan.methods_for(TABLES[t]):
                lacks = [i for i in range(self.plan.repetitions) if (t, m, i) not in there]
                if lacks:
                    found.append(Failure(t, m, len(lacks), NOT_COMPUTED))
        return found

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The three rankings, those that have two tables and two methods at least."""
        return [r for r in self._candidates if _comparable(r)]

    @property
    def unranked(self) -> list[str]:
        """Say which rankings are missing, though there are tables for them."""
        return [
            " ".join((f"{r.title}: no ranking, for want of two methods with results on the same "
                      "two tables.", *r.notes))
            for r in self._candidates
            if not _comparable(r) and len(self._of_kind[r.name][1]) > 1
        ]  # fmt: skip

    @property
    def _of_kind(self) -> dict[str, tuple[str, list[str]]]:
        return {
            "all": ("All tables", self.tables),
            "two-classes": ("Two classes", self.in_role(TWO_CLASSES)),
            "ordered": ("Ordered classes", self.in_role(ORDERED)),
        }

    @cached_property
    def _candidates(self) -> list[Ranking]:
        return [self.ranking(name, *kind) for name, kind in self._of_kind.items()]

    def ranking(
        self, name: str, title: str, tables: Sequence[str], measure: str = "risk"
    ) -> Ranking:
        """Rank the methods that have results on all of these tables, by the cost or a measure.

        A method with results of no more than half of the splits of a table is left out.  A split
        on which one of the others failed is left out for all.  The notes of the ranking say so.
        """
        methods = self._ranked(self.methods, tables)
        splits = {t: self._common(t, methods) for t in tables}
        notes = self._notes(methods, splits)
        splits = {table: common for table, common in splits.items() if common}
        values: dict[Key, Floats] = {}
        seconds: dict[Key, float] = {}
        ratios = {}
        costs = self.reject_costs if measure in COSTS else [self.ranked_at]
        for table, common in splits.items():
            for method in methods:
                runs = [self._runs[table, method][i] for i in common]
                found = np.array([[run[w][measure] for w in costs] for run in runs])
                values[table, method] = -found if measure in HIGHER else found
                spent = [sum(row["seconds"] for row in run.values()) for run in runs]
                seconds[table, method] = float(np.mean(spent))
            rows = [row for run in runs for row in run.values()]
            ratios[table] = float(np.mean([row["n_test"] / row["n_train"] for row in rows]))
        return Ranking(
            name, title, list(splits), methods, costs, values, seconds, ratios, splits, notes
        )

    @property
    def ranked_at(self) -> float:
        """Reject cost whose model ranks the cases, for budgets and areas."""
        return self.plan.tuning_cost

    def measure_ranks(self, ranking: Ranking) -> dict[str, Floats]:
        """Mean ranks (n_methods,) by each measure, for the methods and tables of a ranking."""
        found = {"mean cost": ranking.mean_ranks}
        found |= {f"cost {w:g}": ranking.ranks_at(w) for w in ranking.reject_costs}
        ordinal = {"ordinal loss": "ordinal_risk"} if ranking.name == "ordered" else {}
        for title, measure in (ordinal | RANKING_MEASURES).items():
            by_measure = self.ranking(ranking.name, title, ranking.tables, measure)
            found[title] = by_measure.mean_ranks
        return found

    def among(self, methods: Sequence[str]) -> Standings:
        """Return the standings of these methods alone."""
        return Standings(row for row in self.rows if row["method"] in methods)

    def baselines(self, ranking: Ranking) -> dict[str, Floats]:
        """Mean cost (n_tables,) of reviewing everything, and of deciding everything by ``auto``.

        The splits are those of the ranking.
        """
        found = {REVIEW_ALL: np.full(len(ranking.tables), np.mean(self.reject_costs))}
        if all(self._splits(t, DECIDE_ALL) >= set(ranking.splits[t]) for t in ranking.tables):
            found[DECIDE_ALL] = np.array(
                [self._mean(t, DECIDE_ALL, ranking.splits[t]) for t in ranking.tables]
            )
        return found

    def all_costs(self) -> dict[str, Floats]:
        """Mean cost (n_tables,) of every method and of deciding everything; NaN without results.

        A table's splits are those that all its methods have results of; a method that lacks half
        of the splits or more has none.
        """
        names = [*self.methods, DECIDE_ALL]
        costs = {name: np.full(len(self.tables), np.nan) for name in names}
        for j, table in enumerate(self.tables):
            usual = self._ranked(names, [table])
            common = self._common(table, usual)
            for method in usual if common else ():
                costs[method][j] = self._mean(table, method, common)
        return {name: values for name, values in costs.items() if not np.isnan(values).all()}

    def in_role(self, role: str) -> list[str]:
        """Tables in a role that have rows."""
        return [name for name in self.tables if TABLES[name].role == role]

    def _ranked(self, methods: Sequence[str], tables: Sequence[str]) -> list[str]:
        """Return those of the methods that have results of most splits of each table.

        ``blend`` needs all splits of the others.  It has none where no model with posteriors ends
        the race, which is no failure of a fit: the others would lose these splits.
        """
        found = [m for m in methods if all(self._mostly(t, m) for t in tables)]
        others = [m for m in found if m != BLEND]
        if all(self._splits(t, BLEND) >= set(self._common(t, others)) for t in tables):
            return found
        return others

    def _notes(self, methods: Sequence[str], splits: Mapping[str, list[int]]) -> list[str]:
        """Say which methods, tables and splits a ranking leaves out."""
        tables, said = list(splits), []
        taken = [set(self.plan.methods_for(TABLES[t])) for t in tables]
        for m in self.plan.methods:
            if m not in methods and all(m in names for names in taken):
                lacks = ", ".join(t for t in tables if not self._mostly(t, m))
                much = f"half of the splits or more of {lacks}" if lacks else "some splits"
                said.append(f"{m} is left out: it lacks {much}.")
        for t, common in splits.items():
            every = set().union(*(self._splits(t, m) for m in methods))
            lost = len(every) - len(common)
            if lost:
                who = ", ".join(m for m in methods if self._splits(t, m) < every)
                of = "all" if not common else f"{lost} of {len(every)}"
                said.append(f"{t}: {of} splits are left out for all methods, for want of results "
                            f"of {who}.")  # fmt: skip
        return said

    def _mean(self, table: str, method: str, splits: Sequence[int]) -> float:
        """Mean cost over these splits and the reject costs."""
        runs = self._runs[table, method]
        return float(np.mean([row["risk"] for i in splits for row in runs[i].values()]))

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
        if not methods:
            return []
        return sorted(set.intersection(*(self._splits(table, m) for m in methods)))


def _comparable(ranking: Ranking) -> bool:
    return len(ranking.tables) > 1 and len(ranking.methods) > 1


def _plan_of(rows: Sequence[Row]) -> TableSuite:
    """Return the smallest plan that has these rows."""
    known = TableSuite()
    tables = {row["dataset"] for row in rows}
    methods = {row["method"] for row in rows}
    costs = {float(row["reject_cost"]) for row in rows}
    return TableSuite(
        [name for name in known.datasets if name in tables],
        max(row["repetition"] for row in rows) + 1,
        [name for name in known.methods if name in methods] or known.methods,
        sorted(costs),
        min(costs, key=lambda w: abs(w - known.tuning_cost)),
    )
