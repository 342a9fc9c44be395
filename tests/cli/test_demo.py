"""``rejo demo``: the whole way, in a folder of its own."""

import re
from pathlib import Path

import pandas as pd
import pytest

from rejo.cli import demo
from rejo.persistence import load
from rejo.prices import price_matrix

FILES = sorted(demo.FILES)


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_whole_way(run, folder):
    """Five files, of which each is what it is said to be."""
    code, out, _ = run("demo", "--model", "logistic")
    assert code == 0
    assert listed(folder) == ["rejo-demo"]
    assert listed(folder / "rejo-demo") == FILES
    commands = re.findall(r"^\$ rejo (\w+) (.*)$", out, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["train", "predict", "evaluate"]
    page = (folder / "rejo-demo" / "report.html").read_text(encoding="utf-8")
    assert f"rejo train {commands[0][1]}" in page
    assert price_matrix(demo.PRICES, ["benign", "malignant"]).shape == (2, 3)
    check_decisions(folder / "rejo-demo")


def check_decisions(folder):
    new = pd.read_csv(folder / "new_cases.csv", dtype={"patient": str})
    found = pd.read_csv(folder / "decisions.csv", dtype={"patient": str})
    assert found["patient"].tolist() == new["patient"].tolist()
    assert found["decision"].tolist() == load(folder / "model.rejo").predict(new).tolist()
    decided = found["decision"] != "review"
    assert (found["decision"] == new["diagnosis"])[decided].mean() > 0.9


@pytest.fixture
def quick(monkeypatch):
    """Only the tables, not the commands that follow."""
    commands = []
    monkeypatch.setattr(demo, "_do", lambda *words: commands.append(words))
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
    assert "--overwrite" in refused(2, "demo", "-o", "deep/mine", "--seed", "1")
    assert (folder / "deep" / "mine" / "training.csv").read_bytes() == before
    assert run("demo", "-o", "deep/mine", "--seed", "1", "--overwrite")[0] == 0
    assert (folder / "deep" / "mine" / "training.csv").read_bytes() != before
    (folder / "file").write_text("precious")
    assert "file" in refused(2, "demo", "-o", "file")


def test_no_case_is_both_old_and_new(run, folder, quick):
    run("demo")
    old, new = (
        set(pd.read_csv(folder / "rejo-demo" / name, dtype=str)["patient"])
        for name in ("training.csv", "new_cases.csv")
    )
    assert len(old) + len(new) == 569
    assert not old & new
