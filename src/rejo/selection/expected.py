"""What to expect of new cases, with prediction intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import betabinom

from rejo._state import check_fields, count, number, require, storable
from rejo._typing import Floats
from rejo.metrics import Interval, intervals_html
from rejo.selection.crossfit import CrossFit, cut_rates
from rejo.selection.path import ROUNDING, RejectCurve


@storable
class Expected(NamedTuple):
    """Rates in a batch of ``n_cases`` new cases: an estimate, and a prediction interval.

    The interval is for the rate of the batch: it also allows for chance in the batch.
    """

    rejection_rate: Interval[float]  # rejected / all
    error_rate: Interval[float]  # decided wrongly / all
    accepted_error_rate: Interval[float]  # decided wrongly / decided
    n_cases: int
    confidence: float  # approximate probability that a rate falls in its interval

    def _repr_html_(self) -> str:
        title = f"Expected of {self.n_cases:,} new cases"
        return intervals_html(title, dict(zip(self._fields, self[:3], strict=False)))

    def _check_state(self) -> None:
        """Three intervals of shares, a count and a share."""
        check_fields(self, n_cases=count(1, 1 << 53), confidence=number(1e-9, 1 - 1e-15))
        for interval in self[:3]:
            fine = isinstance(interval, tuple) and len(interval) == 3
            fine = fine and all(isinstance(rate, float) for rate in interval)
            fine = fine and not any(rate < 0 or rate > 1 for rate in interval)  # it may be NaN
            require(fine, self, "what it expects is malformed")

    def _restored(self) -> Expected:
        """Name the parts of the intervals again, which come from a file as plain tuples."""
        return Expected._make([*(Interval(*part) for part in self[:3]), *self[3:]])


def effective_sizes(
    curve: RejectCurve,
    chosen: int,
    cases: float,
    *,
    tested: float = 1.0,
    drift: tuple[float, float] | None = None,
    luck: float = 0.0,
    held_out: tuple[float, float, int] | None = None,
) -> tuple[float, float]:
    """Return how many independent cases the estimates are worth: of rejections, and of errors.

    A rate ``r`` that was estimated in ``J`` folds of ``n`` cases differs from that of the model on
    all cases for five reasons, and their variances add up.

    - Chance in the cases, ``r (1 - r) / n``, and ``rho = n_test / n_train`` of it for what the
      models of the folds do not share with that on all cases; twice that without the third.
    - A reject region that jumps from one training set to the next: ``1 / J + rho`` times
      the variance over the folds (Nadeau and Bengio 2003) as far as it exceeds 1.5 times what
      chance explains.
    - Models of the folds learn from fewer cases: nine tenths of ``drift``, which
      :func:`learning_drift` estimates for both rates.  ``None`` if it is not known.
    - A cut that was chosen because its error rate was low enough: chance in the cases, ``luck``
      times more, of that rate; see :func:`~rejo.selection.cuts.luck_of`.
    - If the model decided ``held_out`` cases (both rates, and their number): the square of how far
      their rate is from that of the folds, as far as it exceeds chance.

    ``cases`` is the number of independent cases, and ``tested`` the number of tests / number of
    cases.
    """
    J, sizes = len(curve.sizes), curve.sizes
    share = float(sizes.mean() / sizes.sum()) * tested if J > 1 else tested
    if share >= 1:
        raise ValueError(
            "cv tests on all cases, which leaves none to learn from: give cv=5, for example."
        )
    rho = share / (1.0 - share)
    n = cases * min(tested, 1.0)
    found = []
    for i, rates in enumerate((curve.rejection_rates[chosen], curve.error_rates[chosen])):
        rate = float(np.average(rates, weights=sizes))
        v = max(rate * (1 - rate), (1 - 1 / n) / n)  # of no cases and of one: the same
        known = drift is not None
        variance = (1 + (rho if known else 2 * rho)) * v / n
        if J > 1:
            spread = float(np.average((rates - rate) ** 2, weights=sizes)) * J / (J - 1)
            chance = v * J / (cases * tested)  # in a fold of average size
            variance += (1 / J + rho) * max(0.0, spread - 1.5 * chance)
        if drift is not None:
            variance += (0.9 * drift[i]) ** 2
        if i == 1:
            variance += luck * v / n
        if held_out is not None:
            chance = v / held_out[2] + variance
            variance += max(0.0, (held_out[i] - rate) ** 2 - chance)
        found.append(float(v / variance))
    return found[0], found[1]


def independent_cases(n_samples: int, sample_weight: Floats | None, groups: Any = None) -> float:
    """Number of cases of equal weight that these are worth; a group is worth one case."""
    n = float(n_samples)
    if sample_weight is not None:
        n = float(sample_weight.sum()) ** 2 / float(sample_weight @ sample_weight)  # Kish
    return n if groups is None else n * len(np.unique(groups)) / n_samples


def learning_drift(
    crossfit: CrossFit, prices: Floats, cut: float, share: float
) -> tuple[float, float]:
    """Estimate how the rates change if a model learns from all cases instead of ``share`` of them.

    The power ``b`` to which the posteriors must be raised to fit the cases says how far they are
    too extreme, below 1, or not extreme enough.  What is missing to 1 shrinks like one over the
    number of training cases; it counts up to 0.15, beyond which it says more about the learner.
    """
    log_p = np.log(np.clip(crossfit.p, 1e-7, 1.0))
    own = np.arange(len(log_p)), crossfit.y

    def loss(b: float) -> float:
        return -float(np.average(log_softmax(b * log_p, axis=1)[own], weights=crossfit.weight))

    b = float(minimize_scalar(loss, bounds=(0.85, 1.15), method="bounded").x)
    later = softmax(b / (1 - share * (1 - b)) * log_p, axis=1)
    before, after = (cut_rates(crossfit._replace(p=p), prices, cut) for p in (crossfit.p, later))
    return after[0] - before[0], after[1] - before[1]


def expect(
    rejection_rate: float,
    error_rate: float,
    size: float | tuple[float, float],
    n_cases: int,
    confidence: float,
) -> Expected:
    """Predict the rates of ``n_cases`` new cases from rates observed in ``size`` cases.

    ``size`` may be two numbers: one for the rejection rate and one for the error rate.
    """
    of_rejections, of_errors = size if isinstance(size, tuple) else (size, size)
    decided = 1.0 - rejection_rate
    accepted = error_rate / decided if decided > ROUNDING else np.nan
    return Expected(
        _predict(rejection_rate, of_rejections, n_cases, confidence),
        _predict(error_rate, of_errors, n_cases, confidence),
        _predict(accepted, of_errors * decided, round(n_cases * decided), confidence),
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
