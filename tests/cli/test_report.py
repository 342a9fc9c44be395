"""What the commands give to the report: outcomes in the prices that it shows, and reasons."""

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
