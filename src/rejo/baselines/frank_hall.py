"""Frank and Hall's splits of ordered classes, with a reject region at each."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Options, StrOptions
from sklearn.utils.metaestimators import available_if

from rejo._frames import take_rows
from rejo._state import declare, each, floats, is_sorted, number, part, require
from rejo._typing import Floats, Indices, Mask
from rejo.baselines._wrapped import Fold, Wrapper, fit_clones, held_out_scores
from rejo.baselines.cutoffs import best_cutoffs
from rejo.estimators import (
    BoundaryClassifier,
    Targets,
    check_member,
    check_no_class_weight,
    check_not_frozen,
    inner_scores,
)


def _has_posteriors(self: Any) -> bool:
    unweighted = self.per_split == 1 or (self.reject_cost is None and self.loss_matrix is None)
    return unweighted and self.s is None and hasattr(self._default(), "predict_proba")


@dataclass(kw_only=True, eq=False, repr=False)
class FrankHallReject(Wrapper, BoundaryClassifier):
    """Independent classifiers for each split of K ordered classes into lower and higher ones.

    :footcite:t:`frank2001` train a classifier for each question "is the class above ``j``?".
    :footcite:t:`sousa2013` train two, with the costs of the replicas ``2 j`` and ``2 j + 1``, for
    the two edges of a reject region between the classes ``j`` and ``j + 1``.  With ``per_split=1``
    there is one, with equal costs, and two cut-offs on its score that minimise these costs.  The
    number of boundaries below a point is its decision.  Nothing keeps the boundaries from crossing:
    see ``crossing_mask``.

    Of two classes, these are two cost-weighted fits of a binary classifier, with what lies between
    them rejected; a point below the first boundary and above the second is rejected too.

    Parameters
    ----------
    estimator : classifier, default=None
        A binary classifier, or pipeline, with ``decision_function`` or ``predict_proba``; with
        ``per_split=2`` also ``sample_weight`` in ``fit``.  ``None``:
        ``HistGradientBoostingClassifier()``.
    per_split : {1, 2}, default=2
        Classifiers for each split.
    cv : int, splitter, iterable or "train", default=5
        Where the cut-offs of ``per_split=1`` are chosen: on the pooled out-of-fold scores of a
        cross-validation, or on the training points themselves.
    reject_cost : float in (0, 0.5] or None, default=0.2
        Cost of a rejection, where an error costs 1.  ``None`` never rejects: plain ordinal
        classification, with one boundary between neighbouring classes.
    %s, loss_matrix, class_order, reject_label, class_weight
    random_state : int, RandomState instance or None, default=None
        If given, folds are shuffled, and it is set on all parts of the estimator.
    n_jobs : int, default=None
        Number of classifiers fitted in parallel.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    estimators_ : list of classifiers
        One or two for each split, in their order; their classes are 0 and 1.
    cutoffs_ : ndarray of shape (n_boundaries,)
        Cut-offs on the scores of the classifiers; 0 unless chosen.
    crossing_rate_ : float
        Fraction of the training points where boundaries cross.

    See Also
    --------
    ReplicationClassifier : One classifier for all boundaries, which cannot cross.
    ThresholdRejectClassifier : One classifier, and two cut-offs on its score.

    Examples
    --------
    >>> from rejo.baselines import FrankHallReject
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0], [4.4], [7.0]]
    >>> y = [1, 1, 1, 2, 1, 2, 3, 3, 3, 3]
    >>> model = FrankHallReject(LogisticRegression(C=10)).fit(X, y)
    >>> model.predict([[1.0], [2.8], [3.5], [4.2], [7.0]])
    array([ 1, -1,  2, -1,  3])
    """

    per_split: int = 2
    cv: Any = 5
    s: int | None = None
    loss_matrix: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundaryClassifier._parameter_constraints,
        **Wrapper._wrapper_constraints,
        "per_split": [Options(int, {1, 2})],
        "cv": [StrOptions({"train"}), "cv_object"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._validate_params()
        estimator = self._prototype()
        check_not_frozen(estimator, type(self).__name__)
        check_no_class_weight(estimator, "estimator__", type(self).__name__)
        X = self._check_input(X, reset=True)
        targets = self._check_targets(X, y, sample_weight)
        labels, costs = self._set_classes(targets.classes)
        rejects = costs.shape[1] > len(costs) - 1
        cuts = self.per_split == 1 and (rejects or self.loss_matrix is not None)
        folds = self._folds(X, y, targets) if cuts and not isinstance(self.cv, str) else None
        if targets.rows is not None:
            X = take_rows(X, targets.rows)
        sides, weights = labels, costs
        if cuts:
            K = len(costs)
            per_split = costs.reshape(K, K - 1, -1)  # (K, K-1, 1 or 2)
            taking = np.any(per_split > 0, axis=2)  # (K, K-1) classes that take part in a split
            sides, weights = labels[:, :: per_split.shape[2]], taking.astype(np.float64)
        k, weight = targets.indices, targets.weight
        problems = [
            side_problem(k, weight, side > 0, c) for side, c in zip(sides.T, weights.T, strict=True)
        ]
        self.estimators_ = fit_clones(estimator, X, problems, self.n_jobs)
        self.cutoffs_ = np.zeros(costs.shape[1])
        if cuts:
            parts = (
                self._cut(j, estimator, X, targets, folds, taking[:, j], per_split[:, j])
                for j in range(K - 1)
            )
            self.cutoffs_ = np.concatenate(list(parts))
        crossed = _crossed(self._raw_scores(X))
        self.crossing_rate_ = float(np.average(crossed, weights=targets.sample_weight))
        return self

    def boundary_scores(self, X: Any) -> Floats:
        return -np.sort(-self._raw_scores(self._check_input(X, reset=False)), axis=1)

    def crossing_mask(self, X: Any) -> Mask:
        """Return where (n_samples,) a point lies below one boundary and above a higher one."""
        return _crossed(self._raw_scores(self._check_input(X, reset=False)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "crossing_rate_")

    @available_if(_has_posteriors)
    def predict_proba(self, X: Any) -> Floats:
        """Return the posteriors (n_samples, n_classes), by the sorted probabilities of the splits.

        The most probable class need not be that of :meth:`predict_forced`, which is the median.
        """
        X = self._check_input(X, reset=False)
        above = np.column_stack([fit.predict_proba(X)[:, 1] for fit in self.estimators_])
        above = -np.sort(-above.astype(np.float64), axis=1)  # (n, K-1), falling
        return -np.diff(above, axis=1, prepend=1.0, append=0.0)

    # ---- cut-offs -------------------------------------------------------------------------

    def _raw_scores(self, X: Any) -> Floats:
        """Scores (n, Q) of the classifiers, unsorted, above their cut-offs."""
        raw = np.column_stack([inner_scores(fit, X) for fit in self.estimators_])
        return np.repeat(raw, len(self.cutoffs_) // raw.shape[1], axis=1) - self.cutoffs_

    def _cut(
        self,
        j: int,
        estimator: Any,
        X: Any,
        targets: Targets,
        folds: list[Fold] | None,
        taking: Any,
        costs: Floats,
    ) -> Floats:
        """Cut-offs (1,) or (2,) of split ``j``, by the classes taking part (K,) and costs."""
        k, weight = targets.indices, targets.weight
        sides = (k > j).astype(np.intp)
        inside = taking[k]  # (n,)
        if folds is None:
            rows = np.flatnonzero(inside)
            values = inner_scores(self.estimators_[j], take_rows(X, rows))
        else:
            folds = [(train[inside[train]], test[inside[test]]) for train, test in folds]
            name = repr(self.classes_.tolist()[j])
            names = [f"the classes up to {name}", f"the classes above {name}"]
            values, rows = held_out_scores(
                estimator, X, sides, weight, folds, np.arange(2), names, self.n_jobs
            )
        c = costs[k[rows]]
        if weight is not None:
            c = c * weight[rows, None]
        return best_cutoffs(values, sides[rows] == 1, c)


def side_problem(
    k: Indices, weight: Floats | None, positive: Mask, costs: Floats
) -> tuple[Indices | None, Indices, Floats | None]:
    """Rows with a cost at a boundary (``None``: all), their sides 0 or 1, and weights, if any."""
    c = costs[k]
    rows = None if (c > 0).all() else np.flatnonzero(c)
    if rows is not None:
        k, c, weight = k[rows], c[rows], None if weight is None else weight[rows]
    if weight is not None:
        weight = c * weight
    elif (c != 1).any():
        weight = c
    sides = positive[k].astype(np.intp)
    if len(set(sides.tolist())) < 2:
        raise ValueError(
            "loss_matrix has no costs on one side of a boundary, so there is nothing to learn. "
            f"Costs of the classes: {costs.tolist()}."
        )
    return rows, sides, weight


def _crossed(raw: Floats) -> Mask:
    """Rows (n,) of raw scores (n, Q) whose sides do not fall from boundary to boundary."""
    sides = raw > 0
    return np.asarray((sides[:, 1:] & ~sides[:, :-1]).any(axis=1))


def _frank_hall(model: Any) -> None:
    methods = ["predict_proba"]
    if not hasattr(model, "predict_proba"):
        methods += ["decision_function"]
    for member in model.estimators_:
        p = getattr(model, "n_features_in_", None)
        check_member(model, member, np.arange(2), p, *methods)
    Q, n, splits = model._n_boundaries, len(model.estimators_), len(model.classes_) - 1
    fine = n == splits or (n == Q and not hasattr(model, "predict_proba"))
    require(fine, model, "estimators_ and classes_ do not agree")
    fine = n == Q or is_sorted(model.cutoffs_.reshape(n, -1))
    require(fine, model, "cutoffs_ are not in rising order")


declare(
    FrankHallReject,
    {
        "estimators_": each(part(BaseEstimator)),
        "crossing_rate_": number(0.0, 1.0 + 1e-9),
        "cutoffs_": floats("Q"),
    },
    _frank_hall,
    saved=True,
)
