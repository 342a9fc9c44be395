"""What a study consists of: cells, each of which can be computed alone, and grids to tune on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

from rejo._docs import cited
from rejo.catalogue import METHODS as CATALOGUE
from rejo.study.paper import DATA, REJECT_COSTS, REPETITIONS, SHARES, SPLITS, label

NETWORKS = ("rejoNN", "MLP-1C", "MLP-2C", "FH-MLP-1C", "FH-MLP-2C", "Chow-MLP")
KERNELS = {**dict.fromkeys(NETWORKS, ("",)), "Fumera": ("/poly",)}
# Names in the paper, for two classes and for more. With more than two, the splits of Frank and Hall
# stand for one and for two classifiers.
BINARY, ORDINAL = (
    tuple(method.paper[i] for method in CATALOGUE.values() if method.paper[i]) for i in (0, 1)
)
# Only in the study: thresholds on one ordinal network, and posteriors decided by the ordinal loss.
ORDINAL = (*ORDINAL, "MLP-1C", "Ordinal-SVC")
#: All methods of the study, each with its kernel.
METHODS = tuple(
    name + kernel
    for name in dict.fromkeys((*BINARY, *ORDINAL))
    for kernel in KERNELS.get(name, ("/poly", "/rbf"))
)


class TuningGrid(NamedTuple):
    """Values to choose from by cross-validation."""

    Cs: tuple[float, ...]
    gammas: tuple[float, ...]
    hs: tuple[float, ...]
    units: tuple[int, ...]  # of the hidden layer of a network
    n_folds: int = 5


GRIDS = {
    "authors": TuningGrid(
        Cs=tuple(2.0**i for i in (-5, -3, -1, 1, 3)),
        gammas=tuple(2.0**i for i in (-3, -1, 1)),
        hs=(1.0, 2.0, 3.0, 4.0),
        units=(5, 10, 15, 20, 25),
    ),
    "coarse": TuningGrid(Cs=(0.125, 8.0), gammas=(0.5,), hs=(1.0,), units=(5,), n_folds=3),
}


@cited
class Cell(NamedTuple):
    """One method on one split of one data set: a row for each reject cost.

    Parameters
    ----------
    dataset : str
        The data set.
    split : {"random", "group"}
        How it is split.
    share : float
        Share of the data to train on.
    repetition : int
        Number of the draw or split.
    method : str
        The method.

    See Also
    --------
    Study : All cells.
    run_cell : Compute one.

    References
    ----------
    %sousa2013

    Examples
    --------
    >>> from rejo.study import Study
    >>> study = Study(["syntheticI"], [0.05, 0.25], 1, ["rejoSVM/rbf"])
    >>> for cell in study.cells():
    ...     print(cell)
    rejoSVM/rbf on syntheticI, random split, 5%, repetition 0
    rejoSVM/rbf on syntheticI, random split, 25%, repetition 0
    """

    dataset: str
    split: str
    share: float
    repetition: int
    method: str

    def __str__(self) -> str:
        return (
            f"{self.method} on {self.dataset}, {self.split} split, {self.share:.0%}, "
            f"repetition {self.repetition}"
        )


@cited
@dataclass(frozen=True)
class Study:
    """The paper's experiments, or a part of them.

    Parameters
    ----------
    datasets : sequence of str, default=all
        Any of "syntheticI", ..., "syntheticIV", "bcct-binary", "bcct" and "letter-ah".
    shares : sequence of float, default=(0.05, 0.25, 0.4)
        Shares of the data to train on.
    repetitions : int, default=100
        New draws, or random splits, of each data set and share.
    methods : sequence of str, default=all
        Such as "rejoSVM/rbf"; "rejoSVM" means all its kernels.  Each method runs on the data sets
        that it supports: some methods need two classes, some need more.
    reject_costs : sequence of float, default=0.04, 0.08, ..., 0.48
        Ascending.
    grid : {"authors", "coarse"}, default="authors"
        The grids of parameters for tuning: those of the paper, or a few of their points.
    seed : int, default=0
        Seed of the draws and splits.
    splits : sequence of {"random", "group"}, default=both
        Split the rows at random, as in the paper, or by patient.  Only the BCCT tables can be split
        by patient: each of their patients has several nearly equal rows.

    See Also
    --------
    run : Compute all cells, and keep the rows in a file.
    run_cell : Compute one cell.
    rejo.study.suite.TableSuite : The benchmark on real tables.

    References
    ----------
    %sousa2013

    Examples
    --------
    >>> from rejo.study import Study, run_cell
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.2], grid="coarse")
    >>> [cell] = study.cells()
    >>> print(cell)
    rejoSVM/rbf on syntheticI, random split, 5%, repetition 0
    >>> [row] = run_cell(study, cell)
    >>> row["risk"] == 0.2 * row["R"] + row["E"]
    True
    """

    KIND: ClassVar[str] = "paper"
    CELL: ClassVar[type[Cell]] = Cell
    KEY: ClassVar[tuple[str, ...]] = (*Cell._fields, "reject_cost")
    OPTIONAL: ClassVar[tuple[str, ...]] = ("crossing_rate",)
    COLUMNS: ClassVar[Mapping[str, type]] = {
        "dataset": str,
        "split": str,
        "share": float,
        "repetition": int,
        "method": str,
        "reject_cost": float,
        "R": float,
        "E": float,
        "risk": float,
        "ordinal_risk": float,
        "crossing_rate": float,
        "n_train": int,
        "n_test": int,
        "seconds": float,
        "params": str,
        "code": str,
    }

    datasets: Sequence[str] = tuple(DATA)
    shares: Sequence[float] = SHARES
    repetitions: int = REPETITIONS
    methods: Sequence[str] = METHODS
    reject_costs: Sequence[float] = REJECT_COSTS
    grid: str = "authors"
    seed: int = 0
    splits: Sequence[str] = SPLITS

    def __post_init__(self) -> None:
        """Check the values and expand the names of methods, so that equal studies compare equal."""
        wanted = [m for name in _names("methods", self.methods) for m in _kernels(name)]
        self._set("methods", tuple(method for method in METHODS if method in wanted))
        self._set("datasets", _known("datasets", self.datasets, tuple(DATA)))
        self._set("splits", _known("splits", self.splits, SPLITS))
        self._set("shares", _numbers("shares", self.shares, 1.0, "below 1, such as 0.25"))
        costs = _numbers("reject_costs", self.reject_costs, 0.5 + 1e-9, "at most 0.5")
        self._set("reject_costs", costs)
        for name, least in (("repetitions", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name}={value!r} must be an integer, at least {least}.")
            self._set(name, int(value))
        if self.grid not in GRIDS:
            raise ValueError(f"grid={self.grid!r} must be one of {', '.join(GRIDS)}.")

    def cells(self) -> Iterator[Cell]:
        """Yield all cells, one repetition after another: a partial study compares all methods."""
        for repetition in range(self.repetitions):
            for dataset in self.datasets:
                known = BINARY if DATA[dataset].n_classes == 2 else ORDINAL
                methods = [m for m in self.methods if label(m) in known]
                splits = [split for split in self.splits if split in DATA[dataset].splits]
                for split, share, method in product(splits, self.shares, methods):
                    yield Cell(dataset, split, share, repetition, method)

    def load(self, dataset: str, data_home: str | os.PathLike[str] | None = None) -> Any:
        """Read the table of a data set; ``None`` for synthetic data."""
        from rejo.study._data import load

        return load(dataset, data_home)

    def compute(self, cell: Cell, table: Any) -> list[dict[str, Any]]:
        """Compute a cell, given the table of its data set."""
        from rejo.study._methods import compute

        return compute(self, cell, table)

    def params(self) -> dict[str, Any]:
        """Return all parameters in a form that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def seed_of(*key: Any) -> int:
    """Return a seed that depends only on the key, the same on every machine."""
    text = "|".join(map(repr, key))
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1


def _names(parameter: str, values: Any) -> list[str]:
    names = [values] if isinstance(values, str) else list(values)
    if not names:
        raise ValueError(f"{parameter} is empty: give at least one value, or omit it to use all.")
    return names


def _known(parameter: str, values: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    names = _names(parameter, values)
    for name in names:
        if name not in known:
            raise ValueError(f"{parameter} has {name!r}, which is not one of {', '.join(known)}.")
    return tuple(name for name in known if name in names)


def _kernels(name: str) -> list[str]:
    """Return the methods that a name stands for."""
    found = [method for method in METHODS if name in (method, label(method))]
    if not found:
        raise ValueError(f"methods has {name!r}, which is not one of {', '.join(METHODS)}.")
    return found


def _numbers(parameter: str, values: Any, bound: float, wanted: str) -> tuple[float, ...]:
    numbers = [values] if isinstance(values, Real) else list(values)
    if not numbers or not all(isinstance(v, Real) and 0 < float(v) < bound for v in numbers):
        raise ValueError(f"{parameter}={values!r} must be numbers above 0 and {wanted}.")
    return tuple(sorted({float(v) for v in numbers}))
