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
from rejo.study.suite.findings import about_tests, findings, has_winner, p_words
from rejo.study.suite.roster import TABLES, TableEntry
from rejo.study.suite.standings import Ranking, Standings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SuiteReport:
    """What the page shows."""

    standings: Standings
    canvases: Mapping[str, Figure]  # file name without ending -> picture
    said: Sequence[str]  # the answers in short

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
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Rows of the training and test part of each table."""
        return {row["dataset"]: (row["n_train"], row["n_test"]) for row in self.standings.rows}

    def baselines(self, ranking: Ranking) -> dict[str, tuple[float, float]]:
        """Mean cost of the reference lines, and its excess, in units of reviewing everything."""
        unit, least = float(np.mean(ranking.reject_costs)), ranking.costs.min(axis=1)
        found = self.standings.baselines(ranking.tables)
        return {
            name: (float(costs.mean() / unit), float((costs - least).mean() / unit))
            for name, costs in found.items()
        }


def make_suite_report(rows: Iterable[Mapping[str, Any]]) -> SuiteReport:
    """Draw all pictures and put the answers into words.

    Parameters
    ----------
    rows : iterable of dict
        Rows of a :class:`~rejo.study.suite.TableSuite`, as ``rejo.study.read_rows`` gives them.
    """
    standings = Standings(rows)
    canvases = {}
    for ranking in standings.rankings:
        canvases[f"ranks-{ranking.name}"] = critical_difference_figure(ranking)
        canvases[f"excess-{ranking.name}"] = excess_figure(ranking)
        ranks = standings.measure_ranks(ranking)
        canvases[f"measures-{ranking.name}"] = measures_figure(ranking, ranks)
    if standings.methods:
        canvases["costs"] = heat_figure(standings, standings.methods)
    return SuiteReport(standings, canvases, findings(standings))


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
    templates.globals |= {"about_tests": about_tests, "has_winner": has_winner}
    text = (files("rejo.study.suite") / "suite.html").read_text("utf-8")
    template = templates.from_string(text)
    return str(template.render(report=report, provenance=provenance, notices=notices))


LABELS = {
    "auto": "what rejo train chooses",
    REVIEW_ALL: "every case goes to a person",
    DECIDE_ALL: "auto, without reviews",
}
