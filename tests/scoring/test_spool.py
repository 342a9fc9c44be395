"""Decisions that wait on disk, and their order."""

import io

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from rejo.estimators import Judgement  # noqa: E402
from rejo.scoring.case_counts import CaseCounts  # noqa: E402
from rejo.scoring.deciding import ScoredRows, decided_of  # noqa: E402
from rejo.scoring.ranking import Candidates, capacity_of, ranks_of  # noqa: E402
from rejo.scoring.reasons import AMBIGUOUS, NOVEL, POLICY, UNREADABLE  # noqa: E402
from rejo.scoring.spool import restore, store  # noqa: E402
from rejo.tables.doubts import Doubt  # noqa: E402


def some_rows(n, seed, worth=False):
    random = np.random.default_rng(seed)
    decision = random.integers(-1, 3, n)
    index = random.integers(0, 3, n)
    numbers = random.random(n)
    judgement = Judgement(
        decision, index, index, index + 1, numbers, numbers, numbers if worth else None, numbers
    )
    reason = np.where(random.random(n) < 0.2, UNREADABLE, AMBIGUOUS).astype(np.int8)
    names = pd.Series([f"{seed}-{i}" for i in range(n)], dtype=object)
    details = {3: "age: 'old' is not a number", 5: "ä"}
    decided = decided_of(names, judgement, reason, random.random(n) < 0.1, details, {1: "debt"})
    return ScoredRows(decided, {3: [Doubt("unseen", "job", "cook", "category")]}, [None, "west"])


def test_what_is_stored_comes_back():
    given = [some_rows(50, 0), some_rows(1, 1, worth=True), some_rows(7, 2)]
    file = io.BytesIO()
    for rows in given:
        store(rows, file)
    file.seek(0)
    for rows in given:
        found = restore(file)
        assert found.decided.names.tolist() == rows.decided.names.tolist()
        assert found.decided.cases.keys() == rows.decided.cases.keys()
        for name, values in rows.decided.cases.items():
            np.testing.assert_array_equal(found.decided.cases[name], values)
        np.testing.assert_array_equal(found.decided.drawn, rows.decided.drawn)
        assert (found.decided.details, found.decided.why) == (rows.decided.details, {1: "debt"})
        assert (found.doubts, found.unknown) == (rows.doubts, rows.unknown)
    with pytest.raises(EOFError):
        restore(file)


@pytest.mark.parametrize("capacity", [None, 0, 40, 10_000])
def test_ranks_of_parts_are_those_of_the_whole(capacity):
    whole = some_rows(300, 4).decided
    candidates = whole.candidates()
    parts = [Candidates(*(column[i : i + 50] for column in candidates)) for i in range(0, 300, 50)]
    ranks = ranks_of(candidates, capacity)
    np.testing.assert_array_equal(ranks, ranks_of(Candidates.joined(parts), capacity))
    reviewed = np.flatnonzero(ranks)
    assert sorted(abs(ranks[reviewed])) == list(range(1, len(reviewed) + 1))
    part = whole.ranked(ranks, first=0)
    assert ((part.cases["decision"] < 0) == (part.rank > 0)).all()


def test_the_order_of_reviews_by_brute_force():
    random = np.random.default_rng(0)
    reason = random.choice([AMBIGUOUS, NOVEL, POLICY, UNREADABLE], 200).astype(np.int8)
    sureness = np.where(reason == AMBIGUOUS, random.random(200).round(1), 0.0)
    found = ranks_of(Candidates(sureness, reason, np.zeros(200, bool)))
    urgent = {UNREADABLE: 0, NOVEL: 1, POLICY: 1, AMBIGUOUS: 2}
    order = sorted(range(200), key=lambda i: (urgent[reason[i]], sureness[i], i))
    assert found[order].tolist() == list(range(1, 201))


def test_counts_of_parts_are_those_of_the_whole():
    parts = [some_rows(60, seed, worth=seed == 2) for seed in range(3)]
    whole, joined = CaseCounts(), CaseCounts()
    for rows in parts:
        whole.add(rows)
        whole.add_ranked(rows.decided.ranked(ranks_of(rows.decided.candidates()), 0))
        one = CaseCounts()
        one.add(rows)
        ranked = CaseCounts()
        ranked.add_ranked(rows.decided.ranked(ranks_of(rows.decided.candidates()), 0))
        joined.merge(one)
        joined.merge(ranked)
    assert joined.as_json() == whole.as_json()
    assert joined.as_json()["n_cases"] == 180
    assert (joined.has_worth, joined.n_fixed) == (True, whole.n_fixed)
    assert joined.unknown == whole.unknown == {None: 3, "west": 3}
    assert joined.doubts.n_rows == 3


def test_a_capacity_may_be_a_share():
    assert capacity_of(0.1, 1000) == 100
    assert capacity_of(0.3, 10) == 3
    assert capacity_of(7, 1000) == 7
    assert capacity_of(None, 5) is None
