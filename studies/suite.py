"""The suite as a plan: its tables and methods, and the cells behind its rows.

Every table appears once, in one role: two classes, ordered classes, or classes without an order.
``LEFT_OUT`` names tables with the rows of another one: ``german_credit``, whose codes
``south_german_credit`` corrects, and further forms of ``bcct``. Classes at the end of an order with
fewer than ``LEAST_CASES`` rows are joined to their neighbours: with fewer, some of the nested folds
would have none of them to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sklearn.datasets

from rejo.catalogue import METHODS
from rejo.datasets import load_breast_cancer_binary, load_diabetes_ordinal
from studies.run import Indices, Row, known
from studies.tables import CATALOGUE, fetch

AUTO = "auto"
REVIEW_ALL, DECIDE_ALL = "review everything", "decide everything"
# What ``rejo train`` would choose, mostly a blend, and the single ones of the catalogue.
SUITE_METHODS = (AUTO, *(name for name in METHODS if name != "blend"))
BUDGETS = {"E05": 0.05, "E10": 0.1, "E20": 0.2, "E30": 0.3}  # columns of rows, and shares
MEASURES = ("R", "E", "risk", "ordinal_risk", "forced_E", "auarc", "augrc", "aurc", *BUDGETS)
LEAST_CASES = 20  # rows of the lowest and the highest class
TWO_CLASSES, ORDERED, UNORDERED = "two classes", "ordered", "unordered"
LEFT_OUT = ("german_credit", "bcct_binary", "bcct_all", "bcct_all_binary")
# Columns that the catalogue calls codes, though numbers stand for them: read as words.
CODES = {
    "south_german_credit": "purpose personal_status_sex other_debtors other_installment_plans "
    "housing",
    "australian_credit": "a1 a4 a5 a6 a8 a9 a11 a12",
    "heart_statlog": "sex chest resting_electrocardiographic_results thal",
    "default_credit_card": "sex education marriage",
}


class SuiteTable(NamedTuple):
    """Cases of a table."""

    X: Any  # DataFrame (n, n_features)
    y: Indices  # (n,) 0 to n_classes - 1
    groups: Indices | None  # (n,) rows of one group belong together


class TableEntry(NamedTuple):
    """A table of the suite, before it is read."""

    name: str
    role: str
    counts: tuple[int, ...]  # rows of each class, after small ones were joined
    n_features: int  # columns, before they are encoded
    groups: bool = False  # rows come in groups, such as those of a patient
    read: Callable[..., Any] | None = None  # from scikit-learn; None: from the data folder

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def ordered(self) -> bool:
        """Whether the classes have an order; two always have."""
        return self.role != UNORDERED


def join_small(counts: Sequence[int], least: int = LEAST_CASES) -> list[int]:
    """New class of each class, after small ones at both ends were joined to their neighbours.

    >>> join_small([2, 12, 38, 100, 4], least=20)
    [0, 0, 0, 1, 1]
    """

    def ending(counts: Sequence[int]) -> int:  # class that all before it join for enough cases
        return int(np.searchsorted(np.cumsum(counts), least))

    low, high = ending(counts), len(counts) - 1 - ending(counts[::-1])
    return [min(max(i, low), high) - low for i in range(len(counts))]


def _entries() -> list[TableEntry]:
    digits = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
    found = [
        TableEntry("breast_cancer", TWO_CLASSES, (357, 212), 30, read=load_breast_cancer_binary),
        TableEntry("diabetes", ORDERED, (148, 147, 147), 10, read=load_diabetes_ordinal),
        TableEntry("iris", UNORDERED, (50, 50, 50), 4, read=sklearn.datasets.load_iris),
        TableEntry("wine", UNORDERED, (59, 71, 48), 13, read=sklearn.datasets.load_wine),
        TableEntry("digits", UNORDERED, digits, 64, read=sklearn.datasets.load_digits),
    ]
    for name, data in CATALOGUE.items():
        if name in LEFT_OUT:
            continue
        role = TWO_CLASSES if data.task == "binary" else ORDERED
        role = UNORDERED if name == "newthyroid" else role
        counts = data.counts
        if role == ORDERED:
            counts = tuple(np.bincount(join_small(counts), weights=counts).astype(int).tolist())
        found.append(TableEntry(name, role, counts, len(data.features), data.group is not None))
    roles = (TWO_CLASSES, ORDERED, UNORDERED)
    return sorted(found, key=lambda entry: (roles.index(entry.role), entry.name))


TABLES = {entry.name: entry for entry in _entries()}


def load(name: str, data_home: str | None = None) -> SuiteTable:
    """Read a table of the suite; ``FileNotFoundError`` if it is not in the data folder."""
    entry = TABLES[name]
    if entry.read is not None:
        bunch = entry.read(as_frame=True)
        return SuiteTable(bunch.data, _indices(bunch.target), None)
    table = fetch(name, data_home, mark_missing=True)
    X = table.data.copy()
    for column in CODES.get(name, "").split():
        X[column] = X[column].map("{:g}".format).astype("category")
    y = _indices(table.target)
    if entry.role == ORDERED:
        y = np.asarray(join_small(CATALOGUE[name].counts), dtype=np.intp)[y]
    return SuiteTable(X, y, None if table.groups is None else _indices(table.groups))


def _indices(labels: Any) -> Indices:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.intp)


def family_of(method: str) -> str:
    """Return the family of a method: a learner, or what stands alone.

    >>> [family_of(name) for name in ("svm", "svm-pair", "forest-posterior", "auto")]
    ['svm', 'svm', 'forest-posterior', 'auto']
    """
    learner = method.rpartition("-")[0]
    return learner if learner in METHODS else method


# ---- the plan ---------------------------------------------------------------------------------


class SuiteCell(NamedTuple):
    """A family of methods on one split of one table."""

    dataset: str
    repetition: int
    family: str


@dataclass(frozen=True)
class TableSuite:
    """All methods of the catalogue on real tables, or a part of it."""

    datasets: tuple[str, ...] = tuple(TABLES)
    repetitions: int = 10  # random splits of each table
    methods: tuple[str, ...] = SUITE_METHODS  # each on the tables whose classes it takes
    reject_costs: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3)  # an error costs 1
    tuning_cost: float = 0.2  # whose models rank the cases; slow methods are tuned for it alone
    n_train: int = 300  # at most, and at most 60 % of a table
    n_test: int = 5000  # at most
    n_folds: int = 3  # of the training part, for tuning
    seed: int = 0

    KIND: ClassVar[str] = "suite"
    KEY: ClassVar[tuple[str, ...]] = (*SuiteCell._fields, "method", "reject_cost")
    OPTIONAL: ClassVar[tuple[str, ...]] = (*MEASURES, "problem")
    COLUMNS: ClassVar[Mapping[str, type]] = {
        "dataset": str,
        "repetition": int,
        "family": str,
        "method": str,
        "reject_cost": float,
        **dict.fromkeys(MEASURES, float),
        "n_train": int,
        "n_test": int,
        "seconds": float,
        "params": str,  # tuned, as JSON
        "problem": str,  # why a method could not be fitted
        "code": str,
    }

    def __post_init__(self) -> None:
        """Put names into the usual order."""
        for name, values in (("datasets", tuple(TABLES)), ("methods", SUITE_METHODS)):
            object.__setattr__(self, name, known(name, getattr(self, name), values))

    def settings(self) -> dict[str, Any]:
        """Return what rows depend on besides their cell."""
        sizes = {name: getattr(self, name) for name in ("n_train", "n_test", "n_folds", "seed")}
        costs = {"reject_costs": list(self.reject_costs), "tuning_cost": self.tuning_cost}
        return {"methods": list(self.methods), **costs, **sizes}

    def methods_for(self, entry: TableEntry) -> list[str]:
        """Names of the methods that take the classes of a table."""
        K, ordered = entry.n_classes, entry.ordered
        return [m for m in self.methods if m == AUTO or METHODS[m].takes(K, ordered)]

    def cells(self) -> Iterator[SuiteCell]:
        """Yield all cells, one repetition after another: a partial run compares all methods."""
        for repetition in range(self.repetitions):
            for dataset in self.datasets:
                for family in dict.fromkeys(map(family_of, self.methods_for(TABLES[dataset]))):
                    yield SuiteCell(dataset, repetition, family)

    def load(self, dataset: str, data_home: str | None = None) -> SuiteTable:
        """Read a table; ``FileNotFoundError`` if it is not in the data folder."""
        return load(dataset, data_home)

    def compute(self, cell: SuiteCell, table: SuiteTable) -> list[Row]:
        """Compute a cell: a row for each of its methods and each reject cost."""
        from studies.splits import make_parts
        from studies.trials import try_family

        entry = TABLES[cell.dataset]
        key = (self.seed, cell.dataset, cell.repetition)
        sizes = self.n_train, self.n_test, self.n_folds
        parts = make_parts(table, key, entry.ordered, *sizes)
        methods = [m for m in self.methods_for(entry) if family_of(m) == cell.family]
        n_rows = {"n_train": len(parts.y), "n_test": len(parts.y_test)}
        found = try_family(methods, parts, self.reject_costs, self.tuning_cost)
        return [{**cell._asdict(), **n_rows, **row} for row in found]
