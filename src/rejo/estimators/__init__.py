"""scikit-learn classifiers that may answer "review".

``base`` holds the contract of all classifiers that may reject, ``boundaries`` what those by
boundaries between ordered classes share (scores -> count -> labels); a module for each learner
holds what differs.
"""

from rejo.estimators.base import RejectClassifier
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.svm import RejoSVC

__all__ = ["RejectClassifier", "RejoLinear", "RejoMLP", "RejoSVC", "ReplicationClassifier"]
