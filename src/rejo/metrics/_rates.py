"""Rates, the costs that combine them, and the qualities of Condessa and colleagues."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import number
from rejo.metrics._labels import Weights, agree, described, labels, outcomes, shares
from rejo.metrics._tally import Tally, tally
from rejo.prices import CasePrices, case_costs, price_of


@described
def rejection_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Fraction of the points that are rejected, ``R = rejected / N``.

    Parameters
    ----------
    %y_true, y_pred, reject_label, classes, sample_weight

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import rejection_rate
    >>> rejection_rate([0, 0, 1, 1], [0, -1, 0, 1])
    0.25
    """
    return float(count_labels(y_true, y_pred, reject_label, classes, sample_weight).rejection_rate)


@described
def error_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Wrong decisions as a fraction of *all* points, ``E = wrong / N``; rejections are not errors.

    Parameters
    ----------
    %y_true, y_pred, reject_label, classes, sample_weight

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import error_rate
    >>> error_rate([0, 0, 1, 1], [0, -1, 0, 1])
    0.25
    """
    return float(count_labels(y_true, y_pred, reject_label, classes, sample_weight).error_rate)


@described
def empirical_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_cost: float,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Mean cost of a point, ``reject_cost * R + E``.

    This is the risk of :footcite:t:`chow1970`.

    Parameters
    ----------
    %y_true, y_pred
    reject_cost : float
        Cost of a rejection, between 0 and 1, where a wrong decision costs 1.
    %reject_label, classes, sample_weight

    Returns
    -------
    float
        Lower is better.

    Examples
    --------
    >>> from rejo.metrics import empirical_risk
    >>> y_true, y_pred = ["bad", "good", "good", "bad"], ["bad", "good", "reject", "good"]
    >>> empirical_risk(y_true, y_pred, reject_cost=0.2)
    0.3
    """
    cost = number("reject_cost", reject_cost, 0, 1)
    return float(count_labels(y_true, y_pred, reject_label, classes, sample_weight).risk(cost))


@described
def expected_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    cost_of: Any = None,
    prices: Any = None,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Mean cost of a case: wrong decisions, reviews, and the reviewers' own errors.

    Parameters
    ----------
    %y_true, y_pred
    cost_of : dict, str, path, DataFrame or array-like
        Prices in any form of :func:`rejo.prices.price_matrix`; a review by someone who is right
        with probability ``accuracy`` costs ``review + (1 - accuracy) * error``.
    prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
        Prices of each case, or the columns that the formulas of ``cost_of`` name.
    %reject_label
    classes : array-like of shape (n_classes,), default=None
        All classes, lowest first, such as ``model.classes_``: needed if ``y_true`` may lack one, if
        ``cost_of`` is a matrix, or a price per step between classes that are not numbers.
    %sample_weight

    Returns
    -------
    float
        In the unit of the prices; lower is better.

    Examples
    --------
    >>> from rejo.metrics import expected_cost
    >>> y_true, y_pred = ["ill", "ill", "well", "well"], ["ill", "well", "well", "review"]
    >>> costs = {"error": {"ill": 4000, "well": 200}, "review": 100, "accuracy": 0.9}
    >>> expected_cost(y_true, y_pred, cost_of=costs)
    1030.0
    >>> expected_cost(y_true, y_pred, cost_of="ill>well=4000,well>ill=200,review=100")
    1025.0
    >>> stays = {"days": [2, 3, 1, 8]}
    >>> expected_cost(y_true, y_pred, cost_of="error=1000*days,review=100", prices=stays)
    775.0
    """
    found = outcomes(y_true, y_pred, reject_label, classes)
    weight = shares(sample_weight, len(found.true))
    cases = found.coded(classes)
    ordered = classes is not None or not any(isinstance(k, (str, bytes)) for k in cases[0])
    by = CasePrices.of(cost_of, prices, ordered=ordered)
    if by is None:
        cost = case_costs(cost_of, *cases, ordered=ordered)
    else:
        cost = price_of(by.learned(cases[0], None, prices, len(weight)), *cases[1:])
    return float(np.average(cost, weights=weight))


@described
def accepted_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Accuracy on the accepted points, ``(1 - R - E) / (1 - R)``; NaN if none is accepted.

    Parameters
    ----------
    %y_true, y_pred, reject_label, classes, sample_weight

    Returns
    -------
    float
        Between 0 and 1, or NaN.

    Examples
    --------
    >>> from rejo.metrics import accepted_accuracy
    >>> accepted_accuracy([0, 0, 1, 1, 1], [0, -1, 0, 1, 1])
    0.75
    """
    counts = count_labels(y_true, y_pred, reject_label, classes, sample_weight)
    return float(counts.accepted_accuracy)


@described
def overall_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Accuracy together with a reviewer who is always right, ``1 - E``: rejections are right.

    Parameters
    ----------
    %y_true, y_pred, reject_label, classes, sample_weight

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import overall_accuracy
    >>> overall_accuracy([0, 0, 1, 1], [0, -1, 0, 1])
    0.75
    """
    counts = count_labels(y_true, y_pred, reject_label, classes, sample_weight)
    return float((counts.right + counts.rejected) / counts.total)


@described
def classification_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_forced: ArrayLike,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Fraction of the points that are rightly accepted or rightly rejected.

    A rejection is right if the decision would have been wrong :footcite:p:`condessa2017`. Without
    rejections this is the accuracy.

    Parameters
    ----------
    %y_true, y_pred, y_forced, reject_label, classes, sample_weight

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    Examples
    --------
    >>> from rejo.metrics import classification_quality
    >>> y_true, y_pred, y_forced = [0, 0, 0, 1, 1], [0, 0, -1, -1, 0], [0, 0, 0, 0, 0]
    >>> classification_quality(y_true, y_pred, y_forced=y_forced)
    0.6
    """
    ca, ea, cr, er = _qualities(y_true, y_pred, y_forced, reject_label, classes, sample_weight)
    return (ca + er) / (ca + ea + cr + er)


@described
def rejection_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_forced: ArrayLike,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """How much more frequent errors are among the rejected points than among all points.

    The ratio of wrong to right among the rejected points, had they been decided, divided by the
    same ratio among all points :footcite:p:`condessa2017`. Rejecting at random gives 1.

    Parameters
    ----------
    %y_true, y_pred, y_forced, reject_label, classes, sample_weight

    Returns
    -------
    float
        Non-negative. ``inf`` if only errors are rejected; ``nan`` if nothing is rejected, or if,
        without rejection, all decisions would be right or all would be wrong.

    Examples
    --------
    >>> from rejo.metrics import rejection_quality
    >>> y_true, y_pred, y_forced = [0, 0, 0, 1, 1], [0, 0, -1, -1, 0], [0, 0, 0, 0, 0]
    >>> rejection_quality(y_true, y_pred, y_forced=y_forced)
    1.5
    """
    ca, ea, cr, er = _qualities(y_true, y_pred, y_forced, reject_label, classes, sample_weight)
    above, below = er * (cr + ca), cr * (er + ea)
    if below > 0:
        return above / below
    return float("inf") if above > 0 else float("nan")


def count_labels(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    reject_label: Any,
    classes: ArrayLike | None,
    sample_weight: Weights = None,
) -> Tally:
    found = outcomes(y_true, y_pred, reject_label, classes)
    weight = shares(sample_weight, len(found.true))
    index = np.where(found.rejected, -1, found.right.astype(np.intp))  # 1: right, 0: wrong
    return tally(index, np.ones(len(index), dtype=np.intp), weight)


def _qualities(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    y_forced: ArrayLike,
    reject_label: Any,
    classes: ArrayLike | None,
    sample_weight: Weights,
) -> list[float]:
    """Count right accepted, wrong accepted, right rejected and wrong rejected points."""
    found = outcomes(y_true, y_pred, reject_label, classes)
    weight = shares(sample_weight, len(found.true))
    forced = labels("y_forced", y_forced)
    if len(forced) != len(found.true):
        raise ValueError(
            f"y_true and y_forced must have the same length, got {len(found.true)} and "
            f"{len(forced)}"
        )
    rejected = found.rejected
    if found.reject_label in forced[rejected].tolist():
        raise ValueError(
            f"y_forced contains reject_label={found.reject_label!r}; pass decisions without "
            "rejection, from predict_forced"
        )
    right = rejected & agree(found.true, "y_forced", forced, rejected)
    parts = found.right, found.wrong, right, rejected & ~right
    return [float(weight[part].sum()) for part in parts]
