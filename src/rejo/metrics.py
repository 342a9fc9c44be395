"""How good is a classifier that may reject? Rates and risks, as pure functions on labels.

With N points, of which some are rejected and the others accepted (decided):

- the rejection rate is ``R = rejected / N``;
- the error rate is ``E = wrong decisions / N``. It is taken over **all** points, not over the
  accepted ones, so that R, E and the share of right decisions add up to 1;
- the empirical risk is ``reject_cost * R + E``, where a wrong decision costs 1;
- the accepted accuracy is ``right decisions / accepted``, the one measure relative to the accepted.

Each point may carry a weight; every count is then a sum of weights.
"""

from numbers import Number, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["accepted_accuracy", "empirical_risk", "error_rate", "rejection_rate"]


class _Counts(NamedTuple):
    """How many points (or how much weight) were decided rightly, rejected, decided wrongly."""

    right: float
    rejected: float
    wrong: float


def rejection_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of the points that are rejected, ``R = rejected / N``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes. They do not change the rate, and are checked as in the other measures.
    y_pred : array-like of shape (n_samples,)
        Decisions: classes, and ``reject_label`` where the classifier abstains.
    reject_label : int, float, str or None
        The label that stands for a rejection, not one of the classes; ``None`` if there is none.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import rejection_rate
    >>> rejection_rate([0, 0, 1, 1], [0, -1, 0, 1], reject_label=-1)
    0.25
    """
    counts = _count(y_true, y_pred, reject_label, sample_weight)
    return counts.rejected / sum(counts)


def error_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Wrong decisions as a share of *all* points, ``E = wrong / N``; a rejection is not an error.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Decisions: classes, and ``reject_label`` where the classifier abstains.
    reject_label : int, float, str or None
        The label that stands for a rejection, not one of the classes; ``None`` if there is none.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    accepted_accuracy : Right decisions as a share of the accepted points.

    Examples
    --------
    >>> from rejo.metrics import error_rate
    >>> error_rate([0, 0, 1, 1], [0, -1, 0, 1], reject_label=-1)
    0.25
    """
    counts = _count(y_true, y_pred, reject_label, sample_weight)
    return counts.wrong / sum(counts)


def empirical_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    reject_cost: float,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of a point, ``reject_cost * R + E``: what the data replication method minimises.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Decisions: classes, and ``reject_label`` where the classifier abstains.
    reject_label : int, float, str or None
        The label that stands for a rejection, not one of the classes; ``None`` if there is none.
    reject_cost : float
        Cost of a rejection, from 0 to 1, where a wrong decision costs 1. Between two classes a
        rejection that costs more than 0.5 is never worth it.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.metrics import empirical_risk
    >>> y_true, y_pred = ["bad", "good", "good", "bad"], ["bad", "good", "reject", "good"]
    >>> empirical_risk(y_true, y_pred, reject_label="reject", reject_cost=0.2)
    0.3
    """
    cost = _cost(reject_cost)
    counts = _count(y_true, y_pred, reject_label, sample_weight)
    return (cost * counts.rejected + counts.wrong) / sum(counts)


def accepted_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Right decisions as a share of the accepted points, ``(1 - R - E) / (1 - R)``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Decisions: classes, and ``reject_label`` where the classifier abstains.
    reject_label : int, float, str or None
        The label that stands for a rejection, not one of the classes; ``None`` if there is none.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Between 0 and 1, or ``nan`` where nothing is accepted (or what is accepted weighs nothing).

    See Also
    --------
    error_rate : Wrong decisions as a share of all points.

    Examples
    --------
    >>> from rejo.metrics import accepted_accuracy
    >>> accepted_accuracy([0, 0, 1, 1, 1], [0, -1, 0, 1, 1], reject_label=-1)
    0.75
    >>> accepted_accuracy([0, 1], [-1, -1], reject_label=-1)
    nan
    """
    right, _, wrong = _count(y_true, y_pred, reject_label, sample_weight)
    return right / (right + wrong) if right + wrong > 0 else float("nan")


def _count(
    y_true: ArrayLike, y_pred: ArrayLike, reject_label: Any, sample_weight: ArrayLike | None
) -> _Counts:
    """Check the arguments, and weigh right decisions, rejections and wrong decisions."""
    true, pred = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true and y_pred must have the same length, got {len(true)} and {len(pred)}"
        )
    weight = _weights(sample_weight, len(true))

    rejected = _rejected(true, pred, reject_label)  # (n_samples,)
    decided = pred[~rejected]
    if not _kinds(decided) <= _kinds(true):
        raise TypeError(
            f"y_true holds {_name(true)} and the decisions in y_pred hold {_name(decided)}: "
            "they can never be equal"
        )
    right = ~rejected & _equal(true, pred)
    wrong = ~rejected & ~right
    return _Counts(*(float(weight[part].sum()) for part in (right, rejected, wrong)))


def _rejected(true: NDArray[Any], pred: NDArray[Any], reject_label: Any) -> NDArray[np.bool_]:
    """Tell which decisions are rejections (n_samples,)."""
    if reject_label is None:
        return np.zeros(len(pred), dtype=bool)
    label = _labels("reject_label", [reject_label])  # (1,)
    # Numbers never equal text: comparing them would find no rejection at all. Only an array of
    # objects may hold both: say, numbers for the classes and text for a rejection.
    if pred.dtype != object and _kinds(pred) != _kinds(label):
        raise TypeError(
            f"reject_label={reject_label!r} can never occur in y_pred, which holds {_name(pred)}; "
            "to mix numbers and text, give y_pred as a list or as an array of objects"
        )
    if _equal(true, label).any():
        raise ValueError(f"reject_label={reject_label!r} is one of the classes in y_true")
    return _equal(pred, label)


def _labels(name: str, values: Any) -> NDArray[Any]:
    """Return valid labels as an array of numbers, of text, or of objects that are either."""
    # NumPy would turn a list such as [1, "reject"] into text throughout: lists become objects.
    array = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty")
    if array.dtype.kind not in "biufUS":
        array = array.astype(object)
        for kind in set(map(type, array)):
            if not issubclass(kind, Number | np.bool_ | str | bytes):
                raise TypeError(f"{name} must hold numbers or text, got {kind.__name__}")
    if np.any(array != array):
        raise ValueError(f"{name} contains NaN")
    return array


def _kinds(labels: NDArray[Any]) -> set[str]:
    """Return which of "numbers", "text" and "bytes" occur among valid labels."""
    if labels.dtype != object:
        return {{"U": "text", "S": "bytes"}.get(labels.dtype.kind, "numbers")}
    types = set(map(type, labels))
    names = {str: "text", bytes: "bytes"}
    return {next((names[t] for t in names if issubclass(kind, t)), "numbers") for kind in types}


def _name(labels: NDArray[Any]) -> str:
    return " and ".join(sorted(_kinds(labels)))


def _equal(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare element by element, also in arrays of objects."""
    return np.asarray(left == right, dtype=bool)


def _cost(reject_cost: Any) -> float:
    if isinstance(reject_cost, bool) or not isinstance(reject_cost, Real):
        raise TypeError(f"reject_cost must be a number, got {reject_cost!r}")
    if not 0 <= float(reject_cost) <= 1:
        raise ValueError(f"reject_cost must be between 0 and 1, got {reject_cost!r}")
    return float(reject_cost)


def _weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Return valid weights, scaled to a largest of 1 so that their sum cannot overflow."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},) as y_true has, got {weight.shape}"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weight < 0).any():
        raise ValueError("sample_weight contains negative values")
    if not weight.any():
        raise ValueError("sample_weight sums to zero")
    scaled: NDArray[np.float64] = weight / weight.max()
    return scaled
