"""Prices as people have them, as a matrix for :mod:`rejo.decisions`.

One grammar for all places that take prices.  As text, entries are separated by commas; as a dict,
the part before ``=`` is the key:

================================  ==================================================================
``error=5000``                    any wrong decision
``error:default=5000``            a wrong decision on a case that is truly ``default``
``default>repaid=5000``           a true ``default`` that is decided as ``repaid``
``step=100``                      ordered classes: 100 for one class off, 200 for two, and so on
``review=40``                     a review
``review:default=60``             a review of a case that is truly ``default``
``accuracy=0.95``                 reviewers are right in 95 % of the cases (always, by default)
``accuracy:default=0.9``          ... of the cases that are truly ``default``
================================  ==================================================================

The more special entry counts: a pair before a class, a class before all.  A class whose name holds
one of ``, ; : = >`` is written in double quotes.  In Python, a dict may also be nested, ``{"error":
{"default": 5000, "repaid": 300}, "review": 40}``, or have pairs as keys, ``("default",
"repaid")``.  A table has a row for each true class and a column for each decision and for
``review``: a CSV file, a DataFrame, or an array whose last column is the review.

>>> price_matrix("error:default=5000,error:repaid=300,review=40", ["default", "repaid"])
array([[   0., 5000.,   40.],
       [ 300.,    0.,   40.]])
>>> describe_prices({"error": 5000, "review": 40}, ["default", "repaid"])
'An error costs 5,000 and a review 40.'
"""

from rejo.prices._price_entries import HIGHEST, read_prices, renamed_classes
from rejo.prices._price_matrix import case_costs, price_matrix, reject_cost_of
from rejo.prices._worth_reviewing import (
    check_reviews_pay,
    describe_prices,
    highest_review_price,
)

__all__ = [
    "HIGHEST",
    "case_costs",
    "check_reviews_pay",
    "describe_prices",
    "highest_review_price",
    "price_matrix",
    "read_prices",
    "reject_cost_of",
    "renamed_classes",
]
