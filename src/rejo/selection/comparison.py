"""Which method is best on these data? All methods on the same splits, and paired differences."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import fsum
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import delayed

from rejo import metrics
from rejo._errors import RejoError
from rejo._io import progress
from rejo._jobs import each_done
from rejo._sparse import check_sparse
from rejo._typing import Floats, Indices
from rejo.catalogue import ProblemSize, need_order, standard_methods
from rejo.decisions import uniform_prices
from rejo.estimators import (
    class_indices,
    cost_parameter,
    encode_classes,
    final_step,
    fit_weighted,
    is_ordered,
)
from rejo.metrics import tally
from rejo.prices import (
    CasePrices,
    check_reviews_pay,
    mean_prices,
    of_rows,
    price_matrix,
    price_of,
    reject_cost_of,
)
from rejo.selection import folds
from rejo.selection.compared import DECIDE_ALL, REVIEW_ALL, Comparison, Row
from rejo.selection.folds import Fold, candidate, last_step
from rejo.selection.models import Choice, choose_model, quiet
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.out_of_fold import best_points, judge_folds, judge_with

REJECT_COSTS = (0.04, 0.12, 0.2, 0.28, 0.36)
HIGHEST = 0.5  # reject cost that a method can be trained for
CHOSEN = {"auto": None, "blend": ("blend",)}  # methods by choose_model, and its models


class PricePoint(NamedTuple):
    """Prices that methods are compared at."""

    reject_cost: float | None  # where an error costs 1; None: prices differ between classes
    prices: Floats  # (K, K + 1), or of all cases (n, K, K + 1)
    priced: bool  # prices were given, not a reject cost


@folds.described
def compare(
    estimators: str | Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    reject_costs: Iterable[float] = REJECT_COSTS,
    cost_of: Any = None,
    prices: Any = None,
    param_grids: Mapping[str, Any] | None = None,
    cv: Any = 10,
    inner_cv: Any = 5,
    groups: Any = None,
    reference: str | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Comparison:
    """Compare classifiers with a reject option on the same data, splits and reject costs.

    For every split and every reject cost, each method is tuned and fitted on the training part,
    and tested on the test part.  Differences are tested as :footcite:t:`nadeau2003` propose.

    Parameters
    ----------
    estimators : dict of {name: estimator}, list of estimators, list of str, or "standard"
        Classifiers with a parameter ``reject_cost``, also inside a pipeline or a search; others are
        used as they are.  "standard" is what ``rejo train`` would choose ("auto"), data replication
        and its rivals, each with a grid (:func:`~rejo.selection.standard_methods`); a list such as
        ``["auto", "svm", "svm-posterior"]`` names methods to compare.
    %X, y
    reject_costs : iterable of float, default=(0.04, 0.12, 0.2, 0.28, 0.36)
        Prices of a rejection, where an error costs 1; at most ``1 - 1 / K`` for ``K`` classes.
        Methods that decide by posteriors take all of these, others at most 0.5.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        Prices instead of ``reject_costs``, such as ``{"error": 5000, "review": 40}``, in any form
        of :func:`rejo.prices.price_matrix`.  Methods that cannot be trained for them are left out.
    prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
        Prices of each case, or the columns that the formulas of ``cost_of`` name; by default these
        are read from ``X``, if it is a frame.
    param_grids : dict of {name: grid}, default=None
        For a method, the values to choose from, as in ``GridSearchCV``, by the risk or, if it
        decides by posteriors, by their log loss.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified, shuffled folds; by groups if ``groups`` is given.
    inner_cv : int or splitter, default=5
        The same, for tuning within the training part.
    %groups
    reference : str, default=None
        The method that the others are compared with, or "review everything" or "decide
        everything"; by default the first method.
    random_state : int, default=0
        Shuffles the folds; the same seed gives the same splits.
    %n_jobs, verbose

    Returns
    -------
    comparison : Comparison
        Its ``rows``, their means, and the paired differences with confidence intervals.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from rejo import RejoSVC, ThresholdRejectClassifier, compare
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> methods = {
    ...     "replication": RejoSVC(C=10, gamma=4),
    ...     "cut-offs": ThresholdRejectClassifier(SVC(C=10, gamma=4), rule="score"),
    ... }
    >>> print(compare(methods, X, y, reject_costs=[0.1, 0.3], cv=5))
    Mean risk over 5 folds; * differs from replication (95 %, corrected resampled t-test)
    reject_cost      0.1       0.3
    replication   ...
    cut-offs      ...
    review everything   ...
    decide everything   ...
    """
    if issparse(X):
        check_sparse(X)
    X, y, groups = indexable(X, y, groups)
    classes, k = encode_classes(y, None if is_ordered(y) else "sorted")
    settings = _settings(reject_costs, cost_of, classes, y, X, prices)
    grids: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    listed = isinstance(estimators, Sequence) and len(estimators) > 0
    if listed and all(isinstance(name, str) for name in estimators):
        ordered = folds.has_order(classes, is_ordered(y))
        estimators, grids, left_out = _from_catalogue(
            estimators, X, len(classes), ordered, random_state
        )
        y, classes = k, np.arange(len(classes))  # methods need not be told their order
    methods = _check_methods(estimators)
    grids |= param_grids or {}
    for name in grids:
        if name not in methods:
            raise ValueError(
                f"param_grids has a grid for {name!r}, which is not among the estimators: "
                f"{list(methods)}."
            )
    if reference is not None and reference not in (*methods, REVIEW_ALL, DECIDE_ALL):
        raise ValueError(f"reference={reference!r} is not among the estimators: {list(methods)}.")
    unable = _unable(methods, settings, classes, k)
    if reference in unable or len(unable) == len(methods):
        name = reference if reference in unable else next(iter(methods))
        raise RejoError(
            f"{name!r} {unable[name]}",
            parameter="cost_of" if settings[0].priced else "reject_costs",
            remedy="Compare methods that decide by posteriors, such as 'logistic-posterior'.",
        )
    methods = {name: methods[name] for name in methods if name not in unable}
    left_out |= unable
    reference = next(iter(methods)) if reference is None else reference
    splits = folds.split_shuffled(cv, X, y, groups, random_state)
    cells = [
        delayed(_run)(
            name, estimator, grids.get(name), X, y, k, classes, fold, split, settings, inner_cv,
            groups, random_state,
        )
        for fold, split in enumerate(splits)
        for name, estimator in methods.items()
    ]  # fmt: skip
    results = each_done(cells, n_jobs, return_as="generator_unordered")
    done = progress(results, len(cells), "compare", show=verbose)
    order = {name: i for i, name in enumerate([*methods, REVIEW_ALL, DECIDE_ALL])}
    pairs = [pair for cell in done for pair in cell]
    rows = [row for row, _ in pairs]
    baselines = _baselines([row for _, row in pairs], list(methods), settings, splits, k)
    for found in (rows, baselines):
        found.sort(key=lambda row: (order[row["method"]], row["reject_cost"] or 0, row["fold"]))
    paid = mean_prices(settings[0].prices) if settings[0].priced else None
    return Comparison(rows, reference, baselines, paid, left_out)


def _run(
    name: str, estimator: Any, grid: Any, X: Any, y: Any, k: Indices, classes: NDArray[Any],
    fold: int, split: tuple[Any, Any], settings: list[PricePoint], inner_cv: Any, groups: Any,
    random_state: int | None,
) -> list[tuple[Row, Row]]:  # fmt: skip
    """Rows of one method on one split, each with that of its decisions without rejection."""
    train, test = split
    inside = None if groups is None else _safe_indexing(groups, train)
    start, points = perf_counter(), [{}] if grid is None else list(ParameterGrid(grid))
    about: Row = {}
    if isinstance(estimator, Automatic):
        X_train, y_train = _safe_split(estimator, X, y, train)
        paid = [of_rows(setting.prices, train) for setting in settings]
        choice = estimator.choose(X_train, y_train, classes, paid, inside)
        about = {"model": choice.name, **choice.chosen.params}
        estimator, points = choice.estimator, [{}]
    prices = [_price_parameters(estimator, setting, classes, k) or {} for setting in settings]
    loss, L = None, settings[0].prices
    if L.ndim == 3 and not _decides_by_itself(estimator):
        loss = folds.case_loss(estimator, L, k, classes)
    with quiet() if grid is not None else nullcontext():
        best = _tune(estimator, points, prices, X, y, classes, train, settings, inner_cv, inside,
                     random_state, loss)  # fmt: skip
        tuned = perf_counter()
        rows, prepared, posteriors = [], dict[str, Fold](), _by_posteriors(estimator)
        last: tuple[str, Any, Row] | None = None  # what was fitted, the cases, and what it took
        for setting, params, point in zip(settings, prices, best, strict=True):
            if last is None or last[0] != repr((params, point)):
                start_fit = perf_counter()
                early = repr(folds.early_parameters(estimator, point))
                if early not in prepared:
                    prepared[early] = folds.make_fold(
                        candidate(estimator, point), X, y, None, train, test, loss
                    )
                part = prepared[early]
                model = last_step(candidate(estimator, params, point))
                fit_weighted(model, part.X_train, part.y_train, None, part.loss)
                seconds = perf_counter() - start_fit
                cases = judge_with(model, part.X_test, classes, posteriors=posteriors)
                cases = replace(cases, rows=test)
                last = repr((params, point)), cases, {
                    "crossing_rate": _crossing_rate(*final_step(model, part.X_test)),
                    "fit_seconds": seconds,
                    "tune_seconds": (tuned - start) / (1 if posteriors else len(settings)),
                    "n_train": len(train),
                    "n_test": len(test),
                    "params": about or dict(point),
                }  # fmt: skip
            _, cases, measured = last
            at = cases.at_prices(setting.prices)
            common = {"method": name, "reject_cost": setting.reject_cost, "fold": fold}
            common |= _rates(at.decision, k, test, setting) | measured
            without = {"method": DECIDE_ALL, "params": {"method": name}}
            rows.append((common, common | without | _rates(at.forced, k, test, setting)))
    return rows


def _tune(
    estimator: Any, points: list[Any], prices: list[dict[str, Any]], X: Any, y: Any,
    classes: NDArray[Any], train: Indices, settings: list[PricePoint], inner_cv: Any, groups: Any,
    random_state: int | None, loss: Floats | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The best point of the grid for each of the prices, by folds of the training part."""
    if len(points) == 1:
        return points * len(settings)
    X, y = _safe_split(estimator, X, y, train)
    inner = folds.split_shuffled(inner_cv, X, y, groups, random_state)
    posteriors, costs = _by_posteriors(estimator), None
    if cost_parameter(estimator) in prices[0]:
        costs = [cost for params in prices for cost in params.values()]
    else:  # other prices, or none at all, are parameters of the estimator
        estimator = candidate(estimator, prices[0])
    found = judge_folds(
        estimator, X, y, inner, grid=points, costs=costs, posteriors=posteriors,
        loss=None if loss is None else loss[train],
    )  # fmt: skip
    known = class_indices(found[0][0].classes, classes)
    paid = [
        None if posteriors else _among(of_rows(setting.prices, train), known)
        for setting in settings
    ]
    return [points[best] for best in best_points(found, paid)]


class Automatic(ClassifierMixin, BaseEstimator):
    """The model that ``rejo train`` would choose, as a method to compare."""

    def __init__(
        self, prepare: Any = None, models: Any = None, ordered: bool = True, random_state: Any = 0
    ) -> None:
        self.prepare, self.models = prepare, models
        self.ordered, self.random_state = ordered, random_state

    def choose(
        self, X: Any, y: Any, classes: NDArray[Any], prices: Sequence[Floats], groups: Any
    ) -> Choice:
        """Choose a model for these cases."""
        known = np.flatnonzero(np.isin(np.arange(len(classes)), class_indices(y, classes)))
        return choose_model(
            StandardScaler() if self.prepare is None else self.prepare, X, y, models=self.models,
            prices=[_among(L, known) for L in prices],
            class_order=classes[known].tolist(), ordered=self.ordered, groups=groups,
            random_state=self.random_state,
        )  # fmt: skip


def _among(prices: Floats, known: Indices) -> Floats:
    """Prices of some of the classes."""
    return prices[..., known[:, None], np.append(known, -1)]


def _rates(decision: Indices, k: Indices, test: Indices, setting: PricePoint) -> Row:
    """What became of test cases, by the classes ``k`` of all."""
    found = tally(decision, k[test])
    paid = price_of(setting.prices, k[test], decision, test)  # -1 is the review
    risk = paid.mean() if setting.priced else found.risk(setting.reject_cost)
    return {
        "R": float(found.rejection_rate),
        "E": float(found.error_rate),
        "risk": float(risk),
        "accepted_accuracy": float(found.accepted_accuracy),
    }


def _baselines(
    forced: list[Row], names: list[str], settings: list[PricePoint], splits: Any, k: Indices
) -> list[Row]:
    """Rows of reviewing everything, and of the method that costs least without reviews."""

    def cost(name: str) -> float:  # the same in whichever order the rows came
        return round(fsum(row["risk"] for row in forced if row["params"]["method"] == name), 9)

    cheapest = min(names, key=cost)
    rows = [row for row in forced if row["params"]["method"] == cheapest]
    nothing = {"crossing_rate": float("nan"), "fit_seconds": 0.0, "tune_seconds": 0.0, "params": {}}
    for fold, (train, test) in enumerate(splits):
        for setting in settings:
            review = _rates(np.full(len(test), -1), k, test, setting)
            row = {"method": REVIEW_ALL, "reject_cost": setting.reject_cost, "fold": fold}
            rows.append(row | review | nothing | {"n_train": len(train), "n_test": len(test)})
    return rows


def _by_posteriors(estimator: Any) -> bool:
    """Return whether a method decides at any prices, with one fit for all."""
    learner = last_step(estimator)
    return folds.by_posteriors(estimator) and not isinstance(learner, RejectClassifierCV)


def _settings(
    reject_costs: Iterable[float], cost_of: Any, classes: NDArray[Any], y: Any, X: Any, given: Any
) -> list[PricePoint]:
    """Prices to compare at."""
    K = len(classes)
    by = CasePrices.of(cost_of, given, ordered=folds.has_order(classes, is_ordered(y)))
    if by is not None:
        L = by.learned(classes.tolist(), X, given, len(y))
        return [PricePoint(reject_cost_of(L), L, True)]
    if cost_of is not None:
        ordered = folds.has_order(classes, is_ordered(y))
        prices = price_matrix(cost_of, classes.tolist(), ordered=ordered)
        check_reviews_pay(cost_of, classes.tolist(), ordered=ordered)
        return [PricePoint(reject_cost_of(prices), prices, True)]
    costs = folds.check_reject_costs(reject_costs, max(HIGHEST, 1 - 1 / K))
    return [PricePoint(w, uniform_prices(K, w), False) for w in costs]


def _unable(
    methods: Mapping[str, Any], settings: list[PricePoint], classes: NDArray[Any], k: Indices
) -> dict[str, str]:
    """Methods that cannot be trained for all of the prices, and why."""
    return {
        name: "cannot be trained for "
        + ("these prices" if one.priced else f"a reject cost of {one.reject_cost:g}")
        for name, estimator in methods.items()
        for one in settings
        if _price_parameters(estimator, one, classes, k) is None
    }


def _price_parameters(
    estimator: Any, setting: PricePoint, classes: NDArray[Any], k: Indices
) -> dict[str, Any] | None:
    """Parameters that train an estimator for these prices; ``None`` if there are none."""
    if _decides_by_itself(estimator):
        return {}
    if setting.prices.ndim == 3:  # a loss in ``fit``
        return None if folds.case_loss(estimator, setting.prices, k) is None else {}
    return folds.price_parameters(estimator, setting.prices, classes)


def _decides_by_itself(estimator: Any) -> bool:
    """Return whether the prices to compare at are no part of its training."""
    learner = last_step(estimator)
    searched = isinstance(learner, RejectClassifierCV) and learner.has_target
    return searched or isinstance(estimator, Automatic) or _by_posteriors(estimator)


def _crossing_rate(classifier: Any, X: Any) -> float:
    """Share of the points at which boundaries cross; NaN for a method without boundaries."""
    if hasattr(classifier, "crossing_mask"):
        return float(np.mean(classifier.crossing_mask(X)))
    if hasattr(classifier, "boundary_scores"):
        return float(metrics.crossing_rate(classifier.boundary_scores(X)))
    return float("nan")


def _from_catalogue(
    names: Any, X: Any, n_classes: int, ordered: bool, random_state: int | None
) -> tuple[Any, Any, dict[str, str]]:
    """Return methods by name, their grids, and standard methods that are left out."""
    if isinstance(names, str) and names != "standard":
        raise ValueError(
            f"estimators={names!r} must be 'standard', or estimators, such as "
            "{'SVM': RejoSVC()}, or names of methods, such as ['svm', 'svm-posterior']."
        )
    if issparse(X):
        raise ValueError(
            f"estimators={names!r} needs centred features, and X is sparse: give X.toarray(), or "
            "estimators of your own."
        )
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions; it has the shape {shape}.")
    absent = [] if ordered or not isinstance(names, str) else need_order(n_classes)
    methods, grids = methods_to_compare(
        None if isinstance(names, str) else names,
        ProblemSize(n_classes, shape[1], shape[0], random_state, ordered),
    )
    return methods, grids, dict.fromkeys(absent, "needs classes in an order")


def methods_to_compare(
    names: Iterable[str] | None, problem: ProblemSize, prepare: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return methods by name, "auto" and a tuned "blend" among them, and their grids.

    By default "auto" and the standard methods; ``prepare`` is the first step of each.
    """
    wanted = None if names is None else list(names)
    built, grids = standard_methods(
        problem.n_classes, problem.n_features, problem.n_samples, problem.random_state,
        prepare=prepare, ordered=problem.ordered,
        names=None if wanted is None else [name for name in wanted if name not in CHOSEN],
    )  # fmt: skip
    methods = {
        name: Automatic(prepare, CHOSEN[name], problem.ordered, problem.random_state)
        if name in CHOSEN
        else built[name]
        for name in (["auto", *built] if wanted is None else wanted)
    }
    return methods, {name: grids.get(name, {}) for name in methods}


def _check_methods(estimators: Any) -> dict[str, Any]:
    """Names and estimators; estimators in a list are named after their classes."""
    if isinstance(estimators, Mapping):
        methods = dict(estimators)
    else:
        methods = {}
        for estimator in estimators if isinstance(estimators, Sequence) else [estimators]:
            name = type(estimator).__name__
            number = 1 + sum(type(other).__name__ == name for other in methods.values())
            methods[name if number == 1 else f"{name} {number}"] = estimator
    if not methods:
        raise ValueError("estimators is empty: give at least one, such as {'SVM': RejoSVC()}.")
    for name, estimator in methods.items():
        if isinstance(estimator, type) or not is_classifier(estimator):
            raise ValueError(
                f"estimators[{name!r}]={estimator!r} must be a classifier, such as RejoSVC()."
            )
    return methods
