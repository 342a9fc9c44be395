"""Where a model is trained: in this process, or by the workers of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, Protocol, runtime_checkable

from rejo.cluster import connect, hand_out, workers
from rejo.distributed.legs import FIRST_ROUNDS, about, grow_together, next_rounds, score
from rejo.distributed.out_of_core import (
    Part,
    RowLayout,
    Scored,
    StreamedRows,
    Survey,
    check_size,
    survey_part,
)
from rejo.distributed.pace import Pace, Tell, n_rows
from rejo.estimators import Grower, Growth, Plan
from rejo.tables import share

LEAST_ROWS = 1000  # of a rank
Grown = tuple[Growth, dict[int, Scored]]


@runtime_checkable
class Engine(Protocol):
    """Where the work is done."""

    def survey(self, layout: RowLayout, parts: Sequence[Part], tell: Tell) -> Survey:
        """Make the first pass over all rows."""

    def grow(
        self, plan: Plan, layout: RowLayout, parts: Sequence[Part], n_threads: int, tell: Tell
    ) -> Grown:
        """Grow trees; they, and the scores of the rows that were held out."""

    def alone(self, function: Callable[..., Any], *args: Any, tell: Tell) -> Any:
        """Return ``function(*args, tell)`` of work that cannot be divided."""


@contextmanager
def place_of(client: Any) -> Iterator[Engine]:
    """Here without a client, else on its cluster; or what is given, if it is a place."""
    if client is None or isinstance(client, Engine):
        yield client or Here()
        return
    with connect(client) as connected:
        yield OnCluster(connected)


class Here:
    """The process that calls."""

    def survey(self, layout: RowLayout, parts: Sequence[Part], tell: Tell) -> Survey:
        """Make the first pass over all rows."""
        found, pace = Survey(), Pace("First pass", n_rows(parts), tell)
        for part in parts:
            found = found.joined(survey_part(layout, part))
            check_size(layout, found)
            pace(part.piece.rows)
        return found

    def grow(
        self, plan: Plan, layout: RowLayout, parts: Sequence[Part], n_threads: int, tell: Tell
    ) -> Grown:
        """Grow trees; they, and the scores of the rows that were held out."""
        tell(f"Reading {n_rows(parts):,} rows, about four times.")
        rows = StreamedRows(layout, parts)
        grower = Grower(plan, rows.learning, rows.stopping, n_threads)
        stage, rounds = None, FIRST_ROUNDS
        while stage is None or not stage.finished:
            start = monotonic()
            stage = grower.grow(stage, None if plan.samples else rounds)
            seconds = monotonic() - start
            tell(about(stage, plan, grower.n_rows, rounds, seconds))
            rounds = next_rounds(rounds, seconds)
        return stage, score(plan, stage, rows)

    def alone(self, function: Callable[..., Any], *args: Any, tell: Tell) -> Any:
        """Return ``function(*args, tell)``."""
        return function(*args, tell)


class OnCluster:
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
    ) -> Grown:
        """Grow trees on all workers that have something to read."""
        shares = rank_shares(parts, len(workers(self.client)))
        who = "1 worker reads" if len(shares) == 1 else f"{len(shares)} workers read"
        tell(f"{who} {n_rows(parts):,} rows, about four times.")
        return grow_together(self.client, plan, layout, shares, tell)

    def alone(self, function: Callable[..., Any], *args: Any, tell: Tell) -> Any:
        """Let one worker do it."""
        tell("One worker does this: it cannot be divided.")
        ((_, found),) = hand_out(self.client, partial(_alone, function), [args])
        return found


def rank_shares(parts: Sequence[Part], most: int) -> list[list[Part]]:
    """Divide parts among up to so many ranks, of which none has too few rows."""
    some = {part.piece: part for part in parts if part.piece.rows}
    n_ranks = min(most, len(some), 1 + n_rows(parts) // LEAST_ROWS)
    return [[some[piece] for piece in pieces] for pieces in share(list(some), n_ranks)]


def _survey(layout: RowLayout, item: Any) -> Survey:
    _, piece, frame = item
    return survey_part(layout, Part(piece, frame))


def _alone(function: Callable[..., Any], args: Any) -> Any:
    return function(*args, lambda _: None)
