"""The rows of a study in an SQLite file, which survives a kill and says when it is damaged.

A file is made in one transaction, and each cell is added in one, so any number of processes may
start on the same file and be killed at any time.  The rows of a cell have a checksum, over the
rows and the parameters of the study: rows that were changed, removed or added by other means are
noticed and never returned.  The checksums are no signature: they do not stop a forger.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from rejo._errors import RejoError
from rejo.study._cells import Study
from rejo.study._code import digest_of
from rejo.study._plan import Cell, StudyPlan

FORMAT = 3
APPLICATION = int.from_bytes(b"rejo", "big")  # marks the files of a study among those of SQLite
TIMEOUT = 60  # seconds to wait for another process
AGAIN = "Choose another name, or delete the file and run the study again."
# By SQLite's codes; all others mean trouble with the disk.
PROBLEMS = {
    **dict.fromkeys(
        (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB),
        ("is not the file of a study, or is damaged", AGAIN),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL),
        ("another process has kept the file locked", "Wait until it is done and run again."),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        (
            "cannot be opened for writing",
            "Check that its folder exists and that you may write to it.",
        ),
    ),
    sqlite3.SQLITE_FULL: ("the disk is full", "Make room and run again: the study continues."),
}
TROUBLE = ("cannot be read or written", "Check the disk and run again: the study continues.")

Database = str | os.PathLike[str]
Values = tuple[Any, ...]  # of a row, in the order of the plan's columns


class StudyFileError(RejoError):
    """The file of a study cannot be read, written or trusted.

    The message is one line: the file (``where``), what is wrong with it (``problem``), and what to
    do (``remedy``).

    Parameters
    ----------
    problem : str
        What is wrong.
    parameter : str, default=None
        The parameter to change.
    where : str, default=None
        The file.
    remedy : str, default=None
        What to do.

    See Also
    --------
    run : Raises it for the file of another study.
    read_rows : Raises it for files that are damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import StudyFileError, read_rows
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.db")
    ...     _ = path.write_text("not a database")
    ...     try:
    ...         read_rows(path)
    ...     except StudyFileError as error:
    ...         print(error.problem)
    is not the file of a study, or is damaged (file is not a database)
    """


class Store:
    """The rows of one study; several processes may write."""

    mixed = False  # whether rows of different codes may be added

    def __init__(self, connection: sqlite3.Connection, file: str, plan: StudyPlan) -> None:
        self._connection, self._file, self._plan = connection, file, plan
        self._identity = _identity(plan.params())

    def done(self) -> set[Cell]:
        """Return the cells whose rows are in the file, as they were written."""
        return set(self._read()[0])

    def remove_damaged(self) -> int:
        """Remove the cells whose rows are not as they were written; return their number."""
        with _transaction(self._connection, self._file):
            sound, n_damaged = _read(self._connection, self._plan, self._identity)
            if n_damaged:
                self._keep_only(sound)
        return n_damaged

    def by_other_code(self, code: str) -> dict[str, int]:
        """Return the other codes that computed cells of the file, and the number of cells."""
        counts: dict[str, int] = {}
        for rows in self._read()[0].values():
            other = rows[0][-1]
            if digest_of(other) != digest_of(code):
                counts[other] = counts.get(other, 0) + 1
        return counts

    def remove_other_code(self, code: str) -> None:
        """Remove the cells that other code has computed."""
        with _transaction(self._connection, self._file):
            sound, _ = _read(self._connection, self._plan, self._identity)
            ours = {
                c: rows for c, rows in sound.items() if digest_of(rows[0][-1]) == digest_of(code)
            }
            self._keep_only(ours)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write all rows of a cell, in place of those that are there."""
        cell = self._plan.CELL(*(rows[0][name] for name in self._plan.CELL._fields))
        with _transaction(self._connection, self._file):
            self._check_code(rows[0]["code"])
            self._connection.execute(f"DELETE FROM results WHERE {_same_cell(self._plan)}", cell)
            self._write(cell, [tuple(row[name] for name in self._plan.COLUMNS) for row in rows])

    def _check_code(self, code: str) -> None:
        """Refuse a row if another process with other code has begun to write to the same file."""
        first = self._connection.execute("SELECT code FROM results LIMIT 1").fetchone()
        if first is not None and digest_of(first[0]) != digest_of(code) and not self.mixed:
            raise StudyFileError(
                f"another process writes rows of other code to it ({first[0]}; here {code})",
                parameter="other_code",
                where=self._file,
                remedy="Choose another name, or give other_code=keep to mix them.",
            )

    def _read(self) -> tuple[dict[Cell, list[Values]], int]:
        with _transaction(self._connection, self._file, "BEGIN"):
            return _read(self._connection, self._plan, self._identity)

    def _keep_only(self, cells: Mapping[Cell, Sequence[Values]]) -> None:
        """Write the file's rows anew: the keys of damaged ones cannot be trusted to find them."""
        self._connection.execute("DELETE FROM results")
        self._connection.execute("DELETE FROM cells")
        for cell, rows in cells.items():
            self._write(cell, rows)

    def _write(self, cell: Cell, rows: Sequence[Values]) -> None:
        plan, execute = self._plan, self._connection.execute
        self._connection.executemany(f"INSERT INTO results VALUES ({_marks(plan.COLUMNS)})", rows)
        # As they are read: SQLite has no -0.0, for example.
        order = ", ".join(plan.KEY)
        query = f"SELECT * FROM results WHERE {_same_cell(plan)} ORDER BY {order}"
        checksum = _checksum(self._identity, execute(query, cell).fetchall())
        execute(f"INSERT OR REPLACE INTO cells VALUES ({_marks(cell)}, ?)", (*cell, checksum))


@contextmanager
def open_store(database: Database, plan: StudyPlan) -> Iterator[Store]:
    """Open or create the file of a study; refuse the file of another study.

    Only the number of repetitions may be larger than before.
    """
    file = os.fspath(database)
    with closing(_connect(file)) as connection:
        with _transaction(connection, file):
            if _is_new(connection):
                _create(connection, plan)
                _set_params(connection, plan)
            else:
                _check(connection, plan, file)
                _agree(connection, plan, file)
        # A log, so that readers do not wait for writers, nor a cell for the disk.
        _set_journal(connection, "WAL")
        try:
            yield Store(connection, file, plan)
        finally:  # one file again, which can be read in a folder without write permission
            _set_journal(connection, "DELETE")


def read_rows(database: str | os.PathLike[str], plan: type[Any] = Study) -> list[dict[str, Any]]:
    """Read the rows of a study, even while it runs.

    Parameters
    ----------
    database : str or path
        File that :func:`run` writes.
    plan : type, default=Study
        The kind of study.

    Returns
    -------
    rows : list of dict
        As returned by :func:`run_cell`, sorted by cell and reject cost.

    Raises
    ------
    StudyFileError
        If the file is not that of such a study, or if rows in it are not as they were written.

    See Also
    --------
    run : Write the file.
    read_study : Read the parameters.
    read_archive : Read rows that were packed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import Study, read_rows, run
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.1, 0.4], grid="coarse")
    >>> with TemporaryDirectory() as folder:
    ...     _ = run(study, f"{folder}/study.db")
    ...     rows = read_rows(f"{folder}/study.db")
    >>> [(row["method"], row["reject_cost"]) for row in rows]
    [('rejoSVM/rbf', 0.1), ('rejoSVM/rbf', 0.4)]
    """
    with _reading(database, plan) as (connection, file):
        sound, n_damaged = _read(connection, plan, _identity(_params(connection, plan, file)))
    if n_damaged:
        raise StudyFileError(
            f"the rows of {n_damaged} of {len(sound) + n_damaged} cells are not as they were "
            "written",
            where=file,
            remedy="Run the study again: it computes those cells anew.",
        )
    return [
        dict(zip(plan.COLUMNS, values, strict=True)) for rows in sound.values() for values in rows
    ]


def read_study(database: str | os.PathLike[str], plan: type[Any] = Study) -> Any:
    """Read the parameters of the study in a file.

    Parameters
    ----------
    database : str or path
        File that :func:`run` writes.
    plan : type, default=Study
        The kind of study.

    Returns
    -------
    study : Study
        With the parameters of the run.

    Raises
    ------
    StudyFileError
        If the file is not that of such a study, or is damaged.

    See Also
    --------
    run : Write the file.
    read_rows : Read the rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import Study, read_study, run
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.2], grid="coarse")
    >>> with TemporaryDirectory() as folder:
    ...     _ = run(study, f"{folder}/study.db")
    ...     same = read_study(f"{folder}/study.db")
    >>> same.datasets, same.grid
    (('syntheticI',), 'coarse')
    """
    with _reading(database, plan) as (connection, file):
        return plan(**_params(connection, plan, file))


@contextmanager
def _reading(database: Database, plan: type[Any]) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open a file and check it; all that is read belongs to the same moment."""
    file = os.fspath(database)
    if not Path(file).exists():
        raise FileNotFoundError(f"database={file!r} does not exist: rejo.study.run creates it.")
    with closing(_connect(file)) as connection, _transaction(connection, file, "BEGIN"):
        if _is_new(connection):
            raise StudyFileError("is not the file of a study: it is empty", where=file)
        _check(connection, plan, file)
        yield connection, file


def _connect(file: str) -> sqlite3.Connection:
    if Path(file).exists() and not Path(file).is_file():
        raise StudyFileError("is not a file", where=file, remedy="Choose another name.")
    try:
        # Absolute, because SQLite gives names such as ":memory:" another meaning.
        path = os.path.abspath(file)
        connection = sqlite3.connect(path, timeout=TIMEOUT, isolation_level=None)
    except sqlite3.Error as error:
        raise _explained(error, file) from error
    # A damaged text is a text that differs.
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


@contextmanager
def _transaction(
    connection: sqlite3.Connection, file: str, begin: str = "BEGIN IMMEDIATE"
) -> Iterator[None]:
    """Do all or nothing; what SQLite reports becomes an error that names the file."""
    try:
        connection.execute(begin)
        yield
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _explained(error, file) from error
    except UnicodeError as error:  # a message of SQLite that quotes damaged text
        raise _damaged(file, str(error)) from error
    finally:
        with suppress(sqlite3.Error):
            connection.rollback()  # nothing is left to undo after COMMIT


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Change how transactions are kept; another process that uses the file prevents it."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute(f"PRAGMA busy_timeout = {1000 * TIMEOUT}")


def _explained(error: sqlite3.Error, file: str) -> StudyFileError:
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF
    problem, remedy = PROBLEMS.get(code, TROUBLE)
    return StudyFileError(f"{problem} ({error})", where=file, remedy=remedy)


def _damaged(file: str, reason: str) -> StudyFileError:
    return StudyFileError(f"is damaged ({reason})", where=file, remedy=AGAIN)


def _is_new(connection: sqlite3.Connection) -> bool:
    [[n]] = connection.execute("SELECT count(*) FROM sqlite_master")
    return n == 0 and _mark(connection) == (0, 0)


def _mark(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the program that a file belongs to, and its format."""
    [[application]] = connection.execute("PRAGMA application_id")
    [[number]] = connection.execute("PRAGMA user_version")
    return application, number


def _tables(plan: Any) -> dict[str, str]:
    """Return the statement that makes each table."""
    kinds = {str: "TEXT", int: "INTEGER", float: "REAL"}
    columns = [
        f"{name} {kinds[kind]}" + " NOT NULL" * (name not in plan.OPTIONAL)
        for name, kind in plan.COLUMNS.items()
    ]
    names, checksum = plan.CELL._fields, "checksum TEXT NOT NULL"
    return {
        "results": _keyed_table("results", columns, plan.KEY),
        "cells": _keyed_table("cells", [*columns[: len(names)], checksum], names),
        "study": f"CREATE TABLE study (kind TEXT NOT NULL, params TEXT NOT NULL, {checksum})",
    }


def _keyed_table(name: str, columns: Sequence[str], key: Sequence[str]) -> str:
    parts = [*columns, f"PRIMARY KEY ({', '.join(key)})"]
    return f"CREATE TABLE {name} ({', '.join(parts)}) WITHOUT ROWID"


def _create(connection: sqlite3.Connection, plan: StudyPlan) -> None:
    for statement in _tables(plan).values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check(connection: sqlite3.Connection, plan: Any, file: str) -> None:
    """Refuse files of another kind or format, and those whose pages are damaged."""
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    application, number = _mark(connection)
    if application == number == 0 and tables.keys() == {"results", "study"}:
        application, number = APPLICATION, 1  # which had no mark
    if application != APPLICATION:
        problem = "is not the file of a study, but another SQLite file"
        raise StudyFileError(problem, where=file, remedy="Choose another name.")
    if number != FORMAT:
        problem = f"has format {number}, but this version of rejo reads and writes format {FORMAT}"
        raise StudyFileError(problem, where=file, remedy=AGAIN)
    if tables.get("study") == _tables(plan)["study"]:
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM study")]
        if len(kinds) == 1 and kinds[0] != plan.KIND:
            problem = f"holds a study of another kind ({kinds[0]!r}, not {plan.KIND!r})"
            raise StudyFileError(problem, where=file, remedy="Choose another name.")
    if tables != _tables(plan):
        raise _damaged(file, "its tables are not those that rejo makes")
    [[found], *_] = connection.execute("PRAGMA integrity_check(1)")
    if found != "ok":
        raise _damaged(file, " ".join(str(found).split()))


def _params(connection: sqlite3.Connection, plan: Any, file: str) -> dict[str, Any]:
    """Return the parameters of the study."""
    found = connection.execute("SELECT params, checksum FROM study").fetchall()
    if len(found) != 1 or _checksum(found[0][0]) != found[0][1]:
        raise _damaged(file, "the parameters of its study are not as they were written")
    try:
        params = json.loads(found[0][0])
        return plan(**params).params() | params
    except (TypeError, ValueError, RecursionError) as error:
        raise _damaged(file, str(error)) from None


def _set_params(connection: sqlite3.Connection, plan: StudyPlan) -> None:
    text = json.dumps(plan.params())
    connection.execute("DELETE FROM study")
    connection.execute("INSERT INTO study VALUES (?, ?, ?)", (plan.KIND, text, _checksum(text)))


def _agree(connection: sqlite3.Connection, plan: StudyPlan, file: str) -> None:
    """Compare the parameters with those in the file."""
    before, wanted = _params(connection, type(plan), file), plan.params()
    other = [
        name
        for name in wanted
        if name != "repetitions" and _unordered(wanted[name]) != _unordered(before.get(name))
    ]
    if other:
        differences = "; ".join(f"{n}: {before.get(n)} there, {wanted[n]} here" for n in other)
        raise StudyFileError(
            f"holds another study ({differences})",
            where=file,
            remedy="Choose another name, or continue with the same parameters; only repetitions "
            "may be larger.",
        )
    if wanted["repetitions"] < before["repetitions"]:
        raise StudyFileError(
            f"holds {before['repetitions']} repetitions, more than repetitions="
            f"{wanted['repetitions']}",
            where=file,
            remedy="Give at least as many, or choose another name.",
        )
    if wanted != before:
        _set_params(connection, plan)


def _read(
    connection: sqlite3.Connection, plan: Any, identity: str
) -> tuple[dict[Cell, list[Values]], int]:
    """Return the cells whose rows are as they were written, in order, and how many are not."""
    names = plan.CELL._fields
    cells = connection.execute(f"SELECT * FROM cells ORDER BY {', '.join(names)}")
    checksums = {plan.CELL(*values): checksum for *values, checksum in cells}
    found: dict[Cell, list[Values]] = {cell: [] for cell in checksums}
    for values in connection.execute(f"SELECT * FROM results ORDER BY {', '.join(plan.KEY)}"):
        found.setdefault(plan.CELL(*values[: len(names)]), []).append(values)
    sound = {
        cell: rows
        for cell, rows in found.items()
        if rows and _checksum(identity, rows) == checksums.get(cell)
    }
    return sound, len(found) - len(sound)


def _same_cell(plan: StudyPlan) -> str:
    return " AND ".join(f"{name} = ?" for name in plan.CELL._fields)


def _identity(params: Mapping[str, Any]) -> str:
    """Return what the rows of a cell depend on, besides the cell."""
    names = sorted(params.keys() - {"repetitions"})
    return _checksum([(name, _unordered(params[name])) for name in names])


def _checksum(*parts: Any) -> str:
    """Return a digest of what JSON and SQLite can hold, the same for each version of Python."""
    return sha256(ascii(parts).encode()).hexdigest()


def _unordered(value: Any) -> Any:
    """Return lists sorted: the order of methods or data sets makes no other study."""
    return sorted(value) if isinstance(value, list) else value


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values))
