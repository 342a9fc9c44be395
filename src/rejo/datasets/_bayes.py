"""The true posteriors of the synthetic problems, and the best rates that a classifier can reach.

The Bayes rule for the 0 / reject cost / 1 risk is Chow's (1970): with p the posterior of the
most probable class, reject if ``1 - p > reject_cost``, else choose that class. Its risk is the mean
of ``min(1 - p, reject_cost)``, which is also the integral of its rejection rate over the costs from
0 to ``reject_cost``. With K classes ``1 - p`` is at most ``1 - 1 / K``: a rejection that costs more
never pays.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, softmax

from rejo._errors import choice, number
from rejo._typing import Floats
from rejo.datasets.synthetic import (
    CUTS_1,
    CUTS_3,
    DEVIATIONS,
    MEANS,
    N_SHIFTED,
    NOISE,
    SHIFT,
    alpha_of,
)

GRID = 800  # points per side in the integrals over the plane
_CUTS = {"synthetic_1": CUTS_1, "synthetic_3": CUTS_3}
_N_CLOUDS = {"synthetic_2": 2, "synthetic_4": 3}
_NAMES = sorted([*_CUTS, *_N_CLOUDS])


class BayesRates(NamedTuple):
    """Rates of the Bayes rule, as fractions of all points, and ``risk = reject_cost * R + E``."""

    rejection_rate: float
    error_rate: float
    risk: float


def posterior(name: str, X: ArrayLike) -> Floats:
    """Return the probability of each class at each point of a synthetic problem.

    Parameters
    ----------
    name : {"synthetic_1", "synthetic_2", "synthetic_3", "synthetic_4"}
        The problem.
    X : array-like of shape (n_samples, 2)
        The points; for ``"synthetic_1"`` and ``"synthetic_3"`` in the unit square.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        One column per class, lowest first; rows sum to 1. The last column of a two-class problem
        is ``P(y = +1 | x)``.

    Examples
    --------
    >>> from rejo.datasets import posterior
    >>> posterior("synthetic_1", [[0.1, 0.1], [0.5, 0.5], [0.9, 0.1]]).round(2)
    array([[0.  , 1.  ],
           [0.33, 0.67],
           [1.  , 0.  ]])
    """
    choice("name", name, _NAMES)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X must have shape (n_samples, 2), got {points.shape}")
    return _posterior_and_density(name, points)[0]


def bayes_risk(name: str, reject_cost: float) -> float:
    """Return the lowest risk ``reject_cost * R + E`` possible, the last of :func:`bayes_rates`.

    >>> from rejo.datasets import bayes_risk
    >>> round(bayes_risk("synthetic_1", 0.2), 4)
    0.0692
    """
    return bayes_rates(name, reject_cost).risk


def bayes_rates(name: str, reject_cost: float) -> BayesRates:
    """Return rejection rate, error rate and risk of the Bayes rule on a synthetic problem.

    Parameters
    ----------
    name : {"synthetic_1", "synthetic_2", "synthetic_3", "synthetic_4"}
        The problem.
    reject_cost : float
        Cost of a rejection, above 0 and at most ``1 - 1 / n_classes``. A wrong class costs 1, no
        matter how far from the right one.

    Returns
    -------
    BayesRates
        The named tuple ``(rejection_rate, error_rate, risk)``, computed by the midpoint rule. The
        rates are accurate to about three decimals, the risk to four.

    Examples
    --------
    >>> from rejo.datasets import bayes_rates
    >>> rates = bayes_rates("synthetic_2", 0.2)
    >>> f"{rates.rejection_rate:.3f} {1 - rates.error_rate:.3f} {rates.risk:.3f}"
    '0.453 0.946 0.144'
    """
    choice("name", name, _NAMES)
    K = len(_CUTS[name]) // 2 + 1 if name in _CUTS else _N_CLOUDS[name]
    if number("reject_cost", reject_cost, 0, 1 - 1 / K) == 0:
        raise ValueError("reject_cost must be above 0")
    doubt, mass = _doubt(name)
    rejected = float(mass[doubt > reject_cost].sum())
    risk = float(np.minimum(doubt, reject_cost) @ mass)
    return BayesRates(rejected, risk - reject_cost * rejected, risk)


@cache
def _doubt(name: str) -> tuple[Floats, Floats]:
    """Return the error of the most probable class, and the probability, of each grid cell."""
    # Clouds: five standard deviations of the widest class on either side.
    low, high = (0.0, 1.0) if name in _CUTS else (-23.0, 27.0)
    step = (high - low) / GRID
    middles = low + step * (np.arange(GRID) + 0.5)
    X = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    probability, density = _posterior_and_density(name, X)
    return 1 - probability.max(axis=1), density * step**2


def _posterior_and_density(name: str, X: Floats) -> tuple[Floats, Floats]:
    if name in _CUTS:
        return _zone_posterior(X, _CUTS[name]), np.ones(len(X))
    logs = _log_densities(X, _N_CLOUDS[name])
    return np.asarray(softmax(logs, axis=1)), np.exp(logs).mean(axis=1)


def _zone_posterior(X: Floats, cuts: tuple[float, ...]) -> Floats:
    """Return P(noisy alpha in the zone of the class), plus its share of the transitions."""
    alpha = alpha_of(X)[:, None]
    below = ndtr((np.array(cuts) - alpha) / NOISE)  # (n, 2K-2) P(noisy alpha < cut)
    zones = np.diff(below, axis=1, prepend=0, append=1)  # (n, 2K-1)
    a, b = np.array(cuts[::2]), np.array(cuts[1::2])
    upper = zones[:, 1::2] * np.clip((alpha - a) / (b - a), 0, 1)  # (n, K-1)
    result = zones[:, ::2]  # (n, K)
    result[:, 1:] += upper
    result[:, :-1] += zones[:, 1::2] - upper
    return result


def _log_densities(X: Floats, n_classes: int) -> Floats:
    """Return the log density (n, K) of each class: Gaussian, or its mean over the shift.

    A coordinate ``x = m + s z + e``, with z normal and e uniform on [e_0, e_1], has the density
    ``(F((x - m - e_0) / s) - F((x - m - e_1) / s)) / (e_1 - e_0)``, F the normal cdf. Logs, with F
    in its lower tail, keep the difference accurate far from the mean.
    """
    result = np.empty((len(X), n_classes))
    half = (SHIFT[1] - SHIFT[0]) / 2
    for k in range(n_classes):
        if k < N_SHIFTED:
            distance = np.abs(X - MEANS[k] - np.mean(SHIFT))  # (n, 2)
            upper = log_ndtr((half - distance) / DEVIATIONS[k])
            lower = log_ndtr((-half - distance) / DEVIATIONS[k])
            log_density = upper + np.log(-np.expm1(lower - upper)) - np.log(2 * half)
        else:
            z = (X - MEANS[k]) / DEVIATIONS[k]  # (n, 2)
            log_density = -(z**2) / 2 - np.log(DEVIATIONS[k] * np.sqrt(2 * np.pi))
        result[:, k] = log_density.sum(axis=1)
    return result
