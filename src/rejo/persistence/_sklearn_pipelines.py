"""Pipelines, columns and splits of scikit-learn in a model file."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
    Must,
    count,
    either,
    is_fitted,
    maybe,
    number,
    optional,
    require,
)
from rejo.persistence._sklearn_state import (
    FEATURES,
    LEAST,
    features_of,
    is_number,
    truth,
)
from rejo.persistence._sklearn_steps import MOST_COLUMNS, gaps

MOST_PLACES = 1_000_000  # columns of all blocks of a ColumnTransformer

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
        return int(np.sum(~gaps(step))) if not step.keep_empty_features else features_of(step)
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
    """The blocks are those of the parameters, then the rest; each takes columns that exist.

    NumPy, SciPy and pandas take the columns by number, name, mask or slice.
    """
    blocks = model.transformers_
    asked = [entry[0] for entry in model.transformers]
    named = [name for name, _, _ in blocks]
    fine = named in (asked, [*asked, "remainder"]) and len(set(named)) == len(named)
    require(fine and all(type(name) is str for name in asked), model, "its blocks do not agree")
    weights = model.transformer_weights
    fine = weights is None or (
        type(weights) is dict and all(is_number(value) for value in weights.values())
    )
    require(fine, model, "transformer_weights are not numbers")
    # A string is a format, which could ask for a name without end.
    fine = type(model.verbose_feature_names_out) is bool
    require(fine, model, "verbose_feature_names_out is not true or false")
    output = getattr(model, "_sklearn_output_config", {}).get("transform")
    framed = output in ("pandas", "polars")
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
        require(start <= MOST_COLUMNS, model, f"it puts out more than {MOST_COLUMNS} columns")
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
    name = f"{type(step).__module__}.{type(step).__name__}"
    problem = "it has a function, which is not checked. If you trust it, name in trusted also"
    require(fine, step, f"{problem} {name}")


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
