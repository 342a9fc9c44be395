"""Bins of features that do not depend on who reads which rows.

XGBoost finds bins from sketches of all rows, and those of two workers are not those of one: near
their edges, cases would be decided otherwise.  So every value is replaced by the lower edge of a
bin that was settled before, from a sample.  Then there are no more values than bins, the sketches
are exact, and a split ``x < t`` at an edge is the same for a value and for the edge below it: the
trees are for the values themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.estimators.matrices import Categories

Edges = list[NDArray[np.float32] | None]  # (p,) rising, of each column; None: categories


def edges_of(X: Any, max_bin: int, categories: Categories | None = None) -> Edges:
    """Edges of up to ``max_bin`` bins of each column, with about as many rows of a sample each."""
    found: Edges = []
    places = np.linspace(0, 1, max_bin + 1)[1:-1]
    for j in range(X.shape[1]):
        if categories is not None and categories[j] is not None:
            found.append(None)
            continue
        values = X[:, j][~np.isnan(X[:, j])]
        edges = np.unique(values)
        if len(edges) >= max_bin:
            edges = np.unique(np.quantile(values, places, method="lower"))
        found.append(edges.astype(np.float32))
    return found


def at_edges(X: Any, edges: Edges) -> NDArray[np.float32]:
    """Replace each value by the edge below it; below all edges, by one lower value."""
    found = np.empty(X.shape, dtype=np.float32)
    for j, own in enumerate(edges):
        column = X[:, j]
        if own is None or not len(own):
            found[:, j] = column
            continue
        lowest = own[0] - max(1.0, abs(float(own[0])))
        steps = np.concatenate([[lowest], own, [np.nan]]).astype(np.float32)
        place = np.searchsorted(own, column, side="right")
        place[np.isnan(column)] = len(own) + 1
        found[:, j] = steps[place]
    return found
