"""How good are posteriors? Log loss, and what happened where they said 70 %."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._docs import shared_parameters
from rejo._errors import choice, integer
from rejo._html import table_html
from rejo._typing import Floats, Indices, Mask
from rejo.metrics._labels import (
    SHARED,
    Weights,
    class_list,
    distinct,
    floats,
    labels,
    positions,
    shares,
    weights,
)
from rejo.metrics.intervals import wilson_limits

LEAST = float(np.finfo(np.float64).eps)  # of a posterior in log_loss, as in scikit-learn
SUM = 1e-5  # posteriors of single precision add up to 1 within this
of_posteriors = shared_parameters(
    SHARED,
    """
    p : array-like of shape (n_samples, n_classes) or (n_samples,)
        Posteriors, from ``predict_proba``; of two classes, those of the second are enough.
    classes : array-like of shape (n_classes,), default=None
        Classes of the columns of ``p``, such as ``model.classes_``; by default the sorted labels in
        ``y_true``.
    """,
)


class ReliabilityTable(NamedTuple):
    """Posteriors against what happened, an entry for each bin that is not empty.

    Parameters
    ----------
    n_points : ndarray of shape (n_bins,)
        Number of points in the bin, or the sum of their weights.
    predicted : ndarray of shape (n_bins,)
        Their mean posterior.
    observed : ndarray of shape (n_bins,)
        Share of the points where it came true.
    low, high : ndarray of shape (n_bins,)
        Limits of the Wilson interval of that share.
    error : float
        Expected calibration error: the mean over the points of ``abs(observed - predicted)``.
    """

    n_points: Floats
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    error: float

    def _repr_html_(self) -> str:
        columns = self._asdict()
        error = columns.pop("error")
        notes = [f"Calibration error: {error:.4g}."]
        shares = columns.keys() - {"n_points"}
        return table_html("Predicted and observed", columns, shares=shares, notes=notes)


@of_posteriors
def log_loss(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Mean of ``-log(posterior of the true class)``: the lower, the better the posteriors.

    A posterior of 0 counts as one of 2.2e-16, so that it costs 36.04 and not infinitely much.

    Parameters
    ----------
    %y_true, p, classes, sample_weight

    Returns
    -------
    float
        At least 0; a guess among K equally likely classes has ``log(K)``.

    Examples
    --------
    >>> from rejo.metrics import log_loss
    >>> p = [[0.9, 0.1], [0.4, 0.6]]
    >>> round(log_loss(["good", "bad"], p, classes=["good", "bad"]), 3)
    0.308
    """
    k, p, _ = _checked(y_true, p, classes)
    of_truth = np.take_along_axis(p, k[:, None], axis=1)[:, 0]
    losses = -np.log(np.clip(of_truth, LEAST, 1.0))
    return float(np.average(losses, weights=shares(sample_weight, len(k))))


@of_posteriors
def reliability_table(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    label: Any = None,
    n_bins: int = 10,
    bins: Literal["quantile", "width"] = "quantile",
    confidence: float = 0.95,
    sample_weight: Weights = None,
) -> ReliabilityTable:
    """Compare posteriors with what happened, bin by bin.

    Of the points to which a classifier gives a posterior of about 70 %, about 70 % should be of
    that class :footcite:p:`niculescu2005`. Use points that it was not trained on.

    Parameters
    ----------
    %y_true, p, classes
    label : a class, default=None
        The class whose posterior is checked. ``None``: for each point, the likeliest class.
    n_bins : int, default=10
        Number of bins.
    bins : {"quantile", "width"}, default="quantile"
        Bins with the same number of points, or of the same width. Equal posteriors are always in
        the same bin.
    confidence : float, default=0.95
        Approximate probability that an interval contains the true share.
    %sample_weight

    Returns
    -------
    ReliabilityTable
        Named tuple of arrays, and the expected calibration error :footcite:p:`naeini2015`, which
        is of the order of ``sqrt(n_bins / n_samples)`` by chance.

    Examples
    --------
    >>> from rejo.metrics import reliability_table
    >>> y_true = ["good"] * 9 + ["bad"] * 11
    >>> p = [[0.8, 0.2]] * 10 + [[0.2, 0.8]] * 10
    >>> table = reliability_table(y_true, p, classes=["good", "bad"], label="bad")
    >>> table.n_points, table.predicted, table.observed
    (array([10., 10.]), array([0.2, 0.8]), array([0.1, 1. ]))
    """
    k, p, order = _checked(y_true, p, classes)
    choice("bins", bins, ("quantile", "width"))
    n_bins = integer("n_bins", n_bins, 1)
    weight = weights(sample_weight, len(k))
    score, happened = _events(k, p, order, label)
    keep = weight > 0
    score, happened, weight = score[keep], happened[keep], weight[keep]
    if bins == "width":
        place = np.minimum((score * n_bins).astype(np.intp), n_bins - 1)
    else:
        place = _quantile_bins(score, weight, n_bins)
    _, place = np.unique(place, return_inverse=True)  # without the empty ones
    count: Floats = np.bincount(place, weight).astype(np.float64)
    predicted = np.bincount(place, weight * score) / count
    observed = np.clip(np.bincount(place, weight * happened) / count, 0.0, 1.0)
    n_effective = count**2 / np.bincount(place, weight**2)
    error = float(np.average(np.abs(observed - predicted), weights=count))
    limits = wilson_limits(observed, n_effective, confidence)
    return ReliabilityTable(count, predicted, observed, *limits, error)


def _events(k: Indices, p: Floats, classes: list[Any], label: Any) -> tuple[Floats, Mask]:
    if label is None:
        return p.max(axis=1), p.argmax(axis=1) == k
    (place,) = positions("label", labels("label", [label]), classes)
    return p[:, place], k == place


def _quantile_bins(score: Floats, weight: Floats, n_bins: int) -> Indices:
    """Bin (n_samples,) of each score, by the share of the weight that lies below it."""
    _, place = np.unique(score, return_inverse=True)
    mass = np.bincount(place, weight)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins: Indices = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    return bins[place]


def _checked(
    y_true: ArrayLike, p: ArrayLike, classes: ArrayLike | None
) -> tuple[Indices, Floats, list[Any]]:
    """True classes as columns of ``p``, the posteriors (n_samples, n_classes), and the classes."""
    true, p = labels("y_true", y_true), floats("p", p)
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    if p.shape[:1] != true.shape or p.ndim != 2 or p.shape[1] < 2:
        raise ValueError(
            f"p must have shape ({len(true)}, n_classes), a row for each label in y_true, got "
            f"{p.shape}"
        )
    if not (np.isfinite(p).all() and (p >= -SUM).all() and (p <= 1 + SUM).all()):
        raise ValueError("p must contain probabilities, between 0 and 1")
    sums = p.sum(axis=1)
    if np.abs(sums - 1).max() > SUM * p.shape[1]:
        worst = int(np.abs(sums - 1).argmax())
        raise ValueError(f"the rows of p must add up to 1; row {worst} adds up to {sums[worst]:g}")
    order = distinct(true) if classes is None else class_list(classes)
    if len(order) != p.shape[1]:
        raise ValueError(
            f"p has {p.shape[1]} columns for the {len(order)} classes {order}: pass the classes of "
            "its columns, such as classes=model.classes_"
        )
    return positions("y_true", true, order), np.clip(p, 0.0, 1.0), order
