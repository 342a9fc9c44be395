"""Prices as people have them, as a matrix for :mod:`rejo.decisions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rejo._errors import RejoError
from rejo._typing import Floats

HIGHEST = 1e12  # price

__all__ = ["HIGHEST", "price_matrix", "reject_cost_of"]


def reject_cost_of(prices: Floats) -> float | None:
    """Price of a review where an error costs 1; ``None`` if prices differ between classes."""
    K = len(prices)
    error, review = prices[0, 1], prices[0, -1]
    alike = (prices[:, :-1] == error * (1 - np.eye(K))).all() and (prices[:, -1] == review).all()
    return float(review / error) if alike and error > 0 else None


def price_matrix(cost_of: Any, classes: Sequence[Any], *, ordered: bool = True) -> Floats:
    """Prices (K, K + 1) for :func:`rejo.decisions.decide`, from two numbers or a matrix."""
    K = len(classes)
    if isinstance(cost_of, Mapping):
        prices = np.full((K, K + 1), float(cost_of["review"]))
        prices[:, :-1] = float(cost_of["error"]) * (1.0 - np.eye(K))
        return prices
    prices = np.array(cost_of, dtype=np.float64)
    if prices.shape != (K, K + 1):
        raise RejoError(f"cost_of has shape {prices.shape}", parameter="cost_of")
    return prices
