"""rejoSVM: a support vector machine that may answer "review"."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rejo.estimators._kernels import check_gram, check_symmetric, choose_gamma
from rejo.estimators._targets import Targets, check_targets
from rejo.estimators.base import Floats
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.solvers.svm import Kernel, Problem, Solution, evaluate

CHUNK = 2_000_000  # kernel values held at a time in a prediction with a callable kernel
LARGEST_CAP = 1e100  # squares of the duals must stay finite


class _Training(NamedTuple):
    """What all fits on the same points share."""

    points: Any  # (n, p) rows with a weight; their Gram matrix if that was given
    problem: Problem
    kernel: Kernel
    targets: Targets


class RejoSVC(BoundaryClassifier):
    """Support vector classifier with a reject option, by data replication.

    Ordered classes ``0..K-1`` are told apart by one function ``g`` and ordered thresholds,
    two between neighbouring classes; what lies between the two is rejected.  With the
    label ``y_iq`` and the cost ``c_iq`` of point ``i`` at boundary ``q`` (see
    :mod:`rejo.replication`) it minimises, over ``g`` in the kernel's space and ``b``,

        1/2 |g|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
                  + C sum_iq c_iq max(0, 1 - y_iq (g(x_i) + b_q)),

    the paper's equation for rejoSVM with the hinge in place of the sign.  The replicas are
    never built: the solver works on the kernel matrix of the points.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the norm of ``g``; positive.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel matrix.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor of rbf, poly and sigmoid kernels.  "scale" is ``1 / (n_features * X.var())``,
        with the variance weighted by ``sample_weight``; "auto" is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant term of poly and sigmoid kernels.
    h : float in [1e-6, 1e6], default=1.0
        Size of the extension features: large values let the thresholds move apart freely.
    reject_cost : float in (0, 0.5] or None, default=0.2
        Cost of a rejection where an error costs 1.  ``None``: never reject (plain ordinal
        classification, one threshold between neighbouring classes).
    s : int, default=None
        How many classes on each side take part in a boundary.  ``None`` means all.
    loss_matrix : array-like of shape (n_classes, 2 * n_classes - 1) or (n_classes, n_classes)
        Cost of each output (class, reject, class, ..., or classes only) for each true class,
        in place of ``reject_cost`` and ``s``.
    class_order : list of labels or "sorted", default=None
        Classes, lowest first.  ``None``: the order of an ordered pandas Categorical, or
        ascending; required for more than two classes of strings.
    reject_label : object, default=None
        What ``predict`` returns for a rejected point.  ``None``: "reject" for classes of
        strings, for numbers the first of -1, 0, -2, ... that is not a class.
    class_weight : dict or "balanced", default=None
        Factor of the weights of each class.
    tol : float, default=1e-3
        Tolerance of the optimality conditions and of the relative duality gap.
    max_iter : int, default=-1
        Bound on the solver's iterations; -1 leaves it to the solver.
    cache_size : float, default=200
        Memory for kernel values, in megabytes.
    verbose : bool, default=False
        Print the progress of the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in their order, lowest first.
    reject_label_ : object
        Label of a rejection; ``None`` if the model never rejects.
    thresholds_ : ndarray of shape (n_boundaries,)
        ``b_q``, falling.
    support_ : ndarray of shape (n_SV,)
        Rows of the training set with a coefficient in ``g``.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients: ``g(x) = sum_i dual_coef_[0, i] k(support_vectors_[i], x)``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; linear kernel only.
    objective_ : float
        Value of the minimised function.
    duality_gap_ : float
        (primal - dual) / primal: how far ``objective_`` may be above the minimum.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if ``X`` had string column names.

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = RejoSVC(kernel="linear", C=10, class_order=["good", "bad"]).fit(X, y)
    >>> model.predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundaryClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "h": [Interval(Real, 1e-6, 1e6, closed="both")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        h: float = 1.0,
        reject_cost: float | None = 0.2,
        s: int | None = None,
        loss_matrix: Any = None,
        class_order: Any = None,
        reject_label: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.h = h
        self.reject_cost = reject_cost
        self.s = s
        self.loss_matrix = loss_matrix
        self.class_order = class_order
        self.reject_label = reject_label
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function and its thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 counts as the row twice, a weight of 0 as no row.

        Returns
        -------
        self : RejoSVC
        """
        training = self._prepare(X, y, sample_weight)
        labels, caps = self._boxes(training.targets)
        return self._store(training, self._solve(training.problem, labels, caps))

    def fit_path(
        self,
        X: Any,
        y: Any,
        *,
        reject_costs: Iterable[float | None] | None = None,
        Cs: Iterable[float] | None = None,
        sample_weight: Any = None,
    ) -> list[Self]:
        """Fit one model for each pair of a reject cost and a ``C``.

        The kernel matrix is computed once, and every fit starts from the one before.
        This model itself is not changed.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        reject_costs : iterable of float or None, default=None
            ``None``: the ``reject_cost`` of this model only.
        Cs : iterable of float, default=None
            ``None``: the ``C`` of this model only.

        Returns
        -------
        models : list of RejoSVC
            In the order of ``itertools.product(reject_costs, Cs)``.
        """
        if reject_costs is not None and self.loss_matrix is not None:
            raise ValueError("reject_costs has no effect with a loss_matrix; give one of the two.")
        unfitted = clone(self)
        training = unfitted._prepare(X, y, sample_weight)
        costs = [self.reject_cost] if reject_costs is None else reject_costs
        models: list[Self] = []
        u: Floats | None = None
        caps: Floats | None = None
        for reject_cost, C in product(costs, [self.C] if Cs is None else Cs):
            model = copy(unfitted)  # a clone takes as long as a fit that starts well
            model.reject_cost, model.C = reject_cost, C
            model._check_parameters()
            before = caps
            labels, caps = model._boxes(training.targets)
            if u is not None and before is not None and before.shape == caps.shape:
                # What was at its bound stays there, the rest keeps its value.
                u = np.where(np.abs(u) >= before, labels * caps, np.clip(u, -caps, caps))
            else:
                u = None
            solution = model._solve(training.problem, labels, caps, u)
            models.append(model._store(training, solution))
            u = solution.u
        return models

    def boundary_scores(self, X: Any) -> Floats:
        """Score of every point for every boundary: ``g(x) + thresholds_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, or their kernel values (n_samples, n_samples_fit) with the training points
            if ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_boundaries)
            Falling from left to right; the number of positive ones is the decision.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False, accept_sparse=self.kernel != "precomputed")
        return self._evaluate(X)[:, None] + self.thresholds_

    @property
    def coef_(self) -> Floats:
        """Weights of the features (1, n_features); linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        return np.asarray(self._basis)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_basis")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> _Training:
        """Validate the parameters and the data; set the kernel up."""
        self._check_parameters()
        precomputed = self.kernel == "precomputed"
        X = self._check_X(X, reset=True, accept_sparse=not precomputed)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix. "
                f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        targets = check_targets(
            X, y, sample_weight, self.class_order, self.class_weight, type(self).__name__
        )
        if targets.rows is not None:
            X = X[np.ix_(targets.rows, targets.rows)] if precomputed else X[targets.rows]
        Z, kernel = X, Kernel("precomputed")
        if precomputed:
            check_symmetric(X, 'X with kernel="precomputed"')
        elif callable(self.kernel):
            Z = check_gram(self.kernel(X, X), (X.shape[0], X.shape[0]), self.kernel)
            check_symmetric(Z, f"the matrix from kernel={self.kernel!r}")
        elif self.kernel == "linear":
            kernel = Kernel("linear")
        else:
            gamma = choose_gamma(self.gamma, X, targets.sample_weight)
            kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
        return _Training(X, Problem(Z, kernel, self.cache_size), kernel, targets)

    def _boxes(self, targets: Targets) -> tuple[Floats, Floats]:
        """Labels and ``C`` x costs x weights (n, Q) of the points in the replicas."""
        labels, costs = self._set_classes(targets.classes)
        caps: Floats = (self.C * costs)[targets.indices]
        if targets.weight is not None:
            caps *= targets.weight[:, None]
        if caps.max() > LARGEST_CAP:
            raise ValueError(
                f"C={self.C:g} is too large: with the weights and costs it reaches "
                f"{caps.max():.1e}, whose square overflows. Lower C, or the weights."
            )
        return labels[targets.indices], caps

    def _solve(
        self, problem: Problem, labels: Floats, caps: Floats, u: Floats | None = None
    ) -> Solution:
        solution = problem.solve(
            labels, caps, h=self.h, tol=self.tol, max_iter=self.max_iter, u=u, verbose=self.verbose
        )
        if not np.isfinite(solution.objective):
            raise ValueError(
                f"kernel={self.kernel!r} overflows on X: scale the features, or lower gamma or "
                "degree."
            )
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

    def _store(self, training: _Training, solution: Solution) -> Self:
        points, _, kernel, targets = training
        B = solution.u.sum(axis=1)
        support = np.flatnonzero(B)
        rows = np.arange(len(B)) if targets.rows is None else targets.rows
        self.support_ = rows[support]
        precomputed = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else points[support]
        self.n_support_ = np.bincount(targets.indices[support], minlength=len(targets.classes))
        self.dual_coef_ = B[None, support]
        self.thresholds_ = -np.sort(-solution.b)  # sorting changes no count
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        self._gamma = kernel.gamma
        # g(x) = sum_j _coef[j] k(_basis[j], x), by as few points as the solver could find.
        self._coef = solution.coef
        self._basis: Any
        if self.kernel == "linear":
            self._basis = np.atleast_2d(np.asarray(solution.weights))
        elif precomputed:
            self._basis = rows[solution.basis]
        else:
            same = np.array_equal(solution.basis, support)
            self._basis = self.support_vectors_ if same else points[solution.basis]
        return self

    def _evaluate(self, X: Any) -> Floats:
        """``g`` at the rows of ``X``."""
        if self.kernel == "linear":
            return np.asarray(X @ self._basis[0])
        if self.kernel == "precomputed":
            return X[:, self._basis] @ self._coef
        if not callable(self.kernel):
            kernel = Kernel(self.kernel, self._gamma, int(self.degree), float(self.coef0))
            return evaluate(X, self._basis, self._coef, kernel)
        g, step = np.empty(X.shape[0]), 1 + CHUNK // (1 + len(self._coef))
        for start in range(0, len(g), step):
            rows = X[start : start + step]
            shape = (rows.shape[0], len(self._coef))
            K = check_gram(self.kernel(rows, self._basis), shape, self.kernel)
            g[start : start + step] = K @ self._coef
        return g
