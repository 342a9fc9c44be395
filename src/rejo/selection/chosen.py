"""What the searches share: the model that was chosen answers."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rejo._state import MOST_FEATURES, Must, count, optional, part
from rejo._typing import Floats, Mask
from rejo.baselines import FEATURES, copy_fitted
from rejo.estimators import (
    Judgement,
    RejectClassifier,
    check_answering,
    final_classifier,
    final_step,
)


class ChosenModel(RejectClassifier):
    """Base of the classifiers that choose a model in ``fit``, and store it as ``best_estimator_``.

    A subclass has a ``_learner``, the classifier that is tuned, and calls :meth:`_copy_features`.
    """

    reject_cost: Any
    best_estimator_: Any
    _fitted: ClassVar[dict[str, Must]] = {
        "n_features_in_": optional(count(1, MOST_FEATURES)),  # a pipeline may not have it
        "best_estimator_": part(BaseEstimator),
    }

    @available_if(lambda self: hasattr(self._decider, "boundary_scores"))
    def boundary_scores(self, X: Any) -> Floats:
        """Return the scores (n_samples, n_boundaries) of the chosen model, if it has boundaries."""
        return np.asarray(self._ask("boundary_scores", X))

    @available_if(lambda self: hasattr(self._decider, "predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return the posteriors (n_samples, n_classes) of the chosen model, if it has them."""
        return np.asarray(self._ask("predict_proba", X))

    @available_if(lambda self: hasattr(self._decider, "novel_mask"))
    def novel_mask(self, X: Any) -> Mask:
        """Return which cases (n_samples,) the chosen model finds novel, if it has a detector."""
        return np.asarray(self._ask("novel_mask", X))

    @available_if(lambda self: hasattr(self._decider, "novel_features"))
    def novel_features(self, X: Any, top: int = 3) -> Any:
        """Return the strange features of each case, as its last step sees them."""
        return self._ask("novel_features", X, top)

    @property
    def _decider(self) -> Any:
        """The chosen classifier, or before ``fit`` the one that is tuned."""
        fitted = hasattr(self, "best_estimator_")
        return final_classifier(self.best_estimator_) if fitted else self._learner

    @property
    def decides_by_posteriors(self) -> bool:
        """Whether the chosen model decides by posteriors and prices."""
        return self._decider.decides_by_posteriors is True  # a class, if not fitted, has none

    def judge(self, X: Any) -> Judgement:
        """Decide each point; see :meth:`rejo.estimators.RejectClassifier.judge`."""
        return self._ask("judge", X)

    def predict_forced(self, X: Any) -> NDArray[Any]:
        """Predict the class (n_samples,) of every point, whatever its group."""
        return np.asarray(self._ask("predict_forced", X))

    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        """What a method of the chosen classifier answers, after the steps before it."""
        check_is_fitted(self)
        classifier, X = final_step(self.best_estimator_, X)
        return getattr(classifier, method)(X, *more)

    def _copy_features(self) -> None:
        copy_fitted(self, self.best_estimator_, names=FEATURES)

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        return float(self._ask("_mean_cost", X, y, sample_weight))

    def _check_state(self) -> None:
        """The chosen model has the same classes and features."""
        super()._check_state()
        check_answering(self, self.best_estimator_)

    def _to_onnx(self, graph: Any, X: str) -> str:
        return str(graph.apply(self.best_estimator_, X))
