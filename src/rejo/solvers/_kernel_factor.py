"""A kernel matrix by few of its columns: ``K ~ Z Z'``, an incomplete Cholesky with pivots.

The pivots are points, and every function that they carry, ``g = sum_j coef_j k(x_j, .)``, has the
values ``Z w`` at the points and the norm ``|w|``: ``w = L' coef``, where ``L`` are the pivots' rows
of ``Z``.  So a problem on ``Z`` is the problem in the kernel's space, among these functions.  Where
every point is a pivot, their kernel functions themselves do: ``Z = K``, and there is no ``L``.

``svm`` factorises dense points by itself, in C++.  This is for all kernels and kinds of input, and
stops at a rank that it is given: then the pivots are a random sample, as in the method of Nystroem.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpstrf, spotrf
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.solvers.reference import gram
from rejo.solvers.types import Kernel

COARSEST = 1e-3  # of the largest k(x, x): no residual above this, however large eps
COARSE = 1e-4  # of it: rounding in the eigenvalues of a Gram matrix in single precision is below
FINEST = 1e-13  # of the largest k(x, x): what is below is rounding
BELOW_ZERO = 1e-6  # ... and a residual so far below 0 is not
WIDE = 0.7  # rank / n from which K itself is cheaper than its factor
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
    is_gram: bool = False  # Z is K itself, of full rank

    @cached_property
    def norms(self) -> Floats:
        """``k(x_i, x_i)`` (n,), without what was left out."""
        return self.Z.diagonal() if self.is_gram else np.einsum("ij,ij->i", self.Z, self.Z)

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """``Z`` in single precision."""
        return self.Z.astype(np.float32)

    @cached_property
    def gram(self) -> Floats:
        """``K`` (n, n), without what was left out."""
        return self.Z if self.is_gram else self.Z @ self.Z.T

    @cached_property
    def _single_gram(self) -> NDArray[np.float32]:
        return self.gram.astype(np.float32)

    @cached_property
    def _room(self) -> NDArray[np.uint8]:
        return np.empty(8 * len(self.Z) ** 2, dtype=np.uint8)

    def scaled(self, s: NDArray[Any]) -> NDArray[Any]:
        """``diag(s) K diag(s) + I`` in Fortran order and the precision of ``s`` (n,).

        The next call writes to the same memory.
        """
        n, K = len(s), self.gram if s.dtype == np.float64 else self._single_gram
        M = self._room[: n * n * s.itemsize].view(s.dtype).reshape(n, n)
        np.multiply(K, s, out=M)
        M.T[...] *= s
        M[np.diag_indices_from(M)] += 1.0
        return M.T


class Values:
    """Kernel values between the points of a training set."""

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self.X, self.kernel, self.n = X, kernel, X.shape[0]
        # Of z = sqrt(2 gamma) x: (z, -|z|^2 / 2, 1) and (z, 1, -|z|^2 / 2), for a product of both
        self._scaled: tuple[Floats, Floats] | None = None
        if kernel.name == "rbf" and not issparse(X) and X.shape[1] > FEW:
            self.X = X - X.mean(axis=0)
            Z = np.sqrt(2.0 * kernel.gamma) * self.X
            halves = -0.5 * np.einsum("ij,ij->i", Z, Z)
            if -halves.min() <= FAR:
                left = np.column_stack([Z, halves, np.ones(self.n)])
                self._scaled = left, left[:, [*range(Z.shape[1]), -1, -2]]

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
        if self._scaled is None:
            return gram(X[rows], X[others], self.kernel)
        left, right = self._scaled
        D = left[rows] @ right[others].T
        np.minimum(D, 0.0, out=D)
        return np.exp(D, out=D)


def factorise(values: Values, eps: float, max_rank: int) -> Factor:
    """Add pivots until no residual exceeds ``eps``, or there are ``max_rank`` of them."""
    residual = values.diagonal()
    largest = float(np.abs(residual).max())
    eps = max(min(eps, COARSEST * largest), FINEST * largest)
    Z, pivots = np.empty((values.n, 0)), np.empty(0, dtype=np.intp)
    rng, size = np.random.default_rng(0), FIRST
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
        elif len(left) == values.n:
            # If all eigenvalues are larger than eps, all residuals are.  A Gaussian kernel has none
            # below 0, and a part of that rank is enough.
            m = int(np.ceil(WIDE * values.n)) if values.kernel.name == "rbf" else values.n
            M = S[:m, :m].astype(np.float32)
            M[np.diag_indices(m)] -= eps + COARSE * largest
            if not spotrf(M.T, lower=1, clean=0, overwrite_a=1)[1]:
                return Factor(S, left, np.zeros(values.n), is_gram=True)
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
        else:
            new = values.between(slice(None), chosen)
            new -= Z @ Z[chosen].T
            new = dtrsm(1.0, U[:rank, :rank], new.T, trans_a=1, overwrite_b=1).T  # new U^-1
        residual -= np.einsum("ij,ij->i", new, new)
        residual[chosen] = 0.0
        Z = np.ascontiguousarray(new) if Z.shape[1] == 0 else np.hstack([Z, new])
        pivots = np.append(pivots, chosen)
    return Factor(Z, pivots, residual, bool(residual.min() >= -BELOW_ZERO * largest))
