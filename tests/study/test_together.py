"""Processes that start on one new file at the same moment, and are killed as they make it."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rejo.study import StudyFileError, read_rows, run

sys.path.insert(0, os.fspath(Path(__file__).parent))
from together import STUDY, prepare

SCRIPT = Path(__file__).with_name("together.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def start(folder, n_processes, n_files):
    command = [sys.executable, SCRIPT, folder, str(n_processes), str(n_files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_processes_start_on_one_new_file(tmp_path):
    start(tmp_path, 4, 20)


def test_a_run_between_any_two_statements_of_another(tmp_path, monkeypatch):
    """The second either does all of its work, or finds the file locked."""
    rows = prepare(tmp_path, monkeypatch.setattr)

    class Connection(sqlite3.Connection):
        def execute(self, *arguments):
            nonlocal n_left
            n_left -= 1
            if n_left == 0:
                try:
                    run(STUDY, file)
                except (StudyFileError, sqlite3.Error) as error:
                    assert "locked" in str(error)  # noqa: PT017
            return super().execute(*arguments)

    connect = sqlite3.connect

    def connect_at_once(*arguments, timeout, **options):
        return connect(*arguments, timeout=0, factory=Connection, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_at_once)
    monkeypatch.setattr("rejo.study._store.TIMEOUT", 0)
    n_statements = n_left = 0
    while n_left <= 0:  # until there are no more statements
        n_statements += 1
        n_left, file = n_statements, tmp_path / f"{n_statements}.sqlite"
        run(STUDY, file)
        n_rest, n_left = n_left, 0
        assert run(STUDY, file) == 0
        assert read_rows(file) == rows
        n_left = n_rest
    assert n_statements > 20


@pytest.mark.slow
@pytest.mark.parametrize("n_processes", [2, 4, 8])
def test_processes_start_on_many_new_files(tmp_path, n_processes):
    start(tmp_path, n_processes, 60)


KILLED = """
import os, signal, sqlite3, sys
from together import STUDY, prepare
from rejo.study import StudyFileError, read_rows, run

class Connection(sqlite3.Connection):
    n_left = 0

    def execute(self, *arguments):
        Connection.n_left -= 1
        if Connection.n_left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)

prepare(sys.argv[1])
connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, factory=Connection, **options)
code, n_statements = None, 0
while code != 0:
    if (child := os.fork()) == 0:
        Connection.n_left = n_statements
        run(STUDY, os.path.join(sys.argv[1], f"{n_statements}.sqlite"))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code)
    n_statements += 1
"""


def test_a_process_killed_at_any_statement_leaves_a_file_that_goes_on(tmp_path, monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    *killed, last = map(int, done.stdout.split())
    assert (last, set(killed)) == (0, {-signal.SIGKILL}), done.stderr
    rows = prepare(tmp_path, monkeypatch.setattr)
    for n_statements in range(len(killed)):
        file = tmp_path / f"{n_statements}.sqlite"
        assert run(STUDY, file) in (0, 1)
        assert read_rows(file) == rows
