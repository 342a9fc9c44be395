"""The contract of a classifier that may reject: what it decides, and how sure it is."""

import warnings
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from numbers import Number, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rejo._docs import shared_parameters
from rejo._state import (
    FEATURES,
    check_parameters,
    check_state,
    declare,
    label,
    labels,
    maybe,
    names,
    number,
    optional,
    require,
)
from rejo._typing import Floats, Indices
from rejo.estimators.classes import check_sample_weight, choose_reject_label, labels_like
from rejo.estimators.parameters import ReviewPrice
from rejo.estimators.reviews import Judgement, decided, judged, refuse_unknown
from rejo.metrics import tally

PRICES = ("reject_cost", "cost_of", "loss_matrix")  # parameters that change what a score means
# At which labels were first scored, by the class of a model whose prices set_params has changed.
_FIRST_PRICES: dict[int, str] = {}
LEAST_PROBABILITY = 1e-16  # of a class, before its logarithm
# Parameters that many classifiers have, but not all; those of RejectClassifier come to these.
SHARED = """
class_weight : dict or "balanced", default=None
    Weights of the classes, as in scikit-learn.
s : int, default=None
    Number of classes on each side that take part in a boundary.  ``None``: all.
loss_matrix : array-like of shape (n_classes, 2 * n_classes - 1) or (n_classes, n_classes)
    Cost of each output (class, reject, class, ..., or classes only) for each true class, in place
    of ``reject_cost`` and ``s``.
C : float, default=1.0
    Inverse regularisation strength; must be positive.
degree : int, default=3
    Degree of the polynomial kernel.
gamma : {"scale", "auto"} or float, default="scale"
    Coefficient of the rbf, poly and sigmoid kernels, as in :class:`sklearn.svm.SVC`.
coef0 : float, default=0.0
    Constant term of the poly and sigmoid kernels.
h : float in [1e-6, 1e6], default=1.0
    Size of the extension features; larger values let the thresholds move apart more freely.
verbose : bool, default=False
    Print the progress of the solver.
thresholds_ : ndarray of shape (n_boundaries,)
    Cut points on the score, lowest first: ``-b_q``, sorted.
objective_ : float
    Value of the objective function.
"""


@dataclass(kw_only=True, eq=False, repr=False)
class RejectClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the classifiers that decide the clear cases and send the others to review.

    A subclass fits, calling :meth:`_set_labels`, and computes :meth:`judge`; everything else
    follows.  Parameters are the fields of a dataclass, so a subclass has those of its bases.

    Parameters
    ----------
    reject_cost : float in (0, 0.5] or None, default=0.2
        Cost of a rejection, where an error costs 1.  ``None`` never rejects.
    class_order : list of labels or "sorted", default=None
        Classes, lowest first; required for three or more classes of strings.  ``None``: ascending,
        or the order of an ordered pandas Categorical or a polars Enum.
    reject_label : object, default=None
        Label of a rejection.  ``None``: "reject", or -1 or another free number for numeric classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in their order, lowest first; without the reject label.
    reject_label_ : object
        What :meth:`predict` returns for a point that it rejects; ``None`` if it never does.
    reject_cost_ : float or None
        The ``reject_cost`` used in ``fit``.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``X`` has string column names.

    Examples
    --------
    What all of them can do:

    >>> import numpy as np
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.estimators import RejectClassifier
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> model = RejoLinear(reject_cost=0.2).fit(X, np.where(y > 0, "ill", "well"))
    >>> isinstance(model, RejectClassifier)
    True
    >>> model.predict(X[:3])
    array(['reject', 'ill', 'reject'], dtype='<U6')
    >>> model.predict_forced(X[:3])
    array(['well', 'ill', 'well'], dtype='<U4')
    >>> model.reject_mask(X[:3])
    array([ True, False,  True])
    >>> model.queue(X[:3])[["decision", "forced", "rank"]]
      decision forced  rank
    2   reject   well     1
    0   reject   well     2
    """

    reject_cost: float | None = 0.2
    class_order: Any = None
    reject_label: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "reject_cost": [ReviewPrice(0.5), None],
        "class_order": ["array-like", StrOptions({"sorted"}), None],
        "reject_label": "no_validation",
    }

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training points; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 counts as the row twice, a weight of 0 as no row.

        Returns
        -------
        self : object
            The fitted classifier.
        """

    _check_state = check_state
    _not_saved: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Replace lines such as ``%class_order, s`` in a docstring by the entries above."""
        super().__init_subclass__(**options)
        shared_parameters(RejectClassifier.__doc__, SHARED)(cls)

    @abstractmethod
    def judge(self, X: Any) -> Judgement:
        """Decide each point, and say how clear each decision is, as plain arrays.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        judgement : Judgement
            Named tuple of arrays of shape (n_samples,), with classes as indices into ``classes_``;
            a ``decision`` of -1 is a rejection.  :func:`rejo.review` is the same as a DataFrame.
        """

    @property
    def decides_by_posteriors(self) -> bool:
        """Whether decisions follow from ``predict_proba`` and prices, for any prices.

        Such a classifier says what a review is worth, and needs no second fit for other prices.
        """
        return False

    def _decide(self, X: Any) -> Indices:
        """Class (n_samples,) as an index into ``classes_``, -1 where the point is rejected."""
        return self.judge(X).decision

    def predict(self, X: Any, *, group: Any = None, prices: Any = None) -> NDArray[Any]:
        """Predict the class of each point, or reject it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        group : array-like of shape (n_samples,), default=None
            Group of each point, for a model that was fitted with groups to promise by.
        prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
            Prices of each point, for a model that decides by posteriors, or the columns that the
            formulas of ``cost_of`` name; by default these are read from ``X``, if it is a frame.
            A point without a price is rejected.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels, and ``reject_label_`` where the point should be reviewed.
        """
        decision = decided(self, X, group, prices)  # first: it checks that the model is fitted
        return self.outputs()[decision]

    def predict_forced(self, X: Any, *, prices: Any = None) -> NDArray[Any]:
        """Predict the class (n_samples,) of every point; as :meth:`predict` where that accepts."""
        judgement = judged(self, X, prices=prices)  # first: it checks that the model is fitted
        refuse_unknown(np.isnan(judgement.distance))
        return self.classes_[judgement.forced]

    def reject_mask(self, X: Any, *, group: Any = None, prices: Any = None) -> NDArray[np.bool_]:
        """Return which points are rejected, as an array of bool of shape (n_samples,)."""
        return decided(self, X, group, prices) < 0

    def review(
        self,
        X: Any,
        *,
        group: Any = None,
        prices: Any = None,
        why: int | None = None,
        background: Any = None,
        audit: float | None = None,
        random_state: Any = None,
    ) -> Any:
        """Return all decisions, and the order of the reviews; see :func:`rejo.review`."""
        from rejo.estimators.pipelines import review  # the same for any model

        about = {"why": why, "background": background, "audit": audit}
        return review(self, X, group=group, prices=prices, **about, random_state=random_state)

    def queue(
        self, X: Any, capacity: float | None = None, *, fill: bool = False, group: Any = None,
        prices: Any = None,
    ) -> Any:  # fmt: skip
        """Return the points most worth a review, best first; see :func:`rejo.queue`."""
        from rejo.estimators.pipelines import queue

        return queue(self, X, capacity, fill=fill, group=group, prices=prices)

    def sureness(self, X: Any, *, prices: Any = None) -> Floats:
        """Return how sure each decision (n_samples,) is, to rank the points; not a probability.

        Non-negative, lowest where :meth:`predict_forced` is most doubtful: halfway between two
        classes, or where the posterior is farthest below its threshold.  The curves of
        :mod:`rejo.metrics` take it.
        """
        return judged(self, X, prices=prices).sureness

    @available_if(lambda self: len(getattr(self, "classes_", (0, 1))) == 2)
    def decision_function(self, X: Any) -> Floats:
        """Return a score (n_samples,), the higher the more likely is the second of two classes.

        It ranks points for a ROC curve or a calibration: the middle of the boundary scores, or the
        log-odds of the posteriors.  A fit on three or more classes has none.
        """
        check_is_fitted(self)
        return self._second_score(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return 1 - risk, where the risk is ``reject_cost`` x rejections + errors.

        Both are shares of all samples.  With a ``loss_matrix`` it is 1 - the mean loss, and with
        prices 1 - the mean cost.  **Scores at different prices cannot be compared**: give a search
        over ``reject_cost`` the price that you pay, by
        ``scoring=rejo.selection.cost_scorer(reject_cost=0.2)``.

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
        if getattr(self, "_repriced", False):
            _warn_of_prices(self, y)
        return 1.0 - self._mean_cost(X, y, sample_weight)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; :meth:`score` then knows of prices that changed."""
        before = {name: getattr(self, name, None) for name in PRICES}
        super().set_params(**params)
        for name, value in before.items():
            now = getattr(self, name, None)
            if now is not value and not (isinstance(now, Real | str) and now == value):
                self._repriced = True
        return self

    def outputs(self) -> NDArray[Any]:
        """Labels that :meth:`predict` may return: the classes and, last, the reject label.

        So ``outputs()[judge(X).decision]`` is ``predict(X)``: the index -1 finds the last one.
        """
        classes, label = self.classes_, self.reject_label_
        if not self._rejects:
            return classes
        if classes.dtype.kind == "u":  # an unsigned and a negative integer would make a float
            classes = classes.astype(np.int64)
        alike: Any = {"U": str, "S": bytes, "O": ()}.get(classes.dtype.kind, Number)
        if isinstance(label, alike):  # NumPy widens the type to hold both uncut
            return np.append(classes, np.asarray(label))
        return np.append(classes.astype(object), np.array([label], dtype=object))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the class does not save: copies, pickles and model files do not get it."""
        state: dict[str, Any] = super().__getstate__()
        left_out = (*self._not_saved, "_repriced")
        return {name: value for name, value in state.items() if name not in left_out}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- what subclasses use -------------------------------------------------------------

    def _second_score(self, X: Any) -> Floats:
        """Score (n_samples,) of the second of two classes."""
        if hasattr(self, "boundary_scores"):
            return np.asarray(self.boundary_scores(X).mean(axis=1))
        if hasattr(self, "predict_proba"):
            below, above = np.log(np.maximum(self.predict_proba(X), LEAST_PROBABILITY)).T
            return np.asarray(above - below)
        found = self.judge(X)
        return np.where(found.forced == 1, found.sureness, -found.sureness)

    @property
    def _rejects(self) -> bool:
        check_is_fitted(self)
        return self.reject_label_ is not None

    def _set_labels(self, classes: NDArray[Any], rejects: bool) -> None:
        """Store the classes, the reject label and the cost of a rejection."""
        self.reject_label_ = choose_reject_label(classes, self.reject_label) if rejects else None
        self.classes_ = classes
        self.reject_cost_: Any = self.reject_cost  # as fitted, even if the parameter changes later

    @property
    def _n_boundaries(self) -> int:
        """Number of boundaries between the ordered classes: with rejection, two each."""
        return (len(self.classes_) - 1) * (1 if self.reject_label_ is None else 2)

    def _operating_point(self) -> dict[str, Any]:
        return {"reject_cost": self.reject_cost_}

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Mean cost of a decision: 0, 1, or the cost of a rejection."""
        index, K = self._decide(X), len(self.classes_)
        check_consistent_length(index, y)
        right = (index >= 0) & (self.classes_[index] == labels_like(y, self.classes_))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(index))
        counts = tally(index, np.where(right, index, K), weight)
        return float(counts.risk(self.reject_cost_ if self._rejects else 0.0))


def _warn_of_prices(model: RejectClassifier, y: Any) -> None:
    """Warn if the same labels were scored at other prices: it gives a search away."""
    prices = repr([getattr(model, name, None) for name in PRICES])
    place = hash((type(model), np.asarray(y).tobytes()))
    if len(_FIRST_PRICES) > 1000:
        _FIRST_PRICES.clear()
    if _FIRST_PRICES.setdefault(place, prices) != prices:
        warnings.warn(
            f"{type(model).__name__}.score is taken at the prices of the model itself, which "
            "set_params has changed. Scores at different prices cannot be compared: the lowest "
            "price always wins. To search over prices, pass scoring=rejo.selection.cost_scorer("
            "reject_cost=...) with the price that you pay.",
            UserWarning,
            stacklevel=3,
        )


def _reject_classifier(model: Any) -> None:
    check_parameters(model)
    answer = model.reject_label_
    free = answer is None or answer not in model.classes_.tolist()
    require(free, model, f"the reject label {answer!r:.40} is also a class")


def check_reject_cost(model: Any, most: float = 0.5) -> None:
    """Refuse a price above which there is no reject region, for data replication a half."""
    cost = model.reject_cost_
    within = cost is None or 0.0 < cost <= most
    require(within, model, f"the reject cost {cost!r:.40} is not in (0, {most:g}]")


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
