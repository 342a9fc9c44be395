"""The suite: its tables, splits, cells, and what its rows say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from rejo.catalogue import METHODS
from rejo.selection import choose_model
from studies import trials
from studies.splits import GroupFolds, group_folds, make_parts
from studies.standings import Standings
from studies.suite import (
    ORDERED,
    SUITE_METHODS,
    TABLES,
    TWO_CLASSES,
    UNORDERED,
    SuiteTable,
    TableSuite,
    family_of,
    join_small,
    load,
)
from tests.studies.made_up import suite_row, suite_rows

pytestmark = pytest.mark.filterwarnings("ignore")  # of points that do not converge, for example
SIZES = (90, 5000, 3)  # rows to train on and to test on, folds
COSTS = (0.1, 0.2)


@pytest.fixture(scope="module")
def patients():
    """60 patients with four rows each, nearly equal, whose class is that of the patient."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 4)
    y = groups % 3
    X = np.repeat(rng.normal(size=(60, 3)), 4, axis=0) + 1e-6 * rng.normal(size=(240, 3))
    X[:, 0] += y
    order = rng.permutation(240)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).iloc[order].reset_index(drop=True)
    return SuiteTable(frame, y[order], groups[order])


@pytest.fixture(scope="module")
def cancer():
    return make_parts(load("breast_cancer"), (0, "breast_cancer", 0), True, 90, 5000, 2)


def draw(table, repetition=0, ordered=True, sizes=SIZES):
    return make_parts(table, (0, "made up", repetition), ordered, *sizes)


def test_tables_have_roles_and_enough_rows():
    roles = [entry.role for entry in TABLES.values()]
    assert [roles.count(role) for role in (TWO_CLASSES, ORDERED, UNORDERED)] == [9, 9, 4]
    assert not {"german_credit", "bcct_all", "bcct_binary"} & set(TABLES)
    assert min(min(entry.counts) for entry in TABLES.values()) >= 20
    assert join_small([30, 5, 40]) == [0, 1, 2]  # only ends are joined
    assert join_small([30, 5, 40], least=31) == [0, 0, 1]
    for entry in TABLES.values():
        if entry.read is not None:
            table = load(entry.name)
            assert tuple(np.bincount(table.y)) == entry.counts
            assert table.X.shape[1] == entry.n_features


def test_every_method_runs_where_its_classes_are_taken():
    suite = TableSuite()
    for entry in TABLES.values():
        names = suite.methods_for(entry)
        for name in SUITE_METHODS[1:]:
            method = METHODS[name]
            assert (name in names) == method.takes(entry.n_classes, entry.ordered)
    cells = list(suite.cells())
    assert len(set(cells)) == len(cells)
    rivals = {name for name in METHODS if family_of(name) == "svm"}
    assert rivals == {"svm", "svm-cutoffs", "svm-pair", "svm-posterior", "svm-class"}
    with pytest.raises(ValueError, match="methods"):
        TableSuite(methods=("magic",))


def test_parts_are_disjoint_stratified_and_those_of_their_key():
    table = SuiteTable(load_iris(as_frame=True).data, load_iris().target, None)
    first, again, other = (draw(table, r, False, (90, 40, 3)) for r in (0, 0, 1))
    assert (len(first.y), len(first.y_test)) == (90, 40)
    assert np.bincount(first.y).tolist() == [30, 30, 30]
    assert not set(first.X.index) & set(first.X_test.index)
    assert first.X.index.equals(again.X.index)
    assert not first.X.index.equals(other.X.index)
    for train, test in first.splits:
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(90))


def test_patients_are_on_one_side_of_the_split_and_of_every_fold(patients):
    for repetition in range(3):
        parts = draw(patients, repetition)
        train, test = (set(patients.groups[part.index]) for part in (parts.X, parts.X_test))
        assert min(len(train), len(test)) > 10
        assert not train & test
        for inside, outside in parts.splits:
            assert not set(parts.groups[inside]) & set(parts.groups[outside])
            assert set(parts.y[inside]) == {0, 1, 2}
    folds = list(group_folds(parts).split(parts.whole.X, parts.y))
    assert np.array_equal(np.sort(np.concatenate([t for _, t in folds])), np.arange(len(parts.y)))
    few = patients._replace(y=np.where(patients.groups < 2, 1, 0))  # two patients of a class
    with pytest.raises(ValueError, match="two cases of each class"):
        draw(few)


def test_folds_of_the_methods_themselves_keep_patients_together(patients, monkeypatch):
    parts, seen, original = draw(patients), [], GroupFolds.split

    def split(self, X, y, groups=None):
        for train, test in original(self, X, y):
            # Rows of a patient are nearly equal, and others are far away.
            seen.append(np.abs(X[train][:, None] - X[test]).max(axis=2).min())
            yield train, test

    monkeypatch.setattr(GroupFolds, "split", split)
    for name in ("logistic-cutoffs", "svm-posterior", "logistic-class"):
        seen.clear()
        assert len(trials.run_method(name, parts, (0.2,), 0.2)) == 1
        assert len(seen) >= 5, name
        assert min(seen) > 1e-3, name


def test_encoders_learn_nothing_from_test_rows():
    table = load("breast_cancer")
    parts = draw(table)
    for held, same in ((parts.X_test.index, "whole"), (parts.X.index[parts.splits[0][1]], "fold")):
        changed = table.X.copy()
        changed.loc[held] *= 1000.0
        other = draw(table._replace(X=changed))
        one, two = (p.whole if same == "whole" else p.folds[0] for p in (parts, other))
        assert np.array_equal(one.X, two.X)
        assert not np.allclose(one.X_test, two.X_test)


def test_rows_are_what_the_decisions_cost():
    methods = ("logistic", "logistic-posterior", "logistic-class")
    suite = TableSuite(("breast_cancer",), 1, methods, COSTS, n_train=90, n_folds=2)
    [cell] = suite.cells()
    rows = suite.compute(cell, suite.load("breast_cancer"))
    assert [row["method"] for row in rows[::2]] == list(methods)
    for row in rows:
        assert {*row, "code"} == set(suite.COLUMNS)
        assert row["risk"] == pytest.approx(row["reject_cost"] * row["R"] + row["E"])
        assert row["ordinal_risk"] == pytest.approx(row["risk"])  # of two classes
        assert row["E05"] <= row["forced_E"] / 0.95 + 1e-12
        assert 0 <= row["augrc"] <= row["aurc"] <= 1
        assert row["problem"] is None


def test_methods_that_are_trained_for_a_cost_are_tuned_for_it(cancer):
    """At each cost the tuned parameters are those of tuning at that cost alone."""
    for name in ("logistic", "svm-cutoffs"):
        for w, found in zip(COSTS, trials.run_method(name, cancer, COSTS, 0.2), strict=True):
            [alone] = trials.run_method(name, cancer, (w,), w)
            assert found.params == alone.params
    once = {str(tried.params) for tried in trials.run_method("embedded", cancer, COSTS, 0.2)}
    assert len(once) == 1


@pytest.mark.parametrize("name", ["kernel-posterior", "boosting-posterior", "logistic-posterior"])
def test_tuning_by_log_loss_is_that_of_separate_fits(cancer, name):
    built = METHODS[name].build(cancer.problem)
    points = list(trials.ParameterGrid(built.grid))[:8]
    losses = []
    for point in points:
        total = 0.0
        for fold in cancer.folds:
            model = trials.candidate(built.estimator, point).fit(fold.X, fold.y)
            p = model.predict_proba(fold.X_test)[np.arange(len(fold.y_test)), fold.y_test]
            total -= np.log(np.maximum(p, 1e-15)).sum()
        losses.append(total / len(cancer.y))
    chosen = trials.by_log_loss(built.estimator, points, cancer)
    assert losses[points.index(chosen)] == pytest.approx(min(losses), abs=1e-4)


def test_auto_is_chosen_once_and_its_forced_decisions_decide_everything(cancer, monkeypatch):
    calls = []

    def choose(*args, **kwargs):
        calls.append(kwargs["groups"])
        return choose_model(*args, models=["logistic-posterior", "kernel-posterior"], **kwargs)

    monkeypatch.setattr(trials, "choose_model", choose)
    rows = list(trials.try_family(["auto"], cancer, COSTS, 0.2))
    assert len(calls) == 1
    assert [row["method"] for row in rows[::2]] == ["auto", "decide everything"]
    for row, auto in zip(rows[2:4], rows[:2], strict=True):
        assert row["R"] == 0
        assert row["risk"] == row["E"] == row["forced_E"] == auto["forced_E"]
    assert rows[-1]["problem"] is None


def test_a_method_that_fails_is_a_row_with_the_reason_and_a_machine_fails_the_cell(
    cancer, monkeypatch
):
    broken = replace(METHODS["logistic-class"], build=lambda problem: 1 / 0)
    monkeypatch.setitem(trials.METHODS, "logistic-class", broken)
    rows = list(trials.try_family(["logistic-class", "logistic"], cancer, COSTS, 0.2))
    assert {row["problem"] for row in rows[:2]} == {"ZeroDivisionError: division by zero"}
    assert all(row["risk"] is None for row in rows[:2])
    assert all(row["problem"] is None for row in rows[2:])

    def build(problem):
        raise MemoryError("no")

    monkeypatch.setitem(trials.METHODS, "logistic", replace(METHODS["logistic"], build=build))
    with pytest.raises(MemoryError):
        list(trials.try_family(["logistic"], cancer, COSTS, 0.2))


def test_the_error_within_a_budget_is_the_mean_over_ties():
    rng = np.random.default_rng(0)
    wrong, sureness = rng.random(40) < 0.3, rng.integers(5, size=40).astype(float)
    orders = (np.lexsort((rng.random(40), sureness)) for _ in range(4000))
    drawn = [wrong[order[8:]].mean() for order in orders]
    assert trials.error_within(wrong, sureness, 0.2) == pytest.approx(np.mean(drawn), abs=0.004)


# ---- standings --------------------------------------------------------------------------------


def test_rankings_duels_and_a_winner():
    plan, rows = suite_rows(excess={"logistic": 0.05, "logistic-class": 0.02})
    standings = Standings(rows, plan)
    every, two, ordered = standings.rankings
    assert [len(r.tables) for r in (every, two, ordered)] == [22, 9, 9]
    assert "logistic" not in every.methods  # it takes no classes without an order
    assert two.order[-1] == ordered.order[-1] == "logistic"
    assert two.costs.shape == (9, 6)
    assert not every.has_winner
    duels = {duel.rival: duel for duel in standings.duels}
    assert duels["logistic-posterior"].n_tables == 18
    assert duels["logistic-posterior"].cheaper == 0
    assert duels["logistic-posterior"].lean == -1
    assert duels["logistic-posterior"].p_value < 0.001
    few = ("auto", "svm-posterior", "logistic-posterior")
    better = Standings(suite_rows(methods=few, excess={"auto": -0.01})[1], plan)
    assert better.rankings[0].order[0] == "auto"
    assert better.rankings[0].has_winner


def test_a_split_on_which_a_method_failed_is_left_out_for_all():
    plan, rows = suite_rows()
    wrong = [r for r in rows if (r["dataset"], r["method"]) == ("iris", "svm-class")]
    for row in wrong:
        if row["repetition"] == 0:
            bad = suite_row("iris", 0, "svm-class", row["reject_cost"], R=0, E=0, problem="no")
            rows[rows.index(row)] = bad
    standings = Standings(rows, plan)
    ranking = standings.rankings[0]
    assert ranking.values["iris", "auto"].shape == (3, 4)
    assert ranking.values["wine", "auto"].shape == (4, 4)
    assert standings.lacking == ["iris, svm-class (1): no"]
    fewer = [r for r in rows if not (r["method"] == "svm-class" and r["dataset"] == "iris")]
    assert "svm-class" not in Standings(fewer, plan).rankings[0].methods
