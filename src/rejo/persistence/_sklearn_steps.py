"""Pipelines, preprocessing and splits of scikit-learn in a model file; what all classes share.

This module, ``_sklearn_models`` and ``_sklearn_trees`` say of each class which attributes a file
keeps, and what each must be.  The check of a class says which of them compiled code takes as an
index, a size or a pointer.  What follows from parameters or other attributes is not kept, but
computed again by the class's ``restore`` function.  Docstrings of both are part of the guide: they
stand in its table of classes.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from rejo._state import (
    LARGEST,
    Must,
    Size,
    count,
    either,
    flag,
    floats,
    indices,
    is_fitted,
    labels,
    maybe,
    names,
    number,
    optional,
    require,
    sparse_rows,
)

MOST_FEATURES = 1 << 22  # where no array of a model has a number for each feature
LEAST = 1e-50  # of a scale: numbers up to LARGEST divided by it have squares that do not overflow
SINGLE = np.finfo(np.float32)

FEATURES = {"n_features_in_": count(1, MOST_FEATURES), "feature_names_in_": optional(names())}
CLASSES = {"classes_": labels()}


def reals(*shape: Size, low: float = -LARGEST, high: float = LARGEST) -> Must:
    """Return what finite numbers must be: double or, as the data may have been, single."""
    least = SINGLE.tiny if 0 < low < SINGLE.tiny else max(low, -float(SINGLE.max))
    single = floats(*shape, low=float(least), high=min(high, float(SINGLE.max)), dtype="float32")
    double = floats(*shape, low=low, high=high)
    words = double.words.replace("float64", "float64 or float32", 1)
    return replace(either(double, single), words=words)


def require_number(
    part: Any, name: str, low: float, high: float, also: tuple[Any, ...] = ()
) -> None:
    """Refuse a parameter that is not a number in a range, nor one of some other values."""
    value = getattr(part, name)
    if value is None or isinstance(value, str):
        fine = value in also
    else:
        fine = not isinstance(value, (bool, np.bool_)) and bool(low <= value <= high)
    require(fine, part, f"{name} is not a number from {low:g} to {high:g}")


def complete(part: Any) -> None:
    """Set what the constructor of a class sets besides its parameters."""
    fresh = type(part)(**{name: getattr(part, name) for name in part._get_param_names()})
    for name, value in vars(fresh).items():
        vars(part).setdefault(name, value)


def features_of(part: Any) -> int | None:
    n = getattr(part, "n_features_in_", None)
    return None if n is None else int(n)


def one_or_each(part: Any) -> dict[str, int]:
    """Lengths for classifiers with one score for two classes, and one for each of more."""
    K = len(part.classes_)
    return {"scores": 1 if K == 2 else K}


# ---- Pipeline and FrozenEstimator: no state of their own ----------------------------------------


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
    steps = [step for _, step in model.steps if not _passes(step)]
    if steps and isinstance(steps[-1], str):  # the name of a model that RejectClassifierCV chooses
        del steps[-1]
    kinds = all(isinstance(step, BaseEstimator) for step in steps)
    require(kinds, model, "a step is not an estimator")
    if not steps or isinstance(steps[-1], FrozenEstimator) or not is_fitted(steps[-1]):
        return  # a prototype in a parameter
    for step in steps:
        require(is_fitted(step), step, "it is not fitted")
    for first, second in pairwise(steps):
        require(hasattr(first, "transform"), model, "a step before the last one transforms nothing")
        widths = columns_out(first), features_of(second)
        same = None in widths or widths[0] == widths[1]
        require(same, model, "a step and the one after it do not agree in columns")


def columns_out(step: Any) -> int | None:
    if isinstance(step, Pipeline):
        steps = [part for _, part in step.steps if not _passes(part)]
        return columns_out(steps[-1]) if steps else None
    if isinstance(step, SimpleImputer) and not step.keep_empty_features:
        return int((~np.isnan(step.statistics_)).sum())
    if isinstance(step, (SimpleImputer, StandardScaler)):
        return features_of(step)
    width = getattr(step, "_n_features_out", None)
    return None if width is None else int(width)


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def check_frozen(model: Any) -> None:
    """It holds an estimator, fitted or not."""
    require(isinstance(model.estimator, BaseEstimator), model, "it does not hold an estimator")


# ---- SimpleImputer and StandardScaler: NumPy only -----------------------------------------------


def _is_statistics(value: Any, sizes: Any) -> bool:
    fine = type(value) is np.ndarray and value.shape == (sizes["p"],)
    return fine and value.dtype in ("float64", "float32") and not np.isinf(value).any()


IMPUTER = {
    **FEATURES,
    "statistics_": Must("a number for each feature, NaN if it had none", _is_statistics),
}


def check_imputer(imputer: Any) -> None:
    """It fills NaN by numbers."""
    require(not np.isnan(imputer.statistics_).all(), imputer, "no column had values")
    gap = imputer.missing_values
    require(isinstance(gap, float) and gap != gap, imputer, "missing_values is not NaN")
    require(not imputer.add_indicator, imputer, "it has an indicator. Use add_indicator=False")
    require_number(imputer, "fill_value", -LARGEST, LARGEST, also=(None,))


def restore_imputer(imputer: Any) -> None:
    """Set the types of the data and of what fills them, and that gaps are not told apart."""
    imputer._fit_dtype = imputer._fill_dtype = imputer.statistics_.dtype
    imputer.indicator_ = None


STANDARD = {
    **FEATURES,
    "mean_": maybe(reals("p")),
    "var_": maybe(reals("p", low=0)),
    "scale_": maybe(reals("p", low=LEAST)),
    "n_samples_seen_": optional(either(number(0), reals("p", low=0), indices("p"))),
}


def check_scaler(scaler: Any) -> None:
    """There is a centre and a scale if they were asked for."""
    for option, name in (("with_mean", "mean_"), ("with_std", "scale_")):
        fine = not getattr(scaler, option) or getattr(scaler, name) is not None
        require(fine, scaler, f"{name} is missing")


# ---- Nystroem -----------------------------------------------------------------------------------

NYSTROEM = {
    **FEATURES,
    # Their third powers have squares that do not overflow.
    "components_": either(
        reals("m", "p", low=-1e30, high=1e30),
        sparse_rows("m", "p", low=-1e30, high=1e30),
        indices("m", "p", low=-(2**53)),
    ),
    "normalization_": reals("m", "m"),
}
KERNELS = ("linear", "poly", "polynomial", "rbf", "sigmoid", "cosine")


def check_nystroem(step: Nystroem) -> None:
    """Only kernels by name that NumPy computes, with numbers of their own."""
    fine = isinstance(step.kernel, str) and step.kernel in KERNELS
    require(fine, step, f"kernel is not one of {', '.join(KERNELS)}")
    require(not step.kernel_params, step, "kernel_params are for kernels of your own")
    for name in ("gamma", "coef0", "degree"):
        require_number(step, name, -LARGEST, LARGEST, also=(None,))
    require(step.components_.shape[0] > 0, step, "it has no components")


def restore_nystroem(step: Any) -> None:
    """Set the number of columns."""
    step._n_features_out = step.components_.shape[0]


# ---- splits of the data, in parameters ----------------------------------------------------------


FOLDS = {
    "n_splits": count(2, 1 << 20),
    "shuffle": flag(),
    "random_state": maybe(count(0, (1 << 32) - 1)),
}
