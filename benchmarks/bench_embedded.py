"""The SVM with embedded reject, compiled against SciPy: ``python -m benchmarks.bench_embedded``.

The *reference* is the descent in NumPy and SciPy that runs where the extension was not built, one
fit at a time, and here without its hops.  *Ours* is the compiled one, which goes on with hops from
the lowest minimum, and fits all costs and ``C`` on one path.  Both run the study's cells of Fumera
and Roli's machine side by side, with one thread: 12 reject costs x 5 ``C`` x 5 folds with one
start, then 12 with nine.  Then the minima of both on the same problems: a fold and the whole of
each cell, under every cost and ``C``.  A missed target changes no exit code: a benchmark reports.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import product
from time import process_time
from typing import Any
from unittest import mock

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.tables import Report, Target, milliseconds, number, times
from benchmarks.timing import one_thread, race
from rejo.baselines import EmbeddedRejectSVC
from rejo.solvers import embedded
from studies.kernels import FEW_STARTS, fumera
from studies.paper import DATA, GRIDS, PaperCell, PaperStudy
from studies.tables import available
from studies.tasks import Task, load, make_task
from studies.tuning import Params, TrainTest, tune

FASTER, HIGHER, MOST_HIGHER = 10.0, 1e-4, 1.0  # times; relative; per cent of the problems
GRID = GRIDS["authors"]
DATASETS = ("syntheticI", "syntheticII", "bcct-binary")


def reference() -> AbstractContextManager[Any]:
    """As if the extension had not been built, and no hops."""
    return mock.patch.multiple(embedded, _embedded=None, FEWEST_HOPS=0, MOST_HOPS=0, HOPS=0)


def cells(data_home: str | None, quick: bool) -> Iterator[tuple[PaperCell, Task, Sequence[float]]]:
    """The study's cells of the machine, where their data are there."""
    there = available(data_home)
    names = [name for name in DATASETS if DATA[name].catalogue in (None, *there)]
    methods = dict.fromkeys(names[:1] if quick else names, ("Fumera/poly",))
    study = PaperStudy(methods, repetitions=1)
    tables = {name: load(name, data_home) for name in methods}
    for cell in study.cells():
        if cell.split == "random" and not (quick and cell.share > 0.1):
            task = make_task(cell, tables[cell.dataset], GRID.n_folds, study.seed)
            yield cell, task, study.reject_costs


def one_by_one(task: Task, costs: Sequence[float]) -> None:
    """The protocol of ``fumera`` by single fits."""

    def boundaries(part: TrainTest, costs: Sequence[float], grid: Sequence[Params]) -> Any:
        more = {} if part.fold is None else FEW_STARTS
        for (i, w), (j, params) in product(enumerate(costs), enumerate(grid)):
            model = EmbeddedRejectSVC(second_order=True, reject_cost=w, **params, **more)
            yield i, j, model.fit(part.X, part.k).boundary_scores(part.X_new) > 0

    tune(task, costs, [{"C": C} for C in GRID.Cs], boundaries)


def name_of(cell: PaperCell, task: Task) -> str:
    return f"{cell.dataset}, {cell.share:.0%}, {len(task.k)} points"


def compare_fits(report: Report, problems: list[tuple[PaperCell, Task, Sequence[float]]]) -> None:
    report.header("one fit, C = 1, reject cost 0.2", "starts", "ours ms", "reference ms", "ratio")
    for (cell, task, _), n_starts in product(problems, (1, 9)):
        tol = {"tol": FEW_STARTS["tol"]} if n_starts == 1 else {}
        model = EmbeddedRejectSVC(second_order=True, n_starts=n_starts, **tol)

        def slow(model: EmbeddedRejectSVC = model, task: Task = task) -> None:
            with reference():
                model.fit(task.X, task.k)

        fit = partial(model.fit, task.X, task.k)
        best = race({"ours": fit, "reference": slow}, seconds=0.5, least=3)
        report.row(
            name_of(cell, task), f"{n_starts}", milliseconds(best["ours"]),
            milliseconds(best["reference"]), times(best["reference"] / best["ours"]),
        )  # fmt: skip


def compare_cells(report: Report, problems: list[tuple[PaperCell, Task, Sequence[float]]]) -> None:
    report.header("a cell of the study", "ours s", "reference s", "ratio")
    total = np.zeros(2)
    for cell, task, costs in problems:
        start = process_time()
        fumera(task, costs, GRID, "poly")
        middle = process_time()
        with reference():
            one_by_one(task, costs)
        ours, other = middle - start, process_time() - middle
        total += ours, other
        report.row(name_of(cell, task), number(ours), number(other), times(other / ours))
    ratio = float(total[1] / total[0])
    report.row("all", number(total[0]), number(total[1]), times(ratio))
    report.judge(Target("Cells of the study", FASTER, [ratio], unit="x"))


def differences(task: Task, costs: Sequence[float], n_starts: int) -> list[float]:
    """``ours / reference - 1`` of the minima, for all costs and ``C``."""
    rows = task.folds[0][0] if n_starts == 1 else np.arange(len(task.k))
    X, k = task.X[rows], task.k[rows]
    model = EmbeddedRejectSVC(
        second_order=True, **(FEW_STARTS if n_starts == 1 else {"n_starts": n_starts})
    )
    found = model.fit_path(X, k, reject_costs=costs, Cs=GRID.Cs)
    with reference():
        other = model.fit_path(X, k, reject_costs=costs, Cs=GRID.Cs)
    return [a.objective_ / b.objective_ - 1.0 for a, b in zip(found, other, strict=True)]


def compare_minima(report: Report, problems: list[tuple[PaperCell, Task, Sequence[float]]]) -> None:
    columns = ("problems", "lower %", "equal %", "higher %", "mean", "highest")
    report.header(f"minima; equal: within {HIGHER:g} of J", *columns)
    for n_starts in (1, 9):
        every: list[float] = []
        for cell, task, costs in problems:
            here = differences(task, costs, n_starts)
            every += here
            minima_row(report, f"{name_of(cell, task)}, starts: {n_starts}", here)
        minima_row(report, f"all, starts: {n_starts}", every)
        higher = 100 * float(np.mean(np.array(every) > HIGHER))
        name = f"Higher minima, starts: {n_starts}"
        report.judge(Target(name, MOST_HIGHER, [higher], at_most=True, unit=" %"))
        mean = float(np.mean(every))
        report.judge(Target(f"Mean of the minima, starts: {n_starts}", 0.0, [mean], at_most=True))


def minima_row(report: Report, name: str, found: list[float]) -> None:
    d = np.array(found)
    lower, higher = (100 * float(np.mean(s * d > HIGHER)) for s in (-1, 1))
    report.row(
        name, f"{len(d)}", f"{lower:.1f}", f"{100 - lower - higher:.1f}", f"{higher:.1f}",
        f"{d.mean():.1e}", f"{d.max():.1e}",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_embedded", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="20 points of SyntheticI only")
    parser.add_argument("--data-home", help="data folder, else that of REJO_DATA")
    options = parser.parse_args()
    if embedded._embedded is None:
        parser.exit(1, "The extension was not built: there is nothing to compare.\n")
    print(
        "# The SVM with embedded reject\n\n"
        f"{os.cpu_count()} cores, one thread; Python {platform.python_version()}, "
        f"{embedded._embedded.architectures()[0]}"
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = Report()
    with one_thread():
        problems = list(cells(options.data_home, options.quick))
        report.section("1. One fit")
        compare_fits(report, problems)
        report.section("2. Cells", "One repetition; processor time, final fits and tests included.")
        compare_cells(report, problems)
        report.section("3. Minima", "`ours / reference - 1` of the same objective.")
        compare_minima(report, problems)
    report.summary()


if __name__ == "__main__":
    main()
