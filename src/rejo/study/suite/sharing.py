"""Fits that several methods need, made once.

Two cut-offs, a threshold for each class and posteriors with prices all start from the same ordinary
classifier, fitted on the same rows.  Within a cell such a classifier remembers its fits: asked
again with equal parameters for equal rows, labels and weights, it takes the fitted attributes of
before.  Results are those of separate fits; the seconds that these would have taken are counted, so
that the time of a method does not depend on what ran before it.

The classifiers that share a fit hold the same attributes, not copies: nothing may change them in
place.  Only numbers and words can be compared for equality by what they hold, so a classifier with
other parameters, such as a ``RandomState``, and sparse rows or labels that are objects are fitted
each time.
"""

from __future__ import annotations

from functools import wraps
from hashlib import blake2b
from numbers import Number
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone


class Remembered(NamedTuple):
    """A fit: what it set, and how long it took."""

    attributes: dict[str, Any]
    seconds: float


class FitMemory:
    """Fits by their parameters and data.

    Attributes
    ----------
    saved : float
        Seconds that remembered fits would have taken if they had been made again.
    """

    def __init__(self) -> None:
        self.saved = 0.0
        self._fits: dict[bytes, Remembered] = {}

    def sharing(self, estimator: Any) -> Any:
        """Return a clone of an estimator whose inner classifier remembers its fits.

        An estimator without a parameter ``estimator`` is returned as it is, cloned; so is one whose
        inner classifier is a pipeline, whose parameters have names of their own.
        """
        inner = getattr(estimator, "estimator", None)
        if inner is None or hasattr(inner, "steps"):
            return clone(estimator)
        kind = self._remembering(type(inner))
        return clone(estimator).set_params(estimator=kind(**inner.get_params(deep=False)))

    def _remembering(self, kind: type) -> type:
        """Return a subclass of a classifier that looks here before it fits."""
        memory, fit_anew = self, kind.fit  # type: ignore[attr-defined]

        @wraps(fit_anew)  # with its signature: some classifiers take no weights
        def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            key = _key(kind, self.get_params(deep=False), (X, y, sample_weight))
            if key is None:
                return fit_anew(self, X, y, **weights)
            found = memory._fits.get(key)
            if found is not None:
                vars(self).update(found.attributes)
                memory.saved += found.seconds
                return self
            start = perf_counter()
            fit_anew(self, X, y, **weights)
            params = self.get_params(deep=False)
            attributes = {name: value for name, value in vars(self).items() if name not in params}
            memory._fits[key] = Remembered(attributes, perf_counter() - start)
            return self

        return type(kind.__name__, (kind,), {"fit": fit, "__module__": kind.__module__})


def _key(kind: type, params: dict[str, Any], data: tuple[Any, ...]) -> bytes | None:
    """Return what tells a fit from others; ``None`` if that cannot be told by values."""
    if not all(_plain(value) for value in params.values()):
        return None
    digest = blake2b(f"{kind.__module__}.{kind.__qualname__}{sorted(params.items())}".encode())
    for array in data:
        if issparse(array):
            return None
        if array is None:
            digest.update(b"None")
            continue
        values = np.ascontiguousarray(array)
        if values.dtype.hasobject:
            return None
        digest.update(f"{values.dtype}{values.shape}".encode())
        digest.update(values.tobytes())
    return digest.digest()


def _plain(value: Any) -> bool:
    """Return whether the words for a value say all about it."""
    if isinstance(value, dict):
        return all(_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, tuple | list):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | Number)
