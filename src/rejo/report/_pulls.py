"""Which features make cases doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rejo.report._format import clean, percent, whole

MOST = 12  # features in the table


class PullRow(NamedTuple):
    """A row of the table."""

    feature: str
    share: str  # of the ambiguous reviews that have it among their strongest pulls
    width: str  # of the bar
    where: str  # where the most reviews are, and how many; empty if unknown
    rate: str  # of reviews there, and of all cases


def read_doubtful(features: Iterable[Any]) -> list[PullRow]:
    """Sort the features by their share; only the first few are shown."""
    rows = [_row_of(feature) for feature in features]
    for row in rows:
        if "feature" not in row or not 0 <= float(row.get("share", -1)) <= 1:
            raise ValueError(
                f"doubtful must have a 'feature' and a 'share' from 0 to 1 in each row; got "
                f"{row!r}."
            )
    rows.sort(key=lambda row: -float(row["share"]))
    return [_row(row) for row in rows[:MOST] if float(row["share"]) > 0]


def _row_of(feature: Any) -> dict[str, Any]:
    if isinstance(feature, Mapping):
        return dict(feature)
    if not hasattr(feature, "_asdict"):
        raise TypeError(f"doubtful must have dicts or named tuples; got {type(feature).__name__}.")
    return dict(feature._asdict())


def _row(row: Mapping[str, Any]) -> PullRow:
    share, where, rate = float(row["share"]), clean(row.get("where") or ""), ""
    if where and row.get("reviewed") is not None and row.get("usual") is not None:
        rate = f"{percent(float(row['reviewed']))} against {percent(float(row['usual']))}"
    if where and row.get("cases") is not None:
        where = f"{where} ({whole(int(row['cases']))} cases)"
    return PullRow(clean(row["feature"]), percent(share), f"{100 * share:.1f}%", where, rate)
