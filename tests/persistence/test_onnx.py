import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rejo.baselines import BlendClassifier, Pieces, ThresholdRejectClassifier
from rejo.estimators import (
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.persistence import to_onnx
from rejo.selection import RejectClassifierCV

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

MODELS = {
    "linear svc": RejoSVC(kernel="linear"),
    "rbf": RejoSVC(C=10, gamma=3.0),
    "kernel logistic": RejoKernelLogistic(C=10, gamma=3.0),
    "poly": RejoSVC(kernel="poly", degree=3, coef0=1.0),
    "sigmoid": RejoSVC(kernel="sigmoid", gamma=0.1),
    "logistic": RejoLinear(),
    "never": RejoLinear(reject_cost=None),
    "tanh": RejoMLP((5, 3), random_state=0),
    "relu": RejoMLP((8,), activation="relu", random_state=0),
    "sigmoid units": RejoMLP((5,), activation="logistic", random_state=0),
    "scaled": make_pipeline(StandardScaler(), RejoSVC()),
    "scaled only": make_pipeline(StandardScaler(with_mean=False), RejoLinear()),
    "centred only": make_pipeline(StandardScaler(with_std=False), RejoLinear()),
    "chosen": RejectClassifierCV(
        make_pipeline(StandardScaler(), RejoSVC()), review_budget=0.4, reject_costs=[0.1, 0.3]
    ),
    "tuned": RejectClassifierCV(RejoSVC(), reject_cost=0.2, param_grid={"gamma": [1.0, 4.0]}),
}


def members():
    return [
        ("logistic", LogisticRegression()),
        ("ordinal", RejoLinear(reject_cost=None)),
        ("points", RejoKernelLogistic(gamma=1.0, reject_cost=None)),
        ("network", RejoMLP((3,), reject_cost=None, random_state=0)),
        ("kernel", make_pipeline(Nystroem(n_components=9, random_state=0), LogisticRegression())),
        ("boosting", HistGradientBoostingClassifier(max_iter=10)),
        ("forest", RandomForestClassifier(20, min_samples_leaf=3, random_state=0)),
    ]


POSTERIORS = {
    **{name: ThresholdRejectClassifier(member) for name, member in members()},
    "tree": ThresholdRejectClassifier(DecisionTreeClassifier(max_depth=4)),
    "additive": ThresholdRejectClassifier(make_pipeline(Pieces(3), LogisticRegression())),
    "tiny forest": ThresholdRejectClassifier(ExtraTreesClassifier(3, random_state=0)),
    "stumps": ThresholdRejectClassifier(DecisionTreeClassifier(min_samples_leaf=100)),  # one leaf
    "blend": ThresholdRejectClassifier(
        BlendClassifier(members(), weights=[3, 2, 1, 1, 1, 2, 2], temperature=0.7)
    ),
    "one member left": ThresholdRejectClassifier(
        BlendClassifier([members()[0], ("unused", GaussianNB())], weights=[1, 0], temperature=1)
    ),
    "pipeline": make_pipeline(
        StandardScaler(),
        ThresholdRejectClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    ),
    "temperature": ThresholdRejectClassifier(LinearSVC(), calibration="temperature", cv=2),
    "never": ThresholdRejectClassifier(LogisticRegression(), reject_cost=None),
    "chosen": RejectClassifierCV(
        Pipeline([("a", StandardScaler()), ("b", ThresholdRejectClassifier(LogisticRegression()))]),
        review_budget=0.4,
        reject_costs=[0.1, 0.3],
        cv=2,
    ),
}
TWO_CLASSES = {
    "two edges of a kernel": ThresholdRejectClassifier(RejoKernelLogistic(reject_cost=0.1)),
    "two edges": ThresholdRejectClassifier(RejoLinear(reject_cost=0.1)),
    "sigmoid": ThresholdRejectClassifier(LinearSVC(), calibration="sigmoid"),
    "boosting, sigmoid": ThresholdRejectClassifier(
        HistGradientBoostingClassifier(max_iter=10), calibration="sigmoid", cv=2
    ),
    "offsets": ThresholdRejectClassifier(
        BlendClassifier(members()[:2], weights="equal", temperature=0.7, offsets=[0.5, -0.2])
    ),
    "mean of sigmoids": ThresholdRejectClassifier(CalibratedClassifierCV(LinearSVC(), cv=3)),
}
PRICES = [[0, 5, 1, 0.4], [0.5, 0, 0.5, 0.3], [2, 1, 0, 0.6]]  # of three classes, and a review


def check_no_product_is_fused(proto):
    """ONNX Runtime fuses a MatMul with a single factor before or after it, in single precision."""
    single = {c.name for c in proto.graph.initializer if np.prod(c.dims) == 1}
    maker = {output: node for node in proto.graph.node for output in node.output}
    for node in proto.graph.node:
        for name in node.input:
            if name in maker:
                pair = {node.op_type, maker[name].op_type}
                factors = single & {*node.input, *maker[name].input}
                assert not ("MatMul" in pair and pair & {"Mul", "Div"} and factors), pair


def run(proto, X):
    check_no_product_is_fused(proto)
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in proto.graph.output]
    parts = [session.run(names, {"X": X[i : i + 20_000]}) for i in range(0, len(X), 20_000)]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@pytest.mark.parametrize("n", [5000, pytest.param(100_000, marks=pytest.mark.check)])
@pytest.mark.parametrize("name", MODELS)
def test_decisions_are_identical(name, n, data):
    model = MODELS[name].fit(*data)
    X = np.random.RandomState(1).uniform(-1.5, 1.5, (n, 2))
    label, index, scores = run(to_onnx(model), X)
    np.testing.assert_array_equal(label, model.predict(X))
    if hasattr(model, "reject_mask"):
        np.testing.assert_array_equal(index < 0, model.reject_mask(X))
    if hasattr(model, "boundary_scores"):
        np.testing.assert_allclose(scores, model.boundary_scores(X), rtol=1e-9, atol=1e-12)


def same_by_posteriors(model, X):
    proto = to_onnx(model)
    names = [output.name for output in proto.graph.output]
    assert names == ["label", "index", "posteriors", "worth"]
    label, index, posteriors, worth = run(proto, X)
    judged = model[-1].judge(model[:-1].transform(X)) if isinstance(model, Pipeline) else None
    judged = judged or model.judge(X)
    np.testing.assert_array_equal(index, judged.decision)
    np.testing.assert_array_equal(label.astype(model.predict(X).dtype), model.predict(X))
    np.testing.assert_allclose(posteriors, model.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(worth, judged.worth, rtol=1e-9, atol=1e-12)


@pytest.fixture
def points():
    return np.random.RandomState(1).uniform(-1.5, 1.5, (10_000, 2))


@pytest.mark.parametrize("name", [*POSTERIORS, *TWO_CLASSES])
def test_posteriors_of_two_classes(name, data, points):
    same_by_posteriors({**POSTERIORS, **TWO_CLASSES}[name].fit(*data), points)


@pytest.mark.parametrize("name", POSTERIORS)
def test_posteriors_of_three_classes_at_all_prices(name, ordered, points):
    X, y = ordered
    model = POSTERIORS[name].fit(X, y)
    same_by_posteriors(model, points)
    if isinstance(model, ThresholdRejectClassifier):
        for prices in (PRICES, 1e6 * np.array(PRICES)):
            same_by_posteriors(model.at(cost_of=prices), points)
        same_by_posteriors(model.at(reject_cost=2 / 3), points)


def test_classes_in_another_order(ordered, points):
    X, y = ordered
    names = np.array(["low", "middle", "high"])
    blend = BlendClassifier(members()[:1] + members()[5:], weights="equal", temperature=1.0)
    model = ThresholdRejectClassifier(blend, class_order=names.tolist()).fit(X, names[y])
    assert model.classes_.tolist() != sorted(names)
    same_by_posteriors(model, points)
    two = ThresholdRejectClassifier(LinearSVC(), class_order=["middle", "low"])
    same_by_posteriors(two.fit(X[y < 2], names[y[y < 2]]), points)


@pytest.mark.parametrize("reject_cost", [0.1, 0.25, 0.5])
def test_ties_go_to_the_review(reject_cost):
    """With few votes, many posteriors are exactly where a review costs as much as a decision."""
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (60, 3))
    y = random.randint(0, 2, 60)
    forest = RandomForestClassifier(20, max_features=1, random_state=0)
    model = ThresholdRejectClassifier(forest, reject_cost=reject_cost).fit(X, y)
    new = random.uniform(-1, 1, (20_000, 3))
    assert (np.abs(model.judge(new).worth) < 1e-12).sum() > 100
    same_by_posteriors(model, new)


def test_points_on_the_splits_and_missing_values(data):
    X, y = data
    X = X.copy()
    X[::7, 0] = np.nan
    members = [
        ("boosting", HistGradientBoostingClassifier(max_iter=10)),
        ("forest", RandomForestClassifier(10, random_state=0)),
    ]
    blend = BlendClassifier(members, weights="equal", temperature=1.0)
    model = ThresholdRejectClassifier(blend).fit(X, y)
    boosting, forest = model.estimator_.estimators_
    splits = [tree.nodes["num_threshold"] for stage in boosting._predictors for tree in stage]
    splits += [tree.tree_.threshold for tree in forest.estimators_]
    at = np.concatenate([s[np.abs(s) < 10] for s in splits])
    at = np.concatenate([at, np.nextafter(at, 9), np.nextafter(at, -9), at.astype(np.float32)])
    other = np.random.RandomState(0).permutation(at)
    other[::9] = np.nan
    same_by_posteriors(model, np.column_stack([other, at]))


def test_a_kernel_far_from_0(data, points):
    X, y = data
    model = RejoSVC(gamma=2.0).fit(X + 1000, y)
    label, _, scores = run(to_onnx(model), points + 1000)
    np.testing.assert_array_equal(label, model.predict(points + 1000))
    expected = model.boundary_scores(points + 1000)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_one_feature(data):
    (X, y), scaler = data, StandardScaler()
    model = make_pipeline(scaler, RejoLinear()).fit(X[:, :1], y)
    new = np.linspace(-2, 2, 1000)[:, None]
    scores = run(to_onnx(model), new)[2]
    expected = model[-1].boundary_scores(scaler.transform(new))
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    by_posteriors = ThresholdRejectClassifier(LinearSVC(fit_intercept=False), cv=2)
    same_by_posteriors(make_pipeline(scaler, by_posteriors).fit(X[:, :1], y), new)


def test_two_cutoffs_on_a_score(data, points):
    model = ThresholdRejectClassifier(LinearSVC(), rule="score").fit(*data)
    label, index, scores = run(to_onnx(model), points)
    np.testing.assert_array_equal(label, model.predict(points))
    np.testing.assert_array_equal(index < 0, model.reject_mask(points))
    assert scores.shape == (len(points), 2)


def test_all_members_that_cannot_be_exported_are_named(data):
    X, y = data
    kinds = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    members = [
        ("bayes", GaussianNB()),
        ("logistic", LogisticRegression()),
        ("replicas", ReplicationClassifier(LogisticRegression(), reject_cost=None)),
        ("kinds", kinds),
    ]
    blend = BlendClassifier(members, weights="equal", temperature=1.0)
    model = ThresholdRejectClassifier(blend).fit(np.abs(X.round()), y)
    with pytest.raises(TypeError, match="blend") as error:
        to_onnx(model)
    for name in ("bayes:", "replicas:", "kinds:"):
        assert name in str(error.value)
    assert "logistic:" not in str(error.value)


@pytest.mark.parametrize("model", [RejoSVC(), RejoLinear(), RejoSVC(reject_cost=None)])
def test_ordered_classes_of_strings(model, ordered):
    X, y = ordered
    names = np.array(["low", "middle", "high"])
    model.set_params(class_order=names.tolist()).fit(X, names[y])
    label, index, _ = run(to_onnx(model), X)
    np.testing.assert_array_equal(label.astype(str), model.predict(X))
    np.testing.assert_array_equal(names[index[index >= 0]], model.predict(X)[index >= 0])


def test_missing_values(data):
    X, y = data[0].copy(), data[1]
    X[::5, 0] = np.nan
    steps = SimpleImputer(strategy="median"), StandardScaler()
    model = make_pipeline(*steps, RejoSVC()).fit(X, y)
    new = np.random.RandomState(2).uniform(-1.5, 1.5, (20_000, 2))
    new[::7, 0] = np.nan
    label, _, _ = run(to_onnx(model), new)
    np.testing.assert_array_equal(label, model.predict(new))


@pytest.mark.parametrize("form", ["parallel", "posteriors"])
def test_a_row_without_any_value(form, data):
    pytest.importorskip("xgboost")
    model = RejoBoost(boundaries=form, n_estimators=5, random_state=0).fit(*data)
    new = np.vstack([data[0], np.full((1, 2), np.nan)])
    label, index, *_ = run(to_onnx(model), new)
    np.testing.assert_array_equal(label, model.predict(new))
    assert index[-1] == -1


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
        (ReplicationClassifier(LogisticRegression()), "ReplicationClassifier"),
        (make_pipeline(MinMaxScaler(), RejoLinear()), "MinMaxScaler"),
        (ThresholdRejectClassifier(GaussianNB()), "GaussianNB"),
        (
            ThresholdRejectClassifier(LogisticRegression(), rule="class"),
            "rule='class'",
        ),
        (
            ThresholdRejectClassifier(LinearSVC(), calibration="isotonic", cv=2),
            "sigmoid",
        ),
        (RejoLinear(reject_label="?"), "reject_label"),
        (RejoSVC(kernel=lambda A, B: A @ B.T), "cannot be exported"),
        (make_pipeline(SimpleImputer(add_indicator=True), RejoLinear()), "without an indicator"),
    ],
)
def test_what_cannot_be_exported_is_named(model, message, data):
    X, y = data
    with pytest.raises((TypeError, ValueError), match=message):
        to_onnx(model.fit(X.round(), y))
