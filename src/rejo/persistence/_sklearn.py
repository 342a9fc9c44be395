"""What scikit-learn's classes would say about themselves: one table, one row for each class.

rejo's own classes say it in their modules; see :mod:`rejo._state`.  A class is in the table if
building it from hostile attributes, and predicting with it after its check, runs no code from the
file and touches no memory but its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rejo.persistence import _sklearn_checks as checks
from rejo.persistence import _sklearn_onnx as onnx


class Known(NamedTuple):
    """What is known about a class that may stand in a model file."""

    name: str
    check: Callable[[Any], None] | None = None  # refuses attributes that do not agree
    rows: tuple[str, ...] = ()  # attributes that hold rows of the training set
    onnx: Callable[[Any, Any, str], str] | None = None  # (object, graph, name of X) -> name
    not_saved: tuple[str, ...] = ()  # attributes that are never written


VECTORS, COMPONENTS = ("support_vectors_",), ("components_",)
BOOSTING = "sklearn.ensemble._hist_gradient_boosting"

ESTIMATORS = (
    Known("sklearn.pipeline.Pipeline", checks.check_pipeline, onnx=onnx.pipeline),
    Known("sklearn.pipeline.FeatureUnion"),
    Known("sklearn.compose._column_transformer.ColumnTransformer", onnx=onnx.columns),
    Known("sklearn.impute._base.SimpleImputer", onnx=onnx.impute),
    Known("sklearn.impute._base.MissingIndicator"),
    Known("sklearn.preprocessing._data.Binarizer"),
    Known("sklearn.preprocessing._data.MaxAbsScaler", onnx=onnx.scale),
    Known("sklearn.preprocessing._data.MinMaxScaler", onnx=onnx.min_max),
    Known("sklearn.preprocessing._data.Normalizer"),
    Known("sklearn.preprocessing._data.PowerTransformer"),
    Known("sklearn.preprocessing._data.QuantileTransformer"),
    Known("sklearn.preprocessing._data.RobustScaler", onnx=onnx.scale),
    Known("sklearn.preprocessing._data.StandardScaler", onnx=onnx.scale),
    Known("sklearn.preprocessing._discretization.KBinsDiscretizer"),
    Known("sklearn.preprocessing._encoders.OneHotEncoder", onnx=onnx.one_hot),
    Known("sklearn.preprocessing._encoders.OrdinalEncoder"),
    Known("sklearn.preprocessing._function_transformer.FunctionTransformer"),
    Known("sklearn.preprocessing._label.LabelBinarizer"),
    Known("sklearn.preprocessing._label.LabelEncoder"),
    Known("sklearn.preprocessing._polynomial.PolynomialFeatures"),
    Known("sklearn.decomposition._pca.PCA"),
    Known("sklearn.decomposition._truncated_svd.TruncatedSVD"),
    Known("sklearn.kernel_approximation.Nystroem", rows=COMPONENTS),
    Known("sklearn.kernel_approximation.RBFSampler"),
    Known("sklearn.feature_selection._univariate_selection.SelectKBest"),
    Known("sklearn.feature_selection._univariate_selection.SelectPercentile"),
    Known("sklearn.feature_selection._variance_threshold.VarianceThreshold"),
    Known("sklearn.linear_model._logistic.LogisticRegression"),
    Known("sklearn.linear_model._logistic.LogisticRegressionCV"),
    Known("sklearn.linear_model._ridge.RidgeClassifier"),
    Known("sklearn.linear_model._stochastic_gradient.SGDClassifier"),
    Known("sklearn.linear_model._perceptron.Perceptron"),
    Known("sklearn.svm._classes.LinearSVC"),
    Known("sklearn.svm._classes.NuSVC", checks.check_libsvm, VECTORS),
    Known("sklearn.svm._classes.SVC", checks.check_libsvm, VECTORS),
    Known("sklearn.naive_bayes.BernoulliNB"),
    Known("sklearn.naive_bayes.ComplementNB"),
    Known("sklearn.naive_bayes.GaussianNB"),
    Known("sklearn.naive_bayes.MultinomialNB"),
    Known("sklearn.discriminant_analysis.LinearDiscriminantAnalysis"),
    Known("sklearn.neural_network._multilayer_perceptron.MLPClassifier"),
    Known("sklearn.tree._classes.DecisionTreeClassifier", checks.check_decision_tree),
    Known("sklearn.tree._classes.ExtraTreeClassifier", checks.check_decision_tree),
    Known("sklearn.ensemble._forest.ExtraTreesClassifier", checks.check_forest),
    Known("sklearn.ensemble._forest.RandomForestClassifier", checks.check_forest),
    Known(
        f"{BOOSTING}.gradient_boosting.HistGradientBoostingClassifier",
        checks.check_boosted,
    ),
    Known("sklearn.calibration.CalibratedClassifierCV"),
    Known("sklearn.frozen._frozen.FrozenEstimator"),
    Known("sklearn.isotonic.IsotonicRegression"),
)

# What these keep in their attributes.
PARTS = (
    Known("sklearn.calibration._CalibratedClassifier"),
    Known("sklearn.calibration._SigmoidCalibration"),
    Known(f"{BOOSTING}.binning._BinMapper"),
    Known(f"{BOOSTING}.predictor.TreePredictor"),
    Known("sklearn._loss.link.Interval"),
    Known("sklearn._loss.link.LogitLink"),
    Known("sklearn._loss.link.MultinomialLogit"),
    Known("sklearn._loss.loss.HalfBinomialLoss"),
    Known("sklearn._loss.loss.HalfMultinomialLoss"),
    Known("sklearn.neural_network._stochastic_optimizers.AdamOptimizer"),
    Known("sklearn.neural_network._stochastic_optimizers.SGDOptimizer"),
    Known("sklearn.model_selection._split.GroupKFold"),
    Known("sklearn.model_selection._split.KFold"),
    Known("sklearn.model_selection._split.ShuffleSplit"),
    Known("sklearn.model_selection._split.StratifiedGroupKFold"),
    Known("sklearn.model_selection._split.StratifiedKFold"),
    Known("sklearn.model_selection._split.StratifiedShuffleSplit"),
)

TREE = Known("sklearn.tree._tree.Tree", checks.check_tree)
