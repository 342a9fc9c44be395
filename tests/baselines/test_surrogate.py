"""SurrogateRejectSVC: its losses and the optimum against a generic solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import entr, expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from rejo.baselines.surrogate import SurrogateRejectSVC
from rejo.datasets import make_synthetic_1, make_synthetic_2
from rejo.solvers import svm
from rejo.solvers.surrogate import bartlett_wegkamp, chow_thresholds, double_hinge, losses

SURROGATES = ["bartlett-wegkamp", "double-hinge"]
ASYMMETRIC = [[0.0, 0.2, 1.0], [3.0, 0.5, 0.0]]


def lines(surrogate, d=0.2, loss=None):
    """(intercept, slope) in z = y f of the pieces of the loss, for y = -1 and y = +1."""
    if surrogate == "bartlett-wegkamp":
        return 2 * [[(1.0, -1.0), (1.0, -(1 - d) / d)]]
    lower, upper = (d, 1 - d) if loss is None else chow_thresholds(np.array(loss))
    H = [entr(p) + entr(1 - p) for p in (lower, upper)]
    return [
        [(H[0], -lower), (H[1], -upper)],
        [(H[1], -(1 - upper)), (H[0], -(1 - lower))],
    ]


def pieces(surrogate, k, f, **costs):
    """Loss of scores as the largest of its straight pieces."""
    each = lines(surrogate, **costs)
    return np.array([
        max(0.0, *(c + s * (g if j else -g) for c, s in each[j])) for j, g in zip(k, f, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("surrogate", "hinges", "costs"),
    [
        ("bartlett-wegkamp", bartlett_wegkamp(0.2), {}),
        ("bartlett-wegkamp", bartlett_wegkamp(0.5), {"d": 0.5}),
        ("double-hinge", double_hinge(0.2, 0.8), {}),
        ("double-hinge", double_hinge(0.5, 0.5), {"d": 0.5}),
        (
            "double-hinge",
            double_hinge(*chow_thresholds(np.array(ASYMMETRIC))),
            {"loss": ASYMMETRIC},
        ),
    ],
)
def test_the_hinges_add_up_to_the_loss(surrogate, hinges, costs):
    f = np.linspace(-8, 8, 201)
    for k in (np.zeros(201, int), np.ones(201, int)):
        assert_allclose(losses(hinges, k, f), pieces(surrogate, k, f, **costs), atol=1e-12)


@pytest.mark.parametrize(("lower", "upper"), [(0.1, 0.9), (0.05, 0.4), (0.6, 0.95)])
def test_the_double_hinge_touches_the_logistic_loss_at_the_thresholds_of_chow(lower, upper):
    hinges = double_hinge(lower, upper)
    f = np.linspace(-6, 6, 401)
    for k, z in ((0, -f), (1, f)):
        assert (losses(hinges, np.full(401, k), f) <= np.log1p(np.exp(-z)) + 1e-12).all()
        at = hinges.cutoffs
        touching = np.log1p(np.exp(-at if k else at))
        assert_allclose(losses(hinges, np.full(2, k), at), touching, rtol=1e-12)


@pytest.mark.parametrize("d", [0.05, 0.2, 0.45])
def test_with_equal_costs_the_double_hinge_is_the_other_one_rescaled(d):
    f, k = np.linspace(-9, 9, 101), np.arange(101) % 2
    tau = (entr(d) + entr(1 - d)) / d
    one, other = double_hinge(d, 1 - d), bartlett_wegkamp(d)
    assert_allclose(losses(one, k, f), d * tau * losses(other, k, f / tau), atol=1e-12)
    assert_allclose(one.cutoffs, np.log((1 - d) / d) * np.array([-1, 1]))


@pytest.mark.parametrize(
    "loss",
    [
        [[0, 0.1, 1], [1, 0.1, 0]],
        [[0, 0.4, 1], [1, 0.4, 0]],
        ASYMMETRIC,
        [[0, 0.6, 5.0], [1.0, 0.1, 0]],
        [[0, 0.05, 1.0], [1.0, 0.7, 0]],
    ],
)
def test_minimisers_of_the_expected_loss_decide_as_chow(loss):
    loss = np.array(loss, dtype=float)
    lower, upper = chow_thresholds(loss)
    hinges = double_hinge(lower, upper)
    # The thresholds are those of the cheapest output.
    p = np.setdiff1d(np.linspace(0.001, 0.999, 499), np.round([lower, upper], 3))
    cheapest = ((1 - p)[:, None] * loss[0] + p[:, None] * loss[1]).argmin(axis=1)
    assert_array_equal(cheapest, (p > lower).astype(int) + (p > upper))
    # Scores that minimise p DH+(f) + (1 - p) DH-(f), on a fine grid.
    f = np.linspace(-12, 12, 6001)
    negative, positive = (losses(hinges, np.full(6001, k), f) for k in (0, 1))
    best = f[((1 - p)[:, None] * negative + p[:, None] * positive).argmin(axis=1)]
    assert_array_equal((best[:, None] > hinges.cutoffs).sum(axis=1), cheapest)


def problem(n=26, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    k = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 0.7).astype(int)
    return X, k, rng.integers(1, 5, n) / 2


def generic_optimum(Z, k, caps, surrogate, **costs):
    """min 1/2 |w|^2 + caps . xi with xi above every piece of the loss, by SciPy's SLSQP."""
    n, r = Z.shape
    each = lines(surrogate, **costs)
    rows, right = [], []
    for i in range(n):
        sign = 1 if k[i] else -1
        for c, s in each[k[i]]:
            row = np.zeros(r + 1 + n)
            row[: r + 1] = -s * sign * np.append(Z[i], 1.0)
            row[r + 1 + i] = 1.0
            rows.append(row)
            right.append(c)
    A, c = np.array(rows), np.array(right)

    def value(v):
        return 0.5 * v[:r] @ v[:r] + caps @ v[r + 1 :]

    def gradient(v):
        return np.concatenate([v[:r], [0.0], caps])

    start = np.zeros(r + 1 + n)
    start[r + 1 :] = c.max()
    found = minimize(
        value, start, jac=gradient, method="SLSQP",
        bounds=[(None, None)] * (r + 1) + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda v: A @ v - c, "jac": lambda v: A},
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert found.success
    return found.fun


@pytest.fixture(params=["compiled", "numpy"])
def solver(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(svm, "_svm", None)


@pytest.mark.filterwarnings("ignore:rejo runs on its NumPy reference:RuntimeWarning")
@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("surrogate", "setting"),
    [
        ("bartlett-wegkamp", {"reject_cost": 0.2}),
        ("bartlett-wegkamp", {"reject_cost": 1 / 3}),  # two hinges of equal weight
        ("double-hinge", {"reject_cost": 0.1}),
        ("double-hinge", {"loss_matrix": ASYMMETRIC}),
    ],
)
def test_the_optimum_is_that_of_a_generic_solver(kernel, surrogate, setting):
    X, k, weight = problem()
    model = SurrogateRejectSVC(
        surrogate=surrogate, kernel=kernel, gamma=0.7, C=1.5, tol=1e-7, **setting
    ).fit(X, k, sample_weight=weight)
    Z = X
    if kernel == "rbf":
        values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.7))
        Z = vectors * np.sqrt(np.maximum(values, 0))
    costs = {"loss": ASYMMETRIC} if "loss_matrix" in setting else {"d": setting["reject_cost"]}
    best = generic_optimum(Z, k, 1.5 * weight, surrogate, **costs)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert 0 <= model.duality_gap_ <= 1e-7
    # ... and it is the value of the function that the attributes describe.
    f = model.boundary_scores(X)[:, 0] + model.thresholds_[0]
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.7)
    B = np.zeros(len(X))
    B[model.support_] = model.dual_coef_[0]
    assert_allclose(K @ B + model.intercept_, f, atol=1e-6)
    value = 0.5 * B @ K @ B + 1.5 * weight @ pieces(surrogate, k, f, **costs)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize(
    ("kernel", "engine", "cache_size"),
    [
        ("linear", "factor", 200),
        ("rbf", "factor", 200),
        ("wide", "gram", 200),
        ("wide", "blocks", 1),
    ],
)
def test_every_engine_closes_the_gap(surrogate, kernel, engine, cache_size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20 if kernel == "wide" else 2))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=1500) > 0.8
    seen = []

    class Spy(svm.Problem):
        def _run(self, engine, *rest):
            seen.append(engine)
            return super()._run(engine, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rejo.baselines.surrogate.Problem", Spy)
        model = SurrogateRejectSVC(
            surrogate=surrogate, kernel="linear" if kernel == "linear" else "rbf",
            gamma=0.05, C=5.0, reject_cost=0.3, cache_size=cache_size,
        ).fit(X, y)  # fmt: skip
    if svm._svm is not None:
        assert seen[0] == engine
    assert 0 <= model.duality_gap_ <= model.tol
    assert model.score(X, y) > 0.75


def test_both_surrogates_are_one_machine_in_other_units():
    X, k, _ = problem(80)
    d = 0.2
    tau = (entr(d) + entr(1 - d)) / d
    one = SurrogateRejectSVC(surrogate="double-hinge", reject_cost=d, C=3.0, tol=1e-7).fit(X, k)
    other = SurrogateRejectSVC(
        surrogate="bartlett-wegkamp", reject_cost=d, C=3.0 * d / tau, tol=1e-7
    ).fit(X, k)
    f, g = (m.boundary_scores(X)[:, 0] + m.thresholds_[0] for m in (one, other))
    assert_allclose(f, tau * g, atol=1e-5)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_with_half_the_cost_of_an_error_it_is_an_svc(surrogate):
    X, k, _ = problem(60)
    C, tau = 2.0, 1.0
    if surrogate == "double-hinge":
        tau = 2 * np.log(2)
        C = 2.0 / (0.5 / tau)
    model = SurrogateRejectSVC(surrogate=surrogate, reject_cost=0.5, C=C, gamma=0.5, tol=1e-7)
    f = model.fit(X, k).boundary_scores(X) + model.thresholds_
    svc = SVC(C=2.0, gamma=0.5, tol=1e-7).fit(X, k)
    assert_allclose(f[:, 0] / tau, svc.decision_function(X), atol=1e-3)


def test_posteriors_far_from_the_thresholds_are_not_needed():
    """Many points, p = 0.1, 0.5 or 0.9 in three places: decided as Chow's rule does."""
    rng = np.random.default_rng(0)
    x = np.repeat([0, 1, 2], 400)
    y = rng.uniform(size=1200) < np.array([0.1, 0.5, 0.9])[x]
    for surrogate in SURROGATES:
        model = SurrogateRejectSVC(surrogate=surrogate, reject_cost=0.3, C=100.0, gamma=5.0)
        model.fit(x[:, None], y)
        assert model.predict([[0], [1], [2]]).tolist() == [0, -1, 1]


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_invariances(surrogate):
    X, k, _ = problem(50)
    setting = dict(surrogate=surrogate, C=2.0, gamma=0.5, tol=1e-7)
    scores = SurrogateRejectSVC(**setting).fit(X, k).boundary_scores(X)
    flipped = SurrogateRejectSVC(**setting).fit(X, 1 - k).boundary_scores(X)
    assert_allclose(flipped, -scores[:, ::-1], atol=1e-5)
    weight = np.arange(50) % 3
    weighted = SurrogateRejectSVC(**setting).fit(X, k, sample_weight=weight)
    rows = np.repeat(np.arange(50), weight)
    repeated = SurrogateRejectSVC(**setting).fit(X[rows], k[rows])
    assert_allclose(weighted.boundary_scores(X), repeated.boundary_scores(X), atol=1e-5)
    scaled = SurrogateRejectSVC(**{**setting, "C": 4.0}).fit(X, k, sample_weight=np.full(50, 0.5))
    assert_allclose(scaled.boundary_scores(X), scores, atol=1e-5)
    balanced = SurrogateRejectSVC(**setting, class_weight={0: 1, 1: 2}).fit(X, k)
    weighted = SurrogateRejectSVC(**setting).fit(X, k, sample_weight=1 + k)
    assert_allclose(balanced.boundary_scores(X), weighted.boundary_scores(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_forms_of_one_kernel_agree(kernel):
    X, k, _ = problem(60)
    setting = dict(kernel=kernel, gamma=0.5, degree=2, coef0=1.0)
    model = SurrogateRejectSVC(**setting, tol=1e-7).fit(X, k)
    expected = model.boundary_scores(X[:20])
    rows = sparse.csr_matrix(X)
    on_rows = SurrogateRejectSVC(**setting, tol=1e-7).fit(rows, k)
    assert_allclose(on_rows.boundary_scores(rows[:20]), expected, atol=1e-5)

    def function(A, B):
        if kernel == "rbf":
            return rbf_kernel(A, B, 0.5)
        return A @ B.T if kernel == "linear" else (0.5 * A @ B.T + 1.0) ** 2

    called = SurrogateRejectSVC(kernel=function, tol=1e-7).fit(X, k)
    assert_allclose(called.boundary_scores(X[:20]), expected, atol=1e-5)
    given = SurrogateRejectSVC(kernel="precomputed", tol=1e-7).fit(function(X, X), k)
    assert_allclose(given.boundary_scores(function(X[:20], X)), expected, atol=1e-5)
    if kernel == "linear":
        f = X[:20] @ model.coef_[0] + model.intercept_
        assert_allclose(f[:, None] - model.thresholds_, expected)
    else:
        with pytest.raises(AttributeError, match="linear kernel"):
            _ = model.coef_


def test_score_is_in_the_costs_of_the_loss_matrix():
    X, k, _ = problem(60)
    model = SurrogateRejectSVC(loss_matrix=ASYMMETRIC, C=10.0).fit(X, k)
    outputs = (model.boundary_scores(X) > 0).sum(axis=1)
    assert model.score(X, k) == pytest.approx(1 - np.array(ASYMMETRIC)[k, outputs].mean())
    lower, upper = chow_thresholds(np.array(ASYMMETRIC))
    assert_allclose(expit(model.thresholds_), [lower, upper])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"surrogate": "hinge"}, "surrogate"),
        ({"reject_cost": 0.6}, "reject_cost"),
        ({"reject_cost": None}, "reject_cost"),
        ({"C": 1e200}, "C=1e"),
        ({"surrogate": "bartlett-wegkamp", "loss_matrix": ASYMMETRIC}, "loss_matrix"),
        ({"loss_matrix": [[0, 1], [1, 0]]}, "loss_matrix"),
        ({"loss_matrix": [[0, 0, 1], [1, 0.1, 0]]}, "free"),
        ({"loss_matrix": [[0, 0.8, 1], [1, 0.8, 0]]}, "expensive"),
        ({"loss_matrix": [[0, 0.2, 0.1], [1, 0.2, 0]]}, "loss_matrix"),
        ({"class_order": [0]}, "class_order"),
    ],
)
def test_errors_name_what_is_wrong(setting, message):
    X, k, _ = problem()
    with pytest.raises(ValueError, match=message):
        SurrogateRejectSVC(**setting).fit(X, k)


def test_three_classes_are_refused():
    X, _, _ = problem()
    for y in (np.arange(26) % 3, np.array(["a", "b", "c"])[np.arange(26) % 3]):
        with pytest.raises(ValueError, match="binary"):
            SurrogateRejectSVC().fit(X, y)


def test_a_limit_on_the_iterations_is_kept_and_warned_about():
    X, k, _ = problem(60)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model = SurrogateRejectSVC(max_iter=3, C=100.0).fit(X, k)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 3


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize(
    ("make", "kernel", "bayes"),
    [(make_synthetic_1, {"gamma": 1.0}, 0.0692), (make_synthetic_2, {"gamma": 0.01}, 0.1443)],
)
def test_risk_is_near_the_least_possible(surrogate, make, kernel, bayes):
    X, y = make(400, random_state=0)
    grid = GridSearchCV(
        SurrogateRejectSVC(surrogate=surrogate, reject_cost=0.2, **kernel),
        {"C": 2.0 ** np.arange(-5, 4, 2)}, cv=5,
    ).fit(X, y)  # fmt: skip
    risk = 1 - grid.score(*make(20_000, random_state=1))
    assert bayes * 0.97 < risk < 1.6 * bayes
