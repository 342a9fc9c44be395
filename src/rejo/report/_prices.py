"""Prices, and what the counts of a point cost; ``prices.js`` does the same.

Prices are a matrix with a row for each true class and a column for each decision and, last, for
the review.  Functions have the same names in both languages and compute in the same order, so that
even the last bit of a floating-point number agrees: sums are plain loops, because ``sum`` of Python
adds floats more precisely than JavaScript can.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo.report._format import BATCH, to_units

LEAST_PRICE, HIGHEST_PRICE = 1e-6, 1e9  # all amounts are then exact in both languages
Data = Mapping[str, Any]
Prices = tuple[tuple[float, ...], ...]  # (n_classes, n_prices): by true class; the last: a review


class CostSums(NamedTuple):
    """Number of cases, their cost and their squared cost."""

    n: float
    cost: float
    square: float


def check_prices(prices: ArrayLike, n_classes: int, n_prices: int) -> Prices:
    """Return a price for each true class and outcome, if the page can compute with them.

    Two numbers are the prices of an error and of a review.
    """
    given = np.asarray(prices, dtype=np.float64)
    right = np.eye(n_classes, n_prices, dtype=bool)
    if n_prices <= n_classes:
        right = np.arange(n_prices) == np.zeros((n_classes, 1))
    if given.shape == (2,):
        error, review = given
        given = np.where(right, 0.0, error)
        given[:, -1] = review
    if given.shape != right.shape:
        raise ValueError(
            "prices must be those of an error and of a review, or a matrix with a row for each "
            f"true class and a column for each decision and the review, {right.shape}; "
            f"got shape {given.shape}."
        )
    highest = given[:, :-1].max()
    if not ((given >= 0).all() and highest >= LEAST_PRICE and given.max() <= HIGHEST_PRICE):
        raise ValueError(
            "prices must not be negative, and the highest price of an error must be from "
            f"{LEAST_PRICE:g} to {HIGHEST_PRICE:g}; got {prices!r}."
        )
    if given[right].any():
        raise ValueError(f"prices of right decisions must be 0; got {given[right].tolist()}.")
    return tuple(map(tuple, given.tolist()))


def right_column(data: Data, k: int) -> int:
    """Column of the right decision for class ``k``."""
    return k if data["wide"] else 0


def two_prices(data: Data, prices: Prices) -> tuple[float, float] | None:
    """Prices of an error and of a review, if they are the same for all classes."""
    last = len(prices[0]) - 1
    error, review = prices[0][1], prices[0][last]
    for k, row in enumerate(prices):
        for c, price in enumerate(row):
            if price != (review if c == last else error) and c != right_column(data, k):
                return None
    return error, review


def highest_error(prices: Prices) -> float:
    """The highest price of a wrong decision."""
    return max(max(row[:-1]) for row in prices)


def moments(data: Data, point: int, prices: Prices) -> tuple[CostSums, CostSums]:
    """Cases and costs of the wrong decisions and of the reviews at a point."""
    last = len(prices[0]) - 1
    wrong, reviewed, errors = [0.0] * 3, [0.0] * 3, data["errors"]
    for k, row in enumerate(data["matrix"][point]):
        for o, count in enumerate(row):
            c = data["columns"][o]
            if count and c == last:
                _add(reviewed, count, prices[k][c])
            elif count and errors is None and c != right_column(data, k):
                _add(wrong, count, prices[k][c])
    expected = CostSums(*wrong) if errors is None else cell_moments(errors[point], prices)
    return expected, CostSums(*reviewed)


def cell_moments(cells: Sequence[float], prices: Prices) -> CostSums:
    """Cases and costs of wrong decisions, listed as class, column and number."""
    total = [0.0] * 3
    for i in range(0, len(cells), 3):
        _add(total, cells[i + 2], prices[int(cells[i])][int(cells[i + 1])])
    return CostSums(*total)


def review_moments(classes: Sequence[int], prices: Prices) -> CostSums:
    """Cases and costs if so many cases of each class are reviewed."""
    total = [0.0] * 3
    for k, count in enumerate(classes):
        _add(total, count, prices[k][-1])
    return CostSums(*total)


def error_moments(data: Data, prices: Prices) -> CostSums:
    """Cases and costs if every case were decided wrongly, in each wrong way as often."""
    total = [0.0] * 3
    for k, row in enumerate(prices):
        ways = len(row) - 2
        for c in range(len(row) - 1):
            if c != right_column(data, k):
                _add(total, data["counts"][k] / ways, row[c])
    return CostSums(*total)


def _add(total: list[float], count: float, price: float) -> None:
    total[0] += count
    total[1] += count * price
    total[2] += count * price * price


def point_cost(data: Data, point: int, prices: Prices) -> float:
    """Cost of all cases at a point."""
    wrong, reviewed = moments(data, point, prices)
    return wrong.cost + reviewed.cost


def cheapest(data: Data, prices: Prices) -> int:
    """The first point with the lowest cost."""
    costs = [point_cost(data, point, prices) for point in range(len(data["wrong"]))]
    return costs.index(min(costs))


def best_point(data: Data, prices: Prices) -> int:
    """Where the slider goes when prices are given.

    A refit belongs to one price of a review: take the closest.  A share of the ranking does not,
    and prices by class are no such price: take the cheapest.
    """
    two = two_prices(data, prices)
    if two is None or data["axis"] != "reject_cost":
        return cheapest(data, prices)
    gaps = [abs(cost - two[1] / two[0]) for cost in data["costs"]]
    return gaps.index(min(gaps))


def review_worth(data: Data, point: int, two: tuple[float, float]) -> float:
    """Probability of an error above which a review pays."""
    if data["axis"] == "reject_cost":
        return float(data["costs"][point])
    return two[1] / two[0]


def scale_of(data: Data, prices: Prices) -> float | None:
    """How many times those given the prices of errors are; None if classes differ in this."""
    scale = None
    for row, before in zip(prices, data["prices"], strict=True):
        for price, given in zip(row[:-1], before[:-1], strict=True):
            if price == 0 or given == 0:
                if price != given:
                    return None
            elif scale is None:
                scale = price / given
            elif abs(price - scale * given) > 1e-9 * price:
                return None
    return scale


def same_ranking(data: Data, prices: Prices) -> bool:
    """Whether a classifier that decides by prices only moves its cut at these."""
    scale = scale_of(data, prices)
    if scale is None:
        return False
    added = [row[-1] - scale * given[-1] for row, given in zip(prices, data["prices"], strict=True)]
    return max(added) - min(added) <= 1e-9 * highest_error(prices)


def in_money(data: Data, prices: Prices) -> bool:
    """Whether the queue is shown in money, not in errors."""
    return data["expected"] is not None or two_prices(data, prices) is None


def per_batch_units(data: Data, cost: float, places: int) -> int:
    """Cost of 1,000 cases, in units of the last digit."""
    return to_units(BATCH * cost / data["n"], places)


def tenth_costs(data: Data, point: int, prices: Prices) -> list[tuple[float, float, float | None]]:
    """For each tenth of the queue: mean cost of deciding a case, of a review, and as expected."""
    queue = data["queues"][data["queue"][point]]
    scale = scale_of(data, prices)
    found = []
    for t, n in enumerate(data["tenthSizes"]):
        if not n:
            continue
        decided = cell_moments(queue["wrong"][t], prices).cost / n
        review = review_moments(queue["classes"][t], prices).cost / n
        known = queue["expected"] is not None and scale is not None
        found.append((decided, review, scale * queue["expected"][t] / n if known else None))
    return found
