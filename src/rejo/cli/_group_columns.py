"""The columns of ``--group`` and ``--time``: what to promise by, and when a case arrived."""

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rejo.cli._files import CommandError, warn

MIXED_UP = (
    ": --groups says which rows belong together, such as all visits of a patient; --group is a "
    "column to promise by, such as region"
)
FEW_ROWS = 5  # of a value, on average: fewer are names rather than groups


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

    from rejo.tables import TableError
    from rejo.tables.spelling import merged

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
