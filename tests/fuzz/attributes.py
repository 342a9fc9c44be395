"""Hostile values for the attributes of a model in memory, one by one, in the same process.

They are values that a check must refuse, or that leave finite answers: nothing here crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from rejo.estimators import RejoLinear
from rejo.persistence._building import build
from rejo.persistence._parts import _parts as parts_of
from rejo.persistence._parts import check_and_restore
from rejo.persistence._trusted import parameters_of
from rejo.persistence._writing import serialise

Change = list[tuple[Any, str, Any]]  # parts, their attributes, and the new values


def as_built(model: Any) -> Any:
    """Return what a file holds of a model, before anything is checked or computed."""
    _, schema = serialise(model)
    return build(schema)


DEEP: list[Any] = [0.5]
for _ in range(200):
    DEEP = [DEEP]
HOSTILE: dict[str, Any] = {
    "none": None,
    "huge": 10**400,
    "large": 2**40,
    "negative": -1,
    "nan": float("nan"),
    "true": True,
    "text": "x",
    "empty list": [],
    "deep list": DEEP,
    "empty dict": {},
    "array of nothing": np.empty(0),
    "array of objects": np.array([None, {}, []], dtype=object),
    "numbers": np.array([np.nan, np.inf, -1e300]),
    "sparse": sparse.csc_matrix(np.eye(3)),
    "unfitted": RejoLinear(),
    "other": StandardScaler(),
    "callable": len,
}


FEW = ("none", "huge", "nan", "text", "deep list", "callable")


def few(part: Any, attribute: str) -> list[Any]:
    """Return hostile values, a few of them for a parameter: nothing is computed from most."""
    names = FEW if attribute in parameters_of(type(part)) else HOSTILE
    return [HOSTILE[name] for name in names]


def bent(value: Any) -> Iterator[Any]:
    """Yield hostile values that are close to the true one."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size:
        yield value[:-1].copy()
        yield np.concatenate([value, value[-1:]])
        yield value[None]
        yield value.ravel()[:0].reshape((0,) * value.ndim)
        yield value.astype(np.float32 if value.dtype.kind == "f" else np.int16)
        yield value.astype(value.dtype.newbyteorder())
        yield np.asfortranarray(value)
        yield value[::-1]
        yield -value
        yield value.astype(object)
        yield np.ma.masked_array(value)
        for bad in (10**9, -(10**9)) if value.dtype.kind == "i" else (np.nan, np.inf, 1e300, -1e99):
            changed = value.copy()
            changed.flat[0] = bad
            yield changed
    elif isinstance(value, np.ndarray):
        yield value[:-1]
        yield np.concatenate([value, value[-1:]])
        yield np.concatenate([value[:-1], value[:1]])
        yield value[::-1]
        yield np.arange(float(len(value)))
        yield value.tolist()
    elif sparse.issparse(value):
        yield value.toarray()
        yield value.tocsc()
        yield value[:-1]
        for name, bad in (("indices", 10**6), ("indices", -5), ("indptr", 10**6), ("data", np.nan)):
            changed = value.copy()
            getattr(changed, name)[-1] = bad
            yield changed
        changed = value.copy()
        changed.indices = changed.indices[:-1]
        yield changed
    elif isinstance(value, (list, tuple)) and len(value):
        yield value[:-1]
        yield [*value, value[0]]
        yield list(value)[::-1]
        yield [None] * len(value)
    elif isinstance(value, dict):
        for key in list(value)[:2]:
            yield {k: v for k, v in value.items() if k != key}
            for bad in (None, 10**400, [], "x", float("nan")):
                yield {**value, key: bad}
        yield {**value, "another": next(iter(value.values()), None)}
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value + 1
        yield float(value) / 2


def attack(model: Any, changes: Iterable[Change], answer: Callable[[Any], None]) -> int:
    """Try changes, each of attributes of parts; count those that are refused, let others answer."""
    before = [(part, dict(vars(part))) for part in parts_of(model) if hasattr(part, "__dict__")]
    refused = 0
    for change in changes:
        for part, name, value in change:
            part.__dict__[name] = value
        try:
            with np.errstate(all="ignore"):
                check_and_restore(model)
        except Exception:  # load makes any of them a ModelFileError
            refused += 1
        else:
            answer(model)
        for part, state in before:
            part.__dict__.clear()
            part.__dict__.update(state)
    return refused
