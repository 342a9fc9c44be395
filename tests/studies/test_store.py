"""Files of cells: whole or not at all, and never those of other code, settings or hands."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from studies import store as store_module
from studies.run import run
from studies.store import Store, StudyError, archive, current_code, digest_of, read_archive
from tests.studies.tiny import TinyCell, TinyPlan, bare, rows_of

PLAN = TinyPlan()
CELL = TinyCell("data0", 0)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows", PLAN)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_rows_come_back_as_they_were(store):
    rows = PLAN.compute(CELL, 1.0)
    assert store.read(CELL) is None
    store.write(CELL, rows)
    found = Store(store.folder, PLAN).read(CELL)
    assert bare(found) == rows
    assert {row["code"] for row in found} == {current_code()}
    assert store.read(TinyCell("data0", 2)) is None
    about = json.loads((store.folder / "study.json").read_text())
    assert (about["study"], about["settings"]) == ("tiny", {"seed": 0})
    assert about["code"] == current_code()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
def test_a_number_that_is_none_is_refused(store, bad):
    rows = [row | {"risk": bad} for row in PLAN.compute(CELL, 1.0)]
    with pytest.raises(ValueError, match="risk"):
        store.write(CELL, rows)
    assert store.read(CELL) is None


def test_any_damage_makes_a_cell_missing(store):
    store.write(CELL, PLAN.compute(CELL, 1.0))
    path = store.path(CELL)
    whole = path.read_bytes()
    rng = random.Random(0)
    damaged = [b"", b"\n", whole[:-1], whole + b"x", whole + whole, b"\xff" + whole, b"[" * 9999]
    for _ in range(200):
        i = rng.randrange(len(whole))
        damaged += [
            whole[:i],
            whole[:i] + bytes([whole[i] ^ 1 << rng.randrange(8)]) + whole[i + 1 :],
        ]
    for content in damaged:
        path.write_bytes(content)
        assert store.read(CELL) is None, content
    path.write_bytes(whole)
    assert store.read(CELL) is not None
    other = TinyCell("data0", 2)
    path.rename(store.path(other))  # a file under the name of another cell
    assert store.read(other) is None


def test_a_damaged_cell_is_computed_again(tmp_path):
    assert run(PLAN, tmp_path).n_computed == 4
    one, other = (Store(tmp_path, PLAN).path(cell) for cell in list(PLAN.cells())[:2])
    one.write_bytes(one.read_bytes()[:-20])
    other.unlink()
    found = run(PLAN, tmp_path)
    assert found.n_computed == 2
    assert bare(found.rows) == rows_of(PLAN)
    (tmp_path / "study.json").write_text("{")
    assert run(PLAN, tmp_path).n_computed == 0


def test_rows_of_other_code_are_refused_or_computed_again(tmp_path, monkeypatch):
    run(PLAN, tmp_path)
    monkeypatch.setattr(store_module, "current_code", lambda: "rejo 9, digest abc")
    before = {path: path.read_bytes() for path in files(tmp_path)}
    with pytest.raises(StudyError, match="other code"):
        run(PLAN, tmp_path)
    assert {path: path.read_bytes() for path in files(tmp_path)} == before
    found = run(PLAN, tmp_path, again=True)
    assert found.n_computed == 4
    assert {row["code"] for row in found.rows} == {"rejo 9, digest abc"}
    monkeypatch.setattr(store_module, "current_code", lambda: "rejo 9, commit x, digest abc")
    assert run(PLAN, tmp_path).n_computed == 0  # the digest decides, the commit is for people


def test_another_study_is_refused(tmp_path):
    run(PLAN, tmp_path)
    with pytest.raises(StudyError, match="another study"):
        run(TinyPlan(seed=1), tmp_path)
    assert run(TinyPlan(6), tmp_path).n_computed == 2  # more repetitions go on
    assert bare(run(TinyPlan(2), tmp_path).rows) == rows_of(TinyPlan(2))


def test_a_place_that_is_no_folder_is_named(tmp_path):
    (tmp_path / "rows").write_text("mine")
    with pytest.raises(StudyError, match="rows"):
        Store(tmp_path / "rows", PLAN)


def test_files_that_a_killed_run_left_are_removed_after_an_hour(tmp_path, store):
    young, old = (store.folder / "data0" / f".{name}.csv.1-ab.tmp" for name in "ab")
    young.parent.mkdir()
    for path in (young, old):
        path.write_text("half")
    os.utime(old, (time.time() - 4000,) * 2)
    Store(store.folder, PLAN)
    assert young.exists()
    assert not old.exists()


def test_the_code_changes_with_what_computes(tmp_path):
    text, digest = current_code(), digest_of(current_code())
    assert text.startswith(f"rejo {store_module.rejo.__version__}")
    assert "numpy" in text
    assert len(digest) == 12
    files = {"a.py": b"x = 1\n", "b.py": b"y = 2\n"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    before = store_module._digest(tmp_path, files)
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    assert store_module._digest(tmp_path, files) == before
    (tmp_path / "a.py").write_bytes(b"x = 2\n")
    assert store_module._digest(tmp_path, files) != before


# ---- the archive ------------------------------------------------------------------------------


def test_an_archive_gives_rows_back_and_each_once(tmp_path):
    path, rows = tmp_path / "rows.csv.xz", run(PLAN, tmp_path / "rows").rows
    path.write_bytes(archive([*rows[::-1], *rows], PLAN))
    assert read_archive(path, PLAN) == sorted(rows, key=lambda row: [row[k] for k in PLAN.KEY])
    for content in (b"", b"no", path.read_bytes()[:-9], archive([], PLAN)[:30]):
        path.write_bytes(content)
        with pytest.raises(StudyError, match="damaged"):
            read_archive(path, PLAN)


# ---- two runs, and runs that are killed -------------------------------------------------------


def start(*words):
    command = [sys.executable, "-m", "tests.studies.tiny", *map(str, words)]
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE)


def check(folder, plan):
    """No cell may be lost or wrong."""
    found = run(plan, folder)
    assert found.failed == []
    assert bare(found.rows) == rows_of(plan)
    return found.n_computed


@pytest.mark.parametrize(
    "n_starts", [2, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_two_processes_start_on_one_new_folder(tmp_path, n_starts):
    for i in range(n_starts):
        folder = tmp_path / str(i)
        processes = [start(folder, 40) for _ in range(2)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert (process.returncode, errors) == (0, b"")
        assert check(folder, TinyPlan(40)) == 0
        assert not list(folder.rglob("*.tmp"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
@pytest.mark.parametrize(
    "n_kills", [3, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_a_run_that_is_killed_goes_on(tmp_path, n_kills):
    """Kills at random moments while it writes, all in one folder."""
    plan, rng, alive = TinyPlan(1000), random.Random(0), 0
    n_before = 0
    for _ in range(n_kills):
        process = start(tmp_path / "rows", plan.n_cells)
        while process.poll() is None and len(files(tmp_path)) <= n_before:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.communicate()
        alive += process.returncode == -signal.SIGKILL
        cells = [path for path in files(tmp_path) if path.suffix == ".csv"]
        n_before = len(files(tmp_path))
        store = Store(tmp_path / "rows", plan)
        whole = [cell for cell in plan.cells() if store.read(cell) is not None]
        assert len(whole) == len(cells)  # what is there is whole
        if len(cells) > plan.n_cells / 2:  # begin anew, to be killed early as well as late
            for path in files(tmp_path):
                path.unlink()
            n_before = 0
    assert alive > 0.9 * n_kills
    check(tmp_path / "rows", plan)
