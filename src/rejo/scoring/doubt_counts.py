"""How many rows are not as in training, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rejo._io import printable
from rejo.tables.doubts import Doubt

MOST_COLUMNS = 5  # in a sentence
# What is wrong with a whole row.
WHOLE_ROW = {
    "empty": "no values at all",
    "ragged": "too many or too few fields",
    "unscored": "no score from the model",
}


class DoubtKind(NamedTuple):
    """Rows that are in doubt for the same reason."""

    n_rows: int
    first: Doubt

    def __str__(self) -> str:
        """Say what is wrong with a cell, and in which column, or with a row."""
        doubt = self.first
        if not doubt.column:
            return WHOLE_ROW.get(doubt.why, str(doubt))
        said = str(doubt).removeprefix(f"{doubt.column}: ")
        return f"{doubt.column} ({said})"


class DoubtCounts:
    """Counts rows in doubt, by column and why."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._kinds: dict[tuple[str, str], DoubtKind] = {}
        self._n_lacking = 0  # rows that lack a value

    def add(self, doubts: Mapping[int, Sequence[Doubt]]) -> None:
        """Count some more rows."""
        self.n_rows += len(doubts)
        for found in doubts.values():
            kinds: dict[tuple[str, str], Doubt] = {}
            for one in found:
                kinds.setdefault((one.column, one.why), one)
            self._count(DoubtKind(1, doubt) for doubt in kinds.values())
            self._n_lacking += any(one.why == "missing" for one in found)

    def merge(self, other: DoubtCounts) -> None:
        """Count the rows that another has counted."""
        self.n_rows += other.n_rows
        self._n_lacking += other._n_lacking
        self._count(other._kinds.values())

    def _count(self, kinds: Iterable[DoubtKind]) -> None:
        for more, doubt in kinds:
            n, first = self._kinds.get((doubt.column, doubt.why), (0, doubt))
            self._kinds[doubt.column, doubt.why] = DoubtKind(n + more, first)

    def most_first(self) -> list[DoubtKind]:
        """Return the kinds of doubt, those of most rows first."""
        return sorted(self._kinds.values(), key=lambda one: -one.n_rows)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the counts by column and why, with an example each."""
        return [
            {"column": one.first.column or None, "why": one.first.why, "rows": one.n_rows,
             "example": one.first.value or None}
            for one in self.most_first()
        ]  # fmt: skip

    def summary(self) -> str:
        """Say in a sentence how many rows are in doubt, and why."""
        kinds = self.most_first()
        lacking = [one.first.column for one in kinds if one.first.why == "missing"]
        counted = [
            (one.n_rows, str(one))
            for one in kinds
            if one.first.why != "missing" or len(lacking) == 1
        ]
        if len(lacking) > 1:
            counted.append((self._n_lacking, f"values missing in {_some(lacking)}"))
            counted.sort(key=lambda part: -part[0])
        # If there is one reason, its rows are counted already.
        parts = [f"{_rows(n)} with {what}" for n, what in counted]
        parts = parts if len(parts) > 1 else [what for _, what in counted]
        more = len(parts) - MOST_COLUMNS
        said = "; ".join(parts[:MOST_COLUMNS]) + ("; and more" if more > 0 else "")
        are = "case is not" if self.n_rows == 1 else "cases are not"
        return printable(f"{self.n_rows:,} {are} as in training and must be reviewed: {said}.")


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def _some(columns: Sequence[str]) -> str:
    """Name two columns, and say how many more there are."""
    more = len(columns) - 2
    names = f"{columns[0]} and {columns[1]}" if not more else ", ".join(columns[:2])
    return names + (f" and {more:,} more column{'s' if more > 1 else ''}" if more else "")
