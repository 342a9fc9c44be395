"""What the learners with a kernel share: checks of it, ``gamma``, ``g``, support vectors."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rejo._sparse import check_sparse
from rejo._state import (
    LARGEST,
    count,
    declare,
    either,
    figure,
    floats,
    indices,
    maybe,
    number,
    require,
    sparse_rows,
)
from rejo._typing import Floats
from rejo.estimators.boundaries import ParallelBoundaries
from rejo.estimators.classes import Targets
from rejo.estimators.parameters import HIGHEST_DEGREE, FiniteInterval
from rejo.solvers import Kernel, KernelSolution, LogisticSolution, evaluate

Solution = TypeVar("Solution", KernelSolution, LogisticSolution)

SMALLEST_GAMMA, LARGEST_GAMMA = 1e-300, 1e300
CHUNK = 2_000_000  # kernel values held at a time in a prediction with a callable kernel
# Sixteen rows, evenly spread, and pairs of them to probe a kernel with.
PROBES = np.arange(16)
PAIRS = np.tile(PROBES, 2), np.concatenate([(PROBES + 3) % 16, (PROBES + 8) % 16])


class Training(NamedTuple):
    """The validated data of a fit."""

    points: Any  # (n, p) rows with a weight; their Gram matrix if that was given
    matrix: Any  # what goes with `kernel`: the points, or their Gram matrix
    kernel: Kernel
    targets: Targets


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMachine(ParallelBoundaries):
    """Base of the classifiers by one function ``g(x) = sum_j coef_j k(x_j, x)``.

    A subclass fits by :meth:`_prepare` and a solver, and stores what it takes to evaluate ``g`` by
    :meth:`_set_function`.
    """

    C: float = 1.0
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    max_iter: int = -1

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ParallelBoundaries._parameter_constraints,
        "C": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 1, HIGHEST_DEGREE, closed="both")],
        "gamma": [StrOptions({"scale", "auto"}), FiniteInterval(Real, 0.0, None, closed="neither")],
        "coef0": [FiniteInterval(Real, None, None, closed="neither")],
        "tol": [FiniteInterval(Real, 0.0, None, closed="neither")],
    }

    @property
    def coef_(self) -> Floats:
        """Weights of the features (1, n_features); linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        return self._coef[None]

    @property
    def _n_weights(self) -> int:
        """Number of weights of a linear function."""
        return int(self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coef")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any, loss: Any = None) -> Training:
        """Validate the parameters and the data; choose the kernel."""
        self._check_parameters()
        precomputed = self.kernel == "precomputed"
        X = self._check_X(X, reset=True, accept_sparse=not precomputed)
        if precomputed:
            check_square(X)
        targets = self._check_targets(X, y, sample_weight, loss)
        if targets.rows is not None:
            X = X[np.ix_(targets.rows, targets.rows)] if precomputed else X[targets.rows]
        if precomputed or callable(self.kernel):
            matrix, kernel = own_gram(self.kernel, X), Kernel("precomputed")
            return Training(X, matrix, kernel, targets)
        kernel = Kernel("linear")
        if self.kernel != "linear":
            gamma = choose_gamma(self.gamma, X, targets.sample_weight)
            kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
        return Training(X, X, kernel, targets)

    def _check_solution(self, solution: Solution) -> Solution:
        """Raise an error if it overflowed; warn the caller of ``fit`` if it did not converge."""
        if not math.isfinite(solution.objective):
            check_no_overflow(solution.objective, self.kernel)
        if not solution.converged:
            bound = 0 <= self.max_iter <= solution.n_iter
            other = "; points violate their conditions by more" if solution.gap <= self.tol else ""
            warnings.warn(
                f"The solver stopped after {solution.n_iter} iterations (max_iter={self.max_iter}) "
                f"at a relative duality gap of {solution.gap:.1e}, with tol={self.tol:g}{other}. "
                + ("Raise max_iter, scale" if bound else "Scale")
                + " the features, lower C, or raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def _set_solution(self, training: Training, solution: KernelSolution) -> None:
        """Store the support vectors, the function they carry, and how good it is."""
        points, _, _, targets = training
        support, coef = solution.basis, solution.coef
        if solution.by_pivots:
            B = solution.u.sum(axis=1)
            support = np.flatnonzero(B)
            coef = B[support]
        self.support_ = support if targets.rows is None else targets.rows[support]
        precomputed = self.kernel == "precomputed"
        if precomputed:
            self.support_vectors_ = np.empty((0, 0))
        else:  # take: indexing takes five times as long for a few points
            self.support_vectors_ = points[support] if issparse(points) else points.take(support, 0)
        self.n_support_ = np.bincount(targets.indices[support], minlength=len(targets.classes))
        self.dual_coef_ = coef[None]
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if self.kernel == "linear":
            self._set_function(training, None, np.ravel(np.asarray(solution.weights)))
            return
        # By as few points as the solver could find; support vectors once in memory, and in a file.
        basis = None if solution.by_pivots or precomputed else self.support_vectors_
        self._set_function(training, solution.basis, solution.coef, basis)

    def _set_function(
        self, training: Training, rows: Any, coef: Floats, points: Any = None
    ) -> None:
        """Store ``g = sum_j coef_j k(x_j, .)`` by its rows, or points; linear: by its weights."""
        self._gamma = training.kernel.gamma
        self._coef = coef
        self._basis = points
        if self.kernel == "precomputed":
            kept = training.targets.rows
            self._basis = rows if kept is None else kept[rows]
        elif self.kernel != "linear" and points is None:
            self._basis = training.points[rows]

    @property
    def _n_threads(self) -> int:
        """Threads for kernel values."""
        return 1

    def _function(self, X: Any) -> Floats:
        X = self._check_X(X, reset=False, accept_sparse=self.kernel != "precomputed")
        return self._evaluate(X)

    def _evaluate(self, X: Any) -> Floats:
        """``g`` at the rows of ``X``."""
        if self.kernel == "linear":
            return np.asarray(X @ self._coef)
        if self.kernel == "precomputed":
            return X[:, self._basis] @ self._coef
        if not callable(self.kernel):
            kernel = Kernel(self.kernel, self._gamma, int(self.degree), float(self.coef0))
            return evaluate(X, self._basis, self._coef, kernel, self._n_threads)
        g, step = np.empty(X.shape[0]), 1 + CHUNK // (1 + len(self._coef))
        for start in range(0, len(g), step):
            rows = X[start : start + step]
            shape = (rows.shape[0], len(self._coef))
            K = check_gram(self.kernel(rows, self._basis), shape, self.kernel)
            g[start : start + step] = K @ self._coef
        return g

    def _scores_to_onnx(self, graph: Any, X: str) -> str:
        """Add the scores ``g - thresholds_`` to an ONNX graph."""
        values = X if self.kernel == "linear" else self._kernel_to_onnx(graph, X)
        g = graph.add("MatMul", values, self._coef[:, None])
        return str(graph.add("Sub", g, self.thresholds_[None, :]))

    def _kernel_to_onnx(self, graph: Any, X: str) -> Any:
        """Kernel values (n, n_basis) of the rows of ``X`` with the points that carry ``g``."""
        if self.kernel not in ("rbf", "poly", "sigmoid"):
            raise ValueError(
                f"kernel={self.kernel!r} cannot be exported to ONNX: use 'linear', 'poly', 'rbf' "
                "or 'sigmoid'."
            )
        Z = self._basis.toarray() if issparse(self._basis) else self._basis
        return graph.kernel(X, Z, self.kernel, self._gamma, self.degree, self.coef0)


# ---- kernels, kernel matrices and gamma ---------------------------------------------------------


def choose_gamma(gamma: str | float, X: Any, sample_weight: Floats | None) -> float:
    """Turn ``gamma`` into a number; warn if it makes the kernel nearly constant.

    The variance is weighted, so that a weight of 2 is the row twice.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        value = 1.0 / n_features
    else:
        with np.errstate(over="ignore", divide="ignore"):
            variance = _variance(X, sample_weight)
            value = float(1.0 / (n_features * variance)) if variance > 0 else 1.0
    _warn_if_blind(gamma, value, X)
    return value


def check_gram(K: Any, shape: tuple[int, int], kernel: Callable[[Any, Any], Any]) -> Floats:
    """Return what a callable kernel gave as a float matrix of the right shape."""
    if issparse(K):
        check_sparse(K, f"the matrix from kernel={kernel!r}")
        K = K.toarray()
    try:
        K = np.ascontiguousarray(K, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"kernel={kernel!r} must return numbers: {error}.") from None
    if K.shape != shape:
        raise ValueError(
            f"kernel must return a matrix of shape {shape} for {shape[0]} and {shape[1]} rows; "
            f"{kernel!r} returned {K.shape}."
        )
    if not np.isfinite(K).all():
        raise ValueError(f"kernel returned NaN or infinite values: {kernel!r}.")
    return K


def own_gram(kernel: str | Callable[[Any, Any], Any], X: Any) -> Floats:
    """Gram matrix of the rows of ``X`` for a callable kernel; ``X`` itself if precomputed."""
    K, name = X, 'X with kernel="precomputed"'
    if callable(kernel):
        K = check_gram(kernel(X, X), (X.shape[0], X.shape[0]), kernel)
        name = f"the matrix from kernel={kernel!r}"
    rows = _probe_rows(len(K))  # all of them would take too long
    if not np.allclose(K[rows], K[:, rows].T, rtol=1e-5, atol=1e-8 * np.abs(K[rows]).max()):
        raise ValueError(f"{name} is not symmetric; a kernel matrix must be.")
    return K


def check_square(K: Any) -> None:
    """Refuse a precomputed kernel matrix that is not one of points with themselves."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. "
            f"Input is a {K.shape[0]}x{K.shape[1]} matrix."
        )


def check_no_overflow(values: float | Floats, kernel: Any) -> None:
    """Refuse values that the kernel has made infinite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"kernel={kernel!r} overflows on X: scale the features, or lower gamma or degree, C or "
            "the weights."
        )


def _variance(X: Any, weight: Floats | None) -> float:
    """Variance of all entries of ``X``, each row with its weight."""
    if weight is None and not issparse(X):
        return float(X.var())
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    mean = (share @ X).mean()
    if issparse(X):
        return float((share @ X.multiply(X)).mean() - mean**2)
    return float((share @ (X - mean) ** 2).mean())


def _warn_if_blind(gamma: str, value: float, X: Any) -> None:
    """Warn if ``value * (x - x')^2`` is next to 0, or very large, for most pairs of points.

    One outlier, or one column far from 0, makes the variance that "scale" divides by
    large: the kernel is then the same for all other pairs.  One column of large numbers
    hides the others.
    """
    rows = X[_probe_rows(X.shape[0])]
    squares = rows[PAIRS[0]] - rows[PAIRS[1]]  # (32, n_features)
    squares = squares.toarray() if issparse(squares) else squares
    squares = squares[squares.any(axis=1)]  # duplicate points say nothing
    if len(squares) == 0:
        return
    squares = value * squares**2
    distances = np.sort(squares.sum(axis=1))
    # The fifth largest of 32: one outlier among the probes makes four.
    most, seen = distances[(len(distances) * 27) // 32], squares.max(axis=0)
    if most < 1e-3:
        what = "nearly the same for most pairs of points"
    elif distances[0] > 500.0:
        what = "nearly 0 for all pairs of different points"
    elif len(hidden := np.flatnonzero((seen > 0) & (seen < min(1e-4, 1e-3 * seen.max())))):
        what = f"blind to {len(hidden)} of {len(seen)} features (the first is {hidden[0]})"
    else:
        return
    warnings.warn(
        f"gamma={gamma!r} is {value:.2e} here, and the kernel is {what}. "
        "Scale the features of X (sklearn.preprocessing.StandardScaler, or RobustScaler "
        "if there are outliers), or give gamma a number.",
        UserWarning,
        stacklevel=5,
    )


def _probe_rows(n: int) -> NDArray[np.intp]:
    return PROBES * (n - 1) // (len(PROBES) - 1)


def _kernel_machine(model: Any) -> None:
    """The kernel has a name, suits the points that carry its function, and cannot overflow."""
    require(isinstance(model.kernel, str), model, "the kernel is not one of rejo's own")
    require(abs(model.coef0) <= LARGEST, model, "coef0 is too large")
    n_axes = {"linear": None, "precomputed": 1}.get(str(model.kernel), 2)
    found = None if model._basis is None else model._basis.ndim
    require(found == n_axes, model, "the points that carry its function are malformed")
    n = model._n_weights if model.kernel == "linear" else len(model._coef)
    require(len(model._coef) == n, model, "coefficients and features do not agree in number")
    if model.kernel == "poly":
        rows = model._basis.data if issparse(model._basis) else model._basis
        most = np.abs(rows).max(initial=0.0) ** 2 * model.n_features_in_
        with np.errstate(over="ignore"):
            top = np.float64(model._gamma * most + abs(model.coef0)) ** int(model.degree)
        # Else points like these would have infinite scores of both signs.
        require(np.isfinite(top), model, "its kernel overflows")


def check_support(model: Any) -> None:
    """Refuse support vectors that do not agree with the kernel and their numbers."""
    none = model.support_vectors_.shape == (0, 0)
    require(none == (model.kernel == "precomputed"), model, "its support vectors are malformed")
    n = model.n_support_.sum()
    require(n == len(model.support_), model, "its numbers of support vectors do not agree")


SUPPORT_STATE = {  # what `_set_solution` sets
    "support_": indices("n"),
    "support_vectors_": either(floats("n", "p"), sparse_rows("n", "p"), floats(0, 0)),
    "n_support_": indices("K"),
    "dual_coef_": floats(1, "n"),
    "objective_": figure(),
    "duality_gap_": figure(),
    "n_iter_": count(),
}


# The kernels take as many rows as there are coefficients, as many columns as X has, and the
# indices of sparse rows as they are.  With kernel="precomputed", rows are columns of X.
declare(
    KernelMachine,
    {
        "_gamma": number(low=SMALLEST_GAMMA, high=LARGEST_GAMMA),
        "_coef": floats("m"),
        "_basis": maybe(either(floats("m", "p"), sparse_rows("m", "p"), indices("m", below="p"))),
    },
    _kernel_machine,
    training_rows=("support_vectors_", "_basis"),
)
