"""Decisions on disk until the last case is read, because only then is the review order known."""

import json
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo.estimators.base import Judgement

# Classes as indices; a decision of -1 is a review.
CASE = np.dtype(
    [("decision", "i2"), ("lower", "i2"), ("upper", "i2"), ("distance", "f8"), ("worth", "f8")]
)


class Part(NamedTuple):
    """Decisions on some cases."""

    names: list[str] | None  # of the cases, if they have a column for it
    first: int  # index of the first case
    cases: NDArray[Any]  # (n,) of CASE
    rank: NDArray[np.int64]  # 1: the first to review; 0: decided


class Spool:
    """Decisions in a temporary file, with only the sureness of rejected cases in memory.

    It holds 8 bytes for each rejected case, 24 while the ranks are computed.
    """

    def __init__(self) -> None:
        self._sureness: list[NDArray[np.float64]] = []
        self.n_cases = self.n_rejected = 0

    def __enter__(self) -> Self:
        self._file: IO[bytes] = TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_parts(self) -> int:
        return max(1, len(self._sureness))

    def add(self, names: list[str] | None, judgement: Judgement) -> None:
        """Store the decisions on the next cases."""
        rejected = judgement.decision < 0
        self._sureness.append(judgement.sureness[rejected])
        self.n_cases += len(rejected)
        self.n_rejected += int(rejected.sum())
        cases = np.empty(len(rejected), CASE)
        for field in CASE.names or ():
            value = getattr(judgement, field)
            cases[field] = np.nan if value is None else value
        text = np.frombuffer(json.dumps(names).encode(), np.uint8)
        for values in (cases, text):
            np.save(self._file, values, allow_pickle=False)

    def parts(self) -> Iterator[Part]:
        """All decisions with their ranks, by sureness; ties keep their order.

        There is always a part, if only an empty one.
        """
        sureness = np.concatenate([np.empty(0), *self._sureness])
        ranks = np.empty(len(sureness), dtype=np.int64)
        ranks[np.argsort(sureness, kind="stable")] = np.arange(1, len(sureness) + 1)
        self._file.seek(0)
        first = done = 0
        for part in self._sureness:
            cases, text = (np.load(self._file, allow_pickle=False) for _ in range(2))
            rank = np.zeros(len(cases), dtype=np.int64)
            rank[cases["decision"] < 0] = ranks[done : done + len(part)]
            yield Part(json.loads(text.tobytes()), first, cases, rank)
            first, done = first + len(cases), done + len(part)
        if not first:
            yield Part([], 0, np.empty(0, CASE), ranks)
