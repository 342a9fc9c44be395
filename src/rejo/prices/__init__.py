"""Prices as people have them, as a matrix for :mod:`rejo.decisions`.

All places that take prices take the forms that :func:`price_matrix` lists. A class whose name holds
one of ``, ; : = >`` is written in double quotes.

>>> price_matrix("error:default=5000,error:repaid=300,review=40", ["default", "repaid"])
array([[   0., 5000.,   40.],
       [ 300.,    0.,   40.]])
>>> describe_prices({"error": 5000, "review": 40}, ["default", "repaid"])
'An error costs 5,000 and a review 40.'
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.prices._entries import HIGHEST, read_prices, renamed_classes
from rejo.prices._matrix import case_costs, price_matrix, reject_cost_of
from rejo.prices._reviews import (
    check_reviews_pay,
    describe_prices,
    highest_review_price,
)

__all__ = [
    "describe_prices",
    "highest_review_price",
    "price_matrix",
]
