"""From a method to a choice: comparisons, curves over the reject cost, operating points.

Everything here rests on one engine: ``outcomes`` fits the models of all folds and judges every test
case by a model that has not seen it.  Rates, choices and reports are read from these outcomes.

The modules, in the order to read them: ``folds`` (checked cases, folds, one fit for each reject
cost), ``outcomes`` (the engine), ``path`` (rates over the reject cost), ``chosen`` with ``svm_cv``
and ``operating`` (searches), ``target``, ``guarantee``, ``expected`` and ``summary`` (what
``operating`` is asked, promises, expects and says), ``choice`` (which learner), ``comparison`` and
``scorers``.
"""

from rejo.catalogue import standard_methods
from rejo.selection.choice import choose_family
from rejo.selection.comparison import Comparison, Difference, compare, corrected_t_test
from rejo.selection.guarantee import Guarantee, TargetUnattainable, simultaneous_bounds
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.outcomes import Outcomes, cross_val_outcomes, ranking_outcomes
from rejo.selection.path import RejectCurve, reject_curve
from rejo.selection.scorers import make_reject_scorer
from rejo.selection.svm_cv import RejoSVCCV

__all__ = [
    "Comparison",
    "Difference",
    "Guarantee",
    "Outcomes",
    "RejectClassifierCV",
    "RejectCurve",
    "RejoSVCCV",
    "TargetUnattainable",
    "choose_family",
    "compare",
    "corrected_t_test",
    "cross_val_outcomes",
    "make_reject_scorer",
    "ranking_outcomes",
    "reject_curve",
    "simultaneous_bounds",
    "standard_methods",
]
