"""Whether limits were kept that are about some of the cases: a class, its decisions, a group.

Also whether a case costs no more than was promised.  Limits for all cases are judged in
:mod:`rejo.selection.verdicts`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rejo._typing import Floats, Indices
from rejo.metrics import tally
from rejo.selection.guarantee import Guarantee
from rejo.selection.rate_limits import Limit, read_limits
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


def asked_of(model: Any) -> list[Limit]:
    """Limits of a fitted ``RejectClassifierCV`` for some of the cases, or for the mean cost."""
    if model.guarantees_:
        return [
            Limit(_parameter(found), found.rate,
                  found.bound if found.target is None else found.target,
                  found.by, -1, found.value, found.confidence)
            for found in model.guarantees_
            if found.by is not None or found.rate == "mean_cost"
        ]  # fmt: skip
    groups = None if model.policy_ is None else model.policy_.names
    limits = read_limits(model.get_params(deep=False), model.targets_, model.classes_, groups)
    return [limit for limit in limits if limit.by is not None and limit.most is not None]


def _parameter(found: Guarantee) -> str:
    if found.rate == "mean_cost":
        return "cost_of" if found.target is None else "max_cost"
    if found.rate == "rejection_rate":
        return "review_budget_by_group"
    return f"max_error_by_{found.by}"


def judge_limits(
    limits: Sequence[Limit],
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
    alike = Counter(asked.parameter for asked in limits)  # of many, some are missed by chance
    found = []
    for asked in limits:
        level = LEVEL / alike[asked.parameter]
        if asked.rate == "mean_cost":
            if prices is not None:
                found.append(_judge_cost(asked, prices[y, decision], worth, level))
            continue
        if asked.by == "group":
            of = np.asarray(group) == asked.name
        elif asked.by is None:
            of = np.ones(len(y), dtype=bool)
        else:
            member = list(classes).index(str(asked.name))
            of = (y if asked.by == "class" else decision) == member
        found.append(_judge_rate(asked, decision[of], y[of], column, worth, level))
    return found


def _judge_rate(
    asked: Limit, decision: Indices, y: Indices, column: str, worth: float, level: float
) -> TargetVerdict:
    counts = tally(decision, y)
    reviewed = asked.rate == "rejection_rate"
    bad = int(counts.rejected if reviewed else counts.wrong)
    of = int(counts.decided if asked.rate == "accepted_error_rate" else counts.total)
    who = {"class": "class", "decision": "decisions for", "group": column}.get(str(asked.by), "all")
    who = who if asked.name is None else f"{who} {asked.name!r}"
    cases = "decided cases" if asked.rate == "accepted_error_rate" else "cases"
    cases = "decisions" if asked.by == "decision" else cases
    most = float(asked.most)  # type: ignore[arg-type]
    limit = f"at most {short(most)} {_how(asked)}"
    if of == 0:
        said = f"{who}: no {cases.removesuffix('s')} here; {limit}."
        return _verdict(asked, np.nan, 1.0, OPEN, said)
    what = "went to review" if reviewed else "are wrong"
    seen = f"{who}: {bad:,} of {of:,} {cases} {what} ({percent(bad / of)}), {limit}"
    p = excess_probability(bad * worth, of * worth, most)
    return _conclude(asked, bad / of, bad <= most * of + 1e-9, p, level, seen)


def _judge_cost(asked: Limit, paid: Floats, worth: float, level: float) -> TargetVerdict:
    mean, most = float(paid.mean()), float(asked.most)  # type: ignore[arg-type]
    seen = f"A case cost {amount(mean)} on average, at most {amount(most)} {_how(asked)}"
    p = mean_excess_probability(paid - most, worth * len(paid))
    return _conclude(asked, mean, mean <= most, p, level, seen)


def _how(asked: Limit) -> str:
    if asked.confidence is None:
        return "asked for"
    return f"promised with {short(asked.confidence)} confidence"


def _conclude(
    asked: Limit, seen: float, kept: bool, p: float, level: float, said: str
) -> TargetVerdict:
    """A promise is about the true rate: only an excess beyond chance contradicts it."""
    if kept:
        return _verdict(asked, seen, p, MET, f"{said}: kept.")
    verdict, chance = (WITHIN, "within") if p >= level else (BEYOND, "beyond")
    broken = "contradicted" if verdict == BEYOND else "not contradicted"
    word = "exceeded" if asked.confidence is None else f"{broken}, exceeded"
    return _verdict(asked, seen, p, verdict, f"{said}: {word} {chance} chance.")


def _verdict(asked: Limit, seen: float, p: float, verdict: str, said: str) -> TargetVerdict:
    return TargetVerdict(
        asked.parameter, asked.most, seen, p, verdict, said, asked.by, asked.name
    )  # fmt: skip
