"""Checks of the arguments of ``make_report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo.report._numbers import HIGHEST_PRICE, LEAST_PRICE

if TYPE_CHECKING:
    from rejo.selection.outcomes import Outcomes


def check_cases(
    outcomes: Sequence[Outcomes],
    y: ArrayLike,
    n_classes: int,
    axis: str,
    by: Mapping[str, Any],
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
    for name, values in by.items():
        if np.shape(values) != true.shape:
            raise ValueError(f"by[{name!r}] must have shape {true.shape}; got {np.shape(values)}.")
    return true.astype(np.intp)


def check_options(n_points: int, chosen: int, size: float | None, confidence: float) -> None:
    """Raise an error that names the option, what it should be, and what it is."""
    if not 0 <= chosen < n_points:
        raise ValueError(f"chosen must be from 0 to {n_points - 1}; got {chosen!r}.")
    if size is not None and not (size > 0 and isfinite(size)):
        raise ValueError(f"size must be a positive number; got {size!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")


def check_prices(prices: tuple[float, float]) -> tuple[float, float]:
    """Return the prices of an error and of a review, if the page can compute with them."""
    error, review = float(prices[0]), float(prices[1])
    if not (LEAST_PRICE <= error <= HIGHEST_PRICE and 0 <= review <= error * 0.5):
        raise ValueError(
            f"prices must be the price of an error, from {LEAST_PRICE:g} to {HIGHEST_PRICE:g}, and "
            f"the price of a review, at most half of it; got {prices!r}."
        )
    return error, review
