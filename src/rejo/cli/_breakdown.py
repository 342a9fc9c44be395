"""Rates of each true class, each decided class and each group, as text and for JSON."""

from collections.abc import Sequence
from math import inf, isnan, nan
from typing import Any, NamedTuple

from rejo._io import one_line, percent

SHOWN = 8  # rows of a part; of more, those that are worst beyond doubt
SMALL = 10  # cases; the share of fewer is not written
LONGEST = 30  # characters of a label


class BreakdownRow(NamedTuple):
    """Cases that have something in common."""

    value: str
    n: int
    reviewed: int
    wrong: int
    cost: float = 0.0  # of those that have a price
    priced: int = 0  # how many these are

    @property
    def decided(self) -> int:
        """Number of cases that were decided."""
        return self.n - self.reviewed


class Breakdown(NamedTuple):
    """One way to split the cases."""

    title: str
    rows: list[BreakdownRow]
    reviews: bool = True  # whether some of the cases may be in review


def split(
    decision: Any, y: Any, classes: Sequence[str], by: str | None = None, values: Any = None,
    paid: Any = None,
) -> list[Breakdown]:  # fmt: skip
    """Count by true class, by decided class and, if there is such a column, by its values.

    ``paid`` (n,) is what the cases cost, NaN where that is not known.
    """
    import numpy as np
    import pandas as pd

    there, paid = decision >= 0, np.full(len(y), nan) if paid is None else paid
    decided = _rows(decision[there], y[there], decision[there], classes, paid[there])
    parts = [
        Breakdown("true class", _rows(decision, y, y, classes, paid)),
        Breakdown("decided class", decided, reviews=False),
    ]
    if by is not None:
        labels = sorted(set(values), key=_in_order)
        code = pd.Index(labels).get_indexer(values)
        parts.append(Breakdown(by, _rows(decision, y, code, labels, paid)))
    return parts


def _in_order(label: str) -> tuple[float, str]:
    """Numbers by their size, then words."""
    try:
        number = float(label)
    except ValueError:
        number = inf
    return inf if isnan(number) else number, label


def _rows(decision: Any, y: Any, code: Any, labels: Sequence[str], paid: Any) -> list[BreakdownRow]:
    import numpy as np

    from rejo.metrics import tally

    if not len(code):
        return []
    counts = tally(decision, y, fold=code)
    columns = np.stack([counts.total, counts.rejected, counts.wrong]).astype(int).T.tolist()
    priced = ~np.isnan(paid)
    cost = np.bincount(code, weights=np.where(priced, paid, 0.0)).tolist()
    known = np.bincount(code[priced], minlength=len(cost)).tolist()
    return [
        BreakdownRow(str(label), *counted, *money)
        for label, counted, *money in zip(labels, columns, cost, known, strict=False)
        if counted[0]
    ]


def as_json(parts: Sequence[Breakdown], worth: float) -> dict[str, Any]:
    """Counts and rates with 95 % intervals; a case is ``worth`` so many independent ones."""
    found: dict[str, Any] = {"by_true_class": [], "by_decided_class": [], "by_group": None}
    for key, part in zip(found, parts, strict=False):
        rows = []
        for row in part.rows:
            rates = {"accepted_error_rate": _rate(row.wrong, row.decided, worth)}
            if part.reviews:
                rates["rejection_rate"] = _rate(row.reviewed, row.n, worth)
                rates["error_rate"] = _rate(row.wrong, row.n, worth)
            counts: dict[str, float] = {"n_cases": row.n, "reviewed": row.reviewed}
            counts |= {"wrong": row.wrong} | ({"cost": row.cost} if row.priced else {})
            named = {name: rate._asdict() for name, rate in rates.items()}
            rows.append({"value": row.value, **counts, **named})
        found[key] = rows if key != "by_group" else {"column": part.title, "groups": rows}
    return found


def _rate(part: int, of: int, worth: float) -> Any:
    from rejo.metrics import wilson_interval

    return wilson_interval(part, of, n_effective=of * worth or None)


def as_text(parts: Sequence[Breakdown], worth: float) -> str:
    """An aligned table; a row with more reviews or errors than all cases, beyond chance, says so.

    A case is ``worth`` so many independent ones.
    """
    columns = list(zip(*parts[0].rows, strict=True))[1:]
    every = BreakdownRow("all cases", *map(sum, columns))
    money = "cost of a case" if every.priced else ""
    lines = [("", "sent to review", "wrong, of the decided", money, ""), _line(every, True)]
    for part in parts:
        if not part.rows:
            continue
        found = [(row, *_chances(row, every, worth)) for row in part.rows]
        title = one_line(part.title)
        if len(found) > SHOWN:
            title += f" (the worst {SHOWN} of {len(found):,})"
            found = sorted(found, key=lambda item: (min(item[1:]), -item[0].n))[:SHOWN]
        lines.append((title, "", "", "", ""))
        for row, of_reviews, of_errors in found:
            mark = _mark(of_reviews, of_errors, len(part.rows))
            lines.append(_line(row, part.reviews, mark, "  "))
    widths = [max(len(line[i]) for line in lines) + 3 for i in range(4)]
    widths[3] *= bool(money)
    table = [
        "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)) + line[4]
        for line in lines
    ]
    if any(line[4] for line in lines):
        table.append("(<- more than among all cases, beyond chance)")
    return "\n".join(line.rstrip() for line in table)


def _line(
    row: BreakdownRow, reviews: bool, mark: str = "", indent: str = ""
) -> tuple[str, str, str, str, str]:
    label = one_line(row.value) or "(empty)"
    label = label if len(label) <= LONGEST else label[: LONGEST - 3] + "..."
    sent = _share(row.reviewed, row.n) if reviews else ""
    cost = amount(row.cost / row.priced) if row.priced else ""
    return indent + label, sent, _share(row.wrong, row.decided), cost, mark


def amount(value: float) -> str:
    """Return an amount of money in about four digits."""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _share(part: int, of: int) -> str:
    if of == 0:
        return "-"
    counts = f"{part:,} of {of:,}"
    return f"{counts} ({percent(part / of)})" if of >= SMALL else counts


def _chances(row: BreakdownRow, every: BreakdownRow, worth: float) -> tuple[float, float]:
    """Probabilities of so many reviews, and so many errors, at the rates of all cases."""
    from rejo.selection import excess_probability

    def chance(part: int, of: int, rate: float) -> float:
        return excess_probability(part * worth, of * worth, rate)

    return (
        chance(row.reviewed, row.n, every.reviewed / every.n),
        chance(row.wrong, row.decided, every.wrong / max(every.decided, 1)),
    )


def _mark(of_reviews: float, of_errors: float, n_rows: int) -> str:
    """Say what a row has more of; the more rows, the rarer it must be by chance."""
    from rejo.selection import LEVEL

    chances = {"reviews": of_reviews, "errors": of_errors}
    found = [what for what, chance in chances.items() if chance < LEVEL / n_rows]
    return f"<- more {' and '.join(found)}" if found else ""
