"""From a fitted method to a choice: comparisons, paths over the reject cost, operating points."""

from rejo.selection.comparison import Comparison, Difference, compare, corrected_t_test
from rejo.selection.scorers import make_reject_scorer

__all__ = ["Comparison", "Difference", "compare", "corrected_t_test", "make_reject_scorer"]
