"""What a model is trained on: Parquet files, or a Dask DataFrame."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rejo._errors import RejoError
from rejo.distributed.out_of_core import UNNAMED_INDEX, Part
from rejo.tables import (
    ParquetTable,
    RowGroup,
    TableError,
    check_columns,
    csv_stream,
    import_pyarrow,
    read_piece,
)


class Input(NamedTuple):
    """A table in parts."""

    parts: list[Part]
    columns: list[str]
    name: str  # for messages
    dtypes: Any = None  # of the columns of a DataFrame, by name

    def words(self, features: Sequence[str]) -> tuple[str, ...]:
        """Features that are categories: of pandas, or dictionaries in a file."""
        if self.dtypes is not None:
            return tuple(name for name in features if hasattr(self.dtypes[name], "categories"))
        piece = next(part.piece for part in self.parts if part.piece.rows)
        types, schema = import_pyarrow().types, read_piece(piece, features).schema
        return tuple(name for name in features if types.is_dictionary(schema.field(name).type))

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.piece.rows for part in self.parts)

    def features(
        self, target: str, together: str | None, columns: Sequence[str] | None
    ) -> tuple[str, ...]:
        """The columns to learn from: those that are named, or all that have no other role."""
        if together == target:
            raise RejoError(
                f"together={together!r} is the target too",
                parameter="together",
                remedy="Give the column of what belongs together, such as the customer.",
            )
        others = [target] if together is None else [target, together]
        check_columns(self.name, others, self.columns)
        if columns is None:
            found = [
                name
                for name in self.columns
                if name not in others and not UNNAMED_INDEX.match(name)
            ]
        else:
            found = [columns] if isinstance(columns, str) else list(columns)
            check_columns(self.name, found, self.columns)
            if target in found:
                raise RejoError(f"columns has the target {target!r}", parameter="columns")
        if not found:
            raise TableError("no column is left to learn from", where=self.name)
        return tuple(found)


def input_of(data: Any, client: Any) -> Input:
    """Read what there is to know about files, or about a Dask DataFrame, before their rows."""
    if hasattr(data, "map_partitions") and hasattr(data, "divisions"):
        return _of_frame(data, client)
    try:
        table = None if hasattr(data, "shape") else ParquetTable.of(data)  # a frame has names
    except TypeError:
        table = None
    if table is None:
        raise RejoError(
            f"data must name Parquet files or be a Dask DataFrame; got {type(data).__name__}",
            parameter="data",
            remedy="For a table in memory, use the method fit of the estimator.",
        )
    if not table.rows:
        raise TableError("the files have no rows", where=str(data), parameter="data")
    return Input([Part(piece) for piece in table.pieces], table.columns, str(data))


def of_csv(path: str, reading: dict[str, Any]) -> Input:
    """Count the rows of a CSV file, and read its header."""
    stream, columns = csv_stream(path, **reading)
    if not stream.rows:
        raise TableError("the file has no rows", where=path)
    return Input([Part(stream)], columns, path)


def _of_frame(data: Any, client: Any) -> Input:
    """Partitions of a Dask DataFrame: in the memory of the workers, or computed one by one here."""
    if client is None:
        frames = [one.compute(scheduler="synchronous") for one in data.partitions]
        sizes = [len(frame) for frame in frames]
    else:
        frames = client.compute(data.to_delayed())
        sizes = client.gather(client.map(len, frames, pure=False))
    parts, start = [], 0
    for number, (frame, size) in enumerate(zip(frames, sizes, strict=True)):
        parts.append(Part(RowGroup("", number, size, start), frame))
        start += size
    if not start:
        raise TableError("the DataFrame has no rows", where="data", parameter="data")
    return Input(parts, [str(name) for name in data.columns], "data", data.dtypes)
