"""What each feature adds to a score: functions on arrays.

The score says which of two classes a case is, positive for the upper one, and a *pull* is what a
feature adds to it, compared with a typical case.  The reference is the Shapley value: the mean,
over all orders in which features could become known, of how far a feature moves the score.

``replacement`` has the pulls of a linear score, which are exact, and of any score; ``trees`` those
of trees, exact by the numbers of training cases in their nodes.  ``words`` says them,
also of many cases in one table.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.explain.replacement import linear_pulls, replacement_pulls, summed_by
from rejo.explain.trees import SplitTree, n_steps, tree_pulls, walk_pulls, with_known
from rejo.explain.words import most_reviewed, said, standing_out, top_shares

__all__: list[str] = []
