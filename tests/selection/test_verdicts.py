"""Whether the target of training was met on other cases, overall and for some of them."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from rejo.decisions import uniform_prices
from rejo.selection import GroupPolicy, Guarantee, Limit, excess_probability, judge_limits
from rejo.selection.summary import mean_excess_probability

BUDGET = Limit("review_budget", "rejection_rate", 0.2)
LIMIT = Limit("max_error", "accepted_error_rate", 0.1)
CLASSES = ["bad", "good"]
# 50 cases of class "bad", of which 10 are decided wrongly; 150 "good" ones, 60 of them reviewed.
Y = np.repeat([0, 0, 1, 1], [40, 10, 90, 60])
DECISION = np.repeat([0, 1, 1, -1], [40, 10, 90, 60])
GROUP = np.array(["f", "m"] * 100, dtype=object)


def proof(limit, confidence=0.9):
    return Guarantee(
        limit.rate, limit.most, limit.most, confidence, 100, 10, limit.by, limit.name
    )  # fmt: skip


def model(*limits, guarantees=(), prices=None, reviewed=()):
    """What a fitted model knows."""
    policy = GroupPolicy(["f", "m"], list(reviewed)) if reviewed else None
    return SimpleNamespace(
        limits_=list(limits), guarantees_=list(guarantees), prices_=prices, policy_=policy,
        cost_of=prices,
    )  # fmt: skip


def judge(*limits, size=None, right=0, wrong=0, reviewed=0, **about):
    """Cases of class 0; decided without a reject option, all would be right."""
    decision = np.repeat([0, 1, -1], [right, wrong, reviewed])
    forced, y = np.where(decision < 0, 0, decision), np.zeros(len(decision), dtype=int)
    return judge_limits(model(*limits, **about), decision, forced, y, classes=CLASSES, size=size)


def judge_some(*limits, size=None, **about):
    forced = np.where(DECISION < 0, Y, DECISION)
    return judge_limits(
        model(*limits, **about), DECISION, forced, Y, classes=CLASSES, group=GROUP, column="sex",
        size=size,
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_the_probability_is_that_of_the_binomial_distribution(n, rate):
    for bad in range(n + 1):
        assert excess_probability(bad, n, rate) == pytest.approx(binom.sf(bad - 1, n, rate))


def test_a_budget():
    (found,) = judge(BUDGET, right=220, reviewed=80)
    assert found.verdict == "missed, beyond chance"
    assert found.p_value == pytest.approx(binom.sf(79, 300, 0.2))
    assert "80 of 300" in found.sentence
    assert "0.32 % of batches" in found.sentence
    (found,) = judge(BUDGET, right=236, reviewed=64)
    assert found.verdict == "missed, within chance"
    (found,) = judge(BUDGET, right=240, reviewed=60)  # just used up
    assert found.verdict == "met"


def test_rows_that_belong_together_prove_less():
    assert judge(BUDGET, right=220, reviewed=80)[0].verdict == "missed, beyond chance"
    found = judge(BUDGET, right=220, reviewed=80, size=30)[0]
    assert found.verdict == "missed, within chance"
    assert found.p_value == pytest.approx(binom.sf(7, 30, 0.2))
    asked = Limit("max_error_by_class", "accepted_error_rate", 0.1, "class", "bad")
    assert judge_some(asked)[0].verdict == "missed, beyond chance"
    (found,) = judge_some(asked, size=20)
    assert found.verdict == "missed, within chance"
    assert found.p_value == pytest.approx(binom.sf(0, 5, 0.1))


def test_a_limit_of_the_errors():
    (found,) = judge(LIMIT, right=150, wrong=50, reviewed=800)
    assert (found.verdict, found.seen, found.limit) == ("missed, beyond chance", 0.25, 0.1)
    assert judge(LIMIT, right=195, wrong=5)[0].verdict == "met"
    overall = Limit("max_error", "error_rate", 0.1)
    (found,) = judge(overall, right=150, wrong=50, reviewed=800)
    assert (found.verdict, found.seen) == ("met", 0.05)


def test_few_cases_prove_little():
    (found,) = judge(LIMIT, right=5)
    assert found.verdict == "met"
    assert "45.1 %" in found.sentence  # what the true rate may be
    assert judge(LIMIT, right=1, wrong=1)[0].verdict == "missed, within chance"
    assert judge(LIMIT, reviewed=50)[0].verdict == "open"


def test_a_guarantee_is_contradicted_only_beyond_chance():
    said = {}
    for reviewed in (60, 64, 80):
        (found,) = judge(BUDGET, guarantees=[proof(BUDGET)], right=300 - reviewed,
                         reviewed=reviewed)  # fmt: skip
        said[reviewed] = found
        assert "promised with 90 % confidence" in found.sentence
    assert said[60].verdict == "met"
    assert "not contradicted" in said[64].sentence
    assert said[80].verdict == "missed, beyond chance"
    assert ": contradicted" in said[80].sentence


def test_by_class_by_decision_and_by_group():
    budget = Limit("review_budget_by_group", "rejection_rate", 0.4, "group", "f")
    found = judge_some(
        Limit("max_error_by_class", "accepted_error_rate", 0.1, "class", "bad"),
        Limit("max_error_by_class", "error_rate", 0.1, "class", "good"),
        Limit("max_error_by_decision", "accepted_error_rate", 0.05, "decision", "good"),
        budget, guarantees=[proof(budget, 0.95)],
    )  # fmt: skip
    assert [verdict.seen for verdict in found] == [0.2, 0.0, 0.1, 0.3]
    assert [verdict.verdict for verdict in found] == [
        "missed, beyond chance", "met", "missed, beyond chance", "met"
    ]  # fmt: skip
    assert found[0].p_value == pytest.approx(binom.sf(9, 50, 0.1))
    for verdict, words in zip(
        found,
        [
            ("Class 'bad'", "asked for at most 10 %", "10 of 50 decided cases are wrong (20.0 %)"),
            ("Class 'good'", "asked for at most 10 %", "0 of 150 cases are wrong", "kept"),
            ("Decisions for 'good'", "10 of 100 decisions are wrong", "beyond chance"),
            ("Sex 'f'", "promised with 95 % confidence", "30 of 100 cases went to review", "kept"),
        ],
        strict=True,
    ):
        assert all(word in verdict.sentence for word in words)
    assert [(verdict.by, verdict.value) for verdict in found][2:] == [
        ("decision", "good"), ("group", "f")
    ]  # fmt: skip


def test_of_many_groups_some_exceed_a_limit_by_chance():
    one = Limit("max_error_by_class", "accepted_error_rate", 0.11, "class", "bad")
    (found,) = judge_some(one)
    assert found.p_value == pytest.approx(binom.sf(9, 50, 0.11))
    assert 0.01 < found.p_value < 0.05
    assert found.verdict == "missed, beyond chance"
    *_, last = judge_some(*[one] * 5)
    assert last.verdict == "missed, within chance"


def test_nobody_of_a_group_or_nothing_promised_for_it():
    limit = Limit("max_error_by_group", "accepted_error_rate", 0.1, "group", "x")
    (found,) = judge_some(limit)
    assert found.verdict == "open"
    assert judge_some(limit._replace(name="f"), reviewed=["f"]) == []


def test_the_mean_cost():
    prices = uniform_prices(2, 0.2)
    mean = (10 + 60 * 0.2) / 200
    asked = Limit("max_cost", "mean_cost", 0.15)
    found, _ = judge_some(asked, prices=prices, guarantees=[proof(asked)])
    assert (found.seen, found.verdict) == (pytest.approx(mean), "met")
    found, _ = judge_some(asked._replace(most=0.05), prices=prices)
    assert found.verdict == "missed, beyond chance"
    # A bound that was said, where nothing was asked for.
    bound = proof(asked)._replace(target=None, bound=0.05)
    found, _ = judge_some(prices=prices, guarantees=[bound])
    assert (found.limit, found.verdict) == (0.05, "missed, beyond chance")


def test_prices():
    prices = 100 * uniform_prices(2, 0.2)
    decision, y = np.repeat([0, 1, -1], [60, 5, 35]), np.zeros(100, dtype=int)
    forced = np.where(decision < 0, np.arange(100) % 2, decision)
    priced = model(prices=prices)
    (found,) = judge_limits(priced, decision, forced, y, classes=CLASSES)
    assert (found.part, found.verdict) == ("cost_of", "met")
    assert found.seen == pytest.approx(12)
    assert found.sentence == (
        "You asked for the lowest cost. At the prices given in training, a case cost 12 on "
        "average; if all were reviewed it would have cost 20, if all were decided 23. The model is "
        "the cheapest of the three."
    )
    forced = np.where(decision < 0, 0, decision)
    (found,) = judge_limits(priced, decision, forced, y, classes=CLASSES)
    assert found.verdict == "missed, beyond chance"
    assert "Deciding every case" in found.sentence
    (found,) = judge(prices=prices, right=78, wrong=22)
    assert found.verdict == "missed, within chance"
    assert "Reviewing every case" in found.sentence


def test_prices_with_a_budget_are_no_second_target():
    """Deciding everything may cost less, and break the limit that was asked for."""
    first, second = judge(LIMIT, prices=uniform_prices(2, 0.2), right=60, wrong=5, reviewed=35)
    assert (first.part, second.part, second.verdict) == ("max_error", "cost_of", "open")


def test_mean_differences():
    rng = np.random.default_rng(0)
    d = rng.normal(0.2, 1, 100)
    assert mean_excess_probability(d, 100) < mean_excess_probability(d, 20) < 0.5
    assert mean_excess_probability(np.ones(5), 5) == 0
    assert mean_excess_probability(np.zeros(5), 5) == 1
    assert mean_excess_probability(np.ones(1), 1) == 1
