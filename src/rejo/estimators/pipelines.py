"""The classifier at the end of pipelines and searches, and what it answers.

A pipeline has no methods for reviews: :func:`review`, :func:`queue` and :func:`judge` have them.
"""

from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rejo._frames import naming_words
from rejo._typing import Floats, Labels
from rejo.estimators.base import RejectClassifier
from rejo.estimators.reviews import Judgement, audited, judged, queue_frame, review_frame
from rejo.prices import column_names

__all__ = ["judge", "queue", "review"]


def review(
    model: Any,
    X: Any,
    *,
    group: Any = None,
    prices: Any = None,
    why: int | None = None,
    background: Any = None,
    audit: float | None = None,
    random_state: Any = None,
) -> Any:
    """Return all decisions of a fitted model, and the order in which to review the others.

    ``model.review(X)`` is the same, of a classifier that is not in a pipeline or a search.

    Parameters
    ----------
    model : RejectClassifier, Pipeline or search
        Fitted, with a classifier with a reject option at its end.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Cases, as the model takes them.
    group : array-like of shape (n_samples,), default=None
        Group of each case, for a model that was fitted with groups to promise by.
    prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
        Prices of each case, or the columns that the formulas of ``cost_of`` name; by default these
        are read from ``X``, if it is a frame.
    why : int, default=None
        Name this many features, at most, that pull an ambiguous case to either side.
    background : array-like, default=None
        Training cases to compare with, for ``why``; see :func:`rejo.why`.
    audit : float, default=None
        Also send this share of the cases that would be decided to review, drawn at random by
        ``random_state``, in order to watch the error rate; their reason is "policy".
    random_state : int, RandomState or None, default=None

    Returns
    -------
    frame : DataFrame
        One row for each row of ``X``, of the kind that ``X`` is, else of pandas.

        - ``decision``: as ``predict``;
        - ``reason``: why a case is rejected: "ambiguous", between ``lower`` and ``upper``;
          "novel", unlike the training cases; "policy", by a rule or for an audit; or "no price",
          if the amounts that its prices are made of are missing or cannot be;
        - ``forced``: as ``predict_forced``;
        - ``chance_wrong``: probability that ``forced`` is wrong, if there are posteriors;
        - ``lower``, ``upper``: the two classes on the sides of the nearest boundary; by
          posteriors, the two likeliest;
        - ``distance``: how far, in units of the score, the nearest boundary is;
        - ``worth``: what a review is expected to save, in the unit of the prices, if the
          classifier decides by posteriors;
        - ``rank``: 1 for the rejected case most worth a review, and so on;
        - ``why``: features and their values, as in ``"bad: debt 7 | good: age 58"``, if asked
          for, for ambiguous cases.

    See Also
    --------
    queue : Only the cases to review, the most worth it first.
    judge : The same as plain arrays.
    why : The features that pull the doubtful cases.

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
    found = judged(classifier, seen, group, _prices(classifier, X, prices))
    judgement = audited(found, audit, random_state)
    frame = review_frame(classifier, X, judgement)
    if not why:
        return frame
    from rejo.explain import add_why  # a room above this one, for this alone

    return add_why(frame, model, X, judgement, why, background)


def queue(
    model: Any, X: Any, capacity: float | None = None, *, fill: bool = False, group: Any = None,
    prices: Any = None,
) -> Any:  # fmt: skip
    """Return the cases most worth a review, best first, of any fitted model.

    Parameters
    ----------
    model, X, group, prices
        As in :func:`review`.
    capacity : int or float, default=None
        How many cases can be reviewed: a number, or a fraction below 1.  By default all rejected
        cases.
    fill : bool, default=False
        Whether to add decided cases, those most worth a review, if fewer are rejected than can be
        reviewed.

    Returns
    -------
    frame : DataFrame
        Rows of :func:`review`, the case most worth a review first.

    Examples
    --------
    There is time for two reviews:

    >>> import rejo
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = rejo.RejoSVC(kernel="linear", C=10, class_order=["good", "bad"]).fit(X, y)
    >>> rejo.queue(model, [[1.0], [2.85], [2.5], [2.7], [5.0]], 2)[["forced", "rank"]]
      forced  rank
    3   good     1
    1    bad     2
    """
    classifier, seen = _rejecting_step(model, X)
    found = judged(classifier, seen, group, _prices(classifier, X, prices))
    return queue_frame(classifier, X, found, capacity, fill)


def judge(model: Any, X: Any, *, group: Any = None, prices: Any = None) -> Judgement:
    """Decide each case, by any fitted model, and say how clear each decision is.

    Parameters
    ----------
    model, X, group, prices
        As in :func:`review`.

    Returns
    -------
    judgement : Judgement
        As :meth:`~rejo.estimators.RejectClassifier.judge`: arrays, with classes as indices into
        ``classes_``.

    Examples
    --------
    >>> import rejo
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = rejo.RejoSVC(kernel="linear", C=10, class_order=["good", "bad"]).fit(X, y)
    >>> found = rejo.judge(model, [[1.0], [2.8], [5.0]])
    >>> found.decision, found.forced
    (array([ 0, -1,  1]), array([0, 1, 1]))
    """
    classifier, seen = _rejecting_step(model, X)
    return judged(classifier, seen, group, _prices(classifier, X, prices))


def _prices(classifier: Any, X: Any, prices: Any) -> Any:
    """The prices that were given, or a frame with their columns as it was before a pipeline."""
    columns = getattr(classifier, "price_columns_", ())
    known = columns if prices is None and columns else ()
    return X if known and set(known) <= set(column_names(X)) else prices


def final_classifier(model: Any) -> Any:
    """Return the classifier that decides in a pipeline or a search, fitted or not."""
    return _walk(model)[1]


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
    transformers, classifier = _walk(model, RejectClassifier)
    if transformers or classifier is not model:
        check_is_fitted(model)
    for transformer in transformers:
        X = transformer.transform(X)
    if not isinstance(classifier, RejectClassifier):
        check_is_fitted(model)
        raise TypeError(
            f"{type(model).__name__} has no reject option at its end, but {classifier!r}. Put it "
            "into a ThresholdRejectClassifier, or end the pipeline with one."
        )
    return classifier, X


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


def _walk(model: Any, goal: tuple[type, ...] | type = ()) -> tuple[list[Any], Any]:
    """Return the transformers on the way to the classifier that decides, and that classifier.

    The first object of the class ``goal`` ends the way.
    """
    transformers: list[Any] = []
    while not isinstance(model, goal):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "steps"):
            if len(model.steps) > 1:
                transformers.append(model[:-1])
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            break
    return transformers, model


# ---- weights of cases on their way to an estimator inside --------------------------------------


def fit_weighted(
    estimator: Any, X: Any, y: Any, weight: Floats | None, loss: Floats | None = None
) -> Any:
    """Fit; in a pipeline or a search the weights go to the classifier at its end.

    With metadata routing they go to the steps that request ``sample_weight``, if any does.  A
    frozen classifier is not fitted, so it needs none.  A ``loss`` (n, Q + 1) of each case goes to a
    learner by data replication, alone or at the end of a pipeline.
    """
    with naming_words(X):
        if loss is not None:
            before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
            given = {"loss": loss} | ({} if weight is None else {"sample_weight": weight})
            with config_context(enable_metadata_routing=False):
                return estimator.fit(X, y, **{before + name: rows for name, rows in given.items()})
        if weight is None or is_frozen(estimator):
            return estimator.fit(X, y)
        if isinstance(estimator, RejectClassifier):  # which sends them on by this function
            return estimator.fit(X, y, sample_weight=weight)
        if routed := routed_weights(estimator, weight):
            return estimator.fit(X, y, **routed)
        name = _weight_name(estimator)
        if name is None:
            raise ValueError(
                f"estimator={type(final_classifier(estimator)).__name__} takes no sample_weight in "
                "fit, but there are weights: your sample_weight, or the costs of the boundaries. "
                "Use one that does, such as LogisticRegression, SVC or "
                "HistGradientBoostingClassifier."
            )
        with config_context(enable_metadata_routing=False):
            return estimator.fit(X, y, **{name: weight})


def routed_weights(estimator: Any, weight: Floats | None) -> dict[str, Any]:
    """Weights as an argument of ``fit``, if routing is on and a part of the estimator asks."""
    if weight is None or not get_config()["enable_metadata_routing"]:
        return {}
    asked = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    return {"sample_weight": weight} if asked else {}


def _weight_name(estimator: Any) -> str | None:
    """Name under which ``fit`` takes the weights of the cases, if it does."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return _weight_name(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
