"""CSV files that are too large to be read whole: what they hold, before their rows are read."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from rejo.tables._bytes import name_of
from rejo.tables._csv import open_csv
from rejo.tables.marks import decimal_of

ROWS = 100_000  # in a block


class CsvStream(NamedTuple):
    """A CSV file, which is given to :func:`rejo.tables.read_chunks` as a file is."""

    path: str
    rows: int
    start: int = 0  # index of its first row among those of all files

    def __fspath__(self) -> str:
        return self.path


def csv_stream(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] = (),
    thousands: str | None = None,
    **_: Any,
) -> tuple[CsvStream, list[str]]:
    """Count the rows of a CSV file, in bounded memory, and return the names of its columns too.

    The options are those of :func:`rejo.tables.read_table`.
    """
    mark = decimal_of(decimal, thousands, name_of(path))
    with open_csv(path, sep=sep, decimal=mark, encoding=encoding, missing=missing) as file:
        names = [name for name in file.names if name]
        block, rows = None, 0
        for block in file.blocks(ROWS):
            rows = block.row
        if block is not None:
            rows += len(file.parse(block, names[:1], {names[0]: object}))
    return CsvStream(os.fspath(path), rows), names
