"""Workers that went away or begin nothing: who looks for them, and the error for it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from rejo.cluster._connect import TIMEOUT, ClusterError, WorkerInfo, no_workers, survey
from rejo.cluster._watch import bounded

PATIENCE = 60.0  # seconds in which a cluster whose workers died must have enough of them again
STUCK = 30.0  # seconds after which a paused worker is given up
RESTART = 60.0  # seconds in which workers must have restarted
NEWS = 2.0  # seconds in which a nanny must have said why it ended a worker
MEMORY_TOPIC = "worker-restart-memory"  # under which nannies tell the scheduler of what they ended


class WorkerLost(ClusterError):
    """A worker went away while it worked, or stopped working.

    ``memory_limit`` is that of the worker in bytes if memory was the reason: without more memory,
    the same work would end the same way.
    """

    memory_limit: int | None = None


class Look:
    """A look at a cluster, which raises if it will never do what it has been given.

    That is done by any worker, or by a team of them with a future for each rank.
    """

    def __init__(
        self, client: Any, team: Sequence[WorkerInfo] = (), futures: Sequence[Any] = ()
    ) -> None:
        self.client, self.team, self.futures = client, team, futures
        self.threads = 1
        self._seen = monotonic()  # when there were workers
        self._stuck: dict[WorkerInfo, float] = {}  # since when
        self()

    def __call__(self) -> None:
        there, stuck = survey(self.client)
        self.threads, now = max(1, sum(worker.threads for worker in there)), monotonic()
        self._seen = now if there else self._seen
        # One that has gone may be back with the same address.
        gone = {rank: worker for rank, worker in enumerate(self.team) if worker not in there}
        if gone:
            ranks = f"rank{'s' * (len(gone) > 1)} {', '.join(map(str, gone))} of {len(self.team)}"
            raise lost(self.client, f"{ranks} lost", gone.values())
        if now - self._seen > PATIENCE:
            raise no_workers(self.client, PATIENCE)
        self._stuck = {worker: self._stuck.get(worker, now) for worker in stuck}
        paused = [worker for worker, since in self._stuck.items() if now - since > STUCK]
        for rank, future in enumerate(self.futures):
            if future.status == "pending" and self.team[rank] in paused:
                raise _paused(f"rank {rank} of {len(self.team)} waits", self.team[rank])
        if paused and not self.team:
            if len(paused) == len(there):
                raise _paused("all workers wait", paused[0])
            restart(self.client, paused)  # Dask leaves with them what they have not begun


def restart(client: Any, some: Iterable[WorkerInfo]) -> None:
    """Restart workers, those that have a nanny."""
    if addresses := [worker.address for worker in some if worker.nanny is not None]:
        how = {"timeout": RESTART, "raise_for_error": False}
        bounded(RESTART + TIMEOUT, client.restart_workers, addresses, **how)


def lost(client: Any, what: str, gone: Iterable[Any], *, where: str | None = None) -> WorkerLost:
    gone = list(gone)
    ended = _ended_for_memory(client, {worker.address for worker in gone})
    for worker in gone:
        if worker.address in ended and worker.memory_limit:
            problem = f"{what}: {worker.address} used more than"
            return _short_of_memory(problem, worker.memory_limit, where)
    return WorkerLost(
        f"{what}: {', '.join(worker.address for worker in gone)} went away",
        where=where,
        remedy="The log of the worker, or of its machine, may tell why.",
    )


def _paused(what: str, worker: WorkerInfo) -> WorkerLost:
    problem = f"{what}: {worker.address} is paused by Dask, as it holds 80 % or more of"
    return _short_of_memory(problem, worker.memory_limit)


def _short_of_memory(problem: str, limit: int, where: str | None = None) -> WorkerLost:
    size = f"{limit / 1e9:.3g} GB" if limit >= 1e9 else f"{limit / 1e6:.0f} MB"
    error = WorkerLost(
        f"{problem} its memory limit of {size}",
        where=where,
        remedy="Give the workers more memory (dask worker --memory-limit), use more of them, or "
        "make the pieces of work smaller.",
    )
    error.memory_limit = limit
    return error


def _ended_for_memory(client: Any, addresses: set[str]) -> set[str]:
    """Return the workers that nannies have ended because of their memory.

    What a nanny says may reach the scheduler after the end of its worker.
    """
    ended: set[str] = set()
    end = monotonic() + NEWS
    with suppress(Exception):  # the reason is not known; the loss is reported all the same
        while not ended and monotonic() < end:
            events = bounded(TIMEOUT, client.get_events, MEMORY_TOPIC)
            ended = addresses & {event["worker"] for _, event in events}
            sleep(0 if ended else 0.2)
    return ended
