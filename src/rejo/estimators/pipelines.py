"""The classifier at the end of pipelines and searches, and what it answers.

A pipeline has no methods for reviews: :func:`review`, :func:`queue` and :func:`judge` have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo._state import require
from rejo._typing import Labels
from rejo.estimators.base import Judgement, RejectClassifier, audited

__all__ = ["judge", "queue", "review"]


def review(
    model: Any,
    X: Any,
    *,
    group: Any = None,
    why: int | None = None,
    background: Any = None,
    audit: float | None = None,
    random_state: Any = None,
) -> Any:
    """Return all decisions of a fitted model, and the order in which to review the others.

    It is ``model.review(X)``, but the model may also be a pipeline, or a search such as
    ``GridSearchCV``, which has no such method.

    Parameters
    ----------
    model : RejectClassifier, Pipeline or search
        Fitted; a pipeline or a search with a classifier with a reject option at its end.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Cases, as the model takes them.
    group : array-like of shape (n_samples,), default=None
        Group of each case, for a model that was fitted with groups to promise by.
    why : int, default=None
        Name this many features, at most, that pull an ambiguous case to either side.
    background : as X, default=None
        Training cases to compare with, for ``why``; see :func:`rejo.why`.
    audit, random_state
        As in :meth:`RejectClassifier.review`.

    Returns
    -------
    frame : DataFrame
        As :meth:`RejectClassifier.review`: of the kind that ``X`` is, and with its index.

    See Also
    --------
    queue : Only the cases to review, the most worth it first.
    judge : The same as plain arrays.
    why : The features that pull the doubtful cases.
    RejectClassifier.review : The method of a single classifier.

    Examples
    --------
    >>> import rejo
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> svm = rejo.RejoSVC(kernel="linear", C=10, class_order=["good", "bad"])
    >>> model = make_pipeline(StandardScaler(), svm).fit(X, y)
    >>> frame = rejo.review(model, [[1.0], [2.8], [2.6], [5.0]])
    >>> frame[["decision", "forced", "rank"]]
      decision forced  rank
    0     good   good  <NA>
    1   reject    bad     1
    2   reject   good     2
    3      bad    bad  <NA>
    """
    classifier, seen = _rejecting_step(model, X)
    judgement = audited(classifier._judged(seen, group), audit, random_state)
    frame = classifier._frame(X, judgement)
    return classifier._explained(frame, model, X, judgement, why, background)


def queue(
    model: Any, X: Any, capacity: float | None = None, *, fill: bool = False, group: Any = None
) -> Any:
    """Return the cases most worth a review, best first, of any fitted model.

    Parameters
    ----------
    model, X
        As in :func:`review`.
    capacity : int or float, default=None
        How many cases can be reviewed: a number, or a fraction below 1.  By default all rejected
        cases.
    fill : bool, default=False
        Whether to add decided cases, those most worth a review, if fewer are rejected than can be
        reviewed.
    group : array-like of shape (n_samples,), default=None
        As in :func:`review`.

    Returns
    -------
    frame : DataFrame
        Rows of :func:`review`, the case most worth a review first.

    See Also
    --------
    review : All cases, in their order.
    RejectClassifier.queue : The method of a single classifier.
    ReviewBudgetDisplay : How many errors are left after so many reviews.

    Examples
    --------
    There is time for two reviews:

    >>> import rejo
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> svm = rejo.RejoSVC(kernel="linear", C=10, class_order=["good", "bad"])
    >>> model = make_pipeline(StandardScaler(), svm).fit(X, y)
    >>> rejo.queue(model, [[1.0], [2.9], [2.6], [2.7], [5.0]], 2)[["forced", "rank"]]
      forced  rank
    3   good     1
    1    bad     2
    """
    classifier, seen = _rejecting_step(model, X)
    return classifier._queue(X, classifier._judged(seen, group), capacity, fill)


def judge(model: Any, X: Any, *, group: Any = None) -> Judgement:
    """Decide each case, by any fitted model, and say how clear each decision is.

    Parameters
    ----------
    model, X, group
        As in :func:`review`.

    Returns
    -------
    judgement : Judgement
        As :meth:`RejectClassifier.judge`: arrays, with classes as indices into ``classes_``.

    See Also
    --------
    review : The same as a DataFrame, with labels.
    RejectClassifier.judge : The method of a single classifier.
    rejo.decisions.decide : The same from posteriors and prices.

    Examples
    --------
    >>> import rejo
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> svm = rejo.RejoSVC(kernel="linear", C=10, class_order=["good", "bad"])
    >>> model = make_pipeline(StandardScaler(), svm).fit(X, y)
    >>> found = rejo.judge(model, [[1.0], [2.8], [5.0]])
    >>> found.decision, found.forced
    (array([ 0, -1,  1]), array([0, 1, 1]))
    """
    classifier, seen = _rejecting_step(model, X)
    return classifier._judged(seen, group)


def final_classifier(model: Any) -> Any:
    """Return the classifier that decides in a pipeline or a search, fitted or not."""
    return _walk(model)[1]


def unfrozen(model: Any) -> Any:
    """Return what is inside scikit-learn's ``FrozenEstimator``; another model as it is."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return model


def is_frozen(model: Any) -> bool:
    """Return whether a fit leaves the classifier of a model, or of a pipeline's end, as it is."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return isinstance(model, FrozenEstimator)


def check_not_frozen(estimator: Any, owner: str) -> None:
    """Refuse a fitted classifier where one must learn each boundary."""
    if is_frozen(estimator):
        name = type(final_classifier(estimator)).__name__
        raise ValueError(
            f"estimator is frozen, but {owner} must fit it to each boundary between the classes. "
            f"Give {name}() without FrozenEstimator, or put the frozen one into a "
            "ThresholdRejectClassifier, which only reads its scores."
        )


def final_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier that decides in a fitted model, and ``X`` as it reaches it."""
    check_is_fitted(model)
    transformers, classifier = _walk(model)
    for transformer in transformers:
        X = transformer.transform(X)
    return classifier, X


def _rejecting_step(model: Any, X: Any) -> tuple[RejectClassifier, Any]:
    """Return the first classifier that rejects on the way to the last one, and its ``X``.

    A search for an operating point is one: it knows prices that its model does not.
    """
    whole = model
    while not isinstance(model := unfrozen(model), RejectClassifier):
        if hasattr(model, "steps"):
            check_is_fitted(model)
            X = model[:-1].transform(X) if len(model.steps) > 1 else X
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            check_is_fitted(whole)
            raise TypeError(
                f"{type(whole).__name__} has no reject option at its end, but {model!r}. Put it "
                "into a ThresholdRejectClassifier, or end the pipeline with one."
            )
    return model, X


def cost_parameter(estimator: Any) -> str | None:
    """Name of the parameter ``reject_cost``; the outermost, if there are several."""
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "reject_cost"]
    return min(names, key=lambda name: (name.count("__"), name), default=None)


def reject_label_of(model: Any) -> Any:
    """Return what a fitted model answers for "review"; ``None`` if it never does."""
    return getattr(final_classifier(model), "reject_label_", None)


def decisions_of(model: Any, X: Any, y: Any) -> tuple[Labels, Any]:
    """Decisions on ``X``, and the label of a rejection among them, which is not a class of ``y``.

    A model that has not seen a class may use it as the label of a rejection: say -1, of the
    classes -1, 0 and 1. A model that never rejects has no label: it gets one that it never uses.
    """
    decisions, label = np.asarray(model.predict(X)), reject_label_of(model)
    classes = set(np.asarray(y).tolist())
    if label is not None and label not in classes:
        return decisions, label
    classes |= set(decisions.tolist())
    other = "rejected"
    while other in classes:
        other += "_"
    return np.where(decisions == label, other, decisions.astype(object)), other


def forced_of(model: Any, X: Any) -> Labels:
    """Decisions on all of ``X``, without rejection."""
    classifier, X = final_step(model, X)
    return np.asarray(getattr(classifier, "predict_forced", classifier.predict)(X))


def check_answering(owner: Any, model: Any) -> None:
    """Refuse a model that answers for its owner if it has other labels or features.

    It is for ``_check_state`` of a class whose answers are those of another model; see
    :mod:`rejo._state`.
    """
    last = final_classifier(model)
    fine = isinstance(last, RejectClassifier)
    require(fine, owner, f"its {type(last).__name__} has no reject option")
    check_is_fitted(last)
    ours, theirs = owner.reject_label_, last.reject_label_
    same = np.array_equal(last.classes_, owner.classes_)
    same = same and (ours == theirs or (ours != ours and theirs != theirs))  # or both are NaN
    require(same, owner, f"its {type(last).__name__} has other classes")
    widths = (getattr(part, "n_features_in_", None) for part in (owner, model))
    require(len(set(widths)) == 1, owner, f"its {type(last).__name__} has other features")


def _walk(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers on the way to the classifier that decides, and that classifier."""
    transformers = []
    while True:
        model = unfrozen(model)
        if hasattr(model, "steps"):
            if len(model.steps) > 1:
                transformers.append(model[:-1])
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return transformers, model
