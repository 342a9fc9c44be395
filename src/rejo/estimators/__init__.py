"""scikit-learn classifiers that may answer "review".

``base`` holds the contract of all classifiers that may reject, ``reviews`` what they make of cases,
and ``boundaries`` what the classifiers by boundaries between ordered classes share (scores -> count
-> labels).  Each learner has a module: ``linear``, ``svm``, ``kernel_logistic`` and ``mlp`` solve
the replicated problem without building the replicas; ``replication`` builds them, for any binary
classifier; ``boosting`` grows trees (``growing``) on rows that come block by block.  What a model
file holds of a class stands at the end of its module.

Names that are not in ``__all__`` are for other rooms of the package.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.estimators.base import LEAST_PROBABILITY, RejectClassifier, check_reject_cost
from rejo.estimators.boosting import RejoBoost
from rejo.estimators.boundaries import (
    BoundaryClassifier,
    PathMixin,
    judge_scores,
    loss_as_fitted,
    middle_scores,
)
from rejo.estimators.classes import (
    Targets,
    check_sample_weight,
    check_targets,
    choose_reject_label,
    class_factors,
    class_indices,
    encode_classes,
    is_ordered,
    label_column,
    labels_like,
)
from rejo.estimators.growing import Block, Grower, Grown, Growth, Plan, grown_from, import_xgboost
from rejo.estimators.inner import (
    WrapsClassifier,
    check_answering,
    check_classifier,
    check_member,
    check_no_class_weight,
    check_table,
    inner_scores,
    is_frame,
    library_of,
    set_random_states,
)
from rejo.estimators.kernel_logistic import RejoKernelLogistic
from rejo.estimators.kernel_machine import (
    SUPPORT_STATE,
    KernelMachine,
    Training,
    check_no_overflow,
    check_support,
)
from rejo.estimators.linear import RejoLinear
from rejo.estimators.matrices import CATEGORIES, Categories, encoded, in_single_precision
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.parameters import MOST_RUNS, FiniteInterval, ReviewPrice
from rejo.estimators.pipelines import (
    check_not_frozen,
    cost_parameter,
    decisions_of,
    final_classifier,
    final_step,
    fit_weighted,
    forced_of,
    is_frozen,
    judge,
    queue,
    reject_label_of,
    review,
    routed_weights,
)
from rejo.estimators.posteriors import boundary_posteriors, judge_posteriors, mean_price
from rejo.estimators.priced import PricedClassifier
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.reviews import (
    AMBIGUOUS,
    NO_PRICE,
    NOVEL,
    POLICY,
    REASONS,
    Judgement,
    UnknownScoreError,
    decided,
    must_review,
)
from rejo.estimators.svm import RejoSVC
from rejo.estimators.svm_folds import SVMGrid, score_folds

__all__ = [
    "RejectClassifier",
    "RejoBoost",
    "RejoKernelLogistic",
    "RejoLinear",
    "RejoMLP",
    "RejoSVC",
    "ReplicationClassifier",
    "judge",
    "queue",
    "review",
]
