"""Where a model, perhaps a pipeline or a search, keeps its reject cost and its reject label."""

from __future__ import annotations

from typing import Any


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
