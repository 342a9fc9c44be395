"""What a manager asks for: one of four targets, checked and turned into numbers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

TARGETS = ("review_budget", "max_error", "reject_cost", "cost_of")


class Target(NamedTuple):
    """A rate to keep below a limit, or a price."""

    name: str  # as the parameter is called
    rate: str | None  # the rate that is limited; None: the price is given
    limit: float  # of that rate, or the price


def check_target(params: Mapping[str, Any]) -> Target:
    """Read the target from the parameters of a ``RejectClassifierCV``."""
    given = [name for name in TARGETS if params[name] is not None]
    if len(given) != 1:
        found = "none was given" if not given else f"{' and '.join(given)} were given"
        raise ValueError(
            f"give exactly one of {', '.join(TARGETS)}; {found}. For instance review_budget=0.1 "
            "sends at most one case in ten to review."
        )
    name, value = given[0], params[given[0]]
    if name == "review_budget":
        return Target(name, "rejection_rate", _budget(value, params["per"]))
    if name == "max_error":
        if not (_is_number(value) and 0 < value < 1):
            raise ValueError(
                f"max_error must be a share between 0 and 1, such as 0.02; got {value!r}."
            )
        rate = {"accepted": "accepted_error_rate", "overall": "error_rate"}[params["error"]]
        return Target(name, rate, float(value))
    price = _price(value) if name == "cost_of" else value
    if not (_is_number(price) and 0 < price <= 0.5):
        raise ValueError(f"reject_cost must be a number in (0, 0.5]; got {price!r}.")
    return Target(name, None, float(price))


def _budget(budget: Any, per: int | None) -> float:
    if isinstance(budget, Integral) and not isinstance(budget, bool):
        if per is None:
            raise ValueError(
                f"review_budget={budget} is a number of cases: say out of how many, for instance "
                f"review_budget={budget}, per={20 * max(int(budget), 5)}. A share is a float, "
                "such as review_budget=0.1."
            )
        if 0 <= int(budget) <= per:
            return int(budget) / per
        raise ValueError(f"review_budget={budget} must be from 0 to per={per}.")
    if _is_number(budget) and 0 <= budget < 1:
        return float(budget)
    raise ValueError(
        "review_budget must be a share of the cases below 1, such as 0.1, or a whole number of "
        f"them together with per, such as review_budget=50, per=1000; got {budget!r}."
    )


def _price(cost_of: Any) -> float:
    wanted = "cost_of must be a dict with the keys 'error' and 'review' and positive prices"
    if not (isinstance(cost_of, Mapping) and set(cost_of) == {"error", "review"}):
        raise ValueError(f"{wanted}, such as {{'error': 5000, 'review': 40}}; got {cost_of!r}.")
    error, review = cost_of["error"], cost_of["review"]
    if not (_is_number(error) and _is_number(review) and error > 0 and review > 0):
        raise ValueError(f"{wanted}; got {cost_of!r}.")
    if review > error:
        raise ValueError(
            f"cost_of: a review costs {review:g}, more than the error that it prevents, {error:g}. "
            f"Are they swapped: {{'error': {review:g}, 'review': {error:g}}}?"
        )
    if review > error / 2:
        raise ValueError(
            f"cost_of: a review costs {review:g} and an error {error:g}. To toss a coin between "
            f"two classes costs {error / 2:g} on average, less than the review: no case is worth "
            "one. Use a classifier that decides all cases (reject_cost=None)."
        )
    return float(review / error)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
