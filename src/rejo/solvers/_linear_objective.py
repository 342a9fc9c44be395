"""The objective of the linear problem, in passes over blocks of points.

All replicas of a point share ``w.x_i``: a value with its gradient reads ``X`` once, whatever ``Q``,
and the Hessian ``X' diag(sum_q d_iq) X`` is that of one linear model.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from rejo._typing import Floats, Indices
from rejo.solvers._linear_losses import Loss

BLOCK = 1 << 16  # entries of X, or points x replicas, at a time: they stay in the cache


class Objective:
    """Value, gradient and Hessian at ``x = (w, b)``, in passes over blocks of points.

    ``prior`` (centre, matrix) takes the place of the penalty, as a quadratic form.
    """

    def __init__(
        self,
        X: Any,  # (n, p) float64 or float32, or CSR of float64
        loss: Loss,
        h: float = 1.0,
        shift: Floats | None = None,  # (p,) subtracted from the rows of a dense X
        prior: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.X, self.h, self.shift, self.prior = X, h, shift, prior
        self.loss: Any = loss
        (self.n, self.p), self.Q = X.shape, len(loss.caps)
        self.sparse = issparse(X)
        self.R = threshold_penalty(self.Q, h)

    def rows(self, subset: Indices | None = None) -> Iterator[slice | Indices]:
        """Blocks of points, or of a subset of them."""
        width = self.Q if self.sparse and subset is None else max(self.Q, self.p)
        size = max(64, BLOCK // max(1, width))
        n = self.n if subset is None else len(subset)
        for start in range(0, n, size):
            block = slice(start, min(start + size, n))
            yield block if subset is None else subset[block]

    def points(self, rows: slice | Indices) -> Floats:
        """Rows of ``X``, dense, in double precision, centred."""
        Z = self.X[rows]
        if self.sparse:
            return np.asarray(Z.toarray(), dtype=np.float64)
        if self.shift is not None:
            return np.subtract(Z, self.shift, dtype=np.float64)
        return np.asarray(Z, dtype=np.float64)

    def penalty(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient (p + Q,) of the quadratic part."""
        if self.prior is not None:
            step = x - self.prior[0]
            gradient = self.prior[1] @ step
        else:
            step = x
            gradient = np.concatenate([x[: self.p], self.R @ x[self.p :]])
        return 0.5 * float(step @ gradient), gradient

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient (p + Q,)."""
        w, b = x[: self.p], x[self.p :]
        value, gradient = self.penalty(x)
        self.loss.reset()
        t = self.X @ w if self.sparse else np.empty(self.n)
        slopes = np.empty(self.n)
        for rows in self.rows():
            if not self.sparse:
                Z = self.points(rows)
                t[rows] = Z @ w
            term, slopes[rows], by_replica = self.loss(t[rows], b, rows)
            if not self.sparse:
                gradient[: self.p] += slopes[rows] @ Z
            value += term
            gradient[self.p :] += by_replica
        if self.sparse:
            gradient[: self.p] += self.X.T @ slopes
        return value, gradient

    def active(self, x: Floats) -> Indices | None:
        """Points that enter the Hessian; None: all."""
        if self.loss.bends_everywhere:
            return None
        w, b = x[: self.p], x[self.p :]
        if self.loss.keeps_state:
            t = np.empty(self.n)
        elif self.sparse:
            t = self.X @ w
        else:
            t = np.concatenate([self.points(rows) @ w for rows in self.rows()])
        bent = [self.loss.curvature(t[rows], b, rows).any(axis=0) for rows in self.rows()]
        return np.flatnonzero(np.concatenate(bent))

    def hessian(self, x: Floats) -> Floats:
        """Matrix (p + Q, p + Q)."""
        p, w, b = self.p, x[: self.p], x[self.p :]
        H = np.zeros((p + self.Q, p + self.Q))
        for rows in self.rows(self.active(x)):
            Z = self.points(rows)
            d = self.loss.curvature(Z @ w, b, rows)
            H[:p, p:] += (d @ Z).T
            H[p:, p:] += np.diag(d.sum(axis=1))
            Z = Z * np.sqrt(d.sum(axis=0))[:, None]
            H[:p, :p] += Z.T @ Z
        H[p:, :p] = H[:p, p:].T
        if self.prior is not None:
            return H + self.prior[1]
        H[np.arange(p), np.arange(p)] += 1.0
        H[p:, p:] += self.R
        return H

    def operator(self, x: Floats) -> tuple[Callable[[Floats], Floats], Floats]:
        """Product with the Hessian and its diagonal (p + Q,)."""
        p, b = self.p, x[self.p :]
        active = self.active(x)
        part: Any = slice(None) if active is None else active
        Z, shift = self.X[part], self.shift

        def scores(u: Floats) -> Floats:
            t = np.asarray(Z @ u[:p].astype(Z.dtype), dtype=np.float64)
            if shift is not None:
                t -= shift @ u[:p]
            return t

        d = self.loss.curvature(scores(x), b, part)  # (Q, m)
        total, sums = d.sum(axis=0), d.sum(axis=1)

        def product(u: Floats) -> Floats:
            t = scores(u)
            s = total * t + u[p:] @ d
            head = u[:p] + Z.T @ s.astype(Z.dtype)
            if shift is not None:
                head -= s.sum() * shift
            return np.concatenate([head, self.R @ u[p:] + d @ t + sums * u[p:]])

        if issparse(Z):
            squares = csr_matrix((Z.data**2, Z.indices, Z.indptr), shape=Z.shape)
            head = squares.T @ total
        else:
            head = np.zeros(p)
            for start in range(0, len(total), size := max(64, BLOCK // p)):
                block = slice(start, start + size)
                head += total[block] @ (Z[block] - (0.0 if shift is None else shift)) ** 2
        return product, np.concatenate([1.0 + head, np.diag(self.R) + sums])


def threshold_penalty(n_replicas: int, h: float) -> Floats:
    """``R`` (Q, Q) with ``1/(2 h^2) sum_{q>=1} (b_q - b_0)^2 = 1/2 b' R b``."""
    R = np.eye(n_replicas)
    R[0, :] = R[:, 0] = -1.0
    R[0, 0] = n_replicas - 1
    return R / float(h) ** 2


def products(X: Any, w: Floats) -> Floats:
    """``X w`` (n,) in double precision; single precision is converted in blocks."""
    if issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ w)
    t, size = np.empty(X.shape[0]), max(64, BLOCK // X.shape[1])
    for start in range(0, len(t), size):
        t[start : start + size] = X[start : start + size].astype(np.float64) @ w
    return t
