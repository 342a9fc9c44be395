"""Readers who leave, closed streams and full disks: what a command prints never costs its work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")

from rejo import load  # noqa: E402
from rejo._io import progress  # noqa: E402

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams as a POSIX shell closes them")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def more(*values):
    """A setting that only `make check` tries."""
    return pytest.param(*values, marks=pytest.mark.check)


full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
TRAIN = "train t.csv --target grade --id case --model logistic --reject-cost 0.2"


def shell(words):
    """Run a command in a shell; return its exit code, whatever those of its readers are."""
    line = f'"{sys.executable}" -m rejo.cli {words}'
    command, bar, reader = line.partition(" | ")
    script = f"{{ {command}; echo $? >code; }} {bar} {reader}" if bar else f"{line}; echo $? >code"
    result = subprocess.run(
        ["sh", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert "bug" not in result.stderr
    assert "Exception ignored" not in result.stderr
    assert "Traceback" not in result.stderr
    return int(Path("code").read_text()), result


@pytest.fixture
def data(table):
    table(100).to_csv("t.csv", index=False)


@pytest.mark.parametrize("ending", ["| head -1", more(">&-"), more("2>&1 | true")])
def test_training_for_a_reader_who_leaves(data, ending):
    code, _ = shell(f"{TRAIN} -o m.rejo --report r.html {ending}")
    assert code == 0
    assert load("m.rejo").classes_.tolist() == ["bad", "good"]
    assert Path("r.html").read_text().rstrip().endswith("</html>")


@pytest.mark.parametrize("ending", [more("--json | true"), more("2>&-"), ">&- 2>&-"])
def test_decisions_for_a_reader_who_leaves(model, cases, ending):
    code, _ = shell(f"predict {model} new.csv -o out.csv {ending}")
    assert (code, len(pd.read_csv("out.csv"))) == (0, 60)


@pytest.mark.check
@pytest.mark.parametrize("ending", ["| true", ">&-"])
def test_an_evaluation_for_a_reader_who_leaves(model, cases, ending):
    code, _ = shell(f"evaluate {model} new.csv --report r.html {ending}")
    assert code == 0
    assert Path("r.html").read_text().rstrip().endswith("</html>")


@pytest.mark.check
def test_a_demonstration_for_a_reader_who_leaves():
    code, _ = shell("demo --model logistic | head -1")
    assert code == 0
    names = {"training.csv", "new_cases.csv", "model.rejo", "report.html", "decisions.csv"}
    assert {path.name for path in Path("rejo-demo").iterdir()} == names


@pytest.mark.parametrize("words", ["--help", more("train --help")])
@pytest.mark.parametrize("ending", ["| true", "2>&-"])
def test_help_for_a_reader_who_leaves(words, ending):
    assert shell(f"{words} {ending}")[0] == 0


@pytest.mark.parametrize("words", [more("inspect {0}"), "predict {0} new.csv"])
@pytest.mark.parametrize("ending", [">&-", pytest.param(">/dev/full", marks=full_disk)])
def test_a_result_that_can_go_nowhere(model, cases, words, ending):
    code, result = shell(f"{words.format(model)} {ending}")
    assert (code, result.stderr.count("\n")) == (2, 1)
    assert "standard output" in result.stderr


@pytest.mark.parametrize("words", ["predict {0} many.csv | head -1", more("inspect {0} | true")])
def test_a_result_for_a_reader_who_leaves(model, table, words):
    table(3000).to_csv("many.csv", index=False)  # decisions on them are more than a pipe holds
    code, result = shell(words.format(model))
    assert (code, result.stderr) == (0, "")


@full_disk
@pytest.mark.check
def test_a_full_disk_under_standard_output(model, data, cases):
    code, result = shell(f"predict {model} new.csv -o out.csv >/dev/full")
    assert (code, len(pd.read_csv("out.csv"))) == (2, 60)
    assert "No space left" in result.stderr
    assert shell(f"{TRAIN} -o m.rejo 2>/dev/full")[0] == 0
    assert Path("m.rejo").exists()


@pytest.mark.parametrize(
    "ending",
    ["2>&1 | true", more(">&-"), pytest.param("2>/dev/full", marks=[full_disk, pytest.mark.check])],
)
def test_an_error_is_an_error_whoever_reads(data, ending):
    assert shell(f"train t.csv --reject-cost 0.2 -o m.rejo {ending}")[0] == 2


def test_an_error_that_can_go_nowhere_is_an_error(data):
    assert shell("train t.csv --target gone --reject-cost 0.2 -o m.rejo 2>&-")[0] == 3


@pytest.mark.check
def test_a_pipe_as_the_output_file(model, cases):
    code, result = shell(f"predict {model} new.csv -o /dev/stdout | true")
    assert (code, result.stderr) == (0, "")


def test_progress_without_a_stream(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert list(progress("abc", 3, "letters")) == list("abc")


@full_disk
def test_progress_on_a_full_disk(monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert list(progress("abc", 3, "letters", show=True)) == list("abc")
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
