"""Two independent classifiers of two classes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo.baselines import FrankHallReject
from rejo.datasets import bayes_risk, make_synthetic_1, make_synthetic_2


class Line(ClassifierMixin, BaseEstimator):
    """A line that turns with the weights: x = 0 if positives are dear, y = 0 if they are not."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        self.axis_ = int(sample_weight[y == 1].mean() < sample_weight[y == 0].mean())
        return self

    def decision_function(self, X):
        return X[:, self.axis_]


SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


@pytest.fixture(scope="module")
def binary():
    return make_synthetic_2(200, random_state=0)


def test_a_crossing_is_found_counted_and_rejected():
    X = np.vstack([SQUARE, SQUARE[2:3]])
    model = FrankHallReject(Line()).fit(X, [0, 1, 0, 1, 1])
    # Below the first boundary, x = 0, and above the second, y = 0: the upper left quarter.
    assert model.crossing_mask(SQUARE).tolist() == [False, False, True, False]
    assert model.predict(SQUARE).tolist() == [1, -1, -1, 0]
    assert model.crossing_rate_ == pytest.approx(2 / 5)
    scores = model.boundary_scores(SQUARE)
    assert (np.diff(scores, axis=1) <= 0).all()
    weighted = FrankHallReject(Line()).fit(X, [0, 1, 0, 1, 1], sample_weight=[1, 1, 3, 1, 3])
    assert weighted.crossing_rate_ == pytest.approx(6 / 9)


def test_each_fit_has_the_costs_of_its_replica(binary):
    X, y = binary
    model = FrankHallReject(LogisticRegression(), reject_cost=0.3).fit(X, y)
    first, second = model.estimators_
    lower = LogisticRegression().fit(X, y > 0, sample_weight=np.where(y > 0, 0.7, 0.3))
    upper = LogisticRegression().fit(X, y > 0, sample_weight=np.where(y > 0, 0.3, 0.7))
    assert_allclose(first.decision_function(X), lower.decision_function(X))
    assert_allclose(second.decision_function(X), upper.decision_function(X))
    above, below = first.decision_function(X) > 0, second.decision_function(X) <= 0
    assert_array_equal(model.reject_mask(X), above == below)


def test_half_is_the_price_at_which_both_fits_are_the_same(binary):
    X, y = binary
    model = FrankHallReject(SVC(), reject_cost=0.5).fit(X, y)
    assert not model.reject_mask(X).any()
    assert model.crossing_rate_ == 0


def test_without_a_cost_there_is_one_classifier(binary):
    X, y = binary
    model = FrankHallReject(KNeighborsClassifier(), reject_cost=None).fit(X, y)
    assert len(model.estimators_) == 1
    assert_array_equal(model.predict(X), KNeighborsClassifier().fit(X, y).predict(X))


def test_a_loss_matrix_weighs_the_two_errors(binary):
    X, y = binary
    loss = [[0, 0.2, 1], [5, 0.2, 0]]
    model = FrankHallReject(LogisticRegression(), loss_matrix=loss).fit(X, y)
    plain = FrankHallReject(LogisticRegression()).fit(X, y)
    missed = [np.mean(m.predict(X)[y > 0] == -1) for m in (model, plain)]
    assert missed[0] < missed[1]


def test_weights_reach_the_last_step_of_a_pipeline_and_of_a_search(binary):
    X, y = binary
    weight = np.arange(len(y)) % 3
    frame = pd.DataFrame(X, columns=["u", "v"])
    pipeline = make_pipeline(StandardScaler(), SVC())
    model = FrankHallReject(pipeline).fit(frame, y, sample_weight=weight)
    kept = weight > 0
    scaled = StandardScaler().fit(X[kept])
    inside = FrankHallReject(SVC()).fit(scaled.transform(X[kept]), y[kept], weight[kept])
    assert_allclose(
        model.boundary_scores(frame), inside.boundary_scores(scaled.transform(X)), atol=1e-6
    )
    search = GridSearchCV(SVC(), {"C": [0.1, 1]}, cv=2)
    assert FrankHallReject(search).fit(X, y).reject_mask(X).any()


@pytest.mark.parametrize(
    ("make", "problem", "machine"),
    [
        (make_synthetic_1, "synthetic_1", SVC(C=256, gamma=0.5)),
        (make_synthetic_2, "synthetic_2", SVC(C=4, gamma=0.04)),
    ],
)
def test_risk_on_400_points_is_near_the_bayes_risk(make, problem, machine):
    X, y = make(400, random_state=0)
    X_test, y_test = make(10_000, random_state=1)
    model = FrankHallReject(machine, reject_cost=0.2).fit(X, y)
    assert 1 - model.score(X_test, y_test) < 1.3 * bayes_risk(problem, 0.2)


def test_what_cannot_work_is_refused(binary):
    X, y = binary
    with pytest.raises(ValueError, match="sample_weight"):
        FrankHallReject(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="class_weight"):
        FrankHallReject(make_pipeline(SVC(class_weight="balanced"))).fit(X, y)
