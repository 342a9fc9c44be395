"""Whether limits were kept that are about some of the cases: a class, its decisions, a group.

Also whether a case costs no more than was promised.  Limits for all cases are judged in
:mod:`rejo.selection.verdicts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats, Indices
from rejo.metrics import tally
from rejo.selection.guarantee import Guarantee
from rejo.selection.rate_limits import read_limits
from rejo.selection.verdicts import (
    BEYOND,
    LEVEL,
    MET,
    OPEN,
    WITHIN,
    TargetVerdict,
    amount,
    excess_probability,
    mean_excess_probability,
    percent,
    short,
)


class Asked(NamedTuple):
    """A limit, and the cases that it is about."""

    part: str  # the parameter that asked for it
    rate: str  # "rejection_rate", "error_rate", "accepted_error_rate" or "mean_cost"
    limit: float
    by: str | None = None  # "class", "decision" or "group"
    value: str | None = None  # the class or group
    confidence: float | None = None  # with which it was promised


def asked_of(model: Any) -> list[Asked]:
    """Limits of a fitted ``RejectClassifierCV`` for some of the cases, or for the mean cost."""
    if model.guarantees_:
        return [
            Asked(_parameter(found), found.rate,
                  found.bound if found.target is None else found.target,
                  found.by, found.value, found.confidence)
            for found in model.guarantees_
            if found.by is not None or found.rate == "mean_cost"
        ]  # fmt: skip
    groups = None if model.policy_ is None else model.policy_.names
    limits = read_limits(model.get_params(deep=False), model.targets_, model.classes_, groups)
    return [
        Asked(limit.parameter, limit.rate, limit.most, limit.by, limit.name)
        for limit in limits
        if limit.by is not None and limit.most is not None
    ]


def _parameter(found: Guarantee) -> str:
    if found.rate == "mean_cost":
        return "cost_of" if found.target is None else "max_cost"
    if found.rate == "rejection_rate":
        return "review_budget_by_group"
    return f"max_error_by_{found.by}"


def judge_limits(
    limits: Sequence[Asked],
    decision: Indices,
    y: Indices,
    *,
    classes: Sequence[str],
    group: Any = None,
    column: str = "group",
    prices: Floats | None = None,
    size: float | None = None,
) -> list[TargetVerdict]:
    """Say for each limit whether it was kept on these cases; -1 is the decision to review.

    ``column`` is what a group is called, and ``size`` the number of independent cases.
    """
    worth = 1.0 if size is None else size / len(y)
    alike = Counter(asked.part for asked in limits)  # of many, some are missed by chance
    found = []
    for asked in limits:
        level = LEVEL / alike[asked.part]
        if asked.rate == "mean_cost":
            if prices is not None:
                found.append(_judge_cost(asked, prices[y, decision], worth, level))
            continue
        if asked.by == "group":
            of = np.asarray(group) == asked.value
        elif asked.by is None:
            of = np.ones(len(y), dtype=bool)
        else:
            member = list(classes).index(str(asked.value))
            of = (y if asked.by == "class" else decision) == member
        found.append(_judge_rate(asked, decision[of], y[of], column, worth, level))
    return found


def _judge_rate(
    asked: Asked, decision: Indices, y: Indices, column: str, worth: float, level: float
) -> TargetVerdict:
    counts = tally(decision, y)
    reviewed = asked.rate == "rejection_rate"
    bad = int(counts.rejected if reviewed else counts.wrong)
    of = int(counts.decided if asked.rate == "accepted_error_rate" else counts.total)
    who = {"class": "class", "decision": "decisions for", "group": column}.get(str(asked.by), "all")
    who = who if asked.value is None else f"{who} {asked.value!r}"
    cases = "decided cases" if asked.rate == "accepted_error_rate" else "cases"
    cases = "decisions" if asked.by == "decision" else cases
    limit = f"at most {short(asked.limit)} {_how(asked)}"
    if of == 0:
        said = f"{who}: no {cases.removesuffix('s')} here; {limit}."
        return _verdict(asked, np.nan, 1.0, OPEN, said)
    what = "went to review" if reviewed else "are wrong"
    seen = f"{who}: {bad:,} of {of:,} {cases} {what} ({percent(bad / of)}), {limit}"
    p = excess_probability(bad * worth, of * worth, asked.limit)
    return _conclude(asked, bad / of, bad <= asked.limit * of + 1e-9, p, level, seen)


def _judge_cost(asked: Asked, paid: Floats, worth: float, level: float) -> TargetVerdict:
    mean = float(paid.mean())
    seen = f"A case cost {amount(mean)} on average, at most {amount(asked.limit)} {_how(asked)}"
    p = mean_excess_probability(paid - asked.limit, worth * len(paid))
    return _conclude(asked, mean, mean <= asked.limit, p, level, seen)


def _how(asked: Asked) -> str:
    if asked.confidence is None:
        return "asked for"
    return f"promised with {short(asked.confidence)} confidence"


def _conclude(
    asked: Asked, seen: float, kept: bool, p: float, level: float, said: str
) -> TargetVerdict:
    """A promise is about the true rate: only an excess beyond chance contradicts it."""
    if kept:
        return _verdict(asked, seen, p, MET, f"{said}: kept.")
    verdict, chance = (WITHIN, "within") if p >= level else (BEYOND, "beyond")
    broken = "contradicted" if verdict == BEYOND else "not contradicted"
    word = "exceeded" if asked.confidence is None else f"{broken}, exceeded"
    return _verdict(asked, seen, p, verdict, f"{said}: {word} {chance} chance.")


def _verdict(asked: Asked, seen: float, p: float, verdict: str, said: str) -> TargetVerdict:
    return TargetVerdict(
        asked.part, asked.limit, seen, p, verdict, said, asked.by, asked.value
    )  # fmt: skip
