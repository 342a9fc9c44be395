"""What must hold between the parts of a model before it may predict.

Compiled code of rejo, scikit-learn and SciPy takes shapes and indices as they are.  A file whose
types are all trusted could still make it read what is not its own, or decide nonsense quietly:
here every such part of a loaded model is compared with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._forest import ForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from rejo.baselines.binary_machine import BinaryKernelMachine
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.pairs import TwoClassifierReject
from rejo.baselines.threshold import ThresholdRejectClassifier
from rejo.estimators.base import RejectClassifier
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.svm import RejoSVC
from rejo.persistence._checks_sklearn import (
    check_boosted,
    check_decision_tree,
    check_estimator,
    check_forest,
    check_libsvm,
    check_sparse,
    check_tree,
)
from rejo.persistence._checks_tables import check_encoder, check_pipeline
from rejo.persistence._errors import ModelFileError
from rejo.persistence._require import is_floats, require
from rejo.selection.expected import Expected
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.svm_cv import RejoSVCCV
from rejo.tables import TableEncoder


def check_model(model: Any) -> None:
    """Refuse a model whose parts do not agree."""
    decider = rejecting_part(model)
    check_is_fitted(decider)
    for part in _parts(model):
        for kind, check in CHECKS:
            if isinstance(part, kind):
                check(part)
        if issparse(part):
            check_sparse(part)


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


def _check_rejecting(model: RejectClassifier) -> None:
    if not hasattr(model, "classes_"):
        return  # the unfitted prototype in a parameter
    classes = model.classes_
    fine = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2
    require(fine, model, "classes_ is not an array of two classes or more")
    labels = classes.tolist()
    require(len(set(labels)) == len(labels), model, "a class comes twice in classes_")
    require(
        all(isinstance(label, (str, bytes, bool, int, float)) for label in labels)
        and not any(isinstance(label, float) and np.isnan(label) for label in labels),
        model,
        "classes_ holds other things than numbers or strings",
    )
    reject = model.reject_label_
    require(
        reject is None or (np.isscalar(reject) and reject not in labels),
        model,
        f"the reject label {reject!r:.40} is also a class, or no label",
    )
    price = getattr(model, "reject_cost_", None)
    require(
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
    require(is_floats(b, 1), model, "thresholds_ are not finite numbers")
    require((np.diff(b) >= 0).all(), model, "thresholds_ are not in rising order")
    require(len(b) == _n_boundaries(model), model, "thresholds_ and classes_ do not agree")


def _check_loss(model: BoundaryClassifier) -> None:
    loss = getattr(model, "_loss", None)
    if loss is None:
        return
    shape = np.shape(loss)
    require(
        shape == (len(model.classes_), _n_boundaries(model) + 1),
        model,
        "the loss matrix and classes_ do not agree",
    )


def _check_kernel(model: Any) -> None:
    """Check what a function ``sum_j _coef[j] k(_basis[j], x)`` of a kernel by name consists of."""
    require(isinstance(model.kernel, str), model, "the kernel is not one of rejo's own")
    basis, coef, p = model._basis, model._coef, model.n_features_in_
    if model.kernel == "linear":
        require(is_floats(coef, 1), model, "its weights are malformed")
        return
    if model.kernel == "precomputed":
        fine = isinstance(basis, np.ndarray) and basis.dtype.kind == "i" and basis.ndim == 1
        require(fine, model, "its rows are malformed")
        require(is_floats(coef, 1) and coef.shape == basis.shape, model, "coefficients differ")
        require(((basis >= 0) & (basis < p)).all(), model, "it refers to rows that do not exist")
        return
    values = basis.data if issparse(basis) else basis
    require(is_floats(values, 1 if issparse(basis) else 2), model, "its rows are malformed")
    require(
        is_floats(coef, 1) and basis.shape == (len(coef), p),
        model,
        "support vectors, coefficients and features do not agree in number",
    )
    gamma = model._gamma
    fine = isinstance(gamma, float) and 0 < gamma < np.inf
    require(fine, model, "gamma is not a positive number")


def _check_svc(model: RejoSVC) -> None:
    if not hasattr(model, "classes_"):
        return
    _check_kernel(model)
    if model.kernel == "linear":
        fine = model._coef.shape == (model.n_features_in_,)
        require(fine, model, "its weights are malformed")
    n = model.support_vectors_.shape[0] if model.kernel != "precomputed" else len(model.support_)
    require(
        is_floats(model.dual_coef_, 2)
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
    fine = is_floats(model._coef, 1) and len(model.classes_) == 2
    fine = fine and isinstance(model.intercept_, float) and np.isfinite(model.intercept_)
    require(fine, model, "its function is malformed")


def _check_linear(model: RejoLinear) -> None:
    if hasattr(model, "classes_"):
        fine = is_floats(model.coef_, 2) and model.coef_.shape == (1, model.n_features_in_)
        require(fine, model, "coef_ is malformed")


def _check_mlp(model: RejoMLP) -> None:
    if not hasattr(model, "classes_"):
        return
    weights, biases, width = model.coefs_, model.intercepts_, model.n_features_in_
    fine = isinstance(weights, list) and isinstance(biases, list) and len(weights) == len(biases)
    require(fine and len(weights) >= 1, model, "its layers are malformed")
    for W, c in zip(weights, biases, strict=True):
        fine = is_floats(W, 2) and is_floats(c, 1) and len(W) == width
        require(fine, model, "its layers do not fit together")
        width = W.shape[1]
        require(W is weights[-1] or len(c) == width, model, "its layers do not fit together")
    require(width == 1, model, "its last layer has more than one unit")


def _check_replication(model: ReplicationClassifier) -> None:
    if not hasattr(model, "classes_"):
        return
    marks, Q = model._marks, _n_boundaries(model)
    require(is_floats(marks, 2) and len(marks) == Q, model, "its replicas are malformed")
    margins = model.margins_
    fine = margins is None or (is_floats(margins, 1) and len(margins) == Q)
    require(fine, model, "its margins are malformed")
    check_is_fitted(model.estimator_)


def _check_threshold(model: ThresholdRejectClassifier) -> None:
    if not hasattr(model, "classes_"):
        return
    cutoffs, K = model.cutoffs_, len(model.classes_)
    require(is_floats(cutoffs, 1), model, "cutoffs_ are not finite numbers")
    if model._rule == "score":
        require(len(cutoffs) == _n_boundaries(model), model, "cutoffs_ and classes_ do not agree")
        require((np.diff(cutoffs) >= 0).all(), model, "cutoffs_ are not in rising order")
    else:
        require(model._rule in ("chow", "class"), model, "its rule is unknown")
        require(len(cutoffs) == K, model, "cutoffs_ and classes_ do not agree")
    require(len(model._labels) == K, model, "its labels and classes_ do not agree")
    check_is_fitted(model.estimator_)


def _check_independent(model: FrankHallReject | TwoClassifierReject) -> None:
    if not hasattr(model, "classes_"):
        return
    Q, n = _n_boundaries(model), len(model.estimators_)
    require(n in (Q, len(model.classes_) - 1), model, "estimators_ and classes_ do not agree")
    if isinstance(model, FrankHallReject):
        fine = is_floats(model.cutoffs_, 1) and len(model.cutoffs_) == Q
        require(fine, model, "cutoffs_ are not one finite number for each boundary")
        if n < Q:
            pairs = model.cutoffs_.reshape(n, -1)
            require((np.diff(pairs) >= 0).all(), model, "cutoffs_ are not in rising order")
    else:
        require(n == Q, model, "estimators_ and classes_ do not agree")
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
    require(same, model, "its classes differ from those of its best_estimator_")


def _check_expected(model: RejectClassifierCV) -> None:
    if not hasattr(model, "expected_"):
        return
    rates, size, expected = model.rates_, model.n_effective_, model.expected_
    fine = isinstance(rates, tuple) and len(rates) == 2 and all(map(_is_share, rates))
    require(fine and sum(rates) <= 1 + 1e-9, model, "its rates are not shares of all cases")
    fine = isinstance(size, float) and 0 < size < np.inf
    require(fine, model, "the number of cases behind its rates is not a positive number")
    cost = model.reject_cost_
    fine = isinstance(cost, float) and 0 < cost <= 0.5
    require(fine, model, f"the reject cost {cost!r:.40} is not in (0, 0.5]")
    require(isinstance(expected, Expected), model, "what it expects is malformed")
    fine = isinstance(expected.confidence, float) and 0 < expected.confidence < 1
    fine = fine and isinstance(expected.n_cases, Integral) and expected.n_cases >= 1
    for interval in (expected.rejection_rate, expected.error_rate, expected.accepted_error_rate):
        fine = fine and isinstance(interval, tuple) and len(interval) == 3
        fine = fine and all(_is_share(rate) or _is_nan(rate) for rate in interval)
    require(fine, model, "what it expects is malformed")


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))


# In this order: the later ones rely on what the earlier ones have checked.
CHECKS: tuple[tuple[Any, Callable[[Any], None]], ...] = (
    (BaseEstimator, check_estimator),
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
    (TableEncoder, check_encoder),
    (Pipeline, check_pipeline),
    (Tree, check_tree),
    (BaseDecisionTree, check_decision_tree),
    (ForestClassifier, check_forest),
    (HistGradientBoostingClassifier, check_boosted),
    ((SVC, NuSVC), check_libsvm),
)
