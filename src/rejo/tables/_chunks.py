"""Read the columns that a model needs in chunks, for prediction on files of any size."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rejo.tables._csv import CsvFile, open_csv
from rejo.tables._records import RowBlock
from rejo.tables._typed import frames
from rejo.tables.cells import Cells, as_kind
from rejo.tables.errors import TableError, check_columns, import_pandas
from rejo.tables.sources import format_of, open_typed
from rejo.tables.values import texts_of, words_of


def read_chunks(
    path: str | os.PathLike[str],
    encoder: Any,
    *,
    text: Iterable[str] = (),
    optional: Iterable[str] = (),
    rows: int = 100_000,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] = (),
    thousands: str | None = None,
    words: Iterable[str] = (),
    exact: bool = False,
    sheet: str | None = None,
    query: str | None = None,
) -> Iterator[Any]:
    r"""Read the columns that a fitted encoder needs, in chunks; memory use does not grow.

    Parameters
    ----------
    path : str or path-like
        As for :func:`read_table`.
    encoder : TableEncoder
        Fitted. Each of its columns is read as the kind that it had in training.
    text : iterable of str, default=()
        More columns to read as strings, as in :func:`read_table`.
    optional : iterable of str, default=()
        Columns of ``text`` that the file may lack.
    rows : int, default=100_000
        Maximum number of rows in a chunk.
    sep, decimal, encoding, missing, thousands, exact, sheet, query
        As for :func:`read_table`; this file need not be written like the training table.
    words : iterable of str, default=()
        Of no effect, as the kinds of the columns are known: the same options then suit training
        and prediction.

    Yields
    ------
    DataFrame
        Columns of the encoder, then those of ``text``.  The index numbers the data rows from 0.
        A column of ``text`` that the encoder uses is of the encoder's kind.  A file without rows
        gives one empty frame.

        A cell that is not the number or date that it must be stays a string; see
        :meth:`TableEncoder.check`.

    Raises
    ------
    TableError
        If a column is missing, or the file is damaged.

    See Also
    --------
    read_table : Read a whole table, for training.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables import TableEncoder, read_chunks
    >>> encoder = TableEncoder().fit(pd.DataFrame({"age": [31, 42, 53], "name": ["a", "b", "a"]}))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("id,name,age\n001,b,30\n002,c,40\n003,a,50\n")
    ...     for frame in read_chunks(path, encoder, text=["id"], rows=2):
    ...         print(frame["id"].tolist(), encoder.transform(frame).round(1).tolist())
    ['001', '002'] [[-1.3, 1.0], [-0.2, 0.0]]
    ['003'] [[0.9, 0.0]]
    """
    kept = [text] if isinstance(text, str) else list(dict.fromkeys(text))
    may_lack = {optional} if isinstance(optional, str) else set(optional)
    if rows < 1:
        raise ValueError(f"rows must be a positive integer, got {rows!r}")

    def kinds_of(name: str, there: list[str]) -> dict[str, str]:
        """Return the columns to read, and what they hold."""
        needed = [column for column in kept if column in there or column not in may_lack]
        check_columns(name, [*encoder.kinds_, *needed], there)
        return {**dict.fromkeys([*encoder.kinds_, *needed], "text"), **encoder.kinds_}

    if (format := format_of(path)) != "csv":
        with open_typed(path, format, sheet=sheet, query=query, encoding=encoding) as file:
            kinds = kinds_of(file.name, file.names)
            yield from frames(file, kinds, encoder.written_, rows, decimal=decimal, missing=missing)
        return
    with open_csv(path, sep=sep, decimal=decimal, encoding=encoding, missing=missing) as csv:
        typist = _Typist(csv, kinds_of(csv.name, csv.names), encoder.written_)
        block = None
        for block in csv.blocks(rows):
            frame = typist.frame(block)
            for start in range(0, len(frame), rows):
                yield frame.iloc[start : start + rows]
        if block is None:
            yield typist.frame(RowBlock(b"", 0, 0))


class _Typist:
    """Turns blocks of rows into frames with typed columns."""

    def __init__(
        self, file: CsvFile, kinds: dict[str, str], written: dict[str, dict[str, str]]
    ) -> None:
        self.file, self.kinds, self.written = file, kinds, written

    def frame(self, block: RowBlock) -> Any:
        pd = import_pandas()
        names = list(self.kinds)
        text = [name for name in names if self.kinds[name] == "text"]
        # Words as objects: pandas would read TRUE and 007 as categories that are not strings.
        objects = dict.fromkeys(names, object)
        numbers = {name: np.float64 for name in names if self.kinds[name] == "number"}
        try:
            found = self.file.parse(block, names, {**objects, **numbers}, text)
        except TableError:
            raise
        except (ValueError, TypeError):  # a cell is not a number: find it, or see it is missing
            found = self.file.parse(block, names, objects, text)
        index = pd.RangeIndex(block.row, block.row + len(found))
        columns = {
            # Otherwise pandas would give strings a type of its own.
            name: pd.Series(column, index, dtype=object if column.dtype == object else None)
            for name in names
            for column in [self._column(found[name], name)]
        }
        return pd.DataFrame(columns, index=index)

    def _column(self, column: Any, name: str) -> Any:
        kind = self.kinds[name]
        if kind == "text":
            return texts_of(column)
        if kind == "number" and column.dtype == np.float64:
            return np.asarray(column)
        found = Cells(words_of(column, self.file.missing))
        return as_kind(found, kind, self.written.get(name, {}), self.file.decimal)
