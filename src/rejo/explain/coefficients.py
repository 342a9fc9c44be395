"""Pulls of a linear score."""

from __future__ import annotations

import numpy as np

from rejo._typing import Floats, Indices


def linear_pulls(coef: Floats, Z: Floats, centre: Floats, owner: Indices, m: int) -> Floats:
    """Pulls (n, m) of ``m`` features on the score ``coef . z`` of cases ``Z`` (n, p).

    Column ``j`` adds ``coef_j (z_j - centre_j)``.  With the mean of the background as the centre
    (p,) this is its Shapley value, if a feature is replaced without regard to the others.  ``coef``
    is (p,), or (n, p) if the score differs from case to case; ``owner`` (p,) is the feature that
    each column belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.explain.coefficients import linear_pulls
    >>> Z, centre = np.array([[2.0, 1.0, 0.0]]), np.array([1.0, 0.5, 0.5])
    >>> linear_pulls(np.array([3.0, 1.0, -1.0]), Z, centre, np.array([0, 1, 1]), 2)
    array([[3., 1.]])
    """
    return summed_by(coef * (Z - centre), owner, m)


def summed_by(values: Floats, owner: Indices, m: int) -> Floats:
    """Sums (n, m) of the columns (n, p) that belong to each feature."""
    sums = np.zeros((m, len(values)))
    np.add.at(sums, owner, values.T)
    return sums.T
