"""A score for two classes, and the tools of scikit-learn that ask for one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rejo import (
    NoveltyReject,
    RejectClassifierCV,
    RejoBoost,
    RejoLinear,
    RejoSVC,
    ThresholdRejectClassifier,
)
from rejo.baselines import FrankHallReject

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 2))
Y = (X.sum(axis=1) + 0.6 * RANDOM.normal(size=200) > 0).astype(int)
MODELS = {
    "svm": RejoSVC(),
    "linear": RejoLinear(),
    "boost": RejoBoost(n_estimators=20, boundaries="posteriors"),
    "pair": FrankHallReject(LogisticRegression()),
    "chow": ThresholdRejectClassifier(LogisticRegression()),
    "cut-offs": ThresholdRejectClassifier(LinearSVC(), rule="score"),
    "novelty": NoveltyReject(RejoSVC()),
    "pipeline": make_pipeline(StandardScaler(), RejoSVC()),
    "search": RejectClassifierCV(RejoSVC(), review_budget=0.2, reject_costs=[0.2, 0.4], cv=3),
    "searched cut-offs": RejectClassifierCV(
        ThresholdRejectClassifier(LinearSVC(), rule="score"),
        review_budget=0.2, reject_costs=[0.1, 0.3], cv=3,
    ),
}  # fmt: skip
LABELS = {"0 1": [0, 1], "-1 1": [-1, 1], "words": ["ill", "well"]}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_ranks_and_calibrates(name, labels):
    y = np.array(labels)[Y]
    model = clone(MODELS[name]).fit(X, y)
    assert not set(model.predict(X)) <= set(labels)  # it rejects
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    assert cross_val_score(model, X, y, scoring="roc_auc", cv=3).min() > 0.85
    calibrated = CalibratedClassifierCV(clone(model), cv=3).fit(X, y)
    assert_array_equal(calibrated.classes_, labels)
    assert set(calibrated.predict(X)) == set(labels)
    assert roc_auc_score(y, calibrated.predict_proba(X)[:, 1]) > 0.9


def test_a_curve():
    pytest.importorskip("matplotlib")
    model = RejoSVC().fit(X, Y)
    curve = RocCurveDisplay.from_estimator(model, X, Y)
    assert curve.roc_auc == roc_auc_score(Y, model.decision_function(X))


def test_three_classes_have_no_one_score():
    y = np.searchsorted(np.quantile(X[:, 0], [0.3, 0.6]), X[:, 0])
    for name in ("svm", "boost", "pipeline", "search"):
        model = clone(MODELS[name])
        assert hasattr(model, "decision_function")  # there may be two classes
        assert not hasattr(model.fit(X, y), "decision_function")


def test_it_is_the_middle_between_the_edges():
    model = RejoSVC().fit(X, Y)
    low, high = model.boundary_scores(X).T
    assert_allclose(model.decision_function(X), (low + high) / 2)
    plain = RejoSVC(reject_cost=None).fit(X, Y)
    assert_array_equal(plain.decision_function(X), plain.boundary_scores(X)[:, 0])


def test_it_is_the_log_odds_of_posteriors_at_any_prices():
    linear = RejoLinear().fit(X, Y)
    assert_allclose(expit(linear.decision_function(X)), linear.predict_proba(X)[:, 1])
    model = ThresholdRejectClassifier(LogisticRegression()).fit(X, Y)
    scores = model.decision_function(X)
    assert_allclose(scores, model.estimator_.decision_function(X))
    assert_array_equal(model.at(reject_cost=0.05).decision_function(X), scores)
    forest = ThresholdRejectClassifier(RandomForestClassifier(5, random_state=0)).fit(X, Y)
    assert (forest.predict_proba(X) == 0).any()
    assert np.isfinite(forest.decision_function(X)).all()


def test_cut_offs_rank_by_the_score_that_they_cut():
    model = ThresholdRejectClassifier(LogisticRegression(), rule="score").fit(X, Y)
    assert len(model.cutoffs_) == 2
    expected = model.estimator_.decision_function(X) - model.cutoffs_.mean()
    assert_allclose(model.decision_function(X), expected)


def test_classes_in_another_order_inside():
    y = np.where(Y, "well", "ill")
    inner = RejoSVC(class_order=["well", "ill"])
    model = ThresholdRejectClassifier(inner).fit(X, y)
    assert_array_equal(model.classes_, ["ill", "well"])
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
