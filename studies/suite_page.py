"""What came out of the suite: answers in words, rankings, and a page of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from studies.page import picture, table
from studies.standings import AREAS, DATA_REPLICATION, Duel, Ranking, Standings
from studies.statistics import ALPHA, p_words
from studies.suite import AUTO, TABLES, TableSuite
from studies.suite_pictures import draw_costs, draw_measures, draw_ranks, title_of

TITLE = "All methods on real tables"


@dataclass(frozen=True, eq=False)
class SuiteReport:
    """What the page shows."""

    standings: Standings
    canvases: Mapping[str, Figure]  # by file name without ending
    said: Sequence[str]  # the answers in short


def make_report(rows: Iterable[Mapping[str, Any]], plan: TableSuite) -> SuiteReport:
    """Draw all pictures and put the answers into words."""
    standings = Standings(rows, plan)
    canvases, said = {}, []
    for ranking in standings.rankings:
        ranks = standings.measure_ranks(ranking)
        canvases[f"ranks-{ranking.name}"] = draw_ranks(ranking)
        canvases[f"measures-{ranking.name}"] = draw_measures(ranking, ranks)
        said += [_winner(ranking), _places(ranking), _areas(ranking, ranks)]
    said.append(_duels(standings.duels))
    if standings.methods:
        canvases["costs"] = draw_costs(standings)
    return SuiteReport(standings, canvases, [sentence for sentence in said if sentence])


def page_text(report: SuiteReport) -> str:
    """Return the page as Markdown, without a title."""
    standings = report.standings
    parts = ["## The answers in short", "\n".join(f"- {sentence}" for sentence in report.said)]
    for i, ranking in enumerate(standings.rankings):
        F, p = ranking.friedman
        parts += [
            f"## {title_of(ranking)}",
            picture(f"ranks-{ranking.name}", "Mean ranks, with the critical difference"),
            f"Mean rank by the mean cost of each table; a bar joins methods that do not differ "
            f"significantly. Iman and Davenport: F = {F:.2f}, {p_words(p)}.",
            *([_cost_table(ranking, standings)] if i == 0 else []),
            picture(f"measures-{ranking.name}", "Mean ranks by other measures"),
        ]
    if standings.duels:
        rows = [
            [d.learner, d.rival, f"{d.cheaper} of {d.n_tables}", p_words(d.p_value)]
            for d in standings.duels
        ]
        head = ["data replication", "rival, the same classifier", "cheaper on", "signed-rank test"]
        parts += ["## Data replication against the same kind of classifier", table(head, rows)]
    parts += ["## All costs", picture("costs", "Mean cost of every method on every table")]
    lacking = "\n".join(f"- {text}" for text in standings.lacking)
    parts += ["## What failed or is missing", lacking or "Nothing."]
    if missing := [name for name in TABLES if name not in standings.tables]:
        parts.append(f"Tables that were not run: {', '.join(missing)}.")
    return "\n\n".join(parts)


def _cost_table(ranking: Ranking, standings: Standings) -> str:
    """Costs in percent of reviewing everything, and what they took."""
    unit, reference = float(np.mean(standings.plan.reject_costs)), ranking.order[0]
    if AUTO in ranking.methods:
        reference = AUTO
    p_values = ranking.p_values(reference)
    rows = []
    for method in ranking.order:
        costs = ranking.costs[:, ranking.methods.index(method)]
        seconds = float(np.median([ranking.seconds[t, method] for t in ranking.tables]))
        p = "" if method == reference else p_words(p_values[method])
        rows.append([method, f"{100 * costs.mean() / unit:.1f}", p, f"{seconds:.2f}"])
    head = ["method", "cost in % of reviewing all", f"signed-rank test against {reference}", "s"]
    return table(head, rows)


def _winner(ranking: Ranking) -> str:
    """Say whether a method is better than all others."""
    best, k, (_, p) = ranking.order[0], len(ranking.methods), ranking.friedman
    first = f"{title_of(ranking)}: {best} has the lowest mean rank, {ranking.mean_ranks.min():.1f}"
    if ranking.has_winner:
        return f"{first}, and differs significantly from all others: a clear winner."
    if p >= ALPHA:
        return f"{first}, but all differences may be chance ({p_words(p)})."
    if ranking.level:
        near = f"{len(ranking.level)} of the other {k - 1} are within the critical difference"
        return f"{first}. {near}: there is no clear winner."
    return f"{first}, outside the critical difference; signed-rank tests do not confirm all pairs."


def _places(ranking: Ranking) -> str:
    places = [f"{m} {i + 1}" for i, m in enumerate(ranking.order) if m in DATA_REPLICATION]
    if not places:
        return ""
    return f"Places of data replication among these {len(ranking.methods)}: {', '.join(places)}."


def _areas(ranking: Ranking, ranks: Mapping[str, Any]) -> str:
    """Say whether areas under curves rank the methods as the costs do."""
    if ranking.name != "all" or np.ptp(ranks["mean cost"]) == 0:
        return ""
    words = []
    for name in AREAS:
        if np.ptp(ranks[name]) > 0:  # else there is no correlation
            alike = float(spearmanr(ranks[name], ranks["mean cost"]).statistic)
            first = ranking.methods[int(np.argmin(ranks[name]))]
            words.append(f"by {name} it is {first} (rank correlation with the cost {alike:.2f})")
    return f"By cost the best is {ranking.order[0]}; {' and '.join(words)}." if words else ""


def _duels(duels: Sequence[Duel]) -> str:
    better = sum(d.p_value < ALPHA and d.lean > 0 for d in duels)
    worse = sum(d.p_value < ALPHA and d.lean < 0 for d in duels)
    if not duels:
        return ""
    return (
        f"Data replication against other ways to use the same kind of classifier, {len(duels)} "
        f"pairs: significantly cheaper in {better}, significantly more expensive in {worse}."
    )
