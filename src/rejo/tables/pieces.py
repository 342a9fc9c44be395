"""Parquet files: one, or many as one table; pyarrow reads them.

Words are taken from the dictionaries of a file, each once, so that a long word that is repeated a
million times takes the memory of one.  :class:`ParquetTable` lists the row groups of files; each
can be read by itself, anywhere.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from glob import escape, glob, has_magic
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo._io import URL, without_password
from rejo._typing import Floats
from rejo.tables.errors import (
    PIECE,
    TableError,
    check_columns,
    check_names,
    check_unpacked,
    import_pandas,
    import_pyarrow,
    refuse_folder,
    shown,
    size_of,
)
from rejo.tables.sources import CELL, Piece, Source
from rejo.tables.values import are_strings, lengths_of, word_of

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
#: How names of Parquet files end.
ENDINGS = (".parquet", ".pq")
AT_ONCE = 16  # files whose footers are read at the same time
WIDEST_NUMBER = 32  # bytes of a decimal number
LONGEST_FOOTER = 1 << 24  # bytes


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


class ParquetSource(Source):
    """A Parquet file, open; only some of its row groups are read if they are given."""

    format = "parquet"

    def __init__(self, stream: BinaryIO, name: str, groups: Sequence[int] | None = None) -> None:
        self.name = name
        self._stream, self._size = stream, stream.seek(0, os.SEEK_END)
        self.size: int = self._size
        parquet = import_pyarrow("reading a Parquet file").parquet
        with self._reading():
            length = min(self._size, 8)
            stream.seek(-length, os.SEEK_END)
            if int.from_bytes(stream.read(4), "little") > LONGEST_FOOTER:
                raise ValueError(f"its footer has more than {size_of(LONGEST_FOOTER)}")
            self._file = parquet.ParquetFile(stream)
            self.names = list(self._file.schema_arrow.names)
            self._types = dict(zip(self.names, self._file.schema_arrow.types, strict=True))
            about = self._file.metadata
            self.groups = range(about.num_row_groups) if groups is None else groups
            self.n_rows = about.num_rows if groups is None else sum(self.group_rows())
        check_names(name, self.names)
        self.own_names = self.names

    def group_rows(self) -> list[int]:
        return [self._file.metadata.row_group(i).num_rows for i in self.groups]

    def mark(self) -> str:
        """Return a hash of the footer: another one, all but surely, if the contents change."""
        with self._reading():
            self._stream.seek(self._size - 8)
            length = int.from_bytes(self._stream.read(4), "little")
            self._stream.seek(self._size - 8 - length)
            return sha256(self._stream.read(length)).hexdigest()

    def _check_type(self, column: str) -> None:
        """Refuse a column whose cells are not single values."""
        from rejo.tables.reading import not_single

        types, type = import_pyarrow().types, self._types[column]
        single = (types.is_integer, types.is_floating, types.is_decimal, types.is_date,
                  types.is_timestamp, types.is_boolean, types.is_duration, types.is_time,
                  types.is_null, are_strings)  # fmt: skip
        value = type.value_type if types.is_dictionary(type) else type
        if not any(is_one(value) for is_one in single):
            raise not_single(f"of type {shown(type)}", f"{self.name}, column {shown(column)}")

    def _pieces(
        self, columns: Sequence[str] | None, exact: Collection[str], rows: int
    ) -> Iterator[Piece]:
        names = list(filter(None, self.own_names)) if columns is None else list(columns)
        for name in names:
            self._check_type(name)
        self._check(names)
        strings = [name for name in names if are_strings(self._types[name])]
        size = max(1, min(rows, PIECE // (CELL * max(len(names), 1))))
        done = 0
        with self._reading():
            batches = self._open(strings).iter_batches(size, list(self.groups), names)
        while True:
            with self._reading(done):
                batch = next(batches, None)
                if batch is None:
                    break
                arrays = {name: self._single(batch.column(name)) for name in names}
            if batch.num_rows:
                yield Piece(batch.num_rows, arrays)
            done += batch.num_rows
        self._check_rows(done)

    def _single(self, array: Any) -> Any:
        """Return strings in a dictionary, unless they hardly repeat; refuse broken ones."""
        types = import_pyarrow().types
        if are_strings(array.type):
            array.validate(full=True)
            few = not types.is_dictionary(array.type) or 2 * len(array.dictionary) < len(array)
            if few or lengths_of(array).sum() > PIECE:
                return array
        return array.dictionary_decode() if types.is_dictionary(array.type) else array

    def _check_rows(self, n_rows: int) -> None:
        if n_rows != self.n_rows:
            raise self._damaged(f"it has {n_rows:,} rows, but says {self.n_rows:,}")

    def table(self, columns: Sequence[str]) -> Any:
        """Return some columns as a table of pyarrow; it is read in this thread alone."""
        check_columns(self.name, columns, self.names)
        self._check(list(columns))
        with self._reading():
            found = self._open(()).read_row_groups(
                list(self.groups), columns=list(columns), use_threads=False
            )
        self._check_rows(found.num_rows)
        return found.select(list(columns))

    def _open(self, dictionaries: Collection[str]) -> Any:
        """Return the file, with strings of some columns as places in a dictionary."""
        return import_pyarrow().parquet.ParquetFile(
            self._stream,
            metadata=self._file.metadata,
            read_dictionary=list(dictionaries),
            page_checksum_verification=True,
        )

    def _check(self, columns: list[str]) -> None:
        """Refuse, before anything is read, more than fits the file."""
        with self._reading():
            about = self._file.metadata
            leaves, names = map(about.schema.column, range(about.num_columns)), set(columns)
            widest = max(
                (
                    leaf.length or 0
                    for leaf in leaves
                    if not names.isdisjoint(accumulate(leaf.path.split("."), "{}.{}".format))
                ),
                default=0,
            )
            # Not what it says of each column: damage there would end the process.
            unpacked = sum(about.row_group(g).total_byte_size for g in self.groups)
        if widest > WIDEST_NUMBER:
            raise self._damaged(f"numbers of {size_of(widest)} each")
        check_unpacked(CELL * len(columns) * self.n_rows, self._size, self.name)
        check_unpacked(unpacked, self._size, self.name)

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
def open_table(path: str | os.PathLike[str], how: Any = None) -> Iterator[ParquetSource]:
    import_pandas()
    refuse_folder(path, str(path))
    groups = [path.group] if isinstance(path, RowGroup) else None
    with open_stream(os.fspath(path)) as stream:
        yield ParquetSource(stream, str(path), groups)


def open_stream(path: str) -> AbstractContextManager[BinaryIO]:
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


# ---- many files ---------------------------------------------------------------------------------


def is_many(path: str | os.PathLike[str]) -> bool:
    """Return whether a name may stand for several files: a pattern, a folder, or in a store.

    A file that exists is one file, even if its name looks like a pattern.
    """
    name = os.fspath(path)
    if found := URL.match(name):
        return Path(name).suffix.lower() in ENDINGS and found[1] not in ("sqlite", "postgresql")
    return os.path.isdir(name) or (has_magic(name) and not os.path.exists(name))


def absolute(paths: Paths) -> list[str]:
    """Return names that mean the same in another folder, as for a worker of a cluster."""
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    names = [os.fspath(path) for path in given]
    return [name if URL.match(name) else os.path.abspath(name) for name in names]


def files_of(paths: Paths) -> list[str]:
    """Return the files of a pattern, a folder, a file, or a list of these, sorted by name.

    A pattern is such as ``loans/*.parquet``, where ``**`` stands for any folders.  Of a folder its
    Parquet files are taken, but not those in folders inside it.  URLs such as
    ``s3://bucket/loans/*.parquet`` are for fsspec to open.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = sorted({file for path in given for file in _matching(os.fspath(path))})
    if not found:
        where = ", ".join(without_password(os.fspath(path)) for path in given[:3])
        raise TableError(
            "no Parquet file is there", where=where or None, parameter="data",
            remedy="Name files, a folder, or a pattern such as 'loans/*.parquet'.",
        )  # fmt: skip
    for file in found:
        if Path(file).suffix.lower() not in ENDINGS:
            raise TableError(
                f"its name does not end in {' or '.join(ENDINGS)}",
                where=without_password(file),
                parameter="data",
                remedy="Several files are read together only as Parquet.",
            )
    return found


def _matching(path: str) -> list[str]:
    """Return the files that one name stands for."""
    if URL.match(path):
        store, name = store_of(path)
        inside = store.glob(name.rstrip("/") + "/*") if store.isdir(name) else None
        found = store.glob(name) if inside is None else filter(_is_part, inside)
        return [store.unstrip_protocol(one) for one in found]
    if os.path.isdir(path):
        return list(filter(_is_part, glob(os.path.join(escape(path), "*"))))
    if os.path.exists(path):
        return [path]
    return [one for one in glob(path, recursive=True) if os.path.isfile(one)]


def _is_part(file: str) -> bool:
    """Return whether a file of a folder is one of its parts: others write notes between them."""
    is_parquet = Path(file).suffix.lower() in ENDINGS
    return is_parquet and not os.path.basename(file).startswith(("_", "."))


def pieces_of(paths: Paths) -> list[RowGroup]:
    return ParquetTable.of(paths).pieces


class DataFile(NamedTuple):
    """A file of a table."""

    path: str  # or its URL
    size: int  # bytes
    mark: str  # hash of its footer: another one, all but surely, if the contents change


class ParquetTable(NamedTuple):
    """A table of several Parquet files."""

    files: list[DataFile]  # by name
    columns: list[str]  # that all files have
    pieces: list[RowGroup]

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    @classmethod
    def of(cls, paths: Paths) -> Self:
        """Find the files and read their footers."""
        names = files_of(paths)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            footers = list(pool.map(_footer, names))
        columns = footers[0][1]
        pieces, start = [], 0
        for file, found, sizes in footers:
            if differ := set(found) ^ set(columns):
                one = next(name for name in [*columns, *found] if name in differ)
                what = f"no column {shown(one)}" if one in columns else f"a column {shown(one)}"
                raise TableError(
                    f"{what}, unlike {without_password(names[0])}",
                    where=without_password(file.path),
                    parameter="data",
                    remedy="Files that are one table have the same columns; name only those that "
                    "belong to it.",
                )
            for group, rows in enumerate(sizes):
                pieces.append(RowGroup(file.path, group, rows, start))
                start += rows
        return cls([file for file, _, _ in footers], columns, pieces)


def _footer(path: str) -> tuple[DataFile, list[str], list[int]]:
    """Return a file with its columns, and how many rows its row groups have."""
    with open_table(path) as found:
        return DataFile(path, found.size, found.mark()), found.names, found.group_rows()


def share(pieces: Sequence[RowGroup], n: int) -> list[list[RowGroup]]:
    """Divide pieces among ``n`` workers, always in the same way, about as many rows for each.

    No share is without a piece; within a share pieces keep their order.

    >>> pieces = [RowGroup("a.parquet", 0, 100, 0), RowGroup("a.parquet", 1, 100, 100),
    ...           RowGroup("b.parquet", 0, 190, 200)]
    >>> [sum(piece.rows for piece in part) for part in share(pieces, 2)]
    [190, 200]
    """
    shares: list[list[int]] = [[] for _ in range(min(n, len(pieces)))]
    rows = [0] * len(shares)
    # The largest first, each to the worker that has least: at most 4/3 of the best.
    for i in sorted(range(len(pieces)), key=lambda i: -pieces[i].rows):
        least = min(range(len(shares)), key=lambda k: (rows[k], len(shares[k]), k))
        shares[least].append(i)
        rows[least] += pieces[i].rows
    return [[pieces[i] for i in sorted(one)] for one in shares]


def read_piece(piece: RowGroup, columns: Sequence[str]) -> Any:
    """Return some columns of a piece as a ``pyarrow.Table``, read in this thread alone."""
    with open_table(piece) as file:
        return file.table(columns)


# ---- numbers for rows --------------------------------------------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_hashes(piece: RowGroup, values: Any = None) -> Floats:
    """Return a number in ``[0, 1)`` for each row of a piece, as if drawn at random.

    It depends on nothing but the place of the row among all files, or on its value: it is the same
    on every machine and however the files are divided.  Values are compared as text, in which the
    numbers 7 and 7.0 are the same.  A row with a missing value is on its own.

    >>> customers = ["ann", "bob", "ann"]
    >>> first, second, third = row_hashes(RowGroup("a.parquet", 0, 3, 0), customers)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    own = uniform(np.arange(piece.start, piece.start + piece.rows, dtype=np.uint64), 0)
    if values is None:
        return own
    pd = import_pandas()
    codes, found = pd.factorize(np.asarray(values, dtype=object))
    texts = np.array([*map(word_of, found.tolist()), ""], dtype=object)
    hashes = pd.util.hash_array(texts, categorize=False)
    return np.where(codes >= 0, uniform(hashes, 1)[codes], own)


def uniform(keys: NDArray[np.uint64], seed: int) -> Floats:
    """Return a number in ``[0, 1)`` for each key, as if drawn: splitmix64 (Steele 2014), twice."""
    for add in (np.uint64(seed), np.uint64(0)):
        keys = keys + add + GOLDEN  # modulo 2^64
        keys = (keys ^ (keys >> np.uint64(30))) * FIRST
        keys = (keys ^ (keys >> np.uint64(27))) * SECOND
        keys = keys ^ (keys >> np.uint64(31))
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
