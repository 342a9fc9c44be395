"""One standard classifier, and decisions by its posteriors and by prices, or by cut-offs."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rejo._frames import take_rows
from rejo._state import declare, floats, is_sorted, maybe, one_of, optional, part, require
from rejo._typing import Floats, Indices
from rejo.baselines._wrapped import (
    Fold,
    Wrapper,
    fit_clone,
    held_out_scores,
    known_labels,
    moderate_scores,
    posteriors,
    scores,
    set_pairwise,
)
from rejo.baselines.calibration import (
    METHODS,
    calibrated,
    calibrated_to_onnx,
    check_calibrator,
    fit_calibrator,
)
from rejo.baselines.cutoffs import best_cutoffs, class_thresholds
from rejo.estimators import (
    Judgement,
    PricedClassifier,
    RejectClassifier,
    ReviewPrice,
    Targets,
    check_member,
    check_targets,
    is_ordered,
    judge_scores,
)
from rejo.prices import loss_rows, of_rows
from rejo.replication import costs_from_loss, costs_of_rows


def _has_posteriors(self: Any) -> bool:
    estimator = self.estimator_ if hasattr(self, "estimator_") else self._default()
    return self.rule != "score" or hasattr(estimator, "predict_proba")


@dataclass(kw_only=True, eq=False, repr=False)
class ThresholdRejectClassifier(Wrapper, PricedClassifier):
    """One standard classifier that rejects where its score or its posteriors leave doubt.

    The reject region is chosen after training, by one of three rules.

    - "chow": the lowest expected cost by the posteriors, for any prices and any number of classes,
      ordered or not; a tie is rejected.  Without ``cost_of`` it is Chow's rule
      (:footcite:t:`chow1970`): reject iff ``1 - max_k p_k(x) >= reject_cost``.  The fit does not
      depend on the prices: :meth:`at` decides at others.
    - "score": two classes; two free cut-offs ``t_0 <= t_1`` on the score, which minimise
      ``reject_cost R + E`` exactly (R rejections, E errors, as fractions of all points), or the
      mean cost at the prices ``cost_of``; what lies between is rejected.
    - "class", by :footcite:t:`fumera2000`: accept the likeliest class ``i`` iff ``p_i(x) >= T_i``;
      for posteriors whose errors differ from class to class.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier, or pipeline, with ``decision_function`` or ``predict_proba``, or with
        ``boundary_scores``.  ``None``: ``HistGradientBoostingClassifier()``.
    rule : {"chow", "score", "class"}, default="chow"
        How to decide; see above.
    reject_cost : float in (0, 1 - 1 / n_classes] or None, default=0.2
        Cost of a rejection where an error costs 1.  ``None``: never reject.
    cost_of : dict, str, path, DataFrame or array-like, default=None
        What errors and reviews cost, instead of ``reject_cost``: for example ``{"error": 5000,
        "review": 40}`` or ``"error:ill=5000,error:well=300,review=40"``.
        :func:`rejo.prices.price_matrix` lists all forms.  Not for ``rule="class"``.
    calibration : {"auto", "sigmoid", "isotonic", "temperature"} or None, default="auto"
        How to turn scores into posteriors, on the points of ``cv``: by Platt's sigmoid (for more
        than two classes, multinomial logistic regression on all scores, or a sigmoid at each
        boundary of a classifier such as :class:`~rejo.RejoSVC`); by isotonic regression for each
        class, which needs many points; or by one factor for all scores, which changes how sure the
        posteriors are, but not which class is likeliest.  "auto": the estimator's own posteriors,
        or the sigmoid if it has none.  ``None``: only the estimator's own.  Not used by
        ``rule="score"``.
    cv : int, splitter, iterable or "train", default=5
        Where calibration and thresholds are chosen: on the pooled out-of-fold scores of a
        cross-validation, or on the training points themselves.  Chow's rule without calibration
        needs neither.
    class_order : list of labels or "sorted", default=None
        Order of ``classes_``; ascending, or that of an ordered pandas Categorical or a polars
        Enum, by default.
    reject_label : object, default=None
        Label of a rejection.  ``None``: "reject", or -1 or another free number for numeric classes.
    random_state : int, RandomState instance or None, default=None
        If given, folds are shuffled, and it is set on all parts of the estimator.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    %classes_, reject_label_, n_features_in_, feature_names_in_
    reject_cost_ : float or None
        Cost of a rejection where an error costs 1; ``None`` if nothing is rejected, or if prices
        differ from class to class.
    prices_ : ndarray of shape (n_classes, n_classes + 1)
        Prices it decides at: of each decision and, last, of a review, for each true class.
    case_prices_ : CasePrices or None
        How prices depend on the case, if they do; ``prices_`` are then the means in training.
    price_columns_ : list of str
        The columns that formulas of the prices name.
    estimator_ : classifier
        The estimator, fitted on all points.
    calibrator_ : classifier or None
        Map from scores to posteriors.
    cutoffs_ : ndarray
        With "score", ``(t_0, t_1)``, or one cut-off if the model never rejects; with "class", the
        lowest posterior at which each class is accepted, of shape (n_classes,).

    See Also
    --------
    RejectClassifierCV : Finds the cut for a review budget or an allowed error.
    ReplicationClassifier : Learns the reject region while it trains.
    rejo.decisions.decide : The rule "chow" for posteriors that you have.
    sklearn.model_selection.TunedThresholdClassifierCV : One cut-off for two classes, no review.

    Examples
    --------
    >>> from rejo.baselines import ThresholdRejectClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [5.0], [6.0]]
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = ThresholdRejectClassifier(LogisticRegression(C=10)).fit(X, y)
    >>> model.predict([[1.0], [2.0], [2.8], [5.0]])
    array(['good', 'good', 'reject', 'bad'], dtype='<U6')
    >>> careful = model.at(cost_of="error:bad=5000,error:good=300,review=100")
    >>> careful.predict([[1.0], [2.0], [2.8], [5.0]])
    array(['good', 'reject', 'reject', 'bad'], dtype='<U6')
    """

    rule: str = "chow"
    calibration: str | None = "auto"
    cv: Any = 5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RejectClassifier._parameter_constraints,
        **Wrapper._wrapper_constraints,
        "rule": [StrOptions({"chow", "score", "class"})],
        "reject_cost": [ReviewPrice(1.0), None],
        "cost_of": "no_validation",  # by price_matrix, when the classes are known
        "calibration": [StrOptions({"auto", *METHODS}), None],
        "cv": [StrOptions({"train"}), "cv_object"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, prices: Any = None) -> Self:
        """Fit the classifier; see :meth:`RejectClassifier.fit`.

        Parameters
        ----------
        X, y, sample_weight
            As there.
        prices : array of shape (n_samples, n_classes, n_classes + 1), frame or dict, default=None
            Prices of each point, or the columns that the formulas of ``cost_of`` name; by default
            these are read from ``X``, if it is a frame.
        """
        self._validate_params()
        estimator = self._prototype()
        method = self._calibration(estimator)
        table, X = X, self._check_input(X, reset=True)
        targets = check_targets(X, y, sample_weight, self._order(y), None, type(self).__name__)
        classes, k, weight, _, rows = targets[:5]
        if self.rule == "score" and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported by rule='score'. The type of the target "
                f"is multiclass: {classes.tolist()}. Use rule='chow' or 'class', or "
                "FrankHallReject with per_split=1 for ordered classes."
            )
        if len(classes) > 2 and method is not None:
            set_pairwise(estimator, method == "sigmoid")
        self._labels = known_labels(estimator, classes)
        ordered = self.class_order is not None or is_ordered(y)
        L = self._learn_prices(classes, ordered, table, prices, X.shape[0], weight, rows)
        self._rule = self.rule  # as fitted, even if the parameter changes later
        chooses = method is not None or (self.rule != "chow" and self.reject_label_ is not None)
        folds = self._folds(X, y, targets) if chooses and not isinstance(self.cv, str) else None
        if rows is not None:
            X = take_rows(X, rows)
        self.estimator_ = fit_clone(estimator, X, self._labels[k], weight)

        self.calibrator_ = None
        values, points, w = None, None, np.ones(len(k)) if weight is None else weight
        if chooses:
            values, points = self._observe(estimator, X, targets, folds, method is not None)
            k, w = k[points], w[points]
        if method is not None and values is not None:
            self.calibrator_ = fit_calibrator(values, k, w, method)
            values = calibrated(self.calibrator_, values)
        if self.rule != "chow":
            self._choose(values, k, w, of_rows(L, points))
        return self

    @available_if(_has_posteriors)
    def predict_proba(self, X: Any) -> Floats:
        """Return the posteriors (n_samples, n_classes), calibrated if the model is."""
        return self._posteriors(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, prices: Any = None) -> float:
        """Return 1 - the mean cost; see :meth:`RejectClassifier.score`, and ``predict``."""
        if prices is None:
            return super().score(X, y, sample_weight)
        return 1.0 - self._mean_cost(X, y, sample_weight, prices)

    @property
    def decides_by_posteriors(self) -> bool:
        return getattr(self, "_rule", self.rule) == "chow"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rule") and (self._rule == "chow" or hasattr(self, "cutoffs_"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.rule != "score"
        return tags

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        if self.calibrator_ is None:
            return str(graph.posteriors(self.estimator_, X, self._labels))
        scores = graph.decision(self.estimator_, X, self._labels)
        return calibrated_to_onnx(self.calibrator_, graph, scores, len(self.classes_))

    def _to_onnx(self, graph: Any, X: str) -> str:
        if self._rule != "score":
            raise ValueError(
                f"rule={self._rule!r} cannot be exported to ONNX: use 'chow' or 'score'."
            )
        scores = graph.decision(self.estimator_, X, self._labels)
        return str(graph.add("Sub", scores, self.cutoffs_[None, :]))

    def at(
        self, reject_cost: float | None = None, cost_of: Any = None, *, prices: Any = None,
        case_prices: Any = None,
    ) -> Self:  # fmt: skip
        check_is_fitted(self)
        if not self.decides_by_posteriors:
            raise ValueError(
                f"rule={self._rule!r} chose its cut-offs for one reject cost. Fit it again for "
                "another, or use rule='chow', which decides at any prices."
            )
        return super().at(reject_cost, cost_of, prices=prices, case_prices=case_prices)

    # ---- the choice of the cut-offs -------------------------------------------------------

    def _observe(
        self, estimator: Any, X: Any, targets: Targets, folds: list[Fold] | None, calibrates: bool
    ) -> tuple[Floats, Indices]:
        """Scores or the estimator's own posteriors, to choose by, and the points they are of."""
        k = targets.indices
        measure = moderate_scores if calibrates else scores if self.rule == "score" else posteriors
        if folds is None:
            return measure(self.estimator_, X, self._labels), np.arange(len(k))
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        y, labels = self._labels[k], self._labels
        return held_out_scores(
            estimator, X, y, targets.weight, folds, labels, names, self.n_jobs, measure
        )

    def _choose(self, values: Floats | None, k: Indices, w: Floats, prices: Floats) -> None:
        """Set the cut-offs by scores (n,) or posteriors (n, K) of points of the classes ``k``."""
        K, cost = len(self.classes_), self.reject_cost
        if self.rule == "score":
            self.cutoffs_ = np.zeros(1)
            if values is not None:
                by_case = prices.ndim == 3
                loss = loss_rows(prices, k if by_case else None)
                costs = costs_of_rows(loss, k, 2, "prices") if by_case else costs_from_loss(loss)[k]
                self.cutoffs_ = best_cutoffs(values, k == 1, costs * w[:, None])
        elif cost is None or values is None:
            self.cutoffs_ = np.zeros(K)
        else:
            top = values.argmax(axis=1)
            self.cutoffs_ = class_thresholds(values.max(axis=1), top, top != k, w, K, cost)

    # ---- decisions ------------------------------------------------------------------------

    def judge(self, X: Any, *, prices: Any = None) -> Judgement:
        check_is_fitted(self)
        if self._rule == "chow":
            return self._judge_at(self._posteriors(X), X, prices)
        if self._rule == "class":
            return _judge_by_class(self._posteriors(X), self.cutoffs_, self._rejects)
        return judge_scores(self._above(X), rejects=len(self.cutoffs_) == 2)

    def _second_score(self, X: Any) -> Floats:
        if self._rule != "score":
            return super()._second_score(X)
        return np.asarray(self._above(X).mean(axis=1))

    def _above(self, X: Any) -> Floats:
        """Scores (n, n_cutoffs) of ``rule="score"``, positive above each cut-off."""
        X = self._check_input(X, reset=False)
        return scores(self.estimator_, X, self._labels)[:, None] - self.cutoffs_

    def _posteriors(self, X: Any) -> Floats:
        X = self._check_input(X, reset=False)
        if self.calibrator_ is None:
            return posteriors(self.estimator_, X, self._labels)
        return calibrated(self.calibrator_, moderate_scores(self.estimator_, X, self._labels))

    # ---- settings -------------------------------------------------------------------------

    def _calibration(self, estimator: Any) -> str | None:
        """Method that turns scores into posteriors, if one is needed."""
        if self.cost_of is not None and self.rule == "class":
            raise ValueError(
                "cost_of has no effect with rule='class', which weighs all errors alike. Use "
                "rule='chow', or reject_cost."
            )
        if self.rule == "score":
            return None
        if self.calibration in METHODS:
            return self.calibration
        if hasattr(estimator, "predict_proba"):
            return None
        if self.calibration is None:
            raise ValueError(
                f"rule={self.rule!r} needs posteriors, but estimator={type(estimator).__name__} "
                "has no predict_proba and calibration=None. Use calibration='sigmoid' or "
                "'isotonic', or rule='score' for two classes."
            )
        return "sigmoid"

    def _order(self, y: Any) -> Any:
        """Order of the classes; that of strings is alphabetical, as none is needed."""
        if self.class_order is None and not is_ordered(y):
            return "sorted"
        return self.class_order


def _judge_by_class(p: Floats, thresholds: Floats, rejects: bool) -> Judgement:
    """Accept the likeliest class if its posterior (n, K) reaches its threshold (K,)."""
    two = np.argsort(-p, axis=1, kind="stable")[:, :2]  # (n, 2) most probable classes
    top = two[:, 0]
    best, second = np.take_along_axis(p, two, axis=1).T
    margin = best - (thresholds[top] if rejects else second)
    return Judgement(
        decision=np.where(margin < 0, -1, top),
        forced=top,
        lower=two.min(axis=1),
        upper=two.max(axis=1),
        distance=np.abs(margin),
        sureness=np.maximum(1 + margin, 0.0),
        chance=np.maximum(1.0 - best, 0.0),
    )


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
        check_calibrator(model, model.calibrator_, K)


def _restore_threshold(model: Any) -> None:
    model._labels = known_labels(model.estimator_, model.classes_)


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
