"""Amounts by class against a loop over the cases; baselines; what a review is worth."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rejo.decisions import uniform_prices
from rejo.report import make_report, render
from rejo.report._counts import MAX_DECISIONS, MAX_EXPECTED
from rejo.selection import error_numbers

KINDS = ["binary", "ordinal", "share", "by class", "dozen"]


def value(text):
    return float(re.sub(r"[,%\s]", "", text))


@pytest.fixture(params=["refits", "ranking", "posteriors", "many"])
def cases(request, make):
    """Outcomes and true classes of every layout, and prices by class."""
    if request.param == "refits":
        outcomes, y = make.cases(500, 4, costs=(0.1, 0.3))
        chosen, axis, K = 1, "reject_cost", 4
    elif request.param == "ranking":
        outcomes, y, chosen = make.share_cases(500, 3, n_points=9)
        axis, K = "review_share", 3
    else:
        K = 5 if request.param == "posteriors" else MAX_DECISIONS + 4
        outcomes, y, chosen = make.posterior_cases(500, K, prices=make.prices(K), n_points=9)
        axis = "review_share"
    prices = make.prices(K)
    if K > MAX_DECISIONS:  # one price of an error for each true class
        prices[:, :-1] = prices[:, [1]] * (1 - np.eye(K))
        prices[:, :-1][0] = 77.0 * (np.arange(K) > 0)
    return outcomes, y, chosen, axis, prices


def errors_of(point, y, K):
    """Errors (K, K) by true and decided class: of one model counted, of several expected."""
    if point.fold.any() and K <= MAX_EXPECTED:
        return error_numbers(replace(point, y=y), K, len(y)).estimate
    errors = np.zeros((K, K))
    for k, d in zip(y, point.decision, strict=True):
        errors[k, d] += d not in (-1, k)
    return errors


def test_amounts_are_those_of_a_loop_over_the_cases(make, compute, cases):
    outcomes, y, chosen, axis, prices = cases
    classes = [str(k) for k in range(len(prices))]
    report = make.report(outcomes, y, classes, chosen=chosen, axis=axis, prices=prices)
    per, totals = 1000 / len(y), []
    for i, point in enumerate(outcomes):
        texts = compute(report, i)["texts"]
        wrong = (errors_of(point, y, len(prices)) * prices[:, :-1]).sum()
        reviews = sum(prices[k, -1] for k, d in zip(y, point.decision, strict=True) if d < 0)
        forced = (errors_of(point.all_decided(), y, len(prices)) * prices[:, :-1]).sum()
        by_hand = prices[y, -1].sum()
        for key, cost in [
            ("cost-wrong", wrong), ("cost-review", reviews), ("forced-cost-total", forced),
            ("hand-cost-total", by_hand),
        ]:  # fmt: skip
            assert value(texts[key]) == pytest.approx(per * cost, abs=0.51), key
        totals.append(wrong + reviews)
        low, high = map(value, texts["cost-total-range"].split(" to "))
        assert low <= per * totals[-1] + 0.51
        assert high >= per * totals[-1] - 0.51
    if axis == "review_share":
        best = compute(report)["best"]
        assert totals[best] == pytest.approx(min(totals))


@pytest.mark.parametrize("kind", KINDS)
def test_two_prices_are_a_matrix_of_two_prices(reports, texts, kind):
    report = reports[kind]
    prices = 300 * uniform_prices(len(report.data["classes"]), 0.15)
    for point in (0, report.chosen):
        assert texts(report, point, prices) == texts(report, point, (300.0, 45.0))


def test_range_of_the_cost_holds_what_is_drawn(reports, make, texts):
    report, prices = reports["by class"], make.prices(4)
    matrix = np.array(report.data["matrix"][report.chosen])
    low, high = map(value, texts(report)["cost-total-range"].split(" to "))
    rng = np.random.default_rng(0)
    beliefs = rng.dirichlet(matrix.ravel() / matrix.sum() * report.data["size"] + 1e-3, 4000)
    costs = np.array([rng.multinomial(1000, belief) for belief in beliefs]) @ prices.ravel()
    assert 0.93 < np.mean((low <= costs) & (costs <= high)) < 0.98


def test_baselines_that_are_cheaper_are_named(make, texts):
    outcomes, y, chosen = make.posterior_cases(400, 3, n_points=5)
    report = make.report(outcomes, y, chosen=chosen, axis="review_share", ordered=False)

    def baseline(point, *prices):
        return texts(report, point, prices)["baseline"]

    assert baseline(chosen, 1, 0.3) == ""
    assert "reviewing every case" in baseline(chosen, 1, 0.001)
    assert "deciding every case" in baseline(chosen, 1, 5)
    refits, y = make.cases(300, 3, costs=(0.3,))
    report = make.report(refits, y, chosen=0)
    assert "less than every other point" in baseline(0, 1, 0.001)
    assert baseline(0, 1, 0) == ""  # that free reviews cost least says nothing
    assert "reviewing" not in texts(report, 0, (1, 0))["saving"]


@pytest.mark.parametrize("kind", ["by class", "dozen"])
def test_reviews_save_what_they_are_worth(make, compute, texts, kind):
    prices = make.prices(4) if kind == "by class" else 2000 * uniform_prices(12, 0.3)
    outcomes, y, chosen = make.posterior_cases(900, len(prices), prices=prices)
    report = make.report(
        outcomes, y, chosen=chosen, axis="review_share", ordered=False, prices=prices
    )
    found = re.search(r"so they save ([\d,]+)\.", texts(report)["reviews-save"])
    worth = outcomes[chosen].worth
    expected = worth[worth >= 0].sum() + prices[y, -1][worth >= 0].sum()
    paid = prices[y, -1][worth >= 0].sum()
    assert value(found[1]) == pytest.approx((expected - paid) / 0.9, abs=1.1)
    # Prices twice as high: twice the amounts, the same point.
    twice = texts(report, chosen, 2 * prices)
    again = re.search(r"so they save ([\d,]+)\.", twice["reviews-save"])
    assert value(again[1]) == pytest.approx(2 * value(found[1]), abs=2.1)
    assert compute(report, None, 2 * prices)["best"] == compute(report)["best"]


def test_what_is_expected_is_unknown_at_other_prices(reports, make, texts):
    report, prices = reports["by class"], make.prices(4)
    at_those = texts(report)
    assert "expected" in at_those["reviews-save"] + at_those["tenths-line"]
    assert at_those["price-note"] == ""
    higher = prices.copy()
    higher[:, -1] += 7.0  # another cut of the same ranking
    assert texts(report, 0, higher)["price-note"] == ""
    higher[0, 1] += 100.0
    other = texts(report, None, higher)
    assert "decided for the prices given" in other["price-note"]
    assert "expected" not in other["reviews-save"] + other["tenths-line"]


def test_a_review_that_never_pays(reports, texts):
    def words(kind, review):
        return texts(reports[kind], 0, (1.0, review))["price-ratio"]

    assert "never pays" not in words("binary", 0.5) + words("dozen", 0.9)
    assert "0.5 of an error never pays" in words("binary", 0.6)
    assert "0.9167 of an error never pays" in words("dozen", 0.95)


def test_reviews_have_one_column_unless_they_lie_between_neighbours(make):
    outcomes, y = make.cases(100, 4, costs=(0.1, 0.2))
    assert len(make.report(outcomes, y).layout.columns) == 7
    assert len(make.report(outcomes, y, ordered=False).layout.columns) == 5
    ranking, y, chosen = make.posterior_cases(100, 4)
    report = make.report(ranking, y, chosen=chosen, axis="review_share")
    assert len(report.layout.columns) == 5
    two, y, chosen = make.posterior_cases(100, 2)
    assert len(make.report(two, y, chosen=chosen, axis="review_share").layout.columns) == 3
    assert "between two neighbouring" not in render(report)


def test_points_say_when_they_are_best(make, texts):
    ranking, y, chosen = make.posterior_cases(300, 4)
    report = make.report(ranking, y, chosen=chosen, axis="review_share", ordered=False)
    names = [texts(report, i)["point-name"] for i in range(len(ranking))]
    assert "best if a review costs 0.3 of an error, as the model decides" in names[chosen]
    costs = [float(m[1]) for name in names if (m := re.search(r"costs ([\d.]+) of", name))]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 10


def test_shares_are_put_in_order(make):
    ranking, y, chosen = make.posterior_cases(200, 3, n_points=9)
    options = {"axis": "review_share", "ordered": False}
    back = make.report(ranking[::-1], y, chosen=len(ranking) - 1 - chosen, **options)
    assert back.data == make.report(ranking, y, chosen=chosen, **options).data


def test_prices_by_pair_with_very_many_classes(make, texts):
    """They become the mean price of the errors of a class: deciding everything costs the same."""
    K = MAX_DECISIONS + 1
    prices = make.prices(K)
    outcomes, y, chosen = make.posterior_cases(2000, K, prices=prices)
    report = make.report(
        outcomes, y, chosen=chosen, axis="review_share", ordered=False, prices=prices
    )
    errors = errors_of(outcomes[chosen].all_decided(), y, K).sum(axis=1)
    forced = errors @ np.array(report.data["prices"])[:, 1] / 2  # one price for each true class
    assert value(texts(report)["forced-cost-total"]) == pytest.approx(forced, rel=1e-3)
    assert "only right or wrong" in render(report)


@pytest.mark.check
def test_size_with_hundreds_of_classes(make):
    outcomes, y, chosen = make.posterior_cases(5000, 300, n_points=101)
    classes = [f"class {k}" for k in range(300)]
    options = {"axis": "review_share", "ordered": False}
    page = render(make.report(outcomes, y, classes, chosen=chosen, **options))
    assert len(page.encode()) < 1_000_000
    outcomes, y, chosen = make.posterior_cases(20_000, 20, n_points=101)
    assert len(render(make.report(outcomes, y, chosen=chosen, **options)).encode()) < 500_000


def test_what_was_tried(make, reports):
    """In the order of the choice, under the names that the whole page uses."""
    rows = reports["by class"].tried.rows
    names = ["logistic", "blend", "<b>boosting</b>"]
    assert [row[0] for row in rows] == names
    assert [row[1:3] for row in rows[:2]] == [("0.3900", "58,250"), ("0.3900", "59,250")]
    assert rows[0][3] == "57,000 to 63,000"
    assert [bool(row[4]) for row in rows] == [False, True, False]
    data = reports["by class"].data
    assert sorted([data["model"], *(rival["name"] for rival in data["rivals"])]) == sorted(names)
    outcomes, y = make.cases(50, costs=(0.1,))
    assert make.report(outcomes, y).tried is None


def test_prices_are_checked_against_the_classes(make):
    outcomes, y = make.cases(50, 3, costs=(0.1,))
    with pytest.raises(ValueError, match="prices"):
        make_report(
            outcomes, y, list("abc"), chosen=0, title="t", provenance={},
            prices=uniform_prices(2, 0.1),
        )  # fmt: skip
