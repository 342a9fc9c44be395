"""Prices as people have them, as a matrix for :mod:`rejo.decisions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rejo._errors import RejoError
from rejo._typing import Floats

__all__ = ["price_matrix"]


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
