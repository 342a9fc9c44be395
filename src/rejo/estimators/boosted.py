"""A fitted sum of boosted trees: its scores, and the decisions that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rejo._frames import is_arrow, is_polars
from rejo._sparse import check_sparse, summed
from rejo._state import (
    Must,
    each,
    either,
    flag,
    floats,
    indices,
    maybe,
    one_of,
    part,
    require,
    texts,
)
from rejo._typing import Floats, Indices
from rejo.estimators.base import Judgement
from rejo.estimators.growing import FORMS
from rejo.estimators.inner import is_frame
from rejo.estimators.matrices import (
    Categories,
    categories_of,
    check_numbers,
    encoded,
    without_zeros,
)
from rejo.estimators.posteriors import PosteriorsMixin, judge_posteriors
from rejo.estimators.priced import PricedClassifier
from rejo.solvers import BoostedTrees, ScoreTable, Walker, best_thresholds, ready
from rejo.tables.series import as_pandas


def _counts_boundaries(model: BoostedModel) -> bool:
    return getattr(model, "form_", model.boundaries) != "posteriors"


def _has_proba(model: BoostedModel) -> bool:
    form = getattr(model, "form_", None)
    if form is None or form == "posteriors" or model._odds_offsets is not None:
        return True
    raise AttributeError(
        f"this RejoBoost has no predict_proba: with {len(model.classes_)} classes, the costs of "
        "its boundaries leave no posteriors (use boundaries='posteriors')."
    )


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedModel(PosteriorsMixin, PricedClassifier):
    """Base of :class:`~rejo.RejoBoost`: all that does not need to know how trees are grown.

    Its state is ``form_``, ``trees_``, ``intercepts_`` and ``offsets_``, a summary of the scores of
    held-out rows, and the categories of the columns.
    """

    boundaries: str = "auto"
    s: int | None = None
    loss_matrix: Any = None
    n_jobs: int | None = None

    _fitted: ClassVar[dict[str, Must]] = {
        "form_": one_of(*FORMS),
        "trees_": part(BoostedTrees),
        "intercepts_": floats("S"),
        "offsets_": either(floats("Q"), floats(0)),
        "_held_out": floats("S", None),
        "_mass": floats("S", None, "K", low=0.0),
        "_categories": maybe(
            each(maybe(either(texts(), floats(None), indices(None, low=-(1 << 63)))), "p")
        ),
        "_n_categories": maybe(indices("p", dtype="int64")),
        "_zeros_missing": flag(),
    }

    @available_if(_counts_boundaries)
    def boundary_scores(self, X: Any) -> Floats:
        return self.boundaries_of(self._scores(X))

    @available_if(_has_proba)
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of every class.

        It exists for posteriors, for two classes, and with ``reject_cost=None``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self.form_ != "posteriors":
            return super().predict_proba(X)
        return self.posteriors_of(self._scores(X))

    @available_if(lambda model: getattr(model, "form_", model.boundaries) == "posteriors")
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the posteriors (n_samples, n_classes) after each round; for posteriors only."""
        X, S = self._numbers(X), len(self.intercepts_)
        f = np.tile(self.intercepts_, (len(X), 1))
        for first in range(0, len(self.trees_.roots), S):
            trees = self.trees_.some(first, first + S)
            f += Walker(trees, self.n_features_in_, S).scores(X)
            yield self.posteriors_of(f)

    def judge(self, X: Any) -> Judgement:
        check_is_fitted(self)
        if self.form_ != "posteriors":
            return super().judge(X)
        found = judge_posteriors(
            self.posteriors_of(self._scores(X)), self.prices_, rejects=self._rejects
        )
        return found if self.decides_by_posteriors else found._replace(worth=None)

    def _decide(self, X: Any) -> Indices:
        check_is_fitted(self)
        return self.judge(X).decision if self.form_ == "posteriors" else super()._decide(X)

    @property
    def decides_by_posteriors(self) -> bool:
        return self.boundaries == "posteriors" or self.cost_of is not None

    @property
    def feature_importances_(self) -> Floats:
        check_is_fitted(self)
        gains = self.trees_.gains(self.n_features_in_)
        return gains / max(gains.sum(), np.finfo(float).tiny)

    @property
    def n_estimators_(self) -> int:
        check_is_fitted(self)
        return len(self.trees_.roots) // int(self.trees_.target.max() + 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trees_")

    # ---- thresholds and prices ------------------------------------------------------------

    def _set_thresholds(self) -> None:
        """Find the best thresholds on the held-out rows, for the present costs."""
        self.offsets_ = np.empty(0)
        if self.form_ != "posteriors":
            labels, costs = self._set_classes(self.classes_)
            b = best_thresholds(ScoreTable(self._held_out, self._mass), labels, costs)
            # Sorting thresholds on one score changes no count.
            self.offsets_ = -np.sort(-b) if self.form_ == "parallel" else b

    def _check_moves(self, reject_cost: float | None) -> None:
        if self.form_ == "posteriors":
            return
        if reject_cost is None:
            raise ValueError(
                f"boundaries of the form {self.form_!r} take other reject costs only; for prices "
                "use boundaries='posteriors'."
            )
        if self._loss is not None:
            raise ValueError("the model was fitted for a loss_matrix, which has no reject cost.")

    def _set_prices(self, classes: NDArray[Any], ordered: bool, prices: Any = None) -> None:
        super()._set_prices(classes, ordered, prices)
        self._set_thresholds()

    @property
    def _highest_reject_cost(self) -> float:
        return 1.0 - 1.0 / len(self.classes_) if self.form_ == "posteriors" else 0.5

    # ---- input and scores -----------------------------------------------------------------

    def _n_threads(self) -> int:
        return int(_openmp_effective_n_threads(self.n_jobs))

    def _set_categories(self, categories: Categories | None) -> None:
        """Store the categories of each column, and their numbers: 0 where there are none."""
        self._categories = categories
        sizes = [0 if one is None else len(one) for one in categories or ()]
        self._n_categories = None if categories is None else np.array(sizes, dtype=np.int64)

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        """``X`` as an array in C order or CSR; a frame with categories as their codes."""
        if not reset:
            check_is_fitted(self)
        if issparse(X):
            check_sparse(X)
        known = None if reset else self._categories
        if is_arrow(X):
            X = as_pandas(X)
        if is_polars(X) and not (known is None and all(kind.is_numeric() for kind in X.dtypes)):
            X = as_pandas(X)
        categories = categories_of(X) if reset else known
        if reset:
            self._set_categories(categories)
            self._zeros_missing = issparse(X)
        if categories is not None:
            if not is_frame(X):
                raise ValueError(
                    "X must be a DataFrame: the model was fitted on one, with categories, and an "
                    f"array does not say what these are; got {type(X).__name__}."
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            return encoded(X, categories)
        if is_frame(X) and not is_polars(X):
            check_numbers(X)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
            ensure_all_finite="allow-nan",
        )  # fmt: skip
        return summed(X) if issparse(X) else X

    def _numbers(self, X: Any) -> NDArray[Any]:
        """Cases (n, p) as the trees see them."""
        X = self._check_input(X, reset=False)
        if self._zeros_missing:
            return without_zeros(X)
        return np.asarray(X.toarray()) if issparse(X) else X

    def _scores(self, X: Any) -> Floats:
        """Sums of the trees (n, S), with their intercepts."""
        X = self._numbers(X)
        n_known = self._n_boundaries if self.form_ == "replicas" else None
        walker = ready(self.trees_, self.n_features_in_, len(self.intercepts_), n_known)
        return walker.scores(X, self._n_threads()) + self.intercepts_

    def boundaries_of(self, scores: Floats) -> Floats:
        """Scores of all boundaries (n, n_boundaries), from the sums of the trees (n, n_scores)."""
        return -np.sort(-(scores + self.offsets_), axis=1)

    def posteriors_of(self, scores: Floats) -> Floats:
        """Posteriors (n, n_classes), from the sums of the trees (n, n_scores)."""
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])

    # ---- files ----------------------------------------------------------------------------

    def _check_state(self) -> None:
        """The trees split by the features and add to the scores that there are."""
        super()._check_state()
        replicas, posteriors = self.form_ == "replicas", self.form_ == "posteriors"
        K, S = len(self.classes_), len(self.intercepts_)
        right = (self._n_boundaries if replicas else 1) if not posteriors else K if K > 2 else 1
        require(right == S, self, "its intercepts are not those of its scores")
        fine = len(self.offsets_) == (0 if posteriors else self._n_boundaries)
        require(fine, self, "its offsets are not those of its boundaries")
        fine = self.trees_.n_features == self.n_features_in_ + replicas
        require(fine, self, "its trees have other features")
        fine = bool((self.trees_.target < (1 if replicas else S)).all())
        require(fine, self, "a tree adds to a score that it does not have")
        sizes = [0 if one is None else len(one) for one in self._categories or ()]
        said = [] if self._n_categories is None else self._n_categories.tolist()
        require(sizes == said, self, "its categories are not as many as they should be")
        split = self.trees_.feature >= 0
        by_code, columns = self.trees_.category[split] >= 0, self.trees_.feature[split]
        coded = np.zeros(by_code.shape, dtype=bool)
        if self._categories is not None:
            coded = np.array([one is not None for one in [*self._categories, None]])[columns]
        require((by_code == coded).all(), self, "a number is split as a category, or the other way")
        require(self._held_out.shape == self._mass.shape[:2], self, "its held-out scores disagree")

    def _scores_to_onnx(self, graph: Any, X: str) -> str:
        """Sums of the trees (n, S), with their intercepts."""
        if self._categories is not None:
            raise ValueError(
                "to_onnx exports a RejoBoost of numbers only; this one splits by categories. "
                "Encode them before it, for example by a OneHotEncoder."
            )
        if self._zeros_missing:
            there = graph.add("Not", graph.add("Equal", X, np.array(0.0)))
            X = graph.add("Where", there, X, np.array(np.nan))
        if self.form_ != "replicas":
            f = graph.boosted(X, self.trees_, len(self.intercepts_))
        else:
            p, Q = self.n_features_in_, self._n_boundaries
            each = [graph.boosted(X, self.trees_.settled(p, q), 1) for q in range(Q)]
            f = each[0] if Q == 1 else graph.add("Concat", *each, axis=1)
        return str(graph.add("Add", f, self.intercepts_[None, :]))

    def _to_onnx(self, graph: Any, X: str) -> str:
        f = graph.add("Add", self._scores_to_onnx(graph, X), self.offsets_[None, :])
        return str(graph.falling(f, self._n_boundaries))

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        if self.form_ != "posteriors":
            return super()._posteriors_to_onnx(graph, X)
        return str(graph.from_logits(self._scores_to_onnx(graph, X), len(self.classes_)))
