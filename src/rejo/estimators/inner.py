"""What classifiers around another classifier share, and must know about it.

Parameters are read and set by name: neither XGBoost nor LightGBM is imported.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from rejo._frames import is_arrow, is_polars, naming_words
from rejo._sparse import check_sparse, summed
from rejo._state import FEATURES, declare, optional, require
from rejo._typing import Floats
from rejo.estimators.base import LEAST_PROBABILITY, RejectClassifier
from rejo.estimators.pipelines import check_not_frozen, final_classifier, routed_weights
from rejo.tables import as_pandas

# Names of parameters, with LightGBM's aliases.
CONSTRAINTS = ("monotone_constraints", "monotone_constraint", "mc", "monotonic_cst")
STOPPING = ("early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change")
LINEAR_TREES = ("linear_tree", "linear_trees")
UNBALANCED = ("is_unbalance", "unbalance", "unbalanced_sets")
SIZES = (
    *("min_samples_leaf", "min_samples_split", "min_child_samples", "max_samples"),
    *("min_data_in_leaf", "min_data_per_leaf", "min_data", "min_data_per_group"),
)
LOG_LOSSES = ("binary:logistic", "binary:logitraw", "binary", "cross_entropy", "xentropy")


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a DataFrame of pandas or polars."""
    return (hasattr(X, "iloc") and hasattr(X, "columns")) or is_polars(X)


@dataclass(eq=False, repr=False)
class WrapsClassifier:
    """Mixin for the parameter ``estimator``, gradient boosting by default."""

    estimator: Any = None

    # What a pipeline takes may have no number of features.

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        estimator = self._default()
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type):
            inner = get_tags(estimator)
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _default(self) -> Any:
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        """``X`` as an array or CSR; a DataFrame, or what a pipeline takes, as it is."""
        whole = isinstance(self.estimator, Pipeline)
        return check_table(self, X, self._default(), reset=reset, whole=whole)


def check_table(model: Any, X: Any, *inside: Any, reset: bool, whole: bool = False) -> Any:
    """``X`` for the estimators inside a model: an array or CSR; a frame, or ``whole``, as it is."""
    if not reset:
        check_is_fitted(model)
    if sparse.issparse(X):
        check_sparse(X)
    X = table_for(X, *inside)
    if whole or is_frame(X):
        X = X if hasattr(X, "shape") else np.asarray(X)
        if not X.shape:
            raise ValueError(f"X must be a table of points; got {X!r:.60}.")
        validate_data(model, X, reset=reset, skip_check_array=True)
        return summed(X.tocsr()) if sparse.issparse(X) else X
    with naming_words(X):
        X = validate_data(model, X, reset=reset, **array_options(model))
    return summed(X) if sparse.issparse(X) else X


def table_for(X: Any, *estimators: Any) -> Any:
    """``X`` as estimators take it: tables of pyarrow, and for LightGBM frames of polars, as pandas.

    LightGBM ends the process at a column of categories of polars.
    """
    kinds = {library_of(final_classifier(estimator)) for estimator in estimators}
    return as_pandas(X) if is_arrow(X) or (is_polars(X) and "lightgbm" in kinds) else X


def array_options(estimator: Any) -> dict[str, Any]:
    """What scikit-learn's ``check_array`` must let through to an estimator, by its tags."""
    tags = get_tags(estimator).input_tags
    return {
        "accept_sparse": "csr" if tags.sparse else False,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if tags.allow_nan else True,
    }


def set_random_states(estimator: Any, random: np.random.RandomState) -> None:
    """Set every ``random_state`` in an estimator, in the order of their names."""
    for name in sorted(estimator.get_params(deep=True)):
        if name == "random_state" or name.endswith("__random_state"):
            estimator.set_params(**{name: random.randint(np.iinfo(np.int32).max)})


def library_of(estimator: Any) -> str:
    """Return "xgboost", "lightgbm", or "sklearn" for all that follow its conventions."""
    packages = {base.__module__.partition(".")[0] for base in type(estimator).__mro__}
    return next((name for name in ("xgboost", "lightgbm") if name in packages), "sklearn")


def can_constrain(estimator: Any) -> bool:
    """Return whether the estimator supports monotonic constraints."""
    if library_of(estimator) == "xgboost":
        return bool(estimator.get_params().get("booster") != "gblinear")
    return library_of(estimator) == "lightgbm" or "monotonic_cst" in estimator.get_params(
        deep=False
    )


def boosts(estimator: Any) -> bool:
    """Return whether the estimator is a booster, not a single tree or a forest.

    A constraint bounds the leaves below a split on the extension feature.  Later trees of a
    booster correct for that; a single tree cannot, and rejects far too much.
    """
    if library_of(estimator) == "sklearn":
        return _is_hist(estimator)
    parameters = estimator.get_params(deep=False)
    modes = {parameters.get(name) for name in ("boosting_type", "boosting", "boost")}
    forest = "RF" in type(estimator).__name__ or modes & {"rf", "random_forest"}
    return not forest


def check_classifier(estimator: Any, *, boundaries: bool = False) -> None:
    """Refuse what is not a classifier with scores; ``boundary_scores`` count if asked for."""
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator must be an instance, not a class: estimator={estimator.__name__}()."
        )
    name = type(final_classifier(estimator)).__name__
    if not (hasattr(estimator, "fit") and is_classifier(estimator)):
        raise ValueError(f"estimator must be a classifier; {name} is not.")
    if not (
        hasattr(estimator, "decision_function")
        or hasattr(estimator, "predict_proba")
        or (boundaries and hasattr(final_classifier(estimator), "boundary_scores"))
    ):
        raise ValueError(
            f"estimator={name} has neither decision_function nor predict_proba, so it has no score."
        )
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            f"estimator={name} takes a precomputed matrix of kernel values or distances, which is "
            "not supported here: give it the points. RejoSVC(kernel='precomputed') takes one."
        )


def check_no_class_weight(estimator: Any, prefix: str, owner: str) -> None:
    """Refuse weights of the two sides of a boundary that were meant for classes."""
    for path, last, value in _parameters(estimator):
        if (
            (last == "class_weight" and value is not None)
            or (last == "scale_pos_weight" and value not in (None, 1))
            or (last in UNBALANCED and value)
        ):
            raise ValueError(
                f"{prefix}{path}={value!r} would weight the two sides of every boundary, not your "
                f"classes. Leave it out and pass class_weight to {owner}."
            )


def check_inner(estimator: Any, prefix: str) -> None:
    """Refuse what cannot work, and what works but does not do what it says.

    ``prefix`` is the path of the estimator's parameters, for the messages.
    """
    check_classifier(estimator)
    check_not_frozen(estimator, "ReplicationClassifier")
    for path, last, value in _parameters(estimator):
        if last == "cv" and value != "prefit":
            raise ValueError(
                f"{prefix}{path}={value!r} splits the replicas of one point between "
                "training and validation. Search and calibrate outside: e.g. "
                "GridSearchCV(ReplicationClassifier(...), {'estimator__C': ...})."
            )
        if last == "objective" and isinstance(value, str) and value.startswith(("multi", "soft")):
            raise ValueError(
                f"{prefix}{path}={value!r} is for more than two classes; the replicas have two. "
                "Leave it out: ReplicationClassifier itself takes any number of ordered classes."
            )
    if not (
        has_fit_parameter(estimator, "sample_weight") or routed_weights(estimator, np.empty(0))
    ):
        raise ValueError(
            f"estimator={type(estimator).__name__} takes no sample_weight in fit, but the costs of "
            "the replicas are sample weights. Use one that does, such as LogisticRegression, SVC "
            "or HistGradientBoostingClassifier."
        )
    check_no_class_weight(estimator, prefix, "ReplicationClassifier")
    _check_early_stopping(estimator, prefix)


def _check_early_stopping(estimator: Any, prefix: str) -> None:
    """Refuse early stopping, which splits rows; "auto" is switched off by :func:`fit_inner`."""
    parameters = estimator.get_params(deep=True)
    for path, last, value in _parameters(estimator):
        if last not in STOPPING or not value or value == "auto":
            continue
        if last == "n_iter_no_change":  # GradientBoosting; with early_stopping, only its patience
            owner = path.removesuffix(last)
            if owner + "early_stopping" in parameters or (
                owner + "validation_fraction" not in parameters
            ):
                continue
        raise ValueError(
            f"{prefix}{path}={value!r} holds out rows by itself: replicas of one point would be in "
            "both parts, and training would stop too late. Set it to "
            f"{False if last == 'early_stopping' else None}; RejoBoost stops early by points."
        )


def scale_sizes(estimator: Any, factor: float) -> None:
    """Multiply, on a clone, all sizes that are counted in rows and set a limit."""
    sizes = {
        path: round(int(value) * factor)
        for path, last, value in _parameters(estimator)
        if last in SIZES
        and isinstance(value, Integral)
        and int(value) > (2 if last == "min_samples_split" else 1)
    }
    estimator.set_params(**sizes)


def constrain(estimator: Any, X: Any, n_marks: int) -> None:
    """Make, on a clone, the scores fall in the last ``n_marks`` features.

    Constraints of the user on the other features (by position or by name) are kept.
    """
    parameters = estimator.get_params(deep=False)
    for name in LINEAR_TREES:
        if parameters.get(name):
            raise ValueError(
                f"{name}={parameters[name]!r} fits lines in the leaves, which break the constraint "
                "that keeps the boundaries in order. Leave it out, or allow crossings with "
                "order='none'."
            )
    given = next((name for name in CONSTRAINTS if parameters.get(name) is not None), None)
    kind = library_of(estimator)
    usual = "monotonic_cst" if kind == "sklearn" else "monotone_constraints"
    signs = [0] * X.shape[1]
    if given:
        columns = list(X.columns) if is_frame(X) else []
        signs = signs_of(given, parameters[given], columns, X.shape[1])
    signs += [-1] * n_marks
    value: Any = "(" + ",".join(map(str, signs)) + ")" if kind == "xgboost" else signs
    estimator.set_params(**{given or usual: value})


def widen(estimator: Any, n_features: int, n_marks: int) -> None:
    """Extend, on a clone, the lists that describe each feature by the extension features."""
    parameters = estimator.get_params(deep=False)
    mask = parameters.get("categorical_features")
    if mask is not None and np.asarray(mask).dtype == bool and np.shape(mask) == (n_features,):
        estimator.set_params(categorical_features=[*np.asarray(mask), *[False] * n_marks])
    types = parameters.get("feature_types")
    if types is not None and len(types) == n_features:
        estimator.set_params(feature_types=[*types, *["float"] * n_marks])


def fit_inner(estimator: Any, X: Any, y: Any, weight: Floats) -> None:
    """Fit a clone with weights, and without early stopping."""
    for path, last, value in list(_parameters(estimator)):
        if last == "early_stopping" and value == "auto":
            estimator.set_params(**{path: False})
    X = few_values(X, estimator.max_bins) if _is_hist(estimator) else X
    estimator.fit(X, y, sample_weight=weight)


def few_values(X: Any, n_values: int) -> Any:
    """Round an array, column by column, to at most ``n_values`` of its values.

    scikit-learn searches the bins of weighted rows one by one, which may take longer than growing
    the trees.  A column with few values needs no search: its bins end midway between them.  The
    values kept are quantiles, and every other goes to the nearest, so it is in the same bin.
    """
    if not isinstance(X, np.ndarray):
        return X
    shares = np.linspace(0, 1, n_values)
    rounded = X.copy()
    for column in rounded.T:
        known = np.isfinite(column)
        values = np.unique(column[known])
        if len(values) > n_values:
            kept = np.unique(np.quantile(column[known], shares, method="nearest"))
            ends = kept[:-1] / 2 + kept[1:] / 2
            column[known] = kept[np.searchsorted(ends, column[known])]
    return rounded


def inner_scores(estimator: Any, X: Any, least: float = LEAST_PROBABILITY) -> Floats:
    """Scores (m,): the raw ones where there are any, else the log-odds of the probabilities.

    Probabilities count as at least ``least``.
    """
    kind = library_of(estimator)
    if kind == "xgboost":
        scores = estimator.predict(X, output_margin=True)
    elif kind == "lightgbm":
        scores = estimator.predict(X, raw_score=True)
    elif hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        scores = inner_log_odds(estimator, X, least)
    return np.asarray(scores, dtype=np.float64).reshape(X.shape[0])


def no_log_odds(estimator: Any) -> str | None:
    """Return why a classifier, fitted with costs as weights, estimates no odds, if it does not."""
    name, parameters = type(estimator).__name__, estimator.get_params(deep=False)
    if not hasattr(estimator, "predict_proba"):
        return f"estimator={name} has none"
    if parameters.get("probability"):  # libsvm fits the sigmoid without the weights
        return f"estimator={name} with probability=True ignores the costs in its probabilities"
    objective = parameters.get("objective")
    if library_of(estimator) != "sklearn" and objective not in (None, *LOG_LOSSES):
        return f"the objective {objective!r} of estimator={name} estimates none"
    return None


def scores_are_log_odds(estimator: Any) -> bool:
    """Return whether :func:`inner_scores` are known to equal :func:`inner_log_odds`."""
    scored = library_of(estimator) == "sklearn" and hasattr(estimator, "decision_function")
    return _is_hist(estimator) or not scored


def inner_log_odds(estimator: Any, X: Any, least: float = LEAST_PROBABILITY) -> Floats:
    """Log-odds (m,) of the posteriors: of a booster the scores, else those of predict_proba."""
    if library_of(estimator) != "sklearn":
        return inner_scores(estimator, X)
    p = np.maximum(np.asarray(estimator.predict_proba(X), dtype=np.float64), least)
    return np.log(p[:, 1]) - np.log(p[:, 0])


def _parameters(estimator: Any) -> Iterator[tuple[str, str, Any]]:
    """Path, own name and value of every parameter, also of nested estimators."""
    for path, value in estimator.get_params(deep=True).items():
        yield path, path.rpartition("__")[2], value


def _is_hist(estimator: Any) -> bool:
    return isinstance(estimator, HistGradientBoostingClassifier)


def signs_of(name: str, given: Any, columns: list[Any], n_features: int) -> list[int]:
    """Constraints of a user, by name or in the order of the columns: a sign for each feature."""
    signs = given
    if isinstance(given, dict):
        if unknown := [key for key in given if key not in columns]:
            raise ValueError(
                f"{name} names {unknown[0]!r}, which is not a feature of X: pass X as a DataFrame "
                "with this column, or the constraints as a list."
            )
        signs = [given.get(column, 0) for column in columns]
    elif isinstance(given, str):
        signs = [int(sign) for sign in given.strip("()[] ").split(",")]
    signs = list(signs)
    if len(signs) != n_features or not set(signs) <= {-1, 0, 1}:
        raise ValueError(
            f"{name} must be -1, 0 or 1 for each of the {n_features} features; got {given!r:.80}."
        )
    return [int(sign) for sign in signs]


def check_member(
    owner: Any, member: Any, classes: NDArray[Any], n_features: int | None, *methods: str
) -> None:
    """Refuse a part that is no fitted classifier with one of the methods."""
    name = type(final_classifier(member)).__name__
    fine = isinstance(member, BaseEstimator) and is_classifier(member)
    ends = member, final_classifier(member)  # a pipeline has no boundary_scores
    fine = fine and any(hasattr(end, method) for end in ends for method in methods)
    require(fine, owner, f"a {name} stands where a classifier is expected")
    check_is_fitted(member)
    known = np.asarray(member.classes_).tolist()
    fine = sorted(known, key=str) == sorted(classes.tolist(), key=str)
    require(fine, owner, f"its {name} has other classes")
    fine = None in (n_features, width := getattr(member, "n_features_in_", None))
    require(fine or width == n_features, owner, f"its {name} has other features")


def check_answering(owner: Any, model: Any, *, may_never_reject: bool = False) -> None:
    """Refuse a model that answers for its owner with other labels."""
    last = final_classifier(model)
    name = type(last).__name__
    require(isinstance(last, RejectClassifier), owner, f"its {name} has no reject option")
    check_is_fitted(last)
    ours, theirs = owner.reject_label_, last.reject_label_
    same = np.array_equal(last.classes_, owner.classes_)
    same = same and (
        ours == theirs
        or (ours != ours and theirs != theirs)  # or both are NaN
        or (may_never_reject and theirs is None)
    )
    require(same, owner, f"its {name} has other classes")
    widths = {getattr(one, "n_features_in_", None) for one in (owner, model)}
    require(len(widths - {None}) <= 1, owner, f"its {name} has other features")


# What a pipeline takes may have no number of features.
declare(WrapsClassifier, {"n_features_in_": optional(FEATURES)})
