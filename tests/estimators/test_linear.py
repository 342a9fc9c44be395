"""RejoLinear as a user meets it: Chow's rule, inputs, streams."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, RejoSVC
from rejo.solvers import linear
from tests.estimators.points import ordered_points

LOSSES = tuple(linear.LOSSES)


def same(model, other, X, atol=1e-4):
    assert_allclose(model.boundary_scores(X), other.boundary_scores(X), atol=atol)


# ---- what is fitted ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("reject_cost", "n_boundaries"), [(0.2, 4), (None, 2)])
def test_attributes(data, loss, reject_cost, n_boundaries):
    X, y = data
    model = RejoLinear(loss=loss, reject_cost=reject_cost).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.reject_label_ == (None if reject_cost is None else -1)
    assert model.coef_.shape == (1, 2)
    assert model.thresholds_.shape == (n_boundaries,)
    assert (np.diff(model.thresholds_) >= 0).all()
    assert_allclose(model.boundary_scores(X), X @ model.coef_.T - model.thresholds_)
    assert 0 <= model.optimality_gap_ <= model.tol
    assert model.objective_ > 0
    assert model.n_iter_ >= 1
    assert model.n_features_in_ == 2
    assert not hasattr(model, "decision_function")
    if reject_cost is None:
        assert set(model.predict(X)) <= {0, 1, 2}
        assert_array_equal(model.predict(X), model.predict_forced(X))


def test_predictions_count_the_positive_scores(data):
    X, y = data
    model = RejoLinear().fit(X, y)
    counts = (model.boundary_scores(X) > 0).sum(axis=1)
    assert_array_equal(model.predict(X), np.where(counts % 2 == 1, -1, counts // 2))
    assert_array_equal(model.reject_mask(X), counts % 2 == 1)
    forced = model.predict_forced(X)
    assert_array_equal(forced[~model.reject_mask(X)], model.predict(X)[~model.reject_mask(X)])
    on_a_boundary = np.array([[model.thresholds_[1] / model.coef_[0, 0], 0.0]])
    on_a_boundary = on_a_boundary + np.array([[-1e-9, 0.0], [0.0, 0.0], [1e-9, 0.0]])
    counts = (model.boundary_scores(on_a_boundary) > 0).sum(axis=1)
    assert_array_equal(model._counts(on_a_boundary), counts)


def test_without_rejection_two_classes_are_a_plain_logistic_regression(binary):
    X, y = binary
    ours = RejoLinear(reject_cost=None, tol=1e-12).fit(X, y)
    theirs = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    assert_allclose(-ours.thresholds_, theirs.intercept_, rtol=1e-4)


def diabetes_grades(n_classes):
    X, y = load_diabetes(return_X_y=True)
    return X, np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)


DATA = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "diabetes, 5 grades": lambda: diabetes_grades(5),
    "band, 2": lambda: ordered_points(n_classes=2),
    "band, 3": lambda: ordered_points(n_classes=3),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reject_cost", [0.1, 0.4, None])
def test_the_hinge_is_the_linear_svm(name, weighted, reject_cost):
    X, y = DATA[name]()
    X = StandardScaler().fit_transform(X)
    weight = np.random.default_rng(0).uniform(0.2, 3, len(y)) if weighted else None
    ours = RejoLinear(loss="hinge", reject_cost=reject_cost).fit(X, y, weight)
    svm = RejoSVC(kernel="linear", reject_cost=reject_cost, tol=1e-6).fit(X, y, weight)
    assert ours.objective_ == pytest.approx(svm.objective_, rel=1e-5)
    assert_allclose(ours.coef_, svm.coef_, atol=2e-2 * np.abs(svm.coef_).max())


# ---- Chow's rule -------------------------------------------------------------------------


@pytest.mark.parametrize("reject_cost", [0.1, 0.3])
def test_the_boundaries_are_those_of_chow(reject_cost):
    """On a logistic population, at p = w_r and p = 1 - w_r within four standard errors.

    The errors are those of the sandwich formula, ``H^-1 V H^-1``, at the estimate.
    """
    rng = np.random.default_rng(0)
    n, w, b = 40_000, np.array([1.0, -2.0, 0.5]), 0.3
    X = rng.normal(size=(n, 3))
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-(X @ w + b)))).astype(int)
    model = RejoLinear(reject_cost=reject_cost, C=1e3, h=1e3, tol=1e-12).fit(X, y)
    # w.x + b_q = 0 must be logit p = +-log((1 - w_r) / w_r): b_q = b +- that.
    gap = np.log((1 - reject_cost) / reject_cost)
    found = np.concatenate([model.coef_[0], -model.thresholds_])
    truth = np.concatenate([w, [b + gap, b - gap]])
    costs = np.where(y[:, None] == [0, 1], reject_cost, 1 - reject_cost)  # (n, 2)
    s = 1 / (1 + np.exp(-model.boundary_scores(X)))
    slopes, bends = costs * (s - y[:, None]), costs * s * (1 - s)
    scores = np.column_stack([slopes.sum(axis=1)[:, None] * X, slopes])
    H = np.block(
        [[(X.T * bends.sum(axis=1)) @ X, X.T @ bends], [bends.T @ X, np.diag(bends.sum(axis=0))]]
    )
    errors = np.sqrt(np.diag(np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)))
    assert errors.max() < 0.05  # small enough for the test to mean something
    assert (np.abs(found - truth) < 4 * errors).all()


def test_the_hinge_puts_its_boundaries_elsewhere():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1))
    y = (rng.uniform(size=5000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    widths = {}
    for loss in ("logistic", "hinge"):
        model = RejoLinear(loss=loss, reject_cost=0.1, C=1e3, h=1e3).fit(X, y)
        widths[loss] = np.ptp(model.thresholds_) / model.coef_[0, 0]
    assert widths["logistic"] == pytest.approx(np.log(9), abs=0.15)
    assert abs(widths["hinge"] - np.log(9)) > 0.3


# ---- invariances -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_the_rows_does_not_matter(data, loss):
    X, y = data
    rows = np.random.default_rng(0).permutation(len(y))
    same(
        RejoLinear(loss=loss, tol=1e-10).fit(X, y),
        RejoLinear(loss=loss, tol=1e-10).fit(X[rows], y[rows]),
        X,
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_swapping_two_classes_mirrors_the_scores(binary, loss):
    X, y = binary
    model = RejoLinear(loss=loss, tol=1e-10).fit(X, y)
    mirrored = RejoLinear(loss=loss, tol=1e-10).fit(X, 1 - y)
    assert_allclose(model.boundary_scores(X), -mirrored.boundary_scores(X)[:, ::-1], atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_is_neither_copied_nor_computed_in(data, loss, monkeypatch):
    X, y = data
    X32 = X.astype(np.float32)
    expected = RejoLinear(loss=loss).fit(X32.astype(np.float64), y)
    seen = []
    solve = linear.solve
    monkeypatch.setattr(
        "rejo.solvers.linear.solve", lambda X, *a, **b: (seen.append(X), solve(X, *a, **b))[1]
    )
    model = RejoLinear(loss=loss).fit(X32, y)
    assert seen[0] is X32 or seen[0].base is X32
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert_allclose(model.boundary_scores(X32), expected.boundary_scores(X32), rtol=1e-9)
    assert model.coef_.dtype == np.float64


# ---- labels, costs, weights --------------------------------------------------------------


def test_class_order_and_loss_matrix(data):
    X, y = data
    names = np.array(["mild", "severe", "critical"])
    expected = RejoLinear(reject_cost=0.3).fit(X, y)
    model = RejoLinear(reject_cost=0.3, class_order=names.tolist()).fit(X, names[y])
    assert model.classes_.tolist() == names.tolist()
    assert_array_equal(model.predict_forced(X), names[expected.predict_forced(X)])
    loss = [[0, 0.3, 1, 1.7, 2.4], [1, 0.3, 0, 0.3, 1], [2.4, 1.7, 1, 0.3, 0]]
    same(RejoLinear(loss_matrix=loss, tol=1e-10).fit(X, y), expected, X, atol=1e-2)
    with pytest.raises(ValueError, match="loss_matrix"):
        RejoLinear(loss_matrix=[[0, 1], [1, 0]]).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reject_cost", 0),
        ("reject_cost", 0.6),
        ("C", 0),
        ("C", 1e200),
        ("loss", "squared_error"),
        ("h", 0),
        ("s", 0),
        ("tol", 0),
        ("max_iter", 0),
        ("warm_start", "yes"),
        ("class_weight", "even"),
    ],
)
def test_parameters_are_checked_in_fit(data, name, value):
    for call in (RejoLinear.fit, lambda m, X, y: m.partial_fit(X, y, classes=[0, 1, 2])):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call(RejoLinear(**{name: value}), *data)


def test_bad_data_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="overflow"):
        RejoLinear().fit(1e160 * X, y)
    for dtype in (np.float64, np.float32):
        broken = X.astype(dtype)
        broken[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            RejoLinear().fit(broken, y)
        with pytest.raises(ValueError, match="NaN"):
            RejoLinear().fit(X.astype(dtype), y).predict(broken)


# ---- convergence -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bound_on_the_steps_is_kept_and_reported(data, loss):
    message = "Raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message):
        model = RejoLinear(loss=loss, max_iter=1, tol=1e-9).fit(*data)
    assert model.n_iter_ == 1
    assert model.optimality_gap_ > 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_goes_on_from_the_last_fit(data, binary, loss):
    X, y = data
    model = RejoLinear(loss=loss, warm_start=True).fit(X, y)
    first = clone(model).fit(X, y)
    assert model.fit(X, y).n_iter_ <= first.n_iter_
    assert model.objective_ == pytest.approx(first.objective_, rel=2e-6)
    model.fit(*binary)  # other classes: a new start
    assert model.objective_ == pytest.approx(
        RejoLinear(loss=loss).fit(*binary).objective_, rel=2e-6
    )


# ---- streams -----------------------------------------------------------------------------


def chunks(X, y, size=100):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.float32])
@pytest.mark.parametrize("reject_cost", [0.2, None])
def test_a_stream_comes_near_the_risk_of_a_fit(loss, form, reject_cost):
    X, y = ordered_points(n=8000, seed=3)
    X_new, y_new = ordered_points(n=4000, seed=4)
    batch = RejoLinear(loss=loss, reject_cost=reject_cost).fit(X, y)
    model = RejoLinear(loss=loss, reject_cost=reject_cost, random_state=0)
    for points, labels in chunks(form(X), y, 200):
        model.partial_fit(points, labels, classes=[0, 1, 2])
    assert model.score(X_new, y_new) == pytest.approx(batch.score(X_new, y_new), abs=0.01)
    untrained = RejoLinear(loss=loss, reject_cost=reject_cost).partial_fit(
        X[:3], y[:3], classes=[0, 1, 2]
    )
    assert untrained.score(X_new, y_new) < batch.score(X_new, y_new) - 0.05
    assert not hasattr(model, "objective_")


def test_a_stream_is_the_same_again_and_after_a_pickle():
    X, y = ordered_points(n=600)
    models = [RejoLinear(loss="hinge", random_state=0) for _ in range(2)]
    for points, labels in chunks(X, y):
        models[0].partial_fit(points, labels, classes=[0, 1, 2])
        models[1] = pickle.loads(pickle.dumps(models[1]))
        models[1].partial_fit(points, labels, classes=[0, 1, 2])
    assert_array_equal(models[0].coef_, models[1].coef_)


def test_chunks_may_lack_classes_and_carry_weights():
    X, y = ordered_points(n=3000)
    order = np.argsort(np.arange(3000) // 100 * 10 + y, kind="stable")  # chunks of one class
    weight = np.arange(3000) % 2
    model = RejoLinear()
    for i in range(0, 3000, 50):
        rows = order[i : i + 50]
        model.partial_fit(X[rows], y[rows], [0, 1, 2], sample_weight=weight[rows])
    batch = RejoLinear().fit(X, y, weight)
    assert model.score(X, y) == pytest.approx(batch.score(X, y), abs=0.02)


def test_the_classes_of_a_stream(data):
    X, y = data
    names = np.array(["low", "mid", "high"])
    model = RejoLinear(class_order=names).partial_fit(X, names[y])
    assert model.classes_.tolist() == names.tolist()
    same(model, RejoLinear(class_order=names).fit(X, names[y]), X, atol=1e-2)
    ordered = RejoLinear(class_order=names).partial_fit(X, names[y], classes=np.sort(names))
    assert ordered.classes_.tolist() == names.tolist()
    with pytest.raises(ValueError, match="not known"):
        RejoLinear().partial_fit(X, names[y], classes=names)
    with pytest.raises(ValueError, match="does not know"):
        model.partial_fit(X[:1], ["top"])
    with pytest.raises(ValueError, match="last call"):
        model.partial_fit(X, names[y], classes=["low", "mid"])
    with pytest.raises(ValueError, match="first call"):
        RejoLinear().partial_fit(X, y)
    with pytest.raises(ValueError, match="two or more"):
        RejoLinear().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="class_weight"):
        RejoLinear(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1], names[y])


def test_class_weights_of_a_stream(binary):
    X, y = binary
    model = RejoLinear(class_weight={1: 5}).partial_fit(X, y, classes=[0, 1])
    same(model, RejoLinear(class_weight={1: 5}, tol=1e-12).fit(X, y), X, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stream_goes_on_from_a_fit(loss):
    X, y = ordered_points(n=4000)
    model = RejoLinear(loss=loss, random_state=0).fit(X[:3600], y[:3600])
    before = model.boundary_scores(X)
    for points, labels in chunks(X[3600:], y[3600:]):
        model.partial_fit(points, labels)
    whole = RejoLinear(loss=loss).fit(X, y)
    assert np.abs(model.boundary_scores(X) - before).max() > 0
    assert_allclose(model.boundary_scores(X), whole.boundary_scores(X), atol=0.5)
    assert model.score(X, y) == pytest.approx(whole.score(X, y), abs=5e-3)
    model.fit(X[:100], y[:100])  # a fit forgets
    same(model, RejoLinear(loss=loss).fit(X[:100], y[:100]), X)


# ---- in company --------------------------------------------------------------------------


# ---- paths -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_is_the_separate_fits(loss):
    X, y = ordered_points()
    costs, Cs = [0.05, 0.2, 0.4, None], [0.1, 10.0]
    weight = 1.0 + np.arange(len(y)) % 3  # with a row that has none
    weight[5] = 0.0
    base = RejoLinear(loss=loss, tol=1e-9)
    models = base.fit_path(X, y, reject_costs=costs, Cs=iter(Cs), sample_weight=weight)
    assert [(m.reject_cost, m.C) for m in models] == [(cost, C) for cost in costs for C in Cs]
    assert not hasattr(base, "coef_")
    for model in models:
        alone = clone(model).fit(X, y, weight)
        assert model.optimality_gap_ <= 1e-9
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-8)
        assert_allclose(model.boundary_scores(X), alone.boundary_scores(X), atol=1e-3)
        assert model.reject_label_ == alone.reject_label_
