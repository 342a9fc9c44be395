"""``rejo evaluate``: what became of cases whose classes are known by now."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import RejoLinear
from rejo.cli.evaluate import _surprises
from rejo.metrics.intervals import Interval
from rejo.persistence import save
from rejo.tables import TableEncoder


def evaluate(run, *words, warning=""):
    code, out, err = run("evaluate", *words, "--json")
    assert (code, bool(err)) == (0, bool(warning))
    assert warning in err
    return json.loads(out)


def test_rates_are_counts(run, model, cases):
    result = evaluate(run, model, cases)
    frame = pd.read_csv(cases, dtype={"case": str})
    decided = rejo.load(model).predict(frame)
    rejected = np.array([decision == "review" for decision in decided])
    wrong = np.array([d not in ("review", y) for d, y in zip(decided, frame["grade"], strict=True)])
    assert 0 < rejected.sum() < 60
    assert result["n_cases"] == 60
    seen = {name: rate["estimate"] for name, rate in result["seen"].items()}
    assert seen == pytest.approx(
        {
            "rejection_rate": rejected.sum() / 60,
            "error_rate": wrong.sum() / 60,
            "accepted_error_rate": wrong.sum() / (~rejected).sum(),
            "mean_cost": (wrong.sum() + 0.2 * rejected.sum()) / 60,
        }
    )
    assert [*result["expected"]] == [*result["seen"]]
    for rate in [*result["seen"].values(), *result["expected"].values()]:
        assert 0 <= rate["low"] <= rate["estimate"] <= rate["high"] <= 1


def test_the_table_says_the_same(run, model, cases):
    code, out, err = run("evaluate", model, cases)
    assert (code, err) == (0, "")
    shown = re.findall(r"^(?:sent|wrong).*?(\d+\.\d %)", out, flags=re.MULTILINE)[:3]
    *seen, cost = (rate["estimate"] for rate in evaluate(run, model, cases)["seen"].values())
    assert shown == [f"{100 * rate:.1f} %" for rate in seen]
    assert re.search(rf"^cost of a case +{cost:.4g} ", out, flags=re.MULTILINE)


@pytest.mark.parametrize("seen", [0.01, 0.3])
def test_fewer_errors_than_expected_may_come_from_training_cases(seen):
    expected = {"error_rate": Interval(0.1, 0.05, 0.15)}
    told = _surprises({"error_rate": Interval(seen, 0.0, 1.0)}, expected)
    assert ("be among them" in told[-1]) == (seen < 0.1)


def test_cases_that_differ_from_those_of_the_training(run, model, cases):
    assert evaluate(run, model, cases)["surprises"] == []
    frame = pd.read_csv(cases, dtype={"case": str})
    frame["grade"] = frame["grade"].map({"bad": "good", "good": "bad"})
    frame.to_csv("swapped.csv", index=False)
    surprises = evaluate(run, model, "swapped.csv")["surprises"]
    for what in ("Wrong, of all cases", "Cost of a case"):
        assert any(line.startswith(what) for line in surprises)
    assert surprises[0] in run("evaluate", model, "swapped.csv")[1]
    frame[["age", "income"]] = [40.0, 2000.0]  # between the classes
    frame.to_csv("shifted.csv", index=False)
    found = evaluate(run, model, "shifted.csv", warning="column age")
    assert "Sent to review" in found["surprises"][0]


def test_all_cases_to_review(run, model, cases):
    frame = pd.read_csv(cases, dtype={"case": str})
    best = frame[rejo.load(model).reject_mask(frame)]
    best.to_csv("doubtful.csv", index=False)
    seen = evaluate(run, model, "doubtful.csv")["seen"]
    assert seen["rejection_rate"]["estimate"] == 1
    assert seen["accepted_error_rate"]["estimate"] is None
    assert re.search(r"wrong, of the decided +- ", run("evaluate", model, "doubtful.csv")[1])


def test_a_model_without_expectations(run, table):
    """It does not name its target, either."""
    frame = table()
    X = frame[["age"]]
    save(make_pipeline(StandardScaler(), RejoLinear()).fit(X, frame["grade"]), "m.rejo")
    frame.to_csv("t.csv", index=False)
    code, out, _ = run("evaluate", "m.rejo", "t.csv", "--target", "grade")
    assert (code, "no expected rates" in out) == (0, True)
    assert evaluate(run, "m.rejo", "t.csv", "--target", "grade")["expected"] == {}
    code, _, err = run("evaluate", "m.rejo", "t.csv")
    assert (code, "--target" in err) == (2, True)


# ---- the target ---------------------------------------------------------------------------

TRAIN = ("train", "t.csv", "--target", "grade", "--id", "case", "--by", "region", "--model",
         "logistic", "-o", "m.rejo")  # fmt: skip


@pytest.fixture
def trained_for(run, table):
    """Train for a target, and return the model."""

    def train(*target):
        table(300).to_csv("t.csv", index=False)
        assert run(*TRAIN, *target)[0] == 0
        return "m.rejo"

    return train


def reviewed_cases(table, model, share, n=200):
    """Write new cases; so many of them lie where this model reviews."""
    frame = table(2000, seed=5)
    mask = rejo.load(model).reject_mask(frame)
    k = round(share * n)
    pd.concat([frame[mask][:k], frame[~mask][: n - k]]).to_csv("new.csv", index=False)
    return "new.csv"


def test_a_budget_that_was_asked_for(run, table, trained_for):
    model = trained_for("--review-budget", "0.2")
    for share, verdict in (
        (0.18, "met"),
        (0.22, "missed, within chance"),
        (0.40, "missed, beyond chance"),
    ):
        data = reviewed_cases(table, model, share)
        (found,) = evaluate(run, model, data)["target"]
        out = run("evaluate", model, data)[1]
        assert out.index(found.pop("sentence")) < out.index("expected")  # first what was asked for
        assert (found["part"], found["limit"], found["verdict"]) == ("review_budget", 0.2, verdict)
        assert found["seen"] == share


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("--max-error 0.1", "max_error"),
        ("--review-budget 0.3 --confidence 0.9", "review_budget"),
        ("--costs error=50,review=8", "cost"),
    ],
)
def test_other_targets(run, cases, trained_for, target, part):
    model = trained_for(*target.split())
    found = evaluate(run, model, cases, "--report", "r.html")
    assert part in found["target"][0]["part"]
    assert found["target"][0]["sentence"] in Path("r.html").read_text(encoding="utf-8")
    if part == "cost":
        assert found["costs"]["review_all"] == 8


def test_the_training_table_is_no_test(run, model, trained, table):
    """In any order, and with other columns beside."""
    frame = pd.read_csv(trained[1], dtype=str)
    frame["more"] = "x"
    frame.iloc[::-1].to_csv("same.csv", index=False, sep=";")
    for data in (trained[1], "same.csv"):
        code, _, err = run("evaluate", model, data, "--report", "r.html", "--overwrite")
        assert code == 0
        assert "trained on" in err
        assert "trained on" in Path("r.html").read_text()
        assert json.loads(run("evaluate", model, data, "--json")[1])["trained_on"] is True
    frame.iloc[1:].to_csv("fewer.csv", index=False)
    frame.loc[3, "age"] = "41.5"
    frame.to_csv("other.csv", index=False)
    for data in ("fewer.csv", "other.csv"):
        assert evaluate(run, model, data)["trained_on"] is False


# ---- classes and groups -------------------------------------------------------------------


def test_rates_of_classes_and_groups_are_counts(run, model, cases):
    result = evaluate(run, model, cases)
    frame = pd.read_csv(cases, dtype={"case": str})
    frame["decided"] = rejo.load(model).predict(frame)
    out = frame["decided"] == "review"
    frame["wrong"] = ~out & (frame["decided"] != frame["grade"])
    parts = {
        "grade": result["by_true_class"],
        "decided": result["by_decided_class"],
        "region": result["by_group"]["groups"],
    }
    assert result["by_group"]["column"] == "region"
    _, text, _ = run("evaluate", model, cases)
    for column, rows in parts.items():
        assert [row["value"] for row in rows] == sorted(set(frame[column]) - {"review"})
        for row in rows:
            here = frame[column] == row["value"]
            n, reviewed = here.sum(), (here & out).sum()
            wrong = (here & frame["wrong"]).sum()
            assert (row["n_cases"], row["reviewed"], row["wrong"]) == (n, reviewed, wrong)
            rate = row["accepted_error_rate"]
            assert rate["estimate"] == pytest.approx(wrong / (n - reviewed))
            assert rate["low"] <= rate["estimate"] <= rate["high"]
            assert ("rejection_rate" in row) == (column != "decided")
            share = f"{wrong} of {n - reviewed} ({100 * wrong / (n - reviewed):.1f} %)"
            sent = "" if column == "decided" else f"{reviewed} of {n}"
            assert re.search(rf"^  {row['value']} +{sent}.*{re.escape(share)}", text, re.MULTILINE)


def test_a_class_that_is_often_wrong_is_marked(run, model, cases):
    frame = pd.read_csv(cases, dtype={"case": str})
    decided = rejo.load(model).predict(frame)
    bad = np.flatnonzero(decided == "bad")
    frame["grade"] = np.where(decided == "review", "good", decided)
    frame.loc[bad[: len(bad) // 2], "grade"] = "good"
    frame.to_csv("t.csv", index=False)
    _, text, _ = run("evaluate", model, "t.csv")
    decided_class = text.split("decided class")[1]
    assert re.search(
        r"^  bad +\d+ of \d+ \(\d+\.\d %\) +[\d.]+ +<- more errors$", decided_class, re.M
    )
    assert re.search(r"^  good +0 of \d+ \(0.0 %\) +0$", decided_class, re.M)


def test_many_groups_and_small_ones(run, model, cases):
    """The worst of many are shown; the share of a few cases is not."""
    frame = pd.read_csv(cases, dtype={"case": str})
    frame["region"] = [f"r{i // 3}" for i in range(60)]
    frame.to_csv("t.csv", index=False)
    _, text, _ = run("evaluate", model, "t.csv")
    _, _, rows = text.partition("region (the worst 8 of 20)\n")
    lines = [line for line in rows.splitlines() if line.startswith("  r")]
    assert len(lines) == 8
    assert not any("%" in line or "<-" in line for line in lines)
    assert len(evaluate(run, model, "t.csv")["by_group"]["groups"]) == 20


def test_groups_by_a_number(run, model, cases):
    frame = pd.read_csv(cases, dtype={"case": str})
    frame["age"] = np.resize([9, 30, 100], 60)
    frame.to_csv("t.csv", index=False)
    found = evaluate(run, model, "t.csv", "--by", "age", warning="column age")
    groups = found["by_group"]["groups"]
    assert [group["value"] for group in groups] == ["9", "30", "100"]


# ---- the page -----------------------------------------------------------------------------


def test_the_page_reports_on_groups(run, model, cases):
    code, out, err = run("evaluate", model, cases, "--report", "r.html")
    assert (code, err) == (0, "")
    assert "Report: r.html" in out
    page = Path("r.html").read_text(encoding="utf-8")
    for word in ("north", "south", "rejo evaluate"):
        assert word in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//|file:)""", page)


def test_the_model_is_opened_and_the_cases_are_scored_once(run, model, cases, monkeypatch):
    calls = []

    def count(owner, name):
        inner = getattr(owner, name)

        def counted(self, *args, **kwargs):
            calls.append((name, self if owner is Path else None))
            return inner(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count(RejoLinear, "boundary_scores")
    count(TableEncoder, "transform")
    count(Path, "open")
    assert run("evaluate", model, cases)[0] == 0
    for call in (("boundary_scores", None), ("transform", None), ("open", model)):
        assert calls.count(call) == 1
    calls.clear()
    assert run("evaluate", model, cases, "--report", "r.html")[0] == 0
    assert calls.count(("open", model)) == 1


@pytest.mark.parametrize("column", ["job", "income", "case"])
def test_any_column_may_be_reported_on(run, model, cases, column):
    words = ("--by", column, "--report", "r.html", "--costs", "error=50,review=5")
    code, _, err = run("evaluate", model, cases, *words)
    assert (code, err) == (0, "")
    if column != "case":
        assert "(missing)" in Path("r.html").read_text(encoding="utf-8")


def test_the_column_to_report_on_may_be_absent(run, model, cases):
    pd.read_csv(cases, dtype=str).drop(columns="region").to_csv("less.csv", index=False)
    assert run("evaluate", model, "less.csv", "--report", "r.html")[0] == 0


def test_nothing_is_replaced_without_overwrite(refused, model, cases):
    Path("r.html").write_text("precious")
    words = ("evaluate", model, cases, "--report", "r.html")
    assert "--overwrite" in refused(2, *words)
    assert Path("r.html").read_text() == "precious"
    refused(2, "evaluate", model, "r.html", "--report", "r.html", "--overwrite")


# ---- what is wrong with a table -----------------------------------------------------------


def test_a_class_that_the_model_does_not_know_is_found_by_its_line(refused, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    frame.loc[41, "grade"] = "so-so"
    frame.loc[3, "unit"] = "two\nlines"
    frame.to_csv("t.csv", index=False)
    assert refused(3, "evaluate", model, "t.csv").startswith("t.csv, line 44, column 'grade': ")


def test_classes_may_be_spelt_otherwise(run, refused, model, cases):
    expected = evaluate(run, model, cases)
    frame = pd.read_csv(cases, dtype=str)
    frame["grade"] = [[word.upper(), f" {word} ", word.title()][i % 3] for i, word in
                      enumerate(frame["grade"])]  # fmt: skip
    frame.to_csv("t.csv", index=False)
    assert evaluate(run, model, "t.csv") == expected
    assert "'bad', 'Bad' and 'BAD'" in run("evaluate", model, "t.csv")[1]
    assert "'GOOD'" in refused(3, "evaluate", model, "t.csv", "--exact")


def test_numbers_as_classes_may_be_written_otherwise(run, table):
    table(120, classes=("0", "1")).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "--reject-cost", "0.2")
    assert run("train", "t.csv", *words, "-o", "m.rejo")[0] == 0
    frame = table(60, classes=("0", "1"), seed=1)
    frame.to_csv("new.csv", index=False)
    frame["grade"] = frame["grade"].astype(float)
    frame.to_csv("floats.csv", index=False)
    assert evaluate(run, "m.rejo", "floats.csv") == evaluate(run, "m.rejo", "new.csv")


def test_a_class_may_be_called_like_a_missing_value(run, table):
    """What the model knows as a class is one."""
    frame = table(120)
    y = frame.pop("grade").map({"bad": "N/A", "good": "yes"})
    X = frame[["age"]]
    save(RejoLinear(reject_cost=0.2).fit(X, y), "m.rejo")
    frame.assign(grade=y).to_csv("t.csv", index=False)
    assert evaluate(run, "m.rejo", "t.csv", "--target", "grade")["n_cases"] == 120


def test_rows_that_predict_would_not_decide_count_as_reviewed(run, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    easy = np.flatnonzero(~rejo.load(model).reject_mask(pd.read_csv(cases)))
    frame.loc[easy[0], "age"] = "a lot"
    frame.loc[easy[1], "job"] = "astronaut"
    frame.to_csv("t.csv", index=False)
    code, text, err = run("evaluate", model, "t.csv", "--report", "r.html")
    assert (code, err) == (0, "")
    assert text.splitlines()[1] in unescape(Path("r.html").read_text(encoding="utf-8"))
    found, before = (evaluate(run, model, data) for data in ("t.csv", cases))
    assert (found["in_doubt"], before["in_doubt"]) == (2, 0)
    assert {doubt["column"] for doubt in found["doubts"]} == {"age", "job"}
    reviewed = [60 * f["seen"]["rejection_rate"]["estimate"] for f in (found, before)]
    assert reviewed[0] == pytest.approx(reviewed[1] + 2)
    run("predict", model, "t.csv", "-o", "d.csv")
    assert (pd.read_csv("d.csv")["decision"] == "review").sum() == pytest.approx(reviewed[0])


def test_gaps_for_a_model_that_refuses_them(run, table):
    """As in predict: a review, not an error."""
    frame = table(120)
    save(RejoLinear(reject_cost=0.2).fit(frame[["age"]], frame["grade"]), "m.rejo")
    frame.loc[[3, 7], "age"] = None
    frame.to_csv("t.csv", index=False)
    found = evaluate(run, "m.rejo", "t.csv", "--target", "grade")
    assert found["in_doubt"] == 2
    assert run("predict", "m.rejo", "t.csv", "-o", "d.csv")[0] == 0
    reviews = (~pd.read_csv("d.csv")["decision"].isin(["bad", "good"])).sum()
    assert 120 * found["seen"]["rejection_rate"]["estimate"] == pytest.approx(reviews)


def test_cases_whose_class_is_not_known_yet(run, refused, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    frame.iloc[10:].to_csv("known.csv", index=False)
    frame.loc[:9, "grade"] = [None, "NA"] * 5
    frame.to_csv("t.csv", index=False)
    code, out, err = run("evaluate", model, "t.csv", "--json")
    assert code == 0
    assert "10 of 60" in err
    _, known, _ = run("evaluate", model, "known.csv", "--json")
    assert json.loads(out) == json.loads(known)
    frame.loc[20, "grade"] = "so-so"
    frame.to_csv("t.csv", index=False)
    _, _, err = run("evaluate", model, "t.csv")
    assert "line 22, column 'grade'" in err
    frame["grade"] = None
    frame.to_csv("t.csv", index=False)
    assert run("evaluate", model, "t.csv")[0] == 3


def test_columns_that_are_not_there(refused, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    frame.drop(columns="grade").to_csv("t.csv", index=False)
    assert "rejo predict" in refused(3, "evaluate", model, "t.csv")
    assert "'Region'" in refused(3, "evaluate", model, cases, "--by", "Region")
    frame.iloc[:0].to_csv("none.csv", index=False)
    refused(3, "evaluate", model, "none.csv")


def test_wide_ranges_are_said(run, table):
    """Few cases, or folds that differ, leave most questions open."""
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "--reject-cost", "0.2")
    table(400, seed=2).to_csv("new.csv", index=False)
    for n, wide in ((100, True), (900, False)):
        table(n).to_csv("t.csv", index=False)
        code, told, _ = run("train", "t.csv", *words, "-o", "m.rejo", "--overwrite")
        assert code == 0
        assert ("The ranges are wide" in told) == wide
        assert ("The ranges are wide" in run("evaluate", "m.rejo", "new.csv")[1]) == wide


def test_costs_are_told_if_there_are_prices(run, model, cases):
    code, out, _ = run("evaluate", model, cases, "--costs", "error=50,review=8", "--json")
    assert code == 0
    found = json.loads(out)
    expected = 50 * found["seen"]["error_rate"]["estimate"]
    expected += 8 * found["seen"]["rejection_rate"]["estimate"]
    assert found["costs"]["decided"] == pytest.approx(expected)
    assert found["costs"]["review_all"] == pytest.approx(8)
    # Nothing is said at the prices of training.
    assert found["seen"]["mean_cost"]["estimate"] == pytest.approx(expected)
    assert "mean_cost" not in found["expected"]
    assert found["target"] == []
