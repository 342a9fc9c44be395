"""What the pictures ask of a classifier, also of one in a pipeline or a search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo.estimators.base import Judgement


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier at the end of pipelines and searches, and ``X`` as it reaches it."""
    check_is_fitted(estimator)
    model = estimator
    while True:
        if isinstance(model, Pipeline):
            X = model[:-1].transform(X) if len(model) > 1 else X
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, X


def judge(estimator: Any, X: Any) -> tuple[Any, Judgement]:
    """Return the classifier, and what it makes of each row of ``X``."""
    model, X = last_step(estimator, X)
    if not hasattr(model, "_judge"):
        raise TypeError(
            f"estimator must be a classifier of this package, got {type(model).__name__}; for "
            "another one use from_predictions, with its decisions and a confidence"
        )
    return model, model._judge(X)


def column(y: Any) -> NDArray[Any]:
    """Return labels of shape (n,), also where they come as a single column (n, 1)."""
    # NumPy would turn a list such as [1, "reject"] into text throughout: lists become objects.
    values = np.asarray(y) if hasattr(y, "__array__") else np.asarray(y, dtype=object)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
