"""Preprocessing of scikit-learn in a model file."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from rejo._state import (
    LARGEST,
    Must,
    each,
    either,
    indices,
    maybe,
    number,
    optional,
    require,
    sparse_rows,
)
from rejo.persistence._sklearn_state import (
    FEATURES,
    LEAST,
    is_gap,
    is_nan,
    is_number,
    none,
    reals,
    require_number,
)

MOST_COLUMNS = 100_000  # out of an encoder, or into and out of a ColumnTransformer
MOST_NUMBERS = 1000  # among the categories of a feature, if they are objects
MOST_TERMS = 20_000  # columns out of PolynomialFeatures
HIGHEST_DEGREE = 1000

# ---- SimpleImputer ------------------------------------------------------------------------------


def _is_statistics(value: Any, sizes: Any) -> bool:
    if type(value) is not np.ndarray or value.shape != (sizes["p"],):
        return False
    if value.dtype in (np.dtype("float64"), np.dtype("float32")):
        return not bool(np.isinf(value).any())
    return value.dtype == object and all(
        type(x) is str or is_number(x) or is_gap(x) for x in value.tolist()
    )


IMPUTER = {
    **FEATURES,
    "statistics_": Must("a number or string for each feature", _is_statistics),
    "indicator_": none("Use add_indicator=False"),
}


def gaps(imputer: Any) -> Any:
    """Where a column of an imputer had no values."""
    return np.array([is_gap(value) for value in imputer.statistics_.tolist()], dtype=bool)


def check_imputer(imputer: Any) -> None:
    """Numbers for numbers."""
    numeric = imputer.strategy in ("mean", "median")
    fine = not numeric or imputer.statistics_.dtype != object
    require(fine, imputer, "statistics_ are not numbers")
    require(not gaps(imputer).all(), imputer, "no column had values")
    for name in ("missing_values", "fill_value"):
        value = getattr(imputer, name)
        fine = is_gap(value) or isinstance(value, str) or is_number(value)
        require(fine, imputer, f"{name} is not a number or a string")


def restore_imputer(imputer: Any) -> None:
    """Set the types of the data and of what fills them."""
    values = imputer.statistics_
    kind = values.dtype
    if kind.kind == "O" and imputer.strategy == "constant":
        held = [value for value in values.tolist() if not is_gap(value)]
        if all(isinstance(value, Integral) for value in held):
            # The smallest type fits all data that could be filled.
            kind = np.result_type(*(np.min_scalar_type(value) for value in held))
        elif all(isinstance(value, Real) for value in held):
            kind = np.dtype(np.float64)
    imputer._fit_dtype = imputer._fill_dtype = kind


# ---- scalers: NumPy only ------------------------------------------------------------------------

# What a StandardScaler or a RobustScaler has if it was asked for.
SCALES = {
    "with_mean": "mean_",
    "with_centering": "center_",
    "with_std": "scale_",
    "with_scaling": "scale_",
}
SEEN = optional(either(number(0), reals("p", low=0), indices("p")))
STANDARD = {
    **FEATURES,
    "mean_": maybe(reals("p")),
    "var_": maybe(reals("p", low=0)),
    "scale_": maybe(reals("p", low=LEAST)),
    "n_samples_seen_": SEEN,
}
ROBUST = {**FEATURES, "center_": maybe(reals("p")), "scale_": maybe(reals("p", low=LEAST))}
MAX_ABS = {
    **FEATURES,
    "scale_": reals("p", low=LEAST),
    "max_abs_": reals("p", low=0),
    "n_samples_seen_": SEEN,
}
MIN_MAX = {
    **FEATURES,
    "scale_": reals("p", low=LEAST),
    "min_": reals("p"),
    "data_min_": reals("p"),
    "data_max_": reals("p"),
    "data_range_": reals("p", low=0),
    "n_samples_seen_": SEEN,
}


def check_scaler(scaler: Any) -> None:
    """There is a centre and a scale if they were asked for."""
    for option, name in SCALES.items():
        asked = getattr(scaler, option, False)
        require(not asked or getattr(scaler, name) is not None, scaler, f"{name} is missing")


def check_min_max(scaler: Any) -> None:
    """The range is two numbers."""
    ends = scaler.feature_range
    fine = type(ends) is tuple and len(ends) == 2 and all(map(is_number, ends))
    require(fine and ends[0] < ends[1], scaler, "feature_range is not a range")


# ---- OneHotEncoder and OrdinalEncoder -----------------------------------------------------------


def _is_categories(value: Any, sizes: Any) -> bool:
    if type(value) is not np.ndarray or value.ndim != 1 or not 0 < len(value) <= MOST_COLUMNS:
        return False
    if value.dtype.kind in "biuf":
        held = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
        return bool(np.isfinite(held).all()) and bool((held[1:] > held[:-1]).all())
    if value.dtype.kind not in "UO":
        return False
    found = value.tolist()
    while found and is_gap(found[-1]):  # None, then NaN
        found.pop()
    gaps = len(value) - len(found)
    if gaps > 1 and (gaps > 2 or value[-2] is not None or value[-1] is None):
        return False
    if all(type(x) is str for x in found):
        return len(set(found)) == len(found)
    # Hashes of numbers can be made to collide, those of words cannot.
    few = len(found) <= MOST_NUMBERS and all(is_number(x) for x in found)
    return few and all(a < b for a, b in pairwise(found))


CATEGORIES = Must("a list of different values for each feature, numbers rising", _is_categories)
ENCODER = {
    **FEATURES,
    "categories_": each(CATEGORIES, "p"),
    "_infrequent_indices": optional(each(maybe(indices(None)), "p")),
}
OUTPUTS = (float, int, np.float64, np.float32, np.int64, np.int32)


def check_encoder(encoder: Any) -> None:
    """Rare categories are some of the categories; the output is numbers of the usual types.

    The place of a value among its categories becomes a column of a sparse matrix, which nobody
    compares with its width.  Numbers are found by bisection, so they rise; words are looked up, so
    none comes twice.
    """
    require(encoder.dtype in OUTPUTS, encoder, "dtype is not a type of numbers")
    n = sum(map(len, encoder.categories_))
    require(n <= MOST_COLUMNS, encoder, f"it has more than {MOST_COLUMNS} categories")
    encoder._check_infrequent_enabled()
    enabled = vars(encoder).pop("_infrequent_enabled")
    held = getattr(encoder, "_infrequent_indices", None)
    require((held is not None) == enabled, encoder, "its rare categories are malformed")
    for rare, n in zip(held or (), _group_sizes(encoder) if held else (), strict=True):
        fine = rare is None or (len(rare) > 0 and bool((np.diff(rare) > 0).all()) and rare[-1] < n)
        require(fine, encoder, "its rare categories are malformed")
    if hasattr(encoder, "encoded_missing_value"):  # OrdinalEncoder
        for name in ("encoded_missing_value", "unknown_value"):
            value = getattr(encoder, name)
            fine = value is None or is_gap(value) or (is_number(value) and abs(value) < 1 << 31)
            require(fine, encoder, f"{name} is not a number")
        needed = encoder.handle_unknown == "use_encoded_value"
        require((encoder.unknown_value is not None) == needed, encoder, "unknown_value is missing")


def restore_encoder(encoder: Any) -> None:
    """Group rare categories, and count the columns."""
    # As objects, words are looked up whatever the type of the data.
    encoder.categories_ = [
        held.astype(object) if held.dtype.kind == "U" else held for held in encoder.categories_
    ]
    encoder._check_infrequent_enabled()
    if encoder._infrequent_enabled:
        pairs = zip(encoder._infrequent_indices, _group_sizes(encoder), strict=True)
        encoder._default_to_infrequent_mappings = [_groups(rare, n) for rare, n in pairs]
    if isinstance(encoder, OneHotEncoder):
        encoder._set_drop_idx()
        encoder._n_features_outs = encoder._compute_n_features_outs()
    else:
        lists = enumerate(encoder.categories_)
        encoder._missing_indices = {
            i: j for i, held in lists for j, x in enumerate(held.tolist()) if is_nan(x)
        }


def _group_sizes(encoder: Any) -> list[int]:
    """How many categories of each feature may be rare: OrdinalEncoder treats NaN apart."""
    apart = not isinstance(encoder, OneHotEncoder)
    return [len(held) - int(apart and is_nan(held[-1])) for held in encoder.categories_]


def _groups(rare: Any, n: int) -> Any:
    """Numbers of the categories after the rare ones have become one, the last; or ``None``."""
    if rare is None:
        return None
    mapping = np.full(n, n - len(rare), dtype=np.int64)
    mapping[np.setdiff1d(np.arange(n), rare)] = np.arange(n - len(rare))
    return mapping


# ---- PolynomialFeatures -------------------------------------------------------------------------

POLYNOMIAL = dict(FEATURES)


def check_polynomial(step: Any) -> None:
    """The number of columns is bounded.

    Memory is reserved by their number, and compiled code computes places in sparse rows from the
    number of features and the degree.
    """
    degrees = step.degree if isinstance(step.degree, (tuple, list)) else (0, step.degree)
    whole = len(degrees) == 2 and all(type(degree) is int for degree in degrees)
    fine = whole and 0 <= degrees[0] <= degrees[1] <= HIGHEST_DEGREE
    require(fine, step, f"degree is not a number up to {HIGHEST_DEGREE}, nor two")
    n = _count_terms(step.n_features_in_, degrees[1], bool(step.interaction_only))
    require(n <= MOST_TERMS, step, f"it would put out more than {MOST_TERMS} columns")
    require(degrees[1] > 0 or step.include_bias, step, "it would put out no columns")


def _count_terms(p: int, degree: int, interaction_only: bool) -> int:
    """Number of terms up to a degree, with the constant; beyond the limit it stops counting."""
    term = total = 1  # terms of degree i
    for i in range(1, (min(degree, p) if interaction_only else degree) + 1):
        term = term * (p - i + 1 if interaction_only else p + i - 1) // i
        total += term
        if total > MOST_TERMS:
            break
    return total


def restore_polynomial(step: Any) -> None:
    """Count the columns, as fit does."""
    both = isinstance(step.degree, (tuple, list))
    step._min_degree, step._max_degree = step.degree if both else (0, step.degree)
    options = {
        "n_features": step.n_features_in_,
        "max_degree": step._max_degree,
        "interaction_only": step.interaction_only,
        "include_bias": step.include_bias,
    }
    step.n_output_features_ = step._num_combinations(min_degree=step._min_degree, **options)
    step._n_out_full = step._num_combinations(min_degree=0, **options)


# ---- Nystroem -----------------------------------------------------------------------------------

NYSTROEM = {
    **FEATURES,
    "components_": either(reals("m", "p"), sparse_rows("m", "p"), indices("m", "p", low=-(2**53))),
    "normalization_": reals("m", "m"),
}
NYSTROEM_KERNELS = ("linear", "poly", "polynomial", "rbf", "sigmoid", "cosine")


def check_nystroem(step: Any) -> None:
    """Only kernels by name that NumPy computes, with numbers of their own."""
    fine = isinstance(step.kernel, str) and step.kernel in NYSTROEM_KERNELS
    require(fine, step, f"kernel is not one of {', '.join(NYSTROEM_KERNELS)}")
    require(not step.kernel_params, step, "kernel_params are for kernels of your own")
    for name in ("gamma", "coef0", "degree"):
        require_number(step, name, -LARGEST, LARGEST, also=(None,))
    require(step.components_.shape[0] > 0, step, "it has no components")


def restore_nystroem(step: Any) -> None:
    """Set the number of columns."""
    step._n_features_out = step.components_.shape[0]
