"""Weights of cases on their way to an estimator inside: by name, or by scikit-learn's routing."""

from __future__ import annotations

from typing import Any

from sklearn import config_context, get_config
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from rejo._frames import naming_words
from rejo._typing import Floats
from rejo.estimators.base import RejectClassifier
from rejo.estimators.pipelines import final_classifier, is_frozen


def fit_weighted(estimator: Any, X: Any, y: Any, weight: Floats | None) -> Any:
    """Fit; in a pipeline or a search the weights go to the classifier at its end.

    With metadata routing they go to the steps that request ``sample_weight``, if any does.  A
    frozen classifier is not fitted, so it needs none.
    """
    with naming_words(X):
        return _fit_weighted(estimator, X, y, weight)


def _fit_weighted(estimator: Any, X: Any, y: Any, weight: Floats | None) -> Any:
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
            "fit, but there are weights: your sample_weight, or the costs of the boundaries. Use "
            "one that does, such as LogisticRegression, SVC or HistGradientBoostingClassifier."
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
