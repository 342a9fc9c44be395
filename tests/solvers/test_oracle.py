"""RejoSVC against scikit-learn's SVC on the explicitly replicated Gram matrix.

LIBSVM keeps kernel values in single precision.  So that the oracle is exact, all kernel
values here are: the points lie on a small lattice, the gamma of the RBF is log 2, which makes
its values powers of two, and the whole problem is scaled by 1 / h^2 where h^2 is no binary
fraction (kernel and 1 / C by the same factor: the scores stay as they are).
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from rejo import RejoSVC
from rejo.replication import extension_vectors, replica_costs, replica_labels
from rejo.solvers import svm
from rejo.solvers.types import Kernel

N = 50
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.25, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": np.log(2)},
}
LINEAR, POLY, RBF = Kernel("linear"), Kernel("poly", 0.25, 2, 1.0), Kernel("rbf", np.log(2))
COSTS = (0.04, 0.2, 0.4, 0.5)
CS = tuple(2.0 ** np.arange(-5, 8, 2))
HS = (0.1, 1.0, 10.0)


def problem(n_classes):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (N, 4)).astype(float)
    t = X[:, 0] + X[:, 1] * X[:, 2] / 2 + 0.8 * rng.normal(size=N)
    y = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    return X, y, rng.integers(1, 5, N) / 2  # sample weights


def gram(X, kernel, gamma=1.0, degree=1, coef0=0.0):
    if kernel == "rbf":
        return np.exp2(-((X[:, None] - X) ** 2).sum(axis=2))
    return (gamma * X @ X.T + coef0) ** degree


def oracle(X, y, weight, kernel, reject_cost, C, h):
    """Objective and boundary scores (n, Q) of the replicated problem."""
    n_classes = y.max() + 1
    labels = replica_labels(n_classes)[y].T.ravel()
    caps = C * (replica_costs(n_classes, reject_cost)[y] * weight[:, None]).T.ravel()
    Q = 2 * (n_classes - 1)
    scale = round(1 / h**2) if h < 1 else 1
    E = extension_vectors(Q, 1.0 if h < 1 else h)
    K = np.tile(scale * gram(X, **kernel), (Q, Q)) + np.kron(E @ E.T, np.ones((N, N)))
    assert_allclose(K.astype(np.float32), K, rtol=1e-15)  # exact in single precision
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-7, cache_size=500)
    svc.fit(K, labels, sample_weight=caps / scale)
    a, support = svc.dual_coef_[0], svc.support_
    scores = svc.decision_function(K)
    hinge = caps @ np.maximum(0.0, 1.0 - labels * scores)
    objective = scale * 0.5 * a @ K[np.ix_(support, support)] @ a + hinge
    return objective, scores.reshape(Q, N).T


@pytest.fixture
def numpy_only(monkeypatch):
    monkeypatch.setattr(svm, "_svm", None)


def compare(n_classes, name, reject_cost, C, h):
    X, y, weight = problem(n_classes)
    objective, scores = oracle(X, y, weight, KERNELS[name], reject_cost, C, h)
    model = RejoSVC(**KERNELS[name], reject_cost=reject_cost, C=C, h=h, tol=1e-6)
    model.fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    # Sorted thresholds: so are the scores.
    assert_allclose(model.boundary_scores(X), -np.sort(-scores, axis=1), atol=1e-3)
    assert 0 <= model.duality_gap_ <= model.tol
    loose = RejoSVC(**KERNELS[name], reject_cost=reject_cost, C=C, h=h)
    loose.fit(X, y, sample_weight=weight)
    assert 0 <= loose.duality_gap_ <= loose.tol
    assert loose.objective_ == pytest.approx(objective, rel=1.1e-3)


@pytest.mark.parametrize("h", HS)
@pytest.mark.parametrize(
    "C", [CS[0], CS[4], *(pytest.param(C, marks=pytest.mark.check) for C in (*CS[1:4], *CS[5:]))]
)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_objective_and_scores_agree_with_a_replicated_svc(n_classes, name, C, h):
    for reject_cost in COSTS:
        compare(n_classes, name, reject_cost, C, h)


@pytest.mark.filterwarnings("ignore:rejo runs on its NumPy reference:RuntimeWarning")
@pytest.mark.usefixtures("numpy_only")
@pytest.mark.parametrize(
    ("n_classes", "name", "reject_cost", "C", "h"),
    [
        pytest.param(*case, marks=pytest.mark.check if i % 33 else ())
        for i, case in enumerate(product([2, 3, 5], KERNELS, COSTS, CS, HS))
        if i % 11 == 0  # prime to the sizes of the axes: every value meets every other
    ],
)
def test_the_numpy_solver_agrees_too(n_classes, name, reject_cost, C, h):
    compare(n_classes, name, reject_cost, C, h)


def forced(monkeypatch, X, kernel, engine):
    """A problem that is solved by the engine named, however the solver would choose."""
    if svm._svm is None:
        pytest.skip("the compiled solver was not built")
    p = svm.Problem(X, kernel, 200.0)
    monkeypatch.setattr(p, "_engine", lambda *a: (engine, False))
    if engine == "factor":
        assert p._core.factorise(1e-13, len(X))
    return p


@pytest.mark.parametrize(
    ("engine", "name"),
    [(e, k) for e in ("factor", "gram", "blocks") for k in KERNELS if (e, k) != ("factor", "rbf")],
)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_engine_agrees(monkeypatch, engine, name, n_classes):
    X, y, weight = problem(n_classes)
    kernel = {"linear": LINEAR, "poly": POLY, "rbf": RBF}[name]
    for C, h in product([0.25, 16.0], HS):
        objective, scores = oracle(X, y, weight, KERNELS[name], 0.2, C, h)
        caps = C * replica_costs(n_classes, 0.2)[y] * weight[:, None]
        p = forced(monkeypatch, X, kernel, engine)
        solution = p.solve(replica_labels(n_classes)[y], caps, h=h, tol=1e-6)
        assert solution.converged
        assert solution.objective == pytest.approx(objective, rel=1e-6)
        g = gram(X, **KERNELS[name])[:, solution.basis] @ solution.coef
        assert_allclose(g[:, None] + solution.b, scores, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_smooth_kernel_on_its_factor_agrees_with_its_gram_matrix(monkeypatch, n_classes, C):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    t = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=300)
    y = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    labels, caps = replica_labels(n_classes)[y], C * replica_costs(n_classes, 0.2)[y]
    scores = []
    for engine in ("factor", "gram"):
        solution = forced(monkeypatch, X, Kernel("rbf", 0.5), engine).solve(labels, caps, tol=1e-6)
        assert solution.converged
        g = svm.evaluate(X, X[solution.basis], solution.coef, Kernel("rbf", 0.5))
        scores.append(g[:, None] + solution.b)
    assert_allclose(scores[0], scores[1], atol=1e-3)
