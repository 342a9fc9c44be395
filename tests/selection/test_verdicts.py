"""Whether the target of training was met on other cases."""

import numpy as np
import pytest
from scipy.stats import binom

from rejo.decisions import uniform_prices
from rejo.selection.guarantee import Guarantee
from rejo.selection.target import Target
from rejo.selection.verdicts import excess_probability, judge_targets, mean_excess_probability

BUDGET = Target("review_budget", "rejection_rate", 0.2)
LIMIT = Target("max_error", "accepted_error_rate", 0.1)
PROOF = Guarantee(
    rate="rejection_rate", bound=0.2, target=0.2, confidence=0.9, n_cases=100, n_candidates=10
)


def cases(right=0, wrong=0, reviewed=0):
    """Decisions, decisions without a reject option (all right), true classes."""
    decision = np.repeat([0, 1, -1], [right, wrong, reviewed])
    return decision, np.where(decision < 0, 0, decision), np.zeros(len(decision), dtype=int)


def judge(target, *, guarantee=None, prices=None, size=None, **counts):
    guarantees = [] if guarantee is None else [guarantee]
    return judge_targets([target], guarantees, prices, *cases(**counts), size=size)


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_the_probability_is_that_of_the_binomial_distribution(n, rate):
    for bad in range(n + 1):
        assert excess_probability(bad, n, rate) == pytest.approx(binom.sf(bad - 1, n, rate))


def test_a_budget():
    (found,) = judge(BUDGET, right=220, reviewed=80)
    assert found.verdict == "missed, beyond chance"
    assert found.p_value == pytest.approx(binom.sf(79, 300, 0.2))
    assert found.sentence == (
        "You asked for at most 20 % of the cases to review, and 80 of 300 (26.7 %) went there. "
        "Over budget, beyond chance: with a true share of 20 %, only 0.32 % of batches this size "
        "would have as many."
    )
    (found,) = judge(BUDGET, right=236, reviewed=64)
    assert found.verdict == "missed, within chance"
    (found,) = judge(BUDGET, right=240, reviewed=60)  # just used up
    assert found.verdict == "met"


def test_rows_that_belong_together_prove_less():
    assert judge(BUDGET, right=220, reviewed=80)[0].verdict == "missed, beyond chance"
    found = judge(BUDGET, right=220, reviewed=80, size=30)[0]
    assert found.verdict == "missed, within chance"
    assert found.p_value == pytest.approx(binom.sf(7, 30, 0.2))


def test_a_limit_of_the_errors():
    (found,) = judge(LIMIT, right=150, wrong=50, reviewed=800)
    assert (found.verdict, found.seen, found.limit) == ("missed, beyond chance", 0.25, 0.1)
    assert judge(LIMIT, right=195, wrong=5)[0].verdict == "met"
    overall = Target("max_error", "error_rate", 0.1)
    (found,) = judge(overall, right=150, wrong=50, reviewed=800)
    assert (found.verdict, found.seen) == ("met", 0.05)


def test_few_cases_prove_little():
    (found,) = judge(LIMIT, right=5)
    assert found.verdict == "met"
    assert "45.1 %" in found.sentence  # what the true rate may be
    assert judge(LIMIT, right=1, wrong=1)[0].verdict == "missed, within chance"
    assert judge(LIMIT, reviewed=50)[0].verdict == "open"


def test_a_guarantee_is_contradicted_only_beyond_chance():
    for reviewed, verdict in ((60, "met"), (64, "met"), (80, "missed, beyond chance")):
        _, found = judge(BUDGET, guarantee=PROOF, right=300 - reviewed, reviewed=reviewed)
        assert (found.part, found.verdict) == ("confidence", verdict)


def test_prices():
    prices, asked = 100 * uniform_prices(2, 0.2), Target("cost_of", None, 0.2)
    decision, y = np.repeat([0, 1, -1], [60, 5, 35]), np.zeros(100, dtype=int)
    forced = np.where(decision < 0, np.arange(100) % 2, decision)
    (found,) = judge_targets([asked], [], prices, decision, forced, y)
    assert (found.part, found.verdict) == ("cost_of", "met")
    assert found.seen == pytest.approx(12)
    assert found.sentence == (
        "You asked for the lowest cost. At the prices given in training, a case cost 12 on "
        "average; if all were reviewed it would have cost 20, if all were decided 23. The model is "
        "the cheapest of the three."
    )
    (found,) = judge_targets([asked], [], prices, decision, np.where(decision < 0, 0, decision), y)
    assert found.verdict == "missed, beyond chance"
    assert "Deciding every case" in found.sentence
    (found,) = judge(asked, prices=prices, right=78, wrong=22)
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
