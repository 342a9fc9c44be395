"""From what a method puts out to the numbers of a row, and to the choice of its parameters.

Everywhere in a study a decision is an *output* ``o`` in ``0..2 (K - 1)``, as the paper counts
boundaries: ``2 k`` is class ``k``, an odd number is a rejection between two classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.replication import loss_from_costs, replica_costs


class Tried(NamedTuple):
    """A tuned method on the test part, at one reject cost."""

    outputs: Indices  # (n_test,)
    params: dict[str, Any]
    crossing_rate: float | None = None  # None: the method has no boundaries that could cross


def outputs_of(counts: Indices, classes: Indices) -> Indices:
    """Outputs from counts of boundaries between those classes that were trained on."""
    places = np.empty(2 * len(classes) - 1, dtype=np.intp)
    places[0::2], places[1::2] = 2 * classes, 2 * classes[:-1] + 1
    return places[counts]


def rates(outputs: Indices, k: Indices) -> tuple[Any, Any]:
    """Shares of rejections and of errors; ``outputs`` are (n, ...), ``k`` is (n,)."""
    rejected = outputs % 2 == 1
    truth = 2 * k.reshape(-1, *[1] * (outputs.ndim - 1))
    wrong = ~rejected & (outputs != truth)
    return rejected.mean(axis=0), wrong.mean(axis=0)


def risk(reject_cost: float, outputs: Indices, k: Indices) -> float:
    """``w_r R + E``."""
    R, E = rates(outputs, k)
    return float(reject_cost * R + E)


def row_of(tried: Tried, k: Indices, n_classes: int, reject_cost: float) -> dict[str, Any]:
    """Measures of one row."""
    R, E = (float(rate) for rate in rates(tried.outputs, k))
    loss = loss_from_costs(replica_costs(n_classes, reject_cost))
    total = reject_cost * R + E
    return {
        "R": R,
        "E": E,
        "risk": total,
        # For two classes the same, but for rounding.
        "ordinal_risk": total if n_classes == 2 else float(loss[k, tried.outputs].mean()),
        "crossing_rate": tried.crossing_rate,
    }


def first_least(risks: Floats) -> Indices:
    """Place of the least risk (n_costs,) of (n_costs, n_points); the first of equal ones."""
    return np.round(risks, 12).argmin(axis=1)


def crossed(above: NDArray[np.bool_]) -> float:
    """Share of the points (n, Q) above a boundary but not above a lower one."""
    return float((above[:, 1:] & ~above[:, :-1]).any(axis=1).mean())
