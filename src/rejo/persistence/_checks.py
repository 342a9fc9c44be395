"""What must hold between the parts of a model before it may predict.

Compiled code of rejo, scikit-learn and SciPy takes shapes and indices as they are.  A file whose
types are all trusted could still make it read what is not its own, or decide nonsense quietly:
here every such part of a loaded model is compared with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._forest import ForestClassifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from rejo.baselines._machine import BinaryKernelMachine
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.pairs import TwoClassifierReject
from rejo.baselines.threshold import ThresholdRejectClassifier
from rejo.estimators.base import RejectClassifier
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.svm import RejoSVC
from rejo.persistence._errors import ModelFileError
from rejo.selection._expected import Expected
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.svm_cv import RejoSVCCV
from rejo.tables import TableEncoder
from rejo.tables._columns import n_levels, width
from rejo.tables._dates import FORMATS
from rejo.tables._words import LARGEST


def check_model(model: Any) -> None:
    """Refuse a model whose parts do not agree."""
    decider = rejecting_part(model)
    check_is_fitted(decider)
    for part in _parts(model):
        for kind, check in CHECKS:
            if isinstance(part, kind):
                check(part)
        if issparse(part):
            _check_sparse(part)


def rejecting_part(model: Any) -> Any:
    """Return the classifier with the reject option: the model, or the last step of a pipeline."""
    last = model
    while isinstance(last, Pipeline) and isinstance(last.steps, list) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, RejectClassifier):
        name = type(model).__name__
        advice = "Use a classifier of rejo, or a pipeline that ends in one"
        if hasattr(model, "best_estimator_"):
            advice = f"Save the best_estimator_ of the {name}"
        raise ModelFileError(f"the model is a {name}, which has no reject option. {advice}")
    return last


def _parts(root: Any) -> Iterator[Any]:
    """Everything in a model, each once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        part = stack.pop()
        if id(part) in seen or isinstance(part, (str, bytes, int, float, type, type(None))):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, np.ndarray):
            stack.extend(part.ravel().tolist() if part.dtype == object else ())
        elif isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, (list, tuple, set)):
            stack.extend(part)
        elif not issparse(part):
            stack.extend(getattr(part, "__dict__", {}).values())


def _require(holds: Any, part: Any, what: str) -> None:
    if not holds:
        raise ModelFileError(f"{type(part).__name__}: {what}")


def _is_floats(value: Any, ndim: int) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == ndim
        and bool(np.isfinite(value).all())
    )


# ---- rejo ---------------------------------------------------------------------------------


def _check_rejecting(model: RejectClassifier) -> None:
    if not hasattr(model, "classes_"):
        return  # the unfitted prototype in a parameter
    classes = model.classes_
    fine = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2
    _require(fine, model, "classes_ is not an array of two classes or more")
    labels = classes.tolist()
    _require(len(set(labels)) == len(labels), model, "a class comes twice in classes_")
    _require(
        all(isinstance(label, (str, bytes, bool, int, float)) for label in labels)
        and not any(isinstance(label, float) and np.isnan(label) for label in labels),
        model,
        "classes_ holds other things than numbers or strings",
    )
    reject = model.reject_label_
    _require(
        reject is None or (np.isscalar(reject) and reject not in labels),
        model,
        f"the reject label {reject!r:.40} is also a class, or no label",
    )
    price = getattr(model, "_price", None)
    _require(
        price is None or (isinstance(price, (int, float)) and 0 < price <= 0.5),
        model,
        f"the reject cost {price!r:.40} is not in (0, 0.5]",
    )
    model._validate_params()


def _n_boundaries(model: Any) -> int:
    return (len(model.classes_) - 1) * (1 if model.reject_label_ is None else 2)


def _check_boundaries(model: Any) -> None:
    if not hasattr(model, "thresholds_"):
        return
    b = model.thresholds_
    _require(_is_floats(b, 1), model, "thresholds_ are not finite numbers")
    if isinstance(model, BinaryKernelMachine):  # cut-offs, not offsets
        _require((np.diff(b) >= 0).all(), model, "thresholds_ are not in rising order")
    else:
        _require((np.diff(b) <= 0).all(), model, "thresholds_ are not in falling order")
    _require(len(b) == _n_boundaries(model), model, "thresholds_ and classes_ do not agree")


def _check_loss(model: BoundaryClassifier) -> None:
    loss = getattr(model, "_loss", None)
    if loss is None:
        return
    shape = np.shape(loss)
    _require(
        shape == (len(model.classes_), _n_boundaries(model) + 1),
        model,
        "the loss matrix and classes_ do not agree",
    )


def _check_kernel(model: Any) -> None:
    """Check what a function ``sum_j _coef[j] k(_basis[j], x)`` of a kernel by name consists of."""
    _require(isinstance(model.kernel, str), model, "the kernel is not one of rejo's own")
    basis, coef, p = model._basis, model._coef, model.n_features_in_
    if model.kernel == "linear":
        _require(_is_floats(coef, 1), model, "its weights are malformed")
        return
    if model.kernel == "precomputed":
        fine = isinstance(basis, np.ndarray) and basis.dtype.kind == "i" and basis.ndim == 1
        _require(fine, model, "its rows are malformed")
        _require(_is_floats(coef, 1) and coef.shape == basis.shape, model, "coefficients differ")
        _require(((basis >= 0) & (basis < p)).all(), model, "it refers to rows that do not exist")
        return
    values = basis.data if issparse(basis) else basis
    _require(_is_floats(values, 1 if issparse(basis) else 2), model, "its rows are malformed")
    _require(
        _is_floats(coef, 1) and basis.shape == (len(coef), p),
        model,
        "support vectors, coefficients and features do not agree in number",
    )
    gamma = model._gamma
    fine = isinstance(gamma, float) and 0 < gamma < np.inf
    _require(fine, model, "gamma is not a positive number")


def _check_svc(model: RejoSVC) -> None:
    if not hasattr(model, "classes_"):
        return
    _check_kernel(model)
    if model.kernel == "linear":
        fine = model._coef.shape == (model.n_features_in_,)
        _require(fine, model, "its weights are malformed")
    n = model.support_vectors_.shape[0] if model.kernel != "precomputed" else len(model.support_)
    _require(
        _is_floats(model.dual_coef_, 2)
        and model.dual_coef_.shape == (1, n)
        and model.support_.shape == (n,)
        and model.n_support_.shape == model.classes_.shape
        and model.n_support_.sum() == n,
        model,
        "support vectors and dual coefficients do not agree in number",
    )


def _check_machine(model: BinaryKernelMachine) -> None:
    if not hasattr(model, "classes_"):
        return
    _check_kernel(model)
    fine = _is_floats(model._coef, 1) and len(model.classes_) == 2
    fine = fine and isinstance(model.intercept_, float) and np.isfinite(model.intercept_)
    _require(fine, model, "its function is malformed")


def _check_linear(model: RejoLinear) -> None:
    if hasattr(model, "classes_"):
        fine = _is_floats(model.coef_, 2) and model.coef_.shape == (1, model.n_features_in_)
        _require(fine, model, "coef_ is malformed")


def _check_mlp(model: RejoMLP) -> None:
    if not hasattr(model, "classes_"):
        return
    weights, biases, width = model.coefs_, model.intercepts_, model.n_features_in_
    fine = isinstance(weights, list) and isinstance(biases, list) and len(weights) == len(biases)
    _require(fine and len(weights) >= 1, model, "its layers are malformed")
    for W, c in zip(weights, biases, strict=True):
        fine = _is_floats(W, 2) and _is_floats(c, 1) and len(W) == width
        _require(fine, model, "its layers do not fit together")
        width = W.shape[1]
        _require(W is weights[-1] or len(c) == width, model, "its layers do not fit together")
    _require(width == 1, model, "its last layer has more than one unit")


def _check_replication(model: ReplicationClassifier) -> None:
    if not hasattr(model, "classes_"):
        return
    marks, Q = model._marks, _n_boundaries(model)
    _require(_is_floats(marks, 2) and len(marks) == Q, model, "its replicas are malformed")
    margins = model.margins_
    fine = margins is None or (_is_floats(margins, 1) and len(margins) == Q)
    _require(fine, model, "its margins are malformed")
    check_is_fitted(model.estimator_)


def _check_threshold(model: ThresholdRejectClassifier) -> None:
    if not hasattr(model, "classes_"):
        return
    cutoffs, K = model.cutoffs_, len(model.classes_)
    _require(_is_floats(cutoffs, 1), model, "cutoffs_ are not finite numbers")
    if model._rule == "score":
        _require(len(cutoffs) == _n_boundaries(model), model, "cutoffs_ and classes_ do not agree")
        _require((np.diff(cutoffs) >= 0).all(), model, "cutoffs_ are not in rising order")
    else:
        _require(model._rule in ("chow", "class"), model, "its rule is unknown")
        _require(len(cutoffs) == K, model, "cutoffs_ and classes_ do not agree")
    _require(len(model._labels) == K, model, "its labels and classes_ do not agree")
    check_is_fitted(model.estimator_)


def _check_independent(model: FrankHallReject | TwoClassifierReject) -> None:
    if not hasattr(model, "classes_"):
        return
    Q, n = _n_boundaries(model), len(model.estimators_)
    _require(n in (Q, len(model.classes_) - 1), model, "estimators_ and classes_ do not agree")
    if isinstance(model, FrankHallReject):
        fine = _is_floats(model.cutoffs_, 1) and len(model.cutoffs_) == Q
        _require(fine, model, "cutoffs_ are not one finite number for each boundary")
        if n < Q:
            pairs = model.cutoffs_.reshape(n, -1)
            _require((np.diff(pairs) >= 0).all(), model, "cutoffs_ are not in rising order")
    else:
        _require(n == Q, model, "estimators_ and classes_ do not agree")
    for estimator in model.estimators_:
        check_is_fitted(estimator)


def _check_chosen(model: RejectClassifierCV | RejoSVCCV) -> None:
    if not hasattr(model, "classes_"):
        return
    best = rejecting_part(model.best_estimator_)
    check_is_fitted(best)
    same = np.array_equal(best.classes_, model.classes_) and (
        best.reject_label_ == model.reject_label_
    )
    _require(same, model, "its classes differ from those of its best_estimator_")


def _check_expected(model: RejectClassifierCV) -> None:
    if not hasattr(model, "expected_"):
        return
    rates, size, expected = model._rates, model._size, model.expected_
    fine = isinstance(rates, tuple) and len(rates) == 2 and all(map(_is_share, rates))
    _require(fine and sum(rates) <= 1 + 1e-9, model, "its rates are not shares of all cases")
    fine = isinstance(size, float) and 0 < size < np.inf
    _require(fine, model, "the number of cases behind its rates is not a positive number")
    cost = model.reject_cost_
    fine = isinstance(cost, float) and 0 < cost <= 0.5
    _require(fine, model, f"the reject cost {cost!r:.40} is not in (0, 0.5]")
    _require(isinstance(expected, Expected), model, "what it expects is malformed")
    fine = isinstance(expected.confidence, float) and 0 < expected.confidence < 1
    fine = fine and isinstance(expected.n_cases, Integral) and expected.n_cases >= 1
    for interval in (expected.rejection_rate, expected.error_rate, expected.accepted_error_rate):
        fine = fine and isinstance(interval, tuple) and len(interval) == 3
        fine = fine and all(_is_share(rate) or _is_nan(rate) for rate in interval)
    _require(fine, model, "what it expects is malformed")


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))


def _check_encoder(model: TableEncoder) -> None:
    if not hasattr(model, "kinds_"):
        return
    model._validate_params()
    names = model.feature_names_in_
    fine = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype == object
    _require(fine and _are_words(names.tolist()), model, "its columns have no names")
    _require(len(names) == model.n_features_in_, model, "its columns differ in number")
    parts = (model.kinds_, model.learnt_, model.left_out_, model.date_formats_)
    _require(all(type(part) is dict for part in parts), model, "it is malformed")
    kinds, learnt, left_out, formats = parts
    agree = set(kinds) | set(left_out) == set(names) and not set(kinds) & set(left_out)
    agree = agree and bool(kinds) and list(learnt) == list(kinds)
    agree = agree and set(formats) == {name for name in kinds if kinds[name] == "date"}
    _require(agree, model, "its columns do not agree")
    fine = all(type(why) is str for why in left_out.values())
    fine = fine and all(type(f) is str and f in FORMATS for f in formats.values())
    _require(fine, model, "its date formats, or the reasons for what it leaves out, are malformed")
    for name, kind in kinds.items():
        fine = _is_column(kind, learnt[name], model.max_categories)
        _require(fine, model, f"what it knows of column {name!r:.40} is malformed")


def _is_column(kind: Any, learnt: Any, max_categories: int) -> bool:
    """Whether a column of the table can be written by what was learnt of it."""
    words = kind == "category"
    entries = {"categories", "other"} if words else {"fill", "center", "scale"}
    if type(learnt) is not dict or learnt.keys() != entries | {"missing"}:
        return False
    if type(learnt["missing"]) is not bool or kind not in ("category", "date", "number"):
        return False
    if not words:
        numbers = [learnt[entry] for entry in ("fill", "center", "scale")]
        floats = all(type(number) is float and abs(number) <= LARGEST for number in numbers)
        days = kind == "number" or (floats and abs(learnt["fill"]) < 1e8)
        return floats and days and learnt["scale"] >= 1 / LARGEST
    known, other = learnt["categories"], learnt["other"]
    fine = type(known) is list and type(other) is bool and _are_words(known)
    return fine and len(known) <= max_categories and n_levels(learnt) >= 2


def _are_words(values: list[Any]) -> bool:
    return all(type(value) is str for value in values) and len(set(values)) == len(values)


def _n_out(encoder: TableEncoder) -> int:
    return sum(width(kind, encoder.learnt_[name]) for name, kind in encoder.kinds_.items())


# ---- scikit-learn -------------------------------------------------------------------------


def _check_pipeline(model: Pipeline) -> None:
    pairs = isinstance(model.steps, list) and all(
        isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        for step in model.steps
    )
    _require(pairs and model.steps, model, "steps are malformed")
    # A cache is a folder of pickles: it must not come from a file.
    _require(
        model.memory is None, model, "memory names a cache of pickles. Use set_params(memory=None)"
    )
    if _is_fitted(model.steps[-1][1]):  # and no prototype in a parameter
        for encoder in _encoders(model):
            _require(hasattr(encoder, "kinds_"), encoder, "it is not fitted")
    for (_, first), (_, second) in pairwise(model.steps):
        if isinstance(first, TableEncoder) and hasattr(first, "kinds_"):
            _check_encoder(first)
            same = getattr(second, "n_features_in_", None) in (None, _n_out(first))
            _require(same, model, "the table and the step after it do not agree in columns")


def _encoders(model: Pipeline) -> Iterator[TableEncoder]:
    """Those of a pipeline, and of the pipelines in it."""
    for _, step in model.steps:
        if isinstance(step, TableEncoder):
            yield step
        elif isinstance(step, Pipeline):
            yield from _encoders(step)


def _is_fitted(step: Any) -> bool:
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError):
        return False
    return True


def _check_tree(tree: Tree) -> None:
    """Children lie after their parents, within the tree; splits name features that exist."""
    n = tree.node_count
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    leaf, place = left == -1, np.arange(n)
    inner = (left > place) & (left < n) & (right > place) & (right < n)
    inner &= (feature >= 0) & (feature < tree.n_features)
    _require((leaf | inner).all(), tree, "a split leads out of the tree")


def _check_decision_tree(model: BaseDecisionTree) -> None:
    if hasattr(model, "tree_"):
        _require(isinstance(model.tree_, Tree), model, "it has no tree")
        same = model.tree_.n_features == model.n_features_in_
        same = same and model.tree_.max_n_classes == len(model.classes_)
        _require(same, model, "its tree has other features or classes")


def _check_forest(model: ForestClassifier) -> None:
    if not hasattr(model, "estimators_"):
        return
    K = len(model.classes_)
    _require((model.n_classes_, model.n_outputs_) == (K, 1), model, "its classes do not agree")
    for tree in model.estimators_:
        same = (
            isinstance(tree, BaseDecisionTree)
            and tree.n_features_in_ == model.n_features_in_
            and len(tree.classes_) == K
        )
        _require(same, model, "its trees have other features or classes")


def _check_boosted(model: HistGradientBoostingClassifier) -> None:
    if not hasattr(model, "_predictors"):
        return
    p, K = model._n_features, len(model.classes_)
    n_trees = 1 if K == 2 else K
    fine = model.n_trees_per_iteration_ == n_trees and all(
        len(trees) == n_trees for trees in model._predictors
    )
    _require(fine, model, "its trees and classes do not agree in number")
    categorical = np.asarray(model._bin_mapper.is_categorical_)
    fine = categorical.shape == (p,) and categorical.dtype in (np.dtype(bool), np.dtype(np.uint8))
    _require(fine, model, "its features are malformed")
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
        _require(fine, model, "a tree is malformed")
        inner = nodes[nodes["is_leaf"] == 0]
        place = np.flatnonzero(nodes["is_leaf"] == 0)
        ahead = [(inner[k] > place) & (inner[k] < len(nodes)) for k in ("left", "right")]
        split = (inner["feature_idx"] >= 0) & (inner["feature_idx"] < p)
        _require((ahead[0] & ahead[1] & split).all(), model, "a split leads out of its tree")
        sorts = inner[inner["is_categorical"] != 0]
        known = (sorts["bitset_idx"] < len(sets)) & (categorical[sorts["feature_idx"]] != 0)
        _require(known.all(), model, "a split refers to categories that do not exist")


def _check_libsvm(model: SVC | NuSVC) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    K, n = len(model.classes_), len(model.support_)
    vectors, dual = model.support_vectors_, model._dual_coef_
    pairs = K * (K - 1) // 2
    names = ("support_", "_n_support", "_intercept_", "_probA", "_probB")
    arrays = [getattr(model, name, np.empty(0)) for name in names]
    fine = all(isinstance(a, np.ndarray) and a.ndim == 1 for a in arrays) and K >= 2
    _require(fine and isinstance(model.kernel, str), model, "it is malformed")
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
    _require(agree, model, "support vectors, coefficients and features do not agree in number")
    numbers = [v.data if issparse(v) else v for v in (vectors, dual)]
    fine = all(a.dtype == np.float64 for a in (*numbers, intercept, A, B))
    _require(fine, model, "its numbers are not of type float64")


def _check_sparse(matrix: Any) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ModelFileError(f"a sparse matrix is malformed: {error}") from None


def _check_estimator(model: BaseEstimator) -> None:
    count = getattr(model, "n_features_in_", 1)
    _require(type(count) is int and count > 0, model, "n_features_in_ is not a number of features")


# In this order: the later ones rely on what the earlier ones have checked.
CHECKS: tuple[tuple[Any, Callable[[Any], None]], ...] = (
    (BaseEstimator, _check_estimator),
    (RejectClassifier, _check_rejecting),
    (BoundaryClassifier, _check_boundaries),
    (BoundaryClassifier, _check_loss),
    (RejoSVC, _check_svc),
    (BinaryKernelMachine, _check_machine),
    (RejoLinear, _check_linear),
    (RejoMLP, _check_mlp),
    (ReplicationClassifier, _check_replication),
    (ThresholdRejectClassifier, _check_threshold),
    ((FrankHallReject, TwoClassifierReject), _check_independent),
    ((RejectClassifierCV, RejoSVCCV), _check_chosen),
    (RejectClassifierCV, _check_expected),
    (TableEncoder, _check_encoder),
    (Pipeline, _check_pipeline),
    (Tree, _check_tree),
    (BaseDecisionTree, _check_decision_tree),
    (ForestClassifier, _check_forest),
    (HistGradientBoostingClassifier, _check_boosted),
    ((SVC, NuSVC), _check_libsvm),
)
