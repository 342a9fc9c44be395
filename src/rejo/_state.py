"""What a class says about its fitted state, for the code that stores, inspects and exports it.

``@storable`` allows the objects of a class to stand in a model file.  Such a class may also have

- ``_check_state(self)``, which refuses, with :func:`require`, fitted attributes that do not agree;
- ``_restore_state(self)``, which restores what does not come back from a file as it was;
- ``_operating_point(self)``, which returns the costs that it was fitted for, and its target;
- ``_training_rows``, the names of the attributes that hold rows of the training set;
- ``_weighted``, the names of the attributes with the names, the fitted members and their weights;
- ``_not_saved``, the names of the attributes that copies, pickles and files do not get;
- ``_to_onnx(self, graph, X)``, which adds the computation of the boundary scores to an ONNX graph;
- ``_posteriors_to_onnx(self, graph, X)`` and ``_decision_to_onnx(self, graph, X)``, which add what
  ``predict_proba`` and ``decision_function`` return.

A file may hold anything in any attribute.  Compiled code takes shapes and indices as they are, so
``_check_state`` must bound each one that a prediction uses.  Any exception that it raises is a
refusal.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

STORABLE: dict[str, type] = {}  # by full name


class StateError(ValueError):
    """Fitted attributes of a model do not agree with each other."""


def storable(cls: type[T]) -> type[T]:
    """Allow objects of exactly this class, not of its subclasses, in model files."""
    STORABLE[f"{cls.__module__}.{cls.__name__}"] = cls
    return cls


def require(holds: Any, part: Any, problem: str) -> None:
    """Refuse a part of a model unless a condition holds."""
    if not holds:
        raise StateError(f"{type(part).__name__}: {problem}")


def is_floats(value: Any, *shape: int | None) -> bool:
    """Return whether a value is an array of finite floats of this shape; ``None``: any length."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == len(shape)
        and all(m in (None, n) for m, n in zip(shape, value.shape, strict=True))
        and bool(np.isfinite(value).all())
    )


def is_sorted(values: Any) -> bool:
    """Return whether the values of an array rise, or stay equal, along its last axis."""
    return bool((np.diff(values) >= 0).all())
