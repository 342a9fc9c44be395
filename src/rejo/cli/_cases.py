"""A labelled table as the commands need it: features, classes in order, groups, times."""

import argparse
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rejo._io import one_line
from rejo.cli._class_names import (
    MIN_PER_CLASS,
    check_order,
    order_classes,
    read_classes,
    spelling,
)
from rejo.cli._files import CommandError, warn
from rejo.cli._model_file import check_is_table
from rejo.cli._options import as_names, reading

MIXED_UP = (
    ": --groups says which rows belong together, such as all visits of a patient; --group is a "
    "column to promise by, such as region"
)
FEW_ROWS = 5  # of a value, on average: fewer are names rather than groups


class Cases(NamedTuple):
    """A labelled table, ready to learn from."""

    X: Any  # DataFrame of the features, typed
    y: Any  # (n,) array of str
    classes: list[str]  # in their order, lowest first
    ordered: bool  # two classes, or an order was given
    by: Any  # (n,) array of str objects, or None: each value is reported on separately
    groups: Any  # (n,) array of int, or None: rows of a group are never split
    group: Any  # (n,) array of str objects, or None: each value has a promise of its own
    time: Any  # (n,) array of float, or None: when the case arrived
    table: Any  # as it was read
    notes: list[str]  # on the classes
    prices: dict[str, bool]  # columns that prices depend on, and whether they are features, too

    def indices(self) -> Any:
        """Classes (n,) as indices into ``classes``."""
        import pandas as pd

        return pd.Index(self.classes).get_indexer(self.y)

    @property
    def counts(self) -> Counter[str]:
        """Number of cases of each class."""
        return Counter(self.y.tolist())

    @property
    def frame(self) -> Any:
        """The features."""
        return self.X

    @property
    def path(self) -> str:
        """Where the table is."""
        return str(self.table.path)


def counted(cases: Any) -> str:
    """Classes with their numbers of cases."""
    counts = cases.counts
    return one_line(", ".join(f"{label} ({counts[label]:,})" for label in cases.classes))


def about_order(classes: Sequence[str]) -> str:
    """Say that classes are taken as unordered, and how to give an order."""
    order = shlex.quote(as_names(classes))
    if len(order) > 60:
        order = "LOWEST,...,HIGHEST"
    return one_line(
        f"The classes are taken as unordered. If they have an order, give it: --order {order}."
    )


def read_cases(arguments: argparse.Namespace) -> Cases:
    """Read the table and check the options against it."""
    from rejo.tables import TableError, check_columns, read_table

    target, groups = arguments.target, arguments.groups
    by, group, time = (getattr(arguments, name, None) for name in ("by", "group", "time"))
    check_roles(arguments)
    kept = (target, arguments.id, by, groups, group)
    text = list(dict.fromkeys(name for name in kept if name is not None))
    check_is_table(arguments)
    table = read_table(arguments.data, text=text, **reading(arguments))
    frame, path = table.frame, table.path
    also = [] if time is None else [time]
    check_columns(path, [*arguments.drop, *also], frame.columns)
    prices = price_roles(arguments, frame.columns, path)
    check_order(arguments.order, arguments.exact)
    how = spelling(arguments) | {"decimal": table.decimal}
    known, y, notes = read_classes(frame[target], path, **how)
    frame = frame[known]
    given: dict[str | None, Any] = {}
    if group is not None:
        given[group] = read_group(frame[group], path, exact=arguments.exact)
    if time is not None:
        given[time] = read_time(frame[time], path)
    there = complete(given, len(y))
    frame, y = frame[there], y[there]
    given = {name: values[there] for name, values in given.items()}
    classes = order_classes(Counter(y.tolist()), arguments.order, f"{path}, column {target!r}")
    dated = time is not None and frame[time].dtype.kind == "M"  # others become ages at it
    if time is not None:
        table.reading["time"] = time if dated else None
    if arguments.keep:
        check_columns(path, arguments.keep, frame.columns, "keep")
        table.reading["keep"] = arguments.keep
    X = frame.drop(columns=[*text, *not_priced(arguments.drop, prices), *([] if dated else also)])
    check_amounts(table, X, prices, arguments)
    if not X.shape[1]:
        raise TableError("no column is left to learn from", where=path)
    if groups is None and arguments.id is not None:
        _warn_of_repeated(frame[arguments.id], arguments.id)
    by = None if by is None else frame[by].fillna("(missing)").to_numpy(dtype=object)
    groups = None if groups is None else _groups(frame[groups], path)
    ordered = arguments.order is not None or len(classes) == 2
    return Cases(
        X, y, classes, ordered, by, groups, given.get(group), given.get(time), table, notes,
        prices,
    )  # fmt: skip


def price_roles(arguments: Any, columns: Any, path: str) -> dict[str, bool]:
    """Return the columns that prices depend on, and whether they are features: not with --drop."""
    from rejo.prices import price_columns
    from rejo.tables import check_columns

    names = [] if arguments.costs is None else price_columns(arguments.costs)
    check_columns(path, names, columns, "cost_of")
    for role in ("target", "id", "by", "groups", "group", "time"):
        if (name := getattr(arguments, role, None)) in names:
            raise CommandError(f"--{role} and --costs must name different columns, got {name!r}")
    return {name: name not in arguments.drop for name in names}


def not_priced(names: Sequence[str], prices: Mapping[str, bool]) -> list[str]:
    """Return these columns without those that prices depend on."""
    return [name for name in names if name not in prices]


def check_amounts(table: Any, X: Any, prices: Iterable[str], arguments: Any) -> None:
    """Refuse a case without a number in a column that prices depend on."""
    from rejo.tables import TableError, place_of, read_table, without_number

    how = reading(arguments)
    for name in prices:
        if not len(rows := without_number(X[name])):
            continue
        cell, index = X[name].iloc[rows[0]], int(X.index[rows[0]])
        if Path(arguments.data).is_file():  # words were read as missing
            cell = read_table(arguments.data, text=[name], **how).frame[name].iloc[index]
        there = isinstance(cell, str) and cell
        raise TableError(
            f"the prices need a number, but {repr(cell[:40]) if there else 'it'} is "
            f"{'not one' if there else 'missing'}",
            where=f"{place_of(arguments.data, index, **how)}, column {name!r}",
            parameter="cost_of",
            remedy=f"Fill it in, or leave such rows out ({len(rows):,} of {len(X):,}).",
        )


def case_prices(cases: Any, costs: Mapping[str, float | str], arguments: Any) -> Any:
    """Return prices (n, K, K + 1) of the cases, or (K, K + 1) if they are the same for all."""
    import numpy as np

    from rejo.prices import check_reviews_pay, price_matrix
    from rejo.tables import TableError, place_of

    found = price_matrix(costs, cases.classes, ordered=cases.ordered, columns=cases.X)
    one = found
    if found.ndim == 3:
        if len(rows := np.flatnonzero(np.isnan(found).any(axis=(1, 2)))):
            row = cases.X.iloc[rows[0]]
            index = int(cases.X.index[rows[0]])
            values = ", ".join(f"{name}={row[name]:g}" for name in cases.prices)
            raise TableError(
                f"a price is negative or too high at {values}",
                where=place_of(arguments.data, index, **reading(arguments)),
                parameter="cost_of",
                remedy="Keep it in bounds, such as max(0, ...), or leave such rows out "
                f"({len(rows):,} of {len(found):,}).",
            )
        one = found[_most_worth_a_review(found)]
    check_reviews_pay(one, cases.classes, ordered=cases.ordered)
    return found


def _most_worth_a_review(prices: Any) -> int:
    """Return the case (n, K, K + 1) where a review is likeliest to pay; of two classes exactly.

    Between two classes whose errors cost ``a`` and ``b``, doubt is greatest where the first has the
    posterior ``b / (a + b)``: a decision then costs ``a * b / (a + b)``.
    """
    import numpy as np

    errors, review = prices[:, :, :-1], prices[:, :, -1, None]
    a, b = errors, errors.transpose(0, 2, 1)
    own = b * review + a * review.transpose(0, 2, 1)  # what a review costs there
    gain = np.divide(a * b, own, out=np.where(a * b > 0, np.inf, 0.0), where=own > 0)
    return int(gain.max(axis=(1, 2)).argmax())


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
            remedy="--groups says which rows belong together, such as all visits of a patient. To "
            "promise by this column, use --group; only to report by it, --by.",
        )
    alone = [f"row {i}" for i in range(len(column))]
    names = np.where(column.isna(), alone, column.astype(object))
    return pd.factorize(names, sort=True)[0]


def check_roles(arguments: Any) -> None:
    """Refuse a column that is asked to be two things at once."""
    roles = {
        "--" + name: getattr(arguments, name, None)
        for name in ("target", "id", "by", "groups", "group", "time")
    }
    if roles["--by"] == roles["--group"]:  # what is promised by is reported by
        del roles["--by"]
    fine = ({"--id", "--groups"}, {"--by", "--groups"})
    given = [(option, name) for option, name in roles.items() if name is not None]
    for i, (one, name) in enumerate(given):
        for other, also in given[i + 1 :]:
            if name == also and {one, other} not in fine:
                mixed = MIXED_UP if {one, other} == {"--groups", "--group"} else ""
                raise CommandError(f"{one} and {other} must name different columns{mixed}")


def read_group(column: Any, path: str, *, exact: bool) -> Any:
    """Group (n,) of each row as a string in one spelling, ``None`` where it is missing."""
    import pandas as pd

    from rejo.tables import TableError, merged

    counts = Counter(column.dropna().tolist())
    n = sum(counts.values())
    where = f"{path}, column {column.name!r}"
    if len(counts) * FEW_ROWS > n:
        name = shlex.quote(str(column.name))
        raise TableError(
            f"{len(counts):,} different values in {n:,} rows are too many to promise by",
            where=where,
            remedy="--group is a column with a few values, such as region. If this one says which "
            f"rows belong together, such as a patient, use --groups {name}.",
        )
    if len(counts) < 2:
        raise TableError(
            "all rows have the same value: there is nothing to promise by",
            where=where,
            remedy="Leave out --group, and give --max-error or --review-budget.",
        )
    other = {} if exact else merged(counts)
    column = column.map(lambda word: other.get(word, word), na_action="ignore")
    return column.astype(object).where(pd.notna(column), None).to_numpy()


def read_time(column: Any, path: str) -> Any:
    """Time (n,) of each row as a number; NaN where it is missing."""
    import numpy as np

    from rejo.tables import TableError

    values = column.to_numpy()
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), np.nan, values.astype("datetime64[s]").astype(float))
    if values.dtype.kind not in "fiu":
        raise TableError(
            "--time needs dates, such as 2024-12-31, or numbers, such as a year",
            where=f"{path}, column {column.name!r}",
        )
    return values.astype(float)


def complete(columns: Mapping[Any, Any], n: int) -> Any:
    """Return which of ``n`` rows have a value in these columns; say how many are left out."""
    import numpy as np
    import pandas as pd

    kept = np.ones(n, dtype=bool)
    for name, values in columns.items():
        there = np.asarray(pd.notna(values))
        if lacking := int((~there).sum()):
            warn(f"{lacking:,} of {n:,} rows have no {name!r} and are left out")
        kept &= there
    return kept
