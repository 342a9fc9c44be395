"""The one count of decisions, against counting case by case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo.metrics import tally


def by_hand(decision, y, weight):
    """Weight of the cases decided rightly, decided wrongly, and rejected."""
    sums = [0.0, 0.0, 0.0]
    for d, k, w in zip(decision, y, weight, strict=True):
        sums[2 if d < 0 else int(d != k)] += w
    return sums


@st.composite
def cases(draw):
    n, n_points = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    column = st.lists(st.integers(-1, 2), min_size=n, max_size=n)
    decision = np.array([draw(column) for _ in range(n_points)]).T  # (n, n_points)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    fold = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return decision, y, weight, fold


@given(cases())
def test_counts_are_those_made_by_hand(case):
    decision, y, weight, fold = case
    found, split = tally(decision, y, weight), tally(decision, y, weight, fold)
    for j, column in enumerate(decision.T):
        np.testing.assert_allclose([part[j] for part in found], by_hand(column, y, weight))
        single, folds = tally(column, y, weight), tally(column, y, weight, fold)
        np.testing.assert_allclose(single, by_hand(column, y, weight))
        for f in range(fold.max() + 1):
            expected = by_hand(column[fold == f], y[fold == f], weight[fold == f])
            np.testing.assert_allclose([part[f] for part in folds], expected)
            np.testing.assert_allclose([part[f, j] for part in split], expected)


@given(cases())
def test_a_case_without_weight_counts_once(case):
    decision, y, _, fold = case
    for given_fold in (None, fold):
        plain = tally(decision, y, fold=given_fold)
        np.testing.assert_array_equal(plain, tally(decision, y, np.ones(len(y)), given_fold))
        assert plain.total.sum() == decision.size


def test_rates_follow_from_the_counts():
    found = tally(np.array([0, 1, -1, 1, 0]), np.array([0, 1, 1, 0, 0]))
    assert (found.right, found.wrong, found.rejected) == (3, 1, 1)
    assert found.rejection_rate == 0.2
    assert found.error_rate == 0.2
    assert found.accepted_error_rate == 0.25
    assert found.accepted_accuracy == 0.75
    assert found.risk(0.5) == pytest.approx(0.3)
