"""Tables as files, chunk after chunk: there whole at the end, or not at all."""

from __future__ import annotations

import os
import re
import sys
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from rejo._errors import renamed
from rejo._io import WholeFile
from rejo.tables._formulas import all_harmless
from rejo.tables._parquet import is_parquet
from rejo.tables.errors import import_pandas, import_pyarrow, listed

SPECIAL = re.compile('[",\r\n]')


class TableWriter:
    r"""Write a table, frame after frame, as CSV or Parquet.

    CSV is in UTF-8 with commas; texts that a spreadsheet would run as formulas get an apostrophe
    before them.  A file is written beside its place, under a hidden name, and moved there when all
    is written; after an error nothing is left.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; a name that ends in ``.parquet`` or ``.pq`` is a Parquet file
        (needs ``rejo[parquet]``).
    overwrite : bool, default=False
        Replace an existing file.

    Raises
    ------
    FileExistsError
        If the file exists and ``overwrite`` is False.

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
        self._parquet: Any = None
        self._file: BinaryIO | None = None
        self._whole = None if self.path == "-" else WholeFile(self.path, overwrite=overwrite)

    def __enter__(self) -> Self:
        self._file = sys.stdout.buffer if self._whole is None else self._whole.__enter__()
        return self

    def write(self, frame: Any) -> None:
        """Append the rows of a frame.

        Parameters
        ----------
        frame : DataFrame
            With the same columns each time; the index is not written.
        """
        if self._file is None:
            raise ValueError("a TableWriter is open within its with statement only")
        first = self._columns is None
        columns = [str(name) for name in frame.columns]
        if self._columns is None:
            self._columns = columns
        if columns != self._columns:
            raise ValueError(
                f"the columns must be the same in each frame: {listed(self._columns)}, got "
                f"{listed(columns)}"
            )
        if is_parquet(self.path) and self.path != "-":
            self._write_parquet(frame)
            return
        if first:
            self._put(_line(columns))
        if len(frame):
            self._put(_lines(frame))

    def _put(self, text: str) -> None:
        assert self._file is not None
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def _write_parquet(self, frame: Any) -> None:
        pa = import_pyarrow("writing a Parquet file")
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if self._parquet is None:
            found = pa.Schema.from_pandas(frame, preserve_index=False)
            # A column without a value in the first frame has one later, perhaps.
            fields = [
                pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in found
            ]
            self._parquet = pa.parquet.ParquetWriter(self._file, pa.schema(fields))
        schema = self._parquet.schema
        self._parquet.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        file, self._file = self._file, None
        try:
            if kind is None and file is not None:
                if self._parquet is not None:
                    self._parquet.close()
                file.flush()
        except BaseException as failure:
            kind, error, traceback = type(failure), failure, failure.__traceback__
            raise
        finally:
            if self._whole is not None:
                self._whole.__exit__(kind, error, traceback)


def _line(names: list[str]) -> str:
    return ",".join(_quoted(all_harmless(names), alone=len(names) == 1)) + "\n"


def _lines(frame: Any) -> str:
    alone = frame.shape[1] == 1
    columns = [_texts(frame.iloc[:, i], alone) for i in range(frame.shape[1])]
    return "\n".join(map(",".join, zip(*columns, strict=True))) + "\n"


def _texts(column: Any, alone: bool) -> list[str]:
    """Cells of a column as they stand in the file."""
    pd = import_pandas("writing a table")
    types, dtype = pd.api.types, column.dtype
    if types.is_float_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        texts = list(map(repr, values.tolist()))
        for i in np.flatnonzero(np.isnan(values)).tolist():
            texts[i] = '""' if alone else ""
        return texts
    if types.is_integer_dtype(dtype) and not column.isna().any():
        return list(map(str, column.tolist()))
    if types.is_integer_dtype(dtype) or types.is_bool_dtype(dtype):
        return ["" if value is pd.NA else str(value) for value in column.tolist()]
    if types.is_datetime64_any_dtype(dtype):
        return ["" if value is pd.NaT else value.isoformat() for value in column.tolist()]
    codes, found = pd.factorize(column) if _repeats(column) else (None, column.tolist())
    values = [_text(value, pd) for value in (found if codes is None else found.tolist())]
    texts = _quoted(all_harmless(values), alone)
    if codes is None:
        return texts
    empty = '""' if alone else ""
    return list(np.array([*texts, empty], dtype=object)[codes])


def _repeats(column: Any) -> bool:
    """Whether a look at the beginning says that few values come again and again."""
    pd = import_pandas("writing a table")
    return isinstance(column.dtype, pd.CategoricalDtype) or column.iloc[:1000].nunique() <= 100


def _text(value: Any, pd: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else str(value)


def _quoted(texts: list[str], alone: bool) -> list[str]:
    """Put quotes where they are needed; an empty cell alone in its row is no blank line."""
    if not alone and not SPECIAL.search("".join(texts)):
        return texts
    return [
        '"' + text.replace('"', '""') + '"'
        if SPECIAL.search(text) or (alone and not text)
        else text
        for text in texts
    ]
