"""The threshold booster: derivatives, thresholds, and their order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import expit

from rejo.replication import replica_costs, replica_labels
from rejo.solvers import boosting
from rejo.solvers.boosting import (
    best_thresholds,
    first_thresholds,
    newton_step,
    score_table,
    slopes,
    total_loss,
)


def problem(seed, n_classes=3, n=200, reject_cost=0.2):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, n_classes, n)
    g = (k - n_classes / 2 + rng.normal(0, 1.5, n)).astype(np.float32)
    v = rng.uniform(0.5, 2, n)
    return g, k, v, replica_labels(n_classes), replica_costs(n_classes, reject_cost)


@pytest.fixture(params=["compiled", "NumPy"])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(boosting, "_trees", None)
    elif boosting._trees is None:
        pytest.skip("built without a compiler")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_derivatives_are_finite_differences(n_classes):
    g, k, v, labels, costs = problem(n_classes, n_classes, n=30)
    b = np.linspace(1, -1, costs.shape[1])
    found = slopes(g, k.astype(np.int32), v.astype(np.float32), labels, costs, b)

    def loss(shift_g, shift_b):
        f = g.astype(float)[:, None] + shift_g[:, None] + b + shift_b
        return total_loss(f, k, v, labels, costs)

    step, n, Q = 1e-5, len(g), len(b)
    nothing = np.zeros(Q)
    for i in range(n):
        e = np.zeros(n)
        e[i] = step
        up, here, down = loss(e, nothing), loss(0 * e, nothing), loss(-e, nothing)
        assert_allclose(found.gradient[i], (up - down) / (2 * step), atol=1e-4)
        assert_allclose(found.hessian[i], (up - 2 * here + down) / step**2, atol=1e-3)
    for q in range(Q):
        e = np.zeros(Q)
        e[q] = step
        up, here, down = (loss(np.zeros(n), s * e) for s in (1, 0, -1))
        assert_allclose(found.by_threshold[0, q], (up - down) / (2 * step), atol=1e-3)
        assert_allclose(found.by_threshold[1, q], (up - 2 * here + down) / step**2, rtol=0.02)


@pytest.mark.usefixtures("engine")
def test_a_weight_of_two_counts_as_the_row_twice():
    g, k, _, labels, costs = problem(0)
    b = np.linspace(1, -1, costs.shape[1])
    twice = np.where(np.arange(len(k)) % 3 == 0, 2, 1)
    one = slopes(g, k.astype(np.int32), twice.astype(np.float32), labels, costs, b)
    rows = np.repeat(np.arange(len(k)), twice)
    other = slopes(g[rows], k[rows].astype(np.int32), None, labels, costs, b)
    assert_allclose(one.by_threshold, other.by_threshold, rtol=1e-9)


def test_scores_of_any_size_give_numbers():
    g = np.array([-1e30, -800, 0, 800, 1e30], dtype=np.float32)
    k = np.array([0, 1, 0, 1, 0], dtype=np.int32)
    found = slopes(g, k, None, replica_labels(2), replica_costs(2, 0.2), np.array([2.0, -2.0]))
    assert all(np.isfinite(part).all() for part in found)
    assert (found.hessian > 0).all()


def test_the_first_thresholds_are_the_best_without_trees():
    _, k, v, labels, costs = problem(1)
    mass = np.bincount(k, weights=v)
    b = first_thresholds(mass, labels, costs)
    found = slopes(np.zeros(len(k), np.float32), k.astype(np.int32), v.astype(np.float32), labels,
                   costs, b)  # fmt: skip
    assert_allclose(found.by_threshold[0], 0, atol=1e-3)


def test_steps_lead_to_the_best_thresholds():
    g, k, v, labels, costs = problem(2, n=2000)
    b = first_thresholds(np.bincount(k, weights=v), labels, costs)
    for _ in range(50):
        found = slopes(g, k.astype(np.int32), v.astype(np.float32), labels, costs, b)
        b = newton_step(b, found.by_threshold)
    table = score_table(g[:, None].astype(float), k, v, 3, bins=10_000)
    assert_allclose(b, best_thresholds(table, labels, costs), atol=1e-4)


def test_thresholds_of_a_summary_are_those_of_the_rows():
    g, k, v, labels, costs = problem(3, n=5000)
    scores = g[:, None].astype(float)
    exact = best_thresholds(score_table(scores, k, v, 3, bins=5000), labels, costs)
    assert_allclose(best_thresholds(score_table(scores, k, v, 3, 500), labels, costs), exact,
                    atol=2e-3)  # fmt: skip


def test_a_summary_keeps_the_mass_of_every_class():
    g, k, v, *_ = problem(4, n=1000)
    table = score_table(np.column_stack([g, -g]).astype(float), k, v, 3, bins=64)
    assert table.scores.shape == (2, 64)
    assert (np.diff(table.scores, axis=1) >= 0).all()
    assert_allclose(table.mass.sum(axis=1), np.tile(np.bincount(k, weights=v), (2, 1)))


def test_separable_rows_have_finite_thresholds():
    g = np.array([-3.0, -2.0, 2.0, 3.0])
    k = np.array([0, 0, 1, 1])
    table = score_table(g[:, None], k, None, 2)
    b = best_thresholds(table, replica_labels(2), replica_costs(2, 0.1))
    assert np.isfinite(b).all()
    assert ((g[:, None] + b > 0) == (k[:, None] == 1)).all()


def test_a_class_that_is_not_held_out_leaves_finite_thresholds():
    table = score_table(np.array([[0.5], [1.0]]), np.array([0, 0]), None, 2)
    assert np.isfinite(best_thresholds(table, replica_labels(2), replica_costs(2, 0.2))).all()


def test_thresholds_fall_in_400_random_problems():
    """If every class takes part in every boundary, the best thresholds never cross."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        K = int(rng.integers(2, 6))
        n = int(rng.integers(2 * K, 60))
        k = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
        g = rng.normal(0, 3, n)
        labels, costs = replica_labels(K), replica_costs(K, rng.uniform(0.02, 0.5))
        b = best_thresholds(score_table(g[:, None], k, None, K), labels, costs)
        assert (np.diff(b) <= 1e-7).all()
        for q in range(len(b)):  # and they are the best
            t = labels[k, q] > 0

            def slope(at, g=g, c=costs[k, q], t=t):
                return float((c * (expit(g + at) - t)).sum())

            if slope(-40) < 0 < slope(40):
                assert_allclose(b[q], brentq(slope, -40, 40), atol=1e-5)


def test_neighbours_only_may_cross():
    """With ``s=1`` there is no such promise; otherwise the test above could not fail."""
    rng = np.random.default_rng(0)
    crossed = 0
    for _ in range(50):
        k = np.concatenate([np.arange(4), rng.integers(0, 4, 30)])
        g = rng.normal(0, 3, len(k))
        table = score_table(g[:, None], k, None, 4)
        b = best_thresholds(table, replica_labels(4), replica_costs(4, 0.2, 1))
        crossed += bool((np.diff(b) > 1e-6).any())
    assert crossed > 10


def test_compiled_and_numpy_derivatives_agree(monkeypatch):
    if boosting._trees is None:
        pytest.skip("built without a compiler")
    g, k, v, labels, costs = problem(5)
    arguments = (
        g,
        k.astype(np.int32),
        v.astype(np.float32),
        labels,
        costs,
        np.array([2, 1, 0, -1.0]),
    )
    compiled = slopes(*arguments)
    monkeypatch.setattr(boosting, "_trees", None)
    for one, other in zip(compiled, slopes(*arguments), strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("wrong", ["class", "length", "costs"])
def test_arrays_that_do_not_agree_are_refused(wrong):
    if boosting._trees is None:
        pytest.skip("built without a compiler")
    g, k, v, labels, costs = problem(6)
    k = k.astype(np.int32)
    if wrong == "class":
        k[3] = 3
    if wrong == "length":
        k = k[:-1]
    if wrong == "costs":
        costs = costs[:, :-1]
    with pytest.raises(ValueError, match=r"must|unknown"):
        slopes(g, k, v.astype(np.float32), labels, costs, np.zeros(4))


def test_slopes_do_not_change_their_input():
    g, k, v, labels, costs = problem(7)
    before = [array.copy() for array in (g, k, v, labels, costs)]
    slopes(g, k.astype(np.int32), v.astype(np.float32), labels, costs, np.zeros(4))
    for one, other in zip(before, (g, k, v, labels, costs), strict=True):
        assert_array_equal(one, other)
