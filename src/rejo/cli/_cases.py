"""A labelled table as the commands need it: features, classes in order, groups."""

import argparse
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from rejo._io import one_line
from rejo.cli._files import CommandError, warn
from rejo.cli._options import reading

MIN_PER_CLASS = 5  # one for each of the five folds
MAX_NUMBERS = 20  # as classes: more are a measurement
MAX_CLASSES = 100
MAX_LABEL = 200  # characters: in an array, every label takes the room of the longest


class Cases(NamedTuple):
    """A labelled table, ready to learn from."""

    X: Any  # DataFrame of the features, typed
    y: Any  # (n,) array of str
    classes: list[str]  # in their order, lowest first
    ordered: bool  # two classes, or an order was given
    by: Any  # (n,) array of str objects, or None: each value is reported on separately
    groups: Any  # (n,) array of int, or None: rows of a group are never split
    table: Any  # as it was read

    def indices(self) -> Any:
        """Classes (n,) as indices into ``classes``."""
        import pandas as pd

        return pd.Index(self.classes).get_indexer(self.y)

    def counts(self) -> str:
        """Classes with their numbers of cases."""
        found = Counter(self.y.tolist())
        return one_line(", ".join(f"{label} ({found[label]:,})" for label in self.classes))

    def about_order(self) -> str:
        """Say that the classes are taken as unordered, and how to give an order; else nothing."""
        if self.ordered:
            return ""
        order = shlex.quote(",".join(self.classes))
        if len(order) > 60 or any("," in label for label in self.classes):
            order = "LOWEST,...,HIGHEST"
        return one_line(
            f"The classes are taken as unordered. If they have an order, give it: --order {order}."
        )


def read_cases(arguments: argparse.Namespace) -> Cases:
    """Read the table and check the options against it."""
    from rejo.tables import MISSING, TableError, read_table
    from rejo.tables.errors import check_columns

    target, by, groups = arguments.target, arguments.by, arguments.groups
    text = [name for name in (target, arguments.id, by) if name is not None]
    if len(set(text)) < len(text):
        raise CommandError("--target, --id and --by must name different columns")
    if groups is not None and groups not in text:
        text.append(groups)
    if groups == target:
        raise CommandError("--groups must not name the column with the classes")
    table = read_table(arguments.data, text=text, **reading(arguments))
    frame, path = table.frame, table.path
    check_columns(path, arguments.drop, frame.columns)
    y = frame[target]
    missing = (y.isna() | y.isin(MISSING)).to_numpy()
    if missing.any():
        raise TableError(
            f"the class is missing, as in {int(missing.sum())} of {len(y)} rows",
            where=f"{path}, row {int(missing.argmax()) + 1}, column {target!r}",
            remedy="Fill it in, or remove the row.",
        )
    classes = _order(y, arguments.order, f"{path}, column {target!r}")
    y = y.to_numpy(dtype=str)
    X = frame.drop(columns=[*text, *arguments.drop])
    if not X.shape[1]:
        raise TableError("no column is left to learn from", where=path)
    if groups is None and arguments.id is not None:
        _warn_of_repeated(frame[arguments.id], arguments.id)
    by = None if by is None else frame[by].fillna("(missing)").to_numpy(dtype=object)
    groups = None if groups is None else _groups(frame[groups], path)
    ordered = arguments.order is not None or len(classes) == 2
    return Cases(X, y, classes, ordered, by, groups, table)


def _warn_of_repeated(ids: Any, name: str) -> None:
    """Rows of one person in both training and test make a model look better than it is."""
    if repeated := int(ids.duplicated(keep=False).sum()):
        warn(
            f"{repeated:,} rows share their {name!r} with another row. If these are the same "
            f"person or thing, the rates below are too optimistic: add --groups {shlex.quote(name)}"
        )


def count_groups(column: Any) -> int:
    """Return the number of independent cases: all rows of a group count as one."""
    return int(column.nunique() + column.isna().sum())


def fingerprint(X: Any, kinds: Mapping[str, str], y: Any) -> str:
    """Return a hash of cases: the same for the same cases, in any order and in any format.

    ``kinds`` are the columns that a model uses, and what they hold; ``y`` (n,) are the classes.
    """
    import numpy as np
    import pandas as pd

    columns: dict[str, Any] = {}
    for i, (name, kind) in enumerate(kinds.items()):
        column = X[name]
        if kind == "number":
            with np.errstate(over="ignore"):  # the last digits depend on who reads them
                columns[str(i)] = column.to_numpy(np.float32)
        elif kind == "date":
            columns[str(i)] = column.to_numpy("datetime64[s]").astype(np.int64)
        else:
            columns[str(i)] = column.astype(object).where(column.notna(), "").map(str).to_numpy()
    columns["y"] = np.asarray(y, dtype=object)
    rows = pd.util.hash_pandas_object(pd.DataFrame(columns), index=False).to_numpy()
    return sha256(np.sort(rows).astype("<u8").tobytes()).hexdigest()


def _groups(column: Any, path: str) -> Any:
    """Group of each row (n,) as a number; a row with a missing value is a group of its own."""
    import numpy as np
    import pandas as pd

    from rejo.tables import TableError

    n, least = count_groups(column), 2 * MIN_PER_CLASS
    if n < least:
        raise TableError(
            f"{n} different values, but five folds of whole groups need at least {least}",
            where=f"{path}, column {column.name!r}",
        )
    alone = [f"row {i}" for i in range(len(column))]
    names = np.where(column.isna(), alone, column.astype(object))
    return pd.factorize(names, sort=True)[0]


def _order(y: Any, order: Sequence[str] | None, where: str) -> list[str]:
    """Classes in order; refuse what cannot be learned."""
    from rejo.tables import TableError

    counts = Counter(y.tolist())
    if long := [label for label in counts if len(label) > MAX_LABEL]:
        raise TableError(
            f"{long[0][:40] + '...'!r} has {len(long[0]):,} characters, too many for a class (at "
            f"most {MAX_LABEL})",
            where=where,
            remedy="Is it the right column?",
        )
    found = ", ".join(sorted(counts))
    numbers = all(_is_number(label) for label in counts)
    if len(counts) > (MAX_NUMBERS if numbers and order is None else MAX_CLASSES):
        raise TableError(
            f"{len(counts)} different values are too many for classes",
            where=where,
            remedy="If it is a measurement, put it into classes first."
            if numbers
            else "Is it the right column?",
        )
    if numbers and len({float(label) for label in counts}) < len(counts):
        raise TableError(
            f"the same number is written in two ways, in {found}",
            where=where,
            remedy="Write each class in one way.",
        )
    if len(counts) < 2:
        raise TableError(f"all rows have the same class, {next(iter(counts), '')!r}", where=where)
    classes = list(order or sorted(counts, key=float if numbers else str))
    if missing := [label for label in counts if label not in classes]:
        raise CommandError(
            f"--order lacks the class {missing[0]!r} of {where}; give all of: "
            + ",".join(sorted(counts))
        )
    if absent := [label for label in classes if label not in counts]:
        raise TableError(f"no row has the class {absent[0]!r}, which is in --order", where=where)
    rare = min(classes, key=lambda label: counts[label])
    if counts[rare] < MIN_PER_CLASS:
        raise TableError(
            f"the class {rare!r} has {counts[rare]} rows, but needs {MIN_PER_CLASS}",
            where=where,
            remedy="Merge it with another class, or remove these rows.",
        )
    return classes


def _is_number(text: str) -> bool:
    try:
        float(text)
        return True
    except ValueError:
        return False
