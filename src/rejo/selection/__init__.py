"""From cases judged out of fold to a choice: operating points, promises, models, comparisons.

Everything here rests on cases judged by a model that has not seen them, ranked by doubt.  An
operating point is a cut in that ranking at which all limits hold.

The modules, in the order to read them: ``folds`` (checked cases, splits), ``out_of_fold`` (the
cases, and the one engine that judges them), ``cross_validation`` (its doors, and rates over the
reject cost), ``limits`` (what is asked for), ``choose`` (the cut at which it holds), ``promises``
(cuts that held-out cases prove), ``expected`` (rates, classes and costs of new cases), ``summary``
(the same in words, and whether other cases met the target), ``models`` (which model), ``operating``
(the estimator that does all of this) with ``point`` (what it answers), ``comparison`` with
``compared`` (which method), ``scorers`` and ``traps`` (in a table).

Names that are not in ``__all__`` are for other rooms of the package.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.catalogue import standard_methods
from rejo.selection.compared import Comparison, Difference, corrected_t_test
from rejo.selection.comparison import compare, methods_to_compare
from rejo.selection.cross_validation import (
    RejectCurve,
    cross_fit,
    cross_val_outcomes,
    ranking_outcomes,
    reject_curve,
)
from rejo.selection.expected import (
    Expected,
    MeanCosts,
    error_numbers,
    expect,
    expect_cost,
    likely_classes,
    mean_cost,
)
from rejo.selection.folds import (
    REJECT_COSTS,
    Fold,
    candidate,
    fit_path,
    shuffled_folds,
)
from rejo.selection.limits import LIMITS, GroupPolicy, Limit, check_prices, check_targets
from rejo.selection.models import Choice, NotSuited, choose_model, draw_rows, quiet
from rejo.selection.operating import CANDIDATES, RejectClassifierCV
from rejo.selection.out_of_fold import OutOfFold, judge_fold, of_posteriors, of_scores
from rejo.selection.promises import Guarantee, TargetUnattainable
from rejo.selection.scorers import cost_scorer
from rejo.selection.summary import (
    LEVEL,
    by_class,
    describe_promises,
    excess_probability,
    judge_limits,
    promise,
)
from rejo.selection.traps import RepeatedRows, find_leaks, repeated_share

__all__ = [
    "Choice",
    "Comparison",
    "Difference",
    "GroupPolicy",
    "Guarantee",
    "OutOfFold",
    "RejectClassifierCV",
    "RejectCurve",
    "TargetUnattainable",
    "choose_model",
    "compare",
    "corrected_t_test",
    "cost_scorer",
    "cross_fit",
    "cross_val_outcomes",
    "ranking_outcomes",
    "reject_curve",
    "standard_methods",
]
