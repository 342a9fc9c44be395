"""Data replication against other ways to use the same kind of classifier.

Gradient boosting has no duels: by data replication it is XGBoost, which stops by itself, while its
rivals are another implementation, or also tune the number of trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from rejo.catalogue import METHODS, ProblemSize
from rejo.study.suite.ranks import DIGITS, Tallied, rank_lean
from rejo.study.suite.roster import ORDERED, TABLES, TWO_CLASSES
from rejo.study.suite.standings import DATA_REPLICATION, Standings
from rejo.study.suite.trials import family_of
from rejo.study.verdict import holm

OTHER_CLASSIFIERS = ("boosting",)  # learners whose rivals use another ordinary classifier
# Rivals of other names, and the role of the tables on which both use the same classifier.
NAMESAKES = {
    "kernel-logistic": [("kernel-posterior", TWO_CLASSES), ("ordinal-kernel-posterior", ORDERED)],
}


class Duel(NamedTuple):
    """A learner by data replication against another way to use the same kind of classifier."""

    learner: str
    rival: str
    n_points: tuple[int, int]  # of their grids
    n_tables: int
    cheaper: int  # tables on which the learner has the lower mean cost
    difference: float  # cost of the rival minus that of the learner, in reviews of everything
    lean: float  # above 0 if the signed ranks of the tables are for the learner, below if against
    p_value: float  # signed-rank test, corrected for the number of duels
    tallied: Tallied  # tables that the learner wins, ties, loses by a test over its splits


def find_duels(standings: Standings) -> list[Duel]:
    """Each learner against the rivals around its ordinary classifier, on two tables or more."""
    found = []
    for learner, rival, tables in _pairs(standings):
        pair = standings.among([learner, rival]).ranking("", "", tables)
        if len(pair.tables) < 2 or len(pair.methods) < 2:
            continue
        line = next(x for x in pair.lines_against(rival) if x.method == learner)
        at = pair.methods.index(learner)
        gap = (pair.costs[:, 1 - at] - pair.costs[:, at]).round(DIGITS)
        found.append(Duel(
            learner, rival, (_n_points(learner, tables[0]), _n_points(rival, tables[0])),
            len(gap), int((gap > 0).sum()), float(gap.mean() / np.mean(standings.reject_costs)),
            rank_lean(gap), line.p_value, line.against,
        ))  # fmt: skip
    corrected = holm([duel.p_value for duel in found]).tolist()
    return [duel._replace(p_value=p) for duel, p in zip(found, corrected, strict=True)]


def _pairs(standings: Standings) -> Iterator[tuple[str, str, list[str]]]:
    """Yield learners, rivals, and the tables that both take."""
    tables = {role: standings.in_role(role) for role in (TWO_CLASSES, ORDERED)}
    for learner in standings.methods:
        if learner not in DATA_REPLICATION or learner in OTHER_CLASSIFIERS:
            continue
        for rival in standings.methods:
            if family_of(rival) == learner and rival != learner:
                yield learner, rival, [*tables[TWO_CLASSES], *tables[ORDERED]]
        for rival, role in NAMESAKES.get(learner, ()):
            if rival in standings.methods and tables[role]:
                yield learner, rival, tables[role]


def _n_points(method: str, table: str) -> int:
    """Number of points of the grid of a method for the classes of a table."""
    entry = TABLES[table]
    problem = ProblemSize(entry.n_classes, entry.n_features, entry.n_rows, 0, entry.ordered)
    return len(ParameterGrid(METHODS[method].build(problem).grid))
