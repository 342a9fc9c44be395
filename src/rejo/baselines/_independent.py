"""Independent classifiers, one for each boundary, whose boundaries may cross."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rejo._state import declare, each, number, part
from rejo._typing import Floats, Indices
from rejo.baselines._wrapped import Wrapper, fit_clones
from rejo.estimators import (
    BoundaryClassifier,
    Targets,
    check_member,
    check_no_class_weight,
    check_not_frozen,
    inner_scores,
)


class IndependentBoundaries(Wrapper, BoundaryClassifier):
    """Base: each boundary ``q`` is a separate classifier, with the costs of replica ``q``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundaryClassifier._parameter_constraints,
        **Wrapper._wrapper_constraints,
    }
    estimators_: list[Any]
    crossing_rate_: float

    def boundary_scores(self, X: Any) -> Floats:
        return -np.sort(-self._raw_scores(self._check_input(X, reset=False)), axis=1)

    def crossing_mask(self, X: Any) -> NDArray[np.bool_]:
        """Return where (n_samples,) a point lies below one boundary and above a higher one."""
        return _crossed(self._raw_scores(self._check_input(X, reset=False)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "crossing_rate_")

    # ---- what subclasses use -------------------------------------------------------------

    def _raw_scores(self, X: Any) -> Floats:
        """Scores (n, Q) of the classifiers, unsorted."""
        return np.column_stack([inner_scores(fit, X, None) for fit in self.estimators_])

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Any, Targets, Floats, Floats]:
        """Estimator, ``X``, targets, and the labels and costs (K, Q) of the boundaries."""
        self._validate_params()
        estimator = self._prototype()
        check_not_frozen(estimator, type(self).__name__)
        check_no_class_weight(estimator, "estimator__", type(self).__name__)
        X = self._check_input(X, reset=True)
        targets = self._check_targets(X, y, sample_weight)
        labels, costs = self._set_classes(targets.classes)
        return estimator, X, targets, labels, costs

    def _fit_boundaries(
        self, estimator: Any, X: Any, k: Indices, weight: Floats | None, labels: Any, costs: Any
    ) -> list[Any]:
        """A classifier for each column of the labels and costs (K, Q)."""
        problems = [
            side_problem(k, weight, labels[:, q] > 0, costs[:, q]) for q in range(costs.shape[1])
        ]
        return fit_clones(estimator, X, problems, self.n_jobs)

    def _set_crossings(self, X: Any, sample_weight: Floats | None) -> None:
        crossed = _crossed(self._raw_scores(X))
        self.crossing_rate_ = float(np.average(crossed, weights=sample_weight))


def side_problem(
    k: Indices, weight: Floats | None, positive: NDArray[np.bool_], costs: Floats
) -> tuple[Indices | None, Indices, Floats | None]:
    """Rows with a cost at a boundary (``None``: all), their sides 0 or 1, and weights, if any."""
    c = costs[k]
    rows = None if (c > 0).all() else np.flatnonzero(c)
    if rows is not None:
        k, c, weight = k[rows], c[rows], None if weight is None else weight[rows]
    if weight is not None:
        weight = c * weight
    elif (c != 1).any():
        weight = c
    sides = positive[k].astype(np.intp)
    if len(set(sides.tolist())) < 2:
        raise ValueError(
            "loss_matrix has no costs on one side of a boundary, so there is nothing to learn. "
            f"Costs of the classes: {costs.tolist()}."
        )
    return rows, sides, weight


def _crossed(raw: Floats) -> NDArray[np.bool_]:
    """Rows (n,) of raw scores (n, Q) whose sides do not fall from boundary to boundary."""
    sides = raw > 0
    return np.asarray((sides[:, 1:] & ~sides[:, :-1]).any(axis=1))


def _independent(model: Any) -> None:
    methods = ["predict_proba"]
    if not hasattr(model, "predict_proba"):
        methods += ["decision_function"]
    for member in model.estimators_:
        p = getattr(model, "n_features_in_", None)
        check_member(model, member, np.arange(2), p, *methods)


declare(
    IndependentBoundaries,
    {"estimators_": each(part(BaseEstimator)), "crossing_rate_": number(0.0, 1.0 + 1e-9)},
    _independent,
)
