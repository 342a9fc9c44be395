"""Copies of rows are noticed; rows that are identical by chance are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, vstack

from rejo.estimators import RejoLinear
from rejo.selection import RejectClassifierCV
from rejo.selection.traps import RepeatedRows, repeated_share

COPIES = np.repeat(np.arange(150), 4)


def cases(n_features=3, n=150):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, n_features))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("n_features", [1, 2, 10])
def test_copies_are_found_in_every_kind_of_table(n_features):
    X, y = cases(n_features)
    frame = pd.DataFrame(X).rename(columns=str)
    if n_features > 1:
        frame["word"] = [f"w{i % 7}" for i in range(150)]
    for table in (X, X.astype(np.float32), np.where(X < -2.5, np.nan, X), csr_matrix(X), frame):
        rows = table.iloc if hasattr(table, "iloc") else table
        assert repeated_share(table, y) == 0
        assert repeated_share(rows[COPIES], y[COPIES]) == 1
        some = np.append(np.arange(150), np.arange(50))
        assert repeated_share(rows[some], y[some]) == 0.5
        few = np.append(np.arange(150), np.arange(10))
        assert repeated_share(rows[few], y[few]) == 0


def test_sparse_rows_are_the_same_however_they_are_stored():
    X, y = cases()
    tidy = csr_matrix(X)
    turned = csr_matrix((tidy.data[::-1], tidy.indices[::-1], tidy.indptr), tidy.shape)[::-1]
    zeros = csr_matrix(np.column_stack([X, np.ones(150)]))
    zeros.data[3::4] = 0.0  # stored, but not different from no entry
    plain = csr_matrix(np.column_stack([X, np.zeros(150)]))
    assert repeated_share(vstack([tidy, turned]), np.tile(y, 2)) == 1
    assert repeated_share(vstack([zeros, plain]), np.tile(y, 2)) == 1


def test_identical_rows_by_chance_are_no_copies():
    rng = np.random.RandomState(0)
    grade = rng.randint(1, 6, size=(1000, 4))  # few values
    for y in (rng.randint(2, size=1000), (grade.sum(axis=1) > 12).astype(int)):
        assert repeated_share(grade, y) == 0
        assert repeated_share(grade[:, :1], y) == 0
        assert repeated_share(pd.DataFrame(grade).astype(str), y) == 0
    zeros = rng.normal(size=(1000, 20))
    zeros[:400] = 0  # one row, many times
    assert repeated_share(zeros, rng.randint(2, size=1000)) == 0
    kind = rng.randint(30, size=1000)  # columns that depend on each other
    depend = np.column_stack([kind, kind // 2, kind % 3, kind > 20])
    assert repeated_share(depend, rng.randint(2, size=1000)) == 0
    assert repeated_share(np.ones((100, 2)), rng.randint(2, size=100)) == 0


def test_a_copied_table_of_few_values_is_found():
    rng = np.random.RandomState(0)
    grade, y = rng.randint(1, 6, size=(150, 4)), rng.randint(2, size=150)
    assert repeated_share(grade[COPIES], y[COPIES]) == 1


def test_copies_within_a_group_are_no_problem():
    X, y = cases()
    assert repeated_share(X[COPIES], y[COPIES], COPIES) == 0
    assert repeated_share(X[COPIES], y[COPIES], np.arange(600)) == 1
    assert repeated_share(X[COPIES], y[COPIES], [f"g{i}" for i in COPIES]) == 0


def test_a_guarantee_from_copies_warns():
    X, y = cases()
    sure = {"confidence": 0.9, "calibration_size": 0.3, "random_state": 0}
    model = RejectClassifierCV(RejoLinear(), review_budget=0.9, **sure)
    with pytest.warns(RepeatedRows, match="100 %") as found:
        model.fit(X[COPIES], y[COPIES])
    assert found[0].filename == __file__
    model.fit(X[COPIES], y[COPIES], groups=COPIES)
    assert model.guarantee_.n_cases == 45  # whole groups, and each counts once
    model.fit(X, y)
