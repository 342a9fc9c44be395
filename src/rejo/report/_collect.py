"""From the cases of an operating point to counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Count the outcomes of the cases.

    Parameters
    ----------
    outcomes : Outcomes
    y : ndarray of shape (n_samples,)
        True classes, as indices.
    n_classes : int
    worth : float
        Number of independent cases that a case counts for, in intervals.
    confidence : float
        Of intervals.
    """
    counts = tally(outcomes.decision, y)
    forced_wrong = outcomes.forced != y
    in_doubt = forced_wrong[doubt_order(outcomes)]
    return PointTally(
        cost=float(outcomes.reject_cost),
        right=int(counts.right),
        wrong=int(counts.wrong),
        reviewed=int(counts.rejected),
        forced_wrong=int(forced_wrong.sum()),
        reviewed_wrong=int(forced_wrong[outcomes.decision < 0].sum()),
        matrix=_matrix(outcomes, y, n_classes),
        accuracy=_accuracy(outcomes, y, worth, confidence),
        errors_left=_errors_left(in_doubt),
        tenths=tuple(int(part.sum()) for part in np.split(in_doubt, _tenth_edges(len(y))[1:-1])),
    )


def doubt_order(outcomes: Outcomes) -> Indices:
    """The cases in the order of their review: the reviewed first, then the least sure."""
    return np.lexsort((outcomes.sureness, outcomes.decision >= 0))


def steps(n: int) -> list[int]:
    """Number of reviews at each hundredth of the cases (N_STEPS + 1,)."""
    return [(2 * n * i + N_STEPS) // (2 * N_STEPS) for i in range(N_STEPS + 1)]


def tenth_sizes(n: int) -> list[int]:
    """Number of cases in each tenth of the ranking (N_TENTHS,)."""
    return [int(size) for size in np.diff(_tenth_edges(n))]


def _tenth_edges(n: int) -> list[int]:
    return [n * i // N_TENTHS for i in range(N_TENTHS + 1)]


def _matrix(outcomes: Outcomes, y: Indices, n_classes: int) -> tuple[tuple[int, ...], ...]:
    """Count true class by output: class 0, between 0 and 1, class 1, and so on."""
    output = np.where(outcomes.decision < 0, 2 * outcomes.lower + 1, 2 * outcomes.decision)
    n_outputs = 2 * n_classes - 1
    cells = np.bincount(y * n_outputs + output, minlength=n_classes * n_outputs)
    return tuple(tuple(int(cell) for cell in row) for row in cells.reshape(n_classes, n_outputs))


def _accuracy(
    outcomes: Outcomes, y: Indices, worth: float, confidence: float
) -> tuple[float, float, float]:
    """Share of right decisions among the decided, plus and minus a deviation over the folds.

    One model alone has no such deviation; it has Wilson's interval.
    """
    counts = tally(outcomes.decision, y)
    if counts.decided == 0:
        return (np.nan,) * 3
    accuracy = float(counts.accepted_accuracy)
    if outcomes.fold.min() == outcomes.fold.max():
        right, decided = int(counts.right), int(counts.decided)
        return wilson_interval(right, decided, confidence, n_effective=decided * worth)
    in_folds = tally(outcomes.decision, y, fold=outcomes.fold).accepted_accuracy
    spread = float(np.nanstd(in_folds))
    return accuracy, max(accuracy - spread, 0.0), min(accuracy + spread, 1.0)


def _errors_left(in_doubt: NDArray[np.bool_]) -> tuple[int, ...]:
    """Wrong decisions that are left if the first k cases are reviewed, and rightly."""
    found = np.concatenate([[0], np.cumsum(in_doubt)])
    return tuple(int(left) for left in found[-1] - found[steps(len(in_doubt))])
