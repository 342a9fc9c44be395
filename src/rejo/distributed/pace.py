"""How fast rows are read, and how long the rest takes."""

from collections.abc import Callable, Sequence
from time import monotonic

from rejo.distributed.out_of_core import Part

OFTEN = 5.0  # seconds between two lines
Tell = Callable[[str], None]


class Pace:
    """Tells how many rows have been read, how fast, and how long the rest takes."""

    def __init__(self, what: str, n_rows: int, tell: Tell) -> None:
        self._what, self._n, self._tell = what, n_rows, tell
        self._start = self._last = monotonic()
        self._done = 0

    def __call__(self, n_rows: int) -> None:
        """Count rows that have been read."""
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
