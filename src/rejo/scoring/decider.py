"""Chunks of a table become decisions with their reasons."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError, Setting, Text, close_words
from rejo._io import one_line
from rejo.scoring.ahead import ahead
from rejo.scoring.audit import draw_alike
from rejo.scoring.cases import AMBIGUOUS, NOVEL, POLICY, Cases, names_of
from rejo.scoring.model import SOME, Opened
from rejo.tables import Doubt, Finding, TableError, read_chunks, shown

ROWS, NUMBERS = 50_000, 1 << 23  # in memory at a time, at most
MOST_DOUBTS = 3  # in a cell
WHY = AMBIGUOUS_ONLY, DECIDED = "ambiguous", "decided"  # besides classes


class ScoringPlan(NamedTuple):
    """How the cases of a table are decided, besides by the model."""

    reading: dict[str, Any]  # how the table is written, as arguments of ``read_chunks``
    id: str | None = None  # column that names the cases
    group: str | None = None  # column of the groups that the model promises by
    why: bool | str | None = None  # features of "ambiguous" cases, also of "decided", or a class
    why_words: Mapping[str, Sequence[str]] | None = None  # sentences for features that are named
    audit: float | None = None  # share of the cases to draw at random
    seed: int = 0  # of the audit
    strict: bool = False  # refuse a table with a row that is not as in training
    accept: Collection[str] = ()  # columns that are right though they are not as in training
    must_have_id: bool = False  # or the table may lack it

    @classmethod
    def of(
        cls, opened: Opened, *, reading: Mapping[str, Any] | None = None, **given: Any
    ) -> ScoringPlan:
        """Return a plan that suits a model; columns that are not given are those of training.

        A column given here must be in the table; the one that named the cases in training may be
        absent.
        """
        plan = cls(dict(reading or {}), **given)
        id, group = plan.id, plan.group
        if id in opened.encoder.kinds_:
            raise RejoError(
                Text(Setting("id", id), f" is a feature of {opened.found.path}"), parameter="id"
            )
        by = opened.group_column(group)
        if by is None and group is not None:
            raise RejoError(
                f"{opened.found.path} promises nothing by group",
                parameter="group",
                remedy=Text("Leave out ", Setting("group"), "."),
            )
        if isinstance(plan.why, bool):
            plan = plan._replace(why=AMBIGUOUS_ONLY if plan.why else None)
        if plan.why not in (None, *WHY, *opened.classes):
            close = close_words(str(plan.why), opened.classes, n=1)
            raise RejoError(
                f"there is no class {shown(plan.why)}",
                parameter="why",
                remedy=f"Did you mean {close[0]!r}?"
                if close
                else f"Give {', '.join(WHY)} or a class: {', '.join(opened.classes[:10])}.",
            )
        named = id or opened.table.get("id")
        must_have_id = id is not None or (named is not None and named == by)
        return plan._replace(
            id=named, group=by, must_have_id=must_have_id, accept=list(plan.accept)
        )  # fmt: skip


class Decider:
    """Decides chunks of a table, one after the other."""

    def __init__(self, opened: Opened, plan: ScoringPlan) -> None:
        self.opened, self.plan = opened, plan
        opened.accepted = plan.accept
        self._features = list(opened.encoder.kinds_)
        self._watch = opened.watch()
        self._some: list[Any] = []  # rows, and their groups, to see which columns matter
        self.has_ids = False  # the table has the column that names the cases

    def read(self, path: str | os.PathLike[str], where: Callable[[int], str]) -> Iterator[Cases]:
        """Read what the model and the plan need of a table, and decide its rows, in chunks.

        ``where`` gives the place of a row, for the error about one in doubt if the plan is strict.
        """
        plan, opened = self.plan, self.opened
        text = list(dict.fromkeys(name for name in (plan.id, plan.group) if name is not None))
        optional = [] if plan.must_have_id or plan.id is None else [plan.id]
        rows = max(1, min(ROWS, NUMBERS // opened.found.most_columns))
        chunks = read_chunks(
            path, opened.encoder, text=text, optional=optional, rows=rows, **plan.reading
        )
        for chunk in ahead(chunks):
            self.has_ids = plan.id in chunk.columns
            if not len(chunk):
                continue
            cases = self(chunk, getattr(path, "start", 0))
            if plan.strict and cases.doubts:
                raise _refusal(cases, where(int(chunk.index[min(cases.doubts)])))
            yield cases

    def __call__(self, chunk: Any, start: int = 0) -> Cases:
        """Decide the rows of a chunk, as :func:`rejo.tables.read_chunks` yields them.

        The first row of its file is number ``start`` of all files.
        """
        opened, plan = self.opened, self.plan
        group = None if plan.group is None else opened.groups_of(chunk[plan.group])
        cases = opened.judge(chunk[self._features], group)
        if self._watch is not None:
            opened.encoder.add_rows(self._watch, cases.X)
            if not self._some:
                self._some = [cases.X[:SOME], None if group is None else group[:SOME]]
        if plan.id in chunk.columns:
            cases.names = names_of(chunk[plan.id])
        cases.details = self._details(cases)
        if plan.audit:  # those that are reviewed in any case need not be drawn
            draw_alike(cases, plan.audit, plan.seed, start + chunk.index.to_numpy())
        if plan.why:
            asked, decision = cases.rows["reason"] == AMBIGUOUS, cases.rows["decision"]
            if plan.why == DECIDED:
                asked |= decision >= 0
            elif plan.why != AMBIGUOUS_ONLY:
                asked |= decision == opened.classes.index(str(plan.why))
            cases.why = opened.why(cases.X, np.flatnonzero(asked), group, plan.why_words)
        cases.X = None  # while a chunk is decided, the last one may still be there
        return cases

    def _details(self, cases: Cases) -> dict[int, str]:
        """Texts of the cases that have their own."""
        reason, doubts, by = cases.rows["reason"], cases.doubts, self.plan.group
        novel = [row for row in np.flatnonzero(reason == NOVEL).tolist() if row not in doubts]
        said = self.opened.novelties(cases.X, novel)
        for row in np.flatnonzero(reason == POLICY).tolist() if by is not None else ():
            value = cases.group[row]
            lacks = " is missing" if value is None else f" {shown(value)} has no promise"
            said[row] = one_line(f"{by}{lacks}")
        return said | {row: _said(found) for row, found in doubts.items()}

    def counts(self) -> dict[str, list[int]]:
        """Return for each column how many cells fell into the bins of training."""
        return {} if self._watch is None else self._watch.counts()

    def strange(self) -> list[Finding]:
        """Return the columns that are not as in training."""
        if self._watch is None or not self._some:
            return []
        return self.opened.weigh(self._watch.findings(), *self._some)


def _said(doubts: Sequence[Doubt]) -> str:
    """Say why a row is in doubt, in a cell."""
    more = len(doubts) - MOST_DOUBTS
    said = "; ".join(map(str, doubts[:MOST_DOUBTS]))
    return one_line(said + (f"; and {more} more" if more > 0 else ""))


def _refusal(cases: Cases, where: str) -> TableError:
    """Return an error about the first row in doubt, which is there."""
    row = min(cases.doubts)
    name = "" if cases.names is None else f" ({shown(cases.names[row].as_py())})"
    return TableError(
        "; ".join(map(str, cases.doubts[row][:3])),
        where=where + name,
        parameter="strict",
        remedy=Text(
            "Correct it, or leave out ", Setting("strict"), ": then such rows go to review."
        ),
    )
