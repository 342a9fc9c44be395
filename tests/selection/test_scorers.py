"""Costs as scores: at the prices that are paid, with rejections told from decisions."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo import RejectClassifierCV, RejoLinear, RejoSVC, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.estimators import reject_label_of
from rejo.metrics import empirical_risk
from rejo.selection import cost_scorer


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(120, random_state=0)


def test_the_cost_is_that_of_score(data):
    X, y = data
    scorer = pickle.loads(pickle.dumps(cost_scorer(reject_cost=0.2)))
    for model in (RejoSVC(reject_cost=0.2), make_pipeline(StandardScaler(), RejoLinear())):
        model.fit(X, y)
        assert scorer(model, X, y) == pytest.approx(model.score(X, y) - 1)
        weight = [1.0, 3.0] * 60
        assert scorer(model, X, y, sample_weight=weight) == pytest.approx(
            model.score(X, y, sample_weight=weight) - 1
        )


def test_in_a_search(data):
    scorer = cost_scorer(reject_cost=0.2)
    model = make_pipeline(StandardScaler(), RejoSVC())
    search = GridSearchCV(model, {"rejosvc__C": [0.01, 10]}, scoring=scorer).fit(*data)
    assert search.best_params_ == {"rejosvc__C": 10}
    assert scorer(search, *data) == scorer(search.best_estimator_, *data)


def test_a_classifier_that_never_rejects(data):
    scores = cross_val_score(SVC(), *data, scoring=cost_scorer(reject_cost=0.2))
    np.testing.assert_allclose(1 + scores, cross_val_score(SVC(), *data))


def test_a_class_that_is_new_to_the_model():
    X = np.linspace(-1, 1, 40)[:, None]
    model = RejoLinear(reject_cost=0.05).fit(X, np.where(X[:, 0] > 0, 1, 0))
    assert model.reject_label_ == -1
    y = np.where(X[:, 0] > 0, 1, -1)
    rejected = model.reject_mask(X)
    assert 0 < rejected.mean() < 0.5
    wrong = ~rejected & (model.predict_forced(X) != y)
    cost = 0.2 * rejected.mean() + wrong.mean()
    assert cost_scorer(reject_cost=0.2)(model, X, y) == pytest.approx(-cost)


COSTS = [0.05, 0.1, 0.2, 0.3, 0.45]
SEARCHED = [
    (RejoSVC(C=10, gamma=1), "reject_cost"),
    (make_pipeline(StandardScaler(), RejoSVC(C=10, gamma=1)), "rejosvc__reject_cost"),
    (ThresholdRejectClassifier(SVC(C=10)), "reject_cost"),
    (RejectClassifierCV(ThresholdRejectClassifier(SVC()), reject_cost=0.3, cv=2), "reject_cost"),
]


@pytest.mark.parametrize(("model", "name"), SEARCHED)
def test_a_search_over_prices_by_score_is_warned_of(data, model, name):
    with pytest.warns(UserWarning, match="cost_scorer"):
        search = GridSearchCV(model, {name: COSTS}, cv=2).fit(*data)
    assert search.best_params_ == {name: min(COSTS)}


def by_hand(paid):
    def score(model, X, y):
        decided = model.predict(X)
        return -empirical_risk(y, decided, reject_cost=paid, reject_label=reject_label_of(model))

    return score


@pytest.mark.parametrize(("model", "name"), SEARCHED[:3])
def test_a_search_over_prices_at_the_price_that_is_paid(data, model, name):
    for paid in (0.1, 0.3):
        search = GridSearchCV(model, {name: COSTS}, scoring=cost_scorer(reject_cost=paid), cv=2)
        search.fit(*data)
        risks = []
        for cost in COSTS:  # the same by hand
            tried = clone(model).set_params(**{name: cost})
            risks.append(-cross_val_score(tried, *data, scoring=by_hand(paid), cv=2).mean())
        assert search.best_params_[name] == COSTS[int(np.argmin(risks))]
        assert -search.best_score_ == pytest.approx(min(risks))
        assert max(risks) > min(risks)
    prices = cost_scorer(cost_of="error=50,review=5")
    risk = cost_scorer(reject_cost=0.1)
    fitted = search.best_estimator_
    assert prices(fitted, *data) == pytest.approx(50 * risk(fitted, *data))


def test_searches_over_other_parameters_are_not_warned_of(data):
    X, y = data
    X, y = X[:80], y[:80]
    GridSearchCV(RejoSVC(), {"C": [1.0, 10.0], "reject_cost": [0.3]}, cv=2).fit(X, y).score(X, y)
    model = RejoSVC().set_params(reject_cost=0.1).fit(X, y)
    assert 0 < pickle.loads(pickle.dumps(model)).score(X, y) < 1
    assert 0 < clone(model).fit(X, y).score(X, y) < 1


def test_one_kind_of_price():
    for given in ({}, {"reject_cost": 0.2, "cost_of": "error=5,review=1"}):
        with pytest.raises(ValueError, match="cost_of"):
            cost_scorer(**given)
