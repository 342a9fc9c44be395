"""scikit-learn classifiers that may answer "review".

``base`` holds the contract of all classifiers that may reject, and ``boundaries`` what the
classifiers by boundaries between ordered classes share (scores -> count -> labels).  Each learner
has a module: ``linear``, ``svm``, ``kernel_logistic`` and ``mlp`` solve the replicated problem
without building the replicas; ``replication`` builds them, for any binary classifier; ``boosting``
grows trees (``growing``) on rows that come block by block.
"""

from rejo.estimators.base import RejectClassifier
from rejo.estimators.boosting import RejoBoost
from rejo.estimators.kernel_logistic import RejoKernelLogistic
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.svm import RejoSVC

__all__ = [
    "RejectClassifier",
    "RejoBoost",
    "RejoKernelLogistic",
    "RejoLinear",
    "RejoMLP",
    "RejoSVC",
    "ReplicationClassifier",
]
