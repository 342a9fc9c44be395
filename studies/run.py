"""The loop of every study: cells to processes or machines, and their rows to files as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, Protocol
from zipfile import ZipFile

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from rejo.cluster import connect, hand_out
from studies.store import ENGINE_FILES, Store, engine_code

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Row = dict[str, Any]
Cell = Any  # a named tuple that begins with ``dataset``


class Plan(Protocol):
    """An experiment, which can be pickled.

    ``COLUMNS`` are the names and types of a row, first those of ``KEY``, which begins with the
    fields of a cell; those in ``OPTIONAL`` may be None. The last one, ``code``, is filled here.
    """

    KIND: ClassVar[str]
    COLUMNS: ClassVar[Mapping[str, type]]
    KEY: ClassVar[tuple[str, ...]]
    OPTIONAL: ClassVar[tuple[str, ...]]

    def cells(self) -> Iterable[Cell]:
        """Yield what can be computed alone, and in any order."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return what rows depend on besides their cell, as JSON can hold it."""
        ...

    def load(self, dataset: str, data_home: str | None) -> Any:
        """Read what the cells of a data set need; FileNotFoundError if it is not there."""
        ...

    def compute(self, cell: Cell, table: Any) -> list[Row]:
        """Return the rows of a cell; apart from times they depend on nothing else."""
        ...


class Results(NamedTuple):
    """All rows of a plan that are there after a run."""

    rows: list[Row]
    n_computed: int  # cells, by this run
    skipped: list[str]  # data sets without a table, each with the reason
    failed: list[str]  # cells, each with the reason; the next run tries them again


class Result(NamedTuple):
    """What came of one cell."""

    cell: Cell
    rows: list[Row]
    engine: str  # the code that computed it
    error: str | None = None


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    n_jobs: int = 1,
    dask: str | None = None,
    data_home: str | None = None,
    again: bool = False,
) -> Results:
    """Compute the missing cells of a plan, and keep each in a file of the folder as it is done.

    The rows do not depend on the order or the number of processes. ``dask`` is the address of a
    scheduler whose workers have the same rejo; tables and this package are sent to them. Rows of
    other code are refused, or, with ``again``, computed again.
    """
    store = Store(folder, plan, again)
    tables, skipped = _tables(plan, data_home)
    cells = [cell for cell in plan.cells() if cell.dataset in tables]
    missing = [cell for cell in cells if store.read(cell) is None]
    how = _in_processes(plan, missing, tables, n_jobs)
    if dask is not None:
        how = _on_cluster(plan, missing, tables, dask)
    failed = []
    # Closing a generator ends what it has started, also after Ctrl-C.
    with closing(how) as results:
        for i, result in enumerate(results):
            error = result.error
            if error is None and result.engine != engine_code():
                error = f"a worker has another rejo ({result.engine}; here {engine_code()})"
            if error is None:
                try:
                    store.write(result.cell, result.rows)
                except ValueError as wrong:
                    error = str(wrong)
            if error is not None:
                failed.append(f"{result.cell}: {error}")
            _tell(i + 1, len(missing))
    rows = [row for cell in cells for row in store.read(cell) or ()]
    return Results(rows, len(missing) - len(failed), skipped, failed)


def seed_of(*key: Any) -> int:
    """Return a seed that depends only on the key, the same on every machine."""
    text = "|".join(map(repr, key))
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1


def known(parameter: str, values: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the values in the order of the names that there are."""
    wanted, names = list(values), list(names)
    for value in wanted:
        if value not in names:
            raise ValueError(f"{parameter}: {value!r} is not one of {', '.join(names)}.")
    return tuple(name for name in names if name in wanted)


def attempt(plan: Plan, cell: Cell, table: Any) -> Result:
    """Compute a cell; an error is a result, so that one cell does not end a study of days."""
    try:
        return Result(cell, plan.compute(cell, table), engine_code())
    except Exception as error:
        return Result(cell, [], engine_code(), f"{type(error).__name__}: {error}")


def _tables(plan: Plan, data_home: str | None) -> tuple[dict[str, Any], list[str]]:
    tables, skipped = {}, []
    for dataset in dict.fromkeys(cell.dataset for cell in plan.cells()):
        try:
            tables[dataset] = plan.load(dataset, data_home)
        except FileNotFoundError as error:
            skipped.append(f"{dataset}: {error}")
    return tables, skipped


Tables = Mapping[str, Any]
Stream = Generator[Result, None, None]


def _in_processes(plan: Plan, cells: Sequence[Cell], tables: Tables, n_jobs: int) -> Stream:
    if n_jobs == 1:
        yield from (attempt(plan, cell, tables[cell.dataset]) for cell in cells)
        return
    left = dict.fromkeys(cells)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        while left:
            n_before = len(left)
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
            tasks = [delayed(attempt)(plan, cell, tables[cell.dataset]) for cell in left]
            try:
                for result in parallel(tasks):
                    del left[result.cell]
                    yield result
            except BrokenProcessPool:  # a process was killed, which ends them all
                if len(left) == n_before:  # it would happen again
                    raise


Job = tuple[Plan, Cell, Any]


def _on_cluster(plan: Plan, cells: Sequence[Cell], tables: Tables, address: str) -> Stream:
    jobs: Iterator[Job] = ((plan, cell, tables[cell.dataset]) for cell in cells)

    def forget() -> None:  # what an earlier run has sent to the same workers
        for name in [name for name in sys.modules if name.partition(".")[0] == "studies"]:
            del sys.modules[name]

    with connect(address) as client, TemporaryDirectory() as folder:
        client.run(forget)
        client.upload_file(_packed(Path(folder, "studies.zip")))
        handed = hand_out(client, _attempt_job, jobs, name=lambda job: str(job[1]), failed=_failure)
        with closing(handed) as results:
            yield from (result for _, result in results)


def _packed(path: Path) -> str:
    """Write this package as an archive that Python can import."""
    package = Path(__file__).parent
    with ZipFile(path, "w") as archive:
        for file in sorted(path for kind in ENGINE_FILES for path in package.glob(kind)):
            archive.write(file, f"studies/{file.name}")
    return str(path)


def _attempt_job(job: Job) -> Result:
    return attempt(*job)


def _failure(job: Job, error: Exception) -> Result:
    return Result(job[1], [], "", f"on the cluster: {error}")


def _tell(n_done: int, n_cells: int) -> None:
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if n_done == n_cells else ""
        print(f"\r{n_done} of {n_cells} cells", end=end, file=sys.stderr, flush=True)
