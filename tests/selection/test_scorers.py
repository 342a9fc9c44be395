"""Scorers find the reject label and turn measures the right way up."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo import RejectClassifierCV, RejoLinear, RejoSVC, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.metrics import accepted_accuracy, empirical_risk, error_rate, rejection_quality
from rejo.selection import cost_scorer, make_reject_scorer


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(120, random_state=0)


def test_the_risk_is_that_of_score(data):
    X, y = data
    scorer = make_reject_scorer("empirical_risk", reject_cost=0.2)
    for model in (RejoSVC(reject_cost=0.2), make_pipeline(StandardScaler(), RejoLinear())):
        model.fit(X, y)
        assert scorer(model, X, y) == pytest.approx(model.score(X, y) - 1)
        weight = [1.0, 3.0] * 60
        assert scorer(model, X, y, sample_weight=weight) == pytest.approx(
            model.score(X, y, sample_weight=weight) - 1
        )


def test_signs(data):
    X, y = data
    model = RejoSVC().fit(X, y)
    decisions = model.predict(X)
    assert make_reject_scorer("error_rate")(model, X, y) == -error_rate(
        y, decisions, reject_label=0
    )
    assert make_reject_scorer("accepted_accuracy")(model, X, y) == accepted_accuracy(
        y, decisions, reject_label=0
    )

    forced = model.predict_forced(X)
    assert make_reject_scorer("rejection_quality")(model, X, y) == rejection_quality(
        y, decisions, y_forced=forced, reject_label=0
    )

    def half(y_true, y_pred, *, reject_label, sample_weight=None):
        return 0.5

    assert make_reject_scorer(half, greater_is_better=False)(model, X, y) == -0.5


def test_in_a_search(data):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RejoSVC()),
        {"rejosvc__C": [0.01, 10]},
        scoring={
            "risk": make_reject_scorer("empirical_risk", reject_cost=0.2),
            "review": make_reject_scorer("rejection_rate"),
        },
        refit="risk",
    ).fit(*data)
    assert search.best_params_ == {"rejosvc__C": 10}
    assert (search.cv_results_["mean_test_review"] <= 0).all()
    scorer = make_reject_scorer("error_rate")
    assert scorer(search, *data) == scorer(search.best_estimator_, *data)


def test_a_classifier_that_never_rejects(data):
    scores = cross_val_score(SVC(), *data, scoring=make_reject_scorer("overall_accuracy"))
    assert scores.tolist() == cross_val_score(SVC(), *data).tolist()


def test_a_scorer_can_be_sent_to_a_process():
    scorer = make_reject_scorer("empirical_risk", reject_cost=0.2)
    again = pickle.loads(pickle.dumps(scorer))
    assert repr(again) == "make_reject_scorer('empirical_risk', reject_cost=0.2)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(measure="speed"), "speed"),
        (dict(measure="empirical_risk"), "reject_cost"),
        (dict(measure="expected_cost", error=1000), "review"),
        (dict(measure=min), "greater_is_better"),
    ],
)
def test_wrong_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_reject_scorer(**arguments)


def test_qualities_of_a_pipeline_and_of_a_search(data):
    X, y = data
    plain = RejoSVC().fit(X, y)
    for measure in ("classification_quality", "rejection_quality"):
        scorer = make_reject_scorer(measure)
        expected = scorer(plain, X, y)
        for model in (make_pipeline(RejoSVC()), GridSearchCV(RejoSVC(), {"C": [1.0]}, cv=2)):
            assert scorer(model.fit(X, y), X, y) == expected
    scaled = make_pipeline(StandardScaler(), RejoSVC()).fit(X, y)
    quality = make_reject_scorer("classification_quality")(scaled, X, y)
    assert quality == make_reject_scorer("classification_quality")(
        scaled[-1], scaled[0].transform(X), y
    )


def test_a_partial_function(data):
    model = RejoSVC().fit(*data)
    scorer = make_reject_scorer(partial(empirical_risk, reject_cost=0.2), greater_is_better=False)
    assert scorer(model, *data) == make_reject_scorer("empirical_risk", reject_cost=0.2)(
        model, *data
    )
    assert "empirical_risk" in repr(scorer)


def test_a_class_that_is_new_to_the_model():
    X = np.linspace(-1, 1, 40)[:, None]
    model = RejoLinear(reject_cost=0.05).fit(X, np.where(X[:, 0] > 0, 1, 0))
    assert model.reject_label_ == -1
    y = np.where(X[:, 0] > 0, 1, -1)
    rejected = model.reject_mask(X)
    assert 0 < rejected.mean() < 0.5
    assert make_reject_scorer("rejection_rate")(model, X, y) == -rejected.mean()
    assert make_reject_scorer("error_rate")(model, X, y) <= -(~rejected & (y < 0)).mean()


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


@pytest.mark.parametrize(("model", "name"), SEARCHED[:3])
def test_a_search_over_prices_at_the_price_that_is_paid(data, model, name):
    for paid in (0.1, 0.3):
        search = GridSearchCV(model, {name: COSTS}, scoring=cost_scorer(reject_cost=paid), cv=2)
        search.fit(*data)
        risks = []
        for cost in COSTS:  # the same by hand
            tried = clone(model).set_params(**{name: cost})
            scorer = make_reject_scorer("empirical_risk", reject_cost=paid)
            risks.append(-cross_val_score(tried, *data, scoring=scorer, cv=2).mean())
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
