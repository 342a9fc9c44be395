"""A model on cases of many Parquet files whose classes are known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo._io import without_password
from rejo.distributed._part_tasks import OutputPart, parts_of
from rejo.distributed._sent_model import SentModel, packed_model
from rejo.distributed.here import in_order, place_of
from rejo.scoring import LabelColumns, LabelledCases, Opened, judge_labelled
from rejo.tables import (
    ParquetTable,
    TableError,
    absolute,
    check_columns,
    read_chunks,
    shown,
    words_of,
)

NO_CLASS, UNKNOWN = -1, -2  # what a classifier of words says besides the index of a class
Classify = Callable[[Sequence[str]], list[int]]


def judge_files(
    model: Any,
    data: Any,
    columns: LabelColumns,
    classify: Classify,
    *,
    required: Iterable[str] = (),
    reading: Mapping[str, Any] | None = None,
    prints: bool = False,
    amounts: Sequence[str] = (),
    client: Any = None,
    n_jobs: int = 1,
    trusted: Collection[str] = (),
    max_bytes: int | None = None,
    show_progress: bool | None = False,
) -> LabelledCases:
    """Decide cases of Parquet files whose classes are known; most options are as for ``predict``.

    ``classify`` gives the index of the class of each word, ``NO_CLASS`` or ``UNKNOWN``; workers
    call it.  The files must have the columns that are ``required``, besides the features and the
    target.  With ``prints``, each case is hashed, too; prices depend on the columns ``amounts``.
    """
    opened, sent = packed_model(model, trusted, max_bytes)
    table = ParquetTable.of(absolute(data))
    needed = [*opened.encoder.kinds_, columns.target, *required]
    check_columns(without_password(table.files[0].path), needed, table.columns)
    there = [name if name in table.columns else None for name in columns]
    present = LabelColumns(columns.target, *there[1:])
    parts = parts_of(table.pieces)
    with place_of(client, n_jobs) as place:
        job = LabelJob(sent, present, classify, dict(reading or {}), prints, amounts)
        tasks = place.each(judge_part, job, [(part,) for part in parts])
        return LabelledCases.joined(in_order(tasks, parts, "testing", show_progress))


class LabelJob(NamedTuple):
    """What all tasks have in common."""

    model: SentModel
    columns: LabelColumns
    classify: Classify
    reading: dict[str, Any]
    prints: bool
    amounts: Sequence[str]


def judge_part(job: LabelJob, task: tuple[OutputPart]) -> LabelledCases:
    """Decide the cases of a part."""
    (part,), opened, found = task, job.model.open(), []
    for piece, where in part.places():
        chunks = read_chunks(piece, opened.encoder, text=job.columns.named(), **job.reading)
        found += [_judged(job, opened, chunk, piece.start, where) for chunk in chunks]
    return LabelledCases.joined(found)


def _judged(
    job: LabelJob, opened: Opened, chunk: Any, start: int, where: Callable[[int], str]
) -> LabelledCases:
    """Judge the rows of a chunk that have a class; ``start`` is the first row of its row group."""
    label = words_of(chunk[job.columns.target].fillna(""), missing=(), text=str)
    y = np.array([*job.classify(label.words), NO_CLASS], dtype=np.int16)[label.codes]
    if len(unknown := np.flatnonzero(y == UNKNOWN)):
        row = int(unknown[0])
        raise TableError(
            f"the model has no class {label.words[label.codes[row]][:40]!r}; its classes are "
            + ", ".join(opened.classes),
            where=f"{where(int(chunk.index[row]))}, column {shown(job.columns.target)}",
        )
    found, known = LabelledCases.joined([]), y >= 0
    if known.any():
        found, _ = judge_labelled(
            opened, chunk[known], y[known], job.columns, start=start, prints=job.prints,
            amounts=job.amounts,
        )  # fmt: skip
    seen = np.bincount(label.codes, minlength=len(label.words)).tolist()
    found.words.update(dict(zip(label.words, seen, strict=True)))
    return found
