"""Work on one machine; a place elsewhere does the same in its own way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from joblib import Parallel, delayed

from rejo.distributed import legs
from rejo.distributed._sent_model import SentModel
from rejo.distributed.out_of_core import (
    Part,
    RowLayout,
    Rows,
    Survey,
    check_size,
    survey_part,
)
from rejo.estimators import Growth, Plan

OFTEN = 5.0  # seconds between two lines
Tell = Callable[[str], None]
T = TypeVar("T", bound=tuple[Any, ...])
R = TypeVar("R")


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

    def each(self, function: Callable[[T], R], items: Iterable[T]) -> Iterable[tuple[T, R]]:
        """Yield ``(item, function(item))``, in any order; the first part of an item names it."""
        if self.n_jobs == 1:
            return ((item, function(item)) for item in items)
        listed = list(items)
        run = Parallel(self.n_jobs, backend="loky", return_as="generator")
        return zip(listed, run(delayed(function)(item) for item in listed), strict=True)

    @contextmanager
    def with_model(self, sent: SentModel) -> Iterator[SentModel]:
        """Let functions have a model; give what they need to open it."""
        yield sent

    def survey(self, layout: RowLayout, parts: Sequence[Part], tell: Tell) -> Survey:
        """Make the first pass over all rows."""
        found, pace = {}, Pace("First pass", parts, tell)
        items = [(*part, number) for number, part in enumerate(parts)]
        seen = Survey()
        for item, one in self.each(partial(_survey, layout), items):
            found[item[-1]] = one._replace(levels={})
            seen = seen.joined(one._replace(sample=[]))
            check_size(layout, seen)
            pace(item[0].rows)
        whole = Survey()
        for number in sorted(found):  # the same whoever came first
            whole = whole.joined(found[number])
        return whole._replace(levels=seen.levels)  # they are sorted later

    def grow(
        self, plan: Plan, layout: RowLayout, parts: Sequence[Part], n_threads: int, tell: Tell
    ) -> tuple[Growth, dict[int, Rows]]:
        """Grow trees; they, and the scores of the rows that were held out."""
        tell(f"Reading {n_rows(parts):,} rows, about four times.")
        leg = legs.Leg(uuid4().hex, plan, layout)
        if plan.samples:
            leg = leg._replace(rounds=None)

        def run(leg: legs.Leg) -> list[legs.Left]:
            return [legs.run_rank(0, leg, parts, n_threads)]

        try:
            return legs.grow_in_legs(leg, run, tell)
        finally:
            legs.DATA.clear()


def _survey(layout: RowLayout, item: tuple[Any, Any, int]) -> Survey:
    piece, frame, _ = item
    return survey_part(layout, Part(piece, frame))


class Pace:
    """Tells how many rows have been read, how fast, and how long the rest takes."""

    def __init__(self, what: str, parts: Sequence[Part], tell: Tell) -> None:
        self._what, self._n, self._tell = what, n_rows(parts), tell
        self._start = self._last = monotonic()
        self._done = 0

    def __call__(self, n_rows: int) -> None:
        """Count some more rows."""
        self._done += n_rows
        now = monotonic()
        if now - self._last < OFTEN and self._done < self._n:
            return
        self._last = now
        rate = self._done / max(now - self._start, 1e-3)
        left = max(0.0, self._n - self._done) / rate
        rest = f", {left:,.0f} s left" if left else ""
        self._tell(f"{self._what}: {self._done:,} of {self._n:,} rows, {rate:,.0f} a second{rest}.")


def n_rows(parts: Sequence[Part]) -> int:
    """Number of rows of all parts."""
    return sum(part.piece.rows for part in parts)
