"""Classifiers that decide by posteriors at prices, and at other prices without a fit."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rejo._errors import RejoError, Setting, Text
from rejo._state import declare, flag, floats, is_floats, require
from rejo.decisions import uniform_prices
from rejo.estimators.base import RejectClassifier, check_reject_cost
from rejo.estimators.posteriors import mean_price
from rejo.prices import HIGHEST, check_reviews_pay, price_matrix, reject_cost_of


@dataclass(kw_only=True, eq=False, repr=False)
class PricedClassifier(RejectClassifier):
    """Base of the classifiers with a parameter ``cost_of``: what errors and reviews cost.

    A subclass calls :meth:`_set_prices` in ``fit``, and decides by ``prices_``.
    """

    cost_of: Any = None

    def at(
        self, reject_cost: float | None = None, cost_of: Any = None, *, prices: Any = None
    ) -> Self:
        """Return a copy that decides at other prices; it shares the fit.

        Parameters
        ----------
        reject_cost : float in (0, 1 - 1 / n_classes], default=None
        cost_of : dict, str, path, DataFrame or array-like, default=None
            As the parameters of the class.
        prices : ndarray of shape (n_classes, n_classes + 1), default=None
            Taken as they are, for :func:`rejo.decisions.decide`: what a review costs may be any
            number, also one at which none or every point is reviewed.  Give one of the three.

        Returns
        -------
        model : the same class
        """
        check_is_fitted(self)
        if sum(given is not None for given in (reject_cost, cost_of, prices)) != 1:
            raise ValueError("give one of reject_cost and cost_of, or prices.")
        model = copy(self)
        if reject_cost is not None:
            model.reject_cost = reject_cost
        model.cost_of = cost_of if prices is None else prices
        model._validate_params()
        if prices is not None and not model._can_fit(prices):
            model.cost_of = self.cost_of  # a clone must be able to fit
        model._set_prices(self.classes_, self._ordered, prices)
        return model

    def _set_prices(self, classes: NDArray[Any], ordered: bool, prices: Any = None) -> None:
        """Store the classes, whether they have an order, and the prices."""
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
            ordered_ = ordered or K == 2 or classes.dtype.kind in "biuf"
            prices = price_matrix(self.cost_of, classes.tolist(), ordered=ordered_)
            check_reviews_pay(self.cost_of, classes.tolist(), ordered=ordered_)
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

    def _mean_cost(self, X: Any, y: Any, sample_weight: Any) -> float:
        return mean_price(self.prices_, self.classes_, self._decide(X), y, sample_weight)


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
    {"prices_": floats("K", None, low=-2 * HIGHEST, high=2 * HIGHEST), "_ordered": flag()},
    _priced_classifier,
)
