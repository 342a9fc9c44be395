"""Data to try a reject option on: problems with known posteriors, and real tables.

``make_synthetic_1`` to ``make_synthetic_4`` draw the four synthetic problems of the paper, whose
``posterior`` and best possible rates are known.  ``load_table`` loads your own file.
"""

from rejo.datasets._bayes import BayesRates, bayes_rates, bayes_risk, posterior
from rejo.datasets._bundled import load_breast_cancer_binary, load_diabetes_ordinal
from rejo.datasets._load import load_table
from rejo.datasets.synthetic import (
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    make_synthetic_4,
)

__all__ = [
    "BayesRates",
    "bayes_rates",
    "bayes_risk",
    "load_breast_cancer_binary",
    "load_diabetes_ordinal",
    "load_table",
    "make_synthetic_1",
    "make_synthetic_2",
    "make_synthetic_3",
    "make_synthetic_4",
    "posterior",
]
