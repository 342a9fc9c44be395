"""From a target that a manager can state to a fitted classifier, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted

from rejo._state import require, storable
from rejo._typing import Floats
from rejo.estimators.base import RejectClassifier
from rejo.estimators.classes import encode_classes
from rejo.estimators.pipelines import final_classifier
from rejo.metrics import tally
from rejo.selection.chosen import ChosenModel
from rejo.selection.expected import Expected, effective_size, expect
from rejo.selection.folds import (
    REJECT_COSTS,
    candidate,
    check_cases,
    check_reject_costs,
    check_rejects,
    described,
    fit_weighted,
    split_cases,
)
from rejo.selection.guarantee import Guarantee, TargetUnattainable, simultaneous_bounds
from rejo.selection.outcomes import Outcomes, judge_folds, look
from rejo.selection.path import RejectCurve, fold_curve
from rejo.selection.summary import summarise
from rejo.selection.target import TARGETS, Target, check_target

# At a cost of 1/2 nothing is rejected, so every review budget can be met.
CANDIDATES = (0.02, *REJECT_COSTS, 0.5)


@storable
@described
class RejectClassifierCV(ChosenModel):
    """Find the reject cost, and the model, for a target such as a review budget.

    Every candidate is the estimator fitted at one reject cost, with the parameters that are best
    at it if there is a grid.  Cross-validation estimates how many cases each candidate rejects and
    gets wrong, and the one that meets the target best is fitted on all cases.  Estimates are not
    guarantees; for a guarantee, give a ``confidence``.  Some of the cases are then held out, and a
    candidate is accepted only if these cases prove that it meets the target, by an exact bound
    that holds for all candidates at once.

    Parameters
    ----------
    estimator : RejectClassifier or Pipeline
        A classifier with a reject option, or a pipeline that ends in one.
    review_budget : float or int, default=None
        Target: at most this share of the cases goes to review (a float below 1), or this number
        of cases (an int) out of ``per``.  Of the candidates within the budget, the one with the
        fewest errors is chosen.
    max_error : float, default=None
        Target: at most this share of errors (see ``error``).  Of the candidates within the limit,
        the one with the fewest reviews is chosen.
    reject_cost : float in (0, 0.5] or "auto", default="auto"
        Target: the lowest cost, where a review costs this much and an error 1.  "auto" means that
        the reject cost is found from another target.
    cost_of : dict, default=None
        The same as prices: ``{"error": 5000, "review": 40}`` is ``reject_cost=0.008``.
    per : int, default=None
        Size of a batch, such as the cases of a week: an integer ``review_budget`` is a number of
        cases out of these, and :attr:`expected_` and :meth:`summary` speak of this many cases; of
        100 by default.
    error : {"accepted", "overall"}, default="accepted"
        What ``max_error`` limits: errors among the cases that are decided, which is what a
        regulator asks about, or among all cases, the paper's ``E``.
    confidence : float, default=None
        Probability, such as 0.95, that ``fit`` does not return a model whose true rate is above
        ``review_budget`` or ``max_error``: it returns one within the limit, or raises an error.
    calibration_size : float, default=0.3
        Share of the cases, drawn at random, that is held out for the guarantee.  The model is not
        fitted on them afterwards: the guarantee is for the model that they tested.
    param_grid : dict or list of dict, default=None
        Parameters of the estimator to choose from, as in ``GridSearchCV``.  At each reject cost,
        those with the lowest ``reject_cost * R + E`` are chosen.
    reject_costs : sequence of float in (0, 0.5], default=0.02, 0.04, 0.08, 0.12, ..., 0.48, 0.5
        The candidates, for ``review_budget`` and ``max_error``.  More of them come closer to the
        target; with a ``confidence``, fewer of them give tighter bounds.
    %cv, n_jobs
    random_state : int, RandomState or None, default=None
        Draws the calibration cases.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted classifier; it answers all methods.
    reject_cost_ : float
        The reject cost that was found.
    best_params_ : dict
        The parameters chosen from the grid.
    target_ : Target
        The target of the fit: ``name`` of the parameter, the ``rate`` it limits and the ``limit``.
    rates_ : tuple of two floats
        Estimated shares of rejections and of errors, both of all cases, at ``reject_cost_``.
    n_effective_ : float
        Number of independent cases that these estimates are worth.
    curve_ : RejectCurve
        Rates of all candidates: over the folds or, with a ``confidence``, on the calibration
        cases.
    outcomes_ : list of Outcomes or None
        What became of every training case in the folds, at each reject cost; ``None`` with a
        ``confidence``, or if ``cv`` does not test every case exactly once.  As it has an entry for
        each training case, it is left out of copies, pickles and model files.
    expected_ : Expected
        Expected rates in a batch of ``per`` new cases, with prediction intervals.
    guarantee_ : Guarantee or None
        What is guaranteed with ``confidence``.
    classes_, reject_label_
        As in the estimator.

    Raises
    ------
    TargetUnattainable
        By ``fit``, if no candidate meets the target; the error says what is attainable.

    Examples
    --------
    >>> from rejo import RejoSVC, make_synthetic_1
    >>> from rejo.selection import RejectClassifierCV
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejectClassifierCV(RejoSVC(C=10, gamma=4), review_budget=0.2).fit(X, y)
    >>> model.expected_.rejection_rate.estimate <= 0.2
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        **dict.fromkeys(TARGETS, "no_validation"),  # by check_target
        "per": [Interval(Integral, 1, None, closed="left"), None],
        "error": [StrOptions({"accepted", "overall"})],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "calibration_size": [Interval(Real, 0.0, 1.0, closed="neither")],
        "param_grid": [dict, list, None],
        "reject_costs": ["array-like", Iterable],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _not_saved = ("outcomes_",)  # an entry for each training case

    curve_: RejectCurve
    guarantee_: Guarantee | None

    def __init__(
        self,
        estimator: Any,
        *,
        review_budget: float | None = None,
        max_error: float | None = None,
        reject_cost: float | str = "auto",
        cost_of: dict[str, float] | None = None,
        per: int | None = None,
        error: str = "accepted",
        confidence: float | None = None,
        calibration_size: float = 0.3,
        param_grid: Any = None,
        reject_costs: Any = CANDIDATES,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.review_budget = review_budget
        self.max_error = max_error
        self.reject_cost = reject_cost
        self.cost_of = cost_of
        self.per = per
        self.error = error
        self.confidence = confidence
        self.calibration_size = calibration_size
        self.param_grid = param_grid
        self.reject_costs = reject_costs
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @described
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Find the reject cost and fit the model.

        Parameters
        ----------
        %X, y
        sample_weight, groups : array-like of shape (n_samples,), default=None
            Weights in the fits and in the rates, and groups that are never split; a group counts
            as one case in the prediction intervals.  Neither can be combined with ``confidence``.
        """
        self._validate_params()
        self.__dict__.pop("expected_", None)  # not fitted until this fit reaches its target
        target, name = self._check()
        X, y, groups, sample_weight = check_cases(X, y, groups, sample_weight, type(self).__name__)
        costs = check_reject_costs(self.reject_costs if target.rate else [target.limit])
        if self.confidence is None:
            self.curve_, params, self.outcomes_ = self._cross_validate(
                X, y, costs, sample_weight, groups
            )
            best = 0  # the only candidate, if the price is given
            if target.rate is not None:
                best = self._choose(target, getattr(self.curve_, target.rate))
            model = candidate(self.estimator, params[best], {name: costs[best]})
            self.best_estimator_ = fit_weighted(model, X, y, sample_weight)
            self.guarantee_ = None
            self.n_effective_ = effective_size(self.curve_, sample_weight, len(y), best, groups)
        else:
            if sample_weight is not None or groups is not None:
                raise ValueError(
                    "confidence needs independent calibration cases of equal weight: it cannot be "
                    "combined with sample_weight or groups."
                )
            self.outcomes_ = None
            best, params = self._calibrate(X, y, costs, target, name)
        self.target_ = target
        self.reject_cost_ = costs[best]
        self.best_params_ = params[best]
        self.rates_ = float(self.curve_.rejection_rate[best]), float(self.curve_.error_rate[best])
        last = final_classifier(self.best_estimator_)
        self.classes_, self.reject_label_ = last.classes_, last.reject_label_
        self._copy_features()
        level = self.confidence or 0.95
        self.expected_ = expect(*self.rates_, self.n_effective_, self.per or 100, level)
        return self

    def expect(self, n_cases: int) -> Expected:
        """Predict the rates in a batch of ``n_cases`` new cases.

        The named tuple has ``rejection_rate``, ``error_rate`` (of all cases) and
        ``accepted_error_rate`` (of the decided cases), each with ``estimate``, ``low`` and
        ``high``.  The rate of a batch falls in the interval with a probability of about
        ``confidence`` (0.95 if none was given), if new cases are like the training cases.
        """
        check_is_fitted(self)
        if not isinstance(n_cases, Integral) or n_cases < 1:
            raise ValueError(f"n_cases must be a positive integer; got {n_cases!r}.")
        return expect(*self.rates_, self.n_effective_, int(n_cases), self.expected_.confidence)

    def summary(self) -> str:
        """Describe the model in a paragraph of plain words."""
        check_is_fitted(self)
        return summarise(self.target_, self.reject_cost_, self.expected_, self.guarantee_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "expected_")

    @property
    def _learner(self) -> Any:
        """The last step of the pipeline, or the estimator itself."""
        return self.estimator.steps[-1][1] if hasattr(self.estimator, "steps") else self.estimator

    def _operating_point(self) -> dict[str, Any]:
        point = super()._operating_point() | {"target": {self.target_.name: self.target_.limit}}
        return point if self.guarantee_ is None else point | {"guarantee": self.guarantee_}

    def _check_state(self) -> None:
        super()._check_state()
        rates, size, cost = self.rates_, self.n_effective_, self.reject_cost_
        fine = isinstance(rates, tuple) and len(rates) == 2
        fine = fine and all(isinstance(rate, float) and 0 <= rate <= 1 for rate in rates)
        require(fine and sum(rates) <= 1 + 1e-9, self, "its rates are not shares of all cases")
        fine = isinstance(size, float) and 0 < size < np.inf
        require(fine, self, "the number of cases behind its rates is not a positive number")
        fine = isinstance(cost, float) and 0 < cost <= 0.5
        require(fine, self, f"the reject cost {cost!r:.40} is not in (0, 0.5]")
        require(isinstance(self.expected_, Expected), self, "what it expects is malformed")

    def _restore_state(self) -> None:
        self.expected_ = self.expected_._restored()

    def _check(self) -> tuple[Target, str]:
        """Return the target, and the name of the estimator's parameter for the reject cost."""
        target = check_target(self.get_params(deep=False))
        if not isinstance(self._learner, RejectClassifier):
            raise TypeError(
                "estimator must be a classifier with a reject option, such as RejoSVC, or a "
                f"pipeline that ends in one; got {self.estimator!r}. ThresholdRejectClassifier or "
                "ReplicationClassifier around a classifier has one; a search is param_grid here."
            )
        name = check_rejects(self.estimator)
        if any(name in params for params in ParameterGrid(self.param_grid or {})):
            raise ValueError(f"param_grid must not set {name}: it is found from the target.")
        if self.confidence is not None and target.rate is None:
            raise ValueError(
                f"confidence={self.confidence:g} needs a rate to guarantee: give review_budget or "
                f"max_error instead of {target.name}."
            )
        listed = isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")
        if self.confidence is not None and listed:
            raise ValueError(
                "cv is a list of splits of all cases, but with a confidence the calibration cases "
                "are held out first: give a number of folds, or a splitter."
            )
        return target, name

    def _cross_validate(
        self, X: Any, y: Any, costs: list[float], sample_weight: Any = None, groups: Any = None
    ) -> tuple[RejectCurve, list[dict[str, Any]], list[Outcomes] | None]:
        """Rates, parameters from the grid, and outcomes of the cases, at each reject cost."""
        points = list(ParameterGrid(self.param_grid or {}))
        judged = judge_folds(
            self.estimator, X, y, costs, split_cases(self.cv, X, y, groups),
            grid=points, sample_weight=sample_weight, n_jobs=self.n_jobs,
        )  # fmt: skip
        curves = [
            fold_curve(costs, point.decision, judged.y, judged.fold, judged.weight)
            for point in judged.points
        ]
        risk = np.round([curve.risk for curve in curves], 12)  # (n_points, n_costs)
        best = risk.argmin(axis=0)
        rows = best, np.arange(len(costs))
        R = np.array([curve.rejection_rates for curve in curves])[rows]  # (n_costs, n_folds)
        E = np.array([curve.error_rates for curve in curves])[rows]
        curve = RejectCurve(np.array(costs), R, E, curves[0].sizes)
        return curve, [points[i] for i in best], judged.outcomes(best.tolist())

    def _calibrate(
        self, X: Any, y: Any, costs: list[float], target: Target, name: str
    ) -> tuple[int, list[dict[str, Any]]]:
        """Fit all candidates on some of the cases, and judge them by the others."""
        # Not stratified: calibration cases chosen by the class shares of the others would not be
        # independent of the candidates, and the bound would not be exact.
        train, test = train_test_split(
            np.arange(len(y)), test_size=self.calibration_size, random_state=self.random_state
        )
        classes, k = encode_classes(y, "sorted")
        if new := set(k[test].tolist()) - set(k[train].tolist()):
            label = classes.tolist()[min(new)]
            raise ValueError(
                f"class {label!r} is so rare that all its cases were drawn for calibration, so the "
                "model could not learn it. Give more cases of this class, leave it out, or lower "
                "calibration_size."
            )
        X_fit, y_fit = _safe_split(self.estimator, X, y, train)
        X_new, _ = _safe_split(self.estimator, X, y, test, train)
        params: list[dict[str, Any]] = [{}] * len(costs)
        if self.param_grid is not None:
            _, params, _ = self._cross_validate(X_fit, y_fit, costs)
        models = [
            candidate(self.estimator, point, {name: cost}).fit(X_fit, y_fit)
            for cost, point in zip(costs, params, strict=True)
        ]
        decision = np.array([look(model, X_new, classes).decision[0] for model in models])
        found = tally(decision.T, k[test])  # counts (n_costs,)
        self.curve_ = fold_curve(costs, decision, k[test], np.zeros(len(test), dtype=np.intp))
        bad = found.rejected if target.rate == "rejection_rate" else found.wrong
        total = found.decided if target.rate == "accepted_error_rate" else found.total
        level: Any = self.confidence
        bounds = simultaneous_bounds(bad, total, level)
        best = self._choose(target, bounds)
        self.best_estimator_ = models[best]
        proof = float(bounds[best]), target.limit, level, int(total[best]), len(costs)
        self.guarantee_ = Guarantee(str(target.rate), *proof)
        self.n_effective_ = float(len(test))
        return best, params

    def _choose(self, target: Target, limits: Floats) -> int:
        """Return the best of the candidates whose ``limits`` (n_costs,) are within the target."""
        R, E = self.curve_.rejection_rate, self.curve_.error_rate
        within = limits <= target.limit + 1e-12
        if within.any():
            keys = (R, E) if target.rate == "rejection_rate" else (E, R)  # the last one counts most
            return int(np.lexsort((*np.round(keys, 12), ~within))[0])
        best = int(np.where(np.isnan(limits), np.inf, limits).argmin())
        cost = float(self.curve_.reject_costs[best])
        what = {
            "rejection_rate": "share of cases that go to review",
            "error_rate": "share of all cases that are decided wrongly",
            "accepted_error_rate": "share of wrong decisions among the decided cases",
        }[str(target.rate)]
        how = "by cross-validation"
        remedy = "Raise it, or try other reject_costs or a better estimator."
        if self.confidence is not None:
            how = (
                f"with {100 * self.confidence:g} % confidence, from {self.curve_.sizes[0]:.0f} "
                f"calibration cases and {len(limits)} candidates,"
            )
            remedy = "Raise it, or give more cases, fewer reject_costs, or less confidence."
        raise TargetUnattainable(
            f"{target.name}={target.limit:g} cannot be reached: the lowest {what} that is "
            f"attainable {how} is {limits[best]:.4f}, at a reject cost of {cost:g}, where "
            f"{100 * R[best]:.0f} % of the cases go to review",
            attainable=float(limits[best]),
            reject_cost=cost,
            parameter=target.name,
            remedy=remedy,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        return tags
