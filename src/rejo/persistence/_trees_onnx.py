"""Forests and boosted trees as a part of an ONNX graph, with the thresholds in double precision."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rejo.solvers import BoostedTrees

SUM, NO_TRANSFORM, AT_MOST = 1, 0, 0  # how ONNX numbers them


class Tree(NamedTuple):
    """A binary tree: at an inner node, go left iff ``x[feature] <= threshold``."""

    feature: Any  # (n_nodes,)
    threshold: Any
    left: Any
    right: Any
    missing_left: Any  # whether a missing value goes left
    leaf: Any  # whether the node is one
    value: Any
    target: int = 0  # column of the sum that the leaves add to


def forest(model: Any, graph: Any, X: str) -> str:
    """Posteriors (n, K): the mean of those of the trees, which look at 32-bit floats."""
    K = len(model.classes_)
    members = getattr(model, "estimators_", [model])  # a forest, or a single tree
    columns = [1] if K == 2 else range(K)
    trees = (
        Tree(
            t.feature, t.threshold, t.children_left, t.children_right,
            t.missing_go_to_left, t.children_left < 0, t.value[:, 0, k] / len(members), j,
        )
        for t in (member.tree_ for member in members)
        for j, k in enumerate(columns)
    )  # fmt: skip
    X = graph.cast(graph.cast(X, "FLOAT"), "DOUBLE")
    p = sum_of_trees(graph, X, trees, len(columns))
    return str(graph.two_columns(p)) if K == 2 else p


def boosting_scores(model: Any, graph: Any, X: str) -> str:
    """Scores (n, 1) of two classes, or (n, K): the baseline and the sum of the trees."""
    if model._preprocessor is not None or model._bin_mapper.is_categorical_.any():
        raise ValueError(
            "to_onnx exports a HistGradientBoostingClassifier of numbers only; this one splits by "
            "categories. Encode them before it, for example by a OneHotEncoder."
        )
    trees = (
        Tree(
            t["feature_idx"], t["num_threshold"], t["left"], t["right"],
            t["missing_go_to_left"], t["is_leaf"] != 0, t["value"], k,
        )
        for stage in model._predictors
        for k, t in enumerate(tree.nodes for tree in stage)
    )  # fmt: skip
    total = sum_of_trees(graph, X, trees, model.n_trees_per_iteration_)
    return str(graph.add("Add", total, model._baseline_prediction.reshape(1, -1)))


def boosting(model: Any, graph: Any, X: str) -> str:
    return str(graph.from_logits(boosting_scores(model, graph, X), len(model.classes_)))


def boosted(graph: Any, X: str, trees: BoostedTrees, n_targets: int) -> str:
    """Sums (n, n_targets) of trees that compare in single precision."""
    X = graph.cast(graph.cast(X, "FLOAT"), "DOUBLE")
    return sum_of_trees(graph, X, _as_trees(trees), n_targets)


def _as_trees(trees: BoostedTrees) -> Iterator[Tree]:
    leaf, limit = trees.feature < 0, trees.limit
    for (first, end), target in zip(trees.bounds, trees.target.tolist(), strict=True):
        part = slice(first, end)
        left = trees.left[part] - first
        yield Tree(
            np.where(leaf, 0, trees.feature)[part], limit[part], left, left + 1,
            trees.missing_left[part], leaf[part], trees.value[part], target,
        )  # fmt: skip


def sum_of_trees(graph: Any, X: str, trees: Iterable[Tree], n_targets: int) -> str:
    """Add a node for the sums (n, n_targets) of the leaves that each row falls into."""
    columns: list[tuple[Any, ...]] = []
    roots, n_nodes, n_leaves = [], 0, 0
    for tree in map(_with_a_split, trees):
        leaf, inner = tree.leaf, ~tree.leaf
        # Inner nodes and leaves are numbered apart, over all trees.
        place = np.where(leaf, n_leaves + leaf.cumsum(), n_nodes + inner.cumsum()) - 1
        left, right = tree.left[inner], tree.right[inner]
        columns.append((
            tree.feature[inner], tree.threshold[inner], tree.missing_left[inner] != 0,
            place[left], leaf[left], place[right], leaf[right],
            np.full(leaf.sum(), tree.target), tree.value[leaf],
        ))  # fmt: skip
        roots.append(n_nodes)
        n_nodes, n_leaves = n_nodes + len(left), n_leaves + int(leaf.sum())
    values = [np.concatenate(column) for column in zip(*columns, strict=True)]
    tables = dict(zip(TABLES, values, strict=True))
    tensors = {
        "nodes_modes": np.full(n_nodes, AT_MOST, dtype=np.uint8),
        "nodes_splits": tables.pop("nodes_splits").astype(np.float64),
        "leaf_weights": tables.pop("leaf_weights").astype(np.float64),
    }
    make = graph.onnx.numpy_helper.from_array
    return str(
        graph.add(
            "TreeEnsemble",
            X,
            domain="ai.onnx.ml",
            aggregate_function=SUM,
            post_transform=NO_TRANSFORM,
            n_targets=n_targets,
            tree_roots=roots,
            **{name: column.astype(np.int64).tolist() for name, column in tables.items()},
            **{name: make(tensor, name) for name, tensor in tensors.items()},
        )
    )


TABLES = (
    "nodes_featureids", "nodes_splits", "nodes_missing_value_tracks_true",
    "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs",
    "leaf_targetids", "leaf_weights",
)  # fmt: skip


def _with_a_split(tree: Tree) -> Tree:
    """The tree itself; one that is a single leaf gets a split with this leaf on both sides."""
    if len(tree.leaf) > 1:
        return tree
    zero = np.zeros(2, dtype=np.int64)
    leaf, child = np.array([False, True]), np.array([1, 0])
    value = np.append(0.0, tree.value)
    return Tree(zero, zero.astype(np.float64), child, child, zero, leaf, value, tree.target)
