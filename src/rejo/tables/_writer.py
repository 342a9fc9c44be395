"""Write a table in chunks: at the end the whole file is there, or nothing.

When a CSV file is opened in a spreadsheet, a cell that begins with one of ``= + - @``, a tab or a
line end is run, or split; an apostrophe before it makes it text.  Blanks and quotes in front do not
protect, because some programs drop them.  A plain number such as ``-5`` is not a formula.  Where
lists are separated by semicolons or tabs, a spreadsheet splits ``a;=1+2`` in spite of the quotes
around it.  So every part of a text that could become a cell is treated alike: ``a;'=1+2``.
"""

import gzip
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from itertools import chain
from typing import Any, BinaryIO, Self, cast

from rejo._errors import optional
from rejo._io import WholeFile
from rejo.tables.errors import TableError, import_pyarrow, import_sqlalchemy, listed
from rejo.tables.sources import output_format

SLAB = 10_000  # rows that are written at a time
FEWEST = 1000  # rows that show whether a column repeats its values
QUOTED = re.compile('[",\t\r\n]')
_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_INVISIBLE = '\\s"\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2060\\ufeff'
_SPLITS = ";\\t\\r\\n"
# A sign at the beginning of a part of a text, which ends where the text could be split.
_SIGNED = rf"(?:(?![{_SPLITS}])[{_INVISIBLE}])*[{_SIGNS}]"
FORMULA = re.compile(rf"(?:[\t\r\n]|[{_INVISIBLE}]*[{_SIGNS}])")
PART = re.compile(rf"(?<=[{_SPLITS}])(?={_SIGNED})[^{_SPLITS}]*")
NUMBER = re.compile(r" *[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)? *", re.ASCII)
# A text that may need quotes, be split by a spreadsheet, or be a formula.
DOUBTFUL = r'^[^a-zA-Z0-9]|[",;\t\r\n]'
ROWS, LONGEST = 1 << 20, 32_767  # of a sheet, and characters in a cell of Excel


class TableWriter:
    r"""Write a table to a file or a database, one frame after the other.

    CSV is in UTF-8 with commas; text there that a spreadsheet would run as a formula gets an
    apostrophe before it.  A file is moved into place when it is complete; a table of a database is
    written in one transaction.  After an error nothing is left.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output. The ending gives the format: ``.csv``, ``.csv.gz``, ``.tsv``,
        ``.jsonl`` or ``.ndjson``, ``.xlsx``, ``.parquet`` or ``.pq``; a URL such as
        ``sqlite:///loans.db#decisions`` is a table of a database.
    overwrite : bool, default=False
        Replace an existing file or table.

    Raises
    ------
    FileExistsError
        If the file or the table exists and ``overwrite`` is False.
    TableError
        If the name does not say the format.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables import TableWriter
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "decisions.csv")
    ...     with TableWriter(path) as writer:
    ...         writer.write(pd.DataFrame({"id": ["a,b", "=1+2"], "risk": [0.5, None]}))
    ...     print(path.read_text())
    id,risk
    "a,b",0.5
    '=1+2,
    <BLANKLINE>
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = os.fspath(path)
        self.overwrite = overwrite
        self._columns: list[str] | None = None
        self._sink: Sink | None = None
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        format = output_format(self.path)
        file: Any = None
        if self.path == "-":
            file = sys.stdout.buffer
        elif format != "sql":
            file = self._exit.enter_context(WholeFile(self.path, overwrite=self.overwrite))
        self._exit.push(self._complete)
        self._sink = SINKS[format](file, self.path, self.overwrite)
        return self

    def write(self, frame: Any) -> None:
        """Append the rows of a DataFrame, without its index; the columns must stay the same."""
        if self._sink is None:
            raise ValueError("a TableWriter is open only within its with statement")
        columns = [str(name) for name in frame.columns]
        if self._columns is None:
            self._columns = columns
        if columns != self._columns:
            raise ValueError(
                f"the columns must be the same in each frame: {listed(self._columns)}; got "
                f"{listed(columns)}"
            )
        self._sink.write(_arrow(frame.set_axis(columns, axis=1)))

    def _complete(self, kind: type[BaseException] | None, *_: Any) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.close() if kind is None else sink.abandon()

    def __exit__(self, *raised: Any) -> None:
        self._exit.__exit__(*raised)


def _arrow(frame: Any) -> Any:
    """Return a frame as a table of pyarrow; cells of several types in a column become strings."""
    pa = import_pyarrow("writing a table")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError):  # also half a character
        texts = {
            name: frame[name].map(_text, na_action="ignore").astype(object)
            for name in frame.columns
            if frame[name].dtype.kind not in "biufM"
        }
        return pa.Table.from_pandas(frame.assign(**texts), preserve_index=False)


def _text(value: Any) -> str:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _rows(table: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield rows of Python values, some at a time; a missing value is None."""
    pa = import_pyarrow()
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):  # in UTC
            column = table.column(i).cast(pa.timestamp("us"), safe=False)
            table = table.set_column(i, field.name, column)
    for batch in table.to_batches(SLAB):
        yield batch.to_pylist()


class Sink:
    """Where tables with the same columns go: a file, or a table of a database."""

    def __init__(self, file: BinaryIO, name: str, overwrite: bool) -> None:
        self._file, self._name = file, name

    def write(self, table: Any) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Complete what was written."""

    def abandon(self) -> None:
        """Stop after an error."""


class CsvSink(Sink):
    def __init__(self, file: BinaryIO, name: str, overwrite: bool) -> None:
        super().__init__(file, name, overwrite)
        self._target = file
        if name.lower().endswith(".gz"):  # the same rows give the same bytes
            self._file = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        self._sep = "\t" if name.lower().endswith(".tsv") else ","
        self._is_new = True

    def write(self, table: Any) -> None:
        pa, alone = import_pyarrow(), table.num_columns == 1
        string = pa.large_string()
        if self._is_new:
            self._is_new = False
            names = [_written(_text(name), alone) for name in table.column_names]
            self._file.write((self._sep.join(names) + "\n").encode())
        for batch in table.to_batches(SLAB):
            columns = [_texts(column, alone) for column in batch.columns]
            lines = columns[0]
            if not alone:
                lines = pa.compute.binary_join_element_wise(*columns, pa.scalar(self._sep, string))
            # An empty text at the end, so that the last line has a line end, too.
            lines = pa.concat_arrays([lines, pa.array([""], string)])
            whole = pa.LargeListArray.from_arrays([0, len(lines)], lines)
            joined = pa.compute.binary_join(whole, pa.scalar("\n", string))
            self._file.write(memoryview(joined[0].as_buffer()))

    def close(self) -> None:
        if self._file is not self._target:
            self._file.close()
        self._target.flush()


def _texts(column: Any, alone: bool) -> Any:
    """Return the cells of a column as they are written; alone in its row, an empty one has quotes.

    Few different words are looked up by their codes.
    """
    pa = import_pyarrow()
    types, string, type = pa.types, pa.large_string(), column.type
    empty = '""' if alone else ""
    if types.is_integer(type) or types.is_floating(type):
        return column.cast(string).fill_null(empty)
    if not types.is_dictionary(type):
        if not (types.is_string(type) or types.is_large_string(type)):
            cells = column.to_pylist()
            column = pa.array([None if cell is None else _text(cell) for cell in cells], string)
        column = column.cast(string).fill_null("")
        look = pa.compute.match_substring_regex(column, DOUBTFUL)
        if not alone and not pa.compute.any(look).as_py():
            return column
        column = column.dictionary_encode()
    words = [_written(_text(word), alone) for word in column.dictionary.to_pylist()]
    return pa.array([*words, empty], string).take(column.indices.fill_null(len(words)))


def _written(text: str, alone: bool) -> str:
    """Make a text harmless, and quote it where needed; alone, it must not be a blank line."""
    text = PART.sub(lambda part: _marked(part[0]), text)
    text = _marked(text) if FORMULA.match(text) else text
    if QUOTED.search(text) or (alone and not text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _marked(text: str) -> str:
    return text if NUMBER.fullmatch(text) else "'" + text


class ParquetSink(Sink):
    _writer: Any = None

    def write(self, table: Any) -> None:
        pa = import_pyarrow()
        if self._writer is None:
            fields = [pa.field(f.name, self._plain(f.type, pa)) for f in table.schema]
            # For a column that hardly repeats its values a dictionary only takes time.
            n, names = table.num_rows, table.column_names
            few = [name for name in names if 4 * len(table[name].unique()) <= n]
            self._writer = pa.parquet.ParquetWriter(
                self._file, pa.schema(fields), use_dictionary=few if n >= FEWEST else True
            )
        self._writer.write_table(table.cast(self._writer.schema))

    def _plain(self, type: Any, pa: Any) -> Any:
        type = type.value_type if pa.types.is_dictionary(type) else type
        text = pa.types.is_null(type) or pa.types.is_large_string(type)
        return pa.string() if text else type

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class JsonSink(Sink):
    def write(self, table: Any) -> None:
        for rows in _rows(table):
            self._file.write("".join(map(_line, rows)).encode())


def _line(row: dict[str, Any]) -> str:
    for name, value in row.items():
        if isinstance(value, float) and abs(value) == float("inf"):  # JSON has no such number
            row[name] = repr(value)
    return json.dumps(row, ensure_ascii=False, default=_text) + "\n"


class ExcelSink(Sink):
    def __init__(self, file: BinaryIO, name: str, overwrite: bool) -> None:
        super().__init__(file, name, overwrite)
        xlsxwriter = optional("xlsxwriter", "a workbook", "XlsxWriter", "tables")
        self._book = xlsxwriter.Workbook(file, {"constant_memory": True})
        self._book.set_properties({"created": datetime(1980, 1, 1)})  # same rows, same bytes
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._day, self._moment = (
            self._book.add_format({"num_format": code})
            for code in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss")
        )
        self._n_rows = 0

    def write(self, table: Any) -> None:
        if not self._n_rows:
            bold = self._book.add_format({"bold": True})
            for i, name in enumerate(table.column_names):
                self._sheet.write_string(0, i, for_excel(name), bold)
            self._n_rows = 1
        if self._n_rows + table.num_rows > ROWS:
            raise TableError(
                f"an Excel sheet has at most {ROWS - 1:,} rows below its header",
                where=self._name,
                remedy="Write CSV or Parquet, or fewer cases.",
            )
        for row in chain.from_iterable(_rows(table)):
            for i, value in enumerate(row.values()):
                self._cell(self._n_rows, i, value)
            self._n_rows += 1

    def _cell(self, row: int, column: int, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, datetime) and value >= datetime(1900, 3, 1):
            code = self._day if value.time() == datetime.min.time() else self._moment
            self._sheet.write_datetime(row, column, value, code)
        elif isinstance(value, int | float) and abs(value) != float("inf"):
            self._sheet.write_number(row, column, value)
        else:
            self._sheet.write_string(row, column, for_excel(str(value)))

    def close(self) -> None:
        self._book.close()

    def abandon(self) -> None:
        self._book.fileclosed = True  # or it warns when it is collected
        with suppress(OSError):
            self._sheet._opt_close()


def for_excel(text: str) -> str:
    """Return a text as a cell can hold it."""
    text = re.sub("[\ufffe\uffff\x00]", "\ufffd", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


class SqlSink(Sink):
    def __init__(self, file: Any, name: str, overwrite: bool) -> None:
        from rejo.tables._sql import Database, check_new_table

        self._database = Database(name)
        self._existed = not self._database.is_sqlite or self._database.path.exists()
        self._exit, self._table = ExitStack(), cast(Any, None)
        with self._undone():
            self._connection = self._exit.enter_context(self._database.connect(write=True))
            self._transaction = self._connection.begin()
            if self._database.is_sqlite:
                self._connection.exec_driver_sql("BEGIN IMMEDIATE")
            self._place = check_new_table(self._database, self._connection, overwrite=overwrite)

    @contextmanager
    def _undone(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    def write(self, table: Any) -> None:
        with self._database.explained():
            if self._table is None:
                self._table = self._create(table.schema)
            for rows in _rows(table):
                records = [{f"c{i}": cell for i, cell in enumerate(row.values())} for row in rows]
                self._connection.execute(self._table.insert(), records)

    def _create(self, schema: Any) -> Any:
        sa, types = import_sqlalchemy(), import_pyarrow().types
        known = (
            (types.is_boolean, sa.Boolean), (types.is_integer, sa.BigInteger),
            (types.is_floating, sa.Double), (types.is_timestamp, sa.DateTime),
            (lambda _: True, sa.Text),
        )  # fmt: skip
        columns = []
        for i, field in enumerate(schema):
            type = next(own for fits, own in known if fits(field.type))
            columns.append(sa.Column(field.name, type(), key=f"c{i}", quote=True))
        place = self._place
        if place.kind == "table":
            self._connection.exec_driver_sql(f"DROP TABLE {place}")
        table = sa.Table(
            place.table, sa.MetaData(), *columns, schema=place.schema, quote=True, quote_schema=True
        )
        table.create(self._connection)
        return table

    def close(self) -> None:
        with self._undone(), self._database.explained():
            self._transaction.commit()
        self._exit.close()

    def abandon(self) -> None:
        self._exit.close()  # rolls back
        if not self._existed:
            for ending in ("", "-journal"):
                if os.path.exists(path := f"{self._database.path}{ending}"):
                    os.unlink(path)


SINKS: dict[str, type[Sink]] = {
    "csv": CsvSink, "excel": ExcelSink, "json": JsonSink, "parquet": ParquetSink, "sql": SqlSink,
}  # fmt: skip
