"""The descent of the SVM with embedded reject: gradient, monotony, brute force, the factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.optimize import check_grad
from sklearn.metrics.pairwise import rbf_kernel

from rejo.solvers import embedded
from rejo.solvers.embedded import SLOPES, Costs

COSTS = Costs(margin=0.02, reject=0.2, square=0.1)


def problem(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    y = np.where(Z[:, 0] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Z, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("slope", [1.0, 10.0, 100.0])
def test_gradient(slope):
    Z, y, c = problem()
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = np.append(rng.normal(size=4), rng.uniform(0.1, 0.9))
        value, gradient = (
            lambda v, i=i: embedded.objective(v, slope, Z, y, c, COSTS)[i] for i in (0, 1)
        )
        error = check_grad(value, gradient, v, epsilon=1e-7)
        assert error <= 1e-4 * np.linalg.norm(gradient(v))


def test_steep_sigmoids_are_the_costs_of_the_places():
    """z = 2, 0.7, 0.1, -0.6 with eps = 0.3: beyond the margin, inside it, rejected, wrong."""
    z = np.array([2.0, 0.7, 0.1, -0.6])
    v, costs = np.array([1.0, 0.0, 0.3]), Costs(0.05, 0.2, 0.0)
    for i, cost in enumerate([0.0, 0.05, 0.2, 1.0]):
        c = (np.arange(4) == i).astype(float)
        J, _ = embedded.objective(v, 1000.0, z[:, None], np.ones(4), c, costs)
        assert pytest.approx(0.5 + cost) == J


def test_the_objective_never_rises_within_a_stage(monkeypatch):
    Z, y, c = problem()
    values = []
    minimize = embedded.minimize

    def watched(function, start, **options):
        path = [function(start)[0]]
        values.append(path)
        return minimize(function, start, callback=lambda u: path.append(function(u)[0]), **options)

    monkeypatch.setattr(embedded, "minimize", watched)
    found = embedded.solve(Z, y, c, COSTS)
    assert sum(len(path) - 1 for path in values) == found.n_iter
    assert max(np.diff(path).max(initial=-np.inf) for path in values) <= 0
    assert [slope for slope, _, _ in found.trace] == sorted(s for s, _, _ in found.trace)
    assert {slope for slope, _, _ in found.trace} == set(SLOPES)
    assert all(after <= before for _, before, after in found.trace)
    assert found.objective == min(after for slope, _, after in found.trace if slope == SLOPES[-1])
    assert found.trace[-1][2] == found.objective
    assert len(values) < 9 * len(SLOPES)  # paths have met


@pytest.mark.parametrize("reject", [0.1, 0.2, 0.4])
def test_one_feature_against_brute_force(reject):
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=24))
    y = np.where(x + 0.5 * rng.normal(size=24) > 0, 1.0, -1.0)
    c, costs = np.full(24, 2.0), Costs(0.1 * reject, reject, 0.1)
    found = embedded.solve(x[:, None], y, c, costs)
    v = np.append(found.w, [found.b, found.epsilon])
    J = embedded.objective(v, SLOPES[-1], x[:, None], y, c, costs)[0]
    assert pytest.approx(found.objective, rel=1e-9) == J
    w, b, eps = (
        a.ravel()
        for a in np.meshgrid(
            np.linspace(0, 3, 61), np.linspace(-1.5, 1.5, 61), np.linspace(0, 1, 41)
        )
    )
    heights = np.array([costs.margin, costs.reject - costs.margin, 1 - costs.reject])
    total = 0.5 * w**2
    for xi, yi in zip(x, y, strict=True):
        z = yi * (w * xi + b)
        for height, place in zip(heights, (1.0, eps, -eps), strict=True):
            total += 2.0 * height / (1 + np.exp(np.clip(-SLOPES[-1] * (place - z), -500, 500)))
        total += 2.0 * 0.1 * np.maximum(1 - z, 0) ** 2
    assert found.objective <= 1.02 * total.min()


def test_more_starts_never_do_worse():
    Z, y, c = problem(40, 2)
    values = [
        embedded.solve(Z, y, c, COSTS, n_starts=m, rng=np.random.RandomState(0)).objective
        for m in (1, 9, 15)
    ]
    assert values[2] <= values[1] * (1 + 1e-5) <= values[0] * (1 + 2e-5)
    points = embedded.starts(np.array([1.0, 2.0]), 3.0, 12, np.random.RandomState(0))
    assert len(points) == 12
    assert_allclose(points[:2], [[1, 2, 3, 0.5], [1, 2, 3, 0.05]])
    again = embedded.starts(np.array([1.0, 2.0]), 3.0, 12, np.random.RandomState(0))
    assert_array_equal(points[-1], again[-1])


def test_sparse_rows_and_offsets_change_nothing():
    Z, y, c = problem()
    Z[Z < 0.3] = 0.0
    dense, rows = embedded.solve(Z, y, c, COSTS), embedded.solve(sparse.csr_matrix(Z), y, c, COSTS)
    assert rows.objective == pytest.approx(dense.objective, rel=1e-3)
    shifted = embedded.solve(Z + 1e3, y, c, COSTS)
    assert shifted.objective == pytest.approx(dense.objective, rel=1e-6)
    assert_allclose((Z + 1e3) @ shifted.w + shifted.b, Z @ dense.w + dense.b, atol=1e-3)


def test_a_bound_on_the_steps_of_a_stage():
    Z, y, c = problem()
    found = embedded.solve(Z, y, c, COSTS, max_iter=2)
    assert not found.converged
    assert found.n_iter <= 2 * len(found.trace)


def test_the_factor_of_a_gram_matrix():
    X, _, _ = problem(50, 2)
    X = np.vstack([X, X[:10]])  # duplicates: the rank is 50 at most
    K = rbf_kernel(X, gamma=0.5)
    Z, pivots = embedded.factorise(K.__getitem__, K.diagonal(), eps=1e-10)
    assert Z.shape == (60, len(pivots))
    assert len(set(pivots.tolist())) == len(pivots) <= 50
    assert_allclose(Z @ Z.T, K, atol=1e-9)
    L = Z[pivots]
    assert_array_equal(np.triu(L, 1), 0)
    new = rbf_kernel(X[pivots], X[:7] + 0.1, gamma=0.5)
    w = np.random.default_rng(0).normal(size=len(pivots))
    rows = solve_triangular(L, new, lower=True).T
    assert_allclose(rows @ w, new.T @ solve_triangular(L, w, lower=True, trans="T"), rtol=1e-6)
    few, _ = embedded.factorise(K.__getitem__, K.diagonal(), max_rank=5)
    assert_allclose(few, Z[:, :5], atol=1e-12)
    nothing, none = embedded.factorise(np.zeros((4, 4)).__getitem__, np.zeros(4))
    assert nothing.shape == (4, 0)
    assert len(none) == 0
