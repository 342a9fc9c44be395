"""From a setting to every text of the page that depends on it; ``numbers.js`` does the same.

Functions have the same names in both and compute in the same order.
"""

from math import sqrt
from typing import Any, NamedTuple

from rejo.metrics import wilson_interval
from rejo.report._format import (
    BATCH,
    NONE,
    amount,
    fixed,
    money_places,
    percent,
    quoted,
    ratio,
    share,
    to_units,
    whole,
)
from rejo.report._groups import group_texts
from rejo.report._prices import (
    CostSums,
    Data,
    Prices,
    best_point,
    cell_moments,
    cheapest,
    error_moments,
    highest_error,
    in_money,
    moments,
    per_batch_units,
    review_moments,
    review_worth,
    right_column,
    same_ranking,
    scale_of,
    tenth_costs,
    two_prices,
)


class Setting(NamedTuple):
    """What readers can set on the page.

    Parameters
    ----------
    point : int
        The operating point, as an index.
    prices : tuple
        Prices of an error and a review, or of each decision and a review for each true class.
    """

    point: int
    prices: Any


def numbers(data: Data, setting: Setting) -> dict[str, str]:
    """Texts by the id of their element, from the payload of the page."""
    found = {key: texts[setting.point] for key, texts in data["texts"].items()}
    found |= _prices(data, setting) | _costs(data, setting)
    found["tenths-line"] = _line(data, setting)
    found |= _matrix(data, setting.point)
    return found | group_texts(data, setting.point) if data["groups"] else found


def _prices(data: Data, setting: Setting) -> dict[str, str]:
    point, prices = setting
    names = data["texts"]["point-name"]
    places = money_places(highest_error(prices))
    lowest = cheapest(data, prices)
    wrong, reviewed = moments(data, lowest, prices)
    cost = per_batch_units(data, wrong.cost, places) + per_batch_units(data, reviewed.cost, places)
    two = two_prices(data, prices)
    text = _prices_words(data, prices)
    if two is not None and data["axis"] == "reject_cost":
        nearest = best_point(data, prices)
        other = f"the page shows {ratio(data['costs'][point])}"
        shown = "shown here" if nearest == point else other
        text += f" The closest point is {ratio(data['costs'][nearest])}; {shown}."
    name = names[lowest][:1].lower() + names[lowest][1:]
    which = "the one shown here" if lowest == point else name
    note = ""
    if data["expected"] is not None and not same_ranking(data, prices):
        note = (
            "The cases on this page were decided for the prices given when it was made. At these "
            "prices the classifier itself would decide some of them differently."
        )
    return {
        "price-ratio": text,
        "price-note": note,
        "cheapest": f"Cheapest point at these prices: {which}, at a cost of "
        f"{fixed(cost, places)} per {BATCH:,} cases.",
    }


def _prices_words(data: Data, prices: Prices) -> str:
    two = two_prices(data, prices)
    if two is None:
        wrong = [
            price for k, row in enumerate(prices) for c, price in enumerate(row[:-1])
            if c != right_column(data, k)
        ]  # fmt: skip
        reviews = [row[-1] for row in prices]
        return (
            f"Your prices differ by class: a wrong decision costs {_from_to(wrong)}, a review "
            f"{_from_to(reviews)}."
        )
    error, review = two
    text = f"Your prices: a review costs {ratio(review / error)} of an error."
    if review > error * (1 - 1 / len(data["classes"])):
        most = ratio(1 - 1 / len(data["classes"]))
        text += f" A review that costs more than {most} of an error never pays."
    return text


def _from_to(prices: list[float]) -> str:
    low, high = amount(min(prices)), amount(max(prices))
    return low if low == high else f"{low} to {high}"


def _costs(data: Data, setting: Setting) -> dict[str, str]:
    """Amounts for 1,000 cases, rounded so that they add up."""
    point, prices = setting
    places, two = money_places(highest_error(prices)), two_prices(data, prices)

    def between(low: float, high: float) -> str:
        return f"{fixed(to_units(low, places), places)} to {fixed(to_units(high, places), places)}"

    wrong, reviewed = moments(data, point, prices)
    forced = cell_moments(data["forced"]["cells"][data["forced"]["of"][point]], prices)
    by_hand = review_moments(data["counts"], prices)
    errors = error_moments(data, prices)
    if two is not None:
        ranges = data["ranges"][point]  # of the wrong, the reviewed, the wrong if all are decided
        wrong_range = between(two[0] * ranges[0], two[0] * ranges[1])
        review_range = between(two[1] * ranges[2], two[1] * ranges[3])
        forced_range = between(two[0] * ranges[4], two[0] * ranges[5])
    else:
        wrong_range = between(*_range(data, prices, [wrong], [errors]))
        review_range = between(*_range(data, prices, [reviewed], [by_hand]))
        forced_range = between(*_range(data, prices, [forced], [errors]))
    of_wrong = per_batch_units(data, wrong.cost, places)
    of_review = per_batch_units(data, reviewed.cost, places)
    of_forced = per_batch_units(data, forced.cost, places)
    of_hand = per_batch_units(data, by_hand.cost, places)
    total = of_wrong + of_review
    lowest, its_reviews = moments(data, cheapest(data, prices), prices)
    least = per_batch_units(data, lowest.cost, places)
    least += per_batch_units(data, its_reviews.cost, places)
    return {
        "cost-wrong": fixed(of_wrong, places),
        "cost-wrong-range": wrong_range,
        "cost-review": fixed(of_review, places),
        "cost-review-range": review_range,
        "cost-total": fixed(total, places),
        "cost-total-range": between(*_range(data, prices, [wrong, reviewed], [errors, by_hand])),
        "forced-cost-wrong": fixed(of_forced, places),
        "forced-cost-wrong-range": forced_range,
        "forced-cost-total": fixed(of_forced, places),
        "forced-cost-total-range": forced_range,
        "hand-cost-review": fixed(of_hand, places),
        "hand-cost-total": fixed(of_hand, places),
        "baseline": _baseline(of_forced, of_hand, total, least, places),
        "saving": f"Per {BATCH:,} cases this costs {_compare(of_forced - total, places)} deciding "
        f"every case, and {_compare(of_hand - total, places)} reviewing every case.",
        "reviews-save": _reviews_save(data, setting, of_forced - of_wrong, of_review, places),
    }


def _range(
    data: Data, prices: Prices, parts: list[CostSums], if_all: list[CostSums]
) -> tuple[float, float]:
    """Range for the cost of the next 1,000 cases, by the normal approximation.

    A case is never both an error and a review, so their ranges cannot simply be added.  As in the
    ranges of the counts, half a case is added to each: one that costs as much as all cases would
    on average.
    """
    n, size = data["n"], data["size"]
    cost = square = more_cost = more_square = 0.0
    for part, every in zip(parts, if_all, strict=True):
        cost += part.cost
        square += part.square
        more_cost += every.cost / n
        more_square += every.square / n
    mean = (cost / n * size + 0.5 * more_cost) / (size + 1)
    mean_square = (square / n * size + 0.5 * more_square) / (size + 1)
    half = data["z"] * sqrt(max(mean_square - mean * mean, 0.0) * BATCH * (1 + BATCH / size))
    middle = BATCH * cost / n
    highest = max(max(row) for row in prices)
    return max(middle - half, 0.0), min(middle + half, BATCH * highest)


def _compare(saved: int, places: int) -> str:
    if saved == 0:
        return "as much as"
    return f"{fixed(abs(saved), places)} {'less' if saved > 0 else 'more'} than"


def _baseline(of_forced: int, of_hand: int, total: int, least: int, places: int) -> str:
    """Say so if no classifier, or no reviews, would be cheaper; empty if not."""
    lower = min(of_forced, of_hand)
    if lower >= total:
        return ""
    what = "reviewing" if of_hand <= of_forced else "deciding"
    also = ", and less than every other point" if lower < least else ""
    return (
        f"At these prices, {what} every case costs {fixed(total - lower, places)} less per "
        f"{BATCH:,} cases than this point{also}."
    )


def _reviews_save(data: Data, setting: Setting, prevented: int, of_review: int, places: int) -> str:
    if data["reviewed"][setting.point] == 0:
        return "At this point there are no reviews."
    text = f"The reviews cost {fixed(of_review, places)}"
    scale = scale_of(data, setting.prices)
    if data["expected"] is None or scale is None:
        return f"{text} and prevent wrong decisions that would cost {_signed(prevented, places)}."
    expected = per_batch_units(data, scale * data["expected"][setting.point], places)
    return (
        f"{text}. They are expected to prevent wrong decisions that would cost "
        f"{_signed(expected, places)}, {_net(expected - of_review, places)}. In the cases so far "
        f"they prevented {_signed(prevented, places)}."
    )


def _net(saved: int, places: int) -> str:
    if saved == 0:
        return "so they just pay for themselves"
    if saved < 0:
        return f"so they cost {fixed(-saved, places)} more than they save"
    return f"so they save {fixed(saved, places)}"


def _signed(units: int, places: int) -> str:
    return f"-{fixed(-units, places)}" if units < 0 else fixed(units, places)


def _line(data: Data, setting: Setting) -> str:
    point, prices = setting
    two = two_prices(data, prices)
    if two is not None and not in_money(data, prices):
        price = review_worth(data, point, two)
        return (
            f"The line: a review that costs {ratio(price)} of an error pays where more than "
            f"{percent(price)} of the decisions would be wrong."
        )
    tenths, places = tenth_costs(data, point, prices), money_places(highest_error(prices) / 100)

    def mean(value: float) -> str:
        return fixed(to_units(max(value, 0.0), places), places)

    (first, review, expected), (last, _, last_expected) = tenths[0], tenths[-1]
    text = (
        f"A decision in the first tenth costs {mean(first)} on average, in the last tenth "
        f"{mean(last)}; a review costs {mean(review)}."
    )
    if expected is not None and last_expected is not None:
        text += f" The classifier expected {mean(expected)} and {mean(last_expected)}."
    return text


def _matrix(data: Data, point: int) -> dict[str, str]:
    """Counts of outcomes, and errors by true class (rows) and by decided class (columns)."""
    matrix, found = data["matrix"][point], {}
    review = len(data["prices"][0]) - 1
    by_row, by_column = [], {o: [0, 0] for o, c in enumerate(data["columns"]) if c != review}
    for k, row in enumerate(matrix):
        n, wrong, decided = sum(row), 0, 0
        for o, count in enumerate(row):
            found[f"cell-{k}-{o}"] = whole(count)
            found[f"cell-{k}-{o}-share"] = share(count, n)
            if o in by_column:
                missed = 0 if data["columns"][o] == right_column(data, k) else count
                wrong, decided = wrong + missed, decided + count
                by_column[o][0] += missed
                by_column[o][1] += count
        by_row.append([wrong, decided])
        if len(row) - len(by_column) > 1:  # else the column of the reviews says it
            found |= _part_of(f"row-{k}-review", n - decided, n)
        found |= _part_of(f"row-{k}-wrong", wrong, decided)
    if data["wide"]:
        for o, (part, of) in by_column.items():
            found |= _part_of(f"column-{o}-wrong", part, of)
    found["matrix-line"] = _worst_class(data, list(by_column.values()) if data["wide"] else by_row)
    return found


def _part_of(key: str, part: int, of: int) -> dict[str, str]:
    counts = f"{whole(part)} of {whole(of)}" if of else NONE
    return {key: counts, f"{key}-share": share(part, of)}


def _worst_class(data: Data, rates: list[list[int]]) -> str:
    """Name the class with the most errors beyond doubt: by the lower end of the interval."""
    wrong, decided = (sum(counts) for counts in zip(*rates, strict=True))
    if wrong == 0:
        return "No decision is wrong in the cases so far." if decided else "Nothing is decided."
    worst, highest = 0, -1.0
    for k, (part, of) in enumerate(rates):
        size = of * data["worth"] or None
        low = wilson_interval(part, of, data["confidence"], n_effective=size).low
        if low > highest:
            worst, highest = k, low
    part, of = rates[worst]
    which = "decisions for" if data["wide"] else "decided cases of"
    return (
        f"Of the {which} {quoted(data['classes'][worst])}, {share(part, of)} are wrong "
        f"({whole(part)} of {whole(of)}); of all decisions, {share(wrong, decided)}."
    )
