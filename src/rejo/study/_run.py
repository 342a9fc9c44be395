"""The driver: distributes cells to processes or machines, and writes their rows as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config

from rejo._docs import cited
from rejo._io import progress
from rejo.cluster import connect, hand_out
from rejo.study._code import current_code, digest_of, signed
from rejo.study._plan import Cell, StudyPlan
from rejo.study._store import Store, StudyFileError, open_store

OTHER_CODE = ("refuse", "keep", "replace")


class Result(NamedTuple):
    """What came of a cell."""

    cell: Cell
    rows: list[dict[str, Any]]
    error: str | None = None


@cited
def run(
    study: StudyPlan,
    database: str | os.PathLike[str],
    n_jobs: int = 1,
    dask: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
    other_code: str = "refuse",
) -> int:
    """Compute the missing cells of a study, and write each to a file as it is done.

    A study that was stopped or killed continues where it left off.  The results do not depend on
    the order or the number of processes; between machines they may differ by rounding.  Data sets
    whose table is not in the data folder are skipped, with a message on stderr.

    Parameters
    ----------
    study : Study
        The cells to compute.
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
    other_code : {"refuse", "keep", "replace"}, default="refuse"
        What to do with cells in the file that other code than this has computed, an older version
        of rejo for example: raise an error, keep them beside the new ones, or compute them again.
        Each row says which code it comes from.

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

    See Also
    --------
    read_rows : Read the rows, even while it runs.
    run_cell : Compute one cell, without a file.
    archive : Pack the rows into a file to share.

    References
    ----------
    %sousa2013

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import Study, read_rows, run
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.2], grid="coarse")
    >>> with TemporaryDirectory() as folder:
    ...     database = f"{folder}/study.db"
    ...     print(run(study, database), "cell, then", run(study, database))  # nothing twice
    ...     rows = read_rows(database)
    1 cell, then 0
    >>> rows[0]["dataset"], rows[0]["reject_cost"]
    ('syntheticI', 0.2)
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be a number of processes, or -1 for all cores.")
    if other_code not in OTHER_CODE:
        raise ValueError(f"other_code={other_code!r} must be one of {', '.join(OTHER_CODE)}.")
    tables = _tables(study, data_home)
    with open_store(database, study) as store:
        if n_damaged := store.remove_damaged():
            note = f"computing {n_damaged} damaged cells again"
            print(f"study: {os.fspath(database)}: {note}", file=sys.stderr)
        _settle_code(store, other_code, os.fspath(database))
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
                result = _checked(result, other_code)
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


def attempt(study: StudyPlan, cell: Cell, table: Any) -> Result:
    """Compute a cell; an error is a result, so that one cell does not end a study of days."""
    try:
        return Result(cell, signed(study.compute(cell, table)))
    except Exception as error:
        return Result(cell, [], f"{type(error).__name__}: {error}")


Tables = dict[str, Any]
Results = Generator[Result, None, None]


def _settle_code(store: Store, other_code: str, file: str) -> None:
    """Refuse or remove the cells that other code has computed, or leave them there."""
    store.mixed = other_code == "keep"
    others = store.by_other_code(current_code())
    if not others or store.mixed:
        return
    if other_code == "replace":
        store.remove_other_code(current_code())
        return
    found = "; ".join(f"{n} by {code}" for code, n in others.items())
    raise StudyFileError(
        f"holds cells computed by other code ({found}; this is {current_code()})",
        parameter="other_code",
        where=file,
        remedy="Choose another name, or give other_code=replace to compute them again or "
        "other_code=keep to mix them.",
    )


def _checked(result: Result, other_code: str) -> Result:
    """Return the result, as an error if a worker has computed it with other code than this."""
    codes = {row.get("code", "an older version of rejo") for row in result.rows}
    strange = [code for code in codes if digest_of(code) != digest_of(current_code())]
    if not strange or other_code == "keep":
        return result
    error = f"a worker has other code ({strange[0]}; here {current_code()}): install the same there"
    return Result(result.cell, [], error)


def _tables(study: StudyPlan, data_home: Any) -> Tables:
    """Return the table of each data set that is available."""
    tables: Tables = {}
    for dataset in study.datasets:
        try:
            tables[dataset] = study.load(dataset, data_home)
        except FileNotFoundError as error:
            print(f"study: skipped {error}", file=sys.stderr)
    return tables


def _in_processes(study: StudyPlan, cells: list[Cell], tables: Tables, n_jobs: int) -> Results:
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


Job = tuple[StudyPlan, Cell, Any]


def _on_cluster(study: StudyPlan, cells: list[Cell], tables: Tables, address: str) -> Results:
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
