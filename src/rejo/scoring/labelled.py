"""Cases whose classes are known: what a test of a model counts.

They are judged as new ones are.  Of each only a few numbers are kept: its class, the decision, and
what it is counted by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.scoring.cases import Cases
from rejo.scoring.counts import DoubtCounts, hashes_of
from rejo.scoring.model import Opened
from rejo.tables import AS_WRITTEN, Words, joined, words_of


class LabelColumns(NamedTuple):
    """Columns of a labelled table besides the features."""

    target: str  # the classes
    by: str | None = None  # count by its values; files may lack the last three
    group: str | None = None  # the groups that the model promises by
    groups: str | None = None  # rows that belong together

    def named(self) -> list[str]:
        """Return the columns, each once."""
        return list(dict.fromkeys(name for name in self if name is not None))


class LabelledCases(NamedTuple):
    """Cases whose classes are known, with the decisions of a model.

    Columns that were not asked for, or that the table lacks, are empty.
    """

    words: Counter[str]  # how often each word stands for a class, or for none
    doubts: DoubtCounts
    y: NDArray[np.int16] = np.empty(0, np.int16)  # (n,) classes
    decision: NDArray[np.int16] = np.empty(0, np.int16)  # (n,) -1: review
    forced: NDArray[np.int16] = np.empty(0, np.int16)  # (n,) decision without reviews
    by: Words = joined([])  # (n,)
    group: Words = joined([])  # (n,) code -1 where it is missing
    together: NDArray[np.uint64] = np.empty(0, np.uint64)  # (n,) the same for rows that belong
    prints: NDArray[np.uint64] = np.empty(0, np.uint64)  # together; (n,) hashes of the cases
    amounts: NDArray[np.float64] = np.empty((0, 0))  # (n, n_columns) that prices depend on

    @classmethod
    def joined(cls, parts: Sequence[LabelledCases]) -> LabelledCases:
        """Return the cases of all parts, in their order."""
        found = cls(Counter(), DoubtCounts())
        for part in parts:
            found.doubts.merge(part.doubts)
            found.words.update(part.words)
        columns: dict[str, Any] = {}
        for name in cls._fields[2:]:
            join = joined if name in ("by", "group") else np.concatenate
            of_parts = [getattr(part, name) for part in (found, *parts)]
            if name == "amounts":  # the number of its columns is known where there are rows
                of_parts = [part for part in of_parts if part.size] or of_parts[:1]
            columns[name] = join(of_parts)
        return found._replace(**columns)


def judge_labelled(
    opened: Opened, frame: Any, y: Any, columns: LabelColumns, *, start: int = 0, prints: bool,
    amounts: Sequence[str] = (),
) -> tuple[LabelledCases, Cases]:  # fmt: skip
    """Judge rows (n,) of a table with classes ``y``, the first of which has the number ``start``.

    Columns that the frame lacks are not counted by.  With ``prints``, each case is hashed, too.
    ``amounts`` are columns of the model that prices depend on.
    """
    by, group = columns.by, columns.group
    groups = None if group is None else opened.groups_of(frame[group])
    cases = opened.judge(frame[list(opened.encoder.kinds_)], groups)
    found: dict[str, Any] = {name: cases.rows[name] for name in ("decision", "forced")}
    if group is not None:
        found["group"] = _words(groups)
    if by in frame.columns:  # groups as training spelled them
        own = f"{AS_WRITTEN}{by}"
        column = groups if by == group else frame[own if own in frame else by].to_numpy(object)
        found["by"] = _words(column, "(missing)")
    if columns.groups in frame.columns:
        column = frame[columns.groups]
        alone = (column.index.to_numpy() + start).astype(np.uint64)
        found["together"] = np.where(column.isna(), alone, hashes_of(column.fillna("").astype(str)))
    if prints:
        labels = np.array(opened.classes, dtype=object)[y]
        found["prints"] = row_prints(cases.X, opened.encoder.kinds_, labels)
    if amounts:
        found["amounts"] = cases.X[list(amounts)].to_numpy(dtype=np.float64)
    doubts = DoubtCounts()
    doubts.add(cases.doubts)
    return LabelledCases(Counter(), doubts, y.astype(np.int16), **found), cases


def _words(values: Any, lacking: str | None = None) -> Words:
    from pandas import Series

    column = Series(values, dtype=object)
    column = column if lacking is None else column.where(column.notna(), lacking)
    return words_of(column, missing=(), text=str)


def row_prints(X: Any, kinds: Mapping[str, str], y: Any) -> NDArray[np.uint64]:
    """Return a hash of each case (n,), the same in any format.

    ``kinds`` are the columns that a model uses, and what they hold; ``y`` (n,) are the classes.
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    for i, (name, kind) in enumerate(kinds.items()):
        column = X[name]
        if kind == "number":
            with np.errstate(over="ignore"):  # the last digits depend on who reads them
                columns[str(i)] = column.to_numpy(np.float32)
        elif kind == "date":
            columns[str(i)] = column.to_numpy("datetime64[s]").astype(np.int64)
        else:
            columns[str(i)] = column.astype(object).where(column.notna(), "").map(str).to_numpy()
    columns["y"] = np.asarray(y, dtype=object)
    found: NDArray[np.uint64] = pd.util.hash_pandas_object(
        pd.DataFrame(columns), index=False
    ).to_numpy()
    return found


def fingerprint(prints: NDArray[np.uint64]) -> str:
    """Return a hash of cases by those of each: the same for the same cases in any order."""
    return sha256(np.sort(prints).astype("<u8").tobytes()).hexdigest()
