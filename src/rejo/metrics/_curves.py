"""What is gained as more points are rejected, for a classifier that ranks its decisions.

The curve has one entry for each distinct sureness, and one for the threshold ``inf``, where
everything is rejected. Points of equal sureness are accepted or rejected together.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import choice
from rejo._html import table_html
from rejo._typing import Floats
from rejo.metrics._labels import Weights, check_sureness, forced_outcomes, of_forced, shares


class AccuracyRejectCurve(NamedTuple):
    """Accuracy for each rejection rate, and the lowest sureness that is accepted, up to ``inf``."""

    rejection_rate: Floats  # (n_thresholds + 1,)
    accuracy: Floats  # (n_thresholds + 1,)
    threshold: Floats  # (n_thresholds + 1,)

    def _repr_html_(self) -> str:
        shares = "rejection_rate", "accuracy"
        return table_html("Accuracy and rejection", self._asdict(), shares=shares)


@of_forced
def accuracy_reject_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sureness: ArrayLike,
    *,
    sample_weight: Weights = None,
    accuracy: Literal["accepted", "overall"] = "accepted",
) -> AccuracyRejectCurve:
    """Accuracy against rejection rate, for every threshold on the sureness.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight
    accuracy : {"accepted", "overall"}, default="accepted"
        Accuracy on the accepted points, as in :func:`accepted_accuracy` (1 minus the selective risk
        of :footcite:t:`geifman2017`); or ``1 - E``, where rejections count as right.

    Returns
    -------
    AccuracyRejectCurve
        Named tuple of arrays ``rejection_rate``, ``accuracy``, ``threshold``
        :footcite:p:`nadeem2010`. The last accuracy, where everything is rejected, is ``nan`` for
        "accepted" and 1 for "overall".

    Examples
    --------
    >>> from rejo.metrics import accuracy_reject_curve
    >>> curve = accuracy_reject_curve([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    >>> curve.rejection_rate, curve.accuracy
    (array([0.  , 0.5 , 0.75, 1.  ]), array([0.5, 1. , 1. , nan]))
    """
    choice("accuracy", accuracy, ("accepted", "overall"))
    coverage, risk, threshold = _rank(y_true, y_pred, sureness, sample_weight)
    if accuracy == "accepted":
        risk = _selective(coverage, risk)
    return AccuracyRejectCurve((1 - coverage)[::-1], (1 - risk)[::-1], threshold[::-1])


@of_forced
def aurc(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under the risk-coverage curve: the mean share of errors among the accepted points.

    Without ties this is the mean at the coverages 1/N, 2/N, ..., 1 :footcite:p:`geifman2019`. Lower
    is better; it is the error rate if the sureness is constant.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import aurc
    >>> aurc([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    0.25
    """
    coverage, risk, _ = _rank(y_true, y_pred, sureness, sample_weight)
    # Undefined at coverage 0, so there is no trapezoid: each step has the risk at its right end.
    return float(np.diff(coverage) @ _selective(coverage, risk)[1:])


@of_forced
def augrc(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under the generalised risk-coverage curve: the mean error rate E over all coverages.

    Errors are a fraction of all points, so the few surest points do not dominate, as they do in
    :func:`aurc` :footcite:p:`traub2024`.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight

    Returns
    -------
    float
        Between 0 and 1/2; lower is better. Half the error rate if the sureness is constant.

    Examples
    --------
    >>> from rejo.metrics import augrc
    >>> augrc([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    0.125
    """
    coverage, risk, _ = _rank(y_true, y_pred, sureness, sample_weight)
    return float(np.diff(coverage) @ ((risk[1:] + risk[:-1]) / 2))


def _rank(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, sample_weight: Weights
) -> tuple[Floats, Floats, Floats]:
    """Return coverages, rising, with the error rate E and the threshold of each."""
    found = forced_outcomes(y_true, y_pred)
    weight = shares(sample_weight, len(found.true))
    score = check_sureness(sureness, len(found.true))
    order = np.argsort(-score, kind="stable")
    order = order[weight[order] > 0]
    score = score[order]
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))  # of each run of equal scores
    accepted = np.cumsum(weight[order])[last]
    wrong = np.cumsum((weight * found.wrong)[order])[last]
    total = accepted[-1]
    return (
        np.append(0.0, accepted / total),
        np.append(0.0, wrong / total),
        np.append(np.inf, score[last]),
    )


def _selective(coverage: Floats, risk: Floats) -> Floats:
    """Errors as a fraction of the accepted points; ``nan`` first, where none is accepted."""
    return np.append(np.nan, risk[1:] / coverage[1:])
