"""rejoNN: the gradient, the cost of a pass, the minimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from rejo.replication import replica_costs, replica_labels, replicate
from rejo.solvers import mlp
from rejo.solvers.mlp import Data, Network, forward, initialise, minimise, objective, unpack, value


def problem(n_classes=2, reject_cost=0.2, n=40, p=3, weighted=True, s=None, seed=0):
    """Points whose class grows with the first feature."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, p))
    t = X[:, 0] + 0.5 * rng.normal(size=n)
    k = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    weight = rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    labels = replica_labels(n_classes, reject_cost is not None)
    costs = replica_costs(n_classes, reject_cost, s)
    return Data(X, labels[k].T, costs[k].T * weight, weight.sum())


def network(data, hidden=(4,), **settings):
    return Network((data.X.shape[1], *hidden, 1), len(data.signs), **settings)


def start(net, data, seed=0):
    """Random parameters, thresholds too."""
    theta = initialise(net, data, np.random.RandomState(seed))
    return theta + np.random.RandomState(seed + 1).normal(scale=0.5, size=theta.size)


# ---- the objective -----------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
def test_the_gradient_is_that_of_the_value(hidden, activation, loss):
    for n_classes, reject_cost in ((2, 0.2), (3, 0.1), (5, 0.3), (2, None), (4, None)):
        data = problem(n_classes, reject_cost)
        net = network(data, hidden, activation=activation, loss=loss, alpha=0.7, h=0.6)
        theta = start(net, data)
        found, gradient = objective(theta, data, net)
        assert found == pytest.approx(value(theta, data, net), rel=1e-12)
        numeric = np.empty_like(theta)
        for j in range(theta.size):
            step = np.zeros_like(theta)
            step[j] = 1e-5
            numeric[j] = (value(theta + step, data, net) - value(theta - step, data, net)) / 2e-5
        assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-8, err_msg=f"{n_classes} classes")


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
def test_the_objective_is_that_of_a_network_on_the_replicated_set(loss):
    """Every replica written out, with the extension features into the last unit."""
    data = problem(3, 0.2, weighted=False)
    net = network(data, (4,), loss=loss, alpha=0.5, h=2.0)
    theta = start(net, data)
    (W, w), (c, b) = unpack(theta, net)
    k = (data.signs > 0).sum(axis=0) // 2
    Xr, yr, wr = replicate(data.X, k, replica_costs(3, 0.2), h=2.0)
    points, marks = Xr[:, :3], Xr[:, 3:]
    v = (b[1:] - b[0]) / 2.0  # weights of the extension features
    f = np.tanh(points @ W + c) @ w[:, 0] + marks @ v + b[0]
    losses = np.logaddexp(0, -yr * f) if loss == "logistic" else 0.5 * (yr - np.tanh(f)) ** 2
    decay = 0.5 * 0.5 * ((W**2).sum() + (w**2).sum() + (v**2).sum())
    assert value(theta, data, net) == pytest.approx((wr @ losses + decay) / len(k), rel=1e-12)


def test_sparse_points_have_the_same_value_and_gradient():
    data = problem(3)
    net = network(data, (5, 3))
    theta = start(net, data)
    for form in (sparse.csr_array, sparse.csr_matrix):
        same = objective(theta, data._replace(X=form(data.X)), net)
        for a, b in zip(objective(theta, data, net), same, strict=True):
            assert_allclose(a, b, rtol=1e-12)


def test_scores_far_from_zero_neither_overflow_nor_vanish():
    signs, f = np.array([[1.0, 1.0, -1.0]]), np.array([[-1e4, 1e4, 1e4]])
    losses, slopes = mlp.LOSSES["logistic"](signs, f)
    assert_array_equal(losses, [[1e4, 0, 1e4]])
    assert_array_equal(slopes, [[-1, 0, 1]])


class Counted(np.ndarray):
    """Counts the products with its rows."""

    products = 0

    def __matmul__(self, other):
        Counted.products += 1
        return np.asarray(self) @ other


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_one_forward_pass_whatever_the_number_of_replicas(n_classes, monkeypatch):
    data = problem(n_classes)
    net = network(data, (4, 3))
    theta = start(net, data)
    units = []
    monkeypatch.setitem(mlp.ACTIVATIONS, "tanh", lambda z: units.append(z.shape))
    Counted.products = 0
    objective(theta, data._replace(X=data.X.view(Counted)), net)
    assert Counted.products == 2  # one forward, one backward
    assert units == [(40, 4), (40, 3)]


def test_the_first_thresholds_are_the_best_of_a_network_that_sees_nothing():
    for loss in ("logistic", "squared_error"):
        data = problem(3)
        net = network(data, (), loss=loss)
        theta = mlp.constant(net, data)
        assert_array_equal(theta[:3], 0)
        assert_array_equal(theta[3:], initialise(net, data, np.random.RandomState(0))[3:])
        assert_allclose(objective(theta, data, net)[1][3:], 0, atol=1e-12)


def test_thresholds_of_replicas_without_points_start_finite():
    data = problem(3, s=1)
    lowest = np.flatnonzero((data.signs > 0).sum(axis=0) == 0)
    part = data.rows(lowest, 1.0)
    b = initialise(network(part), part, np.random.RandomState(0))[-4:]
    assert_array_equal(b, [-mlp.LARGEST_START, -mlp.LARGEST_START, 0, 0])


def test_chunks_of_a_forward_pass_do_not_show(monkeypatch):
    data = problem(3)
    net = network(data, (4, 3))
    coefs, intercepts = unpack(start(net, data), net)
    whole = forward(data.X, coefs, intercepts, "relu")
    monkeypatch.setattr(mlp, "CHUNK", 7)
    assert_allclose(forward(data.X, coefs, intercepts, "relu"), whole, rtol=1e-12)


# ---- the minimum -------------------------------------------------------------------------


def test_without_hidden_layers_and_rejection_it_is_logistic_regression():
    data = problem(2, None, n=100)
    net = network(data, (), alpha=2.0)
    found = minimise(start(net, data), data, net, tol=1e-9, max_iter=1000)
    y = data.signs[0]
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(data.X, y, data.costs[0])
    assert_allclose(found.theta, [*theirs.coef_[0], *theirs.intercept_], atol=1e-5)
    assert found.converged


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
@pytest.mark.parametrize("solver", ["lbfgs", "rprop", "adam"])
def test_every_solver_finds_the_minimum_of_a_linear_network(solver, loss):
    data = problem(3, 0.2, n=60)
    net = network(data, (), loss=loss, alpha=1.0)
    theta = initialise(net, data, np.random.RandomState(0))
    best = minimise(theta, data, net, tol=1e-10, max_iter=2000)
    found = minimise(
        theta, data, net, solver=solver, tol=1e-7, max_iter=3000, learning_rate=0.02
    )  # fmt: skip
    reached, least = value(found.theta, data, net), value(best.theta, data, net)
    assert reached == pytest.approx(least, rel=1e-4)
    assert min(found.loss_curve) >= least - 1e-9
    assert np.abs(objective(best.theta, data, net)[1]).max() < 1e-6


@pytest.mark.parametrize("solver", ["lbfgs", "rprop", "adam"])
def test_the_start_is_not_changed(solver):
    data = problem(3)
    net = network(data)
    theta = start(net, data)
    copy = theta.copy()
    found = minimise(theta, data, net, solver=solver, max_iter=3)
    assert_array_equal(theta, copy)
    assert len(found.loss_curve) == 3
    assert not found.converged


@pytest.mark.parametrize("solver", ["lbfgs", "rprop", "adam"])
def test_a_loss_that_is_not_finite_ends_the_minimisation(solver):
    data = problem(3)
    net = network(data, (4, 4), activation="relu", alpha=1.0)
    huge = data._replace(X=np.clip(data.X, -1, 1) * 1e308)
    found = minimise(start(net, data), huge, net, solver=solver)
    assert not np.isfinite(found.loss_curve[-1])
    assert len(found.loss_curve) <= 2
    assert not found.converged


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("h", [0.3, 1.0, 5.0])
def test_two_thresholds_of_the_logistic_loss_come_out_in_order(seed, h):
    data = problem(2, 0.1 + 0.08 * seed, seed=seed)
    net = network(data, (4,), alpha=0.5, h=h)
    found = minimise(start(net, data, seed), data, net, tol=1e-7, max_iter=2000)
    b = found.theta[-2:]
    assert b[0] >= b[1] - 1e-4


def test_the_batches_of_a_pass_add_up_to_the_objective():
    """Without steps worth the name; the last batch is smaller."""
    data = problem(3, n=40)
    net = network(data, alpha=5.0)
    theta = start(net, data)
    options = dict(solver="adam", batch_size=15, learning_rate=1e-14)
    (loss,) = minimise(theta, data, net, max_iter=1, **options).loss_curve
    assert loss == pytest.approx(value(theta, data, net), rel=1e-9)


def test_rprop_halves_its_step_and_waits_where_the_slope_turns(monkeypatch):
    places = []

    def parabola(theta, data, net):
        places.append(theta[0])
        return 0.5 * theta[0] ** 2, theta.copy()

    monkeypatch.setattr(mlp, "objective", parabola)
    minimise(np.array([0.1]), None, None, solver="rprop", max_iter=4, tol=0.0)
    assert_allclose(places, [0.1, 0.03, -0.054, -0.054, -0.012], atol=1e-12)


@pytest.mark.parametrize("solver", ["lbfgs", "rprop", "adam"])
def test_validation_keeps_the_best_parameters_on_it(solver):
    data, validation = problem(2, n=30), problem(2, n=30, seed=5)
    net = network(data, (10,), alpha=1e-4)
    found = minimise(
        start(net, data), data, net, solver=solver, max_iter=400, learning_rate=0.05,
        validation=validation, n_iter_no_change=15,
    )  # fmt: skip
    assert len(found.validation_curve) == len(found.loss_curve) < 400
    least = mlp.data_loss(found.theta, validation, net)
    assert least == pytest.approx(min(found.validation_curve), rel=1e-12)
    assert np.argmin(found.validation_curve) < len(found.validation_curve) - 1
    assert found.converged


def test_adam_in_two_halves_is_adam_in_one_go():
    data = problem(3)
    net = network(data)
    theta = start(net, data)
    options = dict(solver="adam", batch_size=16, n_iter_no_change=np.inf)
    whole = minimise(theta, data, net, max_iter=6, rng=np.random.RandomState(3), **options)
    rng, half = np.random.RandomState(3), None
    for _ in range(2):
        moments = half.moments if half else None
        half = minimise(theta, data, net, max_iter=3, rng=rng, moments=moments, **options)
        theta = half.theta
    assert_array_equal(half.theta, whole.theta)
    assert half.moments.n_steps == whole.moments.n_steps == 18


# ---- several networks at once ------------------------------------------------------------


def several(n_classes=3, costs=(0.05, 0.2, 0.2, 0.45), **settings):
    """The data of one network for each reject cost, and of all of them."""
    each = [problem(n_classes, w, **settings) for w in costs]
    signs, prices = (np.stack([getattr(d, name) for d in each]) for name in ("signs", "costs"))
    return each, each[0]._replace(signs=signs, costs=prices)


@pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
def test_objectives_of_several_networks_are_those_of_each(hidden, activation, loss):
    each, together = several()
    net = network(each[0], hidden, activation=activation, loss=loss, alpha=0.7, h=0.6)
    theta = np.stack([start(net, data, seed) for seed, data in enumerate(each)])
    J, gradient = mlp.objectives(theta, together, net)
    for b, data in enumerate(each):
        alone, slope = objective(theta[b], data, net)
        assert J[b] == pytest.approx(alone, rel=1e-12)
        assert_allclose(gradient[b], slope, rtol=1e-9, atol=1e-13)
    g = forward(together.X, *unpack(theta, net), activation)
    for b in range(len(each)):
        alone = forward(together.X, *unpack(theta[b], net), activation)
        assert_allclose(g[b], alone, rtol=1e-9, atol=1e-13)


def test_several_networks_start_from_the_same_weights_and_their_own_thresholds():
    each, together = several()
    net = network(each[0])
    theta = initialise(net, together, np.random.RandomState(0))
    for b, data in enumerate(each):
        assert_array_equal(theta[b], initialise(net, data, np.random.RandomState(0)))
    assert_array_equal(theta[1], theta[2])
    assert not np.array_equal(theta[0, -4:], theta[1, -4:])
