"""One round of fits for every operating point."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
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
from sklearn.tree import DecisionTreeClassifier

from rejo.baselines import NoveltyReject, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.decisions import decide, uniform_prices
from rejo.selection import RejectClassifierCV, TargetUnattainable, cross_fit, reject_curve
from rejo.selection.crossfit import cut_curve, cut_outcomes, cuts_of, novel_cases, with_cut
from rejo.selection.cuts import find_cut, rank_cuts
from rejo.selection.path import fold_curve
from rejo.selection.target import Target


@pytest.fixture(scope="module")
def data():
    """A logistic problem with an error rate of about 0.2 if all cases are decided."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 2))
    y = np.where(rng.uniform(size=300) < 1 / (1 + np.exp(-2 * X.sum(axis=1))), 1, -1)
    return X, y


def logistic():
    return ThresholdRejectClassifier(LogisticRegression(max_iter=1000))


class Counting(LogisticRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


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


def test_what_cannot_be_cross_fitted(data):
    with pytest.raises(TypeError, match="predict_proba"):
        cross_fit(make_pipeline(StandardScaler()), *data)
    with pytest.raises(ValueError, match="cv"):
        cross_fit(LogisticRegression(), *data, cv=ShuffleSplit(3))


# ---- cuts ---------------------------------------------------------------------------------


def test_cuts_are_those_of_brute_force():
    rng = np.random.RandomState(0)
    value = rng.randint(0, 12, 60) / 10  # with ties
    wrong, weight = rng.uniform(size=60) < 0.3, rng.uniform(0.5, 2, 60)
    cuts = rank_cuts(value, wrong, weight, ends=(9.0, -9.0), tie=1e-9)
    assert len(cuts.cut) == len(np.unique(value)) + 1
    assert (np.diff(cuts.cut) < 0).all()
    for cut, R, E, decided in zip(*cuts, strict=True):
        reviewed = value >= cut
        assert pytest.approx(np.average(reviewed, weights=weight)) == R
        assert pytest.approx(np.average(~reviewed & wrong, weights=weight)) == E
        assert (~reviewed).sum() == decided


@pytest.mark.parametrize("rate", ["error_rate", "accepted_error_rate"])
def test_an_allowed_error_takes_the_shortest_prefix(rate):
    rng = np.random.RandomState(1)
    value = rng.uniform(size=500)
    wrong = rng.uniform(size=500) < value / 2
    cuts = rank_cuts(value, wrong, ends=(2.0, -1.0), tie=0.0)
    found = find_cut(cuts, Target("max_error", rate, 0.08))
    rates = getattr(cuts, rate)
    assert rates[found] <= 0.08
    assert (rates[:found] > 0.08).all()


def test_a_handful_of_decisions_proves_nothing():
    value = np.arange(200.0)
    wrong = value >= 5  # only the last five are right
    cuts = rank_cuts(value, wrong, ends=(201.0, -1.0), tie=0.0)
    with pytest.raises(TargetUnattainable) as info:
        find_cut(cuts, Target("max_error", "accepted_error_rate", 0.1))
    assert info.value.attainable == pytest.approx(0.5)  # of ten


def test_cases_without_weight_do_not_count():
    rng = np.random.RandomState(0)
    value, wrong = rng.uniform(size=60), rng.uniform(size=60) < 0.3
    value[50:] -= 1  # the surest
    weight = np.where(np.arange(60) < 50, 1.0, 0.0)
    all_, some = (
        rank_cuts(value[:n], wrong[:n], weight[:n], ends=(2.0, -2.0), tie=0.0) for n in (60, 50)
    )
    for name in ("rejection_rate", "error_rate", "n_decided", "accepted_error_rate"):
        assert_array_equal(getattr(all_, name)[:51], getattr(some, name))
    assert np.isnan(all_.accepted_error_rate[50:]).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_cut_is_a_price_of_a_review(data, seed):
    """The outcomes at a cut are the decisions at prices with the cut in the review column."""
    rng = np.random.RandomState(seed)
    crossfit = cross_fit(LogisticRegression(), *data)
    prices = np.column_stack([rng.uniform(1, 9, (2, 2)), rng.uniform(0, 1, 2)])
    np.fill_diagonal(prices, 0.0)
    cuts = cuts_of(crossfit, prices)
    for i in (0, 10, 150, 299, 300):
        (point,) = cut_outcomes(crossfit, prices, [cuts.cut[i]])
        found = decide(crossfit.p, with_cut(prices, cuts.cut[i]))
        np.testing.assert_array_equal(point.decision, found.decision)
        assert np.mean(point.decision < 0) == pytest.approx(cuts.rejection_rate[i])
        order = np.argsort(point.sureness, kind="stable")
        assert (np.sort(found.worth)[::-1] == found.worth[order]).all()


def test_a_curve_is_that_of_the_outcomes(data):
    rng = np.random.RandomState(0)
    crossfit = cross_fit(LogisticRegression(), *data)._replace(weight=rng.uniform(1, 2, 300))
    prices = np.array([[0, 500, 40], [100, 0, 40.0]])
    cuts = cuts_of(crossfit, prices).cut[::30]
    points = cut_outcomes(crossfit, prices, cuts)
    decision = np.array([point.decision for point in points])
    wanted = fold_curve(
        [point.reject_cost for point in points],
        decision, crossfit.y, crossfit.fold, crossfit.weight,
    )  # fmt: skip
    found = cut_curve(crossfit, prices, cuts)
    for name in ("reject_costs", "rejection_rates", "error_rates", "sizes"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)


# ---- operating points ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [{"review_budget": 0.1}, {"max_error": 0.1}, {"reject_cost": 0.1},
     {"cost_of": {"error": 5000, "review": 40}},
     {"review_budget": 0.1, "reject_costs": [0.1] * 99}],
)  # fmt: skip
@pytest.mark.parametrize("n_points", [1, 3])
def test_the_number_of_fits_is_that_of_the_folds_and_one(data, monkeypatch, target, n_points):
    monkeypatch.setattr(Counting, "fits", 0)
    grid = {"estimator__C": [0.1, 1, 10][:n_points]}
    model = RejectClassifierCV(
        ThresholdRejectClassifier(Counting()), **target, param_grid=grid, cv=4
    ).fit(*data)
    assert Counting.fits == 4 * n_points + 1
    assert len(model.outcomes_) > 1
    crossfit = cross_fit(Counting(), *data, cv=4)
    Counting.fits = 0
    model.set_params(param_grid=None).fit(*data, crossfit=crossfit)
    assert Counting.fits == 1


def test_a_confidence_takes_one_fit_and_the_folds(data, monkeypatch):
    monkeypatch.setattr(Counting, "fits", 0)
    model = RejectClassifierCV(
        ThresholdRejectClassifier(Counting()), max_error=0.3, confidence=0.9, random_state=0
    ).fit(*data)
    assert Counting.fits == 6
    assert model.guarantee_.bound <= 0.3
    assert model.curve_.reject_costs[model.chosen_] == model.reject_cost_


def test_a_given_cross_fit_gives_the_same_model(data):
    X, y = data
    alone = RejectClassifierCV(logistic(), review_budget=0.13).fit(X, y)
    shared = RejectClassifierCV(logistic(), review_budget=0.13)
    shared.fit(X, y, crossfit=cross_fit(LogisticRegression(), X, y))
    assert shared.cut_ == alone.cut_
    assert shared.expected_ == alone.expected_
    np.testing.assert_array_equal(shared.predict(X), alone.predict(X))
    with pytest.raises(ValueError, match="crossfit"):
        shared.fit(X, -y, crossfit=cross_fit(LogisticRegression(), X, y))
    with pytest.raises(ValueError, match="param_grid"):
        shared.set_params(param_grid={"estimator__C": [1]}).fit(
            X, y, crossfit=cross_fit(LogisticRegression(), X, y)
        )


def test_a_cross_fit_with_other_weights_is_refused(data):
    X, y = data
    w = np.random.RandomState(0).uniform(0.5, 2, len(y))
    plain, weighted = (cross_fit(logistic(), X, y, sample_weight=part) for part in (None, w))
    model = RejectClassifierCV(logistic(), review_budget=0.1)
    for crossfit, weight in ((plain, w), (weighted, None), (weighted, 2 * w)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, y, sample_weight=weight, crossfit=crossfit)
    model.fit(X, y, sample_weight=w, crossfit=weighted)
    same = clone(model).fit(X, y, sample_weight=w)
    assert model.sizes_ == pytest.approx(same.sizes_)
    model.fit(X, y, sample_weight=np.ones(len(y)), crossfit=plain)


def test_prices_are_the_cut_at_zero(data):
    X, y = data
    prices = np.array([[0, 500, 40], [100, 0, 40.0]])
    model = RejectClassifierCV(logistic(), cost_of=prices).fit(X, y)
    assert model.cut_ == 0
    np.testing.assert_array_equal(model.prices_, prices)
    plain = logistic().set_params(cost_of=prices).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    found = cross_fit(LogisticRegression(), X, y)
    np.testing.assert_array_equal(
        model.outcomes_[model.chosen_].decision, decide(found.p, prices).decision
    )
    # No other cut is expected to cost less.
    cheapest = (found.p @ prices).min(axis=1).mean()
    for point in model.outcomes_:
        column = np.where(point.decision < 0, 2, point.decision)
        cost = (found.p @ prices)[np.arange(len(y)), column].mean()
        assert cost >= cheapest - 1e-12


def test_a_budget_goes_where_prices_say(data):
    """The reviewed cases are those whose review is worth most at the prices."""
    X, y = data
    prices = np.array([[0, 500, 40], [100, 0, 40.0]])
    model = RejectClassifierCV(logistic(), review_budget=0.1, cost_of=prices).fit(X, y)
    crossfit = cross_fit(LogisticRegression(), X, y)
    worth = decide(crossfit.p, prices).worth
    reviewed = model.outcomes_[model.chosen_].decision < 0
    assert reviewed.sum() == 30
    assert worth[reviewed].min() > worth[~reviewed].max()
    without = RejectClassifierCV(logistic(), review_budget=0.1).fit(X, y)
    other = without.outcomes_[without.chosen_].decision < 0
    assert worth[reviewed].sum() > worth[other].sum()
    assert model.reject_mask(X).mean() == pytest.approx(0.1, abs=0.05)


def test_reject_costs_up_to_a_guess_among_all_classes():
    X, y = load_iris(return_X_y=True)
    rng = np.random.RandomState(0)
    X = X[:, :1] + rng.normal(0, 1, (150, 1))  # hard
    names = np.array(["x", "y", "z"])[y]
    model = RejectClassifierCV(logistic(), reject_cost=0.6).fit(X, names)
    assert model.reject_cost_ == pytest.approx(0.6)
    np.testing.assert_array_equal(
        model.predict(X), logistic().set_params(reject_cost=0.6).fit(X, names).predict(X)
    )
    with pytest.raises(ValueError, match="reject_cost"):
        RejectClassifierCV(logistic(), reject_cost=0.7).fit(X, names)
    curve = reject_curve(logistic(), X, names, reject_costs=[0.3, 0.6])
    assert curve.rejection_rate[0] > curve.rejection_rate[1]
    with pytest.raises(ValueError, match="reject_cost"):
        reject_curve(logistic(), X, names, reject_costs=[0.3, 0.7])


def test_twelve_classes_without_an_order():
    rng = np.random.RandomState(0)
    centres = rng.normal(0, 2, (12, 4))
    k = rng.randint(12, size=900)
    X = centres[k] + rng.normal(0, 1, (900, 4))
    y = np.array([f"kind {i}" for i in range(12)])[k]
    model = RejectClassifierCV(logistic(), review_budget=0.1).fit(X, y)
    assert (model.outcomes_[model.chosen_].decision < 0).sum() == 90
    RejectClassifierCV(logistic(), reject_cost=0.9).fit(X, y)


def test_a_curve_of_posteriors_is_that_of_refits(data):
    X, y = data
    costs = [0.05, 0.2, 0.45]
    curve = reject_curve(logistic(), X, y, reject_costs=costs, cv=3)
    for cost, found in zip(costs, curve.rejection_rates, strict=True):
        for j, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            model = clone(logistic()).set_params(reject_cost=cost).fit(X[train], y[train])
            assert found[j] == model.reject_mask(X[test]).mean()


def test_ties_are_never_split(data):
    X, y = data
    tree = ThresholdRejectClassifier(DecisionTreeClassifier(max_depth=2, random_state=0))
    model = RejectClassifierCV(tree, review_budget=0.3).fit(X, y)
    assert 0 <= model.rates_[0] <= 0.3
    point = model.outcomes_[model.chosen_]
    reviewed = point.decision < 0
    if reviewed.any():
        assert point.sureness[reviewed].max() < point.sureness[~reviewed].min()
    never = RejectClassifierCV(tree, review_budget=0.0).fit(X, y)
    assert not never.reject_mask(X).any()


def test_a_detector_marks_the_novel_cases_of_each_fold():
    X, y = make_synthetic_1(300, random_state=0)
    X[:6] += 20  # most of them are novel to a detector that has seen none
    estimator = NoveltyReject(LogisticRegression(), review_share=0.05, random_state=0)
    found = cross_fit(make_pipeline(StandardScaler(), estimator), X, y, cv=3)
    assert found.novel is not None
    for fold in range(3):
        test = found.fold == fold
        model = make_pipeline(StandardScaler(), clone(estimator)).fit(X[~test], y[~test])
        assert np.array_equal(found.novel[test], novel_cases(model, X[test]))
    assert found.novel.sum() > 0
    # However few cases are reviewed, these are among them, and they count.
    cuts = cuts_of(found, uniform_prices(2, 0.2))
    assert np.isclose(cuts.rejection_rate.min(), found.novel.mean())
    for point in cut_outcomes(found, uniform_prices(2, 0.2), [-1.0, 0.0, 0.7, 5.0]):
        assert (point.decision[found.novel] == -1).all()
    some = found.take(np.arange(10))
    assert np.array_equal(some.novel, found.novel[:10])


def test_a_classifier_without_a_detector_has_no_novel_cases():
    X, y = make_synthetic_1(100, random_state=0)
    assert cross_fit(LogisticRegression(), X, y, cv=3).novel is None
    assert not novel_cases(LogisticRegression().fit(X, y), X).any()
