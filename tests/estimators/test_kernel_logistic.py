"""RejoKernelLogistic as a user meets it: inputs, attributes, posteriors, paths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import rejo
from rejo import RejoKernelLogistic, RejoLinear
from rejo.datasets import make_synthetic_1, posterior
from rejo.metrics import empirical_risk

EXACT = {"tol": 1e-8}


def same(model, other, X, atol=1e-4):
    assert_allclose(model.boundary_scores(X), other.boundary_scores(X), atol=atol)


# ---- what is fitted ----------------------------------------------------------------------


@pytest.mark.parametrize(("reject_cost", "n_boundaries"), [(0.2, 4), (None, 2)])
def test_attributes(data, reject_cost, n_boundaries):
    X, y = data
    model = RejoKernelLogistic(reject_cost=reject_cost).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.reject_label_ == (None if reject_cost is None else -1)
    assert model.thresholds_.shape == (n_boundaries,)
    assert model.boundary_scores(X).shape == (90, n_boundaries)
    assert 0 <= model.duality_gap_ <= 2 * model.tol
    assert 1 <= model.n_iter_ <= 20
    assert 0 < len(model.pivots_) < len(X)
    assert model.objective_ > 0
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("loss_matrix", [None, [[0, 0.2, 1], [10, 0.5, 0]]])
def test_a_linear_kernel_is_rejo_linear(binary, loss_matrix):
    X, y = binary
    params = dict(C=3.0, h=2.0, loss_matrix=loss_matrix)
    ours = RejoKernelLogistic(kernel="linear", **EXACT, **params).fit(X + 5, y)
    other = RejoLinear(tol=1e-10, **params).fit(X + 5, y)
    assert ours.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert_allclose(ours.coef_, other.coef_, atol=1e-3)
    same(ours, other, X + 5, atol=1e-2)


def test_without_rejection_two_classes_are_a_logistic_regression(binary):
    X, y = binary
    ours = RejoKernelLogistic(kernel="linear", reject_cost=None, C=2.0, **EXACT).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_pivots_carry_the_function(data):
    X, y = data
    model = RejoKernelLogistic(gamma=0.5).fit(X, y)
    assert_array_equal(model._basis, X[model.pivots_])
    g = rbf_kernel(X, X[model.pivots_], gamma=0.5) @ model._coef
    assert_allclose(model.boundary_scores(X), g[:, None] - model.thresholds_, atol=1e-8)


def test_the_bound_on_pivots_is_kept_and_paid_for_in_the_gap(data):
    X, y = data
    few, many = (RejoKernelLogistic(gamma=5, C=10, max_rank=r).fit(X, y) for r in (5, 90))
    assert len(few.pivots_) == 5
    assert few.objective_ > many.objective_
    assert few.objective_ - many.objective_ <= few.duality_gap_ * few.objective_
    small = RejoKernelLogistic(gamma=5, C=10, cache_size=90 * 8 * 7 / 2**20).fit(X, y)
    assert len(small.pivots_) == 7


# ---- inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_sparse_rows(data, kernel):
    X, y = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = RejoKernelLogistic(kernel=kernel, gamma=0.5, **EXACT)
    dense, other = model.fit(X, y), RejoKernelLogistic(**model.get_params())
    other.fit(sparse.csr_matrix(X), y)
    same(dense, other, X, atol=2e-3)
    same(other, other, sparse.csr_matrix(X))


def test_precomputed_and_callable_kernels(data):
    X, y = data
    rbf = RejoKernelLogistic(gamma=0.5, **EXACT).fit(X, y)

    def kernel(a, b):
        return rbf_kernel(a, b, gamma=0.5)

    called = RejoKernelLogistic(kernel=kernel, **EXACT).fit(X, y)
    given = RejoKernelLogistic(kernel="precomputed", **EXACT).fit(kernel(X, X), y)
    same(called, rbf, X)
    assert_allclose(given.boundary_scores(kernel(X, X)), rbf.boundary_scores(X), atol=1e-4)


def test_weights_are_repetitions_and_zero_is_absence(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = RejoKernelLogistic(gamma=0.5, **EXACT).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    same(model, RejoKernelLogistic(gamma=0.5, **EXACT).fit(X[rows], y[rows]), X)
    assert weight[model.pivots_].all()


def test_duplicate_and_constant_points_do_not_hurt():
    X, y = np.ones((20, 2)), np.arange(20) % 2
    model = RejoKernelLogistic(gamma=1.0).fit(X, y)
    assert model.reject_mask(X).all()
    assert_allclose(model.predict_proba(X), 0.5, atol=1e-3)


# ---- posteriors --------------------------------------------------------------------------


def test_posteriors_and_risk_approach_the_true_ones():
    X, y = make_synthetic_1(4000, random_state=0)
    X_new, y_new = make_synthetic_1(20000, random_state=1)
    p = posterior("synthetic_1", X_new)[:, 1]
    for w in (0.1, 0.3):
        model = RejoKernelLogistic(C=10, gamma=1, reject_cost=w).fit(X, y)
        assert np.abs(model.predict_proba(X_new)[:, 1] - p).mean() < 0.05
        chow = np.where(np.minimum(p, 1 - p) > w, 0, np.where(p > 0.5, 1, -1))
        best = empirical_risk(y_new, chow, reject_cost=w, reject_label=0)
        ours = empirical_risk(y_new, model.predict(X_new), reject_cost=w, reject_label=0)
        assert ours < best + 0.006


def test_posteriors_of_ordered_classes_need_no_rejection(data):
    X, y = data
    p = RejoKernelLogistic(reject_cost=None).fit(X, y).predict_proba(X)
    assert p.shape == (90, 3)
    assert_allclose(p.sum(axis=1), 1)
    assert (p >= 0).all()
    assert np.log(p[np.arange(90), y]).mean() > 0.6 * np.log(1 / 3)
    assert not hasattr(RejoKernelLogistic(reject_cost=0.2).fit(X, y), "predict_proba")


# ---- paths, searches, files --------------------------------------------------------------


def test_a_path_gives_the_models_of_single_fits(data):
    X, y = data
    costs, Cs = [0.1, 0.4], [0.5, 20.0]
    model = RejoKernelLogistic(gamma=0.5, **EXACT)
    models = model.fit_path(X, y, reject_costs=costs, Cs=Cs)
    places = [(w, C) for w in costs for C in Cs]
    for (w, C), found in zip(places, models, strict=True):
        assert (found.reject_cost, found.C) == (w, C)
        alone = RejoKernelLogistic(gamma=0.5, reject_cost=w, C=C, **EXACT).fit(X, y)
        same(found, alone, X)
    assert not hasattr(model, "thresholds_")


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
def test_a_file_gives_the_same_model(data, kernel, tmp_path):
    pytest.importorskip("skops")
    X, y = data
    Z = rbf_kernel(X) if kernel == "precomputed" else X
    model = RejoKernelLogistic(kernel=kernel).fit(Z, y)
    rejo.save(model, tmp_path / "model.rejo")
    loaded = rejo.load(tmp_path / "model.rejo")
    assert_array_equal(loaded.boundary_scores(Z), model.boundary_scores(Z))
    assert_array_equal(loaded.pivots_, model.pivots_)


# ---- warnings and errors -----------------------------------------------------------------


def test_too_few_steps_warn(binary):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RejoKernelLogistic(C=1000, max_iter=1).fit(*binary)


def test_a_kernel_that_is_not_semidefinite_warns(binary):
    model = RejoKernelLogistic(kernel="sigmoid", gamma=2.0, coef0=-1.0)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model.fit(*binary)
    assert set(model.predict(binary[0])) <= {-1, 0, 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_rank", 0),
        ("max_iter", -1),
        ("C", 0.0),
        ("C", 1e150),
        ("h", 0.0),
    ],
)
def test_impossible_parameters(binary, name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        RejoKernelLogistic(**{name: value}).fit(*binary)


def test_an_overflow_is_an_error(binary):
    X, y = binary
    with pytest.raises(ValueError, match="overflows"):
        RejoKernelLogistic(kernel="poly", degree=9, gamma=1.0).fit(1e60 * X, y)
