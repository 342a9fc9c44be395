"""What is estimated from an audit: limits that hold in every week, whatever the order of cases."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from rejo.book import Timeline, audit
from rejo.book.audit import ABOVE, _price, begin_weights


def year(seed, *, weeks=12, weekly=150, share=0.1, errors=0.03, late=4, classes=2):
    """Decided cases of some weeks, of which few are wrong; and all errors, known or not."""
    rng = np.random.default_rng(seed)
    n = weeks * weekly
    week = np.repeat(np.arange(weeks), weekly)
    chance = rng.beta(1, 1 / errors - 1, n) * 0.5
    wrong = (rng.random(n) < 1.5 * chance * (1 + (week >= 8))).astype(float)
    probability = np.where(chance > errors, 1.5, 0.7) * share
    drawn = rng.random(n) < probability
    answered = np.where(drawn, week + 1.0, week + late)
    answered[answered >= weeks] = np.inf
    known = np.isfinite(answered)
    return Timeline(
        n_weeks=weeks, week=week, decided=np.ones(n, bool), own=np.ones(n, bool),
        forced=rng.integers(0, classes, n),
        chance=chance, cost=10 * chance, drawn=drawn, probability=probability, answered=answered,
        wrong=np.where(known, wrong, 0.0), paid=np.where(known, 10 * wrong, 0.0),
        novel=np.zeros(n, bool), truth=np.where(known, 0, -1), group=np.full(n, None), counts={},
    ), wrong  # fmt: skip


def taken(cases, rows):
    """The same cases in another order, or some of them."""
    names = [name for name, value in vars(cases).items() if np.shape(value) == cases.week.shape]
    names = set(names) - {"known", "reached"}
    return replace(cases, **{name: getattr(cases, name)[rows] for name in names})


@pytest.mark.parametrize("late", [4, np.inf])
def test_limits_hold_in_all_weeks(late):
    years, missed = 60, 0
    for seed in range(years):
        cases, wrong = year(seed, late=late)
        true = wrong.cumsum()[cases.week.searchsorted(np.arange(12), side="right") - 1]
        true = true[:-1] / (150 * np.arange(1, 12))  # audits of a week count in the next
        found = audit(cases)
        missed += bool(((true < found.low[1:]) | (true > found.high[1:])).any())
        assert (found.low <= found.high).all()
    assert missed <= 0.05 * years


def test_the_bet_is_fair_whatever_is_drawn():
    value, pi = np.array([1.0, 0.0, 1.0, 0.0, 0.6]), np.array([0.2, 0.3, 0.1, 1.0, 0.5])
    rest = value - np.array([0.3, 0.4, 0.0, 0.1, 0.9])
    for tilt in (0.07, -0.1):
        price, mean = _price(tilt * rest, pi), 0.0
        for drawn in product((0, 1), repeat=5):
            drawn = np.array(drawn)
            chance = np.prod(np.where(drawn, pi, 1 - pi))
            mean += chance * np.exp(tilt * rest.sum() - drawn @ price)
        assert mean == pytest.approx(1.0)


def test_the_upper_limit_is_where_the_mixed_bets_win():
    cases, _ = year(3, weeks=2, share=0.3, late=np.inf)
    found = audit(cases, powered=False)
    first = cases.week == 0
    pi, bad = cases.probability[first], (cases.drawn & (cases.wrong > 0))[first]
    tilts = -np.log1p(-pi.min() * -np.expm1(-ABOVE))
    begin = begin_weights(2).sum()  # without outcomes, all terms are the same

    def won(total):
        log = tilts * total - _price(tilts[:, None] * np.ones(bad.sum()), pi[bad]).sum(axis=1)
        return begin * np.exp(log).mean() - 1 / 0.025

    limit = brentq(won, 0, 200)
    assert limit < 150
    assert found.high[1] * 150 == pytest.approx(limit, rel=1e-6)
    assert found.high[1] * 150 >= limit - 1e-9  # on the safe side


def test_order_and_what_is_not_decided_change_nothing():
    cases, _ = year(5)
    rows = np.random.default_rng(0).permutation(len(cases.week))
    for name, values in audit(cases)._asdict().items():
        np.testing.assert_allclose(getattr(audit(taken(cases, rows)), name), values, rtol=1e-9)
    more = taken(cases, np.append(rows, rows[:100]))
    undecided = np.arange(len(more.week)) < len(rows)
    more = replace(more, decided=undecided, drawn=more.drawn & undecided)
    np.testing.assert_allclose(audit(more).high, audit(cases).high, rtol=1e-9)


def test_everything_known_and_nothing_known():
    cases, wrong = year(7, late=0)
    cases = replace(cases, answered=cases.week + 0.0, wrong=wrong)
    found = audit(cases)
    assert found.rate[-1] == found.low[-1] == found.high[-1] == pytest.approx(wrong.mean())
    found = audit(replace(cases, answered=np.full(len(wrong), np.inf)))
    assert np.isnan(found.rate).all()
    assert (found.low == 0).all()
    assert (found.high == 1).all()


def test_most_of_an_audit_must_be_answered():
    cases, _ = year(9, late=np.inf)
    first = np.flatnonzero(cases.drawn & (cases.week == 0))
    slow = cases.answered.copy()
    slow[first[: len(first) // 2]] = np.inf
    found = audit(replace(cases, answered=slow))
    assert found.n_cases[-1] == audit(cases).n_cases[-1] - 150


def test_costs_are_errors_at_their_price():
    cases, _ = year(11)
    errors, costs = audit(cases), audit(cases, of="paid", scale=10.0)
    np.testing.assert_allclose(costs.high[1:], 10 * errors.high[1:], rtol=1e-9)
    np.testing.assert_allclose(costs.rate[1:], 10 * errors.rate[1:], rtol=1e-9)


def test_the_chances_of_the_model_narrow_the_limits():
    ratio = []
    for seed in range(10):
        cases, _ = year(seed, errors=0.15, late=np.inf)
        with_, without = audit(cases), audit(cases, powered=False)
        ratio.append((with_.high - with_.low)[-1] / (without.high - without.low)[-1])
    assert np.mean(ratio) < 0.97
