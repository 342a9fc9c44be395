"""Chunks of a table become decisions, and with the order of the reviews, parts of the output."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo.estimators import Judgement
from rejo.scoring.names import names_of
from rejo.scoring.opened import SOME, Opened
from rejo.scoring.ranking import Candidates
from rejo.scoring.reasons import AMBIGUOUS, COLUMN, NOTHING, OVER_CAPACITY, POLICY, reasons
from rejo.tables import Doubt, Finding, TableError, read_chunks, shown

ROWS, NUMBERS = 50_000, 1 << 23  # in memory at a time, at most
INDICES = ("decision", "forced", "lower", "upper")  # of classes; a decision of -1 is a review


class DecidedRows(NamedTuple):
    """Decisions on some cases, before the reviews are ranked."""

    names: Any  # (n,) Series of strings, or None if the cases have no column for it
    cases: dict[str, NDArray[Any]]  # INDICES and ``reason`` as small integers, with NOTHING for a
    # case that is simply decided; ``chance``, and ``worth`` or ``distance``, as in a Judgement
    drawn: NDArray[np.bool_]  # (n,) to be reviewed even if they are decided
    details: dict[int, str]  # by position: texts of cases that have their own
    why: dict[int, str]  # by position: which features pull to either side

    def candidates(self) -> Candidates:
        """Return the cases that may be reviewed; their order is that of the cases."""
        reason, fixed = self.cases["reason"], self.cases["reason"] > AMBIGUOUS
        some = self.may_review()
        sureness = np.where(fixed, 0.0, self.cases["sureness"])[some]  # else as in the file
        return Candidates(sureness, reason[some], self.drawn[some])

    def may_review(self) -> NDArray[np.bool_]:
        """Return which cases (n,) the model rejects, or were drawn."""
        return (self.cases["decision"] < 0) | self.drawn

    def ranked(self, ranks: NDArray[np.int64], first: int) -> RankedRows:
        """Return the decisions with the ranks of the candidates, see :func:`ranks_of`.

        ``first`` is the index of the first case in the whole table.
        """
        cases = self.cases
        rejected = cases["decision"] < 0
        rank = np.zeros(len(rejected), dtype=np.int64)
        rank[self.may_review()] = ranks
        decision, reason = cases["decision"].copy(), cases["reason"].copy()
        over = rejected & (rank == 0)
        decision[over], reason[over] = cases["forced"][over], OVER_CAPACITY
        # A case that is drawn is ambiguous only if it is among those that fit the capacity.
        audited = (rank < 0) | (self.drawn & ~rejected)
        decision[audited], reason[audited] = -1, POLICY
        found = cases | {"decision": decision, "reason": reason}
        return RankedRows(self.names, first, found, np.abs(rank), self.details, self.why, audited)


class RankedRows(NamedTuple):
    """Decisions on some cases, with their ranks."""

    names: Any
    first: int  # index of the first case
    cases: dict[str, NDArray[Any]]
    rank: NDArray[np.int64]  # (n,) 1: the first to review; 0: decided
    details: dict[int, str]
    why: dict[int, str]
    audited: NDArray[np.bool_]  # (n,) reviewed only because it was drawn

    def held(self, why: str, last: int) -> RankedRows:
        """Return them with all cases in review, those that were decided after the rank ``last``."""
        decided = self.cases["decision"] < 0
        rows = np.flatnonzero(~decided)
        cases = self.cases | {
            "decision": np.full_like(self.cases["decision"], -1),
            "reason": np.where(decided, self.cases["reason"], np.int8(COLUMN)),
        }
        rank = self.rank.copy()
        rank[rows] = last + 1 + np.arange(len(rows))
        details = self.details | dict.fromkeys(rows.tolist(), why)
        return self._replace(cases=cases, rank=rank, details=details)


class ScoredRows(NamedTuple):
    """What is made of a chunk."""

    decided: DecidedRows
    doubts: dict[int, list[Doubt]]  # by position: rows that are not as in training
    unknown: list[str | None]  # groups that training did not have, once for each case

    @property
    def first_doubt(self) -> int:
        """Position of the first row in doubt."""
        return min(self.doubts)

    def refusal(self, where: str) -> TableError:
        """Return an error about the first row in doubt, which is there."""
        row, names = self.first_doubt, self.decided.names
        name = "" if names is None else f" ({shown(names.iloc[row])})"
        return TableError(
            "; ".join(map(str, self.doubts[row][:3])),
            where=where + name,
            parameter="strict",
            remedy="Correct it, or leave out strict: then such rows go to review.",
        )


class ScoringPlan(NamedTuple):
    """How the cases of a table are decided, besides by the model."""

    id: str | None  # column that names the cases
    must_have_id: bool  # or the table may lack it
    group: str | None  # column of the groups that the model promises by
    why: bool  # say for ambiguous cases which features pull to either side
    audit: float | None  # share of the cases to draw at random
    strict: bool  # refuse a table with a row that is not as in training
    reading: dict[str, Any]  # how the table is written, as arguments of ``read_chunks``
    accept: list[str]  # columns that are right though they are not as in training

    @classmethod
    def of(
        cls,
        opened: Opened,
        *,
        id: str | None = None,
        group: str | None = None,
        why: bool = False,
        audit: float | None = None,
        strict: bool = False,
        reading: Mapping[str, Any] | None = None,
        accept: Collection[str] = (),
    ) -> ScoringPlan:
        """Return a plan that suits a model; columns that are not given are those of training.

        A column given here must be in the table; the one that named the cases in training may be
        absent.
        """
        if id in opened.encoder.kinds_:
            raise RejoError(f"id={id!r} is a feature of {opened.found.path}", parameter="id")
        by = opened.group_column(group)
        if by is None and group is not None:
            raise RejoError(
                f"{opened.found.path} promises nothing by group",
                parameter="group",
                remedy="Leave out group.",
            )
        named = id or opened.table.get("id")
        must_have_id = id is not None or (named is not None and named == by)
        return cls(named, must_have_id, by, why, audit, strict, dict(reading or {}), list(accept))

    def read(self, path: str | os.PathLike[str], opened: Opened) -> Iterator[Any]:
        """Read what the model and the plan need of a table, in chunks."""
        text = list(dict.fromkeys(name for name in (self.id, self.group) if name is not None))
        optional = [] if self.must_have_id or self.id is None else [self.id]
        rows = max(1, min(ROWS, NUMBERS // opened.found.most_columns))
        return read_chunks(
            path, opened.encoder, text=text, optional=optional, rows=rows, **self.reading
        )


class Decider:
    """Decides chunks of a table, one after the other.

    Parameters
    ----------
    opened : Opened
    plan : ScoringPlan
    drawing : RandomState, default=None
        Gives a number for every row, so that the sample of an audit does not depend on how a file
        is read.
    """

    def __init__(
        self, opened: Opened, plan: ScoringPlan, drawing: np.random.RandomState | None = None
    ) -> None:
        self.opened, self.plan = opened, plan
        opened.accepted = plan.accept
        self.drawing = drawing or np.random.RandomState(0)
        self._features = list(opened.encoder.kinds_)
        self._watch = opened.watch()
        self._some: list[Any] = []  # rows, and their groups, to see which columns matter

    def __call__(self, chunk: Any) -> ScoredRows:
        """Decide the rows of a chunk, as :func:`rejo.tables.read_chunks` yields them."""
        opened, id, by = self.opened, self.plan.id, self.plan.group
        names = names_of(chunk[id]) if id is not None and id in chunk.columns else None
        group = None if by is None else opened.groups_of(chunk[by])
        judged = opened.judge(chunk[self._features], group)
        if self._watch is not None:
            opened.encoder.add_rows(self._watch, judged.X)
            if not self._some:
                self._some = [judged.X[:SOME], None if group is None else group[:SOME]]
        reason, details = reasons(opened, judged, by, group)
        drawn = np.zeros(len(chunk), dtype=bool)
        if self.plan.audit:
            drawn = self.drawing.uniform(size=len(chunk)) < self.plan.audit
        why = {}
        if self.plan.why:
            explained = (judged.judgement.decision < 0) & (reason == AMBIGUOUS)
            why = opened.why(judged.X, np.flatnonzero(explained), group)
        decided = decided_of(names, judged.judgement, reason, drawn, details, why)
        return ScoredRows(decided, judged.doubts, opened.unknown_groups(group))

    def strange(self) -> list[Finding]:
        """Return the columns that are not as in training."""
        if self._watch is None or not self._some:
            return []
        return self.opened.weigh(self._watch.findings(), *self._some)


def decided_of(
    names: Any,
    judgement: Judgement,
    reason: NDArray[np.int8],
    drawn: NDArray[np.bool_] | None = None,
    details: dict[int, str] | None = None,
    why: dict[int, str] | None = None,
) -> DecidedRows:
    """Return a judgement as decisions; ``reason`` (n,) is that of the rejected cases."""
    rejected = judgement.decision < 0
    reason = np.where(rejected, reason, np.int8(NOTHING))
    drawn = np.zeros(len(rejected), dtype=bool) if drawn is None else drawn
    cases: dict[str, Any] = {name: getattr(judgement, name).astype(np.int16) for name in INDICES}
    cases |= {"reason": reason, "sureness": judgement.sureness}
    cases |= {"chance": judgement.chance} if judgement.chance is not None else {}
    worth = judgement.worth is not None
    cases |= {"worth": judgement.worth} if worth else {"distance": judgement.distance}
    # Those that are reviewed in any case need not be drawn.
    return DecidedRows(names, cases, drawn & ~(reason > AMBIGUOUS), details or {}, why or {})
