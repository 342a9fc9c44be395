"""Decisions as a table that people read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.scoring.deciding import RankedRows
from rejo.scoring.opened import Opened
from rejo.scoring.reasons import AMBIGUOUS, AUDIT, NOVEL, OVER_CAPACITY, UNREADABLE, WORDS


def decision_frame(
    part: RankedRows, opened: Opened, *, id: str | None, has_worth: bool, why: bool = False
) -> Any:
    """Rows of the output, as a DataFrame.

    ``id`` is the column that names the cases; without it they are numbered.  The last column is
    ``worth`` or ``distance``, the same in all parts; with ``why`` a text comes after it.
    """
    import pandas as pd

    # The review label comes last, where the index -1 finds it; before it, what nobody knows.
    labels = np.array([*opened.classes, None, opened.doubt_label], dtype=object)
    cases, n = part.cases, len(part.rank)
    # A guess from a bad cell would mislead.
    strange = np.isin(cases["reason"], (NOVEL, UNREADABLE))

    def known(name: str) -> NDArray[Any]:
        return labels[np.where(strange, len(labels) - 2, cases[name])]

    def number(name: str) -> Floats:
        return np.where(strange, np.nan, cases[name]) if name in cases else np.full(n, np.nan)

    last = "worth" if has_worth else "distance"
    found = {
        "decision": labels[cases["decision"]],
        "suggested": known("forced"),
        "chance_wrong": np.round(number("chance"), 4),
        "reason": np.array([*WORDS, None], dtype=object)[cases["reason"]],
        "detail": _details(part, labels),
        "rank": pd.arrays.IntegerArray(part.rank, part.rank == 0),
        "lower": known("lower"),
        "upper": known("upper"),
        last: _six_digits(number(last)),
    }
    if why:
        found["why"] = np.full(n, None, dtype=object)
        found["why"][list(part.why)] = list(part.why.values())
    if id is None:
        ids = {"row": np.arange(part.first + 1, part.first + n + 1)}
    else:
        names = part.names if part.names is not None else []
        ids = {f"id {id}" if id in found else id: np.array(names, dtype=object)}
    # Otherwise pandas would give strings a type of its own, which takes time.
    texts = {
        name: pd.Series(values, dtype=object)
        for name, values in (ids | found).items()
        if values.dtype == object
    }
    return pd.DataFrame(ids | found | texts, copy=False)


def _details(part: RankedRows, labels: NDArray[Any]) -> NDArray[Any]:
    """Text for each case (n,) that has a reason; else nothing."""
    n, cases = len(labels), part.cases
    doubtful = np.isin(cases["reason"], (AMBIGUOUS, OVER_CAPACITY))
    pair = np.where(doubtful, n * cases["lower"].astype(np.int64) + cases["upper"], -1)
    pairs, which = np.unique(pair, return_inverse=True)
    said = [
        None if pair < 0 else f"between {labels[pair // n]} and {labels[pair % n]}"
        for pair in pairs.tolist()
    ]
    found = np.array(said, dtype=object)[which]
    found[list(part.details)] = list(part.details.values())
    found[part.audited] = AUDIT
    return found


def _six_digits(values: Floats) -> Floats:
    """Round to six significant digits; more are noise, and hard to read."""
    size = np.floor(np.log10(np.where(values != 0, np.abs(values), 1.0)))
    scale = 10.0 ** (5 - size)
    return np.round(values * scale) / scale
