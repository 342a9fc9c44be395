"""Checks of every public estimator: scikit-learn's own, and the contract of this package.

The estimators are found: a class that a public module lists in ``__all__`` is checked, with its
default parameters or with the settings given here.
"""

import inspect
import pickle
import re
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import rejo
from rejo.baselines import (
    FrankHallReject,
    NoveltyReject,
    ThresholdRejectClassifier,
)
from rejo.estimators import (
    RejectClassifier,
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    must_review,
)
from rejo.estimators.boundaries import BoundaryClassifier
from rejo.estimators.pipelines import final_step, forced_of
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.metrics import tally
from rejo.solvers.linear import LOSSES

# Networks stop early here, to save time.
pytestmark = pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning")

# ---- which estimators, with which settings -----------------------------------------------

SORTED = {"class_order": "sorted"}
ORDERS = [{}, SORTED, {"reject_cost": None, **SORTED}]
LINEAR = LogisticRegression()
# gamma="scale" depends on the number of rows, not on their weights.
MACHINE = SVC(gamma=0.3, tol=1e-10)
WRAPPED = [
    LINEAR,
    SVC(),
    DecisionTreeClassifier(min_weight_fraction_leaf=0.01, random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, learning_rate=0.5),
]
# The checks count a rejection as an error and ask for 83 % right on three blobs that overlap;
# little regularisation, or an expensive rejection, leaves few of them rejected.
NETWORK = {"alpha": 0.01, "max_iter": 100}

SETTINGS = {
    "BlendClassifier": [
        {"estimators": [("linear", LINEAR), ("tree", WRAPPED[2])], "cv": 2},
        {
            "estimators": [("linear", LogisticRegression(tol=1e-12))],
            "weights": "equal", "temperature": 1.5,
        },
    ],
    "EmbeddedRejectSVC": [
        {"n_starts": 2},
        {"n_starts": 2, "kernel": "rbf"},
        {"second_order": True, "n_starts": 1, "reject_cost": 0.4},
    ],
    "FrankHallReject": [
        {"estimator": LINEAR, "reject_cost": None, **SORTED},
        {"estimator": MACHINE, "reject_cost": 0.4},
        {"estimator": MACHINE, "per_split": 1, "cv": 2, **SORTED},
    ],
    "NoveltyReject": [
        {"classifier": LINEAR},
        {"classifier": RejoSVC(class_order="sorted")},
        {"classifier": RejoLinear(class_order="sorted"), "cv": 3, "review_share": 0.1},
    ],
    "RejectClassifierCV": [
        {
            "estimator": RejoSVC(class_order="sorted"),
            "review_budget": 0.1, "reject_costs": [0.2, 0.5], "cv": 3,
        },
    ],
    "RejoBoost": [
        {"n_estimators": 30, **options}
        for options in (
            {},
            {"reject_cost": None},
            {"boundaries": "parallel", **SORTED},
            {"boundaries": "replicas"},
            {"boundaries": "replicas", "reject_cost": None, **SORTED},
            {"boundaries": "posteriors"},
        )
    ],
    "RejoKernelLogistic": [
        {"kernel": kernel, **order} for kernel in ("linear", "rbf") for order in ORDERS
    ],
    "RejoLinear": [
        {"loss": loss, **order}
        for loss in LOSSES
        for order in ORDERS
    ],
    "RejoMLP": [
        # Without rejection a larger penalty: some points then surely lie where the median of the
        # classes is not the likeliest, and do not depend on rounding.
        *(NETWORK | ({} if "reject_cost" not in order else {"alpha": 1.0}) | order
          for order in ORDERS),
        {**NETWORK, **SORTED, "reject_cost": 0.4, "solver": "adam", "learning_rate_init": 0.02},
    ],
    "RejoSVC": [{"kernel": kernel, **order} for kernel in ("linear", "rbf") for order in ORDERS],
    "ReplicationClassifier": [
        {"estimator": LINEAR},
        *({"estimator": base, **order} for base in WRAPPED for order in ORDERS[1:]),
    ],
    "SurrogateRejectSVC": [
        {"surrogate": surrogate, "kernel": kernel}
        for surrogate in ("bartlett-wegkamp", "double-hinge")
        for kernel in ("linear", "rbf")
    ],
    "ThresholdRejectClassifier": [
        {"estimator": LINEAR},
        {"estimator": LINEAR, "reject_cost": None},
        {"estimator": LINEAR, "rule": "class", "cv": 2},
        {"estimator": MACHINE, "reject_cost": None, "cv": 2},
        {"estimator": MACHINE, "rule": "score"},
    ],
}  # fmt: skip


def public_estimators(package=rejo):
    """Return the estimators that the public modules list in ``__all__``, by name."""
    found = {}
    modules = [module.name for module in walk_packages(package.__path__, f"{package.__name__}.")]
    for name in modules:
        if any(part.startswith("_") for part in name.split(".")):
            continue
        try:
            module = import_module(name)
        except ImportError as error:
            if "pip install" not in str(error):  # an optional package that is not installed
                raise
            continue
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            concrete = inspect.isclass(value) and not inspect.isabstract(value)
            if concrete and issubclass(value, BaseEstimator):
                found[public] = value
    return dict(sorted(found.items()))


def settings_of(kind):
    """Parameters to check a class with; for one without an entry, those that most classes have."""
    if kind.__name__ in SETTINGS:
        return SETTINGS[kind.__name__]
    names = inspect.signature(kind).parameters
    needed = {"estimator": LINEAR} if "estimator" in names else {}
    orders = [order for order in ORDERS if order.keys() <= names.keys()]
    return [needed | order for order in orders]


ESTIMATORS = [
    kind(**settings) for kind in public_estimators().values() for settings in settings_of(kind)
]


def of_kind(kind):
    return [estimator for estimator in ESTIMATORS if type(estimator) is kind]


# An encoder of tables takes DataFrames only; scikit-learn's checks give arrays.
ON_OTHERS = ("TableEncoder",)
ON_ARRAYS = [estimator for estimator in ESTIMATORS if type(estimator).__name__ not in ON_OTHERS]
CLASSIFIERS = [estimator for estimator in ESTIMATORS if isinstance(estimator, RejectClassifier)]
# Two settings of each class run in `make test`, the others in `make check`.
FIRST = [estimator for kind in public_estimators().values() for estimator in of_kind(kind)[:2]]


def name_of(estimator):
    return re.sub(r"\s+", " ", repr(estimator))


def each(estimators):
    """Run a test for each of these estimators."""
    marks = [() if estimator in FIRST else pytest.mark.check for estimator in estimators]
    cases = zip(estimators, marks, strict=True)
    return pytest.mark.parametrize(
        "estimator", [pytest.param(case, marks=mark, id=name_of(case)) for case, mark in cases]
    )


every_estimator, every_classifier = each(ESTIMATORS), each(CLASSIFIERS)


def test_estimators_are_found_in_a_package(tmp_path, monkeypatch):
    """A new learner is checked as soon as its package lists it."""
    room = tmp_path / "newhouse" / "room"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("")
    (room / "__init__.py").write_text(
        "from rejo import RejoSVC\n"
        "from rejo.estimators import RejectClassifier\n"
        "class RejoNew(RejoSVC): ...\n"
        "class Hidden(RejoSVC): ...\n"
        "__all__ = ['RejectClassifier', 'RejoNew']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = public_estimators(import_module("newhouse"))
    assert list(found) == ["RejoNew"]
    assert settings_of(found["RejoNew"]) == ORDERS


def test_every_setting_belongs_to_a_public_estimator():
    assert SETTINGS.keys() <= public_estimators().keys()


def test_every_public_reject_classifier_is_checked():
    names = {type(estimator).__name__ for estimator in ESTIMATORS}
    public = {name: getattr(rejo, name) for name in rejo.__all__}
    classes = {name: value for name, value in public.items() if inspect.isclass(value)}
    estimators = {name for name, kind in classes.items() if issubclass(kind, BaseEstimator)}
    assert estimators - {"RejectClassifier"} <= names  # the base class cannot be fitted


# ---- scikit-learn's own checks -----------------------------------------------------------

UNORDERED_STRINGS = (
    "three classes of strings without class_order are refused: their order cannot be guessed"
)
BLOBS_NOT_ON_A_LINE = (
    "three blobs that do not lie along a line in the order of their numbers: "
    "no single linear function puts them in that order"
)
LIKELIEST_IS_REJECTED = "predict_proba has a likeliest class also where predict rejects"
LIKELIEST_IS_NOT_THE_MIDDLE = (
    "predict counts the splits below a point, which gives the median, not the likeliest class"
)
COSTS_LEAVE_NO_POSTERIORS = "a fit of three classes with costs of rejection has no predict_proba"
NEAR_THE_MINIMUM = "the solver stops near the minimum: weights and copies differ in the sixth digit"
LEAVES_COUNT_ROWS = "min_samples_leaf counts rows, whatever their weight"
FOLDS = "which cases are held out to learn weights depends on the number of rows"
BOOTSTRAP = "the draw of a bootstrap sample depends on the number of rows"
CASES_COUNT_ONCE = "a detector of novel cases counts each case once, whatever its weight"


# Checks of scikit-learn 1.6 that later versions have corrected.
OLD = sklearn.__version__.startswith("1.6.")
EQUAL_DRAWS = "the draw of a bootstrap sample does not see the weights"
TWO_LABELLINGS = "the check makes two classes of three in another way for the copies"


def orders_classes(estimator):
    """Return whether it puts three or more classes in an order."""
    if isinstance(estimator, RejoBoost) and estimator.boundaries in ("auto", "posteriors"):
        return False  # three or more classes are decided by posteriors
    multi_class = get_tags(estimator).classifier_tags.multi_class
    return multi_class and isinstance(estimator, BoundaryClassifier | RejoBoost)


def is_linear(estimator):
    """Return whether one linear function decides between all classes."""
    if isinstance(estimator, ReplicationClassifier):
        return isinstance(estimator.estimator, LogisticRegression)
    return isinstance(estimator, RejoLinear) or (
        isinstance(estimator, RejoSVC | RejoKernelLogistic) and estimator.kernel == "linear"
    )


def expected_failures(estimator):
    """Checks that fail as designed; ``xfail_strict`` makes a pass an error."""
    failures = {}
    parameters = estimator.get_params()
    wrapped = parameters.get("estimator")
    if orders_classes(estimator) and parameters["class_order"] is None:
        failures["check_classifiers_classes"] = UNORDERED_STRINGS
    if is_linear(estimator):
        failures["check_classifiers_train"] = BLOBS_NOT_ON_A_LINE
    if hasattr(estimator, "predict_proba"):
        if parameters.get("reject_cost") is not None:
            failures["check_classifiers_train"] = LIKELIEST_IS_REJECTED
        elif (
            isinstance(estimator, FrankHallReject | RejoKernelLogistic | RejoMLP)
            or (isinstance(estimator, RejoBoost) and orders_classes(estimator))
            or (
                isinstance(
                    wrapped,
                    DecisionTreeClassifier
                    | HistGradientBoostingClassifier
                    | RandomForestClassifier,
                )
            )
        ):
            failures["check_classifiers_train"] = LIKELIEST_IS_NOT_THE_MIDDLE
    mixed = isinstance(estimator, PosteriorsMixin | RejoBoost)
    posteriors_of_boundaries = mixed and orders_classes(estimator)
    if posteriors_of_boundaries and hasattr(estimator, "predict_proba"):
        reason = NEAR_THE_MINIMUM if isinstance(estimator, RejoMLP) else None
        reason = reason if parameters["reject_cost"] is None else COSTS_LEAVE_NO_POSTERIORS
        if reason:
            failures["check_sample_weight_equivalence_on_dense_data"] = reason
            failures["check_sample_weight_equivalence_on_sparse_data"] = reason
    if isinstance(wrapped, HistGradientBoostingClassifier):
        failures["check_sample_weight_equivalence_on_dense_data"] = LEAVES_COUNT_ROWS
    if isinstance(wrapped, RandomForestClassifier):
        failures["check_sample_weight_equivalence_on_dense_data"] = BOOTSTRAP
        failures["check_sample_weight_equivalence_on_sparse_data"] = BOOTSTRAP
    if parameters.get("weights") == "learn":
        failures["check_sample_weight_equivalence_on_dense_data"] = FOLDS
        failures["check_sample_weight_equivalence_on_sparse_data"] = FOLDS
    if isinstance(estimator, NoveltyReject):
        if estimator.review_share > 0.02:  # so that some of few cases are novel
            failures["check_sample_weight_equivalence_on_dense_data"] = CASES_COUNT_ONCE
            failures["check_sample_weight_equivalence_on_sparse_data"] = CASES_COUNT_ONCE
        if not isinstance(estimator.classifier, RejoSVC):
            linear = isinstance(estimator.classifier, RejoLinear)
            failures["check_classifiers_train"] = (
                BLOBS_NOT_ON_A_LINE if linear else LIKELIEST_IS_REJECTED
            )
    if OLD and not get_tags(estimator).classifier_tags.multi_class:
        failures["check_sample_weight_equivalence_on_dense_data"] = TWO_LABELLINGS
        failures["check_sample_weight_equivalence_on_sparse_data"] = TWO_LABELLINGS
    if OLD and isinstance(wrapped, HistGradientBoostingClassifier):
        failures.pop("check_sample_weight_equivalence_on_sparse_data", None)  # refused: it passes
    if OLD and isinstance(wrapped, RandomForestClassifier):
        failures["check_class_weight_classifiers"] = EQUAL_DRAWS
    return failures


their_warnings = pytest.mark.filterwarnings(
    "default", "ignore:solver=:sklearn.exceptions.ConvergenceWarning"
)


# Checks of weights fit three classes, but ask a model that is not fitted for decision_function; of
# two classes, some solvers stop near the minimum: weights and copies differ in the fourth digit.
# The others take the sign of decision_function for the decision, also where predict rejects.
WEIGHTS = "check_sample_weight_equivalence"
SIGNS = ("check_classifiers_train", "check_classifiers_classes")


@pytest.fixture
def fair_check(estimator, check, monkeypatch):
    """The check; without decision_function where that cannot agree with what the check compares."""
    named = check
    while isinstance(named, partial):
        named = named.func
    rejects = estimator.get_params().get("reject_cost", "unknown") is not None
    if named.__name__.startswith(WEIGHTS) or (rejects and named.__name__ in SIGNS):
        monkeypatch.delattr(RejectClassifier, "decision_function")
    return check


@their_warnings
@parametrize_with_checks(
    [estimator for estimator in ON_ARRAYS if estimator in FIRST],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, fair_check):
    fair_check(estimator)


@their_warnings
@pytest.mark.check
@parametrize_with_checks(
    [estimator for estimator in ON_ARRAYS if estimator not in FIRST],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_other_settings(estimator, fair_check):
    fair_check(estimator)


# ---- the contract of this package --------------------------------------------------------


def problem(estimator):
    """Points with named columns, and as many classes as the estimator takes, up to three."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["age", "dose", "weight"])
    t = X["age"] + 0.5 * X["dose"] + 0.4 * rng.normal(size=len(X))
    many = not is_classifier(estimator) or get_tags(estimator).classifier_tags.multi_class
    cuts = np.quantile(t, [1 / 3, 2 / 3] if many else [1 / 2])
    return X, np.searchsorted(cuts, t)


def points(estimator):
    """Points as the estimator takes them: arrays, if it takes those."""
    X, y = problem(estimator)
    return (X if estimator not in ON_ARRAYS else X.to_numpy()), y


@cache
def fit_once(estimator):
    return fresh(estimator).fit(*points(estimator))


@cache
def fit_named(estimator):
    return fresh(estimator).fit(*problem(estimator))


def fresh(estimator):
    """Return a copy that draws the same numbers in every fit."""
    copy = clone(estimator)
    random = {name: 0 for name in copy.get_params() if name.rpartition("__")[2] == "random_state"}
    return copy.set_params(**random)


@pytest.fixture
def model(estimator):
    """The estimator, fitted once for all tests; they must not change it."""
    return fit_once(estimator)


def answers(model, X):
    """What a fitted estimator answers, as a list of arrays."""
    if not hasattr(model, "judge"):
        return [model.transform(X) if hasattr(model, "transform") else model.predict_proba(X)]
    found = model.judge(X)
    return [array for array in found if array is not None]


def assert_same_answers(model, other, X):
    for left, right in zip(answers(model, X), answers(other, X), strict=True):
        assert_array_equal(left, right)
        assert left.dtype == right.dtype


@every_estimator
def test_a_clone_learns_the_same(estimator, model):
    X, y = points(estimator)
    copy = clone(model)
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert_same_answers(copy.fit(X, y), model, X)


@every_estimator
def test_a_pickle_answers_the_same(estimator, model):
    assert_same_answers(pickle.loads(pickle.dumps(model)), model, points(estimator)[0])


@every_estimator
def test_a_saved_and_loaded_model_answers_the_same(estimator, model, tmp_path):
    pytest.importorskip("skops")
    X, y = points(estimator)
    if not is_classifier(estimator):  # a file holds a classifier, with what stands before it
        model = make_pipeline(model, RejoLinear()).fit(X, y)
    elif not isinstance(estimator, RejectClassifier):  # or inside it
        model = ThresholdRejectClassifier(estimator).fit(X, y)
    rejo.save(model, tmp_path / "model.rejo")
    loaded = rejo.load(tmp_path / "model.rejo")
    assert repr(loaded) == repr(model)
    if is_classifier(estimator):
        assert_same_answers(loaded, model, X)
    else:
        assert_same_answers(loaded[0], model[0], X)
        assert_array_equal(loaded.predict(X), model.predict(X))


@every_estimator
def test_fitted_attributes_are_documented_or_private(estimator):
    learned = vars(fit_named(estimator)).keys() - estimator.get_params(deep=False)
    public = {name for name in learned if not name.startswith("_")}
    assert all(name.endswith("_") for name in public)
    assert public <= documented(type(estimator)) | {"n_features_in_", "feature_names_in_"}


def documented(kind):
    """Names in the section "Attributes" of the docstrings of a class and its bases."""
    names = set()
    for base in kind.__mro__:
        section = re.search(
            r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", inspect.getdoc(base) or "", re.M | re.S
        )
        if section and base.__module__.startswith("rejo."):
            for line in re.findall(r"^\w.*", section[1], re.M):
                names.update(name.strip() for name in line.split(" : ")[0].split(","))
    return names


@pytest.mark.parametrize("kind", public_estimators().values())
def test_documented_attributes_exist(kind):
    """Some only with certain settings, but each with some."""
    models = [fit_named(estimator) for estimator in of_kind(kind)]
    for name in documented(kind):
        assert any(hasattr(model, name) for model in models), name


@every_estimator
def test_a_frame_gives_the_same_answers_and_its_names(estimator, model):
    X, _ = problem(estimator)
    named = fit_named(estimator)
    assert named.n_features_in_ == model.n_features_in_ == 3
    assert_array_equal(named.feature_names_in_, ["age", "dose", "weight"])
    pairs = zip(answers(named, X), answers(model, points(estimator)[0]), strict=True)
    for left, right in pairs:  # a frame is stored by columns: sums may be rounded differently
        assert_allclose(left, right, rtol=1e-9)


@every_classifier
def test_it_works_at_the_end_of_a_pipeline(estimator):
    X, y = problem(estimator)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), fresh(estimator))
    decisions = pipeline.fit(X, y).predict(X)
    alone = fresh(estimator).fit(pipeline[0].transform(X), y)
    assert_array_equal(decisions, alone.predict(pipeline[0].transform(X)))
    last, Z = final_step(pipeline, X)
    assert_same_answers(last, alone, Z)
    assert_array_equal(forced_of(pipeline, X), alone.predict_forced(Z))
    assert pipeline.score(X, y) == alone.score(Z, y)


@every_classifier
def test_judge_says_what_the_methods_say(estimator, model):
    X, y = points(estimator)
    n, classes = len(X), model.classes_
    judgement = model.judge(X)
    assert all(len(part) == n for part in judgement if part is not None)
    assert (judgement.worth is not None) == model.decides_by_posteriors
    decision, forced = judgement.decision, judgement.forced
    rejected = decision < 0
    assert_array_equal(classes, np.unique(y))
    assert set(decision) <= {-1, *range(len(classes))}
    assert set(forced) <= set(range(len(classes)))
    assert_array_equal(forced[~rejected], decision[~rejected])
    assert (judgement.lower < judgement.upper).all()
    assert (judgement.distance >= 0).all()
    assert (judgement.sureness >= 0).all()

    assert_array_equal(model.reject_mask(X), rejected)
    assert_array_equal(model.predict_forced(X), classes[forced])
    assert_array_equal(model.sureness(X), judgement.sureness)
    labels = model.predict(X)
    assert_array_equal(labels[~rejected], classes[decision[~rejected]])
    if model.reject_label_ is None:
        assert not rejected.any()
    else:
        assert model.reject_label_ not in classes
        assert all(label == model.reject_label_ for label in labels[rejected])


@every_classifier
def test_two_classes_have_a_score_to_rank_by(estimator, model):
    assert hasattr(model, "decision_function") == (len(model.classes_) == 2)
    X, y = points(estimator)
    y = np.where(y > y.mean(), "well", "ill")
    model = fresh(estimator).fit(X, y)
    scores, judgement = model.decision_function(X), model.judge(X)
    assert scores.shape == y.shape
    assert np.isfinite(scores).all()
    assert_array_equal(model.classes_[(scores > 0).astype(int)], model.predict_forced(X))
    assert get_scorer("roc_auc")(model, X, y) == roc_auc_score(y, scores) > 0.85
    signed = np.where(judgement.forced == 1, judgement.sureness, -judgement.sureness)
    order = np.argsort(scores)
    order = order[~must_review(judgement)[order]]
    assert (np.diff(signed[order]) > -1e-9).all()
    if hasattr(model, "predict_proba"):
        assert (np.diff(model.predict_proba(X)[order, 1]) > -1e-9).all()


@every_classifier
def test_review_and_queue_rank_the_doubtful_points(estimator):
    X, _ = problem(estimator)
    X.index = [f"case {i}" for i in range(len(X))]
    model = fit_named(estimator)
    judgement = model.judge(X)
    rejected = judgement.decision < 0
    frame = model.review(X)
    worth = ["worth"] if model.decides_by_posteriors else []
    chance = [] if judgement.chance is None else ["chance_wrong"]
    known = [*chance, "lower", "upper", "distance", *worth]
    columns = ["decision", "reason", "forced", *known, "rank"]
    assert list(frame.columns) == columns
    assert_array_equal(frame.index, X.index)
    assert_array_equal(frame["decision"], model.predict(X))
    assert_array_equal(frame["reason"].isna(), ~rejected)
    assert_array_equal(frame["forced"], model.predict_forced(X))
    assert_array_equal(frame["lower"], model.classes_[judgement.lower])
    assert_array_equal(frame["upper"], model.classes_[judgement.upper])
    assert_array_equal(frame["rank"].isna(), ~rejected)
    assert sorted(frame["rank"].dropna()) == list(range(1, rejected.sum() + 1))
    queue = model.queue(X)
    assert list(queue["rank"]) == list(range(1, rejected.sum() + 1))
    order = [X.index.get_loc(name) for name in queue.index]
    assert (np.diff(judgement.sureness[order]) >= 0).all()
    assert_array_equal(model.queue(X, capacity=7).index, queue.index[:7])
    filled = model.queue(X, capacity=0.5, fill=True)
    assert len(filled) == len(X) // 2
    assert_array_equal(filled.index[: len(queue)], queue.index[: len(filled)])


@pytest.mark.parametrize("kind", public_estimators().values())
def test_thresholds_rise(kind):
    models = [fit_once(estimator) for estimator in of_kind(kind)]
    for model in models:
        assert (np.diff(getattr(model, "thresholds_", [])) >= 0).all()


@every_classifier
def test_score_is_one_minus_the_mean_cost(estimator, model):
    X, y = points(estimator)
    counted = tally(model.judge(X).decision, np.searchsorted(model.classes_, y))
    assert_allclose(model.score(X, y), 1 - counted.risk(model.reject_cost_ or 0.0))
    weight = np.arange(len(y)) % 3
    assert_allclose(
        model.score(X, y, sample_weight=weight),
        model.score(np.repeat(X, weight, axis=0), np.repeat(y, weight)),
    )
