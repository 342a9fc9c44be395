"""The rivals: other ways to a classifier that may reject, as good as their authors would make them.

Thresholds on the output of one classifier (``threshold``), and independent classifiers for the two
edges of the reject region, at each split of ordered classes (``frank_hall``).  Both share clones,
weights, folds and scores (``_wrapped``), the step from scores to posteriors (``calibration``) and
an exact search for cut-offs (``cutoffs``).  Two support vector
machines (``binary_machine``) minimise other losses: a convex surrogate of the risk
(``surrogate``), and the smoothed risk itself (``embedded``).  ``blend`` makes one posterior of
those of several classifiers, and ``pieces`` a sum of curves of a linear one.  ``cut_ranking`` moves
the cut of a learner by boundaries, and ``novelty`` adds a detector of cases unlike those of
training to any of them.

Names that are not in ``__all__`` are for other rooms of the package.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.baselines._wrapped import FEATURES, copy_fitted, with_last
from rejo.baselines.blend import (
    BlendClassifier,
    believable,
    learn_pool,
    pooled,
)
from rejo.baselines.calibration import calibrated, fit_calibrator
from rejo.baselines.cut_ranking import CutRanking
from rejo.baselines.cutoffs import best_cutoffs
from rejo.baselines.embedded import EmbeddedRejectSVC
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.novelty import NoveltyReject
from rejo.baselines.pieces import Pieces
from rejo.baselines.surrogate import SurrogateRejectSVC
from rejo.baselines.threshold import ThresholdRejectClassifier

__all__ = [
    "BlendClassifier",
    "EmbeddedRejectSVC",
    "FrankHallReject",
    "NoveltyReject",
    "SurrogateRejectSVC",
    "ThresholdRejectClassifier",
]
