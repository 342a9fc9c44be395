"""Rows in doubt: why each goes to review, how many there are, and what is said about them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejo._io import one_line, printable

MOST_REASONS = 3  # in a cell
MOST_COLUMNS = 5  # in a sentence
MANY, SHARE = 10, 0.2  # rows, and share of them, that are in doubt for something wrong in the file
# What may be wrong with a whole column.
CAUSES = {
    "unreadable": "Does the column hold something else than in training, or another unit?",
    "unclear": "Write the column as in training.",
    "outside": "Is the column in another unit than in training?",
    "unseen": "Is the column coded or spelled otherwise than in training?",
    "missing": "Was the column left out of this file?",
}
UNCLEAR = {"number": "Add --decimal or --thousands.", "date": "Write dates as 2024-12-31."}
# What is wrong with a whole row.
WHOLE_ROW = {
    "empty": "no values at all",
    "ragged": "too many or too few fields",
    "unscored": "no score from the model",
}


def reason_of(doubts: Sequence[Any]) -> str:
    """Return why a row is in doubt, in a cell."""
    more = len(doubts) - MOST_REASONS
    said = "; ".join(map(str, doubts[:MOST_REASONS]))
    return one_line(said + (f"; and {more} more" if more > 0 else ""))


class _Kind(NamedTuple):
    """Rows that are in doubt for the same reason."""

    n_rows: int
    first: Any  # rejo.tables.doubts.Doubt


class DoubtCounts:
    """Counts rows in doubt, by column and why."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._kinds: dict[tuple[str, str], _Kind] = {}
        self._n_lacking = 0  # rows that lack a value

    def add(self, doubts: Mapping[int, Sequence[Any]]) -> None:
        """Count some more rows."""
        self.n_rows += len(doubts)
        for found in doubts.values():
            kinds: dict[tuple[str, str], Any] = {}
            for one in found:
                kinds.setdefault((one.column, one.why), one)
            for key, doubt in kinds.items():
                n, first = self._kinds.get(key, (0, doubt))
                self._kinds[key] = _Kind(n + 1, first)
            self._n_lacking += any(one.why == "missing" for one in found)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the counts by column and why, with an example each."""
        return [
            {"column": one.first.column or None, "why": one.first.why, "rows": one.n_rows,
             "example": one.first.value or None}
            for one in self._most_first()
        ]  # fmt: skip

    def summary(self) -> str:
        """Say in a sentence how many rows are in doubt, and why."""
        kinds = self._most_first()
        lacking = [one.first.column for one in kinds if one.first.why == "missing"]
        counted = [
            (one.n_rows, _about(one.first))
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

    def warning(self, n_cases: int) -> str | None:
        """Name a column that puts a good part of all rows in doubt, if there is one."""
        for one in self._most_first():
            if one.n_rows < max(MANY, SHARE * n_cases) or one.first.why not in CAUSES:
                continue
            cause = CAUSES[one.first.why]
            if one.first.why == "unclear":
                cause = UNCLEAR.get(one.first.kind, cause)
            return f"{_about(one.first)}: so in {one.n_rows:,} of {n_cases:,} rows. {cause}"
        return None

    def _most_first(self) -> list[_Kind]:
        return sorted(self._kinds.values(), key=lambda one: -one.n_rows)


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def _some(columns: Sequence[str]) -> str:
    """Name two columns, and say how many more there are."""
    more = len(columns) - 2
    names = f"{columns[0]} and {columns[1]}" if not more else ", ".join(columns[:2])
    return names + (f" and {more:,} more column{'s' if more > 1 else ''}" if more else "")


def _about(doubt: Any) -> str:
    """Say what is wrong with a cell, and in which column, or with a row."""
    if not doubt.column:
        return WHOLE_ROW.get(doubt.why, str(doubt))
    said = str(doubt).removeprefix(f"{doubt.column}: ")
    return f"{doubt.column} ({said})"
