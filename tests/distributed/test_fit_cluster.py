"""Training on a Dask cluster: workers, drivers and schedulers that die; models, bit by bit."""

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rejo import RejoBoost, RejoLinear
from rejo.cluster import ClusterError
from rejo.datasets import make_synthetic_1
from rejo.distributed import fit
from rejo.selection import RejectClassifierCV
from tests.cluster_setup import local_cluster, separate_cluster

pytest.importorskip("xgboost")
pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.cluster

N_ROUNDS = 30


def table(n=12_000, seed=0):
    X, y = make_synthetic_1(n, random_state=seed)
    return pd.DataFrame(X, columns=["a", "b"]).assign(ab=X[:, 0] * X[:, 1], y=y)


def boost(**params):
    how = {"n_estimators": N_ROUNDS, "max_depth": 4, "early_stopping_rounds": None}
    return RejoBoost(**(how | {"random_state": 0} | params))


def bits(model):
    """All that a fitted model decides by, besides a cut in its ranking."""
    model = getattr(model, "best_estimator_", model)
    model = getattr(model, "estimator_", model)
    trees = model.trees_
    arrays = trees.value, trees.threshold, trees.feature, model.offsets_
    return [array.tobytes() for array in arrays]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, frame = tmp_path_factory.mktemp("rows"), table()
    frame[:7000].to_parquet(folder / "1.parquet", row_group_size=2000)
    frame[7000:].to_parquet(folder / "2.parquet", row_group_size=2500)
    return folder


@pytest.fixture(scope="module")
def cluster():
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def short_legs(monkeypatch):
    """Three legs of ten rounds."""
    monkeypatch.setattr("rejo.distributed.legs.SECONDS", 0.0)
    monkeypatch.setattr("rejo.distributed.legs.next_rounds", lambda rounds, seconds: rounds)


def test_one_and_two_ranks_agree(client, folder):
    alone, both = fit(boost(), folder, target="y"), fit(boost(), folder, target="y", client=client)
    assert np.abs(alone.offsets_ - both.offsets_).max() < 0.01
    new = table(50_000, seed=1).drop(columns="y")
    assert (alone.predict(new) == both.predict(new)).mean() > 0.999


def test_two_runs_are_the_same_to_the_bit(client, folder, short_legs):
    search = RejectClassifierCV(boost(), max_error=0.1, confidence=0.9)
    how = {"target": "y", "client": client, "held_out": 0.3}
    one, other = fit(search, folder, **how), fit(search, folder, **how)
    assert bits(one) == bits(other)
    assert one.summary() == other.summary()
    assert one.guarantee_.n_cases > 500


@contextmanager
def killing(client, folder, *rounds):
    """Let the first worker that has grown one of these rounds be killed, once for each."""
    from tests.cluster_kills import KilledAt

    client.register_plugin(KilledAt(rounds, os.fspath(folder)), name="killed")
    try:
        yield
    finally:
        client.unregister_worker_plugin("killed")  # for workers that start from now on


def test_killed_workers_change_nothing(client, folder, tmp_path, short_legs):
    """One is killed in every leg; a worker in the place of another has none of its data."""
    plain = fit(boost(), folder, target="y", client=client)
    lines = []
    with killing(client, tmp_path, 4, 14, 24):
        again = fit(boost(), folder, target="y", client=client, tell=lines.append)
    assert [line.split(":")[0] for line in lines if "Repeating" in line] == [
        f"Repeating the leg from round {n}" for n in (0, 10, 20)
    ]
    assert bits(again) == bits(plain)


def test_legs_with_samples_are_repeated_to_the_bit(client, folder, tmp_path, short_legs):
    how = {"target": "y", "client": client}
    sampled = boost(subsample=0.7, colsample_bytree=0.7)
    plain = fit(sampled, folder, **how)
    with killing(client, tmp_path, 14):
        assert bits(fit(sampled, folder, **how)) == bits(plain)
    assert [path.name for path in tmp_path.iterdir()] == ["14"]


def test_workers_that_die_again_and_again_are_given_up(client, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("rejo.distributed.legs.TRIES", 0)
    with (
        killing(client, tmp_path, 4),
        pytest.raises(ClusterError, match="lost 1 times in one leg"),
    ):
        fit(boost(), folder, target="y", client=client)


def test_more_workers_than_row_groups_and_ranks_without_a_class(client, tmp_path):
    frame = table(6000).sort_values("y", ignore_index=True)
    half = int((frame["y"] == frame["y"][0]).sum())
    frame[:half].to_parquet(tmp_path / "1.parquet")  # one class each
    frame[half:].to_parquet(tmp_path / "2.parquet")
    frame[:0].to_parquet(tmp_path / "3.parquet")
    two = fit(boost(), tmp_path, target="y", client=client)
    assert (two.predict_forced(frame[["a", "b", "ab"]]) == frame["y"]).mean() > 0.8
    frame.to_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").unlink()
    lines = []
    one = fit(boost(), tmp_path, target="y", client=client, tell=lines.append)
    assert any(line.startswith("1 worker reads") for line in lines)
    assert bits(one) == bits(fit(boost(), tmp_path, target="y"))


def test_linear_models(client, folder):
    search = RejectClassifierCV(RejoLinear(), review_budget=0.2)
    here = fit(search, folder, target="y", held_out=0.3)
    there = fit(search, folder, target="y", held_out=0.3, client=client)
    rows = table()[["a", "b", "ab"]]
    assert np.array_equal(here.predict(rows), there.predict(rows))


def test_what_a_rank_raises_reaches_the_caller(client, folder, tmp_path):
    frame = table(3000).assign(job="cook")
    frame.to_parquet(tmp_path / "1.parquet", row_group_size=1000)
    with pytest.raises(ValueError, match=r"column 'job' holds .*TableEncoder"):
        fit(boost(), tmp_path, target="y", client=client)
    client.wait_for_workers(2, timeout=60)
    fit(boost(), folder, target="y", client=client)  # and the cluster works as before


def test_a_worker_with_too_little_memory_is_named_with_its_limit(tmp_path):
    n = 400_000
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 40)).astype(np.float32))
    wide.columns = [f"x{i}" for i in range(40)]
    wide.assign(y=(wide["x0"] > 0).astype(int)).to_parquet(tmp_path / "1.parquet")
    with (
        local_cluster(n_workers=1, memory_limit="350MB") as cluster,
        pytest.raises(ClusterError, match="memory limit of 350 MB"),
    ):
        fit(boost(), tmp_path, target="y", client=cluster)


def test_a_scheduler_that_goes_away_is_an_error(folder, tmp_path):
    with separate_cluster(tmp_path) as (process, client):

        def kill(line):
            if "workers read" in line:
                threading.Timer(0.3, process.kill).start()

        with pytest.raises(ClusterError, match="the Dask scheduler went away"):
            fit(boost(n_estimators=100_000), folder, target="y", client=client, tell=kill)


DRIVER = """
import sys
from rejo import cli
raise SystemExit(cli.main(sys.argv[1:]))
"""


def test_a_killed_driver_leaves_nothing_half_written(cluster, client, folder, tmp_path):
    output = tmp_path / "m.rejo"
    words = ["train", str(folder), "--target", "y", "-o", str(output), "--review-budget", "0.1"]
    words += ["--model", "boosting", "--dask", cluster.scheduler_address]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "workers read" in line:
            break
    process.kill()
    process.stderr.close()
    process.wait()
    assert list(Path(tmp_path).iterdir()) == []
    client.wait_for_workers(2, timeout=60)
    fit(boost(), folder, target="y", client=client)  # the workers are free again
