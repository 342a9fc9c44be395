"""Rows of one person are not both learned from and tested on."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

MODEL = ("--model", "svm", "--reject-cost", "0.45", "-o", "m.rejo", "--overwrite")


@pytest.fixture
def visits():
    """Patients whose class has nothing to do with the features, but whose visits are alike."""
    random = np.random.RandomState(0)
    n = 60
    x, y = random.normal(size=(n, 4)), random.permutation(np.repeat(["ill", "well"], n // 2))
    who = np.repeat(np.arange(n), 5)
    frame = pd.DataFrame(x[who] + random.normal(0, 0.05, (5 * n, 4)), columns=list("abcd"))
    frame["patient"] = [f"p{i}" for i in who]
    frame["class"] = y[who]
    frame.to_csv("visits.csv", index=False)
    return frame


def cost(out):
    found = json.loads(out)
    rates = {name: found["expected"][f"{name}_rate"]["estimate"] for name in ("rejection", "error")}
    return 0.45 * rates["rejection"] + rates["error"]


def test_rates_are_those_of_new_patients(run, visits):
    words = ("train", "visits.csv", "--target", "class", *MODEL, "--json")
    code, out, err = run(*words, "--id", "patient")
    assert code == 0
    assert cost(out) < 0.1  # learned by heart
    assert err.count("\n") == 1
    assert "--groups patient" in err
    code, out, err = run(*words, "--id", "patient", "--groups", "patient")
    assert (code, err) == (0, "")
    assert cost(out) > 0.35  # there is nothing to learn
    interval = json.loads(out)["expected"]["rejection_rate"]
    assert interval["low"] <= interval["estimate"] <= interval["high"]


def test_the_report_and_the_comparison_keep_them_together(run, visits):
    words = ("visits.csv", "--target", "class", "--groups", "patient")
    code, out, _ = run("train", *words, *MODEL, "--report", "r.html", "--json")
    assert code == 0
    assert len(json.loads(out)["columns"]) == 4  # the patient is no feature
    some = ("--methods", "kernel-logistic,svm", "--folds", "3", "--reject-costs", "0.4")
    code, out, _ = run("compare", *words, *some, "--n-jobs", "1", "--json")
    assert code == 0
    assert min(risks[0] for risks in json.loads(out)["risk"].values()) > 0.3


def test_evaluation_counts_patients(run, visits):
    words = ("visits.csv", "--target", "class", "--groups", "patient")
    assert run("train", *words, *MODEL)[0] == 0
    _, out, _ = run("evaluate", "m.rejo", "visits.csv", "--json")
    found = json.loads(out)
    rate, seen = found["expected"]["error_rate"], found["seen"]["rejection_rate"]
    assert (found["n_cases"], found["n_independent"]) == (300, 60)
    visits.drop(columns="patient").to_csv("visits.csv", index=False)
    _, out, _ = run("evaluate", "m.rejo", "visits.csv", "--json")
    alone, rows = json.loads(out)["expected"]["error_rate"], json.loads(out)["seen"]
    assert seen["estimate"] == rows["rejection_rate"]["estimate"]
    assert seen["high"] > rows["rejection_rate"]["high"]
    assert rate["high"] - rate["low"] >= alone["high"] - alone["low"]


def test_a_guarantee_counts_each_group_once(run, visits):
    words = ("visits.csv", "--target", "class", "--groups", "patient", "-o", "m.rejo")
    target = ("--review-budget", "0.9", "--confidence", "0.6", "--json")
    code, out, _ = run("train", *words, "--model", "logistic", *target)
    assert code == 0
    assert json.loads(out)["promises"][0]["n_cases"] == 30  # half of 60 patients


def test_copies_of_rows_are_said_to_break_a_guarantee(run, visits):
    once = visits.drop(columns="patient")
    once.loc[once.index.repeat(3)].to_csv("copies.csv", index=False)
    words = ("--target", "class", "-o", "m.rejo", "--model", "logistic", "--overwrite")
    target = ("--review-budget", "0.9")
    code, _, err = run("train", "copies.csv", *words, *target, "--confidence", "0.9")
    assert code == 0
    assert err.count("identical") == err.count("--groups") == 1
    once.to_csv("once.csv", index=False)
    _, _, err = run("train", "once.csv", *words, *target, "--confidence", "0.9")
    assert "identical" not in err
