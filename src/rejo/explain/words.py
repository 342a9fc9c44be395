"""Pulls in words: which features stand out, and what their values are."""

from __future__ import annotations

from datetime import date, datetime
from numbers import Real
from typing import Any

import numpy as np

from rejo._typing import Floats, Indices

LEAST_PART = 0.05  # of the largest pull of a case; less does not stand out
LONGEST = 30  # letters of a value


def standing_out(pulls: Floats, top: int) -> tuple[Indices, Indices]:
    """Features that pull one case most, down and up: at most ``top`` each, the strongest first."""
    order = np.argsort(-np.abs(pulls), kind="stable")
    least = LEAST_PART * np.abs(pulls).max(initial=0.0)
    order = order[(np.abs(pulls[order]) >= least) & (pulls[order] != 0)]
    return order[pulls[order] < 0][:top], order[pulls[order] > 0][:top]


def said(value: Any) -> str:
    """One value of a table, briefly: "48", "9132", "0.123", "skilled", "missing"."""
    if is_missing(value):
        return "missing"
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        return _number(float(value))
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def is_missing(value: Any) -> bool:
    """Return whether this is one of the many ways to say that there is no value."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _number(value: float) -> str:
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1000):
        return f"{value:.0f}"
    return f"{value:.3g}"
