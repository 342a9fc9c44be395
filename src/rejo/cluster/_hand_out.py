"""Items for whichever worker is free; workers may die."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from reprlib import repr as short
from typing import Any, Generic, TypeVar

from rejo.cluster._connect import TIMEOUT, ClusterError, answer, check_scheduler, import_distributed
from rejo.cluster._lost import Look, lost
from rejo.cluster._watch import OFTEN, bounded, hushed, watched

AHEAD = 3  # items submitted for each thread: one is computed, the others wait

T = TypeVar("T")
R = TypeVar("R")


def hand_out(
    client: Any,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    ahead: int | None = None,
    name: Callable[[T], str] = short,
    failed: Callable[[T, Exception], R] | None = None,
) -> Generator[tuple[T, R], None, None]:
    """Yield ``(item, function(item))`` as workers complete them, in any order.

    An item whose worker dies is computed again by another one.  Closing the generator, or
    Ctrl-C, cancels what has been submitted and not begun.

    Parameters
    ----------
    client : distributed.Client
        From :func:`connect`.
    function : callable
        Called as ``function(item)``, perhaps more than once.
    items : iterable
        Taken one by one as workers become free.
    ahead : int, default=3
        Items submitted for each thread of the workers; more would burden the scheduler.
    name : callable, default=reprlib.repr
        Gives the name of an item in errors.
    failed : callable, default=None
        ``failed(item, error)`` gives a result in the place of that of an item that raised, or
        that workers die on.  By default the error is raised.

    Raises
    ------
    WorkerLost
        If workers die on an item again and again.
    ClusterError
        If the scheduler goes away, or no worker is left.
    Exception
        What the function raises, with its traceback.
    """
    with hushed():
        tasks = Tasks(client, function, name)
        waiting = iter(items)
        try:
            while True:
                free = tasks.look.threads * (ahead or AHEAD) - len(tasks.running)
                for item in islice(waiting, max(0, free)):
                    tasks.submit(item)
                if not tasks.running:
                    if not tasks.suspects:
                        return
                    tasks.submit(tasks.suspects.pop(0))
                    tasks.alone = True
                for item, value, error in tasks.ended():
                    if error is None:
                        yield item, value
                    elif failed is not None:
                        yield item, failed(item, error)
                    else:
                        raise error
        finally:
            tasks.drop(list(tasks.running))


class Tasks(Generic[T, R]):
    """Items that have been submitted, and what becomes of them.

    Dask computes an item again if its worker dies, and gives up after a few times.  It blames all
    items that the worker had received.  Therefore each of these is tried alone at the end: one that
    loses its workers again is the one that workers die on.
    """

    def __init__(self, client: Any, function: Callable[[T], R], name: Callable[[T], str]) -> None:
        self.client, self.function, self.name = client, function, name
        self.look = Look(client)
        self.running: dict[Any, T] = {}  # by future
        self.suspects: list[T] = []
        self.alone = False  # from now on, only one of these at a time

    def submit(self, item: T) -> None:
        """Send an item to the cluster."""
        self.running[self.client.submit(self.function, item, pure=False)] = item

    def drop(self, futures: list[Any]) -> list[T]:
        """Forget items, which are returned; workers end what they have begun."""
        items = [self.running.pop(future) for future in futures]
        if futures and self.client.status == "running":
            with suppress(Exception):
                bounded(TIMEOUT, self.client.cancel, futures, force=True)
        return items

    def ended(self) -> Generator[tuple[T, Any, Exception | None], None, None]:
        """Wait a while for items to end; yield them with their results, or what they raised."""
        from distributed import wait

        with suppress(TimeoutError, CancelledError), self.client.as_current():
            wait(list(self.running), timeout=OFTEN, return_when="FIRST_COMPLETED")
        done = [future for future in self.running if future.status != "pending"]
        if not done:
            self.look()
            self._move()
        for future in done:
            item = self.running.pop(future)
            value, error = self._result(item, future)
            future.release()  # or a traceback that holds it would keep its result on the cluster
            if isinstance(error, import_distributed().scheduler.KilledWorker):
                if not self.alone:
                    self.suspects.append(item)
                    continue
                where, last = self.name(item), error.args[1]
                error = lost(self.client, "workers die on it", [last], where=where)
            yield item, value, error

    def _move(self) -> None:
        """Send items again that a paused worker has not begun: Dask leaves them there."""
        if not self.look.paused:
            return
        there = answer(self.client, self.client.processing)
        keys = {key for worker in self.look.paused for key in there.get(worker.address, ())}
        for item in self.drop([future for future in self.running if future.key in keys]):
            self.submit(item)

    def _result(self, item: T, future: Any) -> tuple[Any, Exception | None]:
        try:
            return watched(self.look, future.result), None
        except CancelledError:  # by the scheduler, or with it
            check_scheduler(self.client)
            return None, ClusterError("it was cancelled", where=self.name(item))
        except ClusterError:
            if future.status == "error":  # the function's own
                return None, future.exception()
            raise
        except Exception as error:
            return None, error
