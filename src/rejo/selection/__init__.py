"""From a method to a choice: comparisons, curves over the reject cost, operating points.

Everything here rests on one engine: ``outcomes`` fits the models of all folds and judges every test
case by a model that has not seen it.  Rates, choices and reports are read from these outcomes.

Most functions take

``estimator`` : estimator
    a classifier with a parameter ``reject_cost``, or a pipeline that ends in one
``X``, ``y`` : array-like of shape (n_samples, n_features) and (n_samples,)
    the cases and their classes; ``X`` may be sparse if the estimator accepts that
``reject_costs`` : iterable of float in (0, 0.5]
    prices of a rejection, where an error costs 1
``cv`` : int, splitter or iterable of (train, test)
    as in scikit-learn; a number means stratified folds
``groups`` : array-like of shape (n_samples,), default=None
    cases of one group, such as the visits of one patient, are never split
``sample_weight`` : array-like of shape (n_samples,), default=None
    used in the fits and in the rates
``n_jobs`` : int, default=None
    number of folds to work on at the same time, as in joblib
``verbose`` : bool, default=None
    show progress on stderr; by default only if it is a terminal

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
