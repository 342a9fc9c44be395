"""One task on each of several workers, which talk to each other: all end, or all are ended."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, TypeVar

from rejo.cluster._connect import TIMEOUT, ClusterError, WorkerInfo, address_of, workers
from rejo.cluster._lost import Look, WorkerLost, restart
from rejo.cluster._watch import OFTEN, bounded, hushed, watched

PATIENCE = 60.0  # seconds in which enough workers must be there
GRACE = 3.0  # seconds after a failure in which its cause may still show

S = TypeVar("S")
R = TypeVar("R")


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
    end = monotonic() + PATIENCE
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
    from distributed import wait

    look, deadline, pending = Look(client, team, futures), float("inf"), futures
    while pending and monotonic() < deadline:
        with suppress(TimeoutError, CancelledError), client.as_current():
            wait(pending, timeout=OFTEN, return_when="FIRST_COMPLETED")
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
