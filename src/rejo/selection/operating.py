"""From a target that a manager can state to a fitted classifier, and what to expect of it."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted

from rejo._errors import RejoError, Setting, Text
from rejo._io import stage_lines
from rejo._state import storable
from rejo._typing import Floats, Indices
from rejo.baselines import FEATURES, NoveltyReject, copy_fitted, with_last
from rejo.decisions import uniform_prices
from rejo.estimators import (
    FiniteInterval,
    RejectClassifier,
    final_classifier,
    fit_weighted,
    is_ordered,
)
from rejo.explain import typical_of
from rejo.metrics import tally
from rejo.prices import (
    CasePrices,
    describe_prices,
    is_array,
    mean_prices,
    price_columns,
    reject_cost_of,
)
from rejo.selection import folds
from rejo.selection.choose import Chosen, choose, closest, is_tied, model_at, settle_ties, too_small
from rejo.selection.cross_validation import curve_of
from rejo.selection.expected import (
    estimate_rates,
    expect,
    independent_cases,
    likely_classes,
    mean_costs,
    outcome_shares,
)
from rejo.selection.folds import by_posteriors, last_step
from rejo.selection.limits import (
    TARGETS,
    GroupPolicy,
    Limit,
    check_prices,
    check_targets,
    group_names,
    read_limits,
)
from rejo.selection.models import Choice, choose_model
from rejo.selection.out_of_fold import (
    REGION,
    OutOfFold,
    best_points,
    in_order,
    judge_folds,
    judge_with,
    novel_kinds,
    relative_price,
)
from rejo.selection.point import OperatingPoint
from rejo.selection.promises import TargetUnattainable, reviewing
from rejo.selection.traps import warn_of_repeats
from rejo.tables import TableEncoder

__all__ = ["CANDIDATES", "RejectClassifierCV"]

#: Reject costs from which a search starts, for learners that are trained for one reject cost.  At
#: 1/2, the two edges of a learned reject region are one, and nothing is rejected.
CANDIDATES = (0.02, *folds.REJECT_COSTS, 0.5)


class Task(NamedTuple):
    """What is asked for, of which cases."""

    X: Any
    y: Any
    classes: NDArray[Any]  # (K,)
    k: Indices  # (n,) y as indices
    limits: list[Limit]
    prices: Floats | None  # (K, K + 1) if they are known; by case, first of those to learn from
    train: Indices  # rows to learn from
    held: Indices | None = None  # rows that prove a promise
    rests_on: str = "random"  # how these were chosen
    weight: Floats | None = None
    together: Indices | None = None  # (n,) what belongs together
    group: Indices | None = None  # (n,) to promise by
    names: list[str] | None = None  # of the groups to promise by
    small: tuple[int, ...] = ()  # groups with too few cases, which go to review
    case_prices: CasePrices | None = None  # how prices depend on the case
    table: Any = None  # (n,) columns that prices were made of, or the array of them

    @property
    def mean_prices(self) -> Floats | None:
        """Mean prices (K, K + 1) of the cases to learn from."""
        if self.prices is None or self.prices.ndim == 2:
            return self.prices
        return mean_prices(self.prices[: len(self.train)], self.weight)

    @property
    def size(self) -> float:
        """Number of independent cases to learn from."""
        return independent_cases(len(self.train), self.weight, self.take(self.together))

    @property
    def ranking_prices(self) -> Floats:
        """Prices (K, K + 1) by which cases are ranked; without any, every error counts alike."""
        return uniform_prices(len(self.classes), 0.0) if self.prices is None else self.prices

    def part(self, search: Any) -> tuple[Any, Any]:
        """Cases and classes to learn from."""
        if self.held is None:
            return self.X, self.y
        return _safe_split(search, self.X, self.y, self.train)

    def take(self, values: Any) -> Any:
        """Values (n,), if there are any, of the cases to learn from."""
        return None if values is None else np.asarray(values)[self.train]


class Learner(NamedTuple):
    """An estimator, and cases that it judged out of fold."""

    estimator: Any  # unfitted, tuned, for the reject cost of the chosen point
    points: list[OutOfFold]  # by boundaries, one for each reject cost
    at: int  # index of the point that is closest to the target
    params: list[dict[str, Any]]  # chosen from the grid, for each point
    final: OutOfFold | None = None  # the same cases by the fitted model, if many are tied

    @property
    def cases(self) -> OutOfFold:
        """Cases by the learner that is fitted."""
        return self.points[self.at]

    def ranked(self, prices: Floats) -> Self:
        """The same, ranked by doubt at these prices; ties as the fitted model has them."""
        points = [point.at_prices(prices) for point in self.points]
        if self.final is not None:
            doubt = self.final.at_prices(prices).doubt
            points[self.at] = settle_ties(points[self.at], doubt[self.cases.rows])
        return self._replace(points=points)


@storable
@folds.described
@dataclass(eq=False, repr=False)
class RejectClassifierCV(OperatingPoint):
    """Find the operating point, and the model, for a target such as a review budget.

    Cases are judged out of fold and ranked by doubt, and the target is a cut in this ranking.  The
    model is fitted on all cases.  Several limits all hold at the same operating point.

    Estimates are not guarantees.  With a ``confidence``, some of the cases are held out, and a cut
    is accepted only if these cases prove that it keeps all limits, by exact tests in an order that
    was settled before (:footcite:t:`angelopoulos2025`; costs by the bound of
    :footcite:t:`waudbysmith2024`).

    Parameters
    ----------
    estimator : classifier, Pipeline or str
        A classifier with a reject option, or any with probabilities or scores, which then decides
        by posteriors; or a pipeline that ends in one.  "auto" tries several kinds of model and
        blends them, as ``rejo train`` does, also on DataFrames with words, dates and gaps; other
        names are those of ``rejo train --model``.  A pipeline may end in such a name.
    review_budget : float or int, default=None
        Target: at most this share of the cases goes to review (a float below 1), or this number
        of cases (an int) out of ``per``; with as few errors, or costs, as possible.
    max_error : float, default=None
        Target: at most this share of errors (see ``error``), with as few reviews as possible.
    reject_cost : float or "auto", default="auto"
        Target: the lowest cost, where a review costs this much and an error 1.  With posteriors of
        ``K`` classes, at most ``1 - 1 / K``; else at most 0.5.  "auto": found from another target.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        Target: the lowest cost, at prices such as ``{"error": 5000, "review": 40}``
        (:func:`rejo.prices.price_matrix`).  Prices that differ between classes need posteriors or,
        for a learner by boundaries, two classes.
        With limits, reviews go where they save most at these prices.
    max_error_by_class : float or dict of {class: float}, default=None
        Target: at most this share of errors among the cases of each true class, or those named.
    max_error_by_decision : float or dict of {class: float}, default=None
        Target: at most this share of wrong ones among the decisions for each class, or those named.
    max_error_by_group, review_budget_by_group : float or dict of {group: float}, default=None
        Target: at most this share of errors, or of reviews, in each group, or in those named;
        ``fit`` needs ``group``.
    max_cost : float, default=None
        Target: at most this mean cost of a case, at ``cost_of``; it needs a ``confidence``.
    small_groups : {"error", "review"}, default="error"
        What to do with groups that have too few cases, or with a ``confidence`` that nothing is
        proved for: name them in an error, or send all their cases to review.
    per : int, default=None
        Size of a batch, such as the cases of a week, for an integer ``review_budget`` and for what
        is expected; 100 by default.
    error : {"accepted", "overall"}, default="accepted"
        What ``max_error`` limits: errors among the cases that are decided, or among all cases.
    confidence : float, default=None
        Probability, such as 0.95, that ``fit`` does not return a model with a true rate above one
        of its limits or, with prices alone, a mean cost above the bound in ``guarantee_``.
    calibration_size : float or "auto", default="auto"
        Share of the cases, drawn at random or the latest, that is held out for the guarantee; the
        model is never fitted on them.  "auto" is 0.3, or up to 0.5 with fewer than 1,667 cases.
    param_grid : dict or list of dict, default=None
        Parameters of the estimator to choose from, as in ``GridSearchCV``: by the log loss of
        posteriors; for other learners by ``reject_cost * R + E``, at each reject cost.
    reject_costs : sequence of float, default=None
        Where learners that are trained for one reject cost start from; ``None``: 0.02, 0.04, 0.08,
        0.12, ..., 0.48, 0.5.  With posteriors and a ``confidence``, the candidates to be proved.
    %cv
    class_order : list of labels, default=None
    ordered : bool, default=None
    reject_label : object, default=None
        For a model that is named: the order of ``classes_``, whether three or more classes are
        ordered (by default if ``class_order`` is given), and the label of a rejection.
    %n_jobs
    random_state : int, RandomState or None, default=None
        Seed for drawing the calibration cases, and of a model that is named.
    verbose : bool, default=False
        Write a line on stderr for each stage of the choice of a named model.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted classifier; it answers all methods.
    reject_cost_ : float
        Price of a review, where an error costs 1, at which the model decides.
    prices_ : ndarray of shape (n_classes, n_classes + 1) or None
        The prices that were given, as in :mod:`rejo.decisions`.
    case_prices_ : CasePrices or None
        How prices depend on the case, if they do; ``prices_`` are then the means in training.
    price_columns_ : list of str
        The columns that formulas of the prices name.
    cut_ : float or None
        What a review must at least be worth, at ``prices_`` or, without any, where an error costs 1
        and a review 0.  ``None`` for a learner that is trained for one reject cost.
    best_params_, curve_params_ : dict, list of dict
        The parameters chosen from the grid; by boundaries, those for each of ``reject_costs``.
    limits_ : list of Limit
        What was asked for: a ``rate``, of whom, and the ``most`` that it may be.
    rates_ : tuple of two floats
        Estimated shares of rejections and of errors, both of all cases.
    sizes_, n_effective_ : tuple of two floats, float
        Number of independent cases that each of these is worth; the smaller of the two.
    curve_ : RejectCurve
        Rates over the folds, at 0 %, 1 %, ..., 100 % of reviews, or for each of ``reject_costs``;
        with a ``confidence``, of all candidates on the calibration cases.
    outcomes_ : list of OutOfFold or None
        The training cases out of fold, at each point of ``curve_``; ``None`` with a ``confidence``
        or if ``cv`` does not test every case once.  Not in copies, pickles or files.
    chosen_ : int
        Index of the operating point in ``curve_`` and ``outcomes_``.
    expected_ : Expected
        Expected rates in a batch of ``per`` new cases, with prediction intervals.
    shares_ : ndarray of shape (n_classes, n_classes + 1)
        Share of all cases of each true class (rows) that is decided as each class or, last, goes to
        review.  Errors that were not seen count.
    costs_ : MeanCosts or None
        The expected mean cost of a case as decided, if all were decided, or reviewed.
    guarantees_ : list of Guarantee
        What is guaranteed with ``confidence``: all of it at once.
    policy_ : GroupPolicy or None
        The groups that the model knows, and those whose cases are all reviewed.
    margin_ : Margin or None
        With ``max_error`` alone: the ``limit`` to ask for instead, and the ``rejection_rate`` that
        follows, to stay within it in nine of ten such fits.
    gap_ : tuple of two floats or None
        The shares of reviews next to a budget, if many cases are alike and none is between.
    choice_ : Choice or None
        What "auto" chose from.  Not in copies, pickles or files.
    typical_ : Typical or None
        What a typical case looks like to the classifier, for :func:`rejo.why`; no row.

    Raises
    ------
    TargetUnattainable
        By ``fit``, if no candidate meets the target; the error says what is attainable.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from rejo import RejectClassifierCV
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejectClassifierCV(SVC(C=10), review_budget=0.2).fit(X, y)
    >>> model.expected_.rejection_rate.estimate
    0.2

    Another operating point needs no other fit:

    >>> model.at(review_budget=0.1).expected_.rejection_rate.estimate
    0.1

    At most 20 % of errors among the decisions, promised with a confidence of 95 %:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(1000, random_state=0)
    >>> promise = {"max_error": 0.2, "confidence": 0.95}
    >>> search = RejectClassifierCV(LogisticRegression(), **promise, random_state=0)
    >>> search.fit(X, y).guarantee_.bound <= 0.2
    True
    """

    estimator: Any
    _: KW_ONLY
    review_budget: float | None = None
    max_error: float | None = None
    reject_cost: Any = "auto"
    cost_of: Any = None
    max_error_by_class: Any = None
    max_error_by_decision: Any = None
    max_error_by_group: Any = None
    review_budget_by_group: Any = None
    max_cost: float | None = None
    small_groups: str = "error"
    per: int | None = None
    error: str = "accepted"
    confidence: float | None = None
    calibration_size: float | str = "auto"
    param_grid: Any = None
    reject_costs: Any = None
    cv: Any = 5
    ordered: bool | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        **dict.fromkeys(TARGETS, "no_validation"),  # by check_targets
        "small_groups": [StrOptions({"error", "review"})],
        "per": [Interval(Integral, 1, 1 << 53, closed="both"), None],
        "error": [StrOptions({"accepted", "overall"})],
        "confidence": "no_validation",  # by check_targets
        "calibration_size": [
            StrOptions({"auto"}),
            FiniteInterval(Real, 0.0, 1.0, closed="neither"),
        ],
        "param_grid": [dict, list, None],
        "reject_costs": ["array-like", Iterable, None],
        "cv": ["cv_object"],
        "class_order": ["array-like", StrOptions({"sorted"}), None],
        "ordered": ["boolean", None],
        "reject_label": "no_validation",
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @folds.described
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        group: Any = None,
        time: Any = None,
        prices: Any = None,
    ) -> Self:
        """Find the operating point and fit the model.

        Parameters
        ----------
        %X, y
        sample_weight, groups : array-like of shape (n_samples,), default=None
            Weights in the fits and in the rates, and groups that are never split, each of which
            counts as one case.  With a ``confidence``, the guarantee is for one case of a new
            group, and there are no weights.
        group : array-like of shape (n_samples,), default=None
            Something else: a value for each case, such as a region, to promise by.
        time : array-like of shape (n_samples,), default=None
            When each case arose; with a ``confidence``, the latest cases are held out.
        prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
            Prices of each case, or the columns that the formulas of ``cost_of`` name; by default
            these are read from ``X``, if it is a frame.
        """
        self._check(priced=is_array(prices))
        for name, values in {"group": group, "time": time, "prices": prices}.items():
            folds.check_aligned(X, name, values)
        X, y, groups, weight = folds.check_cases(X, y, groups, sample_weight, type(self).__name__)
        task = self._task(X, y, weight, groups, group, time, prices)
        learner = self._judge_out_of_fold(task)
        model = fit_weighted(
            clone(learner.estimator), *task.part(self), task.weight,
            self._case_loss(learner.estimator, task),
        )  # fmt: skip
        learner, held_out = self._judge_by(model, learner, task)
        point = self._choose(model, task, learner, held_out)
        self._expect(task, *point)
        self.typical_ = typical_of(self.best_estimator_, X)
        return self

    def _task(
        self, X: Any, y: Any, weight: Any, groups: Any, group: Any, time: Any, given: Any
    ) -> Task:
        """Read what is asked for, and settle which cases are held out."""
        n = len(y)
        classes, k = folds.known_classes(self if self._by_name else self._model, y)
        if len(classes) < 2:
            found = f"only one class, {classes.tolist()[0]!r}" if len(classes) else "no cases"
            raise ValueError(f"y has {found}: at least two classes are needed.")
        names, member = (None, None) if group is None else group_names(group, n)
        ordered = self._has_order(classes, y)
        by, table, L = self._by_case(classes, ordered, X, given, n)
        about = {"names": names, "estimator": self._model}
        limits, prices = self._asked(classes, ordered, by_case=L, y=k, **about)
        order = folds.order_in_time(time, n)
        train, held = np.arange(n), None
        if self.confidence is not None:
            if weight is not None:
                raise ValueError(
                    "a confidence counts cases of equal weight: it cannot be combined with "
                    "sample_weight."
                )
            warn_of_repeats(X, k, groups)
            share: Any = self.calibration_size
            if share == "auto":
                share = folds.held_out_share(independent_cases(n, None, groups))
            train, held = folds.hold_out(n, share, self.random_state, groups, order)
            left = np.bincount(k[train], minlength=len(classes))
            if left.min() < min(2, np.bincount(k).min()):
                raise TargetUnattainable(
                    f"class {classes.tolist()[left.argmin()]!r} is so rare that nearly all its "
                    "cases were drawn for calibration, so the model could not learn it",
                    parameter="y",
                    remedy="Give more of its cases, leave it out, or lower calibration_size.",
                )
        rests_on, together = "random" if order is None else "latest", None
        if groups is not None:
            rests_on = "one_each" if order is None else "latest_one_each"
            together = np.unique(np.asarray(groups), return_inverse=True)[1]
        if held is not None and prices is not None and prices.ndim == 3:
            prices = prices[np.concatenate([train, held])]
        task = Task(
            X, y, classes, k, limits, prices, train, held, rests_on, weight, together, member,
            names, case_prices=by, table=table,
        )  # fmt: skip
        return task._replace(small=self._small_groups(task))

    def _by_case(
        self, classes: NDArray[Any], ordered: bool, X: Any, prices: Any, n: int
    ) -> tuple[CasePrices | None, Any, Floats | None]:
        """How prices depend on the case, what they were made of, and these, if they do."""
        by = CasePrices.of(self.cost_of, prices, ordered=ordered)
        if by is None:
            return None, None, None
        L = by.learned(classes.tolist(), X, prices, n)
        table = X if prices is None else prices
        if not is_array(table):
            table = {name: table[name] for name in by.columns}
        return by, table, L

    def _asked(
        self, classes: NDArray[Any], ordered: bool, posteriors: bool | None = None,
        names: list[str] | None = None, **about: Any,
    ) -> tuple[list[Limit], Floats | None]:  # fmt: skip
        """Limits, and prices if there are any."""
        posteriors = self._by_posteriors if posteriors is None else posteriors
        params = self.get_params(deep=False)
        prices = check_prices(params, classes, ordered=ordered, posteriors=posteriors, **about)
        return read_limits(params, classes, names), prices

    def _small_groups(self, task: Task) -> tuple[int, ...]:
        if task.group is None or task.names is None:
            return ()
        n_new = len(task.train)
        if task.held is not None:  # of what belongs together, one counts
            n_new = len(task.held if task.together is None else np.unique(task.together[task.held]))
        return too_small(
            task.limits, task.group[task.train], task.names, n_new, self.confidence,
            refuse=self.small_groups == "error",
        )  # fmt: skip

    def _judge_out_of_fold(self, task: Task) -> Learner:
        """Judge the cases out of fold, and choose the model and its parameters."""
        estimator, grid = self._model, self._points
        (X, y), groups = task.part(self), task.take(task.together)
        self.choice_: Choice | None = None
        cases, costs = None, None
        if self._by_name:
            estimator, cases = self._choose_model(X, y, groups, task)
        if cases is not None:
            points, params = [cases], [dict[str, Any]()]
        else:
            splits = (
                folds.split_shuffled(self.cv, X, y, groups, self.random_state)  # as the others were
                if self._by_name else folds.split_cases(self.cv, X, y, groups)
            )  # fmt: skip
            paid, loss = None, self._case_loss(estimator, task)
            if not by_posteriors(estimator):
                paid = task.prices
                if loss is not None:
                    pass  # it is trained for what each case costs
                elif paid is None or reject_cost_of(paid) is not None:
                    costs = self._costs(task.limits, paid)
                else:  # prices of two classes, for which it is trained as they are
                    own = folds.price_parameters(estimator, paid, task.classes)
                    estimator = folds.candidate(estimator, own or {})
            found = judge_folds(
                estimator, X, y, splits, grid=grid, costs=costs, sample_weight=task.weight,
                loss=loss, n_jobs=self.n_jobs,
            )  # fmt: skip
            K = len(task.classes)
            best = best_points(found, [uniform_prices(K, w) for w in costs] if costs else [paid])
            points = [in_order(found[b][i]) for i, b in enumerate(best)]
            params = [grid[b] for b in best]
        about = {"group": task.take(task.group), "together": groups}
        about = {name: of for name, of in about.items() if of is not None}
        points = [replace(x, **{name: of[x.rows] for name, of in about.items()}) for x in points]
        at = closest(points, task.limits)
        estimator = folds.candidate(estimator, params[at])
        if points[at].p is None and costs is not None:
            estimator.set_params(**{folds.check_rejects(estimator): points[at].trained_for})
        return Learner(estimator, points, at, params).ranked(task.ranking_prices)

    def _case_loss(self, estimator: Any, task: Task) -> Floats | None:
        """What each case to learn from costs (n, Q + 1), if that is what it is trained for."""
        if task.prices is None or task.prices.ndim == 2 or by_posteriors(estimator):
            return None
        k = task.take(task.k)
        return folds.case_loss(estimator, task.prices[: len(k)], k)

    def costs_to_try(self, classes: NDArray[Any], *, ordered: bool) -> list[float]:
        """Reject costs that a learner by boundaries is tried at: one if prices are the target."""
        return self._costs(*self._asked(classes, folds.has_order(classes, ordered)))

    def _costs(self, limits: Sequence[Limit], prices: Floats | None) -> list[float]:
        if prices is not None and all(limit.rate == "mean_cost" for limit in limits):
            return [relative_price(prices)]
        given = self.reject_costs
        return folds.check_reject_costs(CANDIDATES if given is None else given)

    def _given_cuts(self, task: Task) -> Floats | None:
        """Cuts that are to be proved, if reject costs were given for posteriors."""
        if self.reject_costs is None or not self._by_posteriors:
            return None
        K, prices = len(task.classes), task.ranking_prices
        costs = folds.check_reject_costs(self.reject_costs, folds.highest_reject_cost(K, True))
        error = prices[..., :-1].sum(axis=(-2, -1)).mean() / (K * (K - 1))
        return np.array(costs) * error - prices[..., -1].mean()

    def _choose_model(
        self, X: Any, y: Any, groups: Any, task: Task
    ) -> tuple[Any, OutOfFold | None]:
        """Choose a model by name or "auto"; by posteriors, the cases out of fold come with it."""
        if task.weight is not None:
            raise ValueError(
                f"estimator={self._by_name!r} cannot be combined with sample_weight: give an "
                "estimator of your own."
            )
        estimator, learner = self._model, self._learner
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else None
        choice = self.choice_ = choose_model(
            estimator[:-1] if hasattr(estimator, "steps") else preparation(X), X, y,
            models=None if self._by_name == "auto" else self._by_name.split(","),
            prices=None if task.prices is None else [task.prices],
            class_order=task.classes.tolist(), ordered=self._has_order(task.classes, y),
            reject_label=self.reject_label, cv=int(self.cv) if isinstance(self.cv, Integral) else 5,
            groups=groups, random_state=seed, n_jobs=self.n_jobs,
            tell=stage_lines() if self.verbose else None,
        )  # fmt: skip
        model, cases = choice.estimator, choice.chosen.cases
        if hasattr(estimator, "steps"):
            model = with_last(estimator, last_step(model))
        if isinstance(learner, NoveltyReject):
            model = with_last(model, clone(learner).set_params(classifier=last_step(model)))
            if cases is not None:
                cases = replace(cases, kind=novel_kinds(model, X, cases))
        return model, cases

    def _judge_by(
        self, model: Any, learner: Learner, task: Task
    ) -> tuple[Learner, OutOfFold | None]:
        """Judge held-out cases by the fitted model, or else those that it ranks alike."""
        posteriors = learner.cases.p is not None
        if task.held is not None:
            X, _ = _safe_split(self, task.X, task.y, task.held, task.train)
            new = judge_with(model, X, task.classes, posteriors=posteriors)
            rows = len(task.train) + np.arange(len(task.held))
            new = replace(new, rows=rows).at_prices(task.ranking_prices)
            about: dict[str, Any] = {"y": task.k, "group": task.group, "together": task.together}
            known = {name: of[task.held] for name, of in about.items() if of is not None}
            return learner, replace(new, **known)
        if is_tied(learner.cases):  # which it decides, or reviews, together
            final = judge_with(model, task.X, task.classes, posteriors=posteriors)
            learner = learner._replace(final=final).ranked(task.ranking_prices)
        return learner, None

    def settle(
        self,
        model: Any,
        points: Sequence[OutOfFold],
        proving: Sequence[OutOfFold],
        *,
        ordered: bool,
        X: Any = None,
    ) -> Self:
        """Find the operating point of a ``model`` fitted on other cases, in the place of ``fit``.

        The ``points`` are cases that it has not seen, which choose the operating point; by
        boundaries, at each reject cost that the model can decide at.  Others, the ``proving`` ones,
        say what to expect and prove what is promised: the same cases must not do both.  Some
        training cases ``X`` say what is typical.
        """
        self._check()
        for name in ("param_grid", "max_error_by_group", "review_budget_by_group"):
            if getattr(self, name) is not None:
                raise RejoError(
                    Text(
                        Setting(name),
                        " cannot be used for a model that is fitted once, on rows "
                        "that are streamed",
                    ),
                    parameter=name,
                    remedy="Use RejectClassifierCV.fit on rows that fit into memory.",
                )
        classes, posteriors = final_classifier(model).classes_, points[0].p is not None
        limits, prices = self._asked(classes, folds.has_order(classes, ordered), posteriors)
        k, together = points[0].y, points[0].together
        task = Task(
            X, None, classes, k, limits, prices, np.arange(len(k)), together=together,
            rests_on="random" if together is None else "one_each",
        )  # fmt: skip
        points, proving = (
            [one.at_prices(task.ranking_prices) for one in some] for some in (points, proving)
        )
        at = closest(points, limits)
        new, seed = proving[at], self.random_state if isinstance(self.random_state, Integral) else 0
        new = new.take(np.random.RandomState(int(seed)).permutation(len(new.y)))
        learner = Learner(self.estimator, list(points), at, [{}] * len(points))
        self.choice_ = None
        self._expect(task, *self._choose(model, task, learner, new, apart=True), apart=True)
        self.typical_ = None if X is None else typical_of(self.best_estimator_, X)
        return self

    def _choose(
        self, model: Any, task: Task, learner: Learner, held_out: OutOfFold | None = None, *,
        apart: bool = False,
    ) -> tuple[Chosen, OutOfFold, OutOfFold | None]:  # fmt: skip
        """Choose and set the operating point; return it with the cases, also held-out ones, at it.

        The model may have been fitted ``apart``, on other cases.
        """
        chosen = choose(
            learner.cases, task.limits, task.prices, self.confidence, held_out=held_out,
            small=task.small, small_groups=self.small_groups, given=self._given_cuts(task),
            rests_on=task.rests_on, size=task.size,
        )  # fmt: skip
        own, cut = reviewing(learner.cases, chosen.reviewed), chosen.cut
        if own.prices is None and np.array_equal(own.at(cut).decision, own.at(REGION).decision):
            cut = REGION
        cases = own.at(cut)
        seen = None if held_out is None else reviewing(held_out, chosen.reviewed)
        self.best_estimator_ = model_at(model, cases, task.mean_prices, task.case_prices)
        if cases.prices is None and task.prices is not None and reject_cost_of(task.prices) is None:
            paid = relative_price(task.prices)  # not a parameter that it had no use for
            cases = replace(cases, trained_for=paid)
            seen = None if seen is None else replace(seen, trained_for=paid)
        self.cut_ = None if cases.prices is None else cut
        self.reject_cost_ = cases.reject_cost
        self.prices_, self.limits_ = task.mean_prices, task.limits
        self.case_prices_ = task.case_prices
        self.best_params_, self.curve_params_ = learner.params[learner.at], learner.params
        self.guarantees_, self.margin_ = list(chosen.guarantees), chosen.margin
        self.gap_, self.policy_ = chosen.gap, None
        if task.names is not None:
            self.policy_ = GroupPolicy(task.names, [task.names[g] for g in chosen.reviewed])
        last = final_classifier(self.best_estimator_)  # which may reject though the fit did not
        self.classes_, self.reject_label_ = last.classes_, last.reject_label_
        self._prices_said = None  # in words as given: prices_ hold the reviewers' mistakes too
        if self.cost_of is not None:
            self._prices_said = describe_prices(self.cost_of, self.classes_.tolist())
        elif self.case_prices_ is not None:
            said = describe_prices(self.prices_, self.classes_.tolist())
            self._prices_said = f"Prices differ by case; on average: {said}"
        copy_fitted(self, self.best_estimator_, names=FEATURES)
        self._kept: Any = None if apart else (task._replace(X=None, y=None), learner)
        if self.confidence is not None and seen is not None:
            one_fold = replace(seen, fold=np.zeros(len(seen.y), np.intp))
            points = [one_fold.at(c) for c in chosen.cuts]
            self.chosen_ = int(np.searchsorted(chosen.cuts, chosen.cut))
        elif cases.prices is None:
            points, self.chosen_ = list(learner.points), learner.at
            points[learner.at] = cases
        else:
            points = [own.at(c) for c in chosen.cuts]
            self.chosen_ = int(np.searchsorted(chosen.cuts, cut))
        self.curve_ = curve_of(points)
        once = np.array_equal(cases.rows, np.arange(len(task.train)))
        self.outcomes_ = points if once and self.confidence is None and not apart else None
        return chosen, cases, None if seen is None else seen.at(cut)

    def _expect(
        self, task: Task, chosen: Chosen, cases: OutOfFold, seen: OutOfFold | None, *,
        apart: bool = False,
    ) -> None:  # fmt: skip
        """Say what to expect at the operating point: by held-out cases, if the fit was apart."""
        if apart and seen is not None:
            cases, size = seen, independent_cases(len(seen.y), None, seen.together)
            found = tally(cases.decision, cases.y)
            self.rates_ = float(found.rejection_rate), float(found.error_rate)
            self.sizes_ = (size / (2.0 if chosen.guarantees else 1.0),) * 2  # luck, if it is proved
        else:
            n, size = len(task.train), task.size
            total = n if task.weight is None else float(task.weight.sum())
            tested = len(cases.y) if cases.weight is None else float(cases.weight.sum())
            # An allowed error is met partly by luck; by luck alone, maybe, if no cut is sure of it.
            sure = chosen.margin is not None and chosen.margin.limit is not None
            luck = 0.0 if chosen.margin is None else 1.0 if sure else 4.0
            self.rates_, self.sizes_ = estimate_rates(
                cases, size, tested=tested / total, smooth=chosen.smooth, luck=luck, held_out=seen
            )
        self.n_effective_ = min(self.sizes_)
        likely = None if cases.p is None else likely_classes(cases)  # at all cuts the same
        self.shares_ = outcome_shares(cases, len(task.classes), size, likely)
        self.costs_ = None if task.prices is None else mean_costs(cases, task.prices, size, likely)
        self.expected_ = expect(*self.rates_, self.sizes_, self.per or 100, self.confidence or 0.95)

    def at(self, **targets: Any) -> Self:
        """Return a copy at another operating point; it shares the fit.

        Parameters
        ----------
        **targets
            Other limits or prices, as the parameters of the class, such as ``review_budget=0.2``
            or ``cost_of="error=500,review=20"``; those that are not named are dropped.  With
            formulas of other columns, also ``prices`` of the training cases, as for ``fit``.

        Returns
        -------
        model : RejectClassifierCV
            With its own ``expected_``, ``costs_`` and ``summary()``.
        """
        check_is_fitted(self)
        prices = targets.pop("prices", None)
        if unknown := set(targets) - {*TARGETS, "per", "error"}:
            raise TypeError(f"at() takes targets such as review_budget; got {min(unknown)}.")
        kept = getattr(self, "_kept", None)
        if self.confidence is not None or kept is None:
            why = "with a confidence the held-out cases prove one operating point"
            if self.confidence is None:
                why = "this copy does not have the cases that were judged out of fold"
            raise ValueError(f"at() cannot find another operating point: {why}. Fit again.")
        found = copy(self)
        none: dict[str, Any] = dict.fromkeys(TARGETS) | {"reject_cost": "auto"}
        found.__dict__.update(none | targets)
        check_targets(found.get_params(deep=False), priced=is_array(prices))
        task, learner = kept
        posteriors = learner.cases.p is not None
        ordered = self._has_order(task.classes, None)
        if prices is None and price_columns(found.cost_of) and not is_array(task.table):
            prices = task.table
        by, table, L = found._by_case(task.classes, ordered, None, prices, len(task.k))
        limits, prices = found._asked(
            task.classes, ordered, posteriors, task.names, by_case=L, y=task.k
        )
        task = task._replace(limits=limits, prices=prices, case_prices=by, table=table)
        learner = learner._replace(
            points=[learner.cases], at=0, params=[learner.params[learner.at]]
        ).ranked(task.ranking_prices)
        task = task._replace(small=found._small_groups(task))
        found._expect(task, *found._choose(self.best_estimator_, task, learner))
        return found

    def _check(self, *, priced: bool = False) -> None:
        """Refuse parameters that do not go together."""
        self._validate_params()
        self.__dict__.pop("expected_", None)  # not fitted until this fit reaches its target
        given = check_targets(self.get_params(deep=False), priced=priced)
        learner, name = self._learner, self._by_name
        if isinstance(learner, FrozenEstimator):
            raise TypeError(
                "estimator is frozen, so no other operating point can be set on it. Freeze the "
                "classifier inside: RejectClassifierCV(ThresholdRejectClassifier("
                "FrozenEstimator(classifier)), ...)."
            )
        if not name and not isinstance(learner, RejectClassifier):
            raise TypeError(
                "estimator must be a classifier with a reject option, such as RejoSVC, or one with "
                f"probabilities or scores, or a pipeline that ends in one; got {self.estimator!r}. "
                "A search is param_grid here."
            )
        names = ("class_order", "ordered", "reject_label")
        own = [parameter for parameter in names if getattr(self, parameter) is not None]
        price = "" if name else folds.check_rejects(self._model)
        promised = self.confidence is not None
        listed = isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")
        for problem, wrong in {
            f"{' and '.join(own)}: only for a model that is named; set it on estimator.":
                own and not name,
            f"param_grid must not set {price}: it is found from the target.":
                not name and any(price in point for point in self._points),
            f"estimator={name!r} tunes its models by itself: leave param_grid out.":
                name and self.param_grid is not None,
            "max_cost is a promise: give a confidence, such as 0.95. For the lowest cost without a "
            "promise, cost_of alone is enough.":
                "max_cost" in given and not promised,
            "cv is a list of splits of all cases, but with a confidence the calibration cases are "
            "held out first: give a number of folds, or a splitter.":
                promised and listed,
        }.items():  # fmt: skip
            if wrong:
                raise ValueError(problem)

    # ---- the estimator --------------------------------------------------------------------

    @property
    def _model(self) -> Any:
        """The estimator; a plain classifier at its end gets a reject option."""
        return folds.rejecting(self.estimator)

    @property
    def _points(self) -> list[dict[str, Any]]:
        """The points of the grid, by the names that parameters have in :attr:`_model`."""
        points = list(ParameterGrid(self.param_grid or {}))
        if not folds.is_plain(self.estimator):
            return points
        last = folds.last_name(self.estimator)
        return [
            {
                name
                if not name.startswith(last)
                else f"{last}estimator__{name[len(last) :]}": value
                for name, value in point.items()
            }
            for point in points
        ]

    @property
    def has_target(self) -> bool:
        """Whether a limit or a price was given."""
        given = [getattr(self, name) for name in TARGETS]
        return any(not (x is None or (isinstance(x, str) and x == "auto")) for x in given)

    @property
    def _learner(self) -> Any:
        """The last step of the pipeline, or the estimator itself; it may be a name."""
        return last_step(self._model)

    @property
    def _by_name(self) -> str:
        """The name by which a model is chosen, such as "auto"; empty if it is given."""
        learner = self._learner
        if isinstance(learner, NoveltyReject):
            learner = learner.classifier
        return learner if isinstance(learner, str) else ""

    def _has_order(self, classes: NDArray[Any], y: Any) -> bool:
        """Return whether a price for each step between classes makes sense."""
        learner = self if self._by_name else self._learner
        params = learner.get_params()
        orders = [params[name] for name in params if name.rpartition("__")[2] == "class_order"]
        ordered = any(order is not None for order in orders) or (y is not None and is_ordered(y))
        return folds.has_order(classes, ordered if self.ordered is None else self.ordered)

    @property
    def _by_posteriors(self) -> bool:
        """Whether the estimator takes any prices; of a name it is known only later."""
        return bool(self._by_name) or by_posteriors(self._model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, str):
            inner = get_tags(self.estimator)
            tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        return tags


def preparation(X: Any) -> Any:
    """Return what turns cases into standardised numbers: of a frame, or of an array."""
    if issparse(X):
        raise ValueError("a model by name centres its features, and X is sparse: give X.toarray().")
    if hasattr(X, "columns"):
        return TableEncoder()
    gaps = np.isnan(np.asarray(X, dtype=np.float64)).any()
    return make_pipeline(SimpleImputer(), StandardScaler()) if gaps else StandardScaler()
