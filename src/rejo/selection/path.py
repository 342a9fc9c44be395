"""How many cases a classifier rejects and gets wrong as the price of a rejection changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rejo._html import table_html
from rejo._state import Must, floats, require, storable
from rejo._typing import Floats, Indices
from rejo.metrics import tally
from rejo.selection.folds import (
    REJECT_COSTS,
    check_cases,
    described,
    split_cases,
)
from rejo.selection.outcomes import costs_for, judge_folds
from rejo.tables.errors import import_pandas

ROUNDING = 1e-12  # a share of decided cases below this is a rounding error of summed weights


def among_decided(rejection_rate: Floats, error_rate: Floats) -> Floats:
    """Wrong decisions / decisions; NaN where nothing is decided."""
    decided = 1.0 - rejection_rate
    some = decided > ROUNDING
    return np.where(some, error_rate / np.where(some, decided, 1), np.nan)


@storable
@dataclass(frozen=True, eq=False)
class RejectCurve:
    """Rejection rate and error rate at each reject cost, by cross-validation.

    Means over the folds count every test case once, or with its weight.

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

    Attributes
    ----------
    rejection_rate, error_rate, risk : ndarray of shape (n_costs,)
        Means over the folds; the risk is ``reject_cost * R + E``.
    accepted_error_rate : ndarray of shape (n_costs,)
        Wrong decisions / decisions; NaN where every case is rejected.
    risks : ndarray of shape (n_costs, n_folds)
        The risk in each fold.

    See Also
    --------
    rejo.reject_curve : Compute it.
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
        """``reject_cost * R + E`` (n_costs, n_folds)."""
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
        return among_decided(self.rejection_rate, self.error_rate)

    @property
    def risk(self) -> Floats:
        """Mean risk (n_costs,)."""
        return np.average(self.risks, axis=1, weights=self.sizes)

    def _repr_html_(self) -> str:
        names = "rejection_rate", "error_rate", "accepted_error_rate", "risk"
        columns = {name: getattr(self, name) for name in names}
        title = f"Means over {len(self.sizes)} folds"
        return table_html(title, {"reject_cost": self.reject_costs, **columns}, shares=names[:3])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of means, and standard deviations over the folds."""
        return import_pandas("to_frame").DataFrame(
            {
                "reject_cost": self.reject_costs,
                "rejection_rate": self.rejection_rate,
                "rejection_rate_std": self.rejection_rates.std(axis=1),
                "error_rate": self.error_rate,
                "error_rate_std": self.error_rates.std(axis=1),
                "accepted_error_rate": self.accepted_error_rate,
                "risk": self.risk,
                "risk_std": self.risks.std(axis=1),
            }
        )


@described
def reject_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> RejectCurve:
    """Cross-validate rejections and errors at each reject cost.

    A trained reject region has no threshold to move: each reject cost needs its own fit.  All costs
    use the same folds.  A classifier that decides by posteriors is fitted once per fold, for all
    costs.  In a pipeline, the steps before the last are fitted once per fold.

    Parameters
    ----------
    %estimator, X, y, reject_costs, cv, groups, sample_weight, n_jobs

    Returns
    -------
    curve : RejectCurve
        Rates at each reject cost and in each fold, and their means.

    See Also
    --------
    rejo.selection.cross_val_outcomes : What becomes of each case.
    rejo.metrics.accuracy_reject_curve : The curve of one classifier, by a threshold.
    compare : Curves of several methods, each tuned.

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
    X, y, groups, weight = check_cases(X, y, groups, sample_weight, "reject_curve")
    costs = costs_for(estimator, y, reject_costs)
    splits = split_cases(cv, X, y, groups)
    judged = judge_folds(estimator, X, y, costs, splits, sample_weight=weight, n_jobs=n_jobs)
    return fold_curve(costs, judged.points[0].decision, judged.y, judged.fold, judged.weight)


def fold_curve(
    costs: Sequence[float], decision: Indices, y: Indices, fold: Indices, weight: Any = None
) -> RejectCurve:
    """Return the rates of decisions (n_costs, n_samples) in each fold."""
    found = tally(decision.T, y, weight, fold)  # counts (n_folds, n_costs)
    sizes = found.total.mean(axis=1)
    return RejectCurve(np.array(costs), found.rejection_rate.T, found.error_rate.T, sizes)
