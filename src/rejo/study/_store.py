"""Rows in an SQLite file, where a study that is killed keeps them, and in an archive to share."""

from __future__ import annotations

import csv
import json
import lzma
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from rejo.study._cells import Cell, Study

COLUMNS = {
    "dataset": str,
    "split": str,
    "share": float,
    "repetition": int,
    "method": str,
    "reject_cost": float,
    "R": float,
    "E": float,
    "risk": float,
    "ordinal_risk": float,
    "crossing_rate": float,
    "n_train": int,
    "n_test": int,
    "seconds": float,
    "params": str,
}
SQL_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}
OPTIONAL = ("crossing_rate",)
KEY = (*Cell._fields, "reject_cost")
FORMAT = 1
# SQLite's codes for a file of another kind; all others mean trouble with the disk or a lock.
NOT_OURS = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Store:
    """The rows of one study; only one process writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def done(self) -> set[Cell]:
        """Cells whose rows are in the file; a cell is written as a whole or not at all."""
        query = f"SELECT DISTINCT {', '.join(Cell._fields)} FROM results"
        return {Cell(*values) for values in self._connection.execute(query)}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the rows of a cell, in one transaction."""
        query = f"INSERT OR REPLACE INTO results VALUES ({', '.join('?' * len(COLUMNS))})"
        try:
            with self._connection:
                self._connection.executemany(query, [[row[n] for n in COLUMNS] for row in rows])
        except sqlite3.OperationalError as error:  # such as a full disk
            raise OSError(f"the rows of a cell could not be written: {error}") from error


@contextmanager
def open_store(database: str | os.PathLike[str], study: Study) -> Iterator[Store]:
    """Open or create the file of a study; refuse the file of another study.

    Only the number of repetitions may be larger than before.
    """
    with closing(_connect(database)) as connection:
        try:
            # Readers do not wait for the writer; a crash of the process loses nothing.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                _make_tables(connection)
                _agree(connection, study, database)
        except sqlite3.DatabaseError as error:
            raise _explained(error, database) from error
        yield Store(connection)


def read_rows(database: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the rows of a study, even while it runs.

    Parameters
    ----------
    database : str or path
        File that :func:`run` writes.

    Returns
    -------
    rows : list of dict
        As returned by :func:`run_cell`, sorted by cell and reject cost.
    """
    with closing(_connect_to_read(database)) as connection:
        connection.row_factory = sqlite3.Row
        query = f"SELECT {', '.join(COLUMNS)} FROM results ORDER BY {', '.join(KEY)}"
        return [dict(row) for row in connection.execute(query)]


def read_study(database: str | os.PathLike[str]) -> Study:
    """Read the parameters of the study in a file.

    Parameters
    ----------
    database : str or path
        File that :func:`run` writes.

    Returns
    -------
    study : Study
    """
    with closing(_connect_to_read(database)) as connection:
        [[text]] = connection.execute("SELECT params FROM study")
    return Study(**json.loads(text))


def archive(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as a compressed CSV file, in the order of their cells, each once.

    All numbers but ``seconds`` are read back exactly.
    """
    cells = {tuple(row[name] for name in KEY): row for row in rows}
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in sorted(cells):
        row = dict(cells[key]) | {"seconds": round(cells[key]["seconds"], 3)}
        writer.writerow("" if row[name] is None else row[name] for name in COLUMNS)
    return lzma.compress(text.getvalue().encode(), preset=9)


def read_archive(path: str | Path) -> list[dict[str, Any]]:
    """Read rows that :func:`archive` packed, in the form of ``read_rows``."""
    try:
        text = lzma.decompress(Path(path).read_bytes()).decode()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not an archive of study rows: {error}.") from None
    reader = csv.DictReader(StringIO(text))
    if reader.fieldnames != list(COLUMNS):
        raise ValueError(f"{path} has the columns {reader.fieldnames}, not {list(COLUMNS)}.")
    return [
        {name: None if row[name] == "" else kind(row[name]) for name, kind in COLUMNS.items()}
        for row in reader
    ]


def _connect_to_read(database: str | os.PathLike[str]) -> sqlite3.Connection:
    if not Path(database).is_file():
        raise FileNotFoundError(
            f"database={os.fspath(database)!r} does not exist: rejo.study.run creates it."
        )
    connection = _connect(database)
    try:
        connection.execute("SELECT 1 FROM results LIMIT 1")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _explained(error, database) from error
    return connection


def _connect(database: str | os.PathLike[str]) -> sqlite3.Connection:
    try:
        return sqlite3.connect(database, timeout=60)
    except sqlite3.OperationalError as error:
        raise _explained(error, database) from error


def _explained(error: sqlite3.Error, database: str | os.PathLike[str]) -> Exception:
    """Return the error for a file of another kind, or for one that cannot be read or written."""
    name = f"database={os.fspath(database)!r}"
    if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in NOT_OURS:
        return ValueError(f"{name} is not the file of a study: {error}. Choose another name.")
    return OSError(f"{name} cannot be read or written: {error}.")


def _make_tables(connection: sqlite3.Connection) -> None:
    columns = ", ".join(
        f"{name} {SQL_TYPES[kind]}" + " NOT NULL" * (name not in OPTIONAL)
        for name, kind in COLUMNS.items()
    )
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS results ({columns}, PRIMARY KEY ({', '.join(KEY)}))"
        " WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE IF NOT EXISTS study (format INTEGER NOT NULL, params TEXT NOT NULL)"
    )


def _agree(connection: sqlite3.Connection, study: Study, database: str | os.PathLike[str]) -> None:
    """Store the parameters, or compare them with those in the file."""
    file = f"database={os.fspath(database)!r}"
    found = connection.execute("SELECT format, params FROM study").fetchall()
    wanted = study.params()
    if not found:
        connection.execute("INSERT INTO study VALUES (?, ?)", (FORMAT, json.dumps(wanted)))
        return
    [(number, text)] = found
    before = json.loads(text)
    if number != FORMAT:
        problem = f"has format {number}, but this version of rejo writes {FORMAT}"
        raise ValueError(f"{file} {problem}. Choose another name.")
    other = [
        name
        for name in wanted
        if name != "repetitions" and _unordered(wanted[name]) != _unordered(before.get(name))
    ]
    if other:
        differences = "; ".join(f"{n}: {before.get(n)} there, {wanted[n]} here" for n in other)
        raise ValueError(
            f"{file} holds another study ({differences}). Choose another name, or "
            "continue with the same parameters; only repetitions may be larger."
        )
    if wanted["repetitions"] < before["repetitions"]:
        raise ValueError(
            f"{file} holds {before['repetitions']} repetitions, more than repetitions="
            f"{wanted['repetitions']}: give at least as many, or another name."
        )
    connection.execute("UPDATE study SET params = ?", (json.dumps(wanted),))


def _unordered(value: Any) -> Any:
    """Return lists sorted: the order of methods or data sets makes no other study."""
    return sorted(value) if isinstance(value, list) else value
