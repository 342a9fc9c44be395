"""Tests: two methods on one data set, many methods on many.

For one data set, paired differences over repetitions: a t-test where each repetition is a fresh
draw, and the corrected resampled t-test of Nadeau and Bengio (2003) where all are splits of one
table. For many tables, mean ranks, the Friedman test with the correction of Iman and Davenport, and
Nemenyi's critical difference (Demsar 2006); and signed-rank tests of pairs, because whether two
methods differ by their mean ranks depends on the others in the comparison (Benavoli, Corani and
Mangili 2016). ``costs`` are of shape (n_tables, n_methods), lower is better; a table counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from studies.run import Floats

ALPHA = 0.05
DIGITS = 10  # costs that agree in these are equal


class Paired(NamedTuple):
    """A mean of paired differences."""

    difference: float
    low: float  # of the 95 % interval, which is not corrected for the number of tests
    high: float
    p_value: float

    @property
    def sign(self) -> int:
        """1 or -1 if the difference is significant, else 0."""
        return 0 if self.p_value >= ALPHA else int(np.sign(self.difference))


def paired_test(differences: Floats, ratio: float) -> Paired:
    """Test differences (J,) of repetitions; if all are equal, nothing is significant.

    The variance of their mean is taken as ``(1 / J + ratio) s^2``. ``ratio`` is 0 for independent
    draws, and ``n_test / n_train`` for splits of one table, whose training sets overlap.
    """
    J, mean = len(differences), float(differences.mean())
    if J < 2:
        return Paired(mean, float("nan"), float("nan"), 1.0)
    if np.ptp(differences) == 0:  # few repetitions on few points may agree by chance
        return Paired(mean, mean, mean, 1.0)
    error = float(np.sqrt((1 / J + ratio) * differences.var(ddof=1)))
    half = float(stats.t.ppf(1 - ALPHA / 2, J - 1)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, J - 1))
    return Paired(mean, mean - half, mean + half, p_value)


def holm(p_values: Sequence[float]) -> Floats:
    """Correct p-values by Holm's method, which bounds the chance of any false alarm.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order])
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def rank_methods(costs: Floats) -> Floats:
    """Ranks (n_tables, n_methods): 1 for the lowest cost of a table; equal costs share a rank.

    >>> rank_methods(np.array([[0.1, 0.3, 0.3], [0.2, 0.1, 0.4]]))
    array([[1. , 2.5, 2.5],
           [2. , 1. , 3. ]])
    """
    rounded = np.round(np.asarray(costs, dtype=np.float64), DIGITS)
    return np.asarray(stats.rankdata(rounded, axis=1), dtype=np.float64)


def friedman_test(ranks: Floats) -> tuple[float, float]:
    """Test ranks (n_tables, n_methods) for a difference of any mean ranks: F and its p-value.

    F is the statistic of Iman and Davenport, from Friedman's chi2, which is corrected for ties.
    """
    N, k = ranks.shape
    ties = 0.0
    for row in ranks:
        sizes = np.unique(row, return_counts=True)[1].astype(np.float64)
        ties += float((sizes**3 - sizes).sum())
    share = 1.0 - ties / (N * (k**3 - k)) if k > 1 else 0.0
    if N < 2 or share <= 0:  # nothing to compare, or all methods are equal on all tables
        return 0.0, 1.0
    spread = float((ranks.mean(axis=0) ** 2).sum()) - k * (k + 1) ** 2 / 4
    chi2 = max(0.0, 12 * N / (k * (k + 1)) * spread / share)
    rest = N * (k - 1) - chi2
    F = float("inf") if rest <= 1e-12 * N * k else (N - 1) * chi2 / rest
    return F, float(stats.f.sf(F, k - 1, (k - 1) * (N - 1)))


def critical_difference(n_methods: int, n_tables: int) -> float:
    """Difference of mean ranks from which two methods differ significantly, by Nemenyi's test.

    >>> round(critical_difference(4, 14), 2)  # the example of Demsar (2006)
    1.25
    """
    q = float(stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[list[int]]:
    """Maximal sets of two or more methods whose mean ranks differ by less than ``difference``.

    They are runs of the methods in the order of their mean ranks; the best run comes first.

    >>> cliques([3.0, 1.0, 1.5, 4.2], difference=1.6)
    [[1, 2], [2, 0], [0, 3]]
    """
    order = np.argsort(mean_ranks, kind="stable").tolist()
    found: list[list[int]] = []
    last = 0  # end of the run before; a run that ends there too is a part of it
    for start, first in enumerate(order):
        end = start + 1
        while end < len(order) and mean_ranks[order[end]] - mean_ranks[first] < difference:
            end += 1
        if end - start > 1 and end > last:
            found.append(order[start:end])
        last = max(last, end)
    return found


def signed_rank_tests(costs: Floats, reference: int) -> Floats:
    """P-values (n_methods,) of Wilcoxon's signed-rank test against the reference, after Holm.

    The reference itself has 1.
    """
    rounded = np.round(costs, DIGITS)
    others = [j for j in range(costs.shape[1]) if j != reference]
    p_values = np.ones(costs.shape[1])
    gaps = (rounded[:, j] - rounded[:, reference] for j in others)
    p_values[others] = holm([signed_rank(gap) for gap in gaps])
    return p_values


def signed_rank(differences: Floats) -> float:
    """P-value of Wilcoxon's signed-rank test, two-sided and exact, also with ties and zeros.

    Of all ``2^n`` choices of signs it is the share whose sum of signed ranks is as far from 0.
    """
    ranks = np.rint(2 * _signed_ranks(differences)).astype(np.intp)  # twice: halves are ties
    sizes, total = np.abs(ranks[ranks != 0]), int(np.abs(ranks).sum())
    share = np.zeros(total + 1)  # of the choices, by the sum of the ranks with a plus
    share[0] = 1.0
    for size in sizes:
        share[size:] = (share[size:] + share[:-size]) / 2
        share[:size] /= 2
    distance = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, float(share[distance >= abs(int(ranks.sum()))].sum()))


def rank_lean(differences: Floats) -> float:
    """To which side the signed ranks lean, from -1 (all are negative) to 1 (all are positive).

    This is the direction of what :func:`signed_rank` tests; the mean may have another one.

    >>> differences = np.array([0.01, 0.02, 0.03, 0.04, -0.5])
    >>> rank_lean(differences), bool(differences.mean() < 0)
    (0.3333333333333333, True)
    """
    ranks = _signed_ranks(differences)
    total = float(np.abs(ranks).sum())
    return float(ranks.sum()) / total if total else 0.0


def p_words(p_value: float) -> str:
    """Write a p-value."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _signed_ranks(differences: Floats) -> Floats:
    """Ranks (n,) by size, with the signs of the differences; 0 where a difference is 0."""
    sizes = stats.rankdata(np.abs(differences))
    return np.asarray(sizes * np.sign(differences), dtype=np.float64)
