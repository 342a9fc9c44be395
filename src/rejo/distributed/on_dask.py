"""A Dask cluster as the place of work: workers take items, and grow trees together.

If a worker is lost while trees grow, the others are restarted, and the leg is repeated.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from rejo.cluster import ClusterError, WorkerLost, hand_out, team_of, together, workers
from rejo.distributed import legs
from rejo.distributed.here import C, Here, R, T, Tell, n_rows
from rejo.distributed.legs import Left, Leg
from rejo.distributed.out_of_core import RowLayout, Rows
from rejo.estimators import Growth, Plan, import_xgboost


class OnDask(Here):
    def __init__(self, client: Any) -> None:
        self.client = client

    def each(
        self, function: Callable[[C, T], R], common: C, items: Iterable[T]
    ) -> Iterable[tuple[T, R]]:
        name = lambda item: str(item[0])  # noqa: E731
        return hand_out(self.client, function, items, common=common, name=name)

    def grow(
        self, plan: Plan, layout: RowLayout, pieces: Sequence[Any], n_threads: int, tell: Tell
    ) -> tuple[Growth, dict[int, Rows]]:
        shares = legs.rank_shares(pieces, len(workers(self.client)))
        who = "1 worker reads" if len(shares) == 1 else f"{len(shares)} workers read"
        tell(f"{who} {n_rows(pieces):,} rows, about four times.")
        from dask import config

        # A LocalCluster gives up workers that restart after 15 seconds.
        with config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}):
            ranks = _Ranks(self.client, shares, tell)
            return legs.grow_in_legs(Leg(uuid4().hex, plan, layout), ranks, tell)


class _Ranks:
    """Runs legs on as many workers as there are shares; one that loses a worker is repeated."""

    def __init__(self, client: Any, shares: Sequence[Sequence[Any]], tell: Tell) -> None:
        self.client, self.shares, self.tell = client, shares, tell
        self.team = team_of(client, len(shares))  # has the data

    def __call__(self, leg: Leg) -> list[Left]:
        echoes = (import_xgboost().core.XGBoostError,)
        lost = 0
        while True:
            try:
                with legs.tracker(len(self.shares), host_of(self.client)) as args:
                    tasks = [(leg._replace(tracker=args), share) for share in self.shares]
                    return together(self.client, _run_leg, tasks, on=self.team, echoes=echoes)
            except WorkerLost as error:
                lost += 1
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
                self.team = team_of(self.client, len(self.shares))


def _run_leg(rank: int, task: tuple[Leg, Sequence[Any]]) -> Left:
    """Grow some rounds on a worker."""
    from distributed import get_worker

    return legs.run_rank(rank, *task, int(get_worker().state.nthreads))


def host_of(client: Any) -> str:
    """The address of this machine as the scheduler's network sees it."""
    host = urlsplit(client.scheduler.address).hostname or "127.0.0.1"
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return "127.0.0.1"
