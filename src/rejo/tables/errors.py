"""The one error of this package, how messages quote names, and the optional packages."""

import os
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from rejo._errors import RejoError, close_words
from rejo._io import printable

LONGEST_VALUE = 60
MOST_NAMES = 30
MOST_COMPARED = 1000


class TableError(RejoError):
    r"""A table cannot be read or used as it is.

    The message is safe to print.

    Parameters
    ----------
    problem : str
        What is wrong.
    **parts : str or None
        ``where``, the file and the place in it; ``parameter``, the parameter to change, such as
        ``sep``; and ``remedy``, what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables import TableError, read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "loans.csv")
    ...     _ = path.write_text("income;since\n1.5;2020;7\n")
    ...     try:
    ...         read_table(path)
    ...     except TableError as error:
    ...         print(error.problem)
    the row has 3 fields, but there are 2 columns (separator ';')
    """

    def __init__(self, problem: str, **parts: str | None) -> None:
        safe = {name: part and printable(part) for name, part in parts.items()}
        super().__init__(printable(problem), **safe)


def shown(value: object) -> str:
    """Quote a value from a file, cut if it is long."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "...")


def listed(names: Iterable[object]) -> str:
    """Quote names with commas between them, cut if there are many."""
    found = [shown(name) for name in names]
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words that are close; empty without any."""
    # Comparing long words, or many, would take longer than reading the table.
    texts = map(str, islice(known, MOST_COMPARED))
    close = close_words(word[:LONGEST_VALUE], [t for t in texts if len(t) <= LONGEST_VALUE])
    return f"Did you mean {' or '.join(map(shown, close))}? " if close else ""


def check_columns(
    where: str, needed: Iterable[str], there: Iterable[str], parameter: str | None = None
) -> None:
    """Refuse a table that lacks a column."""
    known = list(there)
    names = set(known)
    for column in needed:
        if column not in names:
            raise TableError(
                f"no column {shown(column)}",
                where=where,
                parameter=parameter,
                remedy=f"{did_you_mean(str(column), known)}The columns are: {listed(known)}"
                + ". Is the first line a title? Delete it." * (len(known) == 1),
            )


def check_different(where: str, names: list[str]) -> None:
    """Refuse a table with two columns of the same name."""
    if twice := [name for name, count in Counter(names).items() if name and count > 1]:
        raise TableError(
            f"several columns have the same name: {listed(twice)}",
            where=where,
            remedy="Rename all but one.",
        )


def refuse_folder(path: str | os.PathLike[str], name: str) -> None:
    """Refuse a folder where a file is needed."""
    if os.path.isdir(path):
        raise TableError("this is a folder", where=name, remedy="Name a file in it.")


def import_pandas(who: str = "reading a table") -> Any:
    """Return the pandas module; the error names the extra to install."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f'{who} needs pandas: pip install "rejo[pandas]"') from None
    return pd


def import_pyarrow(who: str = "reading a Parquet file") -> Any:
    """Return the pyarrow module, with its Parquet part; the error names the extra to install."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f'{who} needs pyarrow: pip install "rejo[parquet]"') from None
    return pyarrow


def pyarrow_if_there() -> Any:
    """Return the pyarrow module for work that pandas can do too, but slower; None without it."""
    try:
        import pyarrow.compute
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow
