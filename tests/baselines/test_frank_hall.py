"""Frank and Hall's splits with a reject region."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from rejo.baselines import FrankHallReject, ThresholdRejectClassifier
from rejo.datasets import bayes_risk, make_synthetic_2, make_synthetic_3
from rejo.replication import replica_costs, replica_labels


@pytest.fixture(scope="module")
def four():
    """Four classes along a bent band, with much overlap."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    t = X[:, 0] + X[:, 1] ** 2 / 2 + 0.7 * rng.normal(size=300)
    return X, np.searchsorted([-0.5, 0.5, 1.5], t)


@pytest.fixture(scope="module")
def binary():
    return make_synthetic_2(200, random_state=0)


@pytest.mark.parametrize("cv", [5, "train"])
def test_for_two_classes_one_classifier_a_split_is_the_one_with_free_cutoffs(binary, cv):
    X, y = binary
    model = FrankHallReject(SVC(), per_split=1, cv=cv).fit(X, y)
    single = ThresholdRejectClassifier(SVC(), rule="score", cv=cv).fit(X, y)
    assert_allclose(model.cutoffs_, single.cutoffs_)
    assert_array_equal(model.predict(X), single.predict(X))


def test_each_classifier_has_the_costs_of_its_replica(four):
    X, k = four
    model = FrankHallReject(LogisticRegression(), reject_cost=0.3).fit(X, k)
    labels, costs = replica_labels(4), replica_costs(4, 0.3)
    assert len(model.estimators_) == 6
    raw = []
    for q, fit in enumerate(model.estimators_):
        expected = LogisticRegression().fit(X, labels[k, q] > 0, sample_weight=costs[k, q])
        raw.append(expected.decision_function(X))
        assert_allclose(fit.decision_function(X), raw[q])
    counts = (np.array(raw) > 0).sum(axis=0)
    assert_array_equal(model.predict(X), np.where(counts % 2, -1, counts // 2))
    crossed = (np.diff(np.array(raw) > 0, axis=0) & (np.array(raw)[1:] > 0)).any(axis=0)
    assert_array_equal(model.crossing_mask(X), crossed)
    assert model.crossing_rate_ == crossed.mean()


def test_independent_machines_cross(four):
    X, k = four
    model = FrankHallReject(SVC(C=100, gamma=2.0)).fit(X, k)
    assert model.crossing_rate_ == model.crossing_mask(X).mean()
    far = np.random.default_rng(0).uniform(-3, 3, size=(2000, 2))
    assert model.crossing_mask(far).any()
    assert (np.diff(model.boundary_scores(far), axis=1) <= 0).all()


def test_one_classifier_a_split_minimises_the_cost_of_each_split(four):
    X, k = four
    model = FrankHallReject(GaussianNB(), per_split=1, cv="train", reject_cost=0.3).fit(X, k)
    assert len(model.estimators_) == 3
    costs = replica_costs(4, 0.3)
    for j, fit in enumerate(model.estimators_):
        p = fit.predict_proba(X)
        s, above = np.log(p[:, 1] / p[:, 0]), k > j
        best = [
            min(costs[k, q] @ ((s > t) != above) for t in np.append(s, s.min() - 1))
            for q in (2 * j, 2 * j + 1)
        ]
        found = [costs[k, q] @ ((s > model.cutoffs_[q]) != above) for q in (2 * j, 2 * j + 1)]
        assert_allclose(found, best)
        assert model.cutoffs_[2 * j] <= model.cutoffs_[2 * j + 1]


@pytest.mark.parametrize("settings", [dict(reject_cost=None), dict(per_split=1, cv=2)])
def test_probabilities(four, settings):
    X, k = four
    model = FrankHallReject(KNeighborsClassifier(7), **settings).fit(X, k)
    p = model.predict_proba(X)
    assert p.shape == (len(k), 4)
    assert p.min() >= 0
    assert_allclose(p.sum(axis=1), 1)
    above = np.column_stack([fit.predict_proba(X)[:, 1] for fit in model.estimators_])
    ordered = (np.diff(above, axis=1) <= 0).all(axis=1)
    assert_allclose(p[ordered, 0], 1 - above[ordered, 0])
    assert_allclose(p[ordered, -1], above[ordered, -1])


def test_weighted_fits_and_partial_splits_have_no_probabilities():
    inner = LogisticRegression()
    assert hasattr(FrankHallReject(inner, per_split=1), "predict_proba")
    for model in (
        FrankHallReject(inner),
        FrankHallReject(inner, per_split=1, s=1),
        FrankHallReject(inner, reject_cost=None, loss_matrix=[[0, 1], [2, 0]]),
        FrankHallReject(SVC(), per_split=1),
    ):
        assert not hasattr(model, "predict_proba")


def test_plain_frank_and_hall_counts_the_splits(four):
    X, k = four
    model = FrankHallReject(GaussianNB(), reject_cost=None).fit(X, k)
    counts = sum((GaussianNB().fit(X, k > j).predict(X) for j in range(3)), np.zeros(len(k), int))
    assert_array_equal(model.predict(X), counts)
    assert model.reject_label_ is None
    cut = FrankHallReject(GaussianNB(), reject_cost=None, per_split=1).fit(X, k)
    assert_array_equal(cut.predict(X), counts)


@pytest.mark.parametrize("per_split", [1, 2])
def test_a_weight_of_two_is_the_point_twice(four, per_split):
    X, k = four
    weight = np.arange(len(k)) % 3
    rows = np.repeat(np.arange(len(k)), weight)
    model = FrankHallReject(GaussianNB(), per_split=per_split, cv="train")
    scores = model.fit(X, k, sample_weight=weight).boundary_scores(X)
    assert_allclose(scores, model.fit(X[rows], k[rows]).boundary_scores(X), atol=1e-8)


def test_only_neighbours_take_part_with_s(four):
    X, k = four
    model = FrankHallReject(LogisticRegression(), s=1).fit(X, k)
    near = k <= 1
    first = LogisticRegression().fit(
        X[near], k[near], sample_weight=np.where(k[near] == 0, 0.2, 0.8)
    )
    assert_allclose(model.estimators_[0].decision_function(X), first.decision_function(X))
    single = FrankHallReject(KNeighborsClassifier(), s=1, per_split=1, cv=3).fit(X, k)
    assert single.reject_mask(X).any()
    loss = [[0, 1, 2, 3], [9, 0, 1, 2], [18, 9, 0, 1], [27, 18, 9, 0]]  # too low is dear
    dear = FrankHallReject(GaussianNB(), per_split=1, loss_matrix=loss).fit(X, k)
    assert dear.cutoffs_.shape == (3,)
    assert np.mean(dear.predict(X) < k) < 0.1


def test_order_names_and_class_weights(four):
    X, k = four
    names = np.array(["poor", "fair", "good", "excellent"])
    model = FrankHallReject(
        LogisticRegression(), class_order=names.tolist(), class_weight="balanced"
    ).fit(X, names[k])
    assert model.classes_.tolist() == names.tolist()
    assert set(model.predict(X).tolist()) <= {*names.tolist(), "reject"}
    with pytest.raises(ValueError, match="class_order"):
        FrankHallReject(LogisticRegression()).fit(X, names[k])


@pytest.mark.parametrize("per_split", [1, 2])
def test_risk_of_ordered_classes_is_near_the_bayes_risk(per_split):
    X, y = make_synthetic_3(600, random_state=0)
    X_test, y_test = make_synthetic_3(5000, random_state=1)
    model = FrankHallReject(SVC(C=100, gamma=1.0), per_split=per_split, cv=3).fit(X, y)
    assert 1 - model.score(X_test, y_test) < 1.6 * bayes_risk("synthetic_3", 0.2)


def test_a_class_that_the_folds_cannot_leave_in_is_named(four):
    X, k = four
    with pytest.raises(ValueError, match="cv"):
        FrankHallReject(SVC(), per_split=1).fit(X, np.append(k[1:], 9))
