"""scikit-learn's FrozenEstimator: what is frozen is not fitted again, and answers as before."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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
from rejo.estimators.pipelines import final_classifier
from tests.test_common import CLASSIFIERS, fit_once, points

pytestmark = pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning")
# One of each class: which settings it has does not matter here.
ONE_OF_EACH = {type(estimator).__name__: estimator for estimator in reversed(CLASSIFIERS)}
every_classifier = pytest.mark.parametrize("estimator", ONE_OF_EACH.values(), ids=ONE_OF_EACH)


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=120) > 0, "yes", "no")
    return X[:60], y[:60], X[60:], y[60:]


BASES = {
    "posteriors": LogisticRegression(),
    "scores": SVC(gamma=0.3),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(5, random_state=0),
}
WRAPPERS = {
    "threshold": ThresholdRejectClassifier,
    "class": lambda estimator: ThresholdRejectClassifier(estimator, rule="class"),
    "novelty": NoveltyReject,
    "budget": lambda estimator: RejectClassifierCV(
        ThresholdRejectClassifier(estimator), review_budget=0.2, cv=2
    ),
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_wrapper_leaves_a_frozen_classifier_as_it_is(base, wrap, halves):
    X, y, new, labels = halves
    base = base.fit(X, y)
    before, forced = base.__dict__.copy(), base.predict(new)
    weights = np.arange(60) % 3
    for given in ((), (weights,)):
        model = wrap(FrozenEstimator(base)).fit(new, labels, *given)
        assert base.__dict__ == before
        if wrap is not WRAPPERS["class"] and base is not BASES["scores"]:  # else calibrated
            assert_array_equal(model.predict_forced(new), forced)
    assert set(model.predict(new)) <= {"yes", "no", "reject"}


def test_weights_count_in_the_cut_offs_around_a_frozen_classifier(halves):
    X, y, new, labels = halves
    base, weight = FrozenEstimator(SVC(gamma=0.3).fit(X, y)), np.arange(60) % 3
    model = ThresholdRejectClassifier(base, rule="score", cv="train")
    weighted = model.fit(new, labels, weight).cutoffs_
    repeated = model.fit(np.repeat(new, weight, axis=0), np.repeat(labels, weight)).cutoffs_
    assert_array_equal(weighted, repeated)


def test_a_blend_has_frozen_members(halves):
    X, y, new, labels = halves
    old = FrozenEstimator(LogisticRegression().fit(X, y))
    members = [("old", old), ("new", LogisticRegression(C=0.01))]
    coef = old.coef_.copy()
    blend = BlendClassifier(members, cv=2).fit(new, labels, np.ones(60))
    assert_array_equal(blend.estimators_[0].coef_, coef)
    assert_array_equal(blend.predict_proba(new).shape, (60, 2))


@pytest.mark.parametrize("kind", [ReplicationClassifier, FrankHallReject])
@pytest.mark.parametrize("base", [BASES["posteriors"], BASES["pipeline"]])
def test_boundaries_cannot_be_learned_by_a_frozen_classifier(kind, base, halves):
    X, y, new, labels = halves
    frozen = FrozenEstimator(base.fit(X, y))
    for estimator in (frozen, make_pipeline(StandardScaler(), frozen)):
        for cost in (0.2, None):
            model = kind(estimator, reject_cost=cost, class_order="sorted")
            with pytest.raises(ValueError, match=f"{kind.__name__} must fit it .* Threshold"):
                model.fit(new, labels)


def test_an_operating_point_is_not_set_on_a_frozen_model(halves):
    X, y, new, labels = halves
    frozen = FrozenEstimator(RejoLinear().fit(X, y))
    for estimator in (frozen, make_pipeline(StandardScaler(), frozen)):
        with pytest.raises(TypeError, match=r"estimator is frozen.*Freeze the classifier inside"):
            RejectClassifierCV(estimator, review_budget=0.2).fit(new, labels)


def test_a_frozen_classifier_must_know_the_classes(halves):
    X, y, new, labels = halves
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="fitted estimator must have the same classes"):
        ThresholdRejectClassifier(frozen).fit(new, labels == "yes").predict(new)


@every_classifier
def test_a_frozen_classifier_decides_as_before(estimator):
    """Alone, at the end of a pipeline, and for the functions that take either."""
    X, y = points(estimator)
    model = fit_once(estimator)
    frozen = FrozenEstimator(model)
    pipeline = make_pipeline("passthrough", frozen).fit(X[::-1], y)  # labels that are wrong
    assert_array_equal(frozen.fit(X[::-1], y).predict(X), model.predict(X))
    assert_array_equal(pipeline.predict(X), model.predict(X))
    assert pipeline.score(X, y) == model.score(X, y)
    for whole in (frozen, pipeline):
        assert final_classifier(whole) is final_classifier(model)
        for left, right in zip(rejo.judge(whole, X), model.judge(X), strict=True):
            assert_array_equal(left, right)
        assert rejo.review(whole, X).equals(model.review(X))
        assert rejo.queue(whole, X, 5).equals(model.queue(X, 5))


def test_a_model_file_holds_the_model_that_is_frozen(halves, tmp_path):
    pytest.importorskip("skops")
    X, y, new, labels = halves
    frozen = FrozenEstimator(RejoLinear().fit(X, y))
    for model in (frozen, make_pipeline(StandardScaler(), frozen)):
        with pytest.raises(rejo.ModelFileError, match="Save the model inside the FrozenEstimator"):
            rejo.save(model, tmp_path / "model.rejo")
    inside = ThresholdRejectClassifier(FrozenEstimator(BASES["forest"].fit(X, y)))
    rejo.save(inside.fit(new, labels), tmp_path / "model.rejo")
    loaded = rejo.load(tmp_path / "model.rejo")
    assert_array_equal(loaded.predict(new), inside.predict(new))
