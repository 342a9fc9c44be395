"""A model on cases of many Parquet files whose classes are known.

Of each case only a few numbers are kept: its class, the decision, and what it is counted by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._io import progress, without_password
from rejo.distributed._part_tasks import OutputPart, parts_of
from rejo.distributed._sent_model import SentModel, packed_model, placing
from rejo.scoring import DoubtCounts, LabelColumns, Opened, hashes_of, judge_tested, row_prints
from rejo.tables import (
    ParquetTable,
    RowGroup,
    TableError,
    Words,
    absolute,
    check_columns,
    joined,
    read_chunks,
    shown,
    words_of,
)

ARRAYS: dict[str, Any] = {
    "y": np.int16,
    "decision": np.int16,
    "forced": np.int16,
    "together": np.uint64,
    "prints": np.uint64,
}
NO_CLASS, UNKNOWN = -1, -2  # what a classifier of words says besides the index of a class
Classify = Callable[[Sequence[str]], list[int]]


class LabelledRows(NamedTuple):
    """Cases whose classes are known, with the decisions of a model.

    Columns that were not asked for, or that the files lack, are empty.
    """

    words: Counter[str]  # how often each word stands for a class, or for none
    y: NDArray[np.int16]  # (n,) classes, of the rows that have one
    decision: NDArray[np.int16]  # (n,) -1: review
    forced: NDArray[np.int16]  # (n,) decision without reviews
    by: Words  # (n,)
    group: Words  # (n,) code -1 where it is missing
    together: NDArray[np.uint64]  # (n,) hashes: the same for rows that belong together
    prints: NDArray[np.uint64]  # (n,) hashes of the cases
    doubts: DoubtCounts

    @classmethod
    def joined(cls, parts: Sequence[LabelledRows]) -> LabelledRows:
        """Return the rows of all parts, in their order."""
        doubts, words = DoubtCounts(), Counter[str]()
        for part in parts:
            doubts.merge(part.doubts)
            words.update(part.words)
        found: dict[str, Any] = {}
        for name, type in ARRAYS.items():
            arrays = [getattr(part, name) for part in parts]
            found[name] = np.concatenate([np.empty(0, type), *arrays])
        for name in ("by", "group"):
            found[name] = joined([getattr(part, name) for part in parts])
        return cls(words=words, doubts=doubts, **found)


def judge_labelled(
    model: Any,
    data: Any,
    columns: LabelColumns,
    classify: Classify,
    *,
    required: Iterable[str] = (),
    reading: Mapping[str, Any] | None = None,
    prints: bool = False,
    client: Any = None,
    n_jobs: int = 1,
    trusted: Collection[str] = (),
    max_bytes: int | None = None,
    show_progress: bool | None = False,
) -> LabelledRows:
    """Decide cases of Parquet files whose classes are known; most options are as for ``predict``.

    ``classify`` gives the index of the class of each word, ``NO_CLASS`` or ``UNKNOWN``; workers
    call it.  The files must have the columns that are ``required``, besides the features and the
    target.  With ``prints``, each case is hashed, too.
    """
    opened, sent, file = packed_model(model, trusted, max_bytes)
    table = ParquetTable.of(absolute(data))
    needed = [*opened.encoder.kinds_, columns.target, *required]
    check_columns(without_password(table.files[0].path), needed, table.columns)
    there = [name if name in table.columns else None for name in columns]
    present = LabelColumns(columns.target, *there[1:])
    job = LabelJob(sent, present, classify, dict(reading or {}), prints)
    parts = parts_of(table.pieces)
    found: dict[str, LabelledRows] = {}
    with placing(client, n_jobs, sent, file) as run:
        tasks = run(partial(judge_part, job), parts)
        for part, judged in progress(
            tasks, table.rows, "testing", rows=lambda done: done[0].rows, show=show_progress
        ):
            found[part.name] = judged
    return LabelledRows.joined([found[part.name] for part in parts])


class LabelJob(NamedTuple):
    """What all tasks have in common."""

    model: SentModel
    columns: LabelColumns
    classify: Classify
    reading: dict[str, Any]
    prints: bool


def judge_part(job: LabelJob, part: OutputPart) -> LabelledRows:
    """Decide the cases of a part."""
    opened = job.model.open()
    before, found = part.before, []
    for piece in part.pieces:
        chunks = read_chunks(piece, opened.encoder, text=job.columns.named(), **job.reading)
        found += [_judged(job, opened, chunk, piece, before) for chunk in chunks]
        before += piece.rows
    return LabelledRows.joined(found)


def _judged(
    job: LabelJob, opened: Opened, chunk: Any, piece: RowGroup, before: int
) -> LabelledRows:
    """Judge the rows of a chunk that have a class; ``before`` rows of the file are not of it."""
    columns = job.columns
    label = words_of(chunk[columns.target].fillna(""), missing=(), text=str)
    y = np.array([*job.classify(label.words), NO_CLASS], dtype=np.int16)[label.codes]
    if len(unknown := np.flatnonzero(y == UNKNOWN)):
        row = int(unknown[0])
        raise TableError(
            f"the model has no class {label.words[label.codes[row]][:40]!r}; its classes are "
            + ", ".join(opened.classes),
            where=f"{without_password(piece.path)}, row {before + int(chunk.index[row]) + 1}, "
            f"column {shown(columns.target)}",
        )
    found = LabelledRows.joined([])
    seen = np.bincount(label.codes, minlength=len(label.words)).tolist()
    found.words.update(dict(zip(label.words, seen, strict=True)))
    frame, y = chunk[y >= 0], y[y >= 0]
    if not len(y):
        return found
    tested = judge_tested(opened, frame, columns.group)
    found.doubts.add(tested.doubts)
    small = {name: getattr(tested.point, name).astype(np.int16) for name in ("decision", "forced")}
    found = found._replace(y=y, **small)
    if columns.by is not None:
        found = found._replace(by=_words(tested.values(frame, columns)))
    if columns.group is not None:
        found = found._replace(group=_words(tested.group))
    if columns.groups is not None:
        found = found._replace(together=_together(frame[columns.groups], piece.start))
    if job.prints:
        labels = np.array(opened.classes, dtype=object)[y]
        found = found._replace(prints=row_prints(tested.X, opened.encoder.kinds_, labels))
    return found


def _words(values: Any) -> Words:
    from pandas import Series

    return words_of(Series(values, dtype=object), missing=(), text=str)


def _together(column: Any, start: int) -> NDArray[np.uint64]:
    """Hash the values of a column; a row without one belongs to no other."""
    alone = (column.index.to_numpy() + start).astype(np.uint64)
    return np.where(column.isna(), alone, hashes_of(column.fillna("").astype(str)))
