"""What must hold between the parts of a model before it may predict.

A file whose types are all trusted could still make compiled code read what is not its own, or
decide nonsense quietly.  So every part of a loaded model is checked, by what its class says
(:mod:`rejo._state`) or by the table of scikit-learn's classes (``_sklearn``).
"""

from collections.abc import Collection, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo._state import STORABLE, check_fitted, require
from rejo.estimators import RejectClassifier
from rejo.persistence._refusals import ModelFileError
from rejo.persistence._sklearn import STATELESS
from rejo.persistence._sklearn_steps import complete
from rejo.persistence._trusted import KNOWN, SETTINGS, kept_names, parameters_of, type_name_of

PLAIN = (str, bytes, int, float)
# What a file says about these is ignored: a model starts no processes and prints nothing.
IGNORED = {"n_jobs": None, "verbose": False}


def rejecting_part(model: Any) -> Any:
    """Return the classifier with the reject option: the model, or the last step of a pipeline."""
    last = model
    while isinstance(last, Pipeline) and isinstance(last.steps, list) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, RejectClassifier):
        name = type(model).__name__
        remedy = "Use a classifier of rejo, or a pipeline that ends in one"
        if isinstance(last, FrozenEstimator):
            remedy = "Save the model inside the FrozenEstimator, and freeze it after loading"
        elif hasattr(model, "best_estimator_"):
            remedy = f"Save the best_estimator_ of the {name}"
        raise ModelFileError(f"the model is a {name}, which has no reject option", remedy=remedy)
    return last


def check_and_restore(model: Any, asked: Collection[str] = ()) -> None:
    """Refuse a model whose parts do not agree; let each compute what follows from the rest.

    The caller vouches for parts of the types that it ``asked`` for.
    """
    everything = _parts(model)
    for part in everything:
        if isinstance(part, BaseEstimator):
            vars(part).update({k: v for k, v in IGNORED.items() if vars(part).get(k)})
            if vars(part).get("copy") is False:  # it would write into the caller's data
                vars(part)["copy"] = True
    parts = [p for p in everything if type_name_of(p) in KNOWN and not _is_vouched(p, asked)]
    for part in parts:
        _check_names(part)  # before anything calls a method
    for part in parts:  # inner ones first: the outer ones rely on them
        said = KNOWN[type_name_of(part)]
        if hasattr(part, "_parameter_constraints"):
            part._validate_params()
        if _is_prototype(part):
            complete(part)
            continue
        if said.fitted is not None:
            sizes = {} if said.sizes is None else said.sizes(part)
            check_fitted(part, {**said.fitted, **SETTINGS}, parameters_of(type(part)), sizes)
        if said.check is not None:
            said.check(part)
        if said.restore is not None:
            if isinstance(part, BaseEstimator):
                complete(part)
            said.restore(part)
    check_is_fitted(rejecting_part(model))  # and its tags can be asked for


def _is_vouched(part: Any, asked: Collection[str]) -> bool:
    name = type_name_of(part)
    return name in asked and not getattr(part, "__dict__", {}).keys() <= kept_names(name)


def _parts(root: Any) -> list[Any]:
    """Everything in a model, each once, after what it holds."""
    seen: set[int] = set()
    found: list[Any] = []
    stack = [(root, False)]
    while stack:
        part, complete = stack.pop()
        if complete:
            found.append(part)
        elif id(part) not in seen and not isinstance(part, (*PLAIN, type, type(None))):
            seen.add(id(part))
            stack.append((part, True))
            stack.extend((item, False) for item in _held_in(part))
    return found


def _held_in(part: Any) -> Iterable[Any]:
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype == object else ()
    if isinstance(part, dict):
        return part.values()
    if isinstance(part, (list, tuple)):
        return part
    return () if issparse(part) else getattr(part, "__dict__", {}).values()


def _is_prototype(part: Any) -> bool:
    if not isinstance(part, BaseEstimator) or isinstance(part, STATELESS):
        return False
    return vars(part).keys() <= parameters_of(type(part)) | SETTINGS.keys()


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
