"""Files of a study that were damaged, changed or made by others: noticed, never read as rows."""

import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rejo.study import Study, StudyFileError, read_rows, read_study, run
from rejo.study._code import current_code
from rejo.study._store import open_store

COLUMNS = Study.COLUMNS

STUDY = Study(["syntheticI"], [0.1], 40, ["SVM-1C/rbf"], [0.1, 0.3], grid="coarse")
AGAIN = "Choose another name, or delete the file and run the study again"


def made_up(cell):
    """Rows of a cell, each with numbers of its own."""
    luck = random.Random(cell.repetition)
    rows = []
    for w in STUDY.reject_costs:
        row = {name: luck.random() for name, kind in COLUMNS.items() if kind is float}
        row |= {"n_train": 40, "n_test": 360, "params": f'{{"C": {luck.random()}}}'}
        row["code"] = current_code()
        rows.append({name: (row | cell._asdict() | {"reject_cost": w})[name] for name in COLUMNS})
    return rows


ROWS = [row for cell in STUDY.cells() for row in made_up(cell)]


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    path = tmp_path_factory.mktemp("complete") / "study.db"
    with open_store(path, STUDY) as store:
        for cell in STUDY.cells():
            store.add(made_up(cell))
    return path


@pytest.fixture
def database(complete, tmp_path, monkeypatch):
    """A complete file; cells that are missing are computed at once."""
    monkeypatch.setattr(Study, "compute", lambda study, cell, table: made_up(cell))
    path = shutil.copy(complete, tmp_path / "study.db")
    assert run(STUDY, path) == 0
    assert read_rows(path) == ROWS
    return path


def edit(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statements", "n_damaged"),
    [
        (["UPDATE results SET R = 0 WHERE repetition = 3 AND reject_cost = 0.1"], 1),
        (["UPDATE results SET seconds = 2 * seconds WHERE repetition < 4"], 4),
        (["UPDATE results SET params = '{}' WHERE repetition = 3"], 1),
        (["UPDATE results SET crossing_rate = NULL WHERE repetition = 3"], 1),
        (["UPDATE results SET params = X'00FF' WHERE repetition = 3"], 1),
        (["UPDATE results SET params = CAST(X'FF' AS TEXT) WHERE repetition = 3"], 1),
        (["UPDATE results SET method = CAST(X'FF' AS TEXT) WHERE repetition = 3"], 2),
        (["DELETE FROM results WHERE repetition = 3 AND reject_cost = 0.3"], 1),
        (["DELETE FROM results WHERE repetition = 3"], 1),
        (["DELETE FROM results"], 40),
        (["DELETE FROM cells WHERE repetition = 3"], 1),
        (["DELETE FROM cells"], 40),
        (["UPDATE cells SET checksum = upper(checksum) WHERE repetition = 3"], 1),
        (["UPDATE results SET repetition = 99 WHERE repetition = 3"], 2),
        (["UPDATE results SET reject_cost = 0.2 WHERE repetition = 3 AND reject_cost = 0.1"], 1),
        (  # two cells change places, with their checksums
            [
                f"UPDATE {table} SET repetition = {new} WHERE repetition = {old}"
                for table in ("results", "cells")
                for old, new in ((3, 99), (4, 3), (99, 4))
            ],
            2,
        ),
        (  # a row more
            [
                "INSERT INTO results SELECT dataset, split, share, repetition, method, 0.2, "
                f"{', '.join(list(COLUMNS)[6:])} FROM results WHERE repetition = 3 LIMIT 1"
            ],
            1,
        ),
    ],
)
def test_cells_that_were_changed_are_noticed_and_computed_again(
    database, capsys, statements, n_damaged
):
    edit(database, *statements)
    with pytest.raises(StudyFileError, match=rf"the rows of {n_damaged} of .*Run the study again"):
        read_rows(database)
    n_cells = run(STUDY, database)
    assert 1 <= n_cells <= n_damaged
    assert f"study.db: computing {n_damaged} damaged cells again" in capsys.readouterr().err
    assert read_rows(database) == ROWS
    assert run(STUDY, database) == 0
    assert capsys.readouterr().err == ""


def test_a_cell_that_is_gone_is_computed_again(database):
    edit(database, *(f"DELETE FROM {name} WHERE repetition = 3" for name in ("results", "cells")))
    assert len(read_rows(database)) == len(ROWS) - 2  # as of a study that is not complete
    assert run(STUDY, database) == 1
    assert read_rows(database) == ROWS


def test_rows_do_not_pass_for_those_of_another_study(database, tmp_path):
    """The rows and checksums of one study, under the parameters of another."""
    other = tmp_path / "other.db"
    with open_store(other, Study(**(STUDY.params() | {"seed": 1}))):
        pass
    copies = [f"INSERT INTO {name} SELECT * FROM from_.{name}" for name in ("results", "cells")]
    edit(other, f"ATTACH '{database}' AS from_", *copies)
    with pytest.raises(StudyFileError, match="the rows of 40 of 40 cells"):
        read_rows(other)


@pytest.mark.parametrize(
    ("statements", "problem", "remedy"),
    [
        (["""UPDATE study SET params = replace(params, '"seed": 0', '"seed": 1')"""],
         "the parameters of its study are not as they were written", AGAIN),
        (["DELETE FROM study"], "the parameters of its study", AGAIN),
        (["INSERT INTO study SELECT * FROM study"], "the parameters of its study", AGAIN),
        (["DROP TABLE results"], "its tables are not those that rejo makes", AGAIN),
        (["CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM cells; END"],
         "its tables are not those", AGAIN),
        (["ALTER TABLE results RENAME TO r", "CREATE VIEW results AS SELECT * FROM r"],
         "its tables are not those", AGAIN),
        (["PRAGMA application_id = 7"], "another SQLite file", "Choose another name"),
        (["PRAGMA user_version = 4"], "has format 4, but this version .* format 3", AGAIN),
    ],
)  # fmt: skip
def test_files_that_were_changed_otherwise_are_refused(database, statements, problem, remedy):
    edit(database, *statements)
    assert_refused(database, rf"study\.db: .*{problem}.*{remedy}")


@pytest.mark.parametrize("text", ["[]", "{", "1", '{"seed": -1}', '{"colour": 1}', "[" * 10**5])
def test_parameters_that_make_no_study_are_refused(database, text):
    checksum = sha256(ascii((text,)).encode()).hexdigest()
    edit(database, f"UPDATE study SET params = '{text}', checksum = '{checksum}'")
    assert_refused(database, rf"study\.db: is damaged .*{AGAIN}")


def test_a_file_of_the_first_format_is_refused(tmp_path):
    database = tmp_path / "study.db"
    edit(
        database,
        "PRAGMA journal_mode = WAL",
        f"CREATE TABLE results ({', '.join(COLUMNS)})",
        "CREATE TABLE study (format INTEGER NOT NULL, params TEXT NOT NULL)",
    )
    assert_refused(database, f"has format 1, but this version of rejo .*{AGAIN}")


def test_another_file_is_refused_and_left_alone(tmp_path):
    database = tmp_path / "other.db"
    edit(database, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    assert_refused(database, "is not the file of a study, but another SQLite file.*another name")
    database.write_text("not a database, but some words that are long enough " * 20)
    assert_refused(database, "is not the file of a study, or is damaged .*another name")


def test_an_empty_file_is_a_new_one(tmp_path, database):
    empty = tmp_path / "empty.db"
    empty.touch()
    for read in (read_rows, read_study):
        with pytest.raises(StudyFileError, match="it is empty"):
            read(empty)
    assert run(STUDY, empty) == 40
    assert read_rows(empty) == ROWS


def assert_refused(database, message):
    """The error says why, and the file stays as it is."""
    content = database.read_bytes()
    for call in (read_rows, read_study, lambda path: run(STUDY, path)):
        with pytest.raises(StudyFileError, match=message):
            call(database)
    assert database.read_bytes() == content


def flip(content, luck):
    content[luck.randrange(len(content))] ^= 1 << luck.randrange(8)


def flip_in_a_header(content, luck):
    page = 4096 * luck.randrange(len(content) // 4096)
    content[page + luck.randrange(112 if page == 0 else 64)] = luck.randrange(256)


def overwrite(content, luck):
    start, n = luck.randrange(len(content)), luck.choice((2, 16, 512))
    content[start : start + n] = luck.randbytes(n)


def clear(content, luck):
    start = 512 * luck.randrange(len(content) // 512)
    content[start : start + 512] = bytes(512)


def truncate(content, luck):
    del content[luck.choice((luck.randrange(len(content)), 4096 * luck.randrange(1, 5))) :]


def copy_a_page(content, luck):
    to, from_ = (4096 * luck.randrange(len(content) // 4096) for _ in range(2))
    content[to : to + 4096] = content[from_ : from_ + 4096]


def shift(content, luck):
    start = luck.randrange(len(content))
    content[start:start] = luck.randbytes(luck.choice((1, 4096)))


def try_damaged(database, luck, damages):
    """Damage a file; return what happened when it was read and continued."""
    content = bytearray(database.read_bytes())
    for damage in damages:
        if len(content) >= 4096:
            damage(content, luck)
    path = database.with_name("damaged.db")
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(content)

    def outcome(call):
        try:
            call()
        except StudyFileError as error:
            return "refused" if str(error).startswith(f"{path}: ") else repr(error)
        return "right"

    def read():
        assert all(row in ROWS for row in read_rows(path))

    def continue_():
        run(STUDY, path)
        assert read_rows(path) == ROWS
        assert read_study(path) == STUDY

    return outcome(read), outcome(continue_)


# Of reading a file and of continuing it, which computes cells whose rows are damaged.
OUTCOMES = {("right", "right"), ("refused", "refused"), ("refused", "right")}
DAMAGES = [flip, flip_in_a_header, overwrite, clear, truncate, copy_a_page, shift]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_bytes_never_become_rows(database, damage):
    luck = random.Random(damage.__name__)
    found = {try_damaged(database, luck, [damage]) for _ in range(60)}
    assert found <= OUTCOMES
    assert len(found - {("right", "right")}) > 0


@pytest.mark.slow
def test_damaged_bytes_never_become_rows_whatever_the_damage(database):
    luck = random.Random(0)
    found = {
        try_damaged(database, luck, luck.choices(DAMAGES, k=luck.randint(1, 3)))
        for _ in range(3000)
    }
    assert found == OUTCOMES


def test_what_cannot_be_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(StudyFileError, match=f"{path}: is not a file. Choose another name"):
            run(STUDY, path)
    with pytest.raises(
        StudyFileError, match=r"cannot be opened for writing \(unable to open.*folder exists"
    ):
        run(STUDY, tmp_path / "nowhere" / "file.sqlite")


def test_a_locked_file_is_named(database, monkeypatch):
    monkeypatch.setattr("rejo.study._store.TIMEOUT", 0)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        for call in (read_rows, read_study, lambda path: run(STUDY, path)):
            with pytest.raises(StudyFileError, match=r"another process .*locked.*Wait"):
                call(database)
    assert read_rows(database) == ROWS


def test_a_full_disk_keeps_what_is_there(tmp_path, database):
    path = tmp_path / "full.db"
    with open_store(path, STUDY) as store:
        store._connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(StudyFileError, match=r"full\.db: the disk is full.*Make room"):
            list(map(store.add, map(made_up, STUDY.cells())))
        n_done = len(store.done())
    assert len(read_rows(path)) == 2 * n_done > 0
    assert run(STUDY, path) == 40 - n_done
    assert read_rows(path) == ROWS


def test_a_disk_that_refuses_to_write_keeps_what_is_there(tmp_path, database):
    """A limit on the size of files is met in the middle of a transaction."""
    path = tmp_path / "full.db"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StudyFileError, match=r"full\.db: .*run again: the study continues"):
            run(STUDY, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    n_done = len(read_rows(path)) // 2
    assert n_done > 0
    assert run(STUDY, path) == 40 - n_done
    assert read_rows(path) == ROWS


READ_ONLY = """
import os
from rejo.study import Study, StudyFileError, read_rows, read_study, run
from rejo.study._code import current_code
current_code()  # reads the installation, which may be closed to others
if os.geteuid() == 0:  # who may write anywhere
    os.setuid(65534)
study = read_study("study.db")
print(len(read_rows("study.db")), run(study, "study.db"))
larger = Study(**(study.params() | {"repetitions": 41}))
for wanted, name in ((larger, "study.db"), (study, "new.db")):
    try:
        run(wanted, name)
    except StudyFileError as error:
        print(error)
"""


def test_a_folder_that_may_only_be_read(complete):
    """Rows can be read there; a run that has to write says that it cannot."""
    with TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        shutil.copy(complete, Path(folder, "study.db"))
        Path(folder, "study.db").chmod(0o444)
        Path(folder).chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        Path(folder).chmod(0o755)
    assert done.returncode == 0, done.stderr
    numbers, *errors = done.stdout.splitlines()
    assert numbers == f"{len(ROWS)} 0"
    for name, error in zip(("study.db", "new.db"), errors, strict=True):
        assert re.match(rf"{name}: cannot be opened for writing .*that you may write to it", error)
