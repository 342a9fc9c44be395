"""The candidates that were compared before one was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from rejo.report._format import BATCH, NONE, SPACE, clean, fixed, money_places, quoted, to_units


class Candidate(NamedTuple):
    """A row of the table."""

    method: str
    cost: str  # of 1,000 cases
    error: str  # a standard error; empty if it is unknown
    more: str  # than the cheapest
    chosen: bool


class TriedTable(NamedTuple):
    """The table, the cheapest first, and a sentence on how far apart they are."""

    rows: list[Candidate]
    words: str


def read_tried(rows: Sequence[Mapping[str, Any]], highest_price: float) -> TriedTable | None:
    """Sort the candidates by their cost; ``None`` if there are none."""
    if not rows:
        return None
    for row in rows:
        if not (isfinite(row["cost"]) and row["cost"] >= 0):
            raise ValueError(
                f"tried must have costs that are not negative; got {row['cost']!r} for "
                f"{row['method']!r}."
            )
    places = money_places(highest_price)
    found = sorted(rows, key=lambda row: float(row["cost"]))
    least = float(found[0]["cost"])

    def amount(cost: float) -> str:
        return fixed(to_units(BATCH * cost, places), places)

    def candidate(row: Mapping[str, Any]) -> Candidate:
        cost, error = float(row["cost"]), row.get("error")
        known = error is not None and isfinite(error)
        return Candidate(
            method=clean(row["method"]),
            cost=amount(cost),
            error=f"±{SPACE}{amount(float(error))}" if known else "",  # type: ignore[arg-type]
            more=_more(cost, least),
            chosen=bool(row.get("chosen", False)),
        )

    table = [candidate(row) for row in found]
    why = next((row.get("why") for row in found if row.get("chosen")), None)
    return TriedTable(table, _words(table, [float(row["cost"]) for row in found], why))


def _more(cost: float, least: float) -> str:
    if cost == least:
        return NONE
    return f"{fixed(to_units(100 * (cost / least - 1), 1), 1)}{SPACE}%" if least else "more"


def _words(table: list[Candidate], costs: list[float], why: str | None) -> str:
    """How far the chosen one is from the next, and why it was chosen if that costs less."""
    chosen = [i for i, row in enumerate(table) if row.chosen]
    if len(table) < 2 or len(chosen) != 1:
        return ""
    (i,) = chosen
    name = quoted(table[i].method)
    if costs[i] == costs[0]:
        j = 0 if i else 1
        if costs[j] == costs[i]:
            return f"{name} was chosen; {quoted(table[j].method)} costs as much."
        apart = _apart(costs[j], costs[i])
        return f"{name} was chosen; the next, {quoted(table[j].method)}, costs {apart}."
    apart = _apart(costs[i], costs[0])
    than = f"{apart} than the cheapest, {quoted(table[0].method)}"
    reason = f", which may be chance, but it {clean(why)}" if why else ""
    return f"{name} was chosen; it costs {than}{reason}."


def _apart(cost: float, least: float) -> str:
    return f"{_more(cost, least)} more" if least else "more"
