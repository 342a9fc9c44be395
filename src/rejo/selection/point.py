"""What a fitted search answers at its operating point: decisions, expectations, words."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    MOST_FEATURES,
    Must,
    count,
    each,
    floats,
    mapping,
    maybe,
    number,
    optional,
    pair,
    part,
    plain,
    require,
    text,
)
from rejo._typing import Floats, Mask
from rejo.decisions import uniform_prices
from rejo.estimators import (
    Judgement,
    RejectClassifier,
    check_answering,
    check_reject_cost,
    decided,
    final_classifier,
    final_step,
    mean_price,
)
from rejo.prices import CasePrices, column_names, reject_cost_of
from rejo.selection.choose import Margin
from rejo.selection.cross_validation import RejectCurve
from rejo.selection.expected import Expected, MeanCosts, expect
from rejo.selection.folds import check_aligned
from rejo.selection.limits import GroupPolicy, Limit
from rejo.selection.out_of_fold import with_cut
from rejo.selection.promises import Guarantee
from rejo.selection.summary import cautions, reason, summarise
from rejo.typical import Typical


class OperatingPoint(RejectClassifier):
    """A fitted model at a cut, with what was asked for and what to expect of it."""

    expected_: Expected
    costs_: MeanCosts | None
    _fitted: ClassVar[dict[str, Must]] = {
        "n_features_in_": optional(count(1, MOST_FEATURES)),  # a pipeline may not have it
        "best_estimator_": part(BaseEstimator),
        "reject_cost_": number(),
        "best_params_": mapping(text(), plain()),
        "curve_params_": each(mapping(text(), plain())),
        "prices_": maybe(floats("K", None)),
        "case_prices_": maybe(part(CasePrices)),
        "cut_": maybe(number()),
        "limits_": each(part(Limit)),
        "rates_": pair(number(0.0, 1 + 1e-9)),
        "sizes_": pair(number(1e-300)),
        "n_effective_": number(1e-300),
        "curve_": part(RejectCurve),
        "chosen_": count(),
        "expected_": part(Expected),
        "shares_": floats("K", None, low=0.0, high=1 + 1e-9),
        "costs_": maybe(part(MeanCosts)),
        "guarantees_": each(part(Guarantee)),
        "policy_": maybe(part(GroupPolicy)),
        "margin_": maybe(part(Margin)),
        "gap_": maybe(pair(number(0.0, 1.0))),
        "typical_": maybe(part(Typical)),
        "_prices_said": maybe(text()),
    }
    _not_saved = ("outcomes_", "choice_", "_kept")  # an entry for each training case

    @property
    def guarantee_(self) -> Guarantee | None:
        """The first of the guarantees."""
        check_is_fitted(self)
        return self.guarantees_[0] if self.guarantees_ else None

    @property
    def price_columns_(self) -> list[str]:
        """The columns that the prices of each case are made of; none if there are none."""
        check_is_fitted(self)
        return [] if self.case_prices_ is None else self.case_prices_.columns

    def judge(self, X: Any, *, group: Any = None, prices: Any = None) -> Judgement:
        """Decide each point; see :meth:`rejo.estimators.RejectClassifier.judge`.

        What a review is worth is at ``prices_``, or at a price of 1 for an error and 0 for a
        review: then it is the probability that the decision is wrong.  Points of a ``group`` that
        the model does not know, or for which nothing is promised, are rejected, and so is a point
        without a price; ``prices`` are as for :meth:`predict`.
        """
        check_aligned(X, "group", group)
        check_aligned(X, "prices", prices)
        found = self._ask("judge", X, **self._priced(X, prices))
        if found.worth is not None and self.cut_ is not None:
            found = found._replace(worth=found.worth + self.cut_)  # the cut was added to the price
        if group is not None and self.policy_ is None:
            raise ValueError("group was not given to fit, so the model knows no groups.")
        if self.policy_ is None or (group is None and not self.policy_.needed):
            return found
        if group is None:
            raise ValueError(
                "the decisions of this model depend on the group of each case: pass group=."
            )
        return self.policy_.apply(found, group)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, group: Any = None, prices: Any = None
    ) -> float:
        """As :meth:`rejo.estimators.RejectClassifier.score`, of cases with groups or prices."""
        if group is None and prices is None:
            return super().score(X, y, sample_weight)
        return 1.0 - self._mean_cost(X, y, sample_weight, group, prices)

    def _mean_cost(
        self, X: Any, y: Any, sample_weight: Any, group: Any = None, prices: Any = None
    ) -> float:
        if self.prices_ is None and group is None and prices is None:
            return float(self._ask("_mean_cost", X, y, sample_weight))
        # The model decides at these prices plus the cut, which is not what a review costs.
        decision = decided(self, X, group, prices)
        L: Any = self.prices_
        if prices is not None or self.case_prices_ is not None:
            by = self.case_prices_ or CasePrices(None)
            L = by.at(self.classes_.tolist(), X, prices, len(decision))
        elif L is None:
            L = uniform_prices(len(self.classes_), float(self.reject_cost_))
        return mean_price(L, self.classes_, decision, y, sample_weight)

    def expect(self, n_cases: int) -> Expected:
        """Predict the rates in a batch of ``n_cases`` new cases.

        The named tuple has ``rejection_rate``, ``error_rate`` (of all cases) and
        ``accepted_error_rate`` (of the decided cases), each with ``estimate``, ``low`` and
        ``high``.  The rate of a batch falls in the interval with a probability of about
        ``confidence`` (0.95 if none was given), if new cases are like the training cases.
        """
        check_is_fitted(self)
        if not isinstance(n_cases, Integral) or n_cases < 1:
            raise ValueError(f"n_cases must be a positive integer; got {n_cases!r}.")
        return expect(*self.rates_, self.sizes_, int(n_cases), self.expected_.confidence)

    def summary(self) -> str:
        """Describe the model in a paragraph of plain words."""
        check_is_fitted(self)
        return summarise(self)

    def cautions(self) -> list[str]:
        """Say what to think of before the model is used; nothing if there is nothing."""
        check_is_fitted(self)
        return cautions(self)

    def reason(self) -> str:
        """Say what was asked for, at which prices, and what cases cost if prices were given."""
        check_is_fitted(self)
        return reason(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "expected_")

    def _operating_point(self) -> dict[str, Any]:
        target = {limit.parameter: limit.most for limit in self.limits_[::-1]}
        if not target:
            priced = self.cost_of is not None or self.case_prices_ is not None
            name = "cost_of" if priced else "reject_cost"
            target = {name: float(self.reject_cost_)}
        point = super()._operating_point() | {"target": target}
        if self.prices_ is not None and reject_cost_of(self.prices_) is None:
            point["prices"] = self.prices_
        if self.policy_ is not None:
            point["groups"] = self.policy_._asdict()
        share = getattr(final_classifier(self.best_estimator_), "review_share", None)
        if share is not None:  # of ordinary cases that a detector may call novel
            point["novelty"] = share
        return point | ({"guarantees": self.guarantees_} if self.guarantees_ else {})

    def _check_state(self) -> None:
        """The rates are shares, the point is on the curve, and it decides by its prices."""
        super()._check_state()
        check_answering(self, self.best_estimator_)
        K, shares, last = len(self.classes_), self.shares_, final_classifier(self.best_estimator_)
        prices = uniform_prices(K, 0.0) if self.prices_ is None else self.prices_
        n_features = None if self.typical_ is None else len(self.typical_.mean)
        for problem, fine in {
            "its rates are not shares of all cases": sum(self.rates_) <= 1 + 1e-9,
            "the numbers of cases behind its rates do not agree":
                self.n_effective_ == min(self.sizes_),
            "its operating point is not on its curve":
                self.chosen_ < len(self.curve_.reject_costs),
            "shares_ are not one for each outcome":
                shares.shape[1] == K + 1 and abs(shares.sum() - 1) < 0.5,
            "prices_ are not a number for each outcome": prices.shape[1] == K + 1,
            "what is typical is so of other features":
                n_features in (None, getattr(last, "n_features_in_", None)),
        }.items():  # fmt: skip
            require(fine, self, problem)
        if not self.decides_by_posteriors:
            check_reject_cost(self)
        else:
            cut = self.cut_
            fine = cut is not None and np.allclose(with_cut(prices, cut), last.prices_, rtol=1e-9)
            require(fine, self, "its prices and its cut are not those it decides by")

    @property
    def _decider(self) -> Any:
        """The chosen classifier, or before ``fit`` the one that is tuned."""
        fitted = hasattr(self, "best_estimator_")
        return final_classifier(self.best_estimator_) if fitted else self._learner

    @property
    def decides_by_posteriors(self) -> bool:
        """Whether the chosen model decides by posteriors and prices."""
        fitted = hasattr(self, "best_estimator_")
        return self._decider.decides_by_posteriors is True if fitted else self._by_posteriors

    def _ask(self, method: str, X: Any, *more: Any, **about: Any) -> Any:
        """What a method of the chosen classifier answers, after the steps before it."""
        check_is_fitted(self)
        classifier, X = final_step(self.best_estimator_, X)
        return getattr(classifier, method)(X, *more, **about)

    @available_if(lambda self: hasattr(self._decider, "boundary_scores"))
    def boundary_scores(self, X: Any) -> Floats:
        """Return the scores (n_samples, n_boundaries) of the chosen model, if it has boundaries."""
        return np.asarray(self._ask("boundary_scores", X))

    @available_if(
        lambda self: isinstance(self._decider, str) or hasattr(self._decider, "predict_proba")
    )
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

    def predict_forced(self, X: Any, *, prices: Any = None) -> NDArray[Any]:
        """Predict the class (n_samples,) of every point, whatever its group."""
        return np.asarray(self._ask("predict_forced", X, **self._priced(X, prices)))

    def _priced(self, X: Any, prices: Any) -> dict[str, Any]:
        """Prices of cases for the chosen classifier, which may see other columns than ``X`` has."""
        check_is_fitted(self)
        if not self.decides_by_posteriors or (prices is None and self.case_prices_ is None):
            return {}
        return {"prices": (X if column_names(X) else {}) if prices is None else prices}

    def _to_onnx(self, graph: Any, X: str) -> str:
        return str(graph.apply(self.best_estimator_, X))
