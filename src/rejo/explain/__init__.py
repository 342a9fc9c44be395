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
