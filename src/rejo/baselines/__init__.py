"""The rivals: other ways to a classifier that may reject, as good as their authors would make them.

Thresholds on the output of one classifier (``threshold``); two independent classifiers for the
two edges of the reject region (``pairs``), and two for each split of ordered classes
(``frank_hall``); the last two are classifiers of their own for each boundary (``_independent``).
They share clones, weights, folds and scores (``_wrapped``) and an exact search for cut-offs
(``_cutoffs``).  Two support vector machines have losses of their own (``_machine``): convex
surrogates of the risk (``surrogate``), and the risk itself, smoothed (``embedded``).
"""

from rejo.baselines.embedded import EmbeddedRejectSVC
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.pairs import TwoClassifierReject
from rejo.baselines.surrogate import SurrogateRejectSVC
from rejo.baselines.threshold import ThresholdRejectClassifier

__all__ = [
    "EmbeddedRejectSVC",
    "FrankHallReject",
    "SurrogateRejectSVC",
    "ThresholdRejectClassifier",
    "TwoClassifierReject",
]
