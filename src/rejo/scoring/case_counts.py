"""What became of the cases of a table, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.scoring.deciding import RankedRows, ScoredRows
from rejo.scoring.doubt_counts import DoubtCounts
from rejo.scoring.ids import Ids
from rejo.scoring.reasons import AMBIGUOUS, WORDS


@dataclass(eq=False)
class CaseCounts:
    """Counts cases while they are decided, and again when they are ranked.

    Those of parts of a table can be counted apart and put together with :meth:`merge`.
    """

    n_cases: int = 0
    n_rejected: int = 0
    n_fixed: int = 0  # rejected for another reason than being ambiguous
    n_audited: int = 0
    has_worth: bool = False  # the model says what a review is worth
    has_ids: bool = False  # the table has the column that names the cases
    doubts: DoubtCounts = field(default_factory=DoubtCounts)
    unknown: Counter[str | None] = field(default_factory=Counter)  # groups training did not have
    ids: Ids = field(default_factory=Ids)
    reasons: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(WORDS), np.int64))

    def add(self, scored: ScoredRows) -> None:
        """Count cases that are decided."""
        names, cases = scored.decided.names, scored.decided.cases
        self.n_cases += len(cases["decision"])
        self.n_rejected += int((cases["decision"] < 0).sum())
        self.n_fixed += int((cases["reason"] > AMBIGUOUS).sum())
        self.has_worth |= "worth" in cases
        self.doubts.add(scored.doubts)
        self.unknown.update(scored.unknown)
        self.ids.add(names)

    def add_ranked(self, part: RankedRows) -> None:
        """Count cases that are ranked."""
        self.reasons += np.bincount(part.cases["reason"] + 1, minlength=len(WORDS) + 1)[1:]
        self.n_audited += int(part.audited.sum())

    def merge(self, other: CaseCounts) -> None:
        """Count the cases that another has counted."""
        for name in ("n_cases", "n_rejected", "n_fixed", "n_audited", "reasons"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.has_worth |= other.has_worth
        self.has_ids |= other.has_ids
        self.doubts.merge(other.doubts)
        self.unknown.update(other.unknown)
        self.ids.merge(other.ids)

    @property
    def n_reviewed(self) -> int:
        """Number of cases that go to review."""
        return int(self.reasons[:-1].sum())

    def as_json(self) -> dict[str, Any]:
        """Return the counts, by reason, and the kinds of doubt."""
        *reviewed, n_over = self.reasons.tolist()
        return {
            "n_cases": self.n_cases,
            "decided": self.n_cases - self.n_reviewed,
            "review": self.n_reviewed,
            "in_doubt": self.doubts.n_rows,
            "over_capacity": n_over,
            "audited": self.n_audited,
            "reasons": dict(zip(WORDS, reviewed, strict=False)),
            "doubts": self.doubts.as_json(),
        }
