"""Which cases are held out to prove a promise."""

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from rejo._typing import Indices
from rejo.selection.rate_limits import is_missing


def hold_out(
    n_samples: int, size: float, random_state: Any, groups: Any = None, time: Any = None
) -> tuple[Indices, Indices]:
    """Choose calibration cases; return the rows to learn from, and these.

    They are drawn at random or, with ``time`` (n,), the latest.  With ``groups``, whole groups are
    held out, and one case of each, drawn at random, is a calibration case: cases of one group may
    all be right or wrong together, and the bound is for independent cases.
    """
    # Not stratified: calibration cases chosen by the class shares of the others would not be
    # independent of the candidates, and the bound would not be exact.
    rng = check_random_state(random_state)
    if groups is None:
        if time is None:
            train, test = train_test_split(np.arange(n_samples), test_size=size, random_state=rng)
            return train, test
        train, test = _latest(np.asarray(time), size)
        return train, rng.permutation(test)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    if time is None:
        _, held = train_test_split(np.arange(len(names)), test_size=size, random_state=rng)
    else:
        last = np.full(len(names), -1)
        np.maximum.at(last, group, np.asarray(time))
        _, held = _latest(last, size)
    mixed = rng.permutation(n_samples)
    _, first = np.unique(group[mixed], return_index=True)  # one row of each group
    return np.flatnonzero(~np.isin(group, held)), rng.permutation(mixed[first[held]])


def _latest(time: Indices, size: float) -> tuple[Indices, Indices]:
    """The earlier and the later cases; those of one moment stay together."""
    ordered = np.sort(time)
    since = ordered[min(len(time) - 1, int(np.ceil((1 - size) * len(time))))]
    late = time >= since
    if late.all():
        raise ValueError(
            "time leaves no earlier cases to learn from: too many have the first value. Give a "
            "finer time, or lower calibration_size."
        )
    return np.flatnonzero(~late), np.flatnonzero(late)


def order_in_time(time: Any, n: int) -> Indices | None:
    """The order (n,) of the cases in time; equal times are equal."""
    if time is None:
        return None
    if isinstance(time, str):
        raise ValueError(
            f"time must have a value for each of the {n} cases; got {time!r}. Give the column "
            f"itself, such as table[{time!r}]."
        )
    values = np.asarray(time)
    if values.dtype.kind in "OUS":
        values = _moments(values)
    if values.shape != (n,):
        raise ValueError(f"time must have a value for each of the {n} cases; got {values.shape}.")
    missing = np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values.astype(float))
    if missing.any():
        raise ValueError(
            f"time is missing for {int(missing.sum())} of {n} cases: leave these out, or fill in."
        )
    return np.unique(values, return_inverse=True)[1]


def _moments(values: Any) -> Any:
    """Numbers, or dates, that are objects of Python or text."""
    if values.dtype.kind == "O":  # missing values of pandas have types of their own
        gaps = np.array([is_missing(value) for value in values.ravel()], dtype=bool)
        values = np.where(gaps.reshape(values.shape), None, values)
    try:
        return values.astype(np.float64)  # a year, or 20241231, is a number also as text
    except (TypeError, ValueError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # time zones are converted to UTC
            # Not nanoseconds, which end in 2262: 9999-12-31 would be before 1970.
            return values.astype("datetime64[us]")
    except (TypeError, ValueError):
        odd = next((str(value) for value in values.ravel() if not _is_date(value)), "text")
        raise ValueError(
            f"time must be dates, such as 2024-12-31, or numbers; got {odd!r}."
        ) from None


def _is_date(value: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.array([value]).astype("datetime64[us]")
    except (TypeError, ValueError):
        return False
    return True
