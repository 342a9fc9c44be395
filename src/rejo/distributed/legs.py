"""Trees grown by several processes together, in legs of some rounds.

Between two legs all that is needed to go on is with the driver.  If a rank is lost, the data are
read again and the leg is repeated: the model is the same to the bit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from rejo.distributed.out_of_core import PROVE, STOP, RowLayout, Rows, StreamedRows
from rejo.estimators import Grower, Growth, Plan, grown_from, import_xgboost
from rejo.tables import share

FIRST_ROUNDS = 10  # of a leg, until it is known how long a round takes; always, with samples
SECONDS = 20.0  # that a leg should take
MOST_ROUNDS = 200  # of a leg
TRIES = 3  # times that one leg is repeated
TIMEOUT = 1800  # seconds in which a rank must be where the others are: loading may take long
LEAST_ROWS = 1000  # of a rank
DATA: dict[str, tuple[Grower, StreamedRows]] = {}  # of this process, from leg to leg


class Leg(NamedTuple):
    job: str
    plan: Plan
    layout: RowLayout
    tracker: dict[str, Any] | None = None  # where ranks find each other; None: there is one
    stage: Growth | None = None
    rounds: int | None = FIRST_ROUNDS  # None: all


class Left(NamedTuple):
    """What a rank leaves behind after a leg."""

    stage: Growth | None  # of the first rank only: all have the same
    scored: dict[int, Rows]  # if the growth is finished: those that it has kept
    seconds: float
    n_rows: int


def rank_shares(pieces: Sequence[Any], most: int) -> list[list[Any]]:
    """Divide pieces among up to so many ranks, of which none has too few rows."""
    some = [piece for piece in pieces if piece.rows]
    return share(some, min(most, 1 + sum(piece.rows for piece in some) // LEAST_ROWS))


def next_rounds(rounds: int, seconds: float) -> int:
    return int(np.clip(round(rounds * SECONDS / max(seconds, 1e-3)), 1, MOST_ROUNDS))


def grow_in_legs(
    leg: Leg, run: Callable[[Leg], Sequence[Left]], tell: Callable[[str], None]
) -> tuple[Growth, dict[int, Rows]]:
    """Grow trees to the end, where ``run`` gives what all ranks leave behind after a leg.

    Return also the scores of the rows that were held out.
    """
    while True:
        found = run(leg)
        stage, seconds = found[0].stage, found[0].seconds
        assert stage is not None
        n = len(stage.losses)
        if stage.finished:
            tell(f"{n} rounds are grown; the best is {stage.n_rounds}.")
            kept = {n: Rows.joined([one.scored[n] for one in found]) for n in (PROVE, STOP)}
            return stage, kept
        assert leg.rounds is not None
        rate = sum(one.n_rows for one in found) * leg.rounds / max(seconds, 1e-3)
        left = (leg.plan.max_rounds - n) * seconds / leg.rounds
        tell(f"{n} rounds, {rate:,.0f} rows a second each, at most {left:,.0f} s left.")
        rounds = leg.rounds if leg.plan.samples else next_rounds(leg.rounds, seconds)
        leg = leg._replace(stage=stage, rounds=rounds)


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


def run_rank(rank: int, leg: Leg, pieces: Sequence[Any], n_threads: int = 1) -> Left:
    """Run a leg as one of several ranks, each of which is a process, or as the only one."""
    xgboost = import_xgboost()
    collective = xgboost.collective
    with ExitStack() as stack:
        if leg.tracker:
            args = {**leg.tracker, "DMLC_TASK_ID": f"{rank:06d}", "dmlc_timeout": TIMEOUT}
            stack.enter_context(xgboost.config_context(verbosity=0))
            stack.enter_context(collective.CommunicatorContext(**args))
        key = f"{leg.job}-{rank}"
        # Building the matrix is collective: all ranks build theirs, or none.
        there = np.array([int(key in DATA)], dtype=np.int32)
        if not collective.allreduce(there, collective.Op.MIN)[0]:
            DATA.clear()
            rows = StreamedRows(leg.layout, pieces)
            DATA[key] = Grower(leg.plan, rows.learning, rows.stopping, n_threads), rows
        grower, rows = DATA[key]
        start = monotonic()
        stage = grower.grow(leg.stage, leg.rounds)
        seconds = monotonic() - start
    scored: dict[int, Rows] = {}
    if stage.finished:
        DATA.clear()
        grown = grown_from(leg.plan, stage)
        walker = grown.walker(leg.plan)
        for n in (PROVE, STOP):
            kept = rows.kept(n)
            scored[n] = kept._replace(X=walker.scores(kept.X) + grown.intercepts)
    return Left(stage if rank == 0 else None, scored, seconds, grower.n_rows)
