"""How large the parts of a table may be, in bytes.

A table comes from anywhere, and a small file can stand for a huge one: a quote that is never
closed, a line without an end, a gzip file of blank lines, a Parquet file that repeats one long
word.  These limits keep the memory that reading takes within a small multiple of ``PIECE``, and the
time linear in the size of the file.  All readers, and the writer, take them from here.
"""

from rejo.tables.errors import TableError

FIELD = 1 << 17  # a cell; also the limit of Python's csv module
ROW = 1 << 22  # with all its lines
HEADER = 1 << 20  # with blank lines before it
COLUMNS = 1 << 15  # their number
PIECE = 1 << 23  # what is read, decided and written at a time
TABLE = 1 << 31  # a table that is read whole, unpacked
# What a gzip or Parquet file may become: so many bytes, or so many times its size.
UNPACKED, TIMES = 1 << 26, 100


def size_of(n: int) -> str:
    """Return a number of bytes in words, such as ``4 MB``."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if n >= 1 << power:
            return f"{n / (1 << power):.3g} {unit}"
    return f"{n} bytes"


def too_large(what: str, limit: int, where: str, remedy: str) -> TableError:
    """Return the error for a part of a table that exceeds its limit."""
    return TableError(f"{what}; the limit is {size_of(limit)}", where=where, remedy=remedy)


def check_unpacked(size: int, packed: int, where: str, remedy: str) -> None:
    """Refuse contents that are far larger than the file they come from."""
    limit = max(UNPACKED, TIMES * packed)
    if size > limit:
        raise TableError(
            f"this file of {size_of(packed)} unpacks to more than {size_of(limit)}, the limit for "
            "its size",
            where=where,
            remedy=remedy,
        )


def check_whole(size: int, where: str) -> None:
    """Refuse a table that is too large to be read whole."""
    if size > TABLE:
        raise too_large(
            "the table is too large to be read whole", TABLE, where, "Take a sample of its rows."
        )


def check_count(n_columns: int, where: str) -> None:
    """Refuse a table with too many columns."""
    if n_columns > COLUMNS:
        raise TableError(
            f"{n_columns:,} columns are more than the limit of {COLUMNS:,}",
            where=where,
            remedy="Leave out those that are not needed.",
        )


def long_field(where: str) -> TableError:
    """Return the error for a cell that is too long."""
    return too_large("a cell is too long", FIELD, where, "Shorten it, or leave the column out.")
