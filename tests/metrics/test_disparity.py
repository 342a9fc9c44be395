"""Accuracy of the decided cases by group: against loops, and with false alarms counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejo.metrics import accuracy_gap, disparity_curve, wilson_interval


def draw(n, n_groups, seed, *, decimals=2):
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    sureness = rng.random(n).round(decimals)  # with ties
    wrong = rng.random(n) < 0.1 + 0.2 * (1 - sureness)
    return np.zeros(n, dtype=int), wrong.astype(int), sureness, group


@given(st.integers(2, 300), st.integers(1, 5), st.integers(0, 99), st.booleans())
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_a_loop(n, n_groups, seed, some_always):
    y, pred, sureness, group = draw(n, n_groups, seed)
    always = np.random.default_rng(seed).random(n) < 0.1 if some_always else None
    curve = disparity_curve(y, pred, sureness, group, reviewed=always, min_cases=5)
    for s, threshold in enumerate(curve.threshold):
        out = sureness < threshold
        if always is not None:
            out |= always
        assert curve.share[s] == pytest.approx(out.mean())
        for g, name in enumerate(curve.groups):
            decided = ~out & (group == name)
            assert curve.n_decided[s, g] == decided.sum()
            assert curve.reviewed[s, g] == pytest.approx(out[group == name].mean())
            right = int((pred[decided] == 0).sum())
            expected = wilson_interval(right, int(decided.sum()))
            found = curve.accuracy[s, g], curve.low[s, g], curve.high[s, g]
            np.testing.assert_allclose(found, expected)
        judged = curve.n_decided[s] >= 5
        if judged.sum() >= 2:
            accuracy = curve.accuracy[s, judged]
            assert curve.gap[s] == pytest.approx(accuracy.max() - accuracy.min())
            assert curve.gap_low[s] <= curve.gap[s] <= curve.gap_high[s]
            b, w = curve.best[s], curve.worst[s]
            all_cases = [(pred[group == curve.groups[g]] == 0).mean() for g in (b, w)]
            assert curve.change[s] == pytest.approx(curve.gap[s] - (all_cases[0] - all_cases[1]))
        else:
            assert curve.best[s] == curve.worst[s] == -1
            assert np.isnan([curve.gap[s], curve.change[s]]).all()


def test_shares_are_the_closest_that_ties_allow():
    y, pred, _, group = draw(100, 2, 0)
    sureness = np.repeat([0.1, 0.2, 0.3, 0.4], 25)
    curve = disparity_curve(y, pred, sureness, group, shares=[0, 0.2, 0.3, 0.6, 1])
    np.testing.assert_array_equal(curve.share, [0, 0.25, 0.5, 1])
    np.testing.assert_array_equal(curve.threshold, [0.1, 0.2, 0.3, np.inf])
    assert np.isnan(curve.accuracy[-1]).all()
    assert np.isnan(curve.overall[-1])


def test_the_variance_of_the_change_is_that_of_the_bootstrap():
    n, r, w, f = 2000, 600, 80, 260
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n, np.array([n - r - w, w, f - w, r - (f - w)]) / n, size=20_000)
    decided_right, wrong, wrong_reviewed, _ = draws.T
    change = (wrong + wrong_reviewed) / n - wrong / (decided_right + wrong)
    found = accuracy_gap([n, n], [r, r], [w, w], [f, f])
    assert found.change.estimate == 0
    assert found.change.high / 1.96 == pytest.approx(np.sqrt(2 * change.var()), rel=0.03)


@pytest.mark.parametrize("n_groups", [2, 5])
def test_groups_that_are_alike_seldom_raise_an_alarm(n_groups):
    alarms = gaps = 0
    for seed in range(300):
        curve = disparity_curve(*draw(120 * n_groups, n_groups, seed, decimals=9), shares=[0.3])
        alarms += (curve.change_low[0] > 0) + (curve.change_high[0] < 0)
        gaps += curve.gap_low[0] > 0
    limit = 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95)
    assert alarms <= limit
    assert gaps <= limit


def test_reviews_that_widen_and_narrow_a_gap_are_found():
    rng = np.random.default_rng(0)
    n = 6000
    group, sureness = np.repeat(["a", "b"], n // 2), rng.random(n)
    for words in ("widen", "narrow"):
        # Of "b", the sure decisions are wrong more often; or, where the gap narrows, the doubtful.
        chance = np.where(
            group == "a", 0.05, 0.3 * (sureness if words == "widen" else 1 - sureness)
        )
        pred = (rng.random(n) < chance).astype(int)
        curve = disparity_curve(np.zeros(n, dtype=int), pred, sureness, group)
        assert f"reviews {words} the gap" in curve.words(0.5)
        s = int(np.abs(curve.share - 0.5).argmin())
        assert (curve.change_low[s] > 0) == (words == "widen")
        assert (curve.change_high[s] < 0) == (words == "narrow")
        assert curve.change[0] == 0
        assert "no change beyond chance" in curve.words(0)


def test_a_small_group_is_in_the_table_but_not_in_the_gap():
    y, pred, sureness, group = draw(400, 2, 3)
    group[:20], pred[:20] = 7, 1  # all of them wrong
    curve = disparity_curve(y, pred, sureness, group, shares=[0, 0.3])
    assert curve.groups.tolist()[2] == 7
    assert (curve.n_decided[0] < curve.min_cases).tolist() == [False, False, True]
    assert curve.accuracy[0, 2] == 0
    assert curve.gap[0] < 0.3
    alone = disparity_curve(y, pred, sureness, np.zeros(400), shares=[0.3])
    assert "fewer than two groups have 30 decided cases" in alone.words(0.3)


def test_fewer_independent_cases_make_wider_intervals():
    counts = [500, 400, 300], [100, 90, 80], [5, 40, 20], [40, 80, 50]
    full, half = accuracy_gap(*counts), accuracy_gap(*counts, worth=0.5)
    assert full.gap.estimate == half.gap.estimate
    assert half.gap.low < full.gap.low
    assert half.gap.high > full.gap.high
    assert half.change.high - half.change.low == pytest.approx(
        np.sqrt(2) * (full.change.high - full.change.low)
    )


def test_labels_of_groups():
    y, pred, sureness, _ = draw(4, 1, 0)
    assert disparity_curve(y, pred, sureness, ["b", "a", "b", "a"]).groups.tolist() == ["a", "b"]
    mixed = disparity_curve(y, pred, sureness, ["b", 1, "b", 1]).groups
    assert mixed.tolist() == [1, "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": [0, 1]}, "group"),
        ({"group": [np.nan] * 100}, "group"),
        ({"sureness": [1.0]}, "sureness"),
        ({"sureness": [np.nan] * 100}, "sureness"),
        ({"shares": [1.2]}, "shares"),
        ({"reviewed": [1] * 100}, "reviewed"),
        ({"min_cases": 0}, "min_cases"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    given = dict(zip(("y_true", "y_pred", "sureness", "group"), draw(100, 2, 0), strict=True))
    with pytest.raises((ValueError, TypeError), match=message):
        disparity_curve(**(given | change))
