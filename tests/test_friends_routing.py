"""scikit-learn's metadata routing: weights and groups reach every estimator, and what is inside."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import (
    BlendClassifier,
    NoveltyReject,
    RejectClassifierCV,
    RejoLinear,
    ReplicationClassifier,
    ThresholdRejectClassifier,
)
from rejo.baselines import FrankHallReject
from tests.test_common import ESTIMATORS, ON_ARRAYS, fresh

pytestmark = pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning")
# One of each class: which settings it has does not matter here.
ONE_OF_EACH = {
    type(estimator).__name__: estimator
    for estimator in reversed(ESTIMATORS)
    if estimator in ON_ARRAYS
}
SEARCHES = ("RejectClassifierCV",)  # which take groups themselves
BOTH = {"sample_weight": True}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(72, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=72) > 0).astype(int)
    return X, y, rng.integers(1, 4, 72).astype(float), np.arange(72) // 3


def without_routing(make):
    with sklearn.config_context(enable_metadata_routing=False):
        return make()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_weights_and_groups_reach_every_estimator(name, data):
    """In cross-validation and at the end of a pipeline, as if they were passed by hand."""
    X, y, weight, groups = data
    plain = fresh(ONE_OF_EACH[name])
    own = {"groups": True} if name in SEARCHES else {}
    model = clone(plain).set_fit_request(sample_weight=True, **own).set_score_request(**BOTH)
    params = dict(sample_weight=weight, groups=groups)
    cv = GroupKFold(2)
    found = cross_validate(model, X, y, cv=cv, params=params)["test_score"]

    def by_hand(train, test):
        more = dict.fromkeys(own, groups[train])
        fitted = clone(plain).fit(X[train], y[train], sample_weight=weight[train], **more)
        return fitted.score(X[test], y[test], sample_weight=weight[test])

    expected = without_routing(lambda: [by_hand(*fold) for fold in cv.split(X, y, groups)])
    assert_allclose(found, expected)


def test_weights_reach_the_end_of_a_pipeline(data):
    X, y, weight, _ = data
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scaler, RejoLinear().set_fit_request(**BOTH)).fit(
        X, y, sample_weight=weight
    )
    alone = RejoLinear().fit(model[0].transform(X), y, weight)
    assert_allclose(model[-1].coef_, alone.coef_)


def pipeline(*, asks=None):
    """A pipeline; if asked for, its steps request weights, or say that they do not."""
    scaler, last = StandardScaler(), LogisticRegression()
    if asks is not None:
        scaler.set_fit_request(sample_weight=asks)
        last.set_fit_request(sample_weight=True)
    return make_pipeline(scaler, last)


WRAPPERS = {
    "threshold": ThresholdRejectClassifier,
    "frank-hall": FrankHallReject,
    "replicas": ReplicationClassifier,
    "novelty": NoveltyReject,
    "blend": lambda inner: ThresholdRejectClassifier(BlendClassifier([("a", inner)], cv=2)),
    "search": lambda inner: RejectClassifierCV(
        ThresholdRejectClassifier(inner), review_budget=0.2, cv=2
    ),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_weights_reach_a_pipeline_inside_a_wrapper(wrap, data):
    """Without requests to its end, as without routing; else to the steps that request them."""
    X, y, weight, _ = data
    usual = without_routing(lambda: wrap(pipeline()).fit(X, y, sample_weight=weight))
    for inner in (pipeline(), pipeline(asks=False)):
        model = wrap(inner).fit(X, y, sample_weight=weight)
        assert_array_equal(model.predict(X), usual.predict(X))


def test_a_step_gets_the_weights_that_it_requests(data):
    X, y, weight, _ = data
    model = ThresholdRejectClassifier(pipeline(asks=True)).fit(X, y, weight)
    assert_allclose(model.estimator_[0].mean_, np.average(X, axis=0, weights=weight))
    search = RejectClassifierCV(
        make_pipeline(
            StandardScaler().set_fit_request(**BOTH),
            ThresholdRejectClassifier(LogisticRegression()).set_fit_request(**BOTH),
        ),
        review_budget=0.2, cv=2,
    ).fit(X, y, weight)  # fmt: skip
    assert_allclose(search.best_estimator_[0].mean_, np.average(X, axis=0, weights=weight))


def test_a_step_that_leaves_it_open_is_named(data):
    X, y, weight, _ = data
    inner = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(**BOTH))
    with pytest.raises(UnsetMetadataPassedError, match="StandardScaler"):
        ThresholdRejectClassifier(inner).fit(X, y, weight)


def test_a_search_for_an_operating_point_inside_a_search(data):
    X, y, weight, groups = data
    point = RejectClassifierCV(RejoLinear(), review_budget=0.2, reject_costs=[0.2, 0.4], cv=2)
    point.set_fit_request(groups=True, sample_weight=True).set_score_request(**BOTH)
    grid = GridSearchCV(point, {"estimator__C": [0.1, 1.0]}, cv=GroupKFold(2))
    grid.fit(X, y, groups=groups, sample_weight=weight)
    alone = clone(point).set_params(**grid.best_params_).fit(X, y, weight, groups)
    assert_array_equal(grid.predict(X), alone.predict(X))


def test_the_group_of_a_case_reaches_predict_and_score(data):
    X, y, _, _ = data
    group = np.array(["north", "south"])[np.arange(72) % 2]
    point = RejectClassifierCV(
        ThresholdRejectClassifier(LogisticRegression()), max_error_by_group=0.4, cv=2
    )
    asked = clone(point).set_fit_request(group=True).set_predict_request(group=True)
    asked.set_score_request(group=True)
    model = make_pipeline("passthrough", asked).fit(X, y, group=group)
    alone = point.fit(X, y, group=group)
    assert_array_equal(model.predict(X, group=group), alone.predict(X, group=group))
    assert model.score(X, y, group=group) == alone.score(X, y, group=group)


def test_scorers_get_the_weights_that_they_request(data):
    X, y, weight, groups = data
    scorer = rejo.selection.cost_scorer(reject_cost=0.2).set_score_request(**BOTH)
    model, folds = RejoLinear().set_fit_request(**BOTH), GroupKFold(2)
    params = dict(sample_weight=weight, groups=groups)
    found = cross_validate(model, X, y, cv=folds, scoring={"cost": scorer}, params=params)
    for value, (train, test) in zip(found["test_cost"], folds.split(X, y, groups), strict=True):
        fitted = RejoLinear().fit(X[train], y[train], weight[train])
        assert value == scorer(fitted, X[test], y[test], sample_weight=weight[test])


def test_searches_pass_weights_to_scorers_without_routing(data):
    X, y, weight, _ = data
    scorers = {"cost": rejo.selection.cost_scorer(reject_cost=0.2)}
    with sklearn.config_context(enable_metadata_routing=False):
        grid = GridSearchCV(RejoLinear(), {"C": [1.0]}, scoring=scorers, refit="cost", cv=2)
        assert grid.fit(X, y, sample_weight=weight).best_score_ <= 0
