"""Alarms: bets by other means, how often they are wrong, and looks that may be repeated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, poisson

from benchmarks.bench_monitor import KINDS, NOTHING, WEEKS, Lender
from rejo.book import timeline, watch
from rejo.book.alarms import (
    RATIOS,
    TOLERANCE,
    WIDER,
    _series,
    count_bets,
    promise_bets,
    value_bets,
)  # fmt: skip


@pytest.fixture(scope="module")
def lender():
    return Lender(1, weekly=100, share=0.1)


def shuffled(cases, seed):
    rows = np.random.default_rng(seed).permutation(len(cases.week))
    names = [name for name, value in vars(cases).items() if np.shape(value) == cases.week.shape]
    return replace(
        cases, **{n: getattr(cases, n)[rows] for n in names if n not in ("known", "reached")}
    )


def test_bets_on_counts_are_products_of_predictions():
    rng = np.random.default_rng(0)
    counts, trained = rng.integers(0, 4, (5, 3)).astype(float), np.array([4.0, 2.5, 7.0])

    def predicted(seen, prior):
        log = 0.0
        for bin in np.repeat(np.arange(3), seen.astype(int)):
            log += np.log(prior[bin] / prior.sum())
            prior = prior + np.eye(3)[bin]
        return log

    found = count_bets(counts, trained, most=10.0)
    for j in range(5):
        prior = trained + counts[:j].sum(axis=0)
        prior = prior * min(1.0, 10.0 / prior.sum())
        for t in range(j, 5):
            seen = counts[j : t + 1].sum(axis=0)
            bets = [np.exp(predicted(seen, prior / by)) for by in WIDER]
            log = np.log(np.mean(bets)) - predicted(seen, prior)
            assert found[j, t] == pytest.approx(log)


def test_bets_on_values_are_ratios_of_likelihoods():
    seen, due, trained = np.diag([3.0, 9.0]), np.diag([4.0, 3.0]), 20.0

    def likelihood(errors, due, shape, rate):
        ratio = gamma(shape, scale=1 / rate)
        return quad(lambda r: poisson.pmf(errors, r * due) * ratio.pdf(r), 0, 8)[0]

    shape, rate = trained + 3, trained + 4
    assert shape < 1 / TOLERANCE**2
    wider = np.mean([likelihood(9, 3, shape / by, rate / by) for by in WIDER])
    expected = np.log(wider / likelihood(9, 3, shape, rate))
    assert value_bets(seen, due, trained)[1, 1] == pytest.approx(expected, rel=1e-5)
    assert value_bets(np.diag([3.0, 1.0]), due, trained)[1, 1] <= 0  # fewer errors are no alarm


def test_bets_on_a_promise_mix_ratios_above_one():
    def mixed(errors, due):
        parts = []
        for prior in (gamma(shape, scale=1 / shape) for shape in RATIOS):
            density = prior.pdf
            bet = quad(lambda r, p=density: r**errors * np.exp((1 - r) * due) * p(r), 1, 60)[0]
            parts.append(bet / prior.sf(1))
        return np.log(np.mean(parts))

    for errors, due in ((0.0, 3.0), (4.0, 2.5), (7.5, 3.0)):
        found = promise_bets(np.array([[errors]]), np.array([[due]]))[0, 0]
        assert found == pytest.approx(mixed(errors, due), rel=1e-6)
    fair = sum(poisson.pmf(k, 2.5) * np.exp(mixed(float(k), 2.5)) for k in range(40))
    assert fair == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("bins", [2, 8])
def test_false_alarms_are_rare_and_changes_are_found(bins):
    rng, false, since = np.random.default_rng(bins), 0, []
    p = rng.dirichlet(np.full(bins, 5.0))
    other = 0.6 * p + 0.4 * np.eye(bins)[0]
    for _ in range(100):
        trained = rng.multinomial(1000, p) + 0.5
        before, after = rng.multinomial(100, p, 30), rng.multinomial(100, other, 12)
        for counts, found in ((before, False), (np.concatenate([before[:18], after]), True)):
            log = count_bets(counts.astype(float), trained, 2000.0)
            series = _series("column", "x", np.zeros(30), np.ones(30), 0, log, 0.05)
            if found:
                assert series.raised is not None
                since.append(series.begun)
            else:
                false += series.raised is not None
    assert false <= 5
    assert np.median(since) == 18


def test_false_alarms_about_errors_are_rare():
    rng, false = np.random.default_rng(0), 0
    for _ in range(150):
        errors = max(rng.poisson(30), 1)  # of 30 that there are, at this rate, in training
        seen, due = rng.poisson(6, 40), np.full(40, 6 * errors / 30)
        log = value_bets(np.diag(seen).astype(float), np.diag(due), float(errors))
        false += _series("error", "e", due, due, 0, log, 0.05).raised is not None
    assert false <= 7


def test_looks_can_be_repeated_and_the_order_does_not_matter(lender):
    cases, _ = lender.year(KINDS["odds of a default 4.5 times higher"])
    now = {one.name: one for one in watch(cases, lender.about)}
    for name, one in {one.name: one for one in watch(shuffled(cases, 0), lender.about)}.items():
        np.testing.assert_allclose(one.log_capital, now[name].log_capital, atol=1e-8)
    then, T = cases.week < 35, 35
    names = [n for n, v in vars(cases).items() if np.shape(v) == cases.week.shape]
    earlier = {n: getattr(cases, n)[then] for n in names if n not in ("known", "reached")}
    earlier["answered"] = np.where(earlier["answered"] < T, earlier["answered"], np.inf)
    counts = {name: cells[:T] for name, cells in cases.counts.items()}
    past = watch(replace(cases, n_weeks=T, counts=counts, **earlier), lender.about)
    for one in past:
        np.testing.assert_allclose(one.log_capital, now[one.name].log_capital[:T], atol=1e-8)


def test_what_changes_raises_its_own_alarm(lender):
    for kind, expected in (
        ("odds of a default 4.5 times higher", {"error", "cost"}),
        ("one column moves by 0.5 standard deviations", {"x0"}),
    ):
        cases, _ = Lender(2, weekly=400).year(KINDS[kind])
        found = {one.name: one for one in watch(cases, Lender(2, weekly=400).about)}
        assert {name for name, one in found.items() if one.raised is not None} == expected
        assert all(abs(found[name].begun - 30) <= 2 for name in expected)


def test_all_alarms_share_one_chance(lender):
    cases, _ = lender.year(NOTHING)
    found = watch(cases, lender.about, 0.05)
    assert sum(np.exp(-one.needed) for one in found) == pytest.approx(0.05)


def test_promises_are_tested_at_their_bound(lender):
    cases, wrong = lender.year(NOTHING)
    rate = wrong[cases.decided].mean()
    reviews = 1 - cases.decided.mean()

    def promise(name, bound, by=None, value=None):
        return {"rate": name, "bound": bound, "by": by, "value": value}

    kept = [promise("accepted_error_rate", 1.1 * rate), promise("rejection_rate", 1.1 * reviews),
            promise("accepted_error_rate", 0.9, "decision", "repaid")]  # fmt: skip
    broken = [promise("accepted_error_rate", 0.4 * rate), promise("rejection_rate", 0.5 * reviews),
              promise("error_rate", 0.3 * rate)]  # fmt: skip
    for promises, raised in ((kept, False), (broken, True)):
        about = {"classes": ["repaid", "default"], "promises": promises}
        found = watch(replace(cases, counts={}), about | {"rates": lender.about["rates"]})
        found = [one for one in found if one.kind == "promise"]
        assert len(found) == 3
        assert {one.raised is not None for one in found} == {raised}
    assert cases.n_weeks == WEEKS


def test_what_the_capacity_or_a_held_file_changed_is_not_the_model():
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({
        "batch": [1] * 4 + [2] * 2, "time": "2026-01-05T00:00:00Z", "answered": None,
        "decision": ["a", "b", None, None, None, None], "forced": ["a", "b", "a", "b", "a", "b"],
        "reason": [None, "over capacity", "ambiguous", "policy", "column", "policy"],
        "drawn": [False, False, False, True, False, True], "chance": 0.1, "cost": 1.0,
        "weight": [4.0, 4.0, np.nan, 4.0, np.nan, 4.0], "outcome": None, "truth": None,
        "group": None,
    })  # fmt: skip
    batches = pd.DataFrame({"time": ["2026-01-05T00:00:00Z"], "columns": [[]]})
    found = timeline(rows, batches, {"classes": ["a", "b"]})
    assert found.decided.tolist() == [True, True, False, True, False, False]
    assert found.own.tolist() == [True, False, False, False, False, False]
    assert found.rejected.tolist() == [False, True, True, False, True, True]
    assert found.drawn.tolist() == [False, False, False, True, False, False]
