"""An operating point in a paragraph without mathematics."""

from __future__ import annotations

from math import floor, log10
from typing import NamedTuple

from rejo._state import check_fields, number, storable
from rejo.metrics import Interval
from rejo.selection.cuts import Margin
from rejo.selection.expected import Expected
from rejo.selection.guarantee import Guarantee
from rejo.selection.target import Target


@storable
class MeanCosts(NamedTuple):
    """What a case costs on average out of fold, at the prices that were given."""

    chosen: float  # by the model
    review_all: float
    decide_all: float

    def _check_state(self) -> None:
        """Three numbers."""
        check_fields(self, chosen=number(), review_all=number(), decide_all=number())


def summarise(expected: Expected, why: str, guarantee: Guarantee | None) -> str:
    """Say what to expect, why it was chosen, and what is guaranteed."""
    n = expected.n_cases
    reviewed = round(n * expected.rejection_rate.estimate)
    sentences = [
        f"Of {n:,} cases, about {n - reviewed:,} are decided and {reviewed:,} go to review "
        f"({_range(expected.rejection_rate, n)}); about "
        f"{_number(n * expected.error_rate.estimate)} are decided wrongly "
        f"({_range(expected.error_rate, n)}).",
        f"About {_percent(expected.confidence)} of batches this size fall in these ranges, if new "
        "cases are like the training cases.",
        why,
    ]
    if guarantee is not None:
        sentences.append(promise(guarantee))
        estimate = getattr(expected, guarantee.rate).estimate
        if estimate > guarantee.bound:
            sentences.append(
                f"The other cases suggest {_percent(estimate)}, which is more: the target was "
                "barely met, so expect the higher rate."
            )
    return " ".join(sentences)


def reason(
    target: Target, reject_cost: float, prices: str | None = None, costs: MeanCosts | None = None
) -> str:
    """Say what was asked for, and the price of a review that follows.

    ``prices`` are those that were given, in words.
    """
    said = [] if target.rate is None else [_asked(target, priced=prices is not None)]
    if prices is not None:
        said.append(prices)
    elif target.rate is None:
        said.append(f"The price of a review is {reject_cost:g}, where an error costs 1.")
    else:
        # A cut above every price of an error reviews nothing; a price of 0, everything.
        follows = f"sets the price of a review to {reject_cost:.3g}, where an error costs 1"
        if not 0 < reject_cost < 1:
            follows = f"sends {'no' if reject_cost > 0 else 'every'} case to review"
        said[-1] = f"{said[-1][:-1]}; this {follows}."
    if costs is not None:
        said.append(
            f"A case then costs {_amount(costs.chosen)} on average; if all were reviewed it would "
            f"cost {_amount(costs.review_all)}, if all were decided {_amount(costs.decide_all)}."
        )
    return " ".join(said)


def _asked(target: Target, priced: bool) -> str:
    rate, fewest = {
        "rejection_rate": ("of the cases to review", "errors"),
        "error_rate": ("errors among all cases", "reviews"),
        "accepted_error_rate": ("errors among the decided cases", "reviews"),
    }[str(target.rate)]
    aim = "at the lowest cost" if priced else f"with as few {fewest} as possible"
    return f"You asked for at most {_percent(target.limit)} {rate}, {aim}."


def promise(guarantee: Guarantee) -> str:
    """Say what is guaranteed."""
    what = {
        "rejection_rate": "of the cases go to review",
        "error_rate": "of all cases are decided wrongly",
        "accepted_error_rate": "of the decisions are wrong",
    }[guarantee.rate]
    return (
        f"With {_percent(guarantee.confidence)} confidence at most {_percent(guarantee.bound)} "
        f"{what} in the long run: {guarantee.n_cases:,} cases that the model has not seen prove it."
    )


def advise(target: Target, margin: Margin) -> str:
    """Say how sure an allowed error is, and what to ask for in order to be surer."""
    asked, sure = _percent(target.limit), _percent(margin.confidence)
    said = "New cases exceed a limit like this about as often as not: to be "
    said += f"{sure} sure of {asked} in the long run"
    if margin.limit is None or margin.rejection_rate is None:
        return f"{said}, give more cases, or a higher limit."
    return (
        f"{said}, ask for {_rounded_down(margin.limit)}, which sends about "
        f"{_percent(margin.rejection_rate)} of the cases to review."
    )


def _rounded_down(share: float) -> str:
    """Two digits, as a share to be asked for."""
    digits = 1 - floor(log10(share)) if share > 0 else 3
    return f"{floor(share * 10**digits) / 10**digits:.{digits}f}"


def _range(rate: Interval[float], n: int) -> str:
    return f"{round(n * rate.low):,} to {round(n * rate.high):,}"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _amount(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
