"""From a method to a choice: comparisons, curves over the reject cost, operating points.

Everything here rests on cases judged by a model that has not seen them.  ``crossfit`` predicts
their posteriors, once for all prices; ``outcomes`` fits at each reject cost the learners that are
trained for one.  Rates, choices and reports are read from these.

The modules, in the order to read them: ``folds`` (checked cases, folds, one fit for each reject
cost), ``outcomes`` and ``crossfit`` (the engines), ``cuts`` (budgets and errors as cuts in a
ranking), ``chances`` (errors as a smooth curve), ``path`` (rates over the reject cost), ``search``
(from one target to a model), ``ranked`` and ``learned`` (one ranking for every learner),
``rate_limits`` (what may be limited, of whom), ``holdout`` and ``group_units`` (which cases, and
which groups, a promise counts), ``sequences`` (candidates, and the order of their
tests), ``proof`` (from limits to a model that other cases prove to keep them), ``group_policy``
(what is done with each group), ``chosen`` with ``svm_cv`` and ``operating`` (estimators),
``target``, ``guarantee``, ``expected`` and ``summary`` (what ``operating`` is asked, promises,
expects and says), ``verdicts`` (whether other cases met the target), ``race`` and ``auto`` (which
model), ``grids``, ``comparison``, ``compared`` (what its rows say) and ``scorers``.
"""

from rejo.catalogue import standard_methods
from rejo.selection.auto import Choice, choose_model
from rejo.selection.compared import Comparison, Difference, corrected_t_test
from rejo.selection.comparison import compare
from rejo.selection.crossfit import CrossFit, cross_fit
from rejo.selection.group_policy import GroupPolicy, UnequalTreatment
from rejo.selection.guarantee import Guarantee, TargetUnattainable, simultaneous_bounds
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.outcomes import Outcomes, cross_val_outcomes, ranking_outcomes
from rejo.selection.path import RejectCurve, reject_curve
from rejo.selection.scorers import cost_scorer, make_reject_scorer
from rejo.selection.svm_cv import RejoSVCCV

__all__ = [
    "Choice",
    "Comparison",
    "CrossFit",
    "Difference",
    "GroupPolicy",
    "Guarantee",
    "Outcomes",
    "RejectClassifierCV",
    "RejectCurve",
    "RejoSVCCV",
    "TargetUnattainable",
    "UnequalTreatment",
    "choose_model",
    "compare",
    "corrected_t_test",
    "cost_scorer",
    "cross_fit",
    "cross_val_outcomes",
    "make_reject_scorer",
    "ranking_outcomes",
    "reject_curve",
    "simultaneous_bounds",
    "standard_methods",
]
