"""The file: a few tables of SQLite, written in whole transactions, and read as one frame.

A batch and a file of answers are one transaction each, so a process that is killed, or a full disk,
leaves the book as it was.  The rollback journal is used rather than a write-ahead log: then a book
is one file whenever nobody writes, safe to copy, and safe on network drives.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from rejo._errors import RejoError, shown
from rejo.scoring import fingerprint

if TYPE_CHECKING:
    from pandas import DataFrame

VERSION = 1
APPLICATION = 0x72656A6F  # "rejo": in the header of the file, and shown by `file`
BUSY = 60.0  # seconds to wait for another writer, which takes far less for a usual batch
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE models (model TEXT PRIMARY KEY, name TEXT NOT NULL, added TEXT NOT NULL,
    about TEXT NOT NULL);
CREATE TABLE batches (batch INTEGER PRIMARY KEY, model TEXT NOT NULL REFERENCES models,
    print TEXT NOT NULL, file TEXT NOT NULL, time TEXT NOT NULL, n INTEGER NOT NULL, seed INTEGER,
    audit REAL, columns TEXT NOT NULL, UNIQUE (model, print));
CREATE TABLE cases (batch INTEGER NOT NULL REFERENCES batches, id TEXT NOT NULL, decision TEXT,
    forced TEXT, reason TEXT, rank INTEGER NOT NULL, chance REAL, worth REAL, cost REAL,
    drawn INTEGER NOT NULL, weight REAL, group_ TEXT, PRIMARY KEY (batch, id));
CREATE INDEX case_ids ON cases (id);
CREATE TABLE answers (answer INTEGER PRIMARY KEY, id TEXT NOT NULL, batch INTEGER,
    kind TEXT NOT NULL, who TEXT NOT NULL, class TEXT NOT NULL, time TEXT NOT NULL,
    source TEXT NOT NULL);
CREATE UNIQUE INDEX said ON answers (id, ifnull(batch, 0), kind, who, class, time);
"""
STATEMENTS = list(filter(None, map(str.strip, SCHEMA.split(";"))))
COLUMNS = (
    "id", "decision", "forced", "reason", "rank", "chance", "worth", "cost", "drawn", "weight",
    "group",
)  # fmt: skip
# Columns of frames that are not text.
NUMBERS = {
    "rank": int, "n": int, "drawn": bool, "chance": float, "worth": float, "cost": float,
    "weight": float, "audit": float,
}  # fmt: skip
# What makes a case the same if a file is decided again; numbers to six digits.
PRINTED = ("id", "decision", "forced", "reason", "drawn", "chance", "worth")
# The newest answer of a kind counts; one that names no batch holds for the case in all of them
# whose model has the class.
CASES = """
WITH classes AS MATERIALIZED (
    SELECT batch, value AS class FROM batches JOIN models USING (model),
        json_each(about, '$.classes')),
heard AS (
    SELECT c.batch, c.id, a.kind, a.who, a.class, a.time, row_number() OVER (
        PARTITION BY c.batch, c.id, a.kind ORDER BY a.time DESC, a.answer DESC) AS nth
    FROM answers a JOIN cases c ON c.id = a.id AND (a.batch IS NULL OR a.batch = c.batch)
    JOIN classes k ON k.batch = c.batch AND k.class = a.class)
SELECT c.batch, b.time, b.model, c.id, c.decision, c.forced, c.reason, c.rank, c.chance, c.worth,
    c.cost, c.drawn, c.weight, r.class AS review, r.who, o.class AS outcome,
    min(coalesce(o.time, r.time), coalesce(r.time, o.time)) AS answered,
    coalesce(o.class, r.class) AS truth, c.group_ AS "group"
FROM cases c JOIN batches b ON b.batch = c.batch
LEFT JOIN heard r ON r.batch = c.batch AND r.id = c.id AND r.kind = 'review' AND r.nth = 1
LEFT JOIN heard o ON o.batch = c.batch AND o.id = c.id AND o.kind = 'outcome' AND o.nth = 1
"""
CONFLICTS = """
SELECT id FROM (
    SELECT id, kind, class, rank() OVER (
        PARTITION BY id, ifnull(batch, 0), kind, who ORDER BY time DESC) AS nth
    FROM answers)
WHERE nth = 1 GROUP BY id, kind HAVING count(DISTINCT class) > 1
"""


REMEDIES = {
    sqlite3.SQLITE_BUSY: "Another process writes to it: try again when that has ended.",
    sqlite3.SQLITE_FULL: "Make room; nothing was added.",
    sqlite3.SQLITE_READONLY: "Give yourself the right to write to it and its folder.",
    sqlite3.SQLITE_NOTADB: "Give the file of `rejo predict --book`.",
    sqlite3.SQLITE_CORRUPT: "Use a copy; `sqlite3 FILE .recover` may save some of it.",
}


class Taken(NamedTuple):
    """What became of some answers."""

    added: int
    known: int  # the book had them already
    unknown: list[str]  # ids that are not in the book: nothing is stored of them
    conflicts: list[str]  # ids on which people, or outcomes, now disagree


class Batch:
    """Cases that are being added; ``number`` is that of the batch, ``known`` if it was there."""

    def __init__(self, base: sqlite3.Connection, number: int) -> None:
        self._base, self.number, self.known = base, number, False
        self.n, self._prints = 0, [np.empty(0, np.uint64)]

    def add(self, frame: DataFrame) -> None:
        """Add some cases: ``id``, and whichever other ``COLUMNS`` are known of them."""
        import pandas as pd

        frame = frame.reindex(columns=list(COLUMNS)).astype(object)
        frame = frame.where(frame.notna(), None)
        for name in ("rank", "drawn"):
            frame[name] = [int(value or 0) for value in frame[name]]
        printed = frame[list(PRINTED)].map(
            lambda cell: f"{cell:.6g}" if isinstance(cell, float) else str(cell)
        )
        self._prints.append(pd.util.hash_pandas_object(printed, index=False).to_numpy())
        id = ""  # of the row that is being added
        rows = (
            (self.number, id := row[0], *row[1:])
            for row in frame.itertuples(index=False, name=None)
        )
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        try:
            self._base.executemany(f"INSERT INTO cases VALUES ({marks})", rows)
        except sqlite3.IntegrityError:
            raise RejoError(
                f"the id {shown(id)} stands in more than one row: an answer could mean either",
                parameter="id",
                remedy="Name a column whose values are different in every row.",
            ) from None
        self.n += len(frame)

    def finish(self) -> bool:
        """Complete the batch; return False if the book has the same one already."""
        found = fingerprint(np.concatenate(self._prints))
        about = (self.n, found, self.number)
        try:
            self._base.execute("UPDATE batches SET n = ?, print = ? WHERE batch = ?", about)
        except sqlite3.IntegrityError:
            same = (
                "SELECT a.batch FROM batches a JOIN batches b USING (model) "
                "WHERE a.print = ? AND b.batch = ?"
            )
            (self.number,) = self._base.execute(same, about[1:]).fetchone()
            self.known = True
        return not self.known


class Book:
    """A case book; with ``create`` a new one, if the file does not exist.

    Parameters
    ----------
    path : str or path
        The file.
    create : bool, default=False
        Whether to make a book if there is none.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise self._error("there is no such case book", "`rejo predict --book` makes one.")
        mode = "rwc" if create else "rw"
        with self._explained():
            self._base = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False,
            )  # fmt: skip
            try:
                self._base.execute("PRAGMA trusted_schema = OFF")
                self._base.execute("PRAGMA synchronous = EXTRA")
                self._open(create)
            except BaseException:
                self._base.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self, create: bool) -> None:
        """Check that this is a book of ours, or make it one."""
        if create:
            with self._writing():
                if not self._objects() and not self._pragma("application_id"):
                    for statement in STATEMENTS:
                        self._base.execute(statement)
                    about = {"version": str(VERSION), "book": secrets.token_hex(8)}
                    self._base.executemany("INSERT INTO meta VALUES (?, ?)", about.items())
                    self._base.execute(f"PRAGMA application_id = {APPLICATION}")
        found = self._objects()
        if self._pragma("application_id") != APPLICATION or STATEMENTS[0] not in found:
            raise self._error("this is not a case book", "Give the file of `rejo predict --book`.")
        meta = dict(self._base.execute("SELECT key, value FROM meta"))
        if (version := meta.get("version")) != str(VERSION):
            raise self._error(
                f"a case book of version {version!s:.20}, and this rejo reads version {VERSION}",
                "Use the rejo that wrote it.",
            )
        if found != set(STATEMENTS):  # a trigger, say, would change what is written
            raise self._error("its tables are not those of a case book", "Use an unchanged copy.")
        self.id: str = meta.get("book", "")

    def _pragma(self, name: str) -> Any:
        return self._base.execute(f"PRAGMA {name}").fetchone()[0]

    def _objects(self) -> set[str]:
        made = self._base.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {statement for (statement,) in made}

    # ---- writing -----------------------------------------------------------------------------

    @contextmanager
    def batch(
        self,
        model: str,
        about: Mapping[str, Any],
        *,
        name: str = "",
        file: str = "",
        seed: int | None = None,
        audit: float | None = None,
        columns: Any = (),
        time: str | None = None,
    ) -> Iterator[Batch]:
        """Add a batch, which is stored when the block ends; the same one again changes nothing.

        Parameters
        ----------
        model : str
            SHA-256 of the payload of the model file, whose ``name`` and facts ``about`` it are
            stored once.
        about : dict
            What JSON can hold.
        name, file : str
            The model's file, and that of the cases.
        seed, audit : int, float or None
            The share of decided cases that was drawn for review, and the seed of the draw.
        columns : list
            What the watch has found about the columns, as JSON.
        time : str or None, default=None
            ISO 8601, UTC; None: now.

        Yields
        ------
        Batch
            Its ``add`` takes the cases.
        """
        time = time or now()
        known = (model, name, time, json.dumps(about))
        started = (model, secrets.token_hex(8), file, time, 0, seed, audit, json.dumps(columns))
        with self._writing() as undo:
            self._base.execute("INSERT OR IGNORE INTO models VALUES (?, ?, ?, ?)", known)
            cursor = self._base.execute(
                "INSERT INTO batches VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", started
            )
            batch = Batch(self._base, int(cursor.lastrowid or 0))
            yield batch
            if not batch.finish():
                undo()

    def add_answers(self, answers: DataFrame, source: str) -> Taken:
        """Add what people said of cases, or what became of them.

        Parameters
        ----------
        answers : DataFrame
            ``id`` and ``class``, and perhaps ``who``, ``time`` (ISO 8601, UTC), ``kind``
            (``"review"``, which is the default, or ``"outcome"``) and ``batch`` (else all batches
            with this case).
        source : str
            Where they come from: a source is taken once.
        """
        given = answers.reindex(columns=["id", "batch", "kind", "who", "class", "time"])
        given = given.astype(object).where(given.notna(), None)
        unknown: dict[str, None] = {}
        ids: set[str] = set()
        added, taken = 0, now()
        with self._writing():
            same = "SELECT 1 FROM answers WHERE source = ?"
            again = self._base.execute(same, (source,)).fetchone() is not None
            for id, batch, kind, who, said, time in given.itertuples(index=False, name=None):
                if (found := self._known(id, batch)) is not None:
                    ids.add(found)
                    answer = (found, batch, kind or "review", who or "", said, time)
                    added += 0 if again else self._add_answer(answer, taken, source)
                else:
                    unknown[id] = None
            conflicts = [id for (id,) in self._base.execute(CONFLICTS) if id in ids]
        n_known = int((~given["id"].isin(unknown)).sum()) - added
        return Taken(added, n_known, list(unknown), list(dict.fromkeys(conflicts)))

    def _known(self, id: str, batch: int | None) -> str | None:
        """Return an id of the book, as it was before a spreadsheet had it: ``'=1``, ``7.0``."""
        there = "SELECT 1 FROM cases WHERE id = ? AND (? IS NULL OR batch = ?)"
        for name in dict.fromkeys([id, id.removeprefix("'"), id.removesuffix(".0")]):
            if self._base.execute(there, (name, batch, batch)).fetchone():
                return name
        return None

    def _add_answer(self, answer: tuple[Any, ...], taken: str, source: str) -> int:
        """Add an answer and return 1, or 0 if it is known.

        One without a time is known if the same person said the same last time.
        """
        *who, said, time = answer
        if not time:
            last = (
                "SELECT class FROM answers WHERE id = ? AND batch IS ? AND kind = ? AND who = ? "
                "ORDER BY time DESC, answer DESC"
            )
            if self._base.execute(last, who).fetchone() == (said,):
                return 0
        row = (*who, said, time or taken, source)
        return self._base.execute(
            "INSERT OR IGNORE INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row
        ).rowcount

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """Write in one transaction; what it yields makes the end undo it."""
        undone = []
        with self._explained():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield lambda: undone.append(True)
                self._base.execute("ROLLBACK" if undone else "COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # it may be undone already, as the disk is full
                    self._base.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let an error of SQLite say what to do."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            problem = f"the case book cannot be used ({error})"
            remedy = REMEDIES.get(
                code, "Check the file, its folder and the disk; nothing was added."
            )
            raise self._error(problem, remedy) from None

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let the book take the blame if the facts in it are of other types than rejo writes."""
        try:
            yield
        except RejoError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
            problem = "what the case book says of a model or a batch cannot be used"
            raise self._error(problem, "Use an unchanged copy.") from None

    def _error(self, problem: str, remedy: str) -> RejoError:
        return RejoError(problem, parameter="book", where=str(self.path), remedy=remedy)

    # ---- reading -----------------------------------------------------------------------------

    def cases(self) -> DataFrame:
        """Return a row for each case of each batch, with what is known of it.

        The columns are ``batch``, ``time``, ``model``, ``id``, ``decision`` (None: review),
        ``forced``, ``reason``, ``rank`` (0: decided), ``chance``, ``worth``, ``cost``, ``drawn``,
        ``weight``, ``review`` (the newest reviewer's class), ``who``, ``outcome``, ``answered``
        (when the first of the two came), ``truth`` (the outcome, else the review) and ``group``.
        """
        return self._frame(f"{CASES} ORDER BY c.batch, c.rowid").astype({"batch": int})

    def answers(self) -> DataFrame:
        """Return all answers, also those that newer ones replace, in the order they came."""
        return self._frame(
            "SELECT id, batch, kind, who, class, time, source FROM answers ORDER BY answer"
        )

    def batches(self) -> DataFrame:
        """Return the batches; ``columns`` is what the watch found, as lists and dicts."""
        found = self._frame(
            "SELECT batch, model, file, time, n, seed, audit, columns FROM batches ORDER BY batch"
        )
        return found.assign(columns=found["columns"].map(self._parsed)).astype({"batch": int})

    def models(self) -> dict[str, dict[str, Any]]:
        """Return ``name``, ``added`` and what else is known of each model, by its hash."""
        rows = self._frame("SELECT model, name, added, about FROM models ORDER BY added, rowid")
        found = {}
        for model, name, added, text in rows.itertuples(index=False, name=None):
            about = self._parsed(text)
            classes = about.get("classes") if isinstance(about, dict) else None
            if not isinstance(classes, list) or not all(isinstance(one, str) for one in classes):
                raise self._error("it does not say the classes of a model", "Use a copy.")
            found[model] = about | {"name": name, "added": added}
        return found

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._error("a cell of the case book is not JSON", "Use a copy.") from None

    def _frame(self, query: str) -> DataFrame:
        import pandas as pd

        with self._explained():
            cursor = self._base.execute(query)
            names = [name for name, *_ in cursor.description]
            found = pd.DataFrame(cursor.fetchall(), columns=names, dtype=object)
        try:
            return found.astype({name: kind for name, kind in NUMBERS.items() if name in names})
        except (ValueError, TypeError):
            raise self._error("a cell of the case book is not a number", "Use a copy.") from None


def now() -> str:
    """Return the time as the book writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
