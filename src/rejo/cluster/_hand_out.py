"""Items for whichever worker is free; workers may die."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import Empty, SimpleQueue
from reprlib import repr as short
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from rejo.cluster._connect import (
    TIMEOUT,
    ClusterError,
    WorkerInfo,
    check_scheduler,
    import_distributed,
    no_workers,
    survey,
)
from rejo.cluster._lost import STUCK, lost, paused
from rejo.cluster._watch import OFTEN, bounded, hushed, watched

AHEAD = 3  # items submitted for each thread: one is computed, the others wait
TRIES = 3  # times that an item whose result was lost is submitted again
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
        tasks: Tasks[T, R] = Tasks(client, function, name)
        waiting = iter(items)
        more = True
        try:
            while True:
                while more and len(tasks) < tasks.threads * (ahead or AHEAD):
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
    future: Any
    tries: int


class Tasks(Generic[T, R]):
    """Items that have been submitted, and what becomes of them.

    Dask computes an item again if its worker dies, and gives up after a few times.  It blames all
    items that the worker had received.  Therefore each of these is then tried alone, while the
    others are held back: one that loses its worker again is the one that workers die on.
    """

    def __init__(
        self,
        client: Any,
        function: Callable[[Any], R],
        name: Callable[[T], str] = short,
        pack: Callable[[T], Any] = lambda item: item,  # what the function gets for an item
    ) -> None:
        self.client, self.function, self.name, self.pack = client, function, name, pack
        self._killed: type[Exception] = import_distributed().scheduler.KilledWorker
        self._running: dict[str, _Task[T]] = {}
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._held: deque[tuple[T, int]] = deque()
        self._suspects: deque[T] = deque()
        self._alone: set[WorkerInfo] | None = None  # the workers when an item began alone
        self._workers: set[WorkerInfo] = set()
        self._seen = self._moved = monotonic()  # when there were workers; when some could begin
        self._look()

    def __len__(self) -> int:
        return len(self._running) + len(self._held) + len(self._suspects)

    @property
    def threads(self) -> int:
        """Threads of the workers when they were last looked at; at least one."""
        return max(1, sum(worker.threads for worker in self._workers))

    def submit(self, item: T, tries: int = 0) -> None:
        """Send an item to the cluster."""
        if self._suspects or self._alone is not None:
            self._held.append((item, tries))
        else:
            self._send(item, tries)

    def next(self) -> Ended[T] | None:
        """Wait for an item to end; ``None`` if there is none."""
        while len(self):
            try:
                future = self._done.get(timeout=OFTEN)
            except Empty:
                self._look()
                self._go_on()
                future = self._culprit()
            task = None if future is None else self._running.pop(future.key, None)
            if task is None:
                continue
            alone, self._alone = self._alone, None
            ended = self._end(task, future, alone)
            future.release()  # or a traceback that holds it would keep its result on the cluster
            self._go_on()
            if ended is not None:
                return ended
        return None

    def cancel(self) -> list[T]:
        """Forget all items, and return them; workers end what they have begun."""
        tasks = list(self._running.values())
        items = [task.item for task in tasks]
        items += [*self._suspects, *(item for item, _ in self._held)]
        for left in (self._running, self._suspects, self._held):
            left.clear()
        self._alone = None
        self._drop([task.future for task in tasks])
        return items

    def _drop(self, futures: list[Any]) -> None:
        if futures and self.client.status == "running":
            with suppress(Exception):
                bounded(TIMEOUT, self.client.cancel, futures, force=True)

    def _send(self, item: T, tries: int) -> None:
        future = self.client.submit(self.function, self.pack(item), pure=False)
        self._running[future.key] = _Task(item, future, tries)
        future.add_done_callback(self._done.put)

    def _go_on(self) -> None:
        """Try suspects one at a time; then send what was held back."""
        if self._suspects:
            if not self._running:
                self._look()
                self._alone = set(self._workers)
                self._send(self._suspects.popleft(), 0)
            return
        while self._held and self._alone is None:
            self._send(*self._held.popleft())

    def _end(self, task: _Task[T], future: Any, alone: set[WorkerInfo] | None) -> Ended[T] | None:
        """Return an item that has ended; ``None`` if it is tried again."""
        item = task.item
        try:
            if future.status == "pending":  # it began alone, and a worker has gone since
                gone = [(w.address, w.memory_limit) for w in (alone or set()) - self._workers]
                self._drop([future])
                return item, None, self._dies_on(item, gone)
            return item, watched(self._look, future.result), None
        except self._killed as error:
            if alone is None:
                self._suspects.append(item)
                return None
            last: Any = error.args[1]
            return item, None, self._dies_on(item, [(last.address, last.memory_limit)])
        except CancelledError:  # the result, or what it was made of, was lost with a worker
            check_scheduler(self.client)
            if task.tries < TRIES:
                self.submit(item, task.tries + 1)
                return None
            return item, None, ClusterError("its result was lost again and again",
                                            where=self.name(item))  # fmt: skip
        except ClusterError:
            if future.status == "error":  # the function's own
                return item, None, future.exception()
            raise
        except Exception as error:
            return item, None, error

    def _dies_on(self, item: T, gone: list[tuple[str, int]]) -> Exception:
        return lost(self.client, "workers die on it", gone, where=self.name(item))

    def _culprit(self) -> Any:
        """Return the future of an item that runs alone if a worker has gone since it began."""
        if self._alone is None or self._alone <= self._workers:
            return None
        (task,) = self._running.values()
        return task.future

    def _look(self) -> None:
        check_scheduler(self.client)
        there, stuck = survey(self.client)
        self._workers, now = set(there), monotonic()
        if there:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise no_workers(self.client, PATIENCE)
        if len(stuck) < max(1, len(there)):
            self._moved = now
        elif now - self._moved > STUCK:
            raise paused("all workers wait", stuck[0])
