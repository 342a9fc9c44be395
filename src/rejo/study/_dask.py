"""The cells of a study on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from itertools import islice
from typing import Any

AHEAD = 3  # cells submitted for each thread of the cluster: one is computed, the others wait


def on_cluster(address: str) -> Callable[..., Generator[Any, None, None]]:
    """Return a function that computes cells on the workers of a scheduler."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError(
            f'dask={address!r} needs dask.distributed: pip install "rejo[dask]"'
        ) from None
    from rejo.study._run import Result, attempt

    def hand_out(study: Any, cells: Any, tables: Any) -> Generator[Any, None, None]:
        with distributed.Client(address, set_as_default=False) as client:
            waiting = iter(cells)
            cell_of: dict[str, Any] = {}

            def submit(cell: Any) -> Any:
                future = client.submit(attempt, study, cell, tables[cell.dataset], pure=False)
                cell_of[future.key] = cell
                return future

            # Not all at once: a scheduler slows down under a million tasks.
            n_ahead = AHEAD * max(1, sum(client.nthreads().values()))
            first = [submit(cell) for cell in islice(waiting, n_ahead)]
            futures = distributed.as_completed(first, loop=client.loop)
            for future in futures:
                for cell in islice(waiting, 1):
                    futures.add(submit(cell))
                cell = cell_of.pop(future.key)
                if future.status == "finished":
                    yield future.result()
                else:
                    reason = future.exception() if future.status == "error" else future.status
                    yield Result(cell, [], f"on the cluster: {reason}")
                future.release()

    return hand_out
