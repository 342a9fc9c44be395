"""The linear solver: derivatives, optimality, certificates and invariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rejo.replication import replica_costs, replica_labels, replicate
from rejo.solvers import _linear_descent, _linear_losses, _linear_objective, _linear_streams, linear
from rejo.solvers.svm import Kernel, Problem

LOSSES = tuple(linear.LOSSES)
SMOOTH = tuple(name for name, loss in linear.LOSSES.items() if loss.is_smooth)


def problem(n=120, p=4, K=3, seed=0, reject_cost=0.2, C=1.0):
    """Points, classes, labels and caps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    t = X @ rng.normal(size=p) + rng.logistic(size=n)
    k = np.searchsorted(np.quantile(t, np.arange(1, K) / K), t)
    labels = replica_labels(K, reject=reject_cost is not None)
    return X, k, labels, C * replica_costs(K, reject_cost)


def objective_by_hand(X, k, labels, caps, v, loss, h, x):
    """The definition, on the replicated training set."""
    p = X.shape[1]
    w, b = x[:p], x[p:]
    m = labels[k] * ((X @ w)[:, None] + b)
    value = {
        "logistic": np.logaddexp(0, -m),
        "hinge": np.maximum(0, 1 - m),
        "squared_hinge": np.maximum(0, 1 - m) ** 2,
    }[loss]
    weight = np.ones(len(k)) if v is None else v
    penalty = 0.5 * w @ w + ((b[1:] - b[0]) ** 2).sum() / (2 * h * h)
    return penalty + (weight[:, None] * caps[k] * value).sum()


def make(X, k, labels, caps, v=None, *, loss, h=1.0, **params):
    fit = linear.LOSSES[loss](labels, caps, k, v)
    return linear.Objective(X, fit, h, **params)


FORMS = {
    "dense": (np.asarray, {}),
    "single": (lambda X: X.astype(np.float32), {}),
    "sparse": (sparse.csr_matrix, {}),
    "centred": (np.asarray, {"shift": np.full(4, 0.5)}),
}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_linear_objective, "BLOCK", 300)


# ---- derivatives -------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_those_of_the_definition(loss, form, weighted, small_blocks):
    X, k, labels, caps = problem()
    convert, params = FORMS[form]
    rng = np.random.default_rng(1)
    v = rng.uniform(0.5, 2, size=len(k)) if weighted else None
    X = X.astype(np.float32).astype(np.float64)
    F = make(convert(X), k, labels, caps, v, loss=loss, h=0.7, **params)
    x = rng.normal(size=8)
    value, gradient = F(x)
    points = X - params.get("shift", 0.0)
    if loss not in SMOOTH:  # the smooth loss is a lower bound, and its duals give the hinge
        exact = objective_by_hand(points, k, labels, caps, v, loss, 0.7, x)
        assert value <= exact
        assert F.penalty(x)[0] + F.loss.hinge == pytest.approx(exact)
    else:
        exact = objective_by_hand(points, k, labels, caps, v, loss, 0.7, x)
        assert value == pytest.approx(exact, rel=1e-12)
    H = F.hessian(x)
    product, diagonal = F.operator(x)
    eye, step = np.eye(8), 1e-6
    tol = 1e-5 if form == "single" else 1e-8  # products for conjugate gradients stay single
    assert_allclose(np.array([product(e) for e in eye]), H, atol=tol * np.abs(H).max())
    assert_allclose(diagonal, np.diag(H), rtol=10 * tol)
    for e, row, slope in zip(eye, H, gradient, strict=True):
        (up, g_up), (down, g_down) = F(x + step * e), F(x - step * e)
        assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-5)
        assert_allclose((g_up - g_down) / (2 * step), row, atol=1e-5 * np.abs(H).max())


def test_far_scores_do_not_overflow():
    X, k, labels, caps = problem()
    F = make(1e4 * X, k, labels, caps, loss="logistic")
    x = np.ones(8)
    value, gradient = F(x)
    assert value == pytest.approx(
        objective_by_hand(1e4 * X, k, labels, caps, None, "logistic", 1, x)
    )
    assert np.isfinite(gradient).all()
    near = make(X, k, labels, caps, loss="logistic")
    fast = near(x)
    far, _linear_losses.FAR = _linear_losses.FAR, 0.0
    try:
        slow = near(x)
    finally:
        _linear_losses.FAR = far
    assert fast[0] == pytest.approx(slow[0], rel=1e-13)
    assert_allclose(fast[1], slow[1], rtol=1e-10)


# ---- solutions ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("wide", [False, True])
def test_the_gradient_vanishes_at_the_solution(loss, K, wide, monkeypatch):
    if wide:
        monkeypatch.setattr(_linear_descent, "NARROW", 0)
    X, k, labels, caps = problem(K=K)
    done = linear.solve(X, k, labels, caps, loss=loss, tol=1e-20)
    assert np.linalg.norm(done.gradient) < 1e-6
    x = np.concatenate([done.w, done.b])
    assert done.objective == pytest.approx(
        objective_by_hand(X, k, labels, caps, None, loss, 1.0, x), rel=1e-12
    )


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("K", "C", "h"), [(2, 1, 1), (2, 100, 3), (3, 0.1, 1), (5, 1, 0.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hinge_has_the_objective_of_the_svm(K, C, h, weighted, wide, monkeypatch):
    if wide:
        monkeypatch.setattr(_linear_descent, "NARROW", 0)
    X, k, labels, caps = problem(n=200, K=K, C=C, seed=K)
    v = np.random.default_rng(0).uniform(0.2, 3, size=len(k)) if weighted else None
    form = sparse.csr_matrix(X) if wide else X
    done = linear.solve(form, k, labels, caps, v, loss="hinge", h=h, tol=1e-6)
    boxes = caps[k] if v is None else caps[k] * v[:, None]
    exact = Problem(X, Kernel("linear")).solve(labels[k], boxes, h=h, tol=1e-6)
    assert done.converged
    assert done.gap <= 1e-6
    assert done.objective == pytest.approx(exact.objective, rel=3e-6)
    x = np.concatenate([done.w, done.b])
    by_hand = objective_by_hand(X, k, labels, caps, v, "hinge", h, x)
    assert done.objective == pytest.approx(by_hand, rel=1e-12)
    # The certificate: no point does better than the gap allows.
    assert exact.objective >= done.objective * (1 - done.gap) * (1 - 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_replicated_problem_in_the_extended_space_is_the_same(loss):
    X, k, labels, caps = problem(K=3)
    h = 0.8
    ours = linear.solve(X, k, labels, caps, loss=loss, h=h, tol=1e-12)
    Xr, yr, wr = replicate(X, k, caps, h=h)
    plain = linear.solve(
        Xr, (yr > 0).astype(np.intp), np.array([[-1.0], [1.0]]), np.ones((2, 1)), wr,
        loss=loss, tol=1e-12,
    )  # fmt: skip
    assert plain.objective == pytest.approx(ours.objective, rel=1e-9)
    assert_allclose(plain.w[:4], ours.w, atol=1e-3)
    assert_allclose(plain.b + h * plain.w[4:], ours.b[1:], atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("seed", range(6))
def test_two_classes_have_ordered_thresholds_as_solved(loss, seed):
    rng = np.random.default_rng(seed)
    X, k, labels, caps = problem(
        n=30, K=2, seed=seed, reject_cost=rng.uniform(0.02, 0.48), C=2.0 ** rng.integers(-6, 6)
    )
    done = linear.solve(X, k, labels, caps, loss=loss, h=rng.uniform(0.1, 5), tol=1e-10)
    assert done.b[0] >= done.b[1] - 1e-6


# ---- samples, offsets, starts ------------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_many_points_by_a_sample_of_them(loss, order, monkeypatch):
    X, k, labels, caps = problem(n=3000, K=3)
    rows = np.argsort(k, kind="stable") if order == "sorted" else np.arange(3000)
    direct = linear.solve(X, k, labels, caps, loss=loss, tol=1e-14)
    monkeypatch.setattr(linear, "LEAST_SAMPLE", 60)
    monkeypatch.setattr(linear, "SAMPLE", 10)
    sampled = linear.solve(X[rows], k[rows], labels, caps, loss=loss, tol=1e-14)
    assert sampled.converged
    assert_allclose(sampled.w, direct.w, atol=1e-5)
    assert_allclose(sampled.b, direct.b, atol=1e-5)


def test_a_rare_class_is_in_the_sample():
    k = np.zeros(100_000, dtype=np.intp)
    k[777] = 1
    rows, factors = linear._sample(k, np.array([0, 2]), 10)
    assert 777 in rows
    assert_allclose(np.bincount(k[rows], weights=factors), [99_999, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_an_offset_moves_only_the_thresholds(loss):
    X, k, labels, caps = problem()
    offset = np.array([1e6, 0, -1e3, 0])
    plain = linear.solve(X, k, labels, caps, loss=loss, tol=1e-9)
    moved = linear.solve(X + offset, k, labels, caps, loss=loss, tol=1e-9)
    assert_allclose(moved.w, plain.w, atol=1e-4)
    assert moved.objective == pytest.approx(plain.objective, rel=1e-7)
    scores = (X + offset) @ moved.w + moved.b[0]
    assert_allclose(scores, X @ plain.w + plain.b[0], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_at_the_solution_ends_there(loss):
    X, k, labels, caps = problem()
    first = linear.solve(X, k, labels, caps, loss=loss)
    again = linear.solve(X, k, labels, caps, loss=loss, start=(first.w, first.b))
    assert again.n_iter <= first.n_iter
    assert again.objective == pytest.approx(first.objective, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_that_takes_no_part_and_separable_points(loss):
    X, k, labels, _ = problem(K=4)
    caps = replica_costs(4, 0.2, s=1)
    assert linear.solve(X, k, labels, caps, loss=loss).converged
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    two = np.array([0, 0, 1, 1])
    done = linear.solve(
        X, two, replica_labels(2), 1e6 * replica_costs(2, 0.2), loss=loss, max_iter=5000
    )
    assert done.converged
    assert_allclose(((X @ done.w)[:, None] + done.b > 0).sum(axis=1), 2 * two)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bound_on_the_steps_is_kept(loss):
    X, k, labels, caps = problem()
    done = linear.solve(X, k, labels, caps, loss=loss, tol=1e-12, max_iter=1)
    assert done.n_iter == 1
    assert not done.converged
    assert done.gap > 1e-12


def test_progress_is_printed(capsys):
    linear.solve(*problem(), verbose=True)
    assert "[rejo] logistic, step 0: objective" in capsys.readouterr().out


# ---- streams -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_first_chunk_is_a_solve(loss):
    X, k, labels, caps = problem()
    stream = linear.begin(X, labels.shape[1], loss, 1.0)
    stream = linear.advance(stream, X, k, labels, caps, loss=loss)
    done = linear.solve(X, k, labels, caps, loss=loss, tol=1e-12)
    assert_allclose(stream.x, np.concatenate([done.w, done.b]), atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("curved", "excess"), [(500, 2e-3), (0, 0.02)])
def test_a_stream_comes_near_the_solution(loss, curved, excess, monkeypatch):
    if curved and loss not in SMOOTH:
        pytest.skip("the hinge has no curvature")
    monkeypatch.setattr(_linear_streams, "CURVED", curved)
    X, k, labels, caps = problem(n=6000, K=3)
    rng = np.random.RandomState(0)
    stream = linear.begin(X[:200], labels.shape[1], loss, 1.0)
    for start in range(0, 6000, 200):
        rows = slice(start, start + 200)
        stream = linear.advance(stream, X[rows], k[rows], labels, caps, loss=loss, rng=rng)
    best = linear.solve(X, k, labels, caps, loss=loss).objective
    value = objective_by_hand(X, k, labels, caps, None, loss, 1.0, stream.mean)
    assert best * (1 - 1e-6) <= value <= best * (1 + excess)
    assert stream.n_seen == 6000
