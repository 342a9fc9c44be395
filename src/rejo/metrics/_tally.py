"""The one count of right decisions, wrong decisions and rejections; every rate is read from it."""

from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats, Indices


class Tally(NamedTuple):
    """Number (or weight) of cases decided rightly, decided wrongly, and rejected.

    Parameters
    ----------
    right, wrong, rejected : ndarray
        Counts, or sums of weights, all of the same shape; () for a single count.
    """

    right: Floats
    wrong: Floats
    rejected: Floats

    @property
    def total(self) -> Floats:
        """All cases."""
        return self.right + self.wrong + self.rejected

    @property
    def decided(self) -> Floats:
        """Cases that were not rejected."""
        return self.right + self.wrong

    @property
    def rejection_rate(self) -> Floats:
        """``R``: rejected / all."""
        return self.rejected / self.total

    @property
    def error_rate(self) -> Floats:
        """``E``: decided wrongly / all."""
        return self.wrong / self.total

    @property
    def accepted_error_rate(self) -> Floats:
        """Decided wrongly / decided; NaN where nothing was decided."""
        return share(self.wrong, self.decided)

    @property
    def accepted_accuracy(self) -> Floats:
        """Decided rightly / decided; NaN where nothing was decided."""
        return share(self.right, self.decided)

    def risk(self, reject_cost: Any) -> Floats:
        """``reject_cost * R + E``."""
        return np.asarray(reject_cost * self.rejection_rate + self.error_rate)


def tally(
    decision: Indices, y: Indices, weight: Floats | None = None, fold: Indices | None = None
) -> Tally:
    """Count right decisions, wrong decisions and rejections.

    Parameters
    ----------
    decision : ndarray of int of shape (n_samples, ...)
        Decided class as an index, -1 for a rejection. Further axes are models or operating
        points, counted separately.
    y : ndarray of int of shape (n_samples,)
        True class as an index.
    weight : ndarray of shape (n_samples,), default=None
        Weight of each case; 1 by default.
    fold : ndarray of int of shape (n_samples,), default=None
        Fold of each case, ``0, 1, ...``; folds are counted separately.

    Returns
    -------
    tally : Tally
        Counts of shape (...), or (n_folds, ...) with ``fold``.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.metrics import tally
    >>> found = tally(np.array([0, 1, -1, 1]), np.array([0, 1, 1, 0]))
    >>> float(found.rejection_rate), float(found.error_rate)
    (0.25, 0.25)
    """
    decision, y = np.asarray(decision), np.asarray(y)
    truth = y.reshape(-1, *[1] * (decision.ndim - 1))
    rejected = decision < 0
    right = decision == truth
    masks = right, ~rejected & ~right, rejected
    weight = np.ones(len(y)) if weight is None else weight
    if fold is None:
        return Tally(*(np.asarray(np.tensordot(weight, mask, axes=1)) for mask in masks))
    n_folds = int(fold.max()) + 1
    if decision.ndim == 1:
        counts = (np.bincount(fold[mask], weight[mask], minlength=n_folds) for mask in masks)
        return Tally(*(np.asarray(count, dtype=np.float64) for count in counts))
    sums = np.equal.outer(np.arange(n_folds), fold) * weight  # (n_folds, n_samples)
    return Tally(*(np.tensordot(sums, mask, axes=1) for mask in masks))


def share(part: Floats, whole: Floats) -> Floats:
    """Return ``part / whole``; NaN where the whole is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.asarray(part) / np.asarray(whole))
