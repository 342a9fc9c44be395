"""ReplicationClassifier over scikit-learn's own classifiers."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from rejo import RejoSVC
from rejo.datasets import bayes_risk, make_synthetic_1
from rejo.estimators import inner as inner_module
from rejo.estimators.replication import ReplicationClassifier
from rejo.replication import replica_costs, replicate
from tests.estimators.points import ordered_points


@pytest.fixture(scope="module")
def noisy():
    """Four classes, much overlap: where boundaries cross if they may."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    t = X[:, 0] * X[:, 1] + rng.normal(size=400)
    return X, np.searchsorted([-0.8, 0.0, 0.8], t)


def hist(**parameters):
    return HistGradientBoostingClassifier(**{"max_iter": 10, "min_samples_leaf": 5} | parameters)


def grid(X, n=60, reach=3.0):
    """Points within the data and far outside."""
    axes = [np.linspace(reach * x.min(), reach * x.max(), n) for x in X.T]
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, X.shape[1])


def same(model, other, X, atol=1e-8):
    assert_allclose(model.boundary_scores(X), other.boundary_scores(X), atol=atol)


# ---- what is fitted ----------------------------------------------------------------------


@pytest.mark.parametrize("reject_cost", [0.3, None])
@pytest.mark.parametrize("h", [0.5, 3.0])
def test_a_linear_svc_on_replicas_is_rejosvc(data, reject_cost, h):
    X, y = data
    shared = dict(h=h, reject_cost=reject_cost)
    inner = SVC(kernel="linear", C=2.0, tol=1e-7)
    model = ReplicationClassifier(inner, coding="onehot", **shared).fit(X, y)
    expected = RejoSVC(kernel="linear", C=2.0, tol=1e-7, **shared).fit(X, y)
    same(model, expected, X, atol=1e-3)
    w, m = model.estimator_.coef_[0], 2.0 * replica_costs(3, reject_cost)[y]
    Xr, yr, cr = replicate(X, y, replica_costs(3, reject_cost), h=h)
    hinge = np.maximum(0, 1 - yr * model.estimator_.decision_function(Xr))
    assert m.sum() == pytest.approx(2.0 * cr.sum())
    objective = 0.5 * w @ w + 2.0 * cr @ hinge
    assert objective == pytest.approx(expected.objective_, rel=1e-3)


@pytest.mark.parametrize("coding", ["onehot", "thermometer"])
def test_it_is_the_estimator_on_the_written_out_replicas(data, coding):
    X, y = data
    model = ReplicationClassifier(LogisticRegression(), coding=coding, h=2.0).fit(X, y)
    Xr, yr, wr = replicate(X, y, replica_costs(3, 0.2), h=2.0, coding=coding)
    expected = LogisticRegression().fit(Xr, yr, sample_weight=wr)
    assert_allclose(model.estimator_.coef_, expected.coef_, atol=1e-4)
    scores = expected.decision_function(Xr).reshape(4, -1).T
    assert_allclose(model.boundary_scores(X), -np.sort(-scores, axis=1), atol=1e-3)


def test_ordinal_coding_is_one_feature(data):
    X, y = data
    model = ReplicationClassifier(LogisticRegression(), coding="ordinal", h=0.5).fit(X, y)
    steps = np.diff(model.boundary_scores(X), axis=1)
    assert model.estimator_.n_features_in_ == 3
    assert_allclose(steps, steps[0, 0])  # equal distances between all boundaries
    assert_allclose(steps[0, 0], 0.5 * model.estimator_.coef_[0, -1])


def test_two_classes_without_rejection_are_the_estimator_itself(binary):
    X, y = binary
    for inner in (LogisticRegression(), hist()):
        model = ReplicationClassifier(inner, reject_cost=None).fit(X, y)
        assert_array_equal(model.predict(X), clone(inner).fit(X, y).predict(X))
        assert model.estimator_.n_features_in_ == 2


def test_plain_ordinal_has_one_boundary_between_neighbours(data):
    X, y = data
    model = ReplicationClassifier(LogisticRegression(), reject_cost=None).fit(X, y)
    assert model.boundary_scores(X).shape == (90, 2)
    assert model.reject_label_ is None
    assert not model.reject_mask(X).any()
    assert_array_equal(model.predict(X), model.predict_forced(X))
    assert model.score(X, y) > 0.7


def test_the_default_is_a_monotone_booster(data):
    X, y = data
    model = ReplicationClassifier().fit(X, y)
    assert isinstance(model.estimator_, HistGradientBoostingClassifier)
    assert (model.coding_, model.order_, model.order_violations_) == ("ordinal", "constraint", 0)
    assert_array_equal(model.estimator_.monotonic_cst, [0, 0, -1])
    assert model.transformer_ is None


class Recorder(ClassifierMixin, BaseEstimator):
    """Keep what fit was given; answer by a fixed probability."""

    def __init__(self, p=0.5):
        self.p = p

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.seen_ = X, y, sample_weight
        return self

    def predict_proba(self, X):
        assert X.shape[0] <= getattr(self, "most", np.inf)
        return np.tile([1 - self.p, self.p], (X.shape[0], 1))


@pytest.mark.filterwarnings("ignore:The model rejects")
def test_rows_without_cost_are_dropped(data):
    X, y = data
    model = ReplicationClassifier(Recorder(), s=1).fit(X, y)
    rows, labels, weight = model.estimator_.seen_
    assert len(rows) == len(labels) == 2 * ((y == 0) + 2 * (y == 1) + (y == 2)).sum()
    assert (weight > 0).all()
    weighted = ReplicationClassifier(Recorder()).fit(X, y, np.arange(90) % 2)
    assert len(weighted.estimator_.seen_[0]) == 4 * 45


@pytest.mark.filterwarnings("ignore:The model rejects")
def test_a_tie_is_not_positive_and_certainty_is_finite(binary):
    X, y = binary
    for p, count in [(0.5, 0), (0.0, 0), (1.0, 2)]:
        model = ReplicationClassifier(Recorder(p)).fit(X, y)
        scores = model.boundary_scores(X)
        assert np.isfinite(scores).all()
        assert ((scores > 0).sum(axis=1) == count).all()


@pytest.mark.filterwarnings("ignore:The model rejects")
def test_prediction_holds_few_replicas_at_a_time(data, monkeypatch):
    X, y = data
    for inner in (LogisticRegression(), Recorder()):
        model = ReplicationClassifier(inner).fit(X, y)
        model.estimator_.most = 4 * 3
        whole = None if isinstance(inner, Recorder) else model.boundary_scores(X)
        with monkeypatch.context() as patch:
            patch.setattr("rejo.estimators.replication.CHUNK", 4 * 6 * 2)
            chunks = model.boundary_scores(X)
        assert whole is None or np.allclose(chunks, whole, atol=1e-12)


def test_long_arrays_are_copied_in_parts(data, monkeypatch):
    X, y = data
    expected = ReplicationClassifier(LogisticRegression()).fit(X, y)
    monkeypatch.setattr("rejo.replication.COPY", 7)
    same(ReplicationClassifier(LogisticRegression()).fit(X, y), expected, X)


# ---- order of the boundaries -------------------------------------------------------------

TREES = [
    hist(),
    RandomForestClassifier(n_estimators=8, min_samples_leaf=2, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=2, random_state=0),
]


@pytest.mark.filterwarnings("ignore:The model rejects 100")  # a constrained tree alone
@pytest.mark.parametrize("coding", ["ordinal", "thermometer"])
@pytest.mark.parametrize("inner", TREES, ids=lambda inner: type(inner).__name__)
def test_constrained_boundaries_never_cross(noisy, inner, coding):
    X, y = noisy
    free = ReplicationClassifier(inner, order="none", coding=coding).fit(X, y)
    assert free.order_violations_ > 0  # there is something to prevent
    assert (np.diff(free._scores(grid(X)), axis=1) > 0).any()
    assert (np.diff(free.boundary_scores(X), axis=1) <= 0).all()  # sorted
    for reject_cost in (0.2, None):
        model = ReplicationClassifier(
            inner, order="constraint", coding=coding, reject_cost=reject_cost
        ).fit(X, y)
        assert model.order_violations_ == 0
        assert (np.diff(model._scores(grid(X)), axis=1) <= 0).all()
        assert np.diff(model._scores(grid(X)), axis=1).any()


def test_sorting_changes_no_decision(noisy):
    X, y = noisy
    model = ReplicationClassifier(hist(), order="none").fit(X, y)
    raw = (model._scores(X) > 0).sum(axis=1)
    assert_array_equal(model.reject_mask(X), raw % 2 == 1)


def test_auto_constrains_boosters_only(data):
    chosen = {
        type(inner).__name__: ReplicationClassifier(inner).fit(*data)
        for inner in (*TREES, LogisticRegression(), SVC())
    }
    assert {name: (m.coding_, m.order_) for name, m in chosen.items()} == {
        "HistGradientBoostingClassifier": ("ordinal", "constraint"),
        "RandomForestClassifier": ("ordinal", "none"),
        "DecisionTreeClassifier": ("ordinal", "none"),
        "LogisticRegression": ("thermometer", "none"),
        "SVC": ("thermometer", "none"),
    }
    onehot = ReplicationClassifier(hist(), coding="onehot").fit(*data)
    assert onehot.order_ == "none"


def test_interaction_constraints_make_the_boundaries_parallel(noisy):
    X, y = noisy
    model = ReplicationClassifier(hist(max_iter=30, interaction_cst=[{0, 1}])).fit(X, y)
    steps = np.diff(model.boundary_scores(grid(X)), axis=1)
    assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=1e-9)
    assert (steps[0] < 0).all()


@pytest.mark.parametrize(
    "given", [[1, 0], np.array([1, 0]), {"a": 1}], ids=["list", "array", "dict"]
)
def test_constraints_of_the_user_are_kept(data, given):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    inner = hist(monotonic_cst=given)
    model = ReplicationClassifier(inner).fit(frame, y)
    assert_array_equal(model.estimator_.monotonic_cst, [1, 0, -1])
    assert inner.monotonic_cst is given
    line = pd.DataFrame({"a": np.linspace(-3, 3, 50), "b": 0.3})
    assert (np.diff(model.boundary_scores(line), axis=0) >= 0).all()


def test_constraints_that_do_not_fit_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="monotonic_cst"):
        ReplicationClassifier(hist(monotonic_cst=[0, 1, 0])).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        ReplicationClassifier(hist(monotonic_cst={"a": 1})).fit(X, y)
    with pytest.raises(ValueError, match="order"):
        ReplicationClassifier(LogisticRegression(), order="constraint").fit(X, y)
    with pytest.raises(ValueError, match="coding"):
        ReplicationClassifier(hist(), order="constraint", coding="onehot").fit(X, y)


# ---- traps -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_sizes_count_points(n_classes):
    X, y = ordered_points(n_classes=n_classes)
    Q = 2 * (n_classes - 1)
    inner = hist(min_samples_leaf=7)
    model = ReplicationClassifier(inner).fit(X, y)
    assert model.estimator_.min_samples_leaf == 7 * Q
    assert inner.min_samples_leaf == 7
    as_given = ReplicationClassifier(inner, scale_leaf_sizes=False).fit(X, y)
    assert as_given.estimator_.min_samples_leaf == 7
    bag = BaggingClassifier(DecisionTreeClassifier(min_samples_split=5), n_estimators=2)
    model = ReplicationClassifier(bag).fit(X, y)
    tree = model.estimator_.estimator
    assert (tree.min_samples_split, tree.min_samples_leaf) == (5 * Q, 1)
    shares = DecisionTreeClassifier(min_samples_leaf=0.02)
    assert ReplicationClassifier(shares).fit(X, y).estimator_.min_samples_leaf == 0.02


def test_leaf_sizes_follow_the_rows_that_are_left(data):
    X, y = data  # three classes of equal size: 2, 4 and 2 of 4 replicas with s=1
    model = ReplicationClassifier(hist(min_samples_leaf=6), s=1).fit(X, y)
    assert model.estimator_.min_samples_leaf == 16


def test_boosting_does_not_stop_early_by_itself(data):
    for inner in (hist(), BaggingClassifier(hist(), n_estimators=1)):
        model = ReplicationClassifier(inner).fit(*data)
        assert getattr(model.estimator_, "estimator", model.estimator_).early_stopping is False


class Dear(LogisticRegression):
    """Take an objective, as boosters do."""

    def __init__(self, objective="multi:softprob"):
        super().__init__()
        self.objective = objective


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (KNeighborsClassifier(), "sample_weight"),
        (
            make_pipeline(StandardScaler(), KNeighborsClassifier()),
            "sample_weight",
        ),
        (LinearRegression(), "LinearRegression"),
        (StandardScaler(), "StandardScaler"),
        (make_pipeline(StandardScaler()), "StandardScaler"),
        (SVC(kernel="precomputed"), "precomputed"),
        (
            LogisticRegression(class_weight="balanced"),
            "estimator__class_weight=",
        ),
        (
            Pipeline([("scale", StandardScaler()), ("svc", SVC(class_weight={0: 1, 1: 5}))]),
            "estimator__svc__class_weight=",
        ),
        (
            BaggingClassifier(DecisionTreeClassifier(class_weight="balanced")),
            "estimator__estimator__class_weight=",
        ),
        (Dear(), "estimator__objective="),
        (CalibratedClassifierCV(SVC()), "estimator__cv="),
        (
            GridSearchCV(SVC(), {"C": [1, 2]}, cv=3),
            "estimator__cv=3",
        ),
        (SGDClassifier(early_stopping=True), "estimator__early_stopping="),
        (
            GradientBoostingClassifier(n_iter_no_change=5),
            "estimator__n_iter_no_change=",
        ),
        (hist(early_stopping=True), "estimator__early_stopping="),
        (BaggingClassifier(hist(early_stopping=True)), "estimator__estimator__early_stopping="),
    ],
)
def test_traps_are_refused_with_the_remedy(data, inner, message):
    with pytest.raises(ValueError, match=message):
        ReplicationClassifier(inner).fit(*data)


@pytest.mark.skipif(
    not has_fit_parameter(MLPClassifier(), "sample_weight"), reason="scikit-learn < 1.7"
)
def test_a_network_must_not_stop_early_by_itself(data):
    with pytest.raises(ValueError, match="early_stopping"):
        ReplicationClassifier(MLPClassifier(early_stopping=True)).fit(*data)


def test_patience_alone_does_not_stop_early(data):
    ReplicationClassifier(SGDClassifier(n_iter_no_change=3, random_state=0)).fit(*data)


def test_a_class_is_not_an_estimator(data):
    with pytest.raises(TypeError, match=r"estimator=LogisticRegression\(\)"):
        ReplicationClassifier(LogisticRegression).fit(*data)


class Mute(LogisticRegression):
    decision_function = predict_proba = property()


def test_an_estimator_needs_scores(data):
    with pytest.raises(ValueError, match="predict_proba"):
        ReplicationClassifier(Mute()).fit(*data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reject_cost", 0),
        ("reject_cost", 0.6),
        ("estimator", "svc"),
        ("coding", "binary"),
        ("order", "sorted"),
        ("h", 0),
        ("scale_leaf_sizes", 2),
        ("loss_matrix", [[0, 1], [1, 0]]),
        ("loss_matrix", [[0, 0, 0], [0, 0, 0], [2, 1, 0]]),
    ],
)
def test_parameters_are_checked_in_fit(data, name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        ReplicationClassifier(**{"estimator": LogisticRegression()} | {name: value}).fit(*data)


def test_bad_data_are_refused(data):
    X, y = data
    model = ReplicationClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[y == 1], y[y == 1])
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(gaps, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(pd.DataFrame(gaps), y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_rejecting_nearly_all_is_warned_of(binary):
    X, y = binary
    with pytest.warns(UserWarning, match="rejects"):
        ReplicationClassifier(LogisticRegression(C=1e-4), h=100, reject_cost=0.05).fit(X, y)


def test_rejecting_none_is_warned_of_where_it_costs():
    X, y = make_synthetic_1(600, random_state=0)
    message = "of the {} nearest to a boundary"
    curved, straight = SVC(C=1, gamma=4), LogisticRegression(C=0.01)
    for inner, size in [(curved, 60), (straight, 600)]:
        with pytest.warns(UserWarning, match=message.format(size)):
            ReplicationClassifier(inner, h=1e-3, reject_cost=0.1).fit(X, y)
        ReplicationClassifier(inner, h=1e-3, reject_cost=0.5).fit(X, y)  # a guess costs the same


def test_rejecting_none_of_clear_cases_is_right():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + 20 * y[:, None]
    model = ReplicationClassifier(LogisticRegression()).fit(X, y)
    assert model.reject_mask(X).mean() < 0.01


# ---- pipelines ---------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
def test_the_steps_of_a_pipeline_do_not_see_the_extension(data, routing):
    X, y = data
    X = X * [1, 1000]
    weight = 1.0 + np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=routing):
        scaler, svc = StandardScaler(), SVC(C=2)
        if routing:
            scaler.set_fit_request(sample_weight=True)
            svc.set_fit_request(sample_weight=True)
        pipeline = Pipeline([("scale", scaler), ("svc", svc)])
        model = ReplicationClassifier(pipeline, h=3.0).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit(X, sample_weight=weight if routing else None)
    outside = ReplicationClassifier(SVC(C=2), h=3.0).fit(scaled.transform(X), y, weight)
    assert_allclose(model.boundary_scores(X), outside.boundary_scores(scaled.transform(X)))
    assert_allclose(model.transformer_[0].mean_, scaled.mean_)
    assert isinstance(model.estimator_, SVC)
    assert not hasattr(pipeline[0], "mean_")


def test_weights_reach_an_estimator_that_only_routes_them(data):
    X, y = data
    weight = 1.0 + np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="takes no sample_weight"):
        ReplicationClassifier(FixedThresholdClassifier(LogisticRegression())).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = FixedThresholdClassifier(LogisticRegression().set_fit_request(sample_weight=True))
        model = ReplicationClassifier(inner).fit(X, y, weight)
    expected = ReplicationClassifier(LogisticRegression()).fit(X, y, weight)
    same(model, expected, X, atol=1e-6)


def test_pipelines_take_what_their_first_step_takes():
    texts = ["bad", "bad bad", "so so", "so", "good", "good good"] * 3
    y = [0, 0, 1, 1, 2, 2] * 3
    model = ReplicationClassifier(make_pipeline(CountVectorizer(), LogisticRegression(C=10)))
    model.fit(texts, y)
    assert model.predict_forced(["bad", "good good good"]).tolist() == [0, 2]
    frame = pd.DataFrame({"colour": ["red", "blue"] * 9, "x": np.arange(18.0)})
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = ReplicationClassifier(make_pipeline(encode, hist(min_samples_leaf=1)))
    model.fit(frame, np.repeat([0, 1, 2], 6))
    assert model.estimator_.n_features_in_ == 4
    assert_array_equal(model.estimator_.monotonic_cst, [0, 0, 0, -1])


def test_a_pipeline_may_impute(data):
    X, y = data[0].copy(), data[1]
    X[::7, 1] = np.nan
    model = ReplicationClassifier(make_pipeline(SimpleImputer(), LogisticRegression())).fit(X, y)
    assert model.score(X, y) > 0.7


def test_a_pipeline_of_one_step(data):
    X, y = data
    model = ReplicationClassifier(make_pipeline(LogisticRegression())).fit(X, y)
    same(model, ReplicationClassifier(LogisticRegression()).fit(X, y), X)


# ---- inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_stays_sparse(data, form):
    X, y = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = ReplicationClassifier(LogisticRegression()).fit(form(X), y)
    same(model, ReplicationClassifier(LogisticRegression()).fit(X, y), X, atol=1e-3)
    assert_allclose(model.boundary_scores(form(X)), model.boundary_scores(X))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ReplicationClassifier(hist()).fit(form(X), y)


def test_float32_stays_float32(data):
    X, y = data
    with pytest.warns(UserWarning, match="The model rejects"):
        model = ReplicationClassifier(Recorder(0.4)).fit(X.astype(np.float32), y)
    assert model.estimator_.seen_[0].dtype == np.float32


def test_missing_values_are_for_the_estimator_to_take(data):
    X, y = data[0].copy(), data[1]
    X[::7, 1] = np.nan
    for inner in (hist(), DecisionTreeClassifier()):
        model = ReplicationClassifier(inner).fit(X, y)
        assert model.__sklearn_tags__().input_tags.allow_nan
        assert model.score(X, y) > 0.7
        frame = pd.DataFrame(X, columns=["a", "b"])
        assert clone(model).fit(frame, y).score(frame, y) > 0.7
    assert not ReplicationClassifier(SVC()).__sklearn_tags__().input_tags.allow_nan
    for form in (np.asarray, pd.DataFrame):
        with pytest.raises(ValueError, match="missing values"):
            ReplicationClassifier(DecisionTreeClassifier(), order="constraint").fit(form(X), y)


def test_frames_keep_names_and_categories(data):
    X, y = data
    colours = np.array(["red", "green", "blue"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colours), "replica_0": X[:, 1]})
    model = ReplicationClassifier(hist(categorical_features="from_dtype")).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "colour", "replica_0"]
    inner = model.estimator_
    assert inner.feature_names_in_.tolist() == ["a", "colour", "replica_0", "_replica_0"]
    assert_array_equal(inner.is_categorical_, [False, True, False, False])
    assert model.predict(frame.iloc[::-1])[::-1].tolist() == model.predict(frame).tolist()
    coded = frame.assign(colour=frame.colour.cat.codes)
    mask = hist(categorical_features=[False, True, False])
    by_mask = ReplicationClassifier(mask).fit(coded, y)
    assert_allclose(by_mask.boundary_scores(coded), model.boundary_scores(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["colour", "a", "replica_0"]])


def test_columns_without_string_names(data):
    X, y = data
    for columns in ([0, 1], pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])):
        frame = pd.DataFrame(X, columns=columns)
        model = ReplicationClassifier(LogisticRegression()).fit(frame, y)
        assert not hasattr(model, "feature_names_in_")
        assert not hasattr(model.estimator_, "feature_names_in_")
        same(model, ReplicationClassifier(LogisticRegression()).fit(X, y), frame.to_numpy())


def test_weights_are_repetitions(data):
    X, y = data
    weight = np.arange(len(y)) % 3
    inner = LogisticRegression(tol=1e-8, max_iter=1000)
    twice = ReplicationClassifier(inner).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for form in (np.asarray, pd.DataFrame, sparse.csr_array):
        same(ReplicationClassifier(inner).fit(form(X), y, weight), twice, X, atol=1e-4)
    dear = ReplicationClassifier(inner, class_weight={2: 3.0}).fit(X, y)
    same(dear, ReplicationClassifier(inner).fit(X, y, np.where(y == 2, 3.0, 1.0)), X, atol=1e-4)


def test_class_order_and_names(data):
    X, y = data
    names = np.array(["mild", "severe", "critical"])
    model = ReplicationClassifier(LogisticRegression(), class_order=names.tolist())
    model.fit(X, names[y])
    expected = ReplicationClassifier(LogisticRegression()).fit(X, y)
    assert_array_equal(model.predict_forced(X), names[expected.predict_forced(X)])
    assert set(model.predict(X)) == {*names, "reject"}
    assert model.review(X).decision.tolist() == model.predict(X).tolist()


# ---- in company --------------------------------------------------------------------------


def test_nested_parameters_are_searched(binary):
    X, y = binary
    model = ReplicationClassifier(LogisticRegression(C=3), reject_cost=0.1)
    assert clone(model).get_params()["estimator__C"] == 3
    search = GridSearchCV(model, {"estimator__C": [0.3, 3.0], "h": [1.0, 10.0]}, cv=3).fit(X, y)
    best = search.best_estimator_
    rejected = best.reject_mask(X)
    risk = 0.1 * rejected.mean() + (~rejected & (best.predict(X) != y)).mean()
    assert search.score(X, y) == pytest.approx(1 - risk)
    assert set(cross_val_predict(model, X, y, cv=3)) == {0, 1, -1}


def test_metadata_routing_brings_the_weights(data):
    X, y = data
    weight = np.where(np.arange(len(y)) < 60, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ReplicationClassifier(LogisticRegression()).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(PolynomialFeatures(1, include_bias=False), model)
        pipeline.fit(X, y, sample_weight=weight)
    same(pipeline[-1], ReplicationClassifier(LogisticRegression()).fit(X[:60], y[:60]), X)


def test_one_seed_settles_everything(noisy):
    inner = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    first, second = (
        ReplicationClassifier(inner, random_state=7).fit(*noisy).boundary_scores(noisy[0])
        for _ in range(2)
    )
    assert_array_equal(first, second)
    assert inner[-1].random_state is None


def test_verbose_prints_the_size(data, capsys):
    ReplicationClassifier(GaussianNB(), verbose=True).fit(*data)
    assert "90 points in 4 replicas: 360 rows, 2 + 3 features" in capsys.readouterr().out


# ---- risk --------------------------------------------------------------------------------


@pytest.mark.parametrize("reject_cost", [0.12, 0.36])
def test_the_risk_comes_near_the_best(reject_cost):
    X, y = make_synthetic_1(2000, random_state=0)
    X_test, y_test = make_synthetic_1(10_000, random_state=1)
    best = bayes_risk("synthetic_1", reject_cost)
    logistic = make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression(C=10))
    booster = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.08, max_leaf_nodes=12)
    for inner, excess in [(logistic, 1.12), (booster, 1.25)]:
        model = ReplicationClassifier(inner, reject_cost=reject_cost).fit(X, y)
        risk = 1 - model.score(X_test, y_test)
        assert 0.9 * best < risk < excess * best
        assert risk < min(reject_cost, 1 - np.mean(model.predict_forced(X_test) == y_test))


def test_values_are_rounded_to_the_nearest_quantile():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=900), rng.integers(5, size=900), rng.uniform(size=900)])
    X[::7, 2] = np.nan
    found = inner_module.few_values(X, 32)
    assert_array_equal(np.isnan(found), np.isnan(X))
    assert_array_equal(found[:, 1], X[:, 1])  # few values stay as they are
    for before, after in zip(X.T[[0, 2]], found.T[[0, 2]], strict=True):
        kept = np.unique(after[~np.isnan(after)])
        assert len(kept) <= 32
        assert np.isin(kept, before).all()
        nearest = np.abs(before[:, None] - kept).min(axis=1)
        np.testing.assert_allclose(np.abs(before - after), nearest)
        counts = np.unique(after[~np.isnan(after)], return_counts=True)[1]
        assert counts.max() < 900 / 32 * 4  # quantiles, not steps of equal width


def test_rounding_leaves_the_booster_as_good():
    X, y = make_synthetic_1(400, random_state=0)
    X_new, y_new = make_synthetic_1(4000, random_state=1)
    rounded = ReplicationClassifier(HistGradientBoostingClassifier(max_iter=30)).fit(X, y)
    coarse = ReplicationClassifier(HistGradientBoostingClassifier(max_iter=30, max_bins=32))
    assert rounded.score(X_new, y_new) > coarse.fit(X, y).score(X_new, y_new) - 0.02
