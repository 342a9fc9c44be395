"""Parquet files: their columns have types already, which are converted to ours."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rejo.tables.columns import kind_of
from rejo.tables.errors import (
    TableError,
    check_columns,
    check_different,
    import_pandas,
    import_pyarrow,
    shown,
)
from rejo.tables.values import cells, check_size, word_of, words_of

ENDINGS = (".parquet", ".pq")


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a Parquet file, by its ending."""
    return Path(path).suffix.lower() in ENDINGS


def read_parquet(path: Path, text: Sequence[str]) -> Any:
    """Return a whole file as a DataFrame with the column types of a Table."""
    with open_parquet(path) as file:
        names = [name for name in file.schema_arrow.names if name]
        check_columns(str(path), text, names)
        frame = _frame(file.read(columns=names), str(path), text)
    pd = import_pandas()
    columns = {}
    for name in names:
        words = name in text or pd.api.types.is_timedelta64_dtype(frame[name].dtype)
        columns[name] = typed(frame[name], "text" if words else kind_of(frame[name]), str(path))
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def parquet_chunks(
    file: Any, path: str, columns: list[str], words: Sequence[str], rows: int
) -> Iterator[Any]:
    """Yield DataFrames of some columns, typed by pyarrow; integers among ``words`` as text."""
    pa = import_pyarrow()
    done = 0
    for batch in file.iter_batches(batch_size=rows, columns=columns):
        frame = _frame(pa.Table.from_batches([batch]), path, words)
        frame.index = range(done, done + len(frame))
        done += len(frame)
        yield frame
    if done == 0:
        yield _frame(file.schema_arrow.empty_table().select(columns), path, words)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a file; an error of pyarrow becomes a TableError."""
    pa = import_pyarrow()
    import_pandas()
    if path.is_dir():
        raise TableError("this is a folder", where=str(path), remedy="Name a file in it.")
    try:
        with path.open("rb") as stream:
            file = pa.parquet.ParquetFile(stream)
            check_different(str(path), file.schema_arrow.names)
            yield file
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())[:120]
        raise TableError(
            f"this is not a Parquet file, or it is damaged ({reason})",
            where=str(path),
            remedy="Write it again.",
        ) from None


def _frame(table: Any, name: str, words: Sequence[str]) -> Any:
    pa = import_pyarrow()
    for i, column in enumerate(table.schema):
        if column.name in words and pa.types.is_integer(column.type):
            # If some are missing, pandas would turn 7 into 7.0.
            table = table.set_column(i, column.name, table.column(i).cast(pa.string()))
        if pa.types.is_nested(column.type):
            raise TableError(
                f"its cells are of type {shown(column.type)}, not single values",
                where=f"{name}, column {shown(column.name)}",
                remedy="Leave the column out.",
            )
    return table.replace_schema_metadata(None).to_pandas(
        date_as_object=False, timestamp_as_object=False, ignore_metadata=True
    )


def typed(column: Any, kind: str, name: str) -> Any:
    """Return a Series as numbers, as dates, or as strings and None."""
    pd = import_pandas()
    if kind == "date":
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return column.astype("datetime64[us]")
    if kind == "number":
        values = check_size(
            pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan),
            lambda row: f"{name}, row {column.index[row] + 1}, column {shown(column.name)}",
        )
        return pd.Series(values, index=column.index, name=column.name)
    as_text = str if kind == "text" else word_of
    words = words_of(column, missing=("",), text=lambda value: as_text(value).strip())
    return pd.Series(cells(words), index=column.index, name=column.name, dtype=object)
