"""Write a table in chunks: at the end the whole file is there, or nothing."""

import gzip
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO, Self, cast

from rejo._io import WholeFile
from rejo.tables._csv_lines import lines_of
from rejo.tables._csv_texts import texts_of_cells, written
from rejo.tables._excel_writer import ExcelSink
from rejo.tables._sinks import SLAB, JsonSink, ParquetSink, Sink, SqlSink
from rejo.tables.errors import listed, pyarrow_if_there
from rejo.tables.sources import output_format

FEWEST = 1000  # rows of a frame that pyarrow writes faster than Python


class TableWriter:
    r"""Write a table to a file or a database, one frame after the other.

    CSV is in UTF-8 with commas; text there that a spreadsheet would run as a formula gets an
    apostrophe before it.  A file is written under a hidden name and moved into place when it is
    complete; a table of a database is written in one transaction.  After an error nothing is left.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output. The ending gives the format: ``.csv``, ``.csv.gz``, ``.tsv``,
        ``.jsonl`` or ``.ndjson``, ``.xlsx``, ``.parquet`` or ``.pq`` (needs ``rejo[parquet]``);
        others are refused. ``sqlite:///loans.db#decisions`` or
        ``postgresql://user@host/name#decisions`` is a table of a database (needs ``rejo[sql]``).
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
        if format == "sql":
            self._sink = SqlSink(self.path, overwrite=self.overwrite)
            self._exit.push(self._complete)
            return self
        if self.path == "-":
            file: Any = sys.stdout.buffer
        else:
            file = self._exit.enter_context(WholeFile(self.path, overwrite=self.overwrite))
        self._exit.push(self._complete)
        self._sink = SINKS[format](file, self.path)
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
        self._sink.write(frame.set_axis(columns, axis=1))

    def _complete(self, kind: type[BaseException] | None, *_: Any) -> None:
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if kind is None:
            sink.close()
        else:
            sink.abandon()

    def __exit__(self, *raised: Any) -> None:
        self._exit.__exit__(*raised)


class CsvSink(Sink):
    """A CSV file; also with tabs, and packed."""

    def __init__(self, file: BinaryIO, name: str = "-") -> None:
        self._target = self._file = file
        lower = name.lower()
        if lower.endswith(".gz"):  # the same rows give the same bytes
            self._file = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        self._sep = "\t" if lower.removesuffix(".gz").endswith(".tsv") else ","
        self._is_new = True
        self._workers: ThreadPoolExecutor | None = None

    def write(self, frame: Any) -> None:
        columns = list(frame.columns)
        alone = len(columns) == 1
        if self._is_new:
            self._is_new = False
            self._write_lines([self._sep.join(written(columns, alone))])
        parts = [frame.iloc[start : start + SLAB] for start in range(0, len(frame), SLAB)]
        if len(frame) >= FEWEST and not alone and (pa := pyarrow_if_there()) is not None:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(pa.cpu_count(), "rejo-csv")
            # The caller may change the frame afterwards: all of it is written before this returns.
            for lines in self._workers.map(partial(lines_of, sep=self._sep, pa=pa), parts):
                self._file.write(lines)
            return
        for part in parts:
            cells = [texts_of_cells(part.iloc[:, i], alone) for i in range(len(columns))]
            self._write_lines(map(self._sep.join, zip(*cells, strict=True)))

    def _write_lines(self, lines: Iterable[str]) -> None:
        text = "".join([line + "\n" for line in lines])
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        self.abandon()
        if self._file is not self._target:
            self._file.close()
        self._target.flush()

    def abandon(self) -> None:
        if self._workers is not None:
            self._workers.shutdown(cancel_futures=True)


SINKS: dict[str, Any] = {
    "csv": CsvSink,
    "json": JsonSink,
    "excel": ExcelSink,
    "parquet": ParquetSink,
}
