"""What the checks of scikit-learn's classes share: parameters, features and numbers.

The modules ``_sklearn_steps``, ``_sklearn_models`` and ``_sklearn_trees`` say of each class which
attributes a file keeps, and what each must be.  The check of a class says which of them compiled
code takes as an index, a size or a pointer.  What follows from parameters or other attributes is
not kept, but computed again by the class's ``restore`` function.  Docstrings of both are part of
the guide: they stand in its table of classes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from rejo._state import LARGEST, Must, Size, count, either, floats, labels, names, optional, require

MOST_FEATURES = 1 << 22  # where no array of a model has a number for each feature
LEAST = 5e-324  # the smallest number above zero
SINGLE = np.finfo(np.float32)

FEATURES = {"n_features_in_": count(1, MOST_FEATURES), "feature_names_in_": optional(names())}
CLASSES = {"classes_": labels()}


def reals(*shape: Size, low: float = -LARGEST, high: float = LARGEST) -> Must:
    """Return what finite numbers must be: double or, as the data may have been, single."""
    least = SINGLE.tiny if 0 < low < SINGLE.tiny else max(low, -float(SINGLE.max))
    single = floats(*shape, low=float(least), high=min(high, float(SINGLE.max)), dtype="float32")
    double = floats(*shape, low=low, high=high)
    words = double.words.replace("float64", "float64 or float32", 1)
    return replace(either(double, single), words=words)


def require_number(
    part: Any, name: str, low: float, high: float, also: tuple[Any, ...] = ()
) -> None:
    """Refuse a parameter that is not a number in a range, nor one of some other values."""
    value = getattr(part, name)
    if value is None or isinstance(value, str):
        fine = value in also
    else:
        fine = not isinstance(value, (bool, np.bool_)) and bool(low <= value <= high)
    require(fine, part, f"{name} is not a number from {low:g} to {high:g}")


def complete(part: Any) -> None:
    """Set what the constructor of a class sets besides its parameters."""
    fresh = type(part)(**{name: getattr(part, name) for name in part._get_param_names()})
    for name, value in vars(fresh).items():
        vars(part).setdefault(name, value)


def features_of(part: Any) -> int | None:
    """Return how many columns a fitted part takes; ``None`` if it does not say."""
    n = getattr(part, "n_features_in_", None)
    return None if n is None else int(n)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def one_or_each(part: Any) -> dict[str, int]:
    """Lengths for classifiers with one score for two classes, and one for each of more."""
    K = len(part.classes_)
    return {"scores": 1 if K == 2 else K}
