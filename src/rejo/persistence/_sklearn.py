"""What scikit-learn's classes would say about themselves: one table, one row for each class.

rejo's own classes say it in their modules; see :mod:`rejo._state`.  A class is in the table if
building it from hostile attributes, and predicting with it after its check, runs no code from the
file and touches no memory but its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rejo._state import Must
from rejo.persistence import _sklearn_checks as checks
from rejo.persistence import _sklearn_onnx as onnx
from rejo.persistence import _trees_onnx as trees


class Known(NamedTuple):
    """What is known about a class that may stand in a model file."""

    name: str
    check: Callable[[Any], None] | None = None  # refuses attributes that do not agree
    fitted: Mapping[str, Must] | None = None  # what it keeps besides parameters, and how it must be
    sizes: Callable[[Any], dict[str, int]] | None = None  # lengths that ``fitted`` names
    rows: tuple[str, ...] = ()  # attributes that hold rows of the training set
    weighted: tuple[str, ...] = ()  # attributes with names, members and their weights
    onnx: Callable[[Any, Any, str], str] | None = None  # (object, graph, name of X) -> name
    posteriors: Callable[[Any, Any, str], str] | None = None  # the same, for predict_proba
    decision: Callable[[Any, Any, str], str] | None = None  # the same, for decision_function
    not_saved: tuple[str, ...] = ()  # attributes that are never written
    restore: Callable[[Any], None] | None = None  # computes what follows from the rest


def _known(module: str, names: str, *check: Any, **more: Any) -> tuple[Known, ...]:
    return tuple(Known(f"sklearn.{module}.{name}", *check, **more) for name in names.split())


VECTORS, COMPONENTS = ("support_vectors_",), ("components_",)
BOOSTING = "ensemble._hist_gradient_boosting"

ESTIMATORS = (
    *_known("pipeline", "Pipeline", checks.check_pipeline, onnx=onnx.pipeline),
    *_known("pipeline", "FeatureUnion"),
    *_known("compose._column_transformer", "ColumnTransformer", onnx=onnx.columns),
    *_known("impute._base", "SimpleImputer", onnx=onnx.impute),
    *_known("impute._base", "MissingIndicator"),
    *_known("preprocessing._data", "MaxAbsScaler RobustScaler StandardScaler", onnx=onnx.scale),
    *_known("preprocessing._data", "MinMaxScaler", onnx=onnx.min_max),
    *_known("preprocessing._data", "Binarizer Normalizer PowerTransformer QuantileTransformer"),
    *_known("preprocessing._discretization", "KBinsDiscretizer"),
    *_known("preprocessing._encoders", "OneHotEncoder", onnx=onnx.one_hot),
    *_known("preprocessing._encoders", "OrdinalEncoder"),
    *_known("preprocessing._function_transformer", "FunctionTransformer"),
    *_known("preprocessing._label", "LabelBinarizer LabelEncoder"),
    *_known("preprocessing._polynomial", "PolynomialFeatures"),
    *_known("decomposition._pca", "PCA"),
    *_known("decomposition._truncated_svd", "TruncatedSVD"),
    *_known("kernel_approximation", "Nystroem", rows=COMPONENTS, onnx=onnx.nystroem),
    *_known("kernel_approximation", "RBFSampler"),
    *_known("feature_selection._univariate_selection", "SelectKBest SelectPercentile"),
    *_known("feature_selection._variance_threshold", "VarianceThreshold"),
    *_known(
        "linear_model._logistic",
        "LogisticRegression LogisticRegressionCV",
        posteriors=onnx.logistic,
        decision=onnx.linear,
    ),
    *_known("linear_model._ridge", "RidgeClassifier", decision=onnx.linear),
    *_known("linear_model._stochastic_gradient", "SGDClassifier", decision=onnx.linear),
    *_known("linear_model._perceptron", "Perceptron", decision=onnx.linear),
    *_known("svm._classes", "LinearSVC", decision=onnx.linear),
    *_known("svm._classes", "NuSVC SVC", checks.check_libsvm, rows=VECTORS),
    *_known("naive_bayes", "BernoulliNB ComplementNB GaussianNB MultinomialNB"),
    *_known("discriminant_analysis", "LinearDiscriminantAnalysis"),
    *_known("neural_network._multilayer_perceptron", "MLPClassifier"),
    *_known(
        "tree._classes",
        "DecisionTreeClassifier ExtraTreeClassifier",
        checks.check_decision_tree,
        posteriors=trees.forest,
    ),
    *_known(
        "ensemble._forest",
        "ExtraTreesClassifier RandomForestClassifier",
        checks.check_forest,
        posteriors=trees.forest,
    ),
    *_known(
        f"{BOOSTING}.gradient_boosting",
        "HistGradientBoostingClassifier",
        checks.check_boosted,
        posteriors=trees.boosting,
        decision=trees.boosting_scores,
    ),
    *_known("calibration", "CalibratedClassifierCV", posteriors=onnx.sigmoid),
    *_known("frozen._frozen", "FrozenEstimator"),
    *_known("isotonic", "IsotonicRegression"),
)

# What these keep in their attributes.
PARTS = (
    *_known("calibration", "_CalibratedClassifier _SigmoidCalibration"),
    *_known(f"{BOOSTING}.binning", "_BinMapper"),
    *_known(f"{BOOSTING}.predictor", "TreePredictor"),
    *_known("_loss.link", "Interval LogitLink MultinomialLogit"),
    *_known("_loss.loss", "HalfBinomialLoss HalfMultinomialLoss"),
    *_known("neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
    *_known("model_selection._split", "GroupKFold KFold ShuffleSplit StratifiedGroupKFold"),
    *_known("model_selection._split", "StratifiedKFold StratifiedShuffleSplit"),
)

TREE = Known("sklearn.tree._tree.Tree", checks.check_tree)
