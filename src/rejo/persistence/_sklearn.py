"""What scikit-learn's classes would say about themselves: one table, one row for each class.

rejo's own classes say it in their modules; see :mod:`rejo._state`.  The table holds what ``rejo
train`` and the pipelines of the documentation need.  A class is in it if building it from hostile
attributes, and predicting with it after its check, runs no code from the file and touches no memory
but its own.  The checks, in ``_sklearn_steps``, ``_sklearn_models`` and ``_sklearn_trees``, say how
compiled code uses the attributes.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from rejo._state import Must
from rejo.persistence import _sklearn_models as models
from rejo.persistence import _sklearn_steps as steps
from rejo.persistence import _sklearn_trees as trees
from rejo.persistence._sklearn_steps import one_or_each


class Known(NamedTuple):
    """What is known about a class that may stand in a model file."""

    name: str
    # What it keeps besides parameters, and how it must be; None: it has no attributes.
    fitted: Mapping[str, Must] | None = None
    check: Callable[[Any], None] | None = None  # refuses attributes that do not agree
    restore: Callable[[Any], None] | None = None  # computes what follows from the rest
    sizes: Callable[[Any], dict[str, int]] | None = None  # lengths that ``fitted`` names
    rows: tuple[str, ...] = ()  # attributes that hold rows of the training set
    weighted: tuple[str, ...] = ()  # attributes with names, members and their weights


BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
SPLITS = "sklearn.model_selection._split"
FOLDS = ("KFold", "GroupKFold", "StratifiedKFold", "StratifiedGroupKFold")

# fmt: off
ESTIMATORS = (
    Known("sklearn.pipeline.Pipeline", {}, steps.check_pipeline),
    Known("sklearn.frozen._frozen.FrozenEstimator", {}, steps.check_frozen),
    Known("sklearn.impute._base.SimpleImputer", steps.IMPUTER, steps.check_imputer,
          steps.restore_imputer),
    Known("sklearn.preprocessing._data.StandardScaler", steps.STANDARD, steps.check_scaler),
    Known("sklearn.kernel_approximation.Nystroem", steps.NYSTROEM, steps.check_nystroem,
          steps.restore_nystroem, rows=("components_",)),
    Known("sklearn.linear_model._logistic.LogisticRegression", models.LINEAR, sizes=one_or_each),
    Known("sklearn.svm._classes.SVC", models.SVC, models.check_svc, models.restore_svc,
          models.svc_sizes, rows=("support_vectors_",)),
    Known("sklearn.neural_network._multilayer_perceptron.MLPClassifier", models.NETWORK,
          models.check_network, models.restore_network),
    Known("sklearn.tree._classes.DecisionTreeClassifier", trees.TREE, trees.check_decision_tree,
          trees.restore_decision_tree),
    Known("sklearn.tree._classes.ExtraTreeClassifier", trees.TREE, trees.check_decision_tree,
          trees.restore_decision_tree),
    Known("sklearn.ensemble._forest.RandomForestClassifier", trees.FOREST, trees.check_forest,
          trees.restore_forest),
    Known("sklearn.ensemble._forest.ExtraTreesClassifier", trees.FOREST, trees.check_forest,
          trees.restore_forest),
    Known(f"{BOOSTING}.gradient_boosting.HistGradientBoostingClassifier", trees.BOOSTING,
          trees.check_boosting, trees.restore_boosting, one_or_each),
    Known("sklearn.calibration.CalibratedClassifierCV", models.CALIBRATED,
          models.check_calibrated),
    Known("sklearn.isotonic.IsotonicRegression", models.ISOTONIC, models.check_isotonic,
          models.restore_isotonic),
)

# What these keep in their attributes.
TREE = Known("sklearn.tree._tree.Tree", check=trees.check_tree)
PARTS = (
    TREE,
    Known("sklearn.calibration._CalibratedClassifier", models.MEMBER, models.check_member),
    Known("sklearn.calibration._SigmoidCalibration", models.SIGMOID),
    Known(f"{BOOSTING}.predictor.TreePredictor", trees.PREDICTOR, trees.check_predictor,
          trees.restore_predictor),
    *(Known(f"{SPLITS}.{name}", steps.FOLDS) for name in FOLDS),
)
# fmt: on

# Fitted or not, these have no attributes of their own but their parameters.
STATELESS = (Pipeline, FrozenEstimator)
