"""Cuts in a ranking of cases: how many are reviewed, and how many of the others are wrong.

A budget, or an allowed error, is met by a cut in a ranking: of posterior learners, by what a review
is worth; of learners that were trained for one reject cost, by their own sureness.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    MOST_FEATURES,
    Must,
    check_fields,
    count,
    maybe,
    number,
    optional,
    part,
    require,
    storable,
)
from rejo._typing import Floats, Indices, Mask
from rejo.baselines import copy_fitted
from rejo.estimators import (
    Judgement,
    RejectClassifier,
    check_answering,
    fit_weighted,
    must_review,
)
from rejo.metrics import wilson_limits
from rejo.selection.chances import chance_wrong
from rejo.selection.guarantee import TargetUnattainable
from rejo.selection.path import among_decided
from rejo.selection.target import RATES, Target

LEAST = 10  # decided cases: a rate among fewer means nothing
TIE = 1e-9  # relative; there is no cut between values that differ by less
SIDES = np.array([[1.0, -1.0]])  # of a review region between two boundaries
SURE = 0.9  # one-sided
FEW = 0.1  # share of decided cases below which a user should know


class Cuts(NamedTuple):
    """Every way to cut a ranking: cases with a value of at least ``cut`` go to review."""

    cut: Floats  # (m,) falling
    rejection_rate: Floats  # (m,) rising; share of all cases
    error_rate: Floats  # (m,) share of all cases that are decided, and wrongly
    n_decided: Indices  # (m,) number of cases with a weight above 0

    @property
    def accepted_error_rate(self) -> Floats:
        """Wrong decisions / decisions (m,); NaN where nothing is decided."""
        return among_decided(self.rejection_rate, self.error_rate)


def rank_cuts(
    value: Floats,
    wrong: Any,
    weight: Floats | None = None,
    *,
    ends: tuple[float, float],
    tie: float,
) -> Cuts:
    """Cut the ranking of cases by ``value`` (n,), highest first, in every possible place.

    ``wrong`` (n,) says whether the decision without a review is wrong, or how likely that is.
    ``ends`` are cuts that review nothing and everything; values that differ by up to ``tie`` are
    equal.  Cases with an infinite value are reviewed at any cut.
    """
    order = np.argsort(-value, kind="stable")
    value, w = value[order], np.ones(len(value)) if weight is None else weight[order]
    bad = np.append(0.0, np.cumsum(w * np.asarray(wrong)[order]))  # (n + 1,) among the first
    top = np.append(0.0, np.cumsum(w))
    count = np.append(0, np.cumsum(w > 0))
    least = int(np.isposinf(value).sum())
    own = value[least:]
    at = np.concatenate(
        [[least], least + 1 + np.flatnonzero(own[:-1] - own[1:] > tie), [len(value)]]
    )
    middle = (value[at[1:-1] - 1] + value[at[1:-1]]) / 2
    total = top[-1]
    return Cuts(
        np.concatenate([[ends[0]], middle, [ends[1]]]),
        top[at] / total,
        np.maximum(bad[-1] - bad[at], 0.0) / total,
        count[-1] - count[at],
    )


def share_cuts(cuts: Cuts, shares: Iterable[float]) -> Indices:
    """Index of the cut with the most reviews within each share, without duplicates, ascending."""
    limits = np.asarray(list(shares)) + 1e-12
    at = np.searchsorted(cuts.rejection_rate, limits, side="right") - 1
    return np.unique(np.maximum(at, 0))  # novel cases may be more than a share


def find_cut(cuts: Cuts, target: Target, stacklevel: int = 4) -> int:
    """Return the cut that meets a target with the fewest reviews, or the most within a budget.

    At least 10 cases, and one in a hundred, must be left to decide: the rate of fewer means
    nothing.
    """
    if target.rate == "rejection_rate":
        refuse_budget(target, float(cuts.rejection_rate[0]))
        return int(share_cuts(cuts, [target.limit])[0])
    n = int(cuts.n_decided[0])
    rate = np.where(
        cuts.n_decided >= max(min(LEAST, n / 10), n / 100), getattr(cuts, str(target.rate)), np.inf
    )
    within = np.flatnonzero(rate <= target.limit + 1e-12)
    if not len(within):
        best = int(rate.argmin())
        raise unattainable(target, float(rate[best]), float(cuts.rejection_rate[best]))
    found, decided = int(within[0]), int(cuts.n_decided[within[0]])
    if decided < FEW * n:
        warnings.warn(
            f"{target.name}={target.limit:g} leaves few decisions: {decided:,} of {n:,} cases "
            f"({100 * decided / n:.2g} %). So few cases say little about their error rate. Raise "
            f"{target.name}, or find a better estimator.",
            UserWarning,
            stacklevel=stacklevel,
        )
    return found


def refuse_budget(target: Target, novel: float) -> None:
    """Refuse a budget below the share of cases that are novel, and reviewed at any cut."""
    if target.rate == "rejection_rate" and novel > target.limit + 1e-12:
        raise unattainable(
            target, novel, novel, remedy="Raise it, or lower review_share of the detector."
        )


def likely_limits(cuts: Cuts, rate: str, cases: float, confidence: float) -> Floats:
    """Wilson's upper limits (m,) for the rate at each cut, if ``cases`` are independent."""
    accepted = rate == "accepted_error_rate"
    decided = cuts.n_decided / cuts.n_decided[0] if accepted else np.ones(len(cuts.cut))
    some = decided > 0
    highest, level = np.ones(len(cuts.cut)), max(2 * confidence - 1, 0.1)  # two-sided
    rates = np.clip(getattr(cuts, rate)[some], 0.0, 1.0)
    highest[some] = wilson_limits(rates, cases * decided[some], level)[1]
    return highest


@storable
class Margin(NamedTuple):
    """What to ask for in order to be ``confidence`` sure of a limit, though nothing proves it."""

    limit: float | None  # None if there are too few cases to be so sure
    rejection_rate: float | None  # share of reviews that follows
    confidence: float

    def _check_state(self) -> None:
        """Three shares."""
        share = maybe(number(0.0, 1.0))
        check_fields(self, limit=share, rejection_rate=share, confidence=number(1e-9, 1 - 1e-15))


def margin_of(cuts: Cuts, target: Target, cases: float) -> Margin | None:
    """Return the margin for an allowed error; ``None`` for other targets.

    The rate at a cut that meets the limit is above it about as often as not.  At the cut with the
    fewest reviews whose likely limit is within the target, it is above in one of ten.
    """
    if not target.limits_errors:
        return None
    name = str(target.rate)
    sure = np.flatnonzero(likely_limits(cuts, name, cases, SURE) <= target.limit)
    if not len(sure):
        return Margin(None, None, SURE)
    rate = float(getattr(cuts, name)[sure[0]])
    return Margin(rate, float(cuts.rejection_rate[sure[0]]), SURE)


def luck_of(margin: Margin | None) -> float:
    """How often chance in the cases counts for a cut that was chosen by its error rate.

    Once, as the rate is within the limit partly by luck; four times if no cut shows that it is, so
    that the target may have been met by luck alone; not at all for a budget.
    """
    if margin is None:
        return 0.0
    return 4.0 if margin.limit is None else 1.0


def unattainable(
    target: Target, attainable: float, reviewed: float, how: str = "by cross-validation",
    remedy: str = "Raise it well above that, or try a better estimator.", **where: float,
) -> TargetUnattainable:  # fmt: skip
    """Return an error that says what is attainable."""
    at = "".join(f", at a reject cost of {cost:g}" for cost in where.values())
    return TargetUnattainable(
        f"{target.name}={target.limit:g} cannot be reached: the lowest {RATES[str(target.rate)]} "
        f"that is attainable {how} is {attainable:.4f}{at}, where {100 * reviewed:.0f} % of the "
        "cases go to review",
        attainable=attainable,
        parameter=target.name,
        remedy=remedy,
        **where,
    )


# ---- learners that were trained for one reject cost ---------------------------------------


def sureness_cuts(
    decision: Indices, sureness: Floats, wrong: Any, weight: Floats | None = None, *,
    smooth: bool = False,
) -> Cuts:  # fmt: skip
    """Every cut in the ranking of a queue: rejected cases first, each part least sure first.

    ``cut`` is minus a place in this ranking, which :func:`limit_at` turns into a limit.  If
    ``smooth``, errors are read from a curve over the ranking.
    """
    place = _places(decision, sureness)
    if smooth:
        wrong = chance_wrong(0.5 - (rankdata(place) - 0.5) / (2 * len(place)), wrong, weight)
    return rank_cuts(-place, wrong, weight, ends=(1.0, -float(len(place))), tie=0.5)


def limit_at(cut: float, decision: Indices, sureness: Floats) -> tuple[float, bool]:
    """Parameters ``limit`` and ``widen`` of a :class:`CutRanking` for a cut of sureness_cuts."""
    place, rejected = _places(decision, sureness), decision < 0
    inside, outside = place <= -cut, place > -cut
    widen = not (rejected & outside).any()
    if widen:  # between the reviewed cases that were decided, and the others
        inside, outside = inside & ~rejected, outside
    else:
        outside = outside & rejected
    low = sureness[inside].max() if inside.any() else -1.0
    high = sureness[outside].min() if outside.any() else 2 * low + 1
    return float(low if low < 0 else (low + high) / 2), bool(widen)


def cut_decision(
    decision: Indices, forced: Indices, sureness: Floats, limit: float, widen: bool
) -> Indices:
    """Decisions (n,) if the least sure cases are reviewed, besides or of those that were."""
    doubtful, rejected = sureness <= limit, decision < 0
    return np.where(doubtful | rejected if widen else doubtful & rejected, -1, forced)


def _places(decision: Indices, sureness: Floats) -> Floats:
    """Place (n,) of each case in the ranking; equal cases share one."""
    decided = decision >= 0
    order = np.lexsort((sureness, decided))
    s = sureness[order]
    step = (np.diff(s) > TIE * (1 + s[1:])) | (np.diff(decided[order]) != 0)
    place = np.empty(len(s))
    place[order] = np.append(0, np.cumsum(step))
    return place


@storable
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

    _fitted: ClassVar[dict[str, Must]] = {
        "n_features_in_": optional(count(1, MOST_FEATURES)),
        "estimator_": part(RejectClassifier),
    }
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
        cut = found.sureness, self.limit, self.widen
        decision = cut_decision(found.decision, found.forced, *cut)
        decision = np.where(must_review(found), -1, decision)
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

    def _check_state(self) -> None:
        """The model within has the same classes, features and reject cost."""
        super()._check_state()
        check_answering(self, self.estimator_)
        same = self.estimator_.reject_cost_ == self.reject_cost_
        require(same, self, "its reject cost is not that of its estimator_")
