"""``rejo evaluate`` on patterns and folders, here and on a cluster."""

import json

import numpy as np
import pandas as pd
import pytest

from rejo import cli
from tests.cluster_setup import local_cluster

from .conftest import make_cases, write

pytestmark = pytest.mark.usefixtures("small_parts")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys):
    def command(*words):
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="module")
def promising(tmp_path_factory):
    """A model with promises by group, the groups of a table, and the hash of its cases."""
    folder = tmp_path_factory.mktemp("promising")
    frame = make_cases(1500, seed=5)
    frame["customer"] = np.arange(1500) // 2
    frame.to_csv(folder / "training.csv", index=False)
    path = folder / "model.rejo"
    code = cli.main([
        "train", str(folder / "training.csv"), "--target", "grade", "--id", "case", "--group",
        "region", "--max-error-by-group", "0.2", "--confidence", "0.9", "--groups", "customer",
        "--model", "logistic", "-o", str(path),
    ])  # fmt: skip
    assert code == 0
    return path


@pytest.fixture
def paid(tmp_path):
    """Folder of labelled cases, also as one file; some have no class, or an odd spelling."""
    frame = make_cases(1200, seed=6)
    frame["customer"] = np.where(np.arange(1200) % 7, np.arange(1200) // 3, np.nan)
    frame.loc[::50, "grade"] = None
    frame.loc[1::40, "grade"] = frame.loc[1::40, "grade"].str.upper()
    frame.loc[::60, "job"] = "astronaut"
    frame.loc[::90, "region"] = "west"
    frame.loc[3::70, "region"] = "NORTH "
    folder = tmp_path / "paid"
    folder.mkdir()
    write(folder / "a.parquet", frame[:700], [300, 400])
    write(folder / "b.parquet", frame[700:], [0, 499, 1])
    frame.to_parquet("whole.parquet", index=False)
    return folder


def same(one, many, path="whole.parquet", folder="paid"):
    return one.replace(path, folder) == many


@pytest.mark.parametrize("options", [(), ("--by", "job", "--costs", "error=5,review=1")])
def test_many_files_are_tested_as_one(run, promising, paid, options):
    one = run("evaluate", promising, "whole.parquet", *options)
    many = run("evaluate", promising, "paid", *options)
    assert one[0] == many[0] == 0, many[2]
    assert same(one[1], many[1])
    assert "rows have no class" in one[2]
    assert one[2] == many[2]
    one = run("evaluate", promising, "whole.parquet", *options, "--json")[1]
    many = run("evaluate", promising, "paid/*.parquet", *options, "--json")[1]
    assert json.loads(one) == json.loads(many)


def test_training_cases_are_recognised(run, promising, tmp_path):
    frame = pd.read_csv(promising.parent / "training.csv")
    frame[::-1].to_parquet(tmp_path / "again.parquet", row_group_size=400, index=False)
    code, out, err = run("evaluate", promising, "*.parquet", "--json")
    assert (code, json.loads(out)["trained_on"]) == (0, True)
    assert "trained on" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report", "r.html"], "--report"),
        (["--by", "nothing"], "'nothing'"),
        (["--target", "graade"], "'graade'"),
        (["--target", "job"], "'job'"),
        (["--target", "region"], "a.parquet, row 1, column 'region'"),
    ],
)
def test_what_is_refused(run, promising, paid, words, message):
    code, _, err = run("evaluate", promising, "paid", *words)
    assert code in (2, 3)
    assert message in err


@pytest.mark.cluster
def test_a_cluster_tests_as_one_machine(run, promising, paid):
    pytest.importorskip("distributed")
    one = run("evaluate", promising, "whole.parquet")
    with local_cluster() as cluster:
        many = run("evaluate", promising, "paid", "--dask", cluster.scheduler_address)
        assert many[0] == 0, many[2]
        assert same(one[1], many[1])
        code, _, err = run("predict", promising, "paid", "-o", "d", "--dask",
                           cluster.scheduler_address)  # fmt: skip
    assert code == 0, err
