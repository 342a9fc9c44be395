"""Classifiers by boundaries between ordered classes: scores -> count -> labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rejo._state import is_floats, is_sorted, require
from rejo._typing import Floats, Indices
from rejo.estimators.base import Judgement, RejectClassifier
from rejo.estimators.classes import (
    Targets,
    check_sample_weight,
    check_targets,
    class_indices,
    stream_classes,
)
from rejo.replication import costs_from_loss, decode, replica_costs, replica_labels
from rejo.solvers.types import path_order

LARGEST_CAP = 1e100  # squares of gradients and duals must stay finite
LARGEST_LOGIT = 700.0  # exp of it is finite


@dataclass(kw_only=True, eq=False, repr=False)
class BoundaryClassifier(RejectClassifier):
    """Base of the classifiers that count the boundaries below a point.

    A subclass fits and computes :meth:`boundary_scores`; everything else follows.
    It has the parameters ``s`` and ``loss_matrix`` and calls :meth:`_set_classes` in ``fit``.
    """

    class_weight: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RejectClassifier._parameter_constraints,
        "s": [Interval(Integral, 1, None, closed="left"), None],
        "loss_matrix": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    @abstractmethod
    def boundary_scores(self, X: Any) -> Floats:
        """Score of every point for every boundary, positive above it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_fit)
            Points, or their kernel values with the training points if ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_boundaries)
            Falling from left to right; the number of positive scores is the decision.  With
            rejection, columns ``2 j`` and ``2 j + 1`` are the edges of the reject region
            between the classes ``j`` and ``j + 1``; without, column ``j`` is the boundary.
        """

    # ---- what subclasses use -------------------------------------------------------------

    def judge(self, X: Any) -> Judgement:
        return judge_scores(self.boundary_scores(X), rejects=self._rejects)

    def _decide(self, X: Any) -> Indices:
        return decode(self._counts(X), reject=self._rejects)

    def _counts(self, X: Any) -> Indices:
        """Count the boundaries (n_samples,) that lie below each point."""
        return (self.boundary_scores(X) > 0).sum(axis=1)

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        check_is_fitted(self)
        if self._loss is None:
            return super()._mean_cost(X, y, sample_weight)
        counts = self._counts(X)
        check_consistent_length(counts, y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(counts))
        loss = np.asarray(self._loss, dtype=np.float64)  # (n_classes, n_boundaries + 1)
        losses = loss[class_indices(y, self.classes_), counts]
        return float(np.average(losses, weights=sample_weight))

    def _check_targets(self, X: Any, y: Any, sample_weight: Any) -> Targets:
        name = type(self).__name__
        return check_targets(X, y, sample_weight, self.class_order, self.class_weight, name)

    def _operating_point(self) -> dict[str, Any]:
        if self._loss is None:
            return super()._operating_point()
        return {"loss_matrix": np.asarray(self._loss, dtype=np.float64)}

    def _check_state(self) -> None:
        super()._check_state()
        shape = (len(self.classes_), self._n_boundaries + 1)
        fine = self._loss is None or np.shape(self._loss) == shape
        require(fine, self, "the loss matrix and classes_ do not agree")

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None
    ) -> tuple[Floats, Floats]:
        """Store the classes and the reject label; return replica labels and costs (K, Q).

        A model that continues gives its number of boundaries: another one is refused, and
        the model stays as it is.
        """
        K = len(classes)
        if self.loss_matrix is None:
            labels, costs = replica_tables(K, self.reject_cost, self.s)
        else:
            costs = costs_from_loss(self.loss_matrix)
            labels = replica_labels(K, reject=costs.shape[1] > K - 1)
            if len(costs) != K:
                raise ValueError(
                    f"loss_matrix has {len(costs)} rows, but y has {K} classes: {classes.tolist()}."
                )
        if n_boundaries not in (None, costs.shape[1]):
            raise ValueError(
                f"the model has {n_boundaries} boundaries, but reject_cost={self.reject_cost!r} or "
                f"loss_matrix now needs {costs.shape[1]}: with and without rejection are "
                "different models. Set warm_start=False and fit again."
            )
        reject = costs.shape[1] > K - 1
        self._set_labels(classes, reject)
        self._loss = self.loss_matrix  # as fitted, even if the parameter changes later
        return labels, costs


def _has_posteriors(model: PosteriorsMixin) -> bool:
    """Return whether there is a predict_proba: by the parameters, or by the fit if there is one."""
    fault = model._no_odds()
    if hasattr(model, "classes_"):
        if model._odds_offsets is not None:
            return True
        fault = fault or (
            f"with {len(model.classes_)} classes, the costs it was fitted with leave no posteriors "
            "(fit it with reject_cost=None)"
        )
    if fault:
        raise AttributeError(f"this {type(model).__name__} has no predict_proba: {fault}.")
    return True


class PosteriorsMixin(BoundaryClassifier):
    """The method :meth:`predict_proba`, for scores that estimate log-odds.

    A subclass whose loss does not always estimate them says so by :meth:`_no_odds`, and one whose
    scores are not the log-odds computes :meth:`_log_odds`.
    """

    _odds_offsets: Floats | None = None  # (n_boundaries,) as fitted; None if no posteriors

    @available_if(_has_posteriors)
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of every class.

        It exists after a fit on two classes, or with ``reject_cost=None``.  With more than two
        classes, costs of rejection leave scores that no posterior can be read off.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.  As in scikit-learn, ``class_weight`` and
            ``sample_weight`` count as if there were more points of a class.

        Notes
        -----
        :meth:`predict` counts boundaries.  Of three or more classes it therefore returns the
        median of the posterior, which is not always the likeliest class.
        """
        check_is_fitted(self)
        offsets: Any = self._odds_offsets
        return boundary_posteriors(self._log_odds(X) - offsets, rejects=self._rejects)

    def _log_odds(self, X: Any) -> Floats:
        """Log-odds (n_samples, n_boundaries) of the costs above and below each boundary."""
        return self.boundary_scores(X)

    def _no_odds(self) -> str | None:
        """Return why the parameters exclude posteriors, if they do."""
        return None

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None
    ) -> tuple[Floats, Floats]:
        labels, costs = super()._set_classes(classes, n_boundaries)
        self._odds_offsets = None if self._no_odds() else odds_offsets(costs)
        return labels, costs

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        """The same as :func:`boundary_posteriors`, in an ONNX graph."""
        offsets: Any = self._odds_offsets
        f = graph.add("Sub", graph.apply(self, X), offsets[None, :])
        f = graph.add("Clip", f, np.array(-LARGEST_LOGIT), np.array(LARGEST_LOGIT))
        m = len(self.classes_) - 1
        if self._rejects:
            f = graph.add("Reshape", f, np.array([-1, m, 2]))
            f = graph.add("ReduceMean", f, axes=[2], keepdims=0)
        if m == 1:
            return str(graph.two_columns(graph.add("Sigmoid", f)))
        f = graph.falling(f, m)
        above = graph.add("Sigmoid", f)
        below = graph.add("Sigmoid", graph.add("Neg", f))
        low, high = np.arange(m - 1), np.arange(1, m)
        pick = partial(graph.add, "Gather", axis=1)
        gap = graph.add("Exp", graph.add("Sub", pick(f, high), pick(f, low)))
        middle = graph.add("Mul", pick(above, low), pick(below, high))
        middle = graph.add("Mul", middle, graph.add("Sub", np.array(1.0), gap))
        p = graph.add(
            "Concat", pick(below, np.array([0])), middle, pick(above, np.array([m - 1])), axis=1
        )
        total = graph.add("ReduceSum", p, np.array([1]), keepdims=1)
        return str(graph.add("Div", p, total))

    def _check_state(self) -> None:
        super()._check_state()
        offsets = self._odds_offsets
        fine = offsets is None or is_floats(offsets, self._n_boundaries)
        require(fine, self, "its posteriors are malformed")


class ParallelBoundaries(BoundaryClassifier):
    """Base of the classifiers by thresholds on one function ``g``: their boundaries never cross.

    A subclass computes :meth:`_function`, and sets ``thresholds_`` in ``fit``, lowest first.
    """

    thresholds_: Floats

    @abstractmethod
    def _function(self, X: Any) -> Floats:
        """``g`` (n_samples,) at the rows of an ``X`` that is not validated yet."""

    def boundary_scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._function(X)[:, None] - self.thresholds_

    def _counts(self, X: Any) -> Indices:
        check_is_fitted(self)
        g = self._function(X)
        counts = np.zeros(len(g), dtype=np.intp)
        for threshold in self.thresholds_:  # faster than a matrix of all scores
            counts += g > threshold
        return counts

    def _check_state(self) -> None:
        super()._check_state()
        b = self.thresholds_
        require(is_floats(b, None), self, "thresholds_ are not finite numbers")
        require(is_sorted(b), self, "thresholds_ are not in rising order")
        require(len(b) == self._n_boundaries, self, "thresholds_ and classes_ do not agree")

    def _check_cap(self, largest: float) -> None:
        """Refuse a product of ``C``, the costs and the weights whose square may overflow."""
        if largest > LARGEST_CAP:
            raise ValueError(
                f"C={self.C:g} is too large: with the weights and costs it reaches "
                f"{largest:.1e}, whose square overflows. Lower C, or the weights."
            )

    def _check_stream(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, first: bool
    ) -> tuple[NDArray[Any], Any, Indices, Floats | None]:
        """Validate a chunk of a stream: all classes, and rows with their classes and weights."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all of y: give partial_fit a dict of "
                "weights, e.g. from sklearn.utils.compute_class_weight on a part of the stream."
            )
        X = self._check_X(X, reset=first)
        known = stream_classes(classes, self.class_order, None if first else self.classes_)
        k = class_indices(y, known)
        check_consistent_length(X, k)
        if sample_weight is None:
            return known, X, k, None
        weight = check_sample_weight(sample_weight, len(k))
        rows = weight > 0
        return known, X[rows], k[rows], weight[rows]


class PathMixin(ParallelBoundaries):
    """The method :meth:`fit_path`, for a learner with a parameter ``C``.

    A subclass validates the parameters and the data by ``_prepare``, yields the solutions of a
    sequence of models by ``_solve_path``, and stores one by ``_store``.
    """

    C: float

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

        The fits share what they can, such as the kernel matrix, and every fit starts from a
        solution close to its own.  This model itself is not changed.

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
        models : list of fitted classifiers
            In the order of ``itertools.product(reject_costs, Cs)``.
        """
        unfitted: Self = clone(self)
        data = unfitted._prepare(X, y, sample_weight)
        if reject_costs is not None and self.loss_matrix is not None:
            raise ValueError("reject_costs has no effect with a loss_matrix; give one of the two.")
        costs = [self.reject_cost] if reject_costs is None else list(reject_costs)
        values = [self.C] if Cs is None else list(Cs)
        models = []
        for reject_cost, C in product(costs, values):
            model = copy(unfitted)  # a clone takes as long as a fit that starts well
            model.reject_cost, model.C = reject_cost, C
            model._check_parameters()
            models.append(model)
        order = [models[w * len(values) + c] for w, c, _ in path_order(len(costs), len(values))]
        for model, solution in zip(order, self._solve_path(data, order), strict=True):
            model._store(data, model._check_solution(solution))
        return models


def judge_scores(scores: Floats, *, rejects: bool) -> Judgement:
    """Decide each point from its scores (..., n_boundaries), with or without reject regions."""
    counts = (scores > 0).sum(axis=-1)
    sizes = np.abs(scores)
    step = 2 if rejects else 1
    lower = np.where(counts % step == 1, counts, sizes.argmin(axis=-1)) // step
    middles = middle_scores(scores, rejects=rejects)
    return Judgement(
        decision=decode(counts, reject=rejects),
        forced=(middles > 0).sum(axis=-1),
        lower=lower,
        upper=lower + 1,
        distance=sizes.min(axis=-1),
        sureness=np.abs(np.take_along_axis(middles, lower[..., None], axis=-1)[..., 0]),
    )


def middle_scores(scores: Floats, *, rejects: bool) -> Floats:
    """Score (..., n_classes - 1) for the middle between neighbouring classes."""
    return scores[..., 0::2] + scores[..., 1::2] if rejects else scores


def odds_offsets(costs: ArrayLike) -> Floats | None:
    """What the costs (K, Q) of the replicas add to the log-odds of the classes, if they only add.

    A loss that estimates log-odds brings the score of replica ``q`` at the boundary above class
    ``j`` to ``log(sum_{k > j} c_kq p_k / sum_{k <= j} c_kq p_k)``.  If all classes above the
    boundary cost ``a_q`` and all below it ``b_q``, this is ``logit P(y > j) + log(a_q / b_q)``.

    Returns
    -------
    offsets : ndarray of shape (n_boundaries,) or None
        ``log(a_q / b_q)``; ``None`` if costs differ on one side of a boundary, or are 0.

    Examples
    --------
    >>> from rejo.replication import replica_costs
    >>> odds_offsets(replica_costs(2, reject_cost=0.2)).round(3)
    array([ 1.386, -1.386])
    >>> odds_offsets(replica_costs(3, reject_cost=None))
    array([0., 0.])
    >>> odds_offsets(replica_costs(3, reject_cost=0.2)) is None
    True
    """
    costs = np.asarray(costs, dtype=np.float64)
    K, Q = costs.shape
    q = np.arange(Q)
    j = q // (Q // (K - 1))  # the class just below each boundary
    above, below = costs[j + 1, q], costs[j, q]
    level = np.where(np.arange(K)[:, None] > j, above, below)
    if not ((level > 0).all() and np.allclose(costs, level, rtol=1e-9, atol=0.0)):
        return None
    return np.log(above) - np.log(below)


def boundary_posteriors(logits: Floats, *, rejects: bool) -> Floats:
    """Posteriors (n, K) from estimates (n, Q) of ``logit P(y > j)``, one or two for each ``j``.

    Two estimates, at the two edges of a reject region, are averaged.  Crossing ones are sorted.

    Examples
    --------
    >>> boundary_posteriors(np.array([[1.0, -1.0], [900.0, -900.0]]), rejects=False).round(3)
    array([[0.269, 0.462, 0.269],
           [0.   , 1.   , 0.   ]])
    """
    f = np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)
    f = -np.sort(-middle_scores(f, rejects=rejects) / (2 if rejects else 1), axis=1)
    p = np.empty((len(f), f.shape[1] + 1))
    p[:, 0], p[:, -1] = expit(-f[:, 0]), expit(f[:, -1])
    # expit(f_j) - expit(f_j+1), without the cancellation
    p[:, 1:-1] = expit(f[:, :-1]) * expit(-f[:, 1:]) * -np.expm1(np.diff(f, axis=1))
    return p / p.sum(axis=1, keepdims=True)


@lru_cache(maxsize=512)
def replica_tables(
    n_classes: int, reject_cost: float | None, s: int | None
) -> tuple[Floats, Floats]:
    """Replica labels and costs (K, Q), remembered: many fits share them."""
    labels = replica_labels(n_classes, reject=reject_cost is not None)
    costs = replica_costs(n_classes, reject_cost, s)
    labels.flags.writeable = costs.flags.writeable = False
    return labels, costs
