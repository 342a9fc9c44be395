"""A linear model from a stream of rows, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo.distributed.pace import Pace, Tell, n_rows
from rejo.estimators import PROVE, STOP, Part, RejoLinear, RowLayout, Scored, StreamedRows


def learn_linear(
    model: RejoLinear, classes: NDArray[Any], layout: RowLayout, parts: Sequence[Part], tell: Tell
) -> tuple[RejoLinear, dict[int, Scored]]:
    """Learn from all parts by ``partial_fit``; the scores of the rows that were held out."""
    rows = StreamedRows(layout, parts, Pace("Learning", n_rows(parts), tell))
    weights = model.class_weight
    model.set_params(class_weight=None)  # the blocks have them
    for block in rows.learning():
        if (gaps := np.isnan(block.X).any(axis=0)).any():
            raise _missing(layout, int(np.argmax(gaps)))
        model.partial_fit(block.X, classes[block.k], classes, block.v)
    model.set_params(class_weight=weights)
    scored = {}
    for number in (PROVE, STOP):
        X, k, numbers = rows.kept(number)
        scores = model.boundary_scores(X) if len(k) else X
        scored[number] = Scored(scores, k, numbers)
    if layout.encoder is None:
        model.feature_names_in_ = np.array(layout.features, dtype=object)
    return model, scored


def _missing(layout: RowLayout, column: int) -> RejoError:
    named = f"column {layout.features[column]!r}" if layout.encoder is None else "the table"
    return RejoError(
        f"{named} has missing values, which RejoLinear does not take",
        parameter="data",
        remedy="Put a rejo.tables.TableEncoder before it, in a pipeline, or use RejoBoost.",
    )
