"""From the scores of a classifier to posteriors, on points that it was not trained on."""

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rejo._state import declare, each, indices, number, part, require
from rejo._typing import Floats, Indices
from rejo.estimators import boundary_posteriors

METHODS = ("sigmoid", "isotonic", "temperature")
RANGE = 10.0  # of the logarithm of the factor, for scores of size 1


class GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its scores."""

    def fit(self, X: Floats, y: Indices, sample_weight: Any = None) -> Self:
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the scores themselves."""
        return X[:, 0] if X.shape[1] == 1 else X

    def _decision_to_onnx(self, graph: Any, X: str) -> str:
        return X

    def predict(self, X: Floats) -> Indices:
        """Return the class with the highest score."""
        values = np.column_stack([-X, X]) if X.shape[1] == 1 else X
        return np.asarray(self.classes_[values.argmax(axis=1)])


class TemperatureScaling(BaseEstimator):
    """One factor ``beta`` for all scores, with the lowest log loss: ``softmax(beta * scores)``."""

    def fit(self, X: Floats, y: Indices, sample_weight: Any = None) -> Self:
        """Find the factor."""
        scores = _two_columns(X)
        size = np.sqrt(np.mean(scores**2)) or 1.0

        def log_loss(log_beta: float) -> float:
            log_p = log_softmax(np.exp(log_beta) / size * scores, axis=1)
            return -float(np.average(log_p[np.arange(len(y)), y], weights=sample_weight))

        found = minimize_scalar(log_loss, bounds=(-RANGE, RANGE), options={"xatol": 1e-9})
        self.beta_ = float(np.exp(found.x) / size)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Posteriors (n_samples, n_classes) of scores."""
        return np.asarray(softmax(self.beta_ * _two_columns(X), axis=1))


class CumulativeSigmoids(BaseEstimator):
    """Platt's sigmoid at each boundary between ordered classes; crossing ones are sorted."""

    def fit(self, X: Floats, y: Indices, sample_weight: Any = None) -> Self:
        """Fit ``P(y > j)`` to column ``j`` of the scores."""
        self.sigmoids_ = [
            _fit_sklearn(scores[:, None], (y > j).astype(np.intp), sample_weight, "sigmoid")
            for j, scores in enumerate(X.T)
        ]
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Posteriors (n_samples, n_classes) of scores."""
        pairs = zip(self.sigmoids_, X.T, strict=True)
        above = [sigmoid.predict_proba(scores[:, None])[:, 1] for sigmoid, scores in pairs]
        return boundary_posteriors(logit(np.column_stack(above)), rejects=False)


def fit_calibrator(scores: Floats, y: Indices, weight: Floats, method: str) -> Any:
    """Fit a map from scores (n,) or (n, n_scores) to posteriors, for :func:`calibrated`.

    For more than two classes "sigmoid" is a multinomial logistic regression on all scores or, of
    scores at the boundaries between ordered classes, a sigmoid at each.
    """
    scores, K = scores.reshape(len(scores), -1), len(np.unique(y))
    if method == "sigmoid" and K > 2:
        if scores.shape[1] == K - 1:
            return CumulativeSigmoids().fit(scores, y, weight)
        scaler = StandardScaler().fit(scores, sample_weight=weight)
        logistic = LogisticRegression(max_iter=1000)
        logistic.fit(scaler.transform(scores), y, sample_weight=weight)
        return make_pipeline(scaler, logistic)
    if K > 2 and scores.shape[1] != K:
        raise ValueError(
            f"calibration={method!r} needs a score for each of the {K} classes; the estimator has "
            f"{scores.shape[1]}. Use calibration='sigmoid'."
        )
    if method == "temperature":
        return TemperatureScaling().fit(scores, y, weight)
    return _fit_sklearn(scores, y, weight, method)


def calibrated(calibrator: Any, scores: Floats) -> Floats:
    """Posteriors (n_samples, n_classes) of scores."""
    return np.asarray(calibrator.predict_proba(scores.reshape(len(scores), -1)))


def calibrated_to_onnx(calibrator: Any, graph: Any, scores: str, n_classes: int) -> str:
    """Add the posteriors (n, K) of scores, (n, 1) for two classes, to an ONNX graph."""
    if not isinstance(calibrator, TemperatureScaling):
        return str(graph.posteriors(calibrator, scores))
    scaled = graph.times(scores, calibrator.beta_, 1 if n_classes == 2 else n_classes)
    return str(graph.from_logits(scaled, n_classes))


def _fit_sklearn(scores: Floats, y: Indices, weight: Floats, method: str) -> Any:
    """Let scikit-learn fit a map from scores (n, n_scores)."""
    everything = np.arange(len(scores))
    calibrator = CalibratedClassifierCV(
        GivenScores(), method=method, cv=[(everything, everything)], ensemble=False
    )
    calibrator.fit(scores, y, sample_weight=weight)
    return calibrator.set_params(cv=None)  # which has an entry for each point


def _two_columns(scores: Floats) -> Floats:
    """Scores (n, K); one column is that of the second of two classes."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def check_calibrator(owner: Any, calibrator: Any, n_classes: int) -> None:
    """It is a map from scores to posteriors of this many classes, as a fit makes it."""
    known = (CalibratedClassifierCV, CumulativeSigmoids, TemperatureScaling, Pipeline)
    fine = isinstance(calibrator, known) and hasattr(calibrator, "predict_proba")
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
