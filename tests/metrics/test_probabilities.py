"""Log loss against scikit-learn's, reliability tables against counts by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as theirs
from sklearn.calibration import calibration_curve

from rejo.metrics import log_loss, reliability_table, wilson_interval

CLASSES = ["low", "middle", "high"]


def draw(n, seed=0, K=3):
    """Points with true posteriors, and their classes."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), size=n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), p


@st.composite
def cases(draw, weighted=True):
    """Classes, posteriors with many ties and weights of a few points."""
    n, K = draw(st.integers(1, 30)), draw(st.integers(2, 4))
    y = draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n))
    votes = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=K, max_size=K), min_size=n, max_size=n)
    )
    p = np.array(votes, dtype=float) + 1e-3
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return np.array(y), p / p.sum(axis=1, keepdims=True), np.array(weight)


@given(cases())
def test_log_loss_agrees_with_scikit_learn(drawn):
    y, p, weight = drawn
    classes = np.arange(p.shape[1])
    ours = log_loss(y, p, classes=classes, sample_weight=weight)
    assert ours == pytest.approx(theirs.log_loss(y, p, labels=classes, sample_weight=weight))


def test_the_columns_are_those_of_the_classes():
    y, p = draw(50)
    names = np.array(CLASSES)[y]
    expected = -np.log(p[np.arange(50), y]).mean()
    assert log_loss(names, p, classes=CLASSES) == pytest.approx(expected)
    assert log_loss(names, p[:, ::-1], classes=CLASSES[::-1]) == pytest.approx(expected)
    assert log_loss(names, p[:, [2, 0, 1]]) == pytest.approx(expected)  # sorted by name
    assert log_loss([0, 1], [0.2, 0.7]) == pytest.approx(-np.log([0.8, 0.7]).mean())


def test_the_impossible_costs_much_but_not_everything():
    assert log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]]) == pytest.approx(
        theirs.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    )
    assert log_loss([0, 1], [[1.0, 0.0], [0.0, 1.0]]) == 0.0


@given(cases(), st.integers(1, 5), st.sampled_from(["quantile", "width"]))
def test_a_weight_of_two_is_the_point_twice(drawn, n_bins, bins):
    y, p, weight = drawn
    how = {"classes": np.arange(p.shape[1]), "n_bins": n_bins, "bins": bins}
    weighted = reliability_table(y, p, sample_weight=weight, **how)
    repeated = reliability_table(np.repeat(y, weight), np.repeat(p, weight, axis=0), **how)
    for name in ("n_points", "predicted", "observed", "error"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-12)
    assert (repeated.high - repeated.low <= weighted.high - weighted.low + 1e-12).all()


@given(cases(), st.integers(1, 5), st.sampled_from(["quantile", "width"]))
def test_every_point_is_in_one_bin(drawn, n_bins, bins):
    y, p, _ = drawn
    table = reliability_table(y, p, classes=np.arange(p.shape[1]), n_bins=n_bins, bins=bins)
    likeliest = p.argmax(axis=1)
    assert table.n_points.sum() == len(y)
    assert (table.n_points > 0).all()
    assert len(table.n_points) <= n_bins
    assert table.n_points @ table.observed == pytest.approx((likeliest == y).sum())
    assert table.n_points @ table.predicted == pytest.approx(p.max(axis=1).sum())
    assert (np.diff(table.predicted) > 0).all()
    assert (table.low <= table.observed).all()
    assert (table.observed <= table.high).all()


@pytest.mark.parametrize(("bins", "strategy"), [("quantile", "quantile"), ("width", "uniform")])
def test_bins_agree_with_scikit_learn(bins, strategy):
    y, p = draw(1000, K=2)
    table = reliability_table(y, p, label=1, bins=bins)
    observed, predicted = calibration_curve(y, p[:, 1], n_bins=10, strategy=strategy)
    assert_allclose(table.observed, observed, atol=0.02)  # a point at an edge may be in the next
    assert_allclose(table.predicted, predicted, atol=0.02)
    limits = [wilson_interval(round(k), int(n)) for k, n in zip(
        table.n_points * table.observed, table.n_points, strict=True)]  # fmt: skip
    assert_allclose(table.low, [limit.low for limit in limits])
    assert_allclose(table.high, [limit.high for limit in limits])


@pytest.mark.parametrize("label", [None, "low", "high"])
def test_true_posteriors_are_reliable(label):
    y, p = draw(20_000)
    names = np.array(CLASSES)[y]
    table = reliability_table(names, p, classes=CLASSES, label=label)
    assert table.error < 0.02
    assert ((table.low < table.predicted) & (table.predicted < table.high)).sum() >= 8
    sharper = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert reliability_table(names, sharper, classes=CLASSES, label=label).error > 0.1


def test_equal_posteriors_share_a_bin():
    table = reliability_table([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.9], label=1)
    assert_array_equal(table.n_points, [3, 1])
    assert_allclose(table.observed, [2 / 3, 1])


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [[0.5, 0.5]], {}, r"shape \(2, n_classes\)"),
        ([0, 1], [[0.5, 0.6], [1, 0]], {}, "row 0 adds up to 1.1"),
        ([0, 1], [[1.5, -0.5], [1, 0]], {}, "between 0 and 1"),
        ([0, 1], [[np.nan, 1], [1, 0]], {}, "between 0 and 1"),
        ([0, 0], [[0.5, 0.5], [1, 0]], {}, "classes=model.classes_"),
        ([0, 2], [[0.5, 0.5], [1, 0]], {"classes": [0, 1]}, "contains 2, which is not one of"),
        ([0, 1], [[0.5, 0.5], [1, 0]], {"classes": [0, 0]}, "distinct"),
    ],
)
def test_what_is_not_a_posterior_is_refused(y, p, options, message):
    for measure in (log_loss, reliability_table):
        with pytest.raises(ValueError, match=message):
            measure(y, p, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": 7}, "label"),
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2.5}, "n_bins"),
        ({"bins": "both"}, "bins"),
        ({"confidence": 1}, "confidence"),
    ],
)
def test_options_of_the_table_are_checked(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        reliability_table([0, 1], [0.2, 0.7], **options)
