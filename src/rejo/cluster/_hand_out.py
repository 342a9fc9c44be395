"""Items for whichever worker is free; workers may die."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from reprlib import repr as short
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from rejo.cluster._connect import (
    TIMEOUT,
    ClusterError,
    WorkerInfo,
    answer,
    check_scheduler,
    import_distributed,
    no_workers,
    survey,
)
from rejo.cluster._lost import STUCK, lost, paused
from rejo.cluster._watch import OFTEN, bounded, hushed, watched

AHEAD = 3  # items submitted for each thread: one is computed, the others wait
PATIENCE = 60.0  # seconds in which a cluster whose workers all died must have a new one

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
        more = True
        try:
            while True:
                while more and len(tasks) < tasks.look.threads * (ahead or AHEAD):
                    try:
                        tasks.submit(next(waiting))
                    except StopIteration:
                        more = False
                ended = tasks.next()
                if ended is None:
                    return
                item, value, error = ended
                if error is None:
                    yield item, value
                elif failed is not None:
                    yield item, failed(item, error)
                else:
                    raise error
        finally:
            tasks.cancel()


Ended = tuple[T, Any, Exception | None]  # an item with its result, or with what it raised


class _Task(NamedTuple, Generic[T]):
    item: T
    alone: bool


class Tasks(Generic[T, R]):
    """Items that have been submitted, and what becomes of them.

    Dask computes an item again if its worker dies, and gives up after a few times.  It blames all
    items that the worker had received.  Therefore each of these is then tried alone, while the
    others are held back: one that loses its workers again is the one that workers die on.
    """

    def __init__(self, client: Any, function: Callable[[T], R], name: Callable[[T], str]) -> None:
        self.client, self.function, self.name = client, function, name
        self.look = Look(client)
        self._running: dict[Any, _Task[T]] = {}  # by future
        self._held: deque[T] = deque()
        self._suspects: deque[T] = deque()

    def __len__(self) -> int:
        return len(self._running) + len(self._held) + len(self._suspects)

    def submit(self, item: T) -> None:
        """Send an item to the cluster."""
        self._held.append(item)
        self._go_on()

    def next(self) -> Ended[T] | None:
        """Wait for an item to end; ``None`` if there is none."""
        from distributed import wait

        while len(self):
            with suppress(TimeoutError, CancelledError), self.client.as_current():
                wait(list(self._running), timeout=OFTEN, return_when="FIRST_COMPLETED")
            done = next((one for one in self._running if one.status != "pending"), None)
            if done is None:
                self.look()
                self._move()
                continue
            task = self._running.pop(done)
            ended = self._end(task, done)
            done.release()  # or a traceback that holds it would keep its result on the cluster
            self._go_on()
            if ended is not None:
                return ended
        return None

    def cancel(self) -> None:
        """Forget all items; workers end what they have begun."""
        futures = list(self._running)
        for left in (self._running, self._suspects, self._held):
            left.clear()
        self._drop(futures)

    def _drop(self, futures: list[Any]) -> None:
        if futures and self.client.status == "running":
            with suppress(Exception):
                bounded(TIMEOUT, self.client.cancel, futures, force=True)

    def _send(self, item: T, alone: bool = False) -> None:
        future = self.client.submit(self.function, item, pure=False)
        self._running[future] = _Task(item, alone)

    def _go_on(self) -> None:
        """Try suspects one at a time; then send what was held back."""
        if self._suspects:
            if not self._running:
                self._send(self._suspects.popleft(), alone=True)
        elif not any(task.alone for task in self._running.values()):
            while self._held:
                self._send(self._held.popleft())

    def _move(self) -> None:
        """Send items again that a paused worker has not begun: Dask leaves them there."""
        if not self.look.paused:
            return
        there = answer(self.client, self.client.processing)
        keys = {key for address in self.look.paused for key in there.get(address, ())}
        waiting = [future for future in self._running if future.key in keys]
        tasks = [self._running.pop(future) for future in waiting]
        self._drop(waiting)
        for task in tasks:
            self._send(*task)

    def _end(self, task: _Task[T], future: Any) -> Ended[T] | None:
        """Return an item that has ended; ``None`` if it is tried again."""
        item, killed = task.item, import_distributed().scheduler.KilledWorker
        try:
            return item, watched(self.look, future.result), None
        except killed as error:
            if not task.alone:
                self._suspects.append(item)
                return None
            last: Any = error.args[1]
            gone = [(last.address, last.memory_limit)]
            where = self.name(item)
            return item, None, lost(self.client, "workers die on it", gone, where=where)
        except CancelledError:  # by the scheduler, or with it
            check_scheduler(self.client)
            return item, None, ClusterError("it was cancelled", where=self.name(item))
        except ClusterError:
            if future.status == "error":  # the function's own
                return item, None, future.exception()
            raise
        except Exception as error:
            return item, None, error


class Look:
    """A look at a cluster, which raises if it will never do what it has been given."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.threads = 1
        self.paused: list[str] = []  # workers that have begun nothing for a while
        self._seen = monotonic()  # when there were workers
        self._stuck: dict[WorkerInfo, float] = {}  # since when
        self()

    def __call__(self) -> None:
        check_scheduler(self.client)
        there, stuck = survey(self.client)
        self.threads, now = max(1, sum(worker.threads for worker in there)), monotonic()
        if there:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise no_workers(self.client, PATIENCE)
        self._stuck = {worker: self._stuck.get(worker, now) for worker in stuck}
        long = [worker for worker, since in self._stuck.items() if now - since > STUCK]
        if there and len(long) == len(there):
            raise paused("all workers wait", long[0])
        self.paused = [worker.address for worker in long]
