"""``rejo compare``: every method on the same parts of a table."""

import json
import re

import numpy as np
import pytest

import rejo
import rejo.selection


def row(out, title):
    """Numbers of a row of the table."""
    line = next(line for line in out.splitlines() if line.strip().startswith(title))
    return [float(number) for number in re.findall(r"[\d.]+", line.split(title)[1])]


@pytest.fixture
def quick(monkeypatch):
    """All methods, with one point of each grid."""
    methods = rejo.selection.methods_to_compare
    names = []

    def first_points(*args, **options):
        found, grids = methods(*args, **options)
        names[:] = found
        for name in {"auto", "blend"} & set(found):
            found[name].models = ["logistic-posterior"]
        return found, {
            name: {key: list(values)[:1] for key, values in grid.items()}
            for name, grid in grids.items()
        }

    monkeypatch.setattr("rejo.selection.methods_to_compare", first_points)
    return names


WORDS = ("t.csv", "--target", "grade", "--drop", "case", "--folds", "2", "--n-jobs", "1")


def test_every_method_is_printed(run, table, quick):
    table(60).to_csv("t.csv", index=False)
    code, out, err = run("compare", *WORDS, "--reject-costs", "0.1,0.3")
    assert (code, err) == (0, "")
    left_out = (
        {"embedded"} if re.search(r"Left out \(slow with \d+ features .*embedded", out) else set()
    )
    means = {}
    for name in set(quick) - left_out:
        risks = row(out, name)
        assert len(risks) == 2
        assert all(0 <= risk <= 1 for risk in risks)
        means[name] = sum(risks) / 2
    assert row(out, "review everything") == [0.1, 0.3]
    assert len(row(out, "decide everything")) == 2
    best = re.search(r"Lowest mean cost of a case: (\S*), (\d\.\d+)\.", out)
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
    code, out, _ = run(*words, "auto,boosting")  # not among the standard ones
    assert code == 0
    assert len(row(out, "boosting")) == 1
    assert "differs from auto" in out


def test_json(run, table, quick):
    table(100, classes=("low", "middle", "high")).to_csv("t.csv", index=False)
    words = ("--order", "low,middle,high", "--reject-costs", "0.2", "--max-rows", "60", "--json")
    code, out, err = run("compare", *WORDS, *words)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["reject_costs"] == [0.2]
    assert set(found["risk"]) == {*quick, "review everything", "decide everything"}
    assert "60 rows" in found["note"]
    for name, (risk,) in found["risk"].items():
        folds = [r["risk"] for r in found["rows"] if r["method"] == name]
        assert len(folds) == 2
        assert risk == pytest.approx(np.mean(folds))


def test_prices(run, refused, table, quick):
    table(60).to_csv("t.csv", index=False)
    words = ("compare", *WORDS, "--methods", "logistic-posterior,svm,svm-class")
    code, out, _ = run(*words, "--costs", "error=5000,review=500", "--json")
    money = json.loads(out)
    assert code == 0
    code, out, _ = run(*words, "--reject-costs", "0.1", "--json")
    for name, (risk,) in json.loads(out)["risk"].items():
        assert money["risk"][name] == pytest.approx([5000 * risk])
    refused(2, *words, "--costs", "error=5000,review=500", "--reject-costs", "0.1")
    refused(2, *words, "--reject-costs", "0.1,x")


def test_prices_by_class(run, table, quick):
    table(60).to_csv("t.csv", index=False)
    words = ("compare", *WORDS, "--methods", "logistic-posterior,svm-class")
    code, out, err = run(*words, "--costs", "error:bad=5000,error:good=300,review=40")
    assert (code, err) == (0, "")
    assert re.search(r"Left out .*: svm-class", out)
    assert row(out, "review everything")[0] == 40


def test_classes_without_an_order(run, table, quick):
    frame = table(90, classes=("red", "green", "blue"))
    frame.to_csv("t.csv", index=False)
    code, out, err = run("compare", *WORDS, "--reject-costs", "0.2,0.6")
    assert (code, err) == (0, "")
    assert out.count("--order") == 1
    assert re.search(r"Left out .*order.*: .*mlp", out)
    assert len(row(out, "logistic-posterior")) == 2
