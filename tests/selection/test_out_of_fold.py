"""Every case judged by a model that has not seen it, and cuts in their ranking."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rejo import RejoKernelLogistic, RejoLinear, RejoSVC
from rejo.baselines import NoveltyReject, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.decisions import uniform_prices
from rejo.estimators import NOVEL, judge
from rejo.metrics import log_loss
from rejo.selection import cross_fit
from rejo.selection.out_of_fold import (
    best_points,
    chance_wrong,
    every_cut,
    in_order,
    joined,
    judge_folds,
    of_judgement,
)
from tests.selection.populations import logistic, logistic_problem


@pytest.fixture(scope="module")
def data():
    return logistic_problem()


# ---- posteriors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        logistic(),
        make_pipeline(StandardScaler(), logistic()),
    ],
    ids=["plain", "pipeline", "reject", "reject in a pipeline"],
)
def test_posteriors_are_those_of_scikit_learn(data, estimator):
    X, y = data
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    found = cross_fit(estimator, X, y, cv=folds)
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    if not hasattr(estimator, "steps"):
        plain = LogisticRegression()
    wanted = cross_val_predict(plain, X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(found.p, wanted)
    np.testing.assert_array_equal(found.classes[found.y], y)
    for j, (_, test) in enumerate(folds.split(X, y)):
        assert (found.fold[test] == j).all()


def test_weights_and_groups_reach_the_fits(data):
    X, y = data
    weight = np.where(y > 0, 2.0, 1.0)
    once = cross_fit(LogisticRegression(), X, y, sample_weight=weight, cv=KFold(3))
    twice = np.repeat(np.arange(300), weight.astype(int))
    for j, (train, test) in enumerate(KFold(3).split(X)):
        rows = twice[np.isin(twice, train)]
        p = LogisticRegression().fit(X[rows], y[rows]).predict_proba(X[test])
        np.testing.assert_allclose(once.p[once.fold == j], p, atol=1e-4)
    np.testing.assert_array_equal(once.weight, weight)
    groups = np.arange(300) // 10
    grouped = cross_fit(LogisticRegression(), X, y, groups=groups, cv=GroupKFold(3))
    assert all(len(set(grouped.fold[groups == g])) == 1 for g in range(30))


def test_a_class_that_a_training_part_lacks_has_no_posterior():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    first, rest = np.flatnonzero(y != 1), np.flatnonzero(y == 1)
    found = cross_fit(logistic(), X, names, cv=[(first, rest), (np.arange(150), first)])
    assert (found.p[rest, 1] == 0).all()
    np.testing.assert_allclose(found.p.sum(axis=1), 1)
    assert (found.p[first, 1] > 0).all()


def test_the_order_of_the_classes_is_that_of_the_estimator(data):
    X, y = data
    labels = np.where(y > 0, "a", "b")
    found = cross_fit(logistic().set_params(class_order=["b", "a"]), X, labels)
    assert found.classes.tolist() == ["b", "a"]
    ordered = pd.Categorical(labels, categories=["b", "a"], ordered=True)
    assert cross_fit(LogisticRegression(), X, ordered).classes.tolist() == ["b", "a"]
    np.testing.assert_allclose(found.p[:, ::-1], cross_fit(logistic(), X, labels).p)


def test_a_plain_classifier_is_wrapped_as_in_a_search(data):
    plain, wrapped = (make_pipeline(StandardScaler(), last) for last in (
        LinearSVC(), ThresholdRejectClassifier(LinearSVC())
    ))  # fmt: skip
    np.testing.assert_array_equal(cross_fit(plain, *data).p, cross_fit(wrapped, *data).p)


def test_what_cannot_be_cross_fitted(data):
    with pytest.raises(TypeError, match="predict_proba"):
        cross_fit(make_pipeline(StandardScaler()), *data)
    with pytest.raises(ValueError, match="cv"):
        cross_fit(LogisticRegression(), *data, cv=ShuffleSplit(3))


# ---- chances of an error ------------------------------------------------------------------


def test_the_curve_is_that_of_the_errors():
    rng = np.random.RandomState(0)
    doubt = rng.uniform(0.001, 0.5, size=2_000)
    for truth in (doubt, 0.05 + 0.9 * doubt, doubt**2):
        wrong = rng.uniform(size=2_000) < truth
        chance = chance_wrong(doubt, wrong)
        order = np.argsort(doubt)
        gap = np.cumsum(chance[order] - truth[order]) / 2_000
        assert np.abs(gap).max() < 0.02
    twice = chance_wrong(np.repeat(doubt[:50], 2), np.repeat(wrong[:50], 2))[::2]
    once = chance_wrong(doubt[:50], wrong[:50], np.full(50, 2.0))
    assert np.abs(twice - once).max() < 0.1  # weights count relative to each other


def test_extreme_doubts_and_errors_are_no_problem():
    for doubt in (np.zeros(20), np.ones(20), np.repeat([0.0, 1.0], 10)):
        for wrong in (np.zeros(20), np.ones(20), np.repeat([0.0, 1.0], 10)):
            chance = chance_wrong(doubt, wrong)
            assert np.isfinite(chance).all()
            assert ((chance >= 0) & (chance <= 1)).all()


# ---- grids --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_points", [4, 3])  # all combinations, or some
def test_machines_at_the_points_of_a_grid_are_those_of_single_fits(data, n_points):
    """Also with another parameter, which has a kernel matrix of its own."""
    X, y = data
    grid = [{"C": C, "gamma": g} for C in (0.5, 8.0) for g in (0.5, 4.0)][:n_points]
    grid.append({"C": 2.0, "kernel": "linear"})
    splits, costs = list(StratifiedKFold(3).split(X, y)), [0.1, 0.3]
    found = judge_folds(RejoSVC(tol=1e-8), X, y, splits, costs=costs, grid=grid)
    for point, cases in zip(grid, found, strict=True):
        for cost, one in zip(costs, map(in_order, cases), strict=True):
            assert one.trained_for == one.reject_cost == cost
            for train, test in splits:
                model = RejoSVC(**point, tol=1e-8, reject_cost=cost).fit(X[train], y[train])
                assert_array_equal(one.decision[test], model.judge(X[test]).decision)


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (HistGradientBoostingClassifier(max_iter=1), "max_iter", [2, 5, 9]),
        (ThresholdRejectClassifier(LogisticRegression()), "estimator__C", [0.1, 1.0]),
        (RejoKernelLogistic(gamma=1.0, tol=1e-10), "C", [0.1, 10.0]),
    ],
    ids=["rounds share a fit", "fits", "a path"],
)
def test_posteriors_at_the_points_of_a_grid_are_those_of_single_fits(data, estimator, name, values):
    X, y = data
    splits = list(StratifiedKFold(3).split(X, y))
    grid = [{name: value} for value in values]
    found = judge_folds(estimator, X, y, splits, grid=grid, posteriors=True)
    losses = [log_loss(one.y, one.p, classes=[0, 1]) for (one,) in found]
    assert best_points(found, [None]) == [np.argmin(losses)]
    for point, (cases,) in zip(grid, found, strict=True):
        alone = clone(estimator).set_params(**point)
        wanted = cross_val_predict(alone, X, y, cv=splits, method="predict_proba")
        np.testing.assert_allclose(in_order(cases).p, wanted, atol=1e-4)


# ---- kinds of cases -----------------------------------------------------------------------


def test_a_detector_marks_the_novel_cases_of_each_fold():
    X, y = make_synthetic_1(300, random_state=0)
    X[:6] += 20  # most of them are novel to a detector that has seen none
    estimator = NoveltyReject(LogisticRegression(), review_share=0.05, random_state=0)
    found = cross_fit(make_pipeline(StandardScaler(), estimator), X, y, cv=3)
    novel = found.kind == NOVEL
    for fold in range(3):
        test = found.fold == fold
        model = make_pipeline(StandardScaler(), clone(estimator)).fit(X[~test], y[~test])
        assert np.array_equal(novel[test], model[-1].novel_mask(model[0].transform(X[test])))
    assert novel.sum() > 0
    # However few cases are reviewed, these are among them, and they count.
    priced = found.at_prices(uniform_prices(2, 0.2))
    assert every_cut(priced)[1].min() == novel.sum()
    for cut in (-1.0, 0.0, 0.7, 5.0):
        assert (priced.at(cut).decision[novel] == -1).all()
    assert np.array_equal(found.take(np.arange(10)).kind, found.kind[:10])


def test_a_classifier_without_a_detector_has_no_novel_cases():
    X, y = make_synthetic_1(100, random_state=0)
    assert cross_fit(LogisticRegression(), X, y, cv=3).kind is None


def test_cases_by_boundaries_have_no_posteriors(data):
    """They are ranked by doubt: what the learner rejects first, the least sure of it before."""
    X, y = data
    model = RejoLinear(reject_cost=0.1)
    found = cross_fit(make_pipeline(StandardScaler(), model), X, y, cv=3)
    assert found.p is None
    assert found.trained_for == found.reject_cost == 0.1
    for fold in range(3):
        test = found.fold == fold
        own = make_pipeline(StandardScaler(), clone(model)).fit(X[~test], y[~test])
        alone = judge(own, X[test])
        assert_array_equal(found.decision[test], alone.decision)
        order = np.lexsort((alone.sureness, alone.decision >= 0))
        assert (np.diff(found.doubt[test][order]) <= 1e-12).all()


def test_kinds_of_review_are_kept_case_by_case(data):
    """Also by folds, of which some have none, and in another order of the cases."""
    X, y = data
    model = RejoLinear().fit(X, y)
    kind = (X[:, 0] > 1).astype(np.int8)
    parts = [of_judgement(model.judge(X)._replace(kind=kind)), of_judgement(model.judge(X[:5]))]
    both = joined(parts)
    assert_array_equal(both.kind, np.append(kind, np.zeros(5)))
    assert_array_equal(both.take(np.arange(305)[::-1]).kind[5:], kind[::-1])
