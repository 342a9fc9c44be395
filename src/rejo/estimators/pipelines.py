"""The classifier at the end of pipelines and searches, and what it answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rejo._state import require
from rejo._typing import Labels
from rejo.estimators.base import RejectClassifier


def final_classifier(model: Any) -> Any:
    """Return the classifier that decides in a pipeline or a search, fitted or not."""
    return _walk(model)[1]


def final_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier that decides in a fitted model, and ``X`` as it reaches it."""
    check_is_fitted(model)
    transformers, classifier = _walk(model)
    for transformer in transformers:
        X = transformer.transform(X)
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
    classes -1, 0 and 1.
    """
    decisions, label = np.asarray(model.predict(X)), reject_label_of(model)
    classes = set(np.asarray(y).tolist())
    if label is None or label not in classes:
        return decisions, label
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
        if hasattr(model, "steps"):
            if len(model.steps) > 1:
                transformers.append(model[:-1])
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return transformers, model
