"""Margins other than 1, and one threshold for all replicas: h = 0."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rejo.solvers import reference, svm
from rejo.solvers.types import Kernel

compiled = pytest.mark.skipif(svm._svm is None, reason="the compiled solver was not built")
LINEAR, POLY = Kernel("linear"), Kernel("poly", 0.3, 2, 1.0)


def problem(n=120, Q=3):
    """Labels, boxes and margins at random: some margins are negative, some boxes empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    X -= X.mean(axis=0)  # then a linear kernel is centred, and the thresholds are as solved
    labels = np.where(X[:, :1] + X[:, 1:] ** 2 - 1 + rng.normal(size=(n, Q)) > 0, 1.0, -1.0)
    caps = rng.uniform(0.2, 3.0, (n, Q)) * (rng.uniform(size=(n, Q)) > 0.1)
    return X, labels, caps, rng.uniform(-0.5, 2.0, (n, Q))


def value(K, labels, caps, margins, h, solution):
    """The primal value by its definition."""
    B, b = solution.u.sum(axis=1), solution.b
    spread = ((b[1:] - b[0]) ** 2).sum() / (2 * h * h) if h else 0.0
    hinges = np.maximum(0.0, margins - labels * ((K @ B)[:, None] + b))
    return 0.5 * B @ K @ B + spread + (caps * hinges).sum()


@compiled
@pytest.mark.parametrize("name", [] if svm._svm is None else svm._svm.architectures())
@pytest.mark.parametrize("engine", ["gram", "blocks", "factor"])
@pytest.mark.parametrize("kernel", [LINEAR, POLY])
@pytest.mark.parametrize("h", [0.0, 0.5])
def test_every_engine_agrees_with_the_reference(monkeypatch, name, engine, kernel, h):
    X, labels, caps, margins = problem()
    K = reference.gram(X, X, kernel)
    expected = reference.solve(K, labels, caps, h=h, tol=1e-6, margins=margins)
    best = svm._svm.architectures()[0]
    try:
        svm._svm.use(name)
        p = svm.Problem(X, kernel)
        monkeypatch.setattr(p, "_engine", lambda *a: (engine, False))
        assert engine != "factor" or p._core.factorise(1e-12, len(X))
        solution = p.solve(labels, caps, h=h, tol=1e-6, margins=margins)
    finally:
        svm._svm.use(best)
    for found in (solution, expected):
        assert found.converged
        assert 0 <= found.gap <= 1e-6
        primal = value(K, labels, caps, margins, h, found)
        assert found.objective == pytest.approx(primal, rel=1e-6)
        assert abs(found.u.sum()) <= 1e-9 * caps.sum()
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    if h == 0:
        assert_array_equal(solution.b, solution.b[0])
    scores = [(K @ s.u.sum(axis=1))[:, None] + s.b for s in (solution, expected)]
    assert_allclose(scores[0], scores[1], atol=1e-3)


@pytest.mark.parametrize("kernel", [LINEAR, POLY])
def test_margins_of_one_are_the_default(kernel):
    X, labels, caps, margins = problem()
    p = svm.Problem(X, kernel)
    plain, ones = p.solve(labels, caps), p.solve(labels, caps, margins=np.ones_like(margins))
    assert_array_equal(plain.u, ones.u)
    assert_array_equal(plain.b, ones.b)
    assert plain.objective == ones.objective


def test_margins_scale_the_scores():
    """Twice the margins and twice C: all scores double, and the objective is fourfold."""
    X, labels, caps, margins = problem()
    p = svm.Problem(X, POLY)
    one = p.solve(labels, caps, h=1.0, tol=1e-8, margins=margins)
    two = p.solve(labels, 2 * caps, h=1.0, tol=1e-8, margins=2 * margins)
    assert two.objective == pytest.approx(4 * one.objective, rel=1e-7)
    assert_allclose(two.b, 2 * one.b, atol=1e-5)


def test_equal_replicas_with_other_margins_are_not_twins():
    X, labels, caps, _ = problem(Q=1)
    labels, caps = np.repeat(labels, 2, axis=1), np.repeat(caps, 2, axis=1)
    margins = np.tile([1.0, 0.0], (len(X), 1))
    K = reference.gram(X, X, POLY)
    solution = svm.Problem(X, POLY).solve(labels, caps, h=0.0, tol=1e-6, margins=margins)
    primal = value(K, labels, caps, margins, 0.0, solution)
    assert solution.objective == pytest.approx(primal, rel=1e-6)
    assert 0 <= solution.gap <= 1e-6
    # The far hinge of a point is used up before the near one is touched.
    used = np.abs(solution.u)
    assert (np.minimum(caps[:, 0] - used[:, 0], used[:, 1]) <= 1e-9).all()
