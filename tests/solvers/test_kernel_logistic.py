"""Kernel logistic regression against SciPy on the whole kernel matrix, and against itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit

from rejo.replication import costs_from_loss, replica_costs, replica_labels
from rejo.solvers import kernel_logistic
from rejo.solvers._kernel_factor import Values, factorise
from rejo.solvers.kernel_logistic import LogisticProblem
from rejo.solvers.reference import gram
from rejo.solvers.types import Kernel, Step

KERNELS = {
    "linear": Kernel("linear"),
    "poly": Kernel("poly", 0.4, 2, 1.0),
    "rbf": Kernel("rbf", 0.5),
    "narrow rbf": Kernel("rbf", 30.0),
    "sigmoid": Kernel("sigmoid", 0.05, 3, 0.2),
}


def problem(n=70, n_classes=2, p=3, seed=0):
    """Points, and overlapping classes along a curve."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    t = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)


def tables(n_classes=2, reject_cost=0.2, C=3.0):
    labels = replica_labels(n_classes, reject=reject_cost is not None)
    return labels, C * replica_costs(n_classes, reject_cost)


def scipy_solution(K, k, labels, caps, h, weight=1.0):
    """Minimum and scores (n, Q) of the problem with ``g = K^(1/2) v``, ``|g| = |v|``."""
    values, vectors = np.linalg.eigh(K)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    n, Q = len(K), labels.shape[1]
    y, c = labels[k], caps[k] * np.broadcast_to(weight, n)[:, None]

    def scores(x):
        return (root @ x[:n])[:, None] + x[n:]

    def value(x):
        steps = x[n + 1 :] - x[n]
        losses = np.logaddexp(0.0, -y * scores(x))
        return 0.5 * (x[:n] @ x[:n] + steps @ steps / h**2) + (c * losses).sum()

    def gradient(x):
        u = c * y * expit(-y * scores(x))
        steps = (x[n + 1 :] - x[n]) / h**2
        of_b = np.concatenate([[-steps.sum()], steps]) - u.sum(axis=0)
        return np.concatenate([x[:n] - root @ u.sum(axis=1), of_b])

    def hessian(x):
        z = scores(x)
        d = c * expit(z) * expit(-z)
        H = np.eye(n + Q)
        H[:n, :n] += (root * d.sum(axis=1)) @ root
        H[:n, n:] = root @ d
        H[n:, :n] = H[:n, n:].T
        R = np.eye(Q) / h**2
        R[0, :] = R[:, 0] = -1 / h**2
        R[0, 0] = (Q - 1) / h**2
        H[n:, n:] = R + np.diag(d.sum(axis=0))
        return H

    found = minimize(
        value, np.zeros(n + Q), jac=gradient, hess=hessian, method="trust-exact",
        options={"gtol": 1e-9, "maxiter": 1000},
    )  # fmt: skip
    return found.fun, scores(found.x)


def scores_of(solution, X, kernel):
    """``g + b`` (n, Q) by the pivots."""
    if solution.weights is not None:
        g = X @ solution.weights
    else:
        g = gram(X, X[solution.pivots], kernel) @ solution.coef
    return g[:, None] + solution.b


# ---- the minimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "narrow rbf"])
def test_the_objective_is_that_of_scipy(name, C):
    X, k = problem()
    kernel, (labels, caps) = KERNELS[name], tables(C=C)
    ours = LogisticProblem(X, kernel, k).solve(labels, caps, h=2.0, tol=1e-8)
    Z = X - X.mean(axis=0) if name == "linear" else X  # b_0 takes up the mean
    minimum, scores = scipy_solution(gram(Z, Z, kernel), k, labels, caps, 2.0)
    assert ours.converged
    assert ours.gap <= 2e-8
    assert ours.objective == pytest.approx(minimum, rel=1e-6)
    assert_allclose(scores_of(ours, X, kernel), scores, atol=1e-3)


@pytest.mark.parametrize("h", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(("n_classes", "reject_cost"), [(3, 0.3), (4, None), (5, 0.1)])
def test_the_objective_is_that_of_scipy_for_more_classes(n_classes, reject_cost, h):
    X, k = problem(n_classes=n_classes, seed=1)
    kernel, (labels, caps) = KERNELS["rbf"], tables(n_classes, reject_cost)
    ours = LogisticProblem(X, kernel, k).solve(labels, caps, h=h, tol=1e-8)
    minimum, scores = scipy_solution(gram(X, X, kernel), k, labels, caps, h)
    assert ours.objective == pytest.approx(minimum, rel=1e-6)
    assert_allclose(scores_of(ours, X, kernel), scores, atol=1e-3)


def test_weights_and_a_loss_matrix_enter_as_in_scipy():
    X, k = problem(n_classes=2, seed=2)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(k))
    caps = 2.0 * costs_from_loss([[0.0, 0.2, 1.0], [10.0, 0.5, 0.0]])
    labels, kernel = replica_labels(2), KERNELS["rbf"]
    ours = LogisticProblem(X, kernel, k, weight).solve(labels, caps, tol=1e-8)
    minimum, _ = scipy_solution(gram(X, X, kernel), k, labels, caps, 1.0, weight)
    assert ours.objective == pytest.approx(minimum, rel=1e-6)


def test_a_boundary_that_costs_one_side_nothing():
    X, k = problem()
    labels, caps = replica_labels(2), np.array([[1.0, 0.0], [1.0, 1.0]])
    ours = LogisticProblem(X, KERNELS["rbf"], k).solve(labels, caps, tol=1e-8)
    minimum, _ = scipy_solution(gram(X, X, KERNELS["rbf"]), k, labels, caps, 1.0)
    assert ours.objective == pytest.approx(minimum, rel=1e-6)


# ---- the certificate -----------------------------------------------------------------------


@pytest.mark.parametrize("max_rank", [1, 5, 20, 60])
@pytest.mark.parametrize("name", ["poly", "rbf", "narrow rbf"])
def test_the_gap_bounds_the_excess_whatever_the_rank(name, max_rank):
    X, k = problem()
    kernel, (labels, caps) = KERNELS[name], tables()
    ours = LogisticProblem(X, kernel, k, max_rank=max_rank).solve(labels, caps)
    minimum, _ = scipy_solution(gram(X, X, kernel), k, labels, caps, 1.0)
    assert len(ours.pivots) <= max_rank
    assert -1e-9 <= ours.objective - minimum <= ours.gap * ours.objective + 1e-9
    assert ours.converged


def test_the_gap_is_exact_where_that_is_cheap_and_a_bound_elsewhere(monkeypatch):
    X, k = problem(n=300, p=8)
    kernel, (labels, caps) = Kernel("rbf", 0.2), tables()
    cheap = LogisticProblem(X, kernel, k, max_rank=100).solve(labels, caps)
    whole = LogisticProblem(X, kernel, k).solve(labels, caps, tol=1e-8)
    monkeypatch.setattr(kernel_logistic, "evaluate", None)  # not called
    bound = LogisticProblem(X, kernel, k, max_rank=20).solve(labels, caps)
    for found in (cheap, bound):
        assert found.objective - whole.objective <= found.gap * found.objective
    assert cheap.gap < 0.3 < 3 < bound.gap


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_tolerance_is_kept(tol):
    X, k = problem(n=300, p=2)
    found = LogisticProblem(X, KERNELS["rbf"], k).solve(*tables(), tol=tol)
    assert found.converged
    assert found.gap <= 2 * tol  # steps and factor: each at most tol


def test_few_steps_are_reported_as_too_few():
    X, k = problem()
    problem_ = LogisticProblem(X, KERNELS["rbf"], k)
    found = problem_.solve(*tables(C=1000.0), tol=1e-9, max_iter=2)
    assert found.n_iter == 2
    assert not found.converged
    assert found.gap > 1e-9


# ---- the factor ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 150, 700])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "narrow rbf"])
def test_the_factor_gives_the_kernel_matrix(name, n):
    X, kernel = problem(n)[0], KERNELS[name]
    K = gram(X, X, kernel)
    eps = 1e-6 * K.diagonal().max()
    factor = factorise(Values(X, kernel), eps, n)
    left = K - factor.gram
    assert factor.definite
    assert_allclose(left.diagonal(), factor.residual, atol=1e-9 * K.max())
    assert np.abs(left).max() <= eps + 1e-9 * K.max()
    assert factor.is_gram == (name == "narrow rbf" or (name, n) == ("rbf", 40))
    if not factor.is_gram:
        L = factor.Z[factor.pivots]
        assert_allclose(L, np.tril(L), atol=1e-9 * np.sqrt(K.max()))
    assert len(set(factor.pivots)) == len(factor.pivots) == factor.Z.shape[1]


def test_a_smooth_kernel_needs_few_pivots_and_a_bound_on_them_is_kept():
    X = problem(1000, p=2)[0]
    assert len(factorise(Values(X, Kernel("rbf", 0.5)), 1e-6, 500).pivots) < 150
    assert len(factorise(Values(X, Kernel("rbf", 500.0)), 1e-6, 80).pivots) == 80


def test_duplicates_are_no_pivots():
    X = np.repeat(problem(30)[0], 20, axis=0)
    assert len(factorise(Values(X, KERNELS["narrow rbf"]), 1e-6, 600).pivots) == 30


def test_a_kernel_of_nearly_full_rank_is_its_own_factor():
    X, k = problem(75, p=6)
    twice = np.arange(90) % 75
    weight, kernel = np.bincount(twice).astype(float), KERNELS["narrow rbf"]
    assert factorise(Values(X[twice], kernel), 1e-6, 90).is_gram
    expected = LogisticProblem(X, kernel, k, weight).solve(*tables(), tol=1e-9)
    found = LogisticProblem(X[twice], kernel, k[twice]).solve(*tables(), tol=1e-9)
    assert found.converged
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("p", [2, 9])
def test_a_common_offset_costs_no_digits(p):
    X, kernel = problem(200, p=p)[0], Kernel("rbf", 0.3)
    far = factorise(Values(X + 2.0**20, kernel), 1e-6, 200)
    K = gram(X, X, kernel)
    assert np.abs(K - far.gram).max() < 1e-5


def test_one_column_of_large_numbers_does_not_hide_the_others():
    X, kernel = problem(100, p=9)[0], Kernel("rbf", 0.3)
    X[:, 0] = np.repeat(np.arange(10) * 1e9, 10)
    K = gram(X, X, kernel)
    factor = factorise(Values(X, kernel), 1e-9, 100)
    assert np.abs(K - factor.gram).max() < 1e-6


@pytest.mark.parametrize("name", KERNELS)
def test_sparse_and_precomputed_points_are_the_same_problem(name):
    X, k = problem()
    X[np.abs(X) < 0.5] = 0.0
    kernel, steps = KERNELS[name], tables()
    dense = LogisticProblem(X, kernel, k).solve(*steps, tol=1e-8)
    sparse = LogisticProblem(csr_matrix(X), kernel, k).solve(*steps, tol=1e-8)
    K = gram(X, X, kernel)
    given = LogisticProblem(K, Kernel("precomputed"), k).solve(*steps, tol=1e-8)
    for other in (sparse, given):
        assert other.objective == pytest.approx(dense.objective, rel=1e-6)
    scores = K[:, given.pivots] @ given.coef
    assert_allclose(scores[:, None] + given.b, scores_of(dense, X, kernel), atol=1e-3)
    assert_allclose(scores_of(sparse, X, kernel), scores_of(dense, X, kernel), atol=1e-3)


def test_more_features_than_points():
    X, k = problem(40, p=90)
    kernel = Kernel("linear")
    ours = LogisticProblem(X, kernel, k).solve(*tables(), tol=1e-8)
    Z = X - X.mean(axis=0)
    minimum, scores = scipy_solution(Z @ Z.T, k, *tables(), 1.0)
    assert ours.objective == pytest.approx(minimum, rel=1e-6)
    assert_allclose(scores_of(ours, X, kernel), scores, atol=1e-3)


# ---- kernels that are none -----------------------------------------------------------------


def test_a_kernel_that_is_not_semidefinite_is_told():
    X, k = problem()
    found = LogisticProblem(X, Kernel("sigmoid", 2.0, 3, -1.0), k).solve(*tables())
    assert not found.definite
    assert found.converged
    L = gram(X[found.pivots], X[found.pivots], Kernel("sigmoid", 2.0, 3, -1.0))
    assert np.linalg.eigvalsh(L).min() > 0  # a norm, on what the pivots carry


def test_no_pivot_leaves_the_thresholds():
    X, k = problem()
    K = -np.eye(len(X))
    found = LogisticProblem(K, Kernel("precomputed"), k).solve(*tables(C=10.0), h=1e3, tol=1e-8)
    assert len(found.pivots) == 0
    share = k.mean()
    assert_allclose(found.b, np.log(share / (1 - share)) + np.log([4, 1 / 4]), atol=1e-2)


# ---- paths and ways to the same solution ---------------------------------------------------


def test_a_path_gives_the_solutions_of_single_fits():
    X, k = problem(120, n_classes=3)
    kernel, places = KERNELS["rbf"], [(0.1, 1.0), (0.4, 1.0), (0.4, 50.0), (None, 50.0)]
    steps = [Step(*tables(3, cost, C), 2.0) for cost, C in places]
    path = list(LogisticProblem(X, kernel, k).solve_path(steps, tol=1e-8))
    for (labels, caps, h), found in zip(steps, path, strict=True):
        alone = LogisticProblem(X, kernel, k).solve(labels, caps, h=h, tol=1e-8)
        assert found.objective == pytest.approx(alone.objective, rel=1e-7)
        assert_allclose(scores_of(found, X, kernel), scores_of(alone, X, kernel), atol=1e-3)
    assert len({len(found.pivots) for found in path}) == 1  # one factor for all


def test_a_start_at_the_solution_takes_no_step():
    X, k = problem()
    step = Step(*tables(), 1.0)
    path = list(LogisticProblem(X, KERNELS["rbf"], k).solve_path([step, step]))
    assert path[1].n_iter == 0


@pytest.mark.parametrize("rows", [True, False])
def test_both_forms_of_the_hessian_and_both_precisions_give_the_same(monkeypatch, rows):
    X, k = problem(150, n_classes=3, p=5)
    kernel, steps = Kernel("rbf", 0.02), tables(3, 0.2, 10.0)
    expected = LogisticProblem(X, kernel, k).solve(*steps, tol=1e-9)
    monkeypatch.setattr(kernel_logistic, "WIDE", 0.0 if rows else 2.0)
    monkeypatch.setattr(kernel_logistic, "NARROW", 0)
    monkeypatch.setattr(kernel_logistic, "BLOCK", 1000)
    found = LogisticProblem(X, kernel, k).solve(*steps, tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("C", [1e-9, 1e9])
@pytest.mark.parametrize("h", [1e-6, 1e6])
@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_extreme_parameters_come_to_an_end(name, C, h):
    X, k = problem(n_classes=3)
    found = LogisticProblem(1e4 * X, KERNELS[name], k).solve(*tables(3, 0.2, C), h=h)
    assert np.isfinite(found.objective)
    assert found.n_iter <= 100
