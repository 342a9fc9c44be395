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
    groups: Any  # (n,) array of str, or None: reported on
    together: Any  # (n,) array of str, or None: whose rows are never split
    table: Any  # as it was read

    def indices(self) -> Any:
        """Classes (n,) as places in their order."""
        import numpy as np

        names, place = np.unique(self.y, return_inverse=True)
        return np.array([self.classes.index(name) for name in names.tolist()])[place]

    def together_of(self, X: Any) -> Any:
        """Groups of some rows of ``X`` that are never split; None without any."""
        return None if self.together is None else self.together[X.index.to_numpy()]

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
        "--group",
        metavar="COL",
        help="column whose values are reported on separately, such as region; it is no feature "
        "(to keep rows together, see --together)",
    )
    parser.add_argument(
        "--together",
        metavar="COL",
        help="column whose equal values belong together, such as a patient with several visits: "
        "they are never both learned from and tested on; it is no feature",
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

    target, group, together = arguments.target, arguments.group, arguments.together
    text = [name for name in (target, arguments.id, group) if name is not None]
    if len(set(text)) < len(text):
        raise CommandError("--target, --id and --group must name different columns")
    if together is not None and together not in text:
        text.append(together)
    if together == target:
        raise CommandError("--together must not name the column of the classes")
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
    groups = None if group is None else frame[group].fillna("(missing)").to_numpy(dtype=str)
    if together is None and arguments.id is not None:
        _warn_of_repeated(frame[arguments.id], arguments.id)
    kept = None if together is None else _together(frame[together], table.path)
    return Cases(X, y, classes, groups, kept, table)


def _warn_of_repeated(ids: Any, name: str) -> None:
    """Rows of one person in training and test part make a model look better than it is."""
    repeated = int(ids.duplicated(keep=False).sum())
    if repeated:
        warn(
            f"{repeated:,} rows share their {name!r} with another row. If they are about the same "
            f"person or thing, the rates below are too good: give --together {shlex.quote(name)}"
        )


def count_together(column: Any) -> int:
    """Independent cases: rows of one value may all be right or wrong together, and count as one."""
    return int(column.nunique() + column.isna().sum())


def _together(column: Any, path: str) -> Any:
    """Values (n,) whose rows are never split; a row without one is on its own."""
    import numpy as np

    from rejo.tables import TableError

    values = column.to_numpy(dtype=object, copy=True)
    alone = column.isna().to_numpy()
    values[alone] = [f"row {i}" for i in np.flatnonzero(alone)]
    values = values.astype(str)
    n = count_together(column)
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
