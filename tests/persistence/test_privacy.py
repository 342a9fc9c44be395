"""Whether a file says how many training rows it contains."""

import json
import zipfile
from copy import copy
from importlib import import_module
from io import BytesIO

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import validation

import rejo
import rejo.persistence
from rejo import (
    BlendClassifier,
    NoveltyReject,
    RejectClassifierCV,
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
)
from rejo.baselines import (
    EmbeddedRejectSVC,
    FrankHallReject,
    SurrogateRejectSVC,
    TwoClassifierReject,
)
from rejo.estimators import RejectClassifier
from rejo.persistence import ModelFileError, _training_rows, inspect, load, save
from rejo.persistence._arrays import array_bytes, repack_sparse
from rejo.persistence._container import SCHEMA, pack
from rejo.persistence._rows import count_rows, first_rows, hashes
from rejo.persistence._trusted import ESTIMATORS
from rejo.selection import RejoSVCCV
from rejo.tables import TableEncoder

N = 60
SCALED_SVC = make_pipeline(StandardScaler(), SVC())
SOME_COLUMNS = ColumnTransformer(
    [("some", Nystroem(n_components=9, random_state=0), [0, 2]), ("rest", StandardScaler(), [1])]
)


def data():
    random = np.random.RandomState(3)
    X = random.uniform(0, 1, (N, 3))
    return X, (X.sum(axis=1) + random.normal(0, 0.3, N) > 1.5).astype(int)


# At least one model around or with each public estimator of rejo.
OWN = {
    "BlendClassifier": [
        ThresholdRejectClassifier(
            BlendClassifier(
                [
                    ("a", CalibratedClassifierCV(SVC(), cv=2)),
                    ("b", CalibratedClassifierCV(SCALED_SVC, cv=2)),
                    ("c", RejoKernelLogistic(reject_cost=None)),
                ],
                weights=[1, 1, 1],
                cv=2,
            )
        )
    ],
    "EmbeddedRejectSVC": [
        EmbeddedRejectSVC(random_state=0),
        EmbeddedRejectSVC(kernel="rbf", random_state=0),
    ],
    "FrankHallReject": [FrankHallReject(SVC(), per_split=1), FrankHallReject(SCALED_SVC)],
    "NoveltyReject": [NoveltyReject(SCALED_SVC), NoveltyReject(RejoLinear())],
    "RejectClassifierCV": [
        RejectClassifierCV(estimator, review_budget=0.3, reject_costs=[0.1, 0.3], cv=2)
        for estimator in (
            make_pipeline(StandardScaler(), RejoSVC()),
            ThresholdRejectClassifier(SCALED_SVC),
        )
    ],
    "RejoBoost": [RejoBoost(n_estimators=5, random_state=0)],
    "RejoKernelLogistic": [RejoKernelLogistic(), RejoKernelLogistic(kernel="linear")],
    "RejoLinear": [RejoLinear()],
    "RejoMLP": [RejoMLP(random_state=0)],
    "RejoSVC": [RejoSVC(), RejoSVC(kernel="linear"), RejoSVC(kernel="poly")],
    "RejoSVCCV": [RejoSVCCV(Cs=[1.0, 10.0], gammas=[1.0, 4.0], reject_costs=[0.1, 0.2, 0.3])],
    "ReplicationClassifier": [
        ReplicationClassifier(SVC()),
        ReplicationClassifier(SCALED_SVC),
        ReplicationClassifier(LogisticRegression()),
    ],
    "SurrogateRejectSVC": [SurrogateRejectSVC()],
    "TableEncoder": [make_pipeline(TableEncoder(), RejoSVC())],
    "ThresholdRejectClassifier": [
        ThresholdRejectClassifier(SVC()),
        ThresholdRejectClassifier(CalibratedClassifierCV(SVC(), cv=3)),
        ThresholdRejectClassifier(CalibratedClassifierCV(SCALED_SVC, cv=3)),
        ThresholdRejectClassifier(CalibratedClassifierCV(SVC(), cv=3, ensemble=False)),
    ],
    "TwoClassifierReject": [TwoClassifierReject(SVC()), TwoClassifierReject(LogisticRegression())],
}

NO_ROWS = {("EmbeddedRejectSVC", 0), ("RejoKernelLogistic", 1)}  # linear: only weights of features

# Estimators of scikit-learn that need more than the defaults.
PARTS = {
    "Binarizer": {"threshold": 0.5},
    "CalibratedClassifierCV": {"estimator": SVC(), "cv": 3},
    "ColumnTransformer": {"transformers": SOME_COLUMNS.transformers},
    "FeatureUnion": {"transformer_list": [("a", StandardScaler()), ("b", Nystroem())]},
    "FrozenEstimator": {"estimator": SVC().fit(*data())},
    "OneHotEncoder": {"handle_unknown": "ignore"},
    "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    "NuSVC": {"nu": 0.05},
    "Nystroem": {"n_components": 9},
    "PCA": {"n_components": 2},
    "Pipeline": {"steps": SCALED_SVC.steps},
    "QuantileTransformer": {"n_quantiles": 9},
    "SelectKBest": {"k": 2},
    "SelectPercentile": {"percentile": 70},
    "ExtraTreesClassifier": {"n_estimators": 3},
    "RandomForestClassifier": {"n_estimators": 3},
}
# These see classes or scores, or keep nothing of a table but its gaps.
NO_TABLE = {"LabelBinarizer", "LabelEncoder", "IsotonicRegression", "MissingIndicator"}
# Some that only a caller can allow.
OTHERS = {
    name: f"sklearn.{module}.{name}"
    for module, name in [
        ("decomposition._pca", "PCA"),
        ("decomposition._truncated_svd", "TruncatedSVD"),
        ("feature_selection._univariate_selection", "SelectPercentile"),
        ("pipeline", "FeatureUnion"),
        ("preprocessing._data", "Binarizer"),
        ("preprocessing._data", "Normalizer"),
        ("preprocessing._data", "QuantileTransformer"),
        ("svm._classes", "NuSVC"),
    ]
}
FUNCTIONS = ["sklearn.feature_selection._univariate_selection.f_classif"]


FEW = (
    "RejoLinear", "RejoSVC", "RejoKernelLogistic", "ReplicationClassifier", "TableEncoder",
    "ColumnTransformer", "Nystroem", "Pipeline", "PCA", "SVC",
)  # fmt: skip


def some(name, *more):
    """Return the parameters of a test; `make test` has those of a few classes, `make check` all."""
    marks = () if name.rpartition(".")[2] in FEW else pytest.mark.check
    return pytest.param(name, *more, marks=marks)


def around(name):
    """Models of rejo around or after an estimator of scikit-learn."""
    module, _, name = name.rpartition(".")
    part = getattr(import_module(module), name)(**PARTS.get(name, {}))
    if "random_state" in part.get_params():
        part.set_params(random_state=0)
    if is_classifier(part):
        model = ThresholdRejectClassifier(part)
        return [model, make_pipeline(StandardScaler(), model)]
    return [make_pipeline(part, RejoSVC()), ReplicationClassifier(make_pipeline(part, SVC()))]


def arrays(part, seen):
    """All arrays in a model."""
    if id(part) in seen:
        return
    seen[id(part)] = part
    if isinstance(part, np.ndarray) and part.dtype == object:
        part = part.ravel().tolist()
    if sparse.issparse(part):
        yield part.toarray()
    elif isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from arrays(value, seen)
    elif isinstance(part, (list, tuple)):
        for value in part:
            yield from arrays(value, seen)
    elif hasattr(part, "__dict__") and not isinstance(part, type):
        yield from arrays(vars(part), seen)


def seen_stages(model, X):
    """All tables that any part of a model validates while it decides the rows of ``X``."""
    stages = []

    def recorded(method):
        def record(*args, **kwargs):
            table = method(*args, **kwargs)
            stages.append(table.copy())  # a scaler works in place
            return table

        return record

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "check_array", recorded(validation.check_array))
        patch.setattr(RejectClassifier, "_check_X", recorded(RejectClassifier._check_X))
        model.predict(X)
    tables = [Z.toarray() if sparse.issparse(Z) else np.asarray(Z) for Z in stages]
    return [Z for Z in tables if Z.ndim == 2 and len(Z) % len(X) == 0 and Z.dtype.kind in "if"]


def brute_force(model, X):
    """Compare all rows with all others; rows that are equal at some stage count as one."""
    n = X.shape[0]
    held = [a for a in arrays(model, {}) if a.ndim == 2 and a.dtype.kind in "if"]
    found, pairs = set(), set()
    for Z in seen_stages(model, X):
        rows = [array for array in held if array.shape[1] == Z.shape[1]]
        if Z.shape[1] > 1 and rows:
            near = np.isclose(Z[:, None], np.vstack(rows), rtol=1e-9, atol=1e-12).all(axis=2)
            here = np.flatnonzero(near.any(axis=1))
            found |= {i % n for i in here}
            _, first = np.unique(Z[here].round(9), axis=0, return_inverse=True)
            pairs |= {
                (here[np.argmax(first == g)] % n, i % n) for g, i in zip(first, here, strict=True)
            }
    rows = sorted(found)
    place = {row: i for i, row in enumerate(rows)}
    graph = np.zeros((len(rows), len(rows)))
    for i, j in pairs:
        graph[place[i], place[j]] = 1
    return connected_components(graph, directed=False)[0] if rows else 0


def check(model, X, y, path, **options):
    """Save a fitted model with and without its table; return how many rows it holds."""
    save(model, path, X=X, y=y, overwrite=True, **options)
    file, expected = inspect(path, **options), brute_force(load(path, **options), X)
    assert file.n_training_rows == file.training_rows == expected <= X.shape[0]
    said = f"CONTAINS {expected:,} TRAINING ROW" if expected else "contains no training rows"
    assert said in str(file)
    save(model, path, overwrite=True, **options)
    shown = inspect(path, **options)
    assert shown.training_rows is None
    if shown.n_training_rows is None:
        assert options
        return expected
    assert shown.n_training_rows <= expected
    assert (shown.n_training_rows > 0) == (expected > 0)
    assert ("CONTAINS AT LEAST" in str(shown)) == (expected > 0)
    return expected


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.rejo"


def test_every_public_estimator_is_among_them():
    rooms = [rejo, rejo.baselines, rejo.estimators, rejo.selection, rejo.tables]
    public = {name: getattr(room, name) for room in rooms for name in room.__all__}
    estimators = {
        name for name, value in public.items() if isinstance(value, type) and hasattr(value, "fit")
    }
    assert estimators - {"RejectClassifier"} == OWN.keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "i"), [some(name, i) for name, models in OWN.items() for i in range(len(models))]
)
def test_rows_in_an_estimator_of_rejo(name, i, path):
    X, y = data()
    if name == "TableEncoder":
        X = pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    model = OWN[name][i].fit(X, y)
    n = check(model, X, y, path)
    kernels = "SVC(" in repr(model) or name in ("RejoKernelLogistic", "RejoSVCCV")
    assert (n > 10) == (kernels and (name, i) not in NO_ROWS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [some(n) for n in sorted(ESTIMATORS) if "sklearn." in n])
def test_rows_in_or_after_an_estimator_of_scikit_learn(name, path):
    if name.rpartition(".")[2] in NO_TABLE:
        pytest.skip("sees no table")
    X, y = data()
    for model in around(name):
        check(model.fit(X, y), X, y, path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [some(name) for name in OTHERS.values()])
def test_rows_in_or_after_an_estimator_that_a_caller_allows(name, path):
    X, y = data()
    for model in around(name):
        assert check(model.fit(X, y), X, y, path, trusted=[name, *FUNCTIONS]) > 4


# ---- the cases that were missed, or counted twice ------------------------------------------


def large():
    random = np.random.RandomState(0)
    X = random.normal(size=(300, 4))
    return X, (X[:, 0] + random.normal(0, 1, 300) > 0).astype(int)


@pytest.mark.parametrize(
    "estimator",
    [
        CalibratedClassifierCV(SVC(), cv=3),
        CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), cv=3),
        FrozenEstimator(SVC().fit(*large())),
        FrozenEstimator(make_pipeline(StandardScaler(), SVC()).fit(*large())),
    ],
    ids=["calibrated", "calibrated pipeline", "frozen", "frozen pipeline"],
)
@pytest.mark.parametrize("with_table", [True, False])
def test_rows_inside_a_wrapper_are_seen(estimator, with_table, path):
    X, y = large()
    save(
        ThresholdRejectClassifier(estimator).fit(X, y),
        path,
        **({"X": X, "y": y} if with_table else {}),
    )
    file = inspect(path)
    assert 100 < file.n_training_rows <= 300
    assert "contains no training rows" not in str(file)
    assert " SVC, " in file.estimators


@pytest.mark.parametrize("with_table", [True, False])
def test_a_row_in_many_models_counts_once(with_table, path):
    X, y = large()
    model = RejoSVCCV(Cs=[1.0], gammas=[0.1, 1.0], cv=2).fit(X, y)
    parts = list(model.best_estimators_.values())
    assert sum(len(part.support_) for part in parts) > 1000
    save(model, path, **({"X": X, "y": y} if with_table else {}))
    rows = set().union(*(part.support_.tolist() for part in parts))
    assert inspect(path).n_training_rows <= len(rows) <= 300
    assert inspect(path).n_training_rows >= max(len(part.support_) for part in parts)


def test_equal_rows_count_once(path):
    X, y = data()
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    save(RejoSVC().fit(X, y), path, X=X, y=y)
    assert N / 2 < inspect(path).n_training_rows <= N


def test_one_feature(path):
    X, y = data()
    X = X.sum(axis=1, keepdims=True)
    for model in (RejoSVC(), ReplicationClassifier(SVC())):
        save(model.fit(X, y), path, X=X, y=y, overwrite=True)
        file = inspect(path)
        assert file.n_training_rows == file.training_rows > 10
    save(RejoLinear().fit(X, y), path, X=X, y=y, overwrite=True)
    assert inspect(path).n_training_rows == 0


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize(
    "model", [RejoSVC(gamma=1.0), ThresholdRejectClassifier(SVC(), rule="score")]
)
def test_sparse_rows(form, model, path):
    random = np.random.RandomState(0)
    X = form(sparse.random(80, 30, density=0.2, random_state=random, format="csr"))
    y = (np.asarray(X.sum(axis=1)).ravel() > 3).astype(int)
    save(model.fit(X, y), path, X=X, y=y)
    part = getattr(model, "estimator_", model)
    assert inspect(path).n_training_rows == len(part.support_) > 10
    save(model, path, X=X.toarray(), y=y, overwrite=True)  # the same rows
    assert inspect(path).training_rows == len(part.support_)
    save(model, path, overwrite=True)
    assert inspect(path).n_training_rows == len(part.support_)


def test_a_kernel_matrix_is_not_a_table(path):
    X, y = data()
    K = rbf_kernel(X)
    save(RejoSVC(kernel="precomputed").fit(K, y), path, X=K, y=y)
    assert inspect(path).n_training_rows == 0
    assert "contains no training rows" in str(inspect(path))


def test_a_class_of_one_row_is_its_own_mean(path):
    X, y = data()
    X, y = np.vstack([X, [[5.0, 6.25, 7.5]]]), np.append(y, 2)
    save(ThresholdRejectClassifier(GaussianNB()).fit(X, y), path, X=X, y=y)
    assert inspect(path).n_training_rows == 1
    assert "CONTAINS 1 TRAINING ROW:" in str(inspect(path))


def test_text_and_dates_before_an_encoder(path):
    pd = pytest.importorskip("pandas")
    X, y = data()
    words = np.array(["red", "green", "blue"])[np.arange(N) % 3]
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D")
    frame = pd.DataFrame({"size": X[:, 0], "colour": words, "day": days, "width": X[:, 1]})
    frame.loc[3, "size"] = np.nan
    model = RejectClassifierCV(
        make_pipeline(TableEncoder(), RejoSVC()), review_budget=0.3, reject_costs=[0.2], cv=2
    ).fit(frame, y)
    assert 10 < check(model, frame, y, path) <= N


# ---- rows in arrays of many forms ----------------------------------------------------------


def stored(*arrays, lists=()):
    """The members of a file with some arrays and lists."""
    members = {}
    for i, array in enumerate(arrays):
        if sparse.issparse(array):
            file = BytesIO()
            sparse.save_npz(file, array)
            members[f"{i}.npz"] = repack_sparse(file.getvalue())
        else:
            members[f"{i}.npy"] = array_bytes(array)
    return members | {SCHEMA: json.dumps([node(part) for part in lists]).encode()}


def node(value):
    if isinstance(value, list):
        return {"__loader__": "ListNode", "content": [node(item) for item in value]}
    return {"__loader__": "JsonNode", "content": json.dumps(value), "is_json": True}


MODEL = LogisticRegression()  # a part that does nothing to the table

FORMS = {
    "as it is": lambda X: stored(X),
    "single precision": lambda X: stored(X.astype(np.float32)),
    "single precision in double": lambda X: stored(X.astype(np.float32).astype(np.float64)),
    "with last digits changed": lambda X: stored(X * (1 + 4e-16)),
    "columns": lambda X: stored(np.asfortranarray(X.T)),
    "one after the other": lambda X: stored(X.ravel()),
    "a stack": lambda X: stored(X.reshape(2, 10, 4)),
    "sparse": lambda X: stored(sparse.csr_array(X)),
    "sparse columns": lambda X: stored(sparse.csc_matrix(X)),
    "sparse, in columns": lambda X: stored(sparse.csr_array(X.T)),
    "among others": lambda X: stored(np.vstack([X + 1, X, -X])),
    "in two arrays": lambda X: stored(X[:12], X[8:]),
    "lists": lambda X: stored(lists=[X.tolist()]),
    "single lists": lambda X: stored(lists=X.tolist()),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_found_in_every_form(form):
    X = np.random.RandomState(0).normal(size=(20, 4)) * [1, 1e6, 1e-6, 1]
    members = FORMS[form](X)
    assert count_rows(members, MODEL, X) == 20
    assert count_rows(members, MODEL, sparse.csr_matrix(X)) == 20
    assert count_rows(members, MODEL, X.tolist()) == 20
    assert count_rows(members, MODEL, X[3:8]) == 5
    assert count_rows(members, MODEL, X + 1e-3) == 0


@pytest.mark.parametrize("dtype", [object, "U9"])
def test_rows_of_text_are_found(dtype):
    X = np.array([[f"name {i}", f"street {i}", "x"] for i in range(9)], dtype=object)
    array = X.astype(dtype)
    members = stored(lists=[X.tolist()]) if dtype is object else stored(array)
    assert count_rows(members, MODEL, X) == 9
    assert count_rows(members, MODEL, X[:, ::-1]) == 0


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3)),
        np.zeros(3),
        np.ones(3),
        np.arange(3),
        np.array([0, 1, 2.0]),
        np.eye(3)[:1],
        np.array([[4, 7, 2], [0.5, 7, 1]]),
    ],
    ids=repr,
)
def test_plain_numbers_are_not_taken_for_a_row(array):
    X = np.vstack([np.zeros(3), np.ones(3), np.arange(3), np.eye(3), [4, 7, 2], [5, 5, 0]])
    assert count_rows(stored(array), MODEL, X) == 0
    assert count_rows(stored(X[2:5]), MODEL, X) == 3  # but they are rows among rows


def test_gaps_and_huge_numbers():
    X = np.array([[np.nan, 1.5, 2], [np.inf, 1e308, -1e308], [np.nan, np.nan, np.nan]])
    assert count_rows(stored(X), MODEL, X) == 3
    assert count_rows(stored(X[:1]), MODEL, X) == 1


def test_a_table_that_the_model_does_not_take(path):
    X, y = data()
    model = make_pipeline(StandardScaler(), RejoSVC()).fit(X, y)
    save(model, path, X=X[:, :2], y=y)
    file = inspect(path)
    assert file.training_rows is None
    assert f"CONTAINS AT LEAST {len(model[-1].support_)} TRAINING ROWS" in str(file)
    save(model, path, X=-X, y=y, overwrite=True)  # not the table it was fitted on
    assert inspect(path).training_rows == 0
    assert f"CONTAINS AT LEAST {len(model[-1].support_)} TRAINING ROWS" in str(inspect(path))


# ---- what is read from a file --------------------------------------------------------------


def rewrite(path, **facts):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("rejo.json")) | facts
    path.write_bytes(pack({"rejo.json": json.dumps(header).encode(), **members}))


def test_a_file_that_denies_its_rows_is_not_believed(path):
    X, y = data()
    model = RejoSVC().fit(X, y)
    save(model, path, X=X, y=y)
    n = len(model.support_)
    for claim in (0, 3, None):
        rewrite(path, training_rows=claim)
        assert f"CONTAINS AT LEAST {n} TRAINING ROWS" in str(inspect(path))
    rewrite(path, training_rows=1000)
    assert inspect(path).n_training_rows == 1000


@pytest.mark.parametrize("claim", [-1, True, 2**48, 1.5, "7", [7], {}])
def test_a_claim_that_is_not_a_count_is_refused(claim, path):
    X, y = data()
    save(RejoLinear().fit(X, y), path)
    rewrite(path, training_rows=claim)
    with pytest.raises(ModelFileError, match=r"training rows|of another type"):
        inspect(path)


def test_rows_of_a_type_that_is_not_known_are_not_denied(path):
    X, y = data()
    model, name = make_pipeline(Normalizer(), RejoLinear()).fit(X, y), OTHERS["Normalizer"]
    save(model, path, trusted=[name])
    file = inspect(path, trusted=[name])
    assert file.n_training_rows is None
    assert "training rows were not counted: save the model with X and y to count them" in str(file)
    save(model, path, X=X, y=y, trusted=[name], overwrite=True)
    assert "contains no training rows" in str(inspect(path, trusted=[name]))


def test_rows_that_differ_in_the_last_digits_are_different(path):
    X, y = data()
    account = np.column_stack([4e15 + np.arange(len(X)), np.arange(len(X)) % 2])
    model = RejoSVC(gamma=1.0).fit(account, y)
    save(model, path, X=account, y=y)
    assert inspect(path).n_training_rows >= len(model.support_vectors_)


def test_no_more_rows_than_there_are_with_a_scaler_in_each_fold(path):
    X, y = data()
    inner = CalibratedClassifierCV(make_pipeline(MinMaxScaler(), SVC()))
    model = ThresholdRejectClassifier(inner, reject_cost=0.2).fit(X, y)
    save(model, path, X=X, y=y)
    assert 0 < inspect(path).n_training_rows <= len(X)
    save(model, path, overwrite=True)
    assert 0 < inspect(path).n_training_rows <= len(X)


def test_one_array_in_many_places_is_read_once(path, monkeypatch):
    X, y = data()
    part = SVC().fit(X, y)
    model = ThresholdRejectClassifier(part, rule="score").fit(X, y)
    model.estimator = BlendClassifier([(f"{i}", FrozenEstimator(copy(part))) for i in range(20)])
    save(model, path)
    reads = []
    monkeypatch.setattr(
        _training_rows, "first_rows", lambda *a: reads.append(a[0]) or first_rows(*a)
    )
    assert inspect(path).n_training_rows > 10
    assert len(reads) == len(set(reads)) > 0


def test_of_many_rows_some_are_looked_at(path, monkeypatch):
    X, y = data()
    save(RejoSVC().fit(X, y), path)
    monkeypatch.setattr(_training_rows, "MOST_ROWS", 7)
    assert "CONTAINS AT LEAST 7 TRAINING ROWS" in str(inspect(path))


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array])
def test_the_first_rows_of_a_stored_table(form):
    A = np.random.RandomState(0).normal(size=(9, 3))
    members = stored(form(A))
    name = min(members.keys() - {SCHEMA})
    rows = first_rows(name, members[name], 4)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_array_equal(rows, A[:4].astype(rows.dtype))
    for other in (np.ones((2, 3), bool), np.ones(3), np.ones((2, 0)), np.array([["a"]])):
        assert first_rows("0.npy", stored(other)["0.npy"], 4) is None


def test_hashes_of_dense_and_sparse_rows_agree():
    A = sparse.random(50, 20, density=0.1, random_state=np.random.RandomState(0)).toarray()
    A[7] = 0
    A[8, 3] = -0.0
    np.testing.assert_array_equal(hashes(A), hashes(sparse.csr_array(A)))
    assert len(np.unique(hashes(A)[0])) == len(np.unique(A, axis=0))
