"""The driver: any number of processes, killed at any time, the same rows."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rejo.study import Study, run, run_cell

sys.path.insert(0, os.fspath(Path(__file__).parent))
from tiny import n_rows, rows_of, tiny_study

SCRIPT = Path(__file__).with_name("tiny.py")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    database = tmp_path_factory.mktemp("study") / "undisturbed.db"
    study = tiny_study()
    assert run(study, database) == len(list(study.cells()))
    return rows_of(database)


def stop(database, signal_number, n_jobs):
    """Run the study in a process of its own until some cells are there, and stop it.

    Returns its exit code and what it wrote to stderr.
    """
    command = [sys.executable, os.fspath(SCRIPT), os.fspath(database), str(n_jobs)]
    errors = database.with_suffix(".txt")
    with errors.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while n_rows(database) < 10:
            assert process.poll() is None, errors.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal_number)
        return process.wait(timeout=30), errors.read_text()
    finally:  # the workers of a killed driver would wait for minutes
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_every_cell_once(undisturbed):
    study = tiny_study()
    keys = [tuple(row[name] for name in (*study_keys(), "reject_cost")) for row in undisturbed]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {(*cell, w) for cell in study.cells() for w in study.reject_costs}


def study_keys():
    return ("dataset", "split", "share", "repetition", "method")


def test_a_cell_alone_gives_the_same_rows(undisturbed):
    study = tiny_study()
    cell = list(study.cells())[17]
    rows = run_cell(study, cell)
    for row in rows:
        del row["seconds"]
    expected = [row for row in undisturbed if tuple(row[name] for name in study_keys()) == cell]
    assert rows == expected


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_driver_loses_nothing(undisturbed, tmp_path, n_jobs):
    """And two processes give the same rows as one."""
    database = tmp_path / "study.db"
    stop(database, signal.SIGKILL, n_jobs)
    kept = rows_of(database)
    assert 0 < len(kept) < len(undisturbed)
    assert len(kept) % 2 == 0  # whole cells
    assert run(tiny_study(), database, n_jobs=n_jobs) == (len(undisturbed) - len(kept)) // 2
    assert rows_of(database) == undisturbed


def test_ctrl_c_keeps_what_is_done(undisturbed, tmp_path):
    database = tmp_path / "study.db"
    code, stderr = stop(database, signal.SIGINT, n_jobs=2)
    assert code != 0
    assert "KeyboardInterrupt" in stderr
    kept = rows_of(database)
    assert 0 < len(kept) < len(undisturbed)
    run(tiny_study(), database)
    assert rows_of(database) == undisturbed


def test_one_cell_that_fails_does_not_end_the_study(undisturbed, tmp_path, monkeypatch):
    database, compute = tmp_path / "study.db", Study.compute

    def fail_once(study, cell, table):
        if cell.method == "rejoNN" and cell.repetition == 1:
            raise ArithmeticError("no luck")
        return compute(study, cell, table)

    monkeypatch.setattr(Study, "compute", fail_once)
    with pytest.raises(RuntimeError, match=r"2 of 60 cells failed.*rejoNN.*no luck"):
        run(tiny_study(), database)
    monkeypatch.undo()
    assert run(tiny_study(), database) == 2
    assert rows_of(database) == undisturbed


def test_missing_tables_are_left_out_with_a_line(tmp_path, capsys):
    study = Study(["syntheticI", "letter-ah"], [0.1], 1, ["SVM-1C/rbf"], [0.2], grid="coarse")
    assert run(study, tmp_path / "study.db", data_home=tmp_path) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("study: skipped letter-ah")


def test_progress_shows_the_time_left(tmp_path, capsys):
    study = tiny_study(repetitions=1, methods=["SVM-1C/rbf"])
    run(study, tmp_path / "quiet.db")
    assert capsys.readouterr().err == ""
    run(study, tmp_path / "study.db", verbose=True)
    assert "study: 2/2, 0:00 left" in capsys.readouterr().err


def test_n_jobs_is_checked(tmp_path):
    with pytest.raises(ValueError, match="n_jobs=0"):
        run(tiny_study(), tmp_path / "study.db", n_jobs=0)


@pytest.mark.parametrize(("old", "new"), [("jobs", "n_jobs"), ("progress", "verbose")])
def test_old_names_of_parameters_are_refused_by_name(tmp_path, old, new):
    with pytest.raises(TypeError, match=f"{old}.*{new}"):
        run(tiny_study(), tmp_path / "study.db", **{old: 1})
    assert not (tmp_path / "study.db").exists()


def test_a_killed_process_is_replaced(undisturbed, tmp_path, monkeypatch):
    from joblib.externals.loky import reusable_executor

    from rejo.study._store import Store

    add, killed = Store.add, []

    def add_and_kill(store, rows):
        add(store, rows)
        if not killed:
            killed.append(next(iter(reusable_executor._executor._processes)))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(Store, "add", add_and_kill)
    study, database = tiny_study(), tmp_path / "study.db"
    assert run(study, database, n_jobs=2) == len(list(study.cells()))
    assert killed
    assert rows_of(database) == undisturbed
