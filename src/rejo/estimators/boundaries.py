"""Classifiers by boundaries between ordered classes: scores -> count -> labels."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from rejo._frames import naming_words
from rejo._sparse import check_sparse, summed
from rejo._state import declare, floats, is_sorted, maybe, require
from rejo._typing import Floats, Indices
from rejo.estimators.base import RejectClassifier, check_reject_cost
from rejo.estimators.classes import (
    Targets,
    check_sample_weight,
    check_targets,
    class_indices,
    stream_classes,
    with_loss,
)
from rejo.estimators.reviews import Judgement, refuse_unknown
from rejo.replication import costs_from_loss, decode, replica_costs, replica_labels
from rejo.solvers import path_order

LARGEST_CAP = 1e100  # squares of gradients and duals must stay finite
SMALLEST_CAP = 1e-306  # below, floats lose their digits


class LearnsLosses(RejectClassifier):
    """Base of the learners by data replication, which may learn from a loss for each case."""

    _counts: Any  # a method: the boundaries (n_samples,) that lie below each point

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training points; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 counts as the row twice, a weight of 0 as no row.
        loss : array-like of shape (n_samples, n_outputs), default=None
            What each case costs by each output (class, reject, class, ..., or classes only), given
            its class: a ``loss_matrix`` by case, in place of ``reject_cost``, ``s`` and
            ``loss_matrix``.  Each row must fall to 0 at its own class and rise after it.

        Returns
        -------
        self : object
            The fitted classifier.

        Notes
        -----
        With a ``loss`` that differs between cases there is no ``predict_proba``, as scores are
        log-odds of money, and :meth:`score` without one takes the mean of each class.

        *Order of the thresholds.*  Let an error on case ``i`` cost ``e_i`` and its review ``r_i``.
        Two classes: the best thresholds on any function ``g`` are in order if

            ``r_i r_j <= (e_i - r_i) (e_j - r_j)``

        for all cases ``i`` of one class and ``j`` of the other, that is, if at the prices of any
        such pair a review pays at some posterior.  Proof: with the costs ``c_iq``, ``q = 0, 1``,
        there is then a number ``a`` with ``c_i0 <= a c_i1`` for all ``i`` of the lower class and
        ``c_j0 >= a c_j1`` for all ``j`` of the upper one, so the derivative of the loss by ``b_0``
        is at most ``a`` times that by ``b_1`` at the same value; it is 0 at a ``b_0`` that is not
        below ``b_1``, and a penalty of ``(b_1 - b_0)^2`` draws the two together, not past each
        other.  More classes: the same holds without such a penalty if every row is convex, its
        steps not shrinking with the distance from the true class.

        Otherwise thresholds may cross.  They are sorted, which changes no decision: a case is
        decided by the number of thresholds below it.  But cases between two that have crossed are
        reviewed although, at the prices of training, deciding them would cost less.
        """

    def score(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> float:
        """Return 1 - the mean cost of the decisions; see :meth:`RejectClassifier.score`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
        loss : array-like of shape (n_samples, n_outputs), default=None
            What each case costs by each output, as in :meth:`fit`.

        Returns
        -------
        score : float
        """
        if loss is None:
            return super().score(X, y, sample_weight)
        counts = self._counts(X)
        loss, shape = check_array(loss, input_name="loss"), (len(counts), self._n_boundaries + 1)
        if loss.shape != shape:
            raise ValueError(f"loss must have shape {shape}, as for fit; got {loss.shape}.")
        check_consistent_length(counts, y)
        return 1.0 - mean_loss(loss, np.arange(len(counts)), counts, sample_weight)


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
        return count_boundaries(self.boundary_scores(X), rejects=self._rejects)

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        check_is_fitted(self)
        if self._loss is None:
            return super()._mean_cost(X, y, sample_weight)
        k = class_indices(y, self.classes_)
        return mean_loss(self._loss, k, self._counts(X), sample_weight)

    def _check_parameters(self) -> None:
        """``_validate_params``, but remember what was found valid.

        The constraints depend on the values alone, and checking them all takes as long
        as a fit of a hundred points.
        """
        if get_config()["skip_parameter_validation"]:
            return
        try:
            _check_values(type(self), *_parameters(type(self))(self))
        except TypeError:  # an array or a dict has no hash
            self._validate_params()

    def _check_X(self, X: Any, *, reset: bool, accept_sparse: bool = True) -> Any:
        """``X`` as C-ordered float64 or CSR, finite, and so that squares do not overflow."""
        if issparse(X):
            check_sparse(X)
        simple = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
        if simple and X.ndim == 2 and X.size and math.isfinite(np.vdot(X, X)):
            # The checks of validate_data hold: spare a small fit their cost.
            if reset:
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
                return X
            if X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_"):
                return X
        kinds = "csr" if accept_sparse else False
        with naming_words(X):
            X = validate_data(
                self, X, reset=reset, accept_sparse=kinds, dtype=np.float64, order="C"
            )
        if issparse(X):
            X = summed(X)
        largest = np.abs(X.data if issparse(X) else X).max(initial=0.0)
        if largest > 1e150:
            raise ValueError(
                f"X contains values of up to {largest:.1e}, whose squares overflow. Remove the "
                "outliers or scale the features, e.g. by sklearn.preprocessing.RobustScaler."
            )
        return X

    def _check_targets(self, X: Any, y: Any, sample_weight: Any, loss: Any = None) -> Targets:
        name = type(self).__name__
        found = check_targets(X, y, sample_weight, self.class_order, self.class_weight, name)
        return with_loss(found, loss, X.shape[0])

    def _operating_point(self) -> dict[str, Any]:
        if self._loss is None:
            return super()._operating_point()
        return {"loss_matrix": self._loss}

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None, loss_matrix: Any = None
    ) -> tuple[Floats, Floats]:
        """Store the classes and the reject label; return replica labels and costs (K, Q).

        A model that continues gives its number of boundaries: another one is refused, and
        the model stays as it is.  A loss that was given to ``fit`` comes before the parameter.
        """
        loss_matrix = self.loss_matrix if loss_matrix is None else loss_matrix
        labels, costs = boundary_tables(classes, self.reject_cost, self.s, loss_matrix)
        if n_boundaries not in (None, costs.shape[1]):
            raise ValueError(
                f"the model has {n_boundaries} boundaries, but reject_cost={self.reject_cost!r} or "
                f"loss_matrix now needs {costs.shape[1]}: with and without rejection are "
                "different models. Set warm_start=False and fit again."
            )
        self._set_labels(classes, rejects=costs.shape[1] >= len(classes))
        self._loss = loss_as_fitted(loss_matrix)
        return labels, costs

    def _set_tables(
        self, targets: Targets, n_boundaries: int | None = None
    ) -> tuple[Floats, Floats, Indices]:
        """Store the classes; return replica labels and costs, and the row of each case in them."""
        tables = self._set_classes(targets.classes, n_boundaries, targets.loss_matrix)
        return case_tables(*tables, targets)


class ParallelBoundaries(BoundaryClassifier):
    """Base of the classifiers by thresholds on one function ``g``: their boundaries never cross.

    A subclass computes :meth:`_function`, and sets ``thresholds_`` in ``fit``, lowest first.
    """

    thresholds_: Floats

    @abstractmethod
    def _function(self, X: Any) -> Floats:
        """``g`` (n_samples,) at the rows of an ``X`` that is not validated yet."""

    def boundary_scores(self, X: Any) -> Floats:
        return self._values(X)[:, None] - self.thresholds_

    def _values(self, X: Any) -> Floats:
        """``g``, or NaN where it overflows: then it is not known on which side a point lies."""
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            g = self._function(X)
        return np.where(np.isfinite(g), g, np.nan)

    def _counts(self, X: Any) -> Indices:
        g = self._values(X)
        counts = np.zeros(len(g), dtype=np.intp)
        for threshold in self.thresholds_:  # faster than a matrix of all scores
            counts += g > threshold
        return _reject_unknown(counts, np.isnan(g), rejects=self._rejects)

    def _check_cap(self, largest: float) -> None:
        """Refuse a product of ``C``, the costs and the weights whose square may overflow."""
        if largest > LARGEST_CAP:
            raise ValueError(
                f"C={self.C:g} is too large: with the weights and costs it reaches "
                f"{largest:.1e}, whose square overflows. Lower C, or the weights."
            )
        if largest < SMALLEST_CAP:
            raise ValueError(
                f"C={self.C:g} is too small: with the weights and costs it is at most "
                f"{largest:.1e}, which is next to nothing. Raise C, or the weights."
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


class PathMixin(LearnsLosses, ParallelBoundaries):
    """The methods ``fit`` and :meth:`fit_path`, for a learner with a parameter ``C``.

    A subclass validates the parameters and the data by ``_prepare``, yields the solutions of a
    sequence of models by ``_solve_path``, and stores one by ``_store``.
    """

    C: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> Self:
        data = self._prepare(X, y, sample_weight, loss)
        (solution,) = self._solve_path(data, [self])
        return self._store(data, self._check_solution(solution))

    def _set_caps(
        self, targets: Targets, n_boundaries: int | None = None
    ) -> tuple[Floats, Floats, Indices]:
        """Labels and ``C`` x costs in the replicas, and the row of each case in these tables."""
        labels, costs, rows = self._set_tables(targets, n_boundaries)
        caps: Floats = float(self.C) * costs
        self._check_cap(caps.max() * (1.0 if targets.weight is None else targets.weight.max()))
        return labels, caps, rows

    def fit_path(
        self,
        X: Any,
        y: Any,
        *,
        reject_costs: Iterable[float | None] | None = None,
        Cs: Iterable[float] | None = None,
        sample_weight: Any = None,
        loss: Any = None,
    ) -> list[Self]:
        """Fit one model for each pair of a reject cost and a ``C``.

        The fits share what they can, such as the kernel matrix, and a fit may start from a
        solution close to its own.  This model itself is not changed.

        Parameters
        ----------
        X, y, sample_weight, loss
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
        data = unfitted._prepare(X, y, sample_weight, loss)
        loss = getattr(self, "loss_matrix", None) if loss is None else loss
        if reject_costs is not None and loss is not None:
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


def loss_as_fitted(loss_matrix: Any) -> Floats | None:
    """Return a loss matrix (K, Q + 1) to keep, even if the parameter changes later."""
    return None if loss_matrix is None else np.array(loss_matrix, dtype=np.float64)


def mean_loss(loss: Floats, rows: Indices, counts: Indices, sample_weight: Any) -> float:
    """Mean loss of points by their rows (n,) in a table (., Q + 1), and the boundaries below."""
    check_consistent_length(counts, rows)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(counts))
    return float(np.average(loss[rows, counts], weights=weight))


def judge_scores(scores: Floats, *, rejects: bool) -> Judgement:
    """Decide each point from its scores (..., n_boundaries), with or without reject regions.

    A point whose scores are not numbers is rejected, and is the first to review.
    """
    counts = count_boundaries(scores, rejects=rejects)
    sizes = np.abs(scores)
    step = 2 if rejects else 1
    lower = np.where(counts % step == 1, counts, sizes.argmin(axis=-1)) // step
    middles = middle_scores(scores, rejects=rejects)
    sureness = np.abs(np.take_along_axis(middles, lower[..., None], axis=-1)[..., 0])
    return Judgement(
        decision=decode(counts, reject=rejects),
        forced=(middles > 0).sum(axis=-1),
        lower=lower,
        upper=lower + 1,
        distance=sizes.min(axis=-1),
        sureness=np.where(np.isnan(scores).any(axis=-1), 0.0, sureness),
    )


def count_boundaries(scores: Floats, *, rejects: bool) -> Indices:
    """Count the boundaries below each point, by its scores (..., n_boundaries)."""
    unknown = np.asarray(np.isnan(scores).any(axis=-1))
    return _reject_unknown((scores > 0).sum(axis=-1), unknown, rejects=rejects)


def _reject_unknown(counts: Indices, unknown: NDArray[np.bool_], *, rejects: bool) -> Indices:
    """Give unknown points the count of a rejection; refuse them without one."""
    if not rejects:
        refuse_unknown(unknown)
    return np.where(unknown, 1, counts)  # odd: rejected


def middle_scores(scores: Floats, *, rejects: bool) -> Floats:
    """Score (..., n_classes - 1) for the middle between neighbouring classes."""
    return scores[..., 0::2] + scores[..., 1::2] if rejects else scores


def boundary_tables(
    classes: NDArray[Any], reject_cost: float | None, s: int | None, loss_matrix: Any
) -> tuple[Floats, Floats]:
    """Replica labels and costs (K, Q), by a reject cost or a loss matrix."""
    K = len(classes)
    if loss_matrix is None:
        return replica_tables(K, reject_cost, s)
    costs = costs_from_loss(loss_matrix)
    if len(costs) != K:
        raise ValueError(
            f"loss_matrix has {len(costs)} rows, but y has {K} classes: {classes.tolist()}."
        )
    return replica_labels(K, reject=costs.shape[1] >= K), costs


def case_tables(labels: Floats, costs: Floats, targets: Targets) -> tuple[Floats, Floats, Indices]:
    """Replica labels and costs, and the row of each case (n,) in them.

    These are rows of classes (K, Q) or, where the costs differ by case, of the cases (n, Q).
    """
    if targets.costs is None:
        return labels, costs, targets.indices
    return labels[targets.indices], targets.costs, np.arange(len(targets.indices))


@lru_cache(maxsize=512)
def replica_tables(
    n_classes: int, reject_cost: float | None, s: int | None
) -> tuple[Floats, Floats]:
    """Replica labels and costs (K, Q), remembered: many fits share them."""
    labels = replica_labels(n_classes, reject=reject_cost is not None)
    costs = replica_costs(n_classes, reject_cost, s)
    labels.flags.writeable = costs.flags.writeable = False
    return labels, costs


@cache
def _parameters(estimator: Any) -> Any:
    """Getter of all parameters of a class, as a tuple."""
    return attrgetter(*estimator._parameter_constraints)


@lru_cache(maxsize=512, typed=True)
def _check_values(estimator: Any, *values: Any) -> None:
    constraints = estimator._parameter_constraints
    params = dict(zip(constraints, values, strict=True))
    validate_parameter_constraints(constraints, params, caller_name=estimator.__name__)


LOSS_STATE = maybe(floats("K", None, low=0.0))


def check_loss(model: Any) -> None:
    """Refuse a reject cost, or a loss matrix, that boundaries cannot have."""
    check_reject_cost(model)
    fine = model._loss is None or model._loss.shape[1] == model._n_boundaries + 1
    require(fine, model, "the loss matrix and classes_ do not agree")


def n_boundaries(model: Any) -> dict[str, int]:
    """The length that shapes of fitted attributes call Q."""
    return {"Q": model._n_boundaries}


def _parallel_boundaries(model: Any) -> None:
    require(is_sorted(model.thresholds_), model, "thresholds_ are not in rising order")


declare(
    BoundaryClassifier,
    {"_loss": LOSS_STATE},
    check_loss,
    lengths=n_boundaries,
)
declare(ParallelBoundaries, {"thresholds_": floats("Q")}, _parallel_boundaries)
