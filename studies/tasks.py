"""The data of a cell: a training part with its folds, and a test part.

Synthetic data are drawn anew in each repetition: the given share of the paper's sample size for
training, and ``N_TEST`` test points, which make the rates of a repetition nearly exact. Of a table,
a share of the rows, or of the patients, is for training, all others are for testing. Features are
standardised by the training part. The folds are stratified, and respect patients if the split does.
A training part with a fold that has a single class to train on is drawn again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from rejo import datasets
from studies.paper import BY_PATIENT, DATA, PaperCell
from studies.run import Floats, Indices, Mask, seed_of
from studies.tables import fetch

Fold = tuple[Indices, Indices]

N_TEST = 5000
DRAWS = 1000  # attempts to draw a training part with two classes in all folds

MAKERS: dict[str, tuple[Callable[..., Any], int]] = {  # and the size of the paper's sample
    "syntheticI": (datasets.make_synthetic_1, 400),
    "syntheticII": (datasets.make_synthetic_2, 400),
    "syntheticIII": (datasets.make_synthetic_3, 400),
    "syntheticIV": (datasets.make_synthetic_4, 600),
}


class PaperTable(NamedTuple):
    """A real data set."""

    X: Floats  # (n, p)
    k: Indices  # (n,) class
    groups: Indices  # (n,) rows of one group belong together


class Task(NamedTuple):
    """The training part with its folds, and the test part."""

    X: Floats  # (n, p) training part
    k: Indices  # (n,) class, 0..n_classes - 1; some may be missing
    X_test: Floats
    k_test: Indices
    n_classes: int
    folds: list[Fold]


def load(dataset: str, data_home: str | None = None) -> PaperTable | None:
    """Read a table of the data folder; ``None`` for synthetic data."""
    name = DATA[dataset].catalogue
    if name is None:
        return None
    table = fetch(name, data_home, paper=dataset.startswith("bcct"))
    groups = np.arange(len(table.target)) if table.groups is None else np.asarray(table.groups)
    return PaperTable(
        table.data.to_numpy(dtype=np.float64),
        np.unique(np.asarray(table.target), return_inverse=True)[1].astype(np.intp),
        np.unique(groups, return_inverse=True)[1].astype(np.intp),
    )


def make_task(cell: PaperCell, table: PaperTable | None, n_folds: int, seed: int) -> Task:
    """Draw the data of a cell, the same for all methods."""
    for attempt in range(DRAWS):
        key = (seed, cell.dataset, cell.split, cell.share, cell.repetition, attempt)
        rng = RandomState(seed_of("data", *key))
        if table is None:
            X, k, groups, X_test, k_test = _draw(cell, rng)
        else:
            train = _split(cell, table, rng)
            X, k, groups = (part[train] for part in table)
            X_test, k_test = table.X[~train], table.k[~train]
        folds = _folds(k, groups if cell.split == BY_PATIENT else None, n_folds, rng)
        if folds is not None:
            break
    else:
        raise ValueError(
            f"{cell}: {len(k)} points are too few for {n_folds} folds that each have two classes "
            "to train on. Raise the share."
        )
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    X, X_test = (np.ascontiguousarray((part - mean) / deviation) for part in (X, X_test))
    return Task(X, k, X_test, k_test, DATA[cell.dataset].n_classes, folds)


def _draw(cell: PaperCell, rng: RandomState) -> tuple[Any, ...]:
    make, n = MAKERS[cell.dataset]
    X, y = make(round(cell.share * n), random_state=rng)
    X_test, y_test = make(N_TEST, random_state=rng)
    binary = DATA[cell.dataset].n_classes == 2  # classes -1 and 1; the others have 1, 2, ...
    k, k_test = ((part > 0 if binary else part - 1).astype(np.intp) for part in (y, y_test))
    return X, k, np.arange(len(k)), X_test, k_test


def _split(cell: PaperCell, table: PaperTable, rng: RandomState) -> Mask:
    """Rows (n,) of the training part."""
    units = table.groups if cell.split == BY_PATIENT else np.arange(len(table.k))
    n = int(units.max()) + 1
    chosen = rng.permutation(n)[: round(cell.share * n)]
    return np.isin(units, chosen)


def _folds(k: Indices, groups: Indices | None, n: int, rng: RandomState) -> list[Fold] | None:
    """Return the training and test rows of each fold; ``None`` if some fold has one class only."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer points than folds
        try:
            folds = list(kind(n, shuffle=True, random_state=rng).split(k, k, groups))
        except ValueError:  # all classes have fewer
            return None
    enough = all(len(test) and len(np.unique(k[train])) > 1 for train, test in folds)
    return folds if enough else None
