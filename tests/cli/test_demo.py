"""``rejo demo``: the whole way, in a folder of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from rejo import cli
from rejo.persistence import load
from rejo.prices import price_matrix

FILES = sorted(cli.demo.FILES)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_whole_way(folder):
    """As a user runs it: five files, of which each is what it is said to be."""
    done = subprocess.run(
        [sys.executable, "-m", "rejo.cli", "demo", "--model", "logistic"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_files(folder, done.stdout)
    check_commands(folder, done.stdout)
    check_decisions(folder, done.stdout)


def check_files(home, out):
    assert listed(home) == ["rejo-demo"]
    assert listed(home / "rejo-demo") == FILES
    for name in re.findall(r"rejo-demo/\w+\.\w+", out):
        assert (home / name).exists(), name
    assert re.search(r"^Open rejo-demo/report\.html in a browser", out, flags=re.MULTILINE)
    (prices,) = re.findall(r"in place of --review-budget: --costs (\S+)\.$", out, re.MULTILINE)
    assert price_matrix(prices, ["benign", "malignant"]).shape == (2, 3)


def check_commands(home, out):
    commands = re.findall(r"^\$ rejo (\w+) (.*)$", out, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["train", "predict", "evaluate"]
    page = (home / "rejo-demo" / "report.html").read_text(encoding="utf-8")
    assert f"rejo train {commands[0][1]}" in page


def check_decisions(home, out):
    folder = home / "rejo-demo"
    new = pd.read_csv(folder / "new_cases.csv", dtype={"patient": str})
    found = pd.read_csv(folder / "decisions.csv", dtype={"patient": str})
    assert found["patient"].tolist() == new["patient"].tolist()
    assert found["decision"].tolist() == load(folder / "model.rejo").predict(new).tolist()
    decided = found["decision"] != "review"
    assert (found["decision"] == new["diagnosis"])[decided].mean() > 0.9
    assert f"{100 * (~decided).mean():.1f} %) to review" in out


@pytest.fixture
def quick(monkeypatch):
    """Only the tables, not the commands that follow."""
    commands = []
    monkeypatch.setattr(cli.demo, "_do", lambda *words: commands.append(words))
    return commands


def test_a_second_demo_takes_another_folder(run, folder, quick):
    for _ in range(3):
        assert run("demo")[0] == 0
    assert listed(folder) == ["rejo-demo", "rejo-demo-2", "rejo-demo-3"]
    code, _, _ = run("demo", "--overwrite")
    assert code == 0
    assert len(listed(folder)) == 3
    assert "--overwrite" in quick[-3]
    assert quick[-3][1] == str(Path("rejo-demo/training.csv"))


def test_the_folder_can_be_chosen(run, refused, folder, quick):
    assert run("demo", "-o", "deep/mine")[0] == 0
    assert listed(folder / "deep" / "mine") == ["new_cases.csv", "training.csv"]
    before = (folder / "deep" / "mine" / "training.csv").read_bytes()
    assert "already exists; --overwrite replaces it" in refused(
        2, "demo", "-o", "deep/mine", "--seed", "1"
    )
    assert (folder / "deep" / "mine" / "training.csv").read_bytes() == before
    assert run("demo", "-o", "deep/mine", "--seed", "1", "--overwrite")[0] == 0
    assert (folder / "deep" / "mine" / "training.csv").read_bytes() != before
    (folder / "file").write_text("precious")
    assert "must be a folder" in refused(2, "demo", "-o", "file")


def test_no_case_is_both_old_and_new(run, folder, quick):
    run("demo")
    old, new = (
        set(pd.read_csv(folder / "rejo-demo" / name, dtype=str)["patient"])
        for name in ("training.csv", "new_cases.csv")
    )
    assert len(old) + len(new) == 569
    assert not old & new
