"""What the commands say about decisions, and about columns that put many rows in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rejo._io import percent, printable
from rejo.cli._files import warn

if TYPE_CHECKING:
    from rejo.scoring import CaseCounts, DoubtCounts, Opened, ScoringPlan

ENOUGH = 50  # cases needed to judge the share of reviews
MANY = 50_000  # cases whose share is as good as that of more, and computed in no time
SOME, SHARE = 10, 0.2  # rows, and share of them, that are in doubt for something wrong in the file
# What may be wrong with a whole column.
CAUSES = {
    "unreadable": "Does the column hold something else than in training, or another unit?",
    "unclear": "Write the column as in training.",
    "outside": "Is the column in another unit than in training?",
    "unseen": "Is the column coded or spelled otherwise than in training?",
    "missing": "Was the column left out of this file?",
    "unpriced": "Do the prices of training suit these cases? Theirs would be negative or too high.",
}
UNCLEAR = {"number": "Add --decimal or --thousands.", "date": "Write dates as 2024-12-31."}


def print_summary(
    opened: Opened,
    found: dict[str, Any],
    counts: CaseCounts | None,
    capacity: int | None,
    output: str,
) -> None:
    """Say how many cases were decided, and where the decisions are."""
    n, n_reviews = found["n_cases"], found["review"]
    if not n:
        return
    reasons = ", ".join(f"{n:,} {word}" for word, n in found["reasons"].items() if n)
    print(
        f"{n:,} case{'s' * (n > 1)}: {n - n_reviews:,} decided, {n_reviews:,} "
        f"({percent(n_reviews / n)}) to {printable(opened.doubt_label)}, ranked"
        f"{': ' * bool(n_reviews)}{reasons}. Decisions: {output}"
    )
    if found["audited"]:
        are = "case was" if found["audited"] == 1 else "cases were"
        print(f"{found['audited']:,} {are} drawn at random for the audit.")
    if found["in_doubt"] and counts is not None:
        print(counts.doubts.summary())
    if found["over_capacity"]:
        print(
            f"{found['over_capacity']:,} more would go to review, but are over the capacity of "
            f"{capacity:,}: they are decided as suggested."
        )


def warn_of_decisions(
    opened: Opened, counts: CaseCounts, plan: ScoringPlan, *, capacity: int | None, said: bool
) -> None:
    """Warn of what may be wrong with the table; its rows in doubt are not ``said`` elsewhere."""
    for finding in counts.strange:
        if not (finding.degree == "fault" and finding.matters):
            warn(f"column {finding}")
    _warn_of_rows(counts, said)
    _warn_of_capacity(counts, capacity)
    _warn_of_groups(counts, plan.group)
    _warn_of_share(opened, counts)
    _warn_of_ids(counts, plan.id)


def _warn_of_rows(counts: CaseCounts, said: bool) -> None:
    """Say what is wrong with the file, if its rows are not ``said`` on standard output."""
    n, doubts = counts.n_cases, counts.doubts
    if not n:
        warn("the table has no rows: the output has only a header")
    told = about_column(doubts, n) if doubts.n_rows else None
    if told and not any(told.startswith(f"{one.column} (") for one in counts.strange):
        warn(told)
    if doubts.n_rows and not said:
        warn(doubts.summary())


def _warn_of_capacity(counts: CaseCounts, capacity: int | None) -> None:
    """Say if there are more cases to review than the capacity, whatever they are worth."""
    n_must = counts.n_must
    if capacity is not None and n_must > capacity:
        audit = f", with {counts.n_audited:,} of the audit" if counts.n_audited else ""
        warn(
            f"{n_must:,} cases must be reviewed{audit}, more than the capacity of {capacity:,}; "
            "none of them is decided"
        )


def _warn_of_groups(counts: CaseCounts, by: str | None) -> None:
    unknown = counts.unknown
    if not unknown:
        return
    names = [name for name, _ in unknown.most_common() if name is not None]
    such = f", such as {names[0]!r}" if names else ""
    some = unknown.total()
    have, they = ("case has", "it goes") if some == 1 else ("cases have", "they go")
    warn(
        f"{some:,} of {counts.n_cases:,} {have} no {by!r} that training had{such}: {they} to review"
    )


def _warn_of_share(opened: Opened, counts: CaseCounts) -> None:
    """Other units or another kind of cases often show in the share that goes to review."""
    odd = counts.doubts.n_rows + counts.unknown.total()
    n = counts.n_cases - odd
    if n < ENOUGH or counts.held():  # which is said
        return
    rate = opened.expect(min(n, MANY), 0.999).get("rejection_rate")
    share = (counts.n_rejected - odd) / n
    if rate is not None and not rate.low - 1e-9 <= share <= rate.high + 1e-9:
        warn(
            f"{percent(share)} of the cases go to review; for cases like those in training, expect "
            f"{percent(rate.low)} to {percent(rate.high)}. Are the columns in the same units as in "
            "training?"
        )


def _warn_of_ids(counts: CaseCounts, named: str | None) -> None:
    n, ids = counts.n_cases, counts.ids
    if named is not None and not counts.has_ids:
        warn(
            f"no column {named!r}, which named the cases in training: they are numbered in the "
            "column 'row' instead. --id names another column"
        )
    if ids.n_empty:
        warn(f"no {named!r} in {ids.n_empty:,} of {n:,} rows")
    if n_repeated := ids.n_repeated:
        have, them = ("has", "it") if n_repeated == 1 else ("have", "them")
        warn(
            f"{n_repeated:,} of {n:,} cases {have} the same {named!r} as a case before {them}; "
            "each row is decided on its own"
        )


def about_column(counts: DoubtCounts, n_cases: int) -> str | None:
    """Name a column that puts a good part of all rows in doubt, if there is one."""
    for one in counts.most_first():
        if one.n_rows < max(SOME, SHARE * n_cases) or one.first.why not in CAUSES:
            continue
        cause = CAUSES[one.first.why]
        if one.first.why == "unclear":
            cause = UNCLEAR.get(one.first.kind, cause)
        return f"{one}: so in {one.n_rows:,} of {n_cases:,} rows. {cause}"
    return None
