"""What columns and rows of a table have to do with each other.

Columns that say the same, columns that name the cases or say what belongs together, identical rows.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Indices
from rejo.tables.errors import import_pandas
from rejo.tables.overview import FEWEST, ID_NAME

LARGEST_GROUP = 50  # rows in a group, on average
FEWEST_GROUPS = 10
PERSON = re.compile(
    r"(?i:(?:^|[\W_])(?:patient|customer|client|person|user|member|subject|applicant|household|"
    r"student|family|kunde|kunden|patienten)(?:[\W_]?(?:id|nr|no|number|key|code))?|^groups?)$|"
    r"(?i:^(?:patient|customer|client|person|user|member|subject|student|kunden?)(?:id|nr|nummer))$"
)
ID = re.compile(r"(?i:(?:^|[\W_])ids?)$|(?<=[a-z])(?:ID|Id)$")
SMALL_GROUP = 10  # rows on average, if the column is not called after persons
CODE_WORD = re.compile(r"(?=.*\d)[A-Za-z]{0,4}[-_./ ]?[0-9A-Fa-f][0-9A-Fa-f-]{2,35}")
LOOK = 200  # words


def level_codes(frame: Any) -> dict[str, Indices]:
    """Return a number for each distinct value of a column (n,), by appearance; -1 if missing."""
    pd = import_pandas("an overview of a table")
    return {name: pd.factorize(frame[name])[0] for name in frame.columns}


def twins(codes: Mapping[str, Indices], frame: Any) -> list[tuple[list[str], bool]]:
    """Return sets of columns of which each tells the others, and whether they are equal.

    Values that are all different say nothing: such columns must be equal.
    """
    found: dict[bytes, list[str]] = {}
    for name, column in codes.items():
        n_levels = int(column.max(initial=-1)) + 1
        if n_levels > 1 and len(column) >= FEWEST:
            different = n_levels > 0.5 * len(column)
            same = _cells(frame[name]).tobytes() if different else column.tobytes()
            found.setdefault(same, []).append(name)
    return [
        (names, all(_equal(frame[names[0]], frame[name]) for name in names[1:]))
        for names in found.values()
        if len(names) > 1
    ]


def _cells(column: Any) -> NDArray[Any]:
    pd = import_pandas("an overview of a table")
    hashes: NDArray[Any] = pd.util.hash_array(column.to_numpy(), categorize=True)
    return hashes


def _equal(one: Any, other: Any) -> bool:
    alike = one.dtype == other.dtype
    return bool(alike and ((one == other) | (one.isna() & other.isna())).all())


def names_the_cases(name: str, column: Any, codes: Indices) -> bool:
    """Return whether words are all different and look like identifiers, or are called so."""
    n_levels = int(codes.max(initial=-1)) + 1
    if n_levels < max(FEWEST, len(codes)) or column.dtype != object:
        return False
    return bool(ID_NAME.search(name)) or _are_codes(column, codes)


def groups_rows(name: str, column: Any, codes: Indices) -> bool:
    """Return whether values that repeat look like those of persons or things."""
    n_levels, n = int(codes.max(initial=-1)) + 1, int((codes >= 0).sum())
    if n < FEWEST or not FEWEST_GROUPS <= n_levels <= 0.95 * n or n > LARGEST_GROUP * n_levels:
        return False
    if column.dtype.kind == "f":
        values = column.to_numpy(np.float64)
        if (values[np.isfinite(values)] % 1 != 0).any():
            return False
    elif column.dtype != object:
        return False
    if PERSON.search(name):
        return True
    named = ID.search(name) or (column.dtype == object and _are_codes(column, codes))
    return bool(named) and n <= SMALL_GROUP * n_levels


def _are_codes(column: Any, codes: Indices) -> bool:
    """Return whether words are like P-0012 or 00417, all of about one length."""
    first = np.unique(codes[codes >= 0], return_index=True)[1][:LOOK]
    words = column[codes >= 0].iloc[first].map(str).tolist()
    lengths = {len(word) for word in words}
    alike = max(lengths) - min(lengths) <= 2 and min(lengths) >= 4
    return alike and all(CODE_WORD.fullmatch(word) for word in words)


class Repeats(NamedTuple):
    """Rows that are identical to another."""

    n_rows: int  # in all columns
    n_other_class: int  # of these, with another class than such a row


def count_repeats(codes: Mapping[str, Indices], y: Indices | None = None) -> Repeats:
    """Count the rows whose columns equal those of another row, and those that differ in class."""
    pd = import_pandas("an overview of a table")
    if not codes:
        return Repeats(0, 0)
    frame = pd.DataFrame({str(i): column for i, column in enumerate(codes.values())})
    key = pd.util.hash_pandas_object(frame, index=False)
    rows = pd.factorize(key)[0]
    counts = np.bincount(rows)
    again = counts[rows] > 1
    if y is None or not again.any():
        return Repeats(int(again.sum()), 0)
    lowest, highest = np.full(len(counts), np.iinfo(np.intp).max), np.full(len(counts), -1)
    np.minimum.at(lowest, rows, y)
    np.maximum.at(highest, rows, y)
    return Repeats(int(again.sum()), int((again & (lowest < highest)[rows]).sum()))
