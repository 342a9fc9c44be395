"""What is cross-validated: checked cases, folds, held-out cases, reject costs, and their models."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, column_or_1d, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from rejo._docs import shared_parameters
from rejo._frames import naming_words
from rejo._sparse import check_sparse
from rejo._typing import Floats, Indices
from rejo.baselines import ThresholdRejectClassifier, with_last
from rejo.estimators import (
    RejectClassifier,
    check_sample_weight,
    cost_parameter,
    encode_classes,
    fit_weighted,
    is_ordered,
    label_column,
    routed_weights,
)
from rejo.prices import loss_rows, reject_cost_of
from rejo.replication import loss_from_costs, replica_costs

REJECT_COSTS = tuple(round(0.04 * i, 2) for i in range(1, 13))  # the paper's 0.04, 0.08, ..., 0.48
SHARE, MOST_SHARE = 0.3, 0.5  # of the cases that are held out, at least and at most
ENOUGH = 500  # cases: with more of them held out, promises of 5 % and more gain little

Splits = list[tuple[Indices, Indices]]

SHARED = """
estimator : estimator
    A classifier with a parameter ``reject_cost``, or a pipeline that ends in one.
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Cases, as the estimators accept them.
y : array-like of shape (n_samples,)
    Classes.
reject_costs : iterable of float in (0, 0.5], default=0.04, 0.08, ..., 0.48
    Prices of a rejection, where an error costs 1.  A classifier that decides by the posteriors of
    ``K`` classes takes any up to ``1 - 1 / K``, and is fitted once for all of them.
cv : int, splitter or iterable, default=5
    As in scikit-learn; a number of folds means stratified folds without shuffling, which never
    split a group.  For an outcome of each case, it must test every case exactly once.
groups : array-like of shape (n_samples,), default=None
    Cases of one group, such as the visits of one patient, are never split.
sample_weight : array-like of shape (n_samples,), default=None
    Used in the fits and in the rates.
n_jobs : int, default=None
    Number of jobs at the same time, as in joblib: ``None`` is one, -1 is all cores.
verbose : bool, default=None
    Show progress on stderr; by default only if it is a terminal, or in a notebook.
"""
described = shared_parameters(SHARED)


def shuffled_folds(n_folds: int, groups: Any = None, random_state: Any = None) -> Any:
    """Return a splitter: stratified and shuffled folds, which never split a group."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=random_state)


def split_cases(cv: Any, X: Any, y: Any, groups: Any = None) -> Splits:
    """Return the rows (train, test) of all folds; ``cv`` as in scikit-learn, groups whole."""
    cv = 5 if cv is None else cv
    if groups is not None and isinstance(cv, Integral):
        n_groups = len(np.unique(np.asarray(groups)))
        if n_groups < int(cv):
            raise ValueError(
                f"{cv} folds need at least {cv} different values of groups; there are only "
                f"{n_groups}. groups says which rows belong together, such as those of one "
                "patient; to promise by sex or region, pass group."
            )
        cv = StratifiedGroupKFold(int(cv))
    splitter = check_cv(cv, y, classifier=True)
    if isinstance(splitter, StratifiedKFold):
        _check_class_sizes(y, splitter.n_splits)
    splits = splitter.split(X, y, groups)
    return [(np.asarray(train), np.asarray(test)) for train, test in splits]


def _check_class_sizes(y: Any, n_folds: int) -> None:
    """Refuse classes too small for stratified folds, or for two classes in each training part."""
    labels, sizes = np.unique(np.asarray(y), return_counts=True)
    if len(labels) == 2 and sizes.min() == 1:
        raise ValueError(
            f"class {labels.tolist()[sizes.argmin()]!r} has only 1 case to learn from, and none "
            f"while cv={n_folds} tests on it. Give more cases of this class."
        )
    if len(labels) > 1 and 1 < sizes.max() < n_folds:
        raise ValueError(
            f"cv={n_folds} needs a class of {n_folds} cases or more; the largest, "
            f"{labels.tolist()[sizes.argmax()]!r}, has {sizes.max()}. Give more cases, or "
            f"cv={sizes.max()}."
        )


def split_shuffled(cv: Any, X: Any, y: Any, groups: Any, random_state: Any) -> Splits:
    """As :func:`split_cases`, but a number of folds means :func:`shuffled_folds`."""
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        cv = shuffled_folds(int(cv), groups, random_state)
    return split_cases(cv, X, y, groups)


def split_once(cv: Any, X: Any, y: Any, groups: Any) -> Splits:
    """As :func:`split_cases`, of a ``cv`` that tests every case once."""
    splits = split_cases(cv, X, y, groups)
    tested = np.sort(np.concatenate([test for _, test in splits]))
    if not np.array_equal(tested, np.arange(len(y))):
        raise ValueError("cv must put every case into exactly one test part, as KFold does.")
    return splits


def check_cases(
    X: Any, y: Any, groups: Any, sample_weight: Any, caller: str
) -> tuple[Any, Any, Any, Floats | None]:
    """Return arrays of the same length that can be split."""
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but the target y is None.")
    y = label_column(y)
    if getattr(y, "ndim", 1) == 2:
        y = column_or_1d(y, warn=True)
    if issparse(X):
        check_sparse(X)
    X, y, groups = indexable(X, y, groups)
    encode_classes(y, "sorted")  # missing labels, or a regression target, are errors
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
    return X, y, groups, weight


def check_aligned(X: Any, name: str, values: Any) -> None:
    """Refuse a Series with the rows of a DataFrame in another order: values go by position."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(values, "index", None)
    if not hasattr(ours, "equals") or not hasattr(theirs, "equals"):  # not of pandas
        return
    if ours.equals(theirs) or len(ours) != len(theirs) or not ours.is_unique:
        return
    if len(ours.intersection(theirs)) == len(ours):
        raise ValueError(
            f"{name} has the rows of X in another order. Values are taken by position: pass "
            f"{name}.loc[X.index]."
        )


def check_reject_costs(reject_costs: Iterable[float], highest: float = 0.5) -> list[float]:
    """Return the costs ascending, without duplicates; above the ``highest`` nothing is rejected."""
    try:
        costs = sorted({float(w) for w in reject_costs})
    except TypeError:
        costs = []
    if not costs or not all(0 < w <= highest for w in costs):
        raise ValueError(
            f"reject_costs must be one or more numbers in (0, {highest:.6g}]; got "
            f"{costs or reject_costs!r}. Above {highest:.3g} this classifier rejects nothing."
        )
    return costs


def by_posteriors(estimator: Any) -> bool:
    """Return whether an estimator, or the last step of a pipeline, decides by its posteriors."""
    return bool(getattr(last_step(estimator), "decides_by_posteriors", False))


def highest_reject_cost(n_classes: int, posteriors: bool) -> float:
    """Reject cost above which a classifier by posteriors, or by boundaries, rejects nothing."""
    return 1.0 - 1.0 / n_classes if posteriors else 0.5


def price_parameters(
    estimator: Any, prices: Floats, classes: NDArray[Any]
) -> dict[str, Any] | None:
    """Parameters that train an estimator by boundaries for prices (K, K + 1); ``None`` if none do.

    Two classes may have prices that differ, as a loss matrix.  With more, a review costs the same
    wherever it is, which replicas cannot express.
    """
    name, cost = cost_parameter(estimator), reject_cost_of(prices)
    if name is None:
        return {}
    if cost is not None:
        return {name: cost} if cost <= 0.5 else None
    before, params = name.removesuffix("reject_cost"), estimator.get_params()
    if len(classes) > 2:
        return None
    if _is_flipped(params.get(f"{before}class_order"), classes):
        prices = prices[::-1][:, [1, 0, 2]]
    if params.get(f"{before}rule") == "score":
        return {f"{before}cost_of": prices}
    takes = f"{before}loss_matrix" in params
    if takes and params.get(f"{before}surrogate") != "bartlett-wegkamp" and _has_region(prices):
        return {f"{before}loss_matrix": loss_rows(prices)}
    return None


def _is_flipped(order: Any, classes: NDArray[Any]) -> bool:
    """Return whether an estimator has the classes the other way round."""
    return isinstance(order, Sequence | np.ndarray) and list(order) == classes.tolist()[::-1]


def case_loss(
    estimator: Any, prices: Floats, y: Indices, classes: NDArray[Any] | None = None
) -> Floats | None:
    """Loss (n, Q + 1) of cases by their prices (n, K, K + 1), for ``fit`` of a learner.

    ``None`` if it cannot be trained so, or all reviews are free.  Two classes may have any prices.
    With more, each case has one price of an error and one of a review, and its row is that of a
    ``reject_cost``, their ratio but at most 0.5, times the price of the error.  The estimator has
    its ``classes`` in the order of the prices, or the other way round.
    """
    K, params = prices.shape[1], last_step(estimator).get_params()
    if not (has_fit_parameter(last_step(estimator), "loss") and prices[..., -1].any()):
        return None
    if classes is not None and _is_flipped(params.get("class_order"), classes):
        loss = case_loss(estimator, prices, y)
        return None if loss is None else loss[:, ::-1]
    if K == 2:
        return loss_rows(prices, y)
    error, review = prices[:, 0, 1], prices[:, 0, -1]
    uniform = error[:, None, None] * (1.0 - np.eye(K))
    alike = np.array_equal(prices[..., :-1], uniform)
    if not alike or (prices[..., -1] != review[:, None]).any():
        return None
    tables = (replica_costs(K, w, params.get("s")) for w in (0.5, 0.25))
    half, quarter = (loss_from_costs(costs)[y] for costs in tables)
    review = np.minimum(review, error / 2)[:, None]
    return error[:, None] * (2 * quarter - half) + review * 4 * (half - quarter)  # linear in w


def _has_region(prices: Floats) -> bool:
    """Return whether a review of some cases of two classes pays, so that it can be learned."""
    (_, a, r), (b, _, s) = prices
    return bool(r * b + s * a < a * b and 0 < r < a and 0 < s < b)


def check_rejects(estimator: Any) -> str:
    """Return the name of the parameter that sets the price of a rejection."""
    name = cost_parameter(estimator)
    if name is None and by_posteriors(estimator):  # a wrapper that makes one around a classifier
        return "reject_cost"
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no parameter reject_cost: give a classifier with a "
            "reject option, such as RejoSVC, or a pipeline that ends in one."
        )
    params = estimator.get_params()
    for other in ("loss_matrix", "cost_of"):
        if params.get(name.removesuffix("reject_cost") + other) is not None:
            raise ValueError(
                f"with {other} the reject cost has no effect, so there is nothing to vary: leave "
                f"{other} out."
            )
    return name


def known_classes(estimator: Any, y: Any) -> tuple[NDArray[Any], Indices]:
    """Classes (K,) in the order of the estimator, else sorted, and ``y`` as indices."""
    params = estimator.get_params()
    names = [name for name in params if name.rpartition("__")[2] == "class_order"]
    order = params.get(min(names, key=lambda name: name.count("__"), default=""))
    if order is None and not is_ordered(y):
        order = "sorted"
    return encode_classes(y, order)


def has_order(classes: NDArray[Any], ordered: bool) -> bool:
    """Return whether classes that are two, numbers, or ``ordered`` have an order."""
    return ordered or len(classes) == 2 or classes.dtype.kind in "biuf"


def candidate(estimator: Any, *params: Mapping[str, Any]) -> Any:
    """Return a clone with these parameters; steps of a pipeline among them are cloned too."""
    model = clone(estimator)
    for given in params:
        model.set_params(**clone(dict(given), safe=False))
    return clone(model)  # as if it had been made with them


def alike(points: Sequence[Mapping[str, Any]], *free: str) -> list[list[int]]:
    """Indices of points that differ in nothing but the ``free`` parameters."""
    kinds: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        own = {name: value for name, value in point.items() if name not in free}
        kinds.setdefault(repr(own), []).append(i)
    return list(kinds.values())


class Fold(NamedTuple):
    """Training and test part of a split, as they reach the last step of a pipeline."""

    X_train: Any
    y_train: Any
    weight: Floats | None  # of the training part
    X_test: Any
    loss: Floats | None = None  # of each case of the training part, if they differ


def make_fold(
    estimator: Any, X: Any, y: Any, sample_weight: Floats | None, train: Indices, test: Indices,
    loss: Floats | None = None,
) -> Fold:  # fmt: skip
    """Split; fit the steps before the last on the training part and transform both parts."""
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    weight = None if sample_weight is None else _safe_indexing(sample_weight, train)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        steps = clone(estimator[:-1])
        routed = routed_weights(steps, weight)
        with naming_words(X):
            X_train = steps.fit_transform(X_train, y_train, **routed)
            X_test = steps.transform(X_test)
    return Fold(X_train, y_train, weight, X_test, None if loss is None else loss[train])


def last_step(estimator: Any) -> Any:
    """The last step of an unfitted pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def last_name(estimator: Any) -> str:
    """What the parameters of the last step start with; nothing outside a pipeline."""
    return f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""


def is_plain(estimator: Any) -> bool:
    """Whether it ends in a classifier with probabilities or scores, but no reject option."""
    last = last_step(estimator)
    scores = hasattr(last, "predict_proba") or hasattr(last, "decision_function")
    search = hasattr(last, "estimator") and hasattr(last, "refit")
    known = isinstance(last, RejectClassifier | FrozenEstimator | type) or search
    return scores and not known and is_classifier(last)


def rejecting(estimator: Any) -> Any:
    """The estimator; a plain classifier at its end decides by calibrated posteriors."""
    if not is_plain(estimator):
        return estimator
    return with_last(estimator, ThresholdRejectClassifier(last_step(estimator)))


def early_parameters(estimator: Any, point: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the steps before the last of a pipeline."""
    last = last_name(estimator)
    return {name: value for name, value in point.items() if not f"{name}__".startswith(last)}


def fit_path(estimator: Any, costs: Sequence[float] | None, fold: Fold) -> Iterator[Any]:
    """Fit the last step of ``estimator`` on the training part, once for each reject cost."""
    X, y, weight = fold.X_train, fold.y_train, fold.weight
    last = last_step(estimator)
    if costs is None:
        yield fit_weighted(candidate(last), X, y, weight, fold.loss)
    elif hasattr(last, "fit_path"):
        check_rejects(estimator)
        yield from last.fit_path(X, y, reject_costs=list(costs), sample_weight=weight)
    else:
        name = check_rejects(last)
        for cost in costs:
            yield fit_weighted(candidate(last, {name: cost}), X, y, weight)


# ---- which cases are held out -------------------------------------------------------------


def hold_out(
    n_samples: int, size: float, random_state: Any, groups: Any = None, time: Any = None
) -> tuple[Indices, Indices]:
    """Choose calibration cases; return the rows to learn from, and these.

    They are drawn at random or, with ``time`` (n,), the latest; with ``groups``, whole groups.
    """
    # Not stratified: calibration cases chosen by the class shares of the others would not be
    # independent of the candidates, and the bound would not be exact.
    rng = check_random_state(random_state)
    names, group = np.arange(n_samples), np.arange(n_samples)
    if groups is not None:
        names, group = np.unique(np.asarray(groups), return_inverse=True)
    if time is None:
        train, held = train_test_split(np.arange(len(names)), test_size=size, random_state=rng)
        if groups is None:
            return train, held
    else:
        last = np.full(len(names), -1)
        np.maximum.at(last, group, np.asarray(time))
        since = np.sort(last)[min(len(last) - 1, int(np.ceil((1 - size) * len(last))))]
        late = last >= since  # those of one moment stay together
        if late.all():
            raise ValueError(
                "time leaves no earlier cases to learn from: too many have the first value. Give a "
                "finer time, or lower calibration_size."
            )
        held = np.flatnonzero(late)
    rows = np.flatnonzero(np.isin(group, held))
    return np.flatnonzero(~np.isin(group, held)), rng.permutation(rows)


def held_out_share(n: float) -> float:
    """Share of ``n`` independent cases to hold out; nothing but their number counts."""
    return min(MOST_SHARE, max(SHARE, ENOUGH / n))


def one_each(together: Any) -> Indices:
    """The first case of each group, of cases in random order."""
    return np.sort(np.unique(together, return_index=True)[1])


def order_in_time(time: Any, n: int) -> Indices | None:
    """The order (n,) of the cases in time; equal times are equal."""
    if time is None:
        return None
    if isinstance(time, str):
        raise ValueError(
            f"time must have a value for each of the {n} cases; got {time!r}. Give the column "
            f"itself, such as table[{time!r}]."
        )
    values = np.asarray(time)
    if values.dtype.kind in "OUS":
        values = _moments(values)
    if values.shape != (n,):
        raise ValueError(f"time must have a value for each of the {n} cases; got {values.shape}.")
    missing = np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values.astype(float))
    if missing.any():
        raise ValueError(
            f"time is missing for {int(missing.sum())} of {n} cases: leave these out, or fill in."
        )
    return np.unique(values, return_inverse=True)[1]


def _moments(values: Any) -> Any:
    """Numbers, or dates, that are objects of Python or text."""
    if values.dtype.kind == "O":  # missing values of pandas have types of their own
        gaps = np.array([is_missing(value) for value in values.ravel()], dtype=bool)
        values = np.where(gaps.reshape(values.shape), None, values)
    try:
        return values.astype(np.float64)  # a year, or 20241231, is a number also as text
    except (TypeError, ValueError):
        pass
    dates = _dates(values)
    if dates is None:
        odd = next((str(v) for v in values.ravel() if _dates(np.array([v])) is None), "text")
        raise ValueError(f"time must be dates, such as 2024-12-31, or numbers; got {odd!r}.")
    return dates


def _dates(values: Any) -> Any:
    """Values as dates; None if one is not a date."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # time zones are converted to UTC
            # Not nanoseconds, which end in 2262: 9999-12-31 would be before 1970.
            return values.astype("datetime64[us]")
    except (TypeError, ValueError):
        return None


def is_missing(value: Any) -> bool:
    """Whether a value is None, not a number, or missing to pandas: not equal to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA: nobody knows
        return True
