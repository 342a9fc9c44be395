"""Training by the workers of a Dask cluster, which grow trees together.

If a worker is lost, the others are restarted, and the leg is repeated.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from rejo.cluster import ClusterError, WorkerInfo, WorkerLost, hand_out, together, workers
from rejo.distributed import legs
from rejo.distributed.here import Here, Pace, Tell, n_rows
from rejo.distributed.legs import Left, Leg
from rejo.distributed.out_of_core import (
    Part,
    RowLayout,
    Scored,
    Survey,
    check_size,
    survey_part,
)
from rejo.estimators import Growth, Plan, import_xgboost

FORGETTING = 10.0  # seconds in which workers should free their memory


class OnDask(Here):
    """The workers of a cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def survey(self, layout: RowLayout, parts: Sequence[Part], tell: Tell) -> Survey:
        """Make the first pass over all rows; whichever worker is free reads the next piece."""
        found, pace = {}, Pace("First pass", n_rows(parts), tell)
        items = [(number, *part) for number, part in enumerate(parts)]
        seen = Survey()
        for item, one in hand_out(self.client, partial(_survey, layout), items):
            found[item[0]] = one._replace(levels={})
            seen = seen.joined(one._replace(sample=[]))
            check_size(layout, seen)
            pace(item[1].rows)
        whole = Survey()
        for number in sorted(found):  # the same whoever came first
            whole = whole.joined(found[number])
        return whole._replace(levels=seen.levels)  # they are sorted later

    def grow(
        self, plan: Plan, layout: RowLayout, parts: Sequence[Part], n_threads: int, tell: Tell
    ) -> tuple[Growth, dict[int, Scored]]:
        """Grow trees on all workers that have something to read."""
        shares = legs.rank_shares(parts, len(workers(self.client)))
        who = "1 worker reads" if len(shares) == 1 else f"{len(shares)} workers read"
        tell(f"{who} {n_rows(parts):,} rows, about four times.")
        job = uuid4().hex
        ranks = _Ranks(self.client, shares, tell)
        try:
            with _patience():
                return legs.grow_in_legs(Leg(job, {}, plan, layout, []), ranks, tell)
        finally:
            if ranks.team and self.client.status == "running":
                forget(self.client, job, [one.address for one in ranks.team])

    def alone(self, function: Callable[..., Any], *args: Any, tell: Tell) -> Any:
        """Let one worker do it."""
        tell("One worker does this: it cannot be divided.")
        ((_, found),) = hand_out(self.client, partial(_alone, function), [args])
        return found


def _survey(layout: RowLayout, item: Any) -> Survey:
    _, piece, frame = item
    return survey_part(layout, Part(piece, frame))


def _alone(function: Callable[..., Any], args: Any) -> Any:
    return function(*args, lambda _: None)


# ---- legs -----------------------------------------------------------------------------------


class _Ranks:
    """Runs legs on as many workers as there are shares; one that loses a worker is repeated."""

    def __init__(self, client: Any, shares: Sequence[Sequence[Part]], tell: Tell) -> None:
        self.client, self.shares, self.tell = client, shares, tell
        self.team: list[WorkerInfo] | None = None  # that have the data

    def __call__(self, leg: Leg) -> list[Left]:
        lost = 0
        while True:
            try:
                found = self._run(leg)
            except WorkerLost as error:
                self.team, lost = None, lost + 1
                if error.memory_limit is not None:
                    raise
                if lost > legs.TRIES:
                    raise ClusterError(
                        f"workers were lost {lost} times in one leg; at last: {error.problem}",
                        parameter="client",
                        remedy="The log of the workers, or of their machines, may tell why.",
                    ) from error
                done = 0 if leg.stage is None else len(leg.stage.losses)
                self.tell(f"Repeating the leg from round {done}: {error}")
            else:
                known = {worker.address: worker for worker in workers(self.client)}
                team = [known[one.address] for one in found if one.address in known]
                self.team = team if len(team) == len(found) else None  # one has just gone
                return found

    def _run(self, leg: Leg) -> list[Left]:
        error = import_xgboost().core.XGBoostError
        with legs.tracker(len(self.shares), host_of(self.client)) as args:
            tasks = [
                (
                    leg._replace(tracker=args, pieces=[part.piece for part in share]),
                    [part.frame for part in share],  # futures, which Dask replaces by their results
                )
                for share in self.shares
            ]
            return together(self.client, _run_leg, tasks, on=self.team, echoes=(error,))


def _run_leg(rank: int, task: tuple[Leg, list[Any]]) -> Left:
    """Grow some rounds on a worker, with the frames of its pieces if they are in memory."""
    from distributed import get_worker

    (leg, frames), worker = task, get_worker()
    found = legs.run_rank(rank, leg, frames, int(worker.state.nthreads))
    return found._replace(address=worker.address)


def forget(client: Any, job: str, addresses: list[str]) -> None:
    """Let workers free the memory of a job; one that does not answer is not waited for."""

    def run() -> None:
        with suppress(Exception):  # the workers may be gone, and their memory with them
            client.run(_forget, job, workers=addresses)

    asking = Thread(target=run, daemon=True)
    asking.start()
    asking.join(FORGETTING)


def _forget(job: str) -> None:
    for key in [key for key in legs.DATA if key.startswith(job)]:
        del legs.DATA[key]


@contextmanager
def _patience() -> Iterator[None]:
    """Let a LocalCluster wait for workers that restart; it gives them up after 15 seconds."""
    from dask import config

    with config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}):
        yield


def host_of(client: Any) -> str:
    """The address of this machine as the scheduler's network sees it."""
    host = urlsplit(client.scheduler.address).hostname or "127.0.0.1"
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return "127.0.0.1"
