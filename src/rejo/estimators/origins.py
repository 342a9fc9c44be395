"""Which column of a table each feature comes from that transformers make of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from rejo._typing import Indices

MARK = re.compile("<#([0-9]+)#>")


def origins(transformer: Any, n_in: int) -> Indices | None:
    """Position (n_out,) of the input column that each output of a fitted transformer comes from.

    ``None`` if an output mixes columns, as those of a PCA, or if the transformer does not tell.
    """
    if transformer is None or transformer == "passthrough":
        return np.arange(n_in)
    if hasattr(transformer, "origins"):
        return np.asarray(transformer.origins())
    if isinstance(transformer, Pipeline):
        return traced((step for _, step in transformer.steps), n_in)
    if isinstance(transformer, FeatureUnion):
        steps = (step for _, step in transformer.transformer_list if step != "drop")
        parts = [origins(step, n_in) for step in steps]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None
    if isinstance(transformer, ColumnTransformer):
        return _of_columns(transformer, n_in)
    return _by_names(transformer, n_in)


def traced(transformers: Iterable[Any], n_in: int) -> Indices | None:
    """The same for several transformers, one after the other."""
    found = np.arange(n_in)
    for transformer in transformers:
        step = origins(transformer, len(found))
        if step is None:
            return None
        found = found[step]
    return found


def _of_columns(transformer: ColumnTransformer, n_in: int) -> Indices | None:
    names = list(getattr(transformer, "feature_names_in_", []))
    outputs = transformer.output_indices_
    total = max((part.stop for part in outputs.values()), default=0)
    found = np.full(total, -1)
    for name, step, columns in transformer.transformers_:
        part = outputs[name]
        if step == "drop" or part.stop <= part.start:
            continue
        places = _places(columns, names, n_in)
        inner = origins(step, len(places))
        if inner is None or len(inner) != part.stop - part.start:
            return None
        found[part] = places[inner]
    return None if (found < 0).any() else found


def _places(columns: Any, names: list[str], n_in: int) -> Indices:
    """Positions of columns that are given as in a ColumnTransformer."""
    if isinstance(columns, slice):
        first, last = (
            names.index(end) + after if isinstance(end, str) else end
            for end, after in ((columns.start, 0), (columns.stop, 1))  # names include the last
        )
        return np.arange(n_in)[first : last : columns.step]
    some = np.atleast_1d(np.asarray(columns))
    if some.dtype == bool:
        return np.flatnonzero(some)
    if some.dtype.kind in "UO":
        return np.array([names.index(name) for name in some.tolist()], dtype=np.intp)
    return np.arange(n_in)[some]


def _by_names(transformer: Any, n_in: int) -> Indices | None:
    """By the names of the outputs, if those of the inputs stand in them."""
    asked = copy(transformer)
    asked.__dict__.pop("feature_names_in_", None)  # other names are refused
    marks = np.array([f"<#{i}#>" for i in range(n_in)], dtype=object)
    try:
        names = asked.get_feature_names_out(marks)
    except (AttributeError, TypeError, ValueError):
        return None
    found = [set(MARK.findall(str(name))) for name in names]
    if any(len(marked) != 1 for marked in found):
        return None
    return np.array([int(marked.pop()) for marked in found], dtype=np.intp)
