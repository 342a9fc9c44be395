"""What can be guaranteed about a rate, from cases that the candidates have never seen.

The candidates are fixed before anyone looks at the calibration cases.  If ``e`` of the ``n`` cases
that count for a candidate are bad, its true rate is at most ``beta.ppf(1 - delta, e + 1, n - e)``
with probability ``1 - delta``, for any distribution of the data (Clopper and Pearson).  With
``delta / k`` in place of ``delta``, the bounds of all ``k`` candidates hold at once.  Candidates
that are tested in an order which was settled before take no correction, if the first that fails
ends the test (:mod:`rejo.selection.sequences`).
"""

from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError
from rejo._html import table_html
from rejo._state import check_fields, count, maybe, number, one_of, require, storable, text


class TargetUnattainable(RejoError):
    """No candidate reaches the target; the message says what is attainable.

    Parameters
    ----------
    problem : str
        What is wrong.
    attainable : float, default=nan
        The lowest value of the rate that could be asked for.  With a confidence, it can be
        promised; by cross-validation it is the best of many cuts, so expect more of new cases.
    reject_cost : float, default=nan
        The reject cost at which it is attained.
    **parts : str
        ``parameter`` that sets the target, and ``remedy``, what to do about it.

    Attributes
    ----------
    attainable, reject_cost : float
        As given.
    problem, parameter, remedy : str
        Parts of the message.

    See Also
    --------
    RejectClassifierCV : Raises it.
    rejo.metrics.cases_needed : How many cases a promise needs.
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

    Parameters
    ----------
    rate : {"rejection_rate", "error_rate", "accepted_error_rate", "mean_cost"}
        What is bounded.
    bound : float
        The upper bound.
    target : float or None
        The limit that was asked for; None if the bound says what was found.
    confidence : float
        Probability, at least, that the bound holds.
    n_cases : int
        Calibration cases that count: all, or the decided ones.
    n_candidates : int
        Number of candidates from which the model was chosen.
    by : {"class", "decision", "group"}, default=None
        If it is about some of the cases: what distinguishes them.
    value : str, default=None
        The class or group.
    rests_on : str, default="random"
        How calibration cases were chosen; :attr:`assumption` says what follows.

    Attributes
    ----------
    assumption : str
        What it rests on, in a sentence.

    See Also
    --------
    rejo.RejectClassifierCV : Gives guarantees if it has a ``confidence``.
    rejo.metrics.binomial_upper_bound : The bound of a single rate.
    """

    rate: str
    bound: float
    target: float | None
    confidence: float
    n_cases: int
    n_candidates: int
    by: str | None = None
    value: str | None = None
    rests_on: str = "random"

    @property
    def assumption(self) -> str:
        """What it rests on, in a sentence."""
        return ASSUMPTIONS[self.rests_on]

    def _repr_html_(self) -> str:
        about = {} if self.by is None else {f"of {self.by}": [self.value]}
        columns = {
            "rate": [self.rate], **about, "at most": [self.bound], "asked for": [self.target],
            "confidence": [self.confidence], "cases": [self.n_cases],
        }  # fmt: skip
        shares = {"confidence"} if self.rate == "mean_cost" else {*columns} - {"cases"}
        return table_html("Guarantee", columns, shares=shares, notes=[self.assumption])

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
        require((self.by is None) == (self.value is None), self, "it does not say what it is about")
