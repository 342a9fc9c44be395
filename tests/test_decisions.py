"""The cheapest decision by posteriors and prices, against brute force and known rules."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rejo.baselines.cutoffs import best_cutoffs
from rejo.datasets import (
    bayes_risk,
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    make_synthetic_4,
    posterior,
)
from rejo.decisions import decide, uniform_prices
from rejo.replication import costs_from_loss

amounts = st.floats(0, 10).map(lambda x: round(x, 3))


@st.composite
def posteriors(draw, K):
    rows = draw(st.lists(st.lists(st.floats(0, 1), min_size=K, max_size=K), min_size=1, max_size=8))
    p = np.array(rows) + 1e-9
    return p / p.sum(axis=1, keepdims=True)


@st.composite
def problems(draw, diagonal=False):
    """Posteriors (n, K) and prices (K, K + 1)."""
    K = draw(st.integers(2, 6))
    prices = np.array(draw(st.lists(amounts, min_size=K * (K + 1), max_size=K * (K + 1))))
    prices = prices.reshape(K, K + 1)
    if not diagonal:
        np.fill_diagonal(prices, 0.0)
    return draw(posteriors(K)), prices


@given(problems(diagonal=True))
def test_the_decision_is_the_cheapest_of_all(problem):
    p, prices = problem
    found = decide(p, prices)
    K = len(prices)
    for row, decision, forced, worth in zip(
        p, found.decision, found.forced, found.worth, strict=True
    ):
        costs = [sum(row[k] * prices[k, d] for k in range(K)) for d in range(K + 1)]
        assert costs[decision] == pytest.approx(min(costs), abs=1e-9)  # -1 is the last: the review
        assert costs[forced] == pytest.approx(min(costs[:-1]), abs=1e-9)
        assert worth == pytest.approx(min(costs[:-1]) - costs[-1], abs=1e-9)
    assert_array_equal(found.forced[found.decision >= 0], found.decision[found.decision >= 0])


@given(st.lists(problems(diagonal=True), min_size=1, max_size=4))
def test_prices_of_each_case_decide_case_by_case(several):
    K = len(several[0][1])
    pairs = [(row, prices) for p, prices in several if len(prices) == K for row in p]
    p, prices = (np.array(part) for part in zip(*pairs, strict=True))
    found = decide(p, prices)
    alone = [decide(row[None], L) for row, L in pairs]
    for name in found._fields:
        assert_allclose(getattr(found, name), [getattr(one, name)[0] for one in alone], atol=1e-12)


@given(problems(diagonal=True))
def test_the_same_prices_for_each_case_give_the_same_bits(problem):
    p, prices = problem
    each = decide(p, np.tile(prices, (len(p), 1, 1)))
    for one, other in zip(each, decide(p, prices), strict=True):
        assert_array_equal(one, other)


def test_a_case_without_a_price_is_reviewed():
    prices = np.array([[[0, 1, 0.2], [1, 0, 0.2]], [[0, np.nan, 0.2], [1, 0, 0.2]]])
    found = decide([[0.1, 0.9], [0.1, 0.9]], prices)
    assert_array_equal(found.decision, [1, -1])
    assert_array_equal(found.forced, [1, 1])
    assert np.isnan(found.worth[1])


@given(problems())
def test_the_two_likeliest_classes(problem):
    p, prices = problem
    found = decide(p, prices)
    assert (found.lower < found.upper).all()
    rows = np.arange(len(p))
    two = np.sort(np.column_stack([p[rows, found.lower], p[rows, found.upper]]), axis=1)
    assert_array_equal(two, np.sort(p, axis=1)[:, -2:])


@given(st.integers(2, 12).flatmap(posteriors), st.floats(0.01, 0.99))
def test_with_one_price_for_errors_it_is_chows_rule(p, reject_cost):
    found = decide(p, uniform_prices(p.shape[1], reject_cost))
    best = p.max(axis=1)
    clear = np.abs(best - (1 - reject_cost)) > 1e-9
    assert_array_equal((found.decision < 0)[clear], (best <= 1 - reject_cost)[clear])
    assert_allclose(p[np.arange(len(p)), found.forced], best)
    assert_allclose(found.worth, 1 - best - reject_cost, atol=1e-12)
    if reject_cost > 1 - 1 / p.shape[1] + 1e-9:  # a guess costs at most 1 - 1 / K
        assert (found.decision >= 0).all()


@given(posteriors(2), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.01, 10))
def test_two_classes_have_two_cut_offs(p, a, b, r):
    found = decide(p, [[0, a, r], [b, 0, r]])
    p1 = p[:, 1]
    if r < a * b / (a + b):
        wanted = np.where(p1 > 1 - r / a, 1, np.where(p1 < r / b, 0, -1))
        edges = [1 - r / a, r / b]
    else:
        wanted = np.where(p1 > a / (a + b), 1, 0)  # no review pays
        edges = [a / (a + b)]
    clear = np.all([np.abs(p1 - edge) > 1e-9 for edge in edges], axis=0)
    assert_array_equal(found.decision[clear], wanted[clear])


@given(problems(), st.floats(1e-6, 1e6))
def test_a_factor_changes_only_the_unit(problem, factor):
    p, prices = problem
    found, scaled = decide(p, prices), decide(p, factor * prices)
    assert_allclose(scaled.worth, factor * found.worth, rtol=1e-9, atol=1e-12 * factor)
    gaps = np.sort(p @ prices, axis=1)
    clear = gaps[:, 1] - gaps[:, 0] > 1e-9
    assert_array_equal(scaled.decision[clear], found.decision[clear])


@given(problems(), st.floats(-5, 5))
def test_a_cut_in_the_worth_is_another_price_of_a_review(problem, cut):
    p, prices = problem
    found = decide(p, prices)
    moved = prices.copy()
    moved[:, -1] += cut
    other = decide(p, moved)
    clear = np.abs(found.worth - cut) > 1e-9
    assert_array_equal((other.decision < 0)[clear], (found.worth >= cut)[clear])
    assert_array_equal(other.forced, found.forced)


def test_ties_go_to_the_review_and_then_to_the_likelier_class():
    p = [[0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.5, 0.5]]
    assert decide(p, uniform_prices(2, 0.2)).decision.tolist() == [-1, -1, 1, -1]
    assert decide(p, uniform_prices(2, 0.5)).decision.tolist() == [0, 1, 1, -1]
    third = decide([[0.3, 0.3, 0.4]], [[0, 4, 1, 9], [4, 0, 1, 9], [1.5, 1.5, 0, 9]])
    assert third.forced.tolist() == [2]
    level = decide([[0.25, 0.75]], [[0, 3, 9], [1, 0, 9]])  # both cost 0.75
    assert level.forced.tolist() == [1]


@given(problems(), st.data())
def test_a_case_without_posteriors_goes_to_the_review(problem, data):
    p, prices = np.array(problem[0]), problem[1]
    row = data.draw(st.integers(0, len(p) - 1))
    p[row, data.draw(st.integers(0, p.shape[1] - 1))] = np.nan
    found, before = decide(p, prices), decide(problem[0], prices)
    assert found.decision[row] == -1
    others = np.arange(len(p)) != row
    assert_array_equal(found.decision[others], before.decision[others])


# ---- the true posteriors of the synthetic problems -------------------------------------------

MAKE = {
    "synthetic_1": make_synthetic_1,
    "synthetic_2": make_synthetic_2,
    "synthetic_3": make_synthetic_3,
    "synthetic_4": make_synthetic_4,
}


@cache
def sample(problem):
    """Labelled points as indices (n,), drawn by the generator, and their true posteriors."""
    X, y = MAKE[problem](600_000, random_state=5)
    return np.unique(y, return_inverse=True)[1], posterior(problem, X)


def random_prices(K, seed):
    """Random prices, the highest of them 1, at which reviews pay."""
    rng = np.random.default_rng(seed)
    prices = rng.uniform(0.2, 1, (K, K + 1))
    np.fill_diagonal(prices, 0.0)
    prices[:, -1] = rng.uniform(0.05, 0.25, K)
    return prices / prices.max()


@pytest.mark.parametrize("reject_cost", [0.04, 0.2, 0.36])
@pytest.mark.parametrize("problem", MAKE)
def test_true_posteriors_reach_the_bayes_risk(problem, reject_cost):
    k, p = sample(problem)
    prices = uniform_prices(p.shape[1], reject_cost)
    cost = prices[k, decide(p, prices).decision].mean()
    assert abs(cost - bayes_risk(problem, reject_cost)) < 1e-3


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.check) for n in (2, 3, 4))]
)
@pytest.mark.parametrize("problem", MAKE)
def test_no_other_rule_costs_less_at_any_prices(problem, seed):
    """What the labels cost, against the lowest cost possible and against other rules."""
    k, p = sample(problem)
    K = p.shape[1]
    prices = random_prices(K, seed)
    cost = prices[k, decide(p, prices).decision].mean()
    # The least possible: at each point, the cheapest output by the posterior there.
    least = np.mean(np.min([p @ column for column in prices.T], axis=0))
    assert abs(cost - least) < 1e-3
    # The labels alone, without posteriors, choose no better rule of the same form.
    if K == 2:
        loss = prices[:, [0, 2, 1]]
        low, high = best_cutoffs(p[:, 1], k == 1, costs_from_loss(loss)[k])
        chosen = np.where(p[:, 1] > high, 1, np.where(p[:, 1] <= low, 0, -1))
        assert cost < prices[k, chosen].mean() + 1e-3
    rng = np.random.default_rng(seed)
    some = slice(0, 50_000)
    own = prices[k[some], decide(p[some], prices).decision]
    for _ in range(40):
        other = prices * rng.lognormal(sigma=rng.choice([0.1, 0.5]), size=prices.shape)
        difference = prices[k[some], decide(p[some], other).decision] - own
        assert difference.mean() > -3 * difference.std() / np.sqrt(len(own)) - 1e-12
