"""A ranking: methods on the tables that they all take, and all that follows from their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats
from rejo.study.suite.ranks import (
    FriedmanTest,
    Tallied,
    cliques,
    critical_difference,
    friedman_test,
    rank_methods,
    signed_rank_tests,
    tally_tables,
)
from rejo.study.suite.trials import AUTO

Key = tuple[str, str]  # table, method


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
    splits: Mapping[str, list[int]]  # of each table, those that all methods have results of
    notes: Sequence[str] = ()  # methods, tables and splits that are left out, and why

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
