"""The answers in words, from the numbers: is there a winner, and where is data replication."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from rejo.study.suite.duels import Duel
from rejo.study.suite.rank_list import Ranking
from rejo.study.suite.ranks import rank_lean
from rejo.study.suite.standings import DATA_REPLICATION, Standings
from rejo.study.verdict import ALPHA


def findings(standings: Standings, duels: Sequence[Duel] = ()) -> list[str]:
    """Sentences that answer the questions of the suite, each from the numbers on the page."""
    said = [_winner(ranking) for ranking in standings.rankings]
    said += [_scores(standings, ranking) for ranking in standings.rankings[:1]]
    said += [_replication(ranking) for ranking in standings.rankings[1:]]
    said += standings.unranked
    if duels:
        said.append(_duels(duels))
    return [sentence for sentence in said if sentence]


def has_winner(ranking: Ranking) -> bool:
    """Return whether the best method costs significantly less than all others, by both tests."""
    best = ranking.costs[:, ranking.methods.index(ranking.best)]
    ahead = all(
        rank_lean(ranking.costs[:, j] - best) > 0
        for j, method in enumerate(ranking.methods)
        if method != ranking.best
    )
    p_values = [line.p_value for line in ranking.lines_against(ranking.best)[1:]]
    return ahead and not ranking.level and max(p_values) < ALPHA


def about_tests(ranking: Ranking) -> str:
    """Say what the tests of a ranking found, with their numbers."""
    n, found = len(ranking.tables), ranking.friedman
    words = (
        f"Friedman: chi2 = {found.chi2:.1f}, {p_words(found.chi2_p)}; Iman and Davenport: "
        f"F = {found.F:.2f}, {p_words(found.F_p)}. Critical difference of mean ranks (Nemenyi, "
        f"{ALPHA:.0%}): {ranking.difference:.2f}."
    )
    # The signed-rank test of n tables has no p-value below 2 / 2^n; Holm's correction multiplies.
    least = 2.0 ** (1 - n) * (len(ranking.methods) - 1)
    if least >= ALPHA:
        words += (
            f" With {n} tables and {len(ranking.methods)} methods no signed-rank test can be "
            "significant after the correction: its p-values are shown, but cannot decide."
        )
    return words


def p_words(p_value: float) -> str:
    """Write a p-value."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _winner(ranking: Ranking) -> str:
    best, k = ranking.best, len(ranking.methods)
    rank = float(ranking.mean_ranks.min())
    first = (
        f"{ranking.title} ({len(ranking.tables)} tables, {k} methods): {best} has the lowest mean "
        f"rank, {rank:.1f}"
    )
    if has_winner(ranking):
        return f"{first}, and differs significantly from all others: a clear winner."
    if ranking.friedman.F_p >= ALPHA:
        return f"{first}, but all differences may be chance ({p_words(ranking.friedman.F_p)})."
    near = len(ranking.level)
    if near:
        return (
            f"{first}. {near} of the other {k - 1} are within the critical difference"
            f"{_some(ranking.level)}: there is no clear winner."
        )
    return f"{first}, outside the critical difference; signed-rank tests do not confirm all pairs."


def _scores(standings: Standings, ranking: Ranking) -> str:
    """Say whether the areas of Pugnana et al. rank the methods as the costs do."""
    ranks = standings.measure_ranks(ranking)
    words = []
    for name in ("AUARC", "AUGRC"):
        if np.ptp(ranks[name]) == 0:
            words.append(f"{name} does not tell the methods apart")
            continue
        first = ranking.methods[int(np.argmin(ranks[name]))]
        words.append(f"by {name} it is {first}")
        if np.ptp(ranks["mean cost"]) > 0:  # else there is no correlation
            alike = float(spearmanr(ranks[name], ranks["mean cost"]).statistic)
            words[-1] += f" (rank correlation with the cost {alike:.2f})"
    return (
        f"By cost the best of the methods that take all tables is {ranking.best}; "
        f"{' and '.join(words)}."
    )


def _replication(ranking: Ranking) -> str:
    lines = {line.method: i + 1 for i, line in enumerate(ranking.lines)}
    places = [f"{m} {lines[m]}" for m in lines if m in DATA_REPLICATION]
    if not places:
        return ""
    return (
        f"Data replication, {ranking.title.lower()}: places by mean rank among "
        f"{len(lines)} methods are {', '.join(places)}."
    )


def _duels(duels: Sequence[Duel]) -> str:
    better = [d for d in duels if d.p_value < ALPHA and d.lean > 0]
    worse = [d for d in duels if d.p_value < ALPHA and d.lean < 0]
    named = [f"{d.learner} against {d.rival}" for d in (*better, *worse)]
    return (
        f"Data replication against other ways to use the same kind of classifier, {len(duels)} "
        f"pairs: significantly cheaper in {len(better)}, "
        f"significantly more expensive in {len(worse)}"
        + (f" ({', '.join(named)})" if 0 < len(named) <= 6 else "")
        + f", no significant difference in {len(duels) - len(better) - len(worse)}."
    )


def _some(names: Sequence[str], most: int = 6) -> str:
    return f" ({', '.join(names)})" if len(names) <= most else ""
