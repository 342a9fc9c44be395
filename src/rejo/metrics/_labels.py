"""Which decisions are right, and which are rejections; checks of labels, weights and numbers."""

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo._docs import shared_parameters
from rejo._errors import RejoError
from rejo._typing import Floats, Indices, Mask

SHARED = """
y_true : array-like of shape (n_samples,)
    True classes.
y_pred : array-like of shape (n_samples,)
    Decisions: classes, and ``reject_label`` where a point is rejected.
y_forced : array-like of shape (n_samples,)
    Decisions without rejection, from ``predict_forced``; only those of rejected points are used.
reject_label : int, float or str, default=None
    The label of a rejection. By default the one label in ``y_pred`` that is not a class.
classes : array-like of shape (n_classes,), default=None
    All classes, such as ``model.classes_``. By default those in ``y_true``, which may lack one.
sureness : array-like of shape (n_samples,)
    Any number that is higher for surer decisions, such as the largest posterior.
sample_weight : array-like of shape (n_samples,), default=None
    Every count becomes a sum of weights; a weight of 2 counts as the point twice.
"""
FORCED = """
y_pred : array-like of shape (n_samples,)
    Decisions without rejection, from ``predict_forced``.
"""
described = shared_parameters(SHARED)
of_forced = shared_parameters(SHARED, FORCED)

Weights = ArrayLike | None  # sample weights (n_samples,); None: all 1


class Outcomes(NamedTuple):
    """Checked labels, and what became of each point; arrays of shape (n_samples,)."""

    true: NDArray[Any]
    pred: NDArray[Any]
    rejected: Mask
    right: Mask  # decided, and rightly
    reject_label: Any = None  # None: nothing was rejected

    @property
    def wrong(self) -> Mask:
        """Decided, and wrongly."""
        return ~self.rejected & ~self.right

    def coded(self, classes: ArrayLike | None) -> tuple[list[Any], Indices, Indices]:
        """All classes, and the places in them of true classes and decisions; -1: rejected."""
        decided = self.pred[~self.rejected]
        if classes is None:
            order = distinct(np.concatenate([self.true.astype(object), decided.astype(object)]))
        else:
            order = class_list(classes)
        pred = np.full(len(self.pred), -1, dtype=np.intp)
        pred[~self.rejected] = positions("y_pred", decided, order)
        return order, positions("y_true", self.true, order), pred


def outcomes(
    y_true: ArrayLike, y_pred: ArrayLike, reject_label: Any = None, classes: ArrayLike | None = None
) -> Outcomes:
    """Validate the labels; find rejections and right decisions."""
    true, pred = _pair(y_true, y_pred)
    known = distinct(true) if classes is None else class_list(classes)
    if reject_label is None:
        complete = classes is not None
        unused = set() if complete else _categories(y_true)
        reject_label = _find_reject_label(true, pred, known, unused, complete)
    elif labels("reject_label", [reject_label])[0] in known:
        raise ValueError(f"reject_label={reject_label!r} is one of the classes {known}")
    rejected = _rejected(pred, reject_label)
    if classes is not None:
        positions("y_true", true, known)
        positions("y_pred", pred[~rejected], known)
    right = ~rejected & agree(true, "y_pred", pred, ~rejected)
    return Outcomes(true, pred, rejected, right, reject_label)


def forced_outcomes(y_true: ArrayLike, y_pred: ArrayLike) -> Outcomes:
    """Validate the labels of decisions without rejection; find the right ones."""
    true, pred = _pair(y_true, y_pred)
    every = np.ones(len(true), dtype=bool)
    return Outcomes(true, pred, ~every, agree(true, "y_pred", pred, every))


def _pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    true, pred = labels("y_true", y_true), labels("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true and y_pred must have the same length, got {len(true)} and {len(pred)}"
        )
    return true, pred


def _categories(y: Any) -> set[Any]:
    """Categories of a column of pandas or polars, which are classes even if they do not occur."""
    categories: Any = getattr(getattr(y, "dtype", None), "categories", None)
    return set(categories.to_list()) if hasattr(categories, "to_list") else set()


def _find_reject_label(
    true: NDArray[Any], pred: NDArray[Any], known: list[Any], unused: set[Any], complete: bool
) -> Any:
    """Return the one label in ``pred`` that is not a class; ``None`` if all of them are."""
    unknown = [label for label in distinct(pred) if label not in set(known)]
    if not unknown:
        return None
    if not kinds(pred) & kinds(true):
        raise _never_equal(true, "y_pred", pred)
    # With one class in y_true, the other label may well be the other class.
    if len(unknown) == 1 and (complete or len(known) > 1) and unknown[0] not in unused:
        return unknown[0]
    raise RejoError(
        f"cannot tell which label in y_pred is a rejection: {', '.join(map(repr, unknown))} "
        f"{'is' if len(unknown) == 1 else 'are'} not among the classes {known}",
        parameter="reject_label",
        remedy="Pass reject_label, or all classes as classes.",
    )


def distinct(values: NDArray[Any]) -> list[Any]:
    found = set(values.tolist())
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=str)


def class_list(classes: ArrayLike) -> list[Any]:
    """Return at least two distinct classes."""
    found: list[Any] = labels("classes", classes).tolist()
    if len(found) < 2 or len(set(found)) < len(found):
        raise ValueError(f"classes must contain at least two distinct labels, got {found}")
    return found


def agree(true: NDArray[Any], name: str, pred: NDArray[Any], read: Mask) -> Mask:
    decided = pred[read]
    if decided.size and not kinds(decided) <= kinds(true):
        raise _never_equal(true, name, decided)
    return np.asarray(true == pred, dtype=bool)


def _never_equal(true: NDArray[Any], name: str, decided: NDArray[Any]) -> TypeError:
    return TypeError(
        f"y_true contains {_name(true)} and the decisions in {name} are {_name(decided)}: "
        "they can never be equal"
    )


def labels(name: str, values: Any) -> NDArray[Any]:
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
                raise TypeError(f"{name} must contain numbers or text, got {kind.__name__}")
    if np.any(array != array):
        raise ValueError(f"{name} contains NaN")
    return array


def positions(name: str, values: NDArray[Any], classes: list[Any]) -> Indices:
    """Return the places (n_samples,) of labels in a list of classes."""
    place = {label: k for k, label in enumerate(classes)}
    try:
        return np.array([place[label] for label in values.tolist()], dtype=np.intp)
    except KeyError as error:
        raise ValueError(f"{name} contains {error}, which is not one of {classes}") from None


def weights(sample_weight: Weights, n_samples: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_samples)
    weight = floats("sample_weight", sample_weight)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one for each point, got {weight.shape}"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weight < 0).any():
        raise ValueError("sample_weight contains negative values")
    if not weight.any():
        raise ValueError("sample_weight sums to zero")
    return weight


def shares(sample_weight: Weights, n_samples: int) -> Floats:
    """Return valid weights, scaled to a largest of 1 so that their sum cannot overflow."""
    weight = weights(sample_weight, n_samples)
    return np.asarray(weight / weight.max())


def floats(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None


def check_mask(name: str, mask: ArrayLike, n_samples: int) -> Mask:
    """Return True or False for each point."""
    found = np.asarray(mask)
    if found.shape != (n_samples,) or found.dtype != bool:
        raise ValueError(
            f"{name} must be True or False for each of the {n_samples} points, got shape "
            f"{found.shape} of {found.dtype}"
        )
    return found


def check_sureness(sureness: ArrayLike, n_samples: int) -> Floats:
    """Return a finite number for each point."""
    score = floats("sureness", sureness)
    if score.shape != (n_samples,):
        raise ValueError(
            f"sureness must have shape ({n_samples},) like y_true, got {score.shape}; for "
            "posteriors, pass the largest in each row"
        )
    if not np.isfinite(score).all():
        raise ValueError("sureness contains NaN or infinity")
    return score


def _rejected(pred: NDArray[Any], reject_label: Any) -> Mask:
    if reject_label is None:
        return np.zeros(len(pred), dtype=bool)
    label = labels("reject_label", [reject_label])  # (1,)
    # Numbers never equal text: comparing them would find no rejection at all. Only an array of
    # objects may hold both: say, numbers for the classes and text for a rejection.
    if pred.dtype != object and kinds(pred) != kinds(label):
        raise TypeError(
            f"reject_label={reject_label!r} can never occur in y_pred, which contains "
            f"{_name(pred)}; to mix numbers and text, pass y_pred as a list or an object array"
        )
    return np.asarray(pred == label, dtype=bool)


def kinds(values: NDArray[Any]) -> set[str]:
    """Return which of "numbers", "text" and "bytes" occur among valid labels."""
    if values.dtype != object:
        return {{"U": "text", "S": "bytes"}.get(values.dtype.kind, "numbers")}
    names = {str: "text", bytes: "bytes"}
    types = set(map(type, values))
    return {next((names[t] for t in names if issubclass(kind, t)), "numbers") for kind in types}


def _name(values: NDArray[Any]) -> str:
    return " and ".join(sorted(kinds(values)))
