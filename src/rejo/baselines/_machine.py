"""What the kernel machines among the rivals share: two classes, one function, two cut-offs."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from rejo.estimators._kernels import check_gram, check_symmetric, choose_gamma
from rejo.estimators._targets import Targets, check_targets
from rejo.estimators.base import Floats
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.solvers.svm import Kernel, evaluate

CHUNK = 2_000_000  # kernel values held at a time in a prediction with a callable kernel
LARGEST_CAP = 1e100  # squares of C * weight must stay finite


class Training(NamedTuple):
    """The validated data of a fit."""

    points: Any  # (n, p) rows with a weight; their Gram matrix if that was given
    matrix: Any  # what goes with `kernel`: the points, or their Gram matrix
    kernel: Kernel
    targets: Targets


class BinaryKernelMachine(BoundaryClassifier):
    """``f(x) = sum_j coef_j k(x_j, x) + b`` for two classes, rejected between two cut-offs.

    A subclass has the parameters below, fits, and sets ``intercept_``, ``thresholds_`` and,
    by :meth:`_set_function`, what it takes to evaluate ``f``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in BoundaryClassifier._parameter_constraints.items()
            if name not in ("s", "loss_matrix")  # of ordinal classes
        },
        "reject_cost": [Interval(Real, 0.0, 0.5, closed="right")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
    }

    C: float
    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: str | float
    coef0: float
    class_order: Any
    class_weight: Any

    def boundary_scores(self, X: Any) -> Floats:
        """Score of every point for both edges of the reject region: ``f(x) - thresholds_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, or their kernel values (n_samples, n_samples_fit) with the training points
            if ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples, 2)
            Falling from left to right; the number of positive ones is the decision: the lower
            class, reject, the upper class.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False, accept_sparse=self.kernel != "precomputed")
        return (self._evaluate(X) + self.intercept_)[:, None] - self.thresholds_

    @property
    def coef_(self) -> Floats:
        """Weights of the features (1, n_features); linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        return self._coef[None]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coef")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Validate the parameters and the data; settle the kernel."""
        self._check_parameters()
        name = type(self).__name__
        precomputed = self.kernel == "precomputed"
        X = self._check_X(X, reset=True, accept_sparse=not precomputed)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix. "
                f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        with np.errstate(invalid="ignore"):  # infinite labels: an error of check_targets
            kind = None if y is None else type_of_target(y, input_name="y")
        if kind == "multiclass":
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{name} tells two classes apart. RejoSVC takes more, if they have an order."
            )
        targets = check_targets(X, y, sample_weight, self.class_order, self.class_weight, name)
        if targets.rows is not None:
            X = X[np.ix_(targets.rows, targets.rows)] if precomputed else X[targets.rows]
        matrix, kernel = X, Kernel("precomputed")
        if precomputed:
            check_symmetric(X, 'X with kernel="precomputed"')
        elif callable(self.kernel):
            matrix = check_gram(self.kernel(X, X), (X.shape[0], X.shape[0]), self.kernel)
            check_symmetric(matrix, f"the matrix from kernel={self.kernel!r}")
        elif self.kernel == "linear":
            kernel = Kernel("linear")
        else:
            gamma = choose_gamma(self.gamma, X, targets.sample_weight)
            kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
        return Training(X, matrix, kernel, targets)

    def _caps(self, targets: Targets) -> Floats:
        """``C`` x weight (n,) of the points."""
        n = len(targets.indices)
        caps = self.C * (np.ones(n) if targets.weight is None else targets.weight)
        if caps.max() > LARGEST_CAP:
            raise ValueError(
                f"C={self.C:g} is too large: with the weights it reaches {caps.max():.1e}, whose "
                "square overflows. Lower C, or the weights."
            )
        return np.asarray(caps)

    def _set_function(self, training: Training, basis: Any, coef: Floats) -> None:
        """Store ``f - b = sum_j coef_j k(x_j, .)`` by rows ``basis``; linear: by its weights."""
        self._gamma = training.kernel.gamma
        self._coef = coef
        self._basis: Any = None
        if self.kernel == "precomputed":
            rows = training.targets.rows
            self._basis = basis if rows is None else rows[basis]
        elif self.kernel != "linear":
            self._basis = training.points[basis]

    def _evaluate(self, X: Any) -> Floats:
        """``f - b`` at the rows of ``X``."""
        if self.kernel == "linear":
            return np.asarray(X @ self._coef)
        if self.kernel == "precomputed":
            return X[:, self._basis] @ self._coef
        if not callable(self.kernel):
            kernel = Kernel(self.kernel, self._gamma, int(self.degree), float(self.coef0))
            return evaluate(X, self._basis, self._coef, kernel)
        f, step = np.empty(X.shape[0]), 1 + CHUNK // (1 + len(self._coef))
        for start in range(0, len(f), step):
            rows = X[start : start + step]
            shape = (rows.shape[0], len(self._coef))
            K = check_gram(self.kernel(rows, self._basis), shape, self.kernel)
            f[start : start + step] = K @ self._coef
        return f
