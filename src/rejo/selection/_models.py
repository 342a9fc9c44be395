"""Where a model, perhaps a pipeline or a search, keeps its reject cost and its reject label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.estimators._steps import last_step


def cost_parameter(estimator: Any) -> str | None:
    """Name of the parameter that is the price of a rejection; the outermost, if there are more."""
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "reject_cost"]
    return min(names, key=lambda name: (name.count("__"), name), default=None)


def reject_label_of(model: Any) -> Any:
    """Return what a fitted model answers for "review"; ``None`` if it never does."""
    while True:
        if hasattr(model, "reject_label_"):
            return model.reject_label_
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            return None


def decisions_of(model: Any, X: Any, y: Any) -> tuple[NDArray[Any], Any]:
    """Decisions on ``X``, and the label of a rejection among them, which is no class of ``y``.

    A class that is absent from the training part may be what the model, which does not know it,
    calls a rejection: say -1, of the classes -1, 0 and 1.
    """
    decisions, label = np.asarray(model.predict(X)), reject_label_of(model)
    classes = set(np.asarray(y).tolist())
    if label is None or label not in classes:
        return decisions, label
    other = "rejected"
    while other in classes:
        other += "_"
    return np.where(decisions == label, other, decisions.astype(object)), other


def forced_of(model: Any, X: Any) -> NDArray[Any]:
    """Decisions on all of ``X``, without rejection, also of a pipeline or a search."""
    last, X = last_step(model, X)
    never_rejects = not hasattr(last, "predict_forced")
    return np.asarray(last.predict(X) if never_rejects else last.predict_forced(X))
