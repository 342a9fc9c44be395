"""A classifier by boundaries that reviews more cases, or fewer, along its own ranking."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rejo._state import FEATURES, declare, optional, part, require
from rejo._typing import Floats, Mask
from rejo.baselines._wrapped import copy_fitted
from rejo.estimators import Judgement, RejectClassifier, check_answering, fit_weighted, must_review

SIDES = np.array([[1.0, -1.0]])  # of a review region between two boundaries


@dataclass(kw_only=True, eq=False, repr=False)
class CutRanking(RejectClassifier):
    """A classifier that reviews more cases, or fewer, along its own ranking.

    The least sure cases outside the reject region of ``estimator`` are the next that are worth a
    review, and the surest inside the first to decide.

    Parameters
    ----------
    estimator : RejectClassifier
        Fitted as it is.
    limit : float
        Sureness up to which cases go to review.
    widen : bool
        Whether these are reviewed besides all that ``estimator`` rejects, or only if it rejects
        them.

    Attributes
    ----------
    estimator_ : RejectClassifier
        Fitted.
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_
    """

    estimator: Any
    limit: float
    widen: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "judge"])],
        "limit": [Interval(Real, None, None, closed="neither")],
        "widen": ["boolean"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier; see :meth:`rejo.estimators.RejectClassifier.fit`."""
        self._validate_params()
        return self.answer_for(fit_weighted(clone(self.estimator), X, y, sample_weight))

    def answer_for(self, fitted: Any) -> Self:
        """Take a fitted classifier, which is shared, in the place of ``fit``."""
        self.estimator_ = fitted
        copy_fitted(self, fitted)
        return self

    def judge(self, X: Any) -> Judgement:
        """Decide each point; see :meth:`rejo.estimators.RejectClassifier.judge`."""
        check_is_fitted(self)
        found = self.estimator_.judge(X)
        doubtful, rejected = found.sureness <= self.limit, found.decision < 0
        reviewed = doubtful | rejected if self.widen else doubtful & rejected
        decision = np.where(reviewed | must_review(found), -1, found.forced)
        return found._replace(decision=decision, distance=np.abs(found.sureness - self.limit))

    @available_if(lambda self: hasattr(self._inner, "predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return the posteriors (n_samples, n_classes), if the classifier has them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(lambda self: hasattr(self._inner, "novel_mask"))
    def novel_mask(self, X: Any) -> Mask:
        """Return which cases (n_samples,) the detector finds novel, if there is one."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.novel_mask(X))

    @available_if(lambda self: hasattr(self._inner, "novel_features"))
    def novel_features(self, X: Any, top: int = 3) -> Any:
        """Return the strange features of each case; see :class:`~rejo.NoveltyReject`."""
        check_is_fitted(self)
        return self.estimator_.novel_features(X, top)

    @available_if(lambda self: hasattr(self._inner, "boundary_scores") and self._is_binary)
    def boundary_scores(self, X: Any) -> Floats:
        """Return the scores of the two boundaries (n_samples, 2), moved, of two classes.

        Both are moved to where the sureness, the size of the sum of both scores, is the limit.
        """
        check_is_fitted(self)
        scores = np.asarray(self.estimator_.boundary_scores(X))
        moved = (scores.sum(axis=1, keepdims=True) + self.limit * SIDES) / 2
        outer = np.maximum if self.widen else np.minimum
        return np.asarray(outer(SIDES * scores, SIDES * moved) * SIDES)

    @property
    def _inner(self) -> Any:
        return getattr(self, "estimator_", self.estimator)

    @property
    def _is_binary(self) -> bool:
        return len(getattr(self, "classes_", ())) == 2

    def _to_onnx(self, graph: Any, X: str) -> str:
        if not self._is_binary:
            raise TypeError(
                "to_onnx cannot export a cut in the ranking of three or more classes: fit the "
                f"classifier itself at reject_cost={self.reject_cost_:g}, which is close."
            )
        scores = graph.apply(self.estimator_, X)
        total = graph.add("MatMul", scores, np.ones((2, 1)))
        moved = graph.add("Mul", graph.add("Add", total, self.limit * SIDES), np.array([[0.5]]))
        sides = [graph.add("Mul", part, SIDES) for part in (scores, moved)]
        return str(graph.add("Mul", graph.add("Max" if self.widen else "Min", *sides), SIDES))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _cut_ranking(model: Any) -> None:
    check_answering(model, model.estimator_)
    same = model.estimator_.reject_cost_ == model.reject_cost_
    require(same, model, "its reject cost is not that of its estimator_")


declare(
    CutRanking,
    {"n_features_in_": optional(FEATURES), "estimator_": part(RejectClassifier)},
    _cut_ranking,
    saved=True,
)
