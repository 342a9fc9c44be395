"""``rejo compare``: every method on the same parts of a table."""

import json
import re

import numpy as np
import pytest

import rejo
import rejo.selection
from rejo import cli
from rejo.datasets import bayes_risk


def row(out, title):
    """Numbers of a row of the table."""
    line = next(line for line in out.splitlines() if line.strip().startswith(title))
    return [float(number) for number in re.findall(r"[\d.]+", line.split(title)[1])]


@pytest.fixture
def quick(monkeypatch):
    """All methods, with one point of each grid."""
    methods = rejo.selection.standard_methods
    names = []

    def first_points(*args, **options):
        found, grids = methods(*args, **options)
        names[:] = found
        return found, {
            name: {key: list(values)[:1] for key, values in grid.items()}
            for name, grid in grids.items()
        }

    monkeypatch.setattr("rejo.selection.standard_methods", first_points)
    return names


WORDS = ("t.csv", "--target", "grade", "--drop", "case", "--folds", "2", "--n-jobs", "1")


def test_every_method_is_printed(run, table, quick):
    table(60).to_csv("t.csv", index=False)
    code, out, err = run("compare", *WORDS, "--reject-costs", "0.1,0.3")
    assert (code, err) == (0, "")
    head = out.splitlines()[0]
    assert head.startswith("t.csv: 60 rows. Classes: bad (30), good (30).")
    left_out = {"embedded"} & set(quick) if "Left out: embedded" in head else set()
    means = {}
    for name in set(quick) - left_out:
        risks = row(out, name)
        assert len(risks) == 2
        assert all(0 <= risk <= 1 for risk in risks)
        means[name] = sum(risks) / 2
    best = re.search(r"Lowest mean cost: (.*), ([\d.]+)\.", out)
    assert float(best[2]) == pytest.approx(min(means.values()), abs=1e-4)
    assert means[best[1]] == pytest.approx(min(means.values()), abs=1e-4)


def test_methods_are_chosen_by_name(run, table, quick):
    table(60).to_csv("t.csv", index=False)
    words = ("compare", *WORDS, "--reject-costs", "0.2", "--methods")
    code, out, _ = run(*words, "embedded,kernel-logistic")
    assert code == 0
    assert "differs from embedded" in out  # the first is the reference
    assert len(row(out, "kernel-logistic")) == 1
    assert "svm-pair" not in out
    code, out, _ = run(*words, "boosting,logistic-posterior")  # not among the standard ones
    assert code == 0
    assert len(row(out, "logistic-posterior")) == 1
    for names, problem in {
        "svm,svm-triple": "'svm-triple' is not a method; methods: logistic, svm",
        "svm,SVM-2C": "'SVM-2C' is now called 'svm-pair'",
        "svm": "at least two",
    }.items():
        code, _, err = run(*words, names)
        assert code == 2
        assert problem in err


def test_json(run, table, quick):
    table(100, classes=("low", "middle", "high")).to_csv("t.csv", index=False)
    words = ("--order", "low,middle,high", "--reject-costs", "0.2", "--max-rows", "60", "--json")
    code, out, err = run("compare", *WORDS, *words)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["reject_costs"] == [0.2]
    assert set(found["risk"]) == set(quick)
    assert "Compared on a random sample of 60 rows" in found["note"]
    for name, (risk,) in found["risk"].items():
        folds = [r["risk"] for r in found["rows"] if r["method"] == name]
        assert len(folds) == 2
        assert risk == pytest.approx(np.mean(folds))


def test_synthetic_problems(run, monkeypatch):
    def methods(n_classes, n_features, n_samples):
        return {"ours": rejo.RejoSVC(gamma=2)}, {"ours": {"C": [0.1, 10]}}

    monkeypatch.setattr("rejo.selection.standard_methods", methods)
    code, out, err = run("compare", "--demo", "--repetitions", "2")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")[:2]
    assert first.startswith("SyntheticI: 400 training points, 2 training sets\n")
    assert second.startswith("SyntheticII: ")
    best = [1000 * bayes_risk("synthetic_1", w) for w in cli.compare.COSTS]
    assert row(first, "(Bayes risk x 1000)") == pytest.approx(best, abs=0.05)
    *excess, mean, ratio, _ = row(first, "ours")
    assert len(excess) == 5
    assert mean == pytest.approx(np.mean(excess), abs=0.1)
    assert ratio == pytest.approx(1 + excess[2] / best[2], abs=0.01)


def test_a_table_or_the_synthetic_problems(refused, table):
    table().to_csv("t.csv", index=False)
    assert "no data to compare on" in refused(2, "compare")
    assert "no data to compare on" in refused(2, "compare", "t.csv")
    assert "remove t.csv or --demo" in refused(2, "compare", "t.csv", "--demo")


def test_tables_that_cannot_be_compared_on(refused, table):
    table().to_csv("t.csv", index=False)
    assert "no column 'graed'" in refused(3, "compare", "t.csv", "--target", "graed")
    frame = table()[["unit", "grade"]]
    frame.to_csv("t.csv", index=False)
    assert "constant" in refused(3, "compare", "t.csv", "--target", "grade")
