"""Support vector machines trained on a convex surrogate of the loss with rejection."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rejo._state import declare
from rejo.baselines.binary_machine import BinaryKernelMachine
from rejo.estimators import SUPPORT_STATE, FiniteInterval, check_support, loss_as_fitted
from rejo.replication import costs_from_loss
from rejo.solvers import Hinges, Problem, surrogate


@dataclass(kw_only=True, eq=False, repr=False)
class SurrogateRejectSVC(BinaryKernelMachine):
    """Support vector classifier that rejects, by a hinge with two kinks.

    Two classes, one function ``f = g + b``, and a loss with an extra kink for small scores::

        min  1/2 |g|^2 + C sum_i weight_i loss(y_i, f(x_i)),        y_i = +-1

    ``surrogate="bartlett-wegkamp"``, by :footcite:t:`bartlett2008`, is, with the reject cost d::

        phi_d(y f),  phi_d(z) = max(0, 1 - z, 1 - a z),  a = (1 - d) / d;  reject |f| <= 1/2

    ``surrogate="double-hinge"``, by :footcite:t:`grandvalet2008`, is the larger of 0 and the
    tangents of the logistic loss at the log-odds of Chow's thresholds p- and p+, with the entropy
    ``H(p) = -p log p - (1 - p) log(1 - p)``::

        y = +1:  max(0, H(p+) - (1 - p+) f, H(p-) - (1 - p-) f),
        y = -1:  max(0, H(p-) + p- f, H(p+) + p+ f);    reject  logit p- < f <= logit p+

    Equal costs have ``p- = d``, ``p+ = 1 - d``; a ``loss_matrix`` ``[[0, r-, c-], [c+, r+, 0]]``
    has ``p- = r- / (r- + c+ - r+)`` and ``p+ = (c- - r-) / (c- - r- + r+)``.

    Parameters
    ----------
    surrogate : {"bartlett-wegkamp", "double-hinge"}, default="double-hinge"
        The loss.
    reject_cost : float in (0, 0.5], default=0.2
        Cost of a rejection where an error costs 1.
    loss_matrix : array-like of shape (2, 3), default=None
        Cost of each output (lower class, reject, upper class) for each true class, in place of
        ``reject_cost``; with the double hinge only.
    class_order : list of labels or "sorted", default=None
        The two classes, the lower one (y = -1) first.  ``None``: ascending.
    %reject_label, class_weight
    C, kernel, degree, gamma, coef0, tol, max_iter, cache_size, verbose
        As in :class:`~rejo.RejoSVC`.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    thresholds_ : ndarray of shape (2,)
        The two cut-offs on ``f``, lowest first: points between them are rejected.
    intercept_ : float
        ``b``.
    support_, support_vectors_, n_support_, dual_coef_, coef_, objective_, duality_gap_, n_iter_
        As in :class:`~rejo.RejoSVC`.

    See Also
    --------
    RejoSVC : The edges of the reject region by data replication; for more than two classes too.
    EmbeddedRejectSVC : The costs themselves, smoothed; not convex.

    Examples
    --------
    >>> from rejo.baselines import SurrogateRejectSVC
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = SurrogateRejectSVC(kernel="linear", C=10, class_order=["good", "bad"]).fit(X, y)
    >>> model.predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    surrogate: str = "double-hinge"
    loss_matrix: Any = None
    cache_size: float = 200
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryKernelMachine._parameter_constraints,
        "surrogate": [StrOptions({"bartlett-wegkamp", "double-hinge"})],
        "loss_matrix": ["array-like", None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "cache_size": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        training = self._prepare(X, y, sample_weight)
        hinges = self._hinges()
        solution = surrogate.solve(
            Problem(training.matrix, training.kernel, self.cache_size),
            training.targets.indices,
            self._caps(training.targets),
            hinges,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
        )
        self._check_solution(solution)
        self._set_labels(training.targets.classes, rejects=True)
        self._loss = loss_as_fitted(self.loss_matrix)
        self._set_solution(training, solution)
        self.intercept_ = float(solution.b[0])
        self.thresholds_ = hinges.cutoffs
        return self

    def _hinges(self) -> Hinges:
        """The loss as a table of hinges."""
        if self.loss_matrix is None:
            d = float(self.reject_cost)
            if 1.0 - d == 1.0:
                raise ValueError(
                    f"reject_cost={d!r} is so small that every point would be rejected. Use 1e-9 "
                    "or more."
                )
            if self.surrogate == "bartlett-wegkamp":
                return surrogate.bartlett_wegkamp(d)
            return surrogate.double_hinge(d, 1.0 - d)
        if self.surrogate != "double-hinge":
            raise ValueError(
                f"surrogate={self.surrogate!r} does not support a loss_matrix: pass "
                'reject_cost, or use surrogate="double-hinge".'
            )
        costs = costs_from_loss(self.loss_matrix)
        loss = np.asarray(self.loss_matrix, dtype=np.float64)
        if costs.shape != (2, 2):
            raise ValueError(
                "loss_matrix must have two rows and three columns (lower class, reject, upper "
                f"class); got shape {loss.shape}."
            )
        if not (loss[:, 1] > 0).all():
            raise ValueError(
                f"loss_matrix={loss.tolist()} makes rejection free: the second column must be "
                "positive, or no point would ever be decided."
            )
        lower, upper = surrogate.chow_thresholds(loss)
        if not 0 < lower <= upper < 1:
            raise ValueError(
                f"loss_matrix={loss.tolist()} makes rejection too expensive: below a posterior of "
                f"{lower:.3g} the lower class is better, above {upper:.3g} the upper one. Lower "
                "the second column, or use an SVC, which never rejects."
            )
        return surrogate.double_hinge(lower, upper)


declare(SurrogateRejectSVC, SUPPORT_STATE, check_support, saved=True)
