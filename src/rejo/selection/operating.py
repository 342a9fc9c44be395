"""From a target that a manager can state to a fitted classifier, and what to expect of it."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    Must,
    count,
    each,
    floats,
    mapping,
    maybe,
    number,
    pair,
    part,
    plain,
    require,
    storable,
    text,
)
from rejo.decisions import uniform_prices
from rejo.estimators import (
    Judgement,
    RejectClassifier,
    final_classifier,
    is_ordered,
    mean_price,
    typical_of,
)
from rejo.prices import describe_prices, reject_cost_of
from rejo.selection.chosen import ChosenModel
from rejo.selection.crossfit import CrossFit, with_cut
from rejo.selection.cuts import Margin
from rejo.selection.expected import Expected, expect
from rejo.selection.folds import (
    by_posteriors,
    check_aligned,
    check_cases,
    check_rejects,
    described,
    has_order,
    known_classes,
    last_step,
)
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.guarantee import Guarantee
from rejo.selection.holdout import order_in_time
from rejo.selection.path import RejectCurve
from rejo.selection.proof import estimate, prove
from rejo.selection.rate_limits import group_names, read_limits
from rejo.selection.repeats import warn_of_repeats
from rejo.selection.search import CANDIDATES, Found, Request, search_cut, search_path
from rejo.selection.summary import MeanCosts, advise, matching_price, reason, summarise
from rejo.selection.target import TARGETS, Target, check_prices, check_targets
from rejo.typical import Typical

__all__ = ["CANDIDATES", "RejectClassifierCV"]


@storable
@described
class RejectClassifierCV(ChosenModel):
    """Find the operating point, and the model, for a target such as a review budget.

    A classifier that decides by posteriors and prices is cross-fitted once.  The cases are ranked
    by what a review of them is worth, and the target is a cut in this ranking: a budget is met to
    within one case.  Other learners are trained for one reject cost: they are fitted at each of
    ``reject_costs``, and the one that meets the target best then reviews a few more cases, or
    fewer, along its own ranking.  Either way, the model is fitted on all cases at the end.  Several
    limits, also for each class, decision or group, all hold at the same operating point.

    Estimates are not guarantees; for a guarantee, give a ``confidence``.  Some of the cases are
    then held out, and a candidate is accepted only if these cases prove that it keeps all limits,
    by exact tests in an order that was settled before (:footcite:t:`angelopoulos2025`; costs by the
    bound of :footcite:t:`waudbysmith2024`).

    Parameters
    ----------
    estimator : RejectClassifier or Pipeline
        A classifier with a reject option, or a pipeline that ends in one.
    review_budget : float or int, default=None
        Target: at most this share of the cases goes to review (a float below 1), or this number
        of cases (an int) out of ``per``; with as few errors, or costs, as possible.
    max_error : float, default=None
        Target: at most this share of errors (see ``error``), with as few reviews as possible.
    reject_cost : float or "auto", default="auto"
        Target: the lowest cost, where a review costs this much and an error 1.  With posteriors of
        ``K`` classes, at most ``1 - 1 / K``; else at most 0.5.  "auto" means that it is found from
        another target.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        Target: the lowest cost, at prices such as ``{"error": 5000, "review": 40}``; see
        :func:`rejo.prices.price_matrix`.  Prices that differ between classes need an estimator
        that decides by posteriors.  They may also be given with ``review_budget`` or
        ``max_error``: reviews then go where they save most at these prices.
    max_error_by_class : float or dict of {class: float}, default=None
        Target: at most this share of errors among the cases of each true class (misses among the
        ill), or of those named.
    max_error_by_decision : float or dict of {class: float}, default=None
        Target: at most this share of wrong ones among the decisions for each class (wrong
        approvals), or for those named.
    max_error_by_group : float or dict of {group: float}, default=None
        Target: at most this share of errors in each group, or in those named; ``fit`` needs
        ``group``.
    review_budget_by_group : float or dict of {group: float}, default=None
        Target: at most this share of reviews in each group, or in those named.
    max_cost : float, default=None
        Target: at most this mean cost of a case, at the prices ``cost_of``; it needs a
        ``confidence``.
    small_groups : {"error", "review"}, default="error"
        What to do with groups that have too few cases to promise anything: name them in an error,
        or send all their cases to review.  With "review" and a ``confidence``, groups that the
        cases prove nothing for are also sent to review, at some loss of confidence.
    per : int, default=None
        Size of a batch, such as the cases of a week: an integer ``review_budget`` is a number of
        cases out of these, and :attr:`expected_` and :meth:`summary` speak of this many cases; of
        100 by default.
    error : {"accepted", "overall"}, default="accepted"
        What ``max_error`` limits: errors among the cases that are decided, which is what a
        regulator asks about, or among all cases, the paper's ``E``.
    confidence : float, default=None
        Probability, such as 0.95, that ``fit`` does not return a model with a true rate above one
        of its limits: it returns one that keeps all of them, or raises an error.  With prices
        alone, that the mean cost of a case is not above the bound in ``guarantee_``.
    calibration_size : float, default=0.3
        Share of the cases, drawn at random or the latest, that is held out for the guarantee.  The
        model is not fitted on them afterwards: the guarantee is for the model that they tested.
    param_grid : dict or list of dict, default=None
        Parameters of the estimator to choose from, as in ``GridSearchCV``.  For posteriors, those
        with the lowest cost if prices alone are the target, else the lowest log loss; for other
        learners, the lowest ``reject_cost * R + E`` at each reject cost.
    reject_costs : sequence of float, default=None
        Where learners that are trained for one reject cost start from; ``None``: 0.02, 0.04, 0.08,
        0.12, ..., 0.48, 0.5.  With posteriors and a ``confidence``, the candidates to be proved, in
        place of cuts at every half a percent of reviews out of fold.
    %cv, n_jobs
    random_state : int, RandomState or None, default=None
        Seed for drawing the calibration cases; pass an int for reproducible output.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted classifier; it answers all methods.
    reject_cost_ : float
        Price of a review, where an error costs 1, at which the model decides: the one that was
        given, that was found, or to which the cut amounts (of the mean prices, if they differ
        between classes).  If a cut reviews every case it is 0 or less, and if it reviews none it
        may be 1 or more.
    prices_ : ndarray of shape (n_classes, n_classes + 1) or None
        The prices that were given, as in :mod:`rejo.decisions`.
    cut_ : float or None
        What a review must at least be worth, at ``prices_``, or at a price of 1 for an error and 0
        for a review if none were given; 0 if prices are the target.  ``None`` for a learner that
        is trained for one reject cost.
    best_params_ : dict
        The parameters chosen from the grid.
    targets_ : list of Target
        What was asked for: ``name`` of the parameter, the ``rate`` it limits and the ``limit``.
    target_ : Target
        The first of them.
    rates_ : tuple of two floats
        Estimated shares of rejections and of errors, both of all cases, out of fold; with a
        ``confidence``, of the cases that the model learned from.  With ``max_error``, errors are
        read from a smooth curve: those counted at the chosen cut are fewer than new cases will see.
    sizes_ : tuple of two floats
        Number of independent cases that each of these estimates is worth.
    n_effective_ : float
        The smaller of the two.
    curve_ : RejectCurve
        Rates over the folds, at 0 %, 1 %, ..., 100 % of reviews, or for each of ``reject_costs``;
        with a ``confidence``, of all candidates on the calibration cases.
    outcomes_ : list of Outcomes or None
        What became of every training case in the folds, for each point of ``curve_``; ``None`` with
        a ``confidence``, or if ``cv`` does not test every case exactly once.  It is left out of
        copies, pickles and model files.
    chosen_ : int
        Index of the operating point in ``curve_`` and ``outcomes_``.
    expected_ : Expected
        Expected rates in a batch of ``per`` new cases, with prediction intervals.
    costs_ : MeanCosts or None
        What a case costs on average out of fold, if prices were given: ``chosen``, as decided;
        ``review_all`` and ``decide_all``, if every case were reviewed, or decided.
    guarantees_ : list of Guarantee
        What is guaranteed with ``confidence``: all of it at once.
    guarantee_ : Guarantee or None
        The first of them.
    policy_ : GroupPolicy or None
        The groups that the model knows, and those whose cases are all reviewed.
    margin_ : Margin or None
        With ``max_error`` and no ``confidence``, the limit is exceeded about as often as not.  The
        ``limit`` to ask for instead, and the ``rejection_rate`` that follows, to stay within
        ``max_error`` in nine of ten such fits; both ``None`` if there are too few cases.
    typical_ : Typical or None
        What a typical case looks like to the classifier, for :func:`rejo.why`; no row.  ``None`` if
        ``why`` needs nothing, as for trees, or if the cases that reach the classifier are not
        numbers.
    classes_, reject_label_
        As in the estimator.

    Raises
    ------
    TargetUnattainable
        By ``fit``, if no candidate meets the target; the error says what is attainable.

    See Also
    --------
    compare : Compare methods before you choose one.
    rejo.distributed.fit : The same search on files that are larger than the memory.
    rejo.selection.Guarantee : What is promised.
    sklearn.model_selection.TunedThresholdClassifierCV : Tune one threshold, without reviews.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from rejo import RejectClassifierCV, ThresholdRejectClassifier
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> svm = ThresholdRejectClassifier(SVC(C=10))
    >>> model = RejectClassifierCV(svm, review_budget=0.2).fit(X, y)
    >>> model.expected_.rejection_rate.estimate
    0.2

    At most 20 % of errors among the decisions, promised with a confidence of 95 %:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(1000, random_state=0)
    >>> base = ThresholdRejectClassifier(LogisticRegression())
    >>> search = RejectClassifierCV(base, max_error=0.2, confidence=0.95, random_state=0)
    >>> search.fit(X, y).guarantee_.bound <= 0.2
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        **dict.fromkeys(TARGETS, "no_validation"),  # by check_targets
        "small_groups": [StrOptions({"error", "review"})],
        "per": [Interval(Integral, 1, None, closed="left"), None],
        "error": [StrOptions({"accepted", "overall"})],
        "confidence": "no_validation",  # by check_targets
        "calibration_size": [Interval(Real, 0.0, 1.0, closed="neither")],
        "param_grid": [dict, list, None],
        "reject_costs": ["array-like", Iterable, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _fitted: ClassVar[dict[str, Must]] = {
        "reject_cost_": number(),
        "best_params_": mapping(text(), plain()),
        "prices_": maybe(floats("K", None)),
        "cut_": maybe(number()),
        "targets_": each(part(Target)),
        "rates_": pair(number(0.0, 1 + 1e-9)),
        "sizes_": pair(number(1e-300)),
        "n_effective_": number(1e-300),
        "curve_": part(RejectCurve),
        "chosen_": count(),
        "expected_": part(Expected),
        "costs_": maybe(part(MeanCosts)),
        "guarantees_": each(part(Guarantee)),
        "policy_": maybe(part(GroupPolicy)),
        "margin_": maybe(part(Margin)),
        "typical_": maybe(part(Typical)),
        "_prices_said": maybe(text()),
    }
    _not_saved = ("outcomes_",)  # an entry for each training case

    curve_: RejectCurve
    guarantees_: list[Guarantee]
    targets_: list[Target]
    policy_: GroupPolicy | None

    def __init__(
        self,
        estimator: Any,
        *,
        review_budget: float | None = None,
        max_error: float | None = None,
        reject_cost: float | str = "auto",
        cost_of: Any = None,
        max_error_by_class: Any = None,
        max_error_by_decision: Any = None,
        max_error_by_group: Any = None,
        review_budget_by_group: Any = None,
        max_cost: float | None = None,
        small_groups: str = "error",
        per: int | None = None,
        error: str = "accepted",
        confidence: float | None = None,
        calibration_size: float = 0.3,
        param_grid: Any = None,
        reject_costs: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.review_budget = review_budget
        self.max_error = max_error
        self.reject_cost = reject_cost
        self.cost_of = cost_of
        self.max_error_by_class = max_error_by_class
        self.max_error_by_decision = max_error_by_decision
        self.max_error_by_group = max_error_by_group
        self.review_budget_by_group = review_budget_by_group
        self.max_cost = max_cost
        self.small_groups = small_groups
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
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        group: Any = None,
        time: Any = None,
        crossfit: CrossFit | None = None,
    ) -> Self:
        """Find the operating point and fit the model.

        Parameters
        ----------
        %X, y
        sample_weight, groups : array-like of shape (n_samples,), default=None
            Weights in the fits and in the rates, and groups that are never split; a group counts
            as one case in the prediction intervals.  With a ``confidence``, whole groups are held
            out and one case of each, drawn at random, counts: the guarantee is for one case of a
            new group.  Weights cannot be combined with ``confidence``, nor with several limits.
        group : array-like of shape (n_samples,), default=None
            Something else: a value for each case, such as a region, to promise by
            (``max_error_by_group``, ``review_budget_by_group``).  It need not be a feature.
        time : array-like of shape (n_samples,), default=None
            When each case arose, as dates or numbers.  With a ``confidence``, the latest cases are
            held out in place of random ones.
        crossfit : CrossFit, default=None
            Posteriors of these cases, by :func:`~rejo.selection.cross_fit` of the same estimator
            with the same weights; then only the model on all cases is fitted, and ``cv`` does not
            matter.
        """
        self._validate_params()
        self.__dict__.pop("expected_", None)  # not fitted until this fit reaches its target
        targets = self._check(crossfit)
        for name, values in {"group": group, "time": time}.items():
            check_aligned(X, name, values)
        X, y, groups, weight = check_cases(X, y, groups, sample_weight, type(self).__name__)
        classes, k = known_classes(self.estimator, y)
        posteriors = by_posteriors(self.estimator)
        params = self.get_params(deep=False)
        prices = check_prices(
            params, classes, ordered=_ordered(self._learner, classes, y), posteriors=posteriors
        )
        names, member = (None, None) if group is None else group_names(group, len(k))
        several = len(targets) > 1 or targets[0].name.count("_by_") or targets[0].name == "max_cost"
        limits = read_limits(params, targets, classes, names)
        request = Request(
            self.estimator, X, y, classes, k, weight, groups, targets[0], prices,
            self.reject_costs, self.param_grid, self.cv, self.n_jobs, limits, member, names or (),
            order_in_time(time, len(k)), self.small_groups,
        )  # fmt: skip
        if weight is not None and (several or self.confidence is not None):
            raise ValueError(
                "several limits, limits by class or group, and a confidence count cases of equal "
                "weight: they cannot be combined with sample_weight."
            )
        if self.confidence is not None:
            warn_of_repeats(X, k, groups)
            found = prove(request, self.confidence, self.calibration_size, self.random_state)
        elif several:
            found = estimate(request)
        else:
            found = search_cut(request, crossfit) if posteriors else search_path(request)
        if found.policy is None and names is not None:
            found = found._replace(policy=GroupPolicy(names, []))
        self._store(found, request, targets)
        return self

    def _store(self, found: Found, request: Request, targets: list[Target]) -> None:
        self.best_estimator_, self.best_params_ = found.model, found.params
        self.reject_cost_ = found.reject_cost
        self.cut_, self.prices_ = found.cut, request.prices
        self.curve_, self.outcomes_, self.chosen_ = found.curve, found.outcomes, found.chosen
        self.guarantees_, self.policy_ = list(found.guarantees), found.policy
        self.margin_, self.costs_ = found.margin, found.costs
        self.rates_, self.sizes_ = found.rates, found.sizes
        self.n_effective_ = min(self.sizes_)
        self.targets_ = [
            target if target.rate is not None else target._replace(limit=self._limit_of(target))
            for target in targets
        ]
        last = final_classifier(found.model)
        self.classes_, self.reject_label_ = last.classes_, last.reject_label_
        self._prices_said = None  # in words as given: prices_ hold the reviewers' mistakes too
        if self.cost_of is not None:
            self._prices_said = describe_prices(self.cost_of, self.classes_.tolist())
        self._copy_features()
        self.typical_ = None if request.X is None else typical_of(found.model, request.X)
        level = self.confidence or 0.95
        self.expected_ = expect(*self.rates_, self.sizes_, self.per or 100, level)

    def _limit_of(self, target: Target) -> float:
        if target.name == "max_cost" and self.max_cost is not None:
            return float(self.max_cost)
        return float(self.reject_cost_)

    @property
    def target_(self) -> Target:
        """The first of the targets."""
        check_is_fitted(self)
        return self.targets_[0]

    @property
    def guarantee_(self) -> Guarantee | None:
        """The first of the guarantees."""
        check_is_fitted(self)
        return self.guarantees_[0] if self.guarantees_ else None

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        if self.prices_ is None:
            return super()._mean_cost(X, y, sample_weight)
        # The model decides at these prices plus the cut, which is not what a review costs.
        return mean_price(self.prices_, self.classes_, self._decide(X), y, sample_weight)

    def judge(self, X: Any, *, group: Any = None) -> Judgement:
        """Decide each point; see :meth:`rejo.estimators.RejectClassifier.judge`.

        What a review is worth is at ``prices_``, or at a price of 1 for an error and 0 for a
        review: then it is the probability that the decision is wrong.  Points of a ``group`` that
        the model does not know, or for which nothing is promised, are rejected.
        """
        check_aligned(X, "group", group)
        found = super().judge(X)
        if found.worth is not None and self.cut_ is not None:
            found = found._replace(worth=found.worth + self.cut_)  # the cut was added to the price
        if group is not None and self.policy_ is None:
            raise ValueError("group was not given to fit, so the model knows no groups.")
        if self.policy_ is None or (group is None and not self.policy_.needed):
            return found
        if group is None:
            raise ValueError(
                "the decisions of this model depend on the group of each case: pass group=."
            )
        return self.policy_.apply(found, group)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, group: Any = None) -> float:
        """As :meth:`rejo.estimators.RejectClassifier.score`, of cases that belong to groups."""
        if group is None:
            return super().score(X, y, sample_weight)
        decision = self.judge(X, group=group).decision
        prices = self.prices_
        if prices is None:
            prices = uniform_prices(len(self.classes_), float(self.reject_cost_))
        return 1.0 - mean_price(prices, self.classes_, decision, y, sample_weight)

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
        return expect(*self.rates_, self.sizes_, int(n_cases), self.expected_.confidence)

    def summary(self) -> str:
        """Describe the model in a paragraph of plain words."""
        check_is_fitted(self)
        found = [summarise(self.expected_, self.reason(), self.guarantees_, self.policy_)]
        if self.margin_ is not None:
            found.append(advise(self.target_, self.margin_))
        found.append(matching_price(self.targets_, self.reject_cost_, self._prices_said))
        return " ".join(filter(None, found))

    def reason(self) -> str:
        """Say what was asked for, at which prices, and what cases cost if prices were given."""
        check_is_fitted(self)
        return reason(self.targets_, self.reject_cost_, self._prices_said, self.costs_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "expected_")

    @property
    def _learner(self) -> Any:
        """The last step of the pipeline, or the estimator itself."""
        return last_step(self.estimator)

    def _operating_point(self) -> dict[str, Any]:
        targets = {target.name: target.limit for target in self.targets_}
        point = super()._operating_point() | {"target": targets}
        if self.prices_ is not None and reject_cost_of(self.prices_) is None:
            point["prices"] = self.prices_
        if self.policy_ is not None:
            point["groups"] = self.policy_._asdict()
        share = getattr(final_classifier(self.best_estimator_), "review_share", None)
        if share is not None:  # of ordinary cases that a detector may call novel
            point["novelty"] = share
        return point | ({"guarantees": self.guarantees_} if self.guarantees_ else {})

    # A cut may review nothing at all, or everything.

    @property
    def _lowest_reject_cost(self) -> float:
        return -np.inf if self.decides_by_posteriors else 0.0

    @property
    def _highest_reject_cost(self) -> float:
        return np.inf if self.decides_by_posteriors else 0.5

    def _check_state(self) -> None:
        """The rates are shares, the point is on the curve, and it decides by its prices."""
        super()._check_state()
        fine = sum(self.rates_) <= 1 + 1e-9
        require(fine, self, "its rates are not shares of all cases")
        fine = self.n_effective_ == min(self.sizes_)
        require(fine, self, "the numbers of cases behind its rates do not agree")
        fine = self.chosen_ < len(self.curve_.reject_costs)
        require(fine, self, "its operating point is not on its curve")
        K = len(self.classes_)
        fine = self.prices_ is None or self.prices_.shape[1] == K + 1
        require(fine, self, "prices_ are not a number for each outcome")
        if self.decides_by_posteriors:
            prices = uniform_prices(K, 0.0) if self.prices_ is None else self.prices_
            ours, cut = final_classifier(self.best_estimator_).prices_, self.cut_
            fine = cut is not None and np.allclose(with_cut(prices, cut), ours, rtol=1e-9)
            require(fine, self, "its prices and its cut are not those it decides by")
        typical, last = self.typical_, final_classifier(self.best_estimator_)
        fine = typical is None or len(typical.mean) == getattr(last, "n_features_in_", None)
        require(fine, self, "what is typical is so of other features")

    def _restore_state(self) -> None:
        self.expected_ = self.expected_._restored()

    def _check(self, crossfit: CrossFit | None) -> list[Target]:
        """Return the targets; refuse parameters that do not go together."""
        targets = check_targets(self.get_params(deep=False))
        if isinstance(self._learner, FrozenEstimator):
            raise TypeError(
                "estimator is frozen, so no other operating point can be set on it. Freeze the "
                "classifier inside: RejectClassifierCV(ThresholdRejectClassifier("
                "FrozenEstimator(classifier)), ...)."
            )
        if not isinstance(self._learner, RejectClassifier):
            raise TypeError(
                "estimator must be a classifier with a reject option, such as RejoSVC, or a "
                f"pipeline that ends in one; got {self.estimator!r}. ThresholdRejectClassifier or "
                "ReplicationClassifier around a classifier has one; a search is param_grid here."
            )
        name = check_rejects(self.estimator)
        if any(name in params for params in ParameterGrid(self.param_grid or {})):
            raise ValueError(f"param_grid must not set {name}: it is found from the target.")
        if crossfit is not None and (
            self.confidence is not None or not by_posteriors(self.estimator) or len(targets) > 1
        ):
            raise ValueError(
                "crossfit is for an estimator that decides by posteriors, such as "
                "ThresholdRejectClassifier, without a confidence, and for one target."
            )
        if self.confidence is None and any(target.name == "max_cost" for target in targets):
            raise ValueError(
                "max_cost is a promise: give a confidence, such as 0.95. For the lowest cost "
                "without a promise, cost_of alone is enough."
            )
        listed = isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")
        if self.confidence is not None and listed:
            raise ValueError(
                "cv is a list of splits of all cases, but with a confidence the calibration cases "
                "are held out first: give a number of folds, or a splitter."
            )
        return targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        return tags


def _ordered(learner: Any, classes: Any, y: Any) -> bool:
    """Return whether a price for each step between classes makes sense."""
    params = learner.get_params()
    orders = [params[name] for name in params if name.rpartition("__")[2] == "class_order"]
    return has_order(classes, any(order is not None for order in orders) or is_ordered(y))
