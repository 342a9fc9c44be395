"""Decisions as a table that people read."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.scoring.cases import AMBIGUOUS, OVER_CAPACITY, UNSEEN, WORDS, Cases
from rejo.scoring.model import Opened

AUDIT = "audit sample"


def decision_frame(
    cases: Cases,
    opened: Opened,
    *,
    id: str | None,
    why: bool | str | None = False,
    blind: bool = False,
    more: Mapping[str, Any] | None = None,
) -> Any:
    """Rows of the output, as a DataFrame; columns of few words are categories.

    ``id`` is the column that names the cases; without it they are numbered.  The last column is
    ``worth`` or ``distance``; with ``why`` a text comes after it, then ``more`` columns.  If it is
    ``blind``, nothing tells the cases of an audit from the others that are reviewed.
    """
    import pandas as pd

    rows, n = cases.rows, len(cases.rows)
    reason, decision, rank = rows["reason"], rows["decision"], np.ascontiguousarray(rows["rank"])
    labels = [*opened.classes, opened.doubt_label]
    drawn = rows["drawn"]
    if blind:
        reason, drawn = np.where(drawn, AMBIGUOUS, reason), np.zeros(n, dtype=bool)
    strange = np.isin(reason, UNSEEN)

    def known(name: str) -> Any:
        return _words(np.where(strange, -1, rows[name]), labels)

    def number(name: str) -> Floats:
        return np.where(strange | (blind & (rank > 0)), np.nan, rows[name])

    last = "worth" if opened.knows_worth else "distance"
    found = {
        "decision": _words(np.where(decision < 0, len(labels) - 1, decision), labels),
        "suggested": known("forced"),
        "chance_wrong": np.round(number("chance"), 4),
        "reason": _words(reason, WORDS),
        "detail": _details(cases, labels, reason, drawn),
        "rank": pd.arrays.IntegerArray(rank, rank == 0),
        "lower": known("lower"),
        "upper": known("upper"),
        last: _six_digits(number(last)),
    }
    if why:
        texts = {row: said for row, said in cases.why.items() if not (blind and rank[row])}
        found["why"] = _words(*_placed(np.full(n, -1, np.int32), [], texts))
    found |= more or {}
    if id is None:
        ids = {"row": np.arange(cases.first + 1, cases.first + n + 1)}
    else:
        names = pd.Series([], dtype=object) if cases.names is None else cases.names.to_pandas()
        ids = {f"id {id}" if id in found else id: names}
    return pd.DataFrame(ids | found, copy=False)


def _words(codes: NDArray[Any], words: Sequence[str]) -> Any:
    """Return a column of words; the code -1 is none."""
    import pandas as pd

    different = list(dict.fromkeys(words))
    if len(different) < len(words):
        codes = np.array([*map(different.index, words), -1], dtype=np.int32)[codes]
    return pd.Categorical.from_codes(codes, pd.Index(different, dtype=object))


def _details(
    cases: Cases, labels: Sequence[str], reason: NDArray[np.int8], drawn: NDArray[np.bool_]
) -> Any:
    """Text for each case (n,) that has a reason; else nothing."""
    K, rows = len(labels), cases.rows
    doubtful = (reason == AMBIGUOUS) | (reason == OVER_CAPACITY)
    # The pair of classes is a number; only those that occur become words.
    pair = np.where(doubtful, K * rows["lower"].astype(np.int32) + rows["upper"], -1)
    pairs = np.flatnonzero(np.bincount(pair + 1, minlength=1)[1:])
    place = np.full(K * K + 1, -1, dtype=np.int32)
    place[pairs] = np.arange(len(pairs))
    said = [f"between {labels[i // K]} and {labels[i % K]}" for i in pairs.tolist()]
    codes, said = _placed(place[pair], said, cases.details)
    codes[drawn] = len(said)
    return _words(codes, [*said, AUDIT])


def _placed(
    codes: NDArray[np.int32], words: list[str], texts: Mapping[int, str]
) -> tuple[NDArray[np.int32], list[str]]:
    """Give some rows texts of their own, which come after the words."""
    different = {text: len(words) + i for i, text in enumerate(dict.fromkeys(texts.values()))}
    codes[list(texts)] = [different[text] for text in texts.values()]
    return codes, [*words, *different]


def _six_digits(values: Floats) -> Floats:
    """Round to six significant digits; more are noise, and hard to read."""
    size = np.floor(np.log10(np.where(values != 0, np.abs(values), 1.0)))
    scale = 10.0 ** (5 - size)
    return np.round(values * scale) / scale
