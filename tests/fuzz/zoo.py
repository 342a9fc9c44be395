"""The zoo: a fitted model for every class that a model file may hold, in every documented mode.

All are fitted on about a hundred rows, so the whole zoo is ready within seconds.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
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
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from rejo.baselines import (
    BlendClassifier,
    CutRanking,
    EmbeddedRejectSVC,
    FrankHallReject,
    NoveltyReject,
    Pieces,
    SurrogateRejectSVC,
    ThresholdRejectClassifier,
)
from rejo.estimators import (
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
)
from rejo.selection import RejectClassifierCV
from rejo.tables import TableEncoder

N = 100  # rows to fit on
SHOWN = 12  # rows to predict
ANIMALS: dict[str, Any] = {}  # functions that fit one, by name


class Animal(NamedTuple):
    """A fitted model, and cases for it."""

    model: Any
    X: Any  # (n, p) array, sparse matrix or DataFrame


class Data(NamedTuple):
    """Cases to fit on."""

    X: Any  # (n, 3)
    two: Any  # (n,) classes 0 and 1
    three: Any  # (n,) classes 0 to 2, ordered
    words: Any  # (n,) the same as words
    sparse: Any  # (n, 3) CSR
    frame: Any  # (n, 4) numbers, words and dates
    plain: Any  # (n, 4) the same without dates, and without missing words


@cache
def data() -> Data:
    """Return the cases; the same in every run."""
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (N, 3)).round(6)
    z = X[:, 0] + X[:, 1] + random.normal(0, 0.3, N)
    three = np.digitize(z, [-0.5, 0.5])
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta((200 * (X[:, 2] + 1)).round(), unit="D")
    frame = pd.DataFrame(
        {
            "size": np.where(X[:, 0] < -0.8, np.nan, X[:, 0]),
            "colour": np.array(["red", "green", "blue"])[np.digitize(X[:, 1], [-0.3, 0.3])],
            "when": when,
            "unit": "kg",
        }
    )
    plain = frame.assign(when=X[:, 1], unit=np.array(["kg", "g"])[(X[:, 2] > 0).astype(int)])
    words = np.array(["low", "mid", "top"])[three]
    thin = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    return Data(X, (z > 0).astype(int), three, words, thin, frame, plain)


def animal(build: Any) -> Any:
    """Register a function that returns a fitted model and cases for it."""
    ANIMALS[build.__name__] = build
    return build


def register(name: str, model: Any, y: str = "two", X: str = "X") -> None:
    """Register an estimator to be fitted on the data."""

    def build() -> tuple[Any, Any]:
        found = data()
        cases = getattr(found, X)
        return clone(model).fit(cases, getattr(found, y)), cases

    build.__name__ = name
    animal(build)


# ---- rejo's own learners --------------------------------------------------------------------

ORDER = ["low", "mid", "top"]
register("linear", RejoLinear())
register("linear_three", RejoLinear(), "three")
register("linear_words", RejoLinear(class_order=ORDER, reject_label="ask"), "words")
register("linear_sparse", RejoLinear(loss="squared_hinge"), "three", "sparse")
register("linear_hinge", RejoLinear(loss="hinge", class_weight="balanced"))
register("linear_forced", RejoLinear(reject_cost=None), "three")
register("linear_prices", RejoLinear(loss_matrix=[[0, 0.2, 1], [2, 0.2, 0]]))
register("linear_frame", make_pipeline(TableEncoder(), RejoLinear()), "two", "frame")
for kernel in ("linear", "poly", "rbf", "sigmoid"):
    register(f"svc_{kernel}", RejoSVC(kernel=kernel, gamma=0.5, coef0=0.1))
    register(f"kernel_logistic_{kernel}", RejoKernelLogistic(kernel=kernel, max_rank=20))
register("svc_three", RejoSVC(class_order=ORDER, s=1), "words")
register("svc_sparse", RejoSVC(), "two", "sparse")
register("svc_sparse_linear", RejoSVC(kernel="linear"), "three", "sparse")
register("svc_forced", RejoSVC(reject_cost=None), "three")
register("kernel_logistic_three", RejoKernelLogistic(class_order=ORDER, max_rank=20), "words")
register("kernel_logistic_sparse", RejoKernelLogistic(max_rank=20), "three", "sparse")
register("mlp", RejoMLP((3,), random_state=0, max_iter=50))
register("mlp_three", RejoMLP((4, 3), random_state=0, max_iter=50, activation="relu"), "three")
register("mlp_sparse", RejoMLP((3,), random_state=0, max_iter=30), "two", "sparse")
register("mlp_rprop", RejoMLP((3,), random_state=0, solver="rprop", max_iter=30))
adam = RejoMLP((3,), random_state=0, solver="adam", max_iter=10, class_order=ORDER)
register("mlp_adam", adam, "words")
register("mlp_early", RejoMLP((3,), random_state=0, early_stopping=True, max_iter=30))
register("embedded", EmbeddedRejectSVC(n_starts=2, random_state=0))
register("embedded_rbf", EmbeddedRejectSVC(kernel="rbf", max_rank=20, n_starts=2, random_state=0))
register("embedded_second", EmbeddedRejectSVC(second_order=True, n_starts=2, random_state=0))
register("surrogate", SurrogateRejectSVC())
register("surrogate_sparse", SurrogateRejectSVC(kernel="linear"), "two", "sparse")

if find_spec("xgboost") is not None:
    few = {"n_estimators": 3, "max_depth": 2, "validation": 0.3, "random_state": 0}
    register("boost", RejoBoost(**few))
    register("boost_three", RejoBoost(**few), "three")
    register("boost_parallel", RejoBoost(**few, boundaries="parallel"), "three")
    register("boost_replicas", RejoBoost(**few, boundaries="replicas", class_order=ORDER), "words")
    register("boost_forced", RejoBoost(**few, boundaries="replicas", reject_cost=None), "three")
    register("boost_sparse", RejoBoost(**few), "two", "sparse")
    register("boost_prices", RejoBoost(**few, cost_of="error=50,review=5"), "three")

    @animal
    def boost_categories() -> tuple[Any, Any]:
        found = data()
        X = found.plain.astype({"colour": "category", "unit": "category"})
        return RejoBoost(**few).fit(X, found.two), X


def _precomputed(model: Any) -> tuple[Any, Any]:
    gram = rbf_kernel(data().X)
    return model.fit(gram, data().two), gram


@animal
def svc_precomputed() -> tuple[Any, Any]:
    return _precomputed(RejoSVC(kernel="precomputed"))


@animal
def kernel_logistic_precomputed() -> tuple[Any, Any]:
    return _precomputed(RejoKernelLogistic(kernel="precomputed", max_rank=20))


@animal
def embedded_precomputed() -> tuple[Any, Any]:
    return _precomputed(
        EmbeddedRejectSVC(kernel="precomputed", max_rank=20, n_starts=2, random_state=0)
    )


@animal
def surrogate_precomputed() -> tuple[Any, Any]:
    return _precomputed(SurrogateRejectSVC(kernel="precomputed"))


@animal
def linear_stream() -> tuple[Any, Any]:
    found, model = data(), RejoLinear(random_state=0)
    for rows in (slice(0, 50), slice(50, None)):
        model.partial_fit(found.X[rows], found.three[rows], classes=[0, 1, 2])
    return model, found.X


@animal
def mlp_stream() -> tuple[Any, Any]:
    found, model = data(), RejoMLP((3,), solver="adam", random_state=0)
    for rows in (slice(0, 50), slice(50, None)):
        model.partial_fit(found.X[rows], found.two[rows], classes=[0, 1])
    return model, found.X


# ---- around other classifiers ----------------------------------------------------------------

STUMP = DecisionTreeClassifier(max_depth=3, random_state=0)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)
STRAIGHT = SVC(kernel="linear")
BOOSTING = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=5)
LOGISTIC = LogisticRegression()

register("novel_posteriors", NoveltyReject(LOGISTIC))
register("novel_boundaries", NoveltyReject(RejoLinear(class_order="sorted")), "three")
register("copies_logistic", ReplicationClassifier(LOGISTIC))
register("copies_tree", ReplicationClassifier(STUMP), "three")
register("copies_forest", ReplicationClassifier(FOREST))
register("copies_boosting", ReplicationClassifier(BOOSTING), "three")
register("copies_svc", ReplicationClassifier(SVC()))
if has_fit_parameter(MLPClassifier(), "sample_weight"):  # from scikit-learn 1.7
    register("copies_mlp", ReplicationClassifier(MLPClassifier((3,), max_iter=30, random_state=0)))
register("copies_forced", ReplicationClassifier(STUMP, reject_cost=None), "three")

by_posteriors = ThresholdRejectClassifier
register("logistic", by_posteriors(LOGISTIC))
register("logistic_words", by_posteriors(LOGISTIC, reject_label="ask"), "words")
register("logistic_sparse", by_posteriors(LOGISTIC), "three", "sparse")
register("logistic_prices", by_posteriors(LOGISTIC, cost_of="error=50,review=5"), "three")
register("logistic_forced", by_posteriors(LOGISTIC, reject_cost=None))
register("logistic_matrix", by_posteriors(LOGISTIC, cost_of=[[0, 5, 0.5], [3, 0, 0.5]]))
register("score", by_posteriors(STRAIGHT, rule="score"))
register("score_svc", by_posteriors(SVC(), rule="score", cv=2))
register("class_rule", by_posteriors(LOGISTIC, rule="class", cv=2), "three")
for method in ("sigmoid", "isotonic", "temperature"):
    register(f"straight_{method}", by_posteriors(STRAIGHT, calibration=method, cv=2))
    three = by_posteriors(STRAIGHT, calibration=method, cv=2)
    register(f"straight_{method}_three", three, "three")
register("rejo_svc_sigmoid", by_posteriors(RejoSVC(), calibration="sigmoid", cv=2), "three")
for kernel in ("linear", "poly", "rbf", "sigmoid"):
    register(f"sklearn_svc_{kernel}", by_posteriors(SVC(kernel=kernel, coef0=0.1), cv=2))
register("sklearn_svc_three", by_posteriors(SVC(decision_function_shape="ovr"), cv=2), "three")
register("sklearn_svc_pairs", by_posteriors(SVC(break_ties=True), cv=2), "words")
register("sklearn_svc_sparse", by_posteriors(SVC(), cv=2), "three", "sparse")
register("tree", by_posteriors(STUMP))
register("tree_three", by_posteriors(STUMP), "words")
register("tree_sparse", by_posteriors(STUMP), "two", "sparse")
register("forest", by_posteriors(FOREST))
register("extra", by_posteriors(ExtraTreesClassifier(3, max_depth=3, random_state=0)))
register("pieces", by_posteriors(make_pipeline(Pieces(3), LOGISTIC)))
register("forest_three", by_posteriors(FOREST), "three")
register("boosting", by_posteriors(BOOSTING))
register("boosting_three", by_posteriors(BOOSTING), "words")
stopped = HistGradientBoostingClassifier(max_iter=5, early_stopping=True, random_state=0)
register("boosting_stopped", by_posteriors(stopped))
network = MLPClassifier((4, 3), max_iter=20, random_state=0)
register("network", by_posteriors(network))
register("network_three", by_posteriors(MLPClassifier((3,), "tanh", max_iter=20)), "words")
lbfgs = MLPClassifier((3,), "logistic", solver="lbfgs", max_iter=30, random_state=0)
register("network_lbfgs", by_posteriors(lbfgs), "three", "sparse")
sgd = MLPClassifier((3,), "identity", solver="sgd", max_iter=20, random_state=0)
register("network_sgd", by_posteriors(sgd))
for method in ("sigmoid", "isotonic"):
    calibrated = CalibratedClassifierCV(STRAIGHT, method=method, cv=2)
    register(f"calibrated_{method}", by_posteriors(calibrated))
    calibrated = CalibratedClassifierCV(SVC(), method=method, cv=2, ensemble=False)
    register(f"calibrated_{method}_three", by_posteriors(calibrated), "three")
calibrated = by_posteriors(LOGISTIC, calibration="isotonic", cv=2)
register("logistic_calibrated", calibrated, "words")
register("pair", FrankHallReject(LOGISTIC))
register("pair_tree", FrankHallReject(STUMP))
register("frank_hall", FrankHallReject(LOGISTIC), "three")
register("frank_hall_one", FrankHallReject(SVC(), per_split=1, cv=2, class_order=ORDER), "words")


@animal
def frozen() -> tuple[Any, Any]:
    found = data()
    inner = FrozenEstimator(LogisticRegression().fit(found.X, found.two))
    return by_posteriors(inner).fit(found.X, found.two), found.X


@animal
def frozen_calibrated() -> tuple[Any, Any]:
    found = data()
    inner = CalibratedClassifierCV(FrozenEstimator(SVC().fit(found.X, found.three)))
    return by_posteriors(inner).fit(found.X, found.three), found.X


MEMBERS = [("logistic", LOGISTIC), ("forest", FOREST), ("boosting", BOOSTING)]
register("blend", by_posteriors(BlendClassifier(MEMBERS, cv=2)))
register(
    "blend_given",
    by_posteriors(BlendClassifier(MEMBERS[:2], weights=[1, 2], temperature=0.8)),
    "words",
)
own = [
    ("linear", RejoLinear(reject_cost=None)),
    ("mlp", RejoMLP((3,), reject_cost=None, random_state=0)),
]
register("blend_own", by_posteriors(BlendClassifier(own, weights="equal", cv=2)), "three")
kernels = make_pipeline(Nystroem(n_components=10, random_state=0), LogisticRegression())
register("blend_one", by_posteriors(BlendClassifier([("kernel", kernels)], cv=2)), "three")

# ---- pipelines -------------------------------------------------------------------------------

STEPS = (
    StandardScaler(),
    Nystroem(n_components=10, random_state=0),
    Nystroem("poly", degree=2, coef0=1, gamma=0.5, n_components=10, random_state=0),
    SimpleImputer(strategy="median"),
)
for i, step in enumerate(STEPS):
    last = RejoLinear() if i % 2 else by_posteriors(LogisticRegression())
    stepped = make_pipeline(step, SimpleImputer(), last)
    register(f"step_{i}_{type(step).__name__.lower()}", stepped)
centred = make_pipeline(StandardScaler(with_mean=False), RejoSVC())
register("standard_sparse", centred, "two", "sparse")
register("table_posteriors", make_pipeline(TableEncoder(), by_posteriors(FOREST)), "words", "frame")
inside = by_posteriors(make_pipeline(StandardScaler(), SVC()), cv=2)
register("pipeline_inside", inside, "three")
nested = Pipeline([("a", make_pipeline(StandardScaler(), SimpleImputer())), ("b", RejoLinear())])
register("pipeline_nested", nested)


# ---- chosen for a target ---------------------------------------------------------------------

COSTS = [0.1, 0.3]
CHOSEN = {
    "chosen_budget": RejectClassifierCV(RejoLinear(), review_budget=0.3, reject_costs=COSTS, cv=2),
    "chosen_count": RejectClassifierCV(
        by_posteriors(LOGISTIC), review_budget=20, per=100, cv=StratifiedKFold(2, shuffle=True)
    ),
    "chosen_error": RejectClassifierCV(by_posteriors(FOREST), max_error=0.2, cv=2),
    "chosen_overall": RejectClassifierCV(
        RejoSVC(), max_error=0.3, error="overall", reject_costs=COSTS, cv=2
    ),
    "chosen_cost": RejectClassifierCV(by_posteriors(LOGISTIC), reject_cost=0.3, cv=2),
    "chosen_prices": RejectClassifierCV(by_posteriors(LOGISTIC), cost_of="error=50,review=5", cv=2),
    "chosen_budget_and_prices": RejectClassifierCV(
        by_posteriors(LOGISTIC), cost_of="error=50,review=5", review_budget=0.2, cv=2
    ),
    "chosen_grid": RejectClassifierCV(
        RejoLinear(), reject_cost=0.2, param_grid={"C": [0.1, 1.0]}, cv=2
    ),
    "chosen_sure": RejectClassifierCV(
        RejoLinear(),
        review_budget=0.9,
        confidence=0.8,
        reject_costs=[0.3, 0.5],
        cv=2,
        random_state=0,
    ),
}
for name, model in CHOSEN.items():
    register(name, model)
register("chosen_three", CHOSEN["chosen_cost"], "words")
train = Pipeline([("prepare", TableEncoder()), ("model", by_posteriors(BOOSTING))])
register("chosen_table", RejectClassifierCV(train, review_budget=0.2, cv=2), "words", "frame")
by_case = RejectClassifierCV(train, cost_of="error=10*when+12,review=3", cv=2)
register("chosen_prices_by_case", by_case, "words", "plain")
GRID = {"C": [0.1, 1]}
register("svc_cv", RejectClassifierCV(RejoSVC(), reject_cost=0.1, param_grid=GRID, cv=2))
register("svc_cv_three", RejectClassifierCV(RejoSVC(), reject_cost=0.4, cv=2), "three")
register("cut", CutRanking(estimator=RejoSVC(), limit=0.4, widen=True))
register("cut_less", CutRanking(estimator=RejoLinear(), limit=0.1, widen=False), "three")


@animal
def chosen_by_group() -> tuple[Any, Any]:
    """Promises for groups, which a file keeps with their names."""
    found = data()
    model = RejectClassifierCV(
        by_posteriors(LOGISTIC), max_error_by_group=0.7, confidence=0.5, cv=2, random_state=0
    )
    group = np.where(np.arange(len(found.two)) % 2, "east", "west")
    return model.fit(found.X, found.two, group=group), found.X


def _split_by(cv: Any) -> None:
    def build() -> tuple[Any, Any]:
        found, model = data(), RejectClassifierCV(by_posteriors(LOGISTIC), reject_cost=0.3, cv=cv)
        groups = np.arange(N) // 4 if "Group" in type(cv).__name__ else None
        return model.fit(found.X, found.two, groups=groups), found.X

    build.__name__ = f"chosen_by_{type(cv).__name__.lower()}"
    animal(build)


for cv in (KFold(2, shuffle=True), StratifiedKFold(2), GroupKFold(2), StratifiedGroupKFold(2)):
    _split_by(cv)


@cache
def fitted(name: str) -> Animal:
    """Fit one model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are enough here
        np.random.seed(0)
        model, X = ANIMALS[name]()
    return Animal(model, X[:SHOWN])


def zoo() -> dict[str, Animal]:
    """Fit all models."""
    return {name: fitted(name) for name in ANIMALS}
