"""Training in this process; a place elsewhere does the same passes in its own way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rejo.distributed.legs import Left, Leg, grow_in_legs, left_by
from rejo.distributed.out_of_core import (
    Part,
    RowLayout,
    Scored,
    StreamedRows,
    Survey,
    check_size,
    survey_part,
)
from rejo.estimators import Grower, Growth, Plan

OFTEN = 5.0  # seconds between two lines
Tell = Callable[[str], None]


@contextmanager
def place_of(client: Any) -> Iterator["Here"]:
    """Here without a client, else on its cluster; or what is given, if it is a place."""
    if client is None or isinstance(client, Here):
        yield client or Here()
        return
    from rejo.cluster import connect
    from rejo.distributed.on_dask import OnDask

    with connect(client) as connected:
        yield OnDask(connected)


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
    ) -> tuple[Growth, dict[int, Scored]]:
        """Grow trees; they, and the scores of the rows that were held out."""
        tell(f"Reading {n_rows(parts):,} rows, about four times.")
        rows = StreamedRows(layout, parts)
        grower = Grower(plan, rows.learning, rows.stopping, n_threads)

        def run(leg: Leg) -> list[Left]:
            start = monotonic()
            stage = grower.grow(leg.stage, leg.rounds)
            return [left_by(plan, stage, monotonic() - start, grower, rows)]

        leg = Leg("", {}, plan, layout, [])
        return grow_in_legs(leg._replace(rounds=None) if plan.samples else leg, run, tell)

    def alone(self, function: Callable[..., Any], *args: Any, tell: Tell) -> Any:
        """Return ``function(*args, tell)`` of work that cannot be divided."""
        return function(*args, tell)


class Pace:
    """Tells how many rows have been read, how fast, and how long the rest takes."""

    def __init__(self, what: str, n_rows: int, tell: Tell) -> None:
        self._what, self._n, self._tell = what, n_rows, tell
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
