"""Two independent classifiers, one for each edge of the reject region."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from rejo._frames import take_rows
from rejo._state import declare, require
from rejo._typing import Floats
from rejo.baselines._independent import IndependentBoundaries


@dataclass(kw_only=True, eq=False, repr=False)
class TwoClassifierReject(IndependentBoundaries):
    """Two cost-weighted fits of a binary classifier, with what lies between them rejected.

    The first classifier has the costs of replica 0, ``1 - reject_cost`` for an error on the
    second class and ``reject_cost`` for one on the first (:footcite:t:`sousa2013`), so it says
    "first" only when nearly sure.  The second has the costs of replica 1, the other way round.
    Points above the first boundary and below the second are rejected.

    The two fits are independent, so the boundaries may cross.  A point below the first and above
    the second would belong to both classes: ``crossing_mask`` finds such points, and ``predict``
    rejects them.

    Parameters
    ----------
    estimator : classifier, default=None
        A binary classifier, or pipeline, with ``sample_weight`` in ``fit``, and
        ``decision_function`` or ``predict_proba``.  ``None``:
        ``HistGradientBoostingClassifier()``.
    reject_cost : float in (0, 0.5] or None, default=0.2
        Cost of a rejection where an error costs 1.  ``None``: never reject, one classifier.
    loss_matrix : array-like of shape (2, 3) or (2, 2), default=None
        Cost of each output (class, reject, class, or classes only) for each true class, in
        place of ``reject_cost``.
    class_order : list of labels or "sorted", default=None
        The two classes, lower first; ascending by default.
    %reject_label, class_weight
    random_state : int, RandomState instance or None, default=None
        If given, it is set on all parts of the estimator.
    n_jobs : int, default=None
        Number of classifiers fitted in parallel.

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    estimators_ : list of classifiers
        For the lower and the upper edge of the reject region; their classes are 0 and 1.
    crossing_rate_ : float
        Fraction of the training points where the boundaries cross.

    See Also
    --------
    ReplicationClassifier : One classifier for both boundaries, which cannot cross.
    FrankHallReject : The same for three or more ordered classes.

    Examples
    --------
    >>> from rejo.baselines import TwoClassifierReject
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = TwoClassifierReject(LogisticRegression(C=10), class_order=["good", "bad"])
    >>> model.fit(X, y).predict([[1.0], [2.8], [5.0]])
    array(['good', 'reject', 'bad'], dtype='<U6')
    >>> model.crossing_rate_
    0.0
    """

    loss_matrix: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint
        for name, constraint in IndependentBoundaries._parameter_constraints.items()
        if name != "s"
    }
    s = None  # of two classes both always take part

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        estimator, X, targets, labels, costs = self._prepare(X, y, sample_weight)
        if targets.rows is not None:
            X = take_rows(X, targets.rows)
        self.estimators_ = self._fit_boundaries(
            estimator, X, targets.indices, targets.weight, labels, costs
        )
        self._set_crossings(X, targets.sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None
    ) -> tuple[Floats, Floats]:
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported by TwoClassifierReject. The type of the "
                f"target is multiclass: {classes.tolist()}. FrankHallReject takes ordered classes."
            )
        return super()._set_classes(classes, n_boundaries)


def _two_classifiers(model: Any) -> None:
    fine = len(model.estimators_) == model._n_boundaries
    require(fine, model, "estimators_ and classes_ do not agree")


declare(TwoClassifierReject, {}, _two_classifiers, saved=True)
