"""Why a case goes to review: a word for the column ``reason``, a text for ``detail``."""

from collections.abc import Iterable, Mapping
from typing import Any

from rejo._io import one_line

AMBIGUOUS, NOVEL, POLICY, UNREADABLE, OVER_CAPACITY = range(5)  # the first three as in a Judgement
NOTHING = -1
WORDS = ("ambiguous", "novel", "policy", "unreadable", "over capacity")
AUDIT = "audit sample"
UNLIKE = "unlike the training cases"
NEW = ("outside", "unseen")  # doubts about cells that were read well


def reason_of_doubts(doubts: Iterable[Any]) -> int:
    """Return the reason for a row in doubt; see :mod:`rejo.tables.doubts`."""
    return NOVEL if all(doubt.why in NEW for doubt in doubts) else UNREADABLE


def no_promise(column: str, value: str | None) -> str:
    """Say that cases of a group are not decided."""
    from rejo.tables.errors import shown

    if value is None:
        return one_line(f"{column} is missing")
    return one_line(f"{column} {shown(value)} has no promise")


def counted(counts: Mapping[str, int]) -> str:
    """Say how many cases have each reason."""
    return ", ".join(f"{n:,} {word}" for word, n in counts.items() if n)


def details(part: Any, labels: Any) -> Any:
    """Text for each case (n,) of a part that has a reason; else nothing."""
    import numpy as np

    n, cases = len(labels), part.cases
    doubtful = np.isin(cases["reason"], (AMBIGUOUS, OVER_CAPACITY))
    pair = np.where(doubtful, n * cases["lower"].astype(np.int64) + cases["upper"], -1)
    pairs, which = np.unique(pair, return_inverse=True)
    said = [
        None if pair < 0 else f"between {labels[pair // n]} and {labels[pair % n]}"
        for pair in pairs.tolist()
    ]
    found = np.array(said, dtype=object)[which]
    if part.texts:
        rows = list(part.texts[0])
        found[rows] = list(part.texts[0].values())
    found[part.audited] = AUDIT
    return found
