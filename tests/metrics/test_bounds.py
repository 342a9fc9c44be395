"""Bounds against brute force over all outcomes, and against what they promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rejo import metrics

PRICES = {  # losses, and how often they occur
    "errors alone": ([0, 1], [0.97, 0.03]),
    "reviews and errors": ([0, 0.2, 1], [0.78, 0.2, 0.02]),
    "one in fifty": ([0, 0.01, 0.02, 1], [0.8, 0.18, 0.015, 0.005]),
    "four classes": ([0, 0.1, 0.2, 0.4, 0.7, 1], [0.6, 0.2, 0.08, 0.06, 0.04, 0.02]),
}


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=20),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
    st.floats(0.001, 0.6),
)
def test_bounds_and_p_values_of_arrays(counts, confidence, limit):
    n = np.array([max(pair) for pair in counts])
    e = np.array([min(pair) for pair in counts])
    bounds = metrics.binomial_upper_bounds(e, n, confidence)
    each = [
        metrics.binomial_upper_bound(int(a), int(b), confidence) for a, b in zip(e, n, strict=True)
    ]
    assert bounds.tolist() == each
    p = metrics.binomial_p_values(e, n, limit)
    np.testing.assert_allclose(p, np.where(n > 0, stats.binom.cdf(e, n, limit), 1.0), atol=1e-12)
    clear = np.abs(p - (1 - confidence)) > 1e-9
    assert ((bounds <= limit) == (p <= 1 - confidence))[clear].all()


@given(st.floats(0.0005, 0.9), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_the_fewest_cases_that_can_prove_a_limit(limit, confidence):
    n = metrics.cases_needed(limit, confidence)
    assert metrics.binomial_upper_bound(0, n, confidence) <= limit + 1e-9
    if n > 1:
        assert metrics.binomial_upper_bound(0, n - 1, confidence) > limit - 1e-9


def test_the_fewest_cases_of_known_limits():
    assert metrics.cases_needed(0.02, 0.95) == 149
    assert metrics.cases_needed(0.01, 0.95) == 299
    assert metrics.cases_needed(0.5, 0.75) == 2
    for limit in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="limit"):
            metrics.cases_needed(limit)


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.3, 1.0)])
def test_the_mean_is_above_its_bound_in_at_most_delta_of_all_outcomes(values, delta):
    n = 12 if len(values) == 2 else 8
    outcomes = np.array(list(itertools.product(range(len(values)), repeat=n))).T
    losses = np.array(values)[outcomes]
    bound = metrics.mean_upper_bound(losses, 1 - delta)
    assert (bound >= losses.mean(axis=0) - 1e-9).all()
    worst = 0.0
    for p in np.linspace(0.02, 0.98, 25):
        shares = [1 - p, p] if len(values) == 2 else [1 - p, p / 2, p / 2]
        probability = np.array(shares)[outcomes].prod(axis=0)
        assert probability.sum() == pytest.approx(1)
        worst = max(worst, probability[bound < np.dot(shares, values)].sum())
    assert 0 < worst <= delta


@pytest.mark.parametrize("name", PRICES)
def test_simulated_bounds_of_costs_hold_and_are_useful(name):
    values, shares = map(np.array, PRICES[name])
    n, n_sets, delta = 400, 1000, 0.1
    x = np.random.default_rng(0).choice(values, p=shares, size=(n, n_sets))
    mean, sd = shares @ values, math.sqrt(shares @ values**2 - (shares @ values) ** 2)
    bound = metrics.mean_upper_bound(x, 1 - delta)
    broken = np.mean(bound < mean)
    assert broken <= delta + 3 * math.sqrt(delta * (1 - delta) / n_sets)
    assert np.mean(x.mean(axis=0) < mean) > 0.3  # the estimate is no bound
    assert np.median(bound) - mean < 6 * sd / math.sqrt(n) + 4 / n


@given(st.integers(1, 60), st.floats(-5, 5), st.floats(0.1, 1000), st.integers(0, 2**31 - 1))
def test_bounds_of_the_mean_follow_the_scale(n, low, width, seed):
    x = np.random.default_rng(seed).uniform(size=(n, 3))
    bound = metrics.mean_upper_bound(x, 0.9)
    scaled = metrics.mean_upper_bound(low + width * x, 0.9, low, low + width)
    np.testing.assert_allclose(scaled, low + width * bound, rtol=1e-6, atol=1e-6 * width)
    alone = [metrics.mean_upper_bound(column, 0.9) for column in x.T]
    np.testing.assert_allclose(bound, alone)
    assert (bound <= 1).all()


def test_a_mean_without_cases_may_be_anything():
    assert metrics.mean_upper_bound([], 0.95, 0, 40) == 40
    assert metrics.mean_upper_bound(np.empty((0, 3))).tolist() == [1, 1, 1]
    assert metrics.mean_upper_bound([40.0] * 9, 0.95, 0, 40) == 40
    assert 0 < metrics.mean_upper_bound([0.0] * 300) < 0.011


@pytest.mark.parametrize(
    ("losses", "options", "word"),
    [
        ([0.5, 1.5], {}, "between"),
        ([0.5, math.nan], {}, "between"),
        ([0.5], {"low": 1, "high": 1}, "low"),
        ([0.5], {"high": math.inf}, "finite"),
        ([[[0.5]]], {}, "dimensions"),
        ([0.5], {"confidence": 1}, "confidence"),
    ],
)
def test_losses_out_of_range_are_refused(losses, options, word):
    with pytest.raises(ValueError, match=word):
        metrics.mean_upper_bound(losses, **options)
