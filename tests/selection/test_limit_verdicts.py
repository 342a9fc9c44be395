"""Whether limits for a class, a decision, a group, or the mean cost were kept."""

import numpy as np
import pytest
from scipy.stats import binom

from rejo.decisions import uniform_prices
from rejo.selection.limit_verdicts import judge_limits
from rejo.selection.rate_limits import Limit

CLASSES = ["bad", "good"]
Y = np.repeat([0, 0, 1, 1], [40, 10, 90, 60])
DECISION = np.repeat([0, 1, 1, -1], [40, 10, 90, 60])
GROUP = np.array(["f", "m"] * 100, dtype=object)


def judge(*asked, **how):
    return judge_limits(asked, DECISION, Y, classes=CLASSES, group=GROUP, column="sex", **how)


def test_by_class_by_decision_and_by_group():
    found = judge(
        Limit("max_error_by_class", "accepted_error_rate", 0.1, "class", name="bad"),
        Limit("max_error_by_class", "error_rate", 0.1, "class", name="good"),
        Limit("max_error_by_decision", "accepted_error_rate", 0.05, "decision", name="good"),
        Limit("review_budget_by_group", "rejection_rate", 0.4, "group", name="f", confidence=0.95),
    )
    assert [verdict.seen for verdict in found] == [0.2, 0.0, 0.1, 0.3]
    assert [verdict.verdict for verdict in found] == [
        "missed, beyond chance", "met", "missed, beyond chance", "met"
    ]  # fmt: skip
    assert found[0].p_value == pytest.approx(binom.sf(9, 50, 0.1))
    assert [verdict.sentence for verdict in found] == [
        "class 'bad': 10 of 50 decided cases are wrong (20.0 %), at most 10 % asked for: exceeded "
        "beyond chance.",
        "class 'good': 0 of 150 cases are wrong (0.0 %), at most 10 % asked for: kept.",
        "decisions for 'good': 10 of 100 decisions are wrong (10.0 %), at most 5 % asked for: "
        "exceeded beyond chance.",
        "sex 'f': 30 of 100 cases went to review (30.0 %), at most 40 % promised with 95 % "
        "confidence: kept.",
    ]
    assert [(verdict.by, verdict.value) for verdict in found][2:] == [
        ("decision", "good"), ("group", "f")
    ]  # fmt: skip


def test_of_many_groups_some_exceed_a_limit_by_chance():
    one = Limit(
        "max_error_by_class", "accepted_error_rate", 0.12, "class", name="bad", confidence=0.9
    )
    (found,) = judge(one._replace(most=0.11))
    assert found.p_value == pytest.approx(binom.sf(9, 50, 0.11))
    assert 0.01 < found.p_value < 0.05
    assert found.verdict == "missed, beyond chance"
    *_, last = judge(*[one._replace(most=0.11)] * 5)
    assert last.verdict == "missed, within chance"


def test_rows_that_belong_together_prove_less():
    asked = Limit("max_error_by_class", "accepted_error_rate", 0.1, "class", name="bad")
    assert judge(asked)[0].verdict == "missed, beyond chance"
    (found,) = judge(asked, size=20)
    assert found.verdict == "missed, within chance"
    assert found.p_value == pytest.approx(binom.sf(0, 5, 0.1))


def test_nobody_of_a_group():
    (found,) = judge(Limit("max_error_by_group", "accepted_error_rate", 0.1, "group", name="x"))
    assert found.verdict == "open"


def test_the_mean_cost():
    prices = uniform_prices(2, 0.2)
    mean = (10 + 60 * 0.2) / 200
    asked = Limit("max_cost", "mean_cost", 0.15, confidence=0.95)
    (found,) = judge(asked, prices=prices)
    assert (found.seen, found.verdict) == (pytest.approx(mean), "met")
    (found,) = judge(asked._replace(most=0.05), prices=prices)
    assert found.verdict == "missed, beyond chance"
    assert judge(asked) == []
