"""Logistic regression, SVC, networks and calibrations of scikit-learn in a model file."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.calibration import _CalibratedClassifier, _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import LabelBinarizer

from rejo._state import (
    LARGEST,
    Must,
    count,
    each,
    either,
    floats,
    indices,
    is_fitted,
    is_sorted,
    labels,
    number,
    one_of,
    optional,
    part,
    require,
    sparse_rows,
)
from rejo.persistence._sklearn_steps import CLASSES, FEATURES, features_of, reals, require_number

# ---- LogisticRegression: NumPy only, which looks at the bounds ----------------------------------

LINEAR = {
    **FEATURES,
    **CLASSES,
    "coef_": reals("scores", "p"),
    "intercept_": reals("scores"),
    # For people to look at.
    "n_iter_": optional(either(count(), indices(None, dtype=("int32", "int64")))),
}

# ---- SVC: libsvm --------------------------------------------------------------------------------

KERNELS = ("linear", "poly", "rbf", "sigmoid")
SVC = {
    **FEATURES,
    **CLASSES,
    "class_weight_": floats("K", low=0),
    "support_": indices("n", dtype="int32"),
    "support_vectors_": either(floats("n", "p"), sparse_rows("n", "p")),
    "_n_support": indices("K", dtype="int32"),
    "_dual_coef_": either(floats("K-1", "n"), sparse_rows("K-1", "n")),
    "_intercept_": floats("pairs"),
    "_gamma": number(0),
}


def svc_sizes(model: Any) -> dict[str, int]:
    """Numbers of pairs of classes and of rows of coefficients."""
    K = len(model.classes_)
    return {"pairs": K * (K - 1) // 2, "K-1": K - 1}


def check_svc(model: Any) -> None:
    """Only kernels that libsvm computes, without probabilities.

    libsvm copies (n, p) support vectors, (K - 1, n) coefficients and K (K - 1) / 2 intercepts as
    they are, and takes ``_n_support`` for the lengths of the runs of each class, so they sum to n.
    Sparse rows are merged by column: columns rise.
    """
    fine = isinstance(model.kernel, str) and model.kernel in KERNELS
    require(fine, model, f"kernel is not one of {', '.join(KERNELS)}")
    remedy = "Calibrate it, e.g. with CalibratedClassifierCV or ThresholdRejectClassifier"
    fine = model.probability in (False, "deprecated")
    require(fine, model, f"a model file does not hold probability=True. {remedy}")
    require_number(model, "degree", 0, 1000)
    for name in ("coef0", "C", "tol", "cache_size"):
        require_number(model, name, -LARGEST, LARGEST)
    require_number(model, "max_iter", -1, (1 << 31) - 1)
    n, K = len(model.support_), len(model.classes_)
    vectors, dual = model.support_vectors_, model._dual_coef_
    agree = (
        n > 0
        and model._n_support.sum(dtype=np.int64) == n
        and issparse(vectors) == issparse(dual)
        and (not issparse(dual) or dual.nnz == (K - 1) * n)
    )
    require(agree, model, "its support vectors and coefficients do not agree in number")


def restore_svc(model: Any) -> None:
    """Set the attributes that people look at, and that there are no probabilities."""
    model._sparse = bool(issparse(model.support_vectors_))
    model._effective_probability, model.fit_status_ = False, 0
    model._probA, model._probB = np.empty(0), np.empty(0)
    flip = -1.0 if len(model.classes_) == 2 else 1.0
    model.dual_coef_, model.intercept_ = flip * model._dual_coef_, flip * model._intercept_


# ---- MLPClassifier: NumPy only ------------------------------------------------------------------

NETWORK = {
    **FEATURES,
    **CLASSES,
    "coefs_": each(reals(None, None), "layers"),
    "intercepts_": each(reals(None), "layers"),
}


def check_network(model: Any) -> None:
    """Each layer takes what the one before puts out: (p, h), (h, ...), ..., (..., scores)."""
    K = len(model.classes_)
    widths = [model.n_features_in_, *(len(b) for b in model.intercepts_)]
    shapes = [(widths[i], widths[i + 1]) for i in range(len(widths) - 1)]
    agree = (
        [W.shape for W in model.coefs_] == shapes
        and shapes
        and min(widths) > 0
        and widths[-1] == (1 if K == 2 else K)
        and len({a.dtype for a in (*model.coefs_, *model.intercepts_)}) == 1
    )
    require(agree, model, "its layers do not fit together")


def restore_network(model: Any) -> None:
    """Set the numbers of layers and outputs, and the way from outputs to classes."""
    K = len(model.classes_)
    model.n_layers_, model.n_outputs_ = len(model.coefs_) + 1, 1 if K == 2 else K
    model.out_activation_ = "logistic" if K == 2 else "softmax"
    binarizer = LabelBinarizer()
    binarizer.classes_, binarizer.sparse_input_ = model.classes_, False
    binarizer.y_type_ = "binary" if K == 2 else "multiclass"
    model._label_binarizer = binarizer


# ---- calibration: NumPy and SciPy ---------------------------------------------------------------

CALIBRATED = {**CLASSES, **FEATURES, "calibrated_classifiers_": each(part(_CalibratedClassifier))}
CALIBRATED["n_features_in_"] = optional(CALIBRATED["n_features_in_"])
SIGMOID = {"a_": number(), "b_": number()}


def _is_classifier(value: Any, sizes: Any) -> bool:
    return hasattr(value, "classes_") and is_fitted(value)


MEMBER = {
    "classes": labels(),
    "method": one_of("sigmoid", "isotonic"),
    "estimator": Must("a fitted classifier", _is_classifier),
    "calibrators": Must("a list of calibrations", lambda value, sizes: type(value) is list),
}


def check_member(member: Any) -> None:
    """There is a calibration of its kind for each score."""
    held, own = member.classes.tolist(), np.asarray(member.estimator.classes_).tolist()
    fine = len(own) >= 2 and all(name in held for name in own) and len(set(own)) == len(own)
    fine = fine and held == sorted(held) and (len(held) > 2 or own == held)
    require(fine, member, "its classes do not agree")
    kind = _SigmoidCalibration if member.method == "sigmoid" else IsotonicRegression
    agree = len(member.calibrators) == (1 if len(held) == 2 else len(own)) and all(
        type(curve) is kind and is_fitted(curve) for curve in member.calibrators
    )
    require(agree, member, "its calibrations do not agree with its method and classes")


def check_calibrated(model: Any) -> None:
    """The members have the classes and features of the model."""
    members = model.calibrated_classifiers_
    require(members, model, "it has no members")
    require(len(set(map(id, members))) == len(members), model, "a member comes twice")
    p = features_of(model)
    for member in members:
        same = np.array_equal(member.classes, model.classes_)
        same = same and (p is None or features_of(member.estimator) in (None, p))
        require(same, model, "its members have other classes or features")


ISOTONIC = {
    "X_thresholds_": reals("points"),
    "y_thresholds_": reals("points", low=0, high=1),
}


def check_isotonic(curve: Any) -> None:
    """It goes one way, and takes values on either side; SciPy needs thresholds that rise."""
    x, y = curve.X_thresholds_, curve.y_thresholds_
    fine = len(x) > 0 and bool((np.diff(x) > 0).all()) and (is_sorted(y) or is_sorted(-y))
    require(fine, curve, "its thresholds are not in order")
    require(curve.out_of_bounds == "clip", curve, "out_of_bounds is not 'clip'")


def restore_isotonic(curve: Any) -> None:
    """Set the range and the function."""
    curve.X_min_, curve.X_max_ = curve.X_thresholds_[0], curve.X_thresholds_[-1]
    curve.increasing_ = bool(curve.y_thresholds_[0] <= curve.y_thresholds_[-1])
    curve._build_f(curve.X_thresholds_, curve.y_thresholds_)
