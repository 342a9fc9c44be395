"""Every class of scikit-learn that may stand in a file: it comes back, and hostile state does not.

The models here are fitted, saved and loaded; then each attribute that a file keeps is replaced by
hostile values, alone and together with another.  The outcome is a refusal or a finite answer.
"""

import contextlib
import copy
import random
import warnings
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
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

from rejo._state import StateError
from rejo.baselines import ThresholdRejectClassifier
from rejo.estimators import RejoLinear
from rejo.persistence import ModelFileError, load, save
from rejo.persistence._parts import _parts, check_and_restore
from rejo.persistence._trusted import kept_names, known, type_name_of

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


@cache
def loaded(name):
    """A model that came out of a file."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/model.rejo"
        save(fitted(name)[0], path)
        return load(path)


def bare(name):
    """A model with what a file keeps, as it is before it has been checked."""
    twin = copy.deepcopy(loaded(name))
    for part in _parts(twin):
        said = known(part)
        if said is not None and said.fitted is not None:
            kept = kept_names(type_name_of(part))
            for name in [name for name in vars(part) if name not in kept]:
                del vars(part)[name]
    return twin


def holders(model):
    """Everything of scikit-learn in a model that has attributes which a file keeps."""
    parts = [
        part for part in _parts(model) if known(part) is not None and hasattr(part, "__dict__")
    ]
    return [part for part in parts if type_name_of(part).startswith("sklearn.") and vars(part)]


INTS = [-1, 0, 1, 2, 7, 10**6, 10**9, 2**31, 2**40, 2**63, 10**400, -(2**40)]
ODD = [None, True, "x", b"x", 0.5, float("nan"), float("inf"), -1e308, [], (), {}, [1], "rbf"]


def hostile(value, draw):
    """A value of the same kind that does harm, or of another kind."""
    if draw.random() < 0.12:
        return draw.choice([*ODD, *INTS])
    if isinstance(value, np.ndarray):
        return hostile_array(value, draw)
    if sparse.issparse(value):
        return hostile_sparse(value, draw)
    if isinstance(value, (bool, np.bool_)):
        return not value
    if isinstance(value, (int, np.integer)):
        return draw.choice([*INTS, int(value) + 1, int(value) - 1, 2.5])
    if isinstance(value, (float, np.floating)):
        return draw.choice([float("nan"), float("inf"), -value, 1e308, 1e-320, 0.0, 10**400, -1])
    if isinstance(value, str):
        return draw.choice(["", "precomputed", "ovo", "drop", "first", "mean", "raise", "isotonic"])
    if isinstance(value, (list, tuple)) and value:
        items = list(value)
        kind = draw.randrange(5)
        place = draw.randrange(len(items))
        if kind == 0:
            items.pop()
        elif kind == 1:
            items.append(items[0])
        elif kind == 2:
            items.reverse()
        else:
            items[place] = hostile(items[place], draw)
        return type(value)(items)
    if isinstance(value, slice):
        return slice(draw.choice([None, *INTS]), draw.choice([None, *INTS]), draw.choice([None, 2]))
    return draw.choice([*ODD, *INTS])


def hostile_array(values, draw):
    kind = draw.randrange(12)
    if kind == 0:
        return values[:-1]
    if kind == 1:
        return np.concatenate([values, values[:1]])
    if kind == 2:
        return values[:0]
    if kind == 3:
        return values[::-1]  # in another order in memory, too
    if kind == 4:
        return np.asfortranarray(np.stack([values, values]))
    if kind == 5 and values.dtype.kind in "iufb":
        return values.astype(draw.choice(["f4", "f2", "i8", "i4", "u1", "O", "U5", ">f8"]))
    if kind == 6:
        return values.reshape(-1)
    if kind == 7 and values.ndim == 2:
        return np.ascontiguousarray(values.T)
    changed = values.copy()
    if not changed.size:
        return np.concatenate([changed, changed])
    place = draw.randrange(changed.size)
    target = changed.reshape(-1)
    if changed.dtype.names:
        field = draw.choice(changed.dtype.names)
        column = target[field]
        limit = np.iinfo(column.dtype) if column.dtype.kind in "iu" else None
        column[place] = draw.choice(
            [limit.min, limit.max, 0, 1, len(changed), place]
            if limit
            else [np.nan, np.inf, -np.inf, 1e308]
        )
    elif changed.dtype.kind in "iu":
        limit = np.iinfo(changed.dtype)
        target[place] = draw.choice([limit.min, limit.max, 0, 1, 5, len(changed)])
    elif changed.dtype.kind == "f":
        target[place] = draw.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 3e38])
    elif changed.dtype.kind == "O":
        target[place] = draw.choice([None, 1, "x", float("nan"), (), 10**400])
    return changed


def hostile_sparse(matrix, draw):
    kind = draw.randrange(6)
    if kind == 0:
        return matrix.tocsc()
    if kind == 1:
        return matrix.toarray()
    if kind == 2:
        return matrix[:-1]
    changed = matrix.copy()
    part = [changed.indices, changed.indptr, changed.data][kind - 3]
    part[draw.randrange(len(part))] = draw.choice([-1, 0, 10**6, 2**31 - 1])
    return changed


def stretched(part, draw):
    """Change one length in all attributes of a part alike: a pair, or more, that agree."""
    lengths = {n for value in vars(part).values() for n in lengths_of(value)}
    if not lengths:
        return
    old = draw.choice(sorted(lengths))
    new = draw.choice([old + 1, max(old - 1, 0), 2 * old, 1])
    for name, value in vars(part).items():
        setattr(part, name, resized(value, old, new))


def lengths_of(value):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return {int(value)} if 0 < value < 1000 else set()
    if isinstance(value, np.ndarray):
        return set(value.shape) - {0}
    if isinstance(value, (list, tuple)):
        return {len(value)}.union(*map(lengths_of, value)) - {0}
    return set()


def resized(value, old, new):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return new if value == old else value
    if isinstance(value, np.ndarray):
        for axis in range(value.ndim):
            if value.shape[axis] == old:
                value = np.take(value, np.arange(new) % old, axis=axis)
        return value
    if isinstance(value, (list, tuple)):
        items = [resized(item, old, new) for item in value]
        if len(items) == old:
            items = [items[i % old] for i in range(new)]
        return type(value)(items)
    return value


def mutate(model, draw):
    """Make one to three changes; return which."""
    done = []
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3])):
        part = draw.choice(holders(model))
        name = draw.choice(sorted(vars(part)))
        if draw.random() < 0.2:
            with contextlib.suppress(ValueError, TypeError, IndexError):
                stretched(part, draw)
            done.append(f"{type(part).__name__}: a length")
        elif isinstance(vars(part)[name], Tree):
            hostile_tree(part, draw)
            done.append(f"{type(part).__name__}: tree")
        else:
            value = vars(part)[name]
            errors = ValueError, TypeError, IndexError, OverflowError
            with contextlib.suppress(*errors), np.errstate(all="ignore"):
                value = vars(part)[name] = hostile(value, draw)
            done.append(f"{type(part).__name__}.{name} = {value!r:.60}")
    return done


def hostile_tree(model, draw):
    """Build a tree from hostile nodes, as far as scikit-learn takes them."""
    state = model.tree_.__getstate__()
    name = draw.choice(["nodes", "values", "max_depth"])
    state[name] = hostile(state[name], draw)
    p = draw.choice([model.tree_.n_features, 1, 100])
    tree = Tree(p, model.tree_.n_classes.copy(), 1)
    with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError):
        tree.__setstate__(state)
        model.tree_ = tree


def attack(name, seed):
    """Return "refused" or "answered", or what went wrong."""
    draw = random.Random(seed)
    _, data, _ = fitted(name)
    twin = bare(name)
    done = mutate(twin, draw)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_and_restore(twin)
    except Exception:
        return "refused", done
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for answer in answers(twin, data).values():
                if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                    return "not finite", done
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.80}", done
    return "answered", done


def check_hostile(name, seeds):
    outcomes = [attack(name, seed) for seed in seeds]
    # A sound model for other data than these is an answer, too.
    fine = ("refused", "answered", *OTHER_DATA)
    assert not [outcome for outcome in outcomes if not outcome[0].startswith(fine)]
    assert any(outcome == "refused" for outcome, _ in outcomes)


@pytest.mark.parametrize(
    "n",
    [
        3,
        pytest.param(8, marks=pytest.mark.check),
        pytest.param(100, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_hostile_state_is_refused_or_the_answer_is_finite(name, n):
    check_hostile(name, range(10 * n, 11 * n))


OTHER_DATA = (
    "ValueError: X has 3 features",
    "ValueError: Cannot center sparse",
    "ValueError: The feature names should match",
    "ValueError: Input X contains NaN",
    "TypeError: Sparse data was passed for X",
)


# ---- one attack each ---------------------------------------------------------------------------


def refused(name, message, **changes):
    """Refuse a model with other attributes of its part."""
    twin = bare(name)
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
    refused("imputer", "indicator_", indicator_=0)
    refused("imputer", "add_indicator", add_indicator=True)
    refused("imputer", "missing_values", missing_values=-1)
    refused("boosting 2", "TableEncoder", _preprocessor=0)


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
    twin = bare("pipeline 3")
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
