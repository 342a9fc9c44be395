"""``rejo inspect``: what a model file holds."""

import json

from rejo import RejoSVC
from rejo.persistence import inspect, save


def test_how_columns_were_read(run, model, table):
    """The lines of training, without a value of any row."""
    code, out, _ = run("inspect", model)
    assert (code, out) == (0, f"{inspect(model)}\n")
    frame = table()
    frame["income"] = frame["income"].fillna(-99999.25)
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--reject-cost", "0.2", "--model", "logistic")
    assert "--missing -99999.25" in run("train", "t.csv", *words, "-o", "m.rejo")[1]
    shown = run("inspect", "m.rejo")[1]
    assert "income: " in shown
    assert "99999" not in shown


def test_json(run, model):
    code, out, err = run("inspect", model, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["path"] == str(model)
    assert found["classes"] == ["bad", "good"]
    assert found["reject_label"] == "review"
    columns = {"target": "grade", "id": "case", "by": "region"}
    assert len(found["table"].pop("cases")) == 64  # a hash of the training cases
    assert found["table"].pop("columns_read")[:2] == [
        "Columns used: 4.",
        "  2 numbers: age, income",
    ]
    assert found["table"] == columns | {"ordered": True}
    assert found["operating_point"]["reject_cost"] == 0.2
    assert found["n_training_rows"] == 0


def test_training_rows_are_mentioned(run, table):
    frame = table()
    machine = RejoSVC().fit(frame[["age"]].to_numpy(), frame["grade"])
    save(machine, "svm.rejo", X=frame[["age"]].to_numpy(), y=frame["grade"])
    n = len(machine.support_vectors_)
    assert f"CONTAINS AT LEAST {n} TRAINING ROWS" in run("inspect", "svm.rejo")[1]
    assert json.loads(run("inspect", "svm.rejo", "--json")[1])["n_training_rows"] == n
