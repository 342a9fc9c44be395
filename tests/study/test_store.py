"""The file of a study: complete cells, once each, and only of one study."""

import json
import sqlite3

import pytest

from rejo.study import Study, read_rows, read_study, run, run_cell
from rejo.study._store import COLUMNS, open_store


def small(**changes):
    parameters = dict(
        datasets=["syntheticI"],
        shares=[0.1],
        repetitions=2,
        methods=["SVM-1C/rbf"],
        reject_costs=[0.1, 0.3],
        grid="coarse",
    )
    return Study(**(parameters | changes))


@pytest.fixture
def database(tmp_path):
    return tmp_path / "study.db"


def test_rows_come_back_as_they_were(database):
    study = small()
    rows = [row for cell in study.cells() for row in run_cell(study, cell)]
    with open_store(database, study) as store:
        assert store.done() == set()
        for i in range(0, len(rows), 2):
            store.add(rows[i : i + 2])
        assert store.done() == set(study.cells())
        assert read_rows(database) == rows  # while it is open for writing
    assert read_rows(database) == rows
    assert read_study(database) == study


def test_columns_and_key(database):
    with open_store(database, small()):
        pass
    with sqlite3.connect(database) as connection:
        table = connection.execute("PRAGMA table_info(results)").fetchall()
        [[mode]] = connection.execute("PRAGMA journal_mode")
    connection.close()
    types = {str: "TEXT", int: "INTEGER", float: "REAL"}
    assert [(name, kind, needed) for _, name, kind, needed, *_ in table] == [
        (name, types[kind], name != "crossing_rate") for name, kind in COLUMNS.items()
    ]
    key = ["dataset", "split", "share", "repetition", "method", "reject_cost"]
    assert [name for _, name, *_, place in table if place] == key
    assert mode == "wal"


def test_a_cell_that_is_written_twice_is_there_once(database):
    study = small()
    rows = run_cell(study, next(study.cells()))
    with open_store(database, study) as store:
        store.add(rows)
        store.add(rows)
    assert read_rows(database) == rows


def test_a_cell_is_written_whole_or_not_at_all(database):
    study = small()
    rows = run_cell(study, next(study.cells()))
    broken = [rows[0], {**rows[1], "risk": None}]
    with open_store(database, study) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add(broken)
        assert store.done() == set()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, r"another study \(seed: 0 there, 1 here\)"),
        ({"grid": "authors"}, "grid: coarse there, authors here"),
        ({"shares": [0.1, 0.2]}, "shares"),
        ({"methods": ["SVM-1C"]}, "methods"),
        ({"repetitions": 1}, "holds 2 repetitions, more than repetitions=1"),
    ],
)
def test_another_study_is_refused(database, changes, message):
    assert run(small(), database) == 2
    before = read_rows(database)
    with pytest.raises(ValueError, match=message):
        run(small(**changes), database)
    assert read_rows(database) == before


def test_a_study_continues_whatever_the_order_of_its_methods(database):
    study = small(methods=["rejoNN", "SVM-1C/rbf"])
    assert run(study, database) == 4
    with sqlite3.connect(database) as connection:
        [[text]] = connection.execute("SELECT params FROM study")
        params = json.loads(text)
        params["methods"].reverse()
        connection.execute("UPDATE study SET params = ?", (json.dumps(params),))
    connection.close()
    assert run(study, database) == 0
    assert read_study(database) == study


def test_a_study_grows(database):
    assert run(small(), database) == 2
    before = read_rows(database)
    assert run(small(repetitions=3), database) == 1
    assert read_study(database).repetitions == 3
    after = read_rows(database)
    assert len(after) == 6
    assert [row for row in after if row["repetition"] < 2] == before
    assert run(small(repetitions=3), database) == 0


def test_files_that_are_none(database):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_rows(database)
    database.write_text("not a database, but some words that are long enough " * 20)
    with pytest.raises(ValueError, match="is not the file of a study"):
        read_rows(database)
    with pytest.raises(ValueError, match="is not the file of a study"):
        run(small(), database)


def test_a_file_that_cannot_be_written_is_not_called_another_thing(database):
    study = small()
    with open_store(database, study):
        pass
    with pytest.raises(OSError, match="cannot be read or written: unable to open"):
        run(study, database.parent)  # a folder
    with pytest.raises(OSError, match="cannot be read or written: unable to open"):
        run(study, database.parent / "nowhere" / "file.sqlite")


def test_a_full_disk_is_an_error_of_the_system(database):
    study = small()
    [cell] = list(study.cells())[:1]
    rows = run_cell(study, cell)
    with open_store(database, study) as store:
        store._connection.execute("PRAGMA query_only = 1")
        with pytest.raises(OSError, match="could not be written"):
            store.add(rows)
