"""What the displays ask of a classifier, also of one in a pipeline or a search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Mask
from rejo.estimators.base import Judgement
from rejo.estimators.pipelines import final_step


def judge(estimator: Any, X: Any) -> tuple[Any, Judgement]:
    """Return the classifier, and its judgement of each row of ``X``."""
    model, X = final_step(estimator, X)
    if not hasattr(model, "judge"):
        raise TypeError(
            f"estimator must be a classifier of this package, got {type(model).__name__}; for "
            "other classifiers use from_predictions, with their decisions and how sure they are"
        )
    return model, model.judge(X)


def rank(estimator: Any, X: Any, name: str | None) -> tuple[NDArray[Any], Floats, Mask, str]:
    """Return decisions without rejection, how sure they are, which are rejected, and a name."""
    model, found = judge(estimator, X)
    name = type(model).__name__ if name is None else name
    return model.classes_[found.forced], found.sureness, found.decision < 0, name


def column(y: Any) -> NDArray[Any]:
    """Return labels of shape (n,), also where they come as a single column (n, 1)."""
    # NumPy would turn a list such as [1, "reject"] into strings: lists become objects.
    values = np.asarray(y) if hasattr(y, "__array__") else np.asarray(y, dtype=object)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
