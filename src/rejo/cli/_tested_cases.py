"""Labelled cases of a command, one table or many files, decided by a model."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from rejo._io import without_password
from rejo.cli import _options as options
from rejo.cli._class_names import class_codes, read_classes, sort_words
from rejo.cli._files import CommandError
from rejo.cli._model_file import needing

if TYPE_CHECKING:
    from rejo.scoring import DoubtCounts, LabelColumns, LabelledCases, Opened


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
    strange: list[Any]  # columns that are not as in training
    amounts: dict[str, Any]  # (n,) of each column that prices depend on
    judged: Any = None  # rejo.scoring.Cases, for a report


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
    from rejo.scoring import judge_labelled

    frame, y, spellings = _read(arguments, opened, columns)
    known, amounts = opened.table.get("cases"), price_names(arguments, opened)
    found, judged = judge_labelled(
        opened, frame, y, columns, prints=known is not None, amounts=amounts
    )
    watch = opened.watch()
    if watch is not None:
        opened.encoder.add_rows(watch, judged.X)
    strange = [] if watch is None else watch.findings()
    return _tested(found, opened, columns, spellings, strange, amounts)._replace(judged=judged)


def decided_files(arguments: Namespace, opened: Opened, columns: LabelColumns) -> Tested:
    """Test the tables of many files, of whose cases only a few numbers are kept."""
    from functools import partial

    from rejo.distributed import judge_files
    from rejo.tables import TableError, pieces_of

    how = _class_options(arguments, opened)
    reading, amounts = options.reading(arguments), price_names(arguments, opened)
    with needing(target=columns.target, group=columns.group):
        found = judge_files(
            opened, arguments.data, columns, partial(class_codes, **how),
            required=_required(arguments, columns), reading=reading,
            prints=opened.table.get("cases") is not None, amounts=amounts, client=arguments.dask,
            n_jobs=arguments.n_jobs or 1, show_progress=None, **options.opening(arguments),
        )  # fmt: skip
    if not found.words.total():
        raise TableError("the table has no rows", where=arguments.data)
    _, spellings = sort_words(found.words, f"{arguments.data}, column {columns.target!r}", **how)
    strange = opened.watch_files(pieces_of(arguments.data), **reading)
    return _tested(found, opened, columns, spellings, strange, amounts)


def price_names(arguments: Namespace, opened: Opened) -> list[str]:
    """Return the columns that prices depend on: those of training and of the command."""
    from rejo.prices import price_columns

    names = [] if arguments.costs is None else price_columns(arguments.costs)
    for name in names:
        if opened.encoder.kinds_.get(name) != "number":
            raise CommandError(
                f"--costs: {name!r} is not a column of numbers that {arguments.model} reads; a "
                "model that was trained with it in --costs does"
            )
    return list(dict.fromkeys([*opened.priced, *names]))


def _tested(
    found: LabelledCases,
    opened: Opened,
    columns: LabelColumns,
    spellings: list[str],
    strange: list[Any],
    amounts: list[str],
) -> Tested:
    import numpy as np

    from rejo.scoring import fingerprint
    from rejo.tables import cells

    by, known = columns.by if len(found.by.codes) else None, opened.table.get("cases")
    return Tested(
        found.y, found.decision, found.forced,
        cells(found.group) if columns.group is not None else None,
        by, None if by is None else cells(found.by),
        len(np.unique(found.together)) if len(found.together) else len(found.y),
        known is not None and known == fingerprint(found.prints), found.doubts, spellings, strange,
        dict(zip(amounts, found.amounts.T, strict=True)) if len(found.y) else {},
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
