"""What a manager asks for: one of four targets, checked and converted to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from rejo._state import storable

TARGETS = ("review_budget", "max_error", "reject_cost", "cost_of")


@storable
class Target(NamedTuple):
    """A rate to keep below a limit, or a price."""

    name: str  # of the parameter
    rate: str | None  # the rate that it limits; None if the price is given
    limit: float  # of that rate, or the price


def check_target(params: Mapping[str, Any]) -> Target:
    """Read the target from parameters of ``RejectClassifierCV``; a missing one is not given."""
    params = {"error": "accepted", "reject_cost": "auto", **params}
    if params["reject_cost"] is None:
        raise ValueError(
            'reject_cost=None means "never reject", which needs no target: use the estimator '
            'itself, or leave reject_cost="auto" and give another target.'
        )
    if params["reject_cost"] == "auto":
        del params["reject_cost"]
    given = [name for name in TARGETS if params.get(name) is not None]
    if len(given) != 1:
        found = "none was given" if not given else f"{' and '.join(given)} were given"
        raise ValueError(
            f"give exactly one of {', '.join(TARGETS)}; {found}. For example, review_budget=0.1 "
            "sends at most one case in ten to review."
        )
    name, value = given[0], params[given[0]]
    if name == "review_budget":
        return Target(name, "rejection_rate", _budget(value, params.get("per")))
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
            f"cost_of: a review costs {review:g}, more than the error it prevents, {error:g}. "
            f"Are they swapped: {{'error': {review:g}, 'review': {error:g}}}?"
        )
    if review > error / 2:
        raise ValueError(
            f"cost_of: a review costs {review:g} and an error {error:g}. If you toss a coin "
            f"between two classes, it costs {error / 2:g} on average, less than a review: no case "
            "is worth one. Use a classifier that decides all cases (reject_cost=None)."
        )
    return float(review / error)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
