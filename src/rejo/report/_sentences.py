"""Sentences and counts for each operating point, which the script looks up."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from math import floor, isnan
from typing import NamedTuple

from rejo.metrics import Interval
from rejo.report._collect import Kind, OutcomeLayout, PointTally
from rejo.report._format import BATCH, NONE, fixed, per_batch, percent, quoted, ratio, share, whole
from rejo.selection import Expected, expect

MAX_NAMED = 6  # classes in a sentence
Range = tuple[int, int]


class Ranges(NamedTuple):
    """How many of 1,000 new cases, from and to."""

    right: Range
    wrong: Range
    reviewed: Range
    forced_right: Range
    forced_wrong: Range


class BatchCounts(NamedTuple):
    """Of 1,000 cases; right, wrong and reviewed add up to 1,000."""

    right: str
    wrong: str
    reviewed: str
    decided: str


def predict_ranges(tally: PointTally, size: float, confidence: float) -> Ranges:
    """Ranges for the counts of the next 1,000 cases."""

    def predict(rejection_rate: float, error_rate: float) -> Expected:
        return _expect(rejection_rate, error_rate, size, BATCH, confidence)

    n = tally.n
    now = predict(tally.reviewed / n, tally.wrong / n)
    low, high = _counts(predict(0.0, tally.forced_wrong / n).error_rate)
    return Ranges(
        # Every share of all cases is predicted in the same way as the share of reviews.
        right=_counts(predict(tally.right / n, 0.0).rejection_rate),
        wrong=_counts(now.error_rate),
        reviewed=_counts(now.rejection_rate),
        forced_right=(BATCH - high, BATCH - low),
        forced_wrong=(low, high),
    )


_expect = lru_cache(maxsize=512)(expect)  # points of one model share some rates


def _counts(rate: Interval[float]) -> Range:
    return floor(BATCH * rate.low + 0.5), floor(BATCH * rate.high + 0.5)


def count_batch(wrong: int, reviewed: int, n: int) -> BatchCounts:
    """Counts out of 1,000 cases; fewer than 10 errors, and the right decisions, get a decimal."""
    out = per_batch(reviewed, n)
    bad = per_batch(wrong, n, 1)
    if bad < 100:
        # Reviews may have been rounded up by half a case: errors cannot exceed decisions.
        bad = min(bad, 10 * (BATCH - out))
        right, wrongs = fixed(10 * (BATCH - out) - bad, 1), fixed(bad, 1)
        if bad % 10 == 0:
            right, wrongs = right.removesuffix(".0"), wrongs.removesuffix(".0")
    else:
        bad = min(per_batch(wrong, n), BATCH - out)
        right, wrongs = whole(BATCH - out - bad), whole(bad)
    return BatchCounts(right, wrongs, whole(out), whole(BATCH - out))


def name_point(tally: PointTally, axis: str, own: bool, uniform: bool | None = None) -> str:
    """Describe the point in words.

    A cut in the ranking by what a review is worth is best at one price; it is a mean price if
    prices are not ``uniform``, and unknown if that is None.
    """
    if axis == "reject_cost" and not isnan(tally.cost):
        return f"A review costs {ratio(tally.cost)} of an error"
    name = f"{share(tally.reviewed, tally.n)} of the cases go to review"
    if uniform is not None and tally.cost > 0:
        mean = "" if uniform else " on average"
        name += f", best if a review costs {ratio(tally.cost)} of an error{mean}"
    return f"{name}, as the model decides" if own else name


def point_texts(
    tally: PointTally,
    ranges: Ranges,
    name: str,
    classes: Sequence[str],
    layout: OutcomeLayout,
    confidence: float,
) -> dict[str, str]:
    """Every text of a point that does not depend on prices, by the id of its element."""
    counts = count_batch(tally.wrong, tally.reviewed, tally.n)
    forced = count_batch(tally.forced_wrong, 0, tally.n)
    return {
        "headline": _headline(tally, counts, ranges, confidence),
        "point-name": name,
        "cases-right": counts.right,
        "cases-right-range": _range(ranges.right),
        "cases-wrong": counts.wrong,
        "cases-wrong-range": _range(ranges.wrong),
        "cases-review": counts.reviewed,
        "cases-review-range": _range(ranges.reviewed),
        "forced-right": forced.right,
        "forced-right-range": _range(ranges.forced_right),
        "forced-wrong": forced.wrong,
        "forced-wrong-range": _range(ranges.forced_wrong),
        "curve-words": _curve_words(tally),
        "scores-words": _class_words(tally, classes, layout),
        "budget-words": _budget_words(tally, counts, forced),
        "tenths-words": _doubt_words(tally),
    }


def _headline(tally: PointTally, counts: BatchCounts, ranges: Ranges, confidence: float) -> str:
    if tally.decided == 0:
        return f"Of {BATCH:,} cases, none is decided automatically; all go to review."
    if counts.decided == "0":
        return (
            f"Of {BATCH:,} cases, fewer than one is decided automatically; the rest go to review."
        )
    if tally.wrong == 0:
        wrong = "none of them wrong in the cases so far"
    else:
        wrong = f"about {counts.wrong} of them wrong"
    reviews = f"{counts.reviewed} go to review" if tally.reviewed else "none goes to review"
    return (
        f"Of {BATCH:,} cases, {counts.decided} are decided automatically, {wrong} "
        f"({ratio(100 * confidence)}\u00a0% interval {_range(ranges.wrong)}); {reviews}."
    )


def _curve_words(tally: PointTally) -> str:
    reviews = f"At this point, {share(tally.reviewed, tally.n)} of the cases go to review"
    if tally.decided == 0:
        return f"{reviews}: nothing is decided."
    _, low, high = tally.accuracy
    return (
        f"{reviews} and {share(tally.right, tally.decided)} of the decided are correct "
        f"(band: {percent(low)} to {percent(high)})."
    )


def _class_words(tally: PointTally, classes: Sequence[str], layout: OutcomeLayout) -> str:
    """Share of each class that goes to review; of many classes, the highest and lowest."""
    reviews = [c == layout.n_prices - 1 for c in layout.columns]
    found = [
        (sum(compress(row, reviews)), sum(row), label)
        for label, row in zip(classes, tally.matrix, strict=True)
    ]
    if len(found) <= MAX_NAMED:
        return f"Sent to review: {_each(found)}."
    found.sort(key=lambda part: -part[0] / max(part[1], 1))
    half = MAX_NAMED // 2
    return f"Most often sent to review: {_each(found[:half])}; least often {_each(found[-half:])}."


def _each(found: Sequence[tuple[int, int, str]]) -> str:
    parts = [f"{share(part, n)} of {quoted(label)}" for part, n, label in found]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _budget_words(tally: PointTally, counts: BatchCounts, forced: BatchCounts) -> str:
    start = f"Without reviews, {forced.wrong} of {BATCH:,} decisions are wrong"
    if tally.reviewed == 0:
        return f"{start}; at this point nothing is reviewed."
    return (
        f"{start}; after a review of the {counts.reviewed} most doubtful cases, {counts.wrong} "
        "wrong ones remain."
    )


def _doubt_words(tally: PointTally) -> str:
    """Say whether the reviewed cases are those that would be decided wrongly."""
    inside = share(tally.reviewed_wrong, tally.reviewed)
    outside = share(tally.wrong, tally.decided)
    if NONE in (inside, outside):
        what = "Nothing goes" if inside == NONE else "Everything goes"
        rest = outside if inside == NONE else inside
        return f"{what} to review at this point; if all cases are decided, {rest} are wrong."
    return (
        f"Of the cases that go to review, {inside} would be decided wrongly; of the others, "
        f"{outside} are."
    )


def kind_texts(tally: PointTally) -> dict[str, str]:
    """Reviews by reason, by the id of their element."""
    found = {"kinds-words": _kinds_words(tally.kinds, tally.reviewed)}
    for k, (reviewed, wrong) in enumerate(tally.kinds):
        found[f"kind-{k}"] = whole(reviewed)
        found[f"kind-{k}-share"] = share(reviewed, tally.reviewed)
        found[f"kind-{k}-wrong"] = share(wrong, reviewed)
    found["kind-all-share"] = share(tally.reviewed, tally.n)
    found["kind-all"] = whole(tally.reviewed)
    found["kind-all-wrong"] = share(tally.reviewed_wrong, tally.reviewed)
    return found


def promise_text(own: bool) -> dict[str, str]:
    """Say whether the promises are for the point that is shown."""
    here = "this point" if own else "the point at which the page opens, not for this one"
    return {"promises-line": f"The promises are for {here}."}


def _kinds_words(kinds: Sequence[Kind], reviewed: int) -> str:
    ambiguous, novel, policy = (whole(kind.reviewed) for kind in kinds)
    every = "Those that are not ambiguous go to review at every point."
    return (
        f"Of {whole(reviewed)} cases in review, {ambiguous} are ambiguous, {novel} are novel and "
        f"{policy} are there by a rule. {every}"
    )


def _range(counts: Range) -> str:
    return f"{whole(counts[0])} to {whole(counts[1])}"
