"""What is gained as more points are rejected, for a classifier that ranks its decisions.

A curve has one entry for each distinct sureness, and one for the threshold ``inf``, where
everything is rejected. Points of equal sureness are accepted or rejected together.
"""

from math import log1p
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import choice
from rejo._html import table_html
from rejo._typing import Floats
from rejo.metrics._labels import Weights, check_sureness, forced_outcomes, of_forced, shares

Share = Literal["accepted", "overall"]
SHARES = ("accepted", "overall")


class RiskCoverageCurve(NamedTuple):
    """Risk for each coverage, and the lowest sureness that is accepted, from ``inf`` down."""

    coverage: Floats  # (n_thresholds + 1,) fraction of the points that are accepted
    risk: Floats  # (n_thresholds + 1,)
    threshold: Floats  # (n_thresholds + 1,)

    def _repr_html_(self) -> str:
        return table_html("Risk and coverage", self._asdict(), shares=("coverage", "risk"))


class AccuracyRejectCurve(NamedTuple):
    """Accuracy for each rejection rate, and the lowest sureness that is accepted, up to ``inf``."""

    rejection_rate: Floats  # (n_thresholds + 1,)
    accuracy: Floats  # (n_thresholds + 1,)
    threshold: Floats  # (n_thresholds + 1,)

    def _repr_html_(self) -> str:
        shares = "rejection_rate", "accuracy"
        return table_html("Accuracy and rejection", self._asdict(), shares=shares)


@of_forced
def risk_coverage_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sureness: ArrayLike,
    *,
    sample_weight: Weights = None,
    risk: Share = "accepted",
) -> RiskCoverageCurve:
    """Risk against coverage, for every threshold on the sureness.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight
    risk : {"accepted", "overall"}, default="accepted"
        Wrong decisions as a fraction of the accepted points (selective risk
        :footcite:p:`geifman2017`), or of all points (generalised risk :footcite:p:`traub2024`, the
        error rate E).

    Returns
    -------
    RiskCoverageCurve
        Named tuple of arrays ``coverage``, ``risk``, ``threshold``. The first risk, where nothing
        is accepted, is ``nan`` for "accepted" and 0 for "overall".

    Examples
    --------
    >>> from rejo.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    >>> curve.coverage, curve.risk
    (array([0.  , 0.25, 0.5 , 1.  ]), array([nan, 0. , 0. , 0.5]))
    """
    choice("risk", risk, SHARES)
    ranking = _rank(y_true, y_pred, sureness, sample_weight)
    return ranking if risk == "overall" else ranking._replace(risk=_selective_risk(ranking))


@of_forced
def accuracy_reject_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sureness: ArrayLike,
    *,
    sample_weight: Weights = None,
    accuracy: Share = "accepted",
) -> AccuracyRejectCurve:
    """Accuracy against rejection rate, for every threshold on the sureness.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight
    accuracy : {"accepted", "overall"}, default="accepted"
        Accuracy on the accepted points, as in :func:`accepted_accuracy`; or ``1 - E``, where
        rejections count as right, as in :func:`overall_accuracy`.

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
    choice("accuracy", accuracy, SHARES)
    curve = risk_coverage_curve(
        y_true, y_pred, sureness, sample_weight=sample_weight, risk=accuracy
    )
    return AccuracyRejectCurve(
        (1 - curve.coverage)[::-1], (1 - curve.risk)[::-1], curve.threshold[::-1]
    )


@of_forced
def aurc(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Area under the risk-coverage curve: the mean selective risk over all coverages.

    Without ties this is the mean of the risks at the coverages 1/N, 2/N, ..., 1
    :footcite:p:`geifman2019`. Lower is better; it is the error rate if the sureness is constant.

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
    return _mean_risk(_rank(y_true, y_pred, sureness, sample_weight))


@of_forced
def e_aurc(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Excess of the area under the risk-coverage curve over that of the best ranking.

    With an error rate of ``r`` without rejection, the best ranking puts all right decisions first,
    and the area under its curve is ``r + (1 - r) log(1 - r)`` :footcite:p:`geifman2019`, up to
    ``r / N`` more for N points.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from rejo.metrics import e_aurc
    >>> y_true, y_pred = [0, 1, 1, 0], [0, 1, 0, 1]
    >>> best, worst = [0.9, 0.8, 0.7, 0.6], [0.6, 0.7, 0.8, 0.9]
    >>> round(e_aurc(y_true, y_pred, best), 3), round(e_aurc(y_true, y_pred, worst), 3)
    (0.055, 0.638)
    """
    ranking = _rank(y_true, y_pred, sureness, sample_weight)
    r = float(ranking.risk[-1])
    best = r + (1 - r) * log1p(-r) if r < 1 else 1.0
    return max(_mean_risk(ranking) - best, 0.0)  # rounding alone can make it negative


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
    ranking = _rank(y_true, y_pred, sureness, sample_weight)
    middles = (ranking.risk[1:] + ranking.risk[:-1]) / 2
    return float(np.diff(ranking.coverage) @ middles)


@of_forced
def auarc(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sureness: ArrayLike,
    *,
    sample_weight: Weights = None,
    accuracy: Share = "accepted",
) -> float:
    """Area under the accuracy-reject curve: the mean accuracy over all rejection rates.

    Parameters
    ----------
    %y_true, y_pred, sureness, sample_weight
    accuracy : {"accepted", "overall"}, default="accepted"
        As in :func:`accuracy_reject_curve`.

    Returns
    -------
    float
        ``1 - aurc`` for "accepted", ``1 - augrc`` for "overall"; higher is better.

    Examples
    --------
    >>> from rejo.metrics import auarc
    >>> auarc([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    0.75
    """
    area = aurc if choice("accuracy", accuracy, SHARES) == "accepted" else augrc
    return 1 - area(y_true, y_pred, sureness, sample_weight=sample_weight)


def _rank(
    y_true: ArrayLike, y_pred: ArrayLike, sureness: ArrayLike, sample_weight: Weights
) -> RiskCoverageCurve:
    """Check the arguments, and accumulate errors from the surest point to the least sure."""
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
    return RiskCoverageCurve(
        np.append(0.0, accepted / total),
        np.append(0.0, wrong / total),
        np.append(np.inf, score[last]),
    )


def _selective_risk(ranking: RiskCoverageCurve) -> Floats:
    """Errors as a fraction of the accepted points; ``nan`` first, where none is accepted."""
    return np.append(np.nan, ranking.risk[1:] / ranking.coverage[1:])


def _mean_risk(ranking: RiskCoverageCurve) -> float:
    # The risk is undefined at coverage 0, so there is no trapezoid: each step has the risk at its
    # right end.
    return float(np.diff(ranking.coverage) @ _selective_risk(ranking)[1:])
