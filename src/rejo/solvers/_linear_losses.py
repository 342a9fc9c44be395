"""The losses of the linear problem: elementwise, on ``(Q, m)`` arrays for ``m`` points.

A loss is called with scores ``t`` (m,), thresholds ``b`` (Q,), classes ``k`` (m,), weights ``v``
(m,) or None for all 1, and the ``rows`` of these points; its caps and labels are those of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rejo._typing import Floats, Indices

FAR = 300.0  # scores beyond this need more care: their exponentials overflow


def make_loss(loss: str, labels: Floats, caps: Floats, k: Indices, v: Floats | None) -> Any:
    """The loss by its name, for points of the classes ``k`` and weights ``v``."""
    if loss == "logistic":
        return Logistic(labels, caps)
    if loss == "squared_hinge":
        return SquaredHinge(labels, caps)
    mean = float(caps[caps > 0].mean()) * (1.0 if v is None else float(v.mean()))
    return Multipliers(labels, caps, len(k), 1.0 / mean)


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
        c = _weighted(self.caps, k, v)
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
        c = _weighted(self.caps, k, v)
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
        c = _weighted(self.caps, k, v)
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
        c = _weighted(self.caps, k, v)
        a = self.a[:, rows]
        return np.where((a > 0) & (a < c), 1.0 / self.delta, 0.0)


def _missing(t: Floats, b: Floats, y: Floats) -> Floats:
    m = y * t
    m += y * b[:, None]
    return np.subtract(1.0, m, out=m)


def _weighted(caps: Floats, k: Indices, v: Floats | None) -> Floats:
    """Caps (Q, m) of points."""
    c = np.take(caps, k, axis=1)
    if v is not None:
        c *= v
    return c
