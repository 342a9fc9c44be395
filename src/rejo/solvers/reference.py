"""The rejoSVM dual in plain NumPy, to read beside the paper.

The test oracle, and what runs where no compiled solver is at hand.  Replicas
are never built: the point ``x_i`` in replica ``q`` is the pair ``(i, q)``, its
signed dual is ``u_iq = y_iq a_iq``, and with ``B_i = sum_q u_iq`` and
``G_q = sum_i u_iq`` the dual of the paper's rejoSVM problem is

    min  D(u) = 1/2 B'KB + h^2/2 sum_{q>=1} G_q^2 - sum_iq t_iq u_iq
    s.t. sum_iq u_iq = 0,   lo_iq <= u_iq <= hi_iq,

where ``t_iq = y_iq m_iq`` and ``m_iq`` is the margin of the hinge, 1 in rejoSVM.

The score of a replica is ``g(x_i) + b_q`` with ``g = K B``, ``b_q = b_0 + h^2 G_q``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import safe_sparse_dot

from rejo._typing import Floats
from rejo.solvers.types import Kernel, KernelSolution

TINY = 1e-12  # floor of a curvature: duplicate points have none
NEWTON_EVERY = 50  # pair steps between two Newton steps
NEWTON_SIZE = 400  # free variables up to which a Newton step pays


def gram(X: Any, Y: Any, kernel: Kernel) -> Floats:
    """Kernel matrix (n, m) between the rows of ``X`` and of ``Y``."""
    name, gamma, degree, coef0 = kernel
    if name == "precomputed":
        return np.asarray(X, dtype=np.float64)
    with np.errstate(over="ignore"):  # seen in what is computed from it
        return _gram(X, Y, name, gamma, degree, coef0)


def _gram(X: Any, Y: Any, name: str, gamma: float, degree: int, coef0: float) -> Floats:
    if name == "rbf":
        # Distances by differences: the expansion |x|^2 - 2 x.y + |y|^2 loses an
        # epoch-seconds column to cancellation.
        sparse = issparse(X) or issparse(Y)
        squared: Floats = (
            euclidean_distances(X, Y, squared=True) if sparse else cdist(X, Y, "sqeuclidean")
        )
        squared *= -gamma
        return np.exp(squared, out=squared)
    dot: Floats = safe_sparse_dot(X, Y.T, dense_output=True)
    if name == "linear":
        return dot
    return (gamma * dot + coef0) ** degree if name == "poly" else np.tanh(gamma * dot + coef0)


def solve(
    K: Floats,  # (n, n)
    labels: Floats,  # (n, Q) of +1 and -1
    caps: Floats,  # (n, Q) C * cost
    *,
    h: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = -1,
    u: Floats | None = None,  # (n, Q) a warm start
    margins: Floats | None = None,  # (n, Q); None: 1
) -> KernelSolution:
    """Pairs by second-order selection, with Newton steps on the free variables.

    Stops when no pair violates optimality by more than ``tol`` (the rule of LIBSVM
    on the replicated problem) and the relative duality gap is at most ``tol``.
    """
    n, Q = labels.shape
    targets = labels if margins is None else labels * margins
    lo, hi = np.minimum(labels * caps, 0.0), np.maximum(labels * caps, 0.0)
    u = np.zeros((n, Q)) if u is None else _feasible(u, lo, hi)
    h2 = np.where(np.arange(Q) > 0, h * h, 0.0)  # |e_q|^2: the first replica has the extension 0
    diagonal = K.diagonal()
    limit = 100_000 + 100 * n if max_iter < 0 else max_iter
    f, off = K @ u.sum(axis=1), h2 * u.sum(axis=0)
    eps, n_iter = tol, 0

    while True:
        v = targets - f[:, None] - off  # (n, Q) minus the gradient of D
        rising, falling = np.where(u < hi, v, -np.inf), np.where(u > lo, v, np.inf)
        i, q = divmod(int(rising.argmax()), Q)
        violation = rising[i, q] - falling.min()
        if n_iter >= limit or not violation > eps:  # not finite: end too
            b, objective, gap = _certificate(K, targets, lo, hi, u, h2)
            if n_iter < limit and gap > tol and eps > TINY * (1.0 + np.abs(f).max()):
                eps *= 0.1
                continue
            break
        n_iter += 1

        # The partner (j, r) that promises the largest decrease d^2 / (2 a) of D.
        d = np.maximum(v[i, q] - falling, 0.0)
        a = (diagonal[i] + diagonal - 2.0 * K[i])[:, None] + (h2[q] + h2) * (np.arange(Q) != q)
        a = np.maximum(a, TINY)
        j, r = divmod(int((d * d / a).argmax()), Q)
        room_up, room_down = hi[i, q] - u[i, q], u[j, r] - lo[j, r]
        step = min(d[j, r] / a[j, r], room_up, room_down)
        u[i, q] = hi[i, q] if step == room_up else u[i, q] + step
        u[j, r] = lo[j, r] if step == room_down else u[j, r] - step
        f += step * (K[i] - K[j])
        off[q] += h2[q] * step
        off[r] -= h2[r] * step

        if n_iter % NEWTON_EVERY == 0:
            _newton(K, targets, lo, hi, u, h2)
            f, off = K @ u.sum(axis=1), h2 * u.sum(axis=0)

    B = u.sum(axis=1)
    basis = np.flatnonzero(B)
    converged = bool(violation <= tol and gap <= tol)
    return KernelSolution(u, b, basis, B[basis], objective, gap, n_iter, converged)


def _feasible(u: Floats, lo: Floats, hi: Floats) -> Floats:
    """Clip ``u`` into its boxes and take the sum back to 0, each in proportion to its room."""
    u = np.clip(u, lo, hi)
    excess = u.sum()
    if abs(excess) <= TINY * np.abs(u).sum():
        return u  # rounding: a step would take every variable off its bound
    room = u - lo if excess > 0 else hi - u
    return np.clip(u - excess * room / room.sum(), lo, hi)


def _newton(K: Floats, targets: Floats, lo: Floats, hi: Floats, u: Floats, h2: Floats) -> None:
    """Minimise D over the free variables, in place: to the first bound, drop it, again."""
    for _ in range(NEWTON_SIZE):
        points, replicas = np.nonzero((u > lo) & (u < hi))
        if not 2 <= len(points) <= NEWTON_SIZE:
            return
        v = (targets - (K @ u.sum(axis=1))[:, None] - h2 * u.sum(axis=0))[points, replicas]
        H = K[np.ix_(points, points)] + h2[replicas] * (replicas[:, None] == replicas)
        ridge = 1e-12 * (1.0 + np.abs(H.diagonal()).max()) * np.eye(len(points))
        free, ones = np.linalg.solve(H + ridge, np.column_stack([v, np.ones(len(v))])).T
        d = free - ones * (free.sum() / ones.sum())
        d -= d.mean()  # sum d = 0, against rounding where H is singular
        slope, curvature = v @ d, d @ H @ d
        if not (slope > 0.0 and curvature > 0.0):
            return  # singular or indefinite: leave it to the pairs
        x = u[points, replicas]
        bound = np.where(d > 0, hi[points, replicas], lo[points, replicas])
        room = np.divide(bound - x, d, out=np.full(len(d), np.inf), where=d != 0)
        first = int(room.argmin())
        step = min(slope / curvature, room[first])
        u[points, replicas] = x + step * d
        if step < room[first]:
            return
        u[points[first], replicas[first]] = bound[first]


def _certificate(
    K: Floats, targets: Floats, lo: Floats, hi: Floats, u: Floats, h2: Floats
) -> tuple[Floats, float, float]:
    """Thresholds (Q,), primal value and relative duality gap at ``u``."""
    B, G = u.sum(axis=1), u.sum(axis=0)
    f = K @ B
    b = _bias(targets - f[:, None] - h2 * G, u < hi, u > lo) + h2 * G
    norm = B @ f + h2 @ (G * G)  # |w|^2 in the extended space
    # cap [m - y (f + b)]_+, with y cap = lo + hi
    primal = 0.5 * norm + np.maximum((lo + hi) * (targets - f[:, None] - b), 0.0).sum()
    dual = (targets * u).sum() - 0.5 * norm
    return b, float(primal), float(max(primal - dual, 0.0) / max(primal, TINY))


def _bias(v: Floats, up: NDArray[np.bool_], down: NDArray[np.bool_]) -> float:
    """Mean of ``v`` over the free variables, else the middle of the interval of ``b_0``."""
    free = up & down
    if free.any():
        return float(v[free].mean())
    ends = np.array([v[up].max(initial=-np.inf), v[down].min(initial=np.inf)])
    ends = ends[np.isfinite(ends)]
    return float(ends.mean()) if len(ends) else 0.0
