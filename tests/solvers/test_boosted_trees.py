"""Trees as arrays: the same sums as XGBoost's, and no way out of the nodes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rejo._state import StateError, check_fitted, fitted_of
from rejo.solvers import boosted_trees as module
from rejo.solvers.boosted_trees import BoostedTrees, Walker, from_xgboost

xgb = pytest.importorskip("xgboost")


def table(seed=0, n=600, p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    X[:, 1] = rng.integers(0, 70, n)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0]) + np.isin(X[:, 1] % 7, (1, 2, 5)) - np.nan_to_num(X[:, 2])
    return X, score + 0.3 * rng.normal(size=n)


KINDS = {"numbers": ["q"] * 5, "categories": ["q", "c", "q", "q", "q"]}


def grown(kind="numbers", n_classes=2, depth=4, rounds=12):
    X, score = table()
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    many = {"objective": "multi:softprob", "num_class": n_classes}
    settings = {"max_depth": depth, "nthread": 1, "objective": "binary:logistic"}
    settings |= many if n_classes > 2 else {}
    data = xgb.QuantileDMatrix(
        X, label=y, feature_types=KINDS[kind], enable_categorical=True, nthread=1
    )
    booster = xgb.train(settings, data, rounds)
    return X, booster, *from_xgboost(json.loads(bytes(booster.save_raw("json"))), rounds)


def check(trees):
    check_fitted(trees, fitted_of(BoostedTrees), ())
    trees._check_state()


@pytest.fixture(params=["compiled", "NumPy"])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(module, "_trees", None)
    elif module._trees is None:
        pytest.skip("built without a compiler")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_are_those_of_xgboost(kind, n_classes):
    X, booster, trees, base = grown(kind, n_classes)
    check(trees)
    assert trees.splits_by_category is (kind == "categories")
    data = xgb.DMatrix(X, feature_types=KINDS[kind], enable_categorical=True)
    theirs = booster.predict(data, output_margin=True).reshape(len(X), -1)
    base = np.log(base / (1 - base)) if n_classes == 2 else base
    for rows in (X, X.astype(np.float64)):
        ours = Walker(trees, 5, len(base)).scores(rows) + base
        assert_allclose(ours, theirs, atol=2e-5)


def test_compiled_and_numpy_walks_agree(monkeypatch):
    if module._trees is None:
        pytest.skip("built without a compiler")
    X, _, trees, _ = grown("categories", 3)
    strange = np.array([[np.nan] * 5, [1e30] * 5, [-1e30] * 5, [0, -1, 0, 0, 0], [0, 1e9, 0, 0, 0]])
    rows = np.concatenate([X, strange.astype(np.float32)])
    compiled = Walker(trees, 5, 3).scores(rows)
    monkeypatch.setattr(module, "_trees", None)
    assert_allclose(Walker(trees, 5, 3).scores(rows), compiled, atol=1e-6)


def test_threads_give_the_same_sums(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 50)
    X, _, trees, _ = grown()
    walker = Walker(trees, 5, 1)
    assert_array_equal(walker.scores(X, 3), walker.scores(X, 1))


@pytest.mark.usefixtures("engine")
def test_a_known_feature_is_settled():
    X, _, trees, _ = grown()
    found = Walker(trees, 4, 1, known=[-0.5, 0.7]).scores(np.ascontiguousarray(X[:, :4]))
    for column, value in enumerate((-0.5, 0.7)):
        rows = X.copy()
        rows[:, 4] = value
        assert_allclose(found[:, [column]], Walker(trees, 5, 1).scores(rows), atol=1e-9)
        settled = trees.settled(4, value)
        check(settled)
        assert not (settled.feature == 4).any()
        assert_allclose(found[:, [column]], Walker(settled, 4, 1).scores(X[:, :4].copy()))


def test_parts_add_up():
    X, _, trees, _ = grown(n_classes=3)
    n = len(trees.roots)
    parts = [trees.some(0, 5), trees.some(5, n)]
    for part in parts:
        check(part)
    total = sum(Walker(part, 5, 3).scores(X) for part in parts)
    assert_allclose(total, Walker(trees, 5, 3).scores(X), atol=1e-9)


def test_a_tree_may_be_a_single_leaf():
    X = np.zeros((20, 2), dtype=np.float32)
    booster = xgb.train({"nthread": 1}, xgb.QuantileDMatrix(X, label=np.arange(20)), 2)
    trees, base = from_xgboost(json.loads(bytes(booster.save_raw("json"))), 2)
    check(trees)
    assert_allclose(
        Walker(trees, 2, 1).scores(X)[:, 0] + base, booster.predict(xgb.DMatrix(X)), atol=1e-5
    )


def test_gains_name_the_features_that_matter():
    _, _, trees, _ = grown("categories", rounds=30)
    gains = trees.gains(5)
    assert gains.shape == (5,)
    assert set(np.argsort(-gains)[:3].tolist()) == {0, 1, 2}


DAMAGE = {
    "a loop": lambda t: replace(t, left=_set(t.left, 0, 0)),
    "a way back": lambda t: replace(t, left=_set(t.left, _splits(t)[-1], 1)),
    "out of the tree": lambda t: replace(t, left=_set(t.left, 0, len(t.left) - 1)),
    "another tree": lambda t: replace(t, left=_set(t.left, 0, int(t.roots[1]))),
    "a negative child": lambda t: replace(t, left=_set(t.left, 0, -5)),
    "roots in disorder": lambda t: replace(t, roots=t.roots[::-1].copy()),
    "a set of categories": lambda t: replace(t, category=_set(t.category, _splits(t)[0], 10**6)),
    "too many words": lambda t: replace(t, words=np.full_like(t.words, 2**31)),
}


def _splits(trees):
    return np.flatnonzero(trees.feature >= 0)


def _set(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_trees_are_refused(damage):
    trees = DAMAGE[damage](grown("categories")[2])
    with pytest.raises(StateError):
        check(trees)
    if module._trees is not None:  # also by the compiled walk itself
        with pytest.raises(ValueError, match=r"tree|categor"):
            Walker(trees, 5, 1)


def test_a_node_has_one_parent():
    """Every case would find a leaf, but what goes every way would take exponential time."""
    trees = grown("categories")[2]
    with pytest.raises(StateError, match="the same node"):
        check(replace(trees, left=_set(trees.left, 0, trees.left[trees.left[0]])))


def test_features_and_scores_that_are_not_there_are_refused():
    _, _, trees, _ = grown(n_classes=3)
    with pytest.raises(ValueError, match="feature"):
        Walker(trees, 2, 3)
    if module._trees is not None:
        with pytest.raises(ValueError, match="score"):
            Walker(trees, 5, 2)
        with pytest.raises(ValueError, match="features"):
            Walker(trees, 5, 3).scores(np.zeros((3, 4)))
