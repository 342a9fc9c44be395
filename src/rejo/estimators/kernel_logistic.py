"""Kernel logistic regression that may answer "review"."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from rejo._state import count, declare, figure, indices, require
from rejo.estimators.boundaries import PathMixin
from rejo.estimators.kernel_machine import KernelMachine, Training
from rejo.estimators.parameters import FiniteInterval
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.solvers import LogisticProblem, LogisticSolution, Step


@dataclass(kw_only=True, eq=False, repr=False)
class RejoKernelLogistic(PosteriorsMixin, KernelMachine, PathMixin):
    """Kernel logistic regression with a reject option, by data replication.

    One function ``g`` separates the ordered classes ``0..K-1`` by ordered thresholds, two
    between neighbouring classes; what lies between the two is rejected.  With the label ``y_iq``
    and the cost ``c_iq`` of point ``i`` at boundary ``q`` (see :mod:`rejo.replication`) it
    minimises, over ``g`` in the kernel's space and ``b``::

        1/2 |g|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
                  + C sum_iq c_iq log(1 + exp(-y_iq (g(x_i) + b_q)))

    It is :class:`RejoSVC` with the logistic loss in place of the hinge :footcite:p:`zhu2005`.  This
    loss estimates log-odds: with more and more points of two classes, the boundaries converge to
    those of Chow's rule, at the probabilities ``reject_cost`` and ``1 - reject_cost``, and
    :meth:`predict_proba` to the posteriors.  Few training points, the *pivots*, carry ``g``.

    Parameters
    ----------
    %C
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel matrix.  A kernel that is not
        positive semidefinite, such as "sigmoid" for many parameters, gives a warning.
    %degree, gamma, coef0
    h : float in [1e-6, 1e6], default=10.0
        Size of the extension features; larger values let the thresholds move apart more freely.
    %reject_cost
    max_rank : int, default=500
        Most pivots.  If the kernel needs more for ``tol`` (many features, or a large ``gamma``),
        the pivots are a random sample of this size, ``g`` is the best function that they carry,
        and ``duality_gap_`` is above ``tol``.
    %s, loss_matrix, class_order, reject_label, class_weight
    tol : float, default=1e-3
        Tolerance for the relative duality gap.
    max_iter : int, default=100
        Maximum number of Newton steps.
    cache_size : float, default=200
        Memory for the factor of the kernel matrix, in megabytes: at most so much / (8 x rows)
        pivots.
    %verbose

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_, thresholds_
    pivots_ : ndarray of shape (n_pivots,)
        Indices of the training points that carry ``g``; a linear kernel may need none.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; linear kernel only.
    %objective_
    duality_gap_ : float
        ``(primal - dual) / primal``, or a bound on it: how far ``objective_`` is above the minimum
        at most, over all functions, not only those that the pivots carry.
    n_iter_ : int
        Number of Newton steps.

    See Also
    --------
    RejoSVC : The hinge in place of the logistic loss.
    RejoLinear : The logistic loss without a kernel, for many rows and for streams.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> from rejo import RejoKernelLogistic
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejoKernelLogistic(C=10, gamma=1).fit(X, y)
    >>> model.predict([[0.9, 0.9], [0.1, 0.9], [0.5, 0.9]])
    array([ 1, -1,  0])
    >>> len(model.pivots_) < 50
    True
    """

    h: float = 10.0
    s: int | None = None
    loss_matrix: Any = None
    max_rank: int = 500
    max_iter: int = 100
    cache_size: float = 200
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "h": [FiniteInterval(Real, 1e-6, 1e6, closed="both")],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def _solve_path(self, data: Training, models: Iterable[Self]) -> Iterator[LogisticSolution]:
        _, matrix, kernel, targets = data
        tables = [model._set_caps(targets) for model in models]
        steps = [Step(labels, caps, self.h) for labels, caps, _ in tables]
        problem = LogisticProblem(
            matrix, kernel, tables[0][2], targets.weight,
            max_rank=self.max_rank, cache_size=self.cache_size,
        )  # fmt: skip
        return problem.solve_path(steps, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)

    def _store(self, training: Training, solution: LogisticSolution) -> Self:
        if not solution.definite:
            warnings.warn(
                f"kernel={self.kernel!r} is not positive semidefinite on these points: "
                "duality_gap_ is not a bound, and other points could carry a better function. "
                "Change gamma or coef0, or use another kernel.",
                UserWarning,
                stacklevel=3,
            )
        rows = training.targets.rows
        self.pivots_ = solution.pivots if rows is None else rows[solution.pivots]
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        linear = self.kernel == "linear"
        coef = solution.weights if linear else solution.coef
        self._set_function(training, solution.pivots, np.asarray(coef))
        self.thresholds_ = np.sort(-solution.b)  # sorting changes no count
        return self

    def _to_onnx(self, graph: Any, X: str) -> str:
        return self._scores_to_onnx(graph, X)


def _kernel_logistic(model: Any) -> None:
    fine = model.kernel == "linear" or len(model.pivots_) == len(model._coef)
    require(fine, model, "its pivots and coefficients do not agree in number")


declare(
    RejoKernelLogistic,
    {
        "pivots_": indices(None),
        "objective_": figure(),
        "duality_gap_": figure(),
        "n_iter_": count(),
    },
    _kernel_logistic,
    saved=True,
)
