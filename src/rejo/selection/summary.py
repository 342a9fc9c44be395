"""An operating point in a paragraph without mathematics."""

from collections.abc import Sequence
from math import floor, log10
from typing import NamedTuple

from rejo._state import check_fields, number, storable
from rejo.metrics import Interval
from rejo.selection.cuts import Margin
from rejo.selection.expected import Expected
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.guarantee import Guarantee
from rejo.selection.target import Target

MOST_NAMES = 20  # of groups in a sentence
LEAST_PRICE = 1e-4  # of a review, as a share of that of an error, that anyone would set


@storable
class MeanCosts(NamedTuple):
    """What a case costs on average out of fold, at the prices that were given."""

    chosen: float  # by the model
    review_all: float
    decide_all: float

    def _check_state(self) -> None:
        """Three numbers."""
        check_fields(self, chosen=number(), review_all=number(), decide_all=number())


def summarise(
    expected: Expected, why: str, guarantees: Sequence[Guarantee], policy: GroupPolicy | None = None
) -> str:
    """Say what to expect, why it was chosen, and what is guaranteed."""
    n = expected.n_cases
    reviewed = round(n * expected.rejection_rate.estimate)
    sentences = [
        f"Of {n:,} cases, about {_is(n - reviewed)} decided and {_goes(reviewed)} to review "
        f"({_range(expected.rejection_rate, n)}); about "
        f"{_number(n * expected.error_rate.estimate)} are decided wrongly "
        f"({_range(expected.error_rate, n)}).",
        f"About {_percent(expected.confidence)} of batches this size fall in these ranges, if new "
        "cases are like the training cases.",
        why,
    ]
    sentences += promises(guarantees)
    for guarantee in guarantees:
        if guarantee.by is not None or guarantee.rate == "mean_cost":
            continue
        estimate = getattr(expected, guarantee.rate).estimate
        if estimate > guarantee.bound:
            sentences.append(
                f"The other cases suggest {_percent(estimate)}, which is more: the target was "
                "barely met, so expect the higher rate."
            )
    if policy is not None and policy.reviewed:
        names = _listed(policy.reviewed)
        sentences.append(f"All cases of {names} go to review: nothing can be promised for them.")
    return " ".join(sentences)


def _listed(names: Sequence[str]) -> str:
    """Some of the names, and how many others there are."""
    said = ", ".join(repr(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return said if more <= 0 else f"{said} and {more} more"


def reason(
    targets: Sequence[Target], reject_cost: float, prices: str | None = None,
    costs: MeanCosts | None = None,
) -> str:  # fmt: skip
    """Say what was asked for; ``prices`` are those that were given, in words."""
    limits = [target for target in targets if target.rate is not None or target.name == "max_cost"]
    said = [_asked(limits, priced=prices is not None)] if limits else []
    if prices is not None:
        said.append(prices)
    elif not limits:
        said.append(f"The price of a review is {reject_cost:g}, where an error costs 1.")
    elif not 0 < reject_cost < 1:
        # A cut above every price of an error reviews nothing; a price of 0, everything.
        some = "no" if reject_cost > 0 else "every"
        said[-1] = f"{said[-1][:-1]}; this sends {some} ambiguous case to review."
    if costs is not None:
        said.append(
            f"A case then costs {_amount(costs.chosen)} on average; if all were reviewed it would "
            f"cost {_amount(costs.review_all)}, if all were decided {_amount(costs.decide_all)}."
        )
    return " ".join(said)


def matching_price(targets: Sequence[Target], reject_cost: float, prices: str | None) -> str:
    """Say for which price of a review the limits give the same decisions; else nothing."""
    asked = any(target.rate is not None for target in targets) and prices is None
    if not (asked and LEAST_PRICE <= reject_cost < 1):
        return ""
    return f"The same decisions cost least if a review costs {reject_cost:.3g} of an error."


def _asked(targets: Sequence[Target], priced: bool) -> str:
    errors = any(target.rate != "rejection_rate" for target in targets)
    aim = f"with as few {'reviews' if errors else 'errors'} as possible"
    said = " and ".join(f"{_most(target)} {_of_what(target)}" for target in targets)
    return f"You asked for at most {said}, {'at the lowest cost' if priced else aim}."


def _most(target: Target) -> str:
    if target.name == "max_cost":
        return _amount(target.limit)
    most = "" if target.highest is None else f" to {_percent(target.highest)}"
    return f"{_percent(target.limit)}{most}"


def _of_what(target: Target) -> str:
    among = "the decided cases" if target.rate == "accepted_error_rate" else "all cases"
    some = among.replace("all ", "the ")
    return {
        "review_budget": "of the cases to review",
        "max_error": f"errors among {among}",
        "max_error_by_class": f"errors among {some} of a class",
        "max_error_by_decision": "wrong ones among the decisions for a class",
        "max_error_by_group": f"errors among {some} of a group",
        "review_budget_by_group": "of the cases of a group to review",
        "max_cost": "as the mean cost of a case",
    }[target.name]


def promises(guarantees: Sequence[Guarantee]) -> list[str]:
    """Say all that is guaranteed, what is the same for several classes or groups once, and why."""
    if len(guarantees) < 2:
        return [said for one in guarantees for said in (promise(one), one.assumption)]
    alike: dict[tuple[str, float, str | None], list[Guarantee]] = {}
    for one in guarantees:
        alike.setdefault((one.rate, one.bound, one.by), []).append(one)
    parts = [_promised(some) for some in alike.values()]
    sure = _percent(guarantees[0].confidence)
    said = f"With {sure} confidence all of this holds at once in the long run: {'; '.join(parts)}."
    counts = [one.n_cases for one in guarantees]
    few = f"{min(counts):,} to {max(counts):,}" if len(set(counts)) > 1 else f"{counts[0]:,}"
    return [f"{said} For each, {few} cases that the model has not seen prove it.",
            guarantees[0].assumption]  # fmt: skip


def promise(guarantee: Guarantee) -> str:
    """Say what is guaranteed."""
    return (
        f"With {_percent(guarantee.confidence)} confidence {_promised([guarantee])} in the long "
        f"run: {guarantee.n_cases:,} cases that the model has not seen prove it."
    )


def _promised(alike: Sequence[Guarantee]) -> str:
    """What is guaranteed for some classes or groups, or for all cases."""
    one = alike[0]
    if one.rate == "mean_cost":
        return f"a case costs at most {_amount(one.bound)} on average"
    names = ", ".join(str(other.value) for other in alike)
    cases, decided, wrong = "the cases", "the decisions", "are wrong"
    if one.by == "class":
        cases, decided = f"the cases of class {names}", f"the decided cases of class {names}"
        wrong = "are decided wrongly"
    elif one.by == "decision":
        decided = f"the decisions for {names}"
    elif one.by == "group":
        cases, decided = f"the cases of group {names}", f"the decisions in group {names}"
    what = {
        "rejection_rate": f"of {cases} go to review",
        "error_rate": f"of {'all cases' if one.by is None else cases} are decided wrongly",
        "accepted_error_rate": f"of {decided} {wrong}",
    }[one.rate]
    each = " (for each of them)" if len(alike) > 1 else ""
    return f"at most {_percent(one.bound)} {what}{each}"


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


def _is(count: int) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'}"


def _goes(count: int) -> str:
    return f"{count:,} {'goes' if count == 1 else 'go'}"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _amount(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
