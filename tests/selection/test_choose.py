"""The cut at which all limits hold: by brute force, and as a model that was fitted once."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from rejo.baselines import ThresholdRejectClassifier
from rejo.decisions import decide
from rejo.selection import RejectClassifierCV, TargetUnattainable, cross_fit, reject_curve
from rejo.selection.choose import choose
from rejo.selection.limits import Limit, count_limit
from rejo.selection.out_of_fold import OutOfFold, every_cut, with_cut
from tests.selection.populations import Counting, logistic, logistic_problem


@pytest.fixture(scope="module")
def data():
    return logistic_problem()


# ---- cuts ---------------------------------------------------------------------------------


def ranked(doubt, wrong, **about):
    """Cases by boundaries: class 0 is right, and forced."""
    y = np.asarray(wrong).astype(np.intp)
    return OutOfFold(np.asarray(doubt, dtype=float), np.zeros(len(y), np.intp), y=y, **about)


def rate_of(cases, rate, cuts, **how):
    return count_limit(Limit("", rate, 1.0), cases, np.asarray(cuts), **how).rate


def test_cuts_are_those_of_brute_force():
    rng = np.random.RandomState(0)
    value = rng.randint(0, 12, 60) / 10  # with ties
    wrong, weight = rng.uniform(size=60) < 0.3, rng.uniform(0.5, 2, 60)
    cases = ranked(value, wrong, weight=weight)
    cuts, sizes = every_cut(cases)
    assert len(cuts) == len(np.unique(value)) + 1
    assert (np.diff(cuts) < 0).all()
    found = zip(
        cuts, sizes, cases.decisions(cuts),
        *(rate_of(cases, r, cuts) for r in ("rejection_rate", "error_rate", "accepted_error_rate")),
        strict=True,
    )  # fmt: skip
    for cut, size, decision, R, E, A in found:
        reviewed = value >= cut
        assert_array_equal(decision < 0, reviewed)
        assert_array_equal(cases.at(cut).decision, decision)
        assert size == reviewed.sum()
        assert np.average(reviewed, weights=weight) == pytest.approx(R)
        assert np.average(~reviewed & wrong, weights=weight) == pytest.approx(E)
        if not reviewed.all():
            assert np.average(wrong[~reviewed], weights=weight[~reviewed]) == pytest.approx(A)


@pytest.mark.parametrize("rate", ["error_rate", "accepted_error_rate"])
def test_an_allowed_error_takes_the_shortest_prefix(rate):
    rng = np.random.RandomState(1)
    value = rng.uniform(size=500)
    cases = ranked(value, rng.uniform(size=500) < value / 2)
    found = choose(cases, [Limit("max_error", rate, 0.08)])
    cuts, _ = every_cut(cases)
    rates = rate_of(cases, rate, cuts, smooth=True)
    at = cuts.tolist().index(found.cut)
    assert rates[at] <= 0.08
    assert (rates[:at] > 0.08).all()
    assert np.isin(found.cut, found.cuts)


def test_a_handful_of_decisions_proves_nothing():
    value = np.arange(200.0) / 1000
    cases = ranked(value, value >= 0.005)  # only the last five are right
    with pytest.raises(TargetUnattainable) as info:
        choose(cases, [Limit("max_error", "accepted_error_rate", 0.1)])
    assert info.value.attainable > 0.4  # of ten


def test_cases_without_weight_do_not_count():
    rng = np.random.RandomState(0)
    value, wrong = rng.uniform(1, 2, size=60), rng.uniform(size=60) < 0.3
    value[50:] -= 1  # the surest
    weight = np.where(np.arange(60) < 50, 1.0, 0.0)
    all_, some = (ranked(value[:n], wrong[:n], weight=weight[:n]) for n in (60, 50))
    cuts = every_cut(some)[0][:-1]
    for rate in ("rejection_rate", "error_rate", "accepted_error_rate"):
        assert_array_equal(rate_of(all_, rate, cuts), rate_of(some, rate, cuts))
    limit = [Limit("max_error", "accepted_error_rate", 0.1)]
    for cases in (all_, some):
        with pytest.raises(TargetUnattainable) as info:  # none of the ten is a decision
            choose(cases, [limit[0]._replace(most=0.001)])
        assert info.value.attainable > 0.001


@pytest.mark.parametrize("seed", range(3))
def test_a_cut_is_a_price_of_a_review(data, seed):
    """The decisions at a cut are those at prices with the cut in the review column."""
    rng = np.random.RandomState(seed)
    prices = np.column_stack([rng.uniform(1, 9, (2, 2)), rng.uniform(0, 1, 2)])
    np.fill_diagonal(prices, 0.0)
    cases = cross_fit(LogisticRegression(), *data).at_prices(prices)
    assert_array_equal(cases.decision, decide(cases.p, prices).decision)
    assert_array_equal(cases.worth, decide(cases.p, prices).worth)
    cuts, sizes = every_cut(cases)
    for i in (0, 10, 150, 299, 300):
        point = cases.at(cuts[i])
        found = decide(cases.p, with_cut(prices, cuts[i]))
        assert_array_equal(point.decision, found.decision)
        assert (point.decision < 0).sum() == sizes[i] == i
        assert point.reject_cost == pytest.approx(
            (prices[:, -1] + cuts[i]).mean() / (prices[:, :-1].sum() / 2)
        )


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


def test_a_confidence_takes_one_fit_and_the_folds(data, monkeypatch):
    monkeypatch.setattr(Counting, "fits", 0)
    model = RejectClassifierCV(
        ThresholdRejectClassifier(Counting()), max_error=0.3, confidence=0.9, random_state=0
    ).fit(*data)
    assert Counting.fits == 6
    assert model.guarantee_.bound <= 0.3
    assert model.curve_.reject_costs[model.chosen_] == model.reject_cost_


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
    worth = decide(cross_fit(LogisticRegression(), X, y).p, prices).worth
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
        assert point.doubt[reviewed].min() > point.doubt[~reviewed].max()
    never = RejectClassifierCV(tree, review_budget=0.0).fit(X, y)
    assert not never.reject_mask(X).any()
