"""What the suite consists of: cells, each of which can be computed alone, and their rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

from rejo._docs import cited
from rejo.catalogue import METHODS
from rejo.study.suite.roster import TABLES, SuiteTable, TableEntry, load_entry
from rejo.study.suite.table_splits import make_parts
from rejo.study.suite.trials import AUTO, MEASURES, Settings, family_of, try_family

#: All methods of the suite: what ``rejo train`` would choose, and those of the catalogue.
SUITE_METHODS = (AUTO, *METHODS)
#: Prices of a review where an error costs 1.
REJECT_COSTS = (0.05, 0.1, 0.2, 0.3)
REPETITIONS = 10


class SuiteCell(NamedTuple):
    """A family of methods on one split of one table.

    Parameters
    ----------
    dataset : str
        The table.
    repetition : int
        Number of the split.
    family : str
        The family of methods, which share fits.

    See Also
    --------
    TableSuite : All cells.

    Examples
    --------
    >>> from rejo.study.suite import TableSuite
    >>> for cell in TableSuite(["iris"], 2, ["logistic-posterior"]).cells():
    ...     print(cell)
    logistic on iris, split 0
    logistic on iris, split 1
    """

    dataset: str
    repetition: int
    family: str

    def __str__(self) -> str:
        return f"{self.family} on {self.dataset}, split {self.repetition}"


@cited
@dataclass(frozen=True)
class TableSuite:
    """All methods of the catalogue on real tables, or a part of it.

    Parameters
    ----------
    datasets : sequence of str, default=all
        Names in ``rejo.study.suite.TABLES``.
    repetitions : int, default=10
        Random splits of each table.
    methods : sequence of str, default=all
        "auto" and names in the catalogue.  Each runs on the tables whose classes it takes.
    reject_costs : sequence of float, default=(0.05, 0.1, 0.2, 0.3)
        Prices of a review where an error costs 1; at most 0.5.
    tuning_cost : float, default=0.2
        One of the reject costs.  The measures of a ranking are those of the model that was trained
        for this one; methods that take too long to be tuned for each are tuned for it.
    n_train, n_test : int, default=300, 5000
        Rows of the training part, which also is at most 60 % of a table, and of the test part, at
        most.
    n_folds : int, default=3
        Folds of the training part for tuning.
    seed : int, default=0
        Seed of the splits.

    See Also
    --------
    rejo.study.run : Compute all cells, and keep the rows in a file.
    rejo.study.Study : The experiments of the paper.
    rejo.compare : Compare methods on a table of your own.

    References
    ----------
    %demsar2006

    Examples
    --------
    >>> from rejo.study.suite import TableSuite
    >>> suite = TableSuite(["iris"], 1, ["logistic-posterior"])
    >>> [cell] = suite.cells()
    >>> print(cell)
    logistic on iris, split 0
    >>> rows = suite.compute(cell, suite.load("iris"))
    >>> [row["reject_cost"] for row in rows]
    [0.05, 0.1, 0.2, 0.3]
    >>> all(abs(row["risk"] - row["reject_cost"] * row["R"] - row["E"]) < 1e-12 for row in rows)
    True
    """

    datasets: Sequence[str] = tuple(TABLES)
    repetitions: int = REPETITIONS
    methods: Sequence[str] = SUITE_METHODS
    reject_costs: Sequence[float] = REJECT_COSTS
    tuning_cost: float = 0.2
    n_train: int = 300
    n_test: int = 5000
    n_folds: int = 3
    seed: int = 0

    KIND: ClassVar[str] = "tables"
    CELL: ClassVar[type[SuiteCell]] = SuiteCell
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
        "params": str,
        "problem": str,
        "code": str,
    }
    OPTIONAL: ClassVar[tuple[str, ...]] = (*MEASURES, "problem")
    KEY: ClassVar[tuple[str, ...]] = (*SuiteCell._fields, "method", "reject_cost")

    def __post_init__(self) -> None:
        """Check the values; the same suite is always written in the same way."""
        self._set("datasets", _known("datasets", self.datasets, tuple(TABLES)))
        self._set("methods", _known("methods", self.methods, SUITE_METHODS))
        given: Any = self.reject_costs
        costs = [given] if isinstance(given, Real) else list(given)
        if not costs or not all(isinstance(w, Real) and 0 < float(w) <= 0.5 for w in costs):
            raise ValueError(
                f"reject_costs={self.reject_costs!r} must be numbers above 0 and at most 0.5."
            )
        self._set("reject_costs", tuple(sorted({float(w) for w in costs})))
        if self.tuning_cost not in self.reject_costs:
            raise ValueError(
                f"tuning_cost={self.tuning_cost!r} must be one of the reject costs, "
                f"{list(self.reject_costs)}."
            )
        least = {"repetitions": 1, "n_train": 30, "n_test": 1, "n_folds": 2, "seed": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < bound:
                raise ValueError(f"{name}={value!r} must be an integer, at least {bound}.")
            self._set(name, int(value))

    def methods_for(self, entry: TableEntry) -> list[str]:
        """Names of the methods that take the classes of a table."""
        K, ordered = entry.n_classes, entry.ordered
        return [m for m in self.methods if m == AUTO or METHODS[m].takes(K, ordered)]

    def cells(self) -> Iterator[SuiteCell]:
        """Yield all cells, one repetition after another: a partial run compares all methods."""
        for repetition in range(self.repetitions):
            for dataset in self.datasets:
                families = map(family_of, self.methods_for(TABLES[dataset]))
                for family in dict.fromkeys(families):
                    yield SuiteCell(dataset, repetition, family)

    def params(self) -> dict[str, Any]:
        """Return all parameters in a form that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def load(self, dataset: str, data_home: str | os.PathLike[str] | None = None) -> SuiteTable:
        """Read a table; ``FileNotFoundError`` if it is not in the data folder."""
        return load_entry(dataset, data_home)

    def compute(self, cell: SuiteCell, table: SuiteTable) -> list[dict[str, Any]]:
        """Compute a cell: a row for each of its methods and each reject cost.

        Apart from ``seconds``, the rows depend only on the suite's parameters and the cell.
        """
        entry = TABLES[cell.dataset]
        key = (self.seed, cell.dataset, cell.repetition)
        sizes = self.n_train, self.n_test, self.n_folds
        parts = make_parts(table, key, entry.ordered, *sizes)
        methods = [m for m in self.methods_for(entry) if family_of(m) == cell.family]
        n_rows = {"n_train": len(parts.y), "n_test": len(parts.y_test)}
        return [
            {**cell._asdict(), **n_rows, **row}
            for row in try_family(methods, parts, Settings(self.reject_costs, self.tuning_cost))
        ]

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def _known(parameter: str, values: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    names = [values] if isinstance(values, str) else list(values)
    if not names:
        raise ValueError(f"{parameter} is empty: give at least one value, or omit it to use all.")
    for name in names:
        if name not in known:
            raise ValueError(f"{parameter} has {name!r}, which is not one of {', '.join(known)}.")
    return tuple(name for name in known if name in names)
