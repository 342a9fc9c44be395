"""Pulls and reviews in words: which features stand out, and at which values."""

from collections.abc import Iterator
from datetime import date, datetime
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices

LEAST_PART = 0.05  # of the largest pull of a case; less does not stand out
LONGEST = 30  # letters of a value
FEW = 6  # distinct numbers that each get a place of their own
FEWEST_CASES, FEWEST_SHARE = 10, 0.02  # of a place whose share of reviews is worth telling
PRIOR = 10.0  # cases with the usual share of reviews, so that a small place does not win by luck


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
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _number(value: float) -> str:
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1000):
        return f"{value:.0f}"
    return f"{value:.3g}"


# ---- pulls and reviews of many cases, by feature ------------------------------------------------


def top_shares(pulls: Floats, top: int) -> tuple[Floats, Floats]:
    """For each feature (m,), by pulls (n, m): how often it is among the ``top``, and how much.

    How much is its share of the absolute pulls, the mean over cases.
    """
    size = np.abs(pulls)
    n, m = size.shape
    total = size.sum(axis=1, keepdims=True)
    part = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
    order = np.argsort(-part, axis=1, kind="stable")[:, :top]
    among = np.zeros((n, m))
    np.put_along_axis(among, order, 1.0, axis=1)
    among *= part > 0
    return among.mean(axis=0), part.mean(axis=0)


def most_reviewed(values: NDArray[Any], reviewed: NDArray[np.bool_]) -> tuple[str, int, float]:
    """Find the range or the level of a feature (n,) at which most cases are reviewed (n,).

    In words, such as "36 to 72" or "missing", or "" if there are too few cases; with the number of
    cases there, and the share of these that is reviewed.
    """
    n, usual = len(values), float(reviewed.mean()) if len(reviewed) else 0.0
    fewest = max(FEWEST_CASES, FEWEST_SHARE * n)
    best, found = usual, ("", 0, 0.0)
    for where, there in _places(values):
        cases, hits = int(there.sum()), int(reviewed[there].sum())
        share = (hits + PRIOR * usual) / (cases + PRIOR)
        if cases >= fewest and share > best:
            best, found = share, (where, cases, hits / cases)
    return found


def _places(values: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Ranges or levels of a feature, in words, and which cases (n,) are there."""
    if values.dtype.kind in "biuf":
        missing = (
            np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
        )
    else:
        missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if missing.any():
        yield "missing", missing
    numbers = _as_numbers(values, missing)
    if numbers is None:
        known: dict[Any, str] = {}
        words = np.array(
            [known.get(v) or known.setdefault(v, said(v)) for v in values.tolist()], dtype=object
        )
        for word in sorted(set(words[~missing].tolist())):
            yield word, (words == word) & ~missing
        return
    distinct = np.unique(numbers[~missing])
    if len(distinct) <= FEW:
        for value in distinct.tolist():
            yield said(value), numbers == value
        return
    edges = np.unique(np.quantile(numbers[~missing], [0, 0.25, 0.5, 0.75, 1], method="nearest"))
    for low, high in pairwise(edges):
        inside = (numbers >= low) & (numbers < high if high < edges[-1] else numbers <= high)
        yield _range(low, high, distinct, edges), inside


def _range(low: Any, high: Any, distinct: Floats, edges: Floats) -> str:
    """A range in words, without the lowest and highest number of all: each may be one case's."""
    if high == edges[-1]:
        return f"{said(low)} or more"
    end = distinct[np.searchsorted(distinct, high) - 1]
    if low == edges[0]:
        return f"at most {said(end)}"
    return said(low) if low == end else f"{said(low)} to {said(end)}"


def _as_numbers(values: NDArray[Any], missing: NDArray[np.bool_]) -> Floats | None:
    numbers = np.full(len(values), np.nan)
    if values.dtype.kind in "MmUSb":
        return None
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers[~missing]).all() else None
