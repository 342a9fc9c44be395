"""ReplicationClassifier over XGBoost and LightGBM."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo.datasets import bayes_risk, make_synthetic_1
from rejo.estimators.replication import ReplicationClassifier

# XGBoost still has these, and warns that some day it will not.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:.*booster=.* is deprecated:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*XGBRFClassifier.* is deprecated:FutureWarning"),
]


def xgboost(**parameters):
    module = pytest.importorskip("xgboost")
    return module.XGBClassifier(**{"n_estimators": 15, "n_jobs": 1} | parameters)


def lightgbm(**parameters):
    module = pytest.importorskip("lightgbm")
    return module.LGBMClassifier(
        **{"n_estimators": 15, "n_jobs": 1, "verbose": -1, "min_child_samples": 5} | parameters
    )


both = pytest.mark.parametrize("booster", [xgboost, lightgbm])


@pytest.fixture(scope="module")
def noisy():
    """Four classes, much overlap: where boundaries cross if they may."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    t = X[:, 0] * X[:, 1] + rng.normal(size=300)
    return X, np.searchsorted([-0.8, 0.0, 0.8], t)


def grid(X, n=60, reach=3.0):
    axes = [np.linspace(reach * x.min(), reach * x.max(), n) for x in X.T]
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, X.shape[1])


def steps(model, X):
    """Change of the unsorted scores from boundary to boundary."""
    return np.diff(model._scores(X), axis=1)


# ---- order -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("reject_cost", [0.2, None])
def test_constrained_boundaries_never_cross(noisy, booster, reject_cost):
    X, y = noisy
    model = ReplicationClassifier(booster(), reject_cost=reject_cost).fit(X, y)
    assert model.order_violations_ == 0
    assert (steps(model, grid(X)) <= 0).all()
    assert steps(model, grid(X)).any()


@both
def test_free_boundaries_cross(noisy, booster):
    X, y = noisy
    model = ReplicationClassifier(booster(), order="none").fit(X, y)
    assert model.order_violations_ > 0
    assert (steps(model, grid(X)) > 0).any()
    assert (np.diff(model.boundary_scores(X), axis=1) <= 0).all()


@pytest.mark.parametrize("method", ["intermediate", "advanced"])
def test_the_other_constraint_methods_of_lightgbm(noisy, method):
    X, y = noisy
    inner = lightgbm(monotone_constraints_method=method, path_smooth=1.0)
    model = ReplicationClassifier(inner).fit(X, y)
    assert (steps(model, grid(X)) <= 0).all()


@pytest.mark.parametrize("extra", [{"tree_method": "exact"}, {"booster": "dart", "rate_drop": 0.3}])
def test_the_other_trees_of_xgboost(noisy, extra):
    X, y = noisy
    model = ReplicationClassifier(xgboost(**extra)).fit(X, y)
    assert (steps(model, grid(X)) <= 0).all()


@both
def test_auto_constrains(noisy, booster):
    model = ReplicationClassifier(booster()).fit(*noisy)
    assert (model.coding_, model.order_) == ("ordinal", "constraint")


def test_auto_leaves_forests_and_linear_boosters_free(noisy):
    X, y = noisy
    linear = ReplicationClassifier(xgboost(booster="gblinear"), reject_cost=0.4).fit(X, y)
    assert (linear.coding_, linear.order_) == ("thermometer", "none")
    with pytest.raises(ValueError, match="order"):
        ReplicationClassifier(xgboost(booster="gblinear"), order="constraint").fit(X, y)
    rf = pytest.importorskip("xgboost").XGBRFClassifier(n_estimators=5, n_jobs=1)
    assert ReplicationClassifier(rf, reject_cost=0.4).fit(X, y).order_ == "none"


def test_auto_leaves_forests_of_lightgbm_free(noisy):
    inner = lightgbm(boosting_type="rf", subsample=0.7, subsample_freq=1)
    assert ReplicationClassifier(inner, reject_cost=0.4).fit(*noisy).order_ == "none"


GIVEN = {
    "tuple": (1, 0),
    "list": [1, 0],
    "string": "(1,0)",
    "dict": {"a": 1},
}


@both
@pytest.mark.parametrize("given", GIVEN)
def test_constraints_of_the_user_are_kept(noisy, booster, given):
    X, y = noisy
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = ReplicationClassifier(booster(monotone_constraints=GIVEN[given])).fit(frame, y)
    line = pd.DataFrame({"a": np.linspace(-3, 3, 80), "b": 0.5})
    assert (np.diff(model.boundary_scores(line), axis=0) >= 0).all()
    assert (steps(model, frame) <= 0).all()
    free = ReplicationClassifier(booster()).fit(frame, y)
    assert (np.diff(free.boundary_scores(line), axis=0) < 0).any()


def test_aliases_of_lightgbm_are_known(noisy):
    X, y = noisy
    model = ReplicationClassifier(lightgbm(mc=[1, 0])).fit(X, y)
    assert model.estimator_.get_params()["mc"] == [1, 0, -1]
    with pytest.raises(ValueError, match="each of the 2 features"):
        ReplicationClassifier(lightgbm(mc=[1, 0, 1])).fit(X, y)


def test_lines_in_the_leaves_are_refused(noisy):
    X, y = noisy
    for name in ("linear_tree", "linear_trees"):
        with pytest.raises(ValueError, match=f"{name}=True fits lines in the leaves"):
            ReplicationClassifier(lightgbm(**{name: True})).fit(X, y)
    free = ReplicationClassifier(lightgbm(linear_tree=True), order="none").fit(X, y)
    assert free.order_ == "none"


@both
def test_models_survive_pickling(noisy, booster):
    X, y = noisy
    model = ReplicationClassifier(booster()).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.boundary_scores(X), model.boundary_scores(X))


# ---- traps -------------------------------------------------------------------------------


@both
def test_early_stopping_is_refused(noisy, booster):
    inner = booster(early_stopping_rounds=5)
    for estimator in (inner, BaggingClassifier(inner)):
        with pytest.raises(ValueError, match="early_stopping_rounds"):
            ReplicationClassifier(estimator).fit(*noisy)


@both
@pytest.mark.parametrize("parameters", [{"scale_pos_weight": 3}, {"is_unbalance": True}])
def test_weights_of_the_two_sides_are_refused(noisy, booster, parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"estimator__{name}=.* pass class_weight to Replication"):
        ReplicationClassifier(booster(**parameters)).fit(*noisy)


@both
def test_objectives_for_more_classes_are_refused(noisy, booster):
    objective = "multi:softprob" if booster is xgboost else "multiclass"
    with pytest.raises(ValueError, match=f"estimator__objective='{objective}' is for more than"):
        ReplicationClassifier(booster(objective=objective)).fit(*noisy)


def test_leaf_sizes_of_lightgbm_count_points(noisy):
    model = ReplicationClassifier(lightgbm(min_child_samples=7)).fit(*noisy)
    assert model.estimator_.min_child_samples == 7 * 6
    as_given = ReplicationClassifier(lightgbm(min_child_samples=7), scale_leaf_sizes=False)
    assert as_given.fit(*noisy).estimator_.min_child_samples == 7


# ---- inputs ------------------------------------------------------------------------------


@both
def test_frames_keep_names_and_categories(noisy, booster):
    X, y = noisy
    colours = np.array(["red", "green", "blue"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colours)})
    extra = {"enable_categorical": True} if booster is xgboost else {}
    model = ReplicationClassifier(booster(**extra)).fit(frame, y)
    inner = model.estimator_.get_booster() if booster is xgboost else model.estimator_.booster_
    names = inner.feature_names if booster is xgboost else inner.feature_name()
    assert list(names) == ["a", "colour", "replica_0"]
    dump = (
        "".join(inner.get_dump(with_stats=False)) if booster is xgboost else inner.model_to_string()
    )
    assert re.search("colour:{" if booster is xgboost else "num_cat=[1-9]", dump)
    assert model.predict(frame.iloc[::-1])[::-1].tolist() == model.predict(frame).tolist()
    assert (steps(model, frame) <= 0).all()


def test_feature_types_of_xgboost_are_extended(noisy):
    X, y = noisy
    X = np.column_stack([X, np.digitize(X[:, 1], [-0.5, 0.5])])
    inner = xgboost(feature_types=["q", "q", "c"], enable_categorical=True)
    assert (steps(ReplicationClassifier(inner).fit(X, y), X) <= 0).all()


@both
def test_missing_values_and_pipelines(noisy, booster):
    X, y = noisy[0].copy(), noisy[1]
    X[::7, 1] = np.nan
    model = ReplicationClassifier(booster()).fit(X, y)
    assert (steps(model, X) <= 0).all()
    piped = ReplicationClassifier(make_pipeline(StandardScaler(), booster())).fit(X, y)
    assert piped.order_violations_ == 0


@both
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_input(noisy, booster, form):
    X, y = noisy
    model = ReplicationClassifier(booster()).fit(form(X), y)
    assert model.boundary_scores(form(X)).shape == (300, 6)
    assert model.order_violations_ == 0


# ---- risk --------------------------------------------------------------------------------


@both
def test_the_risk_comes_near_the_best(booster):
    X, y = make_synthetic_1(2000, random_state=0)
    X_test, y_test = make_synthetic_1(10_000, random_state=1)
    small = {"max_depth": 4} if booster is xgboost else {"num_leaves": 12}
    inner = booster(n_estimators=60, learning_rate=0.08, **small)
    model = ReplicationClassifier(inner, reject_cost=0.2).fit(X, y)
    best = bayes_risk("synthetic_1", 0.2)
    assert 0.9 * best < 1 - model.score(X_test, y_test) < 1.25 * best
