"""What the displays ask of a classifier, also of one in a pipeline or a search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._docs import shared_parameters
from rejo._typing import Floats, Mask
from rejo.estimators import Judgement, final_step

SHARED = """
estimator : estimator
    A fitted classifier of this package, also in a pipeline or a search.
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Points that the classifier was not trained on.
y : array-like of shape (n_samples,)
    Their classes.
y_true : array-like of shape (n_samples,)
    True classes.
y_pred : array-like of shape (n_samples,)
    Decisions without rejection, from ``predict_forced``.
sureness : array-like of shape (n_samples,)
    Any number that is higher for surer decisions, such as the largest posterior.
rows : DataFrame or list of dicts
    A row for each method, reject cost and run, with the columns ``method``, ``reject_cost`` and
    what is drawn (``R``, ``E``, ``accepted_accuracy`` or ``risk``), and ``fold`` if there are
    several runs: folds, splits or bootstrap samples.
accuracy : {"accepted", "overall"}, default="accepted"
    Accuracy on the accepted points, or ``1 - E``, where rejections count as right.
band_label : str, default="band"
    What the bands mean, for the legend.
bayes : pair of arrays, default=None
    x and y of the curve of the best possible classifier.
operating_point : float, default=None
    Your reject cost, marked on each curve.
n_resamples : int, default=0
    Number of bootstrap samples for a band that holds 90 % of them; 0 for no band.
random_state : int, Generator, RandomState or None, default=None
    For the bootstrap.
counts : bool, default=False
    Whether to show numbers of points in place of fractions.
rejected : array-like of bool of shape (n_samples,), default=None
    Points that the classifier rejects; they are reviewed first.
reject_label : int, float or str, default=None
    The label of a rejection. By default the one label in ``y_pred`` that is not a class.
ordinal : bool, default=False
    Whether each reject region, one between any two neighbouring classes, has its own column.
label : a class, default=None
    The class whose posterior is shown; ``None``: for each point, the likeliest class.
n_bins : int, default=10
bins : {"quantile", "width"}, default="quantile"
    Bins with the same number of points, or of the same width.
group : array-like of shape (n_samples,)
    Group of each case, such as a region; it need not be a feature.
show : {"accuracy", "gap"}, default="accuracy"
    Accuracy of the decided cases of each group, or the gap between the best and the worst.
shares : sequence of float in [0, 1], default=None
    Shares of all cases to review; by default 0, 5 %, ..., 95 %.
min_cases : int, default=30
    A group is dashed where it has fewer decided cases, and left out if it never has as many.
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the points.
name : str
    Name of the curve; by default that of the classifier.
ax : matplotlib Axes, default=None
    Where to draw; a new figure by default.  Curves that are already there are kept.
"""
described = shared_parameters(SHARED)


def judge(estimator: Any, X: Any) -> tuple[Any, Judgement]:
    model, X = final_step(estimator, X)
    if not hasattr(model, "judge"):
        raise TypeError(
            f"estimator must be a classifier of this package, got {type(model).__name__}; for "
            "other classifiers use from_predictions, with their decisions and how sure they are"
        )
    return model, model.judge(X)


def judge_in_groups(estimator: Any, X: Any, group: Any) -> tuple[Any, Judgement]:
    """As :func:`judge`, by a classifier whose decisions may depend on the group of each row."""
    policy = getattr(estimator, "policy_", None)
    if policy is None or not policy.needed:
        return judge(estimator, X)
    return estimator, estimator.judge(X, group=group)


def rank(estimator: Any, X: Any, name: str | None) -> tuple[NDArray[Any], Floats, Mask, str]:
    """Return decisions without rejection, how sure they are, which are rejected, and a name."""
    model, found = judge(estimator, X)
    name = type(model).__name__ if name is None else name
    return model.classes_[found.forced], found.sureness, found.decision < 0, name


def rejected_first(rejected: Mask, sureness: Floats) -> Floats:
    """A number for each point that ranks rejected points below all others."""
    pairs = np.column_stack([~rejected, sureness])
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel().astype(np.float64)


def column(y: Any) -> NDArray[Any]:
    """Return labels of shape (n,), also where they come as a single column (n, 1)."""
    # NumPy would turn a list such as [1, "reject"] into strings: lists become objects.
    values = np.asarray(y) if hasattr(y, "__array__") else np.asarray(y, dtype=object)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
