"""What a model is trained on: Parquet files, or a CSV file."""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from rejo._errors import RejoError
from rejo.tables import ParquetTable, TableError, check_columns, csv_stream

UNNAMED_INDEX = re.compile(r"__index_level_\d+__$")  # how pandas stores it in a file


class Input(NamedTuple):
    """A table in pieces."""

    pieces: Sequence[Any]  # row groups, or a stream
    columns: list[str]
    name: str  # for messages

    @property
    def n_rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def features(
        self,
        target: str,
        together: str | None,
        columns: Sequence[str] | None = None,
        other: Collection[str] = (),
    ) -> tuple[str, ...]:
        """The columns to learn from: those that are named, or all that have no other role."""
        if together == target:
            raise RejoError(
                f"together={together!r} is the target too",
                parameter="together",
                remedy="Give the column of what belongs together, such as the customer.",
            )
        others = [name for name in (target, together, *other) if name is not None]
        check_columns(self.name, others, self.columns)
        if columns is None:
            free = [name for name in self.columns if name not in others]
            found = [name for name in free if not UNNAMED_INDEX.match(name)]
        else:
            found = [columns] if isinstance(columns, str) else list(columns)
            check_columns(self.name, found, self.columns)
            if target in found:
                raise RejoError(f"columns has the target {target!r}", parameter="columns")
        if not found:
            raise TableError("no column is left to learn from", where=self.name)
        return tuple(found)


def input_of(data: Any) -> Input:
    try:
        table = None if hasattr(data, "shape") else ParquetTable.of(data)  # a frame has names
    except TypeError:
        table = None
    if table is None:
        raise RejoError(
            f"data must name Parquet files; got {type(data).__name__}",
            parameter="data",
            remedy="For a table in memory, use the method fit of the estimator; write one of Dask "
            "by to_parquet.",
        )
    if not table.rows:
        raise TableError("the files have no rows", where=str(data), parameter="data")
    return Input(table.pieces, table.columns, str(data))


def of_csv(path: str, reading: dict[str, Any]) -> Input:
    stream, columns = csv_stream(path, **reading)
    if not stream.rows:
        raise TableError("the file has no rows", where=path)
    return Input([stream], columns, path)
