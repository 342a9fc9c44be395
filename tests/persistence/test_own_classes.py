"""Every class of rejo in a model file: what comes back, and what is refused."""

import contextlib
import inspect as python_inspect
import warnings
from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import rejo
from rejo._state import STORABLE, StateError, fitted_of, is_fitted
from rejo.baselines import (
    BlendClassifier,
    EmbeddedRejectSVC,
    FrankHallReject,
    NoveltyReject,
    Pieces,
    SurrogateRejectSVC,
    ThresholdRejectClassifier,
)
from rejo.estimators import (
    NOVEL,
    RejectClassifier,
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.persistence import load, save
from rejo.persistence._parts import _parts as parts_of
from rejo.persistence._parts import check_and_restore
from rejo.selection import RejectClassifierCV, RejectCurve
from rejo.tables import TableEncoder
from tests.fuzz.attributes import HOSTILE, as_built, attack, bent, few

pd = pytest.importorskip("pandas")

# Public attributes that a file does not keep, and why.
NOT_KEPT = dict.fromkeys(["outcomes_", "choice_"], "it has an entry for each training case")

logistic = LogisticRegression()
blend = BlendClassifier([("a", logistic), ("b", LogisticRegression(C=0.1))], weights=[2, 1], cv=2)
LEARNERS = {
    "linear": RejoLinear(),
    "hinge": RejoLinear(loss="hinge"),
    "boost": RejoBoost(n_estimators=5, random_state=0),
    "boost replicas": RejoBoost(n_estimators=5, boundaries="replicas", random_state=0),
    "svc": RejoSVC(),
    "svc linear": RejoSVC(kernel="linear"),
    "svc poly": RejoSVC(kernel="poly", degree=2),
    "svc sigmoid": RejoSVC(kernel="sigmoid", gamma=0.1),
    "never rejects": RejoSVC(reject_cost=None),
    "kernel logistic": RejoKernelLogistic(),
    "kernel logistic linear": RejoKernelLogistic(kernel="linear"),
    "network": RejoMLP((3,), random_state=0),
    "network without layers": RejoMLP((), random_state=0),
    "adam": RejoMLP((3, 2), solver="adam", tol=10.0, n_iter_no_change=2, random_state=0),
    "replicated": ReplicationClassifier(logistic),
    "replicated trees": ReplicationClassifier(HistGradientBoostingClassifier(max_iter=2)),
    "replicated pipeline": ReplicationClassifier(
        make_pipeline(StandardScaler(with_mean=False), SVC())
    ),
    "independent": FrankHallReject(logistic),
    "independent cut-offs": FrankHallReject(logistic, per_split=1, cv=2),
    "chow": ThresholdRejectClassifier(logistic),
    "prices": ThresholdRejectClassifier(logistic, cost_of="error=50,review=5"),
    "class": ThresholdRejectClassifier(logistic, rule="class", cv=2),
    "sigmoid": ThresholdRejectClassifier(SVC(kernel="linear"), cv=2),
    "isotonic": ThresholdRejectClassifier(logistic, calibration="isotonic", cv=2),
    "temperature": ThresholdRejectClassifier(logistic, calibration="temperature", cv=2),
    "pieces": ThresholdRejectClassifier(make_pipeline(Pieces(3), logistic)),
    "boundaries": ThresholdRejectClassifier(RejoSVC(), cv=2),
    "blend": ThresholdRejectClassifier(blend),
    "novel": NoveltyReject(logistic, cv=2),
    "novel boundaries": NoveltyReject(RejoLinear(), review_share=0.2, cv=2, random_state=0),
    "novel forced": NoveltyReject(ThresholdRejectClassifier(logistic, reject_cost=None)),
    "novel budget": RejectClassifierCV(NoveltyReject(logistic), review_budget=0.3, cv=2),
    "budget": RejectClassifierCV(
        RejoLinear(), review_budget=0.3, reject_costs=[0.1, 0.3], cv=2, param_grid={"C": [0.1, 1]}
    ),
    "budget of posteriors": RejectClassifierCV(
        ThresholdRejectClassifier(logistic), review_budget=0.3, cv=2
    ),
    "allowed error": RejectClassifierCV(ThresholdRejectClassifier(logistic), max_error=0.5, cv=2),
    "lowest cost": RejectClassifierCV(
        ThresholdRejectClassifier(logistic), cost_of="error=50,review=5", cv=2
    ),
    "guarantee": RejectClassifierCV(
        RejoLinear(), max_error=0.6, confidence=0.5, reject_costs=[0.1, 0.3], random_state=0
    ),
    "tuned": RejectClassifierCV(
        RejoSVC(), reject_cost=0.3, param_grid={"C": [1], "gamma": ["scale", 1.0]}, cv=2
    ),
}
BINARY = {
    "loss": RejoLinear(loss_matrix=[[0, 1, 3], [2, 1, 0]]),
    "surrogate": SurrogateRejectSVC(),
    "surrogate with a loss": SurrogateRejectSVC(loss_matrix=[[0, 1, 3], [2, 1, 0]]),
    "embedded": EmbeddedRejectSVC(max_iter=20, tol=1.0),
    "embedded second order": EmbeddedRejectSVC(second_order=True, max_iter=20, tol=1.0),
    "embedded kernel": EmbeddedRejectSVC(kernel="rbf", max_rank=9, max_iter=20, tol=1.0),
    "two": FrankHallReject(logistic),
    "score": ThresholdRejectClassifier(SVC(), rule="score", cv=2),
}
FRAMES = ("table", "by case")
DENSE = ("network", "replicated trees", "embedded", "pieces")  # take no sparse matrix
WORDS = np.array(["low", "medium", "high"])


def cases(n_classes, kind):
    random = np.random.RandomState(n_classes)
    X = random.uniform(-1, 1, (90, 3)).round(2)
    k = np.digitize(X[:, 0] + X[:, 1] + random.normal(0, 0.3, 90), [-0.4, 0.4][: n_classes - 1])
    if kind == "sparse":
        return sparse.csr_matrix(np.where(np.abs(X) > 0.2, X, 0.0)), k
    return X, k


def fit(name, n_classes, kind):
    learner = clone((LEARNERS | BINARY)[name])
    X, k = cases(n_classes, kind)
    if kind == "words":
        inner = learner.estimator if isinstance(learner, RejectClassifierCV) else learner
        with contextlib.suppress(ValueError):
            inner.set_params(class_order=WORDS[:n_classes].tolist())
        if name == "novel boundaries":
            learner.set_params(classifier__class_order=WORDS[:n_classes].tolist())
        if name == "boundaries":
            learner.set_params(estimator__class_order=WORDS[:n_classes].tolist())
        return learner.fit(X, WORDS[k]), X
    return learner.fit(X, k), X


def answers(model, X):
    found = {"predict": model.predict(X), "forced": model.predict_forced(X)}
    found |= {f"judge {name}": v for name, v in model.judge(X)._asdict().items() if v is not None}
    for method in ("boundary_scores", "predict_proba"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(X)
    return found


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def through_file(model, path):
    save(model, path, overwrite=True)
    return load(path)


def precomputed(learner):
    X, k = cases(2, "dense")
    gram = X @ X.T + 1.0
    return learner.set_params(kernel="precomputed").fit(gram, k), gram


def by_case():
    X, k = cases(2, "dense")
    X = pd.DataFrame(abs(X), columns=["amount", "b", "c"])
    model = ThresholdRejectClassifier(logistic, cost_of="error=2*amount+1,review=0.3")
    return model.fit(X, k), X


def table():
    X, k = cases(2, "dense")
    start = pd.Timestamp("2020-01-01")
    frame = pd.DataFrame(
        {
            "size": np.where(X[:, 0] < -0.9, np.nan, X[:, 0]),
            "colour": np.array(["red", "green", "blue"])[np.digitize(X[:, 1], [-0.3, 0.3])],
            "when": start + pd.to_timedelta(np.arange(len(X)) * 7 % 300, unit="D"),
            "unit": "kg",
        }
    )
    return make_pipeline(TableEncoder(), RejoLinear()).fit(frame, k), frame


def with_groups():
    X, k = cases(2, "dense")
    learner = ThresholdRejectClassifier(logistic)
    model = RejectClassifierCV(
        learner, max_error_by_group=0.6, confidence=0.5, cv=2, random_state=0
    )
    return model.fit(X, k, group=np.where(X[:, 2] > 0, "east", "west")), X


def streamed():
    X, k = cases(2, "dense")
    return RejoLinear().partial_fit(X[:40], k[:40], classes=[0, 1]), X


def variants():
    for name in (*LEARNERS, *BINARY):
        for n_classes in (2, 3):
            for kind in ("dense", "sparse", "words"):
                binary = name in BINARY and n_classes > 2
                if binary or (kind == "sparse" and name.startswith(DENSE)):
                    continue
                yield name, n_classes, kind


@pytest.fixture(scope="module")
def fitted():
    """Return a fitted model and its cases; each is fitted once."""
    made = {}

    def find(name, n_classes=2, kind="dense"):
        key = name, n_classes, kind
        if key not in made:
            special = {
                "precomputed": lambda: precomputed(RejoSVC()),
                "precomputed logistic": lambda: precomputed(RejoKernelLogistic()),
                "table": table,
                "streamed": streamed,
                "groups": with_groups,
                "by case": by_case,
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the models need not be good
                made[key] = special[name]() if name in special else fit(*key)
        return made[key]

    return find


SPECIAL = ("precomputed", "precomputed logistic", "table", "streamed", "groups", "by case")
# A few of all, with a boundary machine, trees, a network, a wrapper, a blend and a search.
FEW_MODELS = ("linear", "svc", "boost", "network", "chow", "blend", "budget of posteriors")


def sooner(name, *more, least):
    """Return the parameters of a test; `make test` has those of some models, `make check` all."""
    marks = () if name in least and more in ((), (2, "dense")) else pytest.mark.check
    return pytest.param(name, *more, marks=marks)


# ---- what comes back ----------------------------------------------------------------------


def last_of(model):
    return model[-1] if hasattr(model, "steps") else model


@pytest.mark.parametrize(
    ("name", "n_classes", "kind"),
    [
        sooner(*variant, least=[*LEARNERS, *BINARY, *SPECIAL])
        for variant in (*variants(), *((name, 2, "dense") for name in SPECIAL))
    ],
)
def test_a_model_answers_as_before(fitted, tmp_path, name, n_classes, kind):
    model, X = fitted(name, n_classes, kind)
    loaded = through_file(model, tmp_path / "model.rejo")
    before, after = last_of(model), last_of(loaded)
    same(answers(after, X) if model is before else {"predict": loaded.predict(X)},
         answers(before, X) if model is before else {"predict": model.predict(X)})  # fmt: skip
    public = {n for n in vars(before) if n.endswith("_") and not n.startswith("_")}
    assert public - vars(after).keys() <= NOT_KEPT.keys()
    again = through_file(loaded, tmp_path / "again.rejo")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_every_class_stands_in_a_file_here(fitted):
    found = set()
    models = [(name,) for name in (*LEARNERS, *BINARY, *SPECIAL)]
    for key in (*models, ("boundaries", 3)):  # with more than two classes it has other parts
        found |= {type(part) for part in parts_of(fitted(*key)[0])}
    public = {getattr(rejo, name) for name in rejo.__all__}
    estimators = {
        cls for cls in public if python_inspect.isclass(cls) and issubclass(cls, BaseEstimator)
    }
    assert estimators - {RejectClassifier} <= set(STORABLE.values())
    assert set(STORABLE.values()) - found == set()


def test_each_class_says_what_it_keeps():
    for cls in STORABLE.values():
        by_tuple = issubclass(cls, tuple) and hasattr(cls, "_check_state")
        assert by_tuple or fitted_of(cls), cls


def test_a_stream_goes_on_after_a_file(tmp_path):
    X, k = cases(2, "dense")
    model = RejoLinear().partial_fit(X[:40], k[:40], classes=[0, 1])
    loaded = through_file(model, tmp_path / "model.rejo")
    same(
        answers(loaded.partial_fit(X[40:], k[40:]), X),
        answers(model.partial_fit(X[40:], k[40:]), X),
    )
    fitted = RejoLinear().fit(X[:40], k[:40])
    loaded = through_file(fitted, tmp_path / "fitted.rejo").partial_fit(X[40:], k[40:])
    same(answers(loaded, X), answers(fitted.partial_fit(X[40:], k[40:]), X))


def test_a_stream_of_gradients_goes_on_after_a_file(tmp_path):
    X, k = cases(2, "dense")
    random = np.random.RandomState(0)
    model = RejoLinear(loss="hinge", random_state=random)
    model.partial_fit(X[:40], k[:40], classes=[0, 1])
    loaded = through_file(model, tmp_path / "model.rejo").partial_fit(X[40:], k[40:])
    same(answers(loaded, X), answers(model.partial_fit(X[40:], k[40:]), X))
    assert loaded._stream.n_seen == 90


def test_a_network_goes_on_after_a_file(tmp_path):
    X, k = cases(2, "dense")
    adam = RejoMLP((3,), solver="adam", random_state=0).partial_fit(X, k, classes=[0, 1])
    loaded = through_file(adam, tmp_path / "model.rejo").partial_fit(X, k)
    assert len(loaded.loss_curve_) == 2
    same(answers(loaded, X), answers(adam.partial_fit(X, k), X))
    warm = RejoMLP((3,), warm_start=True, random_state=0).fit(X, k)
    loaded = through_file(warm, tmp_path / "model.rejo").fit(X, k)
    assert loaded.n_iter_ < warm.n_iter_


def test_other_prices_after_a_file(fitted, tmp_path):
    model, X = fitted("prices", 3)
    loaded = through_file(model, tmp_path / "model.rejo")
    same(answers(loaded.at(0.1), X), answers(model.at(0.1), X))


def test_a_rejection_may_be_nan(tmp_path):
    X, k = cases(2, "dense")
    for model in (RejoLinear(reject_label=np.nan), LEARNERS["budget"]):
        model = clone(model)
        if isinstance(model, RejectClassifierCV):
            model.set_params(estimator__reject_label=np.nan)
        model.fit(X, k)
        loaded = through_file(model, tmp_path / "model.rejo")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# ---- what is refused ----------------------------------------------------------------------


def own_parts(model):
    return [part for part in parts_of(model) if type(part) in STORABLE.values()]


def finite(model, X):
    """Assert that a model that was not refused decides by finite numbers."""
    p = getattr(model, "n_features_in_", None)
    if X is not None and p not in (None, X.shape[1]):  # nothing else tells how many it takes
        assert model.kernel == "precomputed"
        X = np.ones((2, p))
    with np.errstate(all="ignore"):
        found = answers(last_of(model), X) if X is not None else {}
        assert len(repr(model)) < 10**6
    for name, values in found.items():
        if values.dtype.kind == "f" and name not in ("predict", "forced"):
            novel = found.get("judge kind", 0) == NOVEL if name == "judge chance" else False
            assert (np.isfinite(values) | novel).all(), name


def test_boundaries_of_boosting_come_with_their_odds(fitted):
    model = as_built(fitted("boost", 2, "dense")[0])
    del model._odds_offsets
    with pytest.raises(StateError, match="odds"):
        check_and_restore(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [sooner(name, least=FEW_MODELS) for name in (*LEARNERS, *BINARY, *SPECIAL)]
)
def test_no_attribute_can_be_hostile(fitted, name):
    model, X = fitted(name, 2, "dense")
    model = as_built(model)
    X = None if name in FRAMES else X[:5]  # the last step sees others, or the names
    check_and_restore(as_built(model))
    first = {type(part): part for part in own_parts(model) if is_fitted(part)}
    changes = [
        [(part, attribute, value)]
        for part in first.values()
        if not isinstance(part, tuple)
        for attribute, now in list(vars(part).items())
        for value in (*few(part, attribute), *bent(now))
    ]
    refused = attack(model, changes, partial(finite, X=X))
    assert refused > len(changes) / 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["svc", "svc poly", "kernel logistic"])
def test_no_attribute_of_a_sparse_model_can_be_hostile(fitted, name):
    model, X = fitted(name, 3, "sparse")
    model = as_built(model)
    changes = [
        [(model, attribute, value)]
        for attribute in ("_basis", "_coef", "support_vectors_", "dual_coef_", "kernel", "degree")
        if attribute in vars(model)
        for value in (*HOSTILE.values(), *bent(vars(model)[attribute]))
    ]
    assert attack(model, changes, partial(finite, X=X[:5])) > len(changes) / 4


def cut(values):
    return values[:-1].copy()


def turn(values):
    return values[::-1].copy()


def double(values):
    return np.repeat(values, 2, axis=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [sooner(name, least=FEW_MODELS) for name in (*LEARNERS, *BINARY, *SPECIAL)]
)
def test_nothing_hostile_hides_in_a_pair(fitted, name):
    """Attributes of the same value, or of the same length, are changed together."""
    model, X = fitted(name, 2, "dense")
    model = as_built(model)
    X = None if name in FRAMES else X[:5]  # the last step sees others, or the names
    held = [
        (part, attribute, value)
        for part in own_parts(model)
        if not isinstance(part, tuple)
        for attribute, value in list(vars(part).items())
        if attribute.startswith("_") or attribute.endswith("_")
    ]
    arrays = [(p, a, v) for p, a, v in held if isinstance(v, np.ndarray) and v.ndim]
    changes = [
        [(p, a, bend(v)) for p, a, v in arrays if len(v) == length]
        for length in {len(v) for *_, v in arrays}
        for bend in (cut, turn, double)
    ]
    for attribute in sorted({a for _, a, _ in held}):
        alike = [(p, a, v) for p, a, v in held if a == attribute]
        if len(alike) > 1:
            changes += [[(p, a, value) for p, a, _ in alike] for value in HOSTILE.values()]
            changes += [
                [(p, a, v) for (p, a, _), v in zip(alike, values, strict=True)]
                for values in zip(*(bent(v) for *_, v in alike), strict=False)
            ]
    attack(model, changes, partial(finite, X=X))


HOLDERS = (
    "streamed",
    "adam",
    "budget",
    "allowed error",
    "lowest cost",
    "groups",
    "novel",
    "by case",
)
TUPLES = [cls for cls in STORABLE.values() if issubclass(cls, tuple)]


@pytest.mark.parametrize("cls", TUPLES, ids=lambda cls: cls.__name__)
def test_no_field_can_be_hostile(fitted, cls):
    found = [part for name in HOLDERS for part in parts_of(fitted(name)[0]) if type(part) is cls]
    assert found
    part = found[0]
    part._check_state()
    for field in cls._fields:
        for name in ("huge", "text", "deep list", "callable", "array of objects", "empty dict"):
            if (field, name) == ("value", "text"):
                continue  # a group may have any name
            with pytest.raises(ValueError, match=cls.__name__):
                part._replace(**{field: HOSTILE[name]})._check_state()


def test_a_curve_keeps_its_fields():
    assert fitted_of(RejectCurve).keys() == {field.name for field in fields(RejectCurve)}
