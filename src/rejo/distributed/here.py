"""Work on one machine; a place elsewhere does the same in its own way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from sklearn.utils.parallel import delayed

from rejo._io import progress
from rejo._jobs import each_done
from rejo.distributed import legs
from rejo.distributed.out_of_core import RowLayout, Rows, Survey, survey_piece
from rejo.estimators import Growth, Plan

Tell = Callable[[str], None]
C = TypeVar("C")
T = TypeVar("T", bound=tuple[Any, ...])
R = TypeVar("R")


def quiet(text: str) -> None:
    """Tell nobody."""


@contextmanager
def place_of(client: Any, n_jobs: int = 1) -> Iterator["Here"]:
    """Here without a client, else on its cluster; or what is given, if it is a place."""
    if client is None or isinstance(client, Here):
        yield client or Here(n_jobs)
        return
    from rejo.cluster import connect
    from rejo.distributed.on_dask import OnDask

    with connect(client) as connected:
        yield OnDask(connected)


class Here:
    """The process that calls, with some more for items that do not meet."""

    client: Any = None  # of Dask, if the place is a cluster

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def each(
        self, function: Callable[[C, T], R], common: C, items: Iterable[T]
    ) -> Iterable[tuple[T, R]]:
        """Yield ``(item, function(common, item))``, in any order; an item begins with its name."""
        if self.n_jobs == 1:
            return ((item, function(common, item)) for item in items)
        listed = list(items)
        tasks = (delayed(function)(common, item) for item in listed)
        return zip(listed, each_done(tasks, self.n_jobs, backend="loky"), strict=True)

    def survey(self, layout: RowLayout, pieces: Sequence[Any], tell: Tell) -> Survey:
        tell(f"First pass: {n_rows(pieces):,} rows.")
        tasks = self.each(survey_piece, layout, [(piece,) for piece in pieces])
        found = in_order(tasks, pieces, "first pass", False if tell is quiet else None)
        return Survey.joined(found, layout.target)

    def grow(
        self, plan: Plan, layout: RowLayout, pieces: Sequence[Any], n_threads: int, tell: Tell
    ) -> tuple[Growth, dict[int, Rows]]:
        tell(f"Reading {n_rows(pieces):,} rows, about four times.")
        leg = legs.Leg(uuid4().hex, plan, layout)
        if plan.samples:
            leg = leg._replace(rounds=None)

        def run(leg: legs.Leg) -> list[legs.Left]:
            return [legs.run_rank(0, leg, pieces, n_threads)]

        try:
            return legs.grow_in_legs(leg, run, tell)
        finally:
            legs.DATA.clear()


def in_order(
    tasks: Iterable[tuple[Any, R]], pieces: Sequence[Any], title: str, show: bool | None
) -> list[R]:
    """Return what becomes of each piece, from tasks whose items begin with one; show how many."""
    done = progress(tasks, n_rows(pieces), title, rows=lambda one: one[0][0].rows, show=show)
    found = {item[0]: result for item, result in done}
    return [found[piece] for piece in pieces]


def n_rows(pieces: Sequence[Any]) -> int:
    return sum(piece.rows for piece in pieces)
