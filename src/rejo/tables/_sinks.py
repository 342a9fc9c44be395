"""Formats that a table is written in, frame by frame: JSON, Parquet, databases.

CSV is in ``_writer``, Excel in ``_excel_writer``.  A column has the same type in every format:
strings, whole numbers, numbers, truth values or dates, by the type of the column in the first
frame; any cell may be missing.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np

from rejo.tables.errors import import_pandas, import_pyarrow

SLAB = 10_000  # rows that are Python values at a time
FEWEST = 1000  # rows that show whether a column repeats its values


def kinds_of(frame: Any) -> dict[str, str]:
    """Return for each column what it holds: integer, number, truth, date or text."""
    types = import_pandas("writing a table").api.types
    tests = {
        "truth": types.is_bool_dtype,
        "integer": types.is_integer_dtype,
        "number": types.is_float_dtype,
        "date": types.is_datetime64_any_dtype,
    }
    return {
        name: next((kind for kind, test in tests.items() if test(dtype)), "text")
        for name, dtype in frame.dtypes.items()
    }


def rows_of(frame: Any, kinds: dict[str, str]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows of Python values, some at a time; a missing value is None."""
    for start in range(0, len(frame), SLAB):
        part = frame.iloc[start : start + SLAB]
        columns = [_values(part.iloc[:, i], kind) for i, kind in enumerate(kinds.values())]
        yield list(zip(*columns, strict=True))


def _values(column: Any, kind: str) -> list[Any]:
    pd = import_pandas("writing a table")
    missing = column.isna().to_numpy()
    if kind == "date":
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        moments = pd.DatetimeIndex(column).to_pydatetime()
        return [None if value is pd.NaT else value for value in moments]
    if kind == "number":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan).tolist()
    else:
        values = column.tolist()
    if kind == "text":
        return [
            None if gap else value if isinstance(value, str) else str(value)
            for value, gap in zip(values, missing, strict=True)
        ]
    return [None if gap else value for value, gap in zip(values, missing, strict=True)]


class Sink:
    """Where frames with the same columns go."""

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""
        raise NotImplementedError

    def close(self) -> None:
        """Complete what was written."""

    def abandon(self) -> None:
        """Stop after an error."""


class ParquetSink(Sink):
    def __init__(self, file: BinaryIO, _: str = "") -> None:
        self._pa = import_pyarrow("writing a Parquet file")
        self._file = file
        self._writer: Any = None

    def write(self, frame: Any) -> None:
        table = self._pa.Table.from_pandas(frame, preserve_index=False)
        if self._writer is None:
            fields = [self._pa.field(f.name, self._plain(f.type)) for f in table.schema]
            self._writer = self._pa.parquet.ParquetWriter(
                self._file, self._pa.schema(fields), use_dictionary=_repeating(frame)
            )
        self._writer.write_table(table.cast(self._writer.schema))

    def _plain(self, type: Any) -> Any:
        """Return the type of a column in the file: all text is strings, also that of categories.

        A column without a value in the first frame may have one later.
        """
        types, string = self._pa.types, self._pa.string()
        if types.is_dictionary(type):
            type = type.value_type
        return string if types.is_null(type) or types.is_large_string(type) else type

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _repeating(frame: Any) -> bool | list[str]:
    """Return the columns that repeat their values; for others a dictionary only takes time."""
    if len(frame) < FEWEST:
        return True
    return [name for name in frame.columns if 4 * frame[name].nunique() <= len(frame)]


class JsonSink(Sink):
    def __init__(self, file: BinaryIO, _: str = "") -> None:
        self._file = file

    def write(self, frame: Any) -> None:
        kinds = kinds_of(frame)
        for rows in rows_of(frame, kinds):
            lines = [_line(dict(zip(kinds, row, strict=True))) for row in rows]
            self._file.write("".join(lines).encode("utf-8", "backslashreplace"))


def _line(row: dict[str, Any]) -> str:
    for name, value in row.items():
        if isinstance(value, float) and abs(value) == float("inf"):  # JSON has no such number
            row[name] = repr(value)
    return json.dumps(row, ensure_ascii=False, default=lambda date: date.isoformat()) + "\n"


class SqlSink(Sink):
    """A new table of a database, in one transaction."""

    def __init__(self, url: str, *, overwrite: bool) -> None:
        from rejo.tables._sql import Database, check_new_table

        self._database = Database(url)
        self._existed = not self._database.is_sqlite or self._database.path.exists()
        self._exit = ExitStack()
        try:
            self._connection = self._exit.enter_context(self._database.connect(write=True))
            self._transaction = self._connection.begin()
            if self._database.is_sqlite:
                self._connection.exec_driver_sql("BEGIN IMMEDIATE")
            self._place = check_new_table(self._database, self._connection, overwrite=overwrite)
            self._table: Any = None
        except BaseException:
            self.abandon()
            raise

    def write(self, frame: Any) -> None:
        with self._database.explained():
            if self._table is None:
                self._kinds = kinds_of(frame)
                self._table = self._create()
            for rows in rows_of(frame, self._kinds):
                keys = [f"c{i}" for i in range(len(self._kinds))]
                records = [dict(zip(keys, row, strict=True)) for row in rows]
                self._connection.execute(self._table.insert(), records)

    def _create(self) -> Any:
        from rejo.tables._sql import import_sqlalchemy

        sa = import_sqlalchemy()
        types = {
            "truth": sa.Boolean, "integer": sa.BigInteger, "number": sa.Double, "date": sa.DateTime,
            "text": sa.Text,
        }  # fmt: skip
        columns = [
            sa.Column(name, types[kind](), key=f"c{i}", quote=True)
            for i, (name, kind) in enumerate(self._kinds.items())
        ]
        place = self._place
        if place.kind == "old":
            self._connection.exec_driver_sql(f"DROP TABLE {place}")
        table = sa.Table(
            place.table, sa.MetaData(), *columns, schema=place.schema, quote=True, quote_schema=True
        )
        table.create(self._connection)
        return table

    def close(self) -> None:
        try:
            with self._database.explained():
                self._transaction.commit()
        except BaseException:
            self.abandon()
            raise
        self._exit.close()

    def abandon(self) -> None:
        self._exit.close()  # rolls back
        if not self._existed:
            for ending in ("", "-journal"):
                if os.path.exists(path := f"{self._database.path}{ending}"):
                    os.unlink(path)
