"""One record for each case of a table: its decision, the reason, its rank; the order of reviews."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rejo.estimators import Judgement
from rejo.tables import Doubt, import_pyarrow

# Why a case goes to review; the first three as in a Judgement.
AMBIGUOUS, NOVEL, POLICY, UNREADABLE, COLUMN, OVER_CAPACITY = range(6)
NOTHING = -1
WORDS = ("ambiguous", "novel", "policy", "unreadable", "column", "over capacity")
URGENCY = np.zeros(128, dtype=np.int8)  # by reason: which cases come first, whatever their worth
URGENCY[[UNREADABLE, NOVEL, POLICY]] = -2, -1, -1
UNSEEN = (NOVEL, UNREADABLE, COLUMN)  # a guess from a bad cell would mislead
NEW = ("outside", "unseen")  # doubts about cells that were read well

CASE = np.dtype(
    [
        ("decision", np.int16),  # index of a class; -1: review
        ("forced", np.int16),  # the decision without review
        ("lower", np.int16),  # the two classes that it lies between
        ("upper", np.int16),
        ("reason", np.int8),  # NOTHING if it is simply decided
        ("drawn", np.bool_),  # for an audit; once it is ranked: reviewed only because of that
        ("sureness", np.float64),  # as in a Judgement, as are those below; NaN if they are not
        ("chance", np.float64),  # known
        ("worth", np.float64),
        ("distance", np.float64),
        ("rank", np.int64),  # 1: the first to review; 0: decided, or not ranked yet
    ],
    align=True,
)
CANDIDATE = np.dtype([(name, CASE[name]) for name in ("sureness", "reason", "drawn")])


@dataclass(eq=False)
class Cases:
    """Some cases of a table, one after the other, from their judgement to the output."""

    rows: NDArray[Any]  # (n,) of CASE
    doubts: dict[int, list[Doubt]] = field(default_factory=dict)  # by position: not as in training
    unknown: list[str | None] = field(default_factory=list)  # groups that training did not have
    details: dict[int, str] = field(default_factory=dict)  # by position: texts of their own
    why: dict[int, str] = field(default_factory=dict)  # features that pull
    names: Any = None  # (n,) strings of Arrow, if the table has a column for it
    first: int = 0  # index of the first case in the whole table
    n_rejected: int = 0  # by the model, once they are ranked
    X: Any = None  # until they are decided: the features, with cells that can be encoded
    group: Any = None  # (n,) the groups that the model promises by

    @classmethod
    def of(cls, found: Judgement, doubts: dict[int, list[Doubt]], **about: Any) -> Cases:
        """Return cases as a model judges them; those in doubt go to review."""
        rows = np.zeros(len(found.decision), CASE)
        for name in found._fields[:-1]:
            values = getattr(found, name)
            rows[name] = np.nan if values is None else values
        rows["decision"][list(doubts)] = -1
        kind = AMBIGUOUS if found.kind is None else found.kind
        rows["reason"] = np.where(rows["decision"] < 0, kind, NOTHING)
        rows["reason"][list(doubts)] = [
            NOVEL if all(one.why in NEW for one in said) else UNREADABLE for said in doubts.values()
        ]
        return cls(rows, doubts, **about)

    def may_review(self) -> NDArray[np.bool_]:
        """Return which cases (n,) the model rejects, or were drawn."""
        found: NDArray[np.bool_] = (self.rows["decision"] < 0) | self.rows["drawn"]
        return found

    def candidates(self) -> NDArray[Any]:
        """Return what the order of those that may be reviewed depends on, as CANDIDATE."""
        some = self.rows[self.may_review()]
        found = np.empty(len(some), CANDIDATE)
        for name in CANDIDATE.names or ():
            found[name] = some[name]
        found["sureness"][some["reason"] > AMBIGUOUS] = 0.0  # else as in the file
        return found

    def rank(self, ranks: NDArray[np.int64], first: int = 0) -> None:
        """Take the ranks of the candidates, see :func:`ranks_of`: some are decided after all."""
        rows, self.first = self.rows, first
        rejected = rows["decision"] < 0
        self.n_rejected = int(rejected.sum())
        rank = np.zeros(len(rows), np.int64)
        rank[self.may_review()] = ranks
        over = rejected & (rank == 0)
        rows["decision"][over], rows["reason"][over] = rows["forced"][over], OVER_CAPACITY
        # A case that is drawn is ambiguous only if it is among those that fit the capacity.
        rows["drawn"] = (rank < 0) | (rows["drawn"] & ~rejected)
        rows["decision"][rows["drawn"]], rows["reason"][rows["drawn"]] = -1, POLICY
        rows["rank"] = np.abs(rank)

    def hold(self, why: str, last: int) -> int:
        """Send all cases to review, those that were decided after ``last``; return the last rank.

        They are ranked already.
        """
        decided = np.flatnonzero(self.rows["decision"] >= 0)
        end = last + len(decided)
        self.rows["decision"][decided], self.rows["reason"][decided] = -1, COLUMN
        self.rows["rank"][decided] = np.arange(last + 1, end + 1)
        self.details |= dict.fromkeys(decided.tolist(), why)
        self.why = {row: said for row, said in self.why.items() if row not in self.details}
        return end

    def store(self, file: IO[bytes]) -> None:
        """Write the cases: a line of JSON says what follows, then names, then the records."""
        names = b"" if self.names is None else _packed(self.names)
        texts = (self.details, self.why, self.doubts)
        head = {
            "rows": len(self.rows),
            "names": len(names),
            "texts": [[list(said), list(said.values())] for said in texts],
            "unknown": self.unknown,
            "group": None if self.group is None else list(self.group),
        }
        file.write(json.dumps(head).encode() + b"\n")
        file.write(names)
        file.write(self.rows.view(np.uint8).data)


def restored(file: IO[bytes]) -> Iterator[Cases]:
    """Read all cases that were stored in a file."""
    while line := file.readline():
        head = json.loads(line)
        names = file.read(head["names"])
        size = head["rows"] * CASE.itemsize
        rows = np.frombuffer(bytearray(file.read(size)), CASE)
        details, why, doubts = (dict(zip(*said, strict=True)) for said in head["texts"])
        found = {row: [Doubt(*doubt) for doubt in said] for row, said in doubts.items()}
        yield Cases(
            rows, found, head["unknown"], details, why, _unpacked(names) if names else None,
            group=head["group"],
        )  # fmt: skip


def ranked(
    file: IO[bytes],
    ranks: NDArray[np.int64],
    first: int = 0,
    held: str = "",
    draw: Callable[[Cases], None] | None = None,
) -> Iterator[Cases]:
    """Yield the cases of a file with their ranks; there are always some, if only none.

    If they are ``held``, for this reason, all go to review.  ``draw`` marks those for an audit, if
    that was not done before they were stored.
    """
    done, last, start = 0, int(np.abs(ranks).max(initial=0)), first
    for cases in restored(file):
        if draw is not None:
            draw(cases)
        end = done + int(cases.may_review().sum())
        cases.rank(ranks[done:end], first)
        if held:
            last = cases.hold(held, last)
        yield cases
        first, done = first + len(cases.rows), end
    if first == start:
        yield Cases(np.zeros(0, CASE), first=first)


def _packed(names: Any) -> memoryview:
    pa = import_pyarrow()
    batch, sink = pa.record_batch({"name": names}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def _unpacked(data: bytes) -> Any:
    return import_pyarrow().ipc.open_stream(data).read_next_batch().column(0)


def names_of(column: Any) -> Any:
    """Return a column (n,) as strings of Arrow; a missing name is empty."""
    pa = import_pyarrow()
    try:
        found = pa.array(column, pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, UnicodeError):  # numbers, or half a character
        texts = column.fillna("").map(lambda name: str(name).encode("utf-8", "backslashreplace"))
        found = pa.array(texts.str.decode("utf-8"), pa.large_string())
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return found.fill_null("") if found.null_count else found


# ---- the order of the reviews, which is known only after the last case ---------------------------


def ranks_of(candidates: Sequence[NDArray[Any]], capacity: int | None = None) -> NDArray[np.int64]:
    """Rank of each candidate of all parts: 0 if it is decided, negative if reviewed only as drawn.

    At most ``capacity`` cases are reviewed: those that must be, those that were drawn, and then
    the ambiguous ones, the least sure first.  Ties keep their order.
    """
    found = np.concatenate([np.empty(0, CANDIDATE), *candidates])
    sureness, reason, drawn = (found[name].copy() for name in ("sureness", "reason", "drawn"))
    reviewed = np.ones(len(reason), dtype=bool)
    only_drawn = np.empty(0, dtype=np.intp)
    if capacity is not None:
        doubtful = np.flatnonzero(reason == AMBIGUOUS)
        doubtful = doubtful[np.argsort(sureness[doubtful], kind="stable")]
        # If the first k are reviewed, so are those drawn among the others: a total that never
        # falls as k grows.
        also = drawn[doubtful]
        later = np.append(also[::-1].cumsum()[::-1], 0)
        total = len(reason) - len(doubtful) + np.arange(len(later)) + later
        fit = max(int(np.searchsorted(total, capacity, side="right")) - 1, 0)
        only_drawn = doubtful[fit:]
        reviewed[only_drawn] = also[fit:]
    rows = np.flatnonzero(reviewed)
    rows = rows[np.lexsort((sureness[rows], URGENCY[reason[rows]]))]
    ranks = np.zeros(len(reason), dtype=np.int64)
    ranks[rows] = np.arange(1, len(rows) + 1)
    ranks[only_drawn] *= -1
    return ranks


def capacity_of(capacity: float | None, n_cases: int) -> int | None:
    """Return a capacity as a number of cases: an integer already, or a share of them."""
    return int(capacity * n_cases + 1e-9) if isinstance(capacity, float) else capacity
