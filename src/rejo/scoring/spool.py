"""Decisions on disk until the last case is read, because only then is the review order known."""

import json
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Self

import numpy as np

from rejo._errors import RejoError
from rejo.scoring.deciding import INDICES, DecidedRows, RankedRows, ScoredRows
from rejo.scoring.names import packed, unpacked
from rejo.scoring.ranking import Candidates, ranks_of
from rejo.tables import Doubt


class Spool:
    """Decisions in a temporary file, with only candidates for a review in memory.

    It holds 10 bytes for each of them, 40 while the ranks are computed.
    """

    def __init__(self) -> None:
        self._candidates: list[Candidates] = []

    def __enter__(self) -> Self:
        self._file: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_parts(self) -> int:
        """Number of parts that will come back."""
        return max(1, len(self._candidates))

    def add(self, decided: DecidedRows) -> None:
        """Store the decisions on the next cases."""
        self._candidates.append(decided.candidates())
        try:
            store(ScoredRows(decided, {}, []), self._file)
        except OSError as error:
            raise RejoError(
                f"{tempfile.gettempdir()} is full ({error.strerror}): decisions are kept there "
                "until the last case is read. Set TMPDIR to a folder with more space, or split "
                "the table"
            ) from None

    def parts(self, capacity: int | None = None, held: str = "") -> Iterator[RankedRows]:
        """All decisions with their ranks, of at most ``capacity`` reviews; see :func:`ranks_of`.

        If they are ``held``, for this reason, all cases go to review.
        There is always a part, if only an empty one.
        """
        ranks = ranks_of(Candidates.joined(self._candidates), capacity)
        self._file.seek(0)
        first = done = 0
        last = int(np.abs(ranks).max(initial=0))
        for candidates in self._candidates:
            decided, end = restore(self._file).decided, done + len(candidates.reason)
            part = decided.ranked(ranks[done:end], first)
            if held:
                n_decided = int((part.cases["decision"] >= 0).sum())
                part, last = part.held(held, last), last + n_decided
            yield part
            first, done = first + len(decided.drawn), end
        if not self._candidates:
            yield NOTHING_DECIDED.ranked(ranks, 0)


def store(scored: ScoredRows, file: IO[bytes]) -> None:
    """Write what was made of a chunk: a line of JSON says what follows, then arrays as they are."""
    decided = scored.decided
    names, arrays = packed(decided.names), {**decided.cases, "drawn": decided.drawn}
    texts = (decided.details, decided.why, scored.doubts)
    head = {
        "rows": len(decided.drawn),
        "names": len(names),
        "arrays": {name: values.dtype.str for name, values in arrays.items()},
        "texts": [[list(said), list(said.values())] for said in texts],
        "unknown": scored.unknown,
    }
    file.write(json.dumps(head).encode() + b"\n")
    file.write(names)
    for values in arrays.values():
        file.write(np.ascontiguousarray(values).data)


def restore(file: IO[bytes]) -> ScoredRows:
    """Read what was written next; at the end of the file, an ``EOFError``."""
    if not (line := file.readline()):
        raise EOFError
    head = json.loads(line)
    names = unpacked(file.read(head["names"]))
    arrays = {
        name: np.frombuffer(file.read(head["rows"] * np.dtype(type).itemsize), type)
        for name, type in head["arrays"].items()
    }
    details, why, doubts = (dict(zip(*said, strict=True)) for said in head["texts"])
    found = {row: [Doubt(*doubt) for doubt in said] for row, said in doubts.items()}
    decided = DecidedRows(names, arrays, arrays.pop("drawn"), details, why)
    return ScoredRows(decided, found, head["unknown"])


def _nothing() -> DecidedRows:
    empty: dict[str, Any] = {"sureness": np.empty(0), "reason": np.empty(0, np.int8)}
    empty |= {name: np.empty(0, np.int16) for name in INDICES}
    return DecidedRows(None, empty, np.empty(0, bool), {}, {})


NOTHING_DECIDED = _nothing()
