"""Data to try a reject option on: problems with known posteriors, and real tables.

``make_synthetic_1`` to ``make_synthetic_4`` draw the four synthetic problems of the paper. Their
``posterior`` is known, and so are the best rates that any classifier can reach: ``bayes_risk`` and
``bayes_rates``. ``load_breast_cancer_binary`` and
``load_diabetes_ordinal`` need no file and no network. ``load_table`` loads your own CSV or Parquet
file.
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
