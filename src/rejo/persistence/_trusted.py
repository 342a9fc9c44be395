"""Every type and function that a model file may name, one by one.

skops trusts all of scikit-learn by default and lets a caller add to it.  This list is the whole
of what may be in a file, and it is checked before skops sees the file.  A type is on it if
building it from hostile attributes, and predicting with it after the checks of ``_checks``, runs
no code from the file and touches no memory but its own.  Nothing is added at run time.
"""

from __future__ import annotations

from types import MappingProxyType


def _in(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


# Classifiers that may reject: what a file is about.
REJECTING = (
    _in("rejo.estimators.svm", "RejoSVC")
    | _in("rejo.estimators.linear", "RejoLinear")
    | _in("rejo.estimators.mlp", "RejoMLP")
    | _in("rejo.estimators.replication", "ReplicationClassifier")
    | _in("rejo.baselines.threshold", "ThresholdRejectClassifier")
    | _in("rejo.baselines.pairs", "TwoClassifierReject")
    | _in("rejo.baselines.frank_hall", "FrankHallReject")
    | _in("rejo.baselines.embedded", "EmbeddedRejectSVC")
    | _in("rejo.baselines.surrogate", "SurrogateRejectSVC")
    | _in("rejo.selection.operating", "RejectClassifierCV")
    | _in("rejo.selection.svm_cv", "RejoSVCCV")
)

# What may stand before or inside them.
ESTIMATORS = (
    REJECTING
    | _in("rejo.baselines.calibration", "GivenScores")
    | _in("rejo.tables._encoder", "TableEncoder")
    | _in("sklearn.pipeline", "Pipeline FeatureUnion")
    | _in("sklearn.compose._column_transformer", "ColumnTransformer")
    | _in("sklearn.impute._base", "SimpleImputer MissingIndicator")
    | _in(
        "sklearn.preprocessing._data",
        "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer "
        "RobustScaler StandardScaler",
    )
    | _in("sklearn.preprocessing._discretization", "KBinsDiscretizer")
    | _in("sklearn.preprocessing._encoders", "OneHotEncoder OrdinalEncoder")
    | _in("sklearn.preprocessing._function_transformer", "FunctionTransformer")
    | _in("sklearn.preprocessing._label", "LabelBinarizer LabelEncoder")
    | _in("sklearn.preprocessing._polynomial", "PolynomialFeatures")
    | _in("sklearn.decomposition._pca", "PCA")
    | _in("sklearn.decomposition._truncated_svd", "TruncatedSVD")
    | _in("sklearn.kernel_approximation", "Nystroem RBFSampler")
    | _in("sklearn.feature_selection._univariate_selection", "SelectKBest SelectPercentile")
    | _in("sklearn.feature_selection._variance_threshold", "VarianceThreshold")
    | _in("sklearn.linear_model._logistic", "LogisticRegression LogisticRegressionCV")
    | _in("sklearn.linear_model._ridge", "RidgeClassifier")
    | _in("sklearn.linear_model._stochastic_gradient", "SGDClassifier")
    | _in("sklearn.linear_model._perceptron", "Perceptron")
    | _in("sklearn.svm._classes", "LinearSVC NuSVC SVC")
    | _in("sklearn.naive_bayes", "BernoulliNB ComplementNB GaussianNB MultinomialNB")
    | _in("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis")
    | _in("sklearn.neural_network._multilayer_perceptron", "MLPClassifier")
    | _in("sklearn.tree._classes", "DecisionTreeClassifier ExtraTreeClassifier")
    | _in("sklearn.ensemble._forest", "ExtraTreesClassifier RandomForestClassifier")
    | _in(
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
        "HistGradientBoostingClassifier",
    )
    | _in("sklearn.calibration", "CalibratedClassifierCV")
    | _in("sklearn.frozen._frozen", "FrozenEstimator")
    | _in("sklearn.isotonic", "IsotonicRegression")
)

# What these keep in their attributes.
PARTS = (
    _in("rejo.selection.path", "RejectCurve")
    | _in("sklearn.calibration", "_CalibratedClassifier _SigmoidCalibration")
    | _in("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper")
    | _in("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")
    | _in("sklearn._loss.link", "Interval LogitLink MultinomialLogit")
    | _in("sklearn._loss.loss", "HalfBinomialLoss HalfMultinomialLoss")
    | _in("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer")
    | _in(
        "sklearn.model_selection._split",
        "GroupKFold KFold ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit",
    )
)

NUMBERS = _in(
    "numpy", "bool bool_ float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8"
)
KEYS = _in("builtins", "float int str") | NUMBERS - {"numpy.bool", "numpy.bool_"}

# What each of skops' loaders may be asked for; the other loaders are refused.
TRUSTED = MappingProxyType(
    {
        "JsonNode": _in("builtins", "str"),
        "DictNode": _in("builtins", "dict"),
        "ListNode": _in("builtins", "list"),
        "SetNode": _in("builtins", "set"),
        "SliceNode": _in("builtins", "slice"),
        "TupleNode": _in("builtins", "tuple")
        | _in("rejo.metrics._intervals", "Interval")
        | _in("rejo.selection.expected", "Expected")
        | _in("rejo.selection.target", "Target")
        | _in("rejo.selection.guarantee", "Guarantee")
        | _in("rejo.solvers._linear_streams", "Stream")
        | _in("rejo.solvers.mlp", "Moments"),
        "TypeNode": KEYS | NUMBERS | _in("builtins", "bool"),
        "FunctionNode": _in(
            "numpy", "absolute cbrt exp expm1 log log10 log1p log2 sign sqrt square tanh"
        )
        | _in("sklearn.feature_selection._univariate_selection", "chi2 f_classif")
        | _in("sklearn.utils.validation", "check_array"),
        "PartialNode": _in("functools", "partial"),
        "NdArrayNode": _in("numpy", "ndarray bytes_ str_") | NUMBERS,
        "DTypeNode": _in("numpy", "dtype"),
        "RandomStateNode": _in("numpy.random.mtrand", "RandomState"),
        "RandomGeneratorNode": _in("numpy.random._generator", "Generator"),
        "SparseMatrixNode": _in("scipy.sparse._csr", "csr_array csr_matrix")
        | _in("scipy.sparse._csc", "csc_array csc_matrix"),
        "ObjectNode": ESTIMATORS | PARTS,
        "TreeNode": _in("sklearn.tree._tree", "Tree"),
        "LossNode": _in("sklearn._loss._loss", "CyHalfBinomialLoss CyHalfMultinomialLoss")
        | _in("sklearn.linear_model._sgd_fast", "Hinge ModifiedHuber SquaredHinge"),
    }
)

TRUSTED_TYPES = tuple(sorted(frozenset().union(*TRUSTED.values())))
