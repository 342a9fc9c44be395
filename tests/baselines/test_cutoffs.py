"""The search for cut-offs against brute force over all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rejo.baselines.cutoffs import best_cutoffs, class_thresholds
from rejo.replication import replica_costs

COSTS = st.floats(0.01, 0.5)


@st.composite
def scored_points(draw):
    """Scores with ties, sides and weights."""
    n = draw(st.integers(1, 12))
    scores = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weight = draw(st.lists(st.floats(0.1, 5.0), min_size=n, max_size=n))
    return np.array(scores, dtype=float), np.array(positive), np.array(weight)


def places(values):
    """A cut-off in every gap between values, and beyond them."""
    distinct = np.unique(values)
    return np.concatenate([distinct - 0.25, [distinct[-1] + 0.25]])


def risk(scores, positive, weight, cutoffs, reject_cost):
    """Weighted ``w_r R + E``, from the decisions."""
    count = (scores[:, None] > cutoffs).sum(axis=1)
    loss = np.where(count == 1, reject_cost, np.where(positive, count == 0, count == 2))
    return float(loss @ weight)


@given(scored_points(), COSTS)
def test_two_cutoffs_have_the_least_risk_of_all_pairs(points, reject_cost):
    scores, positive, weight = points
    costs = replica_costs(2, reject_cost)[positive.astype(int)] * weight[:, None]
    cutoffs = best_cutoffs(scores, positive, costs)
    assert cutoffs[0] <= cutoffs[1]
    pairs = [np.array(pair) for pair in product(places(scores), repeat=2) if pair[0] <= pair[1]]
    best = min(risk(scores, positive, weight, pair, reject_cost) for pair in pairs)
    assert_allclose(risk(scores, positive, weight, cutoffs, reject_cost), best, atol=1e-9)


@given(scored_points(), st.data())
def test_cutoffs_stay_in_order_with_any_costs(points, data):
    scores, positive, _ = points
    cost = st.floats(0.0, 1.0)
    costs = np.array(data.draw(st.lists(st.tuples(cost, cost), min_size=12, max_size=12)))
    costs = costs[: len(scores)]

    def loss(cutoffs):
        return float((costs * ((scores[:, None] > cutoffs) != positive[:, None])).sum())

    cutoffs = best_cutoffs(scores, positive, costs)
    assert cutoffs[0] <= cutoffs[1]
    pairs = [np.array(pair) for pair in product(places(scores), repeat=2) if pair[0] <= pair[1]]
    assert_allclose(loss(cutoffs), min(map(loss, pairs)), atol=1e-9)


@given(scored_points(), COSTS)
def test_a_weight_of_two_is_the_point_twice(points, reject_cost):
    scores, positive, _ = points
    costs = replica_costs(2, reject_cost)[positive.astype(int)]
    twice = np.arange(len(scores)) % 2 + 1
    rows = np.repeat(np.arange(len(scores)), twice)
    assert_array_equal(
        best_cutoffs(scores, positive, costs * twice[:, None]),
        best_cutoffs(scores[rows], positive[rows], costs[rows]),
    )


def test_cutoffs_lie_midway_and_reject_no_more_than_they_must():
    scores = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    positive = np.array([False, True, False, True, True])
    costs = replica_costs(2, 0.2)[positive.astype(int)]
    assert_array_equal(best_cutoffs(scores, positive, costs), [0.5, 2.5])
    # At a cost of 0.5 a rejection never pays, and the reject region is empty.
    costs = replica_costs(2, 0.5)[positive.astype(int)]
    lower, upper = best_cutoffs(scores, positive, costs)
    assert lower == upper


@pytest.mark.parametrize("value", [1.0, 1e20, -3e15, 5e-324])
def test_neighbouring_floats_are_told_apart(value):
    scores = np.array([value, np.nextafter(value, np.inf)])
    positive = np.array([False, True])
    costs = replica_costs(2, 0.2)[[0, 1]]
    lower, upper = best_cutoffs(scores, positive, costs)
    assert scores[0] <= lower
    assert upper < scores[1]
    alone = best_cutoffs(scores[:1], positive[1:], costs[1:])
    assert (scores[0] > alone).all()


# ---- class-related thresholds ---------------------------------------------------------------


@st.composite
def posterior_points(draw):
    """Posteriors with ties, likeliest classes, errors, weights."""
    n = draw(st.integers(1, 9))
    p = draw(st.lists(st.sampled_from([0.4, 0.5, 0.6, 0.8, 1.0]), min_size=n, max_size=n))
    top = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    wrong = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weight = draw(st.lists(st.floats(0.1, 5.0), min_size=n, max_size=n))
    return np.array(p), np.array(top), np.array(wrong), np.array(weight)


def rates(points, thresholds):
    p, top, wrong, weight = points
    rejected = p < thresholds[top]
    share = weight / weight.sum()
    return share @ rejected, share @ (wrong & ~rejected)


@given(posterior_points(), COSTS)
def test_class_thresholds_minimise_the_risk(points, reject_cost):
    found = rates(points, class_thresholds(*points, 2, reject_cost))
    pairs = product(np.append(np.unique(points[0]), 2.0), repeat=2)
    best = min(np.dot(rates(points, np.array(pair)), [reject_cost, 1]) for pair in pairs)
    assert_allclose(np.dot(found, [reject_cost, 1]), best, atol=1e-9)


def test_a_class_without_points_keeps_the_threshold_of_chow():
    thresholds = class_thresholds(
        np.array([0.9]), np.array([0]), np.array([False]), np.ones(1), 2, 0.2
    )
    assert_allclose(thresholds, [0.0, 0.8])
