"""The file of a study: complete cells, once each, and only of one study."""

import sqlite3

import pytest

from rejo.study import Study, StudyFileError, read_rows, read_study, run, run_cell
from rejo.study._store import open_store

COLUMNS = Study.COLUMNS


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
    assert mode == "delete"  # one file, also for those who may only read


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
        with pytest.raises(StudyFileError, match="NOT NULL"):
            store.add(broken)
        assert store.done() == set()
        store.add(rows)
        with pytest.raises(StudyFileError, match="NOT NULL"):
            store.add(broken)
        assert len(store.done()) == 1
    assert read_rows(database) == rows


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


def test_a_study_continues_whatever_the_order_of_its_methods(database, monkeypatch):
    study = small(methods=["rejoNN", "SVM-1C/rbf"])
    params = study.params()
    params["methods"].reverse()
    with monkeypatch.context() as patch:
        patch.setattr(Study, "params", lambda self: params)
        assert run(study, database) == 4
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


def test_a_file_that_is_missing(database):
    for read in (read_rows, read_study):
        with pytest.raises(FileNotFoundError, match=r"study\.db' does not exist: .*run creates it"):
            read(database)
    assert not database.exists()


def test_names_that_sqlite_takes_for_something_else_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(small(), ":memory:") == 2
    assert len(read_rows(tmp_path / ":memory:")) == 4
    with pytest.raises(StudyFileError):
        run(small(), "")
