"""A row group of a Parquet file, here or in a store that fsspec can open."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, BinaryIO, NamedTuple

from rejo._io import URL, without_password
from rejo.tables.errors import TableError, shown


class RowGroup(NamedTuple):
    """A row group of a Parquet file, which can be read by itself as a file can.

    It is given to :func:`rejo.tables.read_chunks` in place of a file.

    Parameters
    ----------
    path : str
        The file, or its URL.
    group : int
        Index of the row group in the file.
    rows : int
        Number of rows.
    start : int
        Index of the first row among those of all files.

    See Also
    --------
    pieces_of : The row groups of files.
    read_piece : Read some of its columns.
    rejo.tables.read_chunks : Read it in the kinds that an encoder needs.

    Examples
    --------
    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.tables.pieces import pieces_of
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": range(5)}).to_parquet(f"{folder}/a.parquet", row_group_size=3)
    ...     second = pieces_of(folder)[1]
    >>> second.group, second.rows, second.start
    (1, 2, 3)
    """

    path: str
    group: int
    rows: int
    start: int

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return f"{without_password(self.path)}, row group {self.group}"


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
