"""Workers that went away: the error for it, and whether memory was the reason."""

from collections.abc import Iterable
from time import monotonic, sleep
from typing import Any

from rejo.cluster._connect import TIMEOUT, ClusterError, WorkerInfo
from rejo.cluster._watch import bounded

STUCK = 30.0  # seconds after which a paused worker is given up
NEWS = 2.0  # seconds in which a nanny must have said why it ended a worker
MEMORY_TOPIC = "worker-restart-memory"  # under which nannies tell the scheduler of what they ended


class WorkerLost(ClusterError):
    """A worker went away while it worked, or stopped working.

    ``memory_limit`` is that of the worker in bytes if memory was the reason: without more memory,
    the same work would end the same way.
    """

    memory_limit: int | None = None


def lost(
    client: Any, what: str, gone: Iterable[tuple[str, int]], *, where: str | None = None
) -> WorkerLost:
    """Return the error for workers that went away, given by address and memory limit."""
    gone = list(gone)
    ended = _ended_for_memory(client, {address for address, _ in gone})
    for address, limit in gone:
        if address in ended and limit:
            return _short_of_memory(f"{what}: {address} used more than", limit, where)
    return WorkerLost(
        f"{what}: {', '.join(address for address, _ in gone)} went away",
        where=where,
        remedy="The log of the worker, or of its machine, may tell why.",
    )


def paused(what: str, worker: WorkerInfo) -> WorkerLost:
    """Return the error for a worker that begins nothing because its memory is nearly full."""
    problem = f"{what}: {worker.address} is paused by Dask, as it holds 80 % or more of"
    return _short_of_memory(problem, worker.memory_limit)


def _short_of_memory(problem: str, limit: int, where: str | None = None) -> WorkerLost:
    error = WorkerLost(
        f"{problem} its memory limit of {megabytes(limit)}",
        where=where,
        remedy="Give the workers more memory (dask worker --memory-limit), use more of them, or "
        "make the pieces of work smaller.",
    )
    error.memory_limit = limit
    return error


def megabytes(n_bytes: float) -> str:
    """Return a number of bytes in words, such as ``300 MB`` or ``1.5 GB``."""
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def _ended_for_memory(client: Any, addresses: set[str]) -> set[str]:
    """Return the workers that nannies have ended because of their memory.

    What a nanny says may reach the scheduler after the end of its worker.
    """
    ended: set[str] = set()
    end = monotonic() + NEWS
    while not ended and monotonic() < end:
        try:
            events = bounded(TIMEOUT, client.get_events, MEMORY_TOPIC)
        except Exception:  # the reason is not known; the loss is reported all the same
            break
        ended = addresses & {event["worker"] for _, event in events}
        sleep(0 if ended else 0.2)
    return ended
