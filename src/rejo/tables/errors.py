"""The one error of this package, in a line that is safe to show, and the optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from rejo._io import printable

LONGEST_VALUE = 60
MOST_NAMES = 30


class TableError(ValueError):
    """A table cannot be read or used as it is.

    The message is one line: the file, the place in it, what is wrong, and what to do.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def shown(value: object) -> str:
    """Quote a value from a file, cut if it is long."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "...")


def listed(names: Iterable[object]) -> str:
    """Name columns one after the other, cut if there are many."""
    found = [shown(name) for name in names]
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """End of a message: the known words close to this one, whatever their case."""
    by_lower = {str(name).lower(): name for name in known}
    close = [by_lower[match] for match in get_close_matches(word.lower(), by_lower, cutoff=0.5)]
    return f"; did you mean {' or '.join(map(shown, close))}?" if close else ""


def check_columns(name: str, needed: Iterable[str], there: Iterable[str]) -> None:
    """Refuse a file that lacks a column."""
    known = list(there)
    for column in needed:
        if column not in known:
            raise TableError(
                f"{name} has no column {shown(column)}, which is needed"
                f"{did_you_mean(column, known) or ';'} its columns are: {listed(known)}"
            )


def import_pandas(who: str) -> Any:
    """Return the pandas module; the error names the extra to install."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f'{who} needs pandas: pip install "rejo[pandas]"') from None
    return pd


def import_pyarrow(who: str) -> Any:
    """Return the pyarrow module, with its Parquet part; the error names the extra to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f'{who} needs pyarrow: pip install "rejo[parquet]"') from None
    return pyarrow
