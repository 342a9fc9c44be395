"""What each command prints in one typical use, and what it says of wrong uses.

``REJO_RENEW=1 pytest tests/cli/test_transcripts.py`` writes the files anew; read them with
``git diff`` before they are committed. Numbers may differ from machine to machine, words may not.
"""

import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from rejo import cli

from .conftest import told

FILES = Path(__file__).with_name("transcripts")
TYPICAL = {
    "help": "--help",
    "look": "look cases.csv --target grade",
    "train": "train cases.csv --target grade --id case --by region --review-budget 0.2 "
    "--model logistic-posterior,kernel-posterior -o m.rejo --report r.html",
    "predict": "predict model.rejo new.csv -o decisions.csv --capacity 10",
    "evaluate": "evaluate model.rejo new.csv",
    "report": "report model.rejo new.csv",
    "inspect": "inspect model.rejo",
    "compare": "compare cases.csv --target grade --drop case,since --methods "
    "logistic-posterior,logistic --folds 3 --n-jobs 1",
    "demo": "demo --model logistic",
}
TRAIN = "train t.csv --target y -o m"
WRONG = [
    "",
    "dance",
    "fit t.csv",
    "train",
    "train no.csv",
    "train . --target y",
    "train *.csv",
    "predict no.rejo",
    "predict m.rejo new.csv --jsn",
    "predict m.rejo new.csv --tempo=2",
    "predict --model a b",
    f"{TRAIN}",
    f"{TRAIN} --reject-cost 1",
    f"{TRAIN} --max-error 5",
    f"{TRAIN} --review-budget lots",
    f"{TRAIN} --reject-cost 0.2 --review-budget 0.1",
    f"{TRAIN} --reject-cost 0.1 --confidence 0.9",
    f"{TRAIN} --max-error-by-group 0.1",
    f"{TRAIN} --review-budget 0.1 --group sex",
    f"{TRAIN} --max-cost 9",
    f"{TRAIN} --max-cost 9 --costs error=50,review=4",
    f"{TRAIN} --costs 5,1",
    f"{TRAIN} --costs eror=5,review=3",
    f"{TRAIN} --costs error=5,review=-3",
    f"{TRAIN} --costs error=5,review=6",
    f"{TRAIN} --costs error=1e12,review=1",
    f"{TRAIN} --max-error-by-class ill",
    f"{TRAIN} --novelty t.csv",
    f"{TRAIN} --sep ;;",
    f"{TRAIN} --drop a,,b",
    f"{TRAIN} --order -1,0,1",
    f"{TRAIN} --model forest",
    f"{TRAIN} --reject-cost 0.2",
    "train t.csv --target y -o nowhere/m --reject-cost 0.2",
    "train t.csv --target y -o m --report r.pdf --reject-cost 0.2",
    "train t.csv --target y -o t.csv --reject-cost 0.2",
    "inspect nowhere.rejo",
    "demo --seed -1",
    "compare",
    "compare t.csv --target y --folds 1",
    "predict m.rejo new.csv --capacity many",
    "predict m.rejo new.csv --audit 1.5",
    "predict m.rejo new.csv --json",
]
BUDGET = "-o m.rejo --review-budget 0.2"
REFUSED = [
    f"train cases.csv --target graed {BUDGET}",
    f"train cases.csv --target grade --id grade {BUDGET}",
    f"train cases.csv --target grade --drop Region {BUDGET}",
    f"train cases.csv --target age {BUDGET}",
    f"train cases.csv --target case {BUDGET}",
    f"train cases.csv --target unit {BUDGET}",
    f"train useless.csv --target grade {BUDGET}",
    f"train empty.csv --target grade {BUDGET}",
    f"train rare.csv --target grade {BUDGET}",
    f"train cases.csv --target grade --groups region {BUDGET}",
    f"train cases.csv --target grade --order good,bad,top {BUDGET}",
    f"train cases.csv --target grade --order good {BUDGET}",
    f"train cases.csv --target grade --order good,Good {BUDGET}",
    f"train three.csv --target grade --model logistic {BUDGET}",
    f"train model.rejo --target grade {BUDGET}",
    f"train page.html --target grade {BUDGET}",
    f"train cases.csv --target grade --time job --confidence 0.9 {BUDGET}",
    "train cases.csv --target grade -o m.rejo --max-error-by-group 0.3 --group case",
    "train cases.csv --target grade -o m.rejo --max-error-by-group 0.3 --group unit",
    "train cases.csv --target grade -o m.rejo --max-error-by-group x=0.3 --group region",
    "train cases.csv --target grade -o m.rejo --max-error-by-class x=0.3",
    "train cases.csv --target grade -o m.rejo --costs error=50,review=30",
    "train cases.csv --target grade -o model.rejo --review-budget 0.2",
    "predict new.csv model.rejo",
    "predict new.csv cases.csv",
    "predict page.html new.csv",
    "predict cut.rejo new.csv",
    "predict model.rejo empty.csv --strict --id Case",
    "predict model.rejo new.csv --id age",
    "predict model.rejo new.csv --group region",
    "predict model.rejo new.csv --strict",
    "predict model.rejo short.csv",
    "predict model.rejo new.csv -o new.csv",
    "predict model.rejo new.csv -o d.txt",
    "evaluate model.rejo short.csv",
    "evaluate model.rejo three.csv",
    "evaluate model.rejo new.csv --target age",
    "inspect new.csv",
    "look cases.csv --target grade --id grade",
    "compare cases.csv --target grade --methods svm,svm-triple",
    "compare cases.csv --target grade --methods svm",
    "compare cases.csv --target grade --reject-costs 0.6",
    "compare cases.csv --target grade --folds 61",
    "compare three.csv --target grade --methods svm,logistic-posterior",
]


def spoken(line, out=None):
    """Exit code, and what a command prints on both streams, or on stderr if ``out`` is another."""
    said = StringIO()
    with redirect_stdout(out or said), redirect_stderr(said):
        try:
            code = cli.main(shlex.split(line))
        except SystemExit as stop:  # argparse
            code = stop.code
    return code, said.getvalue()


def normalised(text):
    """Without what depends on the day, the versions and the speed."""
    text = re.sub(r"rejo: warning: rejo runs on its NumPy reference solver.*\n", "", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?( UTC|\+00:00|Z)?", "DATE", text)
    text = re.sub(r"^\[ *\d+ s\]", "[0 s]", text, flags=re.MULTILINE)
    text = re.sub(r"; about \d+ (s|min) left", "", text)
    text = re.sub(r"(rejo|scikit-learn|NumPy|numpy|Python|python) \d+(\.\w+)+", r"\1 VERSION", text)
    return re.sub(r"\d+ KB|\d+\.\d MB", "9 KB", text)


def words(text):
    """The lines of a transcript with every number as #, and single blanks."""
    text = re.sub(r"[-+±]?\d[\d,.]*\d|\d", "#", text.replace("\\", "/"))
    return [" ".join(line.split()) for line in text.splitlines()]


def check(name, found):
    path = FILES / f"{name}.txt"
    if os.environ.get("REJO_RENEW"):
        path.write_text(found, encoding="utf-8")
    assert words(found) == words(path.read_text(encoding="utf-8"))


@pytest.fixture
def scene(folder, trained, table, monkeypatch):
    """A folder with a model, the table that it was trained on, and new cases."""
    monkeypatch.setenv("COLUMNS", "100")
    model, data = trained
    (folder / "model.rejo").write_bytes(model.read_bytes())
    (folder / "cases.csv").write_bytes(data.read_bytes())
    new = table(60, seed=1).astype({"age": object})
    new.loc[3, "age"], new.loc[5, "job"] = "old", "astronaut"
    new.to_csv("new.csv", index=False)


@pytest.mark.parametrize("command", TYPICAL)
def test_a_command_prints_its_transcript(scene, command):
    code, said = spoken(TYPICAL[command])
    assert code == 0, said
    check(command, normalised(f"$ rejo {TYPICAL[command]}\n{said}"))


def refusals(folder, lines):
    """What is said of each command line, which must be one line, and leave the folder as it is."""
    before = sorted(folder.iterdir())
    found = []
    for line in lines:
        code, said = spoken(line, StringIO())
        said = told(said)
        assert said.startswith("rejo: error: "), (line, said)
        assert said.count("\n") == 1, line
        found.append(f"$ rejo {line}\n{said}(exit code {code})\n")
    assert sorted(folder.iterdir()) == before
    return "\n".join(found)


def test_wrong_uses_are_told_in_one_line_each(folder):
    check("wrong", refusals(folder, WRONG))


def test_bad_files_are_told_in_one_line_each(scene, folder, table):
    frame = table()
    frame[["unit", "grade"]].to_csv("useless.csv", index=False)
    frame[:0].to_csv("empty.csv", index=False)
    frame.assign(grade=["awful", *frame["grade"][1:]]).to_csv("rare.csv", index=False)
    frame.drop(columns=["income", "grade"]).to_csv("short.csv", index=False)
    table(classes=("low", "mid, or so", "high")).to_csv("three.csv", index=False)
    (folder / "page.html").write_text("\n<!DOCTYPE html>\n<html><body>loans</body></html>")
    (folder / "cut.rejo").write_bytes((folder / "model.rejo").read_bytes()[:-9])
    check("refused", refusals(folder, REFUSED))
