"""Any classifier with a reject option, and a detector for cases unlike those of training."""

from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from scipy.stats import binom
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rejo._frames import take_rows
from rejo._state import FEATURES, LARGEST, declare, maybe, number, optional, part, require
from rejo._typing import Floats, Mask
from rejo.baselines._wrapped import Fold, copy_fitted, fit_clone, with_last
from rejo.baselines.threshold import ThresholdRejectClassifier
from rejo.estimators import (
    NOVEL,
    FiniteInterval,
    Judgement,
    RejectClassifier,
    check_answering,
    check_sample_weight,
    choose_reject_label,
    final_classifier,
    final_step,
    judge,
    labels_like,
    mean_price,
    set_random_states,
)
from rejo.typical import Strange, Typical

CONFIDENCE = 0.9  # that no more than the share of ordinary cases is novel


class NoveltyReject(RejectClassifier):
    """Send cases to review that are unlike those of training, whatever the classifier says.

    A classifier is sure of itself far away from everything that it has seen.  A detector finds such
    cases, and they go to review, as the doubtful ones do (:footcite:t:`dubuisson1993`).  Both
    together are one review budget: ``RejectClassifierCV(NoveltyReject(...), review_budget=0.1)``
    reviews at most 10 % of cases, the novel ones among them.

    The detector by default puts each feature on the scale of its ranks in training, continued
    beyond the range, and adds two numbers: the Mahalanobis distance there, and how far the farthest
    feature lies outside its range (:class:`~rejo.typical.Typical`).  It keeps no row of training.

    Parameters
    ----------
    classifier : classifier
        Any classifier with a reject option, or a pipeline that ends in one.  Another classifier
        is put into a :class:`ThresholdRejectClassifier`.  Inside a
        :class:`~rejo.RejectClassifierCV`, it may be a name such as "auto".
    detector : estimator with ``score_samples``, default=None
        Detector of outliers in the style of scikit-learn, on the same features as the classifier,
        such as ``IsolationForest()``, ``LocalOutlierFactor(novelty=True)``, or a pipeline that
        ends in one.  Low scores are novel.  ``None``: the default above.
    review_share : float in [0, 1), default=0.02
        Largest share of ordinary cases that may be called novel.  The limit is set on cases that
        the detector has not seen, so that the share is kept with a confidence of 90 %; with fewer
        than 100 cases, so that none of them is beyond it.
    cv : int, splitter or iterable, default=5
        Folds that show the detector cases that it has not seen.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds; if given, it is also set on all parts of the classifier and detector.

    Attributes
    ----------
    %classes_, n_features_in_, feature_names_in_
    reject_label_ : object
        What :meth:`predict` returns for a case to review.  A classifier that never rejects gets a
        label for novel cases: "reject", or -1 or another free number.
    reject_cost_ : float or None
        That of the classifier.
    classifier_ : classifier
        The classifier, fitted.
    detector_ : estimator or None
        The detector, fitted; ``None`` if it is the default.
    typical_ : Typical or None
        What a typical case looks like, to name strange features; ``None`` if features are not
        numbers.
    threshold_ : float
        Novelty above which a case goes to review.
    novel_share_ : float
        Share of the training cases that were novel out of fold.

    See Also
    --------
    RejectClassifierCV : One review budget for doubtful and novel cases.
    ThresholdRejectClassifier : Reviews the doubtful cases of any classifier.
    sklearn.ensemble.IsolationForest : A detector of outliers to put into it.

    Examples
    --------
    >>> from rejo import NoveltyReject, RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> far = X + 20
    >>> float(RejoSVC(kernel="poly", C=10).fit(X, y).reject_mask(far).mean())
    0.0
    >>> model = NoveltyReject(RejoSVC(kernel="poly", C=10), random_state=0).fit(X, y)
    >>> float(model.reject_mask(far).mean())
    1.0
    """

    reject_cost: Any
    typical_: Any
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "classifier": [HasMethods(["fit", "predict"]), str],
        "detector": [HasMethods(["fit"]), None],
        "review_share": [FiniteInterval(Real, 0.0, 1.0, closed="left")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any,
        *,
        detector: Any = None,
        review_share: float = 0.02,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.detector = detector
        self.review_share = review_share
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier and the detector; see :meth:`rejo.estimators.RejectClassifier.fit`.

        A case of weight 0 does not count; other weights are the classifier's only.
        """
        self._validate_params()
        if isinstance(self.classifier, str):
            raise ValueError(
                f"classifier={self.classifier!r} is a name, which only RejectClassifierCV chooses "
                "by: give a classifier, or RejectClassifierCV(NoveltyReject('auto'), ...)."
            )
        classifier = clone(self._learner)
        if self.random_state is not None:
            set_random_states(classifier, check_random_state(self.random_state))
        self._take(fit_clone(classifier, X, y, sample_weight))
        self._detect(X, y, sample_weight)
        return self

    @available_if(lambda self: hasattr(self._learner, "fit_path"))
    def fit_path(
        self, X: Any, y: Any, *, reject_costs: Any = None, sample_weight: Any = None, **more: Any
    ) -> list[Self]:
        """Fit one model for each reject cost; they share the detector."""
        unfitted: Self = clone(self)
        unfitted._validate_params()
        fitted = unfitted._learner.fit_path(
            X, y, reject_costs=reject_costs, sample_weight=sample_weight, **more
        )
        unfitted._detect(X, y, sample_weight)
        return [unfitted._around(classifier) for classifier in fitted]

    def novelty(self, X: Any) -> Floats:
        """Return how unlike training each case (n_samples,) is; above ``threshold_`` it is novel.

        By default about 1 for ordinary cases; of another detector, minus its ``score_samples``.
        """
        check_is_fitted(self)
        if self.detector_ is not None:
            return _novelty(self.detector_, X)
        return _novelty(self.typical_, self._features(X))

    @available_if(lambda self: not hasattr(self, "threshold_") or self.typical_ is not None)
    def novel_features(self, X: Any, top: int = 3) -> list[list[Strange]]:
        """Return the features of each case that are the most unlike training.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        top : int, default=3
            Maximum number of features for each case.

        Returns
        -------
        features : list of list of Strange
            For each case named tuples ``(feature, kind, value, low, high, expected, deviations)``.
            The kind is "outside" for a value outside the range of training, ``low`` to ``high``;
            such features come first.  If there are none, it is "unusual": the value is in the
            range, but ``deviations`` standard deviations from what the other features suggest,
            ``expected``.
        """
        check_is_fitted(self)
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be a positive integer; got {top!r}.")
        return self.typical_.strangest(self._features(X), int(top))

    def judge(self, X: Any, *, prices: Any = None) -> Judgement:
        """Decide each case; a novel one goes to review.

        Its ``sureness`` is 0, its ``worth`` that of the most expensive error, its ``chance`` NaN.
        """
        check_is_fitted(self)
        found = judge(self.classifier_, X, prices=prices)  # first: it checks X
        means = None if found.worth is None else self.prices_
        return mark_novel(found, means, self.novel_mask(X))

    def novel_mask(self, X: Any) -> Mask:
        """Return which cases are novel, as an array of bool of shape (n_samples,)."""
        return ~(self.novelty(X) <= self.threshold_)  # also if it is not a number

    def _features(self, X: Any) -> Any:
        """``X`` as numbers, as many in each row as in training."""
        Z, p = _need_numbers(_numbers(X)), len(self.typical_.scale)
        if len(Z.shape) != 2 or Z.shape[1] != p:
            raise ValueError(f"X must have {p} features in each row, as in training.")
        return Z

    @available_if(lambda self: hasattr(self._decider, "predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return the posteriors (n_samples, n_classes); they mean nothing where a case is novel."""
        check_is_fitted(self)
        classifier, X = final_step(self.classifier_, X)
        return np.asarray(classifier.predict_proba(X))

    @available_if(lambda self: hasattr(self._decider, "at"))
    def at(
        self, reject_cost: float | None = None, cost_of: Any = None, *, prices: Any = None,
        case_prices: Any = None,
    ) -> Self:  # fmt: skip
        """Return a copy that decides at other prices, if the classifier can; it shares the fit."""
        check_is_fitted(self)
        about = {} if case_prices is None else {"case_prices": case_prices}
        last = final_classifier(self.classifier_).at(reject_cost, cost_of, prices=prices, **about)
        return self._around(with_last(self.classifier_, last))

    @property
    def decides_by_posteriors(self) -> bool:
        """Whether the classifier decides by posteriors and prices."""
        return bool(self._decider.decides_by_posteriors)

    @property
    def case_prices_(self) -> Any:
        """How the prices depend on the case, if they do."""
        return getattr(final_classifier(self.classifier_), "case_prices_", None)

    @property
    def price_columns_(self) -> list[str]:
        """The columns that the prices of each case are made of."""
        return [] if self.case_prices_ is None else list(self.case_prices_.columns)

    @property
    def prices_(self) -> Floats:
        """Prices that the classifier decides at, if it decides by prices."""
        return np.asarray(final_classifier(self.classifier_).prices_)

    def _second_score(self, X: Any) -> Floats:
        classifier, X = final_step(self.classifier_, X)
        return np.asarray(classifier.decision_function(X))

    # ---- the parts ------------------------------------------------------------------------

    @property
    def _learner(self) -> Any:
        """The classifier to fit, with a reject option."""
        if isinstance(final_classifier(self.classifier), RejectClassifier):
            return self.classifier
        return ThresholdRejectClassifier(estimator=self.classifier)

    @property
    def _decider(self) -> Any:
        """The last step of the fitted classifier, or before ``fit`` of the one to fit."""
        return final_classifier(getattr(self, "classifier_", None) or self._learner)

    def _around(self, classifier: Any) -> Self:
        """Return a copy with another fitted classifier, of which a clone is the parameter."""
        found = copy(self)
        found.classifier = clone(classifier)
        found._take(classifier)
        return found

    def _take(self, classifier: Any) -> None:
        self.classifier_ = classifier
        copy_fitted(self, classifier, final_classifier(classifier))
        if self.reject_label_ is None:
            self.reject_label_ = choose_reject_label(self.classes_, None)

    def _detect(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit the detector, and set the threshold on cases that it has not seen."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.tocsr() if issparse(X) else X
        random = check_random_state(0 if self.random_state is None else self.random_state)
        folds = self._folds(X, y, random)
        if sample_weight is not None:
            counts = check_sample_weight(sample_weight, X.shape[0]) > 0
            place = np.cumsum(counts) - 1  # of a row among those that count
            folds = [(place[a[counts[a]]], place[b[counts[b]]]) for a, b in folds]
            X = take_rows(X, np.flatnonzero(counts))
        folds = [fold for fold in folds if min(map(len, fold))]  # a part may be without weight
        if not folds:
            raise ValueError(f"cv={self.cv!r:.60} leaves no cases to set the threshold on.")
        Z = _numbers(X)
        self.typical_ = None if Z is None else Typical.learn(Z)
        learn: Any = Typical.learn
        if self.detector is None:
            self.detector_, X = None, _need_numbers(Z)
        else:
            prototype = _prototype(self.detector)
            if self.random_state is not None:
                set_random_states(prototype, random)
            learn = partial(_fitted, prototype)
            self.detector_ = learn(X)
        scores = np.concatenate(
            [_novelty(learn(take_rows(X, train)), take_rows(X, test)) for train, test in folds]
        )
        scores = np.nan_to_num(scores, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)
        self.threshold_ = _limit(scores, float(self.review_share))
        self.novel_share_ = float((scores > self.threshold_).mean())

    def _folds(self, X: Any, y: Any, random: np.random.RandomState) -> list[Fold]:
        cv: Any = 5 if self.cv is None else self.cv
        if isinstance(cv, Integral):
            cv = KFold(min(int(cv), X.shape[0]), shuffle=True, random_state=random)
        rows = np.arange(X.shape[0])
        try:
            return [(rows[train], rows[test]) for train, test in check_cv(cv).split(X, y)]
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"cv={self.cv!r:.60} does not split the {len(rows)} cases: {error}"
            ) from None

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Mean cost of a decision; a novel case costs a review, or half an error without prices."""
        if self.decides_by_posteriors:
            return mean_price(self.prices_, self.classes_, self._decide(X), y, sample_weight)
        novel = np.asarray(self.judge(X).kind) == NOVEL
        check_consistent_length(novel, y)
        y = labels_like(y, self.classes_)
        weight = np.ones(len(novel))
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, len(novel))
        total, review = weight[novel].sum(), self.reject_cost_
        total *= 0.5 if review is None else review
        X, rows = X.tocsr() if issparse(X) else X, np.flatnonzero(~novel)
        if len(rows):
            last, Z = final_step(self.classifier_, take_rows(X, rows))
            total += last._mean_cost(Z, y[rows], weight[rows]) * weight[rows].sum()
        return float(total / weight.sum())

    # ---- files ----------------------------------------------------------------------------

    def _operating_point(self) -> dict[str, Any]:
        return dict(self._decider._operating_point())

    def _to_onnx(self, graph: Any, X: str) -> str:
        raise TypeError(
            "to_onnx cannot export a NoveltyReject: the graph would decide novel cases. Export its "
            "classifier_, and keep novel cases from it."
        )

    _posteriors_to_onnx = _to_onnx

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._learner)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def mark_novel(found: Judgement, prices: Floats | None, novel: Mask) -> Judgement:
    """Let cases (n,) go to review as novel, at prices (K, K + 1) if a review has a worth."""
    kind = np.zeros(len(novel), dtype=np.int8) if found.kind is None else found.kind.copy()
    kind[novel] = NOVEL
    changed: dict[str, Any] = {
        "decision": np.where(novel, -1, found.decision),
        "sureness": np.where(novel, 0.0, found.sureness),
        "kind": kind,
    }
    if found.worth is not None and prices is not None:
        most = (prices[:, :-1] - prices[:, -1:]).max()
        changed["worth"] = np.where(novel, most, found.worth)
    if found.chance is not None:
        changed["chance"] = np.where(novel, np.nan, found.chance)
    return found._replace(**changed)


def _limit(scores: Floats, share: float) -> float:
    """Score that at most a share of new cases exceed, with confidence, by those of others (n,)."""
    n = len(scores)
    beyond = max(int(binom.ppf(1.0 - CONFIDENCE, n, share)) - 1, 0)
    return float(np.sort(scores)[n - 1 - beyond])


def _novelty(detector: Any, X: Any) -> Floats:
    """How unlike training each case (n,) is."""
    if isinstance(detector, Typical):
        return detector.novelty(_numbers(X))
    return -np.asarray(detector.score_samples(X), dtype=np.float64)


def _prototype(detector: Any) -> Any:
    """An unfitted clone of a detector, checked."""
    name = type(final_classifier(detector)).__name__
    if isinstance(detector, type):
        raise TypeError(
            f"detector must be an instance, not a class: detector={detector.__name__}()."
        )
    if not hasattr(detector, "score_samples"):
        hint = "LocalOutlierFactor(novelty=True)" if "LocalOutlier" in name else "IsolationForest()"
        raise ValueError(
            f"detector={name} has no score_samples, so it cannot judge new cases. Use a detector "
            f"that has it, such as {hint}."
        )
    return clone(detector)


def _fitted(prototype: Any, X: Any) -> Any:
    return clone(prototype).fit(X)


def _numbers(X: Any) -> Any:
    """``X`` as floats, or a sparse matrix as it is; ``None`` if it does not hold numbers."""
    if issparse(X):
        return X
    try:
        if hasattr(X, "iloc"):
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _need_numbers(Z: Any) -> Any:
    if Z is None:
        raise ValueError(
            "X has columns that are not numbers: put an encoder, such as rejo.tables.TableEncoder, "
            "before NoveltyReject in a pipeline, or give a detector that takes them."
        )
    return Z


def _check_novelty(model: Any) -> None:
    """The classifier and the detector are of the same classes and features."""
    check_answering(model, model.classifier_, may_never_reject=True)
    last, detector = final_classifier(model.classifier_), model.detector_
    fine = model.reject_label_ is not None and last.reject_cost_ == model.reject_cost_
    require(fine, model, "its classifier rejects otherwise")
    fine = model.typical_ is not None if detector is None else hasattr(detector, "score_samples")
    require(fine, model, "it has no detector")
    widths = {getattr(one, "n_features_in_", None) for one in (model, detector)}
    widths.add(None if model.typical_ is None else len(model.typical_.scale))
    require(len(widths - {None}) <= 1, model, "its parts have other features")


declare(
    NoveltyReject,
    {
        "n_features_in_": optional(FEATURES),
        "classifier_": part(BaseEstimator),
        "detector_": maybe(part(BaseEstimator)),
        "typical_": maybe(part(Typical)),
        "threshold_": number(),
        "novel_share_": number(0.0, 1.0),
    },
    _check_novelty,
    saved=True,
)
