"""How good is a classifier that may reject? Pure functions on arrays.

A classifier that may reject has three kinds of outcome: right, rejected and wrong. With N points,
the rejection rate is ``R = rejected / N`` and the error rate is ``E = wrong decisions / N``. The
latter is taken over **all** points, not over the accepted ones, so that R, E and the share of right
decisions add up to 1. Most measures are made of these two; what they trade against each other is a
cost, such as the empirical risk ``reject_cost * R + E``, or a curve of one against the other.

Each point may carry a weight; every count is then a sum of weights, and a weight of 2 is the point
twice. The modules, in the order to read them:

``_labels``
    which decisions are right, and which are rejections; checks of labels, weights and numbers
``_tally``
    the one count of right decisions, wrong decisions and rejections
``_rates``
    R, E, the risk, the accuracies, and the qualities of Condessa and colleagues
``_confusion``
    what became of each class; the mean of any loss between ordered classes; crossed boundaries
``_costs``
    the cost of a case in money, after a review that may be wrong too
``_curves``
    what is gained as more points are rejected, for decisions ranked by sureness, and the areas
``_intervals``
    how far a rate, or any other measure, may be off by chance
"""

from rejo.metrics._confusion import crossing_rate, ordinal_risk, reject_confusion_matrix
from rejo.metrics._costs import expected_cost
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
from rejo.metrics._intervals import (
    Interval,
    RateIntervals,
    binomial_upper_bound,
    bootstrap_interval,
    rate_intervals,
    wilson_interval,
)
from rejo.metrics._rates import (
    accepted_accuracy,
    classification_quality,
    empirical_risk,
    error_rate,
    overall_accuracy,
    rejection_quality,
    rejection_rate,
)
from rejo.metrics._tally import Tally, tally

__all__ = [
    "AccuracyRejectCurve",
    "Interval",
    "RateIntervals",
    "RiskCoverageCurve",
    "Tally",
    "accepted_accuracy",
    "accuracy_reject_curve",
    "auarc",
    "augrc",
    "aurc",
    "binomial_upper_bound",
    "bootstrap_interval",
    "classification_quality",
    "crossing_rate",
    "e_aurc",
    "empirical_risk",
    "error_rate",
    "expected_cost",
    "ordinal_risk",
    "overall_accuracy",
    "rate_intervals",
    "reject_confusion_matrix",
    "rejection_quality",
    "rejection_rate",
    "risk_coverage_curve",
    "tally",
    "wilson_interval",
]
