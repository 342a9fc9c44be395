"""Pipelines, and the step in them that turns a table into numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo.persistence._require import require
from rejo.tables import TableEncoder
from rejo.tables.columns import n_levels, width
from rejo.tables.dates import FORMATS
from rejo.tables.values import LARGEST


def check_encoder(model: TableEncoder) -> None:
    """The columns of a table and what was learnt of them agree."""
    if not hasattr(model, "kinds_"):
        return
    model._validate_params()
    names = model.feature_names_in_
    fine = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype == object
    require(fine and _are_words(names.tolist()), model, "its columns have no names")
    require(len(names) == model.n_features_in_, model, "its columns differ in number")
    parts = (model.kinds_, model.learnt_, model.left_out_, model.date_formats_)
    require(all(type(part) is dict for part in parts), model, "it is malformed")
    kinds, learnt, left_out, formats = parts
    agree = set(kinds) | set(left_out) == set(names) and not set(kinds) & set(left_out)
    agree = agree and bool(kinds) and list(learnt) == list(kinds)
    agree = agree and set(formats) == {name for name in kinds if kinds[name] == "date"}
    require(agree, model, "its columns do not agree")
    fine = all(type(why) is str for why in left_out.values())
    fine = fine and all(type(f) is str and f in FORMATS for f in formats.values())
    require(fine, model, "its date formats, or the reasons for what it leaves out, are malformed")
    for name, kind in kinds.items():
        fine = _is_column(kind, learnt[name], model.max_categories)
        require(fine, model, f"what it knows of column {name!r:.40} is malformed")


def _is_column(kind: Any, learnt: Any, max_categories: int) -> bool:
    """Whether a column of the table can be written by what was learnt of it."""
    words = kind == "category"
    entries = {"categories", "other"} if words else {"fill", "center", "scale"}
    if type(learnt) is not dict or learnt.keys() != entries | {"missing"}:
        return False
    if type(learnt["missing"]) is not bool or kind not in ("category", "date", "number"):
        return False
    if not words:
        numbers = [learnt[entry] for entry in ("fill", "center", "scale")]
        floats = all(type(number) is float and abs(number) <= LARGEST for number in numbers)
        days = kind == "number" or (floats and abs(learnt["fill"]) < 1e8)
        return floats and days and learnt["scale"] >= 1 / LARGEST
    known, other = learnt["categories"], learnt["other"]
    fine = type(known) is list and type(other) is bool and _are_words(known)
    return fine and len(known) <= max_categories and n_levels(learnt) >= 2


def _are_words(values: list[Any]) -> bool:
    return all(type(value) is str for value in values) and len(set(values)) == len(values)


def _n_out(encoder: TableEncoder) -> int:
    return sum(width(kind, encoder.learnt_[name]) for name, kind in encoder.kinds_.items())


def check_pipeline(model: Pipeline) -> None:
    """Steps are pairs, without a cache, and fit to each other."""
    pairs = isinstance(model.steps, list) and all(
        isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        for step in model.steps
    )
    require(pairs and model.steps, model, "steps are malformed")
    # A cache is a folder of pickles: it must not come from a file.
    require(
        model.memory is None, model, "memory names a cache of pickles. Use set_params(memory=None)"
    )
    if _is_fitted(model.steps[-1][1]):  # and no prototype in a parameter
        for encoder in _encoders(model):
            require(hasattr(encoder, "kinds_"), encoder, "it is not fitted")
    for (_, first), (_, second) in pairwise(model.steps):
        if isinstance(first, TableEncoder) and hasattr(first, "kinds_"):
            check_encoder(first)
            same = getattr(second, "n_features_in_", None) in (None, _n_out(first))
            require(same, model, "the table and the step after it do not agree in columns")


def _encoders(model: Pipeline) -> Iterator[TableEncoder]:
    """Those of a pipeline, and of the pipelines in it."""
    for _, step in model.steps:
        if isinstance(step, TableEncoder):
            yield step
        elif isinstance(step, Pipeline):
            yield from _encoders(step)


def _is_fitted(step: Any) -> bool:
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError):
        return False
    return True
