"""Why a case is in doubt: what each feature adds to a score.

The score says which of two classes a case is, positive for the upper one, and a *pull* is what a
feature adds to it, compared with a typical case.  The reference is the Shapley value: the mean,
over all orders in which features could become known, of how far a feature moves the score.

``replacement`` has the pulls of a linear score, which are exact, and of any score; ``trees`` those
of trees, exact by the numbers of training cases in their nodes; all are functions on arrays.
``insides`` takes a fitted model apart and ``features`` follows its columns, so that ``reasons`` can
choose among them, and ``words`` says what is found.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.explain.features import WhyError, typical_of
from rejo.explain.reasons import DoubtfulFeature, Pulls, add_why, doubtful_features, pulls, why

__all__ = ["DoubtfulFeature", "Pulls", "WhyError", "doubtful_features", "pulls", "why"]
