"""The blend of posteriors: powers by log loss, drawn to each other; a floor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB

from rejo import BlendClassifier, ThresholdRejectClassifier
from rejo.baselines.blend import LEAST, PRIOR, RANGE, STEADY, believable, learn_pool, pooled
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.metrics import log_loss

MEMBERS = [("line", LogisticRegression()), ("bayes", GaussianNB())]


def drawn(n=500, m=3, K=3, seed=0):
    """Posteriors (m, n, K) of models that err by different amounts, and classes (n,)."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 2
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(K, p=p) for p in truth])
    noisy = logits + rng.normal(size=(m, n, K)) * np.linspace(0.3, 3, m)[:, None, None]
    p = np.exp(noisy)
    return p / p.sum(axis=2, keepdims=True), y


def learn_powers(*args, **kwargs):
    return learn_pool(*args, **kwargs)[0]


def loss_of(parameters, p, y):
    """What powers and offsets minimise, by a loop over the cases."""
    powers, offsets = np.split(parameters, [len(p)])
    mixed = np.exp(offsets) * np.prod(np.maximum(p, LEAST) ** powers[:, None, None], axis=0)
    mixed = believable(mixed / mixed.sum(axis=1, keepdims=True), len(y))
    apart = PRIOR * len(powers) / 2 * ((powers - powers.mean()) ** 2).sum()
    losses = (-np.log(row[k]) for row, k in zip(mixed, y, strict=True))
    return sum(losses) + apart + STEADY / 2 * (offsets**2).sum()


def test_no_other_powers_and_offsets_lose_less():
    p, y = drawn()
    p = p * [1.0, 2.0, 1.0]  # of the second class all say too much
    p /= p.sum(axis=2, keepdims=True)
    powers, offsets = learn_pool(p, y)
    starts = np.random.default_rng(1).uniform(0, 1, size=(2, 6))
    free = {"method": "L-BFGS-B", "bounds": [RANGE] * 3 + [(None, None)] * 3}
    best = min(minimize(loss_of, start, (p, y), **free).fun for start in starts)
    assert loss_of(np.r_[powers, offsets], p, y) == pytest.approx(best, abs=1e-3)
    assert powers[0] == powers.max()  # the model with the least noise
    assert offsets[1] < -0.3
    assert (learn_pool(p, y, offsets=False)[1] == 0).all()


def test_few_cases_stay_close_to_equal_powers():
    p, y = drawn(2000)
    found = [learn_powers(p[:, :n], y[:n]) for n in (5, 100, 2000)]
    gaps = [np.ptp(powers / powers.sum()) for powers in found]
    assert gaps[0] < 0.15
    assert gaps[0] < gaps[1] < gaps[2]
    every_second_is_a_copy = learn_powers(p[:, :100].repeat(2, 1), y[:100].repeat(2), alike=2.0)
    assert np.ptp(every_second_is_a_copy) < np.ptp(learn_powers(p[:, :200], y[:200]))


def test_a_weight_of_two_is_the_case_twice():
    p, y = drawn(60)
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    assert_allclose(learn_powers(p, y, weight), learn_powers(p[:, rows], y[rows]), atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.4, 2.5), st.integers(0, 1000))
def test_a_power_undoes_one(T, seed):
    p, y = drawn(3000, m=1, seed=seed)
    sharp = pooled(p, np.array([1 / T]))[None]
    assert learn_powers(sharp, y)[0] == pytest.approx(learn_powers(p, y)[0] * T, rel=0.02)


def test_powers_of_one_model_keep_the_order_of_the_classes():
    p, _ = drawn(50, m=1)
    for power in (0.3, 1.0, 3.0):
        found = pooled(p, np.array([power]))
        assert_allclose(found.sum(axis=1), 1)
        assert (found.argmax(axis=1) == p[0].argmax(axis=1)).all()
    assert_allclose(pooled(p, np.ones(1)), p[0])
    extreme = pooled(np.array([[[0.0, 1.0]]]), np.array([2.0]))
    assert extreme.min() > 0


def test_no_class_is_impossible():
    X, y = make_synthetic_4(120, random_state=0)
    forest = RandomForestClassifier(5, random_state=0)
    p = BlendClassifier([("forest", forest)], temperature=1.0).fit(X, y).predict_proba(X)
    assert (clone(forest).fit(X, y).predict_proba(X) == 0).any()
    assert p.min() > 0
    for K, n in ((2, 50), (3, 400)):  # a decision is wrong in about two of n cases, at least
        sure = believable(np.eye(K), n)
        assert_allclose(sure.sum(axis=1), 1.0)
        assert_allclose(1 - sure.max(axis=1), 2 / (n + 2 * K / (K - 1)))


def test_the_blend_is_the_weighted_mean_of_logarithms():
    X, y = make_synthetic_1(200, random_state=0)
    blend = BlendClassifier(MEMBERS, weights=[3, 1], temperature=0.5, offsets=[0, 0.3]).fit(X, y)
    parts = [clone(model).fit(X, y).predict_proba(X) for _, model in MEMBERS]
    mixed = np.exp([0, 0.3]) * (parts[0] ** 0.75 * parts[1] ** 0.25) ** 2
    mixed /= mixed.sum(axis=1, keepdims=True)
    mixed = (1 - blend.floor_) * mixed + blend.floor_ / 2
    assert_allclose(blend.predict_proba(X), mixed, atol=1e-5)
    assert (blend.predict(X) == blend.classes_[mixed.argmax(axis=1)]).all()


def test_learned_weights_find_the_better_member():
    X, y = make_synthetic_1(400, random_state=0)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    members = [
        ("good", forest),
        ("useless", DummyClassifier(strategy="stratified", random_state=0)),
    ]
    blend = BlendClassifier(members).fit(X, y)
    assert blend.weights_[0] > 0.7
    X_new, y_new = make_synthetic_1(4000, random_state=1)
    alone = clone(forest).fit(X, y).predict_proba(X_new)
    k = (y_new > 0).astype(int)
    assert log_loss(k, blend.predict_proba(X_new), classes=[0, 1]) < log_loss(
        k, alone, classes=[0, 1]
    )


def test_a_member_without_weight_is_not_fitted():
    X, y = make_synthetic_1(100, random_state=0)
    blend = BlendClassifier(MEMBERS, weights=[1, 0], temperature=1.0).fit(X, y)
    assert blend.estimators_[1] is None
    assert np.isfinite(blend.predict_proba(X)).all()


def test_parameters_of_the_members():
    blend = BlendClassifier(MEMBERS)
    assert blend.get_params()["line__C"] == 1.0
    assert clone(blend).set_params(line__C=3).get_params()["line__C"] == 3
    assert blend.get_params()["line__C"] == 1.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weights": [1, 2, 3]}, "weights"),
        ({"weights": [-1, 2]}, "weights"),
        ({"weights": [0, 0]}, "weights"),
        ({"estimators": []}, "estimators"),
        ({"estimators": [MEMBERS[0], MEMBERS[0]]}, "estimators"),
        ({"temperature": -1.0}, "temperature"),
        ({"offsets": [0.0]}, "offsets"),
        ({"offsets": [0.0, np.inf]}, "offsets"),
    ],
)
def test_wrong_parameters(params, message):
    X, y = make_synthetic_1(60, random_state=0)
    with pytest.raises(ValueError, match=message):
        BlendClassifier(**{"estimators": MEMBERS} | params).fit(X, y)


def test_a_class_with_one_case():
    X, y = make_synthetic_1(60, random_state=0)
    y = np.where(np.arange(60) == 3, 7, y)
    with pytest.raises(ValueError, match="class 7"):
        BlendClassifier(MEMBERS).fit(X, y)


@pytest.mark.parametrize(
    "cv", [ShuffleSplit(2, test_size=0.2), RepeatedStratifiedKFold(n_splits=3)]
)
def test_folds_that_do_not_test_each_case_once_are_refused(cv):
    X, y = make_synthetic_1(60, random_state=0)
    with pytest.raises(ValueError, match="cv"):
        BlendClassifier(MEMBERS, cv=cv).fit(X, y)


def test_a_fold_that_holds_out_a_whole_class_is_refused():
    X, y = make_synthetic_1(60, random_state=0)
    first = np.flatnonzero(y == y[0]), np.flatnonzero(y != y[0])
    with pytest.raises(ValueError, match="cv"):
        BlendClassifier(MEMBERS, cv=[first, first[::-1]]).fit(X, y)


def test_it_decides_inside_a_classifier_with_a_reject_option():
    X, y = make_synthetic_4(300, random_state=0)
    names = np.array(["ash", "birch", "cedar"])[np.unique(y, return_inverse=True)[1]]
    model = ThresholdRejectClassifier(BlendClassifier(MEMBERS), reject_cost=0.3).fit(X, names)
    assert set(model.predict(X)) <= {"ash", "birch", "cedar", "reject"}
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
