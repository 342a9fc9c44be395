"""A reject option for any binary classifier with sample weights."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import HasMethods, StrOptions

from rejo._frames import is_polars, take_rows
from rejo._io import percent
from rejo._state import count, declare, floats, maybe, one_of, part, require
from rejo._typing import Floats, Indices
from rejo.estimators import inner
from rejo.estimators.boundaries import BoundaryClassifier, LearnsLosses, middle_scores
from rejo.estimators.inner import check_member
from rejo.estimators.parameters import FiniteInterval
from rejo.estimators.pipelines import final_classifier, routed_weights
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.estimators.reviews import Judgement
from rejo.replication import extend_rows, extension_vectors, replicate

CHUNK = 8_000_000  # values of the replicated rows held at a time in a prediction
EXTREME = 0.01  # rejection rates below this, or above 1 - this, are checked
DOUBTFUL = 0.1  # share of the points nearest to a boundary whose errors are counted
TIE = 1e-9  # scores that differ by less are in order


@dataclass(kw_only=True, eq=False, repr=False)
class ReplicationClassifier(inner.WrapsClassifier, LearnsLosses, PosteriorsMixin):
    """Give any binary classifier with sample weights a reject option.

    Every point is copied once for each boundary between the ordered classes (two between
    neighbours: the edges of a reject region).  Each copy has extension features that identify the
    boundary, a label for its side, and the cost of an error there as its weight (see
    :mod:`rejo.replication`).  One binary classifier learns all copies :footcite:p:`sousa2013`::

        minimise  sum_iq c_iq loss(y_iq f(x_i, e_q))

    and a point is decided by the number of boundaries ``q`` with ``f(x, e_q) > 0``.

    Parameters
    ----------
    estimator : classifier, default=None
        A binary classifier with ``sample_weight`` in ``fit``, and ``decision_function`` or
        ``predict_proba``; or a :class:`~sklearn.pipeline.Pipeline` that ends in one, whose other
        steps transform the points before they are copied.  ``None``:
        ``HistGradientBoostingClassifier()``.
    coding : {"auto", "ordinal", "thermometer", "onehot"}, default="auto"
        Extension features, see :func:`rejo.replication.extension_vectors`.  "auto": "ordinal" for
        trees that support monotonic constraints, otherwise "thermometer", which draws
        neighbouring thresholds together.
    order : {"auto", "constraint", "none"}, default="auto"
        How to keep the boundaries from crossing.  "constraint": a monotonic constraint on the
        extension features, added to those that the estimator has.  "none": scores are only sorted.
        "auto": "constraint" for HistGradientBoosting, XGBoost and LightGBM, otherwise "none".
    %h, reject_cost, s, loss_matrix, class_order, reject_label, class_weight
    scale_leaf_sizes : bool, default=True
        Multiply the estimator's integer ``min_samples_leaf``, ``min_child_samples`` and the like
        by the number of copies of a point, so that they count points, not copies.
    random_state : int, RandomState instance or None, default=None
        If given, it is also set on all parts of the estimator.
    verbose : bool, default=False
        Print the size of the replicated training set.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    estimator_ : classifier
        The fitted binary classifier; it takes points with extension features.
    transformer_ : Pipeline or None
        The fitted steps before the last one, if ``estimator`` is a pipeline.
    coding_, order_ : str
        The settings that "auto" chose.
    order_violations_ : int
        Number of training points whose unsorted scores do not fall from boundary to boundary.

    See Also
    --------
    ThresholdRejectClassifier : The other way: decisions by the classifier's posteriors.
    rejo.replication.replicate : The copies themselves.

    Notes
    -----
    ``boundary_scores`` are the estimator's raw scores (``decision_function``, or the margin of a
    booster), or the log-odds of its ``predict_proba``, sorted so that they fall.
    ``predict_proba`` is as good as the estimator's own; there is none around an ``SVC``, which does
    not weight its probabilities by the costs.

    Examples
    --------
    >>> from rejo import ReplicationClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = ReplicationClassifier(LogisticRegression(C=10), class_order=["good", "bad"])
    >>> model.fit(X, y).predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    """

    coding: str = "auto"
    order: str = "auto"
    h: float = 1.0
    s: int | None = None
    loss_matrix: Any = None
    scale_leaf_sizes: bool = True
    random_state: Any = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundaryClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit"]), None],
        "coding": [StrOptions({"auto", "ordinal", "thermometer", "onehot"})],
        "order": [StrOptions({"auto", "constraint", "none"})],
        "h": [FiniteInterval(Real, 1e-6, 1e6, closed="both")],
        "scale_leaf_sizes": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> Self:
        self._validate_params()
        random = check_random_state(self.random_state)
        transformer, estimator = self._parts(random)
        X = self._check_input(X, reset=True)
        targets = self._check_targets(X, y, sample_weight, loss)
        if targets.rows is not None:
            X = take_rows(X, targets.rows)
        _, costs, row = self._set_tables(targets)
        k, weight = targets.indices, targets.weight
        weights = costs[row] * (1.0 if weight is None else weight[:, None])  # (n, Q)

        self.transformer_ = transformer
        if transformer is not None:
            routed = routed_weights(transformer, targets.sample_weight)
            X = self._check_transformed(transformer.fit_transform(X, k, **routed), estimator)
        self.coding_, self.order_ = _choose_coding(estimator, X, self.coding, self.order)
        self._marks = extension_vectors(costs.shape[1], self.h, self.coding_)  # (Q, n_marks)

        n_rows = int(np.count_nonzero(weights))
        n_features, n_marks = X.shape[1], self._marks.shape[1]
        if self.verbose:
            print(
                f"[ReplicationClassifier] {len(k)} points in {costs.shape[1]} replicas: {n_rows} "
                f"rows, {n_features} + {n_marks} features, coding={self.coding_!r}, "
                f"order={self.order_!r}"
            )
        inner.widen(estimator, n_features, n_marks)
        if self.order_ != "none" and self.coding_ != "onehot":
            inner.constrain(estimator, X, n_marks)
        if self.scale_leaf_sizes:
            inner.scale_sizes(estimator, n_rows / len(k))

        rows, y, weight_of_row = self._replicate(X, k, weights)
        if len(set(y.tolist())) < 2:
            raise ValueError(
                "loss_matrix, or loss, has no costs on one side of all boundaries, so there is "
                f"nothing to learn. Costs in the replicas: {costs[:10].tolist()}."
            )
        inner.fit_inner(estimator, rows, y, weight_of_row)
        self.estimator_ = estimator
        del rows, y, weight_of_row

        scores = self._scores(X)
        self.order_violations_ = int((np.diff(scores, axis=1) > TIE).any(axis=1).sum())
        if self._rejects:
            scores = -np.sort(-scores, axis=1)
            cost = None if self._loss is not None else self.reject_cost
            counts = (scores > 0).sum(axis=1)
            _warn_of_extremes(counts, middle_scores(scores, rejects=True), k, weight, cost)
        return self

    def boundary_scores(self, X: Any) -> Floats:
        return -np.sort(-self._scores(self._transformed(X)), axis=1)

    def judge(self, X: Any) -> Judgement:
        # Otherwise the estimator would be asked twice for each point.
        known = inner.scores_are_log_odds(getattr(self, "estimator_", None))
        return super().judge(X) if known else BoundaryClassifier.judge(self, X)

    def _log_odds(self, X: Any) -> Floats:
        odds = self._scores(self._transformed(X), inner.inner_log_odds)
        return -np.sort(-odds, axis=1)

    def _no_odds(self) -> str | None:
        return inner.no_log_odds(final_classifier(self._default()))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    # ---- the estimator and its input ------------------------------------------------------

    def _parts(self, random: np.random.RandomState) -> tuple[Pipeline | None, Any]:
        """Clones of the steps before the last one, if any, and of the classifier itself."""
        estimator, prefix = self._default(), "estimator__"
        if isinstance(estimator, Pipeline):
            name, last = estimator.steps[-1]
            inner.check_inner(last, f"{prefix}{name}__")
        else:
            inner.check_inner(estimator, prefix)
        estimator = clone(estimator)
        if self.random_state is not None:
            inner.set_random_states(estimator, random)
        if not isinstance(estimator, Pipeline):
            return None, estimator
        return estimator[:-1] if len(estimator) > 1 else None, estimator[-1]

    def _transformed(self, X: Any) -> Any:
        """Points as they come out of the pipeline, if the estimator is one."""
        X = self._check_input(X, reset=False)
        if self.transformer_ is None:
            return X
        return self._check_transformed(self.transformer_.transform(X), self.estimator_)

    def _check_transformed(self, X: Any, estimator: Any) -> Any:
        return X if inner.is_frame(X) else check_array(X, **inner.array_options(estimator))

    def _replicate(self, X: Any, k: Indices, weights: Floats) -> tuple[Any, Indices, Floats]:
        """Rows (m, n_features + n_marks), 0 or 1 for each, and their weights."""
        ones = np.ones((len(self.classes_), weights.shape[1]))
        X, y, weight = replicate(
            X, k, ones, h=self.h, coding=self.coding_, sample_weight=weights, drop_zero=True
        )
        return X, (y > 0).astype(np.intp), weight

    # ---- scores ---------------------------------------------------------------------------

    def _scores(self, X: Any, measure: Callable[..., Floats] = inner.inner_scores) -> Floats:
        """Scores (n, Q) of transformed points, unsorted; few replicated rows at a time."""
        n, (Q, n_marks) = X.shape[0], self._marks.shape
        width = n_marks + (X.nnz // max(n, 1) if sparse.issparse(X) else X.shape[1])
        step = 1 + CHUNK // (Q * (1 + width))
        scores = np.empty((n, Q))
        for start in range(0, n, step):
            points = np.arange(start, min(start + step, n))
            q = np.repeat(np.arange(Q), len(points))
            rows = extend_rows(X, np.tile(points, Q), self._marks[q])
            scores[points] = measure(self.estimator_, rows).reshape(Q, -1).T
        return scores


def _choose_coding(estimator: Any, X: Any, coding: str, order: str) -> tuple[Any, str]:
    """Resolve "auto"; refuse what the estimator or the coding cannot do."""
    name, can = type(estimator).__name__, inner.can_constrain(estimator)
    if coding == "auto":
        coding = "ordinal" if can else "thermometer"
    if order == "auto":
        ordered = can and inner.boosts(estimator) and coding != "onehot"
        return coding, "constraint" if ordered else "none"
    if order == "constraint" and not can:
        raise ValueError(
            f"order='constraint' needs an estimator with monotonic constraints; {name} has "
            "none. Use order='none', or HistGradientBoostingClassifier, XGBClassifier, "
            "LGBMClassifier, or scikit-learn's trees and forests."
        )
    if order == "constraint" and coding == "onehot":
        raise ValueError(
            "order='constraint' cannot order the replicas with coding='onehot', which gives each "
            "a feature of its own. Use coding='ordinal' or 'thermometer'."
        )
    single = inner.library_of(estimator) == "sklearn" and not inner.boosts(estimator)
    if order == "constraint" and single and _has_nan(X):
        raise ValueError(
            f"X has missing values, which {name} does not support with order='constraint'. Impute "
            "them, use HistGradientBoostingClassifier, or set order='none'."
        )
    return coding, order


def _has_nan(X: Any) -> bool:
    """Return whether a value is missing."""
    if is_polars(X):
        return any(
            column.null_count() or (column.dtype.is_float() and column.is_nan().any())
            for column in X.get_columns()
        )
    if inner.is_frame(X):
        return bool(X.isna().to_numpy().any())
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def _warn_of_extremes(
    counts: Indices, middles: Floats, k: Indices, weight: Floats | None, cost: float | None
) -> None:
    """Warn if nearly all points are rejected, or nearly none although rejections would pay.

    ``counts`` (n,) are the boundaries below each training point, ``middles`` (n, K - 1) the
    scores halfway between neighbouring classes.
    """
    rejected = float(np.average(counts % 2 == 1, weights=weight))
    if rejected > 1 - EXTREME:
        warnings.warn(
            f"The model rejects {percent(rejected)} of the training points. Raise reject_cost if "
            "that is too many, or give the estimator more freedom (weaker regularisation, more "
            "features).",
            UserWarning,
            stacklevel=3,
        )
    if rejected >= EXTREME or cost is None or cost >= 0.5:
        return
    wrong = (middles > 0).sum(axis=1) != k
    nearest = np.argsort(np.abs(middles).min(axis=1))
    for size in (int(DOUBTFUL * len(k)), len(k)):
        if not size:
            continue
        w = np.ones(size) if weight is None else weight[nearest[:size]]
        w = w / w.max()  # squares of small ones vanish
        errors = np.average(wrong[nearest[:size]], weights=w)
        n_effective = w.sum() ** 2 / (w @ w)
        if errors > cost + 3 * np.sqrt(cost * (1 - cost) / n_effective):
            warnings.warn(
                f"The model rejects {percent(rejected)} of the training points, but "
                f"{percent(errors, 0)} of the {size} nearest to a boundary are decided wrongly and "
                f"a rejection costs only {cost:g}. Raise h, weaken the regularisation, or use an "
                "estimator with a logistic loss: the hinge may lose the reject region.",
                UserWarning,
                stacklevel=3,
            )
            return


def _replication(model: Any) -> None:
    """The replicas are those of the coding; the estimator takes them, and has two classes."""
    marks = extension_vectors(model._n_boundaries, 1.0, model.coding_)
    fine = model._marks.shape == marks.shape and ((model._marks != 0) == (marks != 0)).all()
    require(fine, model, "its replicas are malformed")
    width = p = getattr(model, "n_features_in_", None)
    if model.transformer_ is not None:
        width = getattr(model.transformer_[-1], "_n_features_out", None)
        same = getattr(model.transformer_, "n_features_in_", p) == p
        require(same, model, "its transformer_ has other features")
    width = None if width is None else width + marks.shape[1]
    methods = "decision_function", "predict_proba"
    check_member(model, model.estimator_, np.arange(2), width, *methods)


declare(
    ReplicationClassifier,
    {
        "transformer_": maybe(part(Pipeline)),
        "estimator_": part(BaseEstimator),
        "coding_": one_of("ordinal", "thermometer", "onehot"),
        "order_": one_of("constraint", "none"),
        "order_violations_": count(),
        "_marks": floats("Q", None),
    },
    _replication,
    copies={"estimator_": "_marks"},  # has an entry for each copy
    saved=True,
)
