"""From the scores of a classifier to posteriors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo._state import storable
from rejo._typing import Floats, Indices


@storable
class GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its scores."""

    def fit(self, X: Floats, y: Indices, sample_weight: Any = None) -> Self:
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the scores themselves."""
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Floats) -> Indices:
        """Return the class with the highest score."""
        values = np.column_stack([-X, X]) if X.shape[1] == 1 else X
        return np.asarray(self.classes_[values.argmax(axis=1)])


def fit_calibrator(scores: Floats, y: Indices, weight: Floats, method: str) -> Any:
    """Fit a map from scores (n,) or (n, n_scores) to posteriors, for :func:`calibrated`.

    The method "sigmoid" is Platt's, for more than two classes a multinomial logistic regression
    on all scores; "isotonic" is a regression for each class.
    """
    scores, K = scores.reshape(len(scores), -1), len(np.unique(y))
    if method == "sigmoid" and K > 2:
        scaler = StandardScaler().fit(scores, sample_weight=weight)
        logistic = LogisticRegression(max_iter=1000)
        logistic.fit(scaler.transform(scores), y, sample_weight=weight)
        return make_pipeline(scaler, logistic)
    if K > 2 and scores.shape[1] != K:
        raise ValueError(
            f"calibration={method!r} needs a score for each of the {K} classes; the estimator has "
            f"{scores.shape[1]}. Use calibration='sigmoid'."
        )
    everything = np.arange(len(scores))
    calibrator = CalibratedClassifierCV(
        GivenScores(), method=method, cv=[(everything, everything)], ensemble=False
    )
    return calibrator.fit(scores, y, sample_weight=weight)


def calibrated(calibrator: Any, scores: Floats) -> Floats:
    """Posteriors (n_samples, n_classes) of scores."""
    return np.asarray(calibrator.predict_proba(scores.reshape(len(scores), -1)))
