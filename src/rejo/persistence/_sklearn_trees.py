"""Trees, forests and boosted trees of scikit-learn in a model file."""

from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from rejo._state import LARGEST, SHARED, Must, each, floats, is_tree, part, require
from rejo.persistence._sklearn_steps import CLASSES, FEATURES

ENCODE_BEFORE = "Encode categories before the model, e.g. with rejo.tables.TableEncoder"

# ---- sklearn.tree ----------------------------------------------------------------------------

TREE = {**FEATURES, **CLASSES, "tree_": part(Tree)}


def check_tree(tree: Any) -> None:
    """Every row comes to a leaf, within the tree, and finds the shares of the classes there.

    Compiled code follows ``left_child`` and ``right_child`` and reads column ``feature`` of a row
    without a look at the bounds: children lie after their parents and within the tree.  No node
    has two parents, or ``why``, which goes every way, would never end.
    """
    # capacity is the number of nodes that have memory; node_count is what the file says.
    n, K = tree.node_count, int(tree.max_n_classes)
    fine = 0 < n == tree.capacity and tree.n_outputs == 1 and tree.n_features >= 1 and K >= 1
    fine = fine and tree.n_classes.tolist() == [K] and 0 <= tree.max_depth < n
    require(fine, tree, "its sizes do not agree")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    place, leaf = np.arange(n), left == -1
    ahead = (left > place) & (left < n) & (right > place) & (right < n)
    known = (feature >= 0) & (feature < tree.n_features)
    fine = np.where(leaf, right == -1, ahead & known)
    require(fine.all(), tree, "a split leads out of the tree")
    require(is_tree(left[~leaf], right[~leaf], n), tree, SHARED)
    # Infinite: only rows without a value go to the right.
    limits = tree.threshold
    fine = (np.abs(limits) <= LARGEST) | ((limits == np.inf) & ~leaf)
    require(fine.all(), tree, "a threshold is not a number")
    require((tree.missing_go_to_left <= 1).all(), tree, "the way of missing values is unknown")
    shares = tree.value[:, 0, :]  # (n_nodes, n_classes)
    fine = (shares >= 0).all() and (np.abs(shares.sum(axis=1) - 1) < 1e-6).all()
    if K == 1:  # of a regressor, such as those of an IsolationForest, which the caller trusts
        fine = (np.abs(shares) <= LARGEST).all()
    require(fine, tree, "its nodes do not hold shares of the classes")
    counts = tree.n_node_samples, tree.weighted_n_node_samples, tree.impurity
    fine = all(((c >= -1e-6) & (c <= LARGEST)).all() for c in counts)
    require(fine, tree, "its counts are malformed")


def check_decision_tree(model: Any) -> None:
    """The tree has the features and classes of its model, so it reads within the rows."""
    same = model.tree_.n_features == model.n_features_in_
    same = same and model.tree_.max_n_classes == len(model.classes_)
    require(same, model, "its tree has other features or classes")


def restore_decision_tree(model: Any) -> None:
    """Set the numbers of outputs and classes, and that of features, which only a fit uses."""
    model.n_outputs_, model.n_classes_ = 1, np.int64(len(model.classes_))
    model.max_features_ = model.n_features_in_


# ---- forests ---------------------------------------------------------------------------------

FOREST = {**FEATURES, **CLASSES, "estimators_": each(part(DecisionTreeClassifier))}


def check_forest(model: Any) -> None:
    """The trees have the features and classes of the forest: their posteriors (n, K) are added."""
    p, K = model.n_features_in_, len(model.classes_)
    fine = 0 < len(model.estimators_) <= model.n_estimators <= 1 << 31
    require(fine, model, "n_estimators is not the number of its trees")
    for tree in model.estimators_:
        # They see the classes as numbers.
        same = tree.n_features_in_ == p and np.array_equal(tree.classes_, np.arange(K))
        require(same, model, "its trees have other features or classes")


def restore_forest(model: Any) -> None:
    """Set the numbers of outputs and classes, and the tree that the next fit copies."""
    model.n_outputs_, model.n_classes_ = 1, len(model.classes_)
    model.estimator_ = model.estimator


# ---- boosted trees ---------------------------------------------------------------------------


def _is_nodes(value: Any, sizes: Any) -> bool:
    fine = type(value) is np.ndarray and value.dtype == PREDICTOR_RECORD_DTYPE
    return fine and value.ndim == 1 and len(value) > 0 and value.flags.c_contiguous


PREDICTOR = {"nodes": Must("the nodes of a tree", _is_nodes)}


def check_predictor(predictor: Any) -> None:
    """Every row comes to a leaf, within the tree; the model checks the features.

    Compiled code follows ``left`` and ``right``, reads column ``feature_idx`` of a row, and looks
    categories up in row ``bitset_idx`` of two tables.  No split is by category.
    """
    nodes = predictor.nodes
    n, place, leaf = len(nodes), np.arange(len(nodes)), nodes["is_leaf"] == 1
    ahead = [(nodes[side] > place) & (nodes[side] < n) for side in ("left", "right")]
    fine = leaf | ((nodes["is_leaf"] == 0) & ahead[0] & ahead[1])
    require(fine.all(), predictor, "a split leads out of its tree")
    require(is_tree(nodes["left"][~leaf], nodes["right"][~leaf], n), predictor, SHARED)
    by_category = (nodes["is_categorical"] != 0) | (nodes["bitset_idx"] != 0)
    require(not by_category.any(), predictor, f"a split is by category. {ENCODE_BEFORE}")
    fine = (nodes["missing_go_to_left"] <= 1) & (nodes["depth"] < n) & (nodes["feature_idx"] >= 0)
    for name in ("value", "gain"):
        fine &= np.abs(nodes[name]) <= LARGEST
    # Infinite: only rows without a value go to the right.
    limits = nodes["num_threshold"]
    fine &= (np.abs(limits) <= LARGEST) | ((limits == np.inf) & ~leaf)
    require(fine.all(), predictor, "a node is malformed")


def restore_predictor(predictor: Any) -> None:
    """There are no categories."""
    predictor.raw_left_cat_bitsets = np.zeros((0, 8), dtype=np.uint32)
    predictor.binned_left_cat_bitsets = np.zeros((0, 8), dtype=np.uint32)


BOOSTING = {
    **FEATURES,
    **CLASSES,
    "_preprocessor": Must(f"none. {ENCODE_BEFORE}", lambda value, sizes: value is None),
    "_baseline_prediction": floats(1, "scores"),
    "_predictors": each(each(part(TreePredictor), "scores")),
}


def check_boosting(model: Any) -> None:
    """Splits are by features that the model has, which compiled code reads by their number.

    Each stage has a tree for each column of the scores.
    """
    p = model.n_features_in_
    trees = [tree for stage in model._predictors for tree in stage]
    require(trees, model, "it has no trees")
    fine = all((tree.nodes["feature_idx"] < p).all() for tree in trees)
    require(fine, model, "a split is by a feature that it does not have")


def restore_boosting(model: Any) -> None:
    """Set what follows from the classes and features: the loss, and that none is a category."""
    p, K = model.n_features_in_, len(model.classes_)
    model._n_features, model.n_trees_per_iteration_ = p, 1 if K == 2 else K
    model._loss = model._get_loss(sample_weight=None)
    model.is_categorical_ = model._is_categorical_remapped = None
    model.do_early_stopping_, model._scorer = False, None
    model.train_score_, model.validation_score_ = np.zeros(0), np.zeros(0)
    model._bin_mapper = _BinMapper(n_bins=model.max_bins + 1)
    model._bin_mapper.is_categorical_ = np.zeros(p, dtype=np.uint8)
    model._bin_mapper.bin_thresholds_ = []  # read for categories only
