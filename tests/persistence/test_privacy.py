"""Whether a file says that it contains training rows, and how many at least."""

import json
import zipfile
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
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
)
from rejo.estimators import BoundaryClassifier
from rejo.persistence import ModelFileError, inspect, load, save
from rejo.persistence._container import pack
from rejo.persistence._trusted import ESTIMATORS, KNOWN, type_name_of
from rejo.tables import TableEncoder

N = 60
SCALED_SVC = make_pipeline(StandardScaler(), SVC())


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
}

NO_ROWS = {("EmbeddedRejectSVC", 0), ("RejoKernelLogistic", 1)}  # linear: only weights of features

# Estimators of scikit-learn that need more than the defaults.
PARTS = {
    "Binarizer": {"threshold": 0.5},
    "CalibratedClassifierCV": {"estimator": SVC(), "cv": 3},
    "FeatureUnion": {"transformer_list": [("a", StandardScaler()), ("b", Nystroem())]},
    "FrozenEstimator": {"estimator": SVC().fit(*data())},
    "NuSVC": {"nu": 0.05},
    "Nystroem": {"n_components": 9},
    "PCA": {"n_components": 2},
    "Pipeline": {"steps": SCALED_SVC.steps},
    "QuantileTransformer": {"n_quantiles": 9},
    "SelectKBest": {"k": 2},
    "SelectPercentile": {"percentile": 70},
    "RandomForestClassifier": {"n_estimators": 3},
}
# It sees scores.
NO_TABLE = {"IsotonicRegression"}
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
    "Nystroem", "Pipeline", "PCA", "SVC",
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


def arrays(part, seen, owner=None):
    """All arrays in a model, each with the full name of the class that holds it."""
    if id(part) in seen:
        return
    seen[id(part)] = part
    name = type_name_of(part)
    owner = name if name in KNOWN or isinstance(part, BaseEstimator) else owner
    if isinstance(part, np.ndarray) and part.dtype == object:
        part = part.ravel().tolist()
    if sparse.issparse(part):
        yield owner, part.toarray()
    elif isinstance(part, np.ndarray):
        yield owner, part
    elif isinstance(part, dict):
        for value in part.values():
            yield from arrays(value, seen, owner)
    elif isinstance(part, (list, tuple)):
        for value in part:
            yield from arrays(value, seen, owner)
    elif hasattr(part, "__dict__") and not isinstance(part, type):
        yield from arrays(vars(part), seen, owner)


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
        patch.setattr(BoundaryClassifier, "_check_X", recorded(BoundaryClassifier._check_X))
        model.predict(X)
    tables = [Z.toarray() if sparse.issparse(Z) else np.asarray(Z) for Z in stages]
    return [Z for Z in tables if Z.ndim == 2 and len(Z) % len(X) == 0 and Z.dtype.kind in "if"]


def brute_force(model, X):
    """Compare all rows of all stages with those of all arrays, whatever their classes declare.

    Return the rows of ``X`` that each class holds.
    """
    found = {}
    stages = [Z for Z in seen_stages(model, X) if Z.shape[1] > 1]
    for owner, array in arrays(model, {}):
        if array.ndim == 2 and array.dtype.kind in "if":
            for Z in stages:
                if Z.shape[1] == array.shape[1]:
                    near = np.isclose(Z[:, None], array, rtol=1e-9, atol=1e-12).all(axis=2)
                    rows = np.flatnonzero(near.any(axis=1)) % X.shape[0]
                    found.setdefault(owner, set()).update(rows.tolist())
    return {owner: rows for owner, rows in found.items() if rows}


def check(model, X, y, path, **options):
    """Save a fitted model; each class that holds rows must say so.  Return how many it says."""
    save(model, path, X=X, y=y, overwrite=True, **options)
    file, held = inspect(path, **options), brute_force(load(path, **options), X)
    known = held.keys() & KNOWN.keys()
    assert {name for name in known if not KNOWN[name].rows} == set()
    assert held.keys() - known <= set(options.get("trusted", ()))
    n = file.n_training_rows
    if n is None:
        assert options
        assert not known
        assert "may contain training rows" in str(file)
        return 0
    assert n <= len(set().union(*held.values()))
    assert (n > 0) == bool(known)
    said = f"CONTAINS AT LEAST {n:,} TRAINING ROW" if n else "contains no training rows"
    assert said in str(file)
    return n


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


@pytest.mark.parametrize(
    ("model", "holders"),
    [
        (ThresholdRejectClassifier(CalibratedClassifierCV(SCALED_SVC, cv=3)), {"SVC"}),
        (
            ReplicationClassifier(make_pipeline(Nystroem(n_components=9), SVC())),
            {"Nystroem", "SVC"},
        ),
        (RejoLinear(), set()),
    ],
)
def test_brute_force_finds_the_classes_that_hold_rows(model, holders):
    X, y = data()
    found = brute_force(model.fit(X, y), X)
    assert {name.rpartition(".")[2] for name in found} == holders


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
    kernels = "SVC(" in repr(model) or name == "RejoKernelLogistic"
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
        n = check(model.fit(X, y), X, y, path, trusted=[name, *FUNCTIONS])
        assert (n == 0) == name.endswith("NuSVC")  # rejo does not know what that holds


# ---- wrappers, equal rows, sparse rows -----------------------------------------------------


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
def test_rows_inside_a_wrapper_are_seen(estimator, path):
    X, y = large()
    save(ThresholdRejectClassifier(estimator).fit(X, y), path)
    file = inspect(path)
    assert 100 < file.n_training_rows <= 300
    assert "contains no training rows" not in str(file)
    assert " SVC, " in file.estimators


def test_a_row_in_many_models_counts_once(path):
    X, y = large()
    kernels = [(str(g), RejoKernelLogistic(gamma=g, reject_cost=None)) for g in (0.1, 0.3, 1, 3)]
    blend = BlendClassifier(kernels, weights=[0.25] * 4)
    model = ThresholdRejectClassifier(blend).fit(X, y)
    save(model, path)
    assert inspect(path).n_training_rows == 300


def test_one_feature(path):
    X, y = data()
    X = X.sum(axis=1, keepdims=True)
    for model in (RejoSVC(), ReplicationClassifier(SVC())):
        save(model.fit(X, y), path, overwrite=True)
        assert inspect(path).n_training_rows > 10
    save(RejoLinear().fit(X, y), path, overwrite=True)
    assert inspect(path).n_training_rows == 0


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize(
    "model", [RejoSVC(gamma=1.0), ThresholdRejectClassifier(SVC(), rule="score")]
)
def test_sparse_rows(form, model, path):
    random = np.random.RandomState(0)
    X = form(sparse.random(80, 30, density=0.2, random_state=random, format="csr"))
    y = (np.asarray(X.sum(axis=1)).ravel() > 3).astype(int)
    save(model.fit(X, y), path)
    part = getattr(model, "estimator_", model)
    assert inspect(path).n_training_rows == len(part.support_) > 10


def test_a_kernel_matrix_is_not_a_table(path):
    X, y = data()
    K = rbf_kernel(X)
    save(RejoSVC(kernel="precomputed").fit(K, y), path, X=K, y=y)
    assert inspect(path).n_training_rows == 0
    assert "contains no training rows" in str(inspect(path))


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


# ---- what is read from a file --------------------------------------------------------------


def rewrite(path, **facts):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("rejo.json")) | facts
    path.write_bytes(pack({"rejo.json": json.dumps(header).encode(), **members}))


@pytest.mark.parametrize("claim", [0, 3, None])
def test_a_file_cannot_deny_its_rows(claim, path):
    X, y = data()
    model = RejoSVC().fit(X, y)
    save(model, path)
    rewrite(path, notes="contains no training rows")
    assert f"CONTAINS AT LEAST {len(model.support_)} TRAINING ROWS" in str(inspect(path))
    rewrite(path, n_training_rows=claim)
    with pytest.raises(ModelFileError):
        inspect(path)


def test_rows_of_a_type_that_is_not_known_are_not_denied(path):
    X, y = data()
    model, name = make_pipeline(Normalizer(), RejoLinear()).fit(X, y), OTHERS["Normalizer"]
    save(model, path, trusted=[name])
    file = inspect(path, trusted=[name])
    assert file.n_training_rows is None
    assert "may contain training rows" in str(file)


def test_rows_that_differ_in_the_last_digits_are_different(path):
    X, y = data()
    account = np.column_stack([4e15 + np.arange(len(X)), np.arange(len(X)) % 2])
    model = RejoSVC(gamma=1.0).fit(account, y)
    save(model, path)
    assert inspect(path).n_training_rows == len(model.support_vectors_)


def test_no_more_rows_than_there_are_with_a_scaler_in_each_fold(path):
    X, y = data()
    inner = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()))
    model = ThresholdRejectClassifier(inner, reject_cost=0.2).fit(X, y)
    save(model, path)
    assert 0 < inspect(path).n_training_rows <= len(X)
