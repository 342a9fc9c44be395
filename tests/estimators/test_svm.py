"""RejoSVC as a user meets it: inputs, attributes, paths, and the company of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo import RejoSVC


def same(model, other, X, rtol=1e-6):
    assert_allclose(model.boundary_scores(X), other.boundary_scores(X), rtol=rtol, atol=1e-6)


# ---- what is fitted ----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_scores_are_the_kernel_expansion_minus_the_thresholds(data, kernel):
    X, y = data
    model = RejoSVC(kernel=kernel, gamma=0.3, coef0=0.5, degree=2).fit(X, y)
    inner = X @ model.support_vectors_.T
    K = {
        "linear": inner,
        "poly": (0.3 * inner + 0.5) ** 2,
        "rbf": rbf_kernel(X, model.support_vectors_, gamma=0.3),
        "sigmoid": np.tanh(0.3 * inner + 0.5),
    }[kernel]
    expected = (K @ model.dual_coef_[0])[:, None] - model.thresholds_
    assert_allclose(model.boundary_scores(X), expected, atol=1e-5)


@pytest.mark.parametrize(("reject_cost", "n_boundaries"), [(0.2, 4), (None, 2)])
def test_attributes(data, reject_cost, n_boundaries):
    X, y = data
    model = RejoSVC(reject_cost=reject_cost).fit(X, y)
    n_support = len(model.support_)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.reject_label_ == (None if reject_cost is None else -1)
    assert model.thresholds_.shape == (n_boundaries,)
    assert (np.diff(model.thresholds_) >= 0).all()
    assert model.dual_coef_.shape == (1, n_support)
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-8)
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert_array_equal(model.n_support_, np.bincount(y[model.support_], minlength=3))
    assert model.boundary_scores(X).shape == (90, n_boundaries)
    assert 0 <= model.duality_gap_ <= model.tol
    assert model.objective_ > 0
    assert model.n_iter_ >= 1
    assert model.n_features_in_ == 2
    assert not hasattr(model, "decision_function")


def test_coef_is_for_the_linear_kernel_only(data):
    X, y = data
    model = RejoSVC(kernel="linear").fit(X, y)
    assert_allclose(model.coef_, model.dual_coef_ @ model.support_vectors_, atol=1e-10)
    assert_allclose(model.boundary_scores(X), X @ model.coef_.T - model.thresholds_)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = RejoSVC().fit(X, y).coef_
    assert not hasattr(RejoSVC().fit(X, y), "coef_")


def test_without_rejection_two_classes_are_a_plain_svc(binary):
    X, y = binary
    ours = RejoSVC(reject_cost=None, tol=1e-6).fit(X, y)
    theirs = SVC(tol=1e-6).fit(X, y)
    assert_allclose(ours.boundary_scores(X)[:, 0], theirs.decision_function(X), atol=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_reject_region_shrinks_as_its_cost_grows(binary):
    X, y = binary
    costs = [0.05, 0.1, 0.2, 0.3, 0.5]
    rates = [RejoSVC(reject_cost=c, C=10).fit(X, y).reject_mask(X).mean() for c in costs]
    assert rates[0] > 0.1
    assert rates[-1] == 0
    assert (np.diff(rates) <= 0.02).all()


def test_a_refit_forgets_the_first_fit(data, binary):
    model = RejoSVC().fit(pd.DataFrame(data[0], columns=["a", "b"]), data[1])
    model.fit(*binary)
    assert not hasattr(model, "feature_names_in_")
    same(model, RejoSVC().fit(*binary), binary[0])


def test_review_end_to_end(binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(100, 180))
    model = RejoSVC(reject_cost=0.1).fit(frame, np.array(["no", "yes"])[y])
    table = model.review(frame)
    assert_array_equal(table.index, frame.index)
    assert_array_equal(table.decision, model.predict(frame))
    assert_array_equal(table.forced, model.predict_forced(frame))
    rejected = model.reject_mask(frame)
    assert_array_equal(np.sort(table["rank"].dropna()), np.arange(1, rejected.sum() + 1))
    assert_array_equal(table["rank"].notna(), rejected)


# ---- inputs ------------------------------------------------------------------------------


def test_int64_indices_of_a_sparse_matrix(data):
    X, y = data
    S = sparse.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    same(RejoSVC().fit(S, y), RejoSVC().fit(X, y), X, rtol=1e-3)


def test_float32_and_integers_are_computed_in_double(data):
    X, y = data
    X32 = X.astype(np.float32)
    model = RejoSVC().fit(X32, y)
    same(model, RejoSVC().fit(X32.astype(np.float64), y), X)
    assert model.support_vectors_.dtype == np.float64
    integers = np.round(4 * X).astype(int)
    same(RejoSVC().fit(integers, y), RejoSVC().fit(integers.astype(float), y), integers)


def test_precomputed_kernel(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.5)
    expected = RejoSVC(gamma=0.5, tol=1e-5).fit(X[:60], y[:60])
    model = RejoSVC(kernel="precomputed", tol=1e-5).fit(K[:60, :60], y[:60])
    scores = model.boundary_scores(K[60:, :60])
    assert_allclose(scores, expected.boundary_scores(X[60:]), atol=1e-3)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert cross_val_score(model, K, y).mean() > 0.6
    with pytest.raises(ValueError, match="square"):
        model.fit(K[:60], y[:60])
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(K + np.triu(np.ones_like(K)), y)
    with pytest.raises(ValueError, match="features"):
        model.predict(K[60:, :50])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(sparse.csr_array(K), y)


def test_callable_kernel(data, monkeypatch):
    X, y = data

    def kernel(A, B):
        return rbf_kernel(A, B, gamma=0.5)

    expected = RejoSVC(gamma=0.5, tol=1e-5).fit(X, y)
    model = RejoSVC(kernel=kernel, tol=1e-5).fit(X, y)
    assert_allclose(model.boundary_scores(X), expected.boundary_scores(X), atol=1e-3)
    whole = model.boundary_scores(X)
    monkeypatch.setattr("rejo.estimators.kernel_machine.CHUNK", 7 * len(model.support_))
    assert_allclose(model.boundary_scores(X), whole, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.ones((3, 3)), r"kernel must return a matrix of shape \(90, 90\)"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "kernel returned NaN"),
        (lambda A, B: A[:, :1] + 2 * B[:, :1].T, "not symmetric"),
    ],
)
def test_a_callable_that_returns_no_kernel_matrix_is_refused(data, kernel, message):
    with pytest.raises(ValueError, match=message):
        RejoSVC(kernel=kernel).fit(*data)


# ---- gamma -------------------------------------------------------------------------------


def test_gamma_scale_and_auto(data):
    X, y = data
    scale, auto = 1 / (2 * X.var()), 1 / 2
    same(RejoSVC(gamma="scale").fit(X, y), RejoSVC(gamma=scale).fit(X, y), X)
    same(RejoSVC(gamma="auto").fit(X, y), RejoSVC(gamma=auto).fit(X, y), X)
    S = sparse.csr_array(X)
    same(RejoSVC(gamma="scale").fit(S, y), RejoSVC(gamma=scale).fit(S, y), X)


def test_gamma_scale_counts_a_row_as_often_as_it_weighs(data):
    X, y = data
    weight = np.arange(len(y)) % 3
    twice = RejoSVC(tol=1e-6).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for form in (np.asarray, sparse.csr_array):
        weighted = RejoSVC(tol=1e-6).fit(form(X), y, sample_weight=weight)
        assert weighted._gamma == pytest.approx(twice._gamma)
        assert_allclose(weighted.boundary_scores(X), twice.boundary_scores(X), atol=1e-3)


@pytest.mark.parametrize("blow", ["outlier", "offset"])
def test_a_kernel_that_sees_nothing_is_warned_of(data, blow):
    X, y = data[0].copy(), data[1]
    if blow == "outlier":
        X[7, 0] = 3e38
    else:
        X[:, 0] = 1.7e9 + 1e5 * X[:, 0]
    with pytest.warns(UserWarning, match="gamma"):
        RejoSVC().fit(X, y)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_tight_clusters_are_not_blind(order):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = y[:, None] + 1e-4 * rng.normal(size=(100, 2))
    rows = np.arange(100) if order == "sorted" else rng.permutation(100)
    assert RejoSVC().fit(X[rows], y[rows]).score(X, y) == 1


# ---- labels, costs, weights --------------------------------------------------------------


def test_class_order_decides_what_lies_between(data):
    X, y = data
    names = np.array(["mild", "severe", "critical"])
    order = names.tolist()
    expected = RejoSVC(reject_cost=0.3).fit(X, y)
    model = RejoSVC(reject_cost=0.3, class_order=order).fit(X, names[y])
    assert model.classes_.tolist() == order
    assert_array_equal(model.predict_forced(X), names[expected.predict_forced(X)])
    series = pd.Series(pd.Categorical(names[y], order, ordered=True))
    assert_array_equal(RejoSVC(reject_cost=0.3).fit(X, series).predict(X), model.predict(X))
    assert set(model.predict(X)) == {*order, "reject"}


def test_loss_matrix_takes_the_place_of_reject_cost_and_s(data):
    X, y = data
    loss = [[0, 0.2, 1, 1.8, 2.6], [1, 0.2, 0, 0.2, 1], [2.6, 1.8, 1, 0.2, 0]]
    model = RejoSVC(loss_matrix=loss, reject_cost=0.5, s=1, tol=1e-6).fit(X, y)
    expected = RejoSVC(reject_cost=0.2, tol=1e-6).fit(X, y)
    assert_allclose(model.boundary_scores(X), expected.boundary_scores(X), atol=1e-4)
    square = RejoSVC(loss_matrix=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], tol=1e-6).fit(X, y)
    plain = RejoSVC(reject_cost=None, tol=1e-6).fit(X, y)
    assert_allclose(square.boundary_scores(X), plain.boundary_scores(X), atol=1e-4)
    assert square.reject_label_ is None
    with pytest.raises(ValueError, match="loss_matrix"):
        RejoSVC(loss_matrix=[[0, 1], [1, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="loss_matrix"):
        RejoSVC(loss_matrix=[[0, 1], [1, 2]]).fit(X, y[:] > 0)


def test_a_dear_class_is_missed_less(binary):
    X, y = binary
    even = RejoSVC().fit(X, y)
    dear = RejoSVC(class_weight={1: 5}).fit(X, y)
    assert (dear.predict(X) == 0).sum() < (even.predict(X) == 0).sum()
    weighted = RejoSVC(gamma=dear._gamma).fit(X, y, np.where(y == 1, 5, 1))
    same(dear, weighted, X)


def test_rows_without_weight_are_absent_from_all_attributes(data):
    X, y = data
    weight = np.ones(len(y))
    weight[::2] = 0
    model = RejoSVC(gamma=0.5).fit(X, y, weight)
    expected = RejoSVC(gamma=0.5).fit(X[1::2], y[1::2])
    same(model, expected, X)
    assert_array_equal(model.support_, 1 + 2 * expected.support_)
    K = rbf_kernel(X, gamma=0.5)
    precomputed = RejoSVC(kernel="precomputed").fit(K, y, weight)
    assert_allclose(precomputed.boundary_scores(K), model.boundary_scores(X), atol=1e-2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reject_cost", 0),
        ("reject_cost", 0.6),
        ("reject_cost", 3),
        ("reject_cost", "0.2"),
        ("C", 0),
        ("C", np.inf),
        ("C", 1e200),
        ("h", 0),
        ("s", 0),
        ("gamma", 0.0),
        ("gamma", "wide"),
        ("kernel", "gauss"),
        ("degree", 1.5),
        ("tol", 0),
        ("max_iter", -2),
        ("cache_size", 0),
        ("class_order", "alphabetical"),
        ("class_weight", "even"),
        ("loss_matrix", 3),
    ],
)
def test_parameters_are_checked_in_fit(data, name, value):
    model = RejoSVC(**{name: value})
    for _ in range(2):  # what was refused is not remembered as valid
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            model.fit(*data)


def test_equal_values_of_another_type_are_checked_anew(data):
    RejoSVC(degree=2).fit(*data)
    with pytest.raises(ValueError, match="'degree'"):
        RejoSVC(degree=2.0).fit(*data)


# ---- convergence -------------------------------------------------------------------------


def test_a_bound_on_the_iterations_is_kept_and_reported(data):
    X, y = data
    message = "duality gap"
    with pytest.warns(ConvergenceWarning, match=message):
        model = RejoSVC(max_iter=2, C=100, tol=1e-9).fit(X, y)
    assert model.n_iter_ == 2
    assert model.duality_gap_ > 1e-3


# ---- paths -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_path_is_the_separate_fits(data, kernel):
    X, y = data
    costs, Cs = [0.05, 0.2, 0.4, None], [0.1, 10.0]
    base = RejoSVC(kernel=kernel, tol=1e-7)
    models = base.fit_path(X, y, reject_costs=costs, Cs=Cs)
    pairs = [(cost, C) for cost in costs for C in Cs]
    assert [(m.reject_cost, m.C) for m in models] == pairs
    for model in models:
        alone = clone(model).fit(X, y)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-6)
        assert_allclose(model.boundary_scores(X), alone.boundary_scores(X), atol=1e-3)
        assert model.n_features_in_ == 2


def test_a_path_of_defaults_is_one_fit(data):
    (model,) = RejoSVC().fit_path(*data)
    same(model, RejoSVC().fit(*data), data[0])


def test_a_path_takes_names_weights_and_generators(data):
    X, y = data
    frame, weight = pd.DataFrame(X, columns=["a", "b"]), 1 + np.arange(len(y)) % 2
    models = RejoSVC().fit_path(
        frame, y, reject_costs=iter([0.1, 0.3]), Cs=(c for c in (1, 2)), sample_weight=weight
    )
    assert len(models) == 4
    assert all(m.feature_names_in_.tolist() == ["a", "b"] for m in models)
    alone = RejoSVC(reject_cost=0.3, C=2, tol=1e-6).fit(frame, y, weight)
    assert_allclose(models[3].boundary_scores(frame), alone.boundary_scores(frame), atol=2e-2)


def test_a_path_refuses_costs_beside_a_loss_matrix(data):
    with pytest.raises(ValueError, match="reject_costs"):
        RejoSVC(loss_matrix=np.eye(3)).fit_path(*data, reject_costs=[0.1])
    with pytest.raises(ValueError, match="'reject_cost'"):
        RejoSVC().fit_path(*data, reject_costs=[0.1, 0.7])


# ---- in company --------------------------------------------------------------------------


def test_grid_search_tunes_the_risk(binary):
    X, y = binary
    search = GridSearchCV(RejoSVC(reject_cost=0.1), {"C": [0.01, 1, 100]}, cv=3).fit(X, y)
    best = search.best_estimator_
    rejected = best.reject_mask(X)
    risk = 0.1 * rejected.mean() + (~rejected & (best.predict(X) != y)).mean()
    assert search.score(X, y) == pytest.approx(1 - risk)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_cross_val_predict_keeps_rejections(binary):
    X, y = binary
    names = np.array(["no", "yes"])[y]
    predicted = cross_val_predict(RejoSVC(reject_cost=0.2, C=10), X, names, cv=4)
    assert set(predicted) == {"no", "yes", "reject"}


def test_metadata_routing_brings_the_weights(data):
    X, y = data
    weight = np.where(np.arange(len(y)) < 60, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        svc = RejoSVC(gamma=0.5).set_fit_request(sample_weight=True)
        svc.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, svc).fit(X, y, sample_weight=weight)
        search = GridSearchCV(svc, {"C": [1.0]}, cv=3).fit(X, y, sample_weight=weight)
    assert (pipeline[-1].support_ < 60).all()
    assert (search.best_estimator_.support_ < 60).all()


def test_parameter_validation_can_be_switched_off(data):
    with sklearn.config_context(skip_parameter_validation=True):
        RejoSVC(degree=2.0).fit(*data)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_fit_in_a_worker_of_joblib_has_one_thread(backend):
    model = RejoSVC(n_jobs=2)
    assert model._n_threads == 2
    found = Parallel(n_jobs=2, backend=backend)(delayed(getattr)(model, "_n_threads") for _ in "ab")
    assert found == [1, 1]


def test_a_linear_fit_with_weights_far_apart_ends():
    """Its factor stalls on rounding, at a gap above the tolerance; pairs go on."""
    X, y = make_blobs(centers=3, random_state=0, cluster_std=20)
    X, _, y, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    weight = {0: 1000, 1: 0.0001, 2: 0.0001}
    model = RejoSVC(kernel="linear", class_weight=weight).fit(X, y)  # warnings are errors
    assert model.duality_gap_ <= model.tol
