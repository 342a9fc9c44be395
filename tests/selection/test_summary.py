"""What is said of an operating point: one whole text of each kind."""

from types import SimpleNamespace

import numpy as np
import pytest

from rejo.metrics import Interval
from rejo.selection import GroupPolicy, Guarantee, Limit, MeanCosts, expect
from rejo.selection.choose import Margin
from rejo.selection.summary import advise, cautions, describe_promises, reason, summarise

BUDGET = Limit("review_budget", "rejection_rate", 0.1)
ERROR = Limit("max_error", "accepted_error_rate", 0.1)
SHARES = np.array([[0.18, 0.04, 0.08], [0.02, 0.56, 0.12]])
EXPECTED = expect(0.2, 0.06, (500.0, 500.0), 100, 0.95)
PRICES = "An error costs 100 and a review 10."


def fitted(**about):
    """A search without limits and prices, but for these."""
    names = ["costs", "policy", "margin", "gap"]
    known = {f"{name}_": None for name in names} | {"limits_": [], "guarantees_": []}
    known |= {"classes_": np.array(["bad", "good"]), "shares_": SHARES, "expected_": EXPECTED}
    known |= {"reject_cost_": 0.1, "_prices_said": None}
    return SimpleNamespace(**known | about)


def test_a_budget():
    assert summarise(fitted(limits_=[BUDGET], reject_cost_=0.222)) == (
        "Of 100 cases, about 80 are decided and 20 go to review (12 to 29); about 6.0 are decided "
        "wrongly (2 to 12). About 95 % of batches this size fall in these ranges, if new cases are "
        "like the training cases. By class: 20 are decided as 'bad', 2.0 of them wrongly, and of "
        "30 cases of this class 4.0 are decided otherwise; 60 are decided as 'good', 4.0 of them "
        "wrongly, and of 70 cases of this class 2.0 are decided otherwise. You asked for at most "
        "10 % of the cases to review, with as few errors as possible. The same decisions cost "
        "least if a review costs 0.222 of an error."
    )


@pytest.mark.parametrize(
    ("reviewed", "said"),
    [(0.01, "99 are decided and 1 goes to review"), (0.99, "1 is decided and 99 go to review")],
)
def test_one_case_is_counted_as_one(reviewed, said):
    expected = expect(reviewed, 0.002, (400.0, 400.0), 100, 0.95)
    assert said in summarise(fitted(expected_=expected))


def test_prices_and_limits():
    costs = MeanCosts(Interval(7.5, 6.0, 9.0), 10.0, Interval(12.25, 11.0, 14.0))
    assert reason(fitted(_prices_said=PRICES, costs_=costs)) == (
        "An error costs 100 and a review 10. A case then costs about 7.5 on average (6 to 9); if "
        "all were reviewed it would cost 10, if all were decided about 12.2."
    )
    assert reason(fitted(limits_=[ERROR, BUDGET], _prices_said=PRICES)) == (
        "You asked for at most 10 % errors among the decided cases and 10 % of the cases to "
        "review, at the lowest cost. An error costs 100 and a review 10."
    )
    for cost, some in ((1.5, "no"), (0.0, "every")):
        said = reason(fitted(limits_=[BUDGET], reject_cost_=cost))
        assert said.endswith(f"; this sends {some} ambiguous case to review.")


def test_the_price_that_a_limit_amounts_to_is_said_if_anyone_would_pay_it():
    for price, prices in ((9.4e-7, None), (1.5, None), (0.2, PRICES)):
        model = fitted(limits_=[BUDGET], reject_cost_=price, _prices_said=prices)
        assert "The same decisions" not in summarise(model)
    assert "The same decisions" not in summarise(fitted())


def test_promises():
    overall = Guarantee("accepted_error_rate", 0.05, 0.05, 0.95, 300, 14)
    assert describe_promises([overall]) == [
        "With 95 % confidence at most 5 % of the decisions are wrong in the long run: 300 cases "
        "that the model has not seen prove it.",
        overall.assumption,
    ]
    groups = [overall._replace(by="group", value=name) for name in ("north", "south")]
    cost = Guarantee("mean_cost", 41.0, None, 0.95, 310, 14)
    assert describe_promises([*groups, cost]) == [
        "With 95 % confidence all of this holds at once in the long run: at most 5 % of the "
        "decisions in group north, south are wrong (for each of them); a case costs at most 41 on "
        "average. For each, 300 to 310 cases that the model has not seen prove it.",
        overall.assumption,
    ]
    for rate, barely in ((0.04, False), (0.06, True)):
        expected = expect(0.2, 0.8 * rate, 500, 100, 0.95)
        text = summarise(fitted(expected_=expected, guarantees_=[overall]))
        assert ("suggest 6 %, which is more" in text) == barely


def test_groups():
    names = [f"g{i}" for i in range(300)]
    text = summarise(fitted(policy_=GroupPolicy(names, names)))
    assert "'g19' and 280 more go to review" in text


def test_the_margin():
    sure = "New cases exceed a limit like this about as often as not: to be 90 % sure of 10 % in "
    assert advise(ERROR, Margin(0.0789, 0.3, 0.9)) == (
        sure + "the long run, ask for 0.078, which sends about 30 % of the cases to review."
    )
    assert advise(ERROR, Margin(None, None, 0.9)) == (
        sure + "the long run, give more cases, or a higher limit."
    )


def test_cautions():
    assert cautions(fitted()) == []
    (said,) = cautions(fitted(shares_=np.array([[0.003, 0.197, 0.1], [0.02, 0.56, 0.12]])))
    assert "98.5 %" in said
    assert "'bad'" in said
    (said,) = cautions(fitted(shares_=np.array([[0.001, 0.0, 0.299], [0.0, 0.6, 0.1]])))
    assert said == "Careful: hardly any case is decided as 'bad'."
    (said,) = cautions(fitted(limits_=[BUDGET], gap_=(0.05, 0.35)))
    assert "5 %" in said
    assert "35 %" in said
    costs = MeanCosts(Interval(41.0, 39.0, 43.0), 40.0, Interval(80.0, 70.0, 90.0))
    (said,) = cautions(fitted(costs_=costs))
    assert "reviewing all" in said
    assert cautions(fitted(costs_=costs, limits_=[BUDGET])) == []  # it is not allowed
    (said,) = cautions(fitted(costs_=costs, shares_=np.array([[0, 0, 0.3], [0, 0, 0.7]])))
    assert "every case goes to review" in said
    costs = costs._replace(review_all=45.0)
    assert cautions(fitted(costs_=costs)) == []
    (said,) = cautions(fitted(costs_=costs._replace(decide_all=Interval(40.0, 9.0, 50.0))))
    assert "deciding every case" in said
