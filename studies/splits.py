"""One random split of a table: a training part with its folds, and a test part, as numbers.

The training part is at most 60 % of a table and at most a given number of rows, stratified by
class. Rows that belong together, such as those of a patient, are never separated: not by the
split, not by the folds for tuning, and not by the folds in which a method chooses its own cut-offs
or calibrates its scores (:class:`GroupFolds`).

Columns are encoded as ``rejo train`` does it. What the encoder learns, it learns from the rows to
train on: of a fold for the choice of parameters, of the training part for the final fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, train_test_split

from rejo.catalogue import ProblemSize
from rejo.selection import Fold
from rejo.tables import TableEncoder
from studies.run import Floats, Indices, seed_of
from studies.suite import SuiteTable

SHARE = 0.6  # of a table, at most, to train on
DRAWS = 200  # attempts to draw a training part with all classes in all folds


class Part(NamedTuple):
    """Rows to train on and rows to judge, encoded."""

    X: Floats
    y: Indices
    X_test: Floats
    y_test: Indices

    @property
    def fold(self) -> Fold:
        """The same, to be fitted and judged."""
        return Fold(self.X, self.y, None, self.X_test)


class Parts(NamedTuple):
    """A training part with its folds, and a test part."""

    X: Any  # DataFrame: the training part as it was read
    y: Indices  # (n_train,)
    groups: Indices | None  # (n_train,)
    X_test: Any  # DataFrame
    y_test: Indices
    splits: list[tuple[Indices, Indices]]  # folds of the training part
    folds: list[Part]  # the same, encoded
    whole: Part  # both parts, encoded
    problem: ProblemSize


class GroupFolds:
    """A splitter that keeps groups together, for classifiers that only know ``split(X, y)``.

    It knows the groups of some training parts by their rows. The groups of one class, by their
    first row, are dealt out to the folds in turn.
    """

    def __init__(self, n_folds: int = 5) -> None:
        self.n_folds = n_folds
        self._groups: dict[bytes, Indices] = {}

    def add(self, X: Any, groups: Indices) -> None:
        """Remember the groups (n,) of these rows."""
        self._groups[_digest(X)] = groups

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield the rows to train on and those held out, for each fold."""
        _, first, group = np.unique(
            self._groups[_digest(X)], return_index=True, return_inverse=True
        )
        fold = np.empty(len(first), dtype=np.intp)
        order = np.lexsort((first, np.asarray(y)[first]))
        fold[order] = np.arange(len(first)) % self.n_folds
        for f in range(self.n_folds):
            held = fold[group] == f
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_folds

    def __sklearn_clone__(self) -> GroupFolds:
        return self  # it knows rows, which are the same for all clones


def make_parts(
    table: SuiteTable, key: tuple[Any, ...], ordered: bool, n_train: int, n_test: int, n_folds: int
) -> Parts:
    """Draw a split, which depends only on the table, the key and the sizes."""
    n_classes = int(table.y.max()) + 1
    for attempt in range(DRAWS):
        seed = seed_of("split", *key, attempt)
        train, test = _draw(table, n_train, n_test, seed)
        y, groups = table.y[train], None if table.groups is None else table.groups[train]
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        folds = kind(n_folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer cases than folds
            splits = list(folds.split(np.zeros(len(y)), y, groups))
        if all(_enough(y[part], None if groups is None else groups[part], n_classes)
               for part, _ in splits):  # fmt: skip
            break
    else:
        raise ValueError(
            f"no split of {len(y)} rows was found whose {n_folds} folds have two cases of each "
            "class to learn from. Raise n_train."
        )
    X, X_test, y_test = table.X.iloc[train], table.X.iloc[test], table.y[test]
    encoded = [_encoded(X.iloc[a], y[a], X.iloc[b], y[b]) for a, b in splits]
    whole = _encoded(X, y, X_test, y_test)
    problem = ProblemSize(n_classes, whole.X.shape[1], len(y), seed_of(*key), ordered)
    return Parts(X, y, groups, X_test, y_test, splits, encoded, whole, problem)


def group_folds(parts: Parts) -> GroupFolds | None:
    """Folds for the methods' own use that keep groups together; ``None`` without groups."""
    if parts.groups is None:
        return None
    found = GroupFolds()
    found.add(parts.whole.X, parts.groups)
    for fold, (train, _) in zip(parts.folds, parts.splits, strict=True):
        found.add(fold.X, parts.groups[train])
    return found


def _draw(table: SuiteTable, n_train: int, n_test: int, seed: int) -> tuple[Indices, Indices]:
    """Rows to train on and to test on, ascending."""
    y = table.y
    groups = np.arange(len(y)) if table.groups is None else table.groups
    names, first, group, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    share, units = min(SHARE, n_train / len(y)), np.arange(len(names))
    inside, others = train_test_split(
        units, train_size=int(share * len(units)), stratify=y[first], random_state=seed
    )
    others = others[np.cumsum(sizes[others]) <= n_test]  # they are shuffled
    return np.flatnonzero(np.isin(group, inside)), np.flatnonzero(np.isin(group, others))


def _enough(y: Indices, groups: Indices | None, n_classes: int) -> bool:
    """Return whether two cases, of two groups, of each class are there to learn from."""
    units = np.arange(len(y)) if groups is None else groups
    return all(len(np.unique(units[y == k])) >= 2 for k in range(n_classes))


def _encoded(X: Any, y: Indices, X_test: Any, y_test: Indices) -> Part:
    encoder = TableEncoder().fit(X)
    return Part(encoder.transform(X), y, encoder.transform(X_test), y_test)


def _digest(X: Any) -> bytes:
    return blake2b(np.ascontiguousarray(X, dtype=np.float64).tobytes(), digest_size=16).digest()
