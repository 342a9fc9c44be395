"""The best point of a grid, with as few fits as that takes.

Whatever prepares the cases is fitted once for each fold, not once for each point.  Points that
differ only in the number of trees share one fit, and those that differ only in ``C`` one path, if
the model has one.  Models that decide by posteriors are tuned by log loss, which does not depend
on prices; others by their ``score``, 1 minus the mean cost of a case.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from rejo._typing import Floats, Indices
from rejo.baselines import ThresholdRejectClassifier
from rejo.estimators import class_indices
from rejo.selection.folds import Fold, Splits, candidate, last_step, make_fold

LEAST = 1e-15  # posterior; lower ones count as this in a log loss

Point = Mapping[str, Any]


class Tuner:
    """Tries points of a grid in the folds of some cases, which may be ``prepared`` already."""

    def __init__(
        self, estimator: Any, points: Sequence[Point], X: Any, y: Any, splits: Splits,
        prepared: list[Fold] | None = None,
    ) -> None:  # fmt: skip
        self.estimator, self.points = estimator, points
        self.X, self.y, self.splits = X, y, splits
        self._prepared = {} if prepared is None else {repr({}): prepared}

    def by_log_loss(self) -> dict[str, Any]:
        """Return the point with the lowest log loss of all test parts together."""
        classes, k = np.unique(np.asarray(self.y), return_inverse=True)
        losses = np.zeros(len(self.points))
        with quiet():
            for group in _groups(
                self.points, lambda point: early_parameters(self.estimator, point)
            ):
                points = [self.points[i] for i in group]
                for fold, (_, test) in zip(self._folds(points[0]), self.splits, strict=True):
                    p = grid_posteriors(self.estimator, points, fold, classes)
                    losses[group] += log_losses(p, k[test])
        return dict(self.points[int(np.argmin(np.round(losses / len(k), 9)))])

    def by_score(self, params: Point) -> dict[str, Any]:
        """Return the point with the highest mean ``score``; ``params`` belong to all points."""
        scores = np.empty((len(self.points), len(self.splits)))
        with quiet():
            for i, point in enumerate(self.points):
                for f, (_, test) in enumerate(self.splits):
                    fold = self._folds(point)[f]
                    # A clone does not know that its prices were set: they are those of all points.
                    model = clone(last_step(candidate(self.estimator, params, point)))
                    model.fit(fold.X_train, fold.y_train)
                    scores[i, f] = model.score(fold.X_test, _safe_indexing(self.y, test))
        return dict(self.points[int(scores.mean(axis=1).argmax())])

    def _folds(self, point: Point) -> list[Fold]:
        """The folds, as the steps before the last prepare them at this point."""
        key = repr(early_parameters(self.estimator, point))
        if key not in self._prepared:
            model = candidate(self.estimator, point)
            self._prepared[key] = [
                make_fold(model, self.X, self.y, None, *split) for split in self.splits
            ]
        return self._prepared[key]


def grid_posteriors(
    estimator: Any, points: Sequence[Point], fold: Fold, classes: NDArray[Any]
) -> Floats:
    """Posteriors (n_points, n_test, n_classes) of the test part of a fold, 0 for an unknown class.

    Only the last step of a pipeline is fitted.
    """
    found = np.zeros((len(points), _num_samples(fold.X_test), len(classes)))
    shared = _shared_parameter(estimator)
    groups = _groups(points, lambda point: {key: point[key] for key in point if key != shared})
    for group in groups:
        model = _source(last_step(candidate(estimator, points[group[0]])))
        values: list[Any] = [points[i].get(shared) for i in group]
        if None in values or len(group) == 1:
            models = (last_step(candidate(estimator, points[i])) for i in group)
            fits: Any = (_source(m).fit(fold.X_train, fold.y_train) for m in models)
            answers = ((fit.classes_, fit.predict_proba(fold.X_test)) for fit in fits)
        elif hasattr(model, "staged_predict_proba"):
            model.set_params(**{_rounds_of(model): max(values)}).fit(fold.X_train, fold.y_train)
            answers = ((model.classes_, p) for p in _stages(model, fold.X_test, values))
        else:
            fits = model.fit_path(fold.X_train, fold.y_train, Cs=values)
            answers = ((fit.classes_, fit.predict_proba(fold.X_test)) for fit in fits)
        for i, (known, p) in zip(group, answers, strict=True):
            found[i][:, class_indices(known, classes)] = p
    return found


def _stages(model: Any, X: Any, values: Sequence[int]) -> Iterator[Floats]:
    """Posteriors after each of these numbers of trees; the last ones, if it stopped before."""
    wanted, found, p = set(values), {}, np.empty(0)
    for n_trees, p in enumerate(model.staged_predict_proba(X), start=1):
        if n_trees in wanted:
            found[n_trees] = p.copy()
    return (found.get(value, p) for value in values)


def log_losses(p: Floats, y: Indices) -> Floats:
    """Sum (...) of the log losses of posteriors (..., n, K) of cases of the classes ``y`` (n,)."""
    return -np.log(np.maximum(p[..., np.arange(len(y)), y], LEAST)).sum(axis=-1)


def early_parameters(estimator: Any, point: Point) -> dict[str, Any]:
    """Parameters of the steps before the last of a pipeline."""
    if not isinstance(estimator, Pipeline):
        return {}
    last = estimator.steps[-1][0]
    return {name: value for name, value in point.items() if name.partition("__")[0] != last}


def _source(model: Any) -> Any:
    """Return the classifier inside that has the posteriors, if fits of it can be shared."""
    if not isinstance(model, ThresholdRejectClassifier) or model.random_state is not None:
        return model
    inner = model.estimator
    plain = model.calibration in ("auto", None) and hasattr(inner, "predict_proba")
    shares = hasattr(inner, "staged_predict_proba") or hasattr(inner, "fit_path")
    return inner if plain and shares else model


def _shared_parameter(estimator: Any) -> str:
    """Name of a parameter of which several values take one fit; empty if there is none."""
    before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    model = last_step(estimator)
    source = _source(model)
    before += "estimator__" if source is not model else ""
    if hasattr(source, "staged_predict_proba"):
        return f"{before}{_rounds_of(source)}"
    return f"{before}C" if hasattr(source, "fit_path") else ""


def _rounds_of(booster: Any) -> str:
    """Name of its parameter for the number of rounds."""
    return "max_iter" if "max_iter" in booster.get_params(deep=False) else "n_estimators"


def _groups(points: Sequence[Point], kind: Any) -> list[list[int]]:
    """Indices of the points of each kind."""
    groups: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        groups.setdefault(repr(kind(point)), []).append(i)
    return list(groups.values())


@contextmanager
def quiet() -> Iterator[None]:
    """Points that do not converge, or that reject everything, lose by their score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        yield
