"""Tables that are the same at every point: promises, candidates, features that make doubtful."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from rejo.report._counts import BATCH
from rejo.report._labels import SPACE, amount, at_most, clean, percent
from rejo.selection import Guarantee, promise

MOST = 12  # features in the table
OF = {"class": "true class", "decision": "decided class", "group": "group"}
WHAT = {
    "rejection_rate": "Cases that go to review, of all cases",
    "error_rate": "Wrong decisions, of all cases",
    "accepted_error_rate": "Wrong decisions, of the decided cases",
    "mean_cost": "Mean cost of a case",
}

Rows = list[tuple[str, ...]]


class PromiseTable(NamedTuple):
    """Promises of one kind, about several classes or groups."""

    of: str
    caption: str
    rows: Rows  # class or group, asked for, proved, cases that prove it


class Promises(NamedTuple):
    """All promises; groups without one, whose cases all go to review."""

    sentences: list[str]
    tables: list[PromiseTable]
    sent_to_review: list[str]
    together: str  # how sure it is that all of them hold; empty if there is one
    assumptions: list[str]


def read_promises(
    guarantees: Sequence[Guarantee], sent_to_review: Sequence[Any]
) -> Promises | None:
    """Put guarantees in words; several of one kind become a table."""
    groups = [clean(name) for name in sent_to_review]
    if not (guarantees or groups):
        return None
    sentences, tables = [], []
    kinds: dict[Any, list[Guarantee]] = {}
    for one in guarantees:
        kinds.setdefault((one.by, one.rate), []).append(one)
    for (by, rate), several in kinds.items():
        if by is None or len(several) == 1:
            sentences += [clean(promise(one), None) for one in several]
        else:
            caption = f"{WHAT[rate]}, by {OF[by]}."
            tables.append(PromiseTable(OF[by], caption, [_promise_row(one) for one in several]))
    together = ""
    if len(guarantees) > 1:
        sure = f"{100 * guarantees[0].confidence:.4g}{SPACE}%"
        together = f"All promises hold together with a confidence of {sure}."
    assumptions = list(dict.fromkeys(one.assumption for one in guarantees))
    return Promises(sentences, tables, groups, together, assumptions)


def _promise_row(one: Guarantee) -> tuple[str, ...]:
    write = amount if one.rate == "mean_cost" else at_most
    target = "\u2013" if one.target is None else write(one.target)
    return clean(one.value), target, write(one.bound), f"{one.n_cases:,}"


class TriedTable(NamedTuple):
    """Models that were compared, and at which prices."""

    caption: str
    rows: Rows  # name, log loss, cost, its interval, "chosen" or nothing


def read_tried(choice: Any) -> TriedTable | None:
    """Log loss and cost of the models, in the order of the choice."""
    if choice is None or len(choice.tried) < 2:
        return None
    at = "at the prices given when the page was made"
    if len(choice.prices) > 1:
        some = ", ".join(f"{prices[0, -1]:g}" for prices in choice.prices)
        at = f"if an error costs 1 and a review {some} (mean)"
    rows: Rows = [
        (
            clean(one.name),
            f"{one.log_loss:.4f}" if isfinite(one.log_loss) else "",
            amount(BATCH * one.cost.estimate),
            f"{amount(BATCH * one.cost.low)} to {amount(BATCH * one.cost.high)}",
            "● chosen" if one.name == choice.name else "",
        )
        for one in choice.tried
    ]
    caption = (
        f"Log loss, by which the model was chosen, and cost of {BATCH:,} cases {at}, each case "
        f"judged by models that had not seen it. In small print: a 95{SPACE}% interval."
    )
    return TriedTable(caption, rows)


def read_doubtful(features: Iterable[Any], most: int = MOST) -> Rows:
    """Name, share, width of a bar, where, how often: the features with the highest shares."""
    rows = sorted(features, key=lambda row: -row.share)
    return [
        (
            clean(row.feature),
            percent(row.share),
            f"{100 * row.share:.1f}%",
            f"{clean(row.where)} ({row.cases:,} cases)" if row.where else "",
            f"{percent(row.reviewed)} against {percent(row.usual)}" if row.where else "",
        )
        for row in rows[:most]
        if row.share > 0
    ]
