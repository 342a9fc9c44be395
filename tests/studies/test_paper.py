"""What a cell of the paper yields: the right rows, from the right data, by the right methods."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

from rejo import RejoKernelLogistic, RejoSVC, ThresholdRejectClassifier
from rejo.baselines import EmbeddedRejectSVC, FrankHallReject, best_cutoffs
from rejo.replication import loss_from_costs, replica_costs
from studies.kernels import FEW_STARTS, LOGISTIC
from studies.paper import (
    BY_PATIENT,
    DATA,
    FIGURES,
    GRIDS,
    RANDOM,
    REJECT_COSTS,
    PaperCell,
    PaperStudy,
    choose_figures,
    methods_by_dataset,
)
from studies.tasks import PaperTable, make_task
from studies.tuning import Tried, row_of

COSTS = (0.08, 0.24, 0.4)


def one_cell(method, dataset="syntheticI", share=0.15):
    study = PaperStudy({dataset: (method,)}, 1, (share,), COSTS, grid="coarse")
    [cell] = study.cells()
    return study, cell


def task_of(study, cell):
    return make_task(cell, None, GRIDS[study.grid].n_folds, study.seed)


def test_default_is_the_paper():
    study = PaperStudy()
    assert study.reject_costs == REJECT_COSTS == tuple(np.round(np.arange(0.04, 0.5, 0.04), 2))
    cells = list(study.cells())
    assert len(set(cells)) == len(cells) == 24_900
    assert {c.dataset for c in cells if c.split == BY_PATIENT} == {"bcct", "bcct-binary"}
    for dataset, data in DATA.items():
        methods = {c.method.partition("/")[0] for c in cells if c.dataset == dataset}
        common = {"rejoSVM", "rejoNN", "rejoLogistic", "Chow-SVC"}
        two = {"SVM-1C", "SVM-2C", "Fumera", "MLP-1C", "MLP-2C"}
        more = {"FH-1C", "FH-2C", "Ordinal-SVC", "MLP-1C", "FH-MLP-1C", "FH-MLP-2C", "Chow-MLP"}
        wanted = common | (two if data.n_classes == 2 else more)
        assert methods == ({"rejoNN", "MLP-1C", "MLP-2C"} if dataset == "letter-ah" else wanted)


def test_figures_have_the_numbers_and_captions_of_the_paper():
    numbers = [name for name in FIGURES if name.isdigit()]
    assert numbers == [str(i) for i in range(10, 20)]
    [figure] = choose_figures(["14"])
    assert figure.title.endswith("The A-R curves for the binary BCCT dataset (SVM methods only)")
    assert list(methods_by_dataset([figure])) == ["bcct-binary"]
    with pytest.raises(ValueError, match="figure"):
        choose_figures(["20"])


EVERY = {
    "syntheticI": ("rejoSVM/poly", "SVM-1C/rbf", "SVM-2C/poly", "Fumera/poly", "rejoLogistic/poly",
                   "Chow-SVC/poly", "rejoNN", "MLP-1C", "MLP-2C"),
    "syntheticIII": ("rejoSVM/rbf", "FH-1C/poly", "FH-2C/poly", "Ordinal-SVC/poly", "rejoNN",
                     "FH-MLP-1C", "FH-MLP-2C", "Chow-MLP"),
}  # fmt: skip


@pytest.mark.parametrize(("dataset", "method"), [(d, m) for d in EVERY for m in EVERY[d]])
def test_rows_of_every_method(dataset, method):
    study, cell = one_cell(method, dataset)
    rows = study.compute(cell, None)
    assert [row["reject_cost"] for row in rows] == list(COSTS)
    for row in rows:
        assert [*row, "code"] == list(PaperStudy.COLUMNS)
        assert PaperCell(*(row[name] for name in PaperCell._fields)) == cell
        assert row["risk"] == row["reject_cost"] * row["R"] + row["E"]
        assert 0 <= row["R"] <= 1
        assert 0 <= row["E"] <= 1 - row["R"] + 1e-12
        assert row["ordinal_risk"] >= row["risk"] - 1e-12
        assert row["n_train"] == 60
        assert json.loads(row["params"])


def test_measures_by_hand():
    # Classes 0, 1, 2 have the outputs 0, 2, 4.
    tried = Tried(np.array([0, 1, 3, 4, 2]), {}, 0.25)
    row = row_of(tried, np.array([0, 0, 0, 0, 1]), 3, 0.2)
    assert (row["R"], row["E"], row["crossing_rate"]) == (0.4, 0.2, 0.25)
    loss = loss_from_costs(replica_costs(3, 0.2))
    assert row["ordinal_risk"] == pytest.approx((loss[0, 1] + loss[0, 3] + loss[0, 4]) / 5)


def test_methods_see_the_same_data_and_repetitions_do_not():
    study = PaperStudy({"syntheticI": ("SVM-1C/rbf", "rejoNN")}, 2, (0.25,), COSTS)
    tasks = {(c.repetition, c.method): task_of(study, c) for c in study.cells()}
    assert np.array_equal(tasks[0, "rejoNN"].X, tasks[0, "SVM-1C/rbf"].X)
    assert np.array_equal(tasks[0, "rejoNN"].X_test, tasks[0, "SVM-1C/rbf"].X_test)
    assert not np.array_equal(tasks[0, "rejoNN"].X, tasks[1, "rejoNN"].X)
    other = make_task(next(study.cells()), None, 5, seed=1)
    assert not np.array_equal(other.X, tasks[0, "rejoNN"].X)


@pytest.mark.parametrize("dataset", [d for d in DATA if d.startswith("synthetic")])
def test_synthetic_parts(dataset):
    task = task_of(*one_cell("rejoNN", dataset, 0.05))
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
    return PaperTable(X + 0.01 * rng.normal(size=X.shape), k, np.repeat(np.arange(n), each))


def test_a_group_split_keeps_patients_together_in_parts_and_folds():
    table = patients()
    cell = PaperCell("bcct-binary", BY_PATIENT, 0.4, 0, "rejoNN")
    task = make_task(cell, table, 5, 0)
    assert len(task.k) == 16 * 6
    assert len(task.k) + len(task.k_test) == len(table.k)
    assert nearest(task.X, task.X_test) > NEAR
    for rows, held_out in task.folds:
        assert nearest(task.X[rows], task.X[held_out]) > NEAR


def test_a_random_split_does_not():
    cell = PaperCell("bcct-binary", RANDOM, 0.4, 0, "rejoNN")
    task = make_task(cell, patients(), 5, 0)
    assert nearest(task.X, task.X_test) < NEAR


def test_a_table_without_enough_points_says_so():
    cell = PaperCell("letter-ah", RANDOM, 0.05, 0, "rejoNN")
    table = patients(n=10, each=4)
    with pytest.raises(ValueError, match="Raise the share"):
        make_task(cell, table, 5, 0)


def test_a_class_that_is_missing_in_folds_or_everywhere():
    k = np.repeat([0, 1, 2, 3], [30, 30, 1, 0])
    X = np.random.RandomState(0).normal(size=(len(k), 2)) + k[:, None]
    table = PaperTable(np.tile(X, (2, 1)), np.tile(k, 2), np.arange(2 * len(k)))
    methods = (
        "rejoSVM/rbf",
        "FH-1C/rbf",
        "FH-2C/rbf",
        "rejoNN",
        "rejoLogistic/rbf",
        "Chow-SVC/rbf",
    )
    study = PaperStudy({"bcct": methods}, 1, (0.5,), COSTS, grid="coarse")
    for cell in study.cells():
        if cell.split == RANDOM:
            assert all(row["risk"] < 0.6 for row in study.compute(cell, table))


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
    if name == "FH-1C":
        return FrankHallReject(machine, per_split=1, cv=folds, reject_cost=w)
    if name in ("SVM-2C", "FH-2C"):
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
    for row in study.compute(cell, None):
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
    for row in study.compute(cell, None):
        params, w = json.loads(row["params"]), row["reject_cost"]
        model = estimator(method, w, params, task.folds)
        check_rates(row, model.fit(task.X, task.k), task)


def test_one_classifier_has_the_parameters_with_the_least_risk_on_held_out_scores():
    study = PaperStudy({"syntheticI": ("SVM-1C/rbf",)}, 1, (0.25,), (0.24,))
    [cell] = study.cells()
    task, grid = make_task(cell, None, 5, study.seed), GRIDS["authors"]
    [row] = study.compute(cell, None)
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
    for row in study.compute(cell, None):
        machine = svc(kernel="rbf", **json.loads(row["params"]))
        model = ThresholdRejectClassifier(
            machine,
            rule="chow",
            calibration="sigmoid",
            cv=task.folds,
            reject_cost=row["reject_cost"],
        )
        check_rates(row, model.fit(task.X, task.k), task)


def test_logistic_is_rejo_kernel_logistic():
    study, cell = one_cell("rejoLogistic/rbf", "syntheticI")
    task = task_of(study, cell)
    for row in study.compute(cell, None):
        params = json.loads(row["params"])
        model = RejoKernelLogistic(**params, reject_cost=row["reject_cost"], **LOGISTIC)
        check_rates(row, model.fit(task.X, task.k), task)
