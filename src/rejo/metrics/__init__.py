"""How good is a classifier that may reject? Pure functions on arrays.

With N points, the rejection rate is ``R = rejected / N`` and the error rate is ``E = wrong
decisions / N``, over **all** points, so R, E and the fraction of right decisions add up to 1. Most
measures combine these two, into a cost such as the empirical risk ``reject_cost * R + E``, or into
a curve of one against the other.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.metrics._confusion import crossing_rate, ordinal_risk, reject_confusion_matrix
from rejo.metrics._curves import (
    AccuracyRejectCurve,
    RiskCoverageCurve,
    accuracy_reject_curve,
    auarc,
    augrc,
    aurc,
    e_aurc,
    risk_coverage_curve,
)
from rejo.metrics._disparity import AccuracyGap, DisparityCurve, accuracy_gap, disparity_curve
from rejo.metrics._labels import check_mask, outcomes
from rejo.metrics._probabilities import ReliabilityTable, log_loss, reliability_table
from rejo.metrics._rates import (
    accepted_accuracy,
    classification_quality,
    empirical_risk,
    error_rate,
    expected_cost,
    overall_accuracy,
    rejection_quality,
    rejection_rate,
)
from rejo.metrics._tally import Tally, tally
from rejo.metrics.bounds import (
    binomial_p_values,
    binomial_upper_bound,
    binomial_upper_bounds,
    cases_needed,
    mean_upper_bound,
)
from rejo.metrics.intervals import (
    Interval,
    RateIntervals,
    bootstrap_interval,
    intervals_html,
    rate_intervals,
    wilson_interval,
    wilson_limits,
)

__all__ = [
    "AccuracyGap",
    "AccuracyRejectCurve",
    "DisparityCurve",
    "Interval",
    "RateIntervals",
    "ReliabilityTable",
    "RiskCoverageCurve",
    "Tally",
    "accepted_accuracy",
    "accuracy_gap",
    "accuracy_reject_curve",
    "auarc",
    "augrc",
    "aurc",
    "binomial_upper_bound",
    "bootstrap_interval",
    "cases_needed",
    "classification_quality",
    "crossing_rate",
    "disparity_curve",
    "e_aurc",
    "empirical_risk",
    "error_rate",
    "expected_cost",
    "log_loss",
    "mean_upper_bound",
    "ordinal_risk",
    "overall_accuracy",
    "rate_intervals",
    "reject_confusion_matrix",
    "rejection_quality",
    "rejection_rate",
    "reliability_table",
    "risk_coverage_curve",
    "tally",
    "wilson_interval",
]
