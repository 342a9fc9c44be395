"""The losses of the linear problem: elementwise, on ``(Q, m)`` arrays for ``m`` points.

A loss knows the rows ``k`` (n,) of all points in its tables, of classes or one for each point, and
their weights ``v`` (n,), or None for all 1.  It is called with the ``rows`` of some points, their
scores ``t`` (m,) and the thresholds ``b`` (Q,).
"""

from typing import Any, ClassVar

import numpy as np

from rejo._typing import Floats, Indices

FAR = 300.0  # scores beyond this need more care: their exponentials overflow
Rows = slice | Indices


class Loss:
    """A loss of the scores ``t_i + b_q``, and what the solver needs to know about it.

    To add one: write a subclass, and enter it in ``LOSSES``.
    """

    is_smooth: ClassVar[bool] = True  # False: minimised by the method of multipliers
    bends_everywhere: ClassVar[bool] = False  # True: all points enter the Hessian
    keeps_state: ClassVar[bool] = False  # True: the curvature is that of the last evaluation

    def __init__(self, labels: Floats, caps: Floats, k: Indices, v: Floats | None) -> None:
        # (Q, K), from (K, Q)
        self.labels, self.caps = np.ascontiguousarray(labels.T), np.ascontiguousarray(caps.T)
        self.k, self.v = k, v
        self.by_point = len(caps) == len(k) and bool((k == np.arange(len(k))).all())

    def __call__(self, t: Floats, b: Floats, rows: Rows) -> tuple[float, Floats, Floats]:
        """Sum (), derivative for the scores (m,), its sums for the thresholds (Q,)."""
        raise NotImplementedError

    def curvature(self, t: Floats, b: Floats, rows: Rows) -> Floats:
        """Second derivatives (Q, m)."""
        raise NotImplementedError

    def weighted(self, rows: Rows) -> Floats:
        """Caps (Q, m) of points."""
        c = self._of(self.caps, rows)
        if self.v is not None:
            c *= self.v[rows]
        return c

    def _of(self, table: Floats, rows: Rows) -> Floats:
        """Entries (Q, m) of points in a table (Q, K), as a copy."""
        return table[:, rows].copy() if self.by_point else np.take(table, self.k[rows], axis=1)

    def missing(self, t: Floats, b: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """``1 - y (t + b)`` and the labels ``y`` of points, both (Q, m)."""
        y = self._of(self.labels, rows)
        m = y * t
        m += y * b[:, None]
        return np.subtract(1.0, m, out=m), y

    def reset(self) -> None:
        """Prepare for a new pass over all points."""

    def sharpen(self) -> None:
        """Prepare for gradient steps, which need no curvature."""


class Logistic(Loss):
    """``log(1 + exp(-y (t + b)))``; one exponential a point, as ``exp(t + b) = exp(t) exp(b)``."""

    bends_everywhere = True

    def __init__(self, labels: Floats, caps: Floats, k: Indices, v: Floats | None) -> None:
        super().__init__(labels, caps, k, v)
        self.below = np.where(self.labels < 0, self.caps, 0.0)
        self.above = self.caps - self.below
        self.falls, self.rises = self.below.sum(axis=0), self.above.sum(axis=0)  # (K,)

    def __call__(self, t: Floats, b: Floats, rows: Rows) -> tuple[float, Floats, Floats]:
        c, k, v = self.weighted(rows), self.k[rows], None if self.v is None else self.v[rows]
        below, above, falls, rises = self.below, self.above, self.falls, self.rises[k]
        totals: Any
        if self.by_point:  # only the rows of these points
            below, above, falls = below[:, rows], above[:, rows], falls[rows]
            totals = np.ones(len(t)) if v is None else v
            scores = totals * t
        else:
            totals = np.bincount(k, weights=v, minlength=below.shape[1])  # (K,)
            scores = np.bincount(k, weights=t if v is None else v * t, minlength=len(totals))
        # y = +1: log(1 + e), y = -1: (t + b) + log(1 + e), with e = exp(-t - b).
        if max(-t.min(initial=0.0), t.max(initial=0.0), np.abs(b).max()) < FAR:
            e = np.exp(-t) * np.exp(-b)[:, None]
            e += 1.0
            logs = np.log(e)
        else:
            z = t + b[:, None]
            logs = np.logaddexp(0.0, -z)
            e = 1.0 + np.exp(np.minimum(-z, 700.0))
        value = np.vdot(c, logs) + falls @ scores + b @ (below @ totals)
        c /= e
        slope = c.sum(axis=0)
        slope -= rises if v is None else rises * v
        return float(value), slope, c.sum(axis=1) - above @ totals

    def curvature(self, t: Floats, b: Floats, rows: Rows) -> Floats:
        e = np.exp(-np.abs(t + b[:, None]))
        return self.weighted(rows) * e / (1.0 + e) ** 2


class SquaredHinge(Loss):
    """``max(0, 1 - y (t + b))^2``."""

    def __call__(self, t: Floats, b: Floats, rows: Rows) -> tuple[float, Floats, Floats]:
        missing, y = self.missing(t, b, rows)
        np.maximum(missing, 0.0, out=missing)
        c = self.weighted(rows)
        c *= missing
        value = np.vdot(c, missing)
        c *= y
        c *= -2.0
        return float(value), c.sum(axis=0), c.sum(axis=1)

    def curvature(self, t: Floats, b: Floats, rows: Rows) -> Floats:
        return 2.0 * self.weighted(rows) * (self.missing(t, b, rows)[0] > 0)


class Hinge(Loss):
    """``max(0, m)``, ``m = 1 - y (t + b)``, smoothed for a round of multipliers.

    It is ``max_a a m - delta/2 (a - z)^2`` over ``0 <= a <= cap``, with the duals ``z`` of the last
    round.  Keeps the duals ``a`` of the last evaluation, and sums from which a duality gap follows.
    """

    is_smooth = False
    keeps_state = True

    def __init__(self, labels: Floats, caps: Floats, k: Indices, v: Floats | None) -> None:
        super().__init__(labels, caps, k, v)
        mean = float(caps[caps > 0].mean()) * (1.0 if v is None else float(v.mean()))
        self.delta = self.first_delta = 1.0 / mean
        self.z = np.zeros((caps.shape[1], len(k)))  # (Q, n)
        self.a = np.zeros_like(self.z)
        self.reset()

    def reset(self) -> None:
        self.hinge = self.total = 0.0  # sums of cap max(0, m) and of a

    def sharpen(self) -> None:
        self.delta *= 1e-3

    def next_round(self, shrink: float) -> None:
        """Take the duals found as the new centres."""
        self.z, self.a = self.a, self.z
        self.delta *= shrink

    def __call__(self, t: Floats, b: Floats, rows: Rows) -> tuple[float, Floats, Floats]:
        missing, y = self.missing(t, b, rows)
        c, z = self.weighted(rows), self.z[:, rows]
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

    def curvature(self, t: Floats, b: Floats, rows: Rows) -> Floats:
        a = self.a[:, rows]
        return np.where((a > 0) & (a < self.weighted(rows)), 1.0 / self.delta, 0.0)


LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}
