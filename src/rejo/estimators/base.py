"""The contract of a classifier that may reject: scores -> count -> labels."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from functools import lru_cache
from numbers import Integral, Number, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from rejo.estimators._targets import (
    check_sample_weight,
    choose_reject_label,
    encode_classes,
    same_kind,
)
from rejo.replication import costs_from_loss, decode, replica_costs, replica_labels

Floats = NDArray[np.float64]


class RejectClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the classifiers that decide the clear cases and send the others to review.

    A subclass fits and computes :meth:`boundary_scores`; everything else follows.
    It has the parameters ``reject_cost``, ``s``, ``loss_matrix``, ``class_order``,
    ``reject_label`` and ``class_weight``, and calls :meth:`_set_classes` in ``fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in their order, lowest first; without the reject label.
    reject_label_ : object
        What :meth:`predict` returns for a point that it rejects; ``None`` if it never does.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "reject_cost": [Interval(Real, 0.0, 0.5, closed="right"), None],
        "s": [Interval(Integral, 1, None, closed="left"), None],
        "loss_matrix": ["array-like", None],
        "class_order": ["array-like", StrOptions({"sorted"}), None],
        "reject_label": "no_validation",
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    @abstractmethod
    def boundary_scores(self, X: Any) -> Floats:
        """Score of every point for every boundary, positive above it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_boundaries)
            Falling from left to right.  With rejection, columns ``2 j`` and ``2 j + 1``
            are the lower and the upper edge of the reject region between the classes
            ``j`` and ``j + 1``; without, column ``j`` is the boundary between them.
        """

    def predict(self, X: Any) -> NDArray[Any]:
        """Decide, or reject.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels, and ``reject_label_`` where the point should be reviewed.
        """
        indices = decode(self._counts(X), reject=self._rejects)
        return self._outputs()[indices]

    def predict_forced(self, X: Any) -> NDArray[Any]:
        """Decide every point: a rejected one by the middle of its reject region.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels; the same as :meth:`predict` on the points it accepts.
        """
        middles = self._middles(self.boundary_scores(X))
        return self.classes_[(middles > 0).sum(axis=1)]

    def reject_mask(self, X: Any) -> NDArray[np.bool_]:
        """Tell which points are rejected.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        rejected : ndarray of bool of shape (n_samples,)
        """
        return decode(self._counts(X), reject=self._rejects) < 0

    def review(self, X: Any) -> Any:
        """List all decisions, and the rejected points in the order to review them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        frame : pandas.DataFrame
            One row for each row of ``X``, with its index if ``X`` is a DataFrame.

            - ``decision``: as :meth:`predict`;
            - ``forced``: as :meth:`predict_forced`;
            - ``lower``, ``upper``: the two classes between which the point lies, if it is
              rejected, else those on the two sides of the boundary next to it;
            - ``distance``: how far, in units of the score, the nearest boundary is;
            - ``rank``: 1 for the most doubtful of the rejected points, the one nearest to
              the middle of its reject region, and so on; missing for decided points.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('review needs pandas: pip install "rejo[pandas]"') from None
        scores = self.boundary_scores(X)  # (n_samples, n_boundaries)
        counts = (scores > 0).sum(axis=1)
        step = 2 if self._rejects else 1
        rejected = counts % step == 1
        lower = np.where(rejected, counts, np.abs(scores).argmin(axis=1)) // step
        middles = self._middles(scores)
        doubt = np.abs(np.take_along_axis(middles, lower[:, None], axis=1)[:, 0])
        rank = pd.array([pd.NA] * len(scores), dtype="Int64")
        order = np.flatnonzero(rejected)[np.argsort(doubt[rejected], kind="stable")]
        rank[order] = np.arange(1, len(order) + 1)
        forced = self.classes_[(middles > 0).sum(axis=1)]
        return pd.DataFrame(
            {
                "decision": np.where(rejected, self._outputs()[-1:], forced),
                "forced": forced,
                "lower": self.classes_[lower],
                "upper": self.classes_[lower + 1],
                "distance": np.abs(scores).min(axis=1),
                "rank": rank,
            },
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return 1 - risk, where the risk is ``reject_cost`` x rejections + errors.

        Both are shares of all samples.  Without rejection this is the accuracy; with a
        ``loss_matrix`` it is 1 - the mean loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        counts = self._counts(X)
        check_consistent_length(counts, y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(counts))
        reject_cost, loss_matrix = self._prices  # those of the fit, whatever was set since
        if loss_matrix is not None:
            known, k = encode_classes(y, self.classes_)
            rows = np.flatnonzero(np.isin(self.classes_, known))
            risk = np.asarray(loss_matrix, dtype=np.float64)[rows[k], counts]
        else:
            indices = decode(counts, reject=self._rejects)
            risk = (self.classes_[indices] != same_kind(y, self.classes_)).astype(np.float64)
            if self._rejects:
                risk[indices < 0] = reject_cost
        return float(1.0 - np.average(risk, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- what subclasses use -------------------------------------------------------------

    @property
    def _rejects(self) -> bool:
        check_is_fitted(self)
        return self.reject_label_ is not None

    def _set_classes(
        self, classes: NDArray[Any], n_boundaries: int | None = None
    ) -> tuple[Floats, Floats]:
        """Store the classes and the reject label; return replica labels and costs (K, Q).

        A model that continues gives its number of boundaries: another one is refused, and
        the model stays as it is.
        """
        K = len(classes)
        if self.loss_matrix is None:
            labels, costs = _tables(K, self.reject_cost, self.s)
        else:
            costs = costs_from_loss(self.loss_matrix)
            labels = replica_labels(K, reject=costs.shape[1] > K - 1)
            if len(costs) != K:
                raise ValueError(
                    f"loss_matrix has {len(costs)} rows, but y has {K} classes: {classes.tolist()}."
                )
        if n_boundaries not in (None, costs.shape[1]):
            raise ValueError(
                f"the model has {n_boundaries} boundaries, but reject_cost={self.reject_cost!r} or "
                f"loss_matrix now asks for {costs.shape[1]}: with and without rejection are "
                "different models. Fit anew, with warm_start=False."
            )
        reject = costs.shape[1] > K - 1
        self.reject_label_ = choose_reject_label(classes, self.reject_label) if reject else None
        self.classes_ = classes
        self._prices = self.reject_cost, self.loss_matrix
        return labels, costs

    def _outputs(self) -> NDArray[Any]:
        """Classes and, last, where the index -1 of a rejection finds it, the reject label."""
        classes, label = self.classes_, self.reject_label_
        if not self._rejects:
            return classes
        if classes.dtype.kind == "u":  # an unsigned and a negative integer would make a float
            classes = classes.astype(np.int64)
        alike: Any = {"U": str, "S": bytes, "O": ()}.get(classes.dtype.kind, Number)
        if isinstance(label, alike):  # NumPy widens the type to hold both uncut
            return np.append(classes, np.asarray(label))
        return np.append(classes.astype(object), np.array([label], dtype=object))

    def _counts(self, X: Any) -> NDArray[np.intp]:
        """Count the boundaries (n_samples,) that lie below each point."""
        return (self.boundary_scores(X) > 0).sum(axis=1)

    def _middles(self, scores: Floats) -> Floats:
        """Score (n_samples, n_classes - 1) for the middle between neighbouring classes."""
        return scores[:, 0::2] + scores[:, 1::2] if self._rejects else scores

    def _check_parameters(self) -> None:
        """``_validate_params``, but remember what was found valid.

        The constraints depend on the values alone, and checking them all takes as long
        as a fit of a hundred points.
        """
        if get_config()["skip_parameter_validation"]:
            return
        values = tuple(getattr(self, name) for name in self._parameter_constraints)
        try:
            _check_values(type(self), *values)
        except TypeError:  # an array or a dict has no hash
            self._validate_params()

    def _check_X(self, X: Any, *, reset: bool, accept_sparse: bool = True) -> Any:
        """``X`` as C-ordered float64 or CSR, finite, and so that squares do not overflow."""
        simple = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
        if simple and X.ndim == 2 and X.size and np.isfinite(np.vdot(X, X)):
            # The checks of validate_data hold: spare a small fit their cost.
            if reset:
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
                return X
            if X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_"):
                return X
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if accept_sparse else False,
            dtype=np.float64,
            order="C",
        )
        if issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        largest = np.abs(X.data if issparse(X) else X).max(initial=0.0)
        if largest > 1e150:
            raise ValueError(
                f"X contains values of up to {largest:.1e}, whose squares overflow. Remove the "
                "outliers or scale the features, e.g. by sklearn.preprocessing.RobustScaler."
            )
        return X


@lru_cache(maxsize=512)
def _tables(n_classes: int, reject_cost: float | None, s: int | None) -> tuple[Floats, Floats]:
    """Replica labels and costs (K, Q), remembered: many fits share them."""
    labels = replica_labels(n_classes, reject=reject_cost is not None)
    costs = replica_costs(n_classes, reject_cost, s)
    labels.flags.writeable = costs.flags.writeable = False
    return labels, costs


@lru_cache(maxsize=512, typed=True)
def _check_values(estimator: Any, *values: Any) -> None:
    constraints = estimator._parameter_constraints
    params = dict(zip(constraints, values, strict=True))
    validate_parameter_constraints(constraints, params, caller_name=estimator.__name__)
