"""Whether outcomes, classes and columns fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo.estimators import AMBIGUOUS, REASONS

if TYPE_CHECKING:
    from rejo.selection import Outcomes


def check_cases(
    outcomes: Sequence[Outcomes], y: ArrayLike, n_classes: int, axis: str, by: Mapping[str, Any]
) -> NDArray[np.intp]:
    """Return the true classes, if outcomes, classes and columns fit together."""
    true = np.asarray(y)
    if true.ndim != 1 or not len(true) or true.dtype.kind not in "iu":
        raise ValueError(
            f"y must be a non-empty list of class indices; got {true.dtype} of shape {true.shape}."
        )
    if n_classes < 2 or true.min() < 0 or true.max() >= n_classes:
        raise ValueError(
            f"y must be indices into at least 2 classes; got {true.min()} to {true.max()} for "
            f"{n_classes} classes."
        )
    if not len(outcomes):
        raise ValueError("outcomes must have at least one operating point; got none.")
    if axis not in ("reject_cost", "review_share"):
        raise ValueError(f'axis must be "reject_cost" or "review_share"; got {axis!r}.')
    for i, point in enumerate(outcomes):
        if np.shape(point.decision) != true.shape:
            raise ValueError(
                f"outcomes[{i}] has {np.size(point.decision)} cases, but y has {len(true)}."
            )
        if axis == "reject_cost" and isnan(point.reject_cost):
            raise ValueError(
                f'outcomes[{i}] has no reject_cost: such points are for axis="review_share".'
            )
        _check_kind(i, point)
    for name, values in by.items():
        if np.shape(values) != true.shape:
            raise ValueError(f"by[{name!r}] must have shape {true.shape}; got {np.shape(values)}.")
    return true.astype(np.intp)


def _check_kind(i: int, point: Outcomes) -> None:
    """A novel case, or one that a rule sends to review, is not decided at any point."""
    if point.kind is None:
        return
    kind = np.asarray(point.kind)
    if kind.shape != np.shape(point.decision) or not np.isin(kind, range(len(REASONS))).all():
        raise ValueError(
            f"outcomes[{i}].kind must have 0 to {len(REASONS) - 1} ({', '.join(REASONS)}) for each "
            f"case; got {kind.dtype} of shape {kind.shape}."
        )
    if (point.decision[kind != AMBIGUOUS] >= 0).any():
        raise ValueError(
            f"outcomes[{i}] decides cases whose kind is novel or policy; they must be reviewed at "
            "every point."
        )
