"""Splits of the suite: sizes, classes, groups, and what encoders may see."""

import numpy as np
import pandas as pd
import pytest

from rejo.catalogue import METHODS
from rejo.study.suite.roster import SuiteTable, load_entry
from rejo.study.suite.table_splits import GroupFolds, group_folds, make_parts
from rejo.study.suite.trials import Settings, run_method

SIZES = (90, 5000, 3)  # rows to train on and to test on, folds


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


def draw(table, repetition=0, ordered=True, sizes=SIZES):
    return make_parts(table, (0, "made up", repetition), ordered, *sizes)


def test_parts_are_disjoint_stratified_and_no_larger_than_asked():
    table = load_entry("iris")
    parts = draw(table, ordered=False, sizes=(90, 40, 3))
    assert (len(parts.y), len(parts.y_test)) == (90, 40)
    assert np.bincount(parts.y).tolist() == [30, 30, 30]
    assert not set(parts.X.index) & set(parts.X_test.index)
    assert len(draw(table, ordered=False, sizes=(1000, 5000, 3)).y) == 90  # 60 % of 150 rows
    for train, test in parts.splits:
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(90))


def test_a_split_depends_on_the_table_and_the_key_alone():
    table = load_entry("iris")
    first, again, other = (draw(table, r, ordered=False) for r in (0, 0, 1))
    assert first.X.index.equals(again.X.index)
    assert np.array_equal(first.whole.X_test, again.whole.X_test)
    assert not first.X.index.equals(other.X.index)


def test_patients_are_on_one_side_of_the_split_and_of_every_fold(patients):
    for repetition in range(3):
        parts = draw(patients, repetition)
        train, test = (set(patients.groups[part.index]) for part in (parts.X, parts.X_test))
        assert min(len(train), len(test)) > 10
        assert not train & test
        assert np.array_equal(parts.groups, patients.groups[parts.X.index])
        for inside, outside in parts.splits:
            assert not set(parts.groups[inside]) & set(parts.groups[outside])
            assert set(parts.y[inside]) == {0, 1, 2}


def test_folds_of_the_methods_themselves_keep_patients_together(patients, monkeypatch):
    parts = draw(patients)
    seen = []

    def split(self, X, y, groups=None):
        for train, test in original(self, X, y):
            # Rows of a patient are nearly equal, and others are far away.
            apart = np.abs(X[train][:, None] - X[test]).max(axis=2)
            seen.append(apart.min())
            yield train, test

    original = GroupFolds.split
    monkeypatch.setattr(GroupFolds, "split", split)
    for name in ("logistic-cutoffs", "svm-posterior", "logistic-class"):
        seen.clear()
        assert len(run_method(name, parts, Settings((0.2,), 0.2))) == 1
        assert len(seen) >= 5, name
        assert min(seen) > 1e-3, name


def test_group_folds_deal_out_the_groups_of_each_class(patients):
    parts = draw(patients)
    folds = group_folds(parts)
    tested = np.concatenate([test for _, test in folds.split(parts.whole.X_train, parts.y)])
    assert np.array_equal(np.sort(tested), np.arange(len(parts.y)))
    for train, _ in folds.split(parts.whole.X_train, parts.y):
        assert set(parts.y[train]) == {0, 1, 2}
    with pytest.raises(ValueError, match="groups of these rows are not known"):
        next(folds.split(parts.whole.X_test, parts.y_test))
    assert group_folds(draw(load_entry("iris"), ordered=False)) is None


def test_encoders_learn_nothing_from_test_rows():
    table = load_entry("breast_cancer")
    parts = draw(table)
    changed = table.X.copy()
    changed.loc[parts.X_test.index] *= 1000.0
    other = draw(table._replace(X=changed))
    assert parts.X_test.index.equals(other.X_test.index)
    assert np.array_equal(parts.whole.X_train, other.whole.X_train)
    assert not np.allclose(parts.whole.X_test, other.whole.X_test)
    # Nor do those of a fold from the rows that it holds out.
    held = parts.X.index[parts.splits[0][1]]
    changed = table.X.copy()
    changed.loc[held] *= 1000.0
    other = draw(table._replace(X=changed))
    assert np.array_equal(parts.folds[0].X_train, other.folds[0].X_train)
    assert not np.array_equal(parts.folds[1].X_train, other.folds[1].X_train)


def test_too_few_rows_of_a_class_are_an_error(patients):
    few = patients._replace(y=np.where(patients.groups < 2, 1, 0))  # two patients of a class
    with pytest.raises(ValueError, match="two cases of each class"):
        draw(few)


def test_the_problem_is_that_of_the_encoded_training_part():
    parts = draw(load_entry("wine"), ordered=False)
    assert parts.problem[:3] == (3, 13, 90)
    assert not parts.problem.ordered
    assert METHODS["logistic-posterior"].takes(parts.problem.n_classes, parts.problem.ordered)
