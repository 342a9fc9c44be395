"""Cells of the suite: what the rows say, shared fits, failures, resumption."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import has_fit_parameter

from rejo import study
from rejo.baselines import ThresholdRejectClassifier
from rejo.catalogue import METHODS
from rejo.estimators.pipelines import cost_parameter
from rejo.selection import choose_model
from rejo.selection.grids import Tuner
from rejo.study import read_archive, read_rows
from rejo.study.suite import BUNDLED, SUITE_METHODS, TABLES, TableSuite
from rejo.study.suite import trials as trials_module
from rejo.study.suite.roster import ORDERED, TWO_CLASSES, UNORDERED, join_small, load_entry
from rejo.study.suite.sharing import FitMemory
from rejo.study.suite.table_splits import make_parts
from rejo.study.suite.trials import Settings, error_within, family_of, run_method

CHEAP = ("logistic", "logistic-posterior", "logistic-class", "ordinal-posterior")


def tiny_suite(**changes):
    parameters = dict(
        datasets=["iris", "breast_cancer"],
        repetitions=2,
        methods=CHEAP,
        reject_costs=[0.1, 0.2],
        n_train=90,
        n_folds=2,
    )
    return TableSuite(**(parameters | changes))


def without_times(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


# ---- the tables -----------------------------------------------------------------------------


def test_there_are_twenty_tables_and_several_of_each_role():
    roles = [entry.role for entry in TABLES.values()]
    assert len(roles) >= 20
    assert min(roles.count(role) for role in (TWO_CLASSES, ORDERED, UNORDERED)) >= 4
    assert not {"german_credit", "bcct_all", "bcct_binary"} & set(TABLES)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables_are_as_described(name):
    entry, table = TABLES[name], load_entry(name)
    assert tuple(np.bincount(table.y)) == entry.counts
    assert table.X.shape == (entry.n_rows, entry.n_features)


def test_ends_of_an_order_have_enough_rows():
    for entry in TABLES.values():
        assert min(entry.counts) >= 20
    assert join_small([30, 5, 40]) == [0, 1, 2]  # only ends are joined
    assert join_small([30, 5, 40], least=31) == [0, 0, 1]


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="bcct"):
        load_entry("bcct", tmp_path)


# ---- the plan -------------------------------------------------------------------------------


def test_every_method_runs_where_its_classes_are_taken():
    suite = TableSuite()
    for entry in TABLES.values():
        names = suite.methods_for(entry)
        assert "auto" in names
        for name, method in METHODS.items():
            assert (name in names) == method.takes(entry.n_classes, entry.ordered)
    cells = list(suite.cells())
    assert len(set(cells)) == len(cells)
    assert [c for c in cells if c.dataset == "iris" and c.family == "embedded"] == []


def test_families_are_learners_with_the_rivals_around_them():
    families = defaultdict(list)
    for name in SUITE_METHODS:
        families[family_of(name)].append(name)
    assert set(families["svm"]) == {
        "svm", "svm-cutoffs", "svm-pair", "svm-posterior", "svm-class",
    }  # fmt: skip
    assert families["auto"] == ["auto", "blend"]
    assert families["ordinal-kernel-posterior"] == ["ordinal-kernel-posterior"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["moon"]}, "datasets has 'moon'"),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["svm", "magic"]}, "methods has 'magic'"),
        ({"reject_costs": [0.2, 0.7]}, "at most 0.5"),
        ({"tuning_cost": 0.3}, "must be one of the reject costs"),
        ({"n_folds": 1}, "n_folds=1 must be an integer, at least 2"),
        ({"repetitions": True}, "repetitions=True"),
    ],
)
def test_wrong_parameters_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny_suite(**changes)


# ---- cells ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    table = load_entry("breast_cancer")
    return make_parts(table, (0, "breast_cancer", 0), True, 90, 5000, 2)


SETTINGS = Settings((0.1, 0.2), 0.2)


@pytest.mark.parametrize(
    "name",
    [
        "logistic",
        "logistic-posterior",
        "logistic-cutoffs",
        "svm-cutoffs",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("svm-posterior", "mlp-cutoffs", "mlp-posterior", "boosting-cutoffs")
        ),
    ],
)
def test_shared_fits_change_nothing(cancer, name):
    memory = FitMemory()
    for use in ("class", "pair"):
        run_method(f"{family_of(name)}-{use}", cancer, SETTINGS, memory)
    alone, shared = (
        run_method(name, cancer, SETTINGS, known) for known in (FitMemory(), memory)
    )  # fmt: skip
    for one, two in zip(alone, shared, strict=True):
        assert np.array_equal(one.decision, two.decision)
        assert np.array_equal(one.sureness, two.sureness)
        assert one.params == two.params


def test_a_remembered_fit_is_that_of_the_same_data_and_parameters(cancer):
    memory = FitMemory()
    X, y = cancer.whole.X_train, cancer.y
    model = memory.sharing(ThresholdRejectClassifier(LogisticRegression(C=0.5)))
    first = model.fit(X, y).predict_proba(X)
    assert memory.saved == 0
    again = model.fit(X, y).predict_proba(X)
    assert memory.saved > 0
    assert np.array_equal(first, again)
    saved = memory.saved
    weighted = model.fit(X, y, sample_weight=1.0 + y).predict_proba(X)
    stronger = model.set_params(estimator__C=5.0).fit(X, y).predict_proba(X)
    fewer = model.fit(X[:60], y[:60]).predict_proba(X)
    assert memory.saved == saved
    plain = ThresholdRejectClassifier(LogisticRegression(C=5.0)).fit(X, y).predict_proba(X)
    assert np.array_equal(stronger, plain)
    others = first, weighted, fewer
    assert not any(np.allclose(stronger, other) for other in others)
    assert not np.allclose(first, weighted)


class SmallerFit(LogisticRegression):
    """It takes no weights."""

    def fit(self, X, y):
        return super().fit(X, 1 - y)


def test_classifiers_of_another_kind_share_no_fits(cancer):
    memory = FitMemory()
    X, y = cancer.whole.X_train, cancer.y
    first, other = (
        memory.sharing(ThresholdRejectClassifier(kind())).estimator.fit(X, y)
        for kind in (LogisticRegression, SmallerFit)
    )
    assert memory.saved == 0
    assert np.allclose(first.predict_proba(X), other.predict_proba(X)[:, ::-1], atol=1e-3)
    assert has_fit_parameter(first, "sample_weight")
    assert not has_fit_parameter(other, "sample_weight")


def test_what_cannot_be_told_by_values_is_fitted_each_time(cancer):
    memory = FitMemory()
    X, y = cancer.whole.X_train, cancer.y
    plain, drawing = (
        memory.sharing(ThresholdRejectClassifier(LogisticRegression(random_state=state))).estimator
        for state in (0, np.random.RandomState(0))
    )
    for model, rows, labels in [
        (plain, csr_matrix(X), y), (plain, X, y.astype(object).astype(str).astype(object)),
        (drawing, X, y),
    ]:  # fmt: skip
        for _ in range(2):
            model.fit(rows, labels)
        assert memory.saved == 0
    plain.fit(X, y).fit(X, y)
    assert memory.saved > 0


def test_methods_that_are_trained_for_a_cost_are_tuned_for_it(cancer):
    """At each cost the tuned parameters are those of tuning at that cost alone."""
    costs = (0.05, 0.2, 0.4)
    for name in ("logistic", "svm-cutoffs"):
        together = run_method(name, cancer, Settings(costs, 0.2))
        for w, found in zip(costs, together, strict=True):
            [alone] = run_method(name, cancer, Settings((w,), w))
            assert found.params == alone.params
            built = METHODS[name].build(cancer.problem)
            at = cost_parameter(built.estimator) or "reject_cost"
            points = list(ParameterGrid(built.grid))
            tuner = Tuner(built.estimator, points, None, cancer.y, cancer.splits, cancer.folds)
            assert found.params == tuner.by_score({at: w})


def test_embedded_rejection_is_tuned_once(cancer):
    tuned = [tried.params for tried in run_method("embedded", cancer, SETTINGS)]
    [alone] = run_method("embedded", cancer, Settings((0.2,), 0.2))
    assert tuned == [alone.params] * 2


def test_rows_are_what_the_decisions_cost():
    suite = tiny_suite()
    table = suite.load("breast_cancer")
    [cell] = [c for c in suite.cells() if c[:2] == ("breast_cancer", 0)]
    rows = suite.compute(cell, table)
    assert {row["method"] for row in rows} == {"logistic", "logistic-posterior", "logistic-class"}
    assert len(rows) == 3 * 2
    for row in rows:
        assert set(row) == set(suite.COLUMNS) - {"code"}
        assert row["risk"] == pytest.approx(row["reject_cost"] * row["R"] + row["E"])
        assert row["ordinal_risk"] == pytest.approx(row["risk"])  # of two classes
        assert row["E05"] <= row["forced_E"] / 0.95 + 1e-12
        assert 0 <= row["augrc"] <= row["aurc"] <= 1
        assert row["problem"] is None
        assert row["seconds"] > 0
    assert without_times(rows) == without_times(suite.compute(cell, table))


def test_auto_is_what_choose_model_chooses(cancer, monkeypatch):
    calls = []

    def choose(*args, **kwargs):
        calls.append(kwargs["groups"])
        return choose_model(*args, models=["logistic-posterior", "kernel-posterior"], **kwargs)

    monkeypatch.setattr(trials_module, "choose_model", choose)
    rows = list(trials_module.try_family(["auto", "blend"], cancer, SETTINGS))
    assert len(calls) == 1  # one race for both
    assert [row["method"] for row in rows[::2]] == ["auto", "decide everything", "blend"]
    everything = [row for row in rows if row["method"] == "decide everything"]
    for row, other in zip(everything, rows[:2], strict=True):
        assert row["R"] == 0
        assert row["risk"] == row["E"] == row["forced_E"] == other["forced_E"]
        assert '"model"' in row["params"]
        assert row["seconds"] == 0  # the race counts for auto and for blend
    assert all(row["seconds"] > 0 for row in rows if row["method"] in ("auto", "blend"))


@pytest.mark.parametrize("model", ["logistic-posterior", "svm"])
def test_a_blend_of_one_model_is_that_model(cancer, monkeypatch, model):
    def choose(*args, **kwargs):
        return choose_model(*args, models=[model], **kwargs)

    monkeypatch.setattr(trials_module, "choose_model", choose)
    rows = list(trials_module.try_family(["auto", "blend"], cancer, SETTINGS))
    problems = {row["method"]: row["problem"] for row in rows}
    assert problems["auto"] is None
    if model == "svm":
        assert "no model with posteriors" in problems["blend"]
    else:
        assert problems["blend"] is None
        assert json.loads(rows[-1]["params"])["model"] == model


@pytest.mark.parametrize("kind", [MemoryError, OSError, ImportError])
def test_errors_of_the_machine_fail_the_cell(cancer, monkeypatch, kind):
    def build(problem):
        raise kind("no")

    monkeypatch.setitem(trials_module.METHODS, "logistic",
                        replace(METHODS["logistic"], build=build))  # fmt: skip
    with pytest.raises(kind, match="no"):
        list(trials_module.try_family(["logistic"], cancer, SETTINGS))


def test_a_method_that_fails_is_a_row_with_the_reason(cancer, monkeypatch):
    broken = replace(METHODS["logistic-class"], build=lambda problem: 1 / 0)
    monkeypatch.setitem(trials_module.METHODS, "logistic-class", broken)
    rows = list(trials_module.try_family(["logistic-class", "logistic"], cancer, SETTINGS))
    failed, fine = rows[:2], rows[2:]
    assert {row["problem"] for row in failed} == {"ZeroDivisionError: division by zero"}
    assert all(row["risk"] is None for row in failed)
    assert all(row["problem"] is None and row["method"] == "logistic" for row in fine)


def test_the_error_within_a_budget_is_the_mean_over_ties():
    rng = np.random.default_rng(0)
    wrong, sureness = rng.random(40) < 0.3, rng.integers(5, size=40).astype(float)
    drawn = []
    for _ in range(4000):
        order = np.lexsort((rng.random(40), sureness))
        drawn.append(wrong[order[8:]].mean())
    assert error_within(wrong, sureness, 0.2) == pytest.approx(np.mean(drawn), abs=0.004)
    assert error_within(wrong, sureness, 0.0) == wrong.mean()
    assert error_within(wrong, sureness, 1.0) == 0.0


# ---- running --------------------------------------------------------------------------------


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    suite, whole, parts = tiny_suite(), tmp_path / "whole.sqlite", tmp_path / "parts.sqlite"
    n_cells = study.run(suite, whole)
    assert n_cells == len(list(suite.cells()))
    compute, done = TableSuite.compute, []

    def stop_after_two(self, cell, table):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(cell)
        return compute(self, cell, table)

    monkeypatch.setattr(TableSuite, "compute", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        study.run(suite, parts)
    monkeypatch.undo()
    assert study.run(suite, parts) == n_cells - 2
    assert without_times(read_rows(parts, TableSuite)) == without_times(
        read_rows(whole, TableSuite)
    )  # fmt: skip
    assert study.run(tiny_suite(repetitions=3), parts) == n_cells / 2  # one more split
    with pytest.raises(ValueError, match="holds another study"):
        study.run(tiny_suite(n_folds=3), parts)


def test_rows_survive_an_archive(tmp_path):
    database, file = tmp_path / "rows.sqlite", tmp_path / "rows.csv.xz"
    study.run(tiny_suite(datasets=["iris"], methods=["logistic-posterior"]), database)
    rows = read_rows(database, TableSuite)
    file.write_bytes(study.archive(rows, TableSuite))
    assert without_times(read_archive(file, TableSuite)) == without_times(rows)
    assert rows[0]["ordinal_risk"] is None  # iris has no order
    with pytest.raises(ValueError, match="not an archive"):
        read_archive(file)  # of the paper's study
