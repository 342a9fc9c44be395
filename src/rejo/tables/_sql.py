"""Tables of databases: rows of a table or a query, as they come, and a table that is written.

A database is opened for reading only, so that a query cannot change it.  Names are always quoted.
What an error says never has a password.
"""

import errno
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from rejo._errors import Setting, Text, optional
from rejo._io import split_url
from rejo.tables.errors import (
    ROW,
    TableError,
    did_you_mean,
    import_sqlalchemy,
    listed,
    refuse_folder,
    shown,
)
from rejo.tables.sources import How, RowSource, name_of

FETCHED = 1000  # rows at a time
PATIENCE = "10"  # seconds to wait for a server
# Seconds for the next rows, and for all of a table: a view may recurse for ever.
NEXT_ROWS, ALL_ROWS = 60.0, 3600.0
COMMENTS = r"(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*"
STATEMENT = re.compile(rf"\s*{COMMENTS}[(\s]*(?:select|with|values|table)\b", re.I | re.S)


# ---- a connection -----------------------------------------------------------------------------


class Database:
    """A database by its URL; ``name`` is for messages."""

    def __init__(self, url: str) -> None:
        sa = import_sqlalchemy()
        self.name = name_of(url)
        place, self.table = split_url(url)
        self.table = unquote(self.table)
        try:
            parsed = sa.make_url(place)
        except (sa.exc.ArgumentError, ValueError):
            raise TableError(
                "this is not the URL of a database",
                where=self.name,
                remedy="Write sqlite:///FILE or postgresql://USER@HOST/NAME.",
            ) from None
        self.is_sqlite = parsed.drivername.startswith("sqlite")
        self._since, self._spent = inf, 0.0  # when a wait for rows began, and how long all took
        self._url = parsed
        if self.is_sqlite and parsed.database in (None, "", ":memory:"):
            raise TableError("no file is named", where=self.name, remedy="Write sqlite:///FILE.")
        self.path = Path(parsed.database or "")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for rows; what others do with them in the meantime does not count."""
        self._since = monotonic()
        try:
            yield
        finally:
            self._spent += monotonic() - self._since
            self._since = inf
        if self._spent > ALL_ROWS:
            raise self._late()

    def is_late(self) -> bool:
        """Return whether rows take too long; SQLite then stops."""
        waited = monotonic() - self._since
        return waited > NEXT_ROWS or self._spent + max(waited, 0) > ALL_ROWS

    def _late(self) -> TableError:
        return TableError(
            f"the database took more than {NEXT_ROWS:.0f} seconds for the next rows, or "
            f"{ALL_ROWS / 60:.0f} minutes for all",
            where=self.name,
            parameter="query",
            remedy="Does a view refer to itself? Write its rows into a table first.",
        )

    @contextmanager
    def connect(self, *, write: bool = False) -> Iterator[Any]:
        """Open a connection; for reading only, unless ``write``."""
        with self.explained(), self._engine(write).connect() as connection:
            yield connection

    def _engine(self, write: bool) -> Any:
        sa = import_sqlalchemy()
        if self.is_sqlite:
            self.check_file(write)
            how = "rwc" if write else "ro"
            place = f"file:{quote(os.path.abspath(self.path))}?mode={how}"

            def open_file() -> sqlite3.Connection:
                connection = sqlite3.connect(place, uri=True, isolation_level=None)
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW)
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.set_progress_handler(self.is_late, 100_000)
                if not write:
                    connection.execute("PRAGMA query_only = ON")
                return connection

            return sa.create_engine("sqlite://", creator=open_file, poolclass=sa.pool.NullPool)
        optional("psycopg", "PostgreSQL", "psycopg", "tables")
        url = self._url.set(drivername="postgresql+psycopg")
        if "connect_timeout" not in url.query:
            url = url.update_query_dict({"connect_timeout": PATIENCE})
        if not write:
            limit = f"-c statement_timeout={NEXT_ROWS:.0f}s"
            url = url.update_query_dict({"options": f"{url.query.get('options', '')} {limit}"})
        options = {} if write else {"postgresql_readonly": True}
        return sa.create_engine(url, poolclass=sa.pool.NullPool, execution_options=options)

    def check_file(self, write: bool) -> None:
        refuse_folder(self.path, self.name)
        if self.path.exists():
            with self.path.open("rb") as file:
                start = file.read(16)
            if start and start != b"SQLite format 3\0":
                raise TableError("this is not an SQLite database", where=self.name)
        elif not write or not self.path.absolute().parent.is_dir():
            lacks = self.path.absolute().parent if write else self.path
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(lacks))

    @contextmanager
    def explained(self) -> Iterator[None]:
        sa = import_sqlalchemy()
        try:
            yield
        except (sa.exc.SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            if "interrupted" in reason or "statement timeout" in reason:
                raise self._late() from None
            password = str(self._url.password or "")
            for secret in {password, quote(password)} - {""}:
                reason = reason.replace(secret, "***")
            raise TableError(f"the database says: {reason[:300]}", where=self.name) from None

    def find(self, connection: Any, name: str) -> "Place":
        """Return the table or view of a name, which may have its schema before it, or be new."""
        about = import_sqlalchemy().inspect(connection)
        schema, _, table = name.partition(".")
        has_schema = bool(table) and schema in about.get_schema_names()
        for place in (Place(None, name), Place(schema, table))[: 1 + has_schema]:
            if about.has_table(place.table, place.schema):
                is_table = place.table in about.get_table_names(place.schema)
                return place._replace(kind="table" if is_table else "view")
        return place


class Place(NamedTuple):
    schema: str | None
    table: str
    kind: str = "new"  # or "table" or "view"

    def __str__(self) -> str:
        return ".".join(map(quoted, filter(None, (self.schema, self.table))))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# ---- reading ----------------------------------------------------------------------------------


class SqlSource(RowSource):
    format = "sql"

    def __init__(self, database: Database, connection: Any, query: str | None) -> None:
        self._database = database
        self.name = database.name
        options = {"no_parameters": True, "stream_results": True, "max_row_buffer": FETCHED}
        self._connection = connection.execution_options(**options)
        self._result: Any = None
        if database.table and query:
            raise TableError(
                Text(
                    f"both the table {shown(database.table)} and ",
                    Setting("query", query),
                    " are given",
                ),
                where=self.name,
                parameter="query",
                remedy="Give one of them.",
            )
        if query is not None and STATEMENT.match(query):
            with database.waiting():
                self._result = self._connection.exec_driver_sql(query.strip().rstrip(";"))
            self.names = list(self._result.keys())
        else:
            self._place = self._find(connection, query or database.table)
            about = import_sqlalchemy().inspect(connection)
            columns = about.get_columns(self._place.table, self._place.schema)
            self.names = [column["name"] for column in columns]

    def close(self) -> None:
        if self._result is not None:
            self._result.close()

    def _rows(self, columns: Sequence[str]) -> Iterator[Any]:
        with self._database.explained():
            self._at = {name: i for i, name in enumerate(self.own_names)}
            if self._result is None:
                self._at = {name: i for i, name in enumerate(columns)}
                wanted = ", ".join(map(quoted, columns))
                with self._database.waiting():
                    query = f"SELECT {wanted} FROM {self._place}"
                    self._result = self._connection.exec_driver_sql(query)
            parts = self._result.partitions(FETCHED)
            while True:
                with self._database.waiting():
                    part = next(parts, None)
                if part is None:
                    return
                yield from part

    def _find(self, connection: Any, name: str) -> Place:
        about = import_sqlalchemy().inspect(connection)
        names = [*about.get_table_names(), *about.get_view_names()]
        if not name and len(names) == 1:
            name = names[0]
        if name and (found := self._database.find(connection, name)).kind != "new":
            return found
        known = f"The tables are: {listed(names)}" if names else "The database has no tables."
        problem, remedy = f"no table {shown(name)}", did_you_mean(name, names) + known
        if not name:
            problem, query = "no table is named", Setting("query", "SELECT ...")
            remedy = Text(f"{known}. Name one after a #, or pass ", query, ".")
        raise TableError(problem, where=self.name, parameter="query", remedy=remedy)


@contextmanager
def open_table(url: str | os.PathLike[str], how: How) -> Iterator[SqlSource]:
    database = Database(os.fspath(url))
    with (
        database.connect() as connection,
        closing(SqlSource(database, connection, how.query)) as table,
    ):
        yield table


# ---- writing ----------------------------------------------------------------------------------


def check_new_table(database: Database, connection: Any, *, overwrite: bool) -> Place:
    name = database.table
    if not name:
        raise TableError(
            "no table is named", where=database.name, remedy="Write its name after a #: #decisions."
        )
    place = database.find(connection, name)
    if place.kind == "view":
        raise TableError(
            f"{shown(name)} is a view", where=database.name, remedy="Write to another table."
        )
    if place.kind == "table" and not overwrite:
        raise FileExistsError(f"{database.name} exists; overwrite replaces it")
    return place


def check_table(url: str, *, overwrite: bool) -> None:
    database = Database(url)
    if database.is_sqlite and not database.path.exists() and database.table:
        database.check_file(write=True)
        return
    with database.connect() as connection:
        check_new_table(database, connection, overwrite=overwrite)
