"""What :class:`ReplicationClassifier` checks before and after a fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rejo._typing import Floats, Indices
from rejo.estimators import inner
from rejo.estimators.rows import has_nan

EXTREME = 0.01  # rejection rates below this, or above 1 - this, are checked
DOUBTFUL = 0.1  # share of the points nearest to a boundary whose errors are counted


def choose_coding(estimator: Any, X: Any, coding: str, order: str) -> tuple[Any, str]:
    """Resolve "auto"; refuse what the estimator or the coding cannot do."""
    name, can = type(estimator).__name__, inner.can_constrain(estimator)
    if coding == "auto":
        coding = "ordinal" if can else "thermometer"
    if order == "auto":
        ordered = can and inner.boosts(estimator) and coding != "onehot"
        return coding, "constraint" if ordered else "none"
    if order == "constraint" and not can:
        raise ValueError(
            f"order='constraint' needs an estimator with monotonic constraints; {name} has "
            "none. Use order='none', or HistGradientBoostingClassifier, XGBClassifier, "
            "LGBMClassifier, or scikit-learn's trees and forests."
        )
    if order == "constraint" and coding == "onehot":
        raise ValueError(
            "order='constraint' cannot order the replicas with coding='onehot', which gives each "
            "a feature of its own. Use coding='ordinal' or 'thermometer'."
        )
    if order == "constraint" and inner.constraint_needs_complete_X(estimator) and has_nan(X):
        raise ValueError(
            f"X has missing values, which {name} does not support with order='constraint'. Impute "
            "them, use HistGradientBoostingClassifier, or set order='none'."
        )
    if order == "margin" and not (can and inner.has_margin(estimator)):
        raise ValueError(
            f"order='margin' needs trees that start from a given score: XGBClassifier or "
            f"LGBMClassifier, not {name}. Use order='auto'."
        )
    return coding, order


def warn_of_extremes(
    counts: Indices, middles: Floats, k: Indices, weight: Floats | None, cost: float | None
) -> None:
    """Warn if nearly all points are rejected, or nearly none although rejections would pay.

    ``counts`` (n,) are the boundaries below each training point, ``middles`` (n, K - 1) the
    scores halfway between neighbouring classes.
    """
    rejected = float(np.average(counts % 2 == 1, weights=weight))
    if rejected > 1 - EXTREME:
        warnings.warn(
            f"The model rejects {rejected:.1%} of the training points. Raise reject_cost if "
            "that is too many, or give the estimator more freedom (weaker regularisation, more "
            "features).",
            UserWarning,
            stacklevel=3,
        )
    if rejected >= EXTREME or cost is None or cost >= 0.5:
        return
    wrong = (middles > 0).sum(axis=1) != k
    nearest = np.argsort(np.abs(middles).min(axis=1))
    for size in (int(DOUBTFUL * len(k)), len(k)):
        if not size:
            continue
        w = np.ones(size) if weight is None else weight[nearest[:size]]
        errors = np.average(wrong[nearest[:size]], weights=w)
        n_effective = w.sum() ** 2 / (w @ w)
        if errors > cost + 3 * np.sqrt(cost * (1 - cost) / n_effective):
            warnings.warn(
                f"The model rejects {rejected:.1%} of the training points, but {errors:.0%} of the "
                f"{size} nearest to a boundary are decided wrongly and a rejection costs only "
                f"{cost:g}. Raise h, weaken the regularisation, or use an estimator with a "
                "logistic loss: the hinge may lose the reject region.",
                UserWarning,
                stacklevel=3,
            )
            return
