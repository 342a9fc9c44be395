"""Read the columns that a model needs in chunks, for prediction on files of any size."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rejo.tables._bytes import name_of
from rejo.tables._csv import CsvFile, open_csv
from rejo.tables._csv_arrow import ArrowParser
from rejo.tables._records import RowBlock
from rejo.tables._typed import frames
from rejo.tables.dates import ISO, order_of
from rejo.tables.errors import TableError, check_columns
from rejo.tables.marks import OTHER, decimal_of, have_fractions
from rejo.tables.number_columns import shown_mark, unclear_words
from rejo.tables.sources import open_typed, source_format
from rejo.tables.spelling import spellings_known
from rejo.tables.typed_cells import Cells, as_kind
from rejo.tables.values import Words, frame_of, texts_of, words_of


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
    sep, decimal, encoding, missing, thousands
        As for :func:`read_table`; this file need not be written like the training table.
    words : iterable of str, default=()
        Of no effect, as the kinds of the columns are known: the same options then suit training
        and prediction.
    exact, sheet, query
        As for :func:`read_table`.

    Yields
    ------
    DataFrame
        Columns of the encoder, then those of ``text``.  The index numbers the data rows from 0.
        A column of ``text`` that the encoder uses is of the encoder's kind.  A file without rows
        gives one empty frame.

        A cell that is not the number or date that it must be stays a string; see
        :meth:`TableEncoder.check`.  If a few rows of a CSV file have too many or too few fields,
        ``frame.attrs["ragged"]`` gives their numbers of fields by index.

    Raises
    ------
    TableError
        If a column is missing, or the file is damaged.

    See Also
    --------
    read_table : Read a whole table, for training.
    TableWriter : Write decisions, one frame after the other.

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

    known = {} if exact else getattr(encoder, "learnt_", {})  # a model may come without an encoder
    spelled = {
        name: spellings_known(learnt["categories"])
        for name, learnt in known.items()
        if "categories" in learnt
    }
    learnt = getattr(encoder, "learnt_", {})
    usual = {name: found["fill"] for name, found in learnt.items() if "fill" in found}
    mark = decimal_of(decimal, thousands, name_of(path))
    if (format := source_format(path, sheet, query)) != "csv":
        with open_typed(path, format, sheet=sheet, query=query, encoding=encoding) as file:
            kinds = kinds_of(file.name, file.names)
            yield from frames(
                file, kinds, encoder.written_, rows,
                decimal=mark, missing=missing, spelled=spelled, usual=usual,
            )  # fmt: skip
        return
    with open_csv(path, sep=sep, decimal=mark, encoding=encoding, missing=missing) as csv:
        kinds = kinds_of(csv.name, csv.names)
        typist = _Typist(csv, kinds, encoder.written_, spelled, mark, usual)
        block = None
        for block in csv.blocks(rows, keep_ragged=True):
            frame = typist.frame(block)
            for start in range(0, len(frame), rows):
                yield frame.iloc[start : start + rows]
        if block is None:
            yield typist.frame(RowBlock(b"", 0, 0))


class _Typist:
    """Turns blocks of rows into frames with typed columns.

    How this file is written shows in its first block; what does not is as in training.
    """

    def __init__(
        self,
        file: CsvFile,
        kinds: dict[str, str],
        written: dict[str, dict[str, str]],
        spelled: dict[str, dict[str, str]],
        decimal: str | None,
        usual: dict[str, float],
    ) -> None:
        self.file, self.kinds, self.spelled = file, kinds, spelled
        plain = {"number": {"decimal": ".", "unit": ""}, "date": {"format": ISO}}
        # Here, which may not be as in training.
        self.written = {n: plain.get(kind, {}) | written.get(n, {}) for n, kind in kinds.items()}
        self.decimal = decimal  # that the user gives
        self.numbers = [name for name, kind in kinds.items() if kind == "number"]
        self.text = [name for name, kind in kinds.items() if kind == "text"]
        # Columns of numbers that pandas cannot read, or only with another decimal mark.
        self.as_words: set[str] = set()
        # Medians of training, for columns where they show that 2.100 may be two thousand.
        self.usual = {} if decimal else dict(usual)
        self.is_new = True
        self.arrow = ArrowParser(file)

    def frame(self, block: RowBlock) -> Any:
        found = self._found(block)
        frame = frame_of({name: self._column(found[name], name) for name in self.kinds}, block.row)
        if block.ragged:
            frame.attrs["ragged"] = {block.row + row: n for row, n in block.ragged.items()}
        return frame

    def _found(self, block: RowBlock) -> Any:
        """Return columns as they were found: numbers, texts, words, or strings of pandas."""
        numbers = [name for name in self.numbers if name not in self.as_words]
        found: Any = self.arrow.columns(block, self.kinds, numbers)
        if found is None:
            found = self._parsed(block)
        if self.is_new and block.data:
            self.is_new = False
            found = self._settle(block, found)
        return found

    def _parsed(self, block: RowBlock) -> Any:
        """Return numbers where pandas reads them, and strings."""
        # Words as objects: pandas would read TRUE and 007 as categories that are not strings.
        names = list(self.kinds)
        objects = dict.fromkeys(names, object)
        numbers = {name: np.float64 for name in self.numbers if name not in self.as_words}
        try:
            return self.file.parse(block, names, {**objects, **numbers}, self.text, self.numbers)
        except TableError:
            raise
        except (ValueError, TypeError):  # a cell is not a number as pandas reads them
            found = self.file.parse(block, names, objects, self.text, self.numbers)
        for name in numbers:
            try:
                self.file.parse(block, [name], {name: np.float64}, (), [name])
            except (ValueError, TypeError):
                self.as_words.add(name)
        return found

    def _column(self, column: Any, name: str) -> Any:
        kind = self.kinds[name]
        if kind == "text":
            return column if isinstance(column, np.ndarray) else texts_of(column)
        if kind == "number" and not isinstance(column, Words) and column.dtype == np.float64:
            return np.asarray(column)
        found, how = Cells(self._words(column)), self.written[name]
        mark, spelled = how.get("decimal", "."), self.spelled.get(name, {})
        return as_kind(found, kind, how, mark, spelled, self.usual.get(name))

    def _words(self, column: Any) -> Words:
        return column if isinstance(column, Words) else words_of(column, self.file.missing)

    # ---- how this file is written --------------------------------------------------------------

    def _settle(self, block: RowBlock, found: Any) -> Any:
        """Find the decimal marks of columns, and the order of day and month, in the first block."""
        for name, kind in self.kinds.items():
            if kind == "date":
                words = self._words(found[name]).words
                self.written[name]["format"] = order_of(words, self.written[name]["format"])
        expected = {name: self.written[name]["decimal"] for name in self.numbers}
        unclear = self.file.unclear(self.file.mark_columns(block)) if self.numbers else set()
        sniffed = self.file.decimal
        marks: dict[str, str] = {}  # that cells show
        for name in self.numbers:
            column = found[name]
            if column.dtype != np.float64 or (name in unclear and expected[name] != sniffed):
                mark = self._mark(block, name)
            else:
                fractions = have_fractions(np.asarray(column)).any()
                mark = sniffed if fractions and name not in unclear else None
            if mark:
                marks[name] = mark
        if self.decimal:
            expected = dict.fromkeys(expected, self.decimal)
        elif marks and all(mark != expected[name] for name, mark in marks.items()):
            # Written otherwise than the training table, also where no cell shows it.
            expected = {name: OTHER[mark] for name, mark in expected.items()}
        again = False
        for name in self.numbers:
            mark = marks.get(name) or expected[name]
            if mark != sniffed and name not in marks and found[name].dtype == np.float64:
                mark = self._mark(block, name) or mark
            self.written[name]["decimal"] = mark
            may_be = name in unclear or found[name].dtype != np.float64
            is_unclear = may_be and name not in marks and self._is_unclear(block, name)
            if not is_unclear:
                self.usual.pop(name, None)
            if mark != sniffed or is_unclear:
                again |= name in unclear
                self.as_words.add(name)
        return self._parsed(block) if again else found

    def _mark(self, block: RowBlock, name: str) -> str | None:
        """Return the decimal mark that the cells of a column can only have; None without any."""
        column = self.file.parse(block, [name], {name: object})[name]
        return shown_mark(words_of(column, self.file.missing), self.written[name]["decimal"])

    def _is_unclear(self, block: RowBlock, name: str) -> bool:
        """Return whether cells such as 2.100 may be thousands, though they were not in training."""
        if name not in self.usual:
            return False
        words = words_of(self.file.parse(block, [name], {name: object})[name], self.file.missing)
        return bool(unclear_words(words, self.written[name]["decimal"], self.usual[name]))
