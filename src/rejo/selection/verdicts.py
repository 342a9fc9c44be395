"""Was the target met? What was asked for in training, against cases whose classes are known."""

from collections.abc import Sequence
from math import isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc
from scipy.stats import t as student

from rejo._typing import Floats, Indices
from rejo.metrics import binomial_upper_bound, tally
from rejo.selection.guarantee import Guarantee
from rejo.selection.target import Target

LEVEL = 0.05  # what happens more rarely than this is beyond chance
VAGUE = 2.0  # cases that allow a rate of so many times the limit show little
MET, WITHIN, BEYOND, OPEN = "met", "missed, within chance", "missed, beyond chance", "open"


class TargetVerdict(NamedTuple):
    """Whether one part of a target was met."""

    part: str  # the parameter that asked for it
    limit: float | None  # of the rate; None for prices
    seen: float  # the rate, or the mean cost of a case
    p_value: float  # probability of a result this bad, if the target is just met
    verdict: str  # "met", "missed, within chance", "missed, beyond chance" or "open"
    sentence: str
    by: str | None = None  # "class", "decision" or "group", if it is about some of the cases
    value: str | None = None  # the class or group


def excess_probability(bad: float, n_samples: float, rate: float) -> float:
    """Probability of at least so many bad cases if their true share is ``rate``: exact, binomial.

    Cases that belong together are worth fewer independent ones, so the counts may be fractions.
    """
    return float(betainc(bad, n_samples - bad + 1, rate)) if bad > 0 else 1.0


def judge_targets(
    targets: Sequence[Target],
    guarantees: Sequence[Guarantee],
    prices: Floats | None,
    decision: Indices,
    forced: Indices,
    y: Indices,
    *,
    size: float | None = None,
) -> list[TargetVerdict]:
    """Say whether targets that are about all cases were met on these; -1 stands for a review.

    ``size`` is the number of independent cases; by default all are.
    """
    worth = 1.0 if size is None else size / len(y)
    found = []
    for target in targets:
        if target.rate is not None and "_by_" not in target.name:
            found.append(_judge_rate(target, decision, y, worth))
            proofs = (one for one in guarantees if one.by is None and one.rate == target.rate)
            if (proof := next(proofs, None)) is not None:
                found.append(_judge_guarantee(found[-1], proof))
    if prices is not None:
        found.append(_judge_costs(targets[0], prices, decision, forced, y, worth))
    return found


def _judge_rate(target: Target, decision: Indices, y: Indices, worth: float) -> TargetVerdict:
    counts, limit, n = tally(decision, y), target.limit, len(y)
    reviewed, wrong, decided = int(counts.rejected), int(counts.wrong), int(counts.decided)
    bad, of, what = {
        "rejection_rate": (reviewed, n, "of the cases to review"),
        "error_rate": (wrong, n, "errors among all cases"),
        "accepted_error_rate": (wrong, decided, "errors among the decided cases"),
    }[str(target.rate)]
    asked = f"You asked for at most {short(limit)} {what}"
    if of == 0:
        return TargetVerdict(
            target.name, limit, float("nan"), 1.0, OPEN, f"{asked}: no case was decided."
        )
    seen = f"{asked}, and {bad:,} of {of:,} ({percent(bad / of)})"
    seen += " went there." if target.rate == "rejection_rate" else " are wrong."
    p = excess_probability(bad * worth, of * worth, limit)
    place = "budget" if target.name == "review_budget" else "the limit"
    if bad <= limit * of + 1e-9:
        independent = max(round(of * worth), 1)
        upper = binomial_upper_bound(min(round(bad * worth), independent), independent)
        said = f"{seen} Within {place}."
        if upper > VAGUE * limit and target.name == "max_error":
            said += f" So few cases show little: the true rate may be up to {percent(upper)}."
        return TargetVerdict(target.name, limit, bad / of, p, MET, said)
    verdict, chance = (WITHIN, "within") if p >= LEVEL else (BEYOND, "beyond")
    often = "fewer than 0.1 %" if p < 0.001 else f"{'only ' * (p < LEVEL)}{100 * p:.2g} %"
    said = (
        f"{seen} Over {place}, {chance} chance: with a true share of {short(limit)}, {often} of "
        "batches this size would have as many."
    )
    return TargetVerdict(target.name, limit, bad / of, p, verdict, said)


def _judge_guarantee(found: TargetVerdict, guarantee: Guarantee) -> TargetVerdict:
    """A guarantee is about the true rate: only an excess beyond chance contradicts it."""
    broken = found.verdict == BEYOND
    said = (
        f"These cases {'contradict' if broken else 'do not contradict'} the guarantee of at most "
        f"{short(guarantee.bound)}, with {short(guarantee.confidence)} confidence"
    )
    said += ", which is for cases like those in training." if broken else "."
    verdict = OPEN if isnan(found.seen) else BEYOND if broken else MET
    return TargetVerdict("confidence", found.limit, found.seen, found.p_value, verdict, said)


def _judge_costs(
    target: Target, prices: Floats, decision: Indices, forced: Indices, y: Indices, worth: float
) -> TargetVerdict:
    """Compare the mean cost with that of reviewing, and of deciding, every case.

    With a budget or a limit as well, one of these may cost less, but is not allowed.
    """
    paid = prices[y, decision]  # -1: the review, last
    rivals = {"Reviewing": prices[y, -1], "Deciding": prices[y, forced]}
    costs = {name: float(rival.mean()) for name, rival in rivals.items()}
    mean = float(paid.mean())
    asked = "" if target.rate is not None else "You asked for the lowest cost. "
    said = asked + (
        f"At the prices given in training, a case cost {amount(mean)} on average; if all were "
        f"reviewed it would have cost {amount(costs['Reviewing'])}, if all were decided "
        f"{amount(costs['Deciding'])}."
    )
    name = min(costs, key=lambda rival: costs[rival])
    p = mean_excess_probability(paid - rivals[name], worth * len(y))
    if target.rate is not None:
        return TargetVerdict("cost_of", None, mean, p, OPEN, said)
    if costs[name] >= mean - 1e-12 * abs(mean):
        said += " The model is the cheapest of the three."
        return TargetVerdict(target.name, None, mean, p, MET, said)
    verdict, chance = (WITHIN, "within") if p >= LEVEL else (BEYOND, "beyond")
    said = f"{said} {name} every case would have cost less, {chance} chance."
    return TargetVerdict(target.name, None, mean, p, verdict, said)


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


def short(share: float) -> str:
    """A share as it was asked for."""
    return f"{100 * share:.3g} %"


def percent(share: float) -> str:
    """A share that was found."""
    return f"{100 * share:.1f} %"
