"""The one error of this room, how messages quote names, how large parts may be, and packages.

A small file can stand for a huge one: a quote that is never closed, a gzip file of blank lines, a
Parquet file that repeats one long word.  The limits keep the memory that reading takes within a
small multiple of ``PIECE``, and the time linear in the size of the file.
"""

import os
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from rejo._errors import LONGEST_VALUE, RejoError, Text, close_words, optional, shown
from rejo._io import printable

MOST_NAMES = 30
MOST_COMPARED = 1000
FIELD = 1 << 17  # a cell; also the limit of Python's csv module
ROW = 1 << 22  # with all its lines
HEADER = 1 << 20  # with blank lines before it
COLUMNS = 1 << 15  # their number
PIECE = 1 << 23  # what is read, decided and written at a time
TABLE = 1 << 31  # a table that is read whole, unpacked
# What a gzip or Parquet file may become: so many bytes, or so many times its size.
UNPACKED, TIMES = 1 << 26, 100


class TableError(RejoError):
    r"""A table cannot be read or used as it is; the message is safe to print.

    Parameters
    ----------
    problem : str
        What is wrong.
    **parts : str or None
        ``where``, the file and the place in it; ``parameter``, the parameter to change, such as
        ``sep``; and ``remedy``, what to do.
    """

    column: str | None = None  # the first that the table lacks

    def __init__(self, problem: str, **parts: str | None) -> None:
        safe = {name: part and Text(part).cleaned(printable) for name, part in parts.items()}
        super().__init__(Text(problem).cleaned(printable), **safe)


def listed(names: Iterable[object]) -> str:
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
    known = list(there)
    names = set(known)
    if lacking := [column for column in dict.fromkeys(needed) if column not in names]:
        lines = " Is the first line a title? Delete it." * (len(known) == 1)
        if any(str(name).replace(".", "", 1).isdigit() for name in known):
            lines = " Are these values? Then the file needs a first line that names the columns."
        error = TableError(
            f"no column{'s' * (len(lacking) > 1)} {listed(lacking)}",
            where=where,
            parameter=parameter,
            remedy=f"{did_you_mean(str(lacking[0]), known)}The columns are: {listed(known)}"
            + f".{lines}" * bool(lines),
        )
        error.column = lacking[0]
        raise error


def check_names(where: str, names: list[str]) -> None:
    if len(names) > COLUMNS:
        raise TableError(
            f"{len(names):,} columns are more than the limit of {COLUMNS:,}",
            where=where,
            remedy="Leave out those that are not needed.",
        )
    if twice := [name for name, count in Counter(names).items() if name and count > 1]:
        raise TableError(
            f"several columns have the same name: {listed(twice)}",
            where=where,
            remedy="Rename all but one.",
        )


def as_list(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def refuse_folder(path: str | os.PathLike[str], name: str) -> None:
    if os.path.isdir(path):
        raise TableError("this is a folder", where=name, remedy="Name a file in it.")


def size_of(n: int) -> str:
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if n >= 1 << power:
            return f"{n / (1 << power):.3g} {unit}"
    return f"{n} bytes"


def too_large(what: str, limit: int, where: str, remedy: str) -> TableError:
    return TableError(f"{what}; the limit is {size_of(limit)}", where=where, remedy=remedy)


def check_unpacked(
    size: int,
    packed: int,
    where: str,
    remedy: str = "If that is what it should hold, write it as several files, or as CSV.",
) -> None:
    limit = max(UNPACKED, TIMES * packed)
    if size > limit:
        raise TableError(
            f"this file of {size_of(packed)} unpacks to more than {size_of(limit)}, the limit for "
            "its size",
            where=where,
            remedy=remedy,
        )


def long_field(where: str) -> TableError:
    return too_large("a cell is too long", FIELD, where, "Shorten it, or leave the column out.")


def import_pandas(who: str = "reading a table") -> Any:
    return optional("pandas", who, "pandas", "tables")


def import_pyarrow(who: str = "reading a table") -> Any:
    """Return the pyarrow module, with its parts for CSV and Parquet files."""
    pa = optional("pyarrow", who, "pyarrow", "tables")
    for part in ("compute", "csv", "parquet"):
        if not hasattr(pa, part):
            optional(f"pyarrow.{part}", who, "pyarrow", "tables")
    return pa


def import_sqlalchemy() -> Any:
    return optional("sqlalchemy", "a database", "SQLAlchemy", "tables")
