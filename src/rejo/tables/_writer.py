"""Write a table in chunks: at the end the whole file is there, or nothing.

Text that a spreadsheet would run as a formula is made harmless.  When a CSV file is opened in a
spreadsheet, a cell that begins with one of ``= + - @``, a tab or a line end is run, or split; an
apostrophe before it makes it text.  Blanks and quotes in front do not protect, because some
programs drop them.  A plain number such as ``-5`` is not a formula.

Where lists are separated by semicolons or tabs, a spreadsheet splits ``a;=1+2`` in spite of the
quotes around it, because they are not at the beginning of what it takes for a cell.  So every part
of a text that could become a cell is treated in the same way: ``a;'=1+2``.
"""

import gzip
import os
import re
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, BinaryIO, Self, cast

import numpy as np

from rejo._errors import renamed
from rejo._io import WholeFile
from rejo.tables._sinks import SLAB, ExcelSink, JsonSink, ParquetSink, Sink, SqlSink
from rejo.tables.errors import import_pandas, listed
from rejo.tables.sources import output_format

SPECIAL = re.compile('[",\t\r\n]')
_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_INVISIBLE = '\\s"\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2060\\ufeff'
_SPLITS = ";\\t\\r\\n"
# A sign at the beginning of a part of a text, which ends where the text could be split.
_SIGNED = rf"(?:(?![{_SPLITS}])[{_INVISIBLE}])*[{_SIGNS}]"
FORMULA = re.compile(rf"(?:[\t\r\n]|[{_INVISIBLE}]*[{_SIGNS}])")
PART = re.compile(rf"(?<=[{_SPLITS}])(?={_SIGNED})[^{_SPLITS}]*")
NUMBER = re.compile(r" *[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)? *", re.ASCII)
# In cells joined by line ends: is there anything to look at?
_ANY = re.compile(rf"^(?:[\t\r]|{_SIGNED})", re.MULTILINE)


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

    @renamed(force="overwrite")
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

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""
        columns = list(frame.columns)
        alone = len(columns) == 1
        if self._is_new:
            self._is_new = False
            self._write_lines([self._sep.join(_written(columns, alone))])
        for start in range(0, len(frame), SLAB):
            part = frame.iloc[start : start + SLAB]
            cells = [_texts(part.iloc[:, i], alone) for i in range(len(columns))]
            self._write_lines(map(self._sep.join, zip(*cells, strict=True)))

    def _write_lines(self, lines: Iterable[str]) -> None:
        text = "".join([line + "\n" for line in lines])
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        """Complete the file."""
        if self._file is not self._target:
            self._file.close()
        self._target.flush()


SINKS: dict[str, Any] = {
    "csv": CsvSink,
    "json": JsonSink,
    "excel": ExcelSink,
    "parquet": ParquetSink,
}


def _texts(column: Any, alone: bool) -> list[str]:
    """Return the cells of a column as they are written."""
    pd = import_pandas("writing a table")
    types, dtype = pd.api.types, column.dtype
    empty, NA, NaT = '""' if alone else "", pd.NA, pd.NaT
    if types.is_float_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        texts = list(map(repr, values.tolist()))
        for i in np.flatnonzero(np.isnan(values)).tolist():
            texts[i] = empty
        return texts
    if types.is_integer_dtype(dtype) or types.is_bool_dtype(dtype):
        return [empty if value is NA else str(value) for value in column.tolist()]
    if types.is_datetime64_any_dtype(dtype):
        return [empty if value is NaT else value.isoformat() for value in column.tolist()]
    if isinstance(dtype, pd.CategoricalDtype) or column.iloc[:1000].nunique() <= 100:
        codes, found = pd.factorize(column)  # many cells, few values
        texts = _written([_text(value, pd) for value in found.tolist()], alone)
        return list(np.array([*texts, empty], dtype=object)[codes])
    return _written([_text(value, pd) for value in column.tolist()], alone)


def _text(value: Any, pd: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else str(value)


def _written(texts: list[str], alone: bool) -> list[str]:
    """Make texts harmless, and quote them where needed; fast if there is nothing to do.

    An empty cell alone in its row must not be a blank line.
    """
    together = "\n".join(texts)
    split = together.count("\n") >= max(len(texts), 1) or any(c in together for c in ";\t\r")
    if split or _ANY.search(together):
        texts = [_harmless(text) for text in texts]
    if not alone and not SPECIAL.search("".join(texts)):
        return texts
    return [
        '"' + text.replace('"', '""') + '"'
        if SPECIAL.search(text) or (alone and not text)
        else text
        for text in texts
    ]


def _harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run."""
    text = PART.sub(lambda part: _marked(part[0]), text)
    return _marked(text) if FORMULA.match(text) else text


def _marked(text: str) -> str:
    return text if NUMBER.fullmatch(text) else "'" + text
