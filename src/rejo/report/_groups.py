"""Texts about groups: their rates, and the gaps between them; ``groups.js`` writes the same.

Functions have the same names in both and compute in the same order.
"""

from typing import Any

from scipy.special import ndtri

from rejo.metrics import AccuracyGap, accuracy_gap, wilson_interval
from rejo.report._format import NONE, fixed, percent, quoted, ratio, share, to_units, whole
from rejo.report._prices import Data

SMALL = 30  # groups with fewer cases are not judged


def group_texts(data: Data, point: int) -> dict[str, str]:
    """Texts by the id of their element."""
    return _rates(data, point) | _gaps(data, point)


def _rates(data: Data, point: int) -> dict[str, str]:
    found, differing, judged = {}, [], 0
    n, decided = data["n"], data["n"] - data["reviewed"][point]
    overall = data["reviewed"][point] / n, (data["wrong"][point] / decided if decided else 0.0)
    for c, column in enumerate(data["groups"]):
        for v, group in enumerate(column["groups"]):
            key = f"group-{c}-{v}"
            reviewed, wrong = group["reviewed"][point], group["wrong"][point]
            parts = ((reviewed, group["n"]), (wrong, group["n"] - reviewed))
            verdicts = []
            for what, (part, of), rate in zip(("review", "wrong"), parts, overall, strict=True):
                _, low, high = wilson_interval(
                    part, of, data["confidence"], n_effective=of * data["worth"] or None
                )
                found[f"{key}-{what}"] = share(part, of)
                found[f"{key}-{what}-range"] = f"{percent(low)} to {percent(high)}" if of else NONE
                noun = "reviews" if what == "review" else "errors"
                if of and (low > rate or high < rate):
                    verdicts.append(f"{'more' if low > rate else 'fewer'} {noun}")
            if group["n"] < SMALL:
                found[f"{key}-verdict"] = f"◌ fewer than {SMALL} cases: too few to judge"
                continue
            judged += 1
            if verdicts:
                differing.append(quoted(f"{column['name']}: {group['value']}"))
            found[f"{key}-verdict"] = f"▲ {', '.join(verdicts)}" if verdicts else "like all cases"
    found["group-all-review"] = share(data["reviewed"][point], n)
    found["group-all-wrong"] = share(data["wrong"][point], decided)
    found["groups-line"] = _groups_line(data, differing, judged)
    return found


def _groups_line(data: Data, differing: list[str], judged: int) -> str:
    if not judged:
        return f"No group has the {SMALL} cases needed to judge it."
    if not differing:
        return "No group differs significantly from all cases."
    by_chance = fixed(to_units(2 * judged * (1 - data["confidence"]), 1), 1)
    verb = "differs" if len(differing) == 1 else "differ"
    return (
        f"{len(differing)} of {judged} groups {verb} significantly from all cases: "
        f"{', '.join(differing)}. In {2 * judged} comparisons, about {by_chance} such "
        "differences are expected by chance alone."
    )


def _gaps(data: Data, point: int) -> dict[str, str]:
    found = {}
    for c, column in enumerate(data["groups"]):
        groups = column["groups"]
        if not column["compared"]:
            continue
        gap = _gap(data, groups, point)
        for v, group in enumerate(groups):
            key, n, reviewed = f"gap-{c}-{v}", group["n"], group["reviewed"][point]
            decided, wrong, forced = n - reviewed, group["wrong"][point], forced_wrong(group, point)
            _, low, high = wilson_interval(
                decided - wrong, decided, data["confidence"],
                n_effective=decided * data["worth"] or None,
            )  # fmt: skip
            found[f"{key}-before"] = share(n - forced, n)
            found[f"{key}-now"] = share(decided - wrong, decided)
            found[f"{key}-now-range"] = f"{percent(low)} to {percent(high)}" if decided else NONE
            found[f"{key}-decided"] = whole(decided)
            found[f"{key}-change"] = _signed(forced / n - wrong / decided) if decided else NONE
            found[f"{key}-mark"] = _mark(v, gap, decided)
        found[f"gap-{c}-line"] = _gap_line(data, groups, gap, point)
    return found


def _gap(data: Data, groups: list[dict[str, Any]], point: int) -> AccuracyGap:
    return accuracy_gap(
        [group["n"] for group in groups],
        [group["reviewed"][point] for group in groups],
        [group["wrong"][point] for group in groups],
        [forced_wrong(group, point) for group in groups],
        min_cases=SMALL,
        confidence=data["confidence"],
        worth=data["worth"],
    )


def gap_quantiles(n_groups: int, confidence: float) -> list[tuple[float, float]]:
    """For 0, 1, ... groups: standard errors of an interval for each, and for each two of them."""
    found = [(0.0, 0.0)]
    for G in range(1, n_groups + 1):
        each, pairs = 1 - (1 - confidence) / G, max(G * (G - 1) // 2, 1)
        z = float(ndtri((1 + each) / 2)), float(ndtri(1 - (1 - confidence) / (2 * pairs)))
        found.append(z)
    return found


def forced_wrong(group: dict[str, Any], point: int) -> int:
    """Wrong decisions if every case were decided; one number if it is the same at all points."""
    counts: list[int] = group["forced"]
    return counts[point if len(counts) > 1 else 0]


def _mark(v: int, gap: AccuracyGap, decided: int) -> str:
    if decided < SMALL:
        return f"◌ fewer than {SMALL}"
    if gap.best < 0:
        return ""
    return "▲ best" if v == gap.best else "▼ worst" if v == gap.worst else ""


def _gap_line(data: Data, groups: list[dict[str, Any]], gap: AccuracyGap, point: int) -> str:
    if gap.best < 0:
        return f"Fewer than two groups have the {SMALL} decided cases needed to compare them here."

    def correct(v: int) -> str:
        decided = groups[v]["n"] - groups[v]["reviewed"][point]
        return share(decided - groups[v]["wrong"][point], decided)

    best, worst = (quoted(groups[v]["value"]) for v in (gap.best, gap.worst))
    text = (
        f"At this point, {correct(gap.best)} of the decided cases of {best} are correct and "
        f"{correct(gap.worst)} of {worst}: a gap of {_points(gap.gap.estimate)} points "
        f"({ratio(100 * data['confidence'])}\u00a0% interval {_points(gap.gap.low)} to "
        f"{_points(gap.gap.high)})."
    )
    if data["reviewed"][point] == 0:
        return f"{text} Nothing is reviewed here."
    if gap.before < 0:
        before = f"{worst} would be ahead by {_points(-gap.before)} points"
    else:
        before = f"the same two would be {_points(gap.before)} points apart"
    return f"{text} If every case were decided, {before}: {_verdict(gap)}."


def _verdict(gap: AccuracyGap) -> str:
    if gap.change.low > 0:
        return "reviews widen the gap"
    if gap.change.high < 0:
        return "reviews narrow the gap"
    return "what reviews change may be chance"


def _points(difference: float) -> str:
    return fixed(to_units(difference, 3), 1)


def _signed(difference: float) -> str:
    units = to_units(abs(difference), 3)
    sign = "" if units == 0 else "+" if difference > 0 else "\u2212"
    return f"{sign}{fixed(units, 1)} points"
