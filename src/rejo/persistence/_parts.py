"""What must hold between the parts of a model before it may predict.

A file whose types are all trusted could still make compiled code read what is not its own, or
decide nonsense quietly.  So every part of a loaded model is checked, by what its class says
(:mod:`rejo._state`) or by the table of scikit-learn's classes (``_sklearn``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo._state import STORABLE, Must, check_fitted, optional, require
from rejo.estimators import RejectClassifier
from rejo.persistence._refusals import ModelFileError
from rejo.persistence._trusted import known

# Set on an estimator before it is fitted: set_output.
FRAMES = Must(
    "the kind of output",
    lambda value, sizes: value in ({}, {"transform": "default"}, {"transform": "pandas"}),
)
SETTINGS = {"_sklearn_output_config": optional(FRAMES)}


def rejecting_part(model: Any) -> Any:
    """Return the classifier with the reject option: the model, or the last step of a pipeline."""
    last = model
    while isinstance(last, Pipeline) and isinstance(last.steps, list) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, RejectClassifier):
        name = type(model).__name__
        remedy = "Use a classifier of rejo, or a pipeline that ends in one"
        if hasattr(model, "best_estimator_"):
            remedy = f"Save the best_estimator_ of the {name}"
        raise ModelFileError(f"the model is a {name}, which has no reject option", remedy=remedy)
    return last


def check_and_restore(model: Any) -> None:
    """Refuse a model whose parts do not agree; let each compute what follows from the rest."""
    parts = [*_parts(model)]
    for part in parts:
        if issparse(part):
            _check_sparse(part)
        elif known(part) is not None:
            _check_names(part)  # before anything calls a method
    check_is_fitted(rejecting_part(model))
    for part in reversed(parts):  # inner ones first: the outer ones rely on them
        said = known(part)
        if said is None or _is_prototype(part):
            continue
        held = sorted(vars(part).keys() & set(said.not_saved)) if said.not_saved else []
        require(not held, part, f"it holds {', '.join(held)}, which no model file has")
        if said.fitted is not None:
            sizes = {} if said.sizes is None else said.sizes(part)
            check_fitted(part, {**said.fitted, **SETTINGS}, parameters_of(type(part)), sizes)
        for method in (said.check, said.restore):
            if method is not None:
                method(part)


def parameters_of(cls: Any) -> set[str]:
    """Names of the parameters of an estimator; empty for other classes."""
    return set(cls._get_param_names()) if issubclass(cls, BaseEstimator) else set()


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


def _is_prototype(part: Any) -> bool:
    """Return whether a part is an estimator with nothing that only a fit sets."""
    if not isinstance(part, BaseEstimator) or isinstance(part, Pipeline):
        return False
    fitted = {name for name in vars(part) if name.startswith("_") or name.endswith("_")}
    return fitted <= SETTINGS.keys()


def _check_names(part: Any) -> None:
    """Attributes hide nothing of the class; the number of features is a number."""
    cls, own = type(part), type(part) in STORABLE.values()
    # Defaults of parameters are attributes of the class.
    parameters = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    for name in getattr(part, "__dict__", ()):
        there = getattr(cls, name, None)
        covers = own and there is not None and name not in parameters
        hides = callable(there) or covers or name.startswith("__")
        require(not hides, part, f"the attribute {name[:40]!r} hides one of its class")
    if isinstance(part, BaseEstimator):
        count = getattr(part, "n_features_in_", 1)
        fine = type(count) is int and count > 0
        require(fine, part, "n_features_in_ is not a number of features")


def _check_sparse(matrix: Any) -> None:
    """Indices of a sparse matrix stay within it."""
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ModelFileError(f"a sparse matrix is malformed: {error}") from None
