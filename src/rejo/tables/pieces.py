"""Many Parquet files as one table: its row groups, their shares, and a number for each row.

:func:`pieces_of` lists the row groups of files; each can be read by itself, anywhere.
:func:`share` divides them among workers, and :func:`row_hashes` gives every row a number in
``[0, 1)`` by which rows can be held out: the same on every machine, whoever reads the row.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rejo._io import URL, without_password
from rejo._typing import Floats
from rejo.tables._parquet import ENDINGS, RowGroup, is_parquet, open_parquet, store_of
from rejo.tables.errors import TableError, import_pandas, shown
from rejo.tables.values import word_of

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
AT_ONCE = 16  # files whose footers are read at the same time


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
        if not is_parquet(file):
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
        if store.isdir(name):
            name = name.rstrip("/") + "/*"
            inside = [one for one in store.glob(name) if is_parquet(one) and _is_data(one)]
            return [store.unstrip_protocol(one) for one in inside]
        return [store.unstrip_protocol(one) for one in store.glob(name)]
    if os.path.isdir(path):
        inside = glob(os.path.join(escape(path), "*"))
        return [one for one in inside if is_parquet(one) and _is_data(one)]
    if os.path.exists(path):
        return [path]
    return [one for one in glob(path, recursive=True) if os.path.isfile(one)]


def _is_data(file: str) -> bool:
    """Return whether a file of a folder is one of its parts: others write notes between them."""
    return not os.path.basename(file).startswith(("_", "."))


def pieces_of(paths: Paths) -> list[RowGroup]:
    """Return the row groups of Parquet files, in the order of the files' names."""
    return ParquetTable.of(paths).pieces


def columns_of(paths: Paths) -> list[str]:
    """Return the names of the columns, which all files have, in the order of the first file."""
    return ParquetTable.of(paths).columns


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
        """Number of rows of all files."""
        return sum(piece.rows for piece in self.pieces)

    @classmethod
    def of(cls, paths: Paths) -> Self:
        """Find the files and read their footers; parameters and errors as for pieces_of."""
        names = files_of(paths)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            footers = list(pool.map(_footer, names))
        columns = footers[0][1]
        pieces, start = [], 0
        for file, found, sizes in footers:
            if set(found) != set(columns):
                _refuse_columns(file.path, found, names[0], columns)
            for group, rows in enumerate(sizes):
                pieces.append(RowGroup(file.path, group, rows, start))
                start += rows
        return cls([file for file, _, _ in footers], columns, pieces)


def _footer(path: str) -> tuple[DataFile, list[str], list[int]]:
    """Return a file with its columns, and how many rows its row groups have."""
    with open_parquet(path) as found:
        return DataFile(path, found.size, found.mark()), found.names, found.group_rows()


def _refuse_columns(file: str, names: list[str], first: str, columns: list[str]) -> None:
    lacks = [name for name in columns if name not in names]
    has = [name for name in names if name not in columns]
    what = f"no column {shown(lacks[0])}" if lacks else f"a column {shown(has[0])}"
    raise TableError(
        f"{what}, unlike {without_password(first)}",
        where=without_password(file),
        parameter="data",
        remedy="Files that are one table have the same columns; name only those that belong to it.",
    )


def share(pieces: Sequence[RowGroup], n: int) -> list[list[RowGroup]]:
    """Divide pieces among ``n`` workers, about the same number of rows for each.

    The same pieces are always divided in the same way.  With fewer pieces than workers there are
    fewer shares: none is without a piece.  Within a share pieces keep their order.

    >>> pieces = [RowGroup("a.parquet", 0, 100, 0), RowGroup("a.parquet", 1, 100, 100),
    ...           RowGroup("b.parquet", 0, 190, 200)]
    >>> [sum(piece.rows for piece in part) for part in share(pieces, 2)]
    [190, 200]
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}")
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
    with open_parquet(piece) as file:
        return file.table(columns)


# ---- numbers for rows --------------------------------------------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_hashes(piece: RowGroup, values: Any = None, *, seed: int = 0) -> Floats:
    """Return a number in ``[0, 1)`` for each row of a piece, as if drawn at random.

    It depends on nothing but the place of the row among all files, or on its value and ``seed``: it
    is the same on every machine and however the files are divided.  Rows with the same value, such
    as a customer, get the same number; values are compared as text, in which the numbers 7 and 7.0
    are the same.  A row with a missing value is on its own.

    >>> customers = ["ann", "bob", "ann"]
    >>> first, second, third = row_hashes(RowGroup("a.parquet", 0, 3, 0), customers)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    keys = mixed(np.arange(piece.start, piece.start + piece.rows, dtype=np.uint64), 2 * seed)
    if values is not None:
        pd = import_pandas()
        codes, found = pd.factorize(np.asarray(values, dtype=object))
        if len(codes) != piece.rows:
            raise ValueError(f"values must have {piece.rows} rows, as the piece; got {len(codes)}")
        texts = np.array([*map(word_of, found.tolist()), ""], dtype=object)
        hashes = pd.util.hash_array(texts, categorize=False)
        keys = np.where(codes >= 0, mixed(hashes, 2 * seed + 1)[codes], keys)
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mixed(keys: NDArray[np.uint64], seed: int = 0) -> NDArray[np.uint64]:
    """Return keys of which every bit depends on all bits: the step of splitmix64, twice.

    Steele, Lea and Flood (2014).
    """
    for add in (np.uint64(seed % 2**64), np.uint64(0)):
        keys = keys + add + GOLDEN  # modulo 2^64
        keys = (keys ^ (keys >> np.uint64(30))) * FIRST
        keys = (keys ^ (keys >> np.uint64(27))) * SECOND
        keys = keys ^ (keys >> np.uint64(31))
    return keys
