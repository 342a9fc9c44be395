"""Rows that a model should not decide: what is wrong with them, by column and value.

A row is in doubt if a cell cannot be read as what the column held in training, if it holds a word
or lacks a value where training never did, if a number lies far outside the range of training, or
if the row is empty.
"""

from typing import Any, NamedTuple

import numpy as np

from rejo.tables import columns
from rejo.tables.columns import Learnt
from rejo.tables.errors import shown

# Why a row is in doubt, and how that is said of a value.
REASONS = {
    "empty": "the row is empty",
    "unreadable": "{column}: {value} is not {kind}",
    "unseen": "{column}: {value} was not in training",
    "outside": "{column}: {value} is far outside the range of training",
    "missing": "{column}: missing, but never in training",
    "unscored": "the model has no score for this row",
}
A_KIND = {"number": "a number", "date": "a date", "category": "a single word"}


class Doubt(NamedTuple):
    """Why a row is in doubt."""

    why: str  # in REASONS
    column: str = ""
    value: str = ""
    kind: str = ""  # that the column held in training

    def __str__(self) -> str:
        return REASONS[self.why].format(
            column=self.column, value=shown(self.value), kind=A_KIND.get(self.kind, self.kind)
        )


class Checked(NamedTuple):
    """A table whose every cell can be encoded, and the rows that are in doubt."""

    frame: Any  # as given, with cells that cannot be read missing
    doubts: dict[int, list[Doubt]]  # by position of the row

    def reasons(self) -> dict[int, str]:
        """Return the reason for each row in doubt."""
        return {row: "; ".join(map(str, found)) for row, found in self.doubts.items()}


def check_table(
    X: Any, kinds: dict[str, str], written: dict[str, dict[str, str]], learnt: dict[str, Learnt]
) -> Checked:
    """Find the rows of a table that a model should not decide.

    Nothing is known of what training had in a column that ``learnt`` lacks.
    """
    doubts: dict[int, list[Doubt]] = {}
    frame, empty = X, np.ones(len(X), dtype=bool)
    for name, kind in kinds.items():
        column = X[name]
        if column.dtype == object and kind != "category":
            column, unread = columns.readable(column, kind, written.get(name, {}))
            for row in np.flatnonzero(unread).tolist():
                found = Doubt("unreadable", name, str(X[name].iloc[row]), kind)
                doubts.setdefault(row, []).append(found)
            empty &= ~unread
            frame = frame.assign(**{name: column})
        missing = column.isna().to_numpy()
        empty &= missing
        known = learnt.get(name)
        if known is None:
            continue
        if not known["missing"]:
            for row in np.flatnonzero(missing).tolist():
                if not any(doubt.column == name for doubt in doubts.get(row, ())):
                    doubts.setdefault(row, []).append(Doubt("missing", name))
        if kind == "category":
            words = columns.as_words(column)
            new = columns.unseen(words.words, known)
            for row in np.flatnonzero(np.append(new, False)[words.codes]).tolist():
                found = Doubt("unseen", name, words.words[words.codes[row]], kind)
                doubts.setdefault(row, []).append(found)
    for row in np.flatnonzero(empty).tolist():
        doubts[row] = [Doubt("empty")]
    return Checked(frame, dict(sorted(doubts.items())))
