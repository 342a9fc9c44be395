"""From a method to a choice: comparisons, curves over the reject cost, operating points.

Everything here rests on cases judged by a model that has not seen them.  ``crossfit`` predicts
their posteriors, once for all prices; ``outcomes`` fits at each reject cost the learners that are
trained for one.  Rates, choices and reports are read from these.

The modules, in the order to read them: ``folds`` (checked cases, folds, one fit for each reject
cost), ``outcomes`` and ``crossfit`` (the engines), ``cuts`` (budgets and errors as cuts in a
ranking), ``chances`` (errors as a smooth curve), ``path`` (rates over the reject cost), ``search``
(from one target to a model), ``ranked`` and ``learned`` (one ranking for every learner),
``rate_limits`` (what may be limited, of whom), ``holdout`` (which cases prove a promise),
``sequences`` (candidates, and the order of their tests), ``proof`` (from limits to a model that
other cases prove to keep them), ``group_policy`` (what is done with each group),
``chosen`` with ``svm_cv`` and ``operating`` (estimators),
``target``, ``guarantee``, ``expected`` and ``summary`` (what ``operating`` is asked, promises,
expects and says), ``verdicts`` (whether other cases met the target), ``race`` and ``auto`` (which
model), ``grids``, ``comparison``, ``compared`` (what its rows say) and ``scorers``.

Names that are not in ``__all__`` are for other rooms of the package.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.catalogue import standard_methods
from rejo.selection.auto import Choice, NotSuited, choose_model
from rejo.selection.compared import Comparison, Difference, corrected_t_test
from rejo.selection.comparison import compare, methods_to_compare
from rejo.selection.crossfit import CrossFit, cross_fit, cut_outcomes, with_cut
from rejo.selection.cuts import CutRanking, cut_decision
from rejo.selection.expected import Expected, expect
from rejo.selection.folds import REJECT_COSTS, shuffled_folds
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.guarantee import Guarantee, TargetUnattainable
from rejo.selection.held_out import Answers, cost_to_fit, settle
from rejo.selection.holdout import hold_out
from rejo.selection.leaks import find_leaks
from rejo.selection.limit_verdicts import asked_of, judge_limits
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.outcomes import Outcomes, cross_val_outcomes, ranking_outcomes
from rejo.selection.path import RejectCurve, reject_curve
from rejo.selection.race import draw_rows
from rejo.selection.repeats import RepeatedRows, repeated_share
from rejo.selection.scorers import cost_scorer, make_reject_scorer
from rejo.selection.search import CANDIDATES
from rejo.selection.summary import promise, promises
from rejo.selection.svm_cv import RejoSVCCV
from rejo.selection.target import LIMITS, check_prices, check_targets
from rejo.selection.verdicts import LEVEL, excess_probability, judge_targets

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
    "choose_model",
    "compare",
    "corrected_t_test",
    "cost_scorer",
    "cross_fit",
    "cross_val_outcomes",
    "make_reject_scorer",
    "ranking_outcomes",
    "reject_curve",
    "standard_methods",
]
