"""One classifier with cut-offs: Chow's rule, free cut-offs, class-related thresholds."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import (
    bayes_risk,
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    posterior,
)
from rejo.metrics import empirical_risk


class TruePosterior(ClassifierMixin, BaseEstimator):
    """Knows the posteriors of a synthetic problem."""

    def __init__(self, problem="synthetic_1"):
        self.problem = problem

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return posterior(self.problem, X)


class Ready(ClassifierMixin, BaseEstimator):
    """Its posteriors are its features."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


@pytest.fixture(scope="module")
def binary():
    return make_synthetic_2(200, random_state=0)


@pytest.fixture(scope="module")
def three():
    """Three overlapping clouds in a triangle, with names: no order."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 240)
    X = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])[k] + rng.normal(size=(240, 2))
    return X, np.array(["pear", "apple", "fig"])[k]


# ---- Chow's rule ----------------------------------------------------------------------------


@pytest.mark.parametrize("reject_cost", [0.04, 0.2, 0.36])
@pytest.mark.parametrize(
    ("problem", "make"),
    [("synthetic_1", make_synthetic_1), ("synthetic_2", make_synthetic_2)],
)
def test_chow_with_the_true_posterior_reaches_the_bayes_risk(problem, make, reject_cost):
    X, y = make(150_000, random_state=1)
    model = ThresholdRejectClassifier(TruePosterior(problem), reject_cost=reject_cost)
    model.fit(X[:10], [-1, 1] * 5)
    assert_allclose(1 - model.score(X, y), bayes_risk(problem, reject_cost), atol=2e-3)


def test_chow_rejects_iff_the_largest_posterior_is_at_most_one_minus_the_cost():
    p = np.array([[0.9, 0.05, 0.05], [0.5, 0.1, 0.4], [0.1, 0.2, 0.7], [0.0, 0.25, 0.75]])
    model = ThresholdRejectClassifier(Ready(), reject_cost=0.25).fit(p, ["a", "b", "c", "a"])
    assert model.predict(p).tolist() == ["a", "reject", "reject", "reject"]  # the last is a tie
    assert model.predict_forced(p).tolist() == ["a", "a", "c", "c"]
    frame = model.review(p)
    assert frame["lower"].tolist() == ["a", "a", "b", "b"]
    assert frame["upper"].tolist() == ["b", "c", "c", "c"]
    assert_allclose(frame["distance"], [0.15, 0.25, 0.05, 0.0])
    assert_allclose(frame["worth"], [-0.15, 0.25, 0.05, 0.0])
    assert frame["rank"].tolist()[1:] == [1, 2, 3]
    assert model.queue(p, fill=True).index.tolist() == [1, 2, 3, 0]


def test_classes_need_no_order(three):
    X, y = three
    model = ThresholdRejectClassifier(GaussianNB()).fit(X, y)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    assert {"apple", "fig", "pear", "reject"} == set(model.predict(X).tolist())
    assert_allclose(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))


def test_class_order_and_ordered_categories_order_the_classes(three):
    X, y = three
    order = ["pear", "apple", "fig"]
    plain = ThresholdRejectClassifier(SVC()).fit(X, y)
    for model in (
        ThresholdRejectClassifier(SVC(), class_order=order).fit(X, y),
        ThresholdRejectClassifier(SVC()).fit(X, pd.Categorical(y, order, ordered=True)),
    ):
        assert model.classes_.tolist() == order
        assert_array_equal(model.predict(X), plain.predict(X))
        assert_allclose(model.predict_proba(X), plain.predict_proba(X)[:, [2, 0, 1]], atol=1e-6)


@pytest.mark.parametrize("rule", ["chow", "score", "class"])
def test_without_a_cost_nothing_is_rejected(binary, rule):
    X, y = binary
    inner = LogisticRegression()
    model = ThresholdRejectClassifier(inner, rule=rule, reject_cost=None).fit(X, y)
    assert model.reject_label_ is None
    assert_array_equal(model.predict(X), inner.fit(X, y).predict(X))
    assert model.score(X, y) == inner.score(X, y)


# ---- prices ---------------------------------------------------------------------------------


def test_other_prices_need_no_second_fit(three):
    X, y = three
    model = ThresholdRejectClassifier(GaussianNB(), reject_cost=0.1).fit(X, y)
    costs = {"error": 500, "review": 100}
    for other in (model.at(0.2), model.at(cost_of=costs)):
        fresh = clone(other).fit(X, y)
        assert other.estimator_ is model.estimator_
        assert_array_equal(other.predict(X), fresh.predict(X))
        assert_array_equal(other.prices_, fresh.prices_)
        assert other.reject_cost_ == fresh.reject_cost_ == 0.2
    assert model.reject_cost == model.reject_cost_ == 0.1
    assert_array_equal(model.at(cost_of=costs).predict(X), model.at(0.2).predict(X))
    assert_allclose(model.at(cost_of=costs).review(X)["worth"], 500 * model.at(0.2).judge(X).worth)
    never = ThresholdRejectClassifier(GaussianNB(), reject_cost=None).fit(X, y)
    assert_array_equal(never.at(0.2).predict(X), model.at(0.2).predict(X))
    assert_array_equal(never.predict(X), model.predict_forced(X))


def test_the_score_is_one_minus_the_mean_price(three):
    X, y = three
    prices = np.array([[0, 7, 1, 0.5], [2, 0, 3, 0.25], [4, 5, 0, 0.75]])
    model = ThresholdRejectClassifier(GaussianNB(), cost_of=prices).fit(X, y)
    place = {label: i for i, label in enumerate(["apple", "fig", "pear", "reject"])}
    costs = [prices[place[t], place[d]] for t, d in zip(y, model.predict(X), strict=True)]
    assert_allclose(model.score(X, y), 1 - np.mean(costs))
    weight = np.arange(len(y)) % 3
    assert_allclose(model.score(X, y, weight), 1 - np.average(costs, weights=weight))
    assert model.reject_cost_ is None
    judgement = model.judge(X)
    assert_array_equal(np.argsort(judgement.sureness), np.argsort(-judgement.worth))
    assert_allclose(judgement.distance, np.abs(judgement.worth))


def test_the_queue_is_in_the_order_of_what_a_review_saves(three):
    X, y = three
    prices = np.array([[0, 7, 1, 0.5], [2, 0, 3, 0.25], [4, 5, 0, 0.75]])
    model = ThresholdRejectClassifier(GaussianNB(), cost_of=prices).fit(X, y)
    frame = model.queue(X, fill=True)
    assert (np.diff(frame["worth"]) <= 0).all()
    reviews = (frame["decision"] == "reject").to_numpy()
    assert_array_equal(reviews, frame["worth"] >= 0)
    assert frame["rank"].tolist()[: reviews.sum()] == list(range(1, reviews.sum() + 1))


def test_two_cut_offs_minimise_the_cost_at_asymmetric_prices(binary):
    X, y = binary
    prices = np.array([[0.0, 1.0, 0.1], [5.0, 0.0, 0.4]])
    model = ThresholdRejectClassifier(SVC(), rule="score", cv="train", cost_of=prices).fit(X, y)
    assert not model.decides_by_posteriors
    s, k = model.estimator_.decision_function(X), (y == model.classes_[1]).astype(int)
    edges = np.append(np.sort(s) - 1e-9, s.max() + 1)
    least = min(
        prices[k, np.where(s > t1, 1, np.where(s <= t0, 0, 2))].mean()
        for t0 in edges[::4]
        for t1 in edges[::4]
        if t0 <= t1
    )
    assert 1 - model.score(X, y) <= least + 1e-12


def test_with_many_classes_a_review_may_cost_more_than_half_an_error():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(12, 0.2), 500)
    y = np.array([f"part {rng.choice(12, p=row)}" for row in p])
    order = [f"part {k}" for k in range(12)]
    model = ThresholdRejectClassifier(Ready(), reject_cost=0.9, class_order=order)
    ready = Ready()
    ready.classes_ = np.array(order)
    model = model.set_params(estimator=FrozenEstimator(ready)).fit(p, y)
    assert_array_equal(model.reject_mask(p), p.max(axis=1) <= 0.1)
    assert_array_equal(model.at(0.5).reject_mask(p), p.max(axis=1) <= 0.5)
    with pytest.raises(ValueError, match="reject_cost"):
        model.at(0.92)


def test_any_cut_in_the_ranking_is_a_price_of_a_review(three):
    X, y = three
    model = ThresholdRejectClassifier(GaussianNB(), cost_of="error=10,review=1").fit(X, y)
    worth = model.judge(X).worth
    order = np.argsort(-worth.round(9), kind="stable")
    for cut in (-3.0, -0.5, 0.0, 2.0, 20.0):
        prices = model.prices_.copy()
        prices[:, -1] += cut
        other = model.at(prices=prices)
        assert_array_equal(other.reject_mask(X), worth >= cut)
        judgement = other.judge(X)
        assert_allclose(judgement.worth, worth - cut)
        assert_array_equal(np.argsort(judgement.sureness.round(9), kind="stable"), order)
        assert (judgement.sureness >= 0).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give one"),
        ({"reject_cost": 0.1, "cost_of": {"error": 1, "review": 0.1}}, "give one"),
        ({"reject_cost": 0.7}, "reject_cost"),
        ({"reject_cost": -1}, "reject_cost"),
        ({"cost_of": "error=5,review=4"}, "review"),
        ({"prices": np.eye(3)}, "prices"),
        ({"prices": np.full((3, 4), np.nan)}, "prices"),
    ],
)
def test_other_prices_that_cannot_be_are_refused(three, given, message):
    model = ThresholdRejectClassifier(GaussianNB()).fit(*three)
    with pytest.raises(ValueError, match=message):
        model.at(**given)
    with pytest.raises(ValueError, match="rule"):
        ThresholdRejectClassifier(GaussianNB(), rule="class").fit(*three).at(0.1)


# ---- calibration ----------------------------------------------------------------------------


def test_a_machine_without_posteriors_is_calibrated_on_held_out_points(binary):
    X, y = binary
    model = ThresholdRejectClassifier(SVC()).fit(X, y)
    assert not hasattr(model.estimator_, "predict_proba")
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.calibrator_ is not None
    assert ThresholdRejectClassifier(GaussianNB()).fit(X, y).calibrator_ is None
    overconfident = ThresholdRejectClassifier(SVC(C=1000, gamma=1.0)).fit(X, y)
    by_training = ThresholdRejectClassifier(SVC(C=1000, gamma=1.0), cv="train").fit(X, y)
    assert overconfident.reject_mask(X).mean() > 0.3 > by_training.reject_mask(X).mean()


def test_isotonic_calibration_and_chow_find_the_exact_cutoffs():
    # Pooling adjacent violators cuts where the risk of held-out scores is least.
    X, y = make_synthetic_1(300, random_state=3)
    # A step of isotonic regression may be a tie at 0.2, which Chow's rule rejects.
    cut = ThresholdRejectClassifier(SVC(), rule="score", reject_cost=0.201).fit(X, y)
    chow = ThresholdRejectClassifier(SVC(), calibration="isotonic", reject_cost=0.201).fit(X, y)
    assert (cut.predict(X) == chow.predict(X)).mean() > 0.97


def test_calibration_of_posteriors_mends_overconfidence():
    X, y = make_synthetic_2(600, random_state=0)
    X_test, y_test = make_synthetic_2(4000, random_state=1)
    forest = RandomForestClassifier(20, random_state=0)
    plain = ThresholdRejectClassifier(forest, random_state=0).fit(X, y)
    for method in ("sigmoid", "isotonic"):
        model = ThresholdRejectClassifier(forest, calibration=method, random_state=0).fit(X, y)
        assert model.score(X_test, y_test) > plain.score(X_test, y_test)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_machines_of_many_classes_are_calibrated_on_what_they_are_good_at(shape):
    X, y = make_synthetic_3(600, random_state=0)
    X_test, y_test = make_synthetic_3(5000, random_state=1)
    machine = SVC(C=100, gamma=1.0, decision_function_shape=shape)
    model = ThresholdRejectClassifier(machine).fit(X, y)
    assert model.estimator_.decision_function(X[:1]).shape == (1, 10)
    assert 1 - model.score(X_test, y_test) < 1.25 * bayes_risk("synthetic_3", 0.2)
    isotonic = ThresholdRejectClassifier(machine, calibration="isotonic").fit(X, y)
    assert isotonic.estimator_.decision_function(X[:1]).shape == (1, 5)
    assert machine.decision_function_shape == shape


# ---- free cut-offs --------------------------------------------------------------------------


def test_cutoffs_on_the_training_points_have_the_least_risk_there(binary):
    X, y = binary
    model = ThresholdRejectClassifier(SVC(), rule="score", cv="train", reject_cost=0.3).fit(X, y)
    s = model.estimator_.decision_function(X)
    risks = [
        0.3 * np.mean((s > low) & (s <= high)) + np.mean(np.where(y > 0, s <= low, s > high))
        for low in np.sort(s)[::5]
        for high in np.sort(s)[::5]
        if low <= high
    ]
    assert 1 - model.score(X, y) <= min(risks) + 1e-12


def test_cutoffs_come_from_pooled_held_out_scores(binary):
    X, y = binary
    folds = KFold(4, shuffle=True, random_state=0)
    model = ThresholdRejectClassifier(SVC(), rule="score", cv=folds).fit(X, y)
    held_out = cross_val_predict(SVC(), X, y, cv=folds, method="decision_function")

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def decision_function(self, X):
            return X[:, 0]

    given = ThresholdRejectClassifier(Given(), rule="score", cv="train")
    assert_array_equal(model.cutoffs_, given.fit(held_out[:, None], y).cutoffs_)


@pytest.mark.parametrize("rule", ["chow", "score", "class"])
def test_a_turned_class_order_turns_nothing_else(binary, rule):
    X, y = binary
    names = np.where(y > 0, "b", "a")
    model = ThresholdRejectClassifier(SVC(), rule=rule).fit(X, names)
    turned = ThresholdRejectClassifier(SVC(), rule=rule, class_order=["b", "a"]).fit(X, names)
    assert turned.classes_.tolist() == ["b", "a"]
    assert (model.predict(X) == turned.predict(X)).mean() > 0.98  # folds are dealt otherwise


@pytest.mark.parametrize("rule", ["score", "class"])
def test_weights_count_in_the_fit_and_in_the_cutoffs(binary, rule):
    X, y = binary
    weight = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weight)
    make = partial(ThresholdRejectClassifier, GaussianNB(), rule=rule, cv="train")
    assert_allclose(
        make().fit(X, y, sample_weight=weight).cutoffs_, make().fit(X[rows], y[rows]).cutoffs_
    )


# ---- class-related thresholds ---------------------------------------------------------------


def test_class_thresholds_beat_chow_where_posteriors_are_biased_against_a_class():
    # The posterior of class 1 is too large, that of class 0 too small.
    X, y = make_synthetic_2(4000, random_state=0)
    p = posterior("synthetic_2", X)[:, 1] ** 0.4
    P = np.column_stack([1 - p, p])
    half = np.arange(len(y)) < 2000
    risks = {}
    for rule in ("chow", "class"):
        model = ThresholdRejectClassifier(Ready(), rule=rule).fit(P[half], y[half])
        risks[rule] = empirical_risk(
            y[~half], model.predict(P[~half]), reject_label=0, reject_cost=0.2
        )
    assert risks["class"] < risks["chow"] - 0.02


# ---- what may be inside ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "inner",
    [
        SVC(),
        LinearSVC(),
        MLPClassifier((5,), max_iter=30, solver="lbfgs", random_state=0, tol=0.1),
        GradientBoostingClassifier(n_estimators=10),
        make_pipeline(StandardScaler(), SVC()),
        GridSearchCV(SVC(), {"C": [0.1, 1]}, cv=2),
        KNeighborsClassifier(),
    ],
    ids=lambda inner: type(inner).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_classifier_may_be_inside(binary, inner):
    X, y = binary
    for rule in ("chow", "score", "class"):
        model = ThresholdRejectClassifier(inner, rule=rule, cv=2).fit(X, y)
        assert model.score(X, y) > 0.8
        assert set(model.predict(X).tolist()) <= {-1, 0, 1}


def test_frames_text_and_sparse_points(binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(len(y)) + 7)
    model = ThresholdRejectClassifier(make_pipeline(StandardScaler(), SVC())).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert model.n_features_in_ == 2
    assert model.review(frame).index[0] == 7
    sparse_model = ThresholdRejectClassifier(SVC(gamma=0.1)).fit(sparse.csr_array(X), y)
    dense = ThresholdRejectClassifier(SVC(gamma=0.1)).fit(X, y)
    assert_allclose(sparse_model.predict_proba(X), dense.predict_proba(X), atol=1e-4)
    texts = np.array(["good", "bad", "good day", "bad day"] * 5, dtype=object)
    words = ThresholdRejectClassifier(make_pipeline(CountVectorizer(), LogisticRegression(C=100)))
    assert words.fit(texts, [1, 0] * 10).predict(["a good thing", "day"]).tolist() == [1, -1]


def test_missing_values_and_the_default_estimator(binary):
    X, y = binary
    X = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    model = ThresholdRejectClassifier(rule="score", cv=2).fit(X[:36], y[:36])  # too few to split
    assert isinstance(model.estimator_, HistGradientBoostingClassifier)
    assert model.score(X, y) >= 0.5
    with pytest.raises(ValueError, match="NaN"):
        ThresholdRejectClassifier(LogisticRegression()).fit(X, y)


def test_an_estimator_fitted_before_keeps_its_fit_and_its_labels(binary):
    X, y = binary
    names = np.where(y > 0, "yes", "no")
    machine = SVC().fit(X[:100], names[:100])
    model = ThresholdRejectClassifier(FrozenEstimator(machine), rule="score", cv="train")
    model.fit(X[100:], names[100:])
    assert_array_equal(model.estimator_.decision_function(X), machine.decision_function(X))
    assert {"yes", "no", "reject"} == set(model.predict(X).tolist())
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, y)


def test_class_weights_of_the_estimator_are_by_label(binary):
    X, y = binary
    names = np.where(y > 0, "yes", "no")
    inner = LogisticRegression(class_weight={"yes": 5, "no": 1})
    model = ThresholdRejectClassifier(inner, class_order=["yes", "no"]).fit(X, names)
    assert_allclose(model.predict_proba(X)[:, 0], inner.fit(X, names).predict_proba(X)[:, 1])


def test_xgboost_gets_the_labels_that_it_takes(binary):
    xgboost = pytest.importorskip("xgboost")
    X, y = binary
    model = ThresholdRejectClassifier(xgboost.XGBClassifier(n_estimators=5)).fit(X, y)
    assert set(model.predict(X).tolist()) <= {-1, 0, 1}


def test_folds_are_repeatable_and_random_states_reach_the_estimator(binary):
    X, y = binary
    fits = [ThresholdRejectClassifier(SVC(), rule="score").fit(X, y) for _ in range(2)]
    assert_array_equal(fits[0].cutoffs_, fits[1].cutoffs_)
    forest = ThresholdRejectClassifier(RandomForestClassifier(3), rule="score", random_state=1)
    assert_array_equal(forest.fit(X, y).predict(X), forest.fit(X, y).predict(X))
    with parallel_config(backend="threading"):
        parallel = ThresholdRejectClassifier(SVC(), rule="score", n_jobs=2).fit(X, y)
    assert_array_equal(parallel.cutoffs_, fits[0].cutoffs_)


@pytest.mark.parametrize("rule", ["chow", "score"])
@pytest.mark.parametrize(("C", "gamma"), [(32, 0.5)])
def test_risk_on_400_points_is_near_the_bayes_risk(rule, C, gamma):
    for make, problem, scale in (
        (make_synthetic_1, "synthetic_1", 1.0),
        (make_synthetic_2, "synthetic_2", 0.01),
    ):
        X, y = make(400, random_state=0)
        X_test, y_test = make(10_000, random_state=1)
        machine = SVC(C=C, gamma=gamma * scale)
        model = ThresholdRejectClassifier(machine, rule=rule, reject_cost=0.2).fit(X, y)
        assert 1 - model.score(X_test, y_test) < 1.3 * bayes_risk(problem, 0.2)


# ---- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(estimator=LinearRegression()), "LinearRegression"),
        (dict(estimator=SVC(kernel="precomputed")), "precomputed"),
        (dict(rule="best"), "rule"),
        (dict(reject_cost=1.0), "reject_cost"),
        (dict(reject_cost=0.7), "reject_cost"),
        (dict(rule="class", cost_of={"error": 10, "review": 2}), "cost_of"),
        (dict(calibration=None), "calibration"),
        (dict(cv=500), "cv=500"),
        (dict(cv="five"), "cv"),
    ],
)
def test_settings_that_cannot_work_are_refused(binary, settings, message):
    with pytest.raises(ValueError, match=message):
        ThresholdRejectClassifier(**{"estimator": SVC()} | settings).fit(*binary)


def test_data_that_cannot_work_are_refused(three):
    X, y = three
    with pytest.raises(ValueError, match="FrankHallReject"):
        ThresholdRejectClassifier(SVC(), rule="score").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        ThresholdRejectClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="rare"):
        ThresholdRejectClassifier(SVC()).fit(X, np.append(y[1:], "rare"))
    pears = [(np.arange(len(y)), np.flatnonzero(y == "pear"))]
    with pytest.raises(ValueError, match="apple"):
        ThresholdRejectClassifier(SVC(), cv=pears).fit(X, y)
    with pytest.raises(TypeError, match="SVC"):
        ThresholdRejectClassifier(SVC).fit(X, y)
    with pytest.raises(NotFittedError):
        ThresholdRejectClassifier(SVC()).predict(X)


# ---- values that are not numbers --------------------------------------------------------------


class Overflowing(LogisticRegression):
    """Its values are NaN where a feature is large."""

    def predict_proba(self, X):
        return np.where(X[:, :1] > 1e6, np.nan, super().predict_proba(X))

    def decision_function(self, X):
        return np.where(X[:, 0] > 1e6, np.nan, super().decision_function(X))


@pytest.mark.parametrize(
    "params", [{}, {"rule": "class"}, {"rule": "score"}, {"calibration": "sigmoid"}]
)
def test_posteriors_that_are_not_numbers_are_no_decision(params, binary):
    X, y = binary
    model = ThresholdRejectClassifier(Overflowing(), **params).fit(X, y)
    new = X[:5].copy()
    new[3, 0] = 1e9
    model.predict(X[:5])
    with pytest.raises(ValueError, match="row 3"):
        model.predict(new)
