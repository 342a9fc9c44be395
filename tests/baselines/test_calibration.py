"""Maps from scores to posteriors, fitted on held-out points."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.fixes import parse_version

from rejo import RejoLinear, RejoSVC
from rejo.baselines import ThresholdRejectClassifier
from rejo.baselines.calibration import GivenScores, calibrated, fit_calibrator
from rejo.datasets import make_synthetic_2, make_synthetic_3, make_synthetic_4
from rejo.metrics import log_loss, reliability_table

TEMPERATURE = parse_version(sklearn.__version__) >= parse_version("1.8")


def scored(n, K, seed=0):
    """Scores that are three times too large, classes drawn by the true posteriors, weights."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K))
    p = softmax(logits, axis=1)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    scores = 3 * (logits if K > 2 else logits[:, 1] - logits[:, 0])
    return scores, y, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_each_method_finds_the_posteriors(K, method):
    scores, y, weight = scored(20_000, K)
    p = calibrated(fit_calibrator(scores, y, weight, method), scores)
    logits = scores / 3 if K > 2 else np.column_stack([np.zeros(len(y)), scores / 3])
    assert_allclose(p.sum(axis=1), 1)
    # One isotonic regression for each of many classes is only an approximation.
    assert np.abs(p - softmax(logits, axis=1)).mean() < (0.05 if method == "isotonic" else 0.01)


@pytest.mark.parametrize("K", [2, 3])
def test_a_temperature_keeps_the_likeliest_class(K):
    scores, y, weight = scored(300, K)
    calibrator = fit_calibrator(scores, y, weight, "temperature")
    p = calibrated(calibrator, scores)
    assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1) if K > 2 else scores > 0)
    for factor in (0.9, 1.1):  # no other factor has a lower log loss
        other = calibrated(calibrator, factor * scores)
        assert log_loss(y, p, sample_weight=weight) < log_loss(y, other, sample_weight=weight)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_a_temperature_does_not_depend_on_the_size_of_scores(size):
    scores, y, weight = scored(300, 3)
    p = calibrated(fit_calibrator(scores, y, weight, "temperature"), scores)
    scaled = calibrated(fit_calibrator(size * scores, y, weight, "temperature"), size * scores)
    assert_allclose(scaled, p, atol=1e-6)


@pytest.mark.skipif(not TEMPERATURE, reason="scikit-learn has it since 1.8")
@pytest.mark.parametrize("K", [2, 3])
def test_the_temperature_is_that_of_scikit_learn(K):
    scores, y, weight = scored(300, K)
    rows = np.arange(len(y))
    theirs = CalibratedClassifierCV(
        GivenScores(), method="temperature", cv=[(rows, rows)], ensemble=False
    ).fit(scores.reshape(len(y), -1), y, sample_weight=weight)
    p = calibrated(fit_calibrator(scores, y, weight, "temperature"), scores)
    assert_allclose(p, theirs.predict_proba(scores.reshape(len(y), -1)), atol=1e-6)


def test_ordered_scores_have_a_sigmoid_at_each_boundary():
    rng = np.random.default_rng(0)
    x, cuts = rng.normal(size=20_000), np.array([-1.0, 0.5])
    above = expit(2 * x[:, None] - cuts)
    y = (rng.random((len(x), 1)) < above).sum(axis=1)
    edges = [-3.0, 7.0]  # in units of a margin, and not where the odds are even
    scores = 5 * x[:, None] - edges
    p = calibrated(fit_calibrator(scores, y, np.ones(len(y)), "sigmoid"), scores)
    assert_allclose(p, -np.diff(above, axis=1, prepend=1.0, append=0.0), atol=0.02)


# ---- around classifiers ------------------------------------------------------------------


@pytest.mark.parametrize("draw", [make_synthetic_2, make_synthetic_3, make_synthetic_4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_votes_become_better_posteriors(draw, method):
    X, y = draw(600, random_state=0)
    X_new, y_new = draw(3000, random_state=1)
    forest = RandomForestClassifier(10, random_state=0)
    model = ThresholdRejectClassifier(forest, calibration=method).fit(X, y)
    classes, p, votes = model.classes_, *(
        m.predict_proba(X_new) for m in (model, model.estimator_)
    )  # fmt: skip
    assert log_loss(y_new, p, classes=classes) < log_loss(y_new, votes, classes=classes)
    assert reliability_table(y_new, p).error < reliability_table(y_new, votes).error + 0.015


@pytest.mark.parametrize("draw", [make_synthetic_2, make_synthetic_4])
@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_scores_become_posteriors(draw, method):
    X, y = draw(600, random_state=0)
    X_new, y_new = draw(3000, random_state=1)
    machine = make_pipeline(StandardScaler(), SVC())
    model = ThresholdRejectClassifier(machine, calibration=method).fit(X, y)
    p = model.predict_proba(X_new)
    shares = np.bincount(np.unique(y, return_inverse=True)[1]) / len(y)
    base = log_loss(y_new, np.tile(shares, (len(y_new), 1)), classes=model.classes_)
    assert log_loss(y_new, p, classes=model.classes_) < 0.7 * base
    assert reliability_table(y_new, p).error < 0.1


def test_a_temperature_leaves_good_posteriors_as_they_are():
    X, y = make_synthetic_4(2000, random_state=0)
    plain = LogisticRegression().fit(X, y)
    model = ThresholdRejectClassifier(LogisticRegression(), calibration="temperature").fit(X, y)
    assert model.calibrator_.beta_ == pytest.approx(1, abs=0.1)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), plain.predict_proba(X).argmax(axis=1))
    ordinal = RejoLinear(C=100, reject_cost=None)  # has posteriors, but no score for each class
    model = ThresholdRejectClassifier(ordinal, calibration="temperature").fit(*draw_parallel(3000))
    assert model.calibrator_.beta_ == pytest.approx(1, abs=0.1)


def draw_parallel(n, seed=0):
    """Four classes whose cumulative logits are linear and parallel."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    above = expit((X @ [2.0, -1.0])[:, None] - [-2.0, 0.0, 1.0])
    return X, (rng.random((n, 1)) < above).sum(axis=1)


@pytest.mark.parametrize("inner_cost", [None, 0.2])
def test_machines_by_boundaries_are_calibrated(inner_cost):
    X, y = make_synthetic_3(500, random_state=0)
    X_new, y_new = make_synthetic_3(3000, random_state=1)
    machine = RejoSVC(C=10, gamma=2, reject_cost=inner_cost)
    model = ThresholdRejectClassifier(make_pipeline(StandardScaler(), machine)).fit(X, y)
    p = model.predict_proba(X_new)
    assert_allclose(p.sum(axis=1), 1)
    assert reliability_table(y_new, p).error < 0.05
    assert (p.argmax(axis=1) == y_new - 1).mean() > 0.8


def test_machines_by_boundaries_of_two_classes():
    X, y = make_synthetic_2(500, random_state=0)
    X_new, y_new = make_synthetic_2(3000, random_state=1)
    for method in ("auto", "isotonic", "temperature"):
        machine = RejoSVC(gamma=0.1, reject_cost=None)
        model = ThresholdRejectClassifier(machine, calibration=method).fit(X, y)
        assert reliability_table(y_new, model.predict_proba(X_new)).error < 0.06


def test_the_order_of_boundaries_is_that_of_the_classes():
    X, y = make_synthetic_3(200, random_state=0)
    names = np.array(["e", "d", "c", "b", "a"])[y - 1]
    order = ["e", "d", "c", "b", "a"]
    machine = RejoSVC(gamma=2, class_order=order, reject_cost=None)
    model = ThresholdRejectClassifier(machine, class_order=order).fit(X, names)
    assert (model.predict_forced(X) == names).mean() > 0.7
    with pytest.raises(ValueError, match="class_order"):
        ThresholdRejectClassifier(machine).fit(X, names)
    for method in ("isotonic", "temperature"):
        model = ThresholdRejectClassifier(machine, class_order=order, calibration=method)
        with pytest.raises(ValueError, match="calibration"):
            model.fit(X, names)


@pytest.mark.parametrize("calibration", ["sigmoid", "temperature"])
def test_scores_of_any_size_have_posteriors(calibration):
    X = np.repeat(np.eye(3), 20, axis=0) + np.random.RandomState(0).normal(0, 0.5, (60, 3))
    machine = SVC(kernel="linear", C=100.0)
    model = ThresholdRejectClassifier(machine, calibration=calibration, cv=2)
    model.fit(X, np.repeat([0, 1, 2], 20))
    if calibration == "sigmoid":
        model.calibrator_.steps[1][1].coef_ *= 1e9
    p = model.predict_proba(np.array([[-1e300, 0.0, 0.0], [1e300, 0.0, 1e300]]))
    assert_allclose(p.sum(axis=1), 1.0)
