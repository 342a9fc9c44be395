"""Where tables come from and go to: the format of a file by its name, and names for messages.

A database is named by a URL, in which a password may stand.  Messages, reports and model files have
it from :func:`rejo.tables._bytes.name_of`, without.
"""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from rejo._io import URL
from rejo.tables._bytes import name_of
from rejo.tables._parquet import RowGroup, open_parquet
from rejo.tables._typed import TypedFile
from rejo.tables.errors import TableError, import_pyarrow, shown

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
# Endings of tables that are written.
WRITTEN = (
    ".csv", ".csv.gz", ".tsv", ".xlsx", ".jsonl", ".ndjson", ".parquet", ".pq",
)  # fmt: skip
PACKED = ("csv", "json")  # these may end in .gz too
# Endings of tables that are not read: what they are.
OTHERS = {
    ".xls": "an old Excel file",
    ".xlsb": "a binary Excel file",
    ".ods": "a LibreOffice file",
    ".numbers": "a Numbers file",
}
DATABASES = ("sqlite", "postgresql", "postgres")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a table is named by a URL."""
    return URL.match(os.fspath(path)) is not None


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a table by its name; ``csv`` for other endings, and for a stream."""
    name = os.fspath(path)
    if isinstance(path, RowGroup):
        return "parquet"
    if found := URL.match(name):
        if found[1].lower().partition("+")[0] in DATABASES:
            return "sql"
        raise TableError(
            f"tables are not read from {shown(found[0])}",
            where=name_of(path),
            remedy="Save the table as a file, or name a database: sqlite:///FILE, or "
            "postgresql://USER@HOST/NAME.",
        )
    lower = name.lower()
    ending = Path(lower).suffix
    if ending in OTHERS:
        raise TableError(
            f"this is {OTHERS[ending]}, which is not read",
            where=name,
            remedy="Save it as .xlsx or as CSV.",
        )
    if ending == ".gz":
        found_inside = FORMATS.get(Path(lower[:-3]).suffix, "csv")
        return found_inside if found_inside in PACKED else "csv"
    return FORMATS.get(ending, "csv")


def source_format(
    path: str | os.PathLike[str], sheet: str | None = None, query: str | None = None
) -> str:
    """Return the format of a table that is read; refuse a sheet or a query that it cannot have."""
    format = format_of(path)
    for parameter, value, needed, what in (
        ("sheet", sheet, "excel", "an Excel file"),
        ("query", query, "sql", "a database"),
    ):
        if value is not None and format != needed:
            raise TableError(
                f"this is not {what}", where=name_of(path), parameter=parameter,
                remedy="Leave it out, or give another table.",
            )  # fmt: skip
    return format


def output_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a table is written in; refuse a name that does not say it."""
    name = os.fspath(path)
    if is_url(name):
        return format_of(name)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):  # a pipe or a device
        return "csv"
    ending = Path(name.lower()).suffix
    if ending == ".gz":
        ending = Path(name.lower()[:-3]).suffix + ending
    if ending not in WRITTEN:
        raise TableError(
            f"the name does not end in {', '.join(WRITTEN)}",
            where=name,
            parameter="output",
            remedy="The ending gives the format; write, for example, decisions.csv.",
        )
    return FORMATS[ending.removesuffix(".gz")]


def check_output_format(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse a table that cannot be written, before any work is done.

    The name must say the format, its packages must be installed, and a table of a database must
    not exist, unless it is to be replaced.  Whether a file exists is not checked.
    """
    format = output_format(path)
    if format == "parquet":
        import_pyarrow(f"writing {os.fspath(path)}")
    elif format == "sql":
        from rejo.tables._sql import check_table

        check_table(os.fspath(path), overwrite=overwrite)


def open_typed(
    path: str | os.PathLike[str],
    format: str,
    *,
    sheet: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
) -> AbstractContextManager[TypedFile]:
    """Open a table that is not a CSV file."""
    if format == "parquet":
        return open_parquet(path)
    if format == "json":
        from rejo.tables._json import open_json

        return open_json(path, encoding)
    if format == "excel":
        from rejo.tables._excel import open_excel

        return open_excel(Path(path), sheet)
    from rejo.tables._sql import open_database

    return open_database(os.fspath(path), query)
