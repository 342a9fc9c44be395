"""The support vector machine with embedded reject option of Fumera & Roli (2002)."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rejo._state import count, declare, figure, floats, indices, number, optional, require
from rejo._typing import Floats, Indices
from rejo.baselines.binary_machine import BinaryKernelMachine
from rejo.estimators import MOST_RUNS, FiniteInterval, PathMixin, Training, check_no_overflow
from rejo.solvers import Costs, Embedded, SmoothedCost, factorise, gram

LARGEST_FEATURE = 1e150  # squares must stay finite


class Machine(NamedTuple):
    """The minimum that was found, as a function of the features or of kernel values."""

    found: Embedded
    pivots: Indices  # (rank,) of a kernel's factor
    coef: Floats  # (r,) of the features, or (rank,) of the pivots' kernel functions


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddedRejectSVC(BinaryKernelMachine, PathMixin):
    """Support vector classifier with a reject region of its own width, by :footcite:t:`fumera2002`.

    A point is rejected where ``|f(x)| <= eps``; both ``f = w . x + b`` and ``eps`` are trained.  In
    place of the slack of an SVM stands the cost of where a point lies: 0 beyond the margin
    (``z = y f >= 1``), ``w_C`` inside it but accepted, ``w_r`` (the reject cost) where it is
    rejected, 1 where it is wrong.  With these steps smoothed to sigmoids ``s`` of slope k, it
    minimises over ``w``, ``b`` and ``0 <= eps <= 1``::

        J = 1/2 |w|^2 + C sum_i weight_i { w_C s(k (1 - z_i)) + (w_r - w_C) s(k (eps - z_i))
                        + (1 - w_r) s(k (-eps - z_i)) + a max(0, 1 - z_i)^2 }

    J has many local minima: the lowest is kept that several starts, with k growing from 1 to 100,
    and then hops from it, find.  Rounding may choose it: with sparse features, or without the
    compiled descents, it may be another one, about as low.  ``fit_path`` fits many reject costs and
    ``C`` at once; its models are those of single fits.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation strength; must be positive.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
        A kernel other than the linear one is factored, and the linear method runs on the
        factor: ``f`` is then a sum of kernel functions of at most ``max_rank`` points.
    second_order : bool, default=False
        Add the products ``x_i x_j`` to the features; linear kernel only.
    degree, gamma, coef0
        As in :class:`~rejo.RejoSVC`.
    reject_cost : float in (0, 0.5], default=0.2
        ``w_r``: cost of a rejection where an error costs 1.
    w_C : float, default=None
        Cost of an accepted point on its side of the boundary but inside the margin, at most
        ``reject_cost``.  ``None``: a tenth of ``reject_cost``.
    margin_weight : float, default=0.1
        ``a``: weight of the squared distance from the margin, which gives the descent a direction.
    max_rank : int, default=300
        Maximum rank of the factor of a kernel matrix.  Time and memory grow with
        ``n_samples * max_rank``.
    n_starts : int, default=9
        Number of starts; those beyond nine are random.
    class_order : list of labels or "sorted", default=None
        The two classes, the lower one (y = -1) first.  ``None``: ascending.
    %reject_label, class_weight
    tol : float, default=1e-6
        A stage ends when a step lowers J by less than this fraction of it.
    max_iter : int, default=1000
        Maximum number of steps of a stage.
    random_state : int, RandomState instance or None, default=None
        For the starts beyond nine.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    epsilon_ : float
        Half the width of the reject region, in units of ``f``.
    thresholds_ : ndarray of shape (2,)
        The cut-offs ``-epsilon_`` and ``epsilon_`` on ``f``.
    intercept_ : float
        ``b``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, and with ``second_order`` of the products (in the order of
        scikit-learn's ``PolynomialFeatures``); linear kernel only.
    support_ : ndarray of shape (rank,)
        Rows of the training set whose kernel functions make up ``f``; not for a linear kernel.
    dual_coef_ : ndarray of shape (1, rank)
        Their coefficients; not for a linear kernel.
    objective_ : float
        J at the last slope.
    n_starts_, n_iter_ : int
        Number of starts, and of the steps of all descents together.

    See Also
    --------
    RejoSVC : The edges of the reject region by data replication: one minimum, any kernel.
    SurrogateRejectSVC : A convex loss with a kink for the reject region.

    Examples
    --------
    >>> from rejo.baselines import EmbeddedRejectSVC
    >>> X = [[0.0], [1.0], [2.0], [2.5], [3.0], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = EmbeddedRejectSVC(C=10, class_order=["good", "bad"]).fit(X, y)
    >>> model.predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    kernel: str | Callable[[Any, Any], Any] = "linear"
    second_order: bool = False
    w_C: float | None = None
    margin_weight: float = 0.1
    max_rank: int = 300
    n_starts: int = 9
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryKernelMachine._parameter_constraints,
        "second_order": ["boolean"],
        "w_C": [FiniteInterval(Real, 0.0, 0.5, closed="both"), None],
        "margin_weight": [FiniteInterval(Real, 0.0, None, closed="left")],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "n_starts": [Interval(Integral, 1, MOST_RUNS, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _solve_path(self, data: Training, models: Iterable[Self]) -> Iterator[Machine]:
        """One SVM to start from for each ``C``; a solution does not depend on those before."""
        y = np.where(data.targets.indices, 1.0, -1.0)
        Z, pivots = self._features(data)
        for _, same in groupby(models, key=lambda model: model.C):
            cost = None
            for model in same:
                costs = model._costs()
                cost = cost or SmoothedCost(Z, y, model._caps(data.targets))
                found = cost.solve(
                    costs,
                    n_starts=int(self.n_starts),
                    tol=float(self.tol),
                    max_iter=int(self.max_iter),
                    rng=check_random_state(self.random_state),
                )
                coef = found.w
                if data.kernel.name != "linear" and np.isfinite(coef).all():
                    # w . z(x) = (L^-T w) . k(pivots, x)
                    coef = solve_triangular(Z[pivots], found.w, lower=True, trans="T")
                yield Machine(found, pivots, coef)

    def _check_solution(self, solution: Machine) -> Machine:  # type: ignore[override]
        """Raise an error if it overflowed; warn the caller of ``fit`` if it did not converge."""
        if not np.isfinite(solution.found.objective):
            raise ValueError(
                f"the cost of X overflows with kernel={self.kernel!r}, C={self.C:g}: scale the "
                "features, or lower C."
            )
        if not solution.found.converged:
            warnings.warn(
                f"The last descent did not converge: max_iter={self.max_iter} steps of it were not "
                f"enough for tol={self.tol:g}, or the numbers are too large. Scale the features, "
                "lower C, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def _store(self, training: Training, solution: Machine) -> Self:
        found, pivots, coef = solution
        self._set_labels(training.targets.classes, rejects=True)
        self._loss = None
        self.epsilon_ = found.epsilon
        self.thresholds_ = np.array([-found.epsilon, found.epsilon])
        self.intercept_ = found.b
        self.objective_ = found.objective
        self.n_starts_ = self.n_starts
        self.n_iter_ = found.n_iter
        self.__dict__.pop("support_", None)
        self.__dict__.pop("dual_coef_", None)
        if self.kernel == "linear":
            self._set_function(training, None, coef)
            return self
        self._set_function(training, pivots, coef)
        rows = training.targets.rows
        self.support_ = pivots if rows is None else rows[pivots]
        self.dual_coef_ = coef[None]
        return self

    @property
    def _n_weights(self) -> int:
        p = super()._n_weights
        return p + p * (p + 1) // 2 if self.second_order else p

    def _costs(self) -> Costs:
        w_C = 0.1 * self.reject_cost if self.w_C is None else self.w_C
        if w_C > self.reject_cost:
            raise ValueError(
                f"w_C={w_C:g} must not exceed reject_cost={self.reject_cost:g}: an accepted point "
                "on its own side cannot cost more than a rejected one."
            )
        return Costs(float(w_C), float(self.reject_cost), float(self.margin_weight))

    def _features(self, training: Training) -> tuple[Any, Indices]:
        """Rows (n, r) for the linear method, and the pivots (r,) of a kernel's factor."""
        points, matrix, kernel, _ = training
        if self.second_order and self.kernel != "linear":
            raise ValueError(
                f"second_order=True needs kernel='linear'; with kernel={self.kernel!r} leave it "
                "out. kernel='poly', degree=2, coef0=1 has the same functions."
            )
        if kernel.name == "linear":
            Z = self._expand(points)
            largest = np.abs(Z.data if issparse(Z) else Z).max(initial=0.0)
            if not largest <= LARGEST_FEATURE:
                raise ValueError(
                    f"second_order=True makes features of up to {largest:.1e}, whose squares "
                    "overflow: scale the features."
                )
            return Z, np.empty(0, dtype=np.intp)
        n = points.shape[0]
        if kernel.name == "precomputed":
            diagonal = matrix.diagonal()
        elif kernel.name == "rbf":
            diagonal = np.ones(n)
        else:
            squares = points.multiply(points) if issparse(points) else points * points
            with np.errstate(over="ignore", invalid="ignore"):
                dots = kernel.gamma * np.asarray(squares.sum(axis=1)).ravel() + kernel.coef0
                diagonal = dots**kernel.degree if kernel.name == "poly" else np.tanh(dots)
        check_no_overflow(diagonal, self.kernel)

        def column(i: int) -> Floats:
            if kernel.name == "precomputed":
                return np.asarray(matrix[i])
            return gram(points, points[i : i + 1], kernel)[:, 0]

        Z, pivots = factorise(column, diagonal, max_rank=int(self.max_rank))
        if len(pivots) == 0:
            raise ValueError(
                f"kernel={self.kernel!r} has no positive value k(x, x) on X; it must be a "
                "positive semidefinite kernel."
            )
        return Z, pivots

    def _expand(self, X: Any) -> Any:
        """Features, with their products if these are asked for."""
        if not self.second_order:
            return X
        if issparse(X):
            return PolynomialFeatures(2, include_bias=False).fit_transform(X)
        # The same columns, without the checks that take longer than the products of few rows.
        products = (X[:, [j]] * X[:, j:] for j in range(X.shape[1]))
        with np.errstate(over="ignore"):
            return np.hstack([X, *products])

    def _evaluate(self, X: Any) -> Floats:
        return super()._evaluate(self._expand(X))


def _embedded(model: Any) -> None:
    """The thresholds and coefficients are those of ``epsilon_`` and the kernel."""
    fine = model.thresholds_.tolist() == [-model.epsilon_, model.epsilon_]
    require(fine, model, "thresholds_ and epsilon_ do not agree")
    linear, dual = model.kernel == "linear", getattr(model, "dual_coef_", None)
    require(linear or not model.second_order, model, "second_order needs a linear kernel")
    fine = linear == (dual is None) and hasattr(model, "support_") != linear
    fine = fine and (dual is None or np.array_equal(dual[0], model._coef))
    require(fine, model, "its coefficients do not agree")


declare(
    EmbeddedRejectSVC,
    {
        "epsilon_": number(0.0, 1.0),
        "objective_": figure(),
        "n_starts_": count(1),
        "n_iter_": count(),
        "support_": optional(indices("m")),
        "dual_coef_": optional(floats(1, "m")),
    },
    _embedded,
    saved=True,
)
