"""What the rivals around a standard classifier share: clones, weights, folds and scores."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.parallel import Parallel, delayed

from rejo._frames import take_rows
from rejo._typing import Floats, Indices
from rejo.estimators import (
    LEAST_PROBABILITY,
    Targets,
    WrapsClassifier,
    check_classifier,
    final_classifier,
    final_step,
    fit_weighted,
    inner_scores,
    is_frozen,
    library_of,
    middle_scores,
    set_random_states,
)

LARGEST_SCORE = 1e100  # that is calibrated; a score of 1e300 times a slope would be infinite
FEATURES = ("n_features_in_", "feature_names_in_")
FITTED = ("classes_", "reject_label_", "reject_cost_", *FEATURES)
Fold = tuple[Indices, Indices]
Measure = Callable[[Any, Any, NDArray[Any]], Floats]  # of a fitted classifier, points, its labels


@dataclass(kw_only=True, eq=False, repr=False)
class Wrapper(WrapsClassifier):
    """Mixin for the parameters ``estimator``, ``random_state`` and ``n_jobs``."""

    random_state: Any = None
    n_jobs: int | None = None

    _wrapper_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def _prototype(self) -> Any:
        """An unfitted clone of the estimator, checked, with the random state if there is one."""
        estimator = self._default()
        check_classifier(estimator, boundaries=True)
        estimator = clone(estimator)
        if self.random_state is not None:
            set_random_states(estimator, check_random_state(self.random_state))
        return estimator

    def _folds(self, X: Any, y: Any, targets: Targets) -> list[Fold]:
        """Rows to train on and rows held out, of those that have a weight."""
        cv: Any = 5 if self.cv is None else self.cv  # type: ignore[attr-defined]
        k = targets.indices
        n = len(k)
        if isinstance(cv, Integral):
            cv = int(cv)
            if cv > n:
                raise ValueError(f"cv={cv} folds cannot be made of {n} points. Lower cv.")
            ties = np.arange(n)
            if self.random_state is not None:
                ties = check_random_state(self.random_state).permutation(n)
            fold = np.empty(n, dtype=np.intp)
            fold[np.lexsort((ties, k))] = np.arange(n) % cv
            return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)]
        splits = check_cv(cv).split(X, y)
        if targets.rows is None:
            return [(np.asarray(train), np.asarray(test)) for train, test in splits]
        place = np.full(X.shape[0], -1)
        place[targets.rows] = np.arange(n)
        kept = [(place[train], place[test]) for train, test in splits]
        return [(train[train >= 0], test[test >= 0]) for train, test in kept]


def copy_fitted(owner: Any, *sources: Any, names: Sequence[str] = FITTED) -> None:
    """Give a model what another has learned, of the first source that has it."""
    for name in names:
        owner.__dict__.pop(name, None)
        source = next((source for source in sources if hasattr(source, name)), None)
        if source is not None:
            setattr(owner, name, getattr(source, name))


def with_last(model: Any, last: Any) -> Any:
    """A copy of a fitted model with another last step; one that is no pipeline is replaced."""
    if isinstance(model, FrozenEstimator):
        return FrozenEstimator(last)
    if not isinstance(model, Pipeline):
        return last
    found = copy(model)
    found.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
    return found


def fit_clone(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> Any:
    """A clone of the estimator, fitted; a frozen one as it is."""
    return fit_weighted(clone(estimator), X, y, weight)


def fit_clones(
    estimator: Any, X: Any, problems: Iterable[tuple[Indices | None, Any, Any]], n_jobs: int | None
) -> list[Any]:
    """A fitted clone for each problem: its rows of ``X``, their labels and weights."""
    return Parallel(n_jobs=n_jobs)(
        delayed(fit_clone)(estimator, X if rows is None else take_rows(X, rows), y, weight)
        for rows, y, weight in problems
    )


def scores(
    estimator: Any, X: Any, labels: NDArray[Any], least: float = LEAST_PROBABILITY
) -> Floats:
    """Scores of a fitted classifier: (n,), positive for the second of two labels, or (n, n_scores).

    They are those of ``decision_function``, else logarithms of ``predict_proba``, else those
    halfway between neighbouring classes of a classifier by boundaries.
    """
    columns = _columns(estimator, labels)
    K = len(columns)
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        values = _middles(estimator, X, columns)
    elif K == 2:
        sign = 1.0 if columns[1] == 1 else -1.0
        values = sign * inner_scores(estimator, X, least)
    elif hasattr(estimator, "decision_function"):
        values = np.asarray(estimator.decision_function(X), dtype=np.float64)
        values = values[:, columns] if values.shape[1] == K else values
    else:
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, columns]
        values = np.log(np.maximum(p, least))
    return _no_nan(values, estimator, "scores")


def moderate_scores(estimator: Any, X: Any, labels: NDArray[Any]) -> Floats:
    """Scores to calibrate: a probability of 0 says no more than one of 0.001.

    The votes of a forest are often unanimous, and infinite odds would outweigh all others.  Nor do
    larger scores than ``LARGEST_SCORE``: products of them must stay finite.
    """
    return scores(estimator, X, labels, least=1e-3).clip(-LARGEST_SCORE, LARGEST_SCORE)


def posteriors(estimator: Any, X: Any, labels: NDArray[Any]) -> Floats:
    """Posteriors (n, K) of a fitted classifier, a column for each label in their order."""
    p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return _no_nan(p[:, _columns(estimator, labels)], estimator, "posteriors")


def _no_nan(values: Floats, estimator: Any, what: str) -> Floats:
    """Refuse values by which no case can be decided."""
    bad = np.isnan(values) if what == "scores" else ~np.isfinite(values)
    if bad.any():
        rows = np.unique(np.nonzero(bad)[0])
        raise ValueError(
            f"estimator={_name(estimator)} gives {what} that are not numbers for {len(rows)} of "
            f"{len(values)} cases; the first is row {rows[0]}. Check the values of these cases, "
            "and scale features that are very large."
        )
    return values


def held_out_scores(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weight: Floats | None,
    folds: list[Fold],
    labels: NDArray[Any],
    names: list[str],
    n_jobs: int | None,
    measure: Measure = scores,
) -> tuple[Floats, Indices]:
    """Measures of points by fits that did not see them, pooled, and their rows."""
    pooled = np.concatenate([test for _, test in folds])
    for label, name in zip(labels, names, strict=True):
        if not all((y[train] == label).any() for train, _ in folds):
            raise ValueError(
                f"cv holds out all points of {name} at once, so none are left to learn from. Use "
                "folds that leave some in, or more points; with cut-offs, cv='train' chooses them "
                "on the training points."
            )
        if not (y[pooled] == label).any():
            raise ValueError(
                f"cv holds out no point of {name}: cut-offs need some of every class. Use folds "
                "that hold out each point once, such as cv=5."
            )
    problems = [(train, y[train], None if weight is None else weight[train]) for train, _ in folds]
    fits = fit_clones(estimator, X, problems, n_jobs)
    parts = [
        measure(fit, take_rows(X, test), labels)
        for fit, (_, test) in zip(fits, folds, strict=True)
        if len(test)  # all of a fold may be without weight
    ]
    return np.concatenate(parts), pooled


def _middles(estimator: Any, X: Any, columns: list[int]) -> Floats:
    """Scores (n, K - 1) halfway between neighbouring classes of a classifier by boundaries."""
    if columns != sorted(columns):
        raise ValueError(
            f"estimator={_name(estimator)} has its classes in another order than the classifier "
            "around it. Give both the same class_order."
        )
    classifier, X = final_step(estimator, X)
    edges = classifier.boundary_scores(X)
    return middle_scores(edges, rejects=classifier.reject_label_ is not None)


def set_pairwise(estimator: Any, pairwise: bool) -> None:
    """Let machines give, for more than two classes, a score for each pair, or for each class."""
    for path in estimator.get_params(deep=True):
        if path.rpartition("__")[2] == "decision_function_shape":
            estimator.set_params(**{path: "ovo" if pairwise else "ovr"})


def known_labels(estimator: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """What to call the classes: by their names, but XGBoost learns only 0, 1, ..."""
    if is_frozen(estimator):
        return classes
    return (
        np.arange(len(classes)) if library_of(final_classifier(estimator)) == "xgboost" else classes
    )


def _columns(estimator: Any, labels: NDArray[Any]) -> list[int]:
    """Column of each label in what the estimator puts out."""
    known = np.asarray(estimator.classes_).tolist()
    wanted = labels.tolist()
    if sorted(known, key=str) != sorted(wanted, key=str):
        raise ValueError(
            f"estimator={_name(estimator)} has the classes {known}, but y has {wanted}. A fitted "
            "estimator must have the same classes."
        )
    return [known.index(label) for label in wanted]


def _name(estimator: Any) -> str:
    return type(final_classifier(estimator)).__name__
