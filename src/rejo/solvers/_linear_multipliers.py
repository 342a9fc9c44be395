"""The hinge, by the method of multipliers.

The hinge has no Hessian.  Its duals ``a_iq`` are found in rounds: with the duals ``z_iq`` of the
last one, ``max_a a m - delta/2 (a - z)^2`` over ``0 <= a <= cap`` (``m`` the margin that is
missing) is a smooth loss, with a Hessian over the few points at the kink.  Every evaluation yields
a duality gap.
"""

from __future__ import annotations

import numpy as np

from rejo._typing import Floats
from rejo.solvers import _linear_descent as descent
from rejo.solvers._linear_objective import Objective

SHRINK = 0.3  # of delta, from one round of multipliers to the next
FAST = 0.2  # of the gap: after such a round delta may stay
TIGHTEST = 1e-12  # of delta, relative to the first


def minimise(
    objective: Objective,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    report: descent.OnStep | None = None,
) -> descent.Descent:
    """Minimise with the hinge, by rounds of smooth problems, until the duality gap is ``tol``."""
    gap, n_iter = np.inf, 0

    def stop(point: descent.Point) -> bool:
        primal, gap, residual = _duality_gap(objective, point)
        moved = point.x is not x  # a round takes at least one step
        return gap <= tol or (moved and residual <= 0.1 * tol * primal)

    while True:
        done = descent.minimise(objective, x, tol=0.0, max_iter=max_iter - n_iter, stop=stop)
        n_iter += done.n_iter
        before = gap
        primal, gap, _ = _duality_gap(objective, done.point)
        if report is not None:
            report(n_iter, primal, gap)
        x = done.point.x
        spent = objective.loss.delta < TIGHTEST * objective.loss.first_delta
        if gap <= tol or n_iter >= max_iter or spent:
            return descent.Descent(done.point._replace(value=primal), gap, n_iter, gap <= tol)
        objective.loss.next_round(1.0 if gap < FAST * before else SHRINK)


def _duality_gap(objective: Objective, point: descent.Point) -> tuple[float, float, float]:
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
