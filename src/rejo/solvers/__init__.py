"""Solvers: arrays of floats in, a named tuple of arrays out.

They know nothing of labels, estimators or validation.  ``svm`` chooses the
engine; ``reference`` is the same algorithm in plain NumPy, to read first.
"""

from rejo.solvers import embedded, extensions, linear, mlp, reference, surrogate, svm
from rejo.solvers.boosted_trees import BoostedTrees, Walker, from_xgboost, ready
from rejo.solvers.boosting import (
    ScoreTable,
    best_thresholds,
    first_thresholds,
    newton_step,
    score_table,
    slopes,
    total_loss,
)
from rejo.solvers.embedded import Costs, Embedded, SmoothedCost, factorise
from rejo.solvers.extensions import NAMES, compiled
from rejo.solvers.kernel_logistic import LogisticProblem, LogisticSolution
from rejo.solvers.mlp import (
    Data,
    Moments,
    Network,
    NetworkSolution,
    forward,
    initialise,
    rprop_together,
    unpack,
)
from rejo.solvers.reference import gram
from rejo.solvers.surrogate import Hinges
from rejo.solvers.svm import (
    FACTOR_FROM,
    Kernel,
    KernelSolution,
    Problem,
    Step,
    evaluate,
    path_order,
)

__all__ = [
    "FACTOR_FROM",
    "NAMES",
    "BoostedTrees",
    "Costs",
    "Data",
    "Embedded",
    "Hinges",
    "Kernel",
    "KernelSolution",
    "LogisticProblem",
    "LogisticSolution",
    "Moments",
    "Network",
    "NetworkSolution",
    "Problem",
    "ScoreTable",
    "SmoothedCost",
    "Step",
    "Walker",
    "best_thresholds",
    "compiled",
    "embedded",
    "evaluate",
    "extensions",
    "factorise",
    "first_thresholds",
    "forward",
    "from_xgboost",
    "gram",
    "initialise",
    "linear",
    "mlp",
    "newton_step",
    "path_order",
    "ready",
    "reference",
    "rprop_together",
    "score_table",
    "slopes",
    "surrogate",
    "svm",
    "total_loss",
    "unpack",
]
