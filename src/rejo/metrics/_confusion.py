"""Confusion with rejections; the mean of any loss between ordered classes; crossed boundaries."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo._typing import Indices
from rejo.metrics._labels import (
    Weights,
    described,
    floats,
    kinds,
    labels,
    outcomes,
    positions,
    shares,
    weights,
)


@described
def reject_confusion_matrix(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    reject_label: Any = None,
    classes: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> NDArray[Any]:
    """Count the decisions and rejections for each true class.

    Parameters
    ----------
    %y_true, y_pred, reject_label
    classes : array-like of shape (n_classes,), default=None
        All classes in the order of the rows, such as ``model.classes_``. By default the sorted
        labels in ``y_true`` and ``y_pred``.
    lower : array-like of shape (n_samples,), default=None
        For each rejected point, the lower of the two classes it lies between, as in the column
        ``lower`` of ``review(X)``; ignored for decided points. Requires ``classes``.
    %sample_weight

    Returns
    -------
    ndarray of shape (n_classes, n_classes + 1) or (n_classes, 2 * n_classes - 1)
        Rows are true classes. Columns are the classes, then rejections; with ``lower``, class 0,
        between 0 and 1, class 1, and so on, as in the loss matrix of :func:`ordinal_risk`.

    Examples
    --------
    >>> from rejo.metrics import reject_confusion_matrix
    >>> y_true, y_pred = [1, 1, 2, 2, 3], [1, -1, 2, -1, 2]
    >>> reject_confusion_matrix(y_true, y_pred)
    array([[1, 0, 0, 1],
           [0, 1, 0, 1],
           [0, 1, 0, 0]])
    >>> reject_confusion_matrix(y_true, y_pred, classes=[1, 2, 3], lower=[1, 1, 2, 2, 2])
    array([[1, 1, 0, 0, 0],
           [0, 0, 1, 1, 0],
           [0, 0, 1, 0, 0]])
    """
    if lower is not None and classes is None:
        raise ValueError("lower needs all classes in their order: pass classes=model.classes_")
    found = outcomes(y_true, y_pred, reject_label, classes)
    if classes is None and len(kinds(found.true)) > 1:
        raise TypeError("labels that are numbers and text have no order: pass classes")
    order, true, pred = found.coded(classes)
    K = len(order)
    if lower is None:
        n_columns, output = K + 1, np.where(pred < 0, K, pred)
    else:
        n_columns, output = 2 * K - 1, _outputs(pred, lower, order)
    weight = None if sample_weight is None else weights(sample_weight, len(output))
    return np.bincount(true * n_columns + output, weight, K * n_columns).reshape(K, n_columns)


@described
def ordinal_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    loss_matrix: ArrayLike,
    classes: ArrayLike,
    reject_label: Any = None,
    lower: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Mean loss of a point, for any loss between ordered classes.

    A rejection far from the true class may cost more than one next to it, so ``lower`` must say
    which classes a rejected point lies between.

    Parameters
    ----------
    %y_true, y_pred
    loss_matrix : array-like of shape (n_classes, 2 * n_classes - 1) or (n_classes, n_classes)
        ``loss_matrix[k, o]`` is the loss of output ``o`` for true class ``k``. The outputs are
        class 0, between 0 and 1, class 1, and so on; or only the classes, without rejection.
    classes : array-like of shape (n_classes,)
        Classes, lowest first, such as ``model.classes_``.
    %reject_label
    lower : array-like of shape (n_samples,), default=None
        For each rejected point, the lower of the two classes it lies between, as in the column
        ``lower`` of ``review(X)``. Not needed for two classes, or if nothing is rejected.
    %sample_weight

    Returns
    -------
    float
        Lower is better.

    Examples
    --------
    >>> from rejo.metrics import ordinal_risk
    >>> from rejo.replication import loss_from_costs, replica_costs
    >>> loss = loss_from_costs(replica_costs(3, reject_cost=0.25))
    >>> y_true, y_pred = ["low", "low", "mid", "high"], ["low", "?", "?", "mid"]
    >>> order = {"classes": ["low", "mid", "high"], "lower": ["low", "mid", "low", "mid"]}
    >>> ordinal_risk(y_true, y_pred, loss_matrix=loss, **order)
    0.75
    """
    found = outcomes(y_true, y_pred, reject_label, classes)
    weight = shares(sample_weight, len(found.true))
    order, true, pred = found.coded(classes)
    K, n_rejected = len(order), int(found.rejected.sum())
    loss = floats("loss_matrix", loss_matrix)
    if loss.shape not in ((K, K), (K, 2 * K - 1)):
        raise ValueError(
            f"loss_matrix must have shape {(K, 2 * K - 1)}, or {(K, K)} without rejection, for {K} "
            f"classes; got {loss.shape}"
        )
    if not np.isfinite(loss).all():
        raise ValueError("loss_matrix contains NaN or infinity")
    if n_rejected and loss.shape[1] == K:
        raise ValueError(
            f"loss_matrix of shape {loss.shape} has no loss for a rejection, but {n_rejected} "
            f"points are rejected: pass one of shape {(K, 2 * K - 1)}"
        )
    if n_rejected and lower is None:
        if K > 2:
            raise ValueError(
                f"lower is missing: {n_rejected} points are rejected, and reject_label does not "
                "say which classes they lie between. Pass lower=review(X)['lower']"
            )
        lower = np.full(len(true), order[0], dtype=object)
    output = pred if loss.shape[1] == K else _outputs(pred, lower, order)
    return float(np.average(loss[true, output], weights=weight))


@described
def crossing_rate(scores: ArrayLike, *, sample_weight: Weights = None) -> float:
    """Fraction of the points at which boundaries cross.

    Scores must not rise from left to right: a point above one boundary is above all lower ones.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_boundaries)
        Score of every point for every boundary, lowest first, such as ``boundary_scores(X)``.
    %sample_weight

    Returns
    -------
    float
        Between 0 and 1. Equal scores do not count as crossed.

    Examples
    --------
    >>> from rejo.metrics import crossing_rate
    >>> crossing_rate([[2.0, 1.0], [0.5, 0.5], [-1.0, 0.5], [-1.0, -2.0]])
    0.25
    """
    table = floats("scores", scores)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"scores must have shape (n_samples, n_boundaries), got {table.shape}")
    if np.isnan(table).any():
        raise ValueError("scores contains NaN")
    crossed = (table[:, 1:] > table[:, :-1]).any(axis=1)
    return float(np.average(crossed, weights=shares(sample_weight, len(table))))


def _outputs(pred: Indices, lower: ArrayLike | None, classes: list[Any]) -> Indices:
    """Outputs (n_samples,): ``2 k`` for class k, ``2 k + 1`` for between classes k and k + 1."""
    output, rejected = 2 * pred, pred < 0
    if rejected.any():
        below = np.asarray(lower, dtype=object)
        if below.shape != pred.shape:
            raise ValueError(f"lower must have shape {pred.shape} like y_true, got {below.shape}")
        # The highest class is the lower of none.
        place = positions("lower", labels("lower", below[rejected]), classes[:-1])
        output[rejected] = 2 * place + 1
    return output
