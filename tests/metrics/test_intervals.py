"""Intervals against SciPy's, the bootstrap against what it promises."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rejo import metrics

shares = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.95, 0.999])


@given(share=shares, confidence=levels)
def test_wilson_agrees_with_scipy(share, confidence):
    k, n = share
    reference = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    estimate, low, high = metrics.wilson_interval(k, n, confidence)
    assert estimate == k / n
    assert (low, high) == pytest.approx(tuple(reference), abs=1e-9)
    assert 0 <= low <= estimate <= high <= 1


@given(share=shares, confidence=levels)
def test_the_upper_bound_agrees_with_scipy(share, confidence):
    e, n = share
    bound = metrics.binomial_upper_bound(e, n, confidence)
    test = stats.binomtest(e, n, alternative="less")
    assert bound == pytest.approx(test.proportion_ci(confidence, method="exact").high)
    if e < n:  # so few errors would be this improbable
        assert stats.binom.cdf(e, n, bound) == pytest.approx(1 - confidence)


def test_without_cases_nothing_is_known():
    estimate, low, high = metrics.wilson_interval(0, 0)
    assert math.isnan(estimate)
    assert (low, high) == (0, 1)
    assert metrics.binomial_upper_bound(0, 0) == 1
    assert metrics.binomial_upper_bound(7, 7) == 1


@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 9))
def test_cases_worth_more_or_less_are_so_many_cases(part, n, times):
    part = min(part, n)
    once, many = metrics.wilson_interval(part, n), metrics.wilson_interval(times * part, times * n)
    worth_more = metrics.wilson_interval(part, n, n_effective=times * n)
    worth_less = metrics.wilson_interval(times * part, times * n, n_effective=float(n))
    np.testing.assert_allclose(worth_more, many, atol=1e-12)
    np.testing.assert_allclose(worth_less, once, atol=1e-12)


@pytest.mark.parametrize("n_effective", [0, -1, math.nan, math.inf])
def test_an_effective_number_of_cases_is_positive(n_effective):
    with pytest.raises(ValueError, match="n_effective"):
        metrics.wilson_interval(1, 2, n_effective=n_effective)


def test_rates_have_wilson_intervals():
    y_true, y_pred = [0] * 20, [0] * 12 + [1] * 3 + [-1] * 5
    found = metrics.rate_intervals(y_true, y_pred, reject_label=-1, confidence=0.9)
    assert found.rejection_rate == metrics.wilson_interval(5, 20, 0.9)
    assert found.error_rate == metrics.wilson_interval(3, 20, 0.9)
    assert found.accepted_accuracy == metrics.wilson_interval(12, 15, 0.9)
    for name, interval in found._asdict().items():
        assert interval.estimate == getattr(metrics, name)(y_true, y_pred, reject_label=-1)


def test_the_accuracy_of_nothing_is_unknown():
    found = metrics.rate_intervals([0, 1], [-1, -1], reject_label=-1)
    assert math.isnan(found.accepted_accuracy.estimate)
    assert found.accepted_accuracy[1:] == (0, 1)
    assert found.rejection_rate.high == 1


@pytest.mark.parametrize("bound", [metrics.wilson_interval, metrics.binomial_upper_bound])
@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((3, 2), ValueError, "must be between 0 and n_samples=2, got 3"),
        ((-1, 2), ValueError, "got -1"),
        ((0.5, 2), TypeError, "must be an integer, got 0.5"),
        ((True, 2), TypeError, "must be an integer, got True"),
        ((1, 2.0), TypeError, "n_samples"),
        ((1, 2, 95), ValueError, "confidence"),
        ((1, 2, 1), ValueError, "confidence"),
        ((1, 2, "95%"), TypeError, "confidence"),
    ],
)
def test_wrong_counts_are_named(bound, args, error, message):
    with pytest.raises(error, match=message):
        bound(*args)


def rate(y_true, y_pred, weight=None):
    return metrics.error_rate(y_true, y_pred, reject_label=-1, sample_weight=weight)


def test_every_resample_keeps_the_classes_and_the_rows():
    y_true = np.array(["b", "a", "b", "c", "b"], dtype=object)
    rows = np.column_stack([np.arange(5), y_true])
    seen = []

    def measure(labels, row):
        assert sorted(labels) == sorted(y_true)
        assert (labels == row[:, 1]).all()
        seen.append(tuple(row[:, 0]))
        return 0.0

    metrics.bootstrap_interval(measure, y_true, rows, n_resamples=50, random_state=0)
    assert len(seen) == 51  # once for the estimate
    assert len(set(seen)) > 20
    assert {row for resample in seen for row in resample} == set(range(5))


def test_the_bootstrap_of_a_share_is_binomial():
    rng = np.random.default_rng(0)
    y_true, y_pred = np.zeros(200, dtype=int), rng.integers(2, size=200)
    found = metrics.bootstrap_interval(
        rate, y_true, y_pred, n_resamples=4000, confidence=0.9, random_state=0
    )
    assert found.estimate == y_pred.mean()
    limits = stats.binom.ppf([0.05, 0.95], 200, y_pred.mean()) / 200
    assert found[1:] == pytest.approx(tuple(limits), abs=0.0051)  # a case more or less


def test_the_classes_vary_only_within_themselves():
    """Every point of class 0 is wrong, none of class 1: the rate is the share of class 0."""
    y_true, y_pred = [0] * 3 + [1] * 7, [1] * 10
    assert metrics.bootstrap_interval(rate, y_true, y_pred, n_resamples=20) == (0.3, 0.3, 0.3)


@pytest.mark.parametrize("source", [int, np.random.default_rng, np.random.RandomState])
def test_the_random_state_fixes_the_interval(source):
    y_true, y_pred, weight = [0, 0, 0, 1, 1, 1], [0, 1, -1, 1, 0, 1], [1, 2, 3, 1, 2, 3]
    first, second = (
        metrics.bootstrap_interval(
            rate, y_true, y_pred, weight, n_resamples=50, random_state=source(3)
        )
        for _ in range(2)
    )
    assert first == second
    assert first.low < first.estimate < first.high


def test_lists_and_series_reach_the_measure_as_they_are():
    def measure(y_true, y_pred):
        return metrics.rejection_rate(y_true, y_pred, reject_label="?")

    y_true, y_pred = [1, 2, 1, 2], [1, "?", 2, "?"]
    given_ = {"n_resamples": 5, "random_state": 0}
    listed = metrics.bootstrap_interval(measure, y_true, y_pred, **given_)
    assert listed.estimate == 0.5
    framed = metrics.bootstrap_interval(
        measure, pd.Series(y_true, index=[5, 6, 7, 8]), pd.Series(y_pred), **given_
    )
    assert framed == listed


def test_a_curve_on_a_grid_has_a_band():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(size=60)
    y_true = rng.integers(2, size=60)
    y_pred = np.where(rng.uniform(size=60) < confidence, y_true, 1 - y_true)
    grid = np.linspace(0, 1, 5)

    def errors(*points):
        curve = metrics.risk_coverage_curve(*points, risk="overall")
        return np.interp(grid, curve.coverage, curve.risk)

    band = metrics.bootstrap_interval(
        errors, y_true, y_pred, confidence, n_resamples=100, random_state=0
    )
    assert band.estimate.shape == band.low.shape == band.high.shape == grid.shape
    assert band.high[0] == 0  # nothing accepted, nothing wrong
    assert (band.low <= band.estimate).all()
    assert (band.estimate <= band.high).all()

    with pytest.raises(ValueError, match="measure"):
        metrics.bootstrap_interval(
            lambda *points: metrics.risk_coverage_curve(*points).risk, y_true, y_pred, confidence
        )


def test_a_measure_without_a_value_has_no_limits():
    def accuracy(y_true, y_pred):
        return metrics.accepted_accuracy(y_true, y_pred, reject_label=-1)

    found = metrics.bootstrap_interval(accuracy, [0, 0], [0, -1], n_resamples=50, random_state=0)
    assert found.estimate == 1
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    found = metrics.bootstrap_interval(lambda y: math.inf, [0, 0], n_resamples=5)
    assert math.isnan(found.high)


def test_wrong_arguments_of_the_bootstrap_are_named():
    with pytest.raises(ValueError, match="arrays"):
        metrics.bootstrap_interval(rate, [0, 1], [0, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="n_resamples"):
        metrics.bootstrap_interval(rate, [0, 1], [0, 1], n_resamples=0)
    with pytest.raises(ValueError, match="confidence"):
        metrics.bootstrap_interval(rate, [0, 1], [0, 1], confidence=0)
