"""Pulls of a sum of trees, by the numbers of training cases in their nodes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rejo._typing import Floats, Indices

BLOCK = 1 << 21  # numbers in an array at a time
LEAST_SHARE = 1e-9


class SplitTree(NamedTuple):
    """A tree of ``n`` nodes, the root first; a leaf has the feature -1."""

    feature: Indices  # (n,) column to split by
    threshold: Floats  # (n,) a case goes left if its value is at most this
    missing_left: NDArray[np.bool_]  # (n,) or if it is missing, and this is set
    left: Indices  # (n,)
    right: Indices  # (n,)
    value: Floats  # (n, K) what a leaf adds to each of K scores
    weight: Floats  # (n,) training cases that reached the node


class Leaves(NamedTuple):
    """Leaves and their paths, all in flat arrays.

    A *step* is a split on the way to a leaf, and a *part* are all steps of one feature there.
    """

    value: Floats  # (leaves, K)
    first_part: Indices  # (leaves,) index of its first part
    feature: Indices  # (parts,)
    share: Floats  # (parts,) of the cases that would go on to the leaf, if it is not known
    first_step: Indices  # (parts,) index of its first step
    split: Indices  # (steps,) index of the split
    goes_left: NDArray[np.bool_]  # (steps,)
    column: Indices  # (splits,)
    threshold: Floats  # (splits,)
    missing_left: NDArray[np.bool_]  # (splits,)


def tree_pulls(trees: Sequence[SplitTree], Z: Floats, owner: Indices, m: int) -> Floats:
    """Shapley values (n, m, K) of ``m`` features for the sum of trees at cases ``Z`` (n, p).

    A split by an unknown feature sends a case both ways, in the proportions of training
    ("path-dependent" TreeSHAP; Lundberg et al. 2020).  ``owner`` (p,) is the feature of each
    column: columns of one feature become known together.

    Let ``o_i`` be 1 if the case passes the steps of feature ``i`` on the way to a leaf, and ``z_i``
    the share that passes them if the feature is not known.  A leaf is a product, and the Shapley
    value of a product is an integral over the probability ``t`` that a feature is known already,

        value x (o_i - z_i) int_0^1 prod_{j != i} (t o_j + (1 - t) z_j) dt,

    of a polynomial, for which Gauss's quadrature is exact.
    """
    n, K = len(Z), trees[0].value.shape[1]
    pulls = np.zeros((n, m, K))
    for leaves in _gathered(trees, owner):
        step = max(1, BLOCK // max(len(leaves.feature), len(leaves.split)))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            pulls[rows] += _block_pulls(leaves, Z[rows], m)
    return pulls


def walk_pulls(trees: Sequence[SplitTree], Z: Floats, owner: Indices, m: int) -> Floats:
    """Pulls (n, m, K) by how far each split moves the mean of its node (Saabas 2014).

    It is one walk down each tree: cheaper than :func:`tree_pulls`, and less exact, as a split high
    up counts for less than the same split further down.
    """
    n, K = len(Z), trees[0].value.shape[1]
    pulls = np.zeros((n, m, K))
    for tree in trees:
        means = _node_means(tree)
        node = np.zeros(n, dtype=np.intp)
        active = np.flatnonzero(tree.feature[node] >= 0)
        while len(active):
            here = node[active]
            column = tree.feature[here]
            left = _goes_left(Z[active, column], tree.threshold[here], tree.missing_left[here])
            there = np.where(left, tree.left[here], tree.right[here])
            pulls[active, owner[column]] += means[there] - means[here]
            node[active] = there
            active = active[tree.feature[there] >= 0]
    return pulls


def n_steps(trees: Iterable[SplitTree]) -> int:
    """Number of steps to all leaves: what :func:`tree_pulls` of a case costs."""
    return sum(int(_depths(tree)[tree.feature < 0].sum()) for tree in trees)


def _goes_left(
    values: Floats, threshold: Floats, missing_left: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    return (values <= threshold) | (np.isnan(values) & missing_left)


def _block_pulls(leaves: Leaves, Z: Floats, m: int) -> Floats:
    """Pulls (n, m, K) of a few cases by a few leaves; arrays are (parts, n) and (leaves, n)."""
    at = Z[:, leaves.column].T
    left = _goes_left(at, leaves.threshold[:, None], leaves.missing_left[:, None])
    passed = left[leaves.split] == leaves.goes_left[:, None]  # (steps, n)
    known = np.logical_and.reduceat(passed, leaves.first_step, axis=0)  # (parts, n)
    sizes = np.diff([*leaves.first_part, len(leaves.feature)])
    leaf = np.repeat(np.arange(len(sizes)), sizes)  # (parts,)
    share = leaves.share[:, None]
    total = np.zeros(known.shape)
    nodes, weights = np.polynomial.legendre.leggauss((int(sizes.max()) + 1) // 2)
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        factor = (1 - t) * share + t * known
        product = np.multiply.reduceat(factor, leaves.first_part, axis=0)  # (leaves, n)
        total += weight * product[leaf] / factor
    total *= known - share
    K = leaves.value.shape[1]
    parts = np.arange(len(leaf))
    pulls = np.empty((len(Z), m, K))
    for k in range(K):
        spread = csr_matrix((leaves.value[leaf, k], (leaves.feature, parts)), (m, len(parts)))
        pulls[:, :, k] = (spread @ total).T
    return pulls


def _gathered(trees: Sequence[SplitTree], owner: Indices) -> Iterator[Leaves]:
    """Leaves of a few trees at a time, so that a block of cases fits into memory."""
    paths = _Paths(owner)
    for tree in trees:
        paths.add(tree)
        if len(paths.steps) > BLOCK // 64:
            yield paths.as_arrays()
            paths = _Paths(owner)
    if paths.values:
        yield paths.as_arrays()


class _Paths:
    """Lists that grow with each tree, to become :class:`Leaves`."""

    def __init__(self, owner: Indices) -> None:
        self.owner = owner
        self.values: list[Floats] = []
        self.first_part: list[int] = []
        self.parts: list[tuple[int, float, int]] = []  # feature, share, first step
        self.steps: list[tuple[int, bool]] = []
        self.splits: list[tuple[Indices, Floats, NDArray[np.bool_]]] = []
        self.n_splits = 0

    def add(self, tree: SplitTree) -> None:
        """Walk down to all leaves; a tree of a single leaf pulls nowhere."""
        if tree.feature[0] < 0:
            return
        before, self.n_splits = self.n_splits, self.n_splits + len(tree.feature)
        self.splits.append((np.maximum(tree.feature, 0), tree.threshold, tree.missing_left))
        stack: list[tuple[int, dict[int, tuple[float, tuple[tuple[int, bool], ...]]]]] = [(0, {})]
        while stack:
            node, passed = stack.pop()
            if tree.feature[node] < 0:
                self.values.append(tree.value[node])
                self.first_part.append(len(self.parts))
                for feature, (share, steps) in passed.items():
                    self.parts.append((feature, share, len(self.steps)))
                    self.steps.extend(steps)
                continue
            feature = int(self.owner[tree.feature[node]])
            share, steps = passed.get(feature, (1.0, ()))
            total = max(float(tree.weight[[tree.left[node], tree.right[node]]].sum()), LEAST_SHARE)
            for child, left in ((int(tree.left[node]), True), (int(tree.right[node]), False)):
                # Cases without weight may leave a node empty; 0 would divide 0 by 0.
                part = max(float(tree.weight[child] / total), LEAST_SHARE)
                on = (share * part, (*steps, (before + node, left)))
                stack.append((child, {**passed, feature: on}))

    def as_arrays(self) -> Leaves:
        features, shares, first_steps = zip(*self.parts, strict=True)
        splits, left = zip(*self.steps, strict=True)
        columns, thresholds, missing = zip(*self.splits, strict=True)
        return Leaves(
            value=np.array(self.values),
            first_part=np.array(self.first_part),
            feature=np.array(features),
            share=np.array(shares),
            first_step=np.array(first_steps),
            split=np.array(splits),
            goes_left=np.array(left),
            column=np.concatenate(columns),
            threshold=np.concatenate(thresholds),
            missing_left=np.concatenate(missing),
        )


def _node_means(tree: SplitTree) -> Floats:
    """Mean value (n, K) of the leaves below each node, by their weights."""
    means = tree.value.astype(np.float64)
    inner = np.flatnonzero(tree.feature >= 0)
    for node in inner[np.argsort(-_depths(tree)[inner], kind="stable")]:
        children = [tree.left[node], tree.right[node]]
        weight = np.maximum(tree.weight[children], LEAST_SHARE)
        means[node] = weight @ means[children] / weight.sum()
    return means


def _depths(tree: SplitTree) -> Indices:
    """Number of splits (n,) above each node."""
    depth = np.zeros(len(tree.feature), dtype=np.intp)
    nodes = np.array([0])
    while len(nodes := nodes[tree.feature[nodes] >= 0]):
        below = np.concatenate([tree.left[nodes], tree.right[nodes]])
        depth[below] = np.tile(depth[nodes] + 1, 2)
        nodes = below
    return depth
