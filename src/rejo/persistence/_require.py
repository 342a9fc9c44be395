"""How a check refuses a part of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from rejo.persistence._errors import ModelFileError


def require(holds: Any, part: Any, what: str) -> None:
    """Refuse a part of a model unless something holds of it."""
    if not holds:
        raise ModelFileError(f"{type(part).__name__}: {what}")


def is_floats(value: Any, ndim: int) -> bool:
    """Whether a value is an array of finite floats with so many axes."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == ndim
        and bool(np.isfinite(value).all())
    )
