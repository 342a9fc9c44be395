"""What the fitted attributes of each class must be, for model files; see :mod:`rejo._state`.

A check is for what the table cannot say.  Those of the bases come first.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    LARGEST,
    MOST_FEATURES,
    check_parameters,
    count,
    declare,
    each,
    either,
    figure,
    flag,
    floats,
    indices,
    is_sorted,
    label,
    labels,
    maybe,
    names,
    number,
    one_of,
    optional,
    part,
    require,
    sparse_rows,
    texts,
)
from rejo.estimators.base import RejectClassifier
from rejo.estimators.boosting import RejoBoost
from rejo.estimators.boundaries import BoundaryClassifier, ParallelBoundaries
from rejo.estimators.growing import FORMS
from rejo.estimators.inner import WrapsClassifier
from rejo.estimators.kernel_logistic import RejoKernelLogistic
from rejo.estimators.kernel_machine import LARGEST_GAMMA, SMALLEST_GAMMA, KernelMachine
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP, layer_sizes
from rejo.estimators.pipelines import final_classifier
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.estimators.priced import PricedClassifier
from rejo.estimators.replication import ReplicationClassifier
from rejo.estimators.svm import RejoSVC
from rejo.prices import HIGHEST, reject_cost_of
from rejo.replication import extension_vectors
from rejo.solvers import BoostedTrees, Moments, linear

LARGEST_OFFSET = 1500.0  # the logarithm of the largest number over the smallest
MOST_UNITS = 1 << 14  # of a layer: a prediction holds them for 2048 points
FEATURES = count(1, MOST_FEATURES)
LOSS = maybe(floats("K", None, low=0.0))
OFFSETS = optional(maybe(floats("Q", low=-LARGEST_OFFSET, high=LARGEST_OFFSET)))


# ---- the contract -------------------------------------------------------------------------------


def _reject_classifier(model: Any) -> None:
    check_parameters(model)
    answer, cost = model.reject_label_, model.reject_cost_
    free = answer is None or answer not in model.classes_.tolist()
    require(free, model, f"the reject label {answer!r:.40} is also a class")
    least, most = model._lowest_reject_cost, model._highest_reject_cost
    within = cost is None or least < cost <= most
    require(within, model, f"the reject cost {cost!r:.40} is not in ({least:g}, {most:g}]")


def _boundary_classifier(model: Any) -> None:
    fine = model._loss is None or model._loss.shape[1] == model._n_boundaries + 1
    require(fine, model, "the loss matrix and classes_ do not agree")


def _boundaries(model: Any) -> dict[str, int]:
    return {"Q": model._n_boundaries}


def _parallel_boundaries(model: Any) -> None:
    require(is_sorted(model.thresholds_), model, "thresholds_ are not in rising order")


def _priced_classifier(model: Any) -> None:
    K, prices = len(model.classes_), model.prices_
    require(prices.shape[1] == K + 1, model, "prices_ are not a number for each outcome")
    # A review may cost its price and, if the reviewer is wrong, an error as well; at a cut in
    # the ranking it may also cost less than nothing.
    fine = (prices[:, :-1] >= 0).all() and not prices.diagonal().any()
    require(fine, model, "prices_ hold a price that cannot be")
    cost = model.reject_cost_
    fine = cost == reject_cost_of(prices)
    if cost is None:  # at a cut in the ranking, or without rejection
        fine = model._rejects or model._is_uniform
    require(fine, model, "prices_ and the reject cost do not agree")


declare(
    RejectClassifier,
    {
        "n_features_in_": FEATURES,
        "feature_names_in_": optional(names("p")),
        "classes_": labels("K"),
        "reject_label_": maybe(label()),
        "reject_cost_": maybe(number()),
    },
    _reject_classifier,
)
declare(
    BoundaryClassifier,
    {"_loss": LOSS},
    _boundary_classifier,
    lengths=_boundaries,
)
declare(ParallelBoundaries, {"thresholds_": floats("Q")}, _parallel_boundaries)
declare(
    PosteriorsMixin,
    {"_odds_offsets": OFFSETS},
)
declare(
    PricedClassifier,
    {"prices_": floats("K", None, low=-2 * HIGHEST, high=2 * HIGHEST), "_ordered": flag()},
    _priced_classifier,
)
# What a pipeline takes may have no number of features.
declare(WrapsClassifier, {"n_features_in_": optional(FEATURES)})


# ---- kernels ------------------------------------------------------------------------------------

SUPPORT_STATE = {  # what `_set_solution` sets
    "support_": indices("n"),
    "support_vectors_": either(floats("n", "p"), sparse_rows("n", "p"), floats(0, 0)),
    "n_support_": indices("K"),
    "dual_coef_": floats(1, "n"),
    "objective_": figure(),
    "duality_gap_": figure(),
    "n_iter_": count(),
}


def _kernel_machine(model: Any) -> None:
    """The kernel has a name, suits the points that carry its function, and cannot overflow."""
    require(isinstance(model.kernel, str), model, "the kernel is not one of rejo's own")
    require(abs(model.coef0) <= LARGEST, model, "coef0 is too large")
    n_axes = {"linear": None, "precomputed": 1}.get(str(model.kernel), 2)
    found = None if model._basis is None else model._basis.ndim
    require(found == n_axes, model, "the points that carry its function are malformed")
    n = model._n_weights if model.kernel == "linear" else len(model._coef)
    require(len(model._coef) == n, model, "coefficients and features do not agree in number")
    if model.kernel == "poly":
        rows = model._basis.data if issparse(model._basis) else model._basis
        most = np.abs(rows).max(initial=0.0) ** 2 * model.n_features_in_
        with np.errstate(over="ignore"):
            top = np.float64(model._gamma * most + abs(model.coef0)) ** int(model.degree)
        # Else points like these would have infinite scores of both signs.
        require(np.isfinite(top), model, "its kernel overflows")


def check_support(model: Any) -> None:
    """Refuse support vectors that do not agree with the kernel and their numbers."""
    none = model.support_vectors_.shape == (0, 0)
    require(none == (model.kernel == "precomputed"), model, "its support vectors are malformed")
    n = model.n_support_.sum()
    require(n == len(model.support_), model, "its numbers of support vectors do not agree")


def _kernel_logistic(model: Any) -> None:
    fine = model.kernel == "linear" or len(model.pivots_) == len(model._coef)
    require(fine, model, "its pivots and coefficients do not agree in number")


# The kernels take as many rows as there are coefficients, as many columns as X has, and the
# indices of sparse rows as they are.  With kernel="precomputed", rows are columns of X.
declare(
    KernelMachine,
    {
        "_gamma": number(low=SMALLEST_GAMMA, high=LARGEST_GAMMA),
        "_coef": floats("m"),
        "_basis": maybe(either(floats("m", "p"), sparse_rows("m", "p"), indices("m", below="p"))),
    },
    _kernel_machine,
    training_rows=("support_vectors_", "_basis"),
)
declare(RejoSVC, SUPPORT_STATE, check_support, saved=True)
declare(
    RejoKernelLogistic,
    {
        "pivots_": indices(None),
        "objective_": figure(),
        "duality_gap_": figure(),
        "n_iter_": count(),
    },
    _kernel_logistic,
    saved=True,
)


# ---- lines and networks -------------------------------------------------------------------------


def _linear(model: Any) -> None:
    stream = getattr(model, "_stream", None)
    known = hasattr(model, "_n_fitted") or stream is not None
    require(known, model, "it does not know how many cases it has seen")
    n = model.n_features_in_ + len(model.thresholds_)
    require(stream is None or len(stream.x) == n, model, "its stream is malformed")


def _restore_linear(model: Any) -> None:
    if hasattr(model, "_stream") and not hasattr(model, "_rng"):
        model._rng = check_random_state(model.random_state)


def _mlp(model: Any) -> None:
    """The layers are those of ``hidden_layer_sizes`` and fit to each other."""
    units = (model.n_features_in_, *layer_sizes(model.hidden_layer_sizes), 1)
    require(max(units[1:]) <= MOST_UNITS, model, f"a layer has more than {MOST_UNITS} units")
    shapes = [W.shape for W in model.coefs_]
    same = shapes == [*pairwise(units)] and model.n_layers_ == len(units)
    require(same, model, "its layers and hidden_layer_sizes do not agree")
    lengths = [len(c) for c in model.intercepts_]
    same = lengths == [*units[1:-1], len(model.thresholds_)]
    same = same and np.array_equal(model.intercepts_[-1], -model.thresholds_)
    require(same, model, "its intercepts and layers do not agree")
    n = sum(W.size for W in model.coefs_) + sum(lengths)
    moments = model._moments
    require(moments is None or len(moments.first) == n, model, "its moments are malformed")


def _restore_mlp(model: Any) -> None:
    model._theta = np.concatenate([*map(np.ravel, model.coefs_), *model.intercepts_])
    if not hasattr(model, "_rng"):
        model._rng = check_random_state(model.random_state)


declare(
    RejoLinear,
    {
        "coef_": floats(1, "p"),
        "n_iter_": count(0, 1 << 53),
        "objective_": optional(figure()),
        "optimality_gap_": optional(figure()),
        "_n_fitted": optional(count(1, 1 << 53)),
        "_stream": optional(part(linear.Stream)),
        "_rng": optional(part(np.random.RandomState)),
    },
    _linear,
    restore_state=_restore_linear,
    saved=True,
)
declare(
    RejoMLP,
    {
        "coefs_": each(floats(None, None)),
        "intercepts_": each(floats(None)),
        "n_layers_": count(2),
        "objective_": figure(),
        "loss_curve_": each(figure()),
        "best_loss_": figure(),
        "validation_curve_": each(figure()),
        "n_iter_": count(),
        "_moments": maybe(part(Moments)),
        "_rng": optional(part(np.random.RandomState)),
    },
    _mlp,
    restore_state=_restore_mlp,
    saved=True,
)


# ---- other classifiers, and trees ---------------------------------------------------------------


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


def check_answering(owner: Any, model: Any) -> None:
    """Refuse a model that answers for its owner with other labels."""
    last = final_classifier(model)
    name = type(last).__name__
    require(isinstance(last, RejectClassifier), owner, f"its {name} has no reject option")
    check_is_fitted(last)
    ours, theirs = owner.reject_label_, last.reject_label_
    same = np.array_equal(last.classes_, owner.classes_)
    same = same and (ours == theirs or (ours != ours and theirs != theirs))  # or both are NaN
    require(same, owner, f"its {name} has other classes")
    widths = (getattr(one, "n_features_in_", None) for one in (owner, model))
    require(len(set(widths)) == 1, owner, f"its {name} has other features")


def _replication(model: Any) -> None:
    """The replicas are those of the coding; the estimator takes them, and has two classes."""
    marks = extension_vectors(model._n_boundaries, 1.0, model.coding_)
    fine = model._marks.shape == marks.shape and ((model._marks != 0) == (marks != 0)).all()
    require(fine, model, "its replicas are malformed")
    width = p = getattr(model, "n_features_in_", None)
    if model.transformer_ is not None:
        width = getattr(model.transformer_[-1], "_n_features_out", None)
        same = getattr(model.transformer_, "n_features_in_", p) == p
        require(same, model, "its transformer_ has other features")
    width = None if width is None else width + marks.shape[1]
    methods = "decision_function", "predict_proba"
    check_member(model, model.estimator_, np.arange(2), width, *methods)


def _boost(model: Any) -> None:
    """The trees split by the features and add to the scores that there are."""
    replicas, posteriors = model.form_ == "replicas", model.form_ == "posteriors"
    K, S = len(model.classes_), len(model.intercepts_)
    right = (model._n_boundaries if replicas else 1) if not posteriors else K if K > 2 else 1
    _boundary_classifier(model)
    require(right == S, model, "its intercepts are not those of its scores")
    Q, p = 0 if posteriors else model._n_boundaries, model.n_features_in_ + replicas
    require(len(model.offsets_) == Q, model, "its offsets are not those of its boundaries")
    require(model.trees_.n_features == p, model, "its trees have other features")
    targets = model.trees_.target < (1 if replicas else S)
    require(targets.all(), model, "a tree adds to a score that it does not have")
    split = model.trees_.feature >= 0
    by_code, columns = model.trees_.category[split] >= 0, model.trees_.feature[split]
    coded = np.zeros(by_code.shape, dtype=bool)
    if model._categories is not None:
        coded = np.array([one is not None for one in [*model._categories, None]])[columns]
    require((by_code == coded).all(), model, "a number is split as a category, or the other way")
    require(model._held_out.shape == model._mass.shape[:2], model, "its held-out scores disagree")


declare(
    ReplicationClassifier,
    {
        "transformer_": maybe(part(Pipeline)),
        "estimator_": part(BaseEstimator),
        "coding_": one_of("ordinal", "thermometer", "onehot"),
        "order_": one_of("constraint", "margin", "none"),
        "order_violations_": count(),
        "margins_": maybe(floats("Q")),
        "_marks": floats("Q", None),
    },
    _replication,
    copies={"estimator_": "_marks"},  # has an entry for each copy
    saved=True,
)
declare(
    RejoBoost,
    {
        "_loss": LOSS,
        "_odds_offsets": OFFSETS,
        "form_": one_of(*FORMS),
        "trees_": part(BoostedTrees),
        "intercepts_": floats("S"),
        "offsets_": either(floats("Q"), floats(0)),
        "_held_out": floats("S", None),
        "_mass": floats("S", None, "K", low=0.0),
        "_categories": maybe(
            each(maybe(either(texts(), floats(None), indices(None, low=-(1 << 63)))), "p")
        ),
        "_zeros_missing": flag(),
        "_saw_gaps": flag(),
    },
    _boost,
    lengths=_boundaries,
    saved=True,
)
