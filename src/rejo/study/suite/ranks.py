"""Comparing many methods on many tables: ranks, tests, and who cannot be told apart.

``costs`` are always of shape (n_tables, n_methods), lower is better, and a table counts once: its
splits are averaged before.

J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006), for
ranks, the Friedman test, the correction of Iman and Davenport, and Nemenyi's critical difference.
A. Benavoli, G. Corani and F. Mangili, "Should we really use post-hoc tests based on mean-ranks?",
JMLR 17 (2016), for signed-rank tests of pairs: whether two methods differ by their mean ranks
depends on the other methods in the comparison, by a signed-rank test it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from rejo._typing import Floats
from rejo.study.verdict import ALPHA, holm, paired_test

DIGITS = 10  # costs that agree in these are equal


class FriedmanTest(NamedTuple):
    """Whether all methods may have the same mean rank."""

    chi2: float  # Friedman's statistic, corrected for ties
    chi2_p: float
    F: float  # of Iman and Davenport, which is less conservative
    F_p: float


class Tallied(NamedTuple):
    """Tables on which a method costs significantly less than another, about the same, or more."""

    wins: int
    ties: int
    losses: int


def rank_methods(costs: Floats) -> Floats:
    """Ranks (n_tables, n_methods): 1 for the lowest cost of a table; equal costs share a rank.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.study.suite.ranks import rank_methods
    >>> rank_methods(np.array([[0.1, 0.3, 0.3], [0.2, 0.1, 0.4]]))
    array([[1. , 2.5, 2.5],
           [2. , 1. , 3. ]])
    """
    rounded = np.round(np.asarray(costs, dtype=np.float64), DIGITS)
    return np.asarray(stats.rankdata(rounded, axis=1), dtype=np.float64)


def friedman_test(ranks: Floats) -> FriedmanTest:
    """Test ranks (n_tables, n_methods) for a difference between the mean ranks of any methods.

    With ``N`` tables, ``k`` methods and mean ranks ``R_j``, without ties,

        ``chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4)``

    has about ``k - 1`` degrees of freedom.  Groups of ``t`` tied methods lower the variance of the
    ranks by the factor ``1 - sum (t^3 - t) / (N (k^3 - k))``.  The statistic of Iman and Davenport,
    ``F = (N - 1) chi2 / (N (k - 1) - chi2)``, has ``k - 1`` and ``(k - 1) (N - 1)`` degrees of
    freedom.
    """
    N, k = ranks.shape
    if N < 2 or k < 2:
        return FriedmanTest(float("nan"), 1.0, float("nan"), 1.0)
    ties = sum(
        float((size.astype(np.float64) ** 3 - size).sum())
        for size in (np.unique(row, return_counts=True)[1] for row in ranks)
    )
    share = 1.0 - ties / (N * (k**3 - k))
    if share <= 0:  # all methods are equal on all tables
        return FriedmanTest(0.0, 1.0, 0.0, 1.0)
    spread = float((ranks.mean(axis=0) ** 2).sum()) - k * (k + 1) ** 2 / 4
    chi2 = max(0.0, 12 * N / (k * (k + 1)) * spread / share)
    rest = N * (k - 1) - chi2
    F = float("inf") if rest <= 1e-12 * N * k else (N - 1) * chi2 / rest
    F_p = float(stats.f.sf(F, k - 1, (k - 1) * (N - 1)))
    return FriedmanTest(chi2, float(stats.chi2.sf(chi2, k - 1)), F, F_p)


def critical_difference(n_methods: int, n_tables: int, alpha: float = ALPHA) -> float:
    """Difference of mean ranks from which two methods differ significantly, by Nemenyi's test.

    ``q sqrt(k (k + 1) / (6 N))``, where ``q`` is the quantile of the studentized range of ``k``
    normal variables with known variance, divided by ``sqrt(2)``.

    Examples
    --------
    >>> from rejo.study.suite.ranks import critical_difference
    >>> round(critical_difference(4, 14), 2)  # the example of Demsar (2006)
    1.25
    """
    q = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[list[int]]:
    """Maximal sets of two or more methods whose mean ranks differ by less than ``difference``.

    They are runs of the methods in the order of their mean ranks; the best run comes first.

    Examples
    --------
    >>> from rejo.study.suite.ranks import cliques
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

    The differences of the tables are ranked by size; equal costs are split between both sides, as
    Demsar proposes.  The reference itself has 1.
    """
    rounded = np.round(costs, DIGITS)
    others = [j for j in range(costs.shape[1]) if j != reference]
    p_values = np.ones(costs.shape[1])
    if len(costs) > 1 and others:
        p_values[others] = holm([signed_rank(rounded[:, j] - rounded[:, reference])
                                 for j in others])  # fmt: skip
    return p_values


def signed_rank(differences: Floats) -> float:
    """P-value of Wilcoxon's signed-rank test, two-sided and exact, also with ties and zeros.

    It is the share of all ``2^n`` choices of signs whose sum of signed ranks is at least as far
    from 0.  Zeros have ranks, but no sign.
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

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.study.suite.ranks import rank_lean
    >>> differences = np.array([0.01, 0.02, 0.03, 0.04, -0.5])
    >>> rank_lean(differences), bool(differences.mean() < 0)
    (0.3333333333333333, True)
    """
    ranks = _signed_ranks(differences)
    total = float(np.abs(ranks).sum())
    return float(ranks.sum()) / total if total else 0.0


def _signed_ranks(differences: Floats) -> Floats:
    """Ranks (n,) by size, with the signs of the differences; 0 where a difference is 0."""
    sizes = stats.rankdata(np.abs(differences))
    return np.asarray(sizes * np.sign(differences), dtype=np.float64)


def tally_tables(tests: Iterable[tuple[Floats, float]], alpha: float = ALPHA) -> Tallied:
    """Count wins, ties and losses over tables.

    Each table gives the differences of its splits, method minus the other, and its
    ``n_test / n_train``.  A difference counts if the corrected resampled t-test of Nadeau and
    Bengio finds it at ``alpha``, without a correction for the number of tables.  Splits that all
    have the same difference are a tie: without a variance there is no test.
    """
    signs = []
    for differences, ratio in tests:
        found = paired_test(np.round(differences, DIGITS), ratio)
        signs.append(0 if found.p_value >= alpha else int(np.sign(found.difference)))
    return Tallied(signs.count(-1), signs.count(0), signs.count(1))
