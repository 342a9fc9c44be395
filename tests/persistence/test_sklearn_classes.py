"""Every class of scikit-learn that may stand in a file: it comes back, and hostile state does not.

The models here are fitted, saved and loaded; then each attribute that a file keeps is replaced by
hostile values, alone and together with another.  The outcome is a refusal or a finite answer.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rejo.baselines import ThresholdRejectClassifier
from rejo.estimators import RejoLinear
from rejo.persistence import load, save

pd = pytest.importorskip("pandas")

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
WORDS = np.array(["low", "mid", "high", "top"], dtype=object)[CODES]
FRAME = pd.DataFrame({"size": GAPS[:, 0], "grade": WORDS[:, 1], "sex": WORDS[:, 2], "age": X[:, 2]})

CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "linear svc": LinearSVC(),
    "linear svc without intercept": LinearSVC(fit_intercept=False),
    "svc": SVC(),
    "svc linear": SVC(kernel="linear", class_weight="balanced"),
    "svc poly": SVC(kernel="poly", degree=2, coef0=1.0),
    "svc sigmoid": SVC(kernel="sigmoid", gamma=0.1),
    "svc ovo": SVC(decision_function_shape="ovo"),
    "network": MLPClassifier((4, 3), solver="lbfgs", random_state=0, max_iter=1000),
    "network adam": MLPClassifier((3,), random_state=0, max_iter=2, early_stopping=True),
    "tree": DecisionTreeClassifier(max_depth=3),
    "extra tree": ExtraTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(3, max_depth=3, oob_score=False, random_state=0),
    "extra forest": ExtraTreesClassifier(3, max_depth=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=3, early_stopping=True),
    "bayes": GaussianNB(),
    "sigmoid": CalibratedClassifierCV(LinearSVC(), cv=StratifiedKFold(2)),
    "isotonic": CalibratedClassifierCV(RandomForestClassifier(3), method="isotonic", cv=2),
    "frozen": CalibratedClassifierCV(FrozenEstimator(GaussianNB())),
    "pipeline": make_pipeline(StandardScaler(), "passthrough", LogisticRegression()),
}
STEPS = {
    "standard": (StandardScaler(), X),
    "standard single": (StandardScaler(), X.astype(np.float32)),
    "standard nothing": (StandardScaler(with_mean=False, with_std=False), X),
    "standard sparse": (StandardScaler(with_mean=False), SPARSE),
    "min max": (MinMaxScaler((0.0, 2.0), clip=True), X),
    "min max single": (MinMaxScaler(), X.astype(np.float32)),
    "max abs": (MaxAbsScaler(), X),
    "robust": (RobustScaler(), X),
    "imputer": (SimpleImputer(strategy="median"), GAPS),
    "imputer most frequent": (SimpleImputer(strategy="most_frequent", missing_values=1), CODES),
    "imputer constant": (SimpleImputer(strategy="constant", fill_value=-1), GAPS),
    "one hot": (OneHotEncoder(), CODES),
    "one hot words": (OneHotEncoder(drop="if_binary", sparse_output=False), WORDS),
    "one hot strings": (OneHotEncoder(handle_unknown="ignore"), WORDS.astype(str)),
    "one hot rare": (
        OneHotEncoder(min_frequency=20, drop="first", handle_unknown="infrequent_if_exist"),
        WORDS,
    ),
    "one hot gaps": (OneHotEncoder(), np.where(CODES == 3, np.nan, CODES)),
    "one hot most": (OneHotEncoder(max_categories=2), CODES),
    "ordinal": (OrdinalEncoder(), WORDS),
    "ordinal given": (OrdinalEncoder(categories=[["top", "low", "mid", "high"]] * 3), WORDS),
    "ordinal unknown": (
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
            min_frequency=20,
        ),
        np.where(CODES == 3, np.nan, CODES),
    ),
    "polynomial": (PolynomialFeatures(), X),
    "polynomial sparse": (PolynomialFeatures((2, 3), include_bias=False), SPARSE),
    "polynomial interactions": (PolynomialFeatures(3, interaction_only=True), X),
    "nystroem": (Nystroem(n_components=8, random_state=0), X),
    "nystroem poly": (Nystroem("poly", degree=2, coef0=1, n_components=8, random_state=0), X),
    "nystroem sparse": (Nystroem(n_components=8, random_state=0), SPARSE),
    "nystroem codes": (Nystroem(n_components=8, random_state=0), CODES),
    "columns": (
        ColumnTransformer(
            [
                ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
                ("c", OneHotEncoder(), ["grade", "sex"]),
            ],
            remainder="passthrough",
        ),
        FRAME,
    ),
    "columns by number": (
        ColumnTransformer(
            [
                ("a", StandardScaler(), [0]),
                ("b", MinMaxScaler(), slice(1, 2)),
                ("c", "drop", [-1]),
                ("d", "passthrough", [2]),
            ],
            transformer_weights={"b": 2.0},
        ),
        X,
    ),
    "columns by mask": (
        ColumnTransformer([("a", RobustScaler(), [True, False, True])], remainder=MaxAbsScaler()),
        X,
    ),
    "columns as a frame": (
        ColumnTransformer(
            [("n", StandardScaler(), ["age"]), ("o", OrdinalEncoder(), slice("grade", "sex"))]
        ).set_output(transform="pandas"),
        FRAME,
    ),
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
        inner.estimator = FrozenEstimator(GaussianNB().fit(X, y))
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
    return {name: dense(getattr(part, name)(data)) for name in methods if hasattr(part, name)}


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


@pytest.mark.parametrize("name", ["svc 2", "forest 3", "boosting 2", "columns", "one hot rare"])
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_what_came_back_can_be_fitted_again(name, path):
    model, data, _ = fitted(name)
    save(model, path)
    loaded = load(path)
    y = Y3 if name.endswith("3") else Y2
    again = clone(loaded).fit(data, y)
    np.testing.assert_array_equal(again.predict(data), clone(model).fit(data, y).predict(data))
    prototype = loaded.estimator if name not in STEPS else loaded[0]
    prototype.fit(data, y)  # a prototype is whole, too
