"""What scikit-learn's classes would say about themselves: one table, one row for each class.

rejo's own classes say it in their modules; see :mod:`rejo._state`.  The table holds what ``rejo
train`` and the pipelines of the documentation need.  A class is in it if building it from hostile
attributes, and predicting with it after its check, runs no code from the file and touches no memory
but its own.  The checks, in ``_sklearn_pipelines``, ``_sklearn_steps``, ``_sklearn_models`` and
``_sklearn_trees``, say how compiled code uses the attributes.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from rejo._state import Must
from rejo.persistence import _sklearn_models as models
from rejo.persistence import _sklearn_onnx as onnx
from rejo.persistence import _sklearn_pipelines as pipelines
from rejo.persistence import _sklearn_steps as steps
from rejo.persistence import _sklearn_trees as trees
from rejo.persistence import _trees_onnx as trees_onnx
from rejo.persistence._sklearn_state import one_or_each


class Known(NamedTuple):
    """What is known about a class that may stand in a model file."""

    name: str
    check: Callable[[Any], None] | None = None  # refuses attributes that do not agree
    # What it keeps besides parameters, and how it must be; None: it has no attributes.
    fitted: Mapping[str, Must] | None = None
    sizes: Callable[[Any], dict[str, int]] | None = None  # lengths that ``fitted`` names
    rows: tuple[str, ...] = ()  # attributes that hold rows of the training set
    weighted: tuple[str, ...] = ()  # attributes with names, members and their weights
    onnx: Callable[[Any, Any, str], str] | None = None  # (object, graph, name of X) -> name
    posteriors: Callable[[Any, Any, str], str] | None = None  # the same, for predict_proba
    decision: Callable[[Any, Any, str], str] | None = None  # the same, for decision_function
    restore: Callable[[Any], None] | None = None  # computes what follows from the rest


def _known(
    names: str, fitted: Mapping[str, Must], check: Any = None, **more: Any
) -> tuple[Known, ...]:
    return tuple(Known(f"sklearn.{name}", check, fitted, **more) for name in names.split())


BOOSTING = "ensemble._hist_gradient_boosting"
TREES = "tree._classes.DecisionTreeClassifier tree._classes.ExtraTreeClassifier"
FORESTS = "ensemble._forest.ExtraTreesClassifier ensemble._forest.RandomForestClassifier"
SPLITS = "model_selection._split."
FOLDS = f"{SPLITS}KFold {SPLITS}GroupKFold {SPLITS}StratifiedKFold {SPLITS}StratifiedGroupKFold"

# fmt: off
ESTIMATORS = (
    *_known("pipeline.Pipeline", {}, pipelines.check_pipeline, onnx=onnx.pipeline),
    *_known("frozen._frozen.FrozenEstimator", {}, pipelines.check_frozen),
    *_known("compose._column_transformer.ColumnTransformer", pipelines.COLUMNS,
            pipelines.check_columns, restore=pipelines.restore_columns, onnx=onnx.columns),
    *_known("impute._base.SimpleImputer", steps.IMPUTER, steps.check_imputer,
            restore=steps.restore_imputer, onnx=onnx.impute),
    *_known("preprocessing._data.StandardScaler", steps.STANDARD, steps.check_scaler,
            onnx=onnx.scale),
    *_known("preprocessing._data.RobustScaler", steps.ROBUST, steps.check_scaler, onnx=onnx.scale),
    *_known("preprocessing._data.MaxAbsScaler", steps.MAX_ABS, onnx=onnx.scale),
    *_known("preprocessing._data.MinMaxScaler", steps.MIN_MAX, steps.check_min_max,
            onnx=onnx.min_max),
    *_known("preprocessing._encoders.OneHotEncoder", steps.ENCODER, steps.check_encoder,
            restore=steps.restore_encoder, onnx=onnx.one_hot),
    *_known("preprocessing._encoders.OrdinalEncoder", steps.ENCODER, steps.check_encoder,
            restore=steps.restore_encoder),
    *_known("preprocessing._polynomial.PolynomialFeatures", steps.POLYNOMIAL,
            steps.check_polynomial, restore=steps.restore_polynomial),
    *_known("preprocessing._function_transformer.FunctionTransformer", pipelines.PASS,
            pipelines.check_pass),
    *_known("kernel_approximation.Nystroem", steps.NYSTROEM, steps.check_nystroem,
            restore=steps.restore_nystroem, rows=("components_",), onnx=onnx.nystroem),
    *_known("linear_model._logistic.LogisticRegression", models.LINEAR, sizes=one_or_each,
            posteriors=onnx.logistic, decision=onnx.linear),
    *_known("svm._classes.LinearSVC", models.LINEAR, sizes=one_or_each, decision=onnx.linear),
    *_known("naive_bayes.GaussianNB", models.BAYES),
    *_known("svm._classes.SVC", models.SVC, models.check_svc, sizes=models.svc_sizes,
            restore=models.restore_svc, rows=("support_vectors_",)),
    *_known("neural_network._multilayer_perceptron.MLPClassifier", models.NETWORK,
            models.check_network, restore=models.restore_network),
    *_known(TREES, trees.TREE, trees.check_decision_tree, restore=trees.restore_decision_tree,
            posteriors=trees_onnx.forest),
    *_known(FORESTS, trees.FOREST, trees.check_forest, restore=trees.restore_forest,
            posteriors=trees_onnx.forest),
    *_known(f"{BOOSTING}.gradient_boosting.HistGradientBoostingClassifier", trees.BOOSTING,
            trees.check_boosting, sizes=one_or_each, restore=trees.restore_boosting,
            posteriors=trees_onnx.boosting, decision=trees_onnx.boosting_scores),
    *_known("calibration.CalibratedClassifierCV", models.CALIBRATED, models.check_calibrated,
            posteriors=onnx.sigmoid),
    *_known("isotonic.IsotonicRegression", models.ISOTONIC, models.check_isotonic,
            restore=models.restore_isotonic),
)

# What these keep in their attributes.
PARTS = (
    *_known("calibration._CalibratedClassifier", models.MEMBER, models.check_member),
    *_known("calibration._SigmoidCalibration", models.SIGMOID),
    *_known("calibration._TemperatureScaling", models.TEMPERATURE),
    *_known(f"{BOOSTING}.predictor.TreePredictor", trees.PREDICTOR, trees.check_predictor,
            restore=trees.restore_predictor),
    *_known(FOLDS, pipelines.FOLDS),
    *_known(f"{SPLITS}ShuffleSplit {SPLITS}StratifiedShuffleSplit", pipelines.SHUFFLES),
)
# fmt: on

# Fitted or not, these have no attributes of their own but their parameters.
STATELESS = (Pipeline, FrozenEstimator, FunctionTransformer)

TREE = Known("sklearn.tree._tree.Tree", trees.check_tree)
