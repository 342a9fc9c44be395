"""Classifiers that decide by posteriors at prices, and at other prices without a fit."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rejo._errors import RejoError, Setting, Text
from rejo._state import declare, flag, floats, is_floats, maybe, part, require
from rejo._typing import Floats
from rejo.decisions import uniform_prices
from rejo.estimators.base import RejectClassifier, check_reject_cost
from rejo.estimators.posteriors import judge_posteriors, mean_price
from rejo.estimators.reviews import Judgement, decided
from rejo.prices import (
    HIGHEST,
    CasePrices,
    check_reviews_pay,
    mean_prices,
    of_rows,
    price_columns,
    price_matrix,
    reject_cost_of,
)


@dataclass(kw_only=True, eq=False, repr=False)
class PricedClassifier(RejectClassifier):
    """Base of the classifiers with a parameter ``cost_of``: what errors and reviews cost.

    A subclass calls :meth:`_set_prices` in ``fit``, and decides by :meth:`_judge_at`.
    """

    cost_of: Any = None
    case_prices_ = None  # type: CasePrices | None  # how prices depend on the case; no parameter

    @property
    def price_columns_(self) -> list[str]:
        """The columns that the prices of each case are made of; none if there are none."""
        return [] if self.case_prices_ is None else self.case_prices_.columns

    def at(
        self, reject_cost: float | None = None, cost_of: Any = None, *, prices: Any = None,
        case_prices: CasePrices | None = None,
    ) -> Self:  # fmt: skip
        """Return a copy that decides at other prices; it shares the fit.

        Parameters
        ----------
        reject_cost : float in (0, 1 - 1 / n_classes], default=None
        cost_of : dict, str, path, DataFrame or array-like, default=None
            As the parameters of the class.
        prices : ndarray of shape (n_classes, n_classes + 1), default=None
            Taken as they are, for :func:`rejo.decisions.decide`: what a review costs may be any
            number, also one at which none or every point is reviewed.  Give one of the three.  Or
            with formulas as ``cost_of``, prices of some cases, whose means are ``prices_``: an
            array, or their columns in a frame or a dict.
        case_prices : CasePrices, default=None
            How prices depend on the case, with their means as ``prices``.

        Returns
        -------
        model : the same class
        """
        check_is_fitted(self)
        if price_columns(cost_of) and prices is not None:
            by: Any = CasePrices.of(cost_of, None, ordered=_has_order(self.classes_, self._ordered))
            found = by.learned(self.classes_.tolist(), None, prices, None)
            model = self.at(prices=mean_prices(found), case_prices=by)
            model.cost_of = cost_of
            return model
        if sum(given is not None for given in (reject_cost, cost_of, prices)) != 1:
            raise ValueError("give one of reject_cost and cost_of, or prices.")
        model = copy(self)
        if reject_cost is not None:
            model.reject_cost = reject_cost
        model.cost_of = cost_of if prices is None else prices
        model._validate_params()
        if prices is not None and (case_prices or not model._can_fit(prices)):
            model.cost_of = self.cost_of  # a clone must be able to fit
        model._set_prices(self.classes_, self._ordered, prices, case_prices)
        return model

    def _set_prices(
        self, classes: NDArray[Any], ordered: bool, prices: Any = None,
        case_prices: CasePrices | None = None,
    ) -> None:  # fmt: skip
        """Store the classes, whether they have an order, and the prices, by case their means."""
        self.case_prices_ = case_prices
        K, cost = len(classes), self.reject_cost
        most = 1.0 - 1.0 / K
        rejects = not (prices is None and self.cost_of is None and cost is None)
        if prices is not None:
            prices = np.array(prices, dtype=np.float64)
            if not is_floats(prices, K, K + 1):
                raise ValueError(f"prices must be finite numbers of shape {(K, K + 1)}.")
            cost = reject_cost_of(prices)
            cost = cost if cost is not None and 0 < cost <= most else None
        elif self.cost_of is not None:
            about = {"ordered": _has_order(classes, ordered)}
            prices = price_matrix(self.cost_of, classes.tolist(), **about)
            check_reviews_pay(self.cost_of, classes.tolist(), **about)
            cost = reject_cost_of(prices)
        elif cost is not None and cost > most:
            raise RejoError(
                Text(
                    Setting("reject_cost", cost),
                    f" is above {most:.3g}: with {K} classes a guess "
                    f"costs at most 1 - 1/{K}, so no point would be rejected",
                ),
                parameter="reject_cost",
                remedy=f"Use at most {most:.3g}, or None to decide all points.",
            )
        else:
            prices = uniform_prices(K, most if cost is None else cost)
        self._set_labels(classes, rejects=rejects)
        self.reject_cost_, self.prices_, self._ordered = cost, prices, ordered

    def _learn_prices(
        self, classes: NDArray[Any], ordered: bool, X: Any, prices: Any, n: int,
        weight: Floats | None, rows: Any,
    ) -> Floats:  # fmt: skip
        """Store the prices of ``n`` training cases, or their means; return those of some rows."""
        about = {"ordered": _has_order(classes, ordered)}
        by = CasePrices.of(self.cost_of, prices, **about)
        if by is None:
            self._set_prices(classes, ordered)
            return self.prices_
        L = by.learned(classes.tolist(), X, prices, n)
        L = of_rows(L, rows)
        self._set_prices(classes, ordered, mean_prices(L, weight), by)
        return L

    def _can_fit(self, prices: Any) -> bool:
        """Return whether ``fit`` takes these prices as ``cost_of``."""
        try:
            check_reviews_pay(price_matrix(prices, self.classes_.tolist()))
        except ValueError:
            return False
        return True

    @property
    def _is_uniform(self) -> bool:
        """Whether an error costs 1, and a review the reject cost."""
        K, cost = len(self.classes_), self.reject_cost_
        return np.array_equal(self.prices_, uniform_prices(K, 1 - 1 / K if cost is None else cost))

    def _operating_point(self) -> dict[str, Any]:
        if self.cost_of is None and self._is_uniform:
            return super()._operating_point()
        return {"prices": self.prices_}

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any, prices: Any = None) -> float:
        decision = decided(self, X, prices=prices)
        L = self._prices_of(X, prices, len(decision))
        return mean_price(L, self.classes_, decision, y, sample_weight)

    def _prices_of(self, X: Any, prices: Any, n: int) -> Any:
        """The prices (K, K + 1) that ``n`` cases are decided at, or those of each in blocks."""
        if prices is None and self.case_prices_ is None:
            return self.prices_
        by = self.case_prices_ or CasePrices(None)
        return by.at(self.classes_.tolist(), X, prices, n)

    def _judge_at(self, p: Floats, X: Any, prices: Any) -> Judgement:
        """Judge cases by their posteriors (n, K), at their prices."""
        return judge_posteriors(p, self._prices_of(X, prices, len(p)), rejects=self._rejects)


def _has_order(classes: NDArray[Any], ordered: bool) -> bool:
    return ordered or len(classes) == 2 or classes.dtype.kind in "biuf"


def _priced_classifier(model: Any) -> None:
    K, prices = len(model.classes_), model.prices_
    check_reject_cost(model, 1.0 - 1.0 / K)
    require(prices.shape[1] == K + 1, model, "prices_ are not a number for each outcome")
    # A review may cost its price and, if the reviewer is wrong, an error as well; at a cut in
    # the ranking it may also cost less than nothing.
    fine = (prices[:, :-1] >= 0).all() and not prices.diagonal().any()
    require(fine, model, "prices_ hold a price that cannot be")
    cost = model.reject_cost_
    fine = cost == reject_cost_of(prices)
    if cost is None:  # at a cut in the ranking, or without rejection
        fine = model._rejects or model._is_uniform
    require(fine, model, "prices_ and the reject cost do not agree")


declare(
    PricedClassifier,
    {
        "prices_": floats("K", None, low=-2 * HIGHEST, high=2 * HIGHEST),
        "_ordered": flag(),
        "case_prices_": maybe(part(CasePrices)),
    },
    _priced_classifier,
)
