"""What a study is to those who run it and keep its rows: cells to compute, and columns to fill."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

Cell = (
    Any  # a named tuple with the fields ``dataset`` and ``repetition``, which can be computed alone
)


class StudyPlan(Protocol):
    """An experiment: a frozen dataclass whose parameters JSON can hold.

    ``KIND`` tells its files from those of other experiments.  ``CELL`` is the type of its cells.
    ``COLUMNS`` are the names and types of a row, first those of ``KEY``, which begins with the
    fields of the cell; those in ``OPTIONAL`` may be None.  The last one is ``code``, which is
    filled by :func:`rejo.study.run`.
    """

    KIND: ClassVar[str]
    CELL: ClassVar[Any]
    COLUMNS: ClassVar[Mapping[str, type]]
    KEY: ClassVar[tuple[str, ...]]
    OPTIONAL: ClassVar[tuple[str, ...]]

    @property
    def datasets(self) -> Sequence[str]: ...

    @property
    def repetitions(self) -> int: ...

    def cells(self) -> Iterator[Cell]: ...

    def params(self) -> dict[str, Any]: ...

    def load(self, dataset: str, data_home: str | os.PathLike[str] | None = None) -> Any:
        """Read what the cells of a data set need; FileNotFoundError if it is not there."""
        ...

    def compute(self, cell: Cell, table: Any) -> list[dict[str, Any]]:
        """Return the rows of a cell; apart from times they depend on nothing else."""
        ...
