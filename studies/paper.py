"""The paper as a plan: its data, methods, figures and claims, and the cells behind them.

R. Sousa and J. S. Cardoso, *The data replication method for the classification with reject option*
(2013). Figures have the paper's numbers; 1 to 9 explain the method and are not drawn here. A figure
has a panel for each training share and a curve for each method. The claims are sentences of the
results section, which speaks of all figures at once.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from studies.run import Row, known, seed_of

SHARES = (0.05, 0.25, 0.4)
REJECT_COSTS = tuple(round(0.04 * i, 2) for i in range(1, 13))  # the authors' 0.04:0.04:0.48
REPETITIONS = 100
RANDOM, BY_PATIENT = "random", "group"  # ways to split a table
# The paper does not name its kernel. The authors' scripts use a polynomial one of degree 2, whose
# boundaries include the optimal ones of the synthetic problems.
KERNEL = "poly"


class PaperData(NamedTuple):
    """A data set of the paper: a table of the catalogue, or a fresh draw in each repetition.

    ``bayes`` is the name under which ``rejo.datasets`` knows the best possible rates.
    """

    title: str
    caption: str  # what the paper's captions call it
    n_classes: int
    bayes: str | None = None
    catalogue: str | None = None
    splits: tuple[str, ...] = (RANDOM,)


_BOTH = (RANDOM, BY_PATIENT)
DATA = {
    "syntheticI": PaperData("SyntheticI", "syntheticI", 2, "synthetic_1"),
    "syntheticII": PaperData("SyntheticII", "syntheticII", 2, "synthetic_2"),
    "bcct-binary": PaperData("Binary BCCT", "binary BCCT", 2, None, "bcct_binary", _BOTH),
    "letter-ah": PaperData("Letter AH", "binary Letter AH", 2, None, "letter_ah"),
    "syntheticIII": PaperData("SyntheticIII", "syntheticIII", 5, "synthetic_3"),
    "syntheticIV": PaperData("SyntheticIV", "syntheticIV", 3, "synthetic_4"),
    "bcct": PaperData("BCCT", "BCCT", 4, None, "bcct", _BOTH),
}

REJO_NN, MLP_1C, MLP_2C = "rejoNN", "MLP-1C", "MLP-2C"
FH_MLP_1C, FH_MLP_2C, CHOW_MLP = "FH-MLP-1C", "FH-MLP-2C", "Chow-MLP"
REJO_SVM, SVM_1C, SVM_2C, FUMERA, FH_1C, FH_2C, REJO_LOGISTIC, CHOW, ORDINAL_SVC = (
    f"{name}/{KERNEL}"
    for name in ("rejoSVM", "SVM-1C", "SVM-2C", "Fumera", "FH-1C", "FH-2C", "rejoLogistic",
                 "Chow-SVC", "Ordinal-SVC")
)  # fmt: skip


class PaperFigure(NamedTuple):
    """A figure of curves: from which data, by which methods.

    ``methods`` are those of the paper, the proposed one first; ``beside`` are others, drawn in the
    same panels but not part of the paper's claims.
    """

    name: str  # its number in the paper, or a name if the paper only speaks of it
    title: str  # its caption in the paper, or what it shows
    dataset: str
    methods: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of its picture, without ending."""
        return f"figure-{self.name}"


# By family and whether there are more than two classes: the methods of the paper, and others.
_COMPARED: dict[tuple[str, bool], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("SVM", False): ((REJO_SVM, SVM_1C, SVM_2C, FUMERA), (REJO_LOGISTIC, CHOW)),
    ("SVM", True): ((REJO_SVM, FH_1C, FH_2C), (REJO_LOGISTIC, CHOW, ORDINAL_SVC)),
    ("NN", False): ((REJO_NN, MLP_1C, MLP_2C), ()),
    ("NN", True): ((REJO_NN, MLP_1C, FH_MLP_1C, FH_MLP_2C), (CHOW_MLP,)),
}


def _curves(name: str, dataset: str, family: str) -> PaperFigure:
    data = DATA[dataset]
    title = f"Figure {name}: The A-R curves for the {data.caption} dataset ({family} methods only)"
    if not name.isdigit():
        title = f"Not shown in the paper: networks on {data.title}"
    return PaperFigure(name, title, dataset, *_COMPARED[family, data.n_classes > 2])


_FIGURES = (
    _curves("10", "syntheticI", "SVM"),
    _curves("11", "syntheticI", "NN"),
    _curves("12", "syntheticII", "SVM"),
    _curves("13", "syntheticII", "NN"),
    _curves("14", "bcct-binary", "SVM"),
    _curves("15", "bcct-binary", "NN"),
    _curves("16", "letter-ah", "NN"),
    _curves("17", "syntheticIII", "SVM"),
    _curves("17-nn", "syntheticIII", "NN"),
    _curves("18", "syntheticIV", "SVM"),
    _curves("18-nn", "syntheticIV", "NN"),
    _curves("19", "bcct", "SVM"),
    _curves("19-nn", "bcct", "NN"),
)
FIGURES = {figure.name: figure for figure in _FIGURES}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, and how it is tested, in each panel of its figures.

    "range" and "mean" compare ``method`` with all ``rivals``, at every reject cost or on average;
    "pairs" compares the first of each of ``pairs`` with the second; "crossing" looks for boundaries
    of the second that cross; "alike" asks whether the better of two pairs is the same in both.
    """

    name: str
    quote: str
    kind: str
    method: str = ""
    rivals: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    parallels: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods of the claim."""
        pairs = (*self.pairs, *(pair for two in self.parallels for pair in two))
        named = (self.method, *self.rivals, *(method for pair in pairs for method in pair))
        return tuple(dict.fromkeys(filter(None, named)))


_BINARY_SVM, _BINARY_NN = ("10", "12", "14"), ("11", "13", "15")
_ORDINAL, _ORDINAL_NN = ("17", "18", "19"), ("17-nn", "18-nn", "19-nn")

CLAIMS = (
    Claim(
        name="rejoSVM is best",
        quote="in overall rejoSVM performed better than any of the other methods under comparison, "
        "over the full range of values for w_r",
        kind="range",
        method=REJO_SVM,
        rivals=(SVM_1C, SVM_2C, FUMERA, FH_1C, FH_2C),
        figures=(*_BINARY_SVM, *_ORDINAL),
    ),
    Claim(
        name="Fumera's method trails",
        quote="the less positive results obtained by Fumera's method",
        kind="pairs",
        pairs=((REJO_SVM, FUMERA), (SVM_1C, FUMERA), (SVM_2C, FUMERA)),
        figures=_BINARY_SVM,
    ),
    Claim(
        name="SVMs beat neural networks",
        quote="in general, SVM based methods outperform the neural network counterparts",
        kind="pairs",
        pairs=((REJO_SVM, REJO_NN), (SVM_1C, MLP_1C), (SVM_2C, MLP_2C)),
        figures=(*_BINARY_SVM, *_BINARY_NN),
    ),
    Claim(
        name="rejoNN is often the best network",
        quote="when restricting the attention to neural network methods, the proposed rejoNN "
        "exhibits often the best performance",
        kind="mean",
        method=REJO_NN,
        rivals=(MLP_1C, MLP_2C),
        figures=(*_BINARY_NN, "16"),
    ),
    Claim(
        name="no ambiguity regions",
        quote="[the proposed framework] does not generate ambiguity regions as the two classifier "
        "approach",
        kind="crossing",
        pairs=((REJO_SVM, SVM_2C), (REJO_NN, MLP_2C), (REJO_SVM, FH_2C), (REJO_NN, FH_MLP_2C)),
        figures=(*_BINARY_SVM, *_BINARY_NN, "16", *_ORDINAL, *_ORDINAL_NN),
    ),
    Claim(
        name="networks on ordered classes",
        quote="[for the multiclass datasets] the NNs portrayed the same relative performance for "
        "the methods under comparison",
        kind="alike",
        parallels=(
            ((REJO_SVM, FH_1C), (REJO_NN, FH_MLP_1C)),
            ((REJO_SVM, FH_2C), (REJO_NN, FH_MLP_2C)),
            ((FH_1C, FH_2C), (FH_MLP_1C, FH_MLP_2C)),
        ),
        figures=(*_ORDINAL, *_ORDINAL_NN),
    ),
)


def label(method: str) -> str:
    """Return the name of a method without its kernel, which is the same within a figure."""
    return method.partition("/")[0]


def choose_figures(names: Iterable[str] | None = None) -> list[PaperFigure]:
    """Return figures by their numbers, in the order of the paper; all by default."""
    wanted = FIGURES if names is None else known("figure", names, FIGURES)
    return [FIGURES[name] for name in wanted]


def methods_by_dataset(figures: Iterable[PaperFigure]) -> dict[str, tuple[str, ...]]:
    """Return the methods to run on each data set for these figures."""
    found: dict[str, dict[str, None]] = {}
    for figure in figures:
        methods = dict.fromkeys((*figure.methods, *figure.beside))
        found.setdefault(figure.dataset, {}).update(methods)
    return {dataset: tuple(methods) for dataset, methods in found.items()}


# ---- the plan ---------------------------------------------------------------------------------


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


class PaperCell(NamedTuple):
    """One method on one split of one data set: a row for each reject cost."""

    dataset: str
    split: str
    share: float
    repetition: int
    method: str  # with its kernel, such as "rejoSVM/poly"


@dataclass(frozen=True)
class PaperStudy:
    """The paper's experiments, or a part of them.

    A method is tuned by cross-validation on one training part, for every reject cost, and tried on
    the test part.
    """

    methods: Mapping[str, tuple[str, ...]] = field(  # to run on each data set
        default_factory=lambda: methods_by_dataset(_FIGURES)
    )
    repetitions: int = REPETITIONS
    shares: tuple[float, ...] = SHARES
    reject_costs: tuple[float, ...] = REJECT_COSTS
    grid: str = "authors"
    seed: int = 0

    KIND: ClassVar[str] = "paper"
    KEY: ClassVar[tuple[str, ...]] = (*PaperCell._fields, "reject_cost")
    OPTIONAL: ClassVar[tuple[str, ...]] = ("crossing_rate",)
    COLUMNS: ClassVar[Mapping[str, type]] = {
        "dataset": str,
        "split": str,
        "share": float,
        "repetition": int,
        "method": str,
        "reject_cost": float,
        "R": float,  # rejection rate
        "E": float,  # error rate, among all points
        "risk": float,  # reject_cost * R + E
        "ordinal_risk": float,  # mean of the loss that grows with the distance of the classes
        "crossing_rate": float,  # of points where boundaries cross; None without boundaries
        "n_train": int,
        "n_test": int,
        "seconds": float,
        "params": str,  # tuned, as JSON
        "code": str,
    }

    def settings(self) -> dict[str, Any]:
        """Return what rows depend on besides their cell."""
        return {"reject_costs": list(self.reject_costs), "grid": self.grid, "seed": self.seed}

    def cells(self) -> Iterator[PaperCell]:
        """Yield all cells, one repetition after another: a partial study compares all methods."""
        for repetition in range(self.repetitions):
            for dataset, methods in self.methods.items():
                for split, share, method in product(DATA[dataset].splits, self.shares, methods):
                    yield PaperCell(dataset, split, share, repetition, method)

    def load(self, dataset: str, data_home: str | None = None) -> Any:
        """Read the table of a data set; ``None`` for synthetic data."""
        from studies.tasks import load

        return load(dataset, data_home)

    def compute(self, cell: PaperCell, table: Any) -> list[Row]:
        """Compute a cell, given the table of its data set."""
        from studies.kernels import KERNEL_METHODS
        from studies.networks import NETWORKS
        from studies.tasks import make_task
        from studies.tuning import row_of

        start = perf_counter()
        grid, costs = GRIDS[self.grid], self.reject_costs
        name, _, kernel = cell.method.partition("/")
        # More threads do not help with such small matrices, and would sum in another order.
        with threadpool_limits(1), warnings.catch_warnings():
            # Points of a grid that do not converge lose by their risk.
            warnings.simplefilter("ignore", ConvergenceWarning)
            task = make_task(cell, table, grid.n_folds, self.seed)
            if kernel:
                tried = KERNEL_METHODS[name](task, costs, grid, kernel)
            else:
                tried = NETWORKS[name](task, costs, grid, seed_of(self.seed, *cell))
        seconds = (perf_counter() - start) / len(costs)
        return [
            {
                **cell._asdict(),
                "reject_cost": w,
                **row_of(result, task.k_test, task.n_classes, w),
                "n_train": len(task.k),
                "n_test": len(task.k_test),
                "seconds": seconds,
                "params": json.dumps(result.params),
            }
            for w, result in zip(costs, tried, strict=True)
        ]
