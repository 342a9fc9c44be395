"""A benchmark on real tables: all methods of the catalogue, reject costs, budgets, ranks.

A :class:`TableSuite` is a product: tables x random splits x methods x reject costs.  A *cell* is a
family of methods on one split of a table.  ``rejo.study.run`` computes the cells, in processes or
on a Dask cluster, and a run that was stopped goes on.

In reading order: ``roster`` (the tables), ``table_splits`` (a split, its folds, encoded columns),
``sharing`` (fits that several methods need), ``trials`` (one cell), ``table_suite`` (all of them),
``ranks`` (statistics over many tables), ``standings`` (what the rows say), ``diagrams`` (pictures)
and ``suite_page`` (one page with all of it).
"""

from rejo.study.suite.roster import BUNDLED, TABLES, SuiteTable, TableEntry
from rejo.study.suite.table_suite import REJECT_COSTS, SUITE_METHODS, SuiteCell, TableSuite

__all__ = [
    "BUNDLED",
    "REJECT_COSTS",
    "SUITE_METHODS",
    "TABLES",
    "SuiteCell",
    "SuiteTable",
    "TableEntry",
    "TableSuite",
]
