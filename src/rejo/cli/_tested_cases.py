"""Labelled cases of a command, one table or many files, decided by a model."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from rejo._io import without_password
from rejo.cli import _options as options
from rejo.cli._cases import count_groups
from rejo.cli._class_names import class_codes, read_classes, sort_words
from rejo.cli._files import CommandError
from rejo.cli._model_file import needing

if TYPE_CHECKING:
    from rejo.scoring import DoubtCounts, LabelColumns, Opened, TestedRows

SHARES = [0.01 * i for i in range(51)]  # to review, on the slider of the report


class Tested(NamedTuple):
    """Cases whose classes are known, and what became of them."""

    y: Any  # (n,) classes as indices
    decision: Any  # (n,) -1: review
    forced: Any  # (n,) decision without reviews
    group: Any  # (n,) of the groups that the model promises by, or None
    by: str | None  # the column to count by, if the table has it
    values: Any  # (n,) strings of that column, or None
    n_independent: int  # rows that belong together count as one
    trained_on: bool  # these are the training cases
    doubts: DoubtCounts
    spellings: list[str]
    tested: TestedRows | None = None  # for a report
    strange: tuple[Any, ...] = ()  # columns that are not as in training


def label_columns(arguments: Namespace, opened: Opened) -> LabelColumns:
    """Return the columns to read besides the features."""
    from rejo.scoring import LabelColumns

    by_group = opened.group_column(arguments.group)
    target = arguments.target or opened.table.get("target")
    if target is None:
        raise CommandError(
            f"{arguments.model} does not say which column has the classes: give --target"
        )
    if target in opened.encoder.kinds_:
        raise CommandError(f"--target {target!r} is a feature of {arguments.model}")
    by = arguments.by or by_group or arguments.group or opened.table.get("by")
    return LabelColumns(target, by, by_group, opened.table.get("groups"))


def _required(arguments: Namespace, columns: LabelColumns) -> list[str]:
    """Columns that the table must have: the one of the classes, of groups, and those given."""
    must = (columns.target, columns.group, arguments.by, arguments.group)
    return [name for name in columns.named() if name in must]


def decided_table(arguments: Namespace, opened: Opened, columns: LabelColumns) -> Tested:
    """Test one table, which is read whole."""
    import numpy as np

    from rejo.scoring import DoubtCounts, fingerprint, judge_tested, row_prints

    frame, y, spellings = _read(arguments, opened, columns)
    by = columns.by if columns.by in frame.columns else None
    tested = judge_tested(opened, frame, columns.group, SHARES if arguments.report else ())
    classes = np.array(opened.classes, dtype=object)
    seen = fingerprint(row_prints(tested.X, opened.encoder.kinds_, classes[y]))
    values = None if by is None else tested.values(frame, columns)
    doubts = DoubtCounts()
    doubts.add(tested.doubts)
    return Tested(
        y, tested.point.decision, tested.point.forced, tested.group, by, values,
        count_groups(frame[columns.groups]) if columns.groups in frame.columns else len(y),
        opened.table.get("cases") == seen, doubts, spellings, tested, opened.compare(tested.X),
    )  # fmt: skip


def decided_files(arguments: Namespace, opened: Opened, columns: LabelColumns) -> Tested:
    """Test the tables of many files, of whose cases only a few numbers are kept."""
    from functools import partial

    import numpy as np

    from rejo.distributed import judge_labelled
    from rejo.scoring import fingerprint
    from rejo.tables import TableError, cells, pieces_of

    how = _class_options(arguments, opened)
    known = opened.table.get("cases")
    with needing(target=columns.target, group=columns.group):
        found = judge_labelled(
            opened, arguments.data, columns, partial(class_codes, **how),
            required=_required(arguments, columns), reading=options.reading(arguments),
            prints=known is not None, client=arguments.dask, n_jobs=arguments.n_jobs or 1,
            show_progress=None, **options.opening(arguments),
        )  # fmt: skip
    if not found.words.total():
        raise TableError("the table has no rows", where=arguments.data)
    _, spellings = sort_words(found.words, f"{arguments.data}, column {columns.target!r}", **how)
    by = columns.by if len(found.by.codes) else None
    return Tested(
        found.y, found.decision, found.forced,
        cells(found.group) if columns.group is not None else None,
        by, None if by is None else cells(found.by),
        len(np.unique(found.together)) if len(found.together) else len(found.y),
        known is not None and known == fingerprint(found.prints), found.doubts, spellings,
        strange=tuple(opened.watch_files(pieces_of(arguments.data), **options.reading(arguments))),
    )  # fmt: skip


def _class_options(arguments: Namespace, opened: Opened) -> dict[str, Any]:
    """How words become classes, as arguments of functions of ``_class_names``."""
    told = opened.table.get("reading", {})
    return {
        "order": opened.classes,
        "missing": [*arguments.missing, *told.get("missing", ())],
        "exact": arguments.exact or told.get("exact", False),
        "decimal": ",",
        "same": opened.table.get("same", {}) | arguments.same,
    }


def _read(
    arguments: Namespace, opened: Opened, columns: LabelColumns
) -> tuple[Any, Any, list[str]]:
    """Table, classes as indices (n,), and spellings; of the rows that have a class."""
    import numpy as np
    import pandas as pd

    from rejo.tables import TableError, place_of, read_chunks

    target, text, must = columns.target, columns.named(), _required(arguments, columns)
    optional = [name for name in text if name not in must]
    reading = options.reading(arguments)
    with needing(target=columns.target, group=columns.group):
        parts = list(
            read_chunks(arguments.data, opened.encoder, text=text, optional=optional, **reading)
        )
    frame = pd.concat(parts)
    frame.attrs["doubts"] = {
        i: n for part in parts for i, n in part.attrs.get("doubts", {}).items()
    }
    path = "stdin" if arguments.data == "-" else without_password(arguments.data)
    known, labels, spellings = read_classes(
        frame[target], path, **_class_options(arguments, opened)
    )
    frame, y = frame[known], pd.Index(opened.classes).get_indexer(labels)
    if (y < 0).any():
        row = int(np.flatnonzero(y < 0)[0])
        value = str(frame[target].iloc[row])[:40]
        place = place_of(arguments.data, int(frame.index[row]), **reading)
        raise TableError(
            f"the model has no class {value!r}; its classes are {', '.join(opened.classes)}",
            where=f"{place}, column {target!r}",
        )
    return frame, y, spellings
