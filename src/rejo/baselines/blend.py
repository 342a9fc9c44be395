"""Posteriors of several classifiers, blended: boundaries cannot be averaged, posteriors can."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import get_tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed

from rejo._frames import take_rows
from rejo._state import (
    FEATURES,
    check_parameters,
    declare,
    each,
    floats,
    labels,
    maybe,
    names,
    number,
    optional,
    part,
    require,
)
from rejo._typing import Floats, Indices
from rejo.baselines._wrapped import fit_clone, held_out_scores, posteriors
from rejo.estimators import FiniteInterval, check_member, check_table, check_targets

# How strongly powers are drawn to each other.  On 24 tables with 150 and 500 cases costs with 3 and
# with 30 differ by less than 0.5 %; without any, members that are alike get powers at random.
PRIOR = 10.0
RANGE = (1e-3, 4.0)  # of a power that is learned
# How strongly offsets are drawn to 0.  With 3, two classes cost 1 % more at one price for errors;
# without offsets, a rare class between two others costs 2 % more.
STEADY = 30.0
COLDEST = 1e-6  # temperature
# Errors that cannot be told from none.  On simulated lenders, 1 lets plans lose to reviewing every
# case more often, and with 4 some that pay are never found.
BELIEF = 2.0
LEAST = 1e-6  # a posterior below this counts as this: no classifier alone excludes a class


@dataclass(eq=False, repr=False)
class BlendClassifier(ClassifierMixin, _BaseComposition):
    """Weighted mean of the logarithms of the posteriors of several classifiers.

    The posterior of class ``k`` is proportional to ``exp(c_k) prod_m p_mk(x) ^ (w_m / T)``, a
    logarithmic opinion pool (:footcite:t:`genest1986`), with weights ``w_m`` of the classifiers, a
    temperature ``T`` (:footcite:t:`guo2017`) and an offset ``c_k`` of each class.  The powers ``w_m
    / T`` and the offsets are those with the lowest log loss on cases that the classifiers have not
    seen; where cases are few, powers are drawn to each other and offsets to 0.  It is a logistic
    regression on the logarithms.  A mean of the posteriors themselves would be less sure
    than it should be (:footcite:t:`ranjan2010`).  At the end a little of equal posteriors is mixed
    in: ``n`` cases cannot tell a chance of an error below about ``2 / n`` from none.  A blend has
    no reject option itself; put a :class:`~rejo.ThresholdRejectClassifier` around it.

    Parameters
    ----------
    estimators : list of (str, classifier)
        Classifiers with ``predict_proba``, or pipelines that end in one.
    weights : {"learn", "equal"} or array-like of shape (n_estimators,), default="learn"
        What each classifier counts for; an array is scaled to the sum 1.
    temperature : "learn" or float, default="learn"
        Below 1 the posteriors move towards 0 and 1, above 1 towards each other.
    offsets : array-like of shape (n_classes,), default=None
        What is added to the logarithms, of the classes in ascending order.  ``None``: learned with
        the temperature; 0 if that is given.
    cv : int, splitter or iterable, default=5
        Folds in which the weights and the temperature are learned; a number means stratified,
        shuffled folds.  Each case is tested once.
    n_jobs : int, default=None
        Number of fits in parallel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, ascending.
    estimators_ : list of classifiers
        Fitted on all cases; those without weight are ``None``.
    weights_ : ndarray of shape (n_estimators,)
        What each classifier counts for; the sum is 1.
    temperature_ : float
        ``T``.
    offsets_ : ndarray of shape (n_classes,)
        What is added to the logarithms.
    floor_ : float
        Share of equal posteriors that is mixed in at the end: from so few cases, no posterior can
        be known to be nearly 0.

    See Also
    --------
    ThresholdRejectClassifier : Gives it a reject option.
    rejo.selection.choose_model : Tries single classifiers and their blend.
    sklearn.ensemble.VotingClassifier : The mean with weights that you give.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from rejo import BlendClassifier, ThresholdRejectClassifier
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(200, random_state=0)
    >>> blend = BlendClassifier([("logistic", LogisticRegression()), ("bayes", GaussianNB())])
    >>> model = ThresholdRejectClassifier(blend, reject_cost=0.2).fit(X, y)
    >>> model.estimator_.weights_.round(1)
    array([0.3, 0.7])
    """

    estimators: Any
    _: KW_ONLY
    weights: Any = "learn"
    temperature: Any = "learn"
    offsets: Any = None
    cv: Any = 5
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list],
        "weights": [StrOptions({"learn", "equal"}), "array-like"],
        "temperature": [
            StrOptions({"learn"}),
            FiniteInterval(Real, COLDEST, 1 / COLDEST, closed="both"),
        ],
        "offsets": ["array-like", None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` those of the classifiers as ``name__parameter``."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``name=classifier`` replaces one, ``name__C=3`` sets its parameter."""
        self._set_params("estimators", **params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights, if they are not given, and fit the classifiers on all cases."""
        self._validate_params()
        names = [name for name, _ in self.estimators]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"estimators must be one or more, with different names; got {names}.")
        X = self._check_input(X, reset=True)
        name = type(self).__name__
        classes, k, weight, _, rows, *_ = check_targets(X, y, sample_weight, "sorted", None, name)
        if rows is not None:
            X = take_rows(X, rows)
        y = classes[k]
        self.floor_ = equal_share(len(k) if weight is None else float(weight.sum()), len(classes))
        learns = isinstance(self.weights, str) and self.weights == "learn" and len(names) > 1
        self.weights_ = np.full(len(names), 1 / len(names)) if learns else self._given_weights()
        self.temperature_, self.offsets_ = self.temperature, self._given_offsets(len(classes))
        if learns or self.temperature == "learn":
            p = self._held_out(X, y, classes, k, weight)
            if not learns:
                p = pooled(p, self.weights_)[None]
            own = self.temperature == "learn" and self.offsets is None
            powers, offsets = learn_pool(p, k, weight, offsets=own)
            if learns:
                self.weights_ = powers / powers.sum()
            if self.temperature == "learn":
                self.temperature_ = 1 / powers.sum()
            if own:
                self.offsets_ = offsets
        self.temperature_ = float(self.temperature_)
        members = [est for (_, est), w in zip(self.estimators, self.weights_, strict=True) if w > 0]
        fitted = iter(
            Parallel(n_jobs=self.n_jobs)(delayed(fit_clone)(est, X, y, weight) for est in members)
        )
        self.estimators_ = [next(fitted) if w > 0 else None for w in self.weights_]
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posteriors (n_samples, n_classes), in the order of ``classes_``."""
        X = self._check_input(X, reset=False)
        pairs = zip(self.estimators_, self.weights_, strict=True)
        parts = [posteriors(est, X, self.classes_) for est, w in pairs if w > 0]
        powers = self.weights_[self.weights_ > 0] / self.temperature_
        p = pooled(np.array(parts), powers, self.offsets_)
        return (1 - self.floor_) * p + self.floor_ / len(self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Likeliest class (n_samples,)."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(estimator).input_tags for _, estimator in self.estimators]
        tags.input_tags.sparse = all(tag.sparse for tag in inner)
        tags.input_tags.allow_nan = all(tag.allow_nan for tag in inner)
        return tags

    def _posteriors_to_onnx(self, graph: Any, X: str) -> str:
        members = zip(self.estimators, self.estimators_, self.weights_, strict=True)
        parts, faults = [], []
        for (name, _), member, weight in members:
            if member is not None:
                try:
                    p = graph.posteriors(member, X, self.classes_)
                except (TypeError, ValueError) as error:
                    faults.append(f"{name}: {error}")
                else:
                    logs = graph.add("Log", graph.add("Max", p, np.array(LEAST)))
                    power = np.array(weight / self.temperature_)
                    parts.append(graph.add("Mul", logs, power))
        if faults:
            raise TypeError("to_onnx cannot export members of the blend. " + " ".join(faults))
        p = graph.add("Softmax", graph.add("Add", graph.add("Sum", *parts), self.offsets_), axis=1)
        p = graph.add("Mul", p, np.array(1 - self.floor_))
        return str(graph.add("Add", p, np.array(self.floor_ / len(self.classes_))))

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        return check_table(self, X, *(estimator for _, estimator in self.estimators), reset=reset)

    def _given_weights(self) -> Floats:
        n = len(self.estimators)
        if isinstance(self.weights, str):
            return np.full(n, 1.0 / n)
        try:
            given = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0)
        if given.shape != (n,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise ValueError(
                f"weights must be {n} non-negative numbers, one for each of the estimators, or "
                f"'learn' or 'equal'; got {self.weights!r}."
            )
        return given / given.sum()

    def _given_offsets(self, n_classes: int) -> Floats:
        try:
            given = np.zeros(n_classes) if self.offsets is None else np.asarray(self.offsets, float)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0)
        if given.shape != (n_classes,) or not np.isfinite(given).all():
            raise ValueError(
                f"offsets must be {n_classes} numbers, one for each class, or None; got "
                f"{self.offsets!r}."
            )
        return given

    def _held_out(
        self, X: Any, y: NDArray[Any], classes: NDArray[Any], k: Indices, weight: Floats | None
    ) -> Floats:
        """Posteriors (n_estimators, n, K) by fits that have not seen the case."""
        cv = check_cv(self.cv)
        if isinstance(self.cv, Integral):
            counts = np.bincount(k)
            if counts.min() < 2:
                raise ValueError(
                    f"class {classes.tolist()[counts.argmin()]!r} has one case, and learning "
                    "weights takes two. Give weights='equal' and a temperature, or more cases."
                )
            n_folds = min(int(self.cv), int(counts.min()))
            cv = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        folds = list(cv.split(X, k))
        tested = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(k))
        if len(tested) > len(k) or (tested != 1).any():
            raise ValueError(
                "cv must test each case once: a blend learns from one held-out posterior of each. "
                "Use cv=5, StratifiedKFold or GroupKFold."
            )
        names = [f"class {label!r}" for label in classes.tolist()]
        p = np.empty((len(self.estimators), len(k), len(classes)))
        for m, (_, estimator) in enumerate(self.estimators):
            found, rows = held_out_scores(
                estimator, X, y, weight, folds, classes, names, self.n_jobs, posteriors
            )
            p[m, rows] = found
        return p


def equal_share(n: float, n_classes: int) -> float:
    """Share of equal posteriors in those learned from ``n`` cases.

    A decision that is wrong in fewer than about two of them cannot be told from one that never is.
    """
    more = BELIEF * n_classes / (n_classes - 1)
    return more / (n + more)


def believable(p: Floats, n: float) -> Floats:
    """Posteriors (m, K) as far as ``n`` cases can tell: a little of equal ones is mixed in."""
    K = p.shape[1]
    share = equal_share(n, K)
    return (1 - share) * p + share / K


def pooled(p: Floats, powers: Floats, offsets: Floats | float = 0.0) -> Floats:
    """Posteriors (n, K) proportional to ``exp(offsets)`` and ``p`` (m, n, K), each to its power."""
    return np.asarray(softmax(np.tensordot(powers, _logs(p), 1) + offsets, axis=1))


def learn_pool(
    p: Floats,  # (m, n, K) posteriors of cases that the classifiers have not seen
    y: Indices,  # (n,)
    weight: Floats | None = None,  # (n,)
    alike: float = 1.0,  # cases for each independent one
    offsets: bool = True,  # learn them, too
) -> tuple[Floats, Floats]:
    """Powers ``v`` (m,) in ``RANGE`` and offsets ``c`` (K,) for which posteriors lose least.

    With ``b_i``, the :func:`pooled` posterior of the class of case ``i`` as far as so many cases
    can tell (:func:`believable`), they minimise ``sum_i -log b_i + PRIOR m / 2 sum_j (v_j -
    mean(v))^2 + STEADY / 2 sum_k c_k^2``.
    """
    (m, n, K), rows = p.shape, np.arange(len(y))
    cases = np.ones(n) if weight is None else weight
    logs, share = _logs(p), equal_share(float(cases.sum()), K)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        v, c = parameters[:m], parameters[m:]
        log_q = log_softmax(np.tensordot(v, logs, 1) + c, axis=1)  # (n, K)
        seen = (1 - share) * np.exp(log_q[rows, y])
        pull = -cases * seen / (seen + share / K)  # (n,) derivative by log_q of the class
        slope = -pull[:, None] * np.exp(log_q)
        slope[rows, y] += pull
        away = v - v.mean()
        apart, off = PRIOR * alike * m * away, STEADY * alike * c
        value = -cases @ np.log(seen + share / K) + apart @ away / 2 + off @ c / 2
        by_power = np.tensordot(logs, slope, 2) + apart
        return value, np.concatenate([by_power, slope.sum(axis=0) + off])

    found = minimize(
        loss,
        np.repeat([1 / m, 0.0], [m, K]),
        jac=True,
        bounds=[RANGE] * m + [(None, None) if offsets else (0.0, 0.0)] * K,
        method="L-BFGS-B",
        options={"ftol": 1e-12},
    )
    return found.x[:m], found.x[m:]


def _logs(p: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(p, LEAST)))


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
    BlendClassifier,
    {
        "n_features_in_": optional(FEATURES),
        "feature_names_in_": optional(names("p")),
        "classes_": labels("K"),
        "estimators_": each(maybe(part(BaseEstimator)), "n"),
        "weights_": floats("n", low=0.0, high=1.0),
        "temperature_": number(COLDEST, 1 / COLDEST),
        "offsets_": floats("K"),
        "floor_": number(0.0, 1.0),
    },
    _blend,
    weighted=("estimators", "estimators_", "weights_"),
    saved=True,
)
