"""Decisions on many Parquet files, on a Dask cluster whose workers die."""

import os
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.cluster_setup import local_cluster

pytest.importorskip(
    "distributed", reason='dask.distributed is not installed: pip install "rejo[dask]"'
)

from rejo.cluster import connect
from rejo.distributed import predict
from rejo.distributed._output_folder import MANIFEST, WORK
from rejo.tables import TableError

from .conftest import contents, decisions, make_cases, write

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("small_parts")]


@pytest.fixture(scope="module")
def cluster():
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of a cluster whose workers are all there."""
    with connect(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Folder of cases with many row groups."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(4):
        write(folder / f"{i}.parquet", make_cases(3_000, seed=i), [500] * 6)
    return folder


def deadly(marker, ending):
    """Return a function that makes one worker kill itself between writing a file and naming it.

    The workers share the ``marker``: the first of them dies.
    """

    def install():
        import os
        import signal

        real = os.replace

        def replace(source, target, **options):
            if str(target).endswith(ending):
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(source, target, **options)

        os.replace = replace

    return install


def test_a_cluster_decides_as_one_machine(client, model, data, tmp_path, on_one_machine):
    options = {"capacity": 0.2, "audit": 0.05, "why": True}
    found = predict(model, data, tmp_path / "decided", client=client, **options)
    one = on_one_machine("--capacity", "20%", "--audit", "5%", "--why")
    pd.testing.assert_frame_equal(decisions(found.folder), one)
    here = predict(model, data, tmp_path / "here", **options)
    assert contents(found.folder) == contents(here.folder)
    assert found.counts.as_json() == here.counts.as_json()


def test_more_workers_than_row_groups(client, model, tmp_path):
    write(tmp_path / "n.parquet", make_cases(30, seed=0), [30])
    address = client.scheduler.address
    found = predict(model, tmp_path / "n.parquet", tmp_path / "decided", client=address)
    assert len(decisions(found.folder)) == 30


@pytest.mark.parametrize("ending", [".decided", ".parquet"])
def test_a_worker_dies_between_writing_and_naming(client, model, many, tmp_path, ending):
    whole = predict(model, many, tmp_path / "whole", audit=0.1)
    marker = str(tmp_path / "died")
    client.run(deadly(marker, ending))
    found = predict(model, many, tmp_path / "decided", audit=0.1, client=client)
    assert os.path.exists(marker)
    assert contents(found.folder) == contents(whole.folder)
    ids = decisions(found.folder)["case"]
    assert ids.is_unique
    assert set(ids) == set(decisions(many)["case"])


def test_a_worker_is_killed_while_it_decides(client, model, many, tmp_path):
    whole = predict(model, many, tmp_path / "whole")
    out = tmp_path / "decided"
    killed = []

    def kill():
        while not list(Path(out).glob(f"{WORK}*/*.decided")):
            time.sleep(0.005)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    found = predict(model, many, out, client=client)
    thread.join()
    assert killed
    assert contents(found.folder) == contents(whole.folder)


def test_an_error_of_a_task_reaches_the_caller(client, model, data, tmp_path):
    with pytest.raises(TableError, match="leave out strict"):
        predict(model, data, tmp_path / "decided", strict=True, client=client)
    assert not (tmp_path / "decided" / MANIFEST).exists()
