"""Work on a Dask cluster: workers and schedulers that die, errors that reach the caller."""

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from contextlib import closing

import pytest

from rejo import RejectClassifierCV, RejoLinear, compare
from rejo.cluster import (
    ClusterError,
    WorkerLost,
    _connect,
    _lost,
    connect,
    hand_out,
    placed,
    together,
    workers,
)
from rejo.datasets import make_synthetic_1
from tests.cluster_setup import local_cluster, only_loopback, separate_cluster
from tests.cluster_work import (
    fail,
    fail_after_a_peer,
    fill_memory,
    fill_memory_of_rank_1,
    keep_memory,
    keep_memory_first,
    kill_always,
    kill_once,
    kill_once_with,
    kill_rank_1,
    leave_a_mark,
    look_at,
    rank_and_process,
    sleep_a_while,
    sleep_long,
    square,
)

distributed = pytest.importorskip(
    "distributed", reason='dask.distributed is not installed: pip install "rejo[dask]"'
)
pytestmark = pytest.mark.cluster
LIMIT = 400_000_000  # bytes; rejo and scikit-learn take half of it


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(memory_limit=LIMIT) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def connected(cluster):
    with connect(cluster) as client:
        yield client


@pytest.fixture
def client(connected):
    """A client of a cluster whose workers are all there."""
    connected.wait_for_workers(2, timeout=30)
    return connected


# ---- connections ---------------------------------------------------------------------------


def test_the_network_is_only_loopback():
    if not only_loopback():
        pytest.skip("make cluster runs the tests where there is no other network, if it can")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside,
        pytest.raises(OSError, match="unreachable"),
    ):
        outside.connect(("192.0.2.1", 9))  # sends nothing


def test_a_client_that_was_given_stays_open_and_one_that_was_opened_is_closed(cluster):
    with connect(cluster.scheduler_address) as opened:
        assert len(workers(opened)) == 2
    assert opened.status == "closed"
    with distributed.Client(cluster, set_as_default=False) as given:
        with connect(given) as same:
            assert same is given
        assert given.status == "running"


def test_workers_are_listed_with_threads_and_memory(client):
    found = workers(client)
    assert found == sorted(found)
    assert [(w.threads, w.memory_limit) for w in found] == [(1, LIMIT)] * 2
    assert all(w.address.startswith("tcp://127.0.0.1:") and w.nanny for w in found)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"rejo\[dask\]"), connect("tcp://127.0.0.1:9"):
        pass


def test_nothing_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    said = f"^{address}: no Dask scheduler"
    with pytest.raises(ClusterError, match=said) as caught, connect(address, timeout=0.5):
        pass
    assert "dask scheduler" in caught.value.remedy


def test_something_else_listens():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        said = "no Dask scheduler"
        with pytest.raises(ClusterError, match=said), connect(address, timeout=0.5):
            pass


@pytest.mark.parametrize("address", ["carrier-pigeon://roof:1", "tls://127.0.0.1:1", 8786])
def test_an_address_that_cannot_be_used(address):
    with pytest.raises(ClusterError), connect(address, timeout=0.5):
        pass


def test_no_workers():
    with (
        local_cluster(n_workers=0) as empty,
        pytest.raises(ClusterError, match="no workers") as caught,
        connect(empty, timeout=0.5),
    ):
        pass
    assert "dask worker tcp://127.0.0.1" in caught.value.remedy


@pytest.mark.parametrize("package", ["rejo", "sklearn"])
def test_other_versions_are_refused_and_both_named(cluster, monkeypatch, package):
    there = sys.modules[package].__version__
    monkeypatch.setattr(sys.modules[package], "__version__", "0.0.1")
    said = rf"{there}, and this process 0\.0\.1"
    with pytest.raises(ClusterError, match=said), connect(cluster):
        pass


def test_the_log_of_dask_is_silent_inside_and_heard_again_after(cluster, capsys):
    logger = logging.getLogger("distributed.client")
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    try:
        with connect(cluster):
            logger.error("inside")
        logger.error("after")
    finally:
        logger.removeHandler(handler)
    assert "after" in capsys.readouterr().err.replace("inside", "BROKEN")


# ---- items handed out ----------------------------------------------------------------------


def test_every_item_comes_back_once_and_few_are_sent_ahead(client):
    taken, back, ahead = 0, [], []

    def items():
        nonlocal taken
        for x in range(40):
            taken += 1
            yield x

    for item, result in hand_out(client, square, items(), ahead=2):
        back.append((item, result))
        ahead.append(taken - len(back))
    assert sorted(back) == [(x, x * x) for x in range(40)]
    assert max(ahead) == 2 * 2 - 1  # two for each of two threads, and one has come back


def test_no_items(client):
    assert list(hand_out(client, square, [])) == []


def test_an_item_whose_worker_is_killed_is_computed_by_another(client, tmp_path):
    flag = tmp_path / "killed"
    items = [(x, os.fspath(flag)) for x in range(12)]
    before = {worker.folder for worker in workers(client)}
    assert sorted(result for _, result in hand_out(client, kill_once, items)) == list(range(12))
    assert flag.exists()
    client.wait_for_workers(2, timeout=30)
    assert len({worker.folder for worker in workers(client)} - before) == 1


def test_an_item_that_kills_every_worker_is_named_and_no_other_is_blamed(client):
    failed = {}

    def keep(item, error):
        failed[item] = error
        return None

    found = dict(hand_out(client, kill_always, range(8), failed=keep, name="item {}".format))
    assert sorted(found) == list(range(8))
    assert list(failed) == [3]
    assert isinstance(failed[3], WorkerLost)
    assert str(failed[3]).startswith("item 3: workers die on it: tcp://127.0.0.1:")
    assert failed[3].memory_limit is None


def test_an_item_that_fills_the_memory_of_workers(client):
    with pytest.raises(WorkerLost, match="more than its memory limit of 400 MB") as caught:
        list(hand_out(client, fill_memory, ["the large one"]))
    assert "the large one" in str(caught.value)
    assert "--memory-limit" in caught.value.remedy
    assert caught.value.memory_limit == LIMIT


def test_what_an_item_raises_reaches_the_caller_with_its_traceback(client):
    with pytest.raises(ZeroDivisionError, match="three is not allowed") as caught:
        list(hand_out(client, fail, range(10)))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "fail"
    assert list(hand_out(client, fail, [1])) == [(1, 1)]


def test_closing_cancels_what_has_not_begun(client, tmp_path):
    paths = [os.fspath(tmp_path / str(i)) for i in range(30)]
    with closing(hand_out(client, leave_a_mark, paths, ahead=15)) as results:
        next(results)
    while any(client.processing().values()):
        time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) < 10


def test_all_workers_gone_for_good(client, monkeypatch):
    monkeypatch.setattr(_lost, "PATIENCE", 1.0)
    monkeypatch.setattr(_lost, "survey", lambda client: ([], []))
    with pytest.raises(ClusterError, match="no workers"):
        list(hand_out(client, sleep_a_while, [0]))


# ---- tasks that run together ---------------------------------------------------------------


def test_tasks_together_have_a_process_each_and_keep_their_order(client):
    found = together(client, rank_and_process, ["a", "b"])
    assert [(rank, share) for rank, share, _ in found] == [(0, "a"), (1, "b")]
    assert len({process for *_, process in found}) == 2
    team = workers(client)[::-1]
    turned = together(client, rank_and_process, ["a", "b"], on=team)
    assert [process for *_, process in turned] == [process for *_, process in found][::-1]


def test_a_lost_rank_ends_its_peers_and_the_cluster_works_again(client):
    before = {process for *_, process in together(client, rank_and_process, [0, 0])}
    with pytest.raises(WorkerLost, match="rank 1 of 2 lost: tcp://") as caught:
        together(client, kill_rank_1, [0, 0])
    assert caught.value.memory_limit is None
    after = {process for *_, process in together(client, rank_and_process, [0, 0])}
    assert not before & after  # the peer, which would have waited for ever, is new as well


def test_the_cause_is_raised_and_not_its_echo(client):
    with pytest.raises(ZeroDivisionError, match="the cause") as caught:
        together(client, fail_after_a_peer, [0, 0], echoes=(ConnectionError,))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fail_after_a_peer"
    assert "rank 1 of 2" in caught.value.__notes__[0]


def test_a_rank_that_fills_its_memory(client):
    with pytest.raises(WorkerLost, match=r"rank 1 of 2 lost: .* limit of 400 MB") as caught:
        together(client, fill_memory_of_rank_1, [0, 0])
    assert caught.value.memory_limit == LIMIT


def until_paused(client, n):
    """Dask looks at the memory now and then; a small item would be done before."""
    end = time.monotonic() + 20
    while len(_connect.survey(client)[1]) < n:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_workers_that_are_paused_for_ever(client, monkeypatch):
    """They hold so much memory that Dask gives them nothing to do, and too little to end them."""
    together(client, keep_memory, [0.87 * LIMIT] * 2)
    until_paused(client, 2)
    monkeypatch.setattr(_lost, "STUCK", 1.0)
    said = "paused by Dask, as it holds 80 % or more of its memory limit of 400 MB"
    with pytest.raises(WorkerLost, match=f"all workers wait: .*{said}"):
        list(hand_out(client, square, range(3)))
    with pytest.raises(WorkerLost, match=f"rank 0 of 2 waits: .*{said}") as caught:
        together(client, rank_and_process, [0, 0])
    assert caught.value.memory_limit == LIMIT
    assert len(together(client, rank_and_process, [0, 0])) == 2  # they have been restarted


def test_what_a_paused_worker_has_not_begun_is_done_by_others(client, monkeypatch):
    monkeypatch.setattr(_lost, "STUCK", 1.0)
    items = [(x, 0.87 * LIMIT) for x in range(20)]
    found = hand_out(client, keep_memory_first, items, ahead=10)
    assert sorted(result for _, result in found) == list(range(20))
    client.wait_for_workers(2, timeout=30)


def test_too_few_workers(client, monkeypatch):
    monkeypatch.setattr(_lost, "PATIENCE", 0.5)
    with pytest.raises(ClusterError, match="3 workers are needed, and there are 2"):
        together(client, rank_and_process, [0, 0, 0])


def test_workers_without_nannies_are_refused(client):
    alone = workers(client)[0]._replace(nanny=None)
    with pytest.raises(ClusterError, match="no nanny"):
        together(client, rank_and_process, [0], on=[alone])


@pytest.mark.parametrize(
    "work",
    [
        lambda client: list(hand_out(client, sleep_a_while, range(9))),
        lambda client: together(client, sleep_long, [0, 0]),
    ],
    ids=["hand_out", "together"],
)
def test_ctrl_c_leaves_nothing_behind(client, work):
    before = set(client.futures)  # errors of other tests may still hold some
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work(client)
    timer.join()
    client.wait_for_workers(2, timeout=30)
    end = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert set(client.futures) <= before


# ---- a scheduler that goes away ------------------------------------------------------------


@pytest.fixture
def scheduler(tmp_path):
    with separate_cluster(tmp_path) as found:
        yield found


def test_a_scheduler_that_goes_away_ends_all_work(scheduler):
    process, client = scheduler
    assert dict(hand_out(client, square, range(4))) == {x: x * x for x in range(4)}
    errors = {}

    def attempt(name, call):
        try:
            call()
        except Exception as error:
            errors[name] = error

    waiting = [
        threading.Thread(target=attempt, args=args)
        for args in (
            ("hand_out", lambda: list(hand_out(client, sleep_long, range(4)))),
            ("together", lambda: together(client, sleep_long, [0, 0])),
        )
    ]
    for thread in waiting:
        thread.start()
    while len(client.futures) < 6:
        time.sleep(0.1)
    process.kill()
    for thread in waiting:
        thread.join(20)
    assert sorted(errors) == ["hand_out", "together"]
    for error in errors.values():
        assert isinstance(error, ClusterError)
        assert "the Dask scheduler went away" in str(error)


# ---- joblib --------------------------------------------------------------------------------


def test_joblib_gives_the_same_results_on_a_cluster(cluster):
    X, y = make_synthetic_1(120, random_state=0)
    methods = {"linear": RejoLinear(), "other": RejoLinear(C=0.01)}

    def work():
        compared = compare(methods, X, y, reject_costs=[0.1, 0.3], cv=3)
        rows = [{k: row[k] for k in row if "seconds" not in k} for row in compared.rows]
        model = RejectClassifierCV(RejoLinear(), review_budget=0.2, random_state=0).fit(X, y)
        return repr(rows), model.predict(X).tolist()

    here = work()
    with placed(cluster.scheduler_address):
        there = work()
    assert there == here
    with placed(None) as nobody:
        assert nobody is None


def test_joblib_works_on_the_workers_and_sends_large_data_once(cluster):
    import numpy as np
    from joblib import Parallel, delayed

    large = np.ones(500_000)
    with placed(cluster) as client:
        found = Parallel()(delayed(look_at)(i, large) for i in range(8))
        assert [i for i, *_ in found] == list(range(8))
        assert {total for *_, total in found} == {500_000.0}
        assert os.getpid() not in {process for _, process, _, _ in found}
        assert len({(process, place) for _, process, place, _ in found}) <= 2
        assert Parallel(n_jobs=1)(delayed(os.getpid)() for _ in range(2)) == [os.getpid()] * 2
        # A worker is killed, and the data that it had are sent again.
        os.kill(found[0][1], signal.SIGKILL)
        again = Parallel()(delayed(look_at)(i, large) for i in range(8))
        assert [i for i, *_ in again] == list(range(8))
        assert found[0][1] not in {process for _, process, _, _ in again}
        client.wait_for_workers(2, timeout=30)


def test_joblib_sends_data_again_that_a_worker_had(cluster, tmp_path):
    import numpy as np
    from joblib import Parallel, delayed

    large, flag = np.ones(500_000), os.fspath(tmp_path / "killed")
    with placed(cluster) as client:
        # The first task kills the only worker that has the data yet.
        found = Parallel()(delayed(kill_once_with)((i + 3, flag), large) for i in range(8))
        client.wait_for_workers(2, timeout=30)
    assert found == [(i + 3, 500_000.0) for i in range(8)]
    assert os.path.exists(flag)


def test_joblib_ends_with_an_error_where_workers_die(cluster):
    from joblib import Parallel, delayed

    with placed(cluster):
        with pytest.raises(WorkerLost, match="workers die on it"):
            Parallel()(delayed(kill_always)(x) for x in range(6))
        with pytest.raises(ZeroDivisionError) as caught:
            Parallel()(delayed(fail)(x) for x in range(6))
        assert "in fail" in "".join(traceback.format_exception(caught.value))


# ---- encryption ----------------------------------------------------------------------------


@pytest.fixture
def security(tmp_path):
    """Certificates for both ends, signed by themselves."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificates, is not installed")
    key, certificate = os.fspath(tmp_path / "key.pem"), os.fspath(tmp_path / "certificate.pem")
    options = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    options += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", "-x509", *options], check=True, capture_output=True)
    parts = {
        f"tls_{role}_{part}": path
        for role in ("scheduler", "worker", "client")
        for part, path in (("key", key), ("cert", certificate))
    }
    return distributed.Security(tls_ca_file=certificate, require_encryption=True, **parts)


def test_an_encrypted_connection(security):
    with local_cluster(n_workers=1, protocol="tls://", security=security) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with connect(address, security=security) as client:
            assert list(hand_out(client, square, [3])) == [(3, 9)]
        with pytest.raises(ClusterError, match="needs certificates"), connect(address):
            pass
        plain = address.replace("tls:", "tcp:")
        with pytest.raises(ClusterError, match="no Dask scheduler"), connect(plain, timeout=0.5):
            pass
