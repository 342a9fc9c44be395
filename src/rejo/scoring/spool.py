"""Decisions on disk until the last case is read, because only then is the review order known."""

import tempfile
from collections.abc import Iterator
from typing import IO, Any, Self

from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo.scoring.cases import Cases, ranked, ranks_of


class Spool:
    """Cases in a temporary file, with only candidates for a review in memory.

    It holds 10 bytes for each of them, 40 while the ranks are computed.
    """

    def __init__(self) -> None:
        self._candidates: list[NDArray[Any]] = []

    def __enter__(self) -> Self:
        self._file: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_parts(self) -> int:
        """Number of parts that will come back."""
        return max(1, len(self._candidates))

    def add(self, cases: Cases) -> None:
        """Store the next cases."""
        self._candidates.append(cases.candidates())
        try:
            cases.store(self._file)
        except OSError as error:
            raise RejoError(
                f"{tempfile.gettempdir()} is full ({error.strerror}): decisions are kept there "
                "until the last case is read. Set TMPDIR to a folder with more space, or split "
                "the table"
            ) from None

    def parts(self, capacity: int | None = None, held: str = "") -> Iterator[Cases]:
        """All cases with their ranks, of at most ``capacity`` reviews; see :func:`ranked`."""
        ranks = ranks_of(self._candidates, capacity)
        self._file.seek(0)
        yield from ranked(self._file, ranks, held=held)
