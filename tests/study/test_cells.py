"""What a cell yields: the right rows, from the right data, by the methods themselves."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

from rejo import RejoKernelLogistic, RejoMLP, RejoSVC
from rejo.baselines import (
    EmbeddedRejectSVC,
    FrankHallReject,
    ThresholdRejectClassifier,
    TwoClassifierReject,
)
from rejo.baselines.cutoffs import best_cutoffs
from rejo.replication import loss_from_costs, replica_costs
from rejo.study import METHODS, Cell, Study, run_cell
from rejo.study._cells import BINARY, GRIDS
from rejo.study._data import StudyTable, make_task
from rejo.study._kernel_methods import FEW_STARTS, LOGISTIC
from rejo.study._methods import compute
from rejo.study._tuning import Tried, row_of
from rejo.study.paper import DATA, REJECT_COSTS

COSTS = (0.08, 0.24, 0.4)


def one_cell(method, dataset="syntheticI", share=0.15, **more):
    study = Study([dataset], [share], 1, [method], COSTS, grid="coarse", **more)
    [cell] = study.cells()
    return study, cell


def task_of(study, cell):
    return make_task(cell, None, GRIDS[study.grid].n_folds, study.seed)


# ---- the study ---------------------------------------------------------------------------


def test_default_is_the_paper():
    study = Study()
    assert study.reject_costs == REJECT_COSTS == tuple(np.round(np.arange(0.04, 0.5, 0.04), 2))
    assert study.shares == (0.05, 0.25, 0.4)
    cells = list(study.cells())
    assert len(set(cells)) == len(cells)
    assert {c.dataset for c in cells if c.split == "group"} == {"bcct", "bcct-binary"}
    for dataset, data in DATA.items():
        methods = {c.method.partition("/")[0] for c in cells if c.dataset == dataset}
        common = {"rejoSVM", "rejoNN", "rejoLogistic", "Chow-SVC"}
        two = {"SVM-1C", "SVM-2C", "Fumera", "MLP-1C", "MLP-2C"}
        more = {"FH-1C", "FH-2C", "Ordinal-SVC"}
        more |= {"MLP-1C", "FH-MLP-1C", "FH-MLP-2C", "Chow-MLP"}
        assert methods == common | (two if data.n_classes == 2 else more)


def test_a_name_without_kernel_means_all_kernels_and_order_does_not_matter():
    one = Study(["syntheticII", "syntheticI"], methods=["SVM-1C", "rejoSVM"])
    other = Study(
        ["syntheticI", "syntheticII"],
        methods=["rejoSVM/poly", "rejoSVM/rbf", "SVM-1C/rbf", "SVM-1C/poly"],
    )
    assert one == other


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"datasets": ["iris"]}, "datasets has 'iris'"),
        ({"methods": ["SVM"]}, "methods has 'SVM'"),
        ({"methods": []}, "methods is empty"),
        ({"shares": [5]}, "shares="),
        ({"reject_costs": [0.6]}, "reject_costs="),
        ({"repetitions": 0}, "repetitions=0"),
        ({"seed": -1}, "seed=-1"),
        ({"grid": "fine"}, "grid='fine' must be one of authors, coarse"),
        ({"splits": ["patient"]}, "splits has 'patient'"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    with pytest.raises(ValueError, match=message):
        Study(**parameters)


# ---- rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_every_method(method):
    dataset = "syntheticI" if method.partition("/")[0] in BINARY else "syntheticIII"
    study, cell = one_cell(method, dataset)
    rows = run_cell(study, cell)
    assert [row["reject_cost"] for row in rows] == list(COSTS)
    for row in rows:
        assert list(row) == list(Study.COLUMNS)
        assert Cell(*(row[name] for name in Cell._fields)) == cell
        assert row["risk"] == row["reject_cost"] * row["R"] + row["E"]
        assert 0 <= row["R"] <= 1
        assert 0 <= row["E"] <= 1 - row["R"] + 1e-12
        assert row["ordinal_risk"] >= row["risk"] - 1e-12
        assert row["n_train"] == 60
        assert json.loads(row["params"])
    again = run_cell(study, cell)
    assert [{**r, "seconds": 0} for r in rows] == [{**r, "seconds": 0} for r in again]


def test_measures_by_hand():
    # Classes 0, 1, 2 have the outputs 0, 2, 4.
    tried = Tried(np.array([0, 1, 3, 4, 2]), {}, 0.25)
    k = np.array([0, 0, 0, 0, 1])
    row = row_of(tried, k, 3, 0.2)
    assert (row["R"], row["E"], row["crossing_rate"]) == (0.4, 0.2, 0.25)
    loss = loss_from_costs(replica_costs(3, 0.2))
    assert row["ordinal_risk"] == pytest.approx((loss[0, 1] + loss[0, 3] + loss[0, 4]) / 5)


# ---- data --------------------------------------------------------------------------------


def test_methods_see_the_same_data_and_repetitions_do_not():
    study = Study(["syntheticI"], [0.25], 2, ["SVM-1C/rbf", "rejoNN"], COSTS)
    tasks = {(c.repetition, c.method): task_of(study, c) for c in study.cells()}
    assert np.array_equal(tasks[0, "rejoNN"].X, tasks[0, "SVM-1C/rbf"].X)
    assert np.array_equal(tasks[0, "rejoNN"].X_test, tasks[0, "SVM-1C/rbf"].X_test)
    assert not np.array_equal(tasks[0, "rejoNN"].X, tasks[1, "rejoNN"].X)
    other = make_task(next(study.cells()), None, 5, seed=1)
    assert not np.array_equal(other.X, tasks[0, "rejoNN"].X)


@pytest.mark.parametrize("dataset", [d for d in DATA if d.startswith("synthetic")])
def test_synthetic_parts(dataset):
    study, cell = one_cell("rejoNN", dataset, 0.05)
    task = task_of(study, cell)
    assert len(task.k) == (30 if dataset == "syntheticIV" else 20)
    assert set(task.k_test) == set(range(task.n_classes))
    assert np.allclose(task.X.mean(axis=0), 0)
    assert np.allclose(task.X.std(axis=0), 1)
    held_out = np.concatenate([test for _, test in task.folds])
    assert sorted(held_out) == list(range(len(task.k)))


NEAR = 0.05  # the rows of a patient are nearer to each other, those of two are not


def nearest(one, other):
    return np.abs(one[:, None] - other).max(axis=2).min()


def patients(n=40, each=6):
    rng = np.random.RandomState(0)
    k = np.repeat(rng.randint(2, size=n), each)
    X = np.repeat(rng.normal(size=(n, 3)), each, axis=0) + k[:, None]
    return StudyTable(X + 0.01 * rng.normal(size=X.shape), k, np.repeat(np.arange(n), each))


def test_a_group_split_keeps_patients_together_in_parts_and_folds():
    table = patients()
    [cell] = Study(["bcct-binary"], [0.4], 1, ["rejoNN"], COSTS, splits=["group"]).cells()
    task = make_task(cell, table, 5, 0)
    assert len(task.k) == 16 * 6
    assert len(task.k) + len(task.k_test) == len(table.k)
    assert nearest(task.X, task.X_test) > NEAR
    for rows, held_out in task.folds:
        assert nearest(task.X[rows], task.X[held_out]) > NEAR


def test_a_random_split_does_not():
    [cell] = Study(["bcct-binary"], [0.4], 1, ["rejoNN"], COSTS, splits=["random"]).cells()
    task = make_task(cell, patients(), 5, 0)
    assert nearest(task.X, task.X_test) < NEAR


def test_a_table_without_enough_points_says_so():
    [cell] = Study(["letter-ah"], [0.05], 1, ["rejoNN"], COSTS).cells()
    table = patients(n=10, each=4)
    with pytest.raises(ValueError, match="Raise the share"):
        make_task(cell, table, 5, 0)


def test_a_class_that_is_missing_in_folds_or_everywhere():
    k = np.repeat([0, 1, 2, 3], [30, 30, 1, 0])
    X = np.random.RandomState(0).normal(size=(len(k), 2)) + k[:, None]
    table = StudyTable(np.tile(X, (2, 1)), np.tile(k, 2), np.arange(2 * len(k)))
    methods = ["rejoSVM/rbf", "FH-1C/rbf", "FH-2C/rbf", "rejoNN", "rejoLogistic/rbf", "Chow-SVC"]
    study = Study(["bcct"], [0.5], 1, methods, COSTS, grid="coarse", splits=["random"])
    for cell in study.cells():
        rows = compute(study, cell, table)
        assert all(row["risk"] < 0.6 for row in rows)


# ---- the methods are the estimators -------------------------------------------------------


def svc(**params):
    return SVC(degree=2, coef0=1.0, tol=1e-4, **params)


def estimator(method, w, params, folds):
    """Return the public estimator with the parameters of a row."""
    name, _, kernel = method.partition("/")
    if name == "Fumera":
        return EmbeddedRejectSVC(second_order=True, reject_cost=w, **params)
    if name == "rejoSVM":
        return RejoSVC(kernel=kernel, degree=2, coef0=1.0, reject_cost=w, **params)
    machine = svc(kernel=kernel, **params)
    if name == "SVM-1C":
        return ThresholdRejectClassifier(machine, rule="score", cv=folds, reject_cost=w)
    if name == "SVM-2C":
        return TwoClassifierReject(machine, reject_cost=w)
    if name == "FH-1C":
        return FrankHallReject(machine, per_split=1, cv=folds, reject_cost=w)
    if name == "FH-2C":
        return FrankHallReject(machine, per_split=2, reject_cost=w)
    raise AssertionError(method)


def forced_outputs(model, X):
    """Outputs of a fitted model: 2 k for class k, -1 for a rejection."""
    index = model.judge(X).decision
    return np.where(index < 0, -1, 2 * index)


def check_rates(row, model, task):
    outputs = forced_outputs(model, task.X_test)
    R, E = np.mean(outputs < 0), np.mean((outputs >= 0) & (outputs != 2 * task.k_test))
    # Solvers stop within a tolerance: a few of 5,000 points at a boundary may change sides.
    assert row["R"] == pytest.approx(R, abs=0.004)
    assert row["E"] == pytest.approx(E, abs=0.004)


@pytest.mark.parametrize(
    ("method", "dataset"),
    [
        ("rejoSVM/poly", "syntheticI"),
        ("rejoSVM/rbf", "syntheticIV"),
        ("SVM-2C/poly", "syntheticI"),
        ("SVM-2C/rbf", "syntheticII"),
        ("FH-2C/rbf", "syntheticIV"),
        ("Fumera/poly", "syntheticII"),
    ],
)
@pytest.mark.filterwarnings("ignore:The last stage stopped")
def test_as_by_grid_search(method, dataset):
    study, cell = one_cell(method, dataset)
    task, grid = task_of(study, cell), GRIDS["coarse"]
    for row in run_cell(study, cell):
        params, w = json.loads(row["params"]), row["reject_cost"]
        model = estimator(method, w, params, task.folds)
        prefix = "estimator__" if "estimator" in model.get_params() else ""
        values = {"C": grid.Cs, "gamma": grid.gammas, "h": grid.hs}
        tuned = clone(model).set_params(**(FEW_STARTS if method == "Fumera/poly" else {}))
        search = GridSearchCV(
            tuned, {prefix + name: values[name] for name in params}, cv=task.folds, refit=False
        ).fit(task.X, task.k)
        results = search.cv_results_
        [ours] = [
            score
            for tried, score in zip(results["params"], results["mean_test_score"], strict=True)
            if tried == {prefix + name: value for name, value in params.items()}
        ]
        assert ours == pytest.approx(search.best_score_, abs=1e-9)
        check_rates(row, model.fit(task.X, task.k), task)


@pytest.mark.parametrize(
    ("method", "dataset"),
    [("SVM-1C/poly", "syntheticI"), ("SVM-1C/rbf", "syntheticII"), ("FH-1C/rbf", "syntheticIV")],
)
def test_cutoffs_as_by_the_estimators(method, dataset):
    study, cell = one_cell(method, dataset)
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        params, w = json.loads(row["params"]), row["reject_cost"]
        model = estimator(method, w, params, task.folds)
        check_rates(row, model.fit(task.X, task.k), task)


def test_one_classifier_has_the_parameters_with_the_least_risk_on_held_out_scores():
    study = Study(["syntheticI"], [0.25], 1, ["SVM-1C/rbf"], [0.24])
    [cell] = study.cells()
    task, grid = make_task(cell, None, 5, study.seed), GRIDS["authors"]
    [row] = run_cell(study, cell)
    risks = {}
    for C in grid.Cs:
        for gamma in grid.gammas:
            scores = cross_val_predict(
                svc(C=C, gamma=gamma), task.X, task.k, cv=task.folds, method="decision_function"
            )
            costs = replica_costs(2, 0.24)[task.k]
            cutoffs = best_cutoffs(scores, task.k == 1, costs)
            counts = (scores[:, None] > cutoffs).sum(axis=1)
            losses = np.where(counts == 1, 0.24, np.abs(counts - 2 * task.k) == 2)
            risks[C, gamma] = losses.mean()
    params = json.loads(row["params"])
    # A point on the other side of a cut-off by the solver's tolerance is one of 100.
    assert risks[params["C"], params["gamma"]] <= min(risks.values()) + 0.0101


@pytest.mark.parametrize("dataset", ["syntheticII", "syntheticIV"])
def test_chow_as_by_the_estimators(dataset):
    study, cell = one_cell("Chow-SVC/rbf", dataset)
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        machine = svc(kernel="rbf", **json.loads(row["params"]))
        model = ThresholdRejectClassifier(
            machine,
            rule="chow",
            calibration="sigmoid",
            cv=task.folds,
            reject_cost=row["reject_cost"],
        )
        check_rates(row, model.fit(task.X, task.k), task)


def mlp(row, **params):
    return RejoMLP(
        (json.loads(row["params"])["units"],),
        loss="squared_error",
        solver="rprop",
        alpha=0.0,
        max_iter=15,
        tol=0.0,
        n_iter_no_change=np.inf,
        random_state=SEED,
        **params,
    )


@pytest.fixture
def seeded(monkeypatch):
    monkeypatch.setattr("rejo.study._methods.seed_of", lambda *key: SEED)


SEED = 12345
few_epochs = pytest.mark.filterwarnings("ignore:solver='rprop' stopped")


@few_epochs
@pytest.mark.parametrize("dataset", ["syntheticI", "syntheticIV"])
def test_networks_are_rejo_mlp(dataset, seeded):
    study, cell = one_cell("rejoNN", dataset)
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        model = mlp(row, reject_cost=row["reject_cost"]).fit(task.X, task.k)
        outputs = forced_outputs(model, task.X_test)
        assert row["R"] == np.mean(outputs < 0)
        assert row["E"] == np.mean((outputs >= 0) & (outputs != 2 * task.k_test))


@few_epochs
def test_two_networks_are_two_rejo_mlp(seeded):
    study, cell = one_cell("MLP-2C")
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        weights = replica_costs(2, row["reject_cost"])[task.k].T
        counts = sum(
            mlp(row, reject_cost=None)
            .fit(task.X, task.k, sample_weight=weight)
            .predict(task.X_test)
            for weight in weights
        )
        assert row["R"] == pytest.approx(np.mean(counts == 1), abs=0.004)
        assert row["E"] == pytest.approx(np.mean(np.abs(counts - 2 * task.k_test) == 2), abs=0.004)


@few_epochs
def test_one_network_is_a_rejo_mlp_with_cutoffs(seeded):
    study, cell = one_cell("MLP-1C")
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        held_out = np.empty(len(task.k))
        for train, test in task.folds:
            model = mlp(row, reject_cost=None).fit(task.X[train], task.k[train])
            held_out[test] = model.boundary_scores(task.X[test])[:, 0]
        costs = replica_costs(2, row["reject_cost"])[task.k]
        cutoffs = best_cutoffs(held_out, task.k == 1, costs)
        model = mlp(row, reject_cost=None).fit(task.X, task.k)
        counts = (model.boundary_scores(task.X_test) > cutoffs).sum(axis=1)
        assert row["R"] == np.mean(counts == 1)
        assert row["E"] == np.mean(np.abs(counts - 2 * task.k_test) == 2)


def test_logistic_is_rejo_kernel_logistic():
    study, cell = one_cell("rejoLogistic/rbf", "syntheticI")
    task = task_of(study, cell)
    for row in run_cell(study, cell):
        params = json.loads(row["params"])
        model = RejoKernelLogistic(**params, reject_cost=row["reject_cost"], **LOGISTIC)
        check_rates(row, model.fit(task.X, task.k), task)
