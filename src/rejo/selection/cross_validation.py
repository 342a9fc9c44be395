"""Cross-validation: every case judged by a model that has not seen it, at each reject cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rejo._html import table_html
from rejo._state import Must, floats, require, storable
from rejo._typing import Floats
from rejo.decisions import uniform_prices
from rejo.estimators import NOVEL, RejectClassifier, final_classifier, final_step, judge
from rejo.metrics import tally
from rejo.selection import folds
from rejo.selection.folds import Splits
from rejo.selection.out_of_fold import (
    OutOfFold,
    every_cut,
    in_order,
    judge_folds,
    look,
    of_judgement,
    with_cut,
)
from rejo.tables import import_pandas

ROUNDING = 1e-12  # a share of decided cases below this is a rounding error of summed weights
RATES = ("rejection_rate", "error_rate")


@storable
@dataclass(frozen=True, eq=False)
class RejectCurve:
    """Rejection rate and error rate at each reject cost, by cross-validation.

    Parameters
    ----------
    reject_costs : ndarray of shape (n_costs,)
        Ascending.
    rejection_rates : ndarray of shape (n_costs, n_folds)
        ``R``, the share of test cases that are rejected.
    error_rates : ndarray of shape (n_costs, n_folds)
        ``E``, the share of *all* test cases that are decided wrongly.
    sizes : ndarray of shape (n_folds,)
        Number of test cases, or the sum of their weights.
    """

    reject_costs: Floats
    rejection_rates: Floats
    error_rates: Floats
    sizes: Floats

    _fitted: ClassVar[dict[str, Must]] = {
        "reject_costs": floats("n_costs"),
        "rejection_rates": floats("n_costs", "n_folds", low=-ROUNDING, high=1 + 1e-9),
        "error_rates": floats("n_costs", "n_folds", low=-ROUNDING, high=1 + 1e-9),
        "sizes": floats("n_folds", low=0.0),
    }

    def _check_state(self) -> None:
        """It counts cases."""
        require(self.sizes.sum() > 0, self, "it counts no cases")

    @property
    def risks(self) -> Floats:
        """``reject_cost * R + E`` in each fold (n_costs, n_folds)."""
        return self.reject_costs[:, None] * self.rejection_rates + self.error_rates

    @property
    def rejection_rate(self) -> Floats:
        """Mean rejection rate (n_costs,)."""
        return np.average(self.rejection_rates, axis=1, weights=self.sizes)

    @property
    def error_rate(self) -> Floats:
        """Mean share of all cases that are decided wrongly (n_costs,)."""
        return np.average(self.error_rates, axis=1, weights=self.sizes)

    @property
    def accepted_error_rate(self) -> Floats:
        """Wrong decisions / decisions (n_costs,); NaN where every case is rejected."""
        decided = 1.0 - self.rejection_rate
        some = decided > ROUNDING
        return np.where(some, self.error_rate / np.where(some, decided, 1.0), np.nan)

    @property
    def risk(self) -> Floats:
        """Mean risk (n_costs,)."""
        return np.average(self.risks, axis=1, weights=self.sizes)

    def _repr_html_(self) -> str:
        title = f"Means over {len(self.sizes)} folds"
        return table_html(title, self._means(), shares=(*RATES, "accepted_error_rate"))

    def _means(self) -> dict[str, Floats]:
        names = "rejection_rate", "error_rate", "accepted_error_rate", "risk"
        return {"reject_cost": self.reject_costs, **{name: getattr(self, name) for name in names}}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of means, and standard deviations over the folds."""
        columns = {}
        for name, mean in self._means().items():
            columns[name] = mean
            if hasattr(self, f"{name}s") and name != "reject_cost":
                columns[f"{name}_std"] = getattr(self, f"{name}s").std(axis=1)
        return import_pandas("to_frame").DataFrame(columns)


@folds.described
def reject_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = folds.REJECT_COSTS,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> RejectCurve:
    """Cross-validate rejections and errors at each reject cost.

    A trained reject region has no threshold to move: each reject cost needs its own fit.  A
    classifier that decides by posteriors is fitted once per fold.

    Parameters
    ----------
    %estimator, X, y, reject_costs, cv, groups, sample_weight, n_jobs

    Returns
    -------
    curve : RejectCurve

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import reject_curve
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> curve = reject_curve(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> curve.rejection_rate.round(1)
    array([0.5, 0.3, 0. ])
    """
    X, y, groups, weight = folds.check_cases(X, y, groups, sample_weight, "reject_curve")
    folds.check_rejects(estimator)
    splits = folds.split_cases(cv, X, y, groups)
    return curve_of(outcomes_at(estimator, X, y, splits, reject_costs, weight, n_jobs))


def curve_of(points: Sequence[OutOfFold]) -> RejectCurve:
    """Return the rates of cases at several operating points, in each fold."""
    found = [tally(point.decision, point.y, point.weight, point.fold) for point in points]
    costs = [point.reject_cost for point in points]
    R, E = (np.array([getattr(one, name) for one in found]) for name in RATES)
    return RejectCurve(np.array(costs), R, E, found[0].total)


@folds.described
def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> OutOfFold:
    """Judge every case by a model that has not seen it.

    Parameters
    ----------
    estimator : classifier or Pipeline
        With a reject option, or with probabilities or scores, which are then calibrated.
    %X, y, cv, groups, sample_weight, n_jobs, verbose

    Returns
    -------
    cases : OutOfFold
        With posteriors ``p`` (n_samples, n_classes), if there are any.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.selection import cross_fit
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> cases = cross_fit(LogisticRegression(), X, y)
    >>> cases.p.shape, cases.fold[:3], cases.classes
    ((400, 2), array([0, 0, 0]), array([-1,  1]))
    """
    X, y, groups, weight = folds.check_cases(X, y, groups, sample_weight, "cross_fit")
    estimator = folds.rejecting(estimator)
    rejects = isinstance(folds.last_step(estimator), RejectClassifier)
    posteriors = folds.by_posteriors(estimator) if rejects else hasattr(estimator, "predict_proba")
    if not posteriors and not rejects:
        name = type(folds.last_step(estimator)).__name__
        raise TypeError(f"{name} is not a classifier with predict_proba or decision_function.")
    splits = folds.split_once(cv, X, y, groups)
    ((cases,),) = judge_folds(
        estimator, X, y, splits, posteriors=posteriors, sample_weight=weight, n_jobs=n_jobs,
        verbose=verbose,
    )  # fmt: skip
    return in_order(cases)


@folds.described
def cross_val_outcomes(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = folds.REJECT_COSTS,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> list[OutOfFold]:
    """Judge every case by a model that has not seen it, at every reject cost.

    Parameters
    ----------
    %estimator, X, y, reject_costs, cv, groups, sample_weight, n_jobs, verbose

    Returns
    -------
    outcomes : list of OutOfFold
        One for each reject cost, ascending.

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import cross_val_outcomes
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> points = cross_val_outcomes(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> [round(float((point.decision < 0).mean()), 1) for point in points]
    [0.5, 0.3, 0.0]
    """
    X, y, groups, weight = folds.check_cases(X, y, groups, sample_weight, "cross_val_outcomes")
    folds.check_rejects(estimator)
    splits = folds.split_once(cv, X, y, groups)
    points = outcomes_at(estimator, X, y, splits, reject_costs, weight, n_jobs, verbose)
    if (points[0].forced < 0).any():
        raise TypeError(f"{type(estimator).__name__} is not a classifier of rejo: it cannot judge.")
    return [in_order(point) for point in points]


def outcomes_at(
    estimator: Any, X: Any, y: Any, splits: Splits, reject_costs: Iterable[float],
    weight: Floats | None = None, n_jobs: int | None = None, verbose: bool | None = False,
) -> list[OutOfFold]:  # fmt: skip
    """Cases at each reject cost: one fit for all of them by posteriors, else one for each."""
    K, posteriors = len(folds.known_classes(estimator, y)[0]), folds.by_posteriors(estimator)
    costs = folds.check_reject_costs(reject_costs, folds.highest_reject_cost(K, posteriors))
    (found,) = judge_folds(
        estimator, X, y, splits, costs=costs, sample_weight=weight, n_jobs=n_jobs, verbose=verbose
    )
    if not posteriors:
        return found
    return [found[0].at_prices(uniform_prices(K, cost)) for cost in costs]


def ranking_outcomes(
    model: Any, X: Any, shares: Iterable[float], *, reviewed: Sequence[int] = (), group: Any = None
) -> tuple[list[OutOfFold], int]:
    """Judge cases by one fitted model, as if other shares of them went to review.

    Equal cases stay together.  Novel cases, those of a policy, and the ``reviewed`` rows go to
    review at every share.  Return one for each number of reviews, ascending, and which of them is
    that of the model itself.
    """
    own = _judge_new(model, X, list(reviewed), group)
    cuts, sizes = every_cut(own)
    chosen = int((own.decision < 0).sum())
    points = {chosen: own}
    for share in shares:
        wanted = max(round(float(share) * len(own.forced)), sizes[0])
        at = int(np.searchsorted(sizes, wanted, side="right")) - 1
        points.setdefault(int(sizes[at]), own.at(cuts[at]))
    return [points[size] for size in sorted(points)], sorted(points).index(chosen)


def _judge_new(model: Any, X: Any, reviewed: Sequence[int], group: Any) -> OutOfFold:
    """Judge new cases by one fitted model; the ``reviewed`` rows go to review at any cut."""
    first = model if isinstance(model, RejectClassifier) else final_step(model, X)[0]
    if not isinstance(first, RejectClassifier):
        raise TypeError(f"{type(first).__name__} is not a classifier with a reject option.")
    policy = getattr(model, "policy_", None)
    if group is not None or (policy is not None and policy.needed) or first.decides_by_posteriors:
        found = judge(model, X, group=group)  # which asks for the groups if it needs them
        about: dict[str, Any] = {"classes": first.classes_}
        if found.worth is not None:  # a search knows the user's prices; its model adds the cut
            about["cut"] = float(getattr(model, "cut_", None) or 0.0)
            about["prices"] = with_cut(final_classifier(model).prices_, -about["cut"])
        own = of_judgement(found, **about)
        if first.reject_label_ is None:
            own = own.at(np.inf)
    else:
        own = look(model, X)
    n = len(own.forced)
    if len(reviewed):
        novel = np.isin(np.arange(n), reviewed)
        kind = np.where(novel, np.int8(NOVEL), own.kinds)
        own = replace(own, kind=kind, doubt=np.where(novel, np.inf, own.doubt))
    return replace(own, fold=np.zeros(n, np.intp), rows=np.arange(n))
