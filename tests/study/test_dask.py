"""The same rows from a Dask cluster, also if a worker dies."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from rejo.study import run
from tests.cluster_setup import local_cluster

sys.path.insert(0, os.fspath(Path(__file__).parent))
from tiny import n_rows, rows_of, tiny_study

pytest.importorskip(
    "distributed", reason='dask.distributed is not installed: pip install "rejo[dask]"'
)
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster():
    with local_cluster() as cluster:
        yield cluster


def test_a_cluster_gives_the_same_rows(cluster, tmp_path):
    study = tiny_study(repetitions=2)
    run(study, tmp_path / "here.db")
    assert run(study, tmp_path / "there.db", dask=cluster.scheduler_address) == 24
    assert rows_of(tmp_path / "there.db") == rows_of(tmp_path / "here.db")


def test_a_worker_that_dies_loses_nothing(cluster, tmp_path):
    study, database = tiny_study(), tmp_path / "study.db"
    pids = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill():
        while n_rows(database) < 10:
            time.sleep(0.01)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(n_rows(database))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert run(study, database, dask=cluster.scheduler_address) == 60
    killer.join()
    assert killed[0] < 120  # in the middle
    run(study, tmp_path / "here.db")
    assert rows_of(database) == rows_of(tmp_path / "here.db")
    assert pids[0] not in [worker.pid for worker in cluster.workers.values()]
