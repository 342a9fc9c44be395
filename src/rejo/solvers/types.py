"""What goes into the kernel solvers, what comes out, and the order of a path of solves."""

from collections.abc import Iterator
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


class Step(NamedTuple):
    """One problem of a path of solves on the same training points."""

    labels: Floats  # (n, Q) of +1 and -1
    caps: Floats  # (n, Q) C * cost, 0 where a point does not take part
    h: float = 1.0


class KernelSolution(NamedTuple):
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
    by_pivots: bool = False  # the basis is smaller than the support vectors, where sum_q u_iq != 0


def path_order(n_costs: int, n_Cs: int, n_hs: int = 1) -> Iterator[tuple[int, int, int]]:
    """Indices (cost, C, h) of a grid, such that each problem is close to the one before.

    The costs go up for one ``C`` and down for the next.
    """
    costs = list(range(n_costs))
    for h in range(n_hs):
        for c in range(n_Cs):
            for w in costs:
                yield w, c, h
            costs.reverse()
