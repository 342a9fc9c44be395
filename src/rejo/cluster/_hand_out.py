"""Items for whichever worker is free; workers may die."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from reprlib import repr as short
from typing import Any, TypeVar

from rejo.cluster._connect import TIMEOUT, ClusterError, check_scheduler
from rejo.cluster._lost import Look, lost
from rejo.cluster._watch import OFTEN, bounded, hushed, same, watched

AHEAD = 3  # items submitted for each thread: one is computed, the others wait

T = TypeVar("T")
R = TypeVar("R")


def hand_out(
    client: Any,
    function: Callable[..., R],
    items: Iterable[T],
    *,
    common: Any = None,
    ahead: int = AHEAD,
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
    common : object, default=None
        Sent to each worker once; then ``function(common, item)`` is called.
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
    from distributed.scheduler import KilledWorker

    with hushed():
        look, waiting = Look(client), iter(items)
        running: dict[Any, T] = {}  # by future
        sent = [] if common is None else [client.submit(same, common, pure=False)]
        # Dask computes an item again if its worker dies, and gives up after a few times.  It blames
        # all items that the worker had received.  So each of these is tried alone at the end.
        suspects: list[T] = []
        alone = False
        try:
            while True:
                some = list(islice(waiting, max(0, look.threads * ahead - len(running))))
                if not some and not running and suspects:
                    some, alone = [suspects.pop(0)], True
                for item in some:
                    running[client.submit(function, *sent, item, pure=False)] = item
                if not running:
                    return
                for future in _ended(client, running, look):
                    item = running.pop(future)
                    value, error = _outcome(client, future, look)
                    future.release()  # or a traceback that holds it would keep its result there
                    if isinstance(error, KilledWorker) and not alone:
                        suspects.append(item)
                        continue
                    if isinstance(error, KilledWorker):
                        gone = [error.last_worker]
                        error = lost(client, "workers die on it", gone, where=name(item))
                    if isinstance(error, CancelledError):
                        error = ClusterError("it was cancelled", where=name(item))
                    if error is None:
                        yield item, value
                    elif failed is not None:
                        yield item, failed(item, error)
                    else:
                        raise error
        finally:
            if running and client.status == "running":
                with suppress(Exception):
                    bounded(TIMEOUT, client.cancel, list(running), force=True)


def _ended(client: Any, running: Iterable[Any], look: Look) -> list[Any]:
    """Wait a while for futures to end."""
    from distributed import wait

    with suppress(TimeoutError, CancelledError), client.as_current():
        wait(list(running), timeout=OFTEN, return_when="FIRST_COMPLETED")
    done = [future for future in running if future.status != "pending"]
    if not done:
        look()
    return done


def _outcome(client: Any, future: Any, look: Look) -> tuple[Any, Any]:
    """Return the result of a future, or what the function raised."""
    try:
        return watched(look, future.result), None
    except (CancelledError, Exception) as error:
        if isinstance(error, CancelledError):
            check_scheduler(client)
        elif isinstance(error, ClusterError) and future.status != "error":
            raise  # not the function's own
        return None, error
