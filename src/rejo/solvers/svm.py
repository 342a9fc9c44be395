"""The rejoSVM dual: one kernel, many solves.

Arrays of floats in, a named tuple of arrays out; nothing here knows of labels,
estimators or validation.  With signed duals ``u_iq = y_iq a_iq`` the problem is

    min  1/2 B'KB + h^2/2 sum_{q>=1} G_q^2 - sum_iq m_iq y_iq u_iq
    s.t. sum_iq u_iq = 0,   0 <= y_iq u_iq <= cap_iq,

with ``B_i = sum_q u_iq`` and ``G_q = sum_i u_iq``.  Then ``g = K B`` and the
score of replica ``q`` is ``g + b_q``, ``b_q = b_0 + h^2 G_q``.  The margins ``m_iq`` of the
hinges ``max(0, m - y (g + b))`` are 1 in rejoSVM; with others, and ``h = 0`` for one threshold,
the replicas of a point add up to any convex loss of straight pieces (see ``surrogate``).

Two compiled engines share this.  Pairs of variables, on a Gram matrix in memory or, where it does
not fit, on blocks of it that are computed when they are needed; and where the matrix has a low
rank, an interior point on its factor, whose solution pairs make exact.  ``reference`` runs where
they were not built.
"""

import warnings
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from rejo._sparse import check_sparse
from rejo._typing import Floats
from rejo.solvers import reference
from rejo.solvers.extensions import remedy, why_missing
from rejo.solvers.types import Kernel, KernelSolution, Step, path_order

try:
    from rejo.solvers import _svm
except ImportError:  # built without a compiler
    _svm = None  # type: ignore[assignment]

__all__ = ["Kernel", "KernelSolution", "Problem", "Step", "evaluate", "path_order"]

SINGLE_TOL = 1e-4  # from this tolerance on, kernel values in single precision are enough
SINGLE_RANGE = 1e5  # ... if the duals and kernel values are not larger than this
TIGHTEST = 1e-13  # a violation below this is rounding
FINEST = 1e-13  # so is a residual of a factor
FACTOR_FROM = 600  # points; below, pairs on the Gram matrix win
GRAM_UP_TO = 600  # dense points, times the root of operations for a kernel value / replicas
LARGEST_RANK = 1000
BLOCK = 4096  # rows centred at a time
UNLIMITED = 2**62  # iterations or bytes: what the compiled engines can count
CHUNK = 1 << 21  # kernel values held at a time by the reference's prediction


class Problem:
    """A training set under a kernel, prepared once and solved for many costs."""

    def __init__(
        self, X: Any, kernel: Kernel, cache_size: float = 200.0, n_threads: int = 1
    ) -> None:
        self.X, self.kernel = X, kernel
        self.cache_bytes = int(min(float(cache_size) * 2**20, UNLIMITED))
        # b_0 is free, so a linear kernel may be centred: only the thresholds move.
        # Products of a column with a large offset would lose all digits otherwise.
        centre = kernel.name == "linear" and not issparse(X)
        self._mean = X.mean(axis=0) if centre else None
        self._factor: tuple[float, bool] | None = None  # (eps, whether a factor was found)
        self._core = _core(X, kernel, self._mean)
        if self._core is not None and n_threads > 1:
            self._core.use_threads(n_threads)

    def solve(
        self,
        labels: Floats,  # (n, Q) of +1 and -1
        caps: Floats,  # (n, Q) C * cost, 0 where a point does not take part
        *,
        h: float = 1.0,  # 0: all replicas share one threshold
        tol: float = 1e-3,
        max_iter: int = -1,
        u: Floats | None = None,  # (n, Q) a warm start
        verbose: bool = False,
        margins: Floats | None = None,  # (n, Q); None: 1
    ) -> KernelSolution:
        """Solve until violations and the relative duality gap are at most ``tol``.

        The thresholds, duals and gap are those of the last iterate.
        """
        # Equal replicas have equal thresholds: one does.
        if margins is None and _twins(labels, caps):
            half = self.solve(
                labels[:, :1], 2 * caps[:, :1], h=h, tol=tol, max_iter=max_iter,
                u=None if u is None else u.sum(axis=1, keepdims=True), verbose=verbose,
            )  # fmt: skip
            return half._replace(u=np.repeat(half.u / 2, 2, axis=1), b=np.repeat(half.b, 2))
        if self._core is None:
            solution = reference.solve(
                self._gram, labels, caps, h=h, tol=tol, max_iter=max_iter, u=u, margins=margins
            )
        else:
            solution = self._compiled(labels, caps, margins, u, h, tol, max_iter, verbose)
        if self.kernel.name != "linear":
            return solution
        w = solution.weights
        if w is None:
            w = self._weights(solution.u.sum(axis=1))
        b = solution.b if self._mean is None else solution.b - w @ self._mean
        return solution._replace(b=b, weights=w)

    def solve_path(self, steps: Iterable[Step], **params: Any) -> Iterator[KernelSolution]:
        """Solve a sequence of problems, each from the solution of the one before.

        ``params`` are ``tol``, ``max_iter`` and ``verbose``, as in ``solve``.

        The steps share their labels; where the number of replicas changes, the path starts anew.
        ``path_order`` gives a good order of the points of a grid.
        """
        u = before = None
        for labels, caps, h in steps:
            if u is None or before is None or before.shape != caps.shape:
                u = None
            else:
                # Duals at their bound stay there, the others keep their value.
                u = np.where(np.abs(u) >= before, labels * caps, np.clip(u, -caps, caps))
            solution = self.solve(labels, caps, h=h, u=u, **params)
            yield solution
            u, before = solution.u, caps

    def _weights(self, B: Floats) -> Floats:
        """Feature weights ``sum_i B_i x_i`` (p,) of a linear kernel, in blocks."""
        if self._mean is None:
            return np.asarray(self.X.T @ B)
        w = np.zeros(self.X.shape[1])
        for start in range(0, len(B), BLOCK):
            rows = slice(start, start + BLOCK)
            w += B[rows] @ (self.X[rows] - self._mean)
        return w

    @cached_property
    def _gram(self) -> Floats:
        Z = self.X if self._mean is None else self.X - self._mean
        return reference.gram(Z, Z, self.kernel)

    def _compiled(
        self, labels: Floats, caps: Floats, margins: Floats | None, u: Floats | None,
        h: float, tol: float, max_iter: int, verbose: bool,
    ) -> KernelSolution:  # fmt: skip
        limit = 1_000_000 + 100 * len(labels) if max_iter < 0 else min(int(max_iter), UNLIMITED)
        engine, single = self._engine(labels, caps, tol)
        spent, eps = 0, tol
        while True:
            answer = self._run(engine, single, labels, caps, u, h, eps, limit - spent, margins)
            u, b, primal, gap, n_iter, converged, *rest = answer
            spent += n_iter
            gap = max(gap, 0.0) / max(primal, 1e-300)
            if verbose:
                print(f"[rejo] {engine}: {spent} iterations, objective {primal:.6g}, gap {gap:.2e}")
            if spent >= limit or (converged and gap <= tol) or not np.isfinite(primal):
                break
            if engine == "factor" and self.kernel.name != "linear":
                engine = self._better_factor(labels.shape, single)
            elif converged and eps > TIGHTEST:
                eps *= 0.1
                single = single and eps >= 0.1 * SINGLE_TOL
            elif single:
                single = False
            elif engine == "factor":  # linear, and rounding hides what is left
                engine = self._exact(len(labels), labels.shape[1], single)
            else:
                break
        done, weights = bool(converged and gap <= tol), None
        by_pivots = bool(rest) and len(rest[0]) > 0
        if by_pivots:
            basis, coef = rest
        else:
            B = u @ np.ones(u.shape[1])  # faster than a sum
            basis = B.nonzero()[0]
            coef = B[basis]
            weights = rest[1] if rest else None  # a linear kernel has its weights, no pivots
        return KernelSolution(u, b, basis, coef, primal, gap, spent, done, weights, by_pivots)

    def _engine(self, labels: Floats, caps: Floats, tol: float) -> tuple[str, bool]:
        """Which engine, and whether in single precision."""
        n, Q = labels.shape
        largest = float(caps.max(initial=0.0))
        if self._low_rank(n, Q, largest, tol):
            return "factor", False
        single = tol >= SINGLE_TOL and largest <= SINGLE_RANGE and self.kernel.name != "linear"
        return self._exact(n, Q, single), single

    def _exact(self, n: int, Q: int, single: bool) -> str:
        """Pairs on the whole Gram matrix, or on blocks, by what 400 to 3,000 points have taken.

        Blocks compute kernel values several times, but do not read all replicas for each pair.
        """
        fits = n * (n + 32) * (4 if single else 8) <= self.cache_bytes
        most = GRAM_UP_TO * max(1.0, (self.X.shape[1] + 8) / Q) ** 0.5
        fits = fits and (n <= most or issparse(self.X))
        return "gram" if fits or self.kernel.name == "precomputed" else "blocks"

    def _low_rank(self, n: int, Q: int, largest: float, tol: float) -> bool:
        """Whether there is a factor that leaves out too little to be seen."""
        if self.kernel.name not in ("linear", "poly", "rbf") or issparse(self.X):
            return False
        if self.kernel.name != "linear" and n < FACTOR_FROM:
            return False
        # In f it is sum_j |B_j| eps, in the objective about n C eps of it.
        eps = min(1e-6, min(1e-3, 10.0 / n) * tol / max(largest, 1e-3))
        if self._factor is None or self._factor[0] > max(eps, FINEST):
            self._factorise(max(eps, FINEST), 2 * int(np.sqrt(n * Q)))
        return self._factor is not None and self._factor[1]

    def _factorise(self, eps: float, max_rank: int) -> bool:
        most = min(max_rank, LARGEST_RANK, self.cache_bytes // (8 * len(self.X)))
        self._factor = eps, most > 0 and bool(self._core.factorise(eps, most))
        return self._factor[1]

    def _better_factor(self, shape: tuple[int, int], single: bool) -> str:
        """Next engine where a factor left out too much after all."""
        if self._factor is not None and self._factor[0] > FINEST:
            finer = max(1e-2 * self._factor[0], FINEST)
            if self._factorise(finer, LARGEST_RANK):
                return "factor"
        return self._exact(*shape, single)

    def _run(self, engine: str, single: bool, *problem: Any) -> Any:
        if engine == "factor":
            return self._core.solve_factor(*problem)
        if engine == "gram":
            return self._core.solve_gram(single, *problem)
        return self._core.solve_blocks(single, *problem)


def evaluate(X: Any, basis: Any, coef: Floats, kernel: Kernel, n_threads: int = 1) -> Floats:
    """``g`` at the rows of ``X``, in chunks of bounded memory; precomputed: ``X`` is (n, m)."""
    if kernel.name == "precomputed":
        return np.asarray(X @ coef)
    if issparse(basis):
        check_sparse(basis, "the support vectors")  # they may come from a model file
    if issparse(X) != issparse(basis):
        X, basis = csr_matrix(X), csr_matrix(basis)
    if _svm is None:
        chunk = max(1, CHUNK // max(1, len(coef)))
        starts = range(0, X.shape[0], chunk)
        blocks = [reference.gram(X[i : i + chunk], basis, kernel) @ coef for i in starts]
        return np.concatenate(blocks) if blocks else np.empty(0)
    if issparse(X):
        rows = X.data, X.indices, X.indptr
        others = basis.data, basis.indices, basis.indptr
        return np.asarray(
            _svm.evaluate_sparse(*rows, *others, X.shape[1], coef, *kernel, n_threads)
        )
    return np.asarray(_svm.evaluate_dense(X, basis, coef, *kernel, n_threads))


def _core(X: Any, kernel: Kernel, mean: Floats | None) -> Any:
    """The compiled problem, or None where there is no extension."""
    if _svm is None:
        _warn_of_the_reference()
        return None
    if kernel.name == "precomputed":
        return _svm.Problem(X)
    if issparse(X):
        return _svm.Problem(X.data, X.indices, X.indptr, X.shape[1], *kernel)
    return _svm.Problem(X, np.empty(0) if mean is None else mean, *kernel)


@cache
def _warn_of_the_reference() -> None:  # once is enough
    warnings.warn(
        "rejo runs on its NumPy reference solver, which is many times slower: the compiled solver "
        f"{why_missing('_svm')}. {remedy()}",
        RuntimeWarning,
        stacklevel=6,
    )


def _twins(labels: Floats, caps: Floats) -> bool:
    """Whether there are two replicas, and they are the same; mostly the first point tells."""
    return (
        labels.shape[1] == 2
        and caps[0, 0] == caps[0, 1]
        and bool((caps[:, 0] == caps[:, 1]).all())
        and bool((labels[:, 0] == labels[:, 1]).all())
    )
