"""Trees grown by several workers together, in legs of some rounds.

Between two legs all that is needed to go on is with the driver.  If a worker is lost, the others
are restarted, the data are read again and the leg is repeated: the model is the same to the bit.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np

from rejo.cluster import ClusterError, WorkerInfo, WorkerLost, together, workers
from rejo.distributed.out_of_core import PROVE, STOP, Part, RowLayout, Scored, StreamedRows
from rejo.distributed.pace import Tell
from rejo.estimators import Grower, Growth, Plan, grown_from, import_xgboost
from rejo.tables import RowGroup

FIRST_ROUNDS = 10  # of a leg, until it is known how long a round takes; always, with samples
SECONDS = 20.0  # that a leg should take
MOST_ROUNDS = 200  # of a leg
TRIES = 3  # times that one leg is repeated
FORGETTING = 10.0  # seconds in which workers should free their memory
TIMEOUT = 1800  # seconds in which a rank must be where the others are: loading may take long


class Leg(NamedTuple):
    """What a rank gets to do."""

    job: str
    tracker: dict[str, Any]
    plan: Plan
    layout: RowLayout
    pieces: list[RowGroup]
    stage: Growth | None
    rounds: int


class Left(NamedTuple):
    """What a rank leaves behind after a leg."""

    stage: Growth | None  # of the first rank only: all have the same
    scored: dict[int, Scored] | None  # of the rows that it has kept, if the growth is finished
    seconds: float
    address: str  # of a worker of Dask
    n_rows: int


def grow_together(
    client: Any, plan: Plan, layout: RowLayout, shares: Sequence[Sequence[Part]], tell: Tell
) -> tuple[Growth, dict[int, Scored]]:
    """Grow trees on as many workers as there are shares; scores of the rows that were held out."""
    job, tries, rounds = uuid4().hex, 0, FIRST_ROUNDS
    stage: Growth | None = None
    team: list[WorkerInfo] | None = None
    try:
        while True:
            try:
                with _patience():
                    found = _leg(client, job, plan, layout, shares, stage, rounds, team)
            except WorkerLost as error:
                if error.memory_limit is not None:
                    raise
                tries, team = tries + 1, None
                if tries > TRIES:
                    raise _given_up(error) from error
                done = 0 if stage is None else len(stage.losses)
                tell(f"Repeating the leg from round {done}: {error}")
                continue
            stage, tries, team = found[0].stage, 0, _team(client, found)
            assert stage is not None
            read = sum(one.n_rows for one in found)
            tell(about(stage, plan, read, rounds, found[0].seconds))
            if found[0].scored is not None:
                return stage, joined_scores(found)
            if not plan.samples:
                rounds = next_rounds(rounds, found[0].seconds)
    finally:
        if team and client.status == "running":
            forget(client, job, [one.address for one in team])


def forget(client: Any, job: str, addresses: list[str]) -> None:
    """Let workers free the memory of a job; one that does not answer is not waited for."""

    def run() -> None:
        with suppress(Exception):  # the workers may be gone, and their memory with them
            client.run(_forget, job, workers=addresses)

    asking = Thread(target=run, daemon=True)
    asking.start()
    asking.join(FORGETTING)


def next_rounds(rounds: int, seconds: float) -> int:
    """How many rounds take about as long as a leg should."""
    return int(np.clip(round(rounds * SECONDS / max(seconds, 1e-3)), 1, MOST_ROUNDS))


def about(stage: Growth, plan: Plan, n_rows: int, rounds: int, seconds: float) -> str:
    """Say how far the growth is after some rounds, and how long the rest takes at most."""
    n = len(stage.losses)
    if stage.finished:
        return f"{n} rounds are grown; the best is {stage.n_rounds}."
    rate = n_rows * rounds / max(seconds, 1e-3)
    left = (plan.max_rounds - n) * seconds / rounds
    return f"{n} rounds, {rate:,.0f} rows a second each, at most {left:,.0f} s left."


def _given_up(error: WorkerLost) -> ClusterError:
    return ClusterError(
        f"workers were lost {TRIES + 1} times in one leg; at last: {error.problem}",
        parameter="client",
        remedy="The log of the workers, or of their machines, may tell why.",
    )


def _leg(
    client: Any, job: str, plan: Plan, layout: RowLayout, shares: Sequence[Sequence[Part]],
    stage: Growth | None, rounds: int, team: list[WorkerInfo] | None,
) -> list[Left]:  # fmt: skip
    error = import_xgboost().core.XGBoostError
    with tracker(len(shares), host_of(client)) as args:
        tasks = [
            (
                Leg(job, args, plan, layout, [part.piece for part in share], stage, rounds),
                [part.frame for part in share],  # futures, which Dask replaces by what they hold
            )
            for share in shares
        ]
        return together(client, run_leg, tasks, on=team, echoes=(error,))


def _team(client: Any, found: Sequence[Left]) -> list[WorkerInfo] | None:
    """The same workers for the next leg: they have the data; None if one has just gone."""
    known = {worker.address: worker for worker in workers(client)}
    team = [known.get(one.address) for one in found]
    return None if None in team else team  # type: ignore[return-value]


def joined_scores(found: Sequence[Left]) -> dict[int, Scored]:
    """Scores of the rows that all ranks have kept."""
    parts = [one.scored for one in found if one.scored is not None]
    return {number: Scored.joined([part[number] for part in parts]) for number in (PROVE, STOP)}


@contextmanager
def _patience() -> Iterator[None]:
    """Let a LocalCluster wait for workers that restart; it gives them up after 15 seconds."""
    from dask import config

    with config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}):
        yield


@contextmanager
def tracker(n_ranks: int, host: str) -> Iterator[dict[str, Any]]:
    """Where ranks find each other.  Workers are watched, so it needs no time limit."""
    xgboost = import_xgboost()
    from xgboost.tracker import RabitTracker

    with xgboost.config_context(verbosity=0):
        started = RabitTracker(n_workers=n_ranks, host_ip=host, sortby="task", timeout=0)
        started.start()
    try:
        yield started.worker_args()
    finally:
        with suppress(Exception):
            started.free()


def host_of(client: Any) -> str:
    """The address of this machine as the scheduler's network sees it."""
    host = urlsplit(client.scheduler.address).hostname or "127.0.0.1"
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return "127.0.0.1"


# ---- on the workers ----------------------------------------------------------------------------

_HERE: dict[str, tuple[Grower, StreamedRows]] = {}  # data of this process, from leg to leg


def run_leg(rank: int, task: tuple[Leg, list[Any]]) -> Left:
    """Grow some rounds on a worker of Dask, with the frames of its pieces if they are in memory."""
    from distributed import get_worker

    (leg, frames), worker = task, get_worker()
    found = run_rank(rank, leg, frames, int(worker.state.nthreads))
    return found._replace(address=worker.address)


def run_rank(rank: int, leg: Leg, frames: Sequence[Any] | None = None, n_threads: int = 1) -> Left:
    """Grow some rounds as one of several ranks; at the end, score the rows that were kept.

    Whatever starts the ranks, each is a process.
    """
    xgboost = import_xgboost()
    collective = xgboost.collective
    args = {**leg.tracker, "DMLC_TASK_ID": f"{rank:06d}", "dmlc_timeout": TIMEOUT}
    with xgboost.config_context(verbosity=0), collective.CommunicatorContext(**args):
        key = f"{leg.job}-{rank}"
        # Building the matrix is collective: all ranks build theirs, or none.
        there = np.array([int(key in _HERE)], dtype=np.int32)
        if not collective.allreduce(there, collective.Op.MIN)[0]:
            _HERE.clear()
            frames = [None] * len(leg.pieces) if frames is None else frames
            parts = [Part(*one) for one in zip(leg.pieces, frames, strict=True)]
            rows = StreamedRows(leg.layout, parts)
            grower = Grower(leg.plan, rows.learning, rows.stopping, n_threads)
            _HERE[key] = grower, rows
        grower, rows = _HERE[key]
        start = monotonic()
        stage = grower.grow(leg.stage, leg.rounds)
        seconds = monotonic() - start
    scored = score(leg.plan, stage, rows) if stage.finished else None
    return Left(stage if rank == 0 else None, scored, seconds, "", grower.n_rows)


def score(plan: Plan, stage: Growth, rows: StreamedRows) -> dict[int, Scored]:
    """Scores of the rows that prove, and of those that stop."""
    grown = grown_from(plan, stage)
    walker = grown.walker(plan)
    return {n: Scored.by_trees(grown, walker, rows.kept(n)) for n in (PROVE, STOP)}


def _forget(job: str) -> None:
    for key in [key for key in _HERE if key.startswith(job)]:
        del _HERE[key]
