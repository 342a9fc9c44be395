"""What is done for a part of the output: first its cases are decided, then ranked and written.

Between the two, decisions wait in a file of the working folder.  Every file gets its name when it
is complete, so that a task can be repeated at any time, by any worker.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._io import WholeFile, without_password
from rejo.distributed._output_folder import DECIDED
from rejo.distributed._sent_model import SentModel
from rejo.scoring import (
    CANDIDATE,
    CaseCounts,
    Cases,
    Decider,
    ScoringPlan,
    ahead,
    decision_frame,
    ranked,
    restored,
)
from rejo.tables import RowGroup, TableWriter

LEAST_ROWS = 50_000  # of a part, if its file has as many


class OutputPart(NamedTuple):
    """A file of the output, and the row groups whose cases it decides."""

    name: str
    pieces: tuple[RowGroup, ...]  # of one file, one after the other
    before: int  # rows of that file before the first of them

    @property
    def rows(self) -> int:
        """Number of cases."""
        return sum(piece.rows for piece in self.pieces)

    def __str__(self) -> str:
        return str(self.pieces[0])


def parts_of(pieces: Sequence[RowGroup]) -> list[OutputPart]:
    """Return the parts of the output: one for each row group, or for several that are small."""
    files = list(dict.fromkeys(piece.path for piece in pieces))
    stems = [os.path.splitext(os.path.basename(file))[0] for file in files]
    if len(set(stems)) < len(stems):  # files of the same name in different folders
        stems = [f"{i:05d}-{stem}" for i, stem in enumerate(stems)]
    found = []
    for file, stem in zip(files, stems, strict=True):
        waiting: list[RowGroup] = []
        before = 0
        own = [piece for piece in pieces if piece.path == file]
        for piece in own:
            waiting.append(piece)
            if (rows := sum(one.rows for one in waiting)) >= LEAST_ROWS or piece is own[-1]:
                name = f"{stem}-{waiting[0].group:04d}.parquet"
                found.append(OutputPart(name, tuple(waiting), before))
                waiting, before = [], before + rows
    return found


class Job(NamedTuple):
    """What all tasks of a run have in common."""

    out: str  # folder of the output
    work: str  # working folder inside it
    model: SentModel
    plan: ScoringPlan

    def spool(self, part: OutputPart) -> Path:
        """Return the file in which the decisions on a part wait."""
        return Path(self.work, part.name + DECIDED)

    def check_shared(self) -> None:
        """Refuse a worker that does not see the folder."""
        if not os.path.isdir(self.work):
            raise RejoError(
                f"this worker does not see {self.out}",
                parameter="out",
                remedy="The folder must be one that all workers share, under the same name.",
            )


# ---- deciding ------------------------------------------------------------------------------


class DecideTask(NamedTuple):
    """A part whose cases are to be decided."""

    part: OutputPart
    drawing: np.random.RandomState | None  # for an audit, at the first of its cases

    def __str__(self) -> str:
        return str(self.part)


class DecidedPart(NamedTuple):
    """What is known of a part when its cases are decided."""

    candidates: NDArray[Any]
    counts: CaseCounts


def decide_part(job: Job, task: DecideTask) -> DecidedPart:
    """Decide the cases of a part, and keep the decisions in the working folder."""
    job.check_shared()
    spool, counts, candidates = job.spool(task.part), CaseCounts(), [np.empty(0, CANDIDATE)]
    if not spool.exists():
        with WholeFile(spool, overwrite=True) as file:
            for cases in _decided(job, task):
                cases.store(file)
    with spool.open("rb") as file:
        for cases in restored(file):
            candidates.append(cases.candidates())
            counts.add(cases)
    if task.part.pieces[0].start >= counts.ids.MOST:
        counts.ids.hashes.clear()
    return DecidedPart(np.concatenate(candidates), counts)


def _decided(job: Job, task: DecideTask) -> Iterator[Cases]:
    opened = job.model.open()
    decide = Decider(opened, job.plan, task.drawing)
    before = task.part.before
    for piece in task.part.pieces:
        for chunk in ahead(job.plan.read(piece, opened)):
            if not len(chunk):
                continue
            cases = decide(chunk)
            if job.plan.strict and cases.doubts:
                row = before + int(chunk.index[min(cases.doubts)])
                raise decide.refusal(cases, f"{without_password(piece.path)}, row {row + 1}")
            yield cases
        before += piece.rows


# ---- ranking -------------------------------------------------------------------------------


class RankTask(NamedTuple):
    """A part whose cases are decided, with the ranks of those that may be reviewed."""

    part: OutputPart
    ranks: NDArray[np.int64]
    id: str | None  # column that names the cases, if the files have it

    def __str__(self) -> str:
        return str(self.part)


def rank_part(job: Job, task: RankTask) -> CaseCounts:
    """Rank the cases of a part and write them, unless that has been done; count the reviews."""
    job.check_shared()
    counts, final = CaseCounts(), Path(job.out, task.part.name)
    frames = _frames(job, task, counts)
    if final.exists():
        for _ in frames:
            pass
        return counts
    token = secrets.token_hex(8)  # another worker may do the same
    temporary = Path(job.work, f"{final.stem}.{token}{final.suffix}")
    with TableWriter(temporary) as writer:
        for frame in frames:
            writer.write(frame)
    os.replace(temporary, final)
    return counts


def _frames(job: Job, task: RankTask, counts: CaseCounts) -> Iterator[Any]:
    opened = job.model.open()
    with job.spool(task.part).open("rb") as file:
        for cases in ranked(file, task.ranks, task.part.pieces[0].start):
            counts.add_ranked(cases)
            yield decision_frame(cases, opened, id=task.id, why=job.plan.why)
