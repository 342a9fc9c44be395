"""Was the target met? What was asked for in training, against cases whose classes are known."""

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc
from scipy.stats import t as student

from rejo._io import percent
from rejo._typing import Floats, Indices
from rejo.metrics import binomial_upper_bound, tally
from rejo.selection.limits import Limit
from rejo.selection.promises import Guarantee
from rejo.selection.summary import short

LEVEL = 0.05  # what happens more rarely than this is beyond chance
VAGUE = 2.0  # cases that allow a rate of so many times the limit show little
MET, WITHIN, BEYOND, OPEN = "met", "missed, within chance", "missed, beyond chance", "open"


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
) -> list[Verdict]:
    """Say of each limit of a fitted ``RejectClassifierCV`` whether these cases keep it.

    A ``decision`` of -1 is a review.  ``column`` is what a group is called, and ``size`` the number
    of independent cases.
    """
    worth = 1.0 if size is None else size / len(y)
    reviewed = set() if model.policy_ is None else {*model.policy_.reviewed}
    limits = [x for x in model.limits_ if x.by != "group" or x.name not in reviewed]
    promised = {(g.rate, g.by, g.value): g for g in model.guarantees_}
    if not limits and ("mean_cost", None, None) in promised:
        limits = [Limit("max_cost", "mean_cost", promised["mean_cost", None, None].bound)]
    alike = Counter(limit.parameter for limit in limits)  # of many, some are missed by chance
    found = []
    for limit in limits:
        proof = promised.get((limit.rate, limit.by, limit.name))
        level = LEVEL / alike[limit.parameter]
        if limit.rate == "mean_cost":
            paid = model.prices_[y, decision]
            found.append(_judge_mean(limit, paid, worth, level, proof))
            continue
        of = _members(limit, decision, y, classes, group)
        found.append(_judge_rate(limit, decision[of], y[of], column, worth, level, proof))
    if model.prices_ is not None:
        found.append(_judge_costs(model, decision, forced, y, worth))
    return found


def _members(
    limit: Limit, decision: Indices, y: Indices, classes: Sequence[str], group: Any
) -> Any:
    if limit.by == "group":
        return np.asarray(group) == limit.name
    if limit.by is None:
        return np.ones(len(y), dtype=bool)
    return (y if limit.by == "class" else decision) == list(classes).index(str(limit.name))


def _judge_rate(
    limit: Limit, decision: Indices, y: Indices, column: str, worth: float, level: float,
    proof: Guarantee | None,
) -> Verdict:  # fmt: skip
    counts, most = tally(decision, y), float(limit.most or 0.0)
    reviews, accepted = limit.rate == "rejection_rate", limit.rate == "accepted_error_rate"
    bad = int(counts.rejected if reviews else counts.wrong)
    of = int(counts.decided if accepted else counts.total)
    who = {"class": "Class", "decision": "Decisions for", "group": column}.get(str(limit.by), "")
    who = "" if limit.name is None else f"{who} {limit.name!r}: "
    cases = "decisions" if limit.by == "decision" else "decided cases" if accepted else "cases"
    asked = f"{who}at most {short(most)} {_how(proof)}"
    asked = asked[0].upper() + asked[1:]
    if of == 0:
        return _verdict(limit, np.nan, 1.0, OPEN, f"{asked}; there are no such {cases} here.")
    went = "went to review" if reviews else "are wrong"
    seen = f"{asked}, and {bad:,} of {of:,} {cases} {went} ({percent(bad / of)})"
    p = excess_probability(bad * worth, of * worth, most)
    kept = bad <= most * of + 1e-9
    found = _conclude(limit, bad / of, kept, p, level, seen, proof)
    if kept and limit.parameter == "max_error":
        independent = max(round(of * worth), 1)
        upper = binomial_upper_bound(min(round(bad * worth), independent), independent)
        if upper > VAGUE * most:
            more = f" So few cases show little: the true rate may be up to {percent(upper)}."
            return found._replace(sentence=found.sentence + more)
    return found


def _judge_mean(
    limit: Limit, paid: Floats, worth: float, level: float, proof: Guarantee | None
) -> Verdict:
    mean, most = float(paid.mean()), float(limit.most or 0.0)
    seen = f"At most {amount(most)} {_how(proof)}, and a case cost {amount(mean)} on average"
    p = mean_excess_probability(paid - most, worth * len(paid))
    return _conclude(limit, mean, mean <= most, p, level, seen, proof)


def _how(proof: Guarantee | None) -> str:
    return "asked for" if proof is None else f"promised with {short(proof.confidence)} confidence"


def _conclude(
    limit: Limit, seen: float, kept: bool, p: float, level: float, said: str,
    proof: Guarantee | None,
) -> Verdict:  # fmt: skip
    """A promise is about the true rate: only an excess beyond chance contradicts it."""
    if kept:
        return _verdict(limit, seen, p, MET, f"{said}: kept.")
    verdict, chance = (WITHIN, "within") if p >= level else (BEYOND, "beyond")
    broken = "contradicted" if verdict == BEYOND else "not contradicted"
    word = "exceeded" if proof is None else f"{broken}, exceeded"
    said = f"{said}: {word} {chance} chance"
    if limit.rate != "mean_cost":
        often = "fewer than 0.1 %" if p < 0.001 else f"{100 * p:.2g} %"
        true = short(float(limit.most or 0.0))
        said += f" (at a true {true}, {often} of batches would have as many)"
    return _verdict(limit, seen, p, verdict, f"{said}.")


def _verdict(limit: Limit, seen: float, p: float, verdict: str, said: str) -> Verdict:
    return Verdict(limit.parameter, limit.most, seen, p, verdict, said, limit.by, limit.name)


def _judge_costs(
    model: Any, decision: Indices, forced: Indices, y: Indices, worth: float
) -> Verdict:
    """Compare the mean cost with that of reviewing, and of deciding, every case.

    With limits as well, one of these may cost less, but is not allowed.
    """
    prices, part = model.prices_, "reject_cost" if model.cost_of is None else "cost_of"
    paid = prices[y, decision]  # -1: the review, last
    rivals = {"Reviewing": prices[y, -1], "Deciding": prices[y, forced]}
    costs = {name: float(rival.mean()) for name, rival in rivals.items()}
    mean = float(paid.mean())
    said = ("" if model.limits_ else "You asked for the lowest cost. ") + (
        f"At the prices given in training, a case cost {amount(mean)} on average; if all were "
        f"reviewed it would have cost {amount(costs['Reviewing'])}, if all were decided "
        f"{amount(costs['Deciding'])}."
    )
    name = min(costs, key=lambda rival: costs[rival])
    p = mean_excess_probability(paid - rivals[name], worth * len(y))
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


def amount(value: float) -> str:
    """A mean cost, in four digits."""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
