"""What can be guaranteed about a rate, from cases that the candidates have never seen.

The candidates are fixed before anyone looks at the calibration cases.  If ``e`` of the ``n`` cases
that count for a candidate are bad, its true rate is at most ``beta.ppf(1 - delta, e + 1, n - e)``
with probability ``1 - delta``, exactly and for any distribution of the data (Clopper and Pearson).
With ``delta / k`` in place of ``delta``, the bounds of all ``k`` candidates hold at once, so you
can choose any candidate, and any target, after looking at them.  This is the selective guaranteed
risk of Geifman and El-Yaniv (2017), with fits in place of thresholds.  Candidates that are tested
in an order which was settled before take no correction, if the first that fails ends the test: it
goes wrong only if the first one whose true rate is above the limit passes (Angelopoulos et al.,
Learn then Test).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import RejoError, renamed
from rejo._state import check_fields, count, maybe, number, one_of, require, storable, text
from rejo._typing import Floats
from rejo.metrics import binomial_upper_bound


class TargetUnattainable(RejoError):
    """No candidate reaches the target; the message says what is attainable.

    Attributes
    ----------
    attainable : float
        The lowest value of the rate that could be asked for.  With a confidence, it can be
        promised; by cross-validation it is the best of many cuts, so expect more of new cases.
    reject_cost : float
        The reject cost at which it is attained.
    problem, parameter, remedy
        What is wrong, the parameter that sets the target, and what to do about it.
    """

    def __init__(
        self, problem: str, attainable: float = np.nan, reject_cost: float = np.nan, **parts: Any
    ) -> None:
        super().__init__(problem, **parts)
        self.attainable, self.reject_cost = attainable, reject_cost


ASSUMPTIONS = {
    "random": "This holds if new cases are drawn from the same population as these, independently "
    "of each other.",
    "one_each": "This holds for one case of a new group (a person, a thing) that is drawn from the "
    "same population as these, and not for all cases of one group.",
    "latest": "This holds as long as new cases are like the latest cases, which proved it.",
    "latest_one_each": "This holds for one case of a new group (a person, a thing), as long as new "
    "groups are like the latest, which proved it.",
}


@storable
class Guarantee(NamedTuple):
    """With probability ``confidence`` over the data, the true rate is at most ``bound``.

    If there are several, all of them hold at once with this probability.
    """

    rate: str  # "rejection_rate", "error_rate", "accepted_error_rate" or "mean_cost"
    bound: float
    target: float | None  # the limit that was asked for; None if the bound says what was found
    confidence: float
    n_cases: int  # calibration cases that count: all, or the decided ones
    n_candidates: int  # from which the model was chosen
    by: str | None = None  # "class", "decision" or "group", if it is about some of the cases
    value: str | None = None  # the class or group
    rests_on: str = "random"  # how calibration cases were chosen

    @property
    def assumption(self) -> str:
        """What it rests on, in a sentence."""
        return ASSUMPTIONS[self.rests_on]

    def _check_state(self) -> None:
        """The name of a rate, shares or a cost, counts, and what it is about."""
        rates = one_of("rejection_rate", "error_rate", "accepted_error_rate", "mean_cost")
        check_fields(self, rate=rates)
        share = number() if self.rate == "mean_cost" else number(0.0, 1.0)
        check_fields(
            self,
            bound=share,
            target=maybe(share),
            confidence=number(1e-9, 1 - 1e-15),
            n_cases=count(0, 1 << 53),
            n_candidates=count(1),
            by=one_of(None, "class", "decision", "group"),
            value=maybe(text()),
            rests_on=one_of(*ASSUMPTIONS),
        )
        require((self.by is None) == (self.value is None), self, "it is about nobody knows whom")


@renamed(n="n_samples")
def simultaneous_bounds(bad: ArrayLike, n_samples: ArrayLike, confidence: float = 0.95) -> Floats:
    """Upper bounds for the true rates of all candidates that hold at once.

    Parameters
    ----------
    bad : array-like of int of shape (n_candidates,)
        Bad cases among those that count: errors, or rejections.
    n_samples : array-like of int of shape (n_candidates,)
        Calibration cases that count.
    confidence : float, default=0.95
        Probability, at least, that all bounds hold.

    Returns
    -------
    bounds : ndarray of shape (n_candidates,)
        1 where no case counts.

    Examples
    --------
    >>> from rejo.selection.guarantee import simultaneous_bounds
    >>> simultaneous_bounds([0, 2], [100, 200], confidence=0.9).round(3)
    array([0.03 , 0.031])
    """
    bad, total = np.atleast_1d(bad), np.atleast_1d(n_samples)
    each = 1.0 - (1.0 - confidence) / len(bad)
    return np.array(
        [binomial_upper_bound(int(e), int(m), each) for e, m in zip(bad, total, strict=True)]
    )
