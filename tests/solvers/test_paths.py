"""Paths of solves: each starts from the one before and ends where a solve alone ends."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rejo.replication import replica_costs, replica_labels
from rejo.solvers import svm
from rejo.solvers.types import Kernel, Step, path_order

COSTS, CS, HS = (0.1, 0.25, 0.4), (0.1, 1.0, 10.0), (1.0, 3.0)
KERNELS = {
    "linear": Kernel("linear"),
    "poly": Kernel("poly", 0.5, 2, 1.0),
    "rbf": Kernel("rbf", 0.5),
    "precomputed": Kernel("precomputed"),
}


def problem(name, n_classes, n=90):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 3))
    t = X[:, 0] + 0.7 * rng.normal(size=n)
    k = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    if name == "precomputed":
        X = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    return svm.Problem(X, KERNELS[name]), k


def steps(k, n_classes):
    labels = replica_labels(n_classes)[k]
    for w, c, h in path_order(len(COSTS), len(CS), len(HS)):
        yield Step(labels, CS[c] * replica_costs(n_classes, COSTS[w])[k], HS[h])


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 2), (4, 3, 2), (2, 5, 1)])
def test_the_order_visits_all_points_in_steps_of_one(shape):
    places = list(path_order(*shape))
    assert sorted(places) == list(np.ndindex(*shape))
    for (w, c, h), (w2, c2, h2) in pairwise(places):
        assert abs(w - w2) + abs(c - c2) == 1 or h2 == h + 1


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", KERNELS)
def test_a_path_ends_where_single_solves_end(name, n_classes):
    path_problem, k = problem(name, n_classes)
    path = list(path_problem.solve_path(steps(k, n_classes), tol=1e-7))
    assert len(path) == len(COSTS) * len(CS) * len(HS)
    alone_problem, _ = problem(name, n_classes)
    for step, solution in zip(steps(k, n_classes), path, strict=True):
        alone = alone_problem.solve(step.labels, step.caps, h=step.h, tol=1e-7)
        assert solution.converged
        assert solution.objective == pytest.approx(alone.objective, rel=1e-6)
        assert_allclose(solution.b, alone.b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
def test_every_solution_of_a_path_is_feasible_with_a_gap_below_the_tolerance(tol):
    path_problem, k = problem("rbf", 3)
    solutions = path_problem.solve_path(steps(k, 3), tol=tol)
    for (labels, caps, _), solution in zip(steps(k, 3), solutions, strict=True):
        a = labels * solution.u
        assert (a >= 0).all()
        assert (a <= caps * (1 + 1e-12)).all()
        assert solution.u.sum() == pytest.approx(0, abs=1e-9 * caps.sum())
        assert 0 <= solution.gap <= tol


def test_a_path_takes_fewer_iterations_than_single_solves():
    path_problem, k = problem("rbf", 2, n=200)
    path = sum(solution.n_iter for solution in path_problem.solve_path(steps(k, 2)))
    alone = sum(path_problem.solve(y, caps, h=h).n_iter for y, caps, h in steps(k, 2))
    assert path < 0.7 * alone


def test_a_path_starts_anew_where_the_number_of_replicas_changes():
    path_problem, k = problem("rbf", 2)
    reject = Step(replica_labels(2)[k], replica_costs(2, 0.2)[k])
    plain = Step(replica_labels(2, reject=False)[k], np.ones((len(k), 1)))
    first, second, third = path_problem.solve_path([reject, plain, reject])
    assert_allclose(second.u, path_problem.solve(plain.labels, plain.caps).u)
    assert_allclose(third.u, first.u)
