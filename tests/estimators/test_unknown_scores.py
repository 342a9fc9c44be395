"""Points whose scores are not numbers: they go to the review, and no class is made up for them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import rejo
from rejo.estimators.boundaries import judge_scores

X = np.linspace(-2.0, 2.0, 60)[:, None]
y = np.repeat([0, 1, 2], 20)
FAR = 1e6  # a point there has no score


class Blind(LogisticRegression):
    """Its scores far away are not numbers."""

    def decision_function(self, X):
        return np.where(X[:, 0] >= FAR, np.nan, super().decision_function(X))


@pytest.mark.parametrize("Q", [2, 4])
@pytest.mark.parametrize("column", [0, 1, -1])
def test_a_score_that_is_not_a_number_is_a_rejection(Q, column):
    scores = -np.sort(-np.random.default_rng(0).normal(size=(30, Q)), axis=1)
    known = judge_scores(scores, rejects=True)
    scores[7, column] = np.nan
    judgement = judge_scores(scores, rejects=True)
    others = np.arange(30) != 7
    for found, expected in zip(judgement[:6], known[:6], strict=True):
        assert_array_equal(found[others], expected[others])
    assert judgement.decision[7] == -1
    assert judgement.sureness[7] == 0.0  # the first to review
    assert np.isnan(judgement.distance[7])
    with pytest.raises(ValueError, match="row 7"):
        judge_scores(scores, rejects=False)


def models(reject_cost):
    yield rejo.ReplicationClassifier(Blind(), reject_cost=reject_cost)
    yield rejo.baselines.FrankHallReject(Blind(), reject_cost=reject_cost)


def test_wrapped_classifiers_without_a_score():
    rows = np.vstack([X, [[FAR]]])
    for model in models(0.2):
        model.fit(X, y)
        assert_array_equal(model.predict(rows)[:-1], model.predict(X))
        assert model.predict(rows)[-1] == model.reject_label_
        assert model.reject_mask(rows)[-1]
        assert model.queue(rows).index[0] == len(X)
        assert model.score(rows, np.append(y, 0)) < 1.0
        with pytest.raises(ValueError, match="row 60"):
            model.predict_forced(rows)
    for model in models(None):
        model.fit(X, y)
        for method in (model.predict, model.judge, model.predict_forced, model.reject_mask):
            with pytest.raises(ValueError, match="row 60"):
                method(rows)
        with pytest.raises(ValueError, match="row 60"):
            model.score(rows, np.append(y, 0))


@pytest.mark.parametrize("loss_matrix", [None, [[0, 0.2, 1], [1, 0.2, 0]]])
@pytest.mark.parametrize("reject_cost", [0.2, None])
def test_a_function_that_overflows(reject_cost, loss_matrix):
    """On which side an infinite value would lie is not known: it is a sum of terms that cancel."""
    if loss_matrix is not None and reject_cost is None:
        loss_matrix = [[0, 1], [1, 0]]
    rows, half = np.array([[-1.0], [1e140], [1.0], [-1e140]]), y[:40] > 0
    for model in (
        rejo.RejoSVC(kernel="poly", gamma=1.0),
        rejo.RejoKernelLogistic(kernel="poly", gamma=1.0, coef0=1.0),
    ):
        model = clone(model.set_params(reject_cost=reject_cost, loss_matrix=loss_matrix))
        model.fit(X[:40], half)
        if reject_cost is None:
            with pytest.raises(ValueError, match="row 1"):
                model.predict(rows)
            with pytest.raises(ValueError, match="row 1"):
                model.score(rows, np.zeros(4, dtype=bool))
            continue
        assert_array_equal(model.predict(rows)[[1, 3]], [model.reject_label_] * 2)
        assert_array_equal(model.judge(rows).decision, model._decide(rows))
        assert_array_equal(np.isnan(model.boundary_scores(rows)).any(axis=1), [0, 1, 0, 1])
        assert set(model.queue(rows, 2).index) == {1, 3}
        assert 0.0 < model.score(rows, np.zeros(4, dtype=bool)) < 1.0
        with pytest.raises(ValueError, match="not numbers"):
            model.predict_forced(rows)
