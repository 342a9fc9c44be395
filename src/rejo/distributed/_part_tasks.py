"""What is done for a part of the output: first its cases are decided, then ranked and written.

Between the two, decisions wait in a file of the working folder.  Every file gets its name when it
is complete, so that a task can be repeated at any time, by any worker.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
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
    Decider,
    ScoringPlan,
    decision_frame,
    ranked,
    restored,
    spool,
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
        return sum(piece.rows for piece in self.pieces)

    def places(self) -> Iterator[tuple[RowGroup, Callable[[int], str]]]:
        """Yield the row groups, and for each what gives the place of a row of it."""
        before = self.before
        for piece in self.pieces:
            yield piece, partial(_place, piece, before)
            before += piece.rows

    def __str__(self) -> str:
        return str(self.pieces[0])


def _place(piece: RowGroup, before: int, row: int) -> str:
    return f"{without_password(piece.path)}, row {before + row + 1}"


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
    out: str  # folder of the output
    work: str  # working folder inside it
    model: SentModel
    plan: ScoringPlan

    def spool(self, part: OutputPart) -> Path:
        if not os.path.isdir(self.work):
            raise RejoError(
                f"this worker does not see {self.out}",
                parameter="out",
                remedy="The folder must be one that all workers share, under the same name.",
            )
        return Path(self.work, part.name + DECIDED)


def decide_part(job: Job, task: tuple[OutputPart]) -> NDArray[Any]:
    """Decide the cases of a part, keep them in a file, and return those to review, perhaps."""
    (part,) = task
    file = job.spool(part)
    if file.exists():
        with file.open("rb") as stored:
            candidates = [cases.candidates() for cases in restored(stored)]
    else:
        decide = Decider(job.model.open(), job.plan)
        decided = (cases for place in part.places() for cases in decide.read(*place))
        with WholeFile(file, overwrite=True) as new:
            candidates, _ = spool(decided, new, job.work)
    return np.concatenate([*candidates, np.empty(0, CANDIDATE)])


def rank_part(job: Job, task: tuple[OutputPart, NDArray[np.int64]]) -> CaseCounts:
    """Rank the cases of a part and write them, unless that has been done; count them."""
    (part, ranks), opened, counts = task, job.model.open(), CaseCounts()
    final = Path(job.work, part.name)
    with job.spool(part).open("rb") as file, ExitStack() as stack:
        writer = None
        if not final.exists():  # another worker may do the same
            writer = stack.enter_context(TableWriter(final, overwrite=True))
        for cases in ranked(file, ranks, part.pieces[0].start):
            counts.add(cases)
            if writer is not None:
                writer.write(decision_frame(cases, opened, id=job.plan.id, why=job.plan.why))
    if part.pieces[0].start >= counts.ids.MOST:
        counts.ids.hashes.clear()
    return counts
