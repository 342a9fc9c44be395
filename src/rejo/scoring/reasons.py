"""Why a case goes to review: a word for the column ``reason``, a text for ``detail``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rejo._io import one_line
from rejo.tables import Doubt, shown

if TYPE_CHECKING:
    from rejo.scoring.opened import JudgedRows, Opened

# The first three as in a Judgement.
AMBIGUOUS, NOVEL, POLICY, UNREADABLE, COLUMN, OVER_CAPACITY = range(6)
NOTHING = -1
WORDS = ("ambiguous", "novel", "policy", "unreadable", "column", "over capacity")
AUDIT = "audit sample"
UNLIKE = "unlike the training cases"
NEW = ("outside", "unseen")  # doubts about cells that were read well
MOST_DOUBTS = 3  # in a cell


def reasons(
    opened: Opened, judged: JudgedRows, by: str | None, group: Any
) -> tuple[NDArray[np.int8], dict[int, str]]:
    """Reason (n,) for each row that goes to review, and the text of those that have their own.

    ``group`` (n,) are the values of the column ``by``, if the model promises by it.
    """
    judgement, doubts, X = judged
    reason = np.full(len(judgement.decision), AMBIGUOUS, dtype=np.int8)
    said: dict[int, str] = {}
    if judgement.kind is not None:
        reason[:] = np.where(judgement.decision < 0, judgement.kind, AMBIGUOUS)
        said |= opened.novelties(X, np.flatnonzero(reason == NOVEL))
        if by is not None:
            rows = np.flatnonzero(reason == POLICY).tolist()
            said |= {row: no_promise(by, group[row]) for row in rows}
    reason[list(doubts)] = [reason_of_doubts(found) for found in doubts.values()]
    return reason, said | {row: said_of_doubts(found) for row, found in doubts.items()}


def reason_of_doubts(doubts: Iterable[Doubt]) -> int:
    """Return the reason for a row in doubt."""
    return NOVEL if all(doubt.why in NEW for doubt in doubts) else UNREADABLE


def said_of_doubts(doubts: Sequence[Doubt]) -> str:
    """Say why a row is in doubt, in a cell."""
    more = len(doubts) - MOST_DOUBTS
    said = "; ".join(map(str, doubts[:MOST_DOUBTS]))
    return one_line(said + (f"; and {more} more" if more > 0 else ""))


def no_promise(column: str, value: str | None) -> str:
    """Say that cases of a group are not decided."""
    if value is None:
        return one_line(f"{column} is missing")
    return one_line(f"{column} {shown(value)} has no promise")
