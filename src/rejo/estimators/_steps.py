"""The classifier at the end of pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier that decides in a fitted model, and ``X`` as it reaches it."""
    check_is_fitted(model)
    while True:
        if hasattr(model, "steps"):
            X = model[:-1].transform(X) if len(model) > 1 else X
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, X
