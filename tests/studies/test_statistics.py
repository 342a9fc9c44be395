"""The statistics of both studies, against independent implementations and published numbers."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from studies.statistics import (
    cliques,
    critical_difference,
    friedman_test,
    holm,
    paired_test,
    rank_lean,
    rank_methods,
    signed_rank,
    signed_rank_tests,
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


def chi2_of(F, shape):
    """Friedman's statistic, from that of Iman and Davenport."""
    N, k = shape
    return N * (k - 1) * F / (N - 1 + F)


def test_the_example_of_demsar():
    ranks = rank_methods(-DEMSAR)
    assert ranks.mean(axis=0) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)
    # He does not correct for ties: chi2 = 9.28 and F = 3.69. Sizes of the groups of equal values:
    # 4 on mushroom, and 2 on iris, lung cancer and primary tumor.
    share = 1 - (4**3 - 4 + 3 * (2**3 - 2)) / (14 * (4**3 - 4))
    uncorrected = chi2_of(friedman_test(ranks)[0], ranks.shape) * share
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.01)
    unit = np.sqrt(4 * 5 / (6 * 14))
    # "C4.5+m and C4.5+m+cf differ from C4.5 at 10 %", where q is 2.291.
    assert cliques(ranks.mean(axis=0).tolist(), 2.291 * unit) == [[3, 1, 2], [2, 0]]


def test_critical_differences_are_those_of_nemenyi():
    # Table 5 (a) of Demsar (2006): q of the level 5 % for 2 to 10 classifiers.
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(table, start=2):
        found = critical_difference(k, 10)
        assert found == pytest.approx(q * np.sqrt(k * (k + 1) / 60), rel=4e-4)


@pytest.mark.parametrize("levels", [3, 1000])  # with many ties, and with hardly any
@pytest.mark.parametrize("shape", [(5, 3), (22, 12), (9, 28)])
def test_friedman_is_that_of_scipy(shape, levels):
    costs = np.random.default_rng(0).integers(levels, size=shape) / levels
    costs[:, 0] -= 0.3
    F, p = friedman_test(rank_methods(costs))
    assert chi2_of(F, shape) == pytest.approx(stats.friedmanchisquare(*costs.T).statistic)
    N, k = shape
    assert p == pytest.approx(stats.f.sf(F, k - 1, (k - 1) * (N - 1)))


def test_iman_and_davenport_is_an_analysis_of_variance_of_ranks():
    """F of a two-way layout, methods against the interaction with tables, without ties."""
    ranks = rank_methods(np.random.default_rng(1).normal(size=(8, 5)) + np.arange(5) / 3)
    N, k = ranks.shape
    between = N * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / (k - 1)
    rest = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((k - 1) * (N - 1))
    assert friedman_test(ranks)[0] == pytest.approx(between / rest)


def test_equal_methods_and_a_perfect_order():
    assert friedman_test(rank_methods(np.ones((6, 4)))) == (0.0, 1.0)
    assert signed_rank_tests(np.ones((6, 4)), 0).tolist() == [1.0] * 4
    assert friedman_test(rank_methods(np.tile(np.arange(4.0), (6, 1)))) == (np.inf, 0.0)
    assert rank_methods(np.array([[0.1 + 0.2, 0.3, 0.4]])).tolist() == [[1.5, 1.5, 3.0]]


def test_cliques_are_maximal_and_cover_all_pairs_within_the_difference():
    rng = np.random.default_rng(3)
    for _ in range(50):
        ranks, limit = rng.uniform(1, 8, size=7), rng.uniform(0.2, 4)
        found = [set(clique) for clique in cliques(ranks.tolist(), limit)]
        pairs = {(i, j) for i, j in product(range(7), repeat=2) if i != j}
        near = {(i, j) for i, j in pairs if abs(ranks[i] - ranks[j]) < limit}
        assert {(i, j) for c in found for i, j in product(c, repeat=2) if i != j} == near
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
    tied = np.random.default_rng(5).integers(-2, 4, size=9).astype(float)
    assert signed_rank(tied) == pytest.approx(exact_signed_rank(tied))


def test_ranks_may_lean_to_another_side_than_the_mean():
    d = np.append(np.linspace(0.001, 0.017, 17), -5.0)
    assert d.mean() < 0
    assert rank_lean(d) == pytest.approx((17 * 18 / 2 - 18) / (18 * 19 / 2))
    assert rank_lean(-d) == -rank_lean(d)
    assert rank_lean(np.zeros(3)) == 0


def test_signed_rank_tests_are_corrected_by_holm():
    costs = np.random.default_rng(5).normal(size=(12, 4)) + np.array([0.0, 0.2, 1.0, 2.0])
    found = signed_rank_tests(costs, 0)
    raw = [exact_signed_rank(costs[:, j] - costs[:, 0]) for j in (1, 2, 3)]
    assert found == pytest.approx([1, *holm(raw)])


def test_holm_is_the_step_down_correction():
    # By hand: 4 x 0.001, 3 x 0.012, 2 x 0.04, 1 x 0.2, made monotone.
    np.testing.assert_allclose(holm([0.001, 0.2, 0.012, 0.04]), [0.004, 0.2, 0.036, 0.08])
    rng = np.random.default_rng(0)
    alarms = [(holm(rng.uniform(size=20)) < 0.05).any() for _ in range(2000)]
    assert np.mean(alarms) < 0.065


def test_a_paired_test_is_the_t_test_and_for_splits_the_corrected_one():
    d = np.array([0.01, 0.012, 0.008, 0.011, 0.02])
    theirs = stats.ttest_1samp(d, 0)
    found = paired_test(d, 0.0)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found[1:3] == pytest.approx(theirs.confidence_interval(0.95))
    assert (found.sign, paired_test(-d, 0.0).sign) == (1, -1)
    t = 2.7764451  # of 4 degrees of freedom, two-sided at 5 %
    # (1 / 5 + ratio) s^2 t^2 = mean^2 at the edge of significance
    edge = (d.mean() / t) ** 2 / d.var(ddof=1) - 1 / 5
    assert (paired_test(d, 0.99 * edge).sign, paired_test(d, 1.01 * edge).sign) == (1, 0)
    assert paired_test(np.array([0.01, 0.01]), 0.7).p_value == 1  # equal differences prove nothing
    assert paired_test(np.array([0.01]), 0.7).p_value == 1
