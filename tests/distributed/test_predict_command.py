"""``rejo predict`` on patterns and folders."""

import json
import os

import pandas as pd
import pytest

from rejo import cli

from .conftest import contents, decisions

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


def test_a_pattern_and_a_folder(run, model, data, whole, tmp_path):
    told = []
    for words in ((f"{data}/*.parquet", "-o", "a/"), (data, "-o", "b"), (whole, "-o", "one.csv")):
        code, out, err = run("predict", model, *words, "--capacity", "10%")
        assert code == 0, err
        told.append((out.partition(" Decisions:")[0], out.splitlines()[1:], err))
    assert told[0] == told[1] == told[2]
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    one = pd.read_csv("one.csv", dtype=str, keep_default_na=False)
    assert decisions(tmp_path / "a")["decision"].tolist() == one["decision"].tolist()


def test_a_run_that_is_complete(run, model, data):
    first = run("predict", model, data, "-o", "decided")
    code, out, err = run("predict", model, data, "-o", "decided")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == first[1].splitlines()[0]
    code, out, err = run("predict", model, data, "-o", "decided", "--json")
    assert json.loads(out)["n_cases"] == 2600


def test_a_file_and_a_folder_for_its_parts(run, model, data):
    assert run("predict", model, data / "b.parquet", "-o", "decided/")[0] == 0
    assert sorted(os.listdir("decided")) == ["_rejo.json", "b-0000.parquet", "b-0001.parquet"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "out.csv"], "-o decided/"),
        ([], "-o decided/"),
        (["-o", "out", "--capacity", "5"], "--overwrite"),
        (["-o", "new", "--id", "age"], "--id age"),
        (["-o", "new", "--id", "agee"], "'agee'"),
        (["-o", "new", "--strict"], "--strict"),
        (["-o", "new", "--dask", "tcp://127.0.0.1:1"], "--dask"),
    ],
)
def test_what_is_refused(run, model, data, words, message):
    assert run("predict", model, data, "-o", "out")[0] == 0
    code, _, err = run("predict", model, data, *words)
    assert code in (2, 3)
    assert err.count("\n") == 1
    assert message in err
