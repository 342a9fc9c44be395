import json
import os
import re
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from importlib import import_module
from inspect import isabstract
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from rejo.baselines.blend import BlendClassifier
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.threshold import ThresholdRejectClassifier
from rejo.estimators import (
    RejectClassifier,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.metrics import Interval
from rejo.persistence import (
    TRUSTED_TYPES,
    ModelFileError,
    _persist,
    data_hash,
    inspect,
    load,
    open_file,
    save,
)
from rejo.persistence._container import memory_needed, unpack
from rejo.persistence._trusted import OWN
from rejo.selection import RejectClassifierCV
from rejo.tables import TableEncoder

BLEND = BlendClassifier(
    [
        ("logistic", LogisticRegression()),
        ("ordinal", RejoLinear(reject_cost=None)),
        ("points", RejoKernelLogistic(reject_cost=None)),
        ("kernel", make_pipeline(Nystroem(n_components=9, random_state=0), LogisticRegression())),
        ("boosting", HistGradientBoostingClassifier(max_iter=5)),
        ("forest", RandomForestClassifier(5, min_samples_leaf=3, random_state=0)),
        ("unused", make_pipeline(StandardScaler(), LogisticRegression())),
    ],
    weights=[2, 2, 2, 2, 1, 1, 0],
    cv=2,
)

MODELS = {
    "threshold": ThresholdRejectClassifier(LogisticRegression()),
    "threshold sigmoid": ThresholdRejectClassifier(SVC(kernel="linear"), cv=StratifiedKFold(3)),
    "blend": ThresholdRejectClassifier(BLEND),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.rejo"


def same(model, other, X):
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.predict(X).dtype == other.predict(X).dtype
    np.testing.assert_array_equal(model.reject_label_, other.reject_label_)


def test_posteriors_of_ordered_classes(data, path):
    X, _ = data
    y = np.digitize(X.sum(axis=1), [-1.0, 1.0])
    machine = ThresholdRejectClassifier(RejoSVC(reject_cost=None))  # a sigmoid at each boundary
    for model in (machine, RejoLinear(reject_cost=None), RejoMLP(reject_cost=None)):
        save(model.fit(X, y), path, overwrite=True)
        np.testing.assert_array_equal(load(path).predict_proba(X), model.predict_proba(X))
    save(RejoLinear().fit(X, y), path, overwrite=True)
    assert not hasattr(load(path), "predict_proba")


@pytest.mark.parametrize(
    "model",
    [
        RejoSVC(class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
        RejoMLP(random_state=0),
        FrankHallReject(LogisticRegression()),
    ],
)
def test_ordered_classes(model, ordered, path):
    X, y = ordered
    save(model.fit(X, y), path)
    same(load(path), model, X)


def test_classes_of_strings_and_columns_with_names(data, path):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame({"size": X[:, 0], "age": X[:, 1]})
    labels = pd.Categorical(np.array(["good", "bad"])[y], categories=["good", "bad"], ordered=True)
    model = make_pipeline(StandardScaler(), RejoSVC()).fit(frame, labels)
    save(model, path, X=frame, y=labels)
    np.testing.assert_array_equal(load(path).predict(frame), model.predict(frame))
    assert inspect(path).classes == ["good", "bad"]
    assert inspect(path).reject_label == "reject"
    assert inspect(path).data_hash == data_hash(frame, labels)
    assert data_hash(frame.iloc[::-1], labels) != data_hash(frame, labels)


@pytest.fixture
def applicants(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * (X[:, 1] + 1), unit="D")
    frame = pd.DataFrame(
        {
            "income": np.where(X[:, 0] < -0.9, np.nan, X[:, 0]),
            "__id__": np.where(X[:, 1] > 0.2, "größer, \n", "content"),  # names of its own nodes
            "file": when,
            "unit": "kg",
        }
    )
    return frame, np.array(["good", "bad"])[y]


def test_a_blend_on_a_table_comes_back_and_says_what_is_in_it(applicants, path):
    frame, labels = applicants
    steps = [("prepare", TableEncoder()), ("model", ThresholdRejectClassifier(BLEND))]
    model = RejectClassifierCV(Pipeline(steps), review_budget=0.3, reject_costs=[0.1, 0.3], cv=2)
    save(model.fit(frame, labels), path, X=frame, y=labels)
    loaded, file = open_file(path)
    same(loaded, model, frame)
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.judge(frame).worth, model.judge(frame).worth)
    n_pivots = len(model.best_estimator_[-1].estimator_.estimators_[2].pivots_)
    assert [line.strip() for line in file.estimators.splitlines()] == [
        "RejectClassifierCV",
        "Pipeline",
        "TableEncoder",
        "ThresholdRejectClassifier",
        "BlendClassifier",
        "20.0 % logistic: LogisticRegression",
        "20.0 % ordinal: RejoLinear",
        f"20.0 % points: RejoKernelLogistic, {n_pivots} training rows",
        "20.0 % kernel: Pipeline",
        "Nystroem, 9 training rows",
        "LogisticRegression",
        "10.0 % boosting: HistGradientBoostingClassifier",
        "10.0 % forest: RandomForestClassifier",
        "DecisionTreeClassifier x 5",
    ]
    assert file.n_training_rows == max(n_pivots, 9)
    assert "; chosen for at most 30.0 % to review" in str(file)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_prices_are_said_in_words(n_classes, data, path):
    X, _ = data
    y = np.arange(len(X)) % n_classes
    prices = np.column_stack([5000 * (1 - np.eye(n_classes)), np.full(n_classes, 12.5)])
    save(ThresholdRejectClassifier(LogisticRegression(), cost_of=prices).fit(X, y), path)
    said = str(inspect(path))
    if n_classes > 5:
        assert "errors cost 5,000 to 5,000, reviews 12.5 to 12.5" in said
    else:
        assert "\n  1  5,000      0" in said
    assert inspect(path).operating_point == {"prices": prices.tolist()}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RejoLinear(reject_cost=0.15), "a review costs 0.15, where an error costs 1"),
        (RejoLinear(reject_cost=None), "decides every case"),
        (RejoLinear(loss_matrix=[[0, 0.3, 1], [1, 0.2, 0]]), "loss matrix [[0.0, 0.3, 1.0]"),
    ],
)
def test_an_operating_point_is_said_in_words(model, words, data, path):
    save(model.fit(*data), path)
    assert f"\noperating point: {words}" in str(inspect(path))


def test_what_a_file_says_of_its_operating_point_is_shown_as_it_is_if_it_makes_no_sense(data, path):
    save(RejoLinear().fit(*data), path)
    for point in ({}, {"prices": [1]}, {"reject_cost": "low"}, {"reject_cost": 0.2, "target": 3}):
        file = replace(inspect(path), operating_point=point)
        assert f"operating point: {json.dumps(point)}\n" in str(file)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("threshold", {"reject_cost": 0.2}),
        ("threshold", {"cost_of": "error:0=50,error:1=30,review=4", "review_budget": 0.3}),
        ("threshold sigmoid", {"max_error": 0.2, "confidence": 0.5}),
        ("blend", {"cost_of": "error:0=50,error:1=30,review=4"}),
    ],
)
def test_a_model_by_posteriors_keeps_nothing_of_each_training_case(name, target, data, path):
    X, y = data
    model = RejectClassifierCV(MODELS[name], **target, cv=2, random_state=0).fit(X, y)
    save(model, path)
    same(load(path), model, X)
    with zipfile.ZipFile(path) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
        shapes = [np.load(archive.open(name)).shape for name in arrays]
    assert all(len(X) not in shape for shape in shapes)


@pytest.mark.parametrize("kind", ["frame", "path"])
def test_prices_in_a_form_that_no_file_holds_are_named(kind, data, path):
    pd = pytest.importorskip("pandas")
    model = ThresholdRejectClassifier(LogisticRegression()).fit(*data)
    model = model.at(cost_of=[[0, 5, 1], [3, 0, 1]])
    model.cost_of = pd.DataFrame(model.prices_) if kind == "frame" else Path("prices.csv")
    with pytest.raises(ModelFileError, match="cost_of is a"):
        save(model, path)


def test_a_table_comes_back_with_its_model(applicants, path):
    frame, labels = applicants
    steps = [
        ("prepare", TableEncoder(written={"file": {"format": "%d.%m.%Y"}})),
        ("model", RejoLinear()),
    ]
    model = RejectClassifierCV(Pipeline(steps), max_error=0.4, reject_costs=[0.1, 0.3])
    model.fit(frame, labels)
    save(model, path, table={"target": "grade", "id": None, "text": ("name", "zip")})
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    first, second = (m.best_estimator_[0] for m in (model, loaded))
    np.testing.assert_array_equal(second.transform(frame), first.transform(frame))
    assert list(second.kinds_.items()) == list(first.kinds_.items())
    assert second.left_out_ == {"unit": "constant"}
    assert second.written_ == first.written_
    assert second.written_["file"] == {"format": "%d.%m.%Y"}
    found = inspect(path)
    assert found.table == {"target": "grade", "id": None, "text": ["name", "zip"]}
    assert 'table: {"target": "grade", "id": null, "text": ["name", "zip"]}' in str(found)
    assert found.n_features == 3  # without the constant column
    assert "TableEncoder" in found.estimators


def test_a_model_with_a_table_is_opened_without_pandas(applicants, path):
    save(make_pipeline(TableEncoder(), RejoLinear()).fit(*applicants), path)
    script = (
        "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None\n"
        "from rejo.persistence import load\n"
        "print(load(sys.argv[1])[0].kinds_['file'])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.stdout == "date\n", run.stderr


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"a": object()}, TypeError, "table"),
        ({"a": [[[[["deep"]]]]]}, ModelFileError, "nested"),
        ({"a": list(range(20_000))}, ModelFileError, "10000"),
    ],
)
def test_descriptions_of_tables_that_are_not_saved(table, error, message, data, path):
    with pytest.raises(error, match=message):
        save(RejoLinear().fit(*data), path, table=table)
    assert not path.exists()


def test_without_a_table_the_header_says_nothing_of_it(data, path):
    save(RejoLinear().fit(*data), path)
    assert inspect(path).table is None
    assert "\ntable: " not in str(inspect(path))


@pytest.mark.parametrize("model", [RejoSVC(), ReplicationClassifier(SVC())])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_support_vectors(model, kind, data, path):
    X, y = data
    X = kind(np.where(np.abs(X) > 0.5, X, 0.0))
    save(model.fit(X, y), path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    assert inspect(path).n_training_rows > 10


def test_a_stream_goes_on_after_loading(data, path):
    X, y = data
    model = RejoLinear(loss="hinge", random_state=0).partial_fit(X[:60], y[:60], classes=[0, 1])
    save(model, path)
    other = load(path).partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(other.coef_, model.partial_fit(X[60:], y[60:]).coef_)


def test_the_header_says_where_the_model_comes_from(data, path):
    X, y = data
    model = RejectClassifierCV(RejoSVC(), review_budget=0.3, reject_costs=[0.1, 0.3]).fit(X, y)
    save(model, path, X=X, y=y, notes="for the clinic")
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("rejo.json"))
    assert header["versions"]["scikit-learn"] == sklearn.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", header["date"])
    assert header["data_hash"] == data_hash(X, y)
    assert header["operating_point"] == {
        "reject_cost": model.reject_cost_,
        "target": {"review_budget": 0.3},
    }
    assert header["expected"]["rejection_rate"]["estimate"] <= 0.3
    assert header["notes"] == "for the clinic"
    expected = load(path).expected_
    assert expected == model.expected_
    assert isinstance(expected.rejection_rate, Interval)


def test_expected_rates_can_be_given(data, path):
    save(RejoLinear().fit(*data), path, expected={"error_rate": np.float64(0.1), "n": 50})
    assert inspect(path).expected == {"error_rate": 0.1, "n": 50}
    assert inspect(path).operating_point == {"reject_cost": 0.2}


def test_inspect_says_that_a_kernel_machine_contains_training_rows(data, path):
    X, y = data
    model = make_pipeline(StandardScaler(), RejoSVC()).fit(X, y)
    save(model, path, X=X, y=y)
    n = len(model[-1].support_)
    assert inspect(path).n_training_rows == n
    assert f"CONTAINS AT LEAST {n} TRAINING ROWS" in str(inspect(path))
    assert inspect(path).estimators.splitlines() == [
        "Pipeline",
        "  StandardScaler",
        f"  RejoSVC, {n} training rows",
    ]
    save(RejoLinear().fit(X, y), path, overwrite=True)
    assert "contains no training rows" in str(inspect(path))


def test_the_same_fit_gives_the_same_payload(data, tmp_path):
    X, y = data
    for name in "ab":
        model = ReplicationClassifier(RandomForestClassifier(3, random_state=0), random_state=0)
        save(model.fit(X, y), tmp_path / name)
    assert inspect(tmp_path / "a").payload_hash == inspect(tmp_path / "b").payload_hash


def test_a_file_is_replaced_only_with_overwrite(data, path):
    model = RejoLinear().fit(*data)
    save(model, path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(model, path)
    assert path.read_bytes() == before
    save(model, path, overwrite=True)
    assert os.listdir(path.parent) == ["model.rejo"]


def double(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RejoSVC(kernel=double), "kernel is a"),
        (make_pipeline(SplineTransformer(), RejoLinear()), "SplineTransformer"),
        (LogisticRegression(), "LogisticRegression"),
        (GridSearchCV(RejoLinear(), {"C": [1.0]}, cv=2), "best_estimator_"),
        (Pipeline([("a", RejoLinear())]), "memory=None"),
        (RejoLinear(class_weight={False: 1.0, True: 2.0}), "keys of a dict"),
    ],
)
def test_save_refuses_what_load_would_not_open(model, message, data, path):
    X, y = data
    if isinstance(getattr(model, "class_weight", None), dict):
        y = y.astype(bool)
    model.fit(X, y)
    if message.startswith("memory"):
        model.memory = "cache"
    with pytest.raises(ModelFileError, match=message) as error:
        save(model, path)
    assert str(error.value).startswith(f"{path}: not saved: ")
    assert "\n" not in str(error.value)
    assert os.listdir(path.parent) == []


def of_words(step):
    """A model of a column of words and two of numbers."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (step, ["colour"]), (numbers, ["size"]), remainder="passthrough"
    )
    return make_pipeline(columns, RejoLinear())


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(FunctionTransformer(np.arcsinh), RejoLinear()),
        make_pipeline(MinMaxScaler(), PolynomialFeatures(), RejoLinear()),
        of_words(OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist")),
        of_words(OrdinalEncoder()),
        ThresholdRejectClassifier(LinearSVC()),
        ThresholdRejectClassifier(GaussianNB()),
    ],
    ids=["function", "polynomial", "one hot", "ordinal", "linear svc", "bayes"],
)
def test_a_remedy_names_what_can_be_trusted(model, data, path):
    pd = pytest.importorskip("pandas")
    X, y = data
    if "colour" in repr(model):
        words = np.where(X[:, 1] > 0, "red", "blue")
        X = pd.DataFrame({"size": X[:, 0], "colour": words, "age": X[:, 1]})
    model.fit(X, y)
    with pytest.raises(ModelFileError, match="name in trusted") as error:
        save(model, path)
    names = re.search(r"name in trusted: (.*?)\. rejo", str(error.value))[1].split(", ")
    save(model, path, trusted=names)
    np.testing.assert_array_equal(load(path, trusted=names).predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="not a trusted type"):
        load(path, trusted=names[1:])


def test_a_class_on_the_list_may_be_trusted(data, path):
    X, y = data
    names = ["sklearn.svm._classes.SVC"]
    for how in ([], names):
        model = ThresholdRejectClassifier(SVC(max_iter=10_000)).fit(X, y)
        save(model, path, trusted=how, overwrite=True)
        np.testing.assert_array_equal(load(path, trusted=names).predict(X), model.predict(X))


def test_types_that_cannot_be_trusted_are_not_offered(data, path):
    inner = VotingClassifier([("a", LogisticRegression())], voting="soft")
    model = ThresholdRejectClassifier(inner).fit(*data)
    trusted = [
        "sklearn.ensemble._voting.VotingClassifier",
        "sklearn.preprocessing._label.LabelEncoder",
    ]
    with pytest.raises(ModelFileError, match="Bunch"):
        save(model, path, trusted=trusted)


def test_save_refuses_boosters_of_other_packages(data, path):
    boost = pytest.importorskip("xgboost")
    model = ReplicationClassifier(boost.XGBClassifier(n_estimators=2)).fit(*data)
    with pytest.raises(ModelFileError, match="XGBClassifier"):
        save(model, path)


def test_save_refuses_a_model_that_is_not_fitted(path):
    with pytest.raises(ModelFileError, match="not fitted"):
        save(RejoLinear(), path)


def test_only_half_of_the_data_is_an_error(data, path):
    with pytest.raises(ValueError, match="X and y"):
        save(RejoLinear().fit(*data), path, X=data[0])


def test_another_scikit_learn_is_warned_of(data, path, monkeypatch):
    save(RejoLinear().fit(*data), path)
    monkeypatch.setattr(sklearn, "__version__", "99.1.0")
    with pytest.warns(UserWarning, match=r"99\.1\.0"):
        load(path)
    monkeypatch.setattr(sklearn, "__version__", "\033[2J" + 100 * "9")
    save(RejoLinear().fit(*data), path, overwrite=True)
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"scikit-learn \?\[2J9{36},") as found:
        load(path)
    assert str(found[0].message).isprintable()


def open_peak(path, open_it):
    """Most memory that opening a file takes, after whatever is imported on the way."""
    open_it(path)
    tracemalloc.start()
    try:
        open_it(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("is_sparse", [True, False])
def test_opening_takes_the_memory_that_is_stated(is_sparse, path):
    X = sparse.random(200, 10_000, 0.4, format="csr", random_state=0)
    X = X if is_sparse else X[:, :5000].toarray()
    save(RejoSVC(kernel="linear", C=1e-3).fit(X, np.arange(200) % 2), path)
    stated = memory_needed(unpack(path.read_bytes()))
    assert path.stat().st_size > 7_000_000
    for open_it in (load, inspect):
        assert open_peak(path, open_it) < stated + 3_000_000


def test_a_file_that_is_too_large_is_refused(data, path):
    save(RejoLinear().fit(*data), path)
    with pytest.raises(ModelFileError, match="max_bytes"):
        load(path, max_bytes=100)


def test_save_warns_of_a_file_that_load_refuses(data, path, monkeypatch):
    monkeypatch.setattr(_persist, "MAX_BYTES", 10_000)
    with pytest.warns(UserWarning, match="max_bytes=") as found:
        save(RejoLinear().fit(*data), path)
    needed = int(re.search(r"max_bytes=(\d+)", str(found[0].message))[1])
    load(path, max_bytes=needed)
    with pytest.raises(ModelFileError, match="of memory"):
        load(path, max_bytes=needed - 1)


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(ModelFileError, match="is a folder"):
        load(path.parent)


def test_without_skops_files_are_read_and_the_error_names_the_extra(data, path, monkeypatch):
    model = RejoLinear().fit(*data)
    save(model, path)
    monkeypatch.setitem(sys.modules, "skops", None)
    load(path)
    with pytest.raises(ImportError, match=r"rejo\[files\]"):
        save(model, path, overwrite=True)


@pytest.mark.filterwarnings("ignore:In the future `np.bool`:FutureWarning")  # of NumPy 1.26
def test_every_trusted_name_is_a_type_or_function():
    missing = []
    for full in TRUSTED_TYPES:
        module, _, name = full.rpartition(".")
        try:
            assert callable(getattr(import_module(module), name))
        except (ImportError, AttributeError):
            missing.append(full)
    # New in NumPy 2 and in scikit-learn 1.8.
    assert set(missing) <= {"numpy.bool", "sklearn.calibration._TemperatureScaling"}
    assert set(TRUSTED_TYPES) >= OWN.keys()


KILL = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from rejo.estimators import RejoLinear
from rejo.persistence import load, save

path = Path(sys.argv[1])
X = np.random.RandomState(0).normal(size=(60, 2))
models = [RejoLinear(C=C).fit(X, X[:, 0] > 0) for C in (1.0, 2.0)]
save(models[0], path)
random.seed(0)
seen, kills, least = set(), 0, int(sys.argv[2])
while kills < least or (len(seen) < 2 and kills < 400):  # on a slow machine saves take longer
    kills += 1
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                save(model, path, overwrite=True)
    time.sleep(random.uniform(0.005, 0.05) * (1 + kills / 40))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen.add(load(path).C)
assert seen == {1.0, 2.0}, seen
print("whole")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL") or not hasattr(os, "fork"), reason="POSIX")
@pytest.mark.parametrize("kills", [8, pytest.param(40, marks=pytest.mark.check)])
def test_a_kill_leaves_the_old_file_or_the_new_one(kills, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path / "model.rejo"), str(kills)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert run.stdout == "whole\n", run.stderr
    assert Path(tmp_path / "model.rejo").exists()


def test_a_prototype_of_a_table_need_not_be_fitted(applicants, path):
    frame, labels = applicants
    inner = Pipeline([("prepare", make_pipeline(TableEncoder())), ("model", RejoLinear())])
    model = RejectClassifierCV(inner, max_error=0.4, reject_costs=[0.1, 0.3]).fit(frame, labels)
    save(model, path)
    loaded = load(path)
    assert not hasattr(loaded.estimator[0][0], "kinds_")
    same(loaded, model, frame)
    del model.best_estimator_[0][0].kinds_
    with pytest.raises(ModelFileError, match="kinds_"):
        save(model, path, overwrite=True)
    same(load(path), loaded, frame)


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
def test_links_and_permissions(data, tmp_path):
    real, link = tmp_path / "real.rejo", tmp_path / "link.rejo"
    model = RejoLinear().fit(*data)
    save(model, real)
    real.chmod(0o640)
    link.symlink_to(real)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(model, link)
    save(model, link, overwrite=True, notes="again")
    assert link.is_symlink()
    assert inspect(real).notes == "again"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.rejo", "real.rejo"]


LEARNER = '''
from rejo._state import floats, storable
from rejo.estimators.linear import RejoLinear


@storable
class Trial(RejoLinear):
    """A new learner: linear, with its rows, and what it says about them."""

    _fitted = {"rows_": floats(7, "p")}
    _training_rows = ("rows_",)
    _not_saved = ("secret_",)

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.secret_ = X[:7].copy(), [object()]
        return super().fit(X, y, sample_weight)
'''

TRIAL = """
import sys, types
import numpy as np

module = types.ModuleType("rejo.estimators.trial")
sys.modules[module.__name__] = module
exec(sys.argv[2], module.__dict__)

from rejo.persistence import ModelFileError, inspect, load, save, to_onnx
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = np.random.RandomState(0).normal(size=(60, 2))
model = make_pipeline(StandardScaler(), module.Trial()).fit(X, X[:, 0] > 0)
save(model, sys.argv[1])
loaded = load(sys.argv[1])
np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
assert type(loaded[-1]) is module.Trial and not hasattr(loaded[-1], "secret_")
assert inspect(sys.argv[1]).n_training_rows == 7
assert "Trial, 7 training rows" in inspect(sys.argv[1]).estimators
assert len(to_onnx(model).graph.output) == 3
model[-1].rows_ = model[-1].rows_[:3]
try:
    save(model, sys.argv[1], overwrite=True)
except ModelFileError as error:
    assert "Trial: rows_ is not float64 (7, p)" in str(error)
    print("refused")
"""


def test_a_new_learner_is_stored_inspected_and_exported_by_what_it_says(path):
    pytest.importorskip("onnx")
    run = subprocess.run(
        [sys.executable, "-c", TRIAL, str(path), LEARNER],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.stdout == "refused\n", run.stderr


def subclasses(cls):
    return {cls}.union(*map(subclasses, cls.__subclasses__()))


def test_every_classifier_of_the_package_may_stand_in_a_file_and_is_checked():
    own = [cls for cls in subclasses(RejectClassifier) if cls.__module__.startswith("rejo.")]
    concrete = {f"{cls.__module__}.{cls.__name__}" for cls in own if not isabstract(cls)}
    assert len(concrete) >= 11
    assert concrete <= OWN.keys()
    assert all(OWN[name].check is not None for name in concrete)


def test_a_class_that_says_nothing_is_refused(data, path):
    class Silent(RejoLinear):
        pass

    with pytest.raises(ModelFileError, match="Silent"):
        save(Silent().fit(*data), path)


def test_judgements_of_training_cases_are_not_in_the_file(data, path):
    X, y = data
    model = RejectClassifierCV(RejoLinear(), review_budget=0.3, reject_costs=[0.1, 0.3]).fit(X, y)
    assert model.outcomes_
    save(model, path)
    assert not hasattr(load(path), "outcomes_")
    with zipfile.ZipFile(path) as archive:
        assert b"outcomes_" not in archive.read("schema.json")


def test_an_error_names_the_file_the_problem_and_the_remedy(data, path):
    save(RejoLinear().fit(*data), path)
    with pytest.raises(ModelFileError) as error:
        load(path, max_bytes=100)
    assert error.value.where == str(path)
    assert error.value.parameter == "max_bytes"
    assert str(error.value) == f"{path}: {error.value.problem} {error.value.remedy}"


def test_one_reading_gives_the_model_and_its_description(data, path):
    model = RejoSVC().fit(*data)
    save(model, path, notes="pilot")
    loaded, file = open_file(path)
    same(loaded, model, data[0])
    assert file == inspect(path)
    assert file.notes == "pilot"


# ---- what opening may take ------------------------------------------------------------------


def test_a_calibrator_is_a_map_from_scores(data, path):
    model = ThresholdRejectClassifier(SVC(), reject_cost=0.3).fit(*data)
    model.calibrator_ = LogisticRegression().fit(*data)
    with pytest.raises(ModelFileError, match="where a calibrator is expected"):
        save(model, path)


def test_estimators_are_not_nested_without_end(data, path):
    model = RejoLinear()
    for _ in range(7):
        model = Pipeline([("inner", model)])
    save(model.fit(*data), path)
    with pytest.raises(ModelFileError, match="nested"):
        save(Pipeline([("inner", model)]), path, overwrite=True)


def test_a_file_of_very_many_members_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(65_535):
            archive.writestr(zipfile.ZipInfo(f"{i}.npy"), b"")
    with pytest.raises(ModelFileError, match="members"):
        load(path)
