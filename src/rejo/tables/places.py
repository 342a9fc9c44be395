"""Where a row of a table is, for messages: the line of a CSV file, the row of others."""

import os
from pathlib import Path
from typing import Any

from rejo._io import without_password
from rejo.tables._csv import open_csv
from rejo.tables.sources import format_of, open_typed

ROWS = 10_000  # in a block


def place_of(
    path: str | os.PathLike[str],
    row: int,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    **_: Any,
) -> str:
    """Say where the data row with the index ``row`` is.

    In a CSV file it is a line, of which the header has the first; in a workbook it is a row of the
    sheet.  Both are found by reading the file again, so of a stream or a database it is the number
    of the data row.  Other options of the readers make no difference.
    """
    format = format_of(path)
    if format == "sql" or os.fspath(path) == "-" or not Path(path).is_file():
        name = "stdin" if os.fspath(path) == "-" else without_password(os.fspath(path))
        return f"{name}, row {row + 1}"
    if format != "csv":
        with open_typed(path, format, sheet=sheet, query=None, encoding=encoding) as file:
            return file.place(row, "").rpartition(", column")[0]
    with open_csv(path, sep=sep, encoding=encoding) as csv:
        before = None
        for block in csv.blocks(ROWS):
            if block.row > row:
                break
            before = block
        if before is None:
            return f"{csv.name}, row {row + 1}"
        return csv.place(before, row - before.row, "").rpartition(", column")[0]
