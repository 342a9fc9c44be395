"""What the commands give to the report: outcomes in the prices that it shows, and reasons."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rejo.report
from rejo.prices import price_matrix

TRAIN = "train t.csv --target grade --model logistic-posterior -o m.rejo --report r.html"
COSTS = "error:bad=900,error:good=300,review=40"


@pytest.fixture
def given(monkeypatch):
    """What make_report was called with."""
    calls = []
    make = rejo.report.make_report

    def keep(*arguments, **options):
        calls.append((*arguments, options))
        return make(*arguments, **options)

    monkeypatch.setattr(rejo.report, "make_report", keep)
    return calls


@pytest.mark.parametrize("how", ["--review-budget 0.2", "--max-error 0.15 --confidence 0.8"])
@pytest.mark.parametrize("prices", [None, COSTS])
def test_a_review_is_worth_something_where_the_model_reviews(run, given, table, how, prices):
    """At the price that the report shows, with a proof and without one."""
    table(600).to_csv("t.csv", index=False)
    words = f"{TRAIN} {how}".split() + ([] if prices is None else ["--costs", prices])
    assert run(*words)[0] == 0
    points, _, classes, options = given[0]
    own = points[options["chosen"]]
    out = own.decision < 0
    assert 0 < out.sum() < len(out)
    assert own.worth[out].min() >= own.worth[~out].max()
    if prices is None:  # the report takes those at which the point is best
        assert own.worth[out].min() >= -1e-6 >= own.worth[~out].max() - 1e-3
        assert own.worth.min() >= -own.reject_cost - 1e-9
    else:  # an error at most, a review at least
        review = price_matrix(prices, list(classes))[0, -1]
        assert own.worth.min() >= -review - 1e-6
        np.testing.assert_array_equal(np.asarray(options["prices"])[:, -1], review)


@pytest.mark.parametrize(
    "how",
    [
        "--max-error 0.15 --by region",
        "--group region --max-error-by-group 0.14 --small-groups review",
    ],
)
def test_the_point_of_the_page_is_that_of_the_model(run, given, table, how):
    """Also of learners without posteriors, whose ranking is cut where a limit can be proved."""
    table(1200).to_csv("t.csv", index=False)
    words = TRAIN.replace("logistic-posterior", "logistic").split()
    assert run(*words, *how.split(), "--confidence", 0.8)[0] == 0
    points, _, _, options = given[0]
    page = (points[options["chosen"]].decision < 0).mean()
    assert run("predict", "m.rejo", "t.csv", "-o", "d.csv")[0] == 0
    own = (pd.read_csv("d.csv")["decision"] == "review").mean()
    assert own > 0
    assert page == pytest.approx(own, abs=0.06)


def test_a_model_has_the_name_that_was_printed(run, given, table):
    """In the table of what was tried, in the pictures, and where it is said how it was made."""
    table(300).to_csv("t.csv", index=False)
    names = ["blend", "kernel-posterior", "logistic-posterior"]
    words = TRAIN.replace("--model logistic-posterior", f"--model {','.join(names[1:])}").split()
    code, out, _ = run(*words, "--review-budget", 0.2, "--verbose")
    assert code == 0
    report = rejo.report.make_report(*given[0][:3], **given[0][3])
    assert sorted(row[0] for row in report.tried.rows) == names
    shown = [report.data["model"], *(rival["name"] for rival in report.data["rivals"])]
    assert sorted(shown) == names
    assert dict(report.provenance)["Model"].startswith(report.data["model"])
    assert all(name in out for name in names)


def test_prices_of_training_are_told_where_the_page_says_how_it_was_made(run, given, table):
    """Not at its top, where they would stay when others are entered."""
    table(300).to_csv("t.csv", index=False)
    assert run(*TRAIN.split(), "--costs", COSTS)[0] == 0
    options = given[0][3]
    assert not any("900" in note for note in options["notes"])
    assert any("900" in text for text in options["provenance"].values())


# ---- rejo report --------------------------------------------------------------------------


@pytest.fixture
def trained(run, table):
    """A model file, and new cases with branches that look like numbers."""
    frame = table(400)
    frame["branch"] = np.resize(["0012", "0100", "0007"], 400)
    frame[:300].to_csv("t.csv", index=False)
    frame[300:].to_csv("new.csv", index=False)
    words = TRAIN.replace(" --report r.html", "").split()
    assert run(*words, "--review-budget", 0.2, "--by", "branch")[0] == 0


def test_report_writes_what_evaluate_would(run, given, trained):
    assert run("report", "m.rejo", "new.csv") == (0, "Report: report.html\n", "")
    assert run("evaluate", "m.rejo", "new.csv", "--report", "e.html")[0] == 0
    page, other = (rejo.report.make_report(*call[:3], **call[3]) for call in given[:2])
    assert page.data == other.data
    assert page.notes == other.notes
    groups = page.data["groups"][0]["groups"]
    assert [group["value"] for group in groups] == ["0007", "0012", "0100"]
    assert "rejo report m.rejo new.csv" in Path("report.html").read_text(encoding="utf-8")


def test_report_is_written_where_it_is_wanted(run, refused, given, trained):
    words = ("report", "m.rejo", "new.csv", "-o", "a.html", "--costs", COSTS)
    assert run(*words)[0] == 0
    np.testing.assert_array_equal(given[0][3]["prices"], price_matrix(COSTS, ["bad", "good"]))
    before = Path("a.html").read_bytes()
    assert "--overwrite" in refused(2, *words)
    assert Path("a.html").read_bytes() == before
    assert run(*words, "--overwrite")[0] == 0
    refused(2, "report", "m.rejo", "new.csv", "-o", "a.pdf")
    refused(2, "report", "m.rejo", "*.csv", "-o", "b.html")
    refused(2, "report", "m.rejo", "new.csv", "--target", "age", "-o", "b.html")
    assert not Path("b.html").exists()
