import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from rejo.estimators import (
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.persistence import to_onnx
from rejo.selection import RejectClassifierCV, RejoSVCCV

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

N = 100_000

MODELS = {
    "linear svc": RejoSVC(kernel="linear"),
    "rbf": RejoSVC(C=10, gamma=3.0),
    "rbf, far from 0": make_pipeline(MinMaxScaler((1000, 1002)), RejoSVC(gamma=2.0)),
    "kernel logistic": RejoKernelLogistic(C=10, gamma=3.0),
    "poly": RejoSVC(kernel="poly", degree=3, coef0=1.0),
    "sigmoid": RejoSVC(kernel="sigmoid", gamma=0.1),
    "logistic": RejoLinear(),
    "never": RejoLinear(reject_cost=None),
    "tanh": RejoMLP((5, 3), random_state=0),
    "relu": RejoMLP((8,), activation="relu", random_state=0),
    "sigmoid units": RejoMLP((5,), activation="logistic", random_state=0),
    "scaled": make_pipeline(StandardScaler(), RejoSVC()),
    "robust": make_pipeline(RobustScaler(), MaxAbsScaler(), RejoLinear()),
    "clipped": make_pipeline(MinMaxScaler(clip=True), RejoMLP((3,), random_state=0)),
    "chosen": RejectClassifierCV(
        make_pipeline(StandardScaler(), RejoSVC()), review_budget=0.4, reject_costs=[0.1, 0.3]
    ),
    "tuned": RejoSVCCV(Cs=[1.0], gammas=[1.0], reject_costs=[0.1, 0.2]),
}


def run(proto, X):
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    parts = [
        session.run(["label", "index", "scores"], {"X": X[i : i + 20_000]})
        for i in range(0, len(X), 20_000)
    ]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@pytest.mark.parametrize("name", MODELS)
def test_decisions_are_identical_on_100_000_rows(name, data):
    model = MODELS[name].fit(*data)
    X = np.random.RandomState(1).uniform(-1.5, 1.5, (N, 2))
    label, index, scores = run(to_onnx(model), X)
    np.testing.assert_array_equal(label, model.predict(X))
    if hasattr(model, "reject_mask"):
        np.testing.assert_array_equal(index < 0, model.reject_mask(X))
    if hasattr(model, "boundary_scores"):
        np.testing.assert_allclose(scores, model.boundary_scores(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [RejoSVC(), RejoLinear(), RejoSVC(reject_cost=None)])
def test_ordered_classes_of_strings(model, ordered):
    X, y = ordered
    names = np.array(["low", "middle", "high"])
    model.set_params(class_order=names.tolist()).fit(X, names[y])
    label, index, _ = run(to_onnx(model), X)
    np.testing.assert_array_equal(label.astype(str), model.predict(X))
    np.testing.assert_array_equal(names[index[index >= 0]], model.predict(X)[index >= 0])


def test_missing_values_and_categories(data):
    X, y = data
    random = np.random.RandomState(2)
    X = np.column_stack([X, random.randint(0, 4, len(X)), random.uniform(size=len(X))])
    X[random.uniform(size=len(X)) < 0.2, 0] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [1, 0]),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), [2]),
            ("rest", "passthrough", slice(3, 4)),
        ],
        sparse_threshold=0.0,
    )
    model = make_pipeline(columns, RejoSVC()).fit(X, y)
    new = X[random.randint(0, len(X), N)] + random.normal(0, 0.1, (N, 4)) * [1, 1, 0, 1]
    new[::50, 2] = 77  # unknown
    label, _, _ = run(to_onnx(model), new)
    np.testing.assert_array_equal(label, model.predict(new))


def test_the_graph_is_written_whole_and_states_its_operating_point(data, tmp_path):
    path = tmp_path / "model.onnx"
    proto = to_onnx(RejoLinear().fit(*data), path)
    assert path.read_bytes() == proto.SerializeToString()
    facts = {entry.key: entry.value for entry in proto.metadata_props}
    assert facts["operating_point"] == '{"reject_cost": 0.2}'
    with pytest.raises(FileExistsError, match="overwrite=True"):
        to_onnx(RejoLinear().fit(*data), path)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ReplicationClassifier(LogisticRegression()), "cannot export ReplicationClassifier"),
        (make_pipeline(Normalizer(), RejoLinear()), "cannot export Normalizer as a step"),
        (RejoLinear(reject_label="?"), "reject_label of the same kind"),
        (RejoSVC(kernel=lambda A, B: A @ B.T), "cannot be exported"),
        (make_pipeline(OneHotEncoder(drop="first"), RejoLinear()), "without drop"),
        (make_pipeline(SimpleImputer(add_indicator=True), RejoLinear()), "without an indicator"),
    ],
)
def test_what_cannot_be_exported_is_named(model, message, data):
    X, y = data
    with pytest.raises((TypeError, ValueError), match=message):
        to_onnx(model.fit(X.round(), y))
