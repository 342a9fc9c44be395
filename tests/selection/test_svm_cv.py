"""Tuning for every reject cost at once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from rejo.datasets import make_synthetic_1
from rejo.estimators import RejoSVC
from rejo.selection import RejoSVCCV, reject_curve

GRID = {"C": [0.5, 8.0], "gamma": [0.5, 4.0], "h": [1.0, 3.0]}
COSTS = [0.08, 0.2, 0.4]
TIGHT = {"tol": 1e-7}


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(140, random_state=1)


@pytest.fixture(scope="module")
def search(data):
    return RejoSVCCV(
        Cs=GRID["C"], gammas=GRID["gamma"], hs=GRID["h"], reject_costs=COSTS, **TIGHT
    ).fit(*data)


@pytest.mark.parametrize("cost", COSTS)
def test_equals_a_grid_search_at_each_cost(data, search, cost):
    grid = GridSearchCV(RejoSVC(reject_cost=cost, **TIGHT), GRID, cv=5).fit(*data)
    at = search.cv_results_["reject_cost"] == cost
    # Folds of 28: the search's unweighted mean is ours.
    np.testing.assert_allclose(
        1 - search.cv_results_["risk"][at], grid.cv_results_["mean_test_score"], atol=1e-9
    )
    assert search.best_params_[cost] == grid.best_params_
    np.testing.assert_allclose(
        search.best_estimators_[cost].boundary_scores(data[0]),
        grid.best_estimator_.boundary_scores(data[0]),
        atol=1e-5,
    )


def test_rates_of_each_fold_equal_the_generic_route(data, search):
    for i, cost in enumerate(COSTS):
        model = RejoSVC(**search.best_params_[cost], **TIGHT)
        curve = reject_curve(model, *data, reject_costs=[cost])
        np.testing.assert_array_equal(search.curve_.rejection_rates[i], curve.rejection_rates[0])
        np.testing.assert_array_equal(search.curve_.error_rates[i], curve.error_rates[0])


def test_decides_as_the_model_of_its_cost(data, search):
    X, y = data
    model = search.best_estimator_
    assert model is search.best_estimators_[0.2]
    assert model.reject_cost == 0.2
    np.testing.assert_array_equal(search.predict(X), model.predict(X))
    np.testing.assert_array_equal(search.predict_forced(X), model.predict_forced(X))
    np.testing.assert_array_equal(search.reject_mask(X), model.reject_mask(X))
    np.testing.assert_array_equal(search.boundary_scores(X), model.boundary_scores(X))
    assert search.score(X, y) == model.score(X, y)
    assert search.review(X).equals(model.review(X))
    assert search.queue(X, 5).equals(model.queue(X, 5))
    assert search.reject_label_ == model.reject_label_
    assert len({len(column) for column in search.cv_results_.values()}) == 1


def test_the_cost_of_the_model_is_added_to_the_others(data):
    search = RejoSVCCV(reject_cost=0.15, reject_costs=[0.3], Cs=[1], gammas=["scale"]).fit(*data)
    assert search.reject_costs_.tolist() == [0.15, 0.3]
    assert search.best_estimator_.reject_cost == 0.15


def test_precomputed_kernel_and_weights(data):
    X, y = data
    options = {"Cs": [1, 10], "reject_costs": [0.2], "tol": 1e-7}
    weight = np.ones(len(y))
    by_name = RejoSVCCV(gammas=[2.0], **options).fit(X, y)
    K = rbf_kernel(X, gamma=2.0)
    by_matrix = RejoSVCCV(kernel="precomputed", gammas=["scale"], **options)
    by_matrix.fit(K, y, sample_weight=weight)
    np.testing.assert_allclose(by_matrix.curve_.risks, by_name.curve_.risks)
    np.testing.assert_array_equal(by_matrix.predict(K), by_name.predict(X))


def test_clone_and_parameters():
    search = RejoSVCCV(Cs=[1], kernel="linear", reject_cost=0.1)
    assert clone(search).get_params() == search.get_params()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, "Cs"),
        ({"Cs": [1, -1]}, "'C'"),
        ({"gammas": ["large"]}, "'gamma'"),
        ({"gammas": "scale"}, "gammas"),
        ({"hs": [0]}, "'h'"),
        ({"reject_costs": [0.7]}, "reject_costs"),
        ({"reject_cost": None}, "reject_cost"),
        ({"Cs": 3}, "Cs"),
    ],
)
def test_bad_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        RejoSVCCV(**params).fit(*data)


def test_refuses_what_it_cannot_read(data):
    with pytest.raises(ValueError, match="y is None"):
        RejoSVCCV().fit(data[0], None)
    with pytest.raises(ValueError, match="overflow"):
        RejoSVCCV(kernel="poly", degree=90, gammas=[1e9], Cs=[1]).fit(*data)
