"""Columns that alone predict the class almost perfectly: often they are known only afterwards.

A column such as ``closed on`` or ``collection fees`` may have been filled in because of the class.
A model that learns from it looks perfect, and is useless for new cases, which lack it.  Each column
is tried alone, on cases that were not used to learn from it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from rejo._typing import Floats, Indices
from rejo.tables.series import as_days, as_words, kind_of

FOLDS = 3
CELLS = 400_000  # in all columns of the sample
MOST_ROWS, FEWEST_ROWS = 20_000, 2_000  # of the sample
FEWEST = 20  # rows: with fewer, a column may separate the classes by chance
BINS = 32  # of numbers, at most, for a first look
PROMISING = 0.4  # merit at the first look
ALMOST = 0.9  # of the way from a guess to perfection
FAR, LEAST = 3.0, 0.2  # mistakes of the best other column: times those of the suspect, and at least


class Alone(NamedTuple):
    """How well a column alone predicts the class."""

    column: str
    accuracy: float  # share of right predictions, the mean over the classes
    merit: float  # 0 for a guess, 1 if all are right


class Leaks(NamedTuple):
    """What each column alone says about the class."""

    columns: list[Alone]  # best first
    suspects: list[Alone]  # almost perfect, and far better than the others
    n_rows: int  # that were used


def find_leaks(X: Any, y: Any, *, groups: Any = None, random_state: int = 0) -> Leaks:
    """Try each column of a DataFrame alone; rows of one group are never learned from and predicted.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from rejo.selection.leaks import find_leaks
    >>> random = np.random.RandomState(0)
    >>> income = random.normal(size=200)
    >>> late = income + random.normal(size=200) < 0
    >>> X = pd.DataFrame({"income": income, "fees": np.where(late, 40 + income, 0)})
    >>> [suspect.column for suspect in find_leaks(X, late).suspects]
    ['fees']
    """
    labels, y = np.unique(np.asarray(y), return_inverse=True)
    K, n = len(labels), len(y)
    if K < 2 or n < FEWEST:
        return Leaks([], [], n)
    random = np.random.RandomState(random_state)
    rows = random.permutation(n)[: int(np.clip(CELLS // X.shape[1], FEWEST_ROWS, MOST_ROWS))]
    y = y[rows]
    fold = _folds(y, None if groups is None else np.asarray(groups)[rows], random)
    found = []
    for name in X.columns:
        levels, ordered = _levels(X[name].iloc[rows])
        binned = _binned(levels) if ordered else levels
        alone = _judge(str(name), _by_counts(binned, y, fold, K), y, K)
        if ordered and alone.merit > PROMISING:
            alone = _judge(str(name), _by_tree(levels, y, fold, K), y, K)
        found.append(alone)
    found.sort(key=lambda alone: -alone.merit)
    return Leaks(found, _suspects(found), len(rows))


def _judge(name: str, predicted: Indices, y: Indices, K: int) -> Alone:
    seen, right = np.bincount(y, minlength=K), np.bincount(y[predicted == y], minlength=K)
    accuracy = float((right[seen > 0] / seen[seen > 0]).mean())
    return Alone(name, accuracy, (accuracy - 1 / K) / (1 - 1 / K))


def _suspects(found: list[Alone]) -> list[Alone]:
    """The columns that stand out.  Where many are good, the problem is easy."""
    best = [alone for alone in found if alone.merit >= ALMOST]
    others = found[len(best) :]
    if not best or len(best) > max(1, len(found) // 3):
        return []
    mistakes = 1 - best[-1].merit
    far = not others or 1 - others[0].merit > max(FAR * mistakes, LEAST)
    return best if far else []


def _folds(y: Indices, groups: Any, random: np.random.RandomState) -> Indices:
    """Fold of each row (n,), with the classes spread evenly; the rows of a group have the same."""
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        folds: Indices = random.randint(FOLDS, size=group.max() + 1)[group]
        return folds
    order = np.lexsort((random.rand(len(y)), y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = np.arange(len(y)) % FOLDS
    return fold


def _levels(column: Any) -> tuple[Indices, bool]:
    """Each distinct value of a column as a number (n,), 0 if missing; and whether in order."""
    kind = kind_of(column)
    if kind == "category":
        return as_words(column).codes + 1, False
    values: Floats = as_days(column) if kind == "date" else column.to_numpy(np.float64)
    _, rank = np.unique(values, return_inverse=True)
    return np.where(np.isnan(values), 0, rank + 1), True


def _binned(levels: Indices) -> Indices:
    """Put numbers into a few bins of about equal size; missing values stay apart."""
    there = np.sort(levels[levels > 0])
    n_bins = int(np.clip(len(levels) // 8, 4, BINS))
    if not len(there) or there[-1] <= n_bins:
        return levels
    edges = np.unique(there[np.arange(1, n_bins) * len(there) // n_bins])
    return np.where(levels > 0, 1 + np.searchsorted(edges, levels, side="right"), 0)


def _by_tree(levels: Indices, y: Indices, fold: Indices, K: int) -> NDArray[np.intp]:
    predicted = np.full(len(y), -1)
    X = levels[:, None].astype(np.float64)
    for f in range(FOLDS):
        train, test = fold != f, fold == f
        tree = DecisionTreeClassifier(
            max_leaf_nodes=4 * K, min_samples_leaf=2, class_weight="balanced", random_state=0
        )
        if test.any() and len(np.unique(y[train])) > 1:
            predicted[test] = tree.fit(X[train], y[train]).predict(X[test])
    return predicted


def _by_counts(levels: Indices, y: Indices, fold: Indices, K: int) -> NDArray[np.intp]:
    n_levels = int(levels.max()) + 1
    counts = np.zeros((FOLDS, n_levels, K))
    np.add.at(counts, (fold, levels, y), 1.0)
    total = counts.sum(axis=0)
    predicted = np.full(len(y), -1)
    for f in range(FOLDS):
        train = total - counts[f]  # (n_levels, K)
        share = train / np.maximum(train.sum(axis=0), 1)
        best = np.where(train.any(axis=1), share.argmax(axis=1), -1)  # -1: a word not seen
        test = fold == f
        predicted[test] = best[levels[test]]
    return predicted
