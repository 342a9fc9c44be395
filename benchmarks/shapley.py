"""Shapley values by all coalitions of features: slow, and right; for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from rejo._typing import Floats, Indices


def exact_shapley(
    score: Callable[[Floats], Floats], Z: Floats, background: Floats, owner: Indices
) -> Floats:
    """Shapley values (n, m) of the features of cases ``Z`` (n, p), by all ``2^m`` coalitions.

    The value of a coalition is the mean score (n,) over the rows of the ``background`` (b, p), with
    the columns of its features replaced by those of the case; ``owner`` (p,) is the feature of each
    column.
    """
    m = int(owner.max()) + 1
    n, b = len(Z), len(background)
    value = np.empty((2**m, n))
    for coalition in range(2**m):
        known = (coalition >> owner & 1).astype(bool)  # (p,)
        rows = np.where(known, Z[:, None, :], background)  # (n, b, p)
        value[coalition] = score(rows.reshape(n * b, -1)).reshape(n, b).mean(axis=1)
    sizes = np.array([coalition.bit_count() for coalition in range(2**m)])
    weight = np.array([factorial(s) * factorial(m - s - 1) / factorial(m) for s in range(m)])
    pulls = np.empty((n, m))
    for j in range(m):
        without = np.flatnonzero(~np.arange(2**m) >> j & 1)
        gain = value[without | 1 << j] - value[without]
        pulls[:, j] = weight[sizes[without]] @ gain
    return pulls
