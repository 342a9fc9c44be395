"""The descent of the SVM with embedded reject: gradient, monotony, brute force, the factor.

What is said of both engines is tested on both: compiled, and NumPy with SciPy.
"""

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


needs_compiled = pytest.mark.skipif(embedded._embedded is None, reason="built without a compiler")


@pytest.fixture(params=["compiled", pytest.param("NumPy", marks=pytest.mark.check)])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(embedded, "_embedded", None)
    elif embedded._embedded is None:
        pytest.skip("built without a compiler")
    return request.param


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

    def watched(function, start, args, **options):
        def note(u):
            path.append(function(u, *args)[0])

        path = []
        note(start)
        values.append(path)
        return minimize(function, start, args, callback=note, **options)

    monkeypatch.setattr(embedded, "minimize", watched)
    monkeypatch.setattr(embedded, "_embedded", None)
    found = embedded.solve(Z, y, c, COSTS)
    assert sum(len(path) - 1 for path in values) == found.n_iter
    assert max(np.diff(path).max(initial=-np.inf) for path in values) <= 0
    slopes = [slope for slope, _, _ in found.trace]
    staged = slopes[: slopes.index(SLOPES[-1])]
    assert staged == sorted(staged)
    assert set(staged) == set(SLOPES[:-1])
    assert set(slopes[len(staged) :]) == set(SLOPES[-2:])  # hops begin at either
    assert all(after <= before for _, before, after in found.trace)
    assert found.objective == min(after for slope, _, after in found.trace if slope == SLOPES[-1])
    assert found.trace[-1][2] == found.objective
    assert len(staged) < 9 * (len(SLOPES) - 1)  # paths have met


@pytest.mark.usefixtures("engine")
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


@pytest.mark.usefixtures("engine")
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


@pytest.mark.usefixtures("engine")
def test_sparse_rows_change_nothing_but_the_rounding():
    """They are not centred, and go down in NumPy: J is the same, and so are most minima."""
    differences = []
    for seed in range(15):
        Z, y, c = problem(seed=seed)
        Z[Z < 0.3] = 0.0
        S = sparse.csr_matrix(Z)
        rows, dense = (embedded.solve(form, y, c, COSTS, n_starts=1) for form in (S, Z))
        for found, form in ((rows, Z), (dense, S)):
            v = np.append(found.w, [found.b, found.epsilon])
            J, _ = embedded.objective(v, SLOPES[-1], form, y, c, COSTS)
            assert pytest.approx(found.objective, rel=1e-9) == J
        differences.append(abs(rows.objective / dense.objective - 1.0))
    assert np.median(differences) < 1e-6
    assert max(differences) < 0.02


@pytest.mark.usefixtures("engine")
def test_offsets_change_nothing():
    Z, y, c = problem()
    Z[Z < 0.3] = 0.0
    dense = embedded.solve(Z, y, c, COSTS)
    shifted = embedded.solve(Z + 1e3, y, c, COSTS)
    assert shifted.objective == pytest.approx(dense.objective, rel=1e-6)
    assert_allclose((Z + 1e3) @ shifted.w + shifted.b, Z @ dense.w + dense.b, atol=1e-3)


@pytest.mark.usefixtures("engine")
def test_a_bound_on_the_steps_of_a_stage():
    Z, y, c = problem()
    found = embedded.solve(Z, y, c, COSTS, max_iter=2)
    assert not found.converged
    assert found.n_iter <= 2 * len(found.trace)


@needs_compiled
@pytest.mark.parametrize("n_columns", [1, 5, 40])
@pytest.mark.parametrize("n", [1, 7, 32, 33, 100])
def test_the_compiled_cost_is_that_of_numpy(n, n_columns):
    Z, y, c = problem(n, n_columns)
    rng = np.random.default_rng(1)
    for name in embedded._embedded.architectures():
        rows = embedded._embedded.Rows(Z, y, c, name)
        for slope in SLOPES:
            for size in (0.1, 1.0, 100.0):  # up to where all steps are 0 or 1
                v = np.append(size * rng.normal(size=n_columns + 1), rng.uniform())
                J, gradient = rows.objective(v, slope, *COSTS)
                expected, by_hand = embedded.objective(v, slope, Z, y, c, COSTS)
                assert pytest.approx(expected, rel=1e-12) == J
                assert_allclose(gradient, by_hand, rtol=1e-9, atol=1e-11 * np.abs(by_hand).max())
    with pytest.raises(ValueError, match="no such engine"):
        embedded._embedded.Rows(Z, y, c, "abacus")


@pytest.mark.check
@needs_compiled
def test_compiled_descents_find_the_minima_of_scipys(monkeypatch):
    lower, cases = [], [(seed, reject) for seed in range(5) for reject in (0.1, 0.2, 0.4)]
    for seed, reject in cases:
        Z, y, c = problem(50, 3, seed)
        costs = Costs(0.1 * reject, reject, 0.1)
        found = embedded.solve(Z, y, c, costs, n_starts=1)
        v = np.append(found.w, [found.b, found.epsilon])
        J, gradient = embedded.objective(v, SLOPES[-1], Z, y, c, costs)
        assert pytest.approx(found.objective, rel=1e-9) == J
        inside = 0.0 < found.epsilon < 1.0
        free = gradient if inside else gradient[:-1]
        assert np.abs(free).max() <= 1e-2 * np.sqrt(SLOPES[-1] * c.sum())  # a minimum
        with monkeypatch.context() as context:
            context.setattr(embedded, "_embedded", None)
            other = embedded.solve(Z, y, c, costs, n_starts=1)
        lower.append(found.objective / other.objective - 1.0)
    assert np.mean(np.abs(lower) <= 1e-6) >= 0.75  # most are the same,
    assert np.abs(lower).max() <= 0.02  # the others about as low,
    assert abs(np.mean(lower)) <= 2e-3  # and neither is at an advantage


@needs_compiled
def test_compiled_descents_never_go_up():
    Z, y, c = problem()
    found = embedded.solve(Z, y, c, COSTS)
    assert all(after <= before for _, before, after in found.trace)
    assert found.trace[-1] == (SLOPES[-1], found.trace[-1][1], found.objective)
    assert found.objective == min(after for slope, _, after in found.trace if slope == SLOPES[-1])


@pytest.mark.usefixtures("engine")
def test_flipped_labels_flip_all_paths():
    Z, y, c = problem(70, 4)
    one, other = embedded.solve(Z, y, c, COSTS), embedded.solve(Z, -y, c, COSTS)
    assert_allclose(other.w, -one.w, atol=1e-9)
    assert other.b == pytest.approx(-one.b, abs=1e-9)
    assert (other.objective, other.n_iter) == (pytest.approx(one.objective), one.n_iter)


@pytest.mark.usefixtures("engine")
def test_one_preparation_serves_all_costs():
    Z, y, c = problem()
    cost = embedded.SmoothedCost(Z, y, c)
    for reject in (0.3, 0.1, 0.3):
        costs = Costs(0.02, reject, 0.1)
        one, alone = cost.solve(costs, n_starts=2), embedded.solve(Z, y, c, costs, n_starts=2)
        assert one.objective == alone.objective
        assert_array_equal(one.w, alone.w)


def wrong_rows():
    Z, y, c = problem(10, 2)
    nan, inf = Z.copy(), Z.copy()
    nan[3, 1], inf[0, 0] = np.nan, np.inf
    return {
        "a vector": (Z[:, 0], y, c),
        "no rows": (Z[:0], y[:0], c[:0]),
        "no columns": (Z[:, :0], y, c),
        "few labels": (Z, y[:-1], c),
        "many costs": (Z, y, np.append(c, 1.0)),
        "a table of costs": (Z, y, c[:, None]),
        "NaN": (nan, y, c),
        "infinity": (inf, y, c),
        "other labels": (Z, 2 * y, c),
        "labels that are NaN": (Z, y * np.nan, c),
        "negative costs": (Z, y, -c),
        "costs that are NaN": (Z, y, c * np.nan),
    }


@needs_compiled
@pytest.mark.parametrize("wrong", list(wrong_rows()))
def test_malformed_rows_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        embedded._embedded.Rows(*wrong_rows()[wrong])


GOOD = dict(
    starts=np.full((2, 4), 0.5), scale=np.ones(4), slopes=np.array([1.0, 100.0]),
    entries=np.array([1.0]), margin=0.02, reject=0.2, square=0.1, same=0.01, finish=0.1, tol=1e-4,
    max_iter=10, n_hops=2, hop_sizes=np.array([0.3]), n_draws=2,
)  # fmt: skip


@needs_compiled
@pytest.mark.parametrize(
    "wrong",
    [
        {"starts": np.full((2, 3), 0.5)},
        {"starts": np.empty((0, 4))},
        {"starts": np.full(4, 0.5)},
        {"starts": np.full((2, 4), np.nan)},
        {"scale": np.ones(3)},
        {"scale": np.zeros(4)},
        {"scale": np.full(4, np.inf)},
        {"slopes": np.empty(0)},
        {"slopes": np.array([1.0, 101.0])},
        {"slopes": np.array([np.nan])},
        {"slopes": np.array([-1.0])},
        {"entries": np.array([50.0])},
        {"entries": np.empty(0)},
        {"margin": 0.3},
        {"reject": np.nan},
        {"square": -1.0},
        {"square": np.inf},
        {"same": np.nan},
        {"finish": 0.0},
        {"tol": np.nan},
        {"max_iter": 0},
        {"n_hops": -1},
        {"n_draws": 0},
        {"hop_sizes": np.empty(0)},
        {"hop_sizes": np.array([np.nan])},
    ],
)
def test_malformed_settings_are_refused(wrong):
    rows = embedded._embedded.Rows(*problem(10, 2))
    rows.minimise(**GOOD)
    with pytest.raises(ValueError, match=r"must|need"):
        rows.minimise(**(GOOD | wrong))


@needs_compiled
@pytest.mark.parametrize("v", [np.zeros(3), np.zeros((2, 2)), np.full(4, np.nan), np.full(4, 2.0)])
def test_points_of_another_shape_are_refused(v):
    with pytest.raises(ValueError, match="must"):
        embedded._embedded.Rows(*problem(10, 2)).objective(v, 1.0, *COSTS)


@needs_compiled
def test_arrays_of_other_types_and_orders_are_copied():
    Z, y, c = problem(50, 3)
    v = np.array([0.5, -0.2, 0.1, 0.3, 0.4])
    expected = embedded._embedded.Rows(Z, y, c).objective(v, 10.0, *COSTS)
    twice = np.repeat(Z, 2, axis=0)[::2]
    for rows in (np.asfortranarray(Z), twice):
        found = embedded._embedded.Rows(rows, y.astype(np.int8), c).objective(v, 10.0, *COSTS)
        assert found[0] == expected[0]
        assert_array_equal(found[1], expected[1])


@needs_compiled
@pytest.mark.parametrize("size", [1e100, 1e300])
def test_huge_rows_end_without_convergence_or_with_a_finite_cost(size):
    Z, y, c = problem(20, 2)
    rows = embedded._embedded.Rows(size * Z, y, c)
    v, J, _, converged, _ = rows.minimise(**GOOD)
    assert np.isfinite(v).all()
    assert np.isfinite(J) or not converged


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
