"""The cost of a case, after a review that may be wrong too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo._typing import Floats
from rejo.metrics._labels import number, outcomes, shares


def expected_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    error: float | Mapping[Any, float],
    review: float,
    reviewer_accuracy: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of a case: wrong decisions, reviews, and errors of the reviewers.

    A case of class ``k`` costs

    - 0 if it is decided rightly,
    - ``error[k]`` if it is decided wrongly,
    - ``review + (1 - reviewer_accuracy) * error[k]`` if it is rejected.

    With one ``error`` for all classes the mean is ``error * E + (review + (1 - reviewer_accuracy)
    * error) * R``. A review pays if the decision would be wrong with a probability above ``review /
    error + 1 - reviewer_accuracy``: this is the ``reject_cost`` to train with.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True classes, and decisions with ``reject_label`` for rejections.
    reject_label : int, float, str or None
        Label of a rejection, not one of the classes; ``None`` if there is none.
    error : float or dict
        Cost of a wrong decision, in any unit. A dict gives the cost for each true class: a missed
        disease may cost more than a false alarm.
    review : float
        Cost of a review, in the same unit.
    reviewer_accuracy : float, default=1.0
        Fraction of the reviews that end in the right decision, between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    float
        In the unit of ``error`` and ``review``.

    See Also
    --------
    empirical_risk : The same with ``error=1`` and a perfect reviewer.

    Examples
    --------
    >>> from rejo.metrics import expected_cost
    >>> y_true, y_pred = ["ill", "ill", "well", "well"], ["ill", "well", "well", "review"]
    >>> expected_cost(y_true, y_pred, reject_label="review", error=1000, review=100)
    275.0
    >>> expected_cost(
    ...     y_true,
    ...     y_pred,
    ...     reject_label="review",
    ...     error={"ill": 4000, "well": 200},
    ...     review=100,
    ...     reviewer_accuracy=0.9,
    ... )
    1030.0
    """
    price = number("review", review, 0, np.inf)
    miss = 1 - number("reviewer_accuracy", reviewer_accuracy, 0, 1)
    found = outcomes(y_true, y_pred, reject_label)
    weight = shares(sample_weight, len(found.true))
    loss = _error_costs(error, found.true)  # (n_samples,)
    cost = np.where(found.rejected, price + miss * loss, found.wrong * loss)
    return float(np.average(cost, weights=weight))


def _error_costs(error: Any, true: NDArray[Any]) -> Floats:
    """Cost of a wrong decision for each point (n_samples,)."""
    if not isinstance(error, Mapping):
        return np.full(len(true), number("error", error, 0, np.inf))
    costs = {label: number(f"error[{label!r}]", cost, 0, np.inf) for label, cost in error.items()}
    classes = true.tolist()
    for label in classes:
        if label not in costs:
            raise ValueError(
                f"error has no cost for the class {label!r} in y_true; it has {list(costs)}"
            )
    return np.array([costs[label] for label in classes])
