"""What goes into a solver and what comes out of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats


class Kernel(NamedTuple):
    """A kernel by name: linear, poly, rbf, sigmoid or precomputed."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0


class Solution(NamedTuple):
    """What a solve returns; every array is in the order of the training points."""

    u: Floats  # (n, Q) signed duals
    b: Floats  # (Q,) thresholds as solved, not sorted
    basis: NDArray[np.intp]  # (m,) points that carry g: g(x) = sum_j coef_j k(x_basis_j, x)
    coef: Floats  # (m,)
    objective: float  # primal value
    gap: float  # (primal - dual) / primal
    n_iter: int
    converged: bool
    weights: Floats | None = None  # (p,) linear kernel only: g(x) = weights . x
