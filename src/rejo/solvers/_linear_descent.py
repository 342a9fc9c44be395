"""Descent on a smooth objective, and rounds of such descents for the hinge.

Narrow data (at most ``NARROW`` features) take Newton steps.  Where there are many points, the
Hessian is that of a stratified sample of them, at the solution for that sample, and BFGS pairs
correct it on the way.  Wide data take truncated Newton steps by conjugate gradients.

The hinge has no Hessian: it is minimised by the method of multipliers.  Its duals ``a_iq`` are
found in rounds: with the duals ``z_iq`` of the last one, ``max_a a m - delta/2 (a - z)^2`` over
``0 <= a <= cap`` (``m`` the margin that is missing) is a smooth loss, with a Hessian over the few
points at the kink.  Every evaluation yields a duality gap.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from rejo._typing import Floats
from rejo.solvers._linear_objective import Objective

NARROW = 1500  # features; up to here a Hessian is built and factorised
REFRESH = 8  # steps with one Hessian of a sample
ROUNDING = 1e-14  # relative error of an objective
FLAT = 1e-10  # least curvature, relative to the largest
SHRINK = 0.3  # of delta, from one round of multipliers to the next
FAST = 0.2  # of the gap: after such a round delta may stay
TIGHTEST = 1e-12  # of delta, relative to the first

OnStep = Callable[[int, float, float], None]  # steps, value, relative excess


class Point(NamedTuple):
    """Where a descent stands."""

    x: Floats  # (p + Q,)
    value: float
    gradient: Floats  # (p + Q,)


class Descent(NamedTuple):
    """Where a descent ended."""

    point: Point
    gap: float  # relative excess of the value
    n_iter: int
    converged: bool


def minimise(
    objective: Objective,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    sample: Objective | None = None,
    stop: Callable[[Point], bool] | None = None,
    report: OnStep | None = None,
) -> Descent:
    """Descend until half the Newton decrement is at most ``tol`` x value, or ``stop`` says so.

    ``sample`` is the objective of a part of the points, with a minimum near ``x``.
    """
    point = Point(x, *objective(x))
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


def _search(objective: Objective, point: Point, d: Floats, slope: float) -> Point | None:
    """Go along ``d``: the full step, or a shorter one by the secant of the slopes."""
    step = 1.0
    noise = ROUNDING * (1.0 + objective.n**0.5) * abs(point.value)
    for _ in range(40):
        x = point.x + step * d
        value, gradient = objective(x)
        new_slope = float(gradient @ d)
        if value <= point.value + 1e-4 * step * slope:
            return Point(x, value, gradient)
        if value <= point.value + noise and abs(new_slope) <= 0.9 * abs(slope):
            return Point(x, value, gradient)
        bend = new_slope - slope
        ratio = -slope / bend if np.isfinite(bend) and bend > 0 else 0.1
        step *= min(max(ratio, 0.1), 0.7)
    return None


class _Newton:
    """Steps by the factorised Hessian of an objective, or of that for a sample of the points.

    With a sample, BFGS pairs of the steps taken correct it; if ``REFRESH`` steps are not enough,
    it gives way to the Hessian of all points.
    """

    def __init__(self, objective: Objective, point: Point, sample: Objective | None) -> None:
        self.objective, self.sampled = objective, sample is not None
        self.factorise(objective if sample is None else sample, point)

    def factorise(self, objective: Objective, point: Point) -> None:
        p, H = objective.p, objective.hessian(point.x)
        thresholds = np.arange(p, len(H))
        H[thresholds, thresholds] += _lift(point, p, float(H[p:, p:].sum()))
        diagonal = np.diag(H)
        self.scale = np.sqrt(np.maximum(diagonal, FLAT * diagonal.max()))
        H /= np.outer(self.scale, self.scale)
        self.factor = _cholesky(H)
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def direction(self, point: Point, gap: float) -> Floats:
        g, kept = point.gradient.copy(), []
        for s, y, inner in reversed(self.pairs):
            kept.append(a := (s @ g) / inner)
            g -= a * y
        d = dpotrs(self.factor, g / self.scale)[0] / self.scale
        for (s, y, inner), a in zip(self.pairs, reversed(kept), strict=True):
            d += s * (a - (y @ d) / inner)
        return -d

    def learn(self, before: Point, after: Point) -> None:
        if not self.sampled or len(self.pairs) == REFRESH:
            self.sampled = False
            self.factorise(self.objective, after)
            return
        s, y = after.x - before.x, after.gradient - before.gradient
        inner = float(s @ y)
        if inner > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs.append((s, y, inner))


def _lift(point: Point, p: int, curvature: float) -> float:
    """Curvature to add to each threshold.

    Where few points bend the loss (hinge), little holds the thresholds together on their way:
    a common step should not be longer than about their own size.
    """
    b, slope = point.x[p:], abs(point.gradient[p:].sum())
    return max(slope / (2.0 + np.abs(b).max()) - curvature, 0.0) / len(b)


def _cholesky(H: Floats) -> Floats:
    """Factorise a matrix of unit diagonal; what is not positive definite gets a ridge."""
    ridge = 1e-15
    while True:
        U, failed = dpotrf(H + ridge * np.eye(len(H)), clean=0)
        if not failed or not np.isfinite(ridge):
            return np.asarray(U)
        ridge *= 100.0


class _TruncatedNewton:
    """Steps by conjugate gradients on the Hessian, scaled by its diagonal."""

    LIMIT = 300

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def direction(self, point: Point, gap: float) -> Floats:
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

    def learn(self, before: Point, after: Point) -> None:
        """Every direction has its own Hessian: nothing to keep."""


def minimise_hinge(
    objective: Objective,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    report: OnStep | None = None,
) -> Descent:
    """Minimise with the hinge, by rounds of smooth problems, until the duality gap is ``tol``."""
    gap, n_iter = np.inf, 0

    def stop(point: Point) -> bool:
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


def _duality_gap(objective: Objective, point: Point) -> tuple[float, float, float]:
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
