"""Decisions on disk until the last case is read, because only then is the review order known."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo.cli._files import CommandError
from rejo.cli._reasons import AMBIGUOUS, NOTHING, NOVEL, OVER_CAPACITY, POLICY, UNREADABLE
from rejo.estimators.base import Judgement

INDICES = ("decision", "forced", "lower", "upper")  # of classes; a decision of -1 is a review
NUMBERS = ("distance", "worth", "chance")
CASE = np.dtype([(name, "i2") for name in INDICES] + [(name, "f8") for name in NUMBERS]
                + [("reason", "i1")])  # fmt: skip
URGENCY = np.zeros(128, dtype=np.int8)  # by reason: which cases come first, whatever their worth
URGENCY[[UNREADABLE, NOVEL, POLICY]] = -2, -1, -1


class Part(NamedTuple):
    """Decisions on some cases."""

    names: list[str] | None  # of the cases, if they have a column for it
    first: int  # index of the first case
    cases: NDArray[Any]  # (n,) of CASE; the reason is NOTHING for a case that is simply decided
    rank: NDArray[np.int64]  # 1: the first to review; 0: decided
    texts: list[dict[int, str]]  # as they were added
    audited: NDArray[np.bool_]  # (n,) reviewed only because it was drawn


class Candidates(NamedTuple):
    """Cases that may be reviewed: all that the model rejects, and those drawn for an audit."""

    sureness: NDArray[np.float64]
    reason: NDArray[np.int8]  # of the rejected; NOTHING for the others
    drawn: NDArray[np.bool_]


class Spool:
    """Decisions in a temporary file, with only candidates for a review in memory.

    It holds 10 bytes for each of them, 40 while the ranks are computed.
    """

    def __init__(self) -> None:
        self._candidates: list[Candidates] = []
        self.n_cases = self.n_rejected = self.n_fixed = self.n_drawn = 0
        self.has_worth = False

    def __enter__(self) -> Self:
        self._file: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_parts(self) -> int:
        return max(1, len(self._candidates))

    def add(
        self,
        names: list[str] | None,
        judgement: Judgement,
        reason: NDArray[np.int8],
        drawn: NDArray[np.bool_] | None = None,
        texts: Sequence[Mapping[int, str]] = (),
    ) -> None:
        """Store the decisions on the next cases.

        ``reason`` (n,) is that of the rejected cases; all but the ambiguous ones are reviewed in
        any case.  Those ``drawn`` (n,) are reviewed even if they are decided.  ``texts`` are by
        position of the case.
        """
        rejected = judgement.decision < 0
        fixed = rejected & (reason != AMBIGUOUS)
        drawn = np.zeros(len(rejected), dtype=bool) if drawn is None else drawn & ~fixed
        cases = np.empty(len(rejected), CASE)
        for field in (*INDICES, *NUMBERS):
            value = getattr(judgement, field)
            cases[field] = np.nan if value is None else value
        cases["reason"] = np.where(rejected, reason, NOTHING)
        some = rejected | drawn
        sureness = np.where(fixed, 0.0, judgement.sureness)[some]  # else in the order of the file
        found = Candidates(sureness, cases["reason"][some], drawn[some])
        self._candidates.append(found)
        self.n_cases += len(rejected)
        self.n_rejected += int(rejected.sum())
        self.n_fixed += int(fixed.sum())
        self.n_drawn += int(drawn.sum())
        self.has_worth |= judgement.worth is not None
        text = json.dumps([names, [[list(one), list(one.values())] for one in texts]])
        try:
            for values in (cases, drawn, np.frombuffer(text.encode(), np.uint8)):
                np.save(self._file, values, allow_pickle=False)
        except OSError as error:
            raise CommandError(
                f"{tempfile.gettempdir()} is full ({error.strerror}): decisions are kept there "
                "until the last case is read. Set TMPDIR to a folder with more space, or split "
                "the table"
            ) from None

    def parts(self, capacity: int | None = None) -> Iterator[Part]:
        """All decisions with their ranks.

        At most ``capacity`` cases are reviewed: those that must be, those that were drawn, and then
        the ambiguous ones, the least sure first.  There is always a part, if only an empty one.
        """
        ranks = _ranks(Candidates(*map(np.concatenate, zip(*self._candidates, strict=True)))
                       if self._candidates else NO_CANDIDATES, capacity)  # fmt: skip
        self._file.seek(0)
        first = done = 0
        for part in self._candidates:
            cases, drawn, text = (np.load(self._file, allow_pickle=False) for _ in range(3))
            rejected = cases["decision"] < 0
            rank = np.zeros(len(cases), dtype=np.int64)
            rank[rejected | drawn] = ranks[done : done + len(part.drawn)]
            over = rejected & (rank == 0)
            cases["decision"][over] = cases["forced"][over]
            cases["reason"][over] = OVER_CAPACITY
            # A case that is drawn is ambiguous only if it is among those that fit the capacity.
            audited = (rank < 0) | (drawn & ~rejected)
            cases["decision"][audited], cases["reason"][audited] = -1, POLICY
            names, texts = json.loads(text.tobytes())
            by_row = [dict(zip(rows, said, strict=True)) for rows, said in texts]
            yield Part(names, first, cases, np.abs(rank), by_row, audited)
            first, done = first + len(cases), done + len(part.drawn)
        if not first:
            none = np.empty(0, dtype=np.int64)
            yield Part([], 0, np.empty(0, CASE), none, [], none.astype(bool))


NO_CANDIDATES = Candidates(np.empty(0), np.empty(0, np.int8), np.empty(0, bool))


def _ranks(found: Candidates, capacity: int | None) -> NDArray[np.int64]:
    """Rank of each candidate: 0 if it is decided, negative if it is reviewed only as drawn.

    Ties keep their order.
    """
    sureness, reason, drawn = found
    doubtful = np.flatnonzero(reason == AMBIGUOUS)
    doubtful = doubtful[np.argsort(sureness[doubtful], kind="stable")]
    fit = len(doubtful)
    reviewed = np.ones(len(reason), dtype=bool)
    if capacity is not None:
        # If the first k are reviewed, so are those drawn among the others: a total that never
        # falls as k grows.
        also = drawn[doubtful]
        later = np.append(also[::-1].cumsum()[::-1], 0)
        total = len(reason) - len(doubtful) + np.arange(len(later)) + later
        fit = max(int(np.searchsorted(total, capacity, side="right")) - 1, 0)
        reviewed[doubtful[fit:]] = also[fit:]
    rows = np.flatnonzero(reviewed)
    rows = rows[np.lexsort((sureness[rows], URGENCY[reason[rows]]))]
    ranks = np.zeros(len(reason), dtype=np.int64)
    ranks[rows] = np.arange(1, len(rows) + 1)
    ranks[doubtful[fit:]] *= -1
    return ranks
