"""The texts of a setting: they add up, and say what the counts say."""

import re
from dataclasses import replace

import numpy as np
import pytest

KINDS = ["binary", "ordinal", "share"]


def value(text):
    return float(re.sub(r"[,%\s]", "", text))


@pytest.fixture(scope="session")
def script(reports, compute):
    """Run an expression among the functions of the page."""

    def run(expression, given):
        return compute.page(reports["binary"]).evaluate(expression, given)

    return run


def test_shares_are_rounded_half_up(script):
    rng = np.random.default_rng(0)
    n = rng.integers(1, 10**6, 500)
    part = rng.integers(0, n + 1)
    cases = [[0, 1], [1, 1], [1, 2000], [3, 2000], *np.stack([part, n], 1).tolist()]
    for (part, n), text in zip(cases, script("c => c.map(a => share(...a))", cases), strict=True):
        tenths = round(value(text) * 10)
        assert 2 * n * tenths - n <= 2000 * part < 2 * n * tenths + n


@pytest.mark.parametrize(
    ("write", "given", "text"),
    [
        ("fixed(...v)", [123456, 2], "1,234.56"),
        ("fixed(...v)", [5, 6], "0.000005"),
        ("ratio(v)", 0.12, "0.12"),
        ("ratio(v)", 10, "10"),
        ("ratio(v)", 0.33333, "0.3333"),
        ("asPrice(v)", 1000.0, "1,000"),
        ("asPrice(v)", 1234567.5, "1,234,567.5"),
        ("asPrice(v)", 1e9, "1,000,000,000"),
        ("asPrice(v)", 1e-6, "0.000001"),
        ("asPrice(v)", 0.1 + 0.2, "0.3"),
    ],
)
def test_numbers_are_written_as_people_do(script, write, given, text):
    assert script(f"v => {write}", given) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1000", 1000),
        ("1,000", 1000),
        (" 12,345,678.9 ", 12345678.9),
        ("1 000", 1000),
        (".5", 0.5),
        ("1e3", 1000),
        ("-5", -5),
        ("1,5", None),
        ("1,0000", None),
        ("", None),
        (".", None),
        ("12 euros", None),
    ],
)
def test_prices_are_read_as_people_write_them(script, text, number):
    found = script("v => { const x = readPrice(v); return Number.isNaN(x) ? null : x; }", text)
    assert found == number


def test_counts_add_up_to_a_thousand(script):
    rng = np.random.default_rng(0)
    n = rng.integers(1, 3000, 500)
    reviewed = (n * rng.random(500)).astype(int)
    wrong = ((n - reviewed) * rng.random(500) ** 3).astype(int)
    cases = np.stack([wrong, reviewed, n], 1).tolist()
    found = script("c => c.map(([w, r, n]) => countBatch({ batch: 1000, n }, w, r))", cases)
    for (wrong, _, n), counts in zip(cases, found, strict=True):
        counts = {key: value(text) for key, text in counts.items()}
        assert counts["right"] + counts["wrong"] + counts["reviewed"] == pytest.approx(1000)
        assert counts["decided"] + counts["reviewed"] == 1000
        assert min(counts.values()) >= 0
        assert counts["wrong"] == pytest.approx(1000 * wrong / n, abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_costs_add_up(reports, texts, kind):
    report = reports[kind]
    n = report.data["n"]
    for point in range(len(report.tallies)):
        shown = texts(report, point, (300.0, 40.0))
        parts = value(shown["cost-wrong"]) + value(shown["cost-review"])
        assert value(shown["cost-total"]) == parts
        errors, reviewed = sum(report.data["errors"][point][2::3]), report.data["reviewed"][point]
        assert parts == pytest.approx(1000 * (300 * errors + 40 * reviewed) / n, abs=1.01)
        low, high = map(value, shown["cost-total-range"].split(" to "))
        assert low <= parts <= high or reviewed == n
        assert value(shown["hand-cost-total"]) == 40_000


def test_range_of_the_cost_holds_what_is_drawn(reports, texts):
    report = reports["binary"]
    tally = report.tallies[report.chosen]
    low, high = map(value, texts(report)["cost-total-range"].split(" to "))
    rng = np.random.default_rng(0)
    rates = np.array([tally.right, tally.wrong, tally.rejected], dtype=float) / report.data["n"]
    beliefs = rng.dirichlet(rates * report.data["size"] + 0.5, 4000)
    costs = np.array([rng.multinomial(1000, belief) for belief in beliefs]) @ [0, 1000, 120]
    assert 0.93 < np.mean((low <= costs) & (costs <= high)) < 0.97


def test_the_first_sentence_has_the_counts_and_the_prices_in_use(make, texts):
    outcomes, y = make.cases(1000, costs=(0.3,), n_folds=1)
    decision = np.concatenate([np.full(180, -1), y[180:]])
    decision[200:209] = 1 - y[200:209]
    doubt = np.where(decision < 0, np.inf, 0.0)
    point = replace(outcomes[0], doubt=doubt, forced=decision.clip(0), score=None, bands=None)
    report = make.report([point], y, ["a", "b"], prices=(1000, 120))

    def said(prices=None):
        text = texts(report, 0, prices)["headline"]
        return [value(number) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]

    counts = [1000, 820, 9, 95, *report.data["ranges"][0][1], 180]
    assert said() == [*counts, 1000, 120, 1000 * 9 + 120 * 180]
    assert said((700, 70)) == [*counts, 700, 70, 700 * 9 + 70 * 180]
    by_class = [[0, 5000, 40], [300, 0, 45]]
    assert said(by_class)[len(counts) : -1] == [300, 5000, 40, 45]


def test_nearest_point_or_cheapest(reports, compute, texts):
    nearest = compute(reports["binary"], None, (1000, 130))["best"]
    assert reports["binary"].data["costs"][nearest] == 0.12
    report = reports["share"]
    best = compute(report, None, (1000, 100))["best"]
    costs = [1000 * int(tally.wrong) + 100 * int(tally.rejected) for tally in report.tallies]
    assert costs[best] == min(costs)
    assert "the one shown here" in texts(report, best, (1000, 100))["cheapest"]


def test_groups_that_differ_are_named(reports, texts):
    report = reports["ordinal"]
    shown = texts(report)
    verdicts = {
        (column["name"], group["value"]): shown[f"group-{c}-{v}-verdict"]
        for c, column in enumerate(report.data["groups"])
        for v, group in enumerate(column["groups"])
    }
    assert verdicts["branch", "new"].startswith("◌")
    # The top class has one neighbour only.
    assert verdicts["region", "north"] == "▲ fewer reviews, fewer errors"
    assert "region: north" in shown["groups-line"]
    assert "branch: new" not in shown["groups-line"]


def test_points_are_named(reports, texts):
    assert texts(reports["binary"], 3)["point-name"] == "A review costs 0.12 of an error"
    share = reports["share"]
    names = [texts(share, i)["point-name"] for i in range(len(share.tallies))]
    assert [i for i, name in enumerate(names) if "as the model decides" in name] == [share.chosen]
