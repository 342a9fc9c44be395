"""An operating point in words: what to expect, what is promised, and whether that was kept."""

from collections import Counter
from collections.abc import Sequence
from math import floor, log10, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc
from scipy.stats import t as student

from rejo._io import percent
from rejo._typing import Floats, Indices
from rejo.metrics import Interval, binomial_upper_bound, tally
from rejo.selection.choose import Margin
from rejo.selection.limits import Limit
from rejo.selection.promises import Guarantee

MOST_NAMES = 20  # of groups in a sentence
MOST_CLASSES = 6  # that are described one by one
LEAST_PRICE = 1e-4  # of a review, as a share of that of an error, that anyone would set
HARDLY = 0.05  # decisions for a class / its cases, below which a user should know
MOSTLY = 0.5  # wrong / decided cases of a class, above which a user should know
LEVEL = 0.05  # what happens more rarely than this is beyond chance
VAGUE = 2.0  # cases that allow a rate of so many times the limit show little
MET, WITHIN, BEYOND, OPEN = "met", "missed, within chance", "missed, beyond chance", "open"


def summarise(model: Any) -> str:
    """Say what to expect of a fitted search, why it was chosen, and what is guaranteed."""
    expected, costs = model.expected_, model.costs_
    n = expected.n_cases
    reviewed = round(n * expected.rejection_rate.estimate)
    sentences = [
        f"Of {n:,} cases, about {_is(n - reviewed)} decided and {_goes(reviewed)} to review "
        f"({_range(expected.rejection_rate, n)}); about "
        f"{_number(n * expected.error_rate.estimate)} are decided wrongly "
        f"({_range(expected.error_rate, n)}).",
        f"About {short(expected.confidence)} of batches this size fall in these ranges, if new "
        "cases are like the training cases.",
        describe_classes(_names(model), model.shares_, n),
        reason(model),
    ]
    sentences += describe_promises(model.guarantees_)
    for guarantee in model.guarantees_:
        if guarantee.by is not None:
            continue
        if guarantee.rate == "mean_cost":
            estimate = costs.chosen.estimate if costs else 0.0
            said = amount(estimate)
        else:
            estimate = getattr(expected, guarantee.rate).estimate
            said = short(estimate)
        if estimate > guarantee.bound:
            sentences.append(f"The other cases suggest {said}, which is more: expect that rather.")
    if model.policy_ is not None and model.policy_.reviewed:
        names = _listed(model.policy_.reviewed)
        sentences.append(f"All cases of {names} go to review: nothing can be promised for them.")
    if model.margin_ is not None:
        sentences.append(advise(model.limits_[0], model.margin_))
    if model.limits_ and model._prices_said is None and LEAST_PRICE <= model.reject_cost_ < 1:
        price = f"{model.reject_cost_:.3g} of an error"
        sentences.append(f"The same decisions cost least if a review costs {price}.")
    return " ".join(filter(None, [*sentences, *cautions(model)]))


def _names(model: Any) -> list[str]:
    return [str(label) for label in model.classes_.tolist()]


def describe_classes(classes: Sequence[str], shares: Floats, n: int) -> str:
    """Say of each class, if they are few, how many are decided so, wrongly so, and missed."""
    if len(classes) > MOST_CLASSES:
        return ""
    said = [
        f"{_number(n * one.decided)} are decided as {name!r}, {_number(n * one.wrong)} of them "
        f"wrongly, and of {_number(n * one.cases)} cases of this class {_number(n * one.missed)} "
        "are decided otherwise"
        for name, one in zip(classes, by_class(shares), strict=True)
    ]
    return f"By class: {'; '.join(said)}."


class ClassShares(NamedTuple):
    """What becomes of a class; shares of all cases."""

    cases: float  # of the class
    reviewed: float  # of the class
    missed: float  # of the class, and decided otherwise
    decided: float  # decided as this class
    wrong: float  # of those, of another class


def by_class(shares: Floats) -> list[ClassShares]:
    """What becomes of each class, by the shares (K, K + 1) of all outcomes."""
    decided, right = shares[:, :-1], shares.diagonal()
    columns = (
        shares.sum(axis=1), shares[:, -1], decided.sum(axis=1) - right,
        decided.sum(axis=0), decided.sum(axis=0) - right,
    )  # fmt: skip
    return [ClassShares(*map(float, row)) for row in zip(*columns, strict=True)]


def cautions(model: Any) -> list[str]:
    """Say what to think of before a model is used: classes that it fails, reviews that pay more."""
    shares, costs, gap = model.shares_, model.costs_, model.gap_
    said, nothing = [], shares[:, :-1].sum() < LEAST_PRICE
    for name, one in zip(_names(model), by_class(shares), strict=True):
        decided = one.cases - one.reviewed
        if decided > 0 and one.missed > MOSTLY * decided:
            said.append(
                f"Careful: of the decided cases of class {name!r}, "
                f"{short(one.missed / decided)} are decided otherwise."
            )
        elif one.cases > 0 and one.decided < HARDLY * one.cases and not nothing:
            said.append(f"Careful: hardly any case is decided as {name!r}.")
    if gap is not None:
        said.append(
            f"Many cases are alike and go to review together: {short(gap[0])} of the cases or "
            f"{short(gap[1])}, nothing between."
        )
    if costs is not None and not model.limits_:
        if nothing:
            said.append(
                "Careful: every case goes to review, as no plan was found that is expected to cost "
                "less at these prices."
            )
        elif costs.decide_all.estimate <= costs.chosen.estimate:
            said.append(
                f"Careful: deciding every case costs {amount(costs.decide_all.estimate)}, which is "
                "no more than with this model."
            )
        elif costs.chosen.high >= costs.review_all:
            said.append("It is not shown beyond chance that this costs less than reviewing all.")
    return said


def _listed(names: Sequence[str]) -> str:
    """Some of the names, and how many others there are."""
    said = ", ".join(repr(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return said if more <= 0 else f"{said} and {more} more"


def reason(model: Any) -> str:
    """Say what was asked for, at which prices, and what cases cost if prices were given."""
    limits, prices, reject_cost = model.limits_, model._prices_said, model.reject_cost_
    costs = model.costs_
    free = costs is not None and costs.review_all == 0  # then a limit of the cost is all there is
    priced = prices is not None and not (free and any(x.rate == "mean_cost" for x in limits))
    said = [_asked(limits, priced=priced)] if limits else []
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
            f"A case then costs about {amount(costs.chosen.estimate)} on average "
            f"({amount(costs.chosen.low)} to {amount(costs.chosen.high)}); if all were reviewed it "
            f"would cost {amount(costs.review_all)}, if all were decided about "
            f"{amount(costs.decide_all.estimate)}."
        )
    return " ".join(said)


def _asked(limits: Sequence[Limit], priced: bool) -> str:
    errors = any(limit.limits_errors for limit in limits)
    aim = f"with as few {'reviews' if errors else 'errors'} as possible"
    alike: dict[str, list[Limit]] = {}
    for limit in limits:
        alike.setdefault(limit.parameter, []).append(limit)
    said = " and ".join(f"{_most(some)} {_of_what(some[0])}" for some in alike.values())
    return f"You asked for at most {said}, {'at the lowest cost' if priced else aim}."


def _most(alike: Sequence[Limit]) -> str:
    shares = sorted({float(limit.most or 0.0) for limit in alike})
    if alike[0].rate == "mean_cost":
        return amount(shares[0])
    return " to ".join(map(short, dict.fromkeys([shares[0], shares[-1]])))


def _of_what(limit: Limit) -> str:
    among = "the decided cases" if limit.rate == "accepted_error_rate" else "all cases"
    some = among.replace("all ", "the ")
    return {
        "review_budget": "of the cases to review",
        "max_error": f"errors among {among}",
        "max_error_by_class": f"errors among {some} of a class",
        "max_error_by_decision": "wrong ones among the decisions for a class",
        "max_error_by_group": f"errors among {some} of a group",
        "review_budget_by_group": "of the cases of a group to review",
        "max_cost": "as the mean cost of a case",
    }[limit.parameter]


def describe_promises(guarantees: Sequence[Guarantee]) -> list[str]:
    """Say all that is guaranteed, what is the same for several classes or groups once, and why."""
    if len(guarantees) < 2:
        return [said for one in guarantees for said in (promise(one), one.assumption)]
    alike: dict[tuple[str, float, str | None], list[Guarantee]] = {}
    for one in guarantees:
        alike.setdefault((one.rate, one.bound, one.by), []).append(one)
    parts = [_promised(some) for some in alike.values()]
    sure = short(guarantees[0].confidence)
    said = f"With {sure} confidence all of this holds at once in the long run: {'; '.join(parts)}."
    counts = [one.n_cases for one in guarantees]
    few = f"{min(counts):,} to {max(counts):,}" if len(set(counts)) > 1 else f"{counts[0]:,}"
    return [f"{said} For each, {few} cases that the model has not seen prove it.",
            guarantees[0].assumption]  # fmt: skip


def promise(guarantee: Guarantee) -> str:
    """Say what is guaranteed."""
    return (
        f"With {short(guarantee.confidence)} confidence {_promised([guarantee])} in the long "
        f"run: {guarantee.n_cases:,} cases that the model has not seen prove it."
    )


def _promised(alike: Sequence[Guarantee]) -> str:
    """What is guaranteed for some classes or groups, or for all cases."""
    one = alike[0]
    if one.rate == "mean_cost":
        most = "" if one.highest is None else f", counted as {amount(one.highest)} at most,"
        return f"a case{most} costs at most {amount(one.bound)} on average"
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
    return f"at most {short(one.bound)} {what}{each}"


def advise(limit: Limit, margin: Margin) -> str:
    """Say how sure an allowed error is, and what to ask for in order to be surer."""
    asked, sure = short(float(limit.most or 0.0)), short(margin.confidence)
    said = "New cases exceed a limit like this about as often as not: to be "
    said += f"{sure} sure of {asked} in the long run"
    if margin.limit is None or margin.rejection_rate is None:
        return f"{said}, give more cases, or a higher limit."
    return (
        f"{said}, ask for {_rounded_down(margin.limit)}, which sends about "
        f"{short(margin.rejection_rate)} of the cases to review."
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


def amount(value: float, digits: int = 3) -> str:
    """A mean cost, in so many digits."""
    return f"{value:,.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def short(share: float) -> str:
    """A share in percent, in three digits."""
    return f"{100 * share:.3g} %"


# ---- was the target met? ------------------------------------------------------------------


class Verdict(NamedTuple):
    """Whether one limit was kept, or the lowest cost reached."""

    part: str  # the parameter that asked for it
    limit: float | None  # of the rate; None for prices
    seen: float  # the rate, or the mean cost of a case
    p_value: float  # probability of a result this bad, if the target is just met
    verdict: str  # "met", "missed, within chance", "missed, beyond chance" or "open"
    sentence: str
    by: str | None = None  # "class", "decision" or "group", if it is about some of the cases
    value: str | None = None  # the class or group


def judge_limits(
    model: Any,
    decision: Indices,
    forced: Indices,
    y: Indices,
    *,
    classes: Sequence[str],
    group: Any = None,
    column: str = "group",
    size: float | None = None,
    paid: Floats | None = None,
) -> list[Verdict]:
    """Say of each limit of a fitted ``RejectClassifierCV`` whether these cases keep it.

    A ``decision`` of -1 is a review.  ``column`` is what a group is called, and ``size`` the number
    of independent cases.  ``paid`` (3, n) is what cases cost as decided, if all are reviewed, and
    if all are decided, where prices depend on the case; NaN without a price.
    """
    by_case = getattr(model, "case_prices_", None) is not None
    if paid is None and not by_case and (L := model.prices_) is not None:
        paid = np.stack([L[y, decision], L[y, -1], L[y, forced]])
    worth = 1.0 if size is None else size / len(y)
    reviewed = set() if model.policy_ is None else {*model.policy_.reviewed}
    limits = [x for x in model.limits_ if x.by != "group" or x.name not in reviewed]
    if paid is None:
        limits = [x for x in limits if x.rate != "mean_cost"]
    promised = {(g.rate, g.by, g.value): g for g in model.guarantees_}
    if paid is not None and not limits and ("mean_cost", None, None) in promised:
        limits = [Limit("max_cost", "mean_cost", promised["mean_cost", None, None].bound)]
    alike = Counter(limit.parameter for limit in limits)  # of many, some are missed by chance
    found = []
    for limit in limits:
        proof = promised.get((limit.rate, limit.by, limit.name))
        level = LEVEL / alike[limit.parameter]
        of = _members(limit, decision, y, classes, group)
        some = decision[of], y[of], None if paid is None else paid[0, of]
        found.append(_judge_limit(limit, *some, column, worth, level, proof))
    if paid is not None:
        found.append(_judge_costs(model, paid, worth))
    return found


def _members(
    limit: Limit, decision: Indices, y: Indices, classes: Sequence[str], group: Any
) -> Any:
    if limit.by == "group":
        return np.asarray(group) == limit.name
    if limit.by is None:
        return np.ones(len(y), dtype=bool)
    return (y if limit.by == "class" else decision) == list(classes).index(str(limit.name))


def _judge_limit(
    limit: Limit, decision: Indices, y: Indices, paid: Floats | None, column: str, worth: float,
    level: float, proof: Guarantee | None,
) -> Verdict:  # fmt: skip
    """A promise is about the true rate: only an excess beyond chance contradicts it."""
    most, excess, vague = float(limit.most or 0.0), "", ""

    def asked(bound: str) -> str:
        if proof is None:
            return f"you asked for at most {bound}"
        return f"at most {bound} was promised with {short(proof.confidence)} confidence"

    def verdict(seen: float, p: float, found: str, said: str) -> Verdict:
        said = said[0].upper() + said[1:]
        return Verdict(limit.parameter, limit.most, seen, p, found, said, limit.by, limit.name)

    if limit.rate == "mean_cost":
        assert paid is not None
        paid = paid[~np.isnan(paid)]
        if proof is not None and proof.highest is not None:
            paid = np.minimum(paid, proof.highest)
        seen = float(paid.mean())
        said = f"{asked(amount(most, 4))}, and a case cost {amount(seen, 4)} on average"
        kept, p = seen <= most, mean_excess_probability(paid - most, worth * len(paid))
    else:
        counts = tally(decision, y)
        reviews, accepted = limit.rate == "rejection_rate", limit.rate == "accepted_error_rate"
        bad = int(counts.rejected if reviews else counts.wrong)
        n = int(counts.decided if accepted else counts.total)
        whose = {"class": "Class", "decision": "Decisions for", "group": column}
        who = "" if limit.by is None else f"{whose[limit.by]} {limit.name!r}: "
        cases = "decisions" if limit.by == "decision" else "decided cases" if accepted else "cases"
        said = f"{who}{asked(short(most))}"
        if n == 0:
            return verdict(np.nan, 1.0, OPEN, f"{said}; there are no such {cases} here.")
        seen = bad / n
        went = "went to review" if reviews else "are wrong"
        said += f", and {bad:,} of {n:,} {cases} {went} ({percent(seen)})"
        kept, p = bad <= most * n + 1e-9, excess_probability(bad * worth, n * worth, most)
        often = "fewer than 0.1 %" if p < 0.001 else f"{100 * p:.2g} %"
        excess = f" (at a true {short(most)}, {often} of batches would have as many)"
        size = max(round(n * worth), 1)
        upper = binomial_upper_bound(min(round(bad * worth), size), size)
        if limit.parameter == "max_error" and upper > VAGUE * most:
            vague = f" So few cases show little: the true rate may be up to {percent(upper)}."
    if kept:
        return verdict(seen, p, MET, f"{said}: kept.{vague}")
    beyond = p < level
    broken = "" if proof is None else "contradicted, " if beyond else "not contradicted, "
    said = f"{said}: {broken}exceeded {'beyond' if beyond else 'within'} chance{excess}."
    return verdict(seen, p, BEYOND if beyond else WITHIN, said)


def _judge_costs(model: Any, paid: Floats, worth: float) -> Verdict:
    """Compare the mean cost with that of reviewing, and of deciding, every case.

    With limits as well, one of these may cost less, but is not allowed.
    """
    by_case = getattr(model, "case_prices_", None) is not None
    part = "reject_cost" if model.cost_of is None and not by_case else "cost_of"
    paid = paid[:, ~np.isnan(paid).any(axis=0)]
    mean, *others = paid.mean(axis=1).tolist()
    costs = dict(zip(("Reviewing", "Deciding"), others, strict=True))
    said = ("" if model.limits_ else "You asked for the lowest cost. ") + (
        f"At the prices given in training, a case cost {amount(mean, 4)} on average; if all were "
        f"reviewed it would have cost {amount(costs['Reviewing'], 4)}, if all were decided "
        f"{amount(costs['Deciding'], 4)}."
    )
    name = min(costs, key=lambda rival: costs[rival])
    rival = paid[1 + list(costs).index(name)]
    p = mean_excess_probability(paid[0] - rival, worth * len(rival))
    if model.limits_:
        return Verdict(part, None, mean, p, OPEN, said)
    if costs[name] >= mean - 1e-12 * abs(mean):
        return Verdict(part, None, mean, p, MET, f"{said} The model is the cheapest of the three.")
    verdict, chance = (WITHIN, "within") if p >= LEVEL else (BEYOND, "beyond")
    said = f"{said} {name} every case would have cost less, {chance} chance."
    return Verdict(part, None, mean, p, verdict, said)


def excess_probability(bad: float, n_samples: float, rate: float) -> float:
    """Probability of at least so many bad cases if their true share is ``rate``: exact, binomial.

    Cases that belong together are worth fewer independent ones, so the counts may be fractions.
    """
    return float(betainc(bad, n_samples - bad + 1, rate)) if bad > 0 else 1.0


def mean_excess_probability(difference: ArrayLike, size: float) -> float:
    """Probability of so high a mean of ``size`` independent differences if its expectation is 0."""
    d = np.asarray(difference, dtype=np.float64)
    mean, spread = float(d.mean()), float(d.std())
    if size <= 1 or spread == 0:
        return float(mean <= 0) if size > 1 else 1.0
    return float(student.sf(mean / (spread / sqrt(size - 1)), size - 1))
