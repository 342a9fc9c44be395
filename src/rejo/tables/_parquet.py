"""Parquet files: their columns have types already, which are converted to ours.

Words are taken from the dictionaries of the file, each once, so that a long word that is repeated
a million times takes the memory of one.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rejo._io import URL, without_password
from rejo.tables._arrow_words import codes_in, words_with
from rejo.tables._pages import footer_of, pages_of
from rejo.tables._typed import CELL, SPLIT, Piece, TypedFile
from rejo.tables.errors import (
    TableError,
    check_columns,
    check_different,
    import_pandas,
    import_pyarrow,
    refuse_folder,
    shown,
)
from rejo.tables.limits import FIELD, PIECE, check_count, check_unpacked, long_field, size_of
from rejo.tables.typed_cells import Cells, cells_of, no_words, not_single
from rejo.tables.values import Words, words_of

#: How names of Parquet files end.
ENDINGS = (".parquet", ".pq")
LEAST_PAGE = 1 << 10  # bytes that a page counts: the time for an empty one is not nothing
LOOK, MOST_GROUPS = 1000, 256  # rows of a row group, and row groups, to see how words repeat
WIDEST_NUMBER = 32  # bytes of a decimal number


class RowGroup(NamedTuple):
    """A row group of a Parquet file; :func:`rejo.tables.read_chunks` takes it as a file."""

    path: str  # or its URL
    group: int  # index in the file
    rows: int
    start: int  # index of its first row among those of all files

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return f"{without_password(self.path)}, row group {self.group}"


def is_parquet(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in ENDINGS


class ParquetFile(TypedFile):
    """A Parquet file, open; only some of its row groups are read if they are given."""

    format = "parquet"

    def __init__(self, stream: BinaryIO, name: str, groups: Sequence[int] | None = None) -> None:
        self.name = name
        self._stream, self._size = stream, stream.seek(0, os.SEEK_END)
        self.size: int = self._size
        with self._reading():
            self._file = import_pyarrow().parquet.ParquetFile(stream)
            self.names = list(self._file.schema_arrow.names)
            self._types = dict(zip(self.names, self._file.schema_arrow.types, strict=True))
            about = self._file.metadata
            self.groups = range(about.num_row_groups) if groups is None else groups
            self.n_rows = about.num_rows if groups is None else sum(self.group_rows())
        check_count(len(self.names), name)
        check_different(name, self.names)

    def group_rows(self) -> list[int]:
        return [self._file.metadata.row_group(i).num_rows for i in self.groups]

    def mark(self) -> str:
        """Return a hash of the footer: another one, all but surely, if the contents change."""
        with self._reading():
            return sha256(footer_of(self._stream, self._size)).hexdigest()

    def holds(self, column: str) -> str:
        """Return what the cells of a column are; refuse those that are not single values."""
        types, type = import_pyarrow().types, self._types[column]
        kinds = {
            "numbers": (types.is_integer, types.is_floating, types.is_decimal),
            "dates": (types.is_date, types.is_timestamp),
            "words": (_are_strings, types.is_dictionary),
            "truth values": (types.is_boolean,),
            "durations": (types.is_duration,),
            "times of day": (types.is_time,),
            "nothing": (types.is_null,),
        }
        for kind, are in kinds.items():
            if any(is_one(type) for is_one in are):
                return kind
        raise not_single(f"of type {shown(type)}", f"{self.name}, column {shown(column)}")

    def pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        kinds = {
            c: self.holds(c) for c in (filter(None, self.names) if columns is None else columns)
        }
        simple = self._check(list(kinds))
        strings = {name for name in kinds if _are_strings(self._types[name])}
        size = max(1, min(rows, PIECE // (CELL * len(kinds))))
        many = {name for name in strings & simple if self._has_many_words(name, size)}
        done = 0
        for batch in self._batches(list(kinds), strings - many, size):
            found = {}
            for name, kind in kinds.items():
                array = batch.column(batch.schema.get_field_index(name))
                if name in strings:
                    found[name] = Cells(self._words(array, name, done))
                else:
                    found[name] = self._values(array, kind, name, done, name in exact)
            yield Piece(batch.num_rows, found)
            done += batch.num_rows
        if done != self.n_rows:
            raise self._damaged(f"it has {done:,} rows, but says {self.n_rows:,}")

    def table(self, columns: Sequence[str]) -> Any:
        """Return some columns as a table of pyarrow; it is read in this thread alone."""
        check_columns(self.name, columns, self.names)
        self._check(list(columns))
        with self._reading():
            found = self._open(()).read_row_groups(
                list(self.groups), columns=list(columns), use_threads=False
            )
        if found.num_rows != self.n_rows:
            raise self._damaged(f"it has {found.num_rows:,} rows, but says {self.n_rows:,}")
        return found.select(list(columns))

    def _has_many_words(self, column: str, rows: int) -> bool:
        """Return whether a column of strings hardly repeats them, and so many rows are small.

        Then dictionaries only take time.  Its pages are simple: what is not in the dictionary of a
        row group, which comes with its first rows, is as large in memory as in its page.
        """
        types, compute = import_pyarrow().types, import_pyarrow().compute
        if types.is_dictionary(self._types[column]) or len(self.groups) > MOST_GROUPS:
            return False
        with self._reading():
            for group in self.groups:
                batches = self._open([column]).iter_batches(LOOK, [group], [column])
                first = next(batches, None)
                if first is None:
                    continue
                words = first.column(0).dictionary
                longest = compute.max(compute.binary_length(words)).as_py() or 0
                if 2 * len(words) < first.num_rows or longest * rows > PIECE:
                    return False
        return True

    def _open(self, dictionaries: Collection[str]) -> Any:
        """Return the file, with strings of some columns as places in a dictionary."""
        return import_pyarrow().parquet.ParquetFile(
            self._stream,
            metadata=self._file.metadata,
            read_dictionary=list(dictionaries),
            page_checksum_verification=True,
        )

    def _batches(self, columns: list[str], dictionaries: set[str], rows: int) -> Iterator[Any]:
        """Yield the rows as pyarrow has them."""
        done = 0
        with self._reading():
            batches = self._open(dictionaries).iter_batches(rows, list(self.groups), columns)
        while True:
            with self._reading(done):
                batch = next(batches, None)
            if batch is None:
                break
            if batch.num_rows:
                yield batch
            done += batch.num_rows

    def _check(self, columns: list[str]) -> set[str]:
        """Refuse, before anything is read, more than fits the file.

        Return the columns all of whose pages are simple; see :class:`~rejo.tables._pages.Page`.
        """
        with self._reading():
            about = self._file.metadata
            wanted = [
                i
                for i in range(about.num_columns)
                if not set(columns).isdisjoint(_prefixes(about.schema.column(i).path))
            ]
            widest = max((about.schema.column(i).length or 0 for i in wanted), default=0)
        if widest > WIDEST_NUMBER:
            raise self._damaged(f"numbers of {size_of(widest)} each")
        check_unpacked(CELL * len(columns) * self.n_rows, self._size, self.name, SPLIT)
        unpacked = 0
        with self._reading():
            simple = {i: about.schema.column(i).path for i in wanted}
            for page in pages_of(self._stream, self._size, wanted, self.groups):
                unpacked += max(page.size, LEAST_PAGE)
                check_unpacked(unpacked, self._size, self.name, SPLIT)
                if not page.is_simple:
                    simple.pop(page.column, None)
        return set(simple.values())

    def _words(self, array: Any, name: str, first: int) -> Words:
        """Return the words of a column of strings; only those that occur."""
        pa = import_pyarrow()
        with self._reading(first):
            codes, found = codes_in(array, pa)
            lengths = pa.compute.binary_length(found).fill_null(0).to_numpy(zero_copy_only=False)
            long = np.flatnonzero(lengths > FIELD)
            if not len(long):
                return words_with(codes, found)
        raise long_field(self.place(first + int((codes == long[0]).argmax()), name))

    def _values(self, array: Any, kind: str, name: str, first: int, exact: bool) -> Cells:
        """Return cells that are not strings."""
        pa = import_pyarrow()
        if kind == "nothing":
            return Cells(no_words(len(array)))
        with self._reading(first):
            if kind == "numbers" and exact:  # in floats, a long number would lose its last digits
                values = array.to_pylist()
                return cells_of(values, lambda row, _: self.place(first + row, name), name, True)
            if pa.types.is_decimal(array.type):
                array = array.cast(pa.float64(), safe=False)
            column = array.to_pandas(date_as_object=False, timestamp_as_object=False)
            if kind == "numbers":
                numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
                return Cells(no_words(len(array)), numbers)
            if kind == "dates":
                if getattr(column.dtype, "tz", None) is not None:
                    column = column.dt.tz_convert("UTC").dt.tz_localize(None)
                dates = column.astype("datetime64[us]").to_numpy()
                found = Cells(no_words(len(array)), dates=dates)
                return Cells(found.as_words()) if exact else found
            return Cells(words_of(column, missing=("",)))

    @contextmanager
    def _reading(self, done: int = 0) -> Iterator[None]:
        """Turn any error of pyarrow, which has many, into a TableError."""
        try:
            yield
        except TableError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            raise self._damaged(reason, f", after row {done}" * (done > 0)) from None

    def _damaged(self, reason: str, place: str = "") -> TableError:
        return TableError(
            f"this is not a Parquet file, or it is damaged ({reason})",
            where=self.name + place,
            remedy="Write it again.",
        )


@contextmanager
def open_parquet(path: str | os.PathLike[str]) -> Iterator[ParquetFile]:
    """Open a file, or one of its row groups."""
    import_pyarrow()
    import_pandas()
    refuse_folder(path, str(path))
    groups = [path.group] if isinstance(path, RowGroup) else None
    with open_stream(os.fspath(path)) as stream:
        yield ParquetFile(stream, str(path), groups)


def _are_strings(type: Any) -> bool:
    types = import_pyarrow().types
    if types.is_dictionary(type):
        type = type.value_type
    return bool(types.is_string(type) or types.is_large_string(type))


def _prefixes(path: str) -> list[str]:
    """Return the columns that a leaf of the schema may belong to, by their names."""
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def open_stream(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, here or at a URL."""
    if not URL.match(path):
        return open(path, "rb")
    store, name = store_of(path)
    stream: AbstractContextManager[BinaryIO] = store.open(name, "rb")
    return stream


def store_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, by fsspec, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(
            f"reading {shown(without_password(url))} needs fsspec: pip install fsspec"
        ) from None
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # no such protocol, or its package is missing
        raise TableError(
            f"files cannot be read from there ({error})",
            where=without_password(url),
            remedy="Copy them, or install the package of fsspec for it.",
        ) from None
    return found
