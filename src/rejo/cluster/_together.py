"""One task on each of several workers, which talk to each other: all end, or all are ended."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, TypeVar

from rejo.cluster._connect import (
    TIMEOUT,
    ClusterError,
    WorkerInfo,
    address_of,
    import_distributed,
    workers,
)
from rejo.cluster._lost import Look, WorkerLost
from rejo.cluster._watch import OFTEN, bounded, hushed, watched

PATIENCE = 60.0  # seconds in which enough workers must be there
GRACE = 3.0  # seconds after a failure in which its cause may still show
RESTART = 60.0  # seconds in which workers must have restarted

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

    Parameters
    ----------
    client : distributed.Client
        From :func:`connect`.
    function : callable
        Called once for each share, with its rank: 0, 1, ...
    shares : sequence
        What each worker gets.
    on : sequence of WorkerInfo, default=None
        The workers, in the order of the ranks, such as those of the last call; by default the
        first of :func:`workers`.
    echoes : tuple of exception types, default=()
        What a rank raises because another one failed.  Such an error is raised only if there is no
        other.

    Returns
    -------
    results : list
        In the order of the shares.

    Raises
    ------
    WorkerLost
        If a worker went away.  The others have been restarted, and the call may be repeated.
    ClusterError
        If the scheduler goes away, there are too few workers, or they have no nannies.
    Exception
        What a task raised, with its traceback and a note on its rank.
    """
    with hushed():
        team = _team(client, len(shares)) if on is None else list(on)
        if len(team) != len(shares):
            raise ValueError(f"on has {len(team)} workers for {len(shares)} shares.")
        _check_nannies(team)
        changed: SimpleQueue[Any] = SimpleQueue()
        futures: list[Any] = []
        try:
            for rank, (worker, share) in enumerate(zip(team, shares, strict=True)):
                future = client.submit(
                    function, rank, share, workers=[worker.address], allow_other_workers=False,
                    pure=False,
                )  # fmt: skip
                futures.append(future)
                future.add_done_callback(changed.put)
            return _results(client, team, futures, changed, echoes)
        except BaseException as error:
            if client.status == "running":
                _disband(client, team, futures, error)
            raise


def _team(client: Any, size: int) -> list[WorkerInfo]:
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


def _check_nannies(team: Sequence[WorkerInfo]) -> None:
    for worker in team:
        if worker.nanny is None:
            raise ClusterError(
                "this worker has no nanny to restart it if another one is lost",
                where=worker.address,
                parameter="client",
                remedy="Start workers with `dask worker --nanny`, which is the default; a "
                "LocalCluster needs processes=True.",
            )


def _results(
    client: Any, team: list[WorkerInfo], futures: list[Any], changed: SimpleQueue[Any],
    echoes: tuple[type[Exception], ...],
) -> list[Any]:  # fmt: skip
    rank_of = {future.key: rank for rank, future in enumerate(futures)}
    failed: list[int] = []  # ranks, in the order of their failure
    deadline, n_done = float("inf"), 0
    look = Look(client, team, futures)
    while n_done < len(futures) and monotonic() < deadline:
        try:
            future = changed.get(timeout=OFTEN)
        except Empty:
            look()
            continue
        n_done += 1
        if future.status != "finished":
            failed.append(rank_of[future.key])
            deadline = min(deadline, monotonic() + GRACE)
    if not failed:
        try:
            return list(watched(look, client.gather, futures))
        except CancelledError:
            failed = list(range(len(futures)))
    look()
    cause, certain = _cause(team, futures, failed, echoes)
    # A peer may see that a worker has gone before the scheduler does.
    while not certain and monotonic() < deadline:
        sleep(OFTEN)
        look()
    raise cause


def _cause(
    team: list[WorkerInfo], futures: list[Any], failed: list[int], echoes: tuple[Any, ...]
) -> tuple[BaseException, bool]:
    """Return what the first rank raised by itself, or else as an echo, and which it was."""
    killed = import_distributed().scheduler.KilledWorker
    errors = {rank: futures[rank].exception(timeout=TIMEOUT) for rank in failed
              if futures[rank].status == "error"}  # fmt: skip
    own = [rank for rank in errors if not isinstance(errors[rank], (*echoes, killed))]
    for rank in own or [rank for rank in errors if not isinstance(errors[rank], killed)]:
        error: BaseException = errors[rank]
        error = error.with_traceback(futures[rank].traceback(timeout=TIMEOUT))
        error.add_note(f"(rank {rank} of {len(team)}, on {team[rank].address})")
        return error, bool(own and echoes)
    ranks = ", ".join(map(str, failed))
    return WorkerLost(f"rank {ranks} of {len(team)} was cancelled, or its worker restarted"), False


def _disband(client: Any, team: list[WorkerInfo], futures: list[Any], error: BaseException) -> None:
    with suppress(Exception):  # a restart cancels them, too
        bounded(TIMEOUT, client.cancel, futures, force=True)
    try:
        there = set(workers(client))
        alive = [worker.address for worker in team if worker in there]
        if alive:
            bounded(
                RESTART + TIMEOUT, client.restart_workers, alive, timeout=RESTART,
                raise_for_error=False,
            )  # fmt: skip
    except Exception as problem:
        with suppress(Exception):
            error.add_note(f"(and the workers could not be restarted: {problem})")
