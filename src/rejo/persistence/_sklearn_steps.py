"""Pipelines, columns and preprocessing of scikit-learn in a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

from rejo._state import (
    LARGEST,
    Must,
    count,
    each,
    either,
    indices,
    is_fitted,
    maybe,
    number,
    optional,
    require,
    sparse_rows,
)
from rejo.persistence._sklearn_state import (
    FEATURES,
    LEAST,
    complete,
    features_of,
    none,
    reals,
    require_number,
    truth,
)

MOST_COLUMNS = 100_000  # that PolynomialFeatures puts out, or a ColumnTransformer takes
MOST_PLACES = 1_000_000  # columns of all blocks of a ColumnTransformer
HIGHEST_DEGREE = 1000

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
    kinds = all(isinstance(step, BaseEstimator) for step in steps)
    require(kinds, model, "a step is not an estimator")
    if not steps or isinstance(steps[-1], FrozenEstimator) or not is_fitted(steps[-1]):
        return  # a prototype in a parameter
    for step in steps:
        require(is_fitted(step), step, "it is not fitted")
    for first, second in pairwise(steps):
        widths = columns_out(first), features_of(second)
        same = None in widths or widths[0] == widths[1]
        require(same, model, "a step and the one after it do not agree in columns")


def columns_out(step: Any) -> int | None:
    """Return how many columns a fitted step puts out; ``None`` if it does not say."""
    if isinstance(step, Pipeline):
        steps = [part for _, part in step.steps if not _passes(part)]
        return columns_out(steps[-1]) if steps else None
    if isinstance(step, ColumnTransformer):
        ends = [block.stop for block in getattr(step, "output_indices_", {}).values()]
        return max(ends, default=None)
    if isinstance(step, SimpleImputer):
        return int(np.sum(~_gaps(step))) if not step.keep_empty_features else features_of(step)
    if isinstance(step, OneHotEncoder):
        return sum(step._n_features_outs)
    if isinstance(step, PolynomialFeatures):
        return int(step.n_output_features_)
    if isinstance(step, Nystroem):
        return int(step.components_.shape[0])
    if type(step).__module__.startswith("sklearn.preprocessing."):
        return features_of(step)  # a column for a column
    width = getattr(step, "_n_features_out", None)
    return None if width is None else int(width)


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def check_frozen(model: Any) -> None:
    """It holds an estimator, fitted or not."""
    require(isinstance(model.estimator, BaseEstimator), model, "it does not hold an estimator")


# ---- ColumnTransformer --------------------------------------------------------------------------


def _is_blocks(value: Any, sizes: Any) -> bool:
    return type(value) is list and all(
        type(block) is tuple and len(block) == 3 and type(block[0]) is str for block in value
    )


# transformers_: columns are numbers below p, names, masks or slices, taken by NumPy, SciPy or
# pandas, which look at the bounds; places_of looks before.
COLUMNS = {
    **FEATURES,
    "n_features_in_": count(1, MOST_COLUMNS),
    "transformers_": Must("a list of names, transformers and columns", _is_blocks),
    "sparse_output_": truth(),
}


def places_of(model: Any, columns: Any, known: Mapping[str, int]) -> Sequence[int]:
    """Return the numbers of the columns that are given by number, name, mask or slice."""
    p = model.n_features_in_
    if isinstance(columns, slice):
        ends = columns.start, columns.stop
        if any(isinstance(end, str) for end in ends):  # the last one belongs to it
            first = 0 if ends[0] is None else known[ends[0]]
            last = p if ends[1] is None else known[ends[1]] + 1
            columns = slice(first, last, columns.step)
        return range(p)[columns]
    if type(columns) in (str, int):
        columns = [columns]
    listed = columns.tolist() if isinstance(columns, np.ndarray) else columns
    require(type(listed) is list, model, "columns are not numbers, names, a mask or a slice")
    if listed and all(type(column) is bool for column in listed):
        require(len(listed) == p, model, "a mask has another length than there are columns")
        return [place for place, held in enumerate(listed) if held]
    if all(type(column) is str for column in listed):
        fine = all(column in known for column in listed)
        require(fine, model, "a column is not among its names")
        return [known[column] for column in listed]
    fine = all(type(column) is int and -p <= column < p for column in listed)
    require(fine, model, "a column is not among its columns")
    return [column % p for column in listed]


def _all_places(model: Any) -> list[list[int]]:
    """Return the numbers of the columns of each block, of which there are not too many."""
    names = getattr(model, "feature_names_in_", np.empty(0)).tolist()
    known = {name: place for place, name in enumerate(names)}
    found = [places_of(model, columns, known) for _, _, columns in model.transformers_]
    few = sum(map(len, found)) <= MOST_PLACES
    require(few, model, f"its blocks take more than {MOST_PLACES} columns")
    return [list(places) for places in found]


def check_columns(model: Any) -> None:
    """The blocks are those of the parameters, then the rest; each takes columns that exist."""
    blocks = model.transformers_
    asked = [entry[0] for entry in model.transformers]
    named = [name for name, _, _ in blocks]
    fine = named in (asked, [*asked, "remainder"]) and len(set(named)) == len(named)
    require(fine and all(type(name) is str for name in asked), model, "its blocks do not agree")
    weights = model.transformer_weights
    fine = weights is None or (
        type(weights) is dict and all(_is_number(value) for value in weights.values())
    )
    require(fine, model, "transformer_weights are not numbers")
    # A string is a format, which could ask for a name without end.
    fine = type(model.verbose_feature_names_out) is bool
    require(fine, model, "verbose_feature_names_out is not true or false")
    framed = getattr(model, "_sklearn_output_config", {}).get("transform") == "pandas"
    require(not (framed and model.sparse_output_), model, "frames are not sparse")
    used: set[int] = set()
    for (name, step, _), places in zip(blocks, _all_places(model), strict=True):
        if name == "remainder" and len(named) > len(asked):
            same = places == sorted(set(range(model.n_features_in_)) - used)
            require(same, model, "the remainder is not the rest of the columns")
        used.update(places)
        if not places or (isinstance(step, str) and step == "drop"):
            continue
        fine = isinstance(step, BaseEstimator) and hasattr(step, "transform") and is_fitted(step)
        require(fine, model, f"{name[:40]} is not fitted")
        same = features_of(step) in (None, len(places))
        require(same, model, "a block and its columns do not agree in number")
        names = [getattr(part, "feature_names_in_", None) for part in (model, step)]
        same = names[0] is None or names[1] is None or (names[0][places] == names[1]).all()
        require(same, model, "a block and its columns do not agree in names")


def restore_columns(model: Any) -> None:
    """Set where the columns of each block come from and go to."""
    complete(model)
    n, blocks = len(model.transformers), model.transformers_
    model._columns = [columns for _, _, columns in blocks[:n]]
    places = _all_places(model)
    taken = {place for held in places[:n] for place in held}
    rest = [place for place in range(model.n_features_in_) if place not in taken]
    held = {block[0]: where for block, where in zip(blocks, places, strict=True)}
    model._transformer_to_input_indices = {**held, "remainder": rest}
    model._remainder = ("remainder", model.remainder, blocks[n][2] if len(blocks) > n else [])
    indices, start = {}, 0
    for (name, step, _), where in zip(blocks, places, strict=True):
        width = _block_width(step, len(where))
        if width is None:
            return  # a transformer does not say how many columns it puts out
        indices[name] = slice(start, start + width) if width else slice(0, 0)
        start += width
    model.output_indices_ = {**indices, "remainder": indices.get("remainder", slice(0, 0))}


def _block_width(step: Any, n: int) -> int | None:
    """How many columns a block puts out for ``n``."""
    if not n or (isinstance(step, str) and step == "drop"):
        return 0
    return n if isinstance(step, FunctionTransformer) else columns_out(step)


# What "passthrough" becomes in a fitted ColumnTransformer.
PASS = {name: optional(must) for name, must in FEATURES.items()}


def check_pass(step: Any) -> None:
    """It passes all on; functions are not in files."""
    fine = step.func is None and step.inverse_func is None and not step.kw_args
    require(fine, step, "it has a function, which a model file does not hold")


# ---- SimpleImputer ------------------------------------------------------------------------------


def _is_statistics(value: Any, sizes: Any) -> bool:
    if type(value) is not np.ndarray or value.shape != (sizes["p"],):
        return False
    if value.dtype in (np.dtype("float64"), np.dtype("float32")):
        return not bool(np.isinf(value).any())
    return value.dtype == object and all(
        type(x) is str or _is_number(x) or _is_gap(x) for x in value.tolist()
    )


# statistics_: columns without one (NaN) are left out; NumPy only.
IMPUTER = {
    **FEATURES,
    "statistics_": Must("a number or string for each feature", _is_statistics),
    "indicator_": none("Use add_indicator=False, and MissingIndicator only as a trusted type"),
}


def _gaps(imputer: Any) -> Any:
    """Where a column of an imputer had no values."""
    return np.array([_is_gap(value) for value in imputer.statistics_.tolist()], dtype=bool)


def check_imputer(imputer: Any) -> None:
    """Numbers for numbers."""
    numeric = imputer.strategy in ("mean", "median")
    fine = not numeric or imputer.statistics_.dtype != object
    require(fine, imputer, "statistics_ are not numbers")
    require(not _gaps(imputer).all(), imputer, "no column had values")
    for name in ("missing_values", "fill_value"):
        value = getattr(imputer, name)
        fine = _is_gap(value) or isinstance(value, str) or _is_number(value)
        require(fine, imputer, f"{name} is not a number or a string")


def restore_imputer(imputer: Any) -> None:
    """Set the types of the data and of what fills them."""
    complete(imputer)
    values = imputer.statistics_
    kind = values.dtype
    if kind.kind == "O" and imputer.strategy == "constant":
        held = [value for value in values.tolist() if not _is_gap(value)]
        if all(isinstance(value, Integral) for value in held):
            # The smallest type fits all data that could be filled.
            kind = np.result_type(*(np.min_scalar_type(value) for value in held))
        elif all(isinstance(value, Real) for value in held):
            kind = np.dtype(np.float64)
    imputer._fit_dtype = imputer._fill_dtype = kind


# ---- scalers: NumPy only ------------------------------------------------------------------------

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


def check_standard(scaler: Any) -> None:
    """There is a mean and a scale if they were asked for."""
    fine = scaler.mean_ is not None or not scaler.with_mean
    fine = fine and (scaler.scale_ is not None or not scaler.with_std)
    require(fine, scaler, "its mean or scale is missing")


def check_robust(scaler: Any) -> None:
    """There is a centre and a scale if they were asked for."""
    fine = scaler.center_ is not None or not scaler.with_centering
    fine = fine and (scaler.scale_ is not None or not scaler.with_scaling)
    require(fine, scaler, "its centre or scale is missing")


def check_min_max(scaler: Any) -> None:
    """The range is two numbers."""
    ends = scaler.feature_range
    fine = type(ends) is tuple and len(ends) == 2 and all(map(_is_number, ends))
    require(fine and ends[0] < ends[1], scaler, "feature_range is not a range")


# ---- OneHotEncoder and OrdinalEncoder -----------------------------------------------------------


def _is_categories(value: Any, sizes: Any) -> bool:
    if type(value) is not np.ndarray or value.ndim != 1 or not len(value):
        return False
    if value.dtype.kind in "biuf":
        held = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
        return bool(np.isfinite(held).all()) and bool((held[1:] > held[:-1]).all())
    if value.dtype.kind not in "UO":
        return False
    found = value.tolist()
    while found and _is_gap(found[-1]):  # None, then NaN
        found.pop()
    gaps = len(value) - len(found)
    if gaps > 1 and (gaps > 2 or value[-2] is not None or value[-1] is None):
        return False
    if all(type(x) is str for x in found):
        return len(set(found)) == len(found)
    return all(_is_number(x) for x in found) and all(a < b for a, b in pairwise(found))


# The place of a value among its categories becomes a column of a sparse matrix that no one checks.
# Places of numbers are found by bisection, so numbers must rise; strings are looked up, so none
# comes twice.  _n_features_outs and the groups of rare categories are computed from the lists.
CATEGORIES = Must("a list of different values for each feature, numbers rising", _is_categories)
ENCODER = {
    **FEATURES,
    "categories_": each(CATEGORIES, "p"),
    "_infrequent_indices": optional(each(maybe(indices(None)), "p")),
}
OUTPUTS = (float, int, np.float64, np.float32, np.int64, np.int32)


def check_encoder(encoder: Any) -> None:
    """Rare categories are some of the categories; the output is numbers of the usual types."""
    require(encoder.dtype in OUTPUTS, encoder, "dtype is not a type of numbers")
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
            fine = value is None or _is_gap(value) or (_is_number(value) and abs(value) < 1 << 31)
            require(fine, encoder, f"{name} is not a number")
        needed = encoder.handle_unknown == "use_encoded_value"
        require((encoder.unknown_value is not None) == needed, encoder, "unknown_value is missing")


def restore_encoder(encoder: Any) -> None:
    """Group rare categories, and count the columns."""
    complete(encoder)
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
            i: j for i, held in lists for j, x in enumerate(held.tolist()) if _is_nan(x)
        }


def _group_sizes(encoder: Any) -> list[int]:
    """How many categories of each feature may be rare: OrdinalEncoder treats NaN apart."""
    apart = not isinstance(encoder, OneHotEncoder)
    return [len(held) - int(apart and _is_nan(held[-1])) for held in encoder.categories_]


def _groups(rare: Any, n: int) -> Any:
    """Numbers of the categories after the rare ones have become one, the last; or ``None``."""
    if rare is None:
        return None
    mapping = np.full(n, n - len(rare), dtype=np.int64)
    mapping[np.setdiff1d(np.arange(n), rare)] = np.arange(n - len(rare))
    return mapping


# ---- PolynomialFeatures -------------------------------------------------------------------------

# Memory for the columns is reserved by their number, which is computed from the parameters, and
# the compiled expansion of sparse rows computes places from the number of features and the degree.
POLYNOMIAL = dict(FEATURES)


def check_polynomial(step: Any) -> None:
    """The number of columns is bounded."""
    degrees = step.degree if isinstance(step.degree, (tuple, list)) else (0, step.degree)
    fine = len(degrees) == 2 and all(type(degree) is int for degree in degrees)
    fine = fine and 0 <= degrees[0] <= degrees[1] <= HIGHEST_DEGREE
    require(fine, step, f"degree is not a number up to {HIGHEST_DEGREE}, nor two")
    n = _count_terms(step.n_features_in_, degrees[1], bool(step.interaction_only))
    require(n <= MOST_COLUMNS, step, f"it would put out more than {MOST_COLUMNS} columns")
    require(degrees[1] > 0 or step.include_bias, step, "it would put out no columns")


def _count_terms(p: int, degree: int, interaction_only: bool) -> int:
    """Number of terms up to a degree, with the constant; beyond the limit it stops counting."""
    term = total = 1  # terms of degree i
    for i in range(1, (min(degree, p) if interaction_only else degree) + 1):
        term = term * (p - i + 1 if interaction_only else p + i - 1) // i
        total += term
        if total > MOST_COLUMNS:
            break
    return total


def restore_polynomial(step: Any) -> None:
    """Count the columns, as fit does."""
    complete(step)
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

# components_: rows of the training set, for kernels that NumPy computes.
NYSTROEM = {
    **FEATURES,
    "components_": either(reals("m", "p"), sparse_rows("m", "p"), indices("m", "p", low=-(2**53))),
    "normalization_": reals("m", "m"),
}
NYSTROEM_KERNELS = ("linear", "poly", "polynomial", "rbf", "sigmoid", "cosine")


def check_nystroem(step: Any) -> None:
    """Only kernels by name, with their own numbers."""
    fine = isinstance(step.kernel, str) and step.kernel in NYSTROEM_KERNELS
    require(fine, step, f"kernel is not one of {', '.join(NYSTROEM_KERNELS)}")
    require(not step.kernel_params, step, "kernel_params are for kernels of your own")
    for name in ("gamma", "coef0", "degree"):
        require_number(step, name, -LARGEST, LARGEST, also=(None,))
    require(step.components_.shape[0] > 0, step, "it has no components")


def restore_nystroem(step: Any) -> None:
    """Set the number of columns."""
    complete(step)
    step._n_features_out = step.components_.shape[0]


# ---- splits of the data, in parameters ----------------------------------------------------------


def _is_seed(value: Any, sizes: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 1 << 32)


SEED = Must("a whole number or none", _is_seed)
FOLDS = {"n_splits": count(2, 1 << 20), "shuffle": truth(), "random_state": SEED}
SHARE = maybe(either(count(1), number(LEAST, 1)))
SHUFFLES = {
    "n_splits": count(1, 1 << 20),
    "test_size": SHARE,
    "train_size": SHARE,
    "random_state": SEED,
    "_default_test_size": SHARE,
}


def _is_number(value: Any) -> bool:
    fine = isinstance(value, (Real, np.bool_))
    return fine and (isinstance(value, Integral) or isfinite(value)) and abs(value) <= LARGEST


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _is_gap(value: Any) -> bool:
    return value is None or _is_nan(value)
