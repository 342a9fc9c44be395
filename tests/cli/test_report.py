"""What the commands give to the report: outcomes in the prices that it shows, and reasons."""

import numpy as np
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
