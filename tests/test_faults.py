"""What goes wrong in practice, each case with a time limit.

A case ends with the right answer, with a warning, or with an error that names the parameter;
never with a crash, a hang or a model that silently learned nothing.
"""

import os
import re
import tempfile
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rejo import RejoSVC

LIMIT = 60  # seconds for a case, on a busy machine

rng = np.random.RandomState(0)
N = 80
X = rng.uniform(-1, 1, (N, 2))
Y = (X[:, 0] > 0).astype(int)  # the first column tells all, the second one nothing
NOISY = np.where(rng.uniform(size=N) < 0.15, 1 - Y, Y)
ORDERED = np.digitize(X[:, 0], [-0.4, 0.4])
NAMES = np.array(["low", "mid", "high"])[ORDERED]


def fit(X=X, y=Y, sample_weight=None, **parameters):
    """Score on the training points; NaN anywhere is a failure."""
    model = RejoSVC(**parameters).fit(X, y, sample_weight=sample_weight)
    assert np.isfinite(model.boundary_scores(X)).all()
    assert np.isfinite(model.thresholds_).all()
    assert np.isfinite(model.objective_)
    return model.score(X, y)


def column(j, values):
    changed = X.copy()
    changed[:, j] = values
    return changed


def entry(value):
    changed = X.copy()
    changed[7, 0] = value
    return changed


def agreement(X_form, **parameters):
    """Largest difference to the scores of a fit on a plain array."""
    expected = RejoSVC(**parameters).fit(X, Y).boundary_scores(X)
    return np.abs(RejoSVC(**parameters).fit(X_form, Y).boundary_scores(X_form) - expected).max()


def memory_map():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "X.npy")
        np.save(path, X)
        return agreement(np.load(path, mmap_mode="r"))


def int64_sparse():
    S = sparse.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return agreement(S)


def read_only():
    frozen = X.copy()
    frozen.flags.writeable = False
    return agreement(frozen)


def without_zero_weights():
    weight = np.arange(N) % 2
    weighted = RejoSVC(gamma=1.0).fit(X, Y, weight).boundary_scores(X)
    return np.abs(weighted - RejoSVC(gamma=1.0).fit(X[1::2], Y[1::2]).boundary_scores(X)).max()


def answers(X, y, **parameters):
    return np.unique(RejoSVC(**parameters).fit(X, y).predict(X)).tolist()


def weights(value, index=slice(0, 5)):
    w = np.ones(N)
    w[index] = value
    return w


EPOCH = 1.7e9 + 86400.0 * np.arange(N)  # a day for each row: says nothing
LATER = 1.7e9 + 86400.0 * 30 * X[:, 0]  # says all
LINEAR, RBF = {"kernel": "linear"}, {"kernel": "rbf"}
ONE_OF_A_KIND = np.where(np.arange(N) == int(X[:, 0].argmax()), 1, 0)

ERROR, WARNING = "error", "warning"  # ... that matches the text
RIGHT = "right"  # the answer is in the interval, no warning
EITHER = "either"  # a warning that matches, or the answer is in the interval
GOOD = (0.9, 1.0)
SAME = (0.0, 1e-2)

# name: (what to do, what must come of it, text or interval)
CASES = {
    "NaN": (lambda: fit(entry(np.nan)), ERROR, "X contains NaN"),
    "inf": (lambda: fit(entry(np.inf)), ERROR, "X contains infinity"),
    "square overflows": (lambda: fit(entry(1e200)), ERROR, "X contains values of up to 1.0e+200"),
    "strings in X": (lambda: fit(np.char.add(X.astype("U9"), "x")), ERROR, "could not convert"),
    "0 features": (lambda: fit(np.empty((N, 0))), ERROR, "0 feature(s)"),
    "0 samples": (lambda: fit(np.empty((0, 2)), []), ERROR, "0 sample(s)"),
    "1-d X": (lambda: fit(X[:, 0]), ERROR, "Expected 2D array"),
    "one class": (lambda: fit(y=np.ones(N)), ERROR, "y has only one class, 1.0"),
    "y too short": (lambda: fit(y=Y[:-1]), ERROR, "inconsistent numbers of samples"),
    "y of NaN": (lambda: fit(y=np.full(N, np.nan)), ERROR, "y contains NaN"),
    "y of real numbers": (lambda: fit(y=X[:, 0]), ERROR, "Unknown label type: continuous"),
    "two points": (lambda: fit([[0.0], [1.0]], [0, 1], C=10), RIGHT, GOOD),
    "a class of one point": (lambda: fit(y=ONE_OF_A_KIND, C=1e3, gamma=9.0), RIGHT, GOOD),
    "as many classes as points": (
        lambda: fit(X[:40], np.argsort(np.argsort(X[:40, 0])), C=100, **LINEAR),
        RIGHT,
        (0.0, 1.0),
    ),
    # Two constant columns: 9 in 10 of a class is worth a guess, 7 in 10 is not.
    "constant features, guess": (
        lambda: answers(np.ones((50, 2)), np.arange(50) < 45, C=10, h=10),
        RIGHT,
        [1],
    ),
    "constant features, reject": (
        lambda: answers(np.ones((50, 2)), np.arange(50) < 35, C=10, h=10),
        RIGHT,
        [-1],
    ),
    "constant features, linear": (
        lambda: answers(np.ones((50, 2)), np.arange(50) < 35, C=10, h=10, **LINEAR),
        RIGHT,
        [-1],
    ),
    "a constant feature": (lambda: fit(column(1, 3.0)), RIGHT, GOOD),
    "telling column x 1e10": (lambda: fit(column(0, 1e10 * X[:, 0])), WARNING, "blind to 1 of 2"),
    "telling column x 1e10, linear": (
        lambda: fit(column(0, 1e10 * X[:, 0]), **LINEAR),
        EITHER,
        ("duality gap", GOOD),
    ),
    "other column x 1e10": (lambda: fit(column(1, 1e10 * X[:, 1])), WARNING, "blind to 1 of 2"),
    "other column x 1e10, linear": (
        lambda: fit(column(1, 1e10 * X[:, 1]), **LINEAR),
        EITHER,
        ("duality gap", GOOD),
    ),
    "column x 1e-10": (lambda: fit(column(0, 1e-10 * X[:, 0])), WARNING, "blind to 1 of 2"),
    "all x 1e-200": (lambda: fit(1e-200 * X), WARNING, "gamma='scale'"),
    "epoch seconds": (lambda: fit(column(1, EPOCH)), WARNING, "gamma='scale'"),
    "epoch seconds, linear": (
        lambda: fit(column(1, EPOCH), **LINEAR),
        EITHER,
        ("duality gap", GOOD),
    ),
    "telling epoch seconds": (lambda: fit(column(0, LATER)), WARNING, "gamma='scale'"),
    "telling epoch seconds, linear": (
        lambda: fit(column(0, LATER), **LINEAR),
        EITHER,
        ("duality gap", GOOD),
    ),
    "epoch seconds, gamma given": (lambda: fit(column(0, LATER), gamma=1e-12), RIGHT, GOOD),
    "outlier of 3e38": (lambda: fit(entry(3e38)), WARNING, "gamma='scale'"),
    "outlier of 3e38, gamma given": (lambda: fit(entry(3e38), gamma=1.0), RIGHT, GOOD),
    "outlier of 3e38, linear": (
        lambda: fit(entry(3e38), **LINEAR),
        EITHER,
        ("duality gap", GOOD),
    ),
    "outlier of 3e38, float32": (
        lambda: fit(entry(3e38).astype(np.float32)),
        WARNING,
        "gamma='scale'",
    ),
    "cube overflows": (
        lambda: fit(entry(1e140), kernel="poly", gamma=1.0),
        ERROR,
        "kernel='poly' overflows on X",
    ),
    "some weights 0": (without_zero_weights, RIGHT, SAME),
    "all weights 0": (lambda: fit(sample_weight=np.zeros(N)), ERROR, "sample_weight is zero"),
    "a class of weight 0": (
        lambda: fit(sample_weight=Y),
        ERROR,
        "sample_weight is 0 for every row of class 0",
    ),
    "negative weight": (lambda: fit(sample_weight=weights(-1)), ERROR, "sample_weight must not be"),
    "NaN weight": (lambda: fit(sample_weight=weights(np.nan)), ERROR, "sample_weight contains NaN"),
    "inf weight": (lambda: fit(sample_weight=weights(np.inf)), ERROR, "sample_weight contains NaN"),
    "weights 1e300": (
        lambda: fit(sample_weight=weights(1e300)),
        ERROR,
        "sample_weight reaches 1.0e+300",
    ),
    "a weight of 1e15": (
        lambda: fit(sample_weight=weights(1e15)),
        EITHER,
        ("duality gap", GOOD),
    ),
    "weights 1e-300": (lambda: fit(sample_weight=np.full(N, 1e-300)), RIGHT, (0.0, 1.0)),
    "weights of another length": (
        lambda: fit(sample_weight=np.ones(3)),
        ERROR,
        "sample_weight.shape == (3,)",
    ),
    "C=1e20": (lambda: fit(C=1e20, gamma=5.0), EITHER, ("duality gap", GOOD)),
    "C=1e20, linear": (lambda: fit(C=1e20, **LINEAR), EITHER, ("duality gap", GOOD)),
    "C=1e20, overlap": (
        lambda: fit(y=NOISY, C=1e20, **LINEAR),
        EITHER,
        ("duality gap", (0.7, 1.0)),
    ),
    "C=1e200": (lambda: fit(C=1e200), ERROR, "C=1e+200 is too large"),
    "C=1e-200": (lambda: fit(C=1e-200), RIGHT, (0.0, 1.0)),
    "duplicate rows": (
        lambda: fit(np.repeat(X[:5], 60, axis=0), np.repeat(Y[:5], 60)),
        RIGHT,
        GOOD,
    ),
    # Every point six times in one class and four times in the other: half, and review is best.
    "duplicate rows that disagree": (
        lambda: answers(np.repeat(X[:20], 10, axis=0), np.tile([1] * 6 + [0] * 4, 20)),
        RIGHT,
        [-1],
    ),
    "int64 sparse indices": (int64_sparse, RIGHT, SAME),
    "read-only": (read_only, RIGHT, SAME),
    "read-only memory map": (memory_map, RIGHT, SAME),
    "columns in reverse": (lambda: agreement(X[:, ::-1][:, ::-1]), RIGHT, SAME),
    "Fortran order": (lambda: agreement(np.asfortranarray(X)), RIGHT, SAME),
    "every other column": (lambda: agreement(np.repeat(X, 2, axis=1)[:, ::2]), RIGHT, SAME),
    "float16": (lambda: agreement(X.astype(np.float16)), RIGHT, (0.0, 0.1)),
    "an unordered Categorical": (
        lambda: fit(y=pd.Series(NAMES, dtype="category")),
        ERROR,
        "class_order=['high', 'low', 'mid']",
    ),
    "an ordered Categorical": (
        lambda: fit(y=pd.Categorical(NAMES, ["low", "mid", "high"], ordered=True), C=100, **RBF),
        RIGHT,
        GOOD,
    ),
    "reject_cost=0": (lambda: fit(reject_cost=0), ERROR, "'reject_cost' parameter of RejoSVC"),
    "reject_cost=0.6": (lambda: fit(reject_cost=0.6), ERROR, "'reject_cost' parameter of RejoSVC"),
    "reject_cost='0.2'": (
        lambda: fit(reject_cost="0.2"),
        ERROR,
        "'reject_cost' parameter of RejoSVC",
    ),
    "reject_label taken": (lambda: fit(reject_label=1), ERROR, "reject_label=1 is also a class"),
    "a Gram matrix with NaN": (
        lambda: fit(np.where(np.eye(N) > 0, np.nan, X @ X.T), kernel="precomputed"),
        ERROR,
        "X contains NaN",
    ),
    "an indefinite Gram matrix": (
        lambda: fit(X @ X.T - 0.5 * np.eye(N), kernel="precomputed"),
        EITHER,
        ("duality gap", (0.0, 1.0)),
    ),
    "a sigmoid far from definite": (
        lambda: fit(5 * X, kernel="sigmoid", gamma=3.0, coef0=-2.0, C=100),
        EITHER,
        ("duality gap", (0.0, 1.0)),
    ),
}


def inside(answer, expected):
    if isinstance(expected, list):
        return answer == expected
    return expected[0] <= answer <= expected[1]


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("name", CASES)
def test_fault(name):
    act, kind, expected = CASES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "rejo runs on its NumPy reference")
        if kind == ERROR:
            with pytest.raises(ValueError, match=re.escape(expected)):
                act()
            return
        answer = act()
    said = [str(warning.message) for warning in caught]
    if kind == RIGHT:
        assert said == []
        assert inside(answer, expected)
    elif kind == WARNING:
        assert any(expected in text for text in said)
    else:
        text, interval = expected
        assert any(text in warning for warning in said) or inside(answer, interval)
