"""joblib's loops on a Dask cluster, by joblib's own backend, which may wait for ever or lose data.

What differs: a task that workers die on ends the loop with an error, as do workers that are all
gone or paused; data that were with a worker that dies are sent again.
"""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from joblib import parallel_config
from joblib._dask import DaskDistributedBackend
from joblib.parallel import SequentialBackend

from rejo.cluster._connect import scheduler_lost
from rejo.cluster._lost import Look, lost
from rejo.cluster._watch import OFTEN, same


@contextmanager
def loops_on(client: Any) -> Iterator[None]:
    """Run joblib's loops on the cluster of a client."""
    backend = _Backend(client)
    Thread(target=backend.watch, name="rejo-joblib", daemon=True).start()
    try:
        with parallel_config(backend=backend):
            yield
    finally:
        backend.ended.set()


class _Backend(DaskDistributedBackend):
    def __init__(self, client: Any) -> None:
        super().__init__(client=_Lasting(client))
        self.ended = Event()
        self._pending: set[Any] = set()  # tasks that joblib waits for

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        # With one job, joblib would work here.
        return 1 if n_jobs == 1 else max(2, super().effective_n_jobs(n_jobs))

    def get_nested_backend(self) -> tuple[Any, None]:
        return SequentialBackend(nesting_level=1), None

    def submit(self, func: Any, callback: Any = None) -> Any:
        def end(task: Any) -> None:
            self._pending.discard(task)
            if task.exception() is not None:  # of which joblib does not tell itself
                callback(task.exception())

        task = super().submit(func, callback)
        self._pending.add(task)
        task.add_done_callback(end)
        return task

    apply_async = submit  # its name before joblib 1.5

    def retrieve_result_callback(self, out: Any) -> Any:
        from distributed.scheduler import KilledWorker

        try:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)
        except KilledWorker as error:
            gone = [error.last_worker]
            raise lost(self.client, "workers die on it", gone, where="a task") from None
        except CancelledError as error:
            raise scheduler_lost(self.client) from error

    def watch(self) -> None:
        """End all tasks if workers have gone or begin nothing, which joblib would wait for."""
        look = Look(self.client)
        while not self.ended.wait(OFTEN):
            try:
                look()
            except Exception as error:
                for task in list(self._pending):
                    with suppress(Exception):  # it has ended
                        task.set_exception(error)
                return


class _Lasting:
    """A client whose data are the results of tasks: if a worker dies, Dask makes them again."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def scatter(self, data: Any, **_: Any) -> Any:
        return self._client.submit(same, data, pure=False)
