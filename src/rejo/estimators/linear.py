"""A linear classifier that may answer "review", for many points and for streams."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from rejo._state import count, declare, figure, floats, optional, part, require
from rejo._typing import Floats
from rejo.estimators.boundaries import PathMixin
from rejo.estimators.classes import Targets, class_factors
from rejo.estimators.parameters import FiniteInterval
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.solvers import Step, linear


@dataclass(kw_only=True, eq=False, repr=False)
class RejoLinear(PosteriorsMixin, PathMixin):
    """Linear classifier with a reject option, by data replication.

    One direction ``w`` separates the ordered classes ``0..K-1`` by ordered thresholds, two
    between neighbouring classes; what lies between the two is rejected.  With the label ``y_iq``
    and the cost ``c_iq`` of point ``i`` at boundary ``q`` (see :mod:`rejo.replication`) it
    minimises, over ``w`` and ``b``::

        1/2 |w|^2 + 1/(2 h^2) sum_{q>=1} (b_q - b_0)^2
                  + C sum_iq c_iq loss(y_iq (w.x_i + b_q))

    with a convex ``loss`` of the margin, such as ``log(1 + exp(-m))``.  The replicas are never
    built: a pass over the data costs what it costs for one linear model.  A NumPy array of single
    precision is not copied.

    Parameters
    ----------
    %C
    loss : {"logistic", "hinge", "squared_hinge"}, default="logistic"
        ``log(1 + exp(-m))``, ``max(0, 1 - m)`` or ``max(0, 1 - m)^2``.  If the logit is linear,
        the logistic boundaries of two classes converge to those of Chow's rule; those of the hinge
        do not.  Only the logistic loss has :meth:`predict_proba`.
    %h, reject_cost, s, loss_matrix, class_order, reject_label, class_weight
    tol : float, default=1e-6
        Relative accuracy of the objective: the duality gap for the hinge, otherwise the excess
        estimated by the Newton decrement.
    max_iter : int, default=1000
        Maximum number of Newton steps.
    warm_start : bool, default=False
        Start ``fit`` from the solution of the previous call, if it has the same shape.
    random_state : int, RandomState instance or None, default=None
        Order of the points within a chunk in :meth:`partial_fit`; ``fit`` is not random.
    %verbose

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_, thresholds_
    coef_ : ndarray of shape (1, n_features)
        ``w``.
    objective_ : float
        Value of the objective function; after ``fit`` only.
    optimality_gap_ : float
        Relative bound on how far ``objective_`` is above the minimum (see ``tol``); after
        ``fit`` only.
    n_iter_ : int
        Number of steps; after :meth:`partial_fit`, of all calls.

    See Also
    --------
    RejoKernelLogistic : The logistic loss with a kernel.
    rejo.distributed.fit : The same from files, by several machines.

    Examples
    --------
    >>> from rejo import RejoLinear
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = RejoLinear(C=10, class_order=["good", "bad"]).fit(X, y)
    >>> model.predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    C: float = 1.0
    loss: str = "logistic"
    h: float = 1.0
    s: int | None = None
    loss_matrix: Any = None
    tol: float = 1e-6
    max_iter: int = 1000
    warm_start: bool = False
    random_state: Any = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PathMixin._parameter_constraints,
        "C": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions(set(linear.LOSSES))],
        "h": [FiniteInterval(Real, 1e-6, 1e6, closed="both")],
        "tol": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _solve_path(self, data: tuple[Any, Targets], models: Sequence[Self]) -> Iterator[Any]:
        X, targets = data
        first = models[0]
        tables = [model._set_caps(targets) for model in models]
        steps = [Step(labels, caps, self.h) for labels, caps, _ in tables]
        start = None
        if first.warm_start and hasattr(first, "coef_") and first.coef_.shape[1] == X.shape[1]:
            start = first.coef_[0], -first.thresholds_
        how = {name: getattr(self, name) for name in ("loss", "tol", "max_iter", "verbose")}
        return linear.solve_path(X, tables[0][2], steps, targets.weight, start=start, **how)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more chunk of a stream.

        With at most 500 features and a smooth loss, one pass over a shuffled stream is nearly as
        good as a fit on all of it.  With the hinge, or more features, it takes averaged gradient
        steps, and more passes help.  A call after ``fit`` continues from there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels; not every class has to occur in a chunk.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, in an order found as in :meth:`fit`.  Required in the
            first call, unless ``fit`` came before or ``class_order`` lists them.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : RejoLinear
        """
        self._check_parameters()
        first = not hasattr(self, "coef_")
        ordered, X, k, weight = self._check_stream(X, y, classes, sample_weight, first=first)
        targets = Targets(ordered, k, weight, weight, None)
        labels, caps, _ = self._set_caps(targets, None if first else len(self.thresholds_))
        if self.class_weight is not None:
            caps = caps * class_factors(self.class_weight, ordered, None)[:, None]
        how: dict[str, Any] = dict(loss=self.loss, h=self.h)
        stream = getattr(self, "_stream", None)
        if stream is None:
            self._rng = check_random_state(self.random_state)
            if first:
                stream = linear.begin(X, labels.shape[1], **how)
            else:
                start = self.coef_[0], -self.thresholds_
                stream = linear.resume(
                    X, k, labels, caps, weight, start=start, n_seen=self._n_fitted, **how
                )
        stream = linear.advance(stream, X, k, labels, caps, weight, rng=self._rng, **how)
        self._stream = stream
        for name in ("objective_", "optimality_gap_"):
            self.__dict__.pop(name, None)
        w, b = np.split(stream.mean, [X.shape[1]])
        return self._set_function(w, b, stream.n_steps)

    def _no_odds(self) -> str | None:
        logistic = self.loss == "logistic"
        return None if logistic else f"loss={self.loss!r} estimates none (use loss='logistic')"

    def _function(self, X: Any) -> Floats:
        return linear.products(self._check_X(X, reset=False), self.coef_[0])

    def _check_X(self, X: Any, *, reset: bool, accept_sparse: bool = True) -> Any:
        if type(X) is np.ndarray and X.dtype == np.float32:
            return validate_data(self, X, reset=reset, dtype=np.float32, order="C")
        return super()._check_X(X, reset=reset, accept_sparse=accept_sparse)

    def _prepare(self, X: Any, y: Any, sample_weight: Any, loss: Any = None) -> tuple[Any, Targets]:
        """Validate the parameters and the data; keep the rows with a weight."""
        self._check_parameters()
        X = self._check_X(X, reset=True)
        targets = self._check_targets(X, y, sample_weight, loss)
        return (X if targets.rows is None else X[targets.rows]), targets

    def _check_solution(self, solution: linear.LinearSolution) -> linear.LinearSolution:
        """Raise an error if it overflowed; warn the caller of ``fit`` if it did not converge."""
        if not np.isfinite(solution.objective):
            raise ValueError("the scores overflow on X: scale the features, or lower C.")
        if not solution.converged:
            bound = solution.n_iter >= self.max_iter
            warnings.warn(
                f"The solver stopped after {solution.n_iter} steps (max_iter={self.max_iter}) at a "
                f"relative gap of {solution.gap:.1e}, with tol={self.tol:g}. "
                + ("Raise max_iter, scale" if bound else "Scale")
                + " the features, lower C, or raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def _store(self, data: tuple[Any, Targets], solution: linear.LinearSolution) -> Self:
        self.__dict__.pop("_stream", None)
        self._n_fitted = len(data[1].indices)
        self.objective_ = solution.objective
        self.optimality_gap_ = solution.gap
        return self._set_function(solution.w, solution.b, solution.n_iter)

    def _set_function(self, w: Floats, b: Floats, n_iter: int) -> Self:
        self.coef_ = w[None, :].copy()
        self.thresholds_ = np.sort(-b)  # sorting changes no count
        self.n_iter_ = n_iter
        return self

    def _to_onnx(self, graph: Any, X: str) -> str:
        g = graph.add("MatMul", X, self.coef_.T)
        return str(graph.add("Sub", g, self.thresholds_[None, :]))


def _linear(model: Any) -> None:
    stream = getattr(model, "_stream", None)
    known = hasattr(model, "_n_fitted") or stream is not None
    require(known, model, "it does not know how many cases it has seen")
    n = model.n_features_in_ + len(model.thresholds_)
    require(stream is None or len(stream.x) == n, model, "its stream is malformed")


def _restore_linear(model: Any) -> None:
    if hasattr(model, "_stream") and not hasattr(model, "_rng"):
        model._rng = check_random_state(model.random_state)


declare(
    RejoLinear,
    {
        "coef_": floats(1, "p"),
        "n_iter_": count(0, 1 << 53),
        "objective_": optional(figure()),
        "optimality_gap_": optional(figure()),
        "_n_fitted": optional(count(1, 1 << 53)),
        "_stream": optional(part(linear.Stream)),
        "_rng": optional(part(np.random.RandomState)),
    },
    _linear,
    restore_state=_restore_linear,
    saved=True,
)
