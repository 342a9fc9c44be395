"""Pulls of features against Shapley values by all coalitions."""

import numpy as np
import pytest

from benchmarks.shapley import exact_shapley
from rejo import RejoBoost
from rejo.explain.insides import insides, trees_of
from rejo.explain.replacement import linear_pulls, replacement_pulls, typical_cases
from rejo.explain.trees import SplitTree, tree_pulls, walk_pulls
from rejo.explain.words import most_reviewed, said, standing_out, top_shares
from rejo.typical import Typical

RNG = np.random.default_rng(3)
Z = RNG.normal(size=(300, 5)) @ RNG.normal(size=(5, 5))
Y = (Z[:, 0] + Z[:, 1] * Z[:, 2] > 0.5).astype(int)
PAIRED = np.array([0, 1, 1, 2, 3])  # two columns are one feature


def test_exact_shapley_by_hand():
    # Two players of a product share it; a sum gives each its own; a case like the background: none.
    def score(rows):
        return rows[:, 0] * rows[:, 1] + 3.0 * rows[:, 2]

    found = exact_shapley(score, np.array([[2.0, 4.0, 5.0]]), np.zeros((1, 3)), np.arange(3))
    np.testing.assert_allclose(found, [[4.0, 4.0, 15.0]])
    np.testing.assert_allclose(exact_shapley(score, Z[:1, :3], Z[:1, :3], np.arange(3)), 0.0)


def test_linear_pulls_are_shapley_values():
    coef = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    found = linear_pulls(coef, Z[:20], Z.mean(axis=0), PAIRED, 4)
    exact = exact_shapley(lambda rows: rows @ coef, Z[:20], Z, PAIRED)
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_replacement_is_exact_for_a_linear_score():
    coef = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    typical = Typical.learn(Z)
    found = replacement_pulls(lambda rows, cases: rows @ coef, Z[:20], typical, PAIRED)
    exact = linear_pulls(coef, Z[:20], typical_cases(typical, 32).mean(axis=0), PAIRED, 4)
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_replacement_is_exact_if_features_act_alone_or_in_pairs():
    def score(rows):
        return np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 3] - np.abs(rows[:, 2] * rows[:, 4])

    typical = Typical.learn(Z)
    found = replacement_pulls(lambda rows, cases: score(rows), Z[:9], typical, np.arange(5))
    exact = exact_shapley(score, Z[:9], typical_cases(typical, 32), np.arange(5))
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_each_case_has_a_score_of_its_own():
    signs = np.where(np.arange(40) % 2, 1.0, -1.0)
    typical = Typical.learn(Z)
    found = replacement_pulls(
        lambda rows, cases: signs[cases] * rows[:, 2], Z[:40], typical, np.arange(5)
    )
    one = replacement_pulls(lambda rows, cases: rows[:, 2], Z[:40], typical, np.arange(5))
    np.testing.assert_allclose(found, signs[:, None] * one)


def test_of_many_features_the_strangest_are_tried():
    wide = RNG.normal(size=(50, 260))
    typical = Typical.learn(wide)
    case = np.tile(typical.mean, (3, 1))
    case[:, [7, 259]] = typical.mean[[7, 259]] + [9.0, -9.0]
    calls = []

    def score(rows, cases):
        calls.append(len(rows))
        return rows.sum(axis=1)

    found = replacement_pulls(score, case, typical, np.arange(260))
    assert found[:, 7] == pytest.approx(9.0, rel=0.2)
    assert found[:, 259] == pytest.approx(-9.0, rel=0.2)
    assert (found != 0).any(axis=0).sum() <= 200
    assert sum(calls) <= 3 * 2 * 402  # cases x draws x rows


def test_typical_cases_have_the_mean_and_the_levels_of_training():
    level = RNG.integers(0, 2, 400) * (RNG.random(400) < 0.3)
    skewed = np.exp(RNG.normal(size=400) + level)
    table = np.column_stack([level, skewed, np.ones(400)])
    drawn = typical_cases(Typical.learn(table), 2000)
    np.testing.assert_allclose(drawn.mean(axis=0), table.mean(axis=0), rtol=0.05)
    assert (drawn >= table.min(axis=0)).all()
    assert (drawn <= table.max(axis=0)).all()
    assert np.unique(drawn[:, 0].round(1)).tolist() == [0.0, 1.0]
    assert np.corrcoef(drawn[:, 0], np.log(drawn[:, 1] + 1))[0, 1] > 0.1


# ---- trees -----------------------------------------------------------------------------------


def path_dependent(tree, case, known):
    """Value of a tree if only some columns of a case are known, by definition."""

    def value(node):
        if tree.feature[node] < 0:
            return tree.value[node]
        left, right = tree.left[node], tree.right[node]
        column = tree.feature[node]
        if known[column]:
            x = case[column]
            goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
            return value(left if goes_left else right)
        w = tree.weight
        return (w[left] * value(left) + w[right] * value(right)) / (w[left] + w[right])

    return value(0)


def brute_force(trees, case, owner):
    """Shapley values by all coalitions, by the definition above."""
    total = 0.0
    for tree in trees:

        def score(rows, tree=tree):  # a column that is NaN nowhere is known where it is 1
            return np.array([path_dependent(tree, case, row == 1)[0] for row in rows])

        total = total + exact_shapley(score, np.ones((1, 5)), np.zeros((1, 5)), owner)[0]
    return total


def grown(form, X=Z, **options):
    """A model, and its trees."""
    pytest.importorskip("xgboost")
    given = {"n_estimators": 4, "max_depth": 3, "random_state": 0, "n_jobs": 1} | options
    model = RejoBoost(boundaries=form, **given).fit(X, Y)
    return model, [tree for tree, _ in trees_of(insides(model))]


@pytest.mark.parametrize("owner", [np.arange(5), PAIRED])
@pytest.mark.parametrize("form", ["parallel", "replicas", "posteriors"])
def test_tree_pulls_are_shapley_values(form, owner):
    _, trees = grown(form)
    cases = Z[:4].astype(np.float32).astype(np.float64)
    found = tree_pulls(trees, cases, owner, int(owner.max()) + 1)[:, :, 0]
    exact = [brute_force(trees, case, owner) for case in cases]
    np.testing.assert_allclose(found, exact, atol=1e-10)


@pytest.mark.parametrize("measure", [tree_pulls, walk_pulls])
def test_tree_pulls_add_up_to_the_score(measure):
    missing = Z.astype(np.float32).astype(np.float64)
    missing[::7, 1] = np.nan
    model, trees = grown("posteriors", missing, n_estimators=20)
    total = measure(trees, missing, PAIRED, 4).sum(axis=(1, 2))
    rest = model.decision_function(missing) - total
    np.testing.assert_allclose(rest, rest[0], atol=1e-9)


def a_tree(feature, threshold, left, right, value, weight):
    flags = np.zeros(len(feature), dtype=bool)
    values = np.array(value, dtype=float)[:, None]
    numbers = (np.array(given) for given in (feature, threshold))
    children = (np.array(given) for given in (left, right))
    return SplitTree(*numbers, flags, *children, values, np.array(weight, dtype=float))


def test_walk_by_hand():
    stump = a_tree([0, -1, -1], [0.5, 0.0, 0.0], [1, -1, -1], [2, -1, -1], [0, -3, 1], [4, 1, 3])
    found = walk_pulls([stump], np.array([[0.0], [1.0]]), np.array([0]), 1)
    np.testing.assert_allclose(found[:, 0, 0], [-3.0, 1.0])


def test_a_tree_without_splits_pulls_nowhere():
    leaf = a_tree([-1], [0.0], [-1], [-1], [2.0], [5.0])
    assert not tree_pulls([leaf], Z, np.arange(5), 5).any()


def test_blocks_do_not_change_the_result(monkeypatch):
    _, trees = grown("replicas", n_estimators=20)
    whole = tree_pulls(trees, Z[:50], np.arange(5), 5)
    monkeypatch.setattr("rejo.explain.trees.BLOCK", 5000)
    np.testing.assert_allclose(tree_pulls(trees, Z[:50], np.arange(5), 5), whole, atol=1e-12)


# ---- words and tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (1234567.0, "1234567"),
        (1234.56, "1235"),
        (0.000123456, "0.000123"),
        (None, "missing"),
        (np.float64("nan"), "missing"),
        (np.datetime64("2024-05-06T07:08"), "2024-05-06"),
        (True, "True"),
        ("a\nb  c", "a b c"),
        ("x" * 40, "x" * 29 + "…"),
        (float("inf"), "inf"),
    ],
)
def test_values_in_words(value, text):
    assert said(value) == text


def test_nothing_stands_out_among_zeros():
    low, high = standing_out(np.zeros(4), 3)
    assert not len(low)
    assert not len(high)


def test_shares_by_hand():
    share, pull = top_shares(np.array([[3.0, -1.0, 0.0], [0.0, 0.0, 0.0], [-2.0, 1.0, 1.0]]), 1)
    np.testing.assert_allclose(share, [2 / 3, 0, 0])
    np.testing.assert_allclose(pull, [(0.75 + 0.5) / 3, (0.25 + 0.25) / 3, 0.25 / 3])


def test_where_reviews_are_most_frequent():
    values = np.arange(400.0)
    where, cases, share = most_reviewed(values, values >= 350)
    assert where == "299 or more"  # not the highest number, which is one case's
    assert share == pytest.approx(50 / cases)
    assert most_reviewed(values, values < 50)[0] == "at most 99"
    words = np.array(["own", "rent"] * 100, dtype=object)
    assert most_reviewed(words, words == "rent") == ("rent", 100, 1.0)
    gaps = np.array([1.0, np.nan] * 100)
    assert most_reviewed(gaps, np.isnan(gaps)) == ("missing", 100, 1.0)
    assert most_reviewed(values[:8], values[:8] > 3) == ("", 0, 0.0)  # too few to tell
    assert most_reviewed(words, np.ones(200, dtype=bool)) == ("", 0, 0.0)  # all alike
