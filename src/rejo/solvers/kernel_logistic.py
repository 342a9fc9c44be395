"""Kernel logistic regression with ``Q`` thresholds: Newton steps on a low-rank factor.

Arrays of floats in, a named tuple of arrays out; nothing here knows of labels, estimators or
validation.  For points ``x_i`` of weight ``v_i`` and row ``k_i`` of the tables (of their class or,
if costs differ by point, their own), over ``g`` in the kernel's space and ``b``,

    min  1/2 |g|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
         + sum_iq v_i caps[k_i, q] log(1 + exp(-labels[k_i, q] (g(x_i) + b_q))).

With the kernel matrix ``K ~ Z Z'`` and ``g = Z w`` at the points (see ``_kernel_factor``) these are
``r + Q`` unknowns.  All replicas share ``Z``, so the Hessian costs what it costs for one:
``I + Z' diag(sum_q d_iq) Z``.

The duals are ``u_iq = v_i caps_iq y_iq sigmoid(-y_iq (g_i + b_q))``, with ``B_i = sum_q u_iq`` and
``G_q = sum_i u_iq``.  Primal minus dual is half the squared gradient in the metric of the penalty,
plus what the factor leaves out:

    1/2 |w - Z'B|^2 + h^2/2 sum_{q>=1} (G_q - (b_q - b_0) / h^2)^2 + 1/2 B'(K - Z Z')B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsv, ssyrk, strsv
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.solvers._kernel_factor import WIDE, Factor, Values, factorise
from rejo.solvers._linear_objective import threshold_penalty
from rejo.solvers.svm import evaluate
from rejo.solvers.types import Kernel, Step

ALLOWED = 30.0  # eps of the factor: so many tol / total cap keep what is left out below tol
NARROW = 64  # pivots below which single precision saves nothing
SINGLE_EPS = 6e-8
KEEP = 0.1  # of the gap is left: the Hessian is good for another step
RAREST = 1e-3  # share of a side of a boundary, for the first thresholds
ROUNDING = 1e-15  # relative change of an objective that means nothing
BLOCK = 1 << 20  # entries of Z at a time in the Hessian


class LogisticSolution(NamedTuple):
    """What a solve returns."""

    w: Floats  # (r,) g = Z w at the points
    b: Floats  # (Q,) thresholds as solved, not sorted
    pivots: Indices  # (r,) points that carry g: g(x) = sum_j coef_j k(x_pivot_j, x)
    coef: Floats  # (r,)
    objective: float  # primal value
    gap: float  # (primal - dual) / primal, or a bound on it
    n_iter: int
    converged: bool  # to the best function that the pivots carry
    definite: bool  # whether the kernel matrix is positive semidefinite, as far as was seen
    weights: Floats | None = None  # (p,) linear kernel only: g(x) = weights . x


class LogisticProblem:
    """A training set under a kernel, factorised once and solved for many costs."""

    def __init__(
        self,
        X: Any,  # (n, p), CSR, or (n, n) for a precomputed kernel
        kernel: Kernel,
        k: Indices,  # (n,) row of each point in the tables
        weight: Floats | None = None,  # (n,) positive
        *,
        max_rank: int = 500,
        cache_size: float = 200.0,  # MB for the factor
    ) -> None:
        self.kernel, self.k, self.weight = kernel, k, weight
        # b_0 is free, so a linear kernel may be centred: only the thresholds move.
        centre = kernel.name == "linear" and not issparse(X)
        self._mean = X.mean(axis=0) if centre else None
        self.X = X if self._mean is None else X - self._mean
        fits = float(cache_size) * 2**20 / (8 * len(k))
        self._max_rank = int(max(1, min(max_rank, fits, len(k))))
        self._factor: tuple[float, Factor] | None = None  # eps, and the factor for it

    def solve(self, labels: Floats, caps: Floats, *, h: float = 1.0, **params: Any) -> Any:
        """Solve one problem: labels of +1 and -1 and ``C`` * cost (K, Q); see ``solve_path``."""
        return next(self.solve_path([Step(labels, caps, h)], **params))

    def solve_path(
        self,
        steps: Iterable[Step],
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        verbose: bool = False,
    ) -> Iterator[LogisticSolution]:
        """Solve a sequence of problems, each from the solution of the one before.

        Each until the relative duality gap of the problem on the factor is at most ``tol``.
        """
        steps = list(steps)
        factor = self._factorise(steps, tol)
        w, b = np.zeros(factor.Z.shape[1]), None
        for labels, caps, h in steps:
            state = _LogisticDescent(factor, self.k, self.weight, labels, caps, h)
            state.start(w, b)
            n_iter = state.run(tol, max_iter, verbose)
            w, b = state.w, state.b
            yield self._solution(state, factor, n_iter, tol)

    def _factorise(self, steps: Sequence[Step], tol: float) -> Factor:
        """Factor that leaves out too little to be seen in any step, if the rank allows it."""
        counts = np.bincount(self.k, weights=self.weight)
        total = max(float(counts @ step.caps.sum(axis=1)) for step in steps)
        eps = ALLOWED * tol / total
        if self._factor is None or self._factor[0] > eps:
            n, p = self.X.shape
            # The features themselves are the smallest factor of a linear kernel.
            if self.kernel.name == "linear" and not issparse(self.X) and p <= n:
                nothing = np.empty(0, dtype=np.intp)
                factor = Factor(np.ascontiguousarray(self.X), nothing, np.zeros(len(self.k)))
            else:
                with np.errstate(over="ignore", invalid="ignore"):  # seen in the residual
                    factor = factorise(Values(self.X, self.kernel), eps, self._max_rank)
            self._factor = eps, factor
        return self._factor[1]

    def _solution(
        self, state: _LogisticDescent, factor: Factor, n_iter: int, tol: float
    ) -> LogisticSolution:
        value, gap = max(state.value, 1e-300), np.inf
        if np.isfinite(factor.residual).all():
            gap = (state.gap + self._left_out(state, factor, tol)) / value
        else:  # kernel values overflow
            value = np.inf
        coef, weights, b = state.w, None, state.b
        if len(factor.pivots) and not factor.is_gram:
            coef = dtrsv(factor.Z[factor.pivots], state.w, lower=1, trans=1)  # L' coef = w
        if self.kernel.name == "linear":
            weights = coef
            if len(factor.pivots) or not state.w.size:
                weights = np.asarray(self.X[factor.pivots].T @ coef)
            if self._mean is not None:
                b = b - weights @ self._mean
        return LogisticSolution(
            state.w, b, factor.pivots, coef, value, gap, n_iter,
            state.gap <= tol * value, factor.definite, weights,
        )  # fmt: skip

    def _left_out(self, state: _LogisticDescent, factor: Factor, tol: float) -> float:
        """``1/2 B'(K - Z Z')B``, or a bound on it where that takes longer than a Newton step."""
        B, (n, r) = state.u.sum(axis=0), factor.Z.shape
        bound = 0.5 * float(np.abs(B) @ np.sqrt(np.maximum(factor.residual, 0.0))) ** 2
        width = 1 if self.kernel.name == "precomputed" else self.X.shape[1] + 10
        if bound <= 0.1 * tol * state.value or n * width > r * r:
            return bound
        ZB = B @ factor.Z
        exact = 0.5 * float(B @ evaluate(self.X, self.X, B, self.kernel) - ZB @ ZB)
        return min(max(exact, 0.0), bound)


class _LogisticDescent:
    """Where the descent stands: ``w``, ``b``, the scores ``Z w``, and all that follows."""

    def __init__(
        self, factor: Factor, k: Indices, weight: Floats | None,
        labels: Floats, caps: Floats, h: float,
    ) -> None:  # fmt: skip
        self.factor, self.R, self.h = factor, threshold_penalty(labels.shape[1], h), float(h)
        Z = self.Z = factor.Z
        self.y = np.take(np.ascontiguousarray(labels.T), k, axis=1)  # (Q, n)
        self.c = np.take(np.ascontiguousarray(caps.T), k, axis=1)  # (Q, n)
        if weight is not None:
            self.c *= weight
        self.w, self.b, self.t = np.zeros(Z.shape[1]), np.zeros(len(self.y)), np.zeros(len(Z))
        self.value = self.gap = np.inf

    def start(self, w: Floats, b: Floats | None) -> None:
        """Begin at ``w``; ``b`` of another number of replicas is replaced by the log-odds."""
        if b is None or len(b) != len(self.y):
            total = np.maximum(self.c.sum(axis=1), 1e-300)
            above = np.clip((self.c * (self.y > 0)).sum(axis=1) / total, RAREST, 1.0 - RAREST)
            b = np.log(above / (1.0 - above))
        self._move(w, b, self.Z @ w)
        self._differentiate()

    def run(self, tol: float, max_iter: int, verbose: bool) -> int:
        """Newton steps until the gap is at most ``tol`` of the value; returns their number."""
        divide, n_iter = None, 0
        many = self.factor.is_gram or len(self.w) > WIDE * len(self.Z)
        hessian = self._by_points if many else self._by_pivots
        while self.gap > tol * self.value and n_iter < max_iter:
            if divide is None:
                divide = hessian()
            before = self.gap
            if not self._descend(-divide(self.gradient)):
                break
            n_iter += 1
            self._differentiate()
            if self.gap > KEEP * before:
                divide = None
            if verbose:
                gap = self.gap / max(self.value, 1e-300)
                print(f"[rejo] step {n_iter}: objective {self.value:.8g}, gap {gap:.1e}")
        return n_iter

    def _descend(self, step: Floats) -> bool:
        """Go along a step as far as the objective falls; False where rounding hides it."""
        r, before = len(self.w), self.value
        w, b, t, dt = self.w, self.b, self.t, self.Z @ step[: len(self.w)]
        slope = self._inner(self.gradient[:r], step[:r], dt) + float(self.gradient[r:] @ step[r:])
        size = 1.0
        if not -np.inf < slope < 0:
            return False
        while True:
            self._move(w + size * step[:r], b + size * step[r:], t + size * dt)
            if self.value <= before + 1e-4 * size * slope:
                return True
            if -size * slope <= ROUNDING * before:
                # As low as rounding allows; not a number: back to where it was.
                if not self.value <= before + ROUNDING * before:
                    self._move(w, b, t)
                return False
            size *= 0.5

    def _move(self, w: Floats, b: Floats, t: Floats) -> None:
        self.w, self.b, self.t = w, b, t
        s = self.y * (t + b[:, None])  # (Q, n)
        self.e = np.exp(-np.abs(s))
        self.s = s
        # log(1 + exp(-s)) = log(1 + e) - min(s, 0)
        losses = np.log(1.0 + self.e)
        losses -= np.minimum(s, 0.0)
        self.value = 0.5 * (self._inner(w, w, t) + float(b @ self.R @ b))
        self.value += float(np.vdot(self.c, losses))

    def _differentiate(self) -> None:
        """The duals, the gradient (r + Q,) and the duality gap."""
        e, r = self.e, len(self.w)
        share = np.where(self.s > 0, e, 1.0) / (1.0 + e)
        self.u = self.c * self.y * share
        self.d = self.c * e / (1.0 + e) ** 2
        self.gradient = np.empty(r + len(self.b))
        self.gradient[:r] = of_w = self.w - self._function(self.u.sum(axis=0))
        self.gradient[r:] = along = self.R @ self.b - self.u.sum(axis=1)
        squared = self._inner(of_w, of_w, self.Z @ of_w if self.factor.is_gram else of_w)
        # b_0 has no penalty: there, the excess of the best quadratic fit.
        shift = float(along.sum()) ** 2 / max(float(self.d.sum()), 1e-300)
        self.gap = 0.5 * (squared + self.h**2 * float(along[1:] @ along[1:]) + shift)

    def _function(self, B: Floats) -> Floats:
        """Return ``sum_i B_i k(x_i, .)`` as weights (r,) like ``w``."""
        return B if self.factor.is_gram else self.Z.T @ B

    def _inner(self, v: Floats, w: Floats, at_points: Floats) -> float:
        """Inner product of two functions by their weights; ``at_points``: values of the second."""
        return float(v @ (at_points if self.factor.is_gram else w))

    def _by_pivots(self) -> Callable[[Floats], Floats]:
        """The Hessian, ``I + Z'DZ`` and its border, as division of a gradient (r + Q,) by it."""
        d, r = self.d, len(self.w)
        D, size = d.sum(axis=0), r + len(d)
        double = r < NARROW or self._needs_double(D)
        Z: Any = self.Z if double else self.factor.single
        syrk = dsyrk if double else ssyrk
        root, block = np.sqrt(D).astype(Z.dtype), max(64, BLOCK // max(1, r))
        H = np.zeros((size, size), order="F")  # below the diagonal
        for start in range(0, len(Z) if r else 0, block):  # BLAS refuses an empty matrix
            rows = slice(start, start + block)
            H[:r, :r] += syrk(1.0, (Z[rows] * root[rows, None]).T, lower=1)
        H[r:, :r] = d @ self.Z
        H[r:, r:] = self.R + np.diag(d.sum(axis=1))
        H[np.arange(r), np.arange(r)] += 1.0
        L = _cholesky(H)
        return lambda gradient: dpotrs(L, gradient, lower=1)[0]

    def _needs_double(self, D: Floats) -> bool:
        """Steps need not be exact: single precision does, unless its errors outweigh I."""
        return SINGLE_EPS * float(D @ self.factor.norms) > 1e-2

    def _by_points(self) -> Callable[[Floats], Floats]:
        """The same where ``r`` is close to ``n``, by Woodbury's formula.

        ``(I + Z'DZ)^-1 = I - Z'S (I + S ZZ' S)^-1 S Z`` with ``S = D^(1/2)``.
        """
        Z, d, r = self.Z, self.d, len(self.w)
        D = d.sum(axis=0)
        double = self._needs_double(D)
        S: Any = np.sqrt(D) if double else np.sqrt(D).astype(np.float32)
        potrf, trsv = (dpotrf, dtrsv) if double else (spotrf, strsv)
        L, failed = potrf(self.factor.scaled(S), lower=1, clean=0, overwrite_a=1)
        if failed:
            S, trsv = np.sqrt(D), dtrsv
            L = _cholesky(self.factor.scaled(S))

        def divide(v: Floats) -> Floats:  # (r,); two calls of BLAS are faster than one of LAPACK
            inner = trsv(L, trsv(L, S * (Z @ v), lower=1), lower=1, trans=1)
            return v - self._function(S * inner)

        AE = np.array([divide(self._function(each)) for each in d])  # (Q, r)
        E = np.array([Z @ each for each in AE]) @ d.T
        F = _cholesky(self.R + np.diag(d.sum(axis=1)) - E)  # (Q, Q)

        def divide_all(gradient: Floats) -> Floats:
            along = divide(gradient[:r])
            shift = dpotrs(F, gradient[r:] - d @ (Z @ along), lower=1)[0]
            return np.concatenate([along - shift @ AE, shift])

        return divide_all


def _cholesky(H: Floats) -> Floats:
    """Lower Cholesky factor, with a ridge where rounding has made ``H`` singular."""
    ridge = max(1e-14 * float(H.diagonal().max()), 1e-300)
    while True:
        L, failed = dpotrf(H, lower=1, clean=0)
        if not failed or not np.isfinite(ridge):
            return np.asarray(L)
        H[np.diag_indices_from(H)] += ridge
        ridge *= 100.0
