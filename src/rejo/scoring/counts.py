"""What became of the cases of a table, in numbers; how many are not as in training, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._io import printable
from rejo.scoring.cases import NOVEL, POLICY, UNREADABLE, WORDS, Cases
from rejo.tables import Doubt, Finding

MOST_COLUMNS = 5  # in a sentence
# What is wrong with a whole row.
WHOLE_ROW = {
    "empty": "no values at all",
    "ragged": "too many or too few fields",
    "twice": "the same name twice",
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
        self._n_lacking = 0  # rows that lack a value
        self._kinds: dict[tuple[str, str], DoubtKind] = {}

    def add(self, doubts: Mapping[int, Sequence[Doubt]]) -> None:
        """Count some more rows."""
        self.n_rows += len(doubts)
        for found in doubts.values():
            self._n_lacking += any(one.why == "missing" for one in found)
            counted = set()
            for one in found:
                if (kind := (one.column, one.why)) not in counted:
                    counted.add(kind)
                    self._count(kind, 1, one)

    def merge(self, other: DoubtCounts) -> None:
        """Count the rows that another has counted."""
        self.n_rows += other.n_rows
        self._n_lacking += other._n_lacking
        for kind, (n_rows, first) in other._kinds.items():
            self._count(kind, n_rows, first)

    def _count(self, kind: tuple[str, str], n_rows: int, first: Doubt) -> None:
        n, known = self._kinds.get(kind, (0, first))
        self._kinds[kind] = DoubtKind(n + n_rows, known)

    def most_first(self) -> list[DoubtKind]:
        """Return the kinds of doubt, those of most rows first."""
        return sorted(self._kinds.values(), key=lambda kind: -kind.n_rows)

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


class Ids:
    """Finds ids that repeat, by their hashes: 8 bytes a case."""

    MOST = 10_000_000  # compared; more would take too much memory

    def __init__(self) -> None:
        self.hashes: list[NDArray[np.uint64]] = []
        self.n_empty = 0

    def add(self, names: Any) -> None:
        """Note the ids (n,) of the next cases, strings of Arrow."""
        hashes = hashes_of(names.to_numpy(zero_copy_only=False))
        self.n_empty += int((hashes == hashes_of([""])).sum())
        self._keep([hashes])

    def merge(self, other: Ids) -> None:
        """Note the ids that another has noted."""
        self.n_empty += other.n_empty
        self._keep(other.hashes)

    def _keep(self, more: Iterable[NDArray[np.uint64]]) -> None:
        for hashes in more:
            if sum(map(len, self.hashes)) < self.MOST:
                self.hashes.append(hashes)

    @property
    def n_repeated(self) -> int:
        """Number of cases whose id another case before them has."""
        if not self.hashes:
            return 0
        hashes = np.sort(np.concatenate(self.hashes))
        same = hashes[1:] == hashes[:-1]
        return int((same & (hashes[1:] != hashes_of([""]))).sum())


def hashes_of(texts: Any) -> NDArray[np.uint64]:
    """Hash of each string (n,), the same in every process."""
    from pandas.util import hash_array

    found: NDArray[np.uint64] = hash_array(np.asarray(texts, dtype=object), categorize=False)
    return found


@dataclass(eq=False)
class CaseCounts:
    """Counts cases that are ranked.

    Those of parts of a table can be counted apart and put together with :meth:`merge`.
    """

    n_cases: int = 0
    n_rejected: int = 0  # by the model, whatever the capacity
    n_audited: int = 0
    has_ids: bool = False  # the table has the column that names the cases
    doubts: DoubtCounts = field(default_factory=DoubtCounts)
    unknown: Counter[str | None] = field(default_factory=Counter)  # groups training did not have
    ids: Ids = field(default_factory=Ids)
    strange: list[Finding] = field(default_factory=list)  # columns that are not as in training
    reasons: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(WORDS), np.int64))

    def add(self, cases: Cases) -> None:
        """Count some more cases."""
        self.n_cases += len(cases.rows)
        self.reasons += np.bincount(cases.rows["reason"] + 1, minlength=len(WORDS) + 1)[1:]
        self.n_rejected += cases.n_rejected
        self.n_audited += int(cases.rows["drawn"].sum())
        self.doubts.add(cases.doubts)
        self.unknown.update(cases.unknown)
        if cases.names is not None:
            self.ids.add(cases.names)

    def merge(self, other: CaseCounts) -> None:
        """Count the cases that another has counted."""
        for name in ("n_cases", "n_rejected", "n_audited", "reasons", "unknown"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.doubts.merge(other.doubts)
        self.ids.merge(other.ids)

    def held(self) -> str:
        """Say why no case may be decided; empty if that is not so."""
        held = (str(one) for one in self.strange if one.degree == "fault" and one.matters)
        return printable("; ".join(held))

    @property
    def n_must(self) -> int:
        """Number of cases that are reviewed however sure the model is."""
        return int(self.reasons[[NOVEL, POLICY, UNREADABLE]].sum())

    @property
    def n_reviewed(self) -> int:
        """Number of cases that go to review."""
        return int(self.reasons[:-1].sum())

    def as_json(self) -> dict[str, Any]:
        """Return the counts, by reason, and the kinds of doubt."""
        *reviewed, n_over = self.reasons.tolist()
        return {
            "n_cases": self.n_cases,
            "decided": self.n_cases - self.n_reviewed,
            "review": self.n_reviewed,
            "in_doubt": self.doubts.n_rows,
            "over_capacity": n_over,
            "audited": self.n_audited,
            "reasons": dict(zip(WORDS, reviewed, strict=False)),
            "doubts": self.doubts.as_json(),
            "columns": [one._asdict() for one in self.strange],
        }


def spool(
    found: Iterable[Cases], file: IO[bytes], folder: str = ""
) -> tuple[list[NDArray[Any]], int]:
    """Store cases in a file of a folder until all can be ranked; return their number, too.

    The candidates for a review alone stay in memory: 10 bytes each.
    """
    candidates, n = [], 0
    for cases in found:
        candidates.append(cases.candidates())
        n += len(cases.rows)
        try:
            cases.store(file)
        except OSError as error:
            raise RejoError(
                f"{folder} cannot be written to ({error.strerror}): decisions are kept there "
                "until the last case is read. Make room, or split the table; for a single "
                "file, TMPDIR may name another folder"
            ) from None
    return candidates, n
