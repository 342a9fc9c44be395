"""``rejo inspect``: what a model file holds."""

import json

import numpy as np

from rejo import RejoSVC
from rejo.persistence import inspect, save


def test_text(run, model):
    code, out, err = run("inspect", model)
    assert (code, err) == (0, "")
    assert out == f"{inspect(model)}\n"
    for word in ("contains no training rows", "TableEncoder", "RejoLinear", "'bad', 'good'"):
        assert word in out


def test_json(run, model):
    code, out, err = run("inspect", model, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["path"] == str(model)
    assert found["classes"] == ["bad", "good"]
    assert found["reject_label"] == "review"
    columns = {"target": "grade", "id": "case", "by": "region"}
    assert len(found["table"].pop("cases")) == 64  # a hash of the training cases
    assert found["table"] == columns | {"ordered": True}
    assert found["operating_point"]["reject_cost"] == 0.2
    assert found["n_training_rows"] == 0


def test_training_rows_are_mentioned(run, table):
    frame = table()
    machine = RejoSVC().fit(frame[["age"]].to_numpy(), frame["grade"])
    save(machine, "svm.rejo", X=frame[["age"]].to_numpy(), y=frame["grade"])
    n = len(np.unique(machine.support_vectors_))
    assert f"CONTAINS {n} TRAINING ROWS" in run("inspect", "svm.rejo")[1]
    assert json.loads(run("inspect", "svm.rejo", "--json")[1])["n_training_rows"] == n
