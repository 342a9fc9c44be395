"""Boosted trees as plain arrays: where they come from, and the sums of the leaves that cases reach.

Nodes of all trees stand one after the other.  The children of a node stand behind it, the right one
next to the left.  A case goes left if its value, in single precision, is below the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices

try:
    from rejo.solvers import _trees
except ImportError:  # built without a compiler
    _trees = None  # type: ignore[assignment]

BLOCK = 1 << 15  # rows that walk together without the compiled walk
NODES = ("feature", "threshold", "left", "missing_left", "value", "cover", "category")


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees whose leaves add up to one or several scores; ``N`` nodes, ``T`` trees.

    Attributes
    ----------
    feature : ndarray of int32 of shape (N,)
        Column to split by; -1 at a leaf.
    threshold : ndarray of float32 of shape (N,)
        A case goes left if its value is below this.
    left : ndarray of int32 of shape (N,)
        Left child; the right one is the next node.  0 at a leaf.
    missing_left : ndarray of bool of shape (N,)
        Whether a case without a value goes left.
    value : ndarray of float32 of shape (N,)
        What a leaf adds; 0 at a split.
    cover : ndarray of float32 of shape (N,)
        Weight (sum of the hessians) of the training cases that came here.
    category : ndarray of int32 of shape (N,)
        Where in ``words`` the set of categories that go right begins; -1 at other splits.
    words : ndarray of uint32 of shape (M,)
        Sets of categories: the number of words of 32 bits that follow, then a bit a category.
    roots : ndarray of int64 of shape (T,)
        First node of each tree.
    target : ndarray of int32 of shape (T,)
        Which score the tree adds to.
    n_features : int
        Number of columns that there were to split by.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float32]
    cover: NDArray[np.float32]
    category: NDArray[np.int32]
    words: NDArray[np.uint32]
    roots: NDArray[np.int64]
    target: NDArray[np.int32]
    n_features: int

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """First node of each tree, and the node after its last."""
        return list(pairwise([*self.roots.tolist(), len(self.feature)]))

    @property
    def splits_by_category(self) -> bool:
        """Whether any split is by a set of categories."""
        return bool((self.category >= 0).any())

    @property
    def limit(self) -> Floats:
        """Largest value (N,) that goes left: ``x < t`` in single precision is ``x <= limit``."""
        return np.nextafter(self.threshold, np.float32(-np.inf)).astype(np.float64)

    def some(self, first: int, last: int) -> BoostedTrees:
        """The trees from ``first`` to before ``last``."""
        start, end = self.bounds[first][0], self.bounds[last - 1][1]
        nodes = {name: getattr(self, name)[start:end] for name in NODES}
        nodes["left"] = np.where(nodes["feature"] < 0, 0, nodes["left"] - start).astype(np.int32)
        return BoostedTrees(
            **nodes,
            words=self.words,
            roots=self.roots[first:last] - start,
            target=self.target[first:last],
            n_features=self.n_features,
        )

    def settled(self, feature: int, value: float) -> BoostedTrees:
        """The same trees if a feature has this value: what its splits lead to moves up."""
        place = np.arange(len(self.feature))
        splits = np.flatnonzero(self.feature == feature)
        place[splits] = self.left[splits] + (value > self.limit[splits])
        while (self.feature[place] == feature).any():
            place = place[place]
        left, leaf = self.left[place].astype(np.int64), self.feature[place] < 0
        order, roots = [], [0]
        for root, _ in self.bounds:
            order.append(_breadth_first(left, left + 1, leaf, root))
            roots.append(roots[-1] + len(order[-1]))
        kept = np.concatenate(order)
        moved = np.zeros(len(left), dtype=np.int32)
        moved[kept] = np.arange(len(kept))
        nodes = {name: getattr(self, name)[place[kept]] for name in NODES}
        nodes["left"] = np.where(leaf[kept], 0, moved[left[kept]]).astype(np.int32)
        return replace(self, **nodes, roots=np.array(roots[:-1], dtype=np.int64))

    def gains(self, n_features: int) -> Floats:
        """How far the splits by each feature (n_features,) part what stands below them.

        At a split of cases of weight ``a`` and ``b`` with mean values ``u`` and ``v`` this is
        ``a b / (a + b) (u - v)^2``.
        """
        mean, found = self.value.astype(np.float64), np.zeros(n_features)
        cover = np.maximum(self.cover.astype(np.float64), 1e-30)
        for node in np.flatnonzero(self.feature >= 0)[::-1].tolist():  # children first
            left = int(self.left[node])
            a, b = cover[left], cover[left + 1]
            u, v = mean[left], mean[left + 1]
            mean[node] = (a * u + b * v) / (a + b)
            if self.feature[node] < n_features:
                found[self.feature[node]] += a * b / (a + b) * (u - v) ** 2
        return found


def ready(
    trees: BoostedTrees, n_features: int, n_scores: int, n_known: int | None = None
) -> Walker:
    """Return a walker, the same as long as these trees live; ``known`` is 0, ..., n_known - 1."""
    walkers = _READY.setdefault(trees, {})
    key = n_features, n_scores, n_known
    if key not in walkers:
        known = None if n_known is None else range(n_known)
        walkers[key] = Walker(trees, n_features, n_scores, known)
    return walkers[key]


class Walker:
    """Trees that are ready to be walked: checked, and packed for the compiled walk.

    With ``known``, the trees split by one more feature, after the ``n_features`` of the cases: they
    are walked once for each of these values of it, and there is a score for each.
    """

    def __init__(
        self,
        trees: BoostedTrees,
        n_features: int,
        n_scores: int,
        known: Sequence[float] | None = None,
    ) -> None:
        if (trees.feature >= n_features + (known is not None)).any():
            raise ValueError("a split is by a feature that the cases do not have.")
        self._trees, self._known = trees, [0.0] if known is None else [float(v) for v in known]
        self._each = n_scores if known is None else 1  # scores of a walk
        self._packed: list[Any] = []
        if _trees is not None:
            self._packed = [
                _trees.Trees(
                    trees.feature, trees.threshold, trees.left, trees.missing_left, trees.value,
                    trees.category, trees.words, trees.roots, trees.target, n_features, self._each,
                    value,
                )
                for value in self._known
            ]  # fmt: skip

    def scores(self, X: Any, n_threads: int = 1) -> Floats:
        """Sums (n, n_scores) of the leaves that the rows of ``X`` (n, p) reach.

        ``X`` is an array of floats in C order.
        """
        n = len(X)
        if n_threads == 1 or n < 2 * BLOCK:
            return self._scores(X)
        cuts = [slice(n * i // n_threads, n * (i + 1) // n_threads) for i in range(n_threads)]
        with ThreadPoolExecutor(n_threads) as pool:
            return np.concatenate(list(pool.map(lambda cut: self._scores(X[cut]), cuts)))

    def _scores(self, X: Any) -> Floats:
        found = [np.zeros((len(X), self._each)) for _ in self._known]
        for i, (value, sums) in enumerate(zip(self._known, found, strict=True)):
            if self._packed:
                self._packed[i].add(X, sums)
                continue
            for start in range(0, len(X), BLOCK):
                part = slice(start, start + BLOCK)
                _walk(self._trees, X[part].astype(np.float32), value, sums[part])
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


_READY: WeakKeyDictionary[BoostedTrees, dict[Any, Walker]] = WeakKeyDictionary()


def _walk(trees: BoostedTrees, X: NDArray[np.float32], known: float, sums: Floats) -> None:
    """Add the leaves of all trees to ``sums`` (n, n_scores): the compiled walk in NumPy."""
    n, p = X.shape
    for root, target in zip(trees.roots.tolist(), trees.target.tolist(), strict=True):
        node = np.full(n, root)
        active = np.flatnonzero(trees.feature[node] >= 0)
        while len(active):
            here = node[active]
            column = trees.feature[here]
            x = np.where(column < p, X[active, np.minimum(column, p - 1)], np.float32(known))
            left = x < trees.threshold[here]
            for i in np.flatnonzero(trees.category[here] >= 0).tolist():
                left[i] = not _in_set(trees.words, int(trees.category[here[i]]), float(x[i]))
            left = np.where(np.isnan(x), trees.missing_left[here], left)
            node[active] = trees.left[here] + ~left
            active = active[trees.feature[node[active]] >= 0]
        sums[:, target] += trees.value[node]


def _in_set(words: NDArray[np.uint32], first: int, value: float) -> bool:
    if not 0 <= value < 32 * int(words[first]):
        return False
    word, bit = divmod(int(value), 32)
    return bool(words[first + 1 + word] >> np.uint32(bit) & 1)


def from_xgboost(model: Mapping[str, Any], n_rounds: int) -> tuple[BoostedTrees, Floats]:
    """Trees of the first rounds of an XGBoost model in its JSON form, and its intercepts (scores,).

    The intercepts are what the model calls ``base_score``: a probability for two classes with a
    logistic loss, else scores.
    """
    booster = model["learner"]["gradient_booster"]["model"]
    ends = booster["iteration_indptr"]
    n_trees = ends[min(n_rounds, len(ends) - 1)]
    words: list[int] = []
    roots, columns = [0], []
    for tree in booster["trees"][:n_trees]:
        columns.append(_nodes(tree, roots[-1], words))
        roots.append(roots[-1] + len(columns[-1][0]))
    nodes = dict(zip(NODES, map(np.concatenate, zip(*columns, strict=True)), strict=True))
    base = model["learner"]["learner_model_param"]["base_score"].strip("[]").split(",")
    return (
        BoostedTrees(
            **nodes,
            words=np.array(words, dtype=np.uint32),
            roots=np.array(roots[:-1], dtype=np.int64),
            target=np.array(booster["tree_info"][:n_trees], dtype=np.int32),
            n_features=int(model["learner"]["learner_model_param"]["num_feature"]),
        ),
        np.array(base, dtype=np.float64),
    )


def _nodes(tree: Mapping[str, Any], root: int, words: list[int]) -> tuple[NDArray[Any], ...]:
    """Columns (see NODES) of one tree, in an order in which children are neighbours."""
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    leaf = left < 0
    order = _breadth_first(left, right, leaf)  # without nodes that were pruned
    place = np.zeros(len(left), dtype=np.int64)
    place[order] = np.arange(len(order))
    numbers = np.array(tree["split_conditions"], dtype=np.float32)
    category = np.full(len(left), -1, dtype=np.int32)
    sets = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
    for node, first, size in zip(*sets, strict=True):
        category[node] = len(words)
        words += _bits(tree["categories"][first : first + size])
    columns = (
        np.where(leaf, -1, tree["split_indices"]).astype(np.int32),
        np.where(leaf | (category >= 0), np.float32(0), numbers),
        np.where(leaf, 0, root + place[left]).astype(np.int32),
        np.array(tree["default_left"], dtype=bool),
        np.where(leaf, numbers, np.float32(0)),
        np.maximum(np.array(tree["sum_hessian"], dtype=np.float32), 0),
        category,
    )
    return tuple(column[order] for column in columns)


def _breadth_first(
    left: Indices, right: Indices, leaf: NDArray[np.bool_], root: int = 0
) -> Indices:
    """Nodes below a root in an order in which children are neighbours."""
    order, reached = [root], 0
    while reached < len(order):
        node = order[reached]
        reached += 1
        if not leaf[node]:
            order += [int(left[node]), int(right[node])]
    return np.array(order)


def _bits(categories: Sequence[int]) -> list[int]:
    """A set of categories: the number of words, then the words."""
    found = [0] * (max(categories, default=0) // 32 + 1)
    for category in categories:
        found[category // 32] |= 1 << (category % 32)
    return [len(found), *found]
