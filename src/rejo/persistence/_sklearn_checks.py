"""What must hold between the fitted attributes of scikit-learn's classes.

Their compiled code takes shapes and indices as they are.  These functions do for scikit-learn's
classes what ``_check_state`` does for rejo's own; see :mod:`rejo._state`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from rejo._state import STORABLE, require


def check_pipeline(model: Any) -> None:
    """Steps are pairs, fitted if the last one is, and fit to each other; there is no cache."""
    pairs = isinstance(model.steps, list) and all(
        isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        for step in model.steps
    )
    require(pairs and model.steps, model, "steps are malformed")
    # A cache is a folder of pickles: it must not come from a file.
    fine = model.memory is None
    require(fine, model, "memory names a cache of pickles. Use set_params(memory=None)")
    if _is_fitted(model.steps[-1][1]):  # else it is a prototype in a parameter
        for step in _own_steps(model):
            require(_is_fitted(step), step, "it is not fitted")
    for (_, first), (_, second) in pairwise(model.steps):
        widths = getattr(first, "_n_features_out", None), getattr(second, "n_features_in_", None)
        same = None in widths or widths[0] == widths[1]
        require(same, model, "a step and the one after it do not agree in columns")


def _own_steps(model: Pipeline) -> list[Any]:
    """Steps of rejo's own classes, in a pipeline and the pipelines in it."""
    steps = [step for _, step in model.steps]
    inner = [part for step in steps if isinstance(step, Pipeline) for part in _own_steps(step)]
    return [step for step in steps if type(step) in STORABLE.values()] + inner


def _is_fitted(step: Any) -> bool:
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError):
        return False
    return True


def check_tree(tree: Any) -> None:
    """Children lie after their parents, within the tree; splits name features that exist."""
    n = tree.node_count
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    leaf, place = left == -1, np.arange(n)
    inner = (left > place) & (left < n) & (right > place) & (right < n)
    inner &= (feature >= 0) & (feature < tree.n_features)
    require((leaf | inner).all(), tree, "a split leads out of the tree")


def check_decision_tree(model: Any) -> None:
    """The tree has the features and classes of its model."""
    require(isinstance(model.tree_, Tree), model, "it has no tree")
    same = model.tree_.n_features == model.n_features_in_
    same = same and model.tree_.max_n_classes == len(model.classes_)
    require(same, model, "its tree has other features or classes")


def check_forest(model: Any) -> None:
    """The trees have the features and classes of the forest."""
    K = len(model.classes_)
    require((model.n_classes_, model.n_outputs_) == (K, 1), model, "its classes do not agree")
    for tree in model.estimators_:
        same = (
            isinstance(tree, BaseDecisionTree)
            and tree.n_features_in_ == model.n_features_in_
            and len(tree.classes_) == K
        )
        require(same, model, "its trees have other features or classes")


def check_boosted(model: Any) -> None:
    """Trees lead nowhere outside themselves, and their parts agree."""
    p, K = model._n_features, len(model.classes_)
    fine = p == model.n_features_in_ and not getattr(model, "_in_fit", False)
    require(fine and _keeps_columns(model._preprocessor, p), model, "its columns do not agree")
    n_trees = 1 if K == 2 else K
    fine = model.n_trees_per_iteration_ == n_trees and all(
        len(trees) == n_trees for trees in model._predictors
    )
    require(fine, model, "its trees and classes do not agree in number")
    categorical = np.asarray(model._bin_mapper.is_categorical_)
    fine = categorical.shape == (p,) and categorical.dtype in (np.dtype(bool), np.dtype(np.uint8))
    require(fine, model, "its features are malformed")
    for predictor in (tree for trees in model._predictors for tree in trees):
        nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
        fine = (
            isinstance(nodes, np.ndarray)
            and nodes.dtype == PREDICTOR_RECORD_DTYPE
            and nodes.ndim == 1
            and len(nodes) > 0
            and all(
                isinstance(bits, np.ndarray)
                and bits.dtype == np.uint32
                and bits.shape == (len(sets), 8)
                for bits in (sets, predictor.binned_left_cat_bitsets)
            )
        )
        require(fine, model, "a tree is malformed")
        inner = nodes[nodes["is_leaf"] == 0]
        place = np.flatnonzero(nodes["is_leaf"] == 0)
        ahead = [(inner[k] > place) & (inner[k] < len(nodes)) for k in ("left", "right")]
        split = (inner["feature_idx"] >= 0) & (inner["feature_idx"] < p)
        require((ahead[0] & ahead[1] & split).all(), model, "a split leads out of its tree")
        sorts = inner[inner["is_categorical"] != 0]
        known = (sorts["bitset_idx"] < len(sets)) & (categorical[sorts["feature_idx"]] != 0)
        require(known.all(), model, "a split refers to categories that do not exist")


def _keeps_columns(step: Any, n_columns: int) -> bool:
    """Return whether what encodes the categories of a boosting puts out a column for each."""
    if step is None:
        return True
    parts = [(type(part), where) for _, part, where in step.transformers_ if part != "drop"]
    masks = np.array([where for _, where in parts])
    return (
        isinstance(step, ColumnTransformer)
        and [kind for kind, _ in parts] == [OrdinalEncoder, FunctionTransformer]
        and masks.dtype == bool
        and masks.shape == (2, n_columns)
        and bool((masks[0] != masks[1]).all())
    )


def check_libsvm(model: Any) -> None:
    """Support vectors, coefficients and features agree in number and type."""
    K, n = len(model.classes_), len(model.support_)
    vectors, dual = model.support_vectors_, model._dual_coef_
    pairs = K * (K - 1) // 2
    names = ("support_", "_n_support", "_intercept_", "_probA", "_probB")
    arrays = [getattr(model, name, np.empty(0)) for name in names]
    fine = all(isinstance(a, np.ndarray) and a.ndim == 1 for a in arrays) and K >= 2
    require(fine and isinstance(model.kernel, str), model, "it is malformed")
    support, counts, intercept, A, B = arrays
    agree = (
        counts.shape == (K,)
        and counts.dtype == support.dtype == np.int32
        and (counts >= 0).all()
        and counts.sum() == n
        and (support >= 0).all()
        and (support < model.shape_fit_[0]).all()
        and intercept.shape == (pairs,)
        and A.shape == B.shape
        and A.size in (0, pairs)
        and dual.shape == (K - 1, n)
        and type(model._sparse) is bool
        and model._sparse == issparse(dual) == issparse(vectors)
        and (not issparse(dual) or dual.nnz == (K - 1) * n)
        and (model.kernel == "precomputed" or vectors.shape == (n, model.n_features_in_))
    )
    require(agree, model, "support vectors, coefficients and features do not agree in number")
    numbers = [v.data if issparse(v) else v for v in (vectors, dual)]
    fine = all(a.dtype == np.float64 for a in (*numbers, intercept, A, B))
    require(fine, model, "its numbers are not of type float64")
