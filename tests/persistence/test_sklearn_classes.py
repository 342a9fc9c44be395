"""Every class of scikit-learn that may stand in a file: it comes back, and hostile state does not.

The models here are fitted, saved and loaded; then each attribute that a file keeps is replaced by
hostile values.  The outcome is a refusal or a finite answer.  ``tests/fuzz`` changes them together.
"""

import copy
import warnings
from functools import cache, partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from rejo._state import StateError, is_fitted
from rejo.baselines import ThresholdRejectClassifier
from rejo.estimators import RejoLinear
from rejo.persistence import ModelFileError, load, save
from rejo.persistence._parts import _parts as parts_of
from rejo.persistence._parts import check_and_restore
from tests.fuzz.attributes import as_built, attack, bent, few

pytestmark = pytest.mark.filterwarnings("ignore:Skipping features")

# ---- models ---------------------------------------------------------------------------------


def make_data(n=90):
    draw = np.random.RandomState(0)
    X = draw.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + draw.normal(0, 0.3, n), [-0.7, 0.7])
    return X, y


X, Y3 = make_data()
Y2 = (Y3 > 0).astype(int)
GAPS = np.where(X < -1.5, np.nan, X)
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.6, X, 0.0))
CODES = np.digitize(X, [-1.0, 0.0, 1.0])

CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "logistic without intercept": LogisticRegression(fit_intercept=False),
    "svc": SVC(),
    "svc linear": SVC(kernel="linear", class_weight="balanced"),
    "svc poly": SVC(kernel="poly", degree=2, coef0=1.0),
    "svc sigmoid": SVC(kernel="sigmoid", gamma=0.1),
    "svc ovo": SVC(decision_function_shape="ovo"),
    "network": MLPClassifier((4, 3), solver="lbfgs", random_state=0, max_iter=1000),
    "network adam": MLPClassifier((3,), random_state=0, max_iter=2, early_stopping=True),
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(3, max_depth=3, oob_score=False, random_state=0),
    "extra": ExtraTreesClassifier(3, max_depth=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=3, early_stopping=True),
    "sigmoid": CalibratedClassifierCV(SVC(kernel="linear"), cv=StratifiedKFold(2)),
    "isotonic": CalibratedClassifierCV(RandomForestClassifier(3), method="isotonic", cv=2),
    "frozen": CalibratedClassifierCV(FrozenEstimator(LogisticRegression())),
    "pipeline": make_pipeline(StandardScaler(), "passthrough", LogisticRegression()),
}
STEPS = {
    "standard": (StandardScaler(), X),
    "standard single": (StandardScaler(), X.astype(np.float32)),
    "standard nothing": (StandardScaler(with_mean=False, with_std=False), X),
    "standard sparse": (StandardScaler(with_mean=False), SPARSE),
    "imputer": (SimpleImputer(strategy="median"), GAPS),
    "imputer single": (SimpleImputer(), GAPS.astype(np.float32)),
    "imputer of an empty column": (SimpleImputer(), np.column_stack([GAPS, np.full(90, np.nan)])),
    "nystroem": (Nystroem(n_components=8, random_state=0), X),
    "nystroem poly": (Nystroem("poly", degree=2, coef0=1, n_components=8, random_state=0), X),
    "nystroem sparse": (Nystroem(n_components=8, random_state=0), SPARSE),
    "nystroem codes": (Nystroem(n_components=8, random_state=0), CODES),
}


@cache
def fitted(name):
    """A model, data that it takes, and a function that returns the part to look at."""
    if name in STEPS:
        step, data = STEPS[name]
        model = make_pipeline(clone(step), RejoLinear()).fit(data, Y2)
        return model, data, lambda found: found[0]
    name, K = name.rsplit(" ", 1)
    data, y = SPARSE if name == "svc sparse" else X, Y2 if K == "2" else Y3
    inner = SVC() if name == "svc sparse" else clone(CLASSIFIERS[name])
    if name == "frozen":
        inner.estimator = FrozenEstimator(LogisticRegression().fit(X, y))
    # Of three classes, scores without posteriors are calibrated.
    rule = "score" if K == "2" and not hasattr(inner, "predict_proba") else "chow"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end early
        model = ThresholdRejectClassifier(inner, rule=rule).fit(data, y)
    return model, data, lambda found: found.estimator_


NAMES = [*STEPS, *(f"{name} {K}" for name in (*CLASSIFIERS, "svc sparse") for K in (2, 3))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.rejo"


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def answers(part, data):
    methods = ("predict", "predict_proba", "decision_function", "transform")
    return {
        name: dense(getattr(part, name)(data.copy())) for name in methods if hasattr(part, name)
    }


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_back_and_answers_as_before(name, path):
    model, data, inner = fitted(name)
    save(model, path)
    loaded = load(path)
    for a, b in ((model, loaded), (inner(model), inner(loaded))):
        first, second = answers(a, data), answers(b, data)
        assert first.keys() == second.keys()
        for method in first:
            np.testing.assert_array_equal(first[method], second[method], err_msg=method)
    if name in STEPS:
        names = inner(model).get_feature_names_out()
        assert inner(loaded).get_feature_names_out().tolist() == names.tolist()
    assert repr(loaded) == repr(model)
    save(loaded, path, overwrite=True)  # what came back can be saved again


@pytest.mark.parametrize("name", ["svc 2", "forest 3", "boosting 2", "standard"])
def test_what_came_back_can_be_fitted_again(name, path):
    model, data, _ = fitted(name)
    save(model, path)
    loaded = load(path)
    y = Y3 if name.endswith("3") else Y2
    again = clone(loaded).fit(data, y)
    np.testing.assert_array_equal(again.predict(data), clone(model).fit(data, y).predict(data))
    prototype = loaded.estimator if name not in STEPS else loaded[0]
    prototype.fit(data, y)  # a prototype is whole, too


# ---- hostile state ----------------------------------------------------------------------------


def finite(model, data):
    """Assert that a model that was not refused answers by finite numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for answer in answers(model, data).values():
            assert answer.dtype.kind != "f" or np.isfinite(answer).all()


FEW = (
    "standard", "imputer", "nystroem", "logistic 3", "svc 2", "svc sparse 3", "network 3", "tree 2",
    "forest 3", "boosting 2", "sigmoid 2", "isotonic 3",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in FEW else pytest.mark.check) for n in NAMES]
)
def test_no_attribute_can_be_hostile(name):
    """In `make test` those of one model for each class, in `make check` of all."""
    model, data, _ = fitted(name)
    model = as_built(model)
    parts = [part for part in parts_of(model) if type(part).__module__.startswith("sklearn.")]
    first = {type(part): part for part in parts if hasattr(part, "__dict__") and is_fitted(part)}
    changes = [
        [(part, attribute, value)]
        for part in first.values()
        for attribute, now in list(vars(part).items())
        for value in (*few(part, attribute), *bent(now))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused = attack(model, changes, partial(finite, data=data[:5].astype(float)))
    assert refused > len(changes) / 4


# ---- one attack each ---------------------------------------------------------------------------


def refused(name, message, **changes):
    """Refuse a model with other attributes of its part."""
    twin = as_built(fitted(name)[0])
    part = fitted(name)[2](twin)
    for attribute, value in changes.items():
        vars(part)[attribute] = value(vars(part).get(attribute)) if callable(value) else value
    with pytest.raises((StateError, ValueError, TypeError), match=message):
        check_and_restore(twin)


def test_derived_attributes_are_not_read_from_a_file(path):
    """What led compiled code astray is not kept, so changing it changes nothing."""
    changes = {
        "boosting 2": {"_n_features": 50, "n_trees_per_iteration_": 3},
        "svc sparse 2": {"_effective_probability": True, "_probA": np.zeros(1)},
        "svc 2": {"_sparse": True, "fit_status_": 1},
        "network 3": {"n_layers_": 9, "n_outputs_": 10**6},
        "forest 3": {"n_classes_": 10**6, "n_outputs_": 2},
        "nystroem": {"_n_features_out": 10**9},
    }
    for name, values in changes.items():
        model, data, inner = fitted(name)
        expected = model.predict(data)
        twin = copy.deepcopy(model)
        for attribute, value in values.items():
            setattr(inner(twin), attribute, value)
        save(twin, path, overwrite=True)
        loaded = load(path)
        np.testing.assert_array_equal(loaded.predict(data), expected, err_msg=name)
        for attribute, value in values.items():
            assert getattr(inner(loaded), attribute) is not value


def test_derived_attributes_in_a_file_are_refused():
    refused("boosting 2", "_n_features", _n_features=50)
    refused("svc 2", "_effective_probability", _effective_probability=True, _probA=np.zeros(0))
    refused("svc 2", "_sparse", _sparse=True)
    refused("boosting 2", "_in_fit", _in_fit=True)


def test_modes_that_no_file_holds_are_refused():
    refused("svc 2", "kernel is not one of", kernel="precomputed")
    refused("svc sparse 2", "kernel is not one of", kernel="precomputed")
    refused("svc 2", "probability=True", probability=True)
    refused("svc sparse 2", "support_vectors_", support_vectors_=lambda Z: Z.tocsc())
    refused("svc sparse 2", "do not agree", support_vectors_=lambda Z: Z.toarray())
    refused("svc 2", "degree", degree=2**20)
    refused("nystroem", "kernel is not one of", kernel="chi2")
    refused("nystroem", "kernel_params", kernel_params={"gamma": 1.0})
    refused("imputer", "indicator_", indicator_=None)
    refused("imputer", "add_indicator", add_indicator=True)
    refused("imputer", "missing_values", missing_values=-1)
    refused("boosting 2", "TableEncoder", _preprocessor=0)


def test_a_member_does_not_come_twice():
    refused("sigmoid 2", "twice", calibrated_classifiers_=lambda members: members * 100)


def test_categories_of_boosted_trees_are_refused_with_a_remedy(path):
    model = ThresholdRejectClassifier(
        HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    ).fit(CODES, Y2)
    with pytest.raises(ModelFileError, match="categor"):
        save(model, path)


def nodes_changed(field, value, where=0):
    def change(stages):
        stages = copy.deepcopy(stages)
        stages[0][0].nodes[field][where] = value
        return stages

    return change


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("feature_idx", 3),
        ("feature_idx", -1),
        ("left", 0),
        ("right", 10**6),
        ("right", 1),  # where the left one leads too
        ("is_leaf", 2),
        ("is_categorical", 1),
        ("bitset_idx", 1),
        ("value", np.inf),
        ("num_threshold", np.nan),
        ("missing_go_to_left", 2),
        ("depth", 10**6),
    ],
)
def test_a_node_of_boosted_trees_is_refused(field, value):
    refused("boosting 2", None, _predictors=nodes_changed(field, value))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 0),
        ("right_child", 10**6),
        ("right_child", 1),  # where the left one leads too
        ("left_child", -1),  # and the other one is not
        ("feature", 3),
        ("feature", -2),
        ("threshold", np.nan),
        ("missing_go_to_left", 2),
    ],
)
def test_a_node_of_a_tree_is_refused(field, value):
    def change(tree):
        state = tree.__getstate__()
        state["nodes"][field][0] = value
        return tree_of(state)

    refused("tree 3", None, tree_=change)


def tree_of(state, n_features=3, n_classes=3):
    tree = Tree(n_features, np.array([n_classes]), 1)
    tree.__setstate__(state)
    return tree


def test_a_tree_that_does_not_fit_its_model_is_refused():
    def changed(**values):
        return lambda tree: tree_of({**tree.__getstate__(), **values})

    refused("tree 3", "sizes", tree_=changed(node_count=3))
    refused("tree 3", "sizes", tree_=changed(node_count=0))
    refused("tree 3", "sizes", tree_=changed(max_depth=-1))
    refused("tree 3", "features", tree_=lambda tree: tree_of(tree.__getstate__(), n_features=9))
    refused(
        "tree 3", "shares", tree_=lambda t: tree_of({**t.__getstate__(), "values": t.value * 2})
    )
    refused("forest 3", "features or classes", n_features_in_=9)


@pytest.mark.parametrize("kind", ["frozen", "step"])
def test_a_bare_tree_does_not_stand_for_an_estimator(kind):
    """Its predict looks at no number of columns."""
    twin = as_built(fitted("pipeline 3")[0])
    tree = fitted("tree 3")[0].estimator_.tree_
    if kind == "frozen":
        twin.estimator = FrozenEstimator(tree)
    else:
        twin.estimator_.steps[-1] = ("tree", tree)
    with pytest.raises(StateError, match="an estimator"):
        check_and_restore(twin)


def test_a_file_does_not_make_a_step_change_your_data(path):
    model = make_pipeline(StandardScaler(copy=False), RejoLinear()).fit(X.copy(), Y2)
    save(model, path)
    data = X.copy()
    load(path).predict(data)
    np.testing.assert_array_equal(data, X)


def test_a_file_starts_no_processes(path):
    model = ThresholdRejectClassifier(RandomForestClassifier(3, n_jobs=12)).fit(X, Y2)
    save(model, path)
    assert load(path).estimator_.n_jobs is None
