"""The statistics of the suite, against independent implementations and published numbers."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from rejo.study.suite.ranks import (
    cliques,
    critical_difference,
    friedman_test,
    rank_lean,
    rank_methods,
    signed_rank,
    signed_rank_tests,
    tally_tables,
)

# Table 6 of Demsar (2006): AUC of C4.5 without and with two parameters tuned (m, cf, both), on 14
# data sets. Its mean ranks are 3.143, 2.000, 2.893 and 1.964. It prints 0.975 twice for voting,
# but ranks them 2 and 3: they differ in digits that it does not show.
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_the_example_of_demsar():
    ranks = rank_methods(-DEMSAR)
    assert ranks.mean(axis=0) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)
    found = friedman_test(ranks)
    # He does not correct for ties: chi2 = 9.28 and F = 3.69. Sizes of the groups of equal values:
    # 4 on mushroom, and 2 on iris, lung cancer and primary tumor.
    share = 1 - (4**3 - 4 + 3 * (2**3 - 2)) / (14 * (4**3 - 4))
    assert found.chi2 * share == pytest.approx(9.28, abs=0.01)
    uncorrected = found.chi2 * share
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.01)
    # 2.569 is in his table 5 for four classifiers; 2.291 for a level of 10 %.
    unit = np.sqrt(4 * 5 / (6 * 14))
    assert critical_difference(4, 14) / unit == pytest.approx(2.569, abs=6e-4)
    assert critical_difference(4, 14, alpha=0.1) / unit == pytest.approx(2.291, abs=6e-4)
    # "C4.5+m and C4.5+m+cf differ from C4.5 at 10 %": the differences of ranks are above 1.12.
    groups = cliques(ranks.mean(axis=0).tolist(), critical_difference(4, 14, alpha=0.1))
    assert groups == [[3, 1, 2], [2, 0]]


@pytest.mark.parametrize("levels", [3, 1000])  # with many ties, and with hardly any
@pytest.mark.parametrize("shape", [(5, 3), (22, 12), (9, 28)])
def test_friedman_is_that_of_scipy(shape, levels):
    costs = np.random.default_rng(0).integers(levels, size=shape) / levels
    costs[:, 0] -= 0.3
    found = friedman_test(rank_methods(costs))
    theirs = stats.friedmanchisquare(*costs.T)
    assert found.chi2 == pytest.approx(theirs.statistic)
    assert found.chi2_p == pytest.approx(theirs.pvalue)


def test_iman_and_davenport_is_an_analysis_of_variance_of_ranks():
    """F of a two-way layout, methods against the interaction with tables, without ties."""
    ranks = rank_methods(np.random.default_rng(1).normal(size=(8, 5)) + np.arange(5) / 3)
    N, k = ranks.shape
    between = N * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / (k - 1)
    rest = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((k - 1) * (N - 1))
    _, _, F, F_p = friedman_test(ranks)
    assert pytest.approx(between / rest) == F
    assert F_p == pytest.approx(stats.f.sf(between / rest, k - 1, (k - 1) * (N - 1)))


def test_methods_that_are_all_equal_do_not_differ():
    found = friedman_test(rank_methods(np.ones((6, 4))))
    assert (found.chi2, found.chi2_p, found.F_p) == (0.0, 1.0, 1.0)
    assert signed_rank_tests(np.ones((6, 4)), 0).tolist() == [1.0] * 4


def test_a_perfect_order_has_the_smallest_p_value():
    chi2, _, F, F_p = friedman_test(rank_methods(np.tile(np.arange(4.0), (6, 1))))
    assert chi2 == pytest.approx(6 * 3)  # the largest possible: N (k - 1)
    assert np.isposinf(F)
    assert F_p == 0


def test_costs_that_differ_by_rounding_are_equal():
    ranks = rank_methods(np.array([[0.1 + 0.2, 0.3, 0.4]]))
    assert ranks.tolist() == [[1.5, 1.5, 3.0]]


def test_critical_differences_are_those_of_nemenyi():
    # Table 5 (a) of Demsar (2006): q of the level 5 % for 2 to 10 classifiers.
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(table, start=2):
        N = 10
        assert critical_difference(k, N) == pytest.approx(
            q * np.sqrt(k * (k + 1) / (6 * N)), rel=4e-4
        )
    assert critical_difference(5, 40) == pytest.approx(critical_difference(5, 10) / 2)


def test_cliques_are_maximal_and_cover_all_pairs_within_the_difference():
    rng = np.random.default_rng(3)
    for _ in range(50):
        ranks, limit = rng.uniform(1, 8, size=7), rng.uniform(0.2, 4)
        found = [set(clique) for clique in cliques(ranks.tolist(), limit)]
        near = {(i, j) for i, j in product(range(7), repeat=2) if abs(ranks[i] - ranks[j]) < limit}
        assert {(i, j) for c in found for i, j in product(c, repeat=2)} | {
            (i, i) for i in range(7)
        } == near
        assert not any(a < b for a, b in product(found, repeat=2))


def exact_signed_rank(differences):
    """P-value of the signed-rank test by all signs; zeros have ranks but no sign."""
    ranks = stats.rankdata(np.abs(differences)) * (differences != 0)
    observed = abs(ranks @ np.sign(differences))
    signs = np.array(list(product((-1, 1), repeat=len(ranks))))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


@pytest.mark.parametrize("shift", [0.0, 0.4, 1.5])
def test_the_signed_rank_test_counts_all_signs(shift):
    d = np.random.default_rng(4).normal(shift, size=11)
    assert signed_rank(d) == pytest.approx(exact_signed_rank(d))
    assert signed_rank(d) == pytest.approx(stats.wilcoxon(d, method="exact").pvalue)


@pytest.mark.parametrize("seed", range(4))
def test_the_signed_rank_test_is_exact_with_ties_and_zeros(seed):
    d = np.random.default_rng(seed).integers(-2, 4, size=9).astype(float)
    assert signed_rank(d) == pytest.approx(exact_signed_rank(d))
    assert signed_rank(np.array([1.0, 1.0, 1.0, 1.0])) == 2 / 2**4  # the least of four tables


def test_ranks_may_lean_to_another_side_than_the_mean():
    d = np.append(np.linspace(0.001, 0.017, 17), -5.0)
    assert d.mean() < 0
    assert rank_lean(d) == pytest.approx((17 * 18 / 2 - 18) / (18 * 19 / 2))
    assert rank_lean(-d) == -rank_lean(d)
    assert signed_rank(d) < 0.01
    assert rank_lean(np.zeros(3)) == 0


def test_signed_rank_tests_are_corrected_by_holm():
    rng = np.random.default_rng(5)
    costs = rng.normal(size=(12, 4)) + np.array([0.0, 0.2, 1.0, 2.0])
    found = signed_rank_tests(costs, 0)
    raw = np.array([exact_signed_rank(costs[:, j] - costs[:, 0]) for j in (1, 2, 3)])
    first, second, third = np.argsort(raw)
    expected = np.empty(3)
    expected[first] = 3 * raw[first]
    expected[second] = max(expected[first], 2 * raw[second])
    expected[third] = max(expected[second], raw[third])
    assert found[0] == 1
    assert found[1:] == pytest.approx(np.minimum(expected, 1))


def test_a_test_part_that_is_larger_makes_ties():
    d = np.array([0.01, 0.012, 0.008, 0.011, 0.02])
    assert tally_tables([(d, 0.5), (-d, 0.5), (0 * d, 0.5)]) == (1, 1, 1)
    assert tally_tables([(d, 50.0), (-d, 50.0)]) == (0, 2, 0)


def test_a_tally_is_that_of_the_corrected_test_by_hand():
    d = np.array([0.01, 0.012, 0.008, 0.011, 0.02])
    t = 2.7764451  # of 4 degrees of freedom, two-sided at 5 %
    # (1 / 5 + ratio) s^2 t^2 = mean^2 at the edge between a loss and a tie
    edge = (d.mean() / t) ** 2 / d.var(ddof=1) - 1 / 5
    assert tally_tables([(d, 0.99 * edge)]) == (0, 0, 1)
    assert tally_tables([(d, 1.01 * edge)]) == (0, 1, 0)


def test_equal_differences_are_no_proof():
    assert tally_tables([(np.array([0.01, 0.01]), 0.7), (np.array([-0.01]), 0.7)]) == (0, 2, 0)
