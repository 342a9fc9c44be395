"""The columns that a model needs, chunk by chunk: for prediction on files of any size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rejo.tables._csv import CsvFile, open_csv
from rejo.tables._parquet import is_parquet, parquet_chunks, parquet_names, typed
from rejo.tables._records import Block
from rejo.tables.dates import example, parse_dates
from rejo.tables.errors import TableError, check_columns, import_pandas, shown
from rejo.tables.words import TOO_LARGE, Words, number, spread, texts_of, too_large, words_of


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
) -> Iterator[Any]:
    r"""Read what a fitted encoder needs of a table, in pieces; memory does not grow with the file.

    Parameters
    ----------
    path : str or path-like
        As for :func:`read_table`.
    encoder : TableEncoder
        Fitted; its columns are read, each as the kind it was in training.
    text : iterable of str, default=()
        Further columns, as the strings that stand in the file, without blanks around them.  They
        are names, so that ``NA`` or ``?`` is one as well: only an empty cell is missing (None).
    optional : iterable of str, default=()
        Those of ``text`` that the file may lack.
    rows : int, default=100_000
        The most rows in a piece.
    sep, decimal, encoding : str, default=None
        As for :func:`read_table`; found for this file by itself.

    Yields
    ------
    DataFrame
        Columns of the encoder, then those of ``text``; at least one frame, if without rows.  The
        index is the number of the data row, from 0 on.  A column of ``text`` that is one of the
        encoder's as well is of the encoder's kind.

    Raises
    ------
    TableError
        If a column is missing, or a cell is no number or no date where one is needed.

    See Also
    --------
    read_table : A whole table, for training.

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
        raise ValueError(f"rows must be 1 or more, got {rows!r}")
    if is_parquet(path):
        yield from _of_parquet(Path(path), encoder, kept, may_lack, rows)
        return
    with open_csv(path, sep=sep, decimal=decimal, encoding=encoding) as file:
        needed = [name for name in kept if name in file.names or name not in may_lack]
        check_columns(file.name, [*encoder.kinds_, *needed], file.names)
        typist = _Typist(file, encoder, [name for name in needed if name not in encoder.kinds_])
        some = False
        for block in file.blocks(rows):
            frame = typist.frame(block)
            for start in range(0, len(frame), rows):
                some = True
                yield frame.iloc[start : start + rows]
        if not some:
            yield typist.empty()


class _Typist:
    """Makes typed frames of blocks of rows."""

    def __init__(self, file: CsvFile, encoder: Any, text: list[str]) -> None:
        self.file = file
        self.kinds = {**encoder.kinds_, **dict.fromkeys(text, "text")}
        self.formats = encoder.date_formats_
        self.text = text
        # Words as objects: of TRUE and 007 pandas would make categories that are no strings.
        self.types = {
            name: np.float64 if kind == "number" else object for name, kind in self.kinds.items()
        }

    def frame(self, block: Block) -> Any:
        pd = import_pandas("reading a table")
        names = list(self.kinds)
        try:
            found = self.file.parse(block, names, self.types, self.text)
        except TableError:
            raise
        except (ValueError, TypeError):  # a cell is no number: find it, or see that it is missing
            found = self.file.parse(block, names, dict.fromkeys(names, object), self.text)
        index = pd.RangeIndex(block.row, block.row + len(found))
        columns = {
            # Else pandas would make its own type of what are texts.
            name: pd.Series(column, index, dtype=object if self.kinds[name] == "text" else None)
            for name in names
            for column in [self._column(found[name], block, name)]
        }
        return pd.DataFrame(columns, index=index)

    def empty(self) -> Any:
        pd = import_pandas("reading a table")
        dates = {"date": "datetime64[us]", "number": np.float64}
        return pd.DataFrame(
            {name: pd.Series(dtype=dates.get(kind, object)) for name, kind in self.kinds.items()},
            index=pd.RangeIndex(0),
        )

    def _column(self, column: Any, block: Block, name: str) -> Any:
        pd = import_pandas("reading a table")
        kind = self.kinds[name]
        if kind == "number":
            if column.dtype != np.float64:
                words = words_of(column)
                values = [number(word, self.file.decimal) for word in words.words]
                self._refuse(words, [v is None for v in values], block, name, "is no number")
                column = spread(np.array(values, dtype=np.float64), words, np.nan)
            column = np.asarray(column)
            if len(rows := too_large(column)):
                where = self.file.place(block, int(rows[0]))
                raise TableError(f"{where}, column {shown(name)}: {TOO_LARGE}")
            return column
        if kind == "text":
            return texts_of(column)
        words = words_of(column)
        if kind == "date":
            dates = parse_dates(words.words, self.formats[name])
            wrong = f"is no date such as {example(self.formats[name])}"
            self._refuse(words, np.isnat(dates), block, name, wrong)
            return spread(dates, words, np.datetime64("NaT", "us"))
        return pd.Categorical.from_codes(words.codes, pd.Index(words.words, dtype=object))

    def _refuse(self, words: Words, bad: Any, block: Block, name: str, what: str) -> None:
        wrong = np.append(np.asarray(bad, dtype=bool), False)[words.codes]
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise TableError(
                f"{self.file.place(block, row)}, column {shown(name)}: "
                f"{shown(words.words[words.codes[row]])} {what}; correct the cell, or leave it "
                "empty if the value is missing"
            )


def _of_parquet(
    path: Path, encoder: Any, text: list[str], may_lack: set[str], rows: int
) -> Iterator[Any]:
    pd = import_pandas("reading a table")
    there = parquet_names(path)
    needed = [name for name in text if name in there or name not in may_lack]
    kinds = {**dict.fromkeys(needed, "text"), **encoder.kinds_}
    kinds = {name: kinds[name] for name in [*encoder.kinds_, *kinds]}
    words = [name for name, kind in kinds.items() if kind in ("text", "category")]
    for frame in parquet_chunks(path, list(kinds), words, rows):
        columns = {}
        for name, kind in kinds.items():
            format = encoder.date_formats_.get(name)
            try:
                column = _as_dates(frame[name], format) if kind == "date" else frame[name]
                columns[name] = typed(column, kind, str(path))
            except TableError:
                raise
            except (ValueError, TypeError) as error:
                first = frame.index[0] + 1 if len(frame) else 1
                raise TableError(
                    f"{path}, rows from {first} on, column {shown(name)}: not all cells are a "
                    f"{kind} ({' '.join(str(error).split())[:100]}); correct them"
                ) from None
        yield pd.DataFrame(columns, index=frame.index)


def _as_dates(column: Any, format: str | None) -> Any:
    """Return strings in a Parquet file as dates; what is of another type must be dates."""
    pd = import_pandas("reading a table")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    words = words_of(column)
    dates = parse_dates(words.words, format or "%Y-%m-%d")
    if np.isnat(dates).any():
        raise ValueError(f"{shown(words.words[int(np.isnat(dates).argmax())])} is no date")
    return pd.Series(spread(dates, words, np.datetime64("NaT", "us")), index=column.index)
