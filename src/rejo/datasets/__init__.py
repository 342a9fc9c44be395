"""Data to try a reject option on: problems with a known truth, and real tables.

Where the posterior is known, so is the best that any classifier can do. The four synthetic problems
of the paper come as ``make_synthetic_1`` to ``make_synthetic_4``, with their ``posterior`` and with
``bayes_risk`` and ``bayes_rates``, the mark to measure a classifier against. For a first look at
real data, ``load_breast_cancer_binary`` and ``load_diabetes_ordinal`` need no file and no network.
``load_table`` reads a CSV file of your own; ``fetch`` gets the public tables of ``CATALOGUE``, from
a data folder if they are there (``available``), else from OpenML.

No table is part of this package. The data folder is that of the environment variable ``REJO_DATA``,
or a ``data_home`` argument.
"""

from rejo.datasets._bayes import BayesRates, bayes_rates, bayes_risk, posterior
from rejo.datasets._bundled import load_breast_cancer_binary, load_diabetes_ordinal
from rejo.datasets._entries import CATALOGUE, Dataset
from rejo.datasets._fetch import available, fetch
from rejo.datasets._load import load_table
from rejo.datasets.synthetic import (
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    make_synthetic_4,
)

__all__ = [
    "CATALOGUE",
    "BayesRates",
    "Dataset",
    "available",
    "bayes_rates",
    "bayes_risk",
    "fetch",
    "load_breast_cancer_binary",
    "load_diabetes_ordinal",
    "load_table",
    "make_synthetic_1",
    "make_synthetic_2",
    "make_synthetic_3",
    "make_synthetic_4",
    "posterior",
]
