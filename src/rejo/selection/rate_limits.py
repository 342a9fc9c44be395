"""Limits that a model must keep: overall, for each class, for each decision, for each group.

Each limits a rate among some of the cases: errors among the ill, wrong approvals, reviews in a
region.  All of them must hold at the same operating point.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError, close_words
from rejo._typing import Floats, Indices
from rejo.selection.ranked import Ranked
from rejo.selection.target import RATES, Target, check_share

BY = {
    "max_error_by_class": "class",
    "max_error_by_decision": "decision",
    "max_error_by_group": "group",
    "review_budget_by_group": "group",
}


class Limit(NamedTuple):
    """A rate, among all cases or some of them, and what it may be at most."""

    parameter: str  # that sets it
    rate: str  # one of RATES, or "mean_cost"
    most: float | None  # None: whatever it is, it is bounded
    by: str | None = None  # "class", "decision" or "group"
    member: int = -1  # index of the class, or of the group
    name: str | None = None  # of the class or group
    confidence: float | None = None  # with which it was promised

    @property
    def limits_errors(self) -> bool:
        """Whether reviews help to keep it."""
        return self.rate != "rejection_rate"

    @property
    def where(self) -> str:
        """The class or group, as it follows the parameter."""
        return "" if self.name is None else f"[{self.name!r}]"

    def __str__(self) -> str:
        return f"{self.parameter}{self.where}" + ("" if self.most is None else f"={self.most:g}")

    def described(self) -> str:
        """What is limited, in words."""
        if self.rate == "mean_cost":
            return "mean cost of a case"
        said = RATES[self.rate]
        if self.by == "class":
            some = "the cases" if self.rate == "error_rate" else "the decided cases"
            return f"share of wrong decisions among {some} of class {self.name!r}"
        if self.by == "decision":
            return f"share of wrong decisions among the decisions for {self.name!r}"
        return said if self.by is None else f"{said}, in group {self.name!r}"


def name_limits(limits: Sequence[Limit]) -> str:
    """Name limits as they were asked for: one share for all groups, or all classes, once."""
    shares: dict[str, list[float | None]] = {}
    for limit in limits:
        shares.setdefault(limit.parameter, []).append(limit.most)
    same = {name for name, all_ in shares.items() if len(all_) > 1 and len(set(all_)) == 1}
    said = [str(x._replace(name=None) if x.parameter in same else x) for x in limits]
    return ", ".join(dict.fromkeys(said))


def read_limits(
    params: Mapping[str, Any], targets: Sequence[Target], classes: Any, groups: Sequence[str] | None
) -> list[Limit]:
    """All limits that the parameters of ``RejectClassifierCV`` set; the main one first."""
    rate = {"accepted": "accepted_error_rate", "overall": "error_rate"}[params["error"]]
    found = []
    if params["max_error"] is not None:
        found.append(Limit("max_error", rate, float(params["max_error"])))
    budget = next((target for target in targets if target.name == "review_budget"), None)
    if budget is not None:
        found.append(Limit(budget.name, "rejection_rate", budget.limit))
    if params["max_cost"] is not None:
        found.append(Limit("max_cost", "mean_cost", _cost(params)))
    names = [str(label) for label in classes.tolist()]
    for parameter, by in BY.items():
        if (value := params[parameter]) is None:
            continue
        if by == "group" and groups is None:
            raise RejoError(
                f"{parameter}={value!r} needs the group of each case",
                parameter=parameter,
                remedy="Pass group= to fit; groups= only says which rows belong together.",
            )
        known = groups if by == "group" else names
        what = {"max_error_by_decision": "accepted_error_rate"}.get(parameter, rate)
        what = "rejection_rate" if parameter == "review_budget_by_group" else what
        for name, most in _by_name(parameter, value, known or [], by).items():
            found.append(Limit(parameter, what, most, by, (known or []).index(name), name))
    if not found:  # the lowest cost: say what it is at most
        found.append(Limit(targets[0].name, "mean_cost", None))
    return found


def _by_name(parameter: str, value: Any, known: Sequence[str], by: str) -> dict[str, float]:
    """A share for each name: the same for all, or those that are given."""
    if not isinstance(value, Mapping):
        share = check_share(parameter, value)
        return dict.fromkeys(known, share)
    what = "group" if by == "group" else "class"
    if not value:
        raise RejoError(
            f"{parameter} is an empty dict", parameter=parameter,
            remedy=f"Give a share for a {what}, or one share for all.",
        )  # fmt: skip
    found = {}
    for key, share in value.items():
        name = group_name(key) if by == "group" else str(key)
        if name not in known:  # 0 is the class 0.0
            name = next((x for x in known if x == f"{group_name(key)}.0"), group_name(key))
        if name in found:
            raise RejoError(
                f"{parameter} names the {what} {name!r} twice", parameter=parameter,
                remedy="Give one share for each.",
            )  # fmt: skip
        if name not in known:
            close = close_words(name, known, 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known[:10])}."
            raise RejoError(
                f"{parameter} names the {what} {key!r}, which no case has", parameter=parameter,
                remedy=hint,
            )  # fmt: skip
        found[name] = check_share(f"{parameter}[{key!r}]", share)
    return found


def _cost(params: Mapping[str, Any]) -> float:
    value = params["max_cost"]
    fine = isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1e100
    if not fine:
        raise RejoError(
            f"max_cost={value!r} must be a positive amount in the unit of the prices",
            parameter="max_cost",
        )
    if params["cost_of"] is None and not isinstance(params["reject_cost"], float):
        raise RejoError(
            f"max_cost={value!r} needs prices", parameter="max_cost",
            remedy='Give cost_of, such as {"error": 5000, "review": 40}.',
        )  # fmt: skip
    return float(value)


def group_name(value: Any) -> str:
    """A group as text: 1, 1.0 and "1" are the same; a missing value has a name of its own."""
    if is_missing(value):
        return "(missing)"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, not a number, or missing to pandas: not equal to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA: nobody knows
        return True


def check_group(group: Any, n: int) -> list[str]:
    """Return the name of each case's group."""
    # Not as text: that would turn a missing value among words into the word "nan".
    flat = np.asarray(group, dtype=object if isinstance(group, (list, tuple)) else None)
    if flat.shape != (n,):
        got, remedy = f"shape {flat.shape}", ""
        if isinstance(group, str):
            got, remedy = repr(group), f" Give the column itself, such as table[{group!r}]."
        elif flat.ndim == 2 and flat.shape[1] > 1:
            remedy = " To promise by several columns, join them into one."
        raise ValueError(f"group must have one value for each of the {n} cases; got {got}.{remedy}")
    return [group_name(value) for value in flat.tolist()]


def group_names(group: Any, n: int) -> tuple[list[str], Indices]:
    """Names of the groups in their order, and the index of each case's."""
    said = check_group(group, n)
    names, index = np.unique(np.array(said, dtype=object), return_inverse=True)
    return [str(name) for name in names], index


class Counts(NamedTuple):
    """Of the cases that a limit is about, at each candidate."""

    bad: Floats  # (m,) errors or reviews; they may be expected numbers
    total: Floats  # (m,)


def count_limit(
    limit: Limit, ranked: Ranked, wrong: Any, y: Indices, group: Indices | None, cuts: Floats
) -> Counts:
    """Count what a limit is about at cuts (m,).

    ``wrong`` (n,) says whether the decision without a review is wrong, or how likely that is.
    """
    of = members(limit, ranked, y, group)
    every = np.full(len(cuts), float(of.sum()))
    decided, bad = decided_sums(ranked, of, cuts, [np.ones(len(of)), np.asarray(wrong)])
    if limit.rate == "rejection_rate":
        return Counts(every - decided, every)
    among_decided = limit.rate == "accepted_error_rate" or limit.by == "decision"
    return Counts(bad, decided if among_decided else every)


def members(limit: Limit, ranked: Ranked, y: Indices, group: Indices | None) -> Any:
    """Which cases (n,) a limit is about, if they are decided."""
    if limit.by == "class":
        return y == limit.member
    if limit.by == "decision":
        return ranked.forced == limit.member
    if limit.by == "group" and group is not None:
        return group == limit.member
    return np.ones(len(y), dtype=bool)


def decided_sums(ranked: Ranked, of: Any, cuts: Floats, values: Sequence[Any]) -> list[Floats]:
    """Sums (m,) of each of the values (n,) over the cases ``of`` (n,) that are decided."""
    rows = np.flatnonzero(of)
    rows = rows[np.argsort(ranked.doubt[rows], kind="stable")]
    at = np.searchsorted(ranked.doubt[rows], cuts - ranked.slack)  # those below are decided
    return [
        np.append(0.0, np.cumsum(np.asarray(value, dtype=np.float64)[rows]))[at] for value in values
    ]
