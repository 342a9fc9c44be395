"""Curves over the reject cost, and what becomes of every case, against fits by hand."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.estimators import RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.estimators.pipelines import final_classifier
from rejo.metrics import error_rate, rejection_rate
from rejo.selection import RejectCurve, cross_val_outcomes, ranking_outcomes, reject_curve
from rejo.selection.cross_validation import curve_of

COSTS = [0.04, 0.2, 0.36, 0.5]


class OneByOne(RejoSVC):
    """Not RejoSVC itself: goes the way of any classifier, with a clone and a fit each time."""


@pytest.fixture(scope="module")
def data():
    return make_synthetic_1(150, random_state=3)


def by_hand(estimator, X, y, cv=5, name="reject_cost"):
    """R and E (n_costs, n_folds) of the definition."""
    R, E = [], []
    for w in COSTS:
        pairs = []
        for train, test in StratifiedKFold(cv).split(X, y):
            model = clone(estimator).set_params(**{name: w}).fit(X[train], y[train])
            label = final_classifier(model).reject_label_
            pairs.append((y[test], model.predict(X[test]), label))
        R.append([rejection_rate(t, p, reject_label=label) for t, p, label in pairs])
        E.append([error_rate(t, p, reject_label=label) for t, p, label in pairs])
    return np.array(R), np.array(E)


@pytest.mark.parametrize(
    "estimator",
    [
        RejoSVC(gamma=4.0, C=10),
        RejoSVC(gamma="scale"),
        RejoSVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, h=3.0),
        RejoSVC(kernel=laplacian_kernel),
        RejoSVC(class_weight="balanced", gamma=2.0),
        RejoLinear(),
        RejoMLP((3,), alpha=0.1, max_iter=2000, random_state=0),
        ThresholdRejectClassifier(LogisticRegression()),
    ],
    ids=["rbf", "scale", "poly", "callable", "balanced", "linear", "network", "posteriors"],
)
def test_curve_is_what_a_fit_on_every_fold_gives(data, estimator):
    X, y = data
    curve = reject_curve(estimator, X, y, reject_costs=COSTS)
    R, E = by_hand(estimator, X, y)
    assert curve.rejection_rates.shape == (4, 5)
    # A point within the solver's tolerance of a boundary may fall on either side.
    assert np.abs(curve.rejection_rates - R).mean() <= 1 / len(y)
    assert np.abs(curve.error_rates - E).mean() <= 1 / len(y)


@pytest.mark.parametrize("gamma", [2.0, "scale"])
def test_tight_solves_agree_on_every_case(data, gamma):
    X, y = data
    estimator = RejoSVC(gamma=gamma, C=5, tol=1e-8)
    curve = reject_curve(estimator, X, y, reject_costs=COSTS)
    R, E = by_hand(estimator, X, y)
    np.testing.assert_array_equal(curve.rejection_rates, R)
    np.testing.assert_array_equal(curve.error_rates, E)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_many_cases_do_without_a_shared_matrix(kernel):
    X, y = make_synthetic_1(800, random_state=0)
    X = np.column_stack([X, (X[:, 0] - 0.5) * (X[:, 1] - 0.5)])
    fast = reject_curve(RejoSVC(kernel=kernel, gamma=1.0), X, y, reject_costs=COSTS)
    slow = reject_curve(OneByOne(kernel=kernel, gamma=1.0), X, y, reject_costs=COSTS)
    np.testing.assert_allclose(fast.rejection_rates, slow.rejection_rates, atol=0.013)
    np.testing.assert_allclose(fast.error_rates, slow.error_rates, atol=0.013)


def test_precomputed_sparse_and_threads_change_nothing(data):
    X, y = data
    expected = reject_curve(RejoSVC(gamma=2.0), X, y, reject_costs=COSTS)
    others = [
        reject_curve(
            RejoSVC(kernel="precomputed"), rbf_kernel(X, gamma=2.0), y, reject_costs=COSTS
        ),
        reject_curve(RejoSVC(gamma=2.0), csr_matrix(X), y, reject_costs=COSTS),
        reject_curve(RejoSVC(gamma=2.0), X, y, reject_costs=COSTS, n_jobs=2),
    ]
    for other in others:
        np.testing.assert_allclose(other.rejection_rates, expected.rejection_rates, atol=1e-12)
        np.testing.assert_allclose(other.error_rates, expected.error_rates, atol=1e-12)


@pytest.mark.parametrize("last", [RejoSVC(gamma=1.0), RejoLinear()], ids=str)
def test_a_pipeline_is_fitted_within_the_folds(data, last):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), last)
    name = f"{type(last).__name__.lower()}__reject_cost"
    curve = reject_curve(pipeline, 100 * X, y, reject_costs=COSTS)
    R, E = by_hand(pipeline, 100 * X, y, name=name)
    assert np.abs(curve.rejection_rates - R).mean() <= 1 / len(y)
    assert np.abs(curve.error_rates - E).mean() <= 1 / len(y)


def test_ordered_classes_of_strings():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(150, 1))
    k = np.digitize(X[:, 0] + rng.normal(scale=0.1, size=150), [0.3, 0.7])
    y = np.array(["low", "mid", "high"])[k]
    frame = pd.Series(pd.Categorical(y, ["low", "mid", "high"], ordered=True), index=k)
    options = {"gamma": 1.0, "C": 10, "tol": 1e-8}
    given = RejoSVC(class_order=["low", "mid", "high"], **options)
    curves = [
        reject_curve(RejoSVC(**options), X, k, reject_costs=COSTS),
        reject_curve(given, X, y, reject_costs=COSTS),
        reject_curve(RejoSVC(**options), X, frame, reject_costs=COSTS),
        reject_curve(OneByOne(**options), X, frame, reject_costs=COSTS),
    ]
    assert 0 < curves[0].error_rate[-1] < 0.3
    for curve in curves[1:3]:  # the same folds
        np.testing.assert_allclose(curve.error_rates, curves[0].error_rates)
    np.testing.assert_allclose(curves[3].error_rates, curves[2].error_rates)
    np.testing.assert_allclose(curves[3].rejection_rates, curves[2].rejection_rates)


def test_a_class_may_be_missing_from_a_fold():
    X = np.linspace(0, 1, 60)[:, None]
    y = np.repeat([0, 1, 2], 20)
    curve = reject_curve(RejoSVC(gamma=5.0, C=10), X, y, reject_costs=[0.3], cv=KFold(3))
    # In each fold all test cases are of the class that was not there to be learned.
    np.testing.assert_allclose(curve.rejection_rates + curve.error_rates, 1.0)
    # Also if the class is what a model that does not know it calls a rejection.
    for last in (RejoSVC(gamma=5.0, C=10), make_pipeline(RejoSVC(gamma=5.0, C=10)), RejoLinear()):
        curve = reject_curve(last, X, y - 1, reject_costs=[0.3], cv=KFold(3))
        np.testing.assert_allclose(curve.rejection_rates + curve.error_rates, 1.0)


class PredictOnly(ClassifierMixin, BaseEstimator):
    """A classifier that shares nothing with those of rejo but a parameter and a label."""

    def __init__(self, reject_cost=0.2):
        self.reject_cost = reject_cost

    def fit(self, X, y):
        self.inner_ = RejoLinear(reject_cost=self.reject_cost, reject_label="ask").fit(X, y)
        self.classes_, self.reject_label_ = self.inner_.classes_, "ask"
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_a_classifier_that_can_only_predict(data):
    X, y = data
    found = reject_curve(PredictOnly(), X, y, reject_costs=COSTS)
    wanted = reject_curve(RejoLinear(), X, y, reject_costs=COSTS)
    np.testing.assert_array_equal(found.rejection_rates, wanted.rejection_rates)
    np.testing.assert_array_equal(found.error_rates, wanted.error_rates)
    with pytest.raises(TypeError, match="PredictOnly"):
        cross_val_outcomes(PredictOnly(), X, y, reject_costs=COSTS)


def test_a_search_is_tuned_within_each_fold(data):
    X, y = data
    search = GridSearchCV(RejoLinear(), {"C": [0.1, 10]}, cv=3)
    curve = reject_curve(search, X, y, reject_costs=COSTS, cv=3)
    R, E = by_hand(search, X, y, cv=3, name="estimator__reject_cost")
    np.testing.assert_array_equal(curve.rejection_rates, R)
    np.testing.assert_array_equal(curve.error_rates, E)


def test_a_weight_of_two_is_the_row_twice(data):
    X, y = data
    weight = np.random.RandomState(0).randint(0, 3, size=len(y))
    fold = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weight)
    splits = [(np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)) for f in range(3)]
    for model in (RejoSVC(gamma=2.0, tol=1e-8), OneByOne(gamma=2.0, tol=1e-8)):
        weighted = reject_curve(
            model, X, y, reject_costs=COSTS, cv=GroupKFold(3), groups=fold, sample_weight=weight
        )
        repeated = reject_curve(model, X[rows], y[rows], reject_costs=COSTS, cv=splits)
        for attribute in ("rejection_rate", "error_rate", "risk"):
            found, wanted = getattr(weighted, attribute), getattr(repeated, attribute)
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_means_count_every_case_once(data):
    X, y = data
    curve = reject_curve(RejoSVC(gamma=2.0), X[:149], y[:149], reject_costs=[0.4, 0.3, 0.3])
    assert curve.reject_costs.tolist() == [0.3, 0.4]
    counts = curve.rejection_rates * curve.sizes
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    np.testing.assert_allclose(curve.rejection_rate, counts.sum(axis=1) / 149)
    np.testing.assert_allclose(
        curve.risk, curve.reject_costs * curve.rejection_rate + curve.error_rate
    )
    decided = 1 - curve.rejection_rate
    np.testing.assert_allclose(curve.accepted_error_rate * decided, curve.error_rate)
    frame = curve.to_frame()
    np.testing.assert_array_equal(frame["risk"], curve.risk)
    assert len(frame) == 2


def test_rejecting_everything_does_not_count_as_error_free():
    almost = np.full((1, 2), np.nextafter(1.0, 0.0))  # all, as sums of weights may have it
    curve = RejectCurve(np.array([0.1]), almost, np.zeros((1, 2)), np.array([10.0, 20.0]))
    assert np.isnan(curve.accepted_error_rate).all()


def test_one_warning_for_all_fits_that_stopped(data):
    with pytest.warns(ConvergenceWarning, match="20"):
        reject_curve(RejoSVC(gamma=2.0, max_iter=1), *data, reject_costs=COSTS)


@pytest.mark.parametrize("costs", [[], [0.6], [0.0], [-0.1, 0.2], 0.2, ["a"], [None]])
def test_reject_costs_must_be_prices(data, costs):
    with pytest.raises(ValueError, match=r"reject_costs|could not convert"):
        reject_curve(RejoSVC(), *data, reject_costs=costs)


def test_the_estimator_must_have_a_price(data):
    with pytest.raises(TypeError, match="reject_cost"):
        reject_curve(LogisticRegression(), *data)
    loss = [[0, 0.2, 1], [1, 0.2, 0]]
    with pytest.raises(ValueError, match="loss_matrix"):
        reject_curve(make_pipeline(StandardScaler(), RejoSVC(loss_matrix=loss)), *data)
    with pytest.raises(ValueError, match="y is None"):
        reject_curve(RejoSVC(), data[0], None)
    with pytest.raises(ValueError, match="sample_weight"):
        reject_curve(
            RejoSVC(), *data, sample_weight=np.arange(150) >= 50, cv=KFold(3, shuffle=False)
        )


# ---- what becomes of every case -----------------------------------------------------------


@pytest.fixture(scope="module")
def ordered():
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (150, 2))
    score = X.sum(axis=1) + random.normal(0, 0.3, 150)
    return X, np.array([10, 20, 30])[np.digitize(score, [-0.5, 0.5])]


MODELS = {
    "linear": RejoLinear(C=3),
    "svm": RejoSVC(C=10, gamma=4),
    "pipeline": make_pipeline(StandardScaler(), RejoLinear(C=3)),
    "posteriors": ThresholdRejectClassifier(LogisticRegression(), rule="chow"),
}


@pytest.mark.parametrize(
    "model",
    [
        RejoSVC(gamma=1.0, C=5, tol=1e-8),
        RejoSVC(kernel="linear", C=5, tol=1e-8),
        RejoLinear(tol=1e-14),
    ],
    ids=str,
)
def test_every_case_is_judged_by_a_model_that_has_not_seen_it(ordered, model):
    X, y = ordered
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    for point in cross_val_outcomes(model, X, y, reject_costs=COSTS[:3], cv=folds):
        bands = []
        for i, (train, test) in enumerate(folds):
            alone = clone(model).set_params(reject_cost=point.reject_cost).fit(X[train], y[train])
            judgement, scores = alone.judge(X[test]), alone.boundary_scores(X[test])
            assert (point.fold[test] == i).all()
            for attribute in ("decision", "forced", "lower"):
                np.testing.assert_array_equal(
                    getattr(point, attribute)[test], getattr(judgement, attribute)
                )
            doubt = (judgement.decision < 0) + 1 / (1 + judgement.sureness)
            np.testing.assert_allclose(point.doubt[test], doubt, atol=1e-5)
            np.testing.assert_allclose(point.score[test], scores.mean(axis=1), atol=1e-5)
            bands.append((scores.mean(axis=1, keepdims=True) - scores)[0].reshape(-1, 2))
        np.testing.assert_allclose(point.bands, np.mean(bands, axis=0), atol=1e-5)


@pytest.mark.parametrize("lacks", [10, 20])
@pytest.mark.parametrize("order", [None, [10, 20, 30]])
def test_a_class_that_a_training_part_lacks(ordered, lacks, order):
    """Its neighbours keep their places among all classes."""
    X, y = ordered
    first, rest = np.flatnonzero(y != lacks), np.flatnonzero(y == lacks)
    folds = [(first, rest), (np.arange(150), first)]
    for point in cross_val_outcomes(
        RejoLinear(class_order=order), X, y, reject_costs=COSTS, cv=folds
    ):
        assert point.bands is None
        for train, test in folds:
            model = RejoLinear(reject_cost=point.reject_cost).fit(X[train], y[train])
            said = np.where(point.decision < 0, model.reject_label_, point.classes[point.decision])
            np.testing.assert_array_equal(said[test], model.predict(X[test]))


def test_a_fold_without_anything_to_learn(ordered):
    """One model is constant, with boundaries as good as parallel; another is not."""
    X, y = ordered
    y = np.where(y > 10, 1, 0)
    flat, some, others = np.arange(150).reshape(3, 50)
    X = np.where(np.isin(np.arange(150), flat)[:, None], 0.0, X)
    folds = [(flat, some), (some, others), (others, flat)]
    tree = ReplicationClassifier(DecisionTreeClassifier(max_depth=3, random_state=0))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        point = cross_val_outcomes(tree, X, y, reject_costs=[0.2], cv=folds)[0]
    assert point.bands is None
    assert len(point.score) == 150


@pytest.mark.check
def test_parts_and_processes_do_not_matter(data):
    X, y = data
    one = cross_val_outcomes(RejoLinear(), X, y, reject_costs=COSTS, cv=3)
    two = cross_val_outcomes(RejoLinear(), X, y, reject_costs=COSTS[::-1], cv=3, n_jobs=2)
    for a, b in zip(one, two, strict=True):
        assert a.reject_cost == b.reject_cost
        np.testing.assert_array_equal(a.decision, b.decision)
        np.testing.assert_array_equal(a.score, b.score)


def test_every_case_must_be_tested_once(data):
    X, y = data
    for cv in (ShuffleSplit(3, random_state=0), [(np.arange(100), np.arange(100, 140))]):
        with pytest.raises(ValueError, match="cv"):
            cross_val_outcomes(RejoLinear(), X, y, cv=cv)


def test_a_classifier_without_a_reject_option(data):
    X, y = data
    with pytest.raises(TypeError, match="reject_cost"):
        cross_val_outcomes(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="LogisticRegression"):
        ranking_outcomes(LogisticRegression().fit(X, y), X, [0.1])


# ---- bands --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bands_hold_the_scores_of_the_rejected_cases(ordered, n_classes):
    """Those of one linear model, and no others."""
    X, y = ordered
    y = y if n_classes == 3 else np.where(y > 10, "high", "a low one")
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.1)).fit(X, y)
    points, chosen = ranking_outcomes(model, X, [0.1, 0.5])
    point = points[chosen]
    assert point.bands.shape == (len(np.unique(y)) - 1, 2)
    assert (np.diff(point.bands.ravel()) >= 0).all()
    inside = (point.score[:, None] > point.bands[:, 0]) & (
        point.score[:, None] <= point.bands[:, 1]
    )
    rejected = point.decision < 0
    assert 0 < rejected.sum() < len(y)
    np.testing.assert_array_equal(inside.any(axis=1), rejected)
    np.testing.assert_array_equal(  # and the class is the number of bands below
        (point.score[:, None] > point.bands[:, 1]).sum(axis=1)[~rejected], point.decision[~rejected]
    )
    assert [p.bands is None for p in points] == [i != chosen for i in range(len(points))]


def test_bands_of_a_fold_hold_its_scores(ordered):
    """With one fold model, the cross-validated bands are its own."""
    X, y = ordered
    train, test = np.arange(100), np.arange(100, 150)
    both = [(train, test), (train, train)]
    point = cross_val_outcomes(RejoLinear(), X, y, reject_costs=[0.1], cv=both)[0]
    inside = (point.score[:, None] > point.bands[:, 0]) & (
        point.score[:, None] <= point.bands[:, 1]
    )
    np.testing.assert_array_equal(inside.any(axis=1), point.decision < 0)


def test_scores_rise_with_the_classes(ordered):
    X, y = ordered
    point = cross_val_outcomes(RejoLinear(), X, y, reject_costs=[0.2], cv=3)[0]
    means = [point.score[y == label].mean() for label in (10, 20, 30)]
    assert means == sorted(means)
    assert point.bands.shape == (2, 2)


def test_posteriors_have_no_score(data):
    X, y = data
    point = cross_val_outcomes(MODELS["posteriors"], X, y, reject_costs=[0.2], cv=3)[0]
    assert point.score is None
    assert point.bands is None


def test_without_a_reject_region_there_are_no_bands(data):
    X, y = data
    points, chosen = ranking_outcomes(RejoLinear(reject_cost=None).fit(X, y), X, [0.2])
    assert chosen == 0
    assert (points[0].decision >= 0).all()
    assert all(point.bands is None for point in points)


# ---- rankings -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "svm", "pipeline", "posteriors"])
def test_rankings_are_those_of_the_queue(ordered, name):
    pytest.importorskip("pandas")
    X, y = ordered
    model = clone(MODELS[name]).fit(X, y)
    last = model[-1] if name == "pipeline" else model
    Z = model[:-1].transform(X) if name == "pipeline" else X
    points, chosen = ranking_outcomes(model, X, [0, 0.01, 0.1, 0.35, 0.8, 1])
    own = int(last.reject_mask(Z).sum())
    sizes = [int((point.decision < 0).sum()) for point in points]
    assert sizes == sorted({0, 2, 15, 52, 120, 150, own})
    assert sizes[chosen] == own
    for point, size in zip(points, sizes, strict=True):
        reviewed = set(np.flatnonzero(point.decision < 0))
        assert reviewed == set(last.queue(Z, capacity=size, fill=True).index)
        decided = point.decision >= 0
        np.testing.assert_array_equal(point.decision[decided], point.forced[decided])
    np.testing.assert_array_equal(points[chosen].decision, last._decide(Z))
    assert points[chosen].reject_cost == 0.2
    costs = np.array([p.reject_cost for i, p in enumerate(points) if i != chosen])
    if name == "posteriors":  # any cut amounts to a price
        assert (np.diff(costs) < 0).all()
    else:
        assert (costs == 0.2).all()  # that of the learner


def test_more_reviews_leave_no_more_errors(ordered):
    X, y = ordered
    model = RejoLinear().fit(X, y)
    points, _ = ranking_outcomes(model, X, np.linspace(0, 1, 21))
    k = np.unique(y, return_inverse=True)[1]
    curve = curve_of([replace(point, y=k) for point in points])
    assert (np.diff(curve.rejection_rate) > 0).all()
    assert (np.diff(curve.error_rate) <= 1e-12).all()
    assert curve.error_rate[-1] == 0
    assert curve.error_rate[0] == pytest.approx(np.mean(model.predict_forced(X) != y))


def test_rows_that_are_not_as_in_training_are_reviewed_at_every_share(ordered):
    X, y = ordered
    model = RejoLinear().fit(X, y)
    points, chosen = ranking_outcomes(model, X, [0, 0.1, 0.5, 1], reviewed=[3, 70, 71])
    sizes = [int((point.decision < 0).sum()) for point in points]
    assert sizes[0] == 3
    assert {15, 75, 150} <= set(sizes)
    for point in points:
        assert (point.decision[[3, 70, 71]] == -1).all()
        np.testing.assert_array_equal(np.flatnonzero(point.kind), [3, 70, 71])
    own = model.reject_mask(X)
    own[[3, 70, 71]] = True
    np.testing.assert_array_equal(points[chosen].decision < 0, own)
    assert all(point.kind is None for point in ranking_outcomes(model, X, [0.1])[0])
