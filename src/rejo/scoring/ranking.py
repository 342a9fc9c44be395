"""The order of the reviews, which is known only after the last case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.scoring.reasons import AMBIGUOUS, NOVEL, POLICY, UNREADABLE

URGENCY = np.zeros(128, dtype=np.int8)  # by reason: which cases come first, whatever their worth
URGENCY[[UNREADABLE, NOVEL, POLICY]] = -2, -1, -1


class Candidates(NamedTuple):
    """Cases that may be reviewed: all that the model rejects, and those drawn for an audit."""

    sureness: NDArray[np.float64]  # 0 for those that are reviewed in any case
    reason: NDArray[np.int8]  # of the rejected; NOTHING for the others
    drawn: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of all parts, in their order."""
        none = cls(np.empty(0), np.empty(0, np.int8), np.empty(0, bool))
        return cls(*map(np.concatenate, zip(none, *parts, strict=True)))


def ranks_of(found: Candidates, capacity: int | None = None) -> NDArray[np.int64]:
    """Rank of each candidate: 0 if it is decided, negative if it is reviewed only as drawn.

    At most ``capacity`` cases are reviewed: those that must be, those that were drawn, and then
    the ambiguous ones, the least sure first.  Ties keep their order.
    """
    sureness, reason, drawn = found
    reviewed = np.ones(len(reason), dtype=bool)
    only_drawn = np.empty(0, dtype=np.intp)
    if capacity is not None:
        doubtful = np.flatnonzero(reason == AMBIGUOUS)
        doubtful = doubtful[np.argsort(sureness[doubtful], kind="stable")]
        # If the first k are reviewed, so are those drawn among the others: a total that never
        # falls as k grows.
        also = drawn[doubtful]
        later = np.append(also[::-1].cumsum()[::-1], 0)
        total = len(reason) - len(doubtful) + np.arange(len(later)) + later
        fit = max(int(np.searchsorted(total, capacity, side="right")) - 1, 0)
        only_drawn = doubtful[fit:]
        reviewed[only_drawn] = also[fit:]
    rows = np.flatnonzero(reviewed)
    rows = rows[np.argsort(sureness[rows], kind="stable")]
    urgency = URGENCY[reason[rows]]
    if urgency.any():
        rows = rows[np.argsort(urgency, kind="stable")]
    ranks = np.zeros(len(reason), dtype=np.int64)
    ranks[rows] = np.arange(1, len(rows) + 1)
    ranks[only_drawn] *= -1
    return ranks


def capacity_of(capacity: float | None, n_cases: int) -> int | None:
    """Return a capacity as a number of cases: an integer already, or a share of them."""
    return int(capacity * n_cases + 1e-9) if isinstance(capacity, float) else capacity
