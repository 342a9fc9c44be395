"""Confidence intervals of rates and of any other measure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rejo._errors import integer, number
from rejo._html import table_html
from rejo._state import check_fields, figure, storable
from rejo._typing import Floats
from rejo.metrics._labels import described, labels
from rejo.metrics._rates import count_labels

T = TypeVar("T")


@storable
class Interval(NamedTuple, Generic[T]):
    """An estimate, and the limits of its confidence interval."""

    estimate: T
    low: T
    high: T

    def _check_state(self) -> None:
        """Three numbers."""
        check_fields(self, estimate=figure(), low=figure(), high=figure())


class RateIntervals(NamedTuple):
    """Wilson intervals of three rates."""

    rejection_rate: Interval[float]
    error_rate: Interval[float]
    accepted_accuracy: Interval[float]

    def _repr_html_(self) -> str:
        return intervals_html("Rates", self._asdict())


def intervals_html(title: str, rates: Mapping[str, Interval[float]]) -> str:
    """Return a table of intervals of shares for a notebook."""
    parts = {name: [getattr(rate, name) for rate in rates.values()] for name in Interval._fields}
    return table_html(title, {"rate": list(rates), **parts}, shares=parts.keys())


def wilson_interval(
    successes: int, n_samples: int, confidence: float = 0.95, *, n_effective: float | None = None
) -> Interval[float]:
    """Wilson's interval for a proportion, ``successes / n_samples``.

    Unlike ``p +- z sqrt(p (1 - p) / n)``, it works for few cases, and even if none is a success
    :footcite:p:`wilson1927`.

    Parameters
    ----------
    successes : int
        Between 0 and ``n_samples``.
    n_samples : int
        Number of independent cases.
    confidence : float, default=0.95
        Approximate probability that such an interval contains the true proportion.
    n_effective : float, default=None
        Effective sample size, if the cases are not independent; need not be an integer.

    Returns
    -------
    Interval
        Named tuple ``estimate``, ``low``, ``high``; ``nan``, 0, 1 if there are no cases.

    Examples
    --------
    >>> from rejo.metrics import wilson_interval
    >>> p, low, high = wilson_interval(2, 100)
    >>> print(f"{p:.3f} ({low:.3f} to {high:.3f})")
    0.020 (0.006 to 0.070)
    """
    k, n = check_counts("successes", successes, n_samples)
    m = n if n_effective is None else number("n_effective", n_effective, 0)
    if n == 0:
        check_level(confidence)
        return Interval(float("nan"), 0.0, 1.0)
    if m == 0:
        raise ValueError(f"n_effective must be positive, got {n_effective!r}")
    low, high = wilson_limits(np.array(k / n), np.array(m), confidence)
    return Interval(k / n, float(low), float(high))


def wilson_limits(p: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Limits of Wilson's interval for proportions ``p`` of ``n`` independent cases each."""
    z = float(ndtri((1 + check_level(confidence)) / 2))
    shrink = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the ends the formula gives 0 and 1 up to rounding.
    return np.where(p > 0, middle - half, 0.0), np.where(p < 1, middle + half, 1.0)


@described
def rate_intervals(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
) -> RateIntervals:
    """Wilson intervals of the rejection rate, the error rate and the accepted accuracy.

    The points must be independent and not used in training.

    Parameters
    ----------
    %y_true, y_pred, reject_label, classes
    confidence : float, default=0.95
        Approximate probability that each interval contains the true rate.

    Returns
    -------
    RateIntervals
        Named tuple ``rejection_rate``, ``error_rate``, ``accepted_accuracy`` of intervals.

    Examples
    --------
    >>> from rejo.metrics import rate_intervals
    >>> y_true, y_pred = [0] * 50 + [1] * 50, [0] * 45 + [-1] * 10 + [1] * 44 + [0]
    >>> intervals = rate_intervals(y_true, y_pred)
    >>> p, low, high = intervals.error_rate
    >>> print(f"{p:.3f} ({low:.3f} to {high:.3f})")
    0.010 (0.002 to 0.054)
    """
    right, wrong, rejected = map(int, count_labels(y_true, y_pred, reject_label, classes))
    n_samples = right + wrong + rejected
    return RateIntervals(
        wilson_interval(rejected, n_samples, confidence),
        wilson_interval(wrong, n_samples, confidence),
        wilson_interval(right, right + wrong, confidence),
    )


@described
def bootstrap_interval(
    measure: Callable[..., T],
    y_true: ArrayLike,
    *arrays: ArrayLike,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Interval[T]:
    """Bootstrap interval of any measure, by resampling the points within each true class.

    Every class keeps its number of points. For rates, :func:`rate_intervals` is better: it also
    works for errors that never occurred.

    Parameters
    ----------
    measure : callable
        Called as ``measure(y_true, *arrays)`` on the points and on every resample. It returns a
        number, or an array of fixed shape, such as the values of a curve on a grid.
    %y_true
    *arrays : array-like of shape (n_samples, ...)
        Other arguments of the measure, with a row for each point: decisions, scores, weights.
    n_resamples : int, default=1000
        Number of resamples.
    confidence : float, default=0.95
        Fraction of the resamples between the two limits.
    random_state : int, Generator, RandomState or None, default=None
        Draws the resamples; pass an int for reproducible output.

    Returns
    -------
    Interval
        Named tuple ``estimate``, the measure on all points, ``low`` and ``high``. A limit is
        ``nan`` where the measure is ``nan`` on a resample, or infinite on those at the limit.

    Examples
    --------
    >>> from rejo.metrics import aurc, bootstrap_interval
    >>> y_true, y_pred = [0, 0, 0, 1, 1, 1] * 20, [0, 0, 1, 1, 1, 0] * 20
    >>> sureness = [0.9, 0.8, 0.5, 0.9, 0.6, 0.7] * 20
    >>> found = bootstrap_interval(aurc, y_true, y_pred, sureness, random_state=0)
    >>> found.low < found.estimate < found.high
    True
    """
    tail = (1 - check_level(confidence)) / 2
    n_resamples = integer("n_resamples", n_resamples, 1)
    true = labels("y_true", y_true)
    columns = [_column(array) for array in (y_true, *arrays)]
    for i, column in enumerate(columns[1:]):
        if column.shape[:1] != true.shape:
            raise ValueError(
                f"arrays must have {len(true)} rows like y_true, got shape {column.shape} at "
                f"position {i}"
            )
    estimate = measure(*columns)
    rows = _stratified(true, n_resamples, random_state)
    values = [np.asarray(measure(*(c[row] for c in columns)), dtype=np.float64) for row in rows]
    if len({value.shape for value in values}) > 1:
        raise ValueError(
            "measure must return a number, or an array of the same shape for every resample; "
            "evaluate a curve on a fixed grid, with np.interp"
        )
    with np.errstate(invalid="ignore"):  # between two infinite values
        limits: Any = np.quantile(values, [tail, 1 - tail], axis=0)  # (2, ...)
    if limits.ndim == 1:
        limits = limits.tolist()
    return Interval(estimate, *limits)


def _stratified(
    true: NDArray[Any], n_resamples: int, random_state: Any
) -> Iterator[NDArray[np.intp]]:
    """Draw rows with replacement, each class from its own rows and as often as it occurs."""
    legacy = isinstance(random_state, np.random.RandomState)
    rng = random_state if legacy else np.random.default_rng(random_state)
    code: dict[Any, int] = {}
    codes = np.array([code.setdefault(label, len(code)) for label in true.tolist()])
    order = np.argsort(codes, kind="stable")  # class after class
    sizes = np.bincount(codes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)  # where the class of each place begins
    size = np.repeat(sizes, sizes)
    for _ in range(n_resamples):
        yield order[first + (rng.random(len(true)) * size).astype(np.intp)]


def _column(values: Any) -> NDArray[Any]:
    """Return an array of rows; a list of numbers and text keeps both."""
    array = np.asarray(values)
    text = array.dtype.kind in "US" and not hasattr(values, "__array__")
    return np.asarray(values, dtype=object) if text else array


def check_counts(name: str, part: Any, n: Any) -> tuple[int, int]:
    """Validate a number of cases out of n."""
    part, n = integer(name, part, 0), integer("n_samples", n, 0)
    if part > n:
        raise ValueError(f"{name} must be between 0 and n_samples={n}, got {part}")
    return part, n


def check_level(confidence: Any) -> float:
    """Validate a confidence strictly between 0 and 1."""
    level = number("confidence", confidence, 0, 1)
    if level in (0, 1):
        raise ValueError(f"confidence must be strictly between 0 and 1, got {confidence!r}")
    return level
