"""Read the columns that a model needs in chunks, for prediction on files of any size."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Indices
from rejo.tables.columns import AS_PYTHON, NOWHERE, read_column
from rejo.tables.dates import order_of, read_date
from rejo.tables.doubts import check_table
from rejo.tables.errors import PIECE, as_list, check_unpacked, import_pandas, import_pyarrow
from rejo.tables.numbers import (
    OTHER,
    NumberCounts,
    decimal_of,
    is_factor,
    plain_numbers,
    unclear_words,
)
from rejo.tables.pieces import RowGroup
from rejo.tables.sources import CELL, Piece, Source, name_of, open_source
from rejo.tables.values import (
    Column,
    Gaps,
    Share,
    Unclear,
    Unread,
    Words,
    bare,
    column_of,
    distinct,
    frame_of,
    known_spelling,
    lengths_of,
    spellings_known,
    spread,
    texts_in,
    typed_number,
    word_of,
    words_in,
)
from rejo.tables.watch import Finding

AS_WRITTEN = "\0as written: "  # before the name of a column that is a feature and text, too
MOST_PIECES = 10  # row groups of many files that are compared with training


def read_chunks(
    path: str | os.PathLike[str],
    encoder: Any,
    *,
    text: Iterable[str] = (),
    optional: Iterable[str] = (),
    rows: int = 100_000,
    **reading: Any,
) -> Iterator[Any]:
    r"""Read the columns that a fitted encoder needs, in chunks; memory use does not grow.

    What the training table was told about how to read it holds for this table too.

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
    **reading : dict
        Other options of :func:`read_table`.  ``missing`` adds to that of training, ``words`` has no
        effect, and the header is the first row that has the names of all columns that are needed.

    Yields
    ------
    DataFrame
        Columns of the encoder, then those of ``text``; the index numbers the data rows from 0.
        A column of ``text`` that the encoder uses is of the encoder's kind; as it is written, it
        has ``AS_WRITTEN`` before its name.  A file without rows gives one empty frame.

        A cell that is not the number or date that it must be stays a string; see
        :meth:`TableEncoder.check`.  Rows that cannot be right, such as one with too many fields,
        are in ``frame.attrs["doubts"]`` by index.

    Raises
    ------
    TableError
        If a column is missing, or the file is damaged.

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
    if rows < 1:
        raise ValueError(f"rows must be a positive integer, got {rows!r}")
    kept, may_lack = as_list(text), set(as_list(optional))
    told = getattr(encoder, "reading_", {})  # a model may come without an encoder
    reading.pop("words", None)
    mark = decimal_of(reading.pop("decimal", None), reading.pop("thousands", None), name_of(path))
    mark = mark or decimal_of(told.get("decimal"), told.get("thousands"), name_of(path))
    missing = [*as_list(reading.pop("missing", ())), *told.get("missing", ())]
    exact = reading.pop("exact", False) or told.get("exact", False)
    typist = _Typist(encoder, mark, Gaps.of(missing), exact)
    if reading.get("header", True) is True and told.get("header", True) is False:
        reading["header"] = False
    renamed = {**told.get("rename", {}), **(reading.pop("rename", None) or {})}
    need = [*typist.kinds, *(name for name in kept if name not in may_lack)]
    with open_source(path, rename=renamed, needed=need, **reading) as source:
        yield from typist.frames(source, [name for name in kept if name in source.names], rows)


def watch_files(
    pieces: Sequence[RowGroup], encoder: Any, **reading: Any
) -> tuple[list[Finding], Any]:
    """Compare the first chunks of some row groups with training; return also one of the chunks."""
    there = [piece for piece in pieces if piece.rows]
    watch, some = encoder.watch(), None
    for piece in there[:: max(1, len(there) // MOST_PIECES)]:
        chunk = next(read_chunks(piece, encoder, **reading))
        found = check_table(chunk, encoder.kinds_, encoder.written_, encoder.learnt_)
        encoder.add_rows(watch, found.frame)
        some = found.frame if some is None else some
    return watch.findings(), some


class _Typist:
    """Turns pieces of a table into frames with typed columns.

    How this table is written shows in its first piece; what does not is as in training.
    """

    def __init__(self, encoder: Any, decimal: str | None, gaps: Gaps, exact: bool) -> None:
        self.kinds: dict[str, str] = dict(encoder.kinds_)
        learnt = getattr(encoder, "learnt_", {})
        self.gaps, self.decimal = gaps, decimal
        # Here, which may not be as in training.
        self.written = {
            name: AS_PYTHON.get(kind, {}) | encoder.written_.get(name, {})
            for name, kind in encoder.kinds_.items()
        }
        self.spelled = {
            name: spellings_known(known["categories"])
            for name, known in learnt.items()
            if "categories" in known and not exact
        }
        # Medians of training, which show that 2.100 may be two thousand.
        self.usual = {name: known["fill"] for name, known in learnt.items() if "fill" in known}
        self.clear: set[str] = set()  # columns whose decimal mark shows

    def frames(self, source: Source, text: list[str], rows: int) -> Iterator[Any]:
        both = [name for name in text if name in self.kinds]
        self.kinds = {**dict.fromkeys([*self.kinds, *text], "text"), **self.kinds}
        exact = [name for name, kind in self.kinds.items() if kind in ("text", "category")]
        done = size = 0
        pieces = source.pieces(list(self.kinds), exact, rows)
        empty = {name: import_pyarrow().array([], "string") for name in self.kinds}
        first = next(pieces, Piece(0, empty))
        self._settle(first.columns)
        for n_rows, found, doubted in chain([first], pieces):
            columns = {name: self._column(name, found[name]) for name in self.kinds}
            for name in both:
                columns[AS_WRITTEN + name] = texts_in(found[name])
            frame = frame_of(columns, done)
            sizes = np.full(n_rows, CELL * len(self.kinds))
            if source.size is not None:  # what is packed may hold long words many times
                for name in (name for name in text if self.kinds[name] == "text"):
                    sizes += lengths_of(found[name])
                check_unpacked(size := size + int(sizes.sum()), source.size, source.name)
            doubts = {done + row: doubt for row, doubt in doubted.items()}
            for start, end in _within(sizes, rows):
                part = frame.iloc[start:end]
                if doubts:
                    part.attrs["doubts"] = doubts
                yield part
            done += n_rows

    # ---- how this table is written --------------------------------------------------------------

    def _settle(self, columns: Mapping[str, Any]) -> None:
        """Find the decimal marks of columns, and the order of day and month, in the first piece."""
        marks: dict[str, str | None] = {}
        for name, how in self.written.items():
            array = columns[name]
            plain = plain_numbers(array, self.gaps) if self.kinds[name] == "number" else None
            if plain is not None:
                marks[name] = plain[1]
            elif how and isinstance(column := column_of(array, self.gaps), Words):
                if self.kinds[name] == "number":
                    marks[name] = NumberCounts(column).proof(how["decimal"])
                else:
                    how["format"] = order_of(column.words, how["format"])
        shown = {name: mark for name, mark in marks.items() if mark}
        self.clear = set(shown)
        numbers = {name: how for name, how in self.written.items() if "decimal" in how}
        # Written otherwise than the training table, also where no cell shows it.
        swap = bool(shown) and all(mark != numbers[name]["decimal"] for name, mark in shown.items())
        for name, how in numbers.items():
            usual = OTHER[how["decimal"]] if swap else how["decimal"]
            how["decimal"] = shown.get(name) or self.decimal or usual

    def _column(self, name: str, array: Any) -> Any:
        kind, how = self.kinds[name], self.written.get(name, {})
        if kind == "text":
            return texts_in(array)
        if kind == "category":
            known = distinct(*words_in(array), self.gaps.words)
            codes, found = known_spelling(known, self.spelled.get(name, {}))
            pd = import_pandas()
            return pd.Categorical.from_codes(codes, pd.Index(found, dtype=object))
        column: Any = None
        unclear: Collection[str] = ()
        usual: Any = None if self.decimal else self.usual.get(name)
        look = kind == "number" and usual is not None and name not in self.clear
        if kind == "number" and not is_factor(how["unit"]):
            plain = plain_numbers(array, self.gaps, how["decimal"], look=look)
            column = None if plain is None else plain[0]
        if column is None:
            column = column_of(array, self.gaps)
            if look and isinstance(column, Words):
                unclear = unclear_words(column, how["decimal"], usual)
        values, unread, words, _ = read_column(column, kind, how, unclear)
        if kind == "date":
            unclear = [word for word in words if len(read_date(word)) > 1]
        shares = _shares(column, usual) if how.get("unit") == "%" else NOWHERE
        if not len(unread) and not len(shares):
            return values
        cells = values.astype(object)
        cells[unread] = [(Unclear if word in unclear else Unread)(bare(word)) for word in words]
        cells[shares] = [Share(word_of(share)) for share in cells[shares]]
        return cells


def _shares(column: Column, usual: float | None) -> Indices:
    """Return the rows with numbers nearer to a hundredth of the percentage that is usual."""
    if isinstance(column, Words):
        typed = np.array(list(map(typed_number, column.words)), dtype=np.float64)
        column = spread(typed, column, np.nan)
    rows = np.flatnonzero(~np.isnan(column))
    near = usual is not None and 10 * float(np.median(np.abs(column[rows]))) < abs(usual)
    return rows if len(rows) and near else NOWHERE


def _within(sizes: NDArray[np.int64], rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows of these sizes into limited parts; yield the first row and the end of each."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0  # bytes
        most = int(np.searchsorted(ends, before + PIECE, side="right"))
        end = max(start + 1, min(start + rows, most))
        yield start, end
        start = end
    if not len(sizes):
        yield 0, 0


class CsvStream(NamedTuple):
    """A CSV file, which is given to :func:`rejo.tables.read_chunks` as a file is."""

    path: str
    rows: int
    start: int = 0  # index of its first row among those of all files

    def __fspath__(self) -> str:
        return self.path


def csv_stream(path: str | os.PathLike[str], **reading: Any) -> tuple[CsvStream, list[str]]:
    """Count the rows of a CSV file, in bounded memory, and return the names of its columns too.

    The options are those of :func:`rejo.tables.read_table`.
    """
    how = {k: reading[k] for k in ("sep", "encoding", "header", "rename") if k in reading}
    with open_source(path, **how) as source:
        names = [name for name in source.names if name]
        rows = 0
        for piece in source.pieces(names[:1], (), 100_000):
            for row, doubt in piece.doubts.items():
                raise source.refusal(rows + row, *doubt)
            rows += piece.n_rows
    return CsvStream(os.fspath(path), rows), names
