"""``rejo look``: what a table holds, before training."""

import json

import numpy as np
import pandas as pd
import pytest


def look(run, *words):
    """Look with ``--json``; return the result."""
    code, out, err = run("look", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def clean(table):
    frame = table(200)
    frame.to_csv("t.csv", index=False)
    return frame


def test_a_clean_table(run, clean):
    found = look(run, "t.csv", "--target", "grade", "--id", "case")
    assert (found["n_rows"], found["n_columns"]) == (200, 8)
    assert found["classes"] == {"bad": 100, "good": 100}
    assert found["columns"] == {
        "age": "number", "income": "number", "job": "category", "since": "date",
        "region": "category",
    }  # fmt: skip
    assert found["left_out"] == {"unit": "constant"}
    assert list(found["gaps"]) == ["income", "job", "since"]
    assert (found["leaks"], found["refused"]) == ([], None)
    assert found["identical_rows"] == {"n_rows": 0, "n_other_class": 0}


def test_the_suggested_command_works(run, clean):
    command = look(run, "t.csv", "--target", "grade")["command"].split()
    assert command[command.index("--id") + 1] == "case"
    assert run(*command[1:], "--model", "logistic")[0] == 0


def test_without_a_target(run, clean):
    found = look(run, "t.csv")
    assert found["target_candidates"][0] == "grade"
    assert "--target grade" in run("look", "t.csv")[1]


def test_a_leak_is_named_and_dropped(run, clean):
    random = np.random.RandomState(0)
    late = (clean["grade"] == "bad") & (random.rand(200) < 0.98)
    frame = clean.assign(fees=np.where(late, 40 + random.rand(200), 0.0))
    frame.to_csv("t.csv", index=False)
    found = look(run, "t.csv", "--target", "grade")
    assert found["leaks"] == ["fees"]
    assert "--drop fees" in found["command"]
    words = ("--target", "grade", "--id", "case", "--reject-cost", "0.2", "--model", "logistic")
    _, _, err = run("train", "t.csv", *words, "-o", "m.rejo")
    assert err.count("fees") == 2  # once, with --drop fees


def test_a_leak_by_being_filled_in(run, clean):
    closed = np.where(clean["grade"] == "bad", "2020-03-04", "")
    clean.assign(closed=closed).to_csv("t.csv", index=False)
    assert look(run, "t.csv", "--target", "grade")["leaks"] == ["closed"]


def test_identifiers_and_groups(run, clean):
    random = np.random.RandomState(0)
    clean.insert(0, "number", random.permutation(np.arange(100_000, 100_200)))
    clean["patient"] = [f"P{i:04d}" for i in random.randint(0, 80, 200)]
    clean.drop(columns="case").to_csv("t.csv", index=False)
    found = look(run, "t.csv", "--target", "grade")
    assert [r["column"] for r in found["remarks"] if r["about"] == "id"] == ["number"]
    assert found["groups"] == ["patient"]
    assert "--id number --groups patient" in found["command"]


def test_identical_rows_and_equal_columns(run, clean):
    frame = pd.concat([clean, clean]).drop(columns="case")
    frame["years"] = frame["age"]
    frame["place"] = frame["region"].map({"north": "N", "south": "S"})
    frame.to_csv("t.csv", index=False)
    found = look(run, "t.csv", "--target", "grade")
    assert found["identical_rows"] == {"n_rows": 400, "n_other_class": 0}
    assert found["copies"] == 1.0
    assert {"columns": ["age", "years"], "equal": True} in found["twins"]
    assert {"columns": ["region", "place"], "equal": False} in found["twins"]


def test_classes_that_train_would_refuse(run, clean):
    clean.loc[0, "grade"] = "awful"
    clean.to_csv("t.csv", index=False)
    assert "'awful'" in look(run, "t.csv", "--target", "grade")["refused"]


def test_a_long_class_is_cut(run, clean):
    clean.replace({"grade": {"bad": "x" * 3000}}).to_csv("t.csv", index=False)
    code, out, _ = run("look", "t.csv", "--target", "grade")
    assert code == 0
    assert max(map(len, out.splitlines())) < 300
    assert max(map(len, look(run, "t.csv", "--target", "grade")["classes"])) == 3000


def test_a_file_without_a_header(run, clean):
    clean.to_csv("rows.csv", index=False, header=False)
    code, _, err = run("look", "rows.csv", "--target", "grade")
    assert code == 3
    assert "first line" in err
    assert "first line" not in run("look", "t.csv", "--target", "wage")[2]


def test_gaps_are_told_once(run, clean):
    clean.assign(age=clean["age"].where(clean.index < 60)).to_csv("gaps.csv", index=False)
    _, out, _ = run("look", "gaps.csv", "--target", "grade")
    assert out.count("70.0 %") == 1


def test_a_target_that_train_refuses_gets_no_command(run, clean):
    frame = pd.read_csv("t.csv").assign(number=lambda f: range(len(f)))
    frame.to_csv("many.csv", index=False)
    found = look(run, "many.csv", "--target", "number")
    assert found["refused"]
    assert (found["command"], "leaks" in found) == ("", False)


def train(run, frame):
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--reject-cost", "0.3", "--model", "logistic-posterior")
    return run("train", "t.csv", "--id", "case", *words, "-o", "m.rejo", "--overwrite")[1]


def test_hints_after_training(run, clean):
    """A perfect result without a suspect, and a table that says nothing."""
    assert "too good to be true" not in train(run, clean)
    random = np.random.RandomState(0)
    noise = clean.assign(grade=random.permutation(clean["grade"]))
    out = train(run, noise.drop(columns=["since", "income"]))
    assert "Nothing could be learned" in out
    assert "every case goes to review" in out
    good = clean["grade"] == "good"
    easy = {f"x{i}": good * 9 + random.normal(size=200) for i in range(4)}
    out = train(run, clean.drop(columns=["age", "income"]).assign(**easy))
    assert "too good to be true" in out
