"""Tasks on workers that may die: items for whichever is free, or one on each of several at once."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from reprlib import repr as short
from time import monotonic, sleep
from typing import Any, TypeVar

from rejo.cluster import _lost
from rejo.cluster._connect import (
    TIMEOUT,
    ClusterError,
    WorkerInfo,
    address_of,
    check_scheduler,
    workers,
)
from rejo.cluster._lost import Look, WorkerLost, lost, restart
from rejo.cluster._watch import OFTEN, bounded, hushed, same, wait_a_while, watched

AHEAD = 3  # items submitted for each thread: one is computed, the others wait
GRACE = 3.0  # seconds after a failure in which its cause may still show

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


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
                ended = wait_a_while(client, running)
                if not ended:
                    look()
                for future in ended:
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


def _outcome(client: Any, future: Any, look: Look) -> tuple[Any, Any]:
    try:
        return watched(look, future.result), None
    except (CancelledError, Exception) as error:
        if isinstance(error, CancelledError):
            check_scheduler(client)
        elif isinstance(error, ClusterError) and future.status != "error":
            raise  # not the function's own
        return None, error


# ---- all at once, on workers that talk to each other --------------------------------------------


def together(
    client: Any,
    function: Callable[[int, S], R],
    shares: Sequence[S],
    *,
    on: Sequence[WorkerInfo] | None = None,
    echoes: tuple[type[Exception], ...] = (),
) -> list[R]:
    """Run ``function(rank, share)`` on as many workers as there are shares, all at once.

    If a worker goes away, a task fails or Ctrl-C is pressed, all tasks are cancelled and their
    workers restarted: a thread that waits for a lost peer could not be ended otherwise, and its
    process may end later.

    The workers are those of a team, in the order of the ranks, such as that of the last call.  An
    error that is an echo of another one, because a peer failed, is raised only if there is no
    other.  After a ``WorkerLost`` the others have been restarted, and the call may be repeated.
    """
    with hushed():
        team = team_of(client, len(shares)) if on is None else list(on)
        for worker in team:
            if worker.nanny is None:
                raise ClusterError(
                    "this worker has no nanny to restart it if another one is lost",
                    where=worker.address,
                    parameter="client",
                    remedy="Start workers with `dask worker --nanny`, which is the default; a "
                    "LocalCluster needs processes=True.",
                )
        futures: list[Any] = []
        try:
            for rank, (worker, share) in enumerate(zip(team, shares, strict=True)):
                futures.append(
                    client.submit(function, rank, share, workers=[worker.address], pure=False)
                )
            return _results(client, team, futures, echoes)
        except BaseException as error:
            if client.status == "running":
                _disband(client, team, futures, error)
            raise


def team_of(client: Any, size: int) -> list[WorkerInfo]:
    """Wait for enough workers: some may be restarting."""
    end = monotonic() + _lost.PATIENCE
    while len(found := workers(client)) < size:
        if monotonic() > end:
            raise ClusterError(
                f"{size} workers are needed, and there are {len(found)}",
                where=address_of(client),
                parameter="client",
                remedy="Start more workers.",
            )
        sleep(0.2)
    return found[:size]


def _results(
    client: Any, team: list[WorkerInfo], futures: list[Any], echoes: tuple[type[Exception], ...]
) -> list[Any]:
    look, deadline, pending = Look(client, team, futures), float("inf"), futures
    while pending and monotonic() < deadline:
        wait_a_while(client, pending)
        pending = [future for future in futures if future.status == "pending"]
        if any(future.status in ("error", "cancelled", "lost") for future in futures):
            deadline = min(deadline, monotonic() + GRACE)
            sleep(0.1)
        look()
    if deadline == float("inf"):
        with suppress(CancelledError):
            return list(watched(look, client.gather, futures))
    look()
    cause, certain = _cause(team, futures, echoes)
    # A peer may see that a worker has gone before the scheduler does.
    while not certain and monotonic() < deadline:
        sleep(OFTEN)
        look()
    raise cause


def _cause(
    team: list[WorkerInfo], futures: list[Any], echoes: tuple[type[Exception], ...]
) -> tuple[BaseException, bool]:
    """Return what a rank raised by itself, or else as an echo, and which it was."""
    from distributed.scheduler import KilledWorker

    errors = {
        rank: future.exception(timeout=TIMEOUT)
        for rank, future in enumerate(futures)
        if future.status == "error"
    }
    errors = {rank: error for rank, error in errors.items() if not isinstance(error, KilledWorker)}
    own = [rank for rank in errors if not isinstance(errors[rank], echoes)]
    for rank in own or errors:
        error: BaseException = errors[rank].with_traceback(futures[rank].traceback(timeout=TIMEOUT))
        error.add_note(f"(rank {rank} of {len(team)}, on {team[rank].address})")
        return error, bool(own and echoes)
    return WorkerLost("a task was cancelled, or its worker restarted"), False


def _disband(client: Any, team: list[WorkerInfo], futures: list[Any], error: BaseException) -> None:
    with suppress(Exception):  # a restart cancels them, too
        bounded(TIMEOUT, client.cancel, futures, force=True)
    try:
        there = set(workers(client))
        restart(client, [worker for worker in team if worker in there])
    except Exception as problem:
        with suppress(Exception):
            error.add_note(f"(and the workers could not be restarted: {problem})")
