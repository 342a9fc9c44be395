"""Upper bounds that hold with a stated probability, for any distribution.

A rate is bounded by the exact binomial test, whose limit is that of Clopper and Pearson.  The mean
of a loss that has more than two values, such as what a case costs, is bounded by betting:
someone who bets against "the mean is at least ``m``" gets rich only if it is not.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv

from rejo._errors import number
from rejo._typing import Floats
from rejo.metrics.intervals import check_counts, check_level

_HALVINGS = 40  # of the range in which a bound is looked for


def binomial_upper_bound(errors: int, n_samples: int, confidence: float = 0.95) -> float:
    """Exact upper bound for an error rate.

    If the true rate were higher, so few errors in so many independent cases would have a
    probability below ``1 - confidence`` :footcite:p:`clopper1934`. What decides which cases count
    must not have been chosen on them.

    Parameters
    ----------
    errors : int
        Between 0 and ``n_samples``.
    n_samples : int
        Number of independent cases, for example the accepted ones.
    confidence : float, default=0.95
        Minimum probability that the bound holds.

    Returns
    -------
    float
        1 if all cases are errors, or if there are no cases.

    Examples
    --------
    >>> from rejo.metrics import binomial_upper_bound
    >>> round(binomial_upper_bound(0, 300), 4)
    0.0099
    """
    e, n = check_counts("errors", errors, n_samples)
    return float(binomial_upper_bounds(e, n, confidence))


def binomial_upper_bounds(
    errors: ArrayLike, n_samples: ArrayLike, confidence: float = 0.95
) -> Floats:
    """As :func:`binomial_upper_bound`, for arrays of counts that broadcast."""
    level = check_level(confidence)
    e, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(n_samples, np.float64))
    all_wrong = e >= n  # also if there are no cases
    bounds = betaincinv(e + 1, np.where(all_wrong, 1.0, n - e), level)
    return np.asarray(np.where(all_wrong, 1.0, bounds))


def binomial_p_values(errors: ArrayLike, n_samples: ArrayLike, limit: ArrayLike) -> Floats:
    """Probability of so few errors, or fewer, if the true rate were just above ``limit``.

    It is at most ``1 - confidence`` exactly if :func:`binomial_upper_bound` is at most ``limit``.
    """
    e, n, q = np.broadcast_arrays(
        np.asarray(errors, np.float64), np.asarray(n_samples), np.asarray(limit, np.float64)
    )
    return np.asarray(np.where(e >= n, 1.0, bdtr(np.minimum(e, n), n, q)))


def cases_needed(limit: float, confidence: float = 0.95) -> int:
    """Fewest independent decided cases that can prove a limit: if none of them is an error.

    Parameters
    ----------
    limit : float
        Error rate to be proved, above 0 and below 1.
    confidence : float, default=0.95
        Minimum probability that the proof is right.

    Returns
    -------
    int
        If some of the cases are errors, it takes more.

    Examples
    --------
    >>> from rejo.metrics import cases_needed
    >>> [cases_needed(limit) for limit in (0.1, 0.05, 0.01, 0.001)]
    [29, 59, 299, 2995]
    """
    q = number("limit", limit, 0, 1)
    if q in (0, 1):
        raise ValueError(f"limit must be above 0 and below 1, got {limit!r}")
    log_delta, log_right = math.log1p(-check_level(confidence)), math.log1p(-q)
    # An exact quotient, as for 0.5 and 0.75, may be a hair above its integer.
    return math.ceil(log_delta / log_right - 1e-9)


def mean_upper_bound(
    losses: ArrayLike, confidence: float = 0.95, low: float = 0.0, high: float = 1.0
) -> Floats:
    r"""Upper bound for the mean of a bounded loss, such as the cost of a case.

    It is found by betting :footcite:p:`waudbysmith2024`: the capital of a gambler who stakes
    :math:`\nu_i` against a mean of at least ``m`` on the ``i``-th case is :math:`\prod_i (1 + \nu_i
    (m - x_i))`, and reaches :math:`1 / \delta` with probability :math:`\delta` at most if that is
    the mean.  The bound is the lowest ``m`` at which it did.

    Parameters
    ----------
    losses : array-like of shape (n_samples,) or (n_samples, n_candidates)
        Losses of independent cases, **in random order**: the stakes depend on it.
    confidence : float, default=0.95
        Minimum probability that the bound holds, for each candidate by itself.
    low, high : float, default=0 and 1
        Lowest and highest loss that is possible, known beforehand: not those that occurred.

    Returns
    -------
    bound : ndarray of shape () or (n_candidates,)
        Between the mean of the cases and ``high``, which it is if there are no cases.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.metrics import mean_upper_bound
    >>> costs = np.random.default_rng(0).choice([0, 20, 500], p=[0.79, 0.2, 0.01], size=1000)
    >>> float(costs.mean()), float(mean_upper_bound(costs, 0.95, 0, 500).round(1))
    (9.68, 15.7)
    """
    delta = 1.0 - check_level(confidence)
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"low must be below high, and both finite, got {low!r} and {high!r}")
    found = np.asarray(losses, dtype=np.float64)
    if found.ndim not in (1, 2):
        raise ValueError(f"losses must have one or two dimensions, got shape {found.shape}")
    slack = 1e-9 * (high - low)
    if not ((found >= low - slack) & (found <= high + slack)).all():
        raise ValueError(f"losses must be between low={low:g} and high={high:g}")
    n, shape = len(found), found.shape[1:]
    if n == 0:
        return np.full(shape, float(high))
    x = np.clip((found.reshape(n, -1) - low) / (high - low), 0.0, 1.0)  # (n, n_candidates)
    stake = _stakes(x, delta)
    below, above = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for _ in range(_HALVINGS):  # the capital grows with m
        m = (below + above) / 2
        log_capital = np.cumsum(np.log1p(stake * (m - x)), axis=0)
        proved = log_capital.max(axis=0) >= -math.log(delta)
        above, below = np.where(proved, m, above), np.where(proved, below, m)
    # In an unlucky order, cheap cases first, it can be below what was seen.
    return np.asarray(low + (high - low) * np.maximum(above, x.mean(axis=0))).reshape(shape)


def _stakes(x: Floats, delta: float) -> Floats:
    """The share of the capital at stake on each case, from the cases before it."""
    n = len(x)
    i = np.arange(1, n + 1)[:, None]
    mean = (0.5 + np.cumsum(x, axis=0)) / (1 + i)
    variance = np.empty_like(x)
    variance[0] = 0.25
    variance[1:] = ((0.25 + np.cumsum((x - mean) ** 2, axis=0)) / (1 + i))[:-1]
    return np.asarray(np.minimum(1.0, np.sqrt(2 * math.log(1 / delta) / (n * variance))))
