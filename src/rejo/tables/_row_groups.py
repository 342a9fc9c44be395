"""A row group of a Parquet file, here or in a store that fsspec can open."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, BinaryIO, NamedTuple

from rejo._io import URL, without_password
from rejo.tables.errors import TableError, shown


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
