"""What a manager asks for: a budget, an allowed error or prices, checked, as numbers."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError
from rejo._state import check_fields, maybe, number, one_of, storable
from rejo._typing import Floats
from rejo.decisions import uniform_prices
from rejo.prices import price_matrix, reject_cost_of
from rejo.selection.folds import highest_reject_cost

LIMITS = (  # any of them may be asked for together
    "max_error",
    "review_budget",
    "max_error_by_class",
    "max_error_by_decision",
    "max_error_by_group",
    "review_budget_by_group",
    "max_cost",
)
TARGETS = (*LIMITS, "reject_cost", "cost_of")
RATES = {
    "rejection_rate": "share of cases that go to review",
    "error_rate": "share of all cases that are decided wrongly",
    "accepted_error_rate": "share of wrong decisions among the decided cases",
}


@storable
class Target(NamedTuple):
    """A rate to keep below a limit, or a price."""

    name: str  # of the parameter
    rate: str | None  # the rate that it limits; None if the price is given, or a cost limited
    limit: float  # of that rate, or the price; the lowest, if it differs from group to group
    highest: float | None = None  # and then the highest

    @property
    def limits_errors(self) -> bool:
        """Whether it limits a rate of errors, of all cases or of the decided ones."""
        return self.rate in ("error_rate", "accepted_error_rate")

    def _check_state(self) -> None:
        """The names of a target and of a rate, and a number."""
        check_fields(
            self, name=one_of(*TARGETS), rate=maybe(one_of(*RATES)), limit=number(),
            highest=maybe(number()),
        )  # fmt: skip


def check_targets(params: Mapping[str, Any]) -> list[Target]:
    """Read the targets from parameters of ``RejectClassifierCV``; a missing one is not given.

    There is one price, or any number of limits; prices may go with limits, where they say which
    errors matter most.  Their ``limit`` is NaN: :func:`check_prices` reads them.
    """
    params = {"error": "accepted", "reject_cost": "auto", **params}
    if params.get("confidence") is not None:
        check_share("confidence", params["confidence"], example=0.95)
    if params["reject_cost"] is None:
        raise ValueError(
            'reject_cost=None means "never reject", which needs no target: use the estimator '
            'itself, or leave reject_cost="auto" and give another target.'
        )
    if params["reject_cost"] == "auto":
        del params["reject_cost"]
    given = [name for name in TARGETS if params.get(name) is not None]
    if not given or ("reject_cost" in given and len(given) > 1):
        found = "none was given" if not given else f"{' and '.join(given)} were given"
        raise ValueError(
            f"give reject_cost or cost_of, or limits such as review_budget or max_error; {found}. "
            "For example, review_budget=0.1 sends at most one case in ten to review. Only cost_of "
            "goes with limits, not reject_cost."
        )
    limits = [name for name in given if name in LIMITS]
    return [_target(name, params) for name in limits or given]


def _target(name: str, params: Mapping[str, Any]) -> Target:
    value = params[name]
    rate = {"accepted": "accepted_error_rate", "overall": "error_rate"}[params["error"]]
    if name == "review_budget":
        return Target(name, "rejection_rate", _budget(value, params.get("per")))
    if name in LIMITS and name != "max_cost":
        values = value.values() if isinstance(value, Mapping) else [value]
        shares = [check_share(name, share) for share in values] or [np.nan]
        rate = "accepted_error_rate" if name == "max_error_by_decision" else rate
        rate = "rejection_rate" if name == "review_budget_by_group" else rate
        highest = max(shares) if max(shares) > min(shares) else None
        return Target(name, rate, min(shares), highest)
    if name in ("cost_of", "max_cost"):
        return Target(name, None, np.nan)
    if not (_is_number(value) and 0 < value < 1):
        raise ValueError(
            "reject_cost must be a number in (0, 1), what a review costs divided by what an error "
            f"costs; got {value!r}. For amounts of money use cost_of."
        )
    return Target(name, None, float(value))


def check_share(name: str, value: Any, example: float = 0.02) -> float:
    """Return a limit that is a share between 0 and 1."""
    if not (_is_number(value) and 0 < value < 1):
        raise ValueError(
            f"{name} must be a share between 0 and 1, such as {example:g}; got {value!r}."
            f"{_as_share(value)}"
        )
    return float(value)


def _as_share(value: Any) -> str:
    """Say how to write a percentage, such as 5 or "5%"; nothing if it is none."""
    least = 1.0  # which may mean 1 % or all
    if isinstance(value, str) and value.rstrip().endswith("%"):
        least = 0.0
        try:
            value = float(value.rstrip()[:-1])
        except ValueError:
            return ""
    is_percent = _is_number(value) and least < value < 100
    return f" For {value:g} % write {value / 100:g}." if is_percent else ""


def check_prices(
    params: Mapping[str, Any], classes: Any, *, ordered: bool, posteriors: bool
) -> Floats | None:
    """Prices (K, K + 1) that the parameters give; None if they give none.

    What decides by ``posteriors`` takes any prices; other learners one of an error and one of a
    review.
    """
    K = len(classes)
    highest = highest_reject_cost(K, posteriors)
    if params.get("cost_of") is None:
        cost = params["reject_cost"]
        if isinstance(cost, str):  # "auto"
            return None
        if cost > highest:
            raise RejoError(
                f"reject_cost must be a number in (0, {highest:.6g}]; got {cost!r}",
                parameter="reject_cost",
                remedy=f"Above {highest:.3g} this classifier rejects nothing.",
            )
        return uniform_prices(K, cost)
    prices = price_matrix(params["cost_of"], classes.tolist(), ordered=ordered)
    cost = reject_cost_of(prices)
    if posteriors or (cost is not None and cost <= highest):
        return prices
    problem = "the estimator learns reject regions for one price of an error and one of a review"
    if cost is not None:
        problem = f"a review costs {cost:.3g} of an error; from {highest:g} on no case is worth one"
    raise RejoError(
        f"cost_of: {problem}",
        parameter="cost_of",
        remedy="ThresholdRejectClassifier, around a classifier with posteriors, takes any prices.",
    )


def _budget(budget: Any, per: int | None) -> float:
    if isinstance(budget, Integral) and not isinstance(budget, bool):
        if per is None:
            raise ValueError(
                f"review_budget={budget} is a number of cases: say out of how many, for instance "
                f"review_budget={budget}, per={20 * max(int(budget), 5)}."
                f"{_as_share(budget) or ' A share is a float, such as review_budget=0.1.'}"
            )
        if 0 <= int(budget) <= per:
            return int(budget) / per
        raise ValueError(f"review_budget={budget} must be from 0 to per={per}.")
    if _is_number(budget) and 0 <= budget < 1:
        return float(budget)
    raise ValueError(
        "review_budget must be a share of the cases below 1, such as 0.1, or a whole number of "
        f"them together with per, such as review_budget=50, per=1000; got {budget!r}."
        f"{_as_share(budget)}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
