"""What to expect of new cases, with prediction intervals."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import betabinom, chi2

from rejo._state import require, storable
from rejo._typing import Floats
from rejo.metrics import Interval
from rejo.selection.path import ROUNDING, RejectCurve


@storable
class Expected(NamedTuple):
    """Rates in a batch of ``n_cases`` new cases: an estimate, and a prediction interval.

    The interval is for the rate *of the batch*, not for the true rate: it allows for what is not
    known about the true rate, and for chance in the batch.
    """

    rejection_rate: Interval[float]  # rejected / all
    error_rate: Interval[float]  # decided wrongly / all
    accepted_error_rate: Interval[float]  # decided wrongly / decided
    n_cases: int
    confidence: float  # approximate probability that a rate falls in its interval

    def _check_state(self) -> None:
        fine = isinstance(self.confidence, float) and 0 < self.confidence < 1
        fine = fine and isinstance(self.n_cases, Integral) and self.n_cases >= 1
        for interval in self[:3]:
            fine = fine and isinstance(interval, tuple) and len(interval) == 3
            fine = fine and all(isinstance(rate, float) for rate in interval)
            fine = fine and not any(rate < 0 or rate > 1 for rate in interval)  # it may be NaN
        require(fine, self, "what it expects is malformed")

    def _restored(self) -> Expected:
        """Name the parts of the intervals again, which come from a file as plain tuples."""
        return Expected._make([*(Interval(*part) for part in self[:3]), *self[3:]])


def effective_size(
    curve: RejectCurve,
    sample_weight: Floats | None,
    n_samples: int,
    chosen: int,
    groups: Any = None,
) -> float:
    """Return the number of independent cases that cross-validated estimates are worth.

    The training sets of ``J`` folds overlap, and the model that will be used is yet another one.
    Nadeau and Bengio (2003) estimate the variance of a mean over the folds as
    ``1 / J + n_test / n_train`` times that of one fold, instead of ``1 / J`` times: with five
    folds, ``n`` cases are worth ``n / 2.25``.  This holds for folds that differ by chance alone.
    If the rates of the ``chosen`` candidate differ by more, because its reject region changes from
    one training set to the next, the cases are worth proportionally less.  Cases of one group may
    all be right or wrong together, so a group is worth one case.
    """
    n = float(n_samples)
    total = n
    if sample_weight is not None:
        total = float(sample_weight.sum())
        n = total**2 / float(sample_weight @ sample_weight)  # Kish
    if groups is not None:
        n *= len(np.unique(groups)) / n_samples
    share = float(curve.sizes.mean()) / total
    if share >= 1:
        raise ValueError(
            "cv tests on all cases, which leaves none to learn from: give cv=5, for example."
        )
    size = n * share / (1.0 / len(curve.sizes) + share / (1.0 - share))
    cases = curve.sizes * n / total  # (n_folds,)
    rates = curve.rejection_rates[chosen], curve.error_rates[chosen]
    return size / max(_dispersion(rate, cases) for rate in rates)


def _dispersion(rates: Floats, cases: Floats) -> float:
    """Variance over the folds / variance expected by chance; 1 if chance can explain it."""
    mean = np.average(rates, weights=cases)
    freedom = len(rates) - 1
    if not (0 < mean < 1 and freedom > 0):
        return 1.0
    total = float(cases @ (rates - mean) ** 2 / (mean * (1 - mean)))  # chi-square by chance
    return max(1.0, total / freedom) if total > chi2.ppf(0.95, freedom) else 1.0


def expect(
    rejection_rate: float, error_rate: float, size: float, n_cases: int, confidence: float
) -> Expected:
    """Predict the rates of ``n_cases`` new cases from rates observed in ``size`` cases."""
    decided = 1.0 - rejection_rate
    accepted = error_rate / decided if decided > ROUNDING else np.nan
    return Expected(
        _predict(rejection_rate, size, n_cases, confidence),
        _predict(error_rate, size, n_cases, confidence),
        _predict(accepted, size * decided, round(n_cases * decided), confidence),
        n_cases,
        confidence,
    )


def _predict(rate: float, size: float, n_cases: int, confidence: float) -> Interval[float]:
    """Beta-binomial prediction, from Jeffreys' prior."""
    if np.isnan(rate) or n_cases == 0:
        return Interval(rate, 0.0, 1.0)
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    low, high = betabinom.ppf(tails, n_cases, rate * size + 0.5, (1 - rate) * size + 0.5) / n_cases
    return Interval(rate, float(min(low, rate)), float(max(high, rate)))
