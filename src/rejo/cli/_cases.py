"""A labelled table as the commands need it: features, classes in their order, ids, groups."""

import argparse
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rejo._io import one_line
from rejo.cli._files import CommandError, warn
from rejo.cli._options import names, table_options

MIN_PER_CLASS = 5  # so that every fold of five has one
MAX_CLASSES = 20


class Cases(NamedTuple):
    """A labelled table, ready to learn from."""

    X: Any  # DataFrame of the features, typed
    y: Any  # (n,) array of str
    classes: list[str]  # in their order, lowest first
    by: Any  # (n,) array of str, or None: each value is reported on separately
    groups: Any  # (n,) array of str, or None: rows of a group are never split
    table: Any  # as it was read

    def indices(self) -> Any:
        """Classes (n,) as places in their order."""
        import numpy as np

        names, place = np.unique(self.y, return_inverse=True)
        return np.array([self.classes.index(name) for name in names.tolist()])[place]

    def groups_of(self, X: Any) -> Any:
        """Groups of some rows of ``X`` that are never split; None without any."""
        return None if self.groups is None else self.groups[X.index.to_numpy()]

    def counts(self) -> str:
        """Classes with their numbers of cases."""
        found = Counter(self.y.tolist())
        return one_line(", ".join(f"{label} ({found[label]:,})" for label in self.classes))


def add_labelled(parser: Any, *, optional: bool = False) -> None:
    """Options that name a labelled table and its columns."""
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?" if optional else None,
        help="CSV or Parquet file; - is standard input",
    )
    parser.add_argument(
        "--target", required=not optional, metavar="COL", help="column of the classes"
    )
    parser.add_argument(
        "--order",
        type=names,
        metavar="A,B,C",
        help="the classes, lowest first; needed for more than two that are not numbers",
    )
    parser.add_argument(
        "--id", metavar="COL", help="column that names the cases, kept as it is written"
    )
    parser.add_argument(
        "--by",
        metavar="COL",
        help="report on each value of this column separately, for example region; it is not used "
        "as a feature",
    )
    parser.add_argument(
        "--groups",
        metavar="COL",
        help="rows with the same value in this column belong together, for example all visits of a "
        "patient, and are never split between training and test; it is not used as a feature",
    )
    parser.add_argument(
        "--drop",
        type=names,
        default=[],
        metavar="COLS",
        help="further columns that are no features, with commas between them",
    )


def read_cases(arguments: argparse.Namespace) -> Cases:
    """Read the table and check what the options say of it."""
    import numpy as np

    from rejo.tables import MISSING, TableError, read_table
    from rejo.tables.errors import check_columns

    target, by, groups = arguments.target, arguments.by, arguments.groups
    text = [name for name in (target, arguments.id, by) if name is not None]
    if len(set(text)) < len(text):
        raise CommandError("--target, --id and --by must name different columns")
    if groups is not None and groups not in text:
        text.append(groups)
    if groups == target:
        raise CommandError("--groups must not name the column of the classes")
    table = read_table(arguments.data, text=text, **table_options(arguments))
    frame = table.frame
    check_columns(table.path, arguments.drop, frame.columns)
    y = frame[target]
    missing = (y.isna() | y.isin(MISSING)).to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise TableError(
            f"{table.path}, row {row + 1}, column {target!r}: the class is missing (in "
            f"{int(missing.sum())} of {len(y)} rows); fill it in, or remove the row"
        )
    y = y.to_numpy(dtype=str)
    classes = _order(y, arguments.order, target, table.path)
    others = {*text, *arguments.drop}
    X = frame[[name for name in frame.columns if name not in others]]
    if not X.shape[1]:
        raise TableError(f"{table.path}: there is no column left to learn from")
    if groups is None and arguments.id is not None:
        _warn_of_repeated(frame[arguments.id], arguments.id)
    return Cases(
        X,
        y,
        classes,
        None if by is None else frame[by].fillna("(missing)").to_numpy(dtype=str),
        None if groups is None else _groups(frame[groups], table.path),
        table,
    )


def _warn_of_repeated(ids: Any, name: str) -> None:
    """Rows of one person in training and test part make a model look better than it is."""
    repeated = int(ids.duplicated(keep=False).sum())
    if repeated:
        warn(
            f"{repeated:,} rows share their {name!r} with another row. If they are about the same "
            f"person or thing, the rates below are too good: give --groups {shlex.quote(name)}"
        )


def count_groups(column: Any) -> int:
    """Independent cases: rows of one value may all be right or wrong together, and count as one."""
    return int(column.nunique() + column.isna().sum())


def _groups(column: Any, path: str) -> Any:
    """Values (n,) whose rows are never split; a row without one is on its own."""
    import numpy as np

    from rejo.tables import TableError

    values = column.to_numpy(dtype=object, copy=True)
    alone = column.isna().to_numpy()
    values[alone] = [f"row {i}" for i in np.flatnonzero(alone)]
    values = values.astype(str)
    n = count_groups(column)
    if n < 2 * MIN_PER_CLASS:
        raise TableError(
            f"{path}, column {column.name!r}: {n} different values, and {2 * MIN_PER_CLASS} are "
            "needed to keep their rows together in five parts"
        )
    return values


def _order(y: Any, order: Sequence[str] | None, target: str, path: str) -> list[str]:
    """Classes in their order; refuse what can't be learned."""
    from rejo.tables import TableError

    counts = Counter(y.tolist())
    where = f"{path}, column {target!r}"
    numbers = all(_is_number(label) for label in counts)
    if len(counts) > MAX_CLASSES:
        kind = "a measurement? Put it into classes first" if numbers else "the right column?"
        raise TableError(f"{where}: {len(counts)} different values; is it {kind}")
    if numbers and len({float(label) for label in counts}) < len(counts):
        raise TableError(
            f"{where}: the same number is written in two ways, among {', '.join(sorted(counts))}; "
            "write each class in one way"
        )
    if len(counts) < 2:
        raise TableError(f"{where}: all rows have the same class, {next(iter(counts), '')!r}")
    if order is not None:
        if missing := [label for label in counts if label not in order]:
            raise CommandError(
                f"--order does not name the class {missing[0]!r} of {where}; give all of: "
                + ",".join(sorted(counts))
            )
        classes = [label for label in order if label in counts]
        if absent := [label for label in order if label not in counts]:
            raise TableError(f"{where}: no row has the class {absent[0]!r} that --order names")
    elif len(counts) > 2 and not numbers:
        raise CommandError(
            f"{where} has {len(counts)} classes without an order: give --order LOWEST,...,HIGHEST, "
            f"with these in their places: {', '.join(sorted(counts))}"
        )
    else:
        classes = sorted(counts, key=float if numbers else str)
    rare = min(classes, key=lambda label: counts[label])
    if counts[rare] < MIN_PER_CLASS:
        raise TableError(
            f"{where}: the class {rare!r} has {counts[rare]} rows, and {MIN_PER_CLASS} are needed; "
            "join it with another class, or remove these rows"
        )
    return classes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
