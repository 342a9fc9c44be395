"""From a setting to every text of the page that depends on it; ``numbers.js`` does the same.

Functions have the same names in both and compute in the same order, so that even the last bit of
a floating-point number agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

from rejo.metrics import wilson_interval
from rejo.report._format import (
    BATCH,
    NONE,
    fixed,
    money_places,
    percent,
    quoted,
    ratio,
    share,
    to_units,
    whole,
)

SMALL = 30  # groups with fewer cases are not judged
LEAST_PRICE, HIGHEST_PRICE = 1e-6, 1e9  # all amounts are then exact in both languages
Data = Mapping[str, Any]


class Setting(NamedTuple):
    """What readers can set on the page."""

    point: int
    error_price: float
    review_price: float


def check_prices(prices: tuple[float, float]) -> tuple[float, float]:
    """Return the prices of an error and of a review, if the page can compute with them."""
    error, review = float(prices[0]), float(prices[1])
    if not (LEAST_PRICE <= error <= HIGHEST_PRICE and 0 <= review <= error * 0.5):
        raise ValueError(
            f"prices must be the price of an error, from {LEAST_PRICE:g} to {HIGHEST_PRICE:g}, and "
            f"the price of a review, at most half of it; got {prices!r}."
        )
    return error, review


def numbers(data: Data, setting: Setting) -> dict[str, str]:
    """Texts by the id of their element, from the payload of the page."""
    found = {key: texts[setting.point] for key, texts in data["texts"].items()}
    found |= _prices(data, setting) | _costs(data, setting)
    found["tenths-line"] = _line(data, setting)
    found |= _matrix(data, setting.point)
    return found | _groups(data, setting.point) if data["groups"] else found


def cheapest(data: Data, error: float, review: float) -> int:
    """The first point with the lowest cost."""
    costs = [
        error * wrong + review * reviewed
        for wrong, reviewed in zip(data["wrong"], data["reviewed"], strict=True)
    ]
    return costs.index(min(costs))


def best_point(data: Data, error: float, review: float) -> int:
    """Where the slider goes when prices are given.

    A refit belongs to a price: take the closest.  A share of the ranking does not: take the
    cheapest.
    """
    if data["axis"] != "reject_cost":
        return cheapest(data, error, review)
    gaps = [abs(cost - review / error) for cost in data["costs"]]
    return gaps.index(min(gaps))


def review_worth(data: Data, setting: Setting) -> float:
    """Probability of an error above which a review pays."""
    if data["axis"] == "reject_cost":
        return float(data["costs"][setting.point])
    return setting.review_price / setting.error_price


def _prices(data: Data, setting: Setting) -> dict[str, str]:
    point, error, review = setting
    names = data["texts"]["point-name"]
    lowest = cheapest(data, error, review)
    places = money_places(error)
    cost = to_units(BATCH * (error * data["wrong"][lowest]) / data["n"], places) + to_units(
        BATCH * (review * data["reviewed"][lowest]) / data["n"], places
    )
    text = f"Your prices: a review costs {ratio(review / error)} of an error"
    if data["axis"] == "reject_cost":
        nearest = best_point(data, error, review)
        other = f"the page shows {ratio(data['costs'][point])}"
        shown = "shown here" if nearest == point else other
        text += f". The closest point is {ratio(data['costs'][nearest])}; {shown}"
    here = " (shown here)" if lowest == point else ""
    name = names[lowest][:1].lower() + names[lowest][1:]
    return {
        "price-ratio": f"{text}.",
        "cheapest": f"Cheapest point at these prices: {name}{here}, at a cost of "
        f"{fixed(cost, places)} per {BATCH:,} cases.",
    }


def _costs(data: Data, setting: Setting) -> dict[str, str]:
    """Amounts for 1,000 cases, rounded so that they add up."""
    point, error, review = setting
    n, places = data["n"], money_places(error)

    def amount(value: float) -> str:
        return fixed(to_units(value, places), places)

    def between(low: float, high: float) -> str:
        return f"{amount(low)} to {amount(high)}"

    wrong, reviewed = data["wrong"][point], data["reviewed"][point]
    of_wrong = to_units(BATCH * (error * wrong) / n, places)
    of_review = to_units(BATCH * (review * reviewed) / n, places)
    of_forced = to_units(BATCH * (error * data["forced"][point]) / n, places)
    by_hand = to_units(BATCH * review, places)
    total = of_wrong + of_review
    ranges = data["ranges"][point]  # of the wrong, the reviewed and the wrong if all are decided
    forced_range = between(error * ranges[4], error * ranges[5])
    return {
        "cost-wrong": fixed(of_wrong, places),
        "cost-wrong-range": between(error * ranges[0], error * ranges[1]),
        "cost-review": fixed(of_review, places),
        "cost-review-range": between(review * ranges[2], review * ranges[3]),
        "cost-total": fixed(total, places),
        "cost-total-range": between(*_total_range(data, setting)),
        "forced-cost-wrong": fixed(of_forced, places),
        "forced-cost-wrong-range": forced_range,
        "forced-cost-total": fixed(of_forced, places),
        "forced-cost-total-range": forced_range,
        "hand-cost-review": fixed(by_hand, places),
        "hand-cost-total": fixed(by_hand, places),
        "saving": f"Per {BATCH:,} cases this costs {_compare(of_forced - total, places)} deciding "
        f"every case, and {_compare(by_hand - total, places)} reviewing every case.",
    }


def _total_range(data: Data, setting: Setting) -> tuple[float, float]:
    """Range for the cost of the next 1,000 cases, by the normal approximation.

    A case is never both an error and a review, so their ranges cannot simply be added.  As in the
    ranges of the counts, half a case is added to each count.
    """
    point, error, review = setting
    n, size = data["n"], data["size"]
    wrong, reviewed = data["wrong"][point], data["reviewed"][point]
    p = (wrong / n * size + 0.5) / (size + 1)
    q = (reviewed / n * size + 0.5) / (size + 1)
    mean = error * p + review * q
    variance = error * error * p + review * review * q - mean * mean
    half = data["z"] * sqrt(max(variance, 0.0) * BATCH * (1 + BATCH / size))
    middle = BATCH * (error * wrong + review * reviewed) / n
    return max(middle - half, 0.0), min(middle + half, BATCH * error)


def _compare(saved: int, places: int) -> str:
    if saved == 0:
        return "as much as"
    return f"{fixed(abs(saved), places)} {'less' if saved > 0 else 'more'} than"


def _line(data: Data, setting: Setting) -> str:
    price = review_worth(data, setting)
    return (
        f"The line: a review that costs {ratio(price)} of an error pays where more than "
        f"{percent(price)} of the decisions would be wrong."
    )


def _matrix(data: Data, point: int) -> dict[str, str]:
    found = {}
    for k, row in enumerate(data["matrix"][point]):
        n = sum(row)
        for o, count in enumerate(row):
            found[f"cell-{k}-{o}"] = whole(count)
            found[f"cell-{k}-{o}-share"] = share(count, n)
    return found


def _groups(data: Data, point: int) -> dict[str, str]:
    """Rates of each group, and which differ significantly from the rates of all cases."""
    found, differing, judged = {}, [], 0
    n, decided = data["n"], data["n"] - data["reviewed"][point]
    overall = data["reviewed"][point] / n, (data["wrong"][point] / decided if decided else 0.0)
    for c, column in enumerate(data["groups"]):
        for v, group in enumerate(column["groups"]):
            key = f"group-{c}-{v}"
            reviewed, wrong = group["reviewed"][point], group["wrong"][point]
            parts = ((reviewed, group["n"]), (wrong, group["n"] - reviewed))
            verdicts = []
            for what, (part, of), rate in zip(("review", "wrong"), parts, overall, strict=True):
                _, low, high = wilson_interval(
                    part, of, data["confidence"], n_effective=of * data["worth"] or None
                )
                found[f"{key}-{what}"] = share(part, of)
                found[f"{key}-{what}-range"] = f"{percent(low)} to {percent(high)}" if of else NONE
                noun = "reviews" if what == "review" else "errors"
                if of and (low > rate or high < rate):
                    verdicts.append(f"{'more' if low > rate else 'fewer'} {noun}")
            if group["n"] < SMALL:
                found[f"{key}-verdict"] = f"◌ fewer than {SMALL} cases: too few to judge"
                continue
            judged += 1
            if verdicts:
                differing.append(quoted(f"{column['name']}: {group['value']}"))
            found[f"{key}-verdict"] = f"▲ {', '.join(verdicts)}" if verdicts else "like all cases"
    found["group-all-review"] = share(data["reviewed"][point], n)
    found["group-all-wrong"] = share(data["wrong"][point], decided)
    found["groups-line"] = _groups_line(data, differing, judged)
    return found


def _groups_line(data: Data, differing: list[str], judged: int) -> str:
    if not judged:
        return f"No group has the {SMALL} cases needed to judge it."
    if not differing:
        return "No group differs significantly from all cases."
    by_chance = fixed(to_units(2 * judged * (1 - data["confidence"]), 1), 1)
    verb = "differs" if len(differing) == 1 else "differ"
    return (
        f"{len(differing)} of {judged} groups {verb} significantly from all cases: "
        f"{', '.join(differing)}. In {2 * judged} comparisons, about {by_chance} such "
        "differences are expected by chance alone."
    )
