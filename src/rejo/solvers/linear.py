"""The linear problem: one direction, ``Q`` thresholds, and no replica in memory.

Arrays of floats in, a named tuple of arrays out; nothing here knows of labels, estimators or
validation.  For points ``x_i`` of class ``k_i`` and weight ``v_i``,

    min  1/2 |w|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
         + sum_iq v_i caps[k_i, q] loss(labels[k_i, q] (w.x_i + b_q)),

with ``loss(m)`` one of ``log(1 + exp(-m))``, ``max(0, 1 - m)`` and ``max(0, 1 - m)^2``.  All
replicas of a point share ``w.x_i``: a value with its gradient reads ``X`` once, whatever ``Q``, and
the Hessian ``X' diag(sum_q d_iq) X`` is that of one linear model.

Narrow data (at most ``NARROW`` features) take Newton steps.  Where there are many points, the
Hessian is that of a stratified sample of them, at the solution for that sample, and BFGS pairs
correct it on the way.  Wide data take truncated Newton steps by conjugate gradients.

The hinge has no Hessian.  Its duals ``a_iq`` are found by the method of multipliers: with the duals
``z_iq`` of the last round, ``max_a a m - delta/2 (a - z)^2`` over ``0 <= a <= cap`` (``m`` the
margin that is missing) is a smooth loss, with a Hessian over the few points at the kink.  Every
evaluation yields a duality gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix, issparse

from rejo.solvers.types import Floats

__all__ = [
    "LinearSolution",
    "Objective",
    "Stream",
    "advance",
    "begin",
    "products",
    "resume",
    "solve",
]

Indices = NDArray[np.intp]

NARROW = 1500  # features; up to here a Hessian is built and factorised
SAMPLE = 25  # points for each parameter in the sample whose Hessian serves all points
LEAST_SAMPLE = 4096
REFRESH = 8  # steps with one Hessian of a sample
BLOCK = 1 << 16  # entries of X, or points x replicas, at a time: they stay in the cache
OFFSET = 10.0  # centre the columns if the mean of one is so many standard deviations from 0
FAR = 300.0  # scores beyond this need more care: their exponentials overflow
ROUNDING = 1e-14  # relative error of an objective
CURVED = 500  # features; up to here a stream keeps the curvature seen
BATCH = 128  # points of a gradient step
SHRINK = 0.3  # of delta, from one round of multipliers to the next
FAST = 0.2  # of the gap: after such a round delta may stay
FLAT = 1e-10  # least curvature, relative to the largest
TIGHTEST = 1e-12  # of delta, relative to the first


class LinearSolution(NamedTuple):
    """What a solve returns."""

    w: Floats  # (p,)
    b: Floats  # (Q,) thresholds as solved, not sorted
    objective: float
    gap: float  # (objective - minimum) / objective: a bound (hinge) or an estimate
    gradient: Floats  # (p + Q,) at (w, b); of the last smooth problem for the hinge
    n_iter: int
    converged: bool


# ---- losses: elementwise, on (Q, m) arrays for m points ------------------------------------


class Logistic:
    """``log(1 + exp(-y (t + b)))``; one exponential a point, as ``exp(t + b) = exp(t) exp(b)``."""

    def __init__(self, labels: Floats, caps: Floats) -> None:
        self.caps = np.ascontiguousarray(caps.T)  # (Q, K)
        self.below = np.where(labels.T < 0, self.caps, 0.0)
        self.above = np.where(labels.T > 0, self.caps, 0.0).sum(axis=0)  # (K,)

    def __call__(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> tuple[float, Floats, Floats]:
        """Sum (), derivative for the scores (m,), its sums for the thresholds (Q,)."""
        c = np.take(self.caps, k, axis=1)
        if v is not None:
            c *= v
        # y = +1: log(1 + e), y = -1: (t + b) + log(1 + e), with e = exp(-t - b).
        if max(-t.min(initial=0.0), t.max(initial=0.0), np.abs(b).max()) < FAR:
            e = np.exp(-t) * np.exp(-b)[:, None]
            e += 1.0
            logs = np.log(e)
        else:
            z = t + b[:, None]
            logs = np.logaddexp(0.0, -z)
            e = 1.0 + np.exp(np.minimum(-z, 700.0))
        totals = np.bincount(k, weights=v, minlength=self.caps.shape[1])  # (K,)
        scores = np.bincount(k, weights=t if v is None else v * t, minlength=len(totals))
        value = np.vdot(c, logs) + self.below.sum(axis=0) @ scores + b @ (self.below @ totals)
        c /= e
        slope = c.sum(axis=0)
        above = self.above[k]
        slope -= above if v is None else above * v
        return float(value), slope, c.sum(axis=1) - (self.caps - self.below) @ totals

    def curvature(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> Floats:
        """Second derivatives (Q, m)."""
        e = np.exp(-np.abs(t + b[:, None]))
        c = np.take(self.caps, k, axis=1) * e / (1.0 + e) ** 2
        return c if v is None else c * v


class SquaredHinge:
    """``max(0, 1 - y (t + b))^2``."""

    def __init__(self, labels: Floats, caps: Floats) -> None:
        self.labels, self.caps = np.ascontiguousarray(labels.T), np.ascontiguousarray(caps.T)

    def __call__(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> tuple[float, Floats, Floats]:
        """Sum (), derivative for the scores (m,), its sums for the thresholds (Q,)."""
        y = np.take(self.labels, k, axis=1)
        missing = _missing(t, b, y)
        np.maximum(missing, 0.0, out=missing)
        c = np.take(self.caps, k, axis=1)
        if v is not None:
            c *= v
        c *= missing
        value = np.vdot(c, missing)
        c *= y
        c *= -2.0
        return float(value), c.sum(axis=0), c.sum(axis=1)

    def curvature(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> Floats:
        """Second derivatives (Q, m)."""
        y = np.take(self.labels, k, axis=1)
        c = 2.0 * np.take(self.caps, k, axis=1) * (_missing(t, b, y) > 0)
        return c if v is None else c * v


class Multipliers:
    """``max_a a m - delta/2 (a - z)^2`` over ``0 <= a <= cap``, ``m = 1 - y (t + b)``.

    Keeps the duals ``a`` of the last evaluation, and sums from which a duality gap follows.
    """

    def __init__(self, labels: Floats, caps: Floats, n: int, delta: float) -> None:
        self.labels, self.caps = np.ascontiguousarray(labels.T), np.ascontiguousarray(caps.T)
        self.delta = self.first_delta = delta
        self.z = np.zeros((caps.shape[1], n))  # (Q, n)
        self.a = np.zeros_like(self.z)
        self.hinge = self.total = 0.0  # sums of cap max(0, m) and of a

    def next_round(self, shrink: float) -> None:
        """Take the duals found as the new centres."""
        self.z, self.a = self.a, self.z
        self.delta *= shrink

    def __call__(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> tuple[float, Floats, Floats]:
        """Sum (), derivative for the scores (m,), its sums for the thresholds (Q,)."""
        y = np.take(self.labels, k, axis=1)
        c = np.take(self.caps, k, axis=1)
        if v is not None:
            c *= v
        missing, z = _missing(t, b, y), self.z[:, rows]
        a = missing / self.delta
        a += z
        np.minimum(a, c, out=a)
        np.maximum(a, 0.0, out=a)
        self.a[:, rows] = a
        self.total += float(a.sum())
        self.hinge += float(np.vdot(c, np.maximum(missing, 0.0)))
        step = a - z
        value = np.vdot(a, missing) - 0.5 * self.delta * np.vdot(step, step)
        a *= y
        return float(value), -a.sum(axis=0), -a.sum(axis=1)

    def curvature(
        self, t: Floats, b: Floats, k: Indices, v: Floats | None, rows: slice | Indices
    ) -> Floats:
        """Second derivatives (Q, m), at the point of the last evaluation."""
        c = np.take(self.caps, k, axis=1)
        if v is not None:
            c = c * v
        a = self.a[:, rows]
        return np.where((a > 0) & (a < c), 1.0 / self.delta, 0.0)


def _missing(t: Floats, b: Floats, y: Floats) -> Floats:
    m = y * t
    m += y * b[:, None]
    return np.subtract(1.0, m, out=m)


# ---- the objective -------------------------------------------------------------------------


class Objective:
    """Value, gradient and Hessian at ``x = (w, b)``, in passes over blocks of points.

    ``prior`` (centre, matrix) takes the place of the penalty, as a quadratic form.
    """

    def __init__(
        self,
        X: Any,  # (n, p) float64 or float32, or CSR of float64
        k: Indices,  # (n,)
        v: Floats | None,  # (n,) weights; None: all 1
        loss: Any,
        n_replicas: int,
        h: float = 1.0,
        shift: Floats | None = None,  # (p,) subtracted from the rows of a dense X
        prior: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.X, self.k, self.v, self.loss, self.shift = X, k, v, loss, shift
        self.n, self.p = X.shape
        self.Q, self.h = n_replicas, h
        self.sparse = issparse(X)
        self.prior = prior
        # 1/(2 h^2) sum (b_q - b_0)^2 = 1/2 b' R b
        self.R = np.eye(self.Q) / h**2
        self.R[0, :] = self.R[:, 0] = -1.0 / h**2
        self.R[0, 0] = (self.Q - 1) / h**2

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

    def weight(self, rows: slice | Indices) -> Floats | None:
        """Weights of points; None: all 1."""
        return None if self.v is None else self.v[rows]

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
        if isinstance(self.loss, Multipliers):
            self.loss.hinge = self.loss.total = 0.0
        scores = self.X @ w if self.sparse else None
        slopes = np.empty(self.n) if self.sparse else None
        for rows in self.rows():
            if scores is not None and slopes is not None:
                term, slopes[rows], by_replica = self.loss(
                    scores[rows], b, self.k[rows], self.weight(rows), rows
                )
            else:
                Z = self.points(rows)
                term, slope, by_replica = self.loss(Z @ w, b, self.k[rows], self.weight(rows), rows)
                gradient[: self.p] += slope @ Z
            value += term
            gradient[self.p :] += by_replica
        if slopes is not None:
            gradient[: self.p] += self.X.T @ slopes
        return value, gradient

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        if self.sparse:
            return np.asarray(self.X @ w)
        return np.concatenate([self.points(rows) @ w for rows in self.rows()])

    def active(self, x: Floats) -> Indices | None:
        """Points that enter the Hessian; None: all."""
        if isinstance(self.loss, Logistic):
            return None
        w, b = x[: self.p], x[self.p :]
        t = np.empty(self.n) if isinstance(self.loss, Multipliers) else self.scores(w)
        bent = [
            self.loss.curvature(t[rows], b, self.k[rows], self.weight(rows), rows).any(axis=0)
            for rows in self.rows()
        ]
        return np.flatnonzero(np.concatenate(bent))

    def hessian(self, x: Floats) -> Floats:
        """Matrix (p + Q, p + Q)."""
        p, (w, b) = self.p, np.split(x, [self.p])
        H = np.zeros((p + self.Q, p + self.Q))
        for rows in self.rows(self.active(x)):
            Z = self.points(rows)
            d = self.loss.curvature(Z @ w, b, self.k[rows], self.weight(rows), rows)
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
        Z, k, v = self.X[part], self.k[part], self.weight(part)
        t = np.asarray(Z @ x[:p].astype(Z.dtype), dtype=np.float64)
        if self.shift is not None:
            t -= self.shift @ x[:p]
        d = self.loss.curvature(t, b, k, v, part)  # (Q, m)
        total, sums = d.sum(axis=0), d.sum(axis=1)
        shift = self.shift

        def product(u: Floats) -> Floats:
            t = np.asarray(Z @ u[:p].astype(Z.dtype), dtype=np.float64)
            if shift is not None:
                t -= shift @ u[:p]
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
                block = Z[start : start + size]
                head += total[start : start + size] @ (
                    block * block if shift is None else (block - shift) ** 2
                )
        return product, np.concatenate([1.0 + head, np.diag(self.R) + sums])


# ---- the descent ---------------------------------------------------------------------------


Report = Callable[[int, float, float], None]  # steps, value, relative excess


class _Point(NamedTuple):
    x: Floats
    value: float
    gradient: Floats


class Descent(NamedTuple):
    """Where a descent ended."""

    point: _Point
    gap: float  # relative excess of the value
    n_iter: int
    converged: bool


class _Newton:
    """Steps by the factorised Hessian of an objective, or of that for a sample of the points.

    With a sample, BFGS pairs of the steps taken correct it; if ``REFRESH`` steps are not enough,
    it gives way to the Hessian of all points.
    """

    def __init__(self, objective: Objective, point: _Point, sample: Objective | None) -> None:
        self.objective, self.sampled = objective, sample is not None
        self.factorise(objective if sample is None else sample, point)

    def factorise(self, objective: Objective, point: _Point) -> None:
        p, H = objective.p, objective.hessian(point.x)
        thresholds = np.arange(p, len(H))
        H[thresholds, thresholds] += _lift(point, p, float(H[p:, p:].sum()))
        diagonal = np.diag(H)
        self.scale = np.sqrt(np.maximum(diagonal, FLAT * diagonal.max()))
        H /= np.outer(self.scale, self.scale)
        self.factor = _cholesky(H)
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def direction(self, point: _Point, gap: float) -> Floats:
        g, kept = point.gradient.copy(), []
        for s, y, inner in reversed(self.pairs):
            kept.append(a := (s @ g) / inner)
            g -= a * y
        d = cho_solve(self.factor, g / self.scale) / self.scale
        for (s, y, inner), a in zip(self.pairs, reversed(kept), strict=True):
            d += s * (a - (y @ d) / inner)
        return -d

    def learn(self, before: _Point, after: _Point) -> None:
        if not self.sampled or len(self.pairs) == REFRESH:
            self.sampled = False
            self.factorise(self.objective, after)
            return
        s, y = after.x - before.x, after.gradient - before.gradient
        inner = float(s @ y)
        if inner > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs.append((s, y, inner))


def _lift(point: _Point, p: int, curvature: float) -> float:
    """Curvature to add to each threshold.

    Where few points bend the loss (hinge), little holds the thresholds together on their way:
    a common step should not be longer than about their own size.
    """
    b, slope = point.x[p:], abs(point.gradient[p:].sum())
    return max(slope / (2.0 + np.abs(b).max()) - curvature, 0.0) / len(b)


def _cholesky(H: Floats) -> Any:
    """Factorise a matrix of unit diagonal; what is not positive definite gets a ridge."""
    ridge = 1e-15
    while True:
        try:
            return cho_factor(H + ridge * np.eye(len(H)), overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 100.0


class _TruncatedNewton:
    """Steps by conjugate gradients on the Hessian, scaled by its diagonal."""

    LIMIT = 300

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def direction(self, point: _Point, gap: float) -> Floats:
        p = self.objective.p
        product, diagonal = self.objective.operator(point.x)
        common = np.where(np.arange(len(diagonal)) < p, 0.0, 1.0)
        lift = common * _lift(point, p, float(common @ product(common)))
        diagonal = np.maximum(diagonal + lift, FLAT * diagonal.max())
        r = -point.gradient
        z = r / diagonal
        u, d, rz = z.copy(), np.zeros_like(r), float(r @ z)
        enough = rz * min(0.1, max(gap, 1e-6))
        for _ in range(self.LIMIT):
            Hu = product(u) + lift * u
            curve = float(u @ Hu)
            if curve <= 0:
                break
            step = rz / curve
            d += step * u
            r -= step * Hu
            z = r / diagonal
            new = float(r @ z)
            if new <= enough:
                break
            u *= new / rz
            u += z
            rz = new
        return d

    def learn(self, before: _Point, after: _Point) -> None:
        """Every direction has its own Hessian: nothing to keep."""


def minimise(
    objective: Objective,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    sample: Objective | None = None,
    stop: Callable[[_Point], bool] | None = None,
    report: Report | None = None,
) -> Descent:
    """Descend until half the Newton decrement is at most ``tol`` x value, or ``stop`` says so.

    ``sample`` is the objective of a part of the points, with a minimum near ``x``.
    """
    point = _Point(x, *objective(x))
    method: Any = (
        _Newton(objective, point, sample) if objective.p <= NARROW else _TruncatedNewton(objective)
    )
    gap, n_iter = 1.0, 0
    while True:
        d = method.direction(point, gap)
        slope = float(point.gradient @ d)
        gap = max(-0.5 * slope / max(abs(point.value), np.finfo(float).tiny), 0.0)
        if report is not None:
            report(n_iter, point.value, gap)
        if gap <= tol or (stop is not None and stop(point)):
            return Descent(point, gap, n_iter, True)
        if n_iter >= max_iter:
            return Descent(point, gap, n_iter, False)
        after = _search(objective, point, d, slope)
        if after is None:  # no progress beyond rounding
            objective(point.x)
            return Descent(point, gap, n_iter, False)
        n_iter += 1
        method.learn(point, after)
        point = after


def _search(objective: Objective, point: _Point, d: Floats, slope: float) -> _Point | None:
    """Go along ``d``: the full step, or a shorter one by the secant of the slopes."""
    step = 1.0
    noise = ROUNDING * (1.0 + objective.n**0.5) * abs(point.value)
    for _ in range(40):
        x = point.x + step * d
        value, gradient = objective(x)
        new_slope = float(gradient @ d)
        if value <= point.value + 1e-4 * step * slope:
            return _Point(x, value, gradient)
        if value <= point.value + noise and abs(new_slope) <= 0.9 * abs(slope):
            return _Point(x, value, gradient)
        bend = new_slope - slope
        ratio = -slope / bend if np.isfinite(bend) and bend > 0 else 0.1
        step *= min(max(ratio, 0.1), 0.7)
    return None


def _multipliers(
    objective: Objective,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Descent:
    """Minimise with the hinge, by rounds of smooth problems, until the duality gap is ``tol``."""
    gap, n_iter = np.inf, 0

    def stop(point: _Point) -> bool:
        primal, gap, residual = _duality_gap(objective, point)
        moved = point.x is not x  # a round takes at least one step
        return gap <= tol or (moved and residual <= 0.1 * tol * primal)

    while True:
        done = minimise(objective, x, tol=0.0, max_iter=max_iter - n_iter, stop=stop)
        n_iter += done.n_iter
        before = gap
        primal, gap, _ = _duality_gap(objective, done.point)
        if report is not None:
            report(n_iter, primal, gap)
        x = done.point.x
        spent = objective.loss.delta < TIGHTEST * objective.loss.first_delta
        if gap <= tol or n_iter >= max_iter or spent:
            return Descent(done.point._replace(value=primal), gap, n_iter, gap <= tol)
        objective.loss.next_round(1.0 if gap < FAST * before else SHRINK)


def _duality_gap(objective: Objective, point: _Point) -> tuple[float, float, float]:
    """Primal value and relative gap of the hinge, and what of the gap a smaller gradient cures.

    The duals are those of the last evaluation.  They may miss their one equation, ``sum_iq y_iq
    a_iq = 0``, by a little: the bound then holds for thresholds of up to ten times the size.
    """
    p, loss = objective.p, objective.loss
    penalty, pull = objective.penalty(point.x)
    primal = penalty + loss.hinge
    u = pull - point.gradient  # (X'B, G), with B_i = sum_q y_iq a_iq and G_q = sum_i y_iq a_iq
    G = u[p:]
    spread = objective.h**2 * float(G[1:] @ G[1:])
    missed = 10.0 * (1.0 + np.abs(point.x[p:]).max()) * abs(G.sum())
    dual = loss.total - 0.5 * (float(u[:p] @ u[:p]) + spread) - missed
    residual = missed + 0.5 * float(point.gradient @ point.gradient)
    return primal, max(primal - dual, 0.0) / max(primal, np.finfo(float).tiny), residual


# ---- the problem ---------------------------------------------------------------------------


def solve(
    X: Any,  # (n, p) float64 or float32, C order, or CSR of float64
    k: Indices,  # (n,) class of each point
    labels: Floats,  # (K, Q) of +1 and -1
    caps: Floats,  # (K, Q) C * cost, 0 where a class does not take part
    weight: Floats | None = None,  # (n,) positive
    *,
    loss: str = "logistic",
    h: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: tuple[Floats, Floats] | None = None,  # (w, b)
    verbose: bool = False,
) -> LinearSolution:
    """Solve until the relative excess of the objective is at most ``tol``.

    For the hinge this is the duality gap, else it is estimated by half the Newton decrement.
    """
    p, Q = X.shape[1], labels.shape[1]
    sample = _sample(k, len(caps), p + Q)
    shift = None if issparse(X) else _shift(X if sample is None else X[sample[0]])
    x = np.zeros(p + Q)
    if start is not None:
        x[:p], x[p:] = start
        x[p:] += 0.0 if shift is None else x[:p] @ shift

    def objective(points: Any, k: Indices, v: Floats | None) -> Objective:
        return Objective(points, k, v, make_loss(loss, labels, caps, k, v), Q, h, shift)

    def report(i: int, value: float, gap: float) -> None:
        print(f"[rejo] {loss}, step {i}: objective {value:.8g}, relative excess {gap:.1e}")

    every: dict[str, Any] = dict(tol=tol, max_iter=max_iter, report=report if verbose else None)
    whole = objective(X, k, weight)
    if loss == "hinge":
        done = _multipliers(whole, x, **every)
    elif sample is None or p > NARROW:
        done = minimise(whole, x, **every)
    else:
        rows, factors = sample
        v = factors if weight is None else factors * weight[rows]
        part = objective(X[rows], k[rows], v)
        near = minimise(part, x, tol=1e-3 * p / len(rows), max_iter=50)
        done = minimise(whole, near.point.x, sample=part, **every)
    (x, value, gradient), gap, n_iter, converged = done
    w, b = x[:p].copy(), x[p:].copy()
    if shift is not None:
        b -= w @ shift
    return LinearSolution(w, b, float(value), float(gap), gradient, n_iter, bool(converged))


def make_loss(loss: str, labels: Floats, caps: Floats, k: Indices, v: Floats | None) -> Any:
    """The loss by its name, for points of the classes ``k`` and weights ``v``."""
    if loss == "logistic":
        return Logistic(labels, caps)
    if loss == "squared_hinge":
        return SquaredHinge(labels, caps)
    mean = float(caps[caps > 0].mean()) * (1.0 if v is None else float(v.mean()))
    return Multipliers(labels, caps, len(k), 1.0 / mean)


def _sample(k: Indices, n_classes: int, n_parameters: int) -> tuple[Indices, Floats] | None:
    """Rows of a stratified sample, and the factors of their weights; None: not worth it."""
    size = max(LEAST_SAMPLE, SAMPLE * n_parameters)
    if len(k) < 3 * size:
        return None
    rng = np.random.default_rng(0)
    rows, factors = [], []
    for c in range(n_classes):
        members = np.flatnonzero(k == c)
        if len(members) > size // n_classes:
            chosen = members[np.unique(rng.integers(len(members), size=size // n_classes))]
        else:
            chosen = members
        rows.append(chosen)
        factors.append(np.full(len(chosen), len(members) / max(1, len(chosen))))
    return np.concatenate(rows), np.concatenate(factors)


def _shift(X: Any) -> Floats | None:
    """Column means (p,), if some column lies far from 0: ``b_0`` is free and takes them up."""
    mean = X.mean(axis=0, dtype=np.float64)
    spread = X.std(axis=0, dtype=np.float64)
    return mean if (np.abs(mean) > OFFSET * spread).any() else None


# ---- streams -------------------------------------------------------------------------------


class Stream(NamedTuple):
    """What is known after some chunks of a stream."""

    x: Floats  # (p + Q,) the current weights and thresholds
    mean: Floats  # (p + Q,) what to predict with
    memory: Floats  # curvature seen so far (p + Q, p + Q), or sums of squared gradients (p + Q,)
    pace: float  # step for the weights; 0 with curvature
    n_seen: int
    n_steps: int


def begin(X: Any, n_replicas: int, loss: str, h: float) -> Stream:
    """Know nothing yet: the penalty alone; ``X`` (n, p) tells the scale of the points."""
    p = X.shape[1]
    x = np.zeros(p + n_replicas)
    if loss != "hinge" and p <= CURVED:
        empty = Objective(X[:0], np.empty(0, np.intp), None, None, n_replicas, h)
        prior = np.eye(len(x))
        prior[p:, p:] = empty.R
        return Stream(x, x, prior, 0.0, 0, 0)
    squares = X.multiply(X).sum() if issparse(X) else np.square(X, dtype=np.float64).sum()
    pace = 1.0 / np.sqrt(max(float(squares) / X.shape[0], 1e-300))
    return Stream(x, x, np.zeros_like(x), pace, 0, 0)


def resume(
    X: Any,  # (n, p) the next chunk
    k: Indices,  # (n,)
    labels: Floats,  # (K, Q)
    caps: Floats,  # (K, Q)
    weight: Floats | None = None,  # (n,)
    *,
    start: tuple[Floats, Floats],  # (w, b)
    n_seen: int,
    loss: str = "logistic",
    h: float = 1.0,
) -> Stream:
    """Go on from a solution for ``n_seen`` points, which are taken to be like this chunk."""
    Q = labels.shape[1]
    stream, x = begin(X, Q, loss, h), np.concatenate(start)
    stream = stream._replace(x=x, mean=x, n_seen=n_seen)
    if stream.memory.ndim == 1:
        return stream._replace(n_steps=-(-n_seen // BATCH))
    objective = Objective(X, k, weight, make_loss(loss, labels, caps, k, weight), Q, h)
    seen = (objective.hessian(x) - stream.memory) * (n_seen / X.shape[0])
    return stream._replace(memory=stream.memory + seen)


def advance(
    stream: Stream,
    X: Any,  # (n, p) a chunk
    k: Indices,  # (n,)
    labels: Floats,  # (K, Q)
    caps: Floats,  # (K, Q)
    weight: Floats | None = None,  # (n,)
    *,
    loss: str = "logistic",
    h: float = 1.0,
    rng: Any = None,
) -> Stream:
    """Learn from one more chunk.

    With curvature, the sum of all losses seen so far is replaced by its expansion to second order
    about the current point, and the chunk is solved with that as its penalty: the first chunk is
    solved as by ``solve``.  Otherwise one pass of averaged, scaled gradient steps is made.
    """
    if stream.memory.ndim == 2:
        prior = (stream.x, stream.memory)
        fit = make_loss(loss, labels, caps, k, weight)
        objective = Objective(X, k, weight, fit, labels.shape[1], h, prior=prior)
        done = minimise(objective, stream.x, tol=1e-10, max_iter=100)
        x, n_steps = done.point.x, stream.n_steps + done.n_iter
        return Stream(x, x, objective.hessian(x), 0.0, stream.n_seen + len(k), n_steps)

    p, (x, mean, memory, pace, n_seen, n_steps) = X.shape[1], stream
    x, mean, memory = x.copy(), mean.copy(), memory.copy()
    paces = np.where(np.arange(len(x)) < p, pace, 1.0)
    order = rng.permutation(len(k))
    for start in range(0, len(k), BATCH):
        rows = order[start : start + BATCH]
        v = None if weight is None else weight[rows]
        fit = make_loss(loss, labels, caps, k[rows], v)
        if loss == "hinge":
            fit.delta *= 1e-3
        batch = Objective(X[rows], k[rows], v, fit, labels.shape[1], h)
        n_seen += len(rows)
        pull = batch.penalty(x)[1]
        g = (batch(x)[1] - pull) / len(rows) + pull / n_seen
        memory += g * g if memory.any() else (1 + n_steps) * g * g
        x -= paces * g / np.sqrt(np.maximum(memory, 1e-300))
        n_steps += 1
        mean += (x - mean) * (4.0 / (n_steps + 3.0))  # later points count more
    return Stream(x, mean, memory, pace, n_seen, n_steps)


def products(X: Any, w: Floats) -> Floats:
    """``X w`` (n,) in double precision; single precision is converted in blocks."""
    if issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ w)
    t, size = np.empty(X.shape[0]), max(64, BLOCK // X.shape[1])
    for start in range(0, len(t), size):
        t[start : start + size] = X[start : start + size].astype(np.float64) @ w
    return t
