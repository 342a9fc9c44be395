"""Solvers: arrays of floats in, a named tuple of arrays out.

They know nothing of labels, estimators or validation.  ``svm`` chooses the engine; ``reference`` is
the same algorithm in plain NumPy, to read first.  All names here are for other rooms.
"""

# ruff: noqa: F401 (names for other rooms)

import numpy as np

from rejo.solvers import _state, extensions, linear, mlp, surrogate
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
from rejo.solvers.extensions import compiled
from rejo.solvers.kernel_logistic import LogisticProblem, LogisticSolution
from rejo.solvers.mlp import (
    Data,
    Moments,
    Network,
    NetworkSolution,
    forward,
    initialise,
    objectives,
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

__all__: list[str] = []

# glibc keeps free memory of twice the largest block that was ever returned to it.  With less, a fit
# may ask the system for the same memory each time, which takes up to a third of the fit.
np.empty(1 << 23, dtype=np.uint8)
