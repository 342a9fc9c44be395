"""From the cases of an operating point to counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rejo._typing import Indices
from rejo.metrics import tally, wilson_interval

if TYPE_CHECKING:
    from rejo.selection.outcomes import Outcomes


N_STEPS = 100  # of the curve over the review budget
N_TENTHS = 10


class PointTally(NamedTuple):
    """Outcomes of the cases at one operating point."""

    cost: float  # of a review where an error costs 1; NaN for a mere share of the ranking
    right: int
    wrong: int
    reviewed: int
    forced_wrong: int  # if every case were decided
    reviewed_wrong: int  # wrong decisions that reviews prevent
    matrix: tuple[tuple[int, ...], ...]  # (n_classes, 2 n_classes - 1)
    accuracy: tuple[float, float, float]  # of the decided, with a band; NaN if there are none
    errors_left: tuple[int, ...]  # (N_STEPS + 1,): after the review of so many hundredths
    tenths: tuple[int, ...]  # (N_TENTHS,): wrong forced decisions, the most doubtful tenth first

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.right + self.wrong + self.reviewed

    @property
    def decided(self) -> int:
        """Number of cases that are decided."""
        return self.right + self.wrong


def count_point(
    outcomes: Outcomes, y: Indices, n_classes: int, worth: float, confidence: float
) -> PointTally:
    """Count the outcomes of the cases; in intervals, a case counts for ``worth`` independent ones.

    ``y`` (n_samples,) are the true classes, as indices.
    """
    counts = tally(outcomes.decision, y)
    forced_wrong = outcomes.forced != y
    # In the order of their review: the reviewed first, then the least sure.
    in_doubt = forced_wrong[np.lexsort((outcomes.sureness, outcomes.decision >= 0))]
    found = np.concatenate([[0], np.cumsum(in_doubt)])  # by the first k reviews, if they are right
    # True class by output: class 0, between 0 and 1, class 1, and so on.
    output = np.where(outcomes.decision < 0, 2 * outcomes.lower + 1, 2 * outcomes.decision)
    shape = n_classes, 2 * n_classes - 1
    cells = np.bincount(y * shape[1] + output, minlength=shape[0] * shape[1]).reshape(shape)
    return PointTally(
        cost=float(outcomes.reject_cost),
        right=int(counts.right),
        wrong=int(counts.wrong),
        reviewed=int(counts.rejected),
        forced_wrong=int(found[-1]),
        reviewed_wrong=int(found[int(counts.rejected)]),
        matrix=tuple(map(tuple, cells.tolist())),
        accuracy=_accuracy(outcomes, y, worth, confidence),
        errors_left=tuple((found[-1] - found[steps(len(y))]).tolist()),
        tenths=tuple(np.diff(found[_tenth_edges(len(y))]).tolist()),
    )


def steps(n: int) -> list[int]:
    """Number of reviews at each hundredth of the cases (N_STEPS + 1,)."""
    return [(2 * n * i + N_STEPS) // (2 * N_STEPS) for i in range(N_STEPS + 1)]


def tenth_sizes(n: int) -> list[int]:
    """Number of cases in each tenth of the ranking (N_TENTHS,)."""
    return [int(size) for size in np.diff(_tenth_edges(n))]


def _tenth_edges(n: int) -> list[int]:
    return [n * i // N_TENTHS for i in range(N_TENTHS + 1)]


def _accuracy(
    outcomes: Outcomes, y: Indices, worth: float, confidence: float
) -> tuple[float, float, float]:
    """Share of right decisions among the decided, plus and minus a deviation over the folds.

    One model alone has no such deviation; it has Wilson's interval.
    """
    counts = tally(outcomes.decision, y)
    right, decided = int(counts.right), int(counts.decided)
    if decided == 0:
        return (np.nan,) * 3
    if outcomes.fold.min() == outcomes.fold.max():
        return wilson_interval(right, decided, confidence, n_effective=decided * worth)
    in_folds = tally(outcomes.decision, y, fold=outcomes.fold).accepted_accuracy
    accuracy, spread = float(counts.accepted_accuracy), float(np.nanstd(in_folds))
    return accuracy, max(accuracy - spread, 0.0), min(accuracy + spread, 1.0)
