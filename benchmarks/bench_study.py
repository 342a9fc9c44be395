"""A repetition of the paper's SyntheticI: ``python -m benchmarks.bench_study``.

The rejoSVM of SyntheticI: 3 training shares x 12 reject costs, each tuned on 15 points of a grid
(``C`` x ``gamma``, ``h = 1``) by 5 folds.  *Ours* is the cell of ``rejo.study``, draw, final fits
and 5,000 test points included.  The *rival* is the same protocol as one would write it with
scikit-learn: for each cost a ``GridSearchCV`` over an ``SVC`` on the explicitly replicated data
(``rejo.replication.replicate``), with the partially linear kernel precomputed in each fit.  It runs
whole, all costs of all shares; nothing is extrapolated.  Both have one thread.

Then the time of the whole paper on two cores, 100 repetitions of all data sets and methods: from
one cell of each kind, or from the rows of a study that was run (``--database``).
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections import defaultdict
from time import process_time
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.tables import Report, Target, number, times
from benchmarks.timing import one_thread
from rejo.datasets import available
from rejo.replication import decode, extension_vectors, replica_costs, replicate
from rejo.study import Study, read_rows, run_cell
from rejo.study._cells import GRIDS
from rejo.study._data import Task, make_task
from rejo.study._kernel_methods import rejo_svm
from rejo.study._tuning import count
from rejo.study.paper import DATA, SHARES

LEAST = 20.0
CORES, REPETITIONS = 2, 100
GRID = GRIDS["authors"]._replace(hs=(1.0,))


class ReplicatedSVC(ClassifierMixin, BaseEstimator):
    """scikit-learn's SVC on the replicated points of two classes."""

    def __init__(self, C: float = 1.0, gamma: float = 1.0, reject_cost: float = 0.2) -> None:
        self.C = C
        self.gamma = gamma
        self.reject_cost = reject_cost

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        self.X_, label, weight = replicate(X, y, replica_costs(2, self.reject_cost))
        self.machine_ = SVC(C=self.C, kernel="precomputed")
        self.machine_.fit(self._gram(self.X_), label, sample_weight=weight)
        return self

    def predict(self, X: Any) -> Any:
        marks = extension_vectors(2)
        points = [np.hstack([X, np.tile(mark, (len(X), 1))]) for mark in marks]
        scores = [self.machine_.decision_function(self._gram(p)) for p in points]
        return decode((np.array(scores) > 0).sum(axis=0))

    def score(self, X: Any, y: Any) -> float:
        found = self.predict(X)
        losses = np.where(found < 0, self.reject_cost, found != y)
        return float(1 - losses.mean())

    def _gram(self, points: Any) -> Any:
        """Radial in the features, linear in the mark of the replica."""
        p = points.shape[1] - 1
        K = rbf_kernel(points[:, :p], self.X_[:, :p], gamma=self.gamma)
        return K + points[:, p:] @ self.X_[:, p:].T


def rival(task: Task, costs: Any) -> list[tuple[float, float]]:
    """R and E on the test part, for each cost."""
    grid = {"C": GRID.Cs, "gamma": GRID.gammas}
    found = []
    for w in costs:
        search = GridSearchCV(ReplicatedSVC(reject_cost=w), grid, cv=task.folds)
        index = search.fit(task.X, task.k).predict(task.X_test)
        found.append((np.mean(index < 0), np.mean((index >= 0) & (index != task.k_test))))
    return found


def compare(report: Report) -> None:
    report.header("case", "fits", "ours s", "scikit-learn s", "ratio", "risk, ours / theirs")
    study = Study(["syntheticI"], methods=["rejoSVM/rbf"], repetitions=1)
    total = {"ours": 0.0, "rival": 0.0}
    w = np.array(study.reject_costs)
    for cell in study.cells():
        start = process_time()
        task = make_task(cell, None, GRID.n_folds, study.seed)
        tried = rejo_svm(task, study.reject_costs, GRID, "rbf")
        counts = [count(one.outputs, task.k_test) for one in tried]
        mine = [(found.rejection_rate, found.error_rate) for found in counts]
        middle = process_time()
        theirs = rival(task, study.reject_costs)
        end = process_time()
        ours, other = middle - start, end - middle
        total["ours"] += ours
        total["rival"] += other
        risks = [np.mean(w * R + E) for R, E in (np.array(mine).T, np.array(theirs).T)]
        n_fits = len(w) * len(GRID.Cs) * len(GRID.gammas) * GRID.n_folds
        report.row(
            f"SyntheticI, {cell.share:.0%}, {len(task.k)} points", f"{n_fits}", number(ours),
            number(other), times(other / ours), f"{risks[0]:.4f} / {risks[1]:.4f}",
        )  # fmt: skip
    ratio = total["rival"] / total["ours"]
    report.row(
        "all shares", f"{len(SHARES) * n_fits}", number(total["ours"]), number(total["rival"]),
        times(ratio), "",
    )  # fmt: skip
    report.judge(Target("A repetition of SyntheticI, rejoSVM", LEAST, [ratio], unit="x"))


def measure(data_home: str | None) -> list[dict[str, Any]]:
    """Rows of one repetition of everything whose data are there."""
    there = available(data_home)
    datasets = [d for d in Study().datasets if DATA[d].catalogue in (None, *there)]
    study = Study(datasets, repetitions=1)
    return [row for cell in study.cells() for row in run_cell(study, cell, data_home)]


def whole_paper(report: Report, rows: list[dict[str, Any]]) -> None:
    cells: dict[Any, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        cell = tuple(row[name] for name in ("dataset", "split", "share", "method"))
        cells[cell][row["repetition"]] += row["seconds"]
    seconds = {cell: float(np.mean(list(each.values()))) for cell, each in cells.items()}
    methods = list(dict.fromkeys(cell[3] for cell in seconds))
    places = list(dict.fromkeys(cell[:2] for cell in seconds))
    report.header("seconds for a repetition, all shares", *(f"{d} {s}"[:17] for d, s in places))
    for method in methods:
        sums = [
            sum(s for cell, s in seconds.items() if cell[3] == method and cell[:2] == place)
            for place in places
        ]
        report.row(method, *(number(s) if s else "" for s in sums))
    total = sum(seconds.values())
    hours = REPETITIONS * total / CORES / 3600
    paper = len(list(Study(repetitions=1).cells()))
    print(
        f"\nA repetition of {len(seconds)} of the paper's {paper} kinds of cells: {total:.0f} s on "
        f"one core. {REPETITIONS} repetitions of these on {CORES} cores: {hours:.1f} h."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_study", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the time of the whole paper")
    parser.add_argument("--database", help="file of a study, whose times are taken")
    parser.add_argument("--data-home", help="data folder, else that of REJO_DATA")
    options = parser.parse_args()
    print(
        f"# The paper's study\n\n{os.cpu_count()} cores, one thread; "
        f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    )
    report = Report()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with one_thread():
        report.section("1. rejoSVM on SyntheticI", "One repetition: 3 shares x 12 reject costs.")
        compare(report)
        if options.database or not options.quick:
            report.section("2. The whole paper", "Times on the wall, of one process.")
            whole_paper(
                report,
                read_rows(options.database) if options.database else measure(options.data_home),
            )
    report.summary()


if __name__ == "__main__":
    main()
