"""The SVM with embedded reject of Fumera & Roli (2002), as a descent on a smoothed cost.

With ``z_i = y_i f(x_i)`` and ``f = w . x + b`` a training point costs 0 beyond the margin
(z >= 1), ``w_C`` inside it on its own side, ``w_r`` where it is rejected (|f| <= eps) and 1
where it is wrong.  Steps become sigmoids ``s`` of slope ``k``, and ``a`` pulls from afar:

    J(w, b, eps) = 1/2 |w|^2 + sum_i c_i { w_C s(k (1 - z_i)) + (w_r - w_C) s(k (eps - z_i))
                   + (1 - w_r) s(k (-eps - z_i)) + a max(0, 1 - z_i)^2 },     0 <= eps <= 1.

J is not convex.  It is minimised from several starts while the slope grows to 100; then come hops,
new descents from near the lowest minimum.  Dense rows go down in ``_embedded.cpp``; what stands
here in NumPy is to read first, and does the same for sparse rows and where that was not built.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo._typing import Floats
from rejo.solvers.svm import Problem
from rejo.solvers.types import Kernel

try:
    from rejo.solvers import _embedded
except ImportError:  # built without a compiler
    _embedded = None  # type: ignore[assignment]

SLOPES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# Flat sigmoids blur J so much that all starts meet in one place, often one where everything is
# rejected: every start also enters where the slope is this, and sees J as it is.
ENTRIES = (1.0, 20.0, 100.0)
SCALES, EPSILONS = (1.0, 0.5, 2.0), (0.5, 0.05, 0.95)  # of the SVM's function; of the starts
CURVATURE = 0.2  # of the cost of a point, by f: that of a max(0, 1 - z)^2 with a = 0.1
FINISH = 1e-3  # factor of the tolerance with which the best is finished
SAME = 1e-2  # two points that are closer than this, relative to their size, have met
# Hops begin at the lowest of DRAWS points near the lowest end, at a distance that moves f by about
# this.  Few points leave more minima to choose from, and time for it.
HOP_SIZES, DRAWS, HOP_TOL = (0.15, 0.3, 0.6), 4, 1e-5
HOP_WORK, FEWEST_HOPS, MOST_HOPS, HOPS = 20_000, 20, 60, 8  # numbers in Z; the last: a start more
MOST_ITERATIONS = 2**31 - 1  # what the compiled descents can count
START_TOL, START_ITERATIONS = 1e-5, 100_000  # of the SVM that the starts come from


class Costs(NamedTuple):
    """Cost of a place for a point, and of its distance."""

    margin: float  # w_C
    reject: float  # w_r
    square: float  # a


class Embedded(NamedTuple):
    """The best of the minima that were found."""

    w: Floats  # (r,)
    b: float
    epsilon: float
    objective: float  # J at the last slope
    n_iter: int  # steps of all paths
    converged: bool
    trace: list[tuple[float, float, float]]  # slope, J before and J after of each descent


class SmoothedCost:
    """J on a training set, prepared once and minimised for many costs of a rejection."""

    def __init__(
        self,
        Z: Any,  # (n, r) rows, dense or sparse
        y: Floats,  # (n,) of +1 and -1
        c: Floats,  # (n,) C * weight of the point
    ) -> None:
        # b is free: centred columns change nothing but the conditioning.
        self._mean = np.zeros(Z.shape[1]) if issparse(Z) else np.average(Z, axis=0, weights=c)
        self._Z, self._y, self._c = Z if issparse(Z) else Z - self._mean, y, c
        # The first point as positive: flipped labels then flip the starts, and with them all paths.
        svm = Problem(self._Z, Kernel("linear")).solve(
            y[0] * y[:, None], c[:, None], tol=START_TOL, max_iter=START_ITERATIONS
        )
        self._w, self._b = y[0] * np.asarray(svm.weights), float(y[0] * svm.b[0])
        self._scale = _scale(self._Z, c)  # (r + 2,) the paths run in u = scale * (w, b, eps)
        finite = not issparse(Z) and np.isfinite(self._Z).all() and np.isfinite(self._scale).all()
        self._rows = _embedded.Rows(self._Z, y, c) if _embedded is not None and finite else None

    def solve(
        self,
        costs: Costs,
        *,
        n_starts: int = 9,
        tol: float = 1e-6,
        max_iter: int = 1000,
        rng: np.random.RandomState | None = None,
    ) -> Embedded:
        """Minimise J; a descent ends where a step gains less than ``tol`` of it."""
        first = np.array(starts(self._w, self._b, n_starts, rng))
        if self._rows is not None and np.isfinite(first).all():
            v, J, n_iter, converged, trace = self._rows.minimise(
                first, self._scale, np.array(SLOPES), np.array(ENTRIES), *costs,
                same=SAME, finish=FINISH, tol=tol, max_iter=min(max_iter, MOST_ITERATIONS),
                n_hops=self._n_hops(n_starts), hop_sizes=np.array(HOP_SIZES), n_draws=DRAWS,
            )  # fmt: skip
        else:
            v, J, n_iter, converged, trace = self._minimise(
                first, costs, tol, max_iter, self._n_hops(n_starts)
            )
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in the result
            nothing, _ = objective(np.zeros(len(v)), SLOPES[-1], self._Z, self._y, self._c, costs)
        converged = converged and nothing >= J  # else the numbers are too large
        w, b, epsilon = v[:-2], float(v[-2] - v[:-2] @ self._mean), float(v[-1])
        return Embedded(w, b, epsilon, J, n_iter, bool(converged), trace)

    def _n_hops(self, n_starts: int) -> int:
        n, r = self._Z.shape
        fewest = min(max(HOP_WORK // (n * (r + 2)), FEWEST_HOPS), MOST_HOPS)
        return int(fewest + HOPS * (n_starts - 1))

    def _minimise(
        self, first: Floats, costs: Costs, tol: float, max_iter: int, n_hops: int
    ) -> tuple[Floats, float, int, bool, list[tuple[float, float, float]]]:
        """The compiled descents in NumPy, and by SciPy's L-BFGS-B."""
        scale = self._scale
        bounds = [(None, None)] * (len(scale) - 1) + [(0.0, scale[-1])]
        trace: list[tuple[float, float, float]] = []
        n_iter = 0

        def value(u: Floats, slope: float) -> tuple[float, Floats]:
            J, gradient = objective(u / scale, slope, self._Z, self._y, self._c, costs)
            return J, gradient / scale

        def descend(u: Floats, slope: float, tol: float) -> Any:
            nonlocal n_iter
            found = minimize(
                value, u, (slope,), jac=True, method="L-BFGS-B", bounds=bounds,
                options={"ftol": tol, "gtol": 1e-10, "maxiter": max_iter, "maxfun": 20 * max_iter},
            )  # fmt: skip
            trace.append((slope, value(u, slope)[0], float(found.fun)))
            n_iter += found.nit
            return found

        paths: list[Floats] = []
        # Threads cost more than such products save; an overflow shows in the result.
        with threadpool_limits(1, "blas"), np.errstate(over="ignore", invalid="ignore"):
            for slope in SLOPES:
                entering = [scale * v for v in first] if slope in ENTRIES else []
                ends = [descend(u, slope, tol) for u in paths + entering]
                ends.sort(key=lambda end: end.fun)
                paths = _apart([end.x for end in ends])
            best, fine = ends[0], min(tol, HOP_TOL)
            for hop in range(n_hops):
                slope = SLOPES[-2 if hop % 2 else -1]  # every other one where they are flatter
                near = _disturbed(best.x, hop, scale, self._y[0])
                end = descend(min(near, key=lambda u: value(u, slope)[0]), slope, fine)
                if slope != SLOPES[-1]:
                    end = descend(end.x, SLOPES[-1], fine)
                best = end if end.fun < best.fun else best
            best = descend(best.x, SLOPES[-1], FINISH * tol)
        return best.x / scale, float(best.fun), n_iter, best.status != 1, trace


def solve(Z: Any, y: Floats, c: Floats, costs: Costs, **params: Any) -> Embedded:
    """Minimise J once: see :class:`SmoothedCost` and its ``solve``."""
    return SmoothedCost(Z, y, c).solve(costs, **params)


def objective(
    v: Floats, slope: float, Z: Any, y: Floats, c: Floats, costs: Costs
) -> tuple[float, Floats]:
    """J and its gradient at ``v = (w, b, eps)``."""
    w, b, eps = v[:-2], v[-2], v[-1]
    z = y * (Z @ w + b)
    # Weights and places of the three steps, as columns.
    height = np.array([costs.margin, costs.reject - costs.margin, 1.0 - costs.reject])[:, None]
    step = expit(slope * (np.array([1.0, eps, -eps])[:, None] - z))  # (3, n)
    slack = np.maximum(1.0 - z, 0.0)
    J = 0.5 * w @ w + c @ ((height * step).sum(axis=0) + costs.square * slack**2)
    rise = slope * height * step * (1.0 - step)  # (3, n) derivative by the places
    force = -c * y * (rise.sum(axis=0) + 2.0 * costs.square * slack)  # (n,) dJ / df
    return float(J), np.concatenate([w + Z.T @ force, [force.sum(), c @ (rise[1] - rise[2])]])


def starts(
    w: Floats, b: float, n_starts: int, rng: np.random.RandomState | None = None
) -> list[Floats]:
    """Points ``(w, b, eps)`` to start from: an SVM rescaled; beyond nine, disturbed at random."""
    table = [(scale, eps) for scale in SCALES for eps in EPSILONS]
    points = [np.concatenate([scale * w, [scale * b, eps]]) for scale, eps in table[:n_starts]]
    rng = np.random.RandomState(0) if rng is None else rng
    noise = 0.5 * np.linalg.norm(w) / np.sqrt(len(w))
    for _ in range(n_starts - len(table)):
        scale = 4.0 ** rng.uniform(-1, 1)
        other = np.append(w + noise * rng.normal(size=len(w)), b + 0.5 * rng.normal())
        points.append(np.append(scale * other, rng.uniform()))
    return points


def _scale(Z: Any, c: Floats) -> Floats:
    """Roots (r + 2,) of the curvatures of ``1/2 |w|^2 + CURVATURE / 2 sum_i c_i f_i^2``.

    In units of these L-BFGS needs half the steps, and features of any scale do.
    """
    with np.errstate(over="ignore"):
        squares = Z.multiply(Z) if issparse(Z) else Z * Z
        sums = np.asarray(squares.T @ c).ravel()
    return np.sqrt(1.0 + CURVATURE * np.append(sums, [c.sum(), c.sum()]))


def _apart(points: list[Floats]) -> list[Floats]:
    """Leave out the points that have met an earlier one."""
    kept: list[Floats] = []
    for u in points:
        near = SAME * np.linalg.norm(u)
        if all(np.linalg.norm(u - other) > near for other in kept):
            kept.append(u)
    return kept


def _disturbed(u: Floats, hop: int, scale: Floats, sign: float) -> Floats:
    """Points (DRAWS, r + 2) near ``u`` to hop from; flipped labels flip them."""
    # SplitMix64, as compiled: the same numbers on every machine.
    x = np.arange(1, DRAWS * len(u) + 1, dtype=np.uint64) + np.uint64(hop * DRAWS * len(u))
    x *= np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-52 - 1.0  # in [-1, 1)
    draws = uniform.reshape(DRAWS, -1)
    size, top = HOP_SIZES[hop % len(HOP_SIZES)] * scale[-2], scale[-1]
    near = u + sign * size * np.sqrt(3.0 / len(u)) * draws
    eps = np.abs(u[-1] + size * draws[:, -1])
    near[:, -1] = np.where(eps <= top, eps, np.maximum(0.0, 2.0 * top - eps))
    return near


def factorise(
    column: Callable[[int], Floats],  # column i (n,) of the Gram matrix
    diagonal: Floats,  # (n,)
    *,
    eps: float = 1e-6,
    max_rank: int = 300,
) -> tuple[Floats, NDArray[np.intp]]:
    """``K ~ Z Z'`` by a Cholesky factorisation with pivots: Z (n, r) and the pivots (r,).

    It stops at ``max_rank``, or where no diagonal entry of ``K - Z Z'`` is above ``eps`` of the
    largest one of K.  The row of any point is ``L^-1 k`` with ``L = Z[pivots]``, lower triangular,
    and its kernel values ``k`` at the pivots: w . z is a sum of the pivots' kernel functions.
    """
    n = len(diagonal)
    left = diagonal.astype(np.float64)
    least = eps * left.max(initial=0.0)
    rows = np.empty((min(n, max_rank), n))  # Z'
    pivots: list[int] = []
    for r in range(len(rows)):
        i = int(left.argmax())
        if not left[i] > least:
            break
        rows[r] = (column(i) - rows[:r, i] @ rows[:r]) / np.sqrt(left[i])
        rows[r, pivots] = 0.0  # rounding
        left -= rows[r] ** 2
        left[i] = 0.0
        pivots.append(i)
    return np.ascontiguousarray(rows[: len(pivots)].T), np.array(pivots, dtype=np.intp)
