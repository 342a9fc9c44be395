"""rejoSVM: a support vector machine that may answer "review"."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from joblib.parallel import get_active_backend
from sklearn.utils._param_validation import Interval

from rejo._state import declare
from rejo._typing import Floats
from rejo.estimators.boundaries import PathMixin
from rejo.estimators.classes import Targets
from rejo.estimators.kernel_machine import SUPPORT_STATE, KernelMachine, Training, check_support
from rejo.estimators.parameters import FiniteInterval
from rejo.solvers import FACTOR_FROM, KernelSolution, Problem, Step


@dataclass(kw_only=True, eq=False, repr=False)
class RejoSVC(KernelMachine, PathMixin):
    """Support vector classifier with a reject option, by data replication.

    One function ``g`` separates the ordered classes ``0..K-1`` by ordered thresholds, two
    between neighbouring classes; what lies between the two is rejected.  With the label ``y_iq``
    and the cost ``c_iq`` of point ``i`` at boundary ``q`` (see :mod:`rejo.replication`) it
    minimises, over ``g`` in the kernel's space and ``b``::

        1/2 |g|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
                  + C sum_iq c_iq max(0, 1 - y_iq (g(x_i) + b_q))

    This is rejoSVM of :footcite:t:`sousa2013`, with the hinge in place of the sign.  The replicas
    are never built: the solver works on the kernel matrix of the points.

    Parameters
    ----------
    %C
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel matrix.
    %degree, gamma, coef0, h, reject_cost, s, loss_matrix, class_order, reject_label, class_weight
    tol : float, default=1e-3
        Tolerance for the optimality conditions and the relative duality gap.
    max_iter : int, default=-1
        Limit on the number of iterations; -1 lets the solver choose.
    cache_size : float, default=200
        Memory for the kernel matrix or its factor, in megabytes.  What does not fit is computed
        in blocks, when it is needed.
    n_jobs : int, default=None
        Number of threads for kernel values; the result is the same for any number.  ``None``: one,
        or what ``joblib.parallel_config`` says; -1: one for each processor.  In a worker of
        joblib it is one.
    %verbose

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_, thresholds_
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        Support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients: ``g(x) = sum_i dual_coef_[0, i] k(support_vectors_[i], x)``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; linear kernel only.
    %objective_
    duality_gap_ : float
        ``(primal - dual) / primal``: a bound on how far ``objective_`` is above the minimum.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    RejoKernelLogistic : The logistic loss in place of the hinge, with posteriors.
    rejo.RejectClassifierCV : Chooses ``C``, ``gamma`` and ``h`` from a grid, and the reject cost.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = RejoSVC(kernel="linear", C=10, class_order=["good", "bad"]).fit(X, y)
    >>> model.predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    h: float = 1.0
    s: int | None = None
    loss_matrix: Any = None
    cache_size: float = 200
    n_jobs: int | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "h": [FiniteInterval(Real, 1e-6, 1e6, closed="both")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "cache_size": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @property
    def _n_threads(self) -> int:
        # In a worker of joblib, the other processors have work of their own.
        backend, n_jobs = get_active_backend()
        n_jobs = n_jobs if self.n_jobs is None else self.n_jobs
        nested = getattr(backend, "nesting_level", None)
        return 1 if nested or n_jobs == 1 else int(backend.effective_n_jobs(n_jobs))

    def _solve_path(self, data: Training, models: Iterable[Self]) -> Iterator[KernelSolution]:
        steps = (Step(*model._boxes(data.targets), self.h) for model in models)
        n_threads = 1 if data.matrix.shape[0] < FACTOR_FROM else self._n_threads
        problem = Problem(data.matrix, data.kernel, self.cache_size, n_threads)
        return problem.solve_path(steps, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)

    def _boxes(self, targets: Targets) -> tuple[Floats, Floats]:
        """Labels and ``C`` x costs x weights (n, Q) of the points in the replicas."""
        labels, costs, rows = self._set_tables(targets)
        caps: Floats = (float(self.C) * costs).take(rows, axis=0)
        if targets.weight is not None:
            caps *= targets.weight[:, None]
        self._check_cap(caps.max())
        return labels.take(rows, axis=0), caps

    def _store(self, training: Training, solution: KernelSolution) -> Self:
        self._set_solution(training, solution)
        self.thresholds_ = -solution.b
        self.thresholds_.sort()  # changes no count
        return self

    def _to_onnx(self, graph: Any, X: str) -> str:
        return self._scores_to_onnx(graph, X)


declare(RejoSVC, SUPPORT_STATE, check_support, saved=True)
