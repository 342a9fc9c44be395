"""Decisions on disk until the last case is read, because only then is the review order known."""

import json
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo.estimators.base import Judgement


class Part(NamedTuple):
    """Decisions on some cases, classes as indices."""

    names: list[str] | None  # of the cases, if they have a column for it
    first: int  # index of the first case
    decision: NDArray[np.int16]  # -1: review
    lower: NDArray[np.int16]
    upper: NDArray[np.int16]
    distance: NDArray[np.float64]
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
        """Number of parts so far."""
        return len(self._sureness)

    def add(self, names: list[str] | None, judgement: Judgement) -> None:
        """Store the decisions on the next cases."""
        rejected = judgement.decision < 0
        self._sureness.append(judgement.sureness[rejected])
        self.n_cases += len(rejected)
        self.n_rejected += int(rejected.sum())
        for values in (judgement.decision, judgement.lower, judgement.upper):
            np.save(self._file, values.astype(np.int16), allow_pickle=False)
        np.save(self._file, judgement.distance, allow_pickle=False)
        text = json.dumps(names).encode()
        np.save(self._file, np.frombuffer(text, np.uint8), allow_pickle=False)

    def parts(self) -> Iterator[Part]:
        """All decisions with their ranks, by sureness; ties keep their order."""
        sureness = np.concatenate([np.empty(0), *self._sureness])
        ranks = np.empty(len(sureness), dtype=np.int64)
        ranks[np.argsort(sureness, kind="stable")] = np.arange(1, len(sureness) + 1)
        self._file.seek(0)
        first = done = 0
        for _ in self._sureness:
            decision, lower, upper, distance, text = (self._load() for _ in range(5))
            rejected = decision < 0
            rank = np.zeros(len(decision), dtype=np.int64)
            n = int(rejected.sum())
            rank[rejected] = ranks[done : done + n]
            names = json.loads(text.tobytes())
            yield Part(names, first, decision, lower, upper, distance, rank)
            first, done = first + len(decision), done + n

    def _load(self) -> NDArray[Any]:
        found: NDArray[Any] = np.load(self._file, allow_pickle=False)
        return found
