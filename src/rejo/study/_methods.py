"""A cell: one method, tuned on the training part and tried on the test part, for all costs."""

from __future__ import annotations

import json
import os
import warnings
from time import perf_counter
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rejo._docs import cited
from rejo.study._cells import GRIDS, Cell, Study, seed_of
from rejo.study._code import signed
from rejo.study._data import StudyTable, load, make_task
from rejo.study._kernel_methods import KERNEL_METHODS
from rejo.study._network_methods import NETWORKS
from rejo.study._tuning import row_of


@cited
def run_cell(
    study: Study, cell: Cell, data_home: str | os.PathLike[str] | None = None
) -> list[dict[str, Any]]:
    """Compute a cell: a row for each reject cost.

    Apart from ``seconds``, the rows depend only on the study's parameters and the cell.

    Parameters
    ----------
    study : Study
        The study.
    cell : Cell
        One of ``study.cells()``.
    data_home : str or path, default=None
        The data folder of the real tables.  ``None``: the environment variable ``REJO_DATA``.

    Returns
    -------
    rows : list of dict
        With the keys ``dataset``, ``split``, ``share``, ``repetition``, ``method``,
        ``reject_cost``; ``R`` and ``E``, the rejection rate and the error rate on the test part;
        ``risk``, which is ``reject_cost * R + E``; ``ordinal_risk``, the mean of a loss that
        grows with the distance between the classes; ``crossing_rate``, the share of points where
        boundaries cross, or None; ``n_train``, ``n_test``, ``seconds``, ``params`` (JSON) and
        ``code``, the version of rejo.

    See Also
    --------
    run : Compute all cells.
    Study : The cells.

    References
    ----------
    %sousa2013

    Examples
    --------
    >>> from rejo.study import Study, run_cell
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.1, 0.4], grid="coarse")
    >>> cheap, dear = run_cell(study, next(study.cells()))
    >>> cheap["R"] > dear["R"]  # cheap rejections: more of them
    True
    """
    return signed(compute(study, cell, load(cell.dataset, data_home)))


def compute(study: Study, cell: Cell, table: StudyTable | None) -> list[dict[str, Any]]:
    """Compute a cell, given the table of its data set."""
    start = perf_counter()
    grid, costs = GRIDS[study.grid], study.reject_costs
    name, _, kernel = cell.method.partition("/")
    # More threads do not help with such small matrices, and would sum in another order.
    with threadpool_limits(1), warnings.catch_warnings():
        # Points of a grid that do not converge lose by their risk.
        warnings.simplefilter("ignore", ConvergenceWarning)
        task = make_task(cell, table, grid.n_folds, study.seed)
        if kernel:
            tried = KERNEL_METHODS[name](task, costs, grid, kernel)
        else:
            tried = NETWORKS[name](task, costs, grid, seed_of(study.seed, *cell))
    seconds = (perf_counter() - start) / len(costs)
    return [
        {
            **cell._asdict(),
            "reject_cost": w,
            **row_of(result, task.k_test, task.n_classes, w),
            "n_train": len(task.k),
            "n_test": len(task.k_test),
            "seconds": seconds,
            "params": json.dumps(result.params),
        }
        for w, result in zip(costs, tried, strict=True)
    ]
