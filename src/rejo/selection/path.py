"""What a classifier rejects and gets wrong as the price of a rejection changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, column_or_1d, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed

from rejo._typing import Floats
from rejo.estimators.classes import check_sample_weight, encode_classes
from rejo.estimators.pipelines import cost_parameter, decisions_of
from rejo.estimators.svm import RejoSVC
from rejo.metrics import error_rate, rejection_rate
from rejo.selection._svm_folds import Grid, count_outcomes

REJECT_COSTS = tuple(round(0.04 * i, 2) for i in range(1, 13))  # the paper's 0.04, 0.08, ..., 0.48

ROUNDING = 1e-12  # sums of weights: a smaller share of decided cases is none


@dataclass(frozen=True, eq=False)
class RejectCurve:
    """Rejection rate and error rate at each reject cost, by cross-validation.

    The means over the folds count every test case once (or with its weight).

    Attributes
    ----------
    reject_costs : ndarray of shape (n_costs,)
        Ascending.
    rejection_rates : ndarray of shape (n_costs, n_folds)
        ``R``, the share of the test cases that is rejected.
    error_rates : ndarray of shape (n_costs, n_folds)
        ``E``, the share of *all* test cases that is decided, and wrongly.
    sizes : ndarray of shape (n_folds,)
        Number of the test cases, or the sum of their weights.
    """

    reject_costs: Floats
    rejection_rates: Floats
    error_rates: Floats
    sizes: Floats

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
        """Mean share of all cases that is decided wrongly (n_costs,)."""
        return np.average(self.error_rates, axis=1, weights=self.sizes)

    @property
    def accepted_error_rate(self) -> Floats:
        """Wrong decisions as a share of the decisions (n_costs,); NaN where all is rejected."""
        decided = 1.0 - self.rejection_rate
        some = decided > ROUNDING
        return np.where(some, self.error_rate / np.where(some, decided, 1), np.nan)

    @property
    def risk(self) -> Floats:
        """Mean risk (n_costs,)."""
        return np.average(self.risks, axis=1, weights=self.sizes)

    def to_frame(self) -> Any:
        """One row for each reject cost: means, and standard deviations over the folds.

        Returns
        -------
        frame : pandas.DataFrame
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "rejo[pandas]"') from None
        return pd.DataFrame(
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
    """Trace rejections and errors over the reject cost, with a new fit at every one.

    A reject region that is trained has no score with a threshold to slide along: another cost
    is another fit.  All costs are cross-validated on the same folds.  ``RejoSVC`` does so on
    one kernel matrix, with every solve starting from the one before.  Of a pipeline, the steps
    before the last are fitted once for each fold.

    Parameters
    ----------
    estimator : estimator
        A classifier with a parameter ``reject_cost``, or a pipeline that ends in one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    reject_costs : iterable of float in (0, 0.5], default=0.04, 0.08, ..., 0.48
    cv : int, splitter or iterable, default=5
        As in scikit-learn; a number of folds is stratified, without shuffling.
    groups : array-like of shape (n_samples,), default=None
        For a splitter that keeps groups together.
    sample_weight : array-like of shape (n_samples,), default=None
        Used in the fits and in the rates.
    n_jobs : int, default=None
        Folds that are worked on at the same time.

    Returns
    -------
    curve : RejectCurve

    Examples
    --------
    >>> from rejo import RejoSVC, make_synthetic_1
    >>> from rejo.selection import reject_curve
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> curve = reject_curve(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> curve.rejection_rate.round(1)
    array([0.5, 0.3, 0. ])
    """
    costs = check_reject_costs(reject_costs)
    name = check_rejects(estimator)
    X, y, groups, sample_weight = check_cases(X, y, groups, sample_weight, "reject_curve")
    folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    if type(estimator) is RejoSVC:
        grid = Grid(costs, [estimator.C], [estimator.gamma], [estimator.h])
        counts = count_outcomes(estimator, X, y, grid, folds, sample_weight, n_jobs)
        R, E = (part[:, 0, 0, 0] / counts.total for part in (counts.rejected, counts.wrong))
        return RejectCurve(np.array(costs), R, E, counts.total)
    rows = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(estimator, name, costs, X, y, sample_weight, *fold) for fold in folds
    )
    R, E = np.array(rows).T  # (n_costs, n_folds) each
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    return RejectCurve(np.array(costs), R, E, np.array([weight[test].sum() for _, test in folds]))


def check_cases(
    X: Any, y: Any, groups: Any, sample_weight: Any, caller: str
) -> tuple[Any, Any, Any, Floats | None]:
    """Return arrays of the same length that can be split."""
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but the target y is None.")
    if getattr(y, "ndim", 1) == 2:
        y = column_or_1d(y, warn=True)
    X, y, groups = indexable(X, y, groups)
    encode_classes(y, "sorted")  # missing labels, or a regression target, are errors
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
    return X, y, groups, weight


def check_reject_costs(reject_costs: Iterable[float]) -> list[float]:
    """Return the costs ascending, each once."""
    try:
        costs = sorted({float(w) for w in reject_costs})
    except TypeError:
        raise ValueError(
            f"reject_costs must be a list of numbers in (0, 0.5]; got {reject_costs!r}."
        ) from None
    if not costs or not all(0 < w <= 0.5 for w in costs):
        raise ValueError(
            f"reject_costs must be numbers in (0, 0.5], at least one; got {costs}. Above 0.5 a "
            "guess is cheaper than a rejection."
        )
    return costs


def check_rejects(estimator: Any) -> str:
    """Return the name of the parameter that sets the price of a rejection."""
    name = cost_parameter(estimator)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no parameter reject_cost: give a classifier with a "
            "reject option, such as RejoSVC, or a pipeline that ends in one."
        )
    params = estimator.get_params()
    if params.get(name.removesuffix("reject_cost") + "loss_matrix") is not None:
        raise ValueError(
            "with a loss_matrix the reject cost has no effect, and there is nothing to vary: leave "
            "loss_matrix out."
        )
    if params.get(name.removesuffix("reject_cost") + "max_rejection") is not None:
        raise ValueError(
            "with max_rejection the reject cost has no effect, and there is nothing to vary: leave "
            "max_rejection out."
        )
    return name


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit; the weights go to the last step of a pipeline."""
    if sample_weight is None:
        return estimator.fit(X, y)
    steps = getattr(estimator, "steps", None)
    name = "sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight"
    return estimator.fit(X, y, **{name: sample_weight})


def _fit_fold(
    estimator: Any, name: str, costs: list[float], X: Any, y: Any, sample_weight: Any,
    train: Any, test: Any,
) -> list[tuple[float, float]]:  # fmt: skip
    """R and E for each cost."""
    y_test = _safe_indexing(y, test)
    w_test = None if sample_weight is None else _safe_indexing(sample_weight, test)
    rates = []
    for model, X_test in fold_models(estimator, name, costs, X, y, sample_weight, train, test):
        decisions, label = decisions_of(model, X_test, y_test)
        given: dict[str, Any] = {"reject_label": label, "sample_weight": w_test}
        rates.append(
            (rejection_rate(y_test, decisions, **given), error_rate(y_test, decisions, **given))
        )
    return rates


def fold_models(
    estimator: Any, name: str, costs: list[float], X: Any, y: Any, sample_weight: Any,
    train: Any, test: Any,
) -> Iterator[tuple[Any, Any]]:  # fmt: skip
    """Fit on one part for each cost; yield the model, and the other part as it reaches it."""
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    w_train = None if sample_weight is None else _safe_indexing(sample_weight, train)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        # The steps before the last know nothing of the cost: they are fitted once.
        steps, name = clone(estimator[:-1]), name.removeprefix(f"{estimator.steps[-1][0]}__")
        X_train, X_test = steps.fit_transform(X_train, y_train), steps.transform(X_test)
        estimator = estimator[-1]
    for model in _fit_path(estimator, name, costs, X_train, y_train, w_train):
        yield model, X_test


def _fit_path(
    estimator: Any, name: str, costs: list[float], X: Any, y: Any, sample_weight: Any
) -> Iterator[Any]:
    """Fit a model for each cost."""
    if type(estimator) is RejoSVC:
        yield from estimator.fit_path(X, y, reject_costs=costs, sample_weight=sample_weight)
        return
    for cost in costs:
        yield fit_weighted(clone(estimator).set_params(**{name: cost}), X, y, sample_weight)
