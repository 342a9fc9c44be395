"""The synthetic two-class problems of the paper, with their true posteriors.

Where the posterior ``p(x) = P(y = +1 | x)`` is known, so is the best that any classifier can do:
with a reject cost ``w`` (Chow 1970) it rejects where ``min(p, 1 - p) > w``, and its risk is the
mean of ``min(p, 1 - p, w)``.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_ndtr, ndtr
from sklearn.utils import check_random_state

__all__ = ["bayes_risk", "make_synthetic_1", "make_synthetic_2", "posterior"]

Floats = NDArray[np.float64]

# SyntheticI: edges of the transition zone in alpha, and the standard deviation of the noise on it.
LOW, HIGH = -0.5, 0.25
NOISE = 0.125

# SyntheticII: means and standard deviations of the classes -1 and +1, the same in both coordinates,
# and the range of the uniform shift of each coordinate.
MEANS = (-2.0, 2.0)
DEVIATIONS = (3.0, 5.0)
SHIFT = (0.025, 0.25)

GRID = 500  # points a side in the integral of `bayes_risk`


def make_synthetic_1(
    n_samples: int = 400, *, random_state: int | RandomState | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """SyntheticI: two plateaus and a zone of doubt between them, with hyperbolic edges.

    The points are uniform in the unit square. With ``alpha = 10 (x1 - 0.5) (x2 - 0.5)`` and
    ``e ~ N(0, 0.125^2)``, the class is -1 where ``alpha + e < -0.5`` and +1 where
    ``alpha + e > 0.25``; between the two it is +1 with probability ``(alpha + 0.5) / 0.75``.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; an int makes it repeatable.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The classes, -1 and +1.

    Examples
    --------
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((400, 2), [-1, 1])
    """
    n_samples = _size(n_samples)
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, 2))
    alpha = _alpha(X)
    noisy = alpha + rng.normal(scale=NOISE, size=n_samples)
    doubtful = np.where(rng.uniform(LOW, HIGH, size=n_samples) < alpha, 1, -1)
    y = np.where(noisy < LOW, -1, np.where(noisy > HIGH, 1, doubtful))
    return X, y


def make_synthetic_2(
    n_samples: int = 400, *, random_state: int | RandomState | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """SyntheticII: two Gaussian clouds of different spread, equally likely.

    Class -1 is ``N([-2, -2], 9 I)`` and class +1 is ``N([2, 2], 25 I)``, each coordinate shifted by
    a uniform draw from ``[0.025, 0.25]``. The rows are in random order.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points, half of them in each class; of an odd number, class -1 gets one more.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; an int makes it repeatable.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The classes, -1 and +1.

    Examples
    --------
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((400, 2), 200)
    """
    n_samples = _size(n_samples)
    rng = check_random_state(random_state)
    y = rng.permutation(np.resize([-1, 1], n_samples))
    k = (y > 0).astype(int)[:, None]  # (n_samples, 1)
    X = np.take(MEANS, k) + np.take(DEVIATIONS, k) * rng.normal(size=(n_samples, 2))
    return X + rng.uniform(*SHIFT, size=X.shape), y


def posterior(name: str, X: ArrayLike) -> Floats:
    """Probability of class +1 at each point of a synthetic problem, ``P(y = +1 | x)``.

    Parameters
    ----------
    name : {"synthetic_1", "synthetic_2"}
        The problem.
    X : array-like of shape (n_samples, 2)
        The points; for ``"synthetic_1"`` in the unit square.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 and 1.

    Examples
    --------
    >>> from rejo.datasets import posterior
    >>> posterior("synthetic_1", [[0.1, 0.1], [0.5, 0.5], [0.9, 0.1]]).round(2)
    array([1.  , 0.67, 0.  ])
    """
    problem = _problem(name)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X must have shape (n_samples, 2), got {points.shape}")
    return problem.posterior(points)


def bayes_risk(name: str, reject_cost: float) -> float:
    """Lowest risk ``reject_cost * R + E`` that any classifier can reach on a synthetic problem.

    Parameters
    ----------
    name : {"synthetic_1", "synthetic_2"}
        The problem.
    reject_cost : float
        Cost of a rejection, above 0 and up to 0.5, where a wrong decision costs 1.

    Returns
    -------
    float
        The mean of ``min(p, 1 - p, reject_cost)`` by the midpoint rule, to about four decimals.

    Examples
    --------
    >>> from rejo.datasets import bayes_risk
    >>> round(bayes_risk("synthetic_1", 0.2), 4)
    0.0692
    """
    problem = _problem(name)
    if isinstance(reject_cost, bool) or not isinstance(reject_cost, Real):
        raise TypeError(f"reject_cost must be a number, got {reject_cost!r}")
    if not 0 < reject_cost <= 0.5:
        raise ValueError(f"reject_cost must be above 0 and at most 0.5, got {reject_cost!r}")
    low, high = problem.box
    step = (high - low) / GRID
    middles = low + step * (np.arange(GRID) + 0.5)
    X = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    p = problem.posterior(X)
    cost = np.minimum(np.minimum(p, 1 - p), reject_cost)
    return float(np.sum(cost * problem.density(X)) * step**2)


class _Problem(NamedTuple):
    posterior: Callable[[Floats], Floats]  # (n, 2) -> (n,)
    density: Callable[[Floats], Floats]  # (n, 2) -> (n,)
    box: tuple[float, float]  # the points lie in this range in both coordinates


def _problem(name: str) -> _Problem:
    if name not in _PROBLEMS:
        raise ValueError(f"name must be one of {', '.join(_PROBLEMS)}, got {name!r}")
    return _PROBLEMS[name]


def _alpha(X: Floats) -> Floats:
    return 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def _posterior_1(X: Floats) -> Floats:
    """P(noisy > HIGH) + P(LOW < noisy < HIGH) P(uniform on [LOW, HIGH] < alpha)."""
    alpha = _alpha(X)
    below_low, below_high = ndtr((LOW - alpha) / NOISE), ndtr((HIGH - alpha) / NOISE)
    share = np.clip((alpha - LOW) / (HIGH - LOW), 0, 1)
    return 1 - below_high + (below_high - below_low) * share


def _density_1(X: Floats) -> Floats:
    return np.ones(len(X))


def _log_density_2(X: Floats, k: int) -> Floats:
    """Log density of class k: the mean of the Gaussian over the shift, in both coordinates.

    A coordinate ``x = m + s z + e``, with z normal and e uniform on [e_0, e_1], has the density
    ``(F((x - m - e_0) / s) - F((x - m - e_1) / s)) / (e_1 - e_0)``, F the normal cdf. In logs, and
    with F in its lower tail, the difference keeps its digits far from the mean.
    """
    centred = X - MEANS[k] - np.mean(SHIFT)  # (n, 2)
    half = (SHIFT[1] - SHIFT[0]) / 2
    upper = log_ndtr((half - np.abs(centred)) / DEVIATIONS[k])
    lower = log_ndtr((-half - np.abs(centred)) / DEVIATIONS[k])
    return np.sum(upper + np.log(-np.expm1(lower - upper)) - np.log(2 * half), axis=1)


def _posterior_2(X: Floats) -> Floats:
    return expit(_log_density_2(X, 1) - _log_density_2(X, 0))


def _density_2(X: Floats) -> Floats:
    return (np.exp(_log_density_2(X, 0)) + np.exp(_log_density_2(X, 1))) / 2


_PROBLEMS = {
    "synthetic_1": _Problem(_posterior_1, _density_1, box=(0.0, 1.0)),
    # Six standard deviations of the wider class on either side.
    "synthetic_2": _Problem(_posterior_2, _density_2, box=(-28.0, 32.0)),
}


def _size(n_samples: int) -> int:
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral):
        raise TypeError(f"n_samples must be an integer, got {n_samples!r}")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples!r}")
    return int(n_samples)
