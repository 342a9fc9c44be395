"""What the fitted attributes of each rival must be, for model files; see :mod:`rejo._state`."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    MOST_FEATURES,
    check_parameters,
    count,
    declare,
    each,
    figure,
    floats,
    indices,
    is_sorted,
    labels,
    maybe,
    names,
    number,
    one_of,
    optional,
    part,
    require,
)
from rejo.baselines._independent import IndependentBoundaries
from rejo.baselines._wrapped import known_labels
from rejo.baselines.binary_machine import BinaryKernelMachine
from rejo.baselines.blend import COLDEST, BlendClassifier
from rejo.baselines.calibration import CumulativeSigmoids, GivenScores, TemperatureScaling
from rejo.baselines.cut_ranking import CutRanking
from rejo.baselines.embedded import EmbeddedRejectSVC
from rejo.baselines.frank_hall import FrankHallReject
from rejo.baselines.novelty import NoveltyReject
from rejo.baselines.pairs import TwoClassifierReject
from rejo.baselines.surrogate import SurrogateRejectSVC
from rejo.baselines.threshold import ThresholdRejectClassifier
from rejo.estimators import (
    SUPPORT_STATE,
    RejectClassifier,
    check_answering,
    check_member,
    check_support,
    final_classifier,
)
from rejo.typical import Typical

FEATURES = optional(count(1, MOST_FEATURES))  # a pipeline may not have it
CALIBRATORS = (CalibratedClassifierCV, CumulativeSigmoids, TemperatureScaling, Pipeline)


# ---- thresholds on posteriors, and blends of them -----------------------------------------------


def _threshold(model: Any) -> None:
    """The cutoffs, classifier and calibration are those of the classes and the rule."""
    K = len(model.classes_)
    if model._rule != "chow":
        cutoffs, scores = model.cutoffs_, model._rule == "score"
        fine = len(cutoffs) == (model._n_boundaries if scores else K)
        require(fine, model, "cutoffs_ and classes_ do not agree")
        require(not scores or is_sorted(cutoffs), model, "cutoffs_ are not in rising order")
    uses_scores = model._rule == "score" or model.calibrator_ is not None
    others = ("decision_function", "boundary_scores") if uses_scores else ()
    p, inside = getattr(model, "n_features_in_", None), model.estimator_
    known = known_labels(inside, model.classes_)
    check_member(model, inside, known, p, "predict_proba", *others)
    if not any(hasattr(inside, name) for name in ("decision_function", "predict_proba")):
        same = np.array_equal(inside.classes_, model.classes_)  # boundaries are ordered
        require(same, model, "its estimator_ has its classes in another order")
    if model.calibrator_ is not None:
        _calibrator(model, model.calibrator_, K)


def _restore_threshold(model: Any) -> None:
    model._labels = known_labels(model.estimator_, model.classes_)


def _calibrator(owner: Any, calibrator: Any, n_classes: int) -> None:
    """It is a map from scores to posteriors of this many classes, as ``fit_calibrator`` returns."""
    fine = isinstance(calibrator, CALIBRATORS) and hasattr(calibrator, "predict_proba")
    require(fine, owner, f"a {type(calibrator).__name__} stands where a calibrator is expected")
    check_is_fitted(calibrator)
    if isinstance(calibrator, CumulativeSigmoids):
        fine = len(calibrator.sigmoids_) == n_classes - 1
    elif not isinstance(calibrator, TemperatureScaling):
        fine = np.array_equal(calibrator.classes_, np.arange(n_classes))
    if isinstance(calibrator, Pipeline):  # of a score for each class, or for each pair of them
        n_scores = n_classes, n_classes * (n_classes - 1) // 2
        fine = fine and n_classes > 2 and calibrator.n_features_in_ in n_scores
    if isinstance(calibrator, CalibratedClassifierCV):
        for inner in calibrator.calibrated_classifiers_:
            given = inner.estimator
            fine = fine and isinstance(given, GivenScores) and len(given.classes_) == n_classes
    require(fine, owner, f"its {type(calibrator).__name__} has other classes")


def _given_scores(model: Any) -> None:
    K = len(model.classes_)
    fine = K >= 2 and np.array_equal(model.classes_, np.arange(K))
    require(fine, model, "its classes are not 0, 1, ...")


def _cumulative_sigmoids(model: Any) -> None:
    for sigmoid in model.sigmoids_:
        fine = np.array_equal(sigmoid.classes_, np.arange(2))
        require(fine, model, "a sigmoid has other classes")


def _blend(model: Any) -> None:
    """The weights are shares, and each classifier has the classes and features of the blend."""
    fine = type(model.estimators) is list and all(
        type(pair) is tuple and len(pair) == 2 and type(pair[0]) is str for pair in model.estimators
    )
    require(fine, model, "its estimators are not pairs of a name and a classifier")
    check_parameters(model)
    w = model.weights_
    require(len(model.estimators) == len(w), model, "it has more or fewer classifiers than names")
    require(abs(w.sum() - 1) < 1e-6, model, "its weights are not shares")
    p = getattr(model, "n_features_in_", None)
    for member, weight in zip(model.estimators_, w, strict=True):
        require((member is None) == (weight == 0), model, "a classifier is missing")
        if member is not None:
            check_member(model, member, model.classes_, p, "predict_proba")


declare(
    ThresholdRejectClassifier,
    {
        "estimator_": part(BaseEstimator),
        "calibrator_": maybe(part(BaseEstimator)),
        "cutoffs_": optional(floats(None)),
        "_rule": one_of("chow", "score", "class"),
    },
    _threshold,
    restore_state=_restore_threshold,
    saved=True,
)
declare(
    GivenScores, {"classes_": indices("K", dtype=("int64", "int32"))}, _given_scores, saved=True
)
declare(TemperatureScaling, {"beta_": number(low=1e-300)}, saved=True)
declare(
    CumulativeSigmoids,
    {"sigmoids_": each(part(CalibratedClassifierCV))},
    _cumulative_sigmoids,
    saved=True,
)
declare(
    BlendClassifier,
    {
        "n_features_in_": FEATURES,
        "feature_names_in_": optional(names("p")),
        "classes_": labels("K"),
        "estimators_": each(maybe(part(BaseEstimator)), "n"),
        "weights_": floats("n", low=0.0, high=1.0),
        "temperature_": number(COLDEST, 1 / COLDEST),
        "floor_": number(0.0, 1.0),
    },
    _blend,
    weighted=("estimators", "estimators_", "weights_"),
    saved=True,
)


# ---- a classifier for each boundary -------------------------------------------------------------


def _independent(model: Any) -> None:
    methods = ["predict_proba"]
    if not hasattr(model, "predict_proba"):
        methods += ["decision_function"]
    for member in model.estimators_:
        p = getattr(model, "n_features_in_", None)
        check_member(model, member, np.arange(2), p, *methods)


def _frank_hall(model: Any) -> None:
    Q, n, splits = model._n_boundaries, len(model.estimators_), len(model.classes_) - 1
    fine = n == splits or (n == Q and not hasattr(model, "predict_proba"))
    require(fine, model, "estimators_ and classes_ do not agree")
    fine = n == Q or is_sorted(model.cutoffs_.reshape(n, -1))
    require(fine, model, "cutoffs_ are not in rising order")


def _two_classifiers(model: Any) -> None:
    fine = len(model.estimators_) == model._n_boundaries
    require(fine, model, "estimators_ and classes_ do not agree")


declare(
    IndependentBoundaries,
    {"estimators_": each(part(BaseEstimator)), "crossing_rate_": number(0.0, 1.0 + 1e-9)},
    _independent,
)
declare(FrankHallReject, {"cutoffs_": floats("Q")}, _frank_hall, saved=True)
declare(TwoClassifierReject, {}, _two_classifiers, saved=True)


# ---- machines -----------------------------------------------------------------------------------


def _binary_machine(model: Any) -> None:
    fine = len(model.classes_) == 2 and model.reject_label_ is not None
    require(fine, model, "it has other answers than two classes and a rejection")


def _embedded(model: Any) -> None:
    """The thresholds and coefficients are those of ``epsilon_`` and the kernel."""
    fine = model.thresholds_.tolist() == [-model.epsilon_, model.epsilon_]
    require(fine, model, "thresholds_ and epsilon_ do not agree")
    linear, dual = model.kernel == "linear", getattr(model, "dual_coef_", None)
    require(linear or not model.second_order, model, "second_order needs a linear kernel")
    fine = linear == (dual is None) and hasattr(model, "support_") != linear
    fine = fine and (dual is None or np.array_equal(dual[0], model._coef))
    require(fine, model, "its coefficients do not agree")


declare(BinaryKernelMachine, {"intercept_": number()}, _binary_machine)
declare(SurrogateRejectSVC, SUPPORT_STATE, check_support, saved=True)
declare(
    EmbeddedRejectSVC,
    {
        "epsilon_": number(0.0, 1.0),
        "objective_": figure(),
        "n_starts_": count(1),
        "n_iter_": count(),
        "support_": optional(indices("m")),
        "dual_coef_": optional(floats(1, "m")),
    },
    _embedded,
    saved=True,
)


# ---- around a classifier that rejects -----------------------------------------------------------


def _cut_ranking(model: Any) -> None:
    check_answering(model, model.estimator_)
    same = model.estimator_.reject_cost_ == model.reject_cost_
    require(same, model, "its reject cost is not that of its estimator_")


def _novelty(model: Any) -> None:
    """The classifier and the detector are of the same classes and features."""
    last, detector = final_classifier(model.classifier_), model.detector_
    require(isinstance(last, RejectClassifier), model, "its classifier has no reject option")
    check_is_fitted(last)
    ours, theirs = model.reject_label_, last.reject_label_
    same = np.array_equal(last.classes_, model.classes_) and last.reject_cost_ == model.reject_cost_
    same = same and (theirs is None or ours == theirs or (ours != ours and theirs != theirs))
    require(ours is not None and same, model, "its classifier has other classes")
    fine = model.typical_ is not None if detector is None else hasattr(detector, "score_samples")
    require(fine, model, "it has no detector")
    widths = [getattr(one, "n_features_in_", None) for one in (model.classifier_, detector)]
    widths += [None if model.typical_ is None else len(model.typical_.scale)]
    p = getattr(model, "n_features_in_", None)
    require({p, *widths} <= {p, None}, model, "its parts have other features")


declare(
    CutRanking,
    {"n_features_in_": FEATURES, "estimator_": part(RejectClassifier)},
    _cut_ranking,
    saved=True,
)
declare(
    NoveltyReject,
    {
        "n_features_in_": FEATURES,
        "classifier_": part(BaseEstimator),
        "detector_": maybe(part(BaseEstimator)),
        "typical_": maybe(part(Typical)),
        "threshold_": number(),
        "novel_share_": number(0.0, 1.0),
    },
    _novelty,
    saved=True,
)
