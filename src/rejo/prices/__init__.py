"""Prices as people have them, as a matrix for :mod:`rejo.decisions`.

All places that take prices take the forms that :func:`price_matrix` lists. A class whose name holds
one of ``, ; : = >`` is written in double quotes.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.prices._cases import (
    CasePrices,
    is_array,
    loss_rows,
    mean_prices,
    of_rows,
    price_columns,
    price_of,
)
from rejo.prices._entries import read_prices, renamed_classes
from rejo.prices._formulas import HIGHEST, read_formula
from rejo.prices._matrix import case_costs, price_matrix, reject_cost_of
from rejo.prices._reviews import (
    check_reviews_pay,
    describe_prices,
    highest_review_price,
)

__all__ = [
    "describe_prices",
    "highest_review_price",
    "price_columns",
    "price_matrix",
]
