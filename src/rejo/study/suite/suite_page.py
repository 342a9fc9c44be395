"""One self-contained page with the rankings, the pictures, the failures and how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from rejo.catalogue import METHODS
from rejo.selection.compared import DECIDE_ALL, REVIEW_ALL
from rejo.study.self_contained import environment
from rejo.study.suite.diagrams import (
    critical_difference_figure,
    excess_figure,
    heat_figure,
    measures_figure,
)
from rejo.study.suite.duels import Duel, find_duels
from rejo.study.suite.findings import about_tests, findings, p_words
from rejo.study.suite.rank_list import Ranking
from rejo.study.suite.roster import LEAST_CASES, TABLES, TableEntry
from rejo.study.suite.standings import Failure, Standings
from rejo.study.suite.table_splits import SHARE
from rejo.study.suite.table_suite import TableSuite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SuiteReport:
    """What the page shows."""

    standings: Standings
    canvases: Mapping[str, Figure]  # file name without ending -> picture
    said: Sequence[str]  # the answers in short
    duels: Sequence[Duel]

    @property
    def plan(self) -> TableSuite:
        """The suite that was run."""
        return self.standings.plan

    @property
    def rankings(self) -> list[Ranking]:
        """The rankings."""
        return self.standings.rankings

    @property
    def tables(self) -> list[TableEntry]:
        """The tables that were run."""
        return [TABLES[name] for name in self.standings.tables]

    @property
    def missing(self) -> list[TableEntry]:
        """Tables of the suite that were not."""
        return [entry for name, entry in TABLES.items() if name not in self.standings.tables]

    @property
    def lacking(self) -> list[Failure]:
        """Methods without results: they failed, or were not computed."""
        return [*self.standings.failures, *self.standings.absent]

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Rows of the training and test part of each table: the mean over its splits."""
        sizes: dict[str, list[tuple[int, int]]] = {}
        for row in self.standings.rows:
            sizes.setdefault(row["dataset"], []).append((row["n_train"], row["n_test"]))
        means = {name: np.mean(found, axis=0) for name, found in sizes.items()}
        return {name: (round(train), round(test)) for name, (train, test) in means.items()}

    def baselines(self, ranking: Ranking) -> dict[str, tuple[float, float]]:
        """Mean cost of the reference lines, and its excess, in units of reviewing everything."""
        unit, least = float(np.mean(ranking.reject_costs)), ranking.costs.min(axis=1)
        found = self.standings.baselines(ranking)
        return {
            name: (float(costs.mean() / unit), float((costs - least).mean() / unit))
            for name, costs in found.items()
        }


def make_suite_report(
    rows: Iterable[Mapping[str, Any]], plan: TableSuite | None = None
) -> SuiteReport:
    """Draw all pictures and put the answers into words.

    Parameters
    ----------
    rows : iterable of dict
        Rows of a :class:`~rejo.study.suite.TableSuite`, as ``rejo.study.read_rows`` gives them.
    plan : TableSuite, default=None
        The suite, to tell what is missing; by default one that the rows complete.
    """
    standings = Standings(rows, plan)
    duels = find_duels(standings)
    canvases = {}
    for ranking in standings.rankings:
        canvases[f"ranks-{ranking.name}"] = critical_difference_figure(ranking)
        canvases[f"excess-{ranking.name}"] = excess_figure(ranking)
        ranks = standings.measure_ranks(ranking)
        canvases[f"measures-{ranking.name}"] = measures_figure(ranking, ranks)
    if standings.methods:
        canvases["costs"] = heat_figure(standings)
    return SuiteReport(standings, canvases, findings(standings, duels), duels)


def make_suite_page(
    report: SuiteReport,
    pictures: Mapping[str, bytes],
    provenance: Mapping[str, str],
    notices: Sequence[str] = (),
) -> str:
    """Return the page; the parameters are those of :func:`rejo.study.page.make_page`."""
    templates = environment(pictures)
    templates.filters |= {
        "hundredths": lambda value: f"{100 * value:.1f}",
        "p": lambda value: p_words(value).removeprefix("p ").removeprefix("= "),
        "label": lambda name: METHODS[name].label if name in METHODS else LABELS[name],
    }
    templates.globals |= {"about_tests": about_tests, "share": SHARE, "least_cases": LEAST_CASES}
    text = (files("rejo.study.suite") / "suite.html").read_text("utf-8")
    template = templates.from_string(text)
    words = {"tuning_words": TUNING_WORDS, "duel_words": DUEL_WORDS}
    return str(template.render(report=report, provenance=provenance, notices=notices, **words))


TUNING_WORDS = (
    "Not all had the same chances: auto and blend come from a race in five folds at all reject "
    "costs; the others were tuned on their grids in the folds of the suite."
)
DUEL_WORDS = (
    "Each learner by data replication against other ways to use its ordinary classifier, on the "
    "tables of two and of ordered classes; kernel logistic regression meets its posteriors on the "
    "one and its ordinal posteriors on the other. Gradient boosting is not here: its rivals use "
    "another implementation, or also tune the number of trees. Grid points: of the learner, of the "
    "rival. p: signed-rank test over the tables, corrected for the number of lines by Holm's "
    "method."
)
LABELS = {
    "auto": "what rejo train chooses",
    REVIEW_ALL: "every case goes to a person",
    DECIDE_ALL: "auto, without reviews",
}
