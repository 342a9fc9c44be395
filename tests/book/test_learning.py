"""Answered cases to learn from: weights undo the selection, and tests are of the newest."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from rejo.book import MOST, answered_cases, compare_costs, copies, kept_apart  # noqa: E402
from rejo.scoring import hashes_of  # noqa: E402
from rejo.tables import uniform  # noqa: E402

CLASSES = ["no", "yes"]


def made_up(seed=0, n=6000, share=0.1):
    """Cases of three batches with all classes, and which of them are answered."""
    random = np.random.default_rng(seed)
    chance = random.beta(0.5, 3.0, n)
    reviewed = chance > 0.25
    ids = [f"case {i}" for i in range(n)]
    drawn = ~reviewed & (uniform(hashes_of(ids), 0) < share * (0.3 + 7 * chance))
    wrong = random.random(n) < chance
    forced = random.choice(CLASSES, n)
    truth = np.where(wrong, np.where(forced == "no", "yes", "no"), forced)
    frame = pd.DataFrame(
        {
            "id": ids,
            "batch": 1 + np.arange(n) // (n // 3),
            "decision": np.where(reviewed | drawn, None, forced),
            "forced": forced,
            "chance": chance,
            "drawn": drawn,
        }
    )
    return frame, truth, reviewed | drawn, wrong


def test_weighted_answers_are_as_all_cases():
    frame, truth, known, wrong = made_up()
    found, n_unlike = answered_cases(frame.assign(truth=np.where(known, truth, None)), CLASSES)
    assert n_unlike == 0
    assert found["id"].tolist() == frame["id"][known].tolist()
    assert [CLASSES[i] for i in found["y"]] == truth[known].tolist()
    weight = found["weight"].to_numpy()
    assert weight.sum() == pytest.approx(len(frame))
    assert (weight[(found["decision"].isna() & ~found["drawn"])] == 1).all()
    rate = np.average(wrong[known], weights=weight)
    assert rate == pytest.approx(wrong.mean(), abs=0.02)
    assert wrong[known].mean() > wrong.mean() + 0.1  # what the answers alone would say
    rows = copies(weight, 0, alike=False)
    assert len(rows) == pytest.approx(np.minimum(weight, MOST).sum(), rel=0.02)
    thinned = copies(weight, 0, alike=True)
    assert len(set(thinned)) == len(thinned)
    assert wrong[known][thinned].mean() == pytest.approx(wrong.mean(), abs=0.04)


def test_cases_like_none_that_was_answered_are_counted():
    frame, truth, known, _ = made_up()
    reviews = known & frame["decision"].isna() & ~frame["drawn"]
    found, n_unlike = answered_cases(frame.assign(truth=np.where(reviews, truth, None)), CLASSES)
    assert n_unlike == len(frame) - reviews.sum()
    assert (found["weight"] == 1).all()
    none, n_unlike = answered_cases(frame.assign(truth=None), CLASSES)
    assert (len(none), n_unlike) == (0, len(frame))


def test_half_of_the_newest_test_whether_an_audit_drew_them_or_not():
    frame, truth, known, _ = made_up()
    found, _ = answered_cases(frame.assign(truth=np.where(known, truth, None)), CLASSES)
    newest, drawn = found["newest"].to_numpy(), found["drawn"].to_numpy()
    assert set(found["batch"][newest]) == {3}
    test = kept_apart(found["id"], newest, 0)
    assert not test[~newest].any()
    for part in (newest & drawn, newest & ~drawn):
        assert test[part].mean() == pytest.approx(0.5, abs=0.12)
    order = np.random.RandomState(0).permutation(len(found))
    assert (kept_apart(found["id"].iloc[order], newest[order], 0) == test[order]).all()


def test_a_comparison_by_brute_force():
    random = np.random.default_rng(1)
    n, prices = 400, np.array([[0.0, 10.0, 2.0], [30.0, 0.0, 2.0]])
    y, old, new = random.integers(0, 2, n), *random.integers(-1, 2, (2, n))
    weight = random.integers(1, 4, n).astype(float)
    found = compare_costs(y, old, new, prices, weight)
    cost = [np.repeat([prices[a, b] for a, b in zip(y, d, strict=True)], weight.astype(int)).mean()
            for d in (old, new)]  # fmt: skip
    assert (found.old, found.new) == pytest.approx(tuple(cost))
    assert found.saved.estimate == pytest.approx(cost[0] - cost[1])
    covered = 0
    for _ in range(300):  # two models that cost the same
        y, old, new = random.integers(0, 2, n), *random.integers(-1, 2, (2, n))
        saved = compare_costs(y, old, new, prices, weight).saved
        covered += saved.low <= 0 <= saved.high
    assert covered / 300 > 0.9
    assert not compare_costs(y[:9], -np.ones(9, int), y[:9], prices, weight[:9]).better  # too few
    assert compare_costs(y, -np.ones(n, int), y, prices, weight).better
    assert compare_costs(y[:0], y[:0], y[:0], prices, weight[:0]).n == 0


def test_an_error_that_no_case_has_shown_may_be_there():
    random, n, better = np.random.default_rng(2), 40, 0
    prices, weight = np.array([[0.0, 25.0, 1.0], [25.0, 0.0, 1.0]]), np.ones(n)
    for _ in range(300):  # the new model decides what the old one reviews, and costs more
        y = random.integers(0, 2, n)
        new = np.where(random.random(n) < 0.045, 1 - y, y)
        better += compare_costs(y, -np.ones(n, int), new, prices, weight).better
    assert better <= 0.025 * 300
    of_case = np.broadcast_to(prices, (n, 2, 3))
    assert compare_costs(y, -np.ones(n, int), new, of_case, weight) == compare_costs(
        y, -np.ones(n, int), new, prices, weight
    )
