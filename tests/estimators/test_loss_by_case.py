"""A loss for each case: the paper's costs of point i, class k and replica q."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo import (
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.baselines import EmbeddedRejectSVC
from rejo.estimators import fit_weighted
from rejo.replication import extension_vectors, replica_labels, replicate
from rejo.solvers import boosting, linear

LEARNERS = [
    RejoSVC(kernel="linear"),
    RejoLinear(),
    RejoLinear(loss="hinge"),
    RejoLinear(loss="squared_hinge"),
    RejoMLP(hidden_layer_sizes=(3,), random_state=0, early_stopping=True),
    RejoKernelLogistic(gamma=0.5, tol=1e-7),
    ReplicationClassifier(LogisticRegression()),
    RejoBoost(boundaries="parallel", n_estimators=20, random_state=0, n_jobs=1),
    RejoBoost(boundaries="replicas", n_estimators=20, random_state=0, n_jobs=1),
]
NAMES = [f"{type(model).__name__}-{i}" for i, model in enumerate(LEARNERS)]


def cases(n=120, n_classes=2, seed=0, step=0.0):
    """Points, classes, and V-shaped losses; costs are multiples of ``step``, if it is given."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 3)).astype(float)
    t = X[:, 0] + X[:, 1] * X[:, 2] / 2 + rng.normal(size=n)
    y = np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)
    costs = rng.lognormal(size=(n, 2 * (n_classes - 1)))
    if step:
        costs = np.ceil(costs / step) * step
    return X, y, loss_of(costs, y), costs


def loss_of(costs, y):
    """Loss rows (n, Q + 1) of replica costs (n, Q)."""
    total = np.pad(np.cumsum(costs, axis=1), ((0, 0), (1, 0)))
    return np.abs(total - np.take_along_axis(total, 2 * y[:, None], axis=1))


def matrix(n_classes):
    return np.abs(np.arange(2 * n_classes - 1) - 2 * np.arange(n_classes)[:, None]) ** 1.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", LEARNERS, ids=NAMES)
def test_equal_rows_are_a_loss_matrix_to_the_bit(model, n_classes):
    X, y, *_ = cases(n_classes=n_classes)
    weight = np.tile([1.0, 2.0, 0.0], 40)
    L = matrix(n_classes)
    rows = L[y]
    rows[weight == 0] = np.nan  # these are no cases
    by_row = type(model)(**model.get_params(deep=False)).fit(X, y, weight, rows)
    params = model.get_params(deep=False) | {"loss_matrix": L}
    by_matrix = type(model)(**params).fit(X, y, weight)
    assert_array_equal(by_row.boundary_scores(X), by_matrix.boundary_scores(X))
    assert by_row.score(X, y) == by_matrix.score(X, y)
    assert hasattr(by_row, "predict_proba") == hasattr(by_matrix, "predict_proba")


@pytest.mark.parametrize("model", LEARNERS, ids=NAMES)
def test_a_factor_of_the_loss_of_a_case_is_a_weight(model):
    X, y, *_ = cases()
    rng = np.random.default_rng(1)
    amount = rng.integers(1, 5, len(y)).astype(float)
    L = matrix(2)
    by_loss = type(model)(**model.get_params(deep=False)).fit(X, y, loss=L[y] * amount[:, None])
    assert not hasattr(by_loss, "predict_proba")
    assert by_loss.judge(X).chance is None
    if isinstance(model, RejoMLP | RejoBoost):
        return  # alpha is divided by the sum of the weights; costs are scaled
    params = model.get_params(deep=False) | {"loss_matrix": L}
    by_weight = type(model)(**params).fit(X, y, amount)
    assert_allclose(by_loss.boundary_scores(X), by_weight.boundary_scores(X), atol=2e-3)


@pytest.mark.parametrize("model", LEARNERS, ids=NAMES)
def test_a_score_is_one_minus_the_mean_loss(model):
    X, y, loss, _ = cases()
    fitted = type(model)(**model.get_params(deep=False)).fit(X, y, loss=loss)
    counts = (fitted.boundary_scores(X) > 0).sum(axis=1)
    paid = loss[np.arange(len(y)), counts]
    assert fitted.score(X, y, loss=loss) == pytest.approx(1 - paid.mean())
    weight = np.arange(1.0, len(y) + 1)
    assert fitted.score(X, y, weight, loss) == pytest.approx(1 - np.average(paid, weights=weight))
    means = np.array([loss[y == k].mean(axis=0) for k in range(2)])
    assert fitted.score(X, y) == pytest.approx(1 - means[y, counts].mean())
    with pytest.raises(ValueError, match=r"\(120, 3\)"):
        fitted.score(X, y, loss=loss[:, :2])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([0.0, 2.0, 1.0], "falls after column 1"),
        ([0.5, 1.0, 2.0], "0 in column 0"),
        ([0.0, np.nan, 1.0], "finite"),
        ([0.0, -1.0, 1.0], "falls after column 0"),
    ],
)
def test_a_row_that_is_no_loss_is_named(row, why):
    X, y, loss, _ = cases()
    i = np.flatnonzero(y == 0)[5]
    loss[i] = row
    weight = np.ones(len(y))
    weight[: i - 1] = 0  # rows keep their numbers
    with pytest.raises(ValueError, match=f"row {i} .*{why}"):
        RejoLinear().fit(X, y, weight, loss)


def test_what_takes_no_loss_says_so():
    X, y, loss, _ = cases()
    with pytest.raises(ValueError, match="shape"):
        RejoLinear().fit(X, y, loss=loss[:-1])
    with pytest.raises(ValueError, match="numbers"):
        RejoLinear().fit(X, y, loss=np.full(loss.shape, "a"))
    with pytest.raises(ValueError, match="loss"):
        EmbeddedRejectSVC().fit(X, y, loss=loss)
    with pytest.raises(ValueError, match="posteriors"):
        RejoBoost(boundaries="posteriors").fit(X, y, loss=loss)
    with pytest.raises(ValueError, match="reject_costs"):
        RejoSVC().fit_path(X, y, reject_costs=[0.1, 0.2], loss=loss)


def test_a_path_has_the_fits_of_its_points():
    X, y, loss, _ = cases()
    for model in RejoLinear().fit_path(X, y, Cs=[0.1, 1.0], loss=loss):
        alone = RejoLinear(C=model.C).fit(X, y, loss=loss)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-5)


def test_losses_are_routed():
    X, y, loss, _ = cases()
    with config_context(enable_metadata_routing=True):
        model = RejoLinear().set_fit_request(loss=True).set_score_request(loss=True)
        pipe = make_pipeline(StandardScaler(), model)
        found = cross_validate(pipe, X, y, cv=3, params={"loss": loss}, return_estimator=True,
                               return_indices=True)  # fmt: skip
    parts = zip(found["indices"]["train"], found["indices"]["test"], strict=True)
    for i, (train, test) in enumerate(parts):
        mine = make_pipeline(StandardScaler(), RejoLinear())
        fit_weighted(mine, X[train], y[train], None, loss[train])
        Z = mine[0].transform(X[test])
        assert found["test_score"][i] == mine[-1].score(Z, y[test], loss=loss[test])


# ---- oracles ------------------------------------------------------------------------------


def replicated_svc(X, y, costs, C):
    """Objective of SVC on the explicitly replicated Gram matrix, weighted by C x costs."""
    n, Q = costs.shape
    labels = replica_labels(Q // 2 + 1)[y].T.ravel()
    E = extension_vectors(Q)
    K = np.tile(X @ X.T, (Q, Q)) + np.kron(E @ E.T, np.ones((n, n)))
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-8, cache_size=200)
    svc.fit(K, labels, sample_weight=C * costs.T.ravel())
    f, a = svc.decision_function(K), svc.dual_coef_[0]
    hinge = C * costs.T.ravel() @ np.maximum(0.0, 1.0 - labels * f)
    return hinge + 0.5 * a @ K[np.ix_(svc.support_, svc.support_)] @ a


def check_svc(seeds):
    for seed in seeds:
        n_classes = (2, 3, 5)[seed % 3]
        # Costs and kernel values that single precision, in which LIBSVM keeps them, holds exactly.
        X, y, loss, costs = cases(40, n_classes, seed, step=0.25)
        C = 2.0 ** (seed % 5 - 3)
        model = RejoSVC(kernel="linear", C=C, tol=3e-7).fit(X, y, loss=loss)
        assert model.objective_ == pytest.approx(replicated_svc(X, y, costs, C), rel=1e-6), seed


def test_svc_has_the_objective_of_a_replicated_svc():
    check_svc(range(9))


@pytest.mark.check
def test_svc_has_the_objective_of_a_replicated_svc_in_100_problems():
    check_svc(range(100))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("loss_name", ["logistic", "squared_hinge", "hinge"])
def test_linear_minimises_the_replicated_objective(n_classes, loss_name):
    X, y, loss, costs = cases(60, n_classes)
    labels = replica_labels(n_classes)[y]
    p, Q = X.shape[1], costs.shape[1]

    def objective(x):
        b = x[p:]
        m = labels * ((X @ x[:p])[:, None] + b)
        at = {
            "logistic": np.logaddexp(0.0, -m),
            "squared_hinge": np.maximum(0.0, 1.0 - m) ** 2,
            "hinge": np.maximum(0.0, 1.0 - m),
        }[loss_name]
        return 0.5 * (x[:p] @ x[:p] + ((b[1:] - b[0]) ** 2).sum()) + (costs * at).sum()

    model = RejoLinear(loss=loss_name, tol=1e-10).fit(X, y, loss=loss)
    if loss_name == "hinge":  # an SVM with a linear kernel
        best = RejoSVC(kernel="linear", tol=1e-9).fit(X, y, loss=loss).objective_
    else:
        best = minimize(objective, np.zeros(p + Q), options={"gtol": 1e-7}).fun
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    kernel = RejoKernelLogistic(kernel="linear", h=1.0, tol=1e-9)
    if loss_name == "logistic":
        assert kernel.fit(X, y, loss=loss).objective_ == pytest.approx(best, rel=1e-6)


def test_many_points_take_the_path_of_a_sample():
    """With a sample that starts the descent, and several blocks of points."""
    X, y, loss, costs = cases(30_000)
    found = RejoLinear(tol=1e-10).fit(X, y, loss=loss)
    labels = replica_labels(2)[y]
    x = np.append(found.coef_[0], -found.thresholds_)
    s = 1 / (1 + np.exp(labels * ((X @ x[:3])[:, None] + x[3:])))
    u = costs * labels * s  # minus the derivative of the loss by the scores
    error = 1e-5 * np.abs(u).sum()
    assert_allclose(X.T @ u.sum(axis=1), x[:3], atol=error)
    assert_allclose(u.sum(axis=0), [x[3] - x[4], x[4] - x[3]], atol=error)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_classifier_gets_the_costs_as_weights(n_classes):
    X, y, loss, costs = cases(n_classes=n_classes)
    model = ReplicationClassifier(LogisticRegression(), coding="onehot").fit(X, y, loss=loss)
    Z, t, w = replicate(X, y, np.ones((n_classes, costs.shape[1])), sample_weight=costs)
    alone = LogisticRegression().fit(Z, t > 0, sample_weight=w)
    assert_allclose(w, costs.T.ravel())
    assert_allclose(model.estimator_.coef_, alone.coef_, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_network_without_hidden_units_is_the_linear_model(n_classes):
    X, y, loss, _ = cases(n_classes=n_classes)
    model = RejoMLP(hidden_layer_sizes=(), alpha=1.0, tol=1e-8, random_state=0)
    found = model.fit(X, y, loss=loss)
    assert found.objective_ * len(y) == pytest.approx(
        RejoLinear(tol=1e-10).fit(X, y, loss=loss).objective_, rel=1e-5
    )


@pytest.mark.parametrize("form", ["parallel", "replicas"])
def test_boosting_with_whole_amounts_is_boosting_of_repeated_rows(form):
    X, y, *_ = cases(150)
    amount = np.random.default_rng(2).integers(1, 4, len(y))
    L = np.array([[0.0, 0.25, 1.0], [1.0, 0.25, 0.0]])
    how = dict(boundaries=form, n_estimators=15, validation=0.3, early_stopping_rounds=None,
               min_child_weight=0.0, reg_lambda=0.0, random_state=0, n_jobs=1)  # fmt: skip
    by_loss = RejoBoost(**how).fit(X, y, loss=L[y] * amount[:, None])
    by_weight = RejoBoost(**how, loss_matrix=L).fit(X, y, amount)
    assert_allclose(by_loss.boundary_scores(X), by_weight.boundary_scores(X), atol=0.02)


def test_slopes_are_those_of_each_row():
    rng = np.random.default_rng(0)
    n, Q = 50, 4
    g, b = rng.normal(size=n), np.sort(rng.normal(size=Q))[::-1].copy()
    labels, costs = np.sign(rng.normal(size=(n, Q))), rng.lognormal(size=(n, Q))

    def total(g):
        return boosting.total_loss(g[:, None] + b, np.arange(n), None, labels, costs)

    rows = np.arange(n, dtype=np.int32)
    found = boosting.slopes(g.astype(np.float32), rows, None, labels, costs, b)
    eps = 1e-4 * np.eye(n)
    numeric = [(total(g + one) - total(g - one)) / 2e-4 for one in eps]
    assert_allclose(found.gradient, numeric, atol=1e-4)


# ---- the order of the thresholds ------------------------------------------------------------


def pair_costs(rng, y, most):
    """Errors and reviews with ``r / (e - r) <= most`` in class 0, ``(e - r) / r >= most`` in 1."""
    low = rng.lognormal(size=len(y))
    ratio = rng.lognormal(size=len(y)) + 1e-3
    share = np.where(y == 0, np.minimum(ratio, most), np.maximum(ratio, most))
    return np.column_stack([share * low, low])  # c_i0 / c_i1 is the share


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge"])
def test_two_thresholds_are_in_order_if_a_review_pays_at_every_pair(name):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y, *_ = cases(40, seed=seed)
        most = 2.0 ** rng.integers(-3, 4)
        costs = pair_costs(rng, y, most)
        c0, c1 = costs.T
        e, r = c0 + c1, np.where(y == 0, c0, c1)
        worst = (r / (e - r))[y == 0].max() * (r / (e - r))[y == 1].max()
        assert worst <= 1 + 1e-9  # the condition of the docstring
        labels = replica_labels(2)[y]
        h = 10.0 ** rng.integers(-1, 3)
        found = linear.solve(X, np.arange(40), labels, costs, loss=name, h=h, tol=1e-8)
        assert found.b[0] >= found.b[1] - 1e-4


def test_otherwise_they_may_cross_and_are_sorted():
    X, y, *_ = cases(200)
    costs = np.where(y[:, None] == 0, [0.9, 0.1], [0.1, 0.9])  # reviews cost nine tenths of errors
    found = linear.solve(X, np.arange(200), replica_labels(2)[y], costs, h=10.0)
    assert found.b[0] < found.b[1]
    model = RejoLinear(h=10.0).fit(X, y, loss=loss_of(costs, y))
    assert_allclose(model.thresholds_, np.sort(-found.b), rtol=1e-6)
    counts = ((X @ found.w)[:, None] + found.b > 0).sum(axis=1)
    assert_array_equal((model.boundary_scores(X) > 0).sum(axis=1), counts)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_convex_rows_order_the_best_thresholds_on_any_score(n_classes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, y, *_ = cases(60, n_classes, seed)
        Q = 2 * (n_classes - 1)
        steps = np.sort(rng.lognormal(size=(60, 2, Q)), axis=2)  # below and above each class
        q = np.arange(Q)
        away = np.where(q >= 2 * y[:, None], q - 2 * y[:, None], 2 * y[:, None] - 1 - q)
        side = (q >= 2 * y[:, None]).astype(int)
        costs = steps[np.arange(60)[:, None], side, away]
        g = np.repeat(rng.normal(size=60)[:, None], Q, axis=1)
        table = boosting.score_table(g, y, costs, n_classes)
        labels = replica_labels(n_classes)
        b = boosting.best_thresholds(table, labels, np.ones_like(labels))
        assert (np.diff(b) <= 1e-6).all()
