"""What ``rejo train`` chooses by itself, for ``bench_quality``."""

from __future__ import annotations

import numpy as np

from benchmarks.quality import ByPosteriors, Cell
from rejo.selection import choose_model
from rejo.tables import TableEncoder


def auto(cell: Cell) -> ByPosteriors:
    """Choose and fit once: neither the choice nor its posteriors depend on prices."""
    choice = choose_model(TableEncoder(), cell.X, cell.y, groups=cell.groups, ordered=cell.ordered)
    p = np.zeros((len(cell.X_test), cell.n_classes))
    p[:, cell.present] = choice.estimator.fit(cell.X, cell.y).predict_proba(cell.X_test)
    return ByPosteriors(p)
