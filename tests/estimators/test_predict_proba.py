"""Posteriors of the learners by data replication."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rejo import RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.estimators.posteriors import boundary_posteriors, odds_offsets
from rejo.replication import costs_from_loss, replica_costs, replica_labels
from rejo.selection import RejectClassifierCV

PRICES = [[0.0, 1.0, 5.0], [2.0, 0.5, 0.0]]  # of class 0, a rejection, class 1


def draw(n, cuts, seed=0):
    """Points whose cumulative logits are linear and parallel, with the true posteriors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    above = expit((X @ [2.0, -1.0] + 0.5)[:, None] - np.asarray(cuts))  # P(y > j)
    y = (rng.random((n, 1)) < above).sum(axis=1)
    return X, y, -np.diff(above, axis=1, prepend=1.0, append=0.0)


def excess(model, cuts, n=6000):
    """Log loss on new points, minus that of the true posteriors."""
    model.fit(*draw(n, cuts)[:2])
    X, y, truth = draw(n, cuts, seed=1)
    return log_loss(y, model.predict_proba(X)) - log_loss(y, truth)


# ---- from scores to posteriors -----------------------------------------------------------


@st.composite
def posteriors_and_costs(draw):
    """Posteriors of one point, and costs that are level on each side of every boundary."""
    K = draw(st.integers(2, 5))
    p = np.array(draw(st.lists(st.floats(0.01, 1), min_size=K, max_size=K)))
    rejects = draw(st.booleans())
    labels = replica_labels(K, rejects)
    sides = st.lists(st.floats(0.05, 3), min_size=labels.shape[1], max_size=labels.shape[1])
    return p / p.sum(), np.where(labels > 0, draw(sides), draw(sides)), rejects


@given(posteriors_and_costs())
def test_the_optimal_scores_give_the_posteriors_back(drawn):
    p, costs, rejects = drawn
    weighted, above = costs * p[:, None], replica_labels(len(p), rejects) > 0
    scores = np.log((weighted * above).sum(axis=0)) - np.log((weighted * ~above).sum(axis=0))
    offsets = odds_offsets(costs)
    assert_allclose(boundary_posteriors((scores - offsets)[None], rejects=rejects)[0], p, rtol=1e-9)


def test_costs_of_rejection_leave_posteriors_for_two_classes_only():
    assert_allclose(odds_offsets(replica_costs(2, 0.2)), [logit(0.8), logit(0.2)])
    assert_allclose(odds_offsets(costs_from_loss(PRICES)), np.log([1.5, 0.5 / 4]))
    assert odds_offsets(replica_costs(3, 0.2)) is None
    assert_array_equal(odds_offsets(replica_costs(3, 0.5)), 0.0)  # a rejection is half an error
    assert odds_offsets(replica_costs(3, None, s=1)) is None
    assert odds_offsets([[0.0, 1.0], [1.0, 1.0]]) is None


@given(st.lists(st.lists(st.floats(allow_nan=False), min_size=4, max_size=4), min_size=1))
def test_extreme_scores_give_posteriors(scores):
    for rejects in (True, False):
        p = boundary_posteriors(np.array(scores), rejects=rejects)
        assert p.shape == (len(scores), 3 if rejects else 5)
        assert (p >= 0).all()
        assert_allclose(p.sum(axis=1), 1.0)


def test_small_posteriors_do_not_cancel():
    p = boundary_posteriors(np.array([[41.0, 40.0], [-40.0, -41.0]]), rejects=False)
    assert_allclose(p[0], p[1, ::-1], rtol=1e-12)
    assert_allclose(p[0, 1], np.exp(-40) - np.exp(-41), rtol=1e-6)


# ---- of the learners ---------------------------------------------------------------------

NETWORK = {"alpha": 0.01, "hidden_layer_sizes": 3, "random_state": 0}
LEARNERS = [
    RejoLinear(C=10),
    RejoMLP(**NETWORK),
    RejoMLP(loss="squared_error", **NETWORK),
    ReplicationClassifier(LogisticRegression(C=100), h=10),
    ReplicationClassifier(SGDClassifier(loss="log_loss", average=True, random_state=0)),
]
TREES = [
    HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=5),
    GradientBoostingClassifier(n_estimators=40, loss="exponential", random_state=0),
]


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
@pytest.mark.parametrize("cost", [0.1, 0.4, PRICES], ids=["0.1", "0.4", "prices"])
def test_two_classes_with_costs(model, cost):
    prices = {"loss_matrix": cost} if cost is PRICES else {"reject_cost": cost}
    assert excess(model.set_params(**({"loss_matrix": None} | prices)), [0.0]) < 0.01


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_ordered_classes_without_rejection(model):
    model.set_params(loss_matrix=None, reject_cost=None)
    assert excess(model, [-2.0, 0.0, 1.0]) < 0.01


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees(tree):
    assert excess(ReplicationClassifier(tree, reject_cost=0.1), [0.0]) < 0.03
    assert excess(ReplicationClassifier(tree, reject_cost=None), [-1.0, 1.0]) < 0.03


@pytest.mark.parametrize("cost", [None, 0.5])
def test_without_a_cheap_rejection_it_is_logistic_regression(cost):
    X, y, _ = draw(300, [0.0])
    plain = LogisticRegression(C=0.1, tol=1e-10).fit(X, y)
    model = RejoLinear(C=0.1, reject_cost=cost, tol=1e-12).fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("cost", [0.2, None])
@pytest.mark.parametrize("learner", [RejoLinear(), ReplicationClassifier(LogisticRegression())])
def test_columns_follow_the_order_of_the_classes(learner, cost):
    X, y, _ = draw(300, [0.0] if cost else [-1.0, 0.0, 2.0])
    one = learner.set_params(reject_cost=cost, class_order=np.unique(y).tolist(), h=100).fit(X, y)
    p = one.predict_proba(X)
    other = learner.set_params(class_order=np.unique(y)[::-1].tolist()).fit(X, y)
    assert_allclose(other.predict_proba(X), p[:, ::-1], atol=1e-3)
    assert_allclose(p.sum(axis=1), 1.0)


def test_predict_is_the_median_of_the_posterior():
    X, y, _ = draw(300, [-1.0, 0.0, 2.0])
    model = RejoLinear(reject_cost=None).fit(X, y)
    median = (model.predict_proba(X).cumsum(axis=1) < 0.5).sum(axis=1)
    assert_array_equal(model.predict(X), median)


def test_a_stream_has_posteriors():
    X, y, _ = draw(300, [0.0])
    model = RejoLinear().partial_fit(X, y, classes=[0, 1])
    assert_allclose(model.predict_proba(X), RejoLinear().fit(X, y).predict_proba(X), atol=1e-2)


# ---- where there are none ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "has"),
    [
        (RejoLinear(), True),
        (RejoLinear(loss="hinge"), False),
        (RejoLinear(loss="squared_hinge"), False),
        (RejoMLP(), True),
        (RejoSVC(), False),
        (ReplicationClassifier(), True),
        (ReplicationClassifier(LinearSVC()), False),
        (ReplicationClassifier(SVC()), False),
        (ReplicationClassifier(SGDClassifier()), False),
        (ReplicationClassifier(make_pipeline(StandardScaler(), LogisticRegression())), True),
        (ReplicationClassifier(make_pipeline(StandardScaler(), LinearSVC())), False),
        (make_pipeline(StandardScaler(), RejoLinear()), True),
        (make_pipeline(StandardScaler(), RejoSVC()), False),
        (RejectClassifierCV(RejoLinear(), reject_cost=0.2), True),
        (RejectClassifierCV(make_pipeline(StandardScaler(), RejoMLP()), reject_cost=0.2), True),
        (RejectClassifierCV(RejoSVC(), reject_cost=0.2), False),
    ],
    ids=repr,
)
def test_absent_without_a_loss_for_it(model, has):
    assert hasattr(model, "predict_proba") == has
    X, y, _ = draw(80, [0.0])
    assert hasattr(model.fit(X, y), "predict_proba") == has
    if has:
        assert model.predict_proba(X).shape == (80, 2)


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: RejectClassifierCV(m, reject_cost=0.2)])
def test_absent_after_a_fit_of_three_classes_with_costs(wrap):
    X, y, _ = draw(80, [-1.0, 1.0])
    model = wrap(RejoLinear())
    assert hasattr(model, "predict_proba")
    assert not hasattr(model.fit(X, y), "predict_proba")


def test_the_error_says_why():
    X, y, _ = draw(80, [-1.0, 1.0])
    with pytest.raises(AttributeError) as error:
        RejoLinear().fit(X, y).predict_proba(X)
    assert "reject_cost=None" in str(error.value.__cause__)
    with pytest.raises(AttributeError) as error:
        RejoLinear(loss="hinge").fit(X, y).predict_proba(X)
    assert "loss='hinge'" in str(error.value.__cause__)


def test_a_fit_counts_not_what_is_set_later():
    X, y, _ = draw(80, [0.0])
    model = RejoLinear().fit(X, y)
    p = model.predict_proba(X)
    assert_array_equal(model.set_params(loss="hinge", reject_cost=0.4).predict_proba(X), p)
