"""Decisions on many Parquet files, on one machine: the same rows, whole files, runs that go on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import rejo
from rejo._errors import RejoError
from rejo.distributed import predict
from rejo.distributed._output_folder import MANIFEST, WORK, OutputFolder
from rejo.persistence import load
from rejo.tables import TableError

from .conftest import contents, decisions, make_cases, write

pytestmark = pytest.mark.usefixtures("small_parts")
OPTIONS = [
    ({}, ()),
    ({"capacity": 40}, ("--capacity", "40")),
    (
        {"capacity": 0.2, "audit": 0.05, "random_state": 3, "why": True},
        ("--capacity", "20%", "--audit", "5%", "--seed", "3", "--why"),
    ),
    ({"id": "region"}, ("--id", "region")),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_rows_are_those_of_one_machine(model, data, tmp_path, on_one_machine, options, words):
    found = predict(model, data, tmp_path / "decided", **options)
    pd.testing.assert_frame_equal(decisions(found.folder), on_one_machine(*words))


def test_the_folder_and_its_manifest(model, data, tmp_path):
    found = predict(model, f"{data}/*.parquet", tmp_path / "new" / "decided", capacity=50)
    names = ["a-0000", "a-0001", "a-0003", "b-0000", "b-0001", "c-0000", "d-0000"]
    parts = [f"{name}.parquet" for name in names]
    assert sorted(os.listdir(found.folder)) == sorted([MANIFEST, *parts])
    manifest = json.loads((found.folder / MANIFEST).read_text())
    assert manifest == found.manifest
    assert manifest["parts"] == parts
    assert manifest["rows"] == [600, 399, 1, 700, 800, 100, 0]
    assert [one["name"] for one in manifest["inputs"]] == [f"{x}.parquet" for x in "abcd"]
    assert [one["bytes"] for one in manifest["inputs"]] == [
        path.stat().st_size for path in sorted(data.iterdir())
    ]
    assert manifest["model"]["sha256"] == rejo.persistence.inspect(model).payload_hash
    counts, frame = manifest["counts"], decisions(found.folder)
    reviewed = frame["decision"] == "reject"
    assert counts["n_cases"] == len(frame) == 2600
    assert counts["review"] == reviewed.sum() == frame["rank"].notna().sum()
    assert counts["in_doubt"] == 52
    assert counts["over_capacity"] == (frame["reason"] == "over capacity").sum() > 0
    assert found.counts.ids.n_repeated == 1
    assert found.counts.ids.n_empty == 1


def test_small_row_groups_become_one_part(model, data, tmp_path, monkeypatch):
    monkeypatch.setattr("rejo.distributed._part_tasks.LEAST_ROWS", 500)
    few = predict(model, data, tmp_path / "few")
    assert few.manifest["rows"] == [600, 400, 700, 800, 100, 0]
    many = predict(model, data, tmp_path / "many", n_jobs=1)
    monkeypatch.setattr("rejo.distributed._part_tasks.LEAST_ROWS", 1)
    every = predict(model, data, tmp_path / "every")
    pd.testing.assert_frame_equal(decisions(few.folder), decisions(every.folder))
    assert contents(few.folder) == contents(many.folder)


def test_a_fitted_model_and_several_processes(model, data, tmp_path):
    here = predict(model, data, tmp_path / "here")
    fitted = predict(load(model), data, tmp_path / "fitted", id="case", n_jobs=2)
    pd.testing.assert_frame_equal(decisions(here.folder), decisions(fitted.folder))
    again = predict(load(model), data, tmp_path / "fitted", id="case")
    assert again.counts is None  # though the file of the model was made anew


def test_cases_without_a_name_are_numbered(model, data, tmp_path):
    for path in sorted(data.iterdir()):
        frame = pd.read_parquet(path).drop(columns="case")
        frame.to_parquet(tmp_path / path.name, row_group_size=500, index=False)
    found = predict(model, f"{tmp_path}/*.parquet", tmp_path / "decided")
    assert decisions(found.folder)["row"].tolist() == list(range(1, 2601))
    assert not found.counts.has_ids


def test_files_of_the_same_name(model, data, tmp_path):
    for place in ("x", "y"):
        (tmp_path / place).mkdir()
        write(tmp_path / place / "a.parquet", make_cases(10, seed=ord(place)), [10])
    found = predict(model, f"{tmp_path}/*/a.parquet", tmp_path / "decided")
    assert found.manifest["parts"] == ["00000-a-0000.parquet", "00001-a-0000.parquet"]
    assert decisions(found.folder)["case"].str[:3].unique().tolist() == ["120", "121"]


def test_a_finished_run_is_not_repeated(model, data, tmp_path, monkeypatch):
    first = predict(model, data, tmp_path / "decided")
    before = contents(first.folder)
    monkeypatch.setattr("rejo.distributed.predicting.decide_part", None)
    again = predict(model, data, tmp_path / "decided")
    assert (again.manifest, again.counts) == (first.manifest, None)
    assert contents(first.folder) == before


def test_a_part_that_was_lost_is_written_again(model, data, tmp_path):
    first = predict(model, data, tmp_path / "decided", audit=0.1)
    before = contents(first.folder)
    (first.folder / "b-0001.parquet").unlink()
    predict(model, data, tmp_path / "decided", audit=0.1)
    assert contents(first.folder) == before


def test_other_contents_are_refused(model, data, tmp_path):
    out = tmp_path / "decided"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RejoError, match=r"notes\.txt"):
        predict(model, data, out)
    predict(model, data, out, overwrite=True)
    before = contents(out)
    with pytest.raises(RejoError, match="another run"):
        predict(model, data, out, capacity=5)
    assert contents(out) == before
    predict(model, data, out, capacity=5, overwrite=True)
    assert (out / "notes.txt").read_text() == "mine"
    assert (decisions(out)["reason"] == "over capacity").any()
    make_cases(5, seed=0).to_parquet(out / "z.parquet")
    with pytest.raises(RejoError, match=r"z\.parquet"):
        predict(model, data, out, capacity=6, overwrite=True)
    assert (out / MANIFEST).exists()
    with pytest.raises(RejoError, match="folder"):
        predict(model, data, out / "notes.txt")
    with pytest.raises(RejoError, match="out="):
        predict(model, data, "s3://bucket/decided")


def test_a_manifest_names_no_files_elsewhere(model, data, tmp_path):
    out = tmp_path / "decided"
    out.mkdir()
    (tmp_path / "precious.parquet").touch()
    names = ["../precious.parquet", str(tmp_path / "precious.parquet"), 7]
    (out / MANIFEST).write_text(json.dumps({"key": "k", "parts": names}))
    predict(model, data, out, overwrite=True)
    assert (tmp_path / "precious.parquet").exists()


def test_other_cases_or_another_model_are_another_run(model, data, tmp_path):
    frame = make_cases(50, seed=3)
    write(tmp_path / "n.parquet", frame, [50])
    predict(model, tmp_path / "n.parquet", tmp_path / "decided")
    write(tmp_path / "n.parquet", frame[::-1], [50])
    with pytest.raises(RejoError, match="another run"):
        predict(model, tmp_path / "n.parquet", tmp_path / "decided")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"id": "age"}, "id='age'"),
        ({"group": "region"}, "group"),
        ({"id": "name"}, "'name'"),
        ({"strict": True}, r"a.parquet, row \d+ \('1-\d+'\): "),
    ],
)
def test_what_does_not_suit(model, data, tmp_path, options, word):
    with pytest.raises((RejoError, TableError), match=word):
        predict(model, data, tmp_path / "decided", **options)
    assert not (tmp_path / "decided" / MANIFEST).exists()


def test_a_strict_run_says_where(model, data, tmp_path):
    path = data / "a.parquet"
    frame = pd.read_parquet(path)
    rows = np.flatnonzero((frame["job"] == "astronaut") | (frame["age"] > 1000))
    late = tmp_path / "late.parquet"
    write(late, frame.drop(index=rows[rows < 700]), [400, len(frame) - 400 - (rows < 700).sum()])
    row = rows[rows >= 700][0] - (rows < 700).sum()
    with pytest.raises(TableError) as caught:
        predict(model, late, tmp_path / "decided", strict=True)
    assert caught.value.where == f"{late}, row {row + 1} ({frame['case'][rows[rows >= 700][0]]!r})"


def test_files_without_rows(model, data, tmp_path):
    write(tmp_path / "n.parquet", make_cases(3, seed=0)[:0], [])
    found = predict(model, tmp_path / "n.parquet", tmp_path / "decided")
    assert found.manifest["counts"]["n_cases"] == 0
    assert (found.folder / MANIFEST).exists()


def test_files_in_a_store_that_fsspec_opens(model, data, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    for path in data.iterdir():
        fsspec.filesystem("memory").pipe_file(f"/new/{path.name}", path.read_bytes())
    there = predict(model, "memory://new/*.parquet", tmp_path / "there")
    here = predict(model, data, tmp_path / "here")
    assert contents(there.folder) == contents(here.folder)


def test_progress_in_rows(model, data, tmp_path, capsys):
    predict(model, data, tmp_path / "quiet")
    assert capsys.readouterr().err == ""
    predict(model, data, tmp_path / "told", show_progress=True)
    err = capsys.readouterr().err
    assert "deciding: 2,600 of 2,600 rows" in err
    assert "writing: 2,600 of 2,600 rows" in err


def test_a_worker_that_does_not_see_the_folder(model, data, tmp_path, monkeypatch):
    working = OutputFolder.working

    @contextmanager
    def elsewhere(folder, **options):
        with working(folder, **options):
            shutil.rmtree(folder.work)
            yield

    monkeypatch.setattr(OutputFolder, "working", elsewhere)
    with pytest.raises(RejoError, match="decided"):
        predict(model, data, tmp_path / "decided")


@pytest.mark.parametrize("fails", ["place_of", "decide_part", "rank_part"])
def test_old_decisions_stay_until_new_ones_are_ready(model, data, tmp_path, monkeypatch, fails):
    out = tmp_path / "decided"
    predict(model, data, out)
    before = contents(out)

    def broken(*_, **__):
        raise RejoError("no cluster is there")

    with monkeypatch.context() as patched:
        patched.setattr(f"rejo.distributed.predicting.{fails}", broken)
        with pytest.raises(RejoError, match="no cluster"):
            predict(model, data, out, capacity=5, overwrite=True)
        with pytest.raises(RejoError, match="no cluster"):
            predict(model, data, tmp_path / "new", capacity=5)
    kept = {name: data for name, data in contents(out).items() if not name.startswith(WORK)}
    assert kept == before
    if fails != "rank_part":  # else all is decided, and the run goes on
        assert contents(out) == before
        assert not (tmp_path / "new").exists()
        predict(model, data, tmp_path / "new")  # other options are no other run
    again = predict(model, data, out, capacity=5, overwrite=True)
    assert again.manifest["counts"]["over_capacity"] > 0
    assert len(decisions(out)) == 2600


# ---- a driver that is killed -----------------------------------------------------------------

DRIVER = """
import os, sys, signal
from rejo.distributed import _part_tasks, predict

_part_tasks.LEAST_ROWS = 1
model, data, out, ending, n = sys.argv[1:]
real, done = os.replace, []

def replace(source, target, **options):
    if str(target).endswith(ending):
        done.append(target)
        if len(done) == int(n):  # the file is complete, but has no name yet
            os.kill(os.getpid(), signal.SIGKILL)
    return real(source, target, **options)

os.replace = replace
predict(model, data, out, audit=0.1, capacity=80, overwrite=True)
"""


def killed_driver(*words):
    words = [sys.executable, "-c", DRIVER, *words]
    killed = subprocess.run(list(map(str, words)), check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()


@pytest.mark.parametrize(
    ("ending", "n"),
    [
        (".decided", 5),
        (".parquet", 6),
        *(pytest.param(*one, marks=pytest.mark.check) for one in ((".parquet", 1), (".json", 1))),
    ],
)
def test_a_killed_driver_goes_on(model, data, tmp_path, ending, n):
    undisturbed = predict(model, data, tmp_path / "whole", audit=0.1, capacity=80)
    out = tmp_path / "decided"
    killed_driver(model, data, out, ending, n)
    left = contents(out)
    assert MANIFEST not in left
    whole = contents(undisturbed.folder)
    finals = {name: left[name] for name in left if name[0] != "." and os.sep not in name}
    assert finals.items() <= {name: whole[name] for name in finals}.items()  # whole, or not there
    found = predict(model, data, out, audit=0.1, capacity=80)
    assert contents(out) == whole
    ids = decisions(found.folder)["case"]
    assert ids.tolist() == decisions(undisturbed.folder)["case"].tolist()


@pytest.mark.parametrize(("ending", "n"), [("replaced.json", 1), ("b-0000.parquet", 2)])
def test_a_driver_that_is_killed_while_it_replaces_decisions_goes_on(
    model, data, tmp_path, ending, n
):
    """None of the decisions of the other run stays, nor one that nobody knows."""
    undisturbed = predict(model, data, tmp_path / "whole", audit=0.1, capacity=80)
    out, few = tmp_path / "decided", tmp_path / "few.parquet"
    write(few, make_cases(50, seed=3), [50])
    predict(model, few, out)
    killed_driver(model, data, out, ending, n)
    with pytest.raises(RejoError):  # of a third run
        predict(model, data, out, capacity=5)
    predict(model, data, out, audit=0.1, capacity=80, overwrite=True)
    assert contents(out) == contents(undisturbed.folder)
