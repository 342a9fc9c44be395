"""The rivals: other ways to a classifier that may reject, as good as their authors would make them.

Thresholds on the output of one classifier (``threshold``); two independent classifiers for the
two edges of the reject region (``pairs``), and two for each split of ordered classes
(``frank_hall``).  The last two train a separate classifier for each boundary (``_independent``).
All three share clones, weights, folds and scores (``_wrapped``), the step from scores to
posteriors (``calibration``) and an exact search for cut-offs (``cutoffs``).  Two support vector
machines (``binary_machine``) minimise other losses: a convex surrogate of the risk
(``surrogate``), and the smoothed risk itself (``embedded``).  ``blend`` averages the posteriors of
several classifiers.  ``novelty`` adds a detector of cases unlike those of training to any of them.
``bag_embedding`` turns bags of instances (``bags``) into rows for any of them.
"""

from rejo.baselines.bag_embedding import BagEmbedding
from rejo.baselines.blend import BlendClassifier
from rejo.baselines.embedded import EmbeddedRejectSVC
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.novelty import NoveltyReject
from rejo.baselines.pairs import TwoClassifierReject
from rejo.baselines.surrogate import SurrogateRejectSVC
from rejo.baselines.threshold import ThresholdRejectClassifier

__all__ = [
    "BagEmbedding",
    "BlendClassifier",
    "EmbeddedRejectSVC",
    "FrankHallReject",
    "NoveltyReject",
    "SurrogateRejectSVC",
    "ThresholdRejectClassifier",
    "TwoClassifierReject",
]
