"""The driver: distributes cells to processes or machines, and writes their rows as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config

from rejo._errors import renamed
from rejo._io import progress
from rejo.cluster import connect, hand_out
from rejo.study._cells import Cell, Study
from rejo.study._data import StudyTable, load
from rejo.study._methods import compute
from rejo.study._store import open_store


class Result(NamedTuple):
    """What came of a cell."""

    cell: Cell
    rows: list[dict[str, Any]]
    error: str | None = None


@renamed(jobs="n_jobs", progress="verbose")
def run(
    study: Study,
    database: str | os.PathLike[str],
    n_jobs: int = 1,
    dask: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> int:
    """Compute the missing cells of a study, and write each to a file as it is done.

    A study that was stopped or killed continues where it left off.  The results do not depend on
    the order, the number of processes or the machine.  Data sets whose table is not in the data
    folder are skipped, with a message on stderr.

    Parameters
    ----------
    study : Study
    database : str or path
        SQLite file, created if it does not exist.  The file of a study with other parameters is
        refused; only ``repetitions`` may be larger than before.  Cells whose rows were changed by
        other means are computed again.
    n_jobs : int, default=1
        Number of processes; -1 means all cores.
    dask : str, default=None
        Address of a Dask scheduler, such as "tcp://10.0.0.1:8786", whose workers compute the
        cells.  Needs ``rejo[dask]`` here and rejo on the workers; the tables are sent to them.
    data_home : str or path, default=None
        The data folder of the real tables.  ``None``: the environment variable ``REJO_DATA``.
    verbose : bool, default=None
        Show the progress and the time left on stderr.  ``None``: only on a terminal.

    Returns
    -------
    n_cells : int
        Number of cells computed in this call.

    Raises
    ------
    RuntimeError
        At the end, if cells failed.  The others are in the file; the next call tries again.
    StudyFileError
        If the file cannot be read, written or trusted.  The message says what to do.
    ClusterError
        If the cluster cannot be used, or goes away; what it has computed is in the file.
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be a number of processes, or -1 for all cores.")
    tables = _tables(study, data_home)
    with open_store(database, study) as store:
        if n_damaged := store.remove_damaged():
            note = f"computing {n_damaged} damaged cells again"
            print(f"study: {os.fspath(database)}: {note}", file=sys.stderr)
        done = store.done()
        cells = [c for c in study.cells() if c.dataset in tables and c not in done]
        if dask is not None:
            computed = _on_cluster(study, cells, tables, dask)
        else:
            computed = _in_processes(study, cells, tables, n_jobs)
        errors: list[Result] = []
        # Closing a generator ends what it has started, also after Ctrl-C.
        with closing(computed) as results:
            for result in progress(results, len(cells), "study", show=verbose):
                if result.error is None:
                    store.add(result.rows)
                else:
                    errors.append(result)
    if errors:
        raise RuntimeError(
            f"{len(errors)} of {len(cells)} cells failed; the others are in "
            f"{os.fspath(database)!r}. The first: {errors[0].cell}: {errors[0].error}"
        )
    return len(cells)


def attempt(study: Study, cell: Cell, table: StudyTable | None) -> Result:
    """Compute a cell; an error is a result, so that one cell does not end a study of days."""
    try:
        return Result(cell, compute(study, cell, table))
    except Exception as error:
        return Result(cell, [], f"{type(error).__name__}: {error}")


Tables = dict[str, StudyTable | None]
Results = Generator[Result, None, None]


def _tables(study: Study, data_home: Any) -> Tables:
    """Return the table of each data set that is available."""
    tables: Tables = {}
    for dataset in study.datasets:
        try:
            tables[dataset] = load(dataset, data_home)
        except FileNotFoundError as error:
            print(f"study: skipped {error}", file=sys.stderr)
    return tables


def _in_processes(study: Study, cells: list[Cell], tables: Tables, n_jobs: int) -> Results:
    if n_jobs == 1:
        yield from (attempt(study, cell, tables[cell.dataset]) for cell in cells)
        return
    left = dict.fromkeys(cells)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        while left:
            n_before = len(left)
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
            tasks = [delayed(attempt)(study, cell, tables[cell.dataset]) for cell in left]
            try:
                for result in parallel(tasks):
                    del left[result.cell]
                    yield result
            except BrokenProcessPool:  # a process was killed, which ends them all
                if len(left) == n_before:  # it would happen again
                    raise


Job = tuple[Study, Cell, StudyTable | None]


def _on_cluster(study: Study, cells: list[Cell], tables: Tables, address: str) -> Results:
    jobs: Iterator[Job] = ((study, cell, tables[cell.dataset]) for cell in cells)
    with (
        connect(address) as client,
        closing(hand_out(client, _attempt_job, jobs, name=_name, failed=_failure)) as results,
    ):
        yield from (result for _, result in results)


def _attempt_job(job: Job) -> Result:
    return attempt(*job)


def _name(job: Job) -> str:
    return str(job[1])


def _failure(job: Job, error: Exception) -> Result:
    return Result(job[1], [], f"on the cluster: {error}")
