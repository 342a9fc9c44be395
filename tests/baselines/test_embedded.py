"""EmbeddedRejectSVC: symmetry, limits, kernels, risk."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures

from rejo.baselines.embedded import EmbeddedRejectSVC
from rejo.datasets import make_synthetic_1, make_synthetic_2
from rejo.solvers import embedded as solver


def problem(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y


def scores(model, X):
    return model.boundary_scores(X)[:, 0] + model.thresholds_[0]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_flipped_labels_flip_the_function(kernel):
    X, y = problem()
    model = EmbeddedRejectSVC(kernel=kernel, gamma=0.5).fit(X, y)
    flipped = EmbeddedRejectSVC(kernel=kernel, gamma=0.5).fit(X, 1 - y)
    assert flipped.objective_ == pytest.approx(model.objective_, rel=1e-9)
    assert flipped.epsilon_ == pytest.approx(model.epsilon_, abs=1e-9)
    assert_allclose(scores(flipped, X), -scores(model, X), atol=1e-9)


def test_the_reject_region_closes_as_a_rejection_nears_the_cost_of_a_guess():
    X, y = problem(200)
    costs = (0.05, 0.2, 0.35, 0.5)
    models = [EmbeddedRejectSVC(reject_cost=w, w_C=0.0).fit(X, y) for w in costs]
    rejected = [model.reject_mask(X).mean() for model in models]
    assert rejected == sorted(rejected, reverse=True)
    assert rejected[0] > 0.3
    assert models[-1].epsilon_ < 0.01


def test_the_rule_is_the_width_of_its_region():
    X, y = problem()
    model = EmbeddedRejectSVC(reject_cost=0.15).fit(X, y)
    f = X @ model.coef_[0] + model.intercept_
    assert 0 < model.epsilon_ <= 1
    expected = np.where(np.abs(f) <= model.epsilon_, -1, f > 0)
    assert_allclose(model.predict(X), expected)
    assert model.n_starts_ == 9
    assert model.objective_ > 0


def test_a_weight_is_a_number_of_rows():
    X, y = problem()
    weight = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weight)
    for setting in ({}, {"second_order": True}):
        weighted = EmbeddedRejectSVC(**setting).fit(X, y, sample_weight=weight)
        repeated = EmbeddedRejectSVC(**setting).fit(X[rows], y[rows])
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-4)
        assert_allclose(scores(weighted, X), scores(repeated, X), atol=2e-2)
    balanced = EmbeddedRejectSVC(class_weight={0: 1, 1: 2}).fit(X, y)
    weighted = EmbeddedRejectSVC().fit(X, y, sample_weight=1 + y)
    assert_allclose(scores(balanced, X), scores(weighted, X), atol=1e-6)


def rbf_objective(model, basis, X, y, weight):
    """J of a model's function on other rows; its kernel functions stand at ``basis``."""
    coef = model.dual_coef_[0]
    size = np.sqrt(coef @ rbf_kernel(basis, basis, model.gamma) @ coef)
    g = rbf_kernel(X, basis, model.gamma) @ coef
    v = np.array([size, model.intercept_, model.epsilon_])
    signs, costs = np.where(y, 1.0, -1.0), solver.Costs(0.02, 0.2, 0.1)  # the defaults
    return solver.objective(v, solver.SLOPES[-1], g[:, None] / size, signs, weight, costs)[0]


def test_a_weight_is_a_number_of_rows_to_a_kernel():
    """J is the same function of both; of its many minima, rounding may choose another."""
    ratios = []
    for seed in range(12):
        X, y = problem(seed=seed)
        weight = np.arange(len(X)) % 3
        rows = np.repeat(np.arange(len(X)), weight)
        rbf = EmbeddedRejectSVC(kernel="rbf", gamma=0.5)
        weighted, repeated = clone(rbf).fit(X, y, weight), rbf.fit(X[rows], y[rows])
        J = rbf_objective(weighted, X[weighted.support_], X[rows], y[rows], np.ones(len(rows)))
        assert pytest.approx(weighted.objective_, rel=1e-9) == J
        J = rbf_objective(repeated, X[rows][repeated.support_], X, y, weight)
        assert pytest.approx(repeated.objective_, rel=1e-9) == J
        ratios.append(repeated.objective_ / weighted.objective_ - 1.0)
    assert np.median(np.abs(ratios)) < 1e-6  # most end in the same minimum,
    assert np.abs(ratios).max() < 0.04  # the others in one about as low,
    assert abs(np.mean(ratios)) < 0.01  # and neither form is at an advantage


def test_second_order_terms_are_features():
    X, y = make_synthetic_1(150, random_state=0)
    model = EmbeddedRejectSVC(second_order=True, C=2.0).fit(X, y)
    assert model.coef_.shape == (1, 5)
    Z = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    other = EmbeddedRejectSVC(C=2.0).fit(Z, y)
    assert_allclose(scores(model, X), scores(other, Z), atol=1e-8)
    assert model.score(X, y) > EmbeddedRejectSVC(C=2.0).fit(X, y).score(X, y)
    rows = sparse.csr_matrix(X)
    assert_allclose(model.boundary_scores(rows), model.boundary_scores(X))
    with pytest.raises(ValueError, match="second_order"):
        EmbeddedRejectSVC(second_order=True, kernel="rbf").fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_forms_of_one_kernel_agree(kernel):
    X, y = problem(60)
    setting = dict(gamma=0.3, degree=2, coef0=1.0)

    def function(A, B):
        return rbf_kernel(A, B, 0.3) if kernel == "rbf" else polynomial_kernel(A, B, 2, 0.3, 1.0)

    K, rows = function(X, X), sparse.csr_matrix(X)
    model = EmbeddedRejectSVC(kernel=kernel, **setting)
    fits = [(model.fit(X, y), X), (clone(model).fit(rows, y), rows)]
    fits += [(EmbeddedRejectSVC(kernel=function).fit(X, y), X)]
    fits += [(EmbeddedRejectSVC(kernel="precomputed").fit(K, y), K)]
    for fitted, given in fits:
        by_hand = K[:20][:, fitted.support_] @ fitted.dual_coef_[0] + fitted.intercept_
        expected = by_hand[:, None] - fitted.thresholds_
        assert_allclose(fitted.boundary_scores(given[:20]), expected, atol=1e-8)
        # Rounding may choose another minimum, about as low.
        assert fitted.objective_ == pytest.approx(model.objective_, rel=0.04)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = model.coef_


def test_the_rank_is_bounded():
    X, y = make_synthetic_2(500, random_state=0)
    model = EmbeddedRejectSVC(kernel="rbf", gamma=0.05, max_rank=20, C=0.1).fit(X, y)
    assert len(model.support_) == 20
    full = EmbeddedRejectSVC(kernel="rbf", gamma=0.05, C=0.1).fit(X, y)
    assert 20 < len(full.support_) <= 300
    assert model.score(X, y) == pytest.approx(full.score(X, y), abs=0.02)


def test_random_starts_are_reproducible():
    X, y = problem(40)
    one, other = (EmbeddedRejectSVC(n_starts=12, random_state=3).fit(X, y) for _ in range(2))
    assert_allclose(one.coef_, other.coef_, rtol=0)
    assert one.n_starts_ == 12


@pytest.mark.parametrize(
    "setting", [{}, {"second_order": True}, {"kernel": "rbf", "gamma": 0.5}, {"n_starts": 11}]
)
def test_a_path_is_what_single_fits_are(setting):
    X, y = problem(50)
    weight = 1.0 + np.arange(len(X)) % 2
    model = EmbeddedRejectSVC(**({"n_starts": 2, "random_state": 0} | setting))
    costs, Cs = [0.3, 0.1], [2.0, 0.1, 1.0]
    models = model.fit_path(X, y, reject_costs=costs, Cs=iter(Cs), sample_weight=weight)
    assert not hasattr(model, "epsilon_")
    for (w, C), one in zip(product(costs, Cs), models, strict=True):
        alone = clone(model).set_params(reject_cost=w, C=C).fit(X, y, sample_weight=weight)
        assert (one.reject_cost_, one.C) == (w, C)
        assert one.get_params() == alone.get_params()
        assert vars(one).keys() | {"_repriced"} == vars(alone).keys() | {"_repriced"}
        assert one.objective_ == alone.objective_
        assert_array_equal(one.boundary_scores(X), alone.boundary_scores(X))
    (plain,) = model.fit_path(X, y)
    assert plain.objective_ == clone(model).fit(X, y).objective_


def test_a_path_refuses_what_a_fit_refuses():
    X, y = problem(30)
    with pytest.raises(ValueError, match="reject_cost"):
        EmbeddedRejectSVC().fit_path(X, y, reject_costs=[0.1, 0.7])
    with pytest.raises(ValueError, match="w_C"):
        EmbeddedRejectSVC(w_C=0.15).fit_path(X, y, reject_costs=[0.2, 0.1])
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        EmbeddedRejectSVC(max_iter=1).fit_path(X, y)
    assert caught[0].filename == __file__


@pytest.mark.check
def test_without_the_extension_most_minima_are_the_same(monkeypatch):
    differences = []
    for seed in range(5):
        X, y = problem(60, seed)
        model = EmbeddedRejectSVC(second_order=True, n_starts=1).fit(X, y)
        with monkeypatch.context() as context:
            context.setattr(solver, "_embedded", None)
            other = EmbeddedRejectSVC(second_order=True, n_starts=1).fit(X, y)
        assert vars(other).keys() == vars(model).keys()
        differences.append(abs(other.objective_ / model.objective_ - 1.0))
        if differences[-1] < 1e-6:
            assert_allclose(scores(other, X), scores(model, X), atol=1e-2)
    assert np.median(differences) < 1e-6
    assert max(differences) < 0.05


def test_a_linear_model_after_a_kernel_has_no_support():
    X, y = problem(40)
    model = EmbeddedRejectSVC(kernel="rbf").fit(X, y)
    assert model.support_.shape == model.dual_coef_[0].shape
    assert not hasattr(model.set_params(kernel="linear").fit(X, y), "support_")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"w_C": 0.3}, "w_C"),
        ({"reject_cost": None}, "reject_cost"),
        ({"n_starts": 0}, "n_starts"),
        ({"C": 1e200}, "C=1e"),
        ({"kernel": lambda A, B: np.zeros((len(A), len(B)))}, "kernel"),
        ({"kernel": "poly", "degree": 400, "gamma": 1e3}, "overflow"),
    ],
)
def test_errors_name_what_is_wrong(setting, message):
    X, y = problem(30)
    with pytest.raises(ValueError, match=message):
        EmbeddedRejectSVC(**setting).fit(X, y)


def test_three_classes_are_refused():
    X, _ = problem(30)
    with pytest.raises(ValueError, match="binary"):
        EmbeddedRejectSVC().fit(X, np.arange(30) % 3)


def test_a_limit_on_the_steps_is_kept_and_warned_about():
    X, y = problem(60)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        EmbeddedRejectSVC(max_iter=1).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("scale", [1e60, 1e120])
def test_features_that_are_too_large_do_not_pass_in_silence(scale):
    X, y = problem(40)
    for setting in ({}, {"second_order": True}):
        with pytest.raises((ValueError, ConvergenceWarning), match="cale"):
            EmbeddedRejectSVC(**setting).fit(scale * X, y)


@pytest.mark.parametrize(
    ("make", "setting", "bayes"),
    [
        (make_synthetic_1, {"second_order": True}, 0.0692),
        (make_synthetic_2, {"second_order": True}, 0.1443),
        (make_synthetic_1, {"kernel": "rbf", "gamma": 0.5}, 0.0692),
        (make_synthetic_2, {"kernel": "rbf", "gamma": 0.01}, 0.1443),
    ],
)
def test_risk_is_near_the_least_possible(make, setting, bayes):
    X, y = make(400, random_state=0)
    model = EmbeddedRejectSVC(reject_cost=0.2, n_starts=3, tol=1e-5, **setting)
    grid = GridSearchCV(model, {"C": [0.03, 3.0]}, cv=3).fit(X, y)
    risk = 1 - grid.score(*make(20_000, random_state=1))
    assert bayes * 0.97 < risk < 1.6 * bayes
