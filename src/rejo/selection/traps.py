"""Traps in a table: columns that give the class away, and rows that are copies.

A column such as ``closed on`` may have been filled in because of the class.  Each column is tried
alone, on cases that were not used to learn from it.

A guarantee counts independent cases, and copies of a row are right or wrong together.  Rows of a
table with few different values are often identical by chance, and such cases are independent.
"""

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier

from rejo._typing import Floats, Indices
from rejo.tables import as_days, as_words, kind_of

# Of columns that give the class away.
FOLDS = 3
CELLS = 400_000  # in all columns of the sample
MOST_ROWS, FEWEST_ROWS = 20_000, 2_000  # of the sample
FEWEST = 20  # rows: with fewer, a column may separate the classes by chance
BINS = 32  # of numbers, at most, for a first look
PROMISING = 0.4  # merit at the first look
ALMOST = 0.9  # of the way from a guess to perfection
MOST_CLASSES = 8  # the largest, of which each pair is looked at
FAR, LEAST = 3.0, 0.2  # mistakes of the best other column: times those of the suspect, and at least


class Alone(NamedTuple):
    """How well a column alone predicts the class."""

    column: str
    accuracy: float  # share of right predictions, the mean over the classes
    merit: float  # 0 for a guess, 1 if all are right
    between: str = ""  # two of more classes that it tells apart; empty: all of them


class Leaks(NamedTuple):
    """What each column alone says about the class."""

    columns: list[Alone]  # best first
    suspects: list[Alone]  # almost perfect, and far better than the others
    n_rows: int  # that were used


def find_leaks(X: Any, y: Any, *, groups: Any = None, random_state: int = 0) -> Leaks:
    """Try each column of a DataFrame alone; rows of one group stay together."""
    labels, y = np.unique(np.asarray(y), return_inverse=True)
    K, n = len(labels), len(y)
    if K < 2 or n < FEWEST:
        return Leaks([], [], n)
    sizes = np.bincount(y)
    found = _all_classes(X, y, K, groups, random_state)
    known = {suspect.column for suspect in found.suspects}
    largest = np.argsort(-sizes, kind="stable")[: MOST_CLASSES if K > 2 else 0]
    for i, j in combinations(largest, 2):  # a third class may hide what tells two of them apart
        rows = np.flatnonzero((y == i) | (y == j))
        if min(sizes[i], sizes[j]) < FEWEST:
            continue
        part = None if groups is None else np.asarray(groups)[rows]
        pair = _all_classes(X.iloc[rows], (y[rows] == j).astype(np.intp), 2, part, random_state)
        between = f"{labels[i]} and {labels[j]}"
        new = [s._replace(between=between) for s in pair.suspects if s.column not in known]
        found = found._replace(suspects=[*found.suspects, *new])
        known |= {suspect.column for suspect in new}
    return found


def _all_classes(X: Any, y: Indices, K: int, groups: Any, random_state: int) -> Leaks:
    """Try each column on all rows."""
    n = len(y)
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


# ---- identical rows that chance does not explain --------------------------------------------

SHARE = 0.1  # of the different rows, that occur more than once: fewer hardly matter
FAR_MORE = 1000.0  # times what chance explains; real tables with few values have up to 400
MORE = 10.0  # times, if such rows are nearly always of the same class
SAME = 0.95
FEW = 10  # different rows


class RepeatedRows(UserWarning):
    """Many rows are identical, so cases are not independent."""


def warn_of_repeats(X: Any, y: Indices, groups: Any = None) -> None:
    """Warn if rows are repeated more often than chance explains."""
    if share := repeated_share(X, y, groups):
        warnings.warn(
            f"{100 * share:.0f} % of the rows of X are identical to another row. If these are "
            "copies, or rows of the same person or thing, cases are not independent, and the "
            "guarantee does not hold. Remove the copies, or pass groups= to fit, which says what "
            "belongs together.",
            RepeatedRows,
            stacklevel=4,
        )


def repeated_share(X: Any, y: Indices, groups: Any = None) -> float:
    """Share of the rows that are identical to another; 0 if that may be chance, or hardly matters.

    Identical rows of one group are no problem.  Chance is judged by the share of pairs of rows that
    have the same value in a column, multiplied over the columns, as if these were independent.  A
    table in which every row occurs twice, or another number of times, is a copy whatever it holds.
    """
    y = np.asarray(y)
    rows, chance, varying = np.zeros(len(y), np.intp), 1.0, []
    for column in _columns(X):
        values, code, seen = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) > 1:
            rows = np.unique(rows * len(values) + code, return_inverse=True)[1]
            if rows.max() + 1 == len(rows):  # all differ
                return 0.0
            chance *= _pairs(seen) / _pairs(np.array([len(y)]))
            varying.append(values[np.isfinite(values)])
    if groups is not None:  # one row of each group
        _, group = np.unique(np.asarray(groups), return_inverse=True)
        _, kept = np.unique(np.column_stack([rows, group]), axis=0, return_index=True)
        rows, y = rows[kept], y[kept]
    counts = np.bincount(rows)
    counts = counts[counts > 0]
    if np.mean(counts > 1) <= SHARE:
        return 0.0
    share = float(counts[counts > 1].sum() / len(rows))
    _, of_class = np.unique(np.column_stack([rows, y]), axis=0, return_counts=True)
    if len(counts) >= FEW and np.gcd.reduce(of_class) > 1:  # the whole table, copied
        return share
    if len(varying) == 1:  # chance would be all there is: count values as fine as the closest two
        chance = float(np.diff(varying[0]).min() / np.ptp(varying[0]))
    pairs, n = _pairs(counts), len(rows)
    limit = MORE if _pairs(of_class) >= SAME * pairs else FAR_MORE
    return share if pairs > limit * chance * n * (n - 1) / 2 else 0.0


def _pairs(counts: NDArray[Any]) -> float:
    """Number of pairs within groups of these sizes."""
    size = counts.astype(np.float64)
    return float((size * (size - 1) / 2).sum())


def _columns(X: Any) -> Iterator[Any]:
    """Each column (n,) as numbers; equal where the values are."""
    if issparse(X):
        X = X.tocsc()
        yield from (X[:, [j]].toarray()[:, 0] for j in range(X.shape[1]))
        return
    columns = (X[name] for name in X.columns) if hasattr(X, "columns") else np.asarray(X).T
    for column in map(np.asarray, columns):
        numbers = column.dtype.kind in "biuf"
        yield column if numbers else np.unique(column.astype(str), return_inverse=True)[1] + 0.0
