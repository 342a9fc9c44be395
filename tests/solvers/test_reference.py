"""The solver in plain NumPy: kernels, a problem with a known answer, feasibility, bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise

from rejo.replication import replica_costs, replica_labels
from rejo.solvers import reference
from rejo.solvers.types import Kernel


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_gram(form):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = {
        "linear": pairwise.linear_kernel(X, Y),
        "poly": pairwise.polynomial_kernel(X, Y, gamma=0.3, degree=4, coef0=0.7),
        "rbf": pairwise.rbf_kernel(X, Y, gamma=0.3),
        "sigmoid": pairwise.sigmoid_kernel(X, Y, gamma=0.3, coef0=0.7),
    }
    for name, K in expected.items():
        ours = reference.gram(form(X), form(Y), Kernel(name, 0.3, 4, 0.7))
        assert isinstance(ours, np.ndarray)
        assert_allclose(ours, K, atol=1e-12)
    assert_array_equal(reference.gram(X, None, Kernel("precomputed")), X)


def test_distances_keep_their_digits_far_from_the_origin():
    X = np.array([[0.0], [1.0], [2.5]])
    near = reference.gram(X, X, Kernel("rbf", 1.0))
    far = reference.gram(X + 2.0**30, X + 2.0**30, Kernel("rbf", 1.0))
    assert_array_equal(near, far)


@pytest.mark.parametrize("h", [0.5, 2.0])
def test_two_points_far_from_their_bounds(h):
    """Points -1 and 1, large C: w = 1 and b = 0 meet all margins, in both replicas."""
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    labels, caps = replica_labels(2), 100.0 * replica_costs(2, 0.2)
    solution = reference.solve(K, labels, caps, h=h, tol=1e-9)
    assert solution.objective == pytest.approx(0.5)
    assert_allclose(solution.b, 0, atol=1e-8)
    assert_allclose(solution.u.sum(axis=1), [-0.5, 0.5])
    assert solution.converged


def test_no_kernel_at_all_leaves_weighted_majorities():
    """g = 0: each threshold is +-1 by the weighted majority, as h is large."""
    y = np.repeat([0, 1], [9, 1])
    caps = 10.0 * replica_costs(2, 0.4)[y]
    solution = reference.solve(np.zeros((10, 10)), replica_labels(2)[y], caps, h=100.0, tol=1e-8)
    assert_allclose(solution.b, [-1, -1], atol=1e-3)
    caps = 10.0 * replica_costs(2, 0.05)[y]  # 0.05 * 9 < 0.95 * 1 < 0.95 * 9
    solution = reference.solve(np.zeros((10, 10)), replica_labels(2)[y], caps, h=100.0, tol=1e-8)
    assert_allclose(solution.b, [1, -1], atol=1e-3)
    assert len(solution.basis) <= 10


def random_problem(n=30, n_classes=3, C=10.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.searchsorted(np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes), X[:, 0])
    y = np.where(rng.uniform(size=n) < 0.2, rng.permutation(y), y)
    K = reference.gram(X, X, Kernel("rbf", 1.0))
    return K, replica_labels(n_classes)[y], C * replica_costs(n_classes, 0.2)[y]


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_iterations_are_bounded(limit):
    K, labels, caps = random_problem()
    solution = reference.solve(K, labels, caps, tol=1e-9, max_iter=limit)
    assert solution.n_iter == limit
    assert not solution.converged
    assert solution.gap > 1e-3


def test_more_iterations_never_raise_the_dual():
    K, labels, caps = random_problem()
    duals = []
    for limit in (0, 5, 20, 49, 51, 99, 101, 1000):
        solution = reference.solve(K, labels, caps, tol=1e-9, max_iter=limit)
        duals.append(solution.objective * (1 - solution.gap))
    assert (np.diff(duals) >= -1e-9).all()


def test_variables_of_cost_zero_stay_zero():
    K, labels, caps = random_problem()
    caps = np.where(np.arange(len(caps))[:, None] % 3 == 0, 0.0, caps)
    solution = reference.solve(K, labels, caps)
    assert not solution.u[::3].any()
    rows = np.arange(len(caps)) % 3 != 0
    alone = reference.solve(K[np.ix_(rows, rows)], labels[rows], caps[rows])
    assert solution.objective == pytest.approx(alone.objective, rel=1e-3)


def test_a_kernel_that_overflows_ends_and_shows():
    K, labels, caps = random_problem()
    K[3, 4] = K[4, 3] = np.inf
    with np.errstate(invalid="ignore"):
        solution = reference.solve(K, labels, caps)
    assert not np.isfinite(solution.objective)
    assert not solution.converged
