"""Rows whose classes are known, judged as new ones are: what a test of a model counts."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.scoring.opened import Opened
from rejo.selection import ranking_outcomes
from rejo.tables import AS_WRITTEN, Doubt


class LabelColumns(NamedTuple):
    """Columns of a labelled table besides the features."""

    target: str  # the classes
    by: str | None = None  # count by its values; files may lack the last three
    group: str | None = None  # the groups that the model promises by
    groups: str | None = None  # rows that belong together

    def named(self) -> list[str]:
        """Return the columns, each once."""
        return list(dict.fromkeys(name for name in self if name is not None))


class TestedRows(NamedTuple):
    """What a model makes of rows."""

    points: list[Any]  # rejo.selection.OutOfFold, one for each share of reviews
    chosen: int  # index of that of the model itself
    doubts: dict[int, list[Doubt]]  # by position: rows that are not as in training
    X: Any  # the features, with cells that can be encoded
    group: Any  # (n,) of the groups that the model promises by, or None

    @property
    def point(self) -> Any:
        """What the model itself decides."""
        return self.points[self.chosen]

    def values(self, frame: Any, columns: LabelColumns) -> NDArray[np.object_]:
        """Values (n,) to count by, as strings; those of groups as training spelled them."""
        from pandas import Series

        same = columns.by == columns.group
        own = f"{AS_WRITTEN}{columns.by}"
        by = frame[own if own in frame else columns.by]
        column = Series(self.group, dtype=object) if same else by
        words = column.astype(object).where(column.notna(), "(missing)").map(str)
        found: NDArray[np.object_] = words.to_numpy(object)
        return found


def judge_tested(
    opened: Opened, frame: Any, group: str | None = None, shares: Sequence[float] = ()
) -> TestedRows:
    """Judge rows as ``predict`` does, and as if other shares of them were reviewed.

    ``group`` is the column of the groups that the model promises by.
    """
    groups = None if group is None else opened.groups_of(frame[group])
    X, doubts = opened.check(frame[list(opened.encoder.kinds_)])
    points, chosen = _outcomes(opened, X, doubts, shares, groups)
    return TestedRows(points, chosen, doubts, X, groups)


def _outcomes(
    opened: Opened, X: Any, doubts: dict[int, list[Doubt]], shares: Sequence[float], group: Any
) -> tuple[list[Any], int]:
    """Rows in doubt are reviewed.

    Some models that were fitted in Python refuse gaps: these rows are in doubt, too.
    """
    with opened.blamed():
        try:
            return ranking_outcomes(opened.model, X, shares, reviewed=list(doubts), group=group)
        except (ValueError, TypeError):
            gaps = X.isna()
            if hasattr(opened.encoder, "learnt_") or not gaps.any(axis=None):
                raise
        for row in np.flatnonzero(gaps.any(axis=1)).tolist():
            lacks = X.columns[gaps.iloc[row]]
            doubts.setdefault(row, [Doubt("missing", str(name)) for name in lacks])
        filled = X.fillna(X.median()).fillna(0.0)  # for a guess, if there were no reviews
        return ranking_outcomes(opened.model, filled, shares, reviewed=list(doubts), group=group)


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
