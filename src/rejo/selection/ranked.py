"""One ranking of cases for every learner, from the first to be reviewed to the last.

Learners by posteriors rank by what a review is worth; others by their own sureness, the cases that
they reject first.  An operating point is a cut in the ranking, and cuts are nested: what is
reviewed at one is reviewed at all that follow.
"""

from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats, Indices
from rejo.estimators import Judgement, must_review


class Ranked(NamedTuple):
    """Cases in the order of their review; classes as indices."""

    doubt: Floats  # (n,) highest for the first; infinite if a case is reviewed at any cut
    forced: Indices  # (n,) decision without a review
    slack: float = 0.0  # doubts that are lower by no more than this count as at the cut

    def decisions(self, cuts: Any) -> Indices:
        """Decisions (m, n) at cuts (m,)."""
        cuts = np.asarray(cuts, dtype=np.float64)[:, None]
        forced = self.forced.astype(np.int16)  # there may be many cases and many cuts
        return np.where(self.doubt >= cuts - self.slack, np.int16(-1), forced)


def doubt_by_sureness(decision: Indices, sureness: Floats) -> Floats:
    """Doubt (n,) of learners without posteriors: above 1 where they reject, else up to 1."""
    return (np.asarray(decision) < 0) + 1.0 / (1.0 + np.asarray(sureness))


def sureness_limit(cut: float) -> tuple[float, bool]:
    """Parameters ``limit`` and ``widen`` of a :class:`CutRanking` for a cut in this doubt."""
    widen = cut <= 1.0
    at = cut if widen else cut - 1.0
    return (1.0 / at - 1.0 if 0 < at <= 1 else -1.0 if at > 1 else 1e300), widen


def rank(judgement: Judgement, known: Indices | None = None) -> Ranked:
    """Rank cases that a model has judged; ``known`` are its classes among all."""
    doubt, forced = judgement.worth, judgement.forced
    if doubt is None:
        doubt = doubt_by_sureness(judgement.decision, judgement.sureness)
    doubt = np.where(np.isnan(judgement.distance) | must_review(judgement), np.inf, doubt)
    return Ranked(doubt, forced if known is None else known[forced])
