"""The texts of a setting: they add up, and say what the counts say."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejo.report import Setting, _format
from rejo.report._sentences import count_batch


def value(text):
    return float(re.sub(r"[,%\s]", "", text))


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_share_is_rounded_half_up(part, n):
    part = min(part, n)
    tenths = round(value(_format.share(part, n)) * 10)
    assert 2 * n * tenths - n <= 2000 * part < 2 * n * tenths + n


@given(st.integers(0, 10**12), st.integers(0, 6))
def test_fixed_is_the_decimal_number(units, places):
    assert value(_format.fixed(units, places)) == pytest.approx(units / 10**places)


@pytest.mark.parametrize(
    ("number", "text"), [(0.12, "0.12"), (0.5, "0.5"), (0, "0"), (10, "10"), (0.33333, "0.3333")]
)
def test_ratio_has_no_idle_zeros(number, text):
    assert _format.ratio(number) == text


@given(st.integers(1, 3000), st.floats(0, 1), st.floats(0, 1))
def test_counts_add_up_to_a_thousand(n, wrong_share, review_share):
    reviewed = int(n * review_share)
    wrong = int((n - reviewed) * wrong_share)
    counts = count_batch(wrong, reviewed, n)
    assert value(counts.right) + value(counts.wrong) + value(counts.reviewed) == pytest.approx(1000)
    assert value(counts.decided) + value(counts.reviewed) == 1000
    assert min(map(value, counts)) >= 0
    assert value(counts.wrong) == pytest.approx(1000 * wrong / n, abs=1)


@pytest.mark.parametrize("kind", ["binary", "ordinal", "share"])
def test_costs_add_up(reports, kind):
    report = reports[kind]
    for point in range(len(report.tallies)):
        texts = report.numbers(Setting(point, (300.0, 40.0)))
        parts = value(texts["cost-wrong"]) + value(texts["cost-review"])
        assert value(texts["cost-total"]) == parts
        tallied = report.tallies[point]
        errors = sum(tallied.errors[2::3])
        exact = 1000 * (300 * errors + 40 * tallied.reviewed) / report.n
        assert parts == pytest.approx(exact, abs=1.01)
        low, high = map(value, texts["cost-total-range"].split(" to "))
        assert low <= parts <= high or tallied.reviewed == report.n
        assert value(texts["hand-cost-total"]) == 40_000


def test_range_of_the_cost_holds_what_is_drawn(reports):
    report = reports["binary"]
    tallied = report.tallies[report.chosen]
    low, high = map(value, report.numbers(report.setting)["cost-total-range"].split(" to "))
    rng = np.random.default_rng(0)
    rates = np.array([tallied.right, tallied.wrong, tallied.reviewed]) / report.n
    beliefs = rng.dirichlet(rates * report.size + 0.5, 4000)
    batches = np.array([rng.multinomial(1000, belief) for belief in beliefs])
    error, review = report.two_prices
    costs = batches @ [0, error, review]
    assert 0.93 < np.mean((low <= costs) & (costs <= high)) < 0.97


def test_headline(make):
    outcomes, y = make.cases(1000, costs=(0.3,), n_folds=1)
    decision = np.concatenate([np.full(180, -1), y[180:]])
    decision[200:209] = 1 - y[200:209]
    doubt = np.where(decision < 0, np.inf, 0.0)
    point = replace(outcomes[0], doubt=doubt, forced=decision.clip(0), score=None, bands=None)
    text = make.report([point], y, ["a", "b"]).payload()["texts"]["headline"][0]
    assert re.fullmatch(
        r"Of 1,000 cases, 820 are decided automatically, about 9 of them wrong "
        r"\(95\s% interval \d to 1\d\); 180 go to review\.",
        text,
    )


def test_nearest_point_or_cheapest(reports):
    assert reports["binary"].tallies[reports["binary"].best_point((1000, 130))].cost == 0.12
    report = reports["share"]
    best = report.best_point((1000, 100))
    costs = [1000 * tallied.wrong + 100 * tallied.reviewed for tallied in report.tallies]
    assert costs[best] == min(costs)
    assert "the one shown here" in report.numbers(Setting(best, (1000, 100)))["cheapest"]


def test_groups_that_differ_are_named(reports):
    report = reports["ordinal"]
    texts = report.numbers(report.setting)
    verdicts = {
        (column.name, group.value): texts[f"group-{c}-{v}-verdict"]
        for c, column in enumerate(report.columns)
        for v, group in enumerate(column.groups)
    }
    assert verdicts["branch", "new"].startswith("◌")
    # The top class has one neighbour only.
    assert verdicts["region", "north"] == "▲ fewer reviews, fewer errors"
    assert "region: north" in texts["groups-line"]
    assert "branch: new" not in texts["groups-line"]


def test_points_are_named(reports):
    names = reports["binary"].payload()["texts"]["point-name"]
    assert names[3] == "A review costs 0.12 of an error"
    share = reports["share"]
    names = share.payload()["texts"]["point-name"]
    assert [i for i, name in enumerate(names) if "as the model decides" in name] == [share.chosen]


@pytest.mark.parametrize(
    "setting",
    [
        Setting(99, (1, 0.1)),
        Setting(0, (0, 0)),
        Setting(0, (1, -1)),
        Setting(0, (1, 2e9)),
        Setting(0, [[0, 1, 0.1]]),
        Setting(0, [[1, 1, 0.1], [1, 0, 0.1]]),
    ],
)
def test_impossible_settings(reports, setting):
    with pytest.raises(ValueError, match=r"point must be|prices"):
        reports["binary"].numbers(setting)
