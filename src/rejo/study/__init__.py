"""The experiments of the paper as software: data sets, splits and methods in, rows out.

A :class:`Study` is a product: data sets x ways to split them x training shares x repetitions x
methods x reject costs.  A *cell* is all of it but the costs: one method is tuned by
cross-validation on one training part, for every cost, and tried on the test part.  The seed of a
cell depends only on its name, so :func:`run_cell` gives the same rows anywhere and in any order.
:func:`run` computes all cells in several processes or on a Dask cluster, and keeps their rows in a
file; a study that was stopped continues from there.

In reading order: ``_cells`` (what there is to do), ``_data`` (draws, splits, folds), ``_tuning``
(from folds to parameters, from decisions to numbers), ``_posterior_rules`` (decisions from
posteriors), the methods (``_kernel_methods``, ``_network_methods``), ``_methods`` (one cell),
``_store`` and ``_archive`` (the files) and ``_run``.
"""

from rejo.study._archive import archive, read_archive
from rejo.study._cells import METHODS, Cell, Study
from rejo.study._methods import run_cell
from rejo.study._run import run
from rejo.study._store import StudyFileError, read_rows, read_study

__all__ = [
    "METHODS",
    "Cell",
    "Study",
    "StudyFileError",
    "archive",
    "read_archive",
    "read_rows",
    "read_study",
    "run",
    "run_cell",
]
