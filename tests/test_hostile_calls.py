"""Calls of the public classifiers that nobody should make: each is answered, or refused in words.

Data, labels, weights and parameters that are damaged, huge, empty or of another type, in all
methods.  `make sanitize` runs these calls again, with AddressSanitizer in the extension, once for
each instruction set.
"""

import re
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo.selection.limits import TARGETS
from tests.damage import damaged, odd_but_right

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, P = 24, 3
random = np.random.default_rng(20)
X = random.normal(size=(N, P)) + 0.01
y = (X[:, 0] + 0.3 * random.normal(size=N) > 0).astype(int)
SPARSE = sparse.csr_matrix(X)


def logistic():
    return LogisticRegression(max_iter=30)


def pipeline():
    return make_pipeline(StandardScaler(with_mean=False), logistic())


def _novel(classifier, **p):
    return rejo.NoveltyReject(classifier, **{"cv": 2, **p})


def _search(kernel="rbf", **p):
    machine, grid = rejo.RejoSVC(kernel=kernel, max_iter=300), {"C": [1.0, 2.0]}
    price = {"reject_cost": 0.2} if all(p.get(name) is None for name in TARGETS) else {}
    return rejo.RejectClassifierCV(machine, **price, **{"param_grid": grid, "cv": 2, **p})


# Small, so that a call takes milliseconds also with AddressSanitizer.
MODELS = {
    "RejoSVC": lambda **p: rejo.RejoSVC(**{"max_iter": 300, "cache_size": 1e-3, **p}),
    "RejoSVC, poly": lambda **p: rejo.RejoSVC(**{"kernel": "poly", "max_iter": 300, **p}),
    "RejoSVC, linear": lambda **p: rejo.RejoSVC(**{"kernel": "linear", "max_iter": 300, **p}),
    "RejoKernelLogistic": lambda **p: rejo.RejoKernelLogistic(**{"max_iter": 5, **p}),
    "RejoLinear": lambda **p: rejo.RejoLinear(**{"max_iter": 5, **p}),
    "RejoLinear, hinge": lambda **p: rejo.RejoLinear(**{"loss": "hinge", "max_iter": 5, **p}),
    "RejoMLP": lambda **p: rejo.RejoMLP(**{"max_iter": 3, "random_state": 0, **p}),
    "ReplicationClassifier": lambda **p: rejo.ReplicationClassifier(logistic(), **p),
    "ReplicationClassifier, pipeline": lambda **p: rejo.ReplicationClassifier(pipeline(), **p),
    "ThresholdRejectClassifier": lambda **p: rejo.ThresholdRejectClassifier(logistic(), **p),
    "ThresholdRejectClassifier, score": lambda **p: rejo.ThresholdRejectClassifier(
        rejo.RejoSVC(kernel="linear", max_iter=300), **{"rule": "score", "cv": 2, **p}
    ),
    "NoveltyReject": lambda **p: _novel(logistic(), **p),
    "NoveltyReject, linear": lambda **p: _novel(rejo.RejoLinear(max_iter=5), **p),
    "FrankHallReject": lambda **p: rejo.baselines.FrankHallReject(logistic(), **p),
    "BlendClassifier": lambda **p: rejo.BlendClassifier(
        [("one", logistic()), ("two", pipeline())], **{"cv": 2, **p}
    ),
    "SurrogateRejectSVC": lambda **p: rejo.baselines.SurrogateRejectSVC(**{"max_iter": 300, **p}),
    "EmbeddedRejectSVC": lambda **p: rejo.baselines.EmbeddedRejectSVC(
        **{"kernel": "rbf", "n_starts": 1, "max_iter": 3, **p}
    ),
    "RejectClassifierCV": lambda **p: _search(**p),
}
# One learner with a kernel, one without, and one around another; `make check` has the others.
FIRST = {"RejoSVC", "RejoLinear", "ThresholdRejectClassifier"}
METHODS = ("predict", "predict_proba", "boundary_scores", "review")
made = Counter()


def refusal(call, *words):
    """Return how a call ended: None if it was answered, else the message of its error.

    An error that says nothing about the fault, by one of the words, fails the test.
    """
    made["calls"] += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it did not converge, mostly
        warnings.filterwarnings("ignore", "", RuntimeWarning, r"sklearn\.")  # of estimators inside
        try:
            call()
        except (ValueError, TypeError) as error:
            message = str(error)
            assert re.search("|".join(words), message, re.IGNORECASE), message
            assert "incompatible function arguments" not in message
            return message
    return None


ABOUT_X = (
    *(r"\bX\b", "sparse", "feature", "sample", "dimension", "array", "inhomogeneous", "kernel"),
    *("Complex data", "could not convert string", r"float\(\) argument", "Input contains"),
)
ABOUT_Y = (
    *(r"\by\b", "class", "label", "target", "sample", "float", "array-like", "dimension"),
    "Complex data",
)

DENSE = {
    "empty": np.empty((0, P)),
    "no columns": np.empty((N, 0)),
    "nothing": np.empty((0, 0)),
    "one row": X[:1],
    "other length": X[: N - 1],
    "one column": X[:, :1],
    "many columns": np.tile(X, 9),
    "vector": X[:, 0],
    "number": 3.0,
    "None": None,
    "three dimensions": X[None],
    "NaN": np.where(X > 2, np.nan, X),
    "all NaN": np.full((N, P), np.nan),
    "infinite": np.where(X > 1, np.inf, X),
    "huge": X * 1e300,
    "large": X * 1e140,
    "tiny": X * 1e-320,
    "constant": np.ones((N, P)),
    "zeros": np.zeros((N, P)),
    "read-only": (lambda Z: Z.setflags(write=False) or Z)(X.copy()),
    "Fortran": np.asfortranarray(X),
    "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": X[::-1, ::-1],
    "broadcast": np.broadcast_to(X[0], (N, P)),
    "not aligned": np.frombuffer(b"x" + X.tobytes(), dtype="u1")[1:].view("<f8").reshape(N, P),
    "big-endian": X.astype(">f8"),
    "half": X.astype(np.float16),
    "single": X.astype(np.float32),
    "long double": X.astype(np.longdouble),
    "complex": X + 1j,
    "integers": (10 * X).astype(np.int8),
    "Boolean": X > 0,
    "objects": X.astype(object),
    "mixed objects": np.array([["a", 1.0, None]] * N, dtype=object),
    "objects of lists": np.array([[[], {}, ()]] * N, dtype=object),
    "strings": X.astype(str),
    "words": np.full((N, P), "word"),
    "bytes": np.full((N, P), b"word"),
    "dates": np.full((N, P), np.datetime64("2020-01-01")),
    "lists": X.tolist(),
    "ragged": [[1.0], [1.0, 2.0]] * (N // 2),
    "records": np.zeros(N, dtype=[("a", float), ("b", int)]),
    "masked": np.ma.masked_greater(X, 1.0),
    "memory view": memoryview(X),
    "a set": {1, 2, 3},
    "a dict": {"a": [1.0]},
    "a generator": (row for row in X),
}
EMPTY = {
    "no entries": sparse.csr_matrix((N, P)),
    "no entries, array": sparse.csr_array((N, P)),
    "no entries, CSC": sparse.csc_matrix((N, P)),
    "zeros that are stored": sparse.csr_matrix((np.zeros(N), np.zeros(N, int), np.arange(N + 1))),
    "sum of zero": sparse.coo_matrix(([1.0, -1.0], ([0, 0], [0, 0])), shape=(N, P)),
    "no rows": sparse.csr_matrix((0, P)),
    "no columns": sparse.csr_matrix((N, 0)),
    "one row": SPARSE[:1],
    "other width": sparse.hstack([SPARSE, SPARSE]),
    "NaN": sparse.csr_matrix(np.where(X > 1, np.nan, X)),
    "infinite": sparse.csr_matrix(np.where(X > 1, np.inf, X)),
    "huge": SPARSE * 1e300,
    "Boolean": SPARSE > 0,
    "complex": SPARSE * 1j,
    "long double": SPARSE.astype(np.longdouble),
    "integers": (SPARSE * 10).astype(np.int16),
    "one dimension": sparse.coo_array(X[:, 0]),
}


def every_model(test):
    names = [pytest.param(n, marks=() if n in FIRST else pytest.mark.check) for n in MODELS]
    return pytest.mark.parametrize("name", names)(test)


def fit(name, points=X, labels=y, weight=None, **params):
    model = MODELS[name](**params)
    return model.fit(points, labels, sample_weight=weight)


def use(model, points, about):
    """Call every method with the points."""
    for method in METHODS:
        if hasattr(model, method):
            refusal(lambda method=method: getattr(model, method)(points), *about)
    refusal(lambda: model.score(points, y), *about, *ABOUT_Y)


@every_model
@pytest.mark.parametrize("given", [DENSE, EMPTY], ids=["dense", "sparse"])
def test_points(name, given):
    model = fit(name)
    thin = fit(name, SPARSE)
    for points in given.values():
        refusal(lambda points=points: use(fit(name, points), X, ABOUT_X), *ABOUT_X, *ABOUT_Y)
        for fitted in (model, thin):
            use(fitted, points, ABOUT_X)


@every_model
def test_damaged_points_are_refused(name):
    model, thin = fit(name), fit(name, SPARSE)
    for what, points in damaged(X, np.random.default_rng(0)):
        found = refusal(lambda points=points: fit(name, points), "damaged sparse matrix")
        assert found, what
        for fitted in (model, thin):
            for method in (*METHODS, "score"):
                if hasattr(fitted, method):
                    call = getattr(fitted, method)
                    labels = [y] if method == "score" else []
                    found = refusal(
                        lambda call=call, points=points, labels=labels: call(points, *labels),
                        "damaged sparse matrix",
                    )
                    assert found, (what, method)


@every_model
def test_odd_points_are_the_same_points(name):
    model = fit(name, SPARSE)
    expected = model.predict(SPARSE)
    for what, points in odd_but_right(X):
        assert (model.predict(points) == expected).all(), what
        assert (fit(name, points).predict(SPARSE) == expected).all(), what


LABELS = {
    "None": None,
    "one class": np.zeros(N, int),
    "too few": y[:-1],
    "too many": np.append(y, 1),
    "none": [],
    "number": 1,
    "text": "abc",
    "two columns": np.column_stack([y, y]),
    "one column": y[:, None],
    "NaN": np.where(np.arange(N) == 3, np.nan, y),
    "infinite": np.where(np.arange(N) == 3, np.inf, y),
    "fractions": X[:, 0],
    "objects": y.astype(object),
    "mixed": np.array([1, "a"] * (N // 2), dtype=object),
    "None among them": np.where(np.arange(N) == 3, None, y.astype(object)),
    "lists": np.array([[1], [2]] * (N // 2)),
    "words": np.where(y, "yes", "no"),
    "bytes": np.where(y, b"yes", b"no"),
    "Boolean": y > 0,
    "complex": y + 1j,
    "dates": np.where(y, np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    "huge": [10**400 if k else -(10**400) for k in y],
    "unsigned": y.astype(np.uint8),
    "large": np.where(y, 2**63 - 1, -(2**63)),
    "single": y.astype(np.float32),
    "the reject label": np.where(y, -1, 0),
    "a class of one": np.where(np.arange(N) == 0, 2, y),
    "all different": np.arange(N),
    "sparse": sparse.csr_matrix(y),
    "strings with nulls": np.where(y, "a\0b", "a\0c"),
    "empty string": np.where(y, "", "a"),
    "NaT": np.full(N, np.datetime64("NaT")),
    "a set": {0, 1},
}
WEIGHTS = {
    "negative": -np.ones(N),
    "one negative": np.where(np.arange(N) == 3, -1.0, 1.0),
    "NaN": np.full(N, np.nan),
    "infinite": np.full(N, np.inf),
    "zeros": np.zeros(N),
    "zeros of a class": (y == 0).astype(float),
    "huge": np.full(N, 1e300),
    "tiny": np.full(N, 5e-324),
    "small": np.full(N, 1e-300),
    "wide": np.where(y, 1e90, 1e-90),
    "too few": np.ones(N - 1),
    "none": [],
    "number": 2.0,
    "matrix": np.ones((N, 2)),
    "column": np.ones((N, 1)),
    "words": ["a"] * N,
    "objects": np.ones(N, dtype=object),
    "None among them": [None] * N,
    "complex": np.ones(N) + 1j,
    "Boolean": y > -1,
    "one": np.eye(N)[0],
    "read-only": np.broadcast_to(1.0, N),
    "integers": np.full(N, 2**62),
    "huge integers": [10**400] * N,
    "text": "abc",
}


@pytest.mark.filterwarnings("ignore:Support for labels represented as bytes")  # scikit-learn 1.6
@every_model
def test_labels(name):
    model = fit(name)
    for labels in LABELS.values():
        refusal(lambda labels=labels: fit(name, X, labels), *ABOUT_Y)
        if name != "BlendClassifier":  # which has scikit-learn's own
            refusal(lambda labels=labels: model.score(X, labels), *ABOUT_Y)


@every_model
def test_weights(name):
    model = fit(name)
    for weight in WEIGHTS.values():
        for points in (X, SPARSE):
            refusal(lambda p=points, w=weight: fit(name, p, y, w), "weight", "diverged")
        if name != "BlendClassifier":
            refusal(lambda weight=weight: model.score(X, y, weight), "weight")


NUMBERS = (
    *(0, -1, -2, 2**31, 2**40, 2**63, -(2**63) - 1, 2**70, 10**400, -(10**400)),
    *(0.5, 3.0, -0.5, 1e308, -1e308, 1e-320, float("nan"), float("inf"), -float("inf")),
    *(True, None, "1", b"1", 1j, Fraction(1, 3), [1], (), {}, object()),
    *(np.array(1.0), np.array([1.0]), np.int8(100), np.uint8(3), np.float16(0.5)),
    *(np.longdouble(0.5), np.longdouble("1e4000"), np.str_("rbf"), np.datetime64("2020")),
)
# Not numbers, or numbers of processes; and what scikit-learn iterates over, in its own words.
OTHERS = {"estimator", "estimators", "n_jobs", "verbose"}
LISTS = {
    "BlendClassifier": {"cv"},
    "ThresholdRejectClassifier, score": {"cv"},
    "RejectClassifierCV": {"cv", "param_grid", "reject_costs"},
}


@every_model
def test_parameters(name):
    left_out = OTHERS | LISTS.get(name, set())
    for parameter in sorted(MODELS[name]().get_params(deep=False).keys() - left_out):
        for value in NUMBERS:
            found = refusal(
                lambda parameter=parameter, value=value: fit(name, **{parameter: value}).predict(X),
                "price" if parameter == "cost_of" else parameter.rstrip("s"),
                r"kernel='\w+' overflows|scores overflow|network diverged|costs? .* overflows",
            )
            if isinstance(value, float) and np.isnan(value) and parameter != "reject_label":
                assert found, parameter


@pytest.mark.check
@pytest.mark.parametrize(
    "name", ["RejoSVC", "RejoSVC, poly", "RejoKernelLogistic", "RejectClassifierCV"]
)
def test_kernel_matrices(name):
    K = X @ X.T
    model = fit(name, K, kernel="precomputed")
    matrices = {
        "points": X,
        "NaN": K * np.nan,
        "huge": K * 1e140,
        "negative": -K,
        "zeros": 0 * K,
        "not symmetric": np.triu(K),
        "sparse": sparse.csr_matrix(K),
        "one row": K[:1],
        "empty": K[:0, :0],
        "wide": np.hstack([K, K]),
        "integers": (10 * K).astype(int),
        "Fortran": np.asfortranarray(K),
        "backwards": K[::-1, ::-1],
    }
    for matrix in matrices.values():
        about = *ABOUT_X, "precomputed", "converge", "scores"
        refusal(lambda matrix=matrix: fit(name, matrix, kernel="precomputed"), *about, *ABOUT_Y)
        use(model, matrix, about)
    for kernel in (
        lambda A, B: np.full((A.shape[0], B.shape[0]), np.nan),
        lambda A, B: np.ones((A.shape[0], B.shape[0] + 1)),
        lambda A, B: np.ones(A.shape[0]),
        lambda A, B: "kernel",
        lambda A, B: None,
        lambda A, B: sparse.csr_matrix((A.shape[0], B.shape[0])),
        lambda A, B: 1e200 * np.ones((A.shape[0], B.shape[0])),
    ):
        for points in (X, SPARSE):
            refusal(lambda k=kernel, p=points: fit(name, p, kernel=k).predict(p), "kernel")


@pytest.mark.check
def test_streams():
    for make in (rejo.RejoLinear, lambda: rejo.RejoMLP(solver="adam", random_state=0)):
        for points in (*DENSE.values(), *EMPTY.values()):
            model = make().partial_fit(X, y, classes=[0, 1])
            refusal(lambda m=model, p=points: m.partial_fit(p, y), *ABOUT_X)
        for labels in LABELS.values():
            refusal(lambda m=model, v=labels: m.partial_fit(X, v), *ABOUT_Y)
            refusal(lambda k=make, v=labels: k().partial_fit(X, y, classes=v), *ABOUT_Y)
        for weight in WEIGHTS.values():
            refusal(lambda m=model, w=weight: m.partial_fit(X, y, None, w), "weight", "diverged")
        for what, points in damaged(X, np.random.default_rng(0)):
            assert refusal(lambda m=model, p=points: m.partial_fit(p, y), "damaged"), what


def test_paths_and_curves():
    for what, points in damaged(X, np.random.default_rng(0)):
        for call in (
            lambda points=points: rejo.RejoSVC().fit_path(points, y, Cs=[1.0]),
            lambda points=points: rejo.reject_curve(rejo.RejoSVC(), points, y),
            lambda points=points: rejo.compare({"one": rejo.RejoSVC()}, points, y),
            lambda points=points: rejo.replication.replicate(points, y, [[0.2, 0.8], [0.8, 0.2]]),
        ):
            assert refusal(call, "damaged sparse matrix"), what
