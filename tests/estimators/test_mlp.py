"""RejoMLP as a user meets it: what is fitted, how training goes on, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoMLP
from rejo.datasets import bayes_risk, make_synthetic_1
from rejo.solvers import mlp as solver_module
from tests.estimators.points import ordered_points

SOLVERS = {
    "lbfgs": {"solver": "lbfgs"},
    "rprop": {"solver": "rprop"},
    "adam": {"solver": "adam", "learning_rate_init": 0.02},
}
solvers = pytest.mark.parametrize("solver", SOLVERS)


def make(solver="lbfgs", **settings):
    return RejoMLP(**{"hidden_layer_sizes": (5,), "random_state": 0, **SOLVERS[solver], **settings})


# ---- what is fitted ----------------------------------------------------------------------


@solvers
@pytest.mark.parametrize(("reject_cost", "n_boundaries"), [(0.2, 4), (None, 2)])
def test_attributes(data, solver, reject_cost, n_boundaries):
    X, y = data
    model = make(solver, hidden_layer_sizes=(5, 4), reject_cost=reject_cost).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.reject_label_ == (None if reject_cost is None else -1)
    assert model.thresholds_.shape == (n_boundaries,)
    assert (np.diff(model.thresholds_) >= 0).all()
    assert [W.shape for W in model.coefs_] == [(2, 5), (5, 4), (4, 1)]
    assert [c.shape for c in model.intercepts_] == [(5,), (4,), (n_boundaries,)]
    assert_array_equal(model.intercepts_[-1], -model.thresholds_)
    assert model.n_layers_ == 4
    assert len(model.loss_curve_) == model.n_iter_ >= 1
    assert model.best_loss_ == min(model.loss_curve_)
    assert model.objective_ < model.loss_curve_[0]
    assert model.validation_curve_ == []
    assert model.n_features_in_ == 2
    assert not hasattr(model, "decision_function")


@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
def test_scores_are_the_network_minus_the_thresholds(data, activation):
    X, y = data
    model = make(hidden_layer_sizes=(6, 4), activation=activation, alpha=1.0).fit(X, y)
    function = {
        "tanh": np.tanh,
        "relu": lambda z: np.maximum(z, 0),
        "logistic": lambda z: 1 / (1 + np.exp(-z)),
    }[activation]
    a = X
    for W, c in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        a = function(a @ W + c)
    scores = a @ model.coefs_[-1] - model.thresholds_
    assert_allclose(model.boundary_scores(X), scores, atol=1e-12)
    counts = (scores > 0).sum(axis=1)
    assert_array_equal(model.predict(X), np.where(counts % 2, -1, counts // 2))
    assert_array_equal(model.reject_mask(X), counts % 2 == 1)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_objective_of_the_attributes_is_the_one_reported(n_classes):
    """Written out from the formula in the docstring, not from the solver."""
    X, y = ordered_points(n=60, n_classes=n_classes)
    weight = np.linspace(0.5, 2, 60)
    model = make(alpha=0.3, h=2.0, reject_cost=0.3, tol=1e-7).fit(X, y, weight)
    j = np.arange(2 * (n_classes - 1)) // 2
    k, q = y[:, None], np.arange(j.size)
    signs = np.where(k > j, 1, -1)
    costs = np.where(k == j + q % 2, 0.3, 0.7) * weight[:, None]
    b = model._theta[-j.size :]  # as solved, not sorted
    f = model.boundary_scores(X) + model.thresholds_ + b
    squares = sum((W**2).sum() for W in model.coefs_) + ((b - b[0]) ** 2).sum() / 4
    total = (costs * np.logaddexp(0, -signs * f)).sum() + 0.15 * squares
    assert model.objective_ == pytest.approx(total / weight.sum(), rel=1e-10)
    assert model.objective_ == pytest.approx(model.best_loss_, rel=1e-10)


def test_sorted_thresholds_decide_as_those_solved_for():
    """A small h, anchored on the first threshold, leaves some of four classes out of order."""
    found = False
    for seed in range(20):
        X, y = ordered_points(n=24, n_classes=4, seed=seed)
        model = make(hidden_layer_sizes=(), alpha=50.0, random_state=seed).fit(X, y)
        b = model._theta[-6:]
        found |= bool((np.diff(b) > 1e-6).any())
        g = model.boundary_scores(X)[:, :1] + model.thresholds_[0]
        counts = (g + b > 0).sum(axis=1)
        assert_array_equal(model.predict(X), np.where(counts % 2, -1, counts // 2))
    assert found


@pytest.mark.parametrize("solver", ["lbfgs", "rprop"])
def test_rejo_nn_comes_near_the_bayes_risk(solver):
    """SyntheticI: with 400 points the risk is at most a fifth above the best possible."""
    X_test, y_test = make_synthetic_1(20_000, random_state=99)
    for reject_cost in (0.12, 0.28):
        risks = []
        for seed in range(3):
            X, y = make_synthetic_1(400, random_state=seed)
            model = RejoMLP(
                alpha=0.3, solver=solver, reject_cost=reject_cost, tol=1e-5, random_state=seed
            )
            risks.append(1 - model.fit(X, y).score(X_test, y_test))
        assert np.mean(risks) < 1.2 * bayes_risk("synthetic_1", reject_cost)


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
def test_the_boundaries_are_those_of_chow(loss):
    """With many points the edges of the reject region lie at p = w_r and p = 1 - w_r."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(6_000, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0] - 2 * np.tanh(X[:, 1])))
    y = rng.uniform(size=len(X)) < p
    model = RejoMLP((6,), loss=loss, reject_cost=0.15, alpha=1.0, random_state=0).fit(X, y)
    f = model.boundary_scores(X)
    for q, edge in enumerate((0.15, 0.85)):
        at_edge = np.argsort(np.abs(f[:, q]))[:200]
        assert p[at_edge].mean() == pytest.approx(edge, abs=0.03)


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
def test_the_reject_region_shrinks_as_its_cost_grows(binary, loss):
    X, y = binary
    rates = [
        make(reject_cost=c, loss=loss, alpha=0.5).fit(X, y).reject_mask(X).mean()
        for c in (0.05, 0.2, 0.4, 0.5)
    ]
    assert rates[0] > 0.1
    assert rates[-1] == 0
    assert (np.diff(rates) <= 0).all()


def test_without_rejection_two_classes_are_a_plain_network(binary):
    X, y = binary
    settings = dict(alpha=2.0, tol=1e-8, max_iter=5000, random_state=0)
    ours = RejoMLP((3,), reject_cost=None, **settings).fit(X, y)
    theirs = MLPClassifier((3,), activation="tanh", solver="lbfgs", **settings).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.loss_, rel=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_settings_of_the_paper(data):
    X, y = data
    model = make("rprop", loss="squared_error", max_iter=15)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    assert model.n_iter_ == 15
    assert model.score(X, y) > 0.6


def test_costs_class_order_and_labels_work_as_in_every_learner(data):
    X, y = data
    names = np.array(["mild", "severe", "critical"])
    model = make(reject_cost=0.3, class_order=names.tolist()).fit(X, names[y])
    assert model.classes_.tolist() == names.tolist()
    assert set(model.predict(X)) == {*names, "reject"}
    loss = [[0, 0.3, 1, 1.7, 2.4], [1, 0.3, 0, 0.3, 1], [2.4, 1.7, 1, 0.3, 0]]
    same = make(loss_matrix=loss).fit(X, y)
    assert_allclose(same.boundary_scores(X), model.boundary_scores(X), atol=1e-3)
    narrow = make(reject_cost=0.3, s=1).fit(X, y)
    assert not np.allclose(narrow.thresholds_, model.thresholds_, atol=1e-3)
    table = model.review(pd.DataFrame(X))
    assert_array_equal(table.decision, model.predict(X))


# ---- inputs ------------------------------------------------------------------------------

# ---- training ----------------------------------------------------------------------------


@solvers
def test_the_seed_decides(data, solver):
    X, y = data
    first, again = (make(solver, batch_size=30).fit(X, y) for _ in range(2))
    assert_array_equal(first.boundary_scores(X), again.boundary_scores(X))
    other = make(solver, batch_size=30, random_state=1).fit(X, y)
    assert not np.allclose(first.coefs_[0], other.coefs_[0])


def test_restarts_keep_the_least_objective(data):
    X, y = data
    rng = np.random.RandomState(3)
    settings = dict(hidden_layer_sizes=(3,), alpha=0.01, activation="relu")
    singles = [make(random_state=rng, **settings).fit(X, y) for _ in range(4)]
    best = make(random_state=np.random.RandomState(3), n_restarts=4, **settings).fit(X, y)
    objectives = [model.objective_ for model in singles]
    assert max(objectives) > min(objectives) + 1e-4
    assert best.objective_ == pytest.approx(min(objectives), rel=1e-9)


@solvers
def test_warm_start_continues(data, solver):
    X, y = data
    model = make(solver, max_iter=4, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    first = model.objective_
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.n_iter_ == 4
    assert len(model.loss_curve_) == 8
    assert model.objective_ < first
    model.set_params(max_iter=2000).fit(X, y)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=0.05)
    again = clone(model).fit(X, y)
    again.set_params(max_iter=50).fit(X, y)
    assert again.n_iter_ < cold.n_iter_


def test_a_refit_without_warm_start_forgets(data, binary):
    model = make().fit(pd.DataFrame(data[0], columns=["a", "b"]), data[1])
    model.fit(*binary)
    assert not hasattr(model, "feature_names_in_")
    fresh = make().fit(*binary)
    assert_array_equal(model.boundary_scores(binary[0]), fresh.boundary_scores(binary[0]))
    assert model.loss_curve_ == fresh.loss_curve_


def test_warm_start_refuses_another_problem(data, binary):
    model = make(warm_start=True).fit(*data)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(*binary)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        clone(model).fit(*data).set_params(hidden_layer_sizes=(7,)).fit(*data)
    with pytest.raises(ValueError, match="warm_start"):
        clone(model).fit(*data).set_params(reject_cost=None).fit(*data)


def test_partial_fit_streams():
    X, y = make_synthetic_1(24_000, random_state=0)
    X_test, y_test = make_synthetic_1(5_000, random_state=1)
    model = RejoMLP(solver="adam", learning_rate_init=0.02, batch_size=20, random_state=0)
    for part in np.split(np.arange(24_000), 60):
        model.partial_fit(X[part], y[part], classes=[-1, 1])
    assert len(model.loss_curve_) == 60
    assert model.n_iter_ == 1
    assert 1 - model.score(X_test, y_test) < 1.25 * bayes_risk("synthetic_1", 0.2)


def test_partial_fit_is_a_pass_of_fit(data):
    X, y = data
    settings = dict(batch_size=20, n_iter_no_change=np.inf, max_iter=6)
    with pytest.warns(ConvergenceWarning):
        whole = make("adam", **settings).fit(X, y)
    model = make("adam", **settings)
    for _ in range(6):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert_allclose(model.boundary_scores(X), whole.boundary_scores(X), atol=1e-9)
    assert_allclose(model.loss_curve_, whole.loss_curve_)


def test_partial_fit_meets_classes_late_and_knows_their_order(data):
    X, y = data
    names = np.array(["low", "mid", "high"])
    model = make("adam", class_order=names.tolist())
    model.partial_fit(X[y != 2], names[y[y != 2]])  # class_order names them all
    assert model.classes_.tolist() == names.tolist()
    weight = np.ones(len(y))
    model.partial_fit(X, names[y], sample_weight=weight)
    for _ in range(60):
        model.partial_fit(X, names[y])
    assert set(model.predict_forced(X)) == set(names)


def test_partial_fit_takes_weights(data):
    X, y = data
    models = [
        make("adam", class_weight={2: 3.0}).partial_fit(X, y, [0, 1, 2]),
        make("adam").partial_fit(X, y, [0, 1, 2], np.where(y == 2, 3.0, 1.0)),
    ]
    assert_allclose(models[0].boundary_scores(X), models[1].boundary_scores(X), atol=1e-12)


def test_partial_fit_refuses_what_it_cannot_do(data):
    X, y = data
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        _ = make("lbfgs").partial_fit
    assert "solver='adam'" in str(caught.value.__cause__)
    assert not hasattr(make("rprop"), "partial_fit")
    with pytest.raises(ValueError, match="first call"):
        make("adam").partial_fit(X, y)
    with pytest.raises(ValueError, match="early_stopping"):
        make("adam", early_stopping=True).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="class_weight"):
        make("adam", class_weight="balanced").partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="two or more"):
        make("adam").partial_fit(X, y, [0])
    model = make("adam").partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] is not the same"):
        model.partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="does not know"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :1], y)


@solvers
def test_early_stopping_holds_points_out(solver, monkeypatch):
    """Whole points of every class, with all of their replicas; the best parameters are kept."""
    X, y = ordered_points(n=120, n_classes=3)
    seen = []
    original = solver_module.minimise

    def spy(theta, data, net, *, validation, **options):
        seen.append((data, validation))
        return original(theta, data, net, validation=validation, **options)

    monkeypatch.setattr("rejo.solvers.mlp.minimise", spy)
    weight = np.linspace(1, 2, 120)
    model = make(solver, hidden_layer_sizes=(20,), alpha=0, early_stopping=True)
    model.set_params(validation_fraction=0.25, n_iter_no_change=20).fit(X, y, weight)
    ((train, validation),) = seen
    assert (train.signs.shape, validation.signs.shape) == ((4, 90), (4, 30))
    rows = {tuple(x) for x in train.X}, {tuple(x) for x in validation.X}
    assert not rows[0] & rows[1]
    assert rows[0] | rows[1] == {tuple(x) for x in X}
    assert_array_equal(np.bincount((validation.signs > 0).sum(axis=0) // 2), [10, 10, 10])
    assert train.total + validation.total == pytest.approx(weight.sum())
    assert len(model.validation_curve_) == len(model.loss_curve_) == model.n_iter_ < model.max_iter


def test_early_stopping_needs_points_of_every_class(data):
    X, y = data
    y = y.copy()
    y[y == 2] = 1
    y[0] = 2
    with pytest.raises(ValueError, match="validation_fraction"):
        make(early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match="validation_fraction"):
        make(early_stopping=True, validation_fraction=0.01).fit(*data)


def test_progress_is_printed(data, capsys):
    model = make(verbose=True, early_stopping=True).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("iteration 1: loss ")
    assert "validation loss" in lines[0]


# ---- what goes wrong ---------------------------------------------------------------------


@solvers
def test_a_bound_on_the_iterations_is_kept_and_reported(data, solver):
    message = "Raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message):
        model = make(solver, max_iter=2).fit(*data)
    assert model.n_iter_ == 2


def test_steps_that_are_too_large_are_reported(data):
    message = "diverged"
    with pytest.warns(ConvergenceWarning, match=message):
        make("adam", learning_rate_init=50.0, activation="relu", max_iter=20).fit(*data)
    with pytest.raises(ValueError, match="learning_rate_init"):
        make("adam", learning_rate_init=1e200, activation="relu").fit(*data)
    model = make("adam", learning_rate_init=1e200, activation="relu")
    model.partial_fit(*data, [0, 1, 2])
    with pytest.raises(ValueError, match="learning_rate_init"):
        model.partial_fit(*data)


def test_a_network_worse_than_none_is_reported(data):
    X, y = data
    message = "constant score"
    with pytest.warns(ConvergenceWarning, match=message):
        make("adam", activation="relu", learning_rate_init=0.001).fit(1e149 * X, y)
    scaled = make_pipeline(StandardScaler(), make(activation="relu"))
    assert scaled.fit(1e6 * X, y).score(1e6 * X, y) > 0.6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reject_cost", 0),
        ("reject_cost", 0.6),
        ("hidden_layer_sizes", 0),
        ("hidden_layer_sizes", (10, 0)),
        ("hidden_layer_sizes", (2.5,)),
        ("hidden_layer_sizes", "10"),
        ("hidden_layer_sizes", None),
        ("hidden_layer_sizes", True),
        ("hidden_layer_sizes", [[3]]),
        ("activation", "sine"),
        ("loss", "hinge"),
        ("solver", "sgd"),
        ("alpha", -1),
        ("h", 0),
        ("max_iter", 0),
        ("tol", -1),
        ("batch_size", 0),
        ("learning_rate_init", 0),
        ("validation_fraction", 1.0),
        ("n_iter_no_change", 0),
        ("n_restarts", 0),
        ("early_stopping", "yes"),
        ("s", 0),
    ],
)
def test_parameters_are_checked_in_fit(data, name, value):
    model = RejoMLP(**{name: value})
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            model.fit(*data)


@pytest.mark.parametrize("hidden", [4, np.int64(4), [4], np.array([4]), (4,)])
def test_the_forms_of_hidden_layer_sizes(data, hidden):
    assert make(hidden_layer_sizes=hidden).fit(*data).coefs_[0].shape == (2, 4)


# ---- in company --------------------------------------------------------------------------


def test_a_copy_by_pickle_decides_and_streams_on(data):
    X, y = data
    model = make("adam").partial_fit(X, y, [0, 1, 2])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X, y)
    assert_array_equal(copy.boundary_scores(X), model.boundary_scores(X))
