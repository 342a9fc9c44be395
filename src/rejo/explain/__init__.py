"""What each feature adds to a score: functions on arrays.

The score says which of two classes a case is, positive for the upper one, and a *pull* is what a
feature adds to it, compared with a typical case.  The reference is the Shapley value: the mean,
over all orders in which features could become known, of how far a feature moves the score.

``rejo.explain.coefficients``
    of a linear score: exact
``rejo.explain.trees``
    of trees, by the numbers of training cases in their nodes: exact for that reference
``rejo.explain.replacement``
    of any score: replace a feature and see the score move
``rejo.explain.exact``
    Shapley values by all coalitions, for a few features: the oracle of the tests
``rejo.explain.doubtful``
    pulls of many cases in one table: what makes cases doubtful
"""

from rejo.explain.coefficients import linear_pulls, summed_by
from rejo.explain.doubtful import most_reviewed, top_shares
from rejo.explain.exact import exact_shapley
from rejo.explain.replacement import replacement_pulls, typical_cases
from rejo.explain.trees import SplitTree, n_steps, tree_pulls, walk_pulls, with_known
from rejo.explain.words import said, standing_out

__all__ = [
    "SplitTree",
    "exact_shapley",
    "linear_pulls",
    "most_reviewed",
    "n_steps",
    "replacement_pulls",
    "said",
    "standing_out",
    "summed_by",
    "top_shares",
    "tree_pulls",
    "typical_cases",
    "walk_pulls",
    "with_known",
]
