"""Boosting from Parquet files that may be larger than the memory, on this machine."""

from __future__ import annotations

import os
import re
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils import check_random_state

from rejo._errors import RejoError
from rejo.estimators.growing import Grower
from rejo.estimators.matrices import edges_of
from rejo.estimators.out_of_core import (
    Part,
    RowLayout,
    StreamedRows,
    Survey,
    check_size,
    sample_matrix,
    settle_layout,
    shares_of,
    survey_part,
    words_among,
)
from rejo.tables.errors import TableError, check_columns
from rejo.tables.pieces import columns_of, pieces_of

if TYPE_CHECKING:
    from rejo.estimators.boosting import RejoBoost

Model = TypeVar("Model", bound="RejoBoost")

UNNAMED_INDEX = re.compile(r"__index_level_\d+__$")  # how pandas stores it in a file
HELD_OUT = 0.1  # share of the rows, unless the model says another one


def are_files(X: Any) -> bool:
    """Return whether this names files: a pattern, a path, or a list of these."""
    if isinstance(X, list | tuple):
        return bool(X) and all(map(are_files, X))
    return isinstance(X, str | os.PathLike)


def fit_files(model: Model, paths: Any, target: Any, n_threads: int) -> Model:
    """Fit on the columns of Parquet files: numbers, and categories (dictionaries).

    Rows are held out by a hash of their place.  Memory: about a byte for each value, one row group
    and the held-out rows, at most half a million.
    """
    check_validation(model)
    parts = [Part(piece) for piece in pieces_of(paths) if piece.rows]
    where = str(paths)
    if not parts:
        raise TableError("the files have no rows", where=where)
    if not isinstance(target, str):
        raise RejoError(
            f"y must name the column of the classes, as X names files; got {type(target).__name__}",
            parameter="y",
        )
    columns = columns_of(paths)
    check_columns(where, [target], columns)
    features = tuple(name for name in columns if name != target and not UNNAMED_INDEX.match(name))
    held_out = model.validation if isinstance(model.validation, float) else HELD_OUT
    n_rows = sum(part.piece.rows for part in parts)
    shares = shares_of(n_rows, held_out, proves=False)
    layout = RowLayout(target, features, shares, words=words_among(features, parts[0]))
    found = Survey()
    for part in parts:
        found = found.joined(survey_part(layout, part))
        check_size(layout, found)
    if found.n_missing:
        raise RejoError(
            f"column {target!r} has {found.n_missing:,} missing values", parameter="y",
            remedy="Leave these rows out.",
        )  # fmt: skip
    order = order_of(model, len(found.counts))
    layout, classes = settle_layout(layout, found, order, model.class_weight)
    random, ordered = check_random_state(model.random_state), model.class_order is not None
    plan = model.plan(classes, ordered, random, names=list(features), categories=layout.categories)
    edges = edges_of(sample_matrix(layout, found), model.max_bin, layout.categories)
    rows = StreamedRows(layout._replace(edges=edges), parts)
    grower = Grower(plan, rows.learning, rows.stopping, n_threads)
    stage = grower.grow()
    return model.store(plan, stage, *grower.held_out_scores(stage))


def check_validation(model: RejoBoost) -> None:
    """Refuse folds: rows that are streamed are held out once."""
    if isinstance(model.validation, Integral):
        raise RejoError(
            f"validation={model.validation} asks for folds, which need all rows in memory",
            parameter="validation",
            remedy='Leave it at "auto", or give a share of the rows, such as 0.1.',
        )


def order_of(model: Any, n_classes: int) -> Any:
    """The order of the classes; two have one, and posteriors need none."""
    free = n_classes == 2 or getattr(model, "boundaries", None) in ("auto", "posteriors")
    return "sorted" if model.class_order is None and free else model.class_order
