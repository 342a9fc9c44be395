"""Decisions on disk until the last case is read, because only then is the review order known."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo.cli._files import CommandError
from rejo.estimators.base import Judgement

INDICES = ("decision", "forced", "lower", "upper")  # of classes; a decision of -1 is a review
NUMBERS = ("distance", "worth", "chance")
CASE = np.dtype([(name, "i2") for name in INDICES] + [(name, "f8") for name in NUMBERS])


class Part(NamedTuple):
    """Decisions on some cases."""

    names: list[str] | None  # of the cases, if they have a column for it
    first: int  # index of the first case
    cases: NDArray[Any]  # (n,) of CASE
    rank: NDArray[np.int64]  # 1: the first to review; 0: decided
    doubts: dict[int, str]  # by position: why the case must be reviewed
    over: NDArray[np.bool_]  # (n,) decided only because there is no capacity to review it


class Spool:
    """Decisions in a temporary file, with only the sureness of rejected cases in memory.

    It holds 8 bytes for each rejected case, 24 while the ranks are computed.
    """

    def __init__(self) -> None:
        self._sureness: list[NDArray[np.float64]] = []
        self.n_cases = self.n_rejected = self.n_doubtful = 0
        self.has_worth = False

    def __enter__(self) -> Self:
        self._file: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_parts(self) -> int:
        return max(1, len(self._sureness))

    def add(self, names: list[str] | None, judgement: Judgement, doubts: Mapping[int, str]) -> None:
        """Store the decisions on the next cases; those in doubt are the first to review."""
        rejected = judgement.decision < 0
        sureness = judgement.sureness.copy()
        sureness[list(doubts)] = -np.inf
        self._sureness.append(sureness[rejected])
        self.n_cases += len(rejected)
        self.n_rejected += int(rejected.sum())
        self.n_doubtful += len(doubts)
        self.has_worth |= judgement.worth is not None
        cases = np.empty(len(rejected), CASE)
        for field in CASE.names or ():
            value = getattr(judgement, field)
            cases[field] = np.nan if value is None else value
        text = json.dumps([names, list(doubts), list(doubts.values())])
        try:
            for values in (cases, np.frombuffer(text.encode(), np.uint8)):
                np.save(self._file, values, allow_pickle=False)
        except OSError as error:
            raise CommandError(
                f"{tempfile.gettempdir()} is full ({error.strerror}): decisions are kept there "
                "until the last case is read. Set TMPDIR to a folder with more space, or split "
                "the table"
            ) from None

    def n_reviews(self, capacity: int | None) -> int:
        """Return how many cases are reviewed; those in doubt always are."""
        if capacity is None:
            return self.n_rejected
        return min(self.n_rejected, max(capacity, self.n_doubtful))

    def parts(self, capacity: int | None = None) -> Iterator[Part]:
        """All decisions with their ranks, by sureness; ties keep their order.

        At most ``capacity`` cases are reviewed, the first ones.  There is always a part, if only
        an empty one.
        """
        sureness = np.concatenate([np.empty(0), *self._sureness])
        ranks = np.empty(len(sureness), dtype=np.int64)
        ranks[np.argsort(sureness, kind="stable")] = np.arange(1, len(sureness) + 1)
        last = self.n_reviews(capacity)
        self._file.seek(0)
        first = done = 0
        for part in self._sureness:
            cases, text = (np.load(self._file, allow_pickle=False) for _ in range(2))
            rank = np.zeros(len(cases), dtype=np.int64)
            rank[cases["decision"] < 0] = ranks[done : done + len(part)]
            over = rank > last
            cases["decision"][over] = cases["forced"][over]
            rank[over] = 0
            names, rows, reasons = json.loads(text.tobytes())
            yield Part(names, first, cases, rank, dict(zip(rows, reasons, strict=True)), over)
            first, done = first + len(cases), done + len(part)
        if not first:
            yield Part([], 0, np.empty(0, CASE), ranks, {}, np.empty(0, dtype=bool))
