"""The tables of the suite: which there are, what they ask, and how they are read.

Every table appears once, in one role: two classes, ordered classes, or classes without an order.

- ``german_credit`` has the same rows as ``south_german_credit``, which corrects its codes, and
  ``bcct_all`` most of the patients of ``bcct``; the two-class forms of both have the same rows
  again. Each would count twice, so the suite has ``south_german_credit`` and ``bcct``.
- ``newthyroid`` is a diagnosis: its classes are read as unordered. ``balance_scale`` is ordered.
- Classes at the end of an order with fewer than :data:`LEAST_CASES` rows are joined to their
  neighbours: with fewer, some of the nested folds would have none of them to learn from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo import datasets
from rejo._typing import Indices

LEAST_CASES = 20  # rows of the lowest and the highest class
TWO_CLASSES, ORDERED, UNORDERED = "two classes", "ordered", "unordered"
LEFT_OUT = ("german_credit", "bcct_binary", "bcct_all", "bcct_all_binary")


class SuiteTable(NamedTuple):
    """Cases of a table.

    Parameters
    ----------
    X : DataFrame of shape (n, n_features)
        The cases.
    y : ndarray of int of shape (n,)
        Their classes, 0 to ``n_classes - 1``.
    groups : ndarray of int of shape (n,) or None
        Rows of one group belong together.

    See Also
    --------
    TableEntry : What is known before the table is read.
    TableSuite : Its ``load`` reads one.

    Examples
    --------
    >>> from rejo.study.suite import TableSuite
    >>> table = TableSuite().load("iris")
    >>> table.X.shape, sorted(set(table.y.tolist())), table.groups
    ((150, 4), [0, 1, 2], None)
    """

    X: Any
    y: Indices
    groups: Indices | None


class TableEntry(NamedTuple):
    """A table of the suite, before it is read.

    Parameters
    ----------
    name : str
        The name.
    role : str
        Two classes, ordered classes, or unordered ones.
    counts : tuple of int
        Rows of each class.
    n_features : int
        Columns, before they are encoded.
    groups : bool, default=False
        Whether rows come in groups, such as those of a patient.
    words : tuple of str, default=()
        Columns of codes, to be read as words.
    read : callable, default=None
        Reads it from scikit-learn; None: from the data folder.

    Attributes
    ----------
    n_classes, n_rows : int
        Number of classes, after small ones were joined, and of rows.
    ordered : bool
        Whether the classes have an order; two always have.
    described : str
        Classes, rows and columns in words.

    See Also
    --------
    TABLES : All tables of the suite.
    SuiteTable : A table that was read.

    Examples
    --------
    >>> from rejo.study.suite import TABLES
    >>> TABLES["iris"].described, TABLES["iris"].ordered
    ('3 unordered classes, 150 rows, 4 columns', False)
    """

    name: str
    role: str
    counts: tuple[int, ...]
    n_features: int
    groups: bool = False
    words: tuple[str, ...] = ()
    read: Callable[[], Any] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, after small ones were joined."""
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.counts)

    @property
    def ordered(self) -> bool:
        """Whether the classes have an order; two always have."""
        return self.role != UNORDERED

    @property
    def described(self) -> str:
        """Classes, rows and columns in words."""
        kind = self.role if self.n_classes == 2 else f"{self.n_classes} {self.role} classes"
        return f"{kind}, {self.n_rows:,} rows, {self.n_features} columns"


def join_small(counts: Sequence[int], least: int = LEAST_CASES) -> list[int]:
    """New class of each class, after small ones at both ends were joined to their neighbours.

    Examples
    --------
    >>> from rejo.study.suite.roster import join_small
    >>> join_small([2, 12, 38, 100, 4], least=20)
    [0, 0, 0, 1, 1]
    """
    low = _ending(counts, least)
    high = len(counts) - 1 - _ending(counts[::-1], least)
    return [min(max(i, low), high) - low for i in range(len(counts))]


def _ending(counts: Sequence[int], least: int) -> int:
    """Index of the class that all before it must join for ``least`` cases."""
    return int(np.searchsorted(np.cumsum(counts), least))


def load_entry(name: str, data_home: str | os.PathLike[str] | None = None) -> SuiteTable:
    """Read a table of the suite; ``FileNotFoundError`` if it is not in the data folder."""
    entry = TABLES[name]
    if entry.read is not None:
        bunch = entry.read()
        return SuiteTable(bunch.data, _classes(bunch.target), None)
    if name not in datasets.available(data_home):
        raise FileNotFoundError(
            f"{name}: the data folder has no such table; set REJO_DATA or data_home."
        )
    bunch = datasets.fetch(name, data_home, mark_missing=True)
    X = bunch.data.copy()
    for column in entry.words:
        X[column] = X[column].map("{:g}".format).astype("category")
    y, groups = _classes(bunch.target), bunch.groups
    if entry.role == ORDERED:
        y = np.asarray(join_small(datasets.CATALOGUE[name].counts), dtype=np.intp)[y]
    return SuiteTable(X, y, None if groups is None else _classes(groups))


def _classes(labels: Any) -> Indices:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.intp)


def _bundled(name: str) -> Callable[[], Any]:
    """Return a function that reads a table of scikit-learn."""

    def read() -> Any:
        import sklearn.datasets

        return getattr(sklearn.datasets, f"load_{name}")(as_frame=True)

    return read


# Columns that the catalogue calls codes, though numbers stand for them.
_CODES = {
    "south_german_credit": "purpose personal_status_sex other_debtors other_installment_plans "
    "housing",
    "australian_credit": "a1 a4 a5 a6 a8 a9 a11 a12",
    "heart_statlog": "sex chest resting_electrocardiographic_results thal",
    "default_credit_card": "sex education marriage",
}


def _entries() -> list[TableEntry]:
    def read_cancer() -> Any:
        return datasets.load_breast_cancer_binary(as_frame=True)

    def read_diabetes() -> Any:
        return datasets.load_diabetes_ordinal(as_frame=True)

    found = [
        TableEntry("breast_cancer", TWO_CLASSES, (357, 212), 30, read=read_cancer),
        TableEntry("diabetes", ORDERED, (148, 147, 147), 10, read=read_diabetes),
        TableEntry("iris", UNORDERED, (50, 50, 50), 4, read=_bundled("iris")),
        TableEntry("wine", UNORDERED, (59, 71, 48), 13, read=_bundled("wine")),
        TableEntry(
            "digits", UNORDERED, (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), 64,
            read=_bundled("digits"),
        ),
    ]  # fmt: skip
    for name, data in datasets.CATALOGUE.items():
        if name in LEFT_OUT:
            continue
        role = TWO_CLASSES if data.task == "binary" else ORDERED
        role = UNORDERED if name == "newthyroid" else role
        counts = data.counts
        if role == ORDERED:
            counts = tuple(np.bincount(join_small(counts), weights=counts).astype(int).tolist())
        words = tuple(_CODES.get(name, "").split())
        size = len(data.features)
        found.append(TableEntry(name, role, counts, size, data.group is not None, words))
    roles = (TWO_CLASSES, ORDERED, UNORDERED)
    return sorted(found, key=lambda entry: (roles.index(entry.role), entry.name))


#: The tables of the suite, by name.
TABLES = {entry.name: entry for entry in _entries()}
#: Names of those that come with scikit-learn, and need no data folder.
BUNDLED = tuple(name for name, entry in TABLES.items() if entry.read is not None)
