"""Rates, the risk that combines them, and the qualities of Condessa and colleagues."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo.metrics._labels import agree, equal, labels, number, outcomes, shares
from rejo.metrics._tally import Tally, tally


class _Qualities(NamedTuple):
    """Counts of right and wrong (forced) decisions among accepted and rejected points."""

    right_accepted: float
    wrong_accepted: float
    right_rejected: float
    wrong_rejected: float


def rejection_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Fraction of the points that are rejected, ``R = rejected / N``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True classes, and decisions with ``reject_label`` for rejections.
    reject_label : int, float, str or None
        Label of a rejection, not one of the classes; ``None`` if there is none.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import rejection_rate
    >>> rejection_rate([0, 0, 1, 1], [0, -1, 0, 1], reject_label=-1)
    0.25
    """
    return float(count_labels(y_true, y_pred, reject_label, sample_weight).rejection_rate)


def error_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Wrong decisions as a fraction of *all* points, ``E = wrong / N``; rejections are no errors.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    accepted_accuracy : Accuracy on the accepted points.

    Examples
    --------
    >>> from rejo.metrics import error_rate
    >>> error_rate([0, 0, 1, 1], [0, -1, 0, 1], reject_label=-1)
    0.25
    """
    return float(count_labels(y_true, y_pred, reject_label, sample_weight).error_rate)


def empirical_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    reject_cost: float,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of a point, ``reject_cost * R + E``: what data replication minimises.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.
    reject_cost : float
        Cost of a rejection, between 0 and 1, where a wrong decision costs 1. With two classes, a
        rejection that costs more than 0.5 never pays.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    expected_cost : The same in money, with reviewers who make mistakes.
    ordinal_risk : Errors between ordered classes that cost more the further off they are.

    Examples
    --------
    >>> from rejo.metrics import empirical_risk
    >>> y_true, y_pred = ["bad", "good", "good", "bad"], ["bad", "good", "reject", "good"]
    >>> empirical_risk(y_true, y_pred, reject_label="reject", reject_cost=0.2)
    0.3
    """
    cost = number("reject_cost", reject_cost, 0, 1)
    return float(count_labels(y_true, y_pred, reject_label, sample_weight).risk(cost))


def accepted_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Accuracy on the accepted points, ``(1 - R - E) / (1 - R)``.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` if nothing is accepted, or only points with weight 0.

    See Also
    --------
    error_rate : Wrong decisions as a fraction of all points.
    overall_accuracy : Accuracy where rejections count as right.

    Examples
    --------
    >>> from rejo.metrics import accepted_accuracy
    >>> accepted_accuracy([0, 0, 1, 1, 1], [0, -1, 0, 1, 1], reject_label=-1)
    0.75
    >>> accepted_accuracy([0, 1], [-1, -1], reject_label=-1)
    nan
    """
    return float(count_labels(y_true, y_pred, reject_label, sample_weight).accepted_accuracy)


def overall_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Fraction of the points that are not decided wrongly, ``1 - E``: rejections count as right.

    Cardoso and colleagues plot this accuracy against the rejection rate: what a classifier reaches
    together with a reviewer who is always right.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.

    Returns
    -------
    float
        Between 0 and 1; 1 if everything is rejected.

    See Also
    --------
    accepted_accuracy : Accuracy on the accepted points.

    Examples
    --------
    >>> from rejo.metrics import overall_accuracy
    >>> overall_accuracy([0, 0, 1, 1], [0, -1, 0, 1], reject_label=-1)
    0.75
    """
    counts = count_labels(y_true, y_pred, reject_label, sample_weight)
    return float((counts.right + counts.rejected) / counts.total)


def classification_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_forced: ArrayLike,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Fraction of the points that are rightly accepted or rightly rejected.

    A rejection is right if the decision would have been wrong [1]_: ``(right decisions +
    rejected points that would have been wrong) / N``.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.
    y_forced : array-like of shape (n_samples,)
        Decisions without rejection, from ``predict_forced``. Only those of the rejected points
        are read.

    Returns
    -------
    float
        Between 0 and 1; the accuracy if nothing is rejected.

    References
    ----------
    .. [1] F. Condessa, J. Bioucas-Dias and J. Kovacevic, "Performance measures for classification
       systems with rejection", Pattern Recognition 63, 2017.

    Examples
    --------
    >>> from rejo.metrics import classification_quality
    >>> y_true, y_pred, y_forced = [0, 0, 0, 1, 1], [0, 0, -1, -1, 0], [0, 0, 0, 0, 0]
    >>> classification_quality(y_true, y_pred, y_forced=y_forced, reject_label=-1)
    0.6
    """
    q = _qualities(y_true, y_pred, y_forced, reject_label, sample_weight)
    return (q.right_accepted + q.wrong_rejected) / sum(q)


def rejection_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_forced: ArrayLike,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """How much more frequent errors are among the rejected points than among all points.

    The ratio of wrong to right among the rejected points, had they been decided, divided by the
    same ratio among all points [1]_. Rejecting at random gives 1.

    Parameters
    ----------
    y_true, y_pred, reject_label, sample_weight
        As in :func:`rejection_rate`.
    y_forced : array-like of shape (n_samples,)
        Decisions without rejection, from ``predict_forced``. Only those of the rejected points
        are read.

    Returns
    -------
    float
        Non-negative. ``inf`` if only errors are rejected; ``nan`` if nothing is rejected, or if,
        without rejection, all decisions would be right or all would be wrong.

    References
    ----------
    .. [1] F. Condessa, J. Bioucas-Dias and J. Kovacevic, "Performance measures for classification
       systems with rejection", Pattern Recognition 63, 2017.

    Examples
    --------
    >>> from rejo.metrics import rejection_quality
    >>> y_true, y_pred, y_forced = [0, 0, 0, 1, 1], [0, 0, -1, -1, 0], [0, 0, 0, 0, 0]
    >>> rejection_quality(y_true, y_pred, y_forced=y_forced, reject_label=-1)
    1.5
    """
    ca, ea, cr, er = _qualities(y_true, y_pred, y_forced, reject_label, sample_weight)
    above, below = er * (cr + ca), cr * (er + ea)
    if below > 0:
        return above / below
    return float("inf") if above > 0 else float("nan")


def count_labels(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> Tally:
    """Validate labels and count right decisions, wrong decisions and rejections."""
    found = outcomes(y_true, y_pred, reject_label)
    weight = shares(sample_weight, len(found.true))
    index = np.where(found.rejected, -1, found.right.astype(np.intp))  # 1: right, 0: wrong
    return tally(index, np.ones(len(index), dtype=np.intp), weight)


def _qualities(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    y_forced: ArrayLike,
    reject_label: Any,
    sample_weight: ArrayLike | None,
) -> _Qualities:
    """Validate labels and count right and wrong among the accepted and the rejected."""
    found = outcomes(y_true, y_pred, reject_label)
    weight = shares(sample_weight, len(found.true))
    forced = labels("y_forced", y_forced)
    if len(forced) != len(found.true):
        raise ValueError(
            f"y_true and y_forced must have the same length, got {len(found.true)} and "
            f"{len(forced)}"
        )
    rejected = found.rejected
    if reject_label is not None and np.any(equal(forced[rejected], np.array(reject_label))):
        raise ValueError(
            f"y_forced contains reject_label={reject_label!r}; pass decisions without rejection, "
            "from predict_forced"
        )
    right = rejected & agree(found.true, "y_forced", forced, rejected)
    parts = found.right, found.wrong, right, rejected & ~right
    return _Qualities(*(float(weight[part].sum()) for part in parts))
