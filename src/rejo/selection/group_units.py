"""The groups that something is promised for: small ones merged, left to review, or refused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejo._typing import Indices
from rejo.metrics import cases_needed
from rejo.selection.group_policy import DIFFERENT, UnequalTreatment
from rejo.selection.guarantee import TargetUnattainable
from rejo.selection.rate_limits import Limit
from rejo.selection.search import Request

OTHERS = "(others)"  # what small groups are called together


class GroupUnits(NamedTuple):
    """The groups that something is promised for, small ones merged or left to review."""

    group: Indices | None  # (n,) of each case, as an index into names
    names: list[str]
    small: list[int]  # groups that are reviewed because there are too few cases
    merged: list[str]  # names of groups that count as one
    original: Sequence[str]  # names before small groups were merged
    of: Indices  # (n_original,) index of the unit of each original group

    def kept(self, limits: Sequence[Limit], reviewed: Sequence[int]) -> list[Limit]:
        """The limits that remain if some groups are reviewed entirely."""
        found: list[Limit] = []
        for limit in limits:
            if limit.by != "group":
                found.append(limit)
                continue
            unit = int(self.of[limit.member])
            if unit in reviewed:
                continue
            own = limit._replace(member=unit, name=self.names[unit])
            twin = next((x for x in found if x._replace(most=own.most) == own), None)
            if twin is None:
                found.append(own)
            elif own.most is not None and twin.most is not None and own.most < twin.most:
                found[found.index(twin)] = own  # merged groups keep the lowest of their limits
        return found


def group_units(
    request: Request, rows: Indices, n_new: int, confidence: float | None
) -> GroupUnits:
    """Merge small groups, or leave them to review, or refuse, as the user says.

    How many of ``n_new`` cases belong to each is expected from these ``rows``: calibration cases
    must not choose the groups that they prove something for.
    """
    names = list(request.group_names)
    if request.group is None:
        return GroupUnits(None, [], [], [], [], np.array([], dtype=np.intp))
    if request.group_thresholds:
        warnings.warn(DIFFERENT, UnequalTreatment, stacklevel=3)
    counts = np.bincount(request.group[rows], minlength=len(names))
    counts = np.floor(counts * n_new / len(rows) + 1e-9).astype(int)
    small: dict[int, int] = {}  # group: cases that it would take
    for limit in request.limits:
        if limit.by == "group" and limit.most is not None:
            least = (
                int(np.ceil(1 / limit.most)) if confidence is None
                else cases_needed(limit.most, confidence)
            )  # fmt: skip
            if counts[limit.member] < least:
                small[limit.member] = max(least, small.get(limit.member, 0))
    same = np.arange(len(names))
    if not small or request.small_groups == "review":
        return GroupUnits(request.group, names, sorted(small), [], names, same)
    if request.small_groups == "merge" and len(names) > 1:
        # Some will be reviewed, so twice the least number is needed: if small groups are too few
        # together, the smallest of the others joins them.
        joined = [*small]
        others = sorted(set(range(len(names))) - set(small), key=lambda g: (counts[g], g))
        while counts[joined].sum() < 2 * max(small.values()) or len(joined) < 2:
            if not others:
                break
            joined.append(others.pop(0))
        kept = sorted(others)
        of = np.full(len(names), len(kept))
        of[kept] = np.arange(len(kept))
        merged = [names[g] for g in sorted(joined)]
        return GroupUnits(
            of[request.group], [names[g] for g in kept] + [OTHERS], [], merged, names, of
        )
    listed = ", ".join(f"{names[g]!r} ({counts[g]})" for g in sorted(small)[:10])
    limit = next(x for x in request.limits if x.by == "group" and x.member in small)
    what = "calibration cases" if confidence is not None else "cases"
    level = "" if confidence is None else f" at {100 * confidence:g} %"
    raise TargetUnattainable(
        f"{limit.parameter}={limit.most:g}{level} takes at least {max(small.values())} {what} of "
        f"each group, and some groups have fewer: {listed}",
        attainable=np.nan,
        parameter="small_groups",
        remedy='Merge them with others in your data, or give small_groups="merge", which counts '
        'small groups as one, or small_groups="review", which sends all their cases to review.',
    )
