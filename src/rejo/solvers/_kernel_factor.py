"""A kernel matrix by few of its columns: ``K ~ Z Z'``, an incomplete Cholesky with pivots.

The pivots are points, and every function that they carry, ``g = sum_j coef_j k(x_j, .)``, has the
values ``Z w`` at the points and the norm ``|w|``: ``w = L' coef``, where ``L`` are the pivots' rows
of ``Z``.  So a problem on ``Z`` is the problem in the kernel's space, among these functions.

``svm`` factorises dense points by itself, in C++.  This is for all kernels and kinds of input, and
stops at a rank that it is given: then the pivots are a random sample, as in the method of Nystroem.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.solvers.reference import gram
from rejo.solvers.types import Kernel

COARSEST = 1e-3  # of the largest k(x, x): no residual above this, however large eps
FINEST = 1e-13  # of the largest k(x, x): what is below is rounding
BELOW_ZERO = 1e-6  # ... and a residual so far below 0 is not
FIRST, GROWTH = 96, 4  # points in the first sample for pivots; the next has so many times more
FEW = 4  # features up to which distances by differences are as fast as by a product
FAR = 1e5  # gamma |x|^2 up to which a product keeps ten digits of a distance


@dataclass(frozen=True, eq=False)
class Factor:
    """``Z`` and the points that it was made from."""

    Z: Floats  # (n, r)
    pivots: Indices  # (r,)
    residual: Floats  # (n,) diagonal of K - Z Z'
    definite: bool = True  # False: a residual is far below 0, so K is not positive semidefinite
    K: Floats | None = None  # (n, n) where it was computed

    @cached_property
    def norms(self) -> Floats:
        """``|z_i|^2`` (n,)."""
        return np.einsum("ij,ij->i", self.Z, self.Z)

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """``Z`` in single precision."""
        return self.Z.astype(np.float32)

    @cached_property
    def gram(self) -> Floats:
        """``Z Z'`` (n, n)."""
        return self.Z @ self.Z.T if self.K is None else self.K


class Values:
    """Kernel values between the points of a training set."""

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self.X, self.kernel, self.n = X, kernel, X.shape[0]
        self._squares: Floats | None = None
        if kernel.name == "rbf" and not issparse(X) and X.shape[1] > FEW:
            self.X = X - X.mean(axis=0)
            squares = np.einsum("ij,ij->i", self.X, self.X)
            if kernel.gamma * squares.max() <= FAR:
                self._squares = squares

    def diagonal(self) -> Floats:
        """``k(x_i, x_i)`` (n,)."""
        name, gamma, degree, coef0 = self.kernel
        if name == "precomputed":
            return np.array(self.X.diagonal())
        if name == "rbf":
            return np.ones(self.n)
        X = self.X
        squares = np.ravel(X.multiply(X).sum(axis=1)) if issparse(X) else (X * X).sum(axis=1)
        if name == "linear":
            return squares
        inner = gamma * squares + coef0
        return inner**degree if name == "poly" else np.tanh(inner)

    def between(self, rows: Indices | slice, others: Indices) -> Floats:
        """``k(x_i, x_j)`` (rows, others)."""
        X = self.X
        if self.kernel.name == "precomputed":
            return np.asarray(X[rows][:, others])
        if self._squares is None:
            return gram(X[rows], X[others], self.kernel)
        # |x - z|^2 = |x|^2 + |z|^2 - 2 x.z
        D = X[rows] @ X[others].T
        D *= -2.0
        D += self._squares[rows, None]
        D += self._squares[others]
        np.maximum(D, 0.0, out=D)
        D *= -self.kernel.gamma
        return np.exp(D, out=D)


def factorise(values: Values, eps: float, max_rank: int) -> Factor:
    """Add pivots until no residual exceeds ``eps``, or there are ``max_rank`` of them."""
    residual = values.diagonal()
    largest = float(np.abs(residual).max())
    eps = max(min(eps, COARSEST * largest), FINEST * largest)
    Z, pivots = np.empty((values.n, 0)), np.empty(0, dtype=np.intp)
    K, rng, size = None, np.random.default_rng(0), FIRST
    while (room := max_rank - len(pivots)) > 0:
        left = np.flatnonzero(residual > eps)  # points that the pivots miss
        if len(left) == 0:
            break
        # Few pivots are found on a small sample; if there are many, the next sample is larger.
        if len(left) > (size := min(size, room)):
            left = np.sort(rng.choice(left, size, replace=False))
        S = values.between(left, left)
        if len(pivots):
            S -= Z[left] @ Z[left].T
        U, order, rank, _ = dpstrf(S.T, tol=eps)  # P'SP = U'U, up to eps
        if rank == 0:  # not a number
            break
        if rank == len(left) < values.n and len(pivots) == 0 and size < room:
            size = room  # each point is one of its own: no use in small samples
            continue
        size *= GROWTH
        order = order.astype(np.intp) - 1
        chosen = left[order[:rank]]
        if len(left) == values.n:
            U *= np.tri(values.n, dtype=bool).T  # LAPACK leaves the other half as it was
            new = np.empty((values.n, rank))
            new[order] = U.T[:, :rank]
            K = S if rank == values.n else None
        else:
            new = values.between(slice(None), chosen)
            new -= Z @ Z[chosen].T
            new = dtrsm(1.0, U[:rank, :rank], new.T, trans_a=1, overwrite_b=1).T  # new U^-1
        residual -= np.einsum("ij,ij->i", new, new)
        residual[chosen] = 0.0
        Z = np.ascontiguousarray(new) if Z.shape[1] == 0 else np.hstack([Z, new])
        pivots = np.append(pivots, chosen)
    return Factor(Z, pivots, residual, bool(residual.min() >= -BELOW_ZERO * largest), K)
