"""Cases from their judgement to their ranks, on disk in between; names that repeat."""

import io

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from rejo.estimators import Judgement  # noqa: E402
from rejo.scoring import (  # noqa: E402
    CaseCounts,
    Cases,
    capacity_of,
    ranked,
    ranks_of,
    restored,
    spool,
)
from rejo.scoring.cases import (  # noqa: E402
    AMBIGUOUS,
    CANDIDATE,
    NOVEL,
    POLICY,
    UNREADABLE,
    WORDS,
    names_of,
)
from rejo.scoring.counts import Ids, hashes_of  # noqa: E402
from rejo.tables import Doubt  # noqa: E402

ODD = ["0001", "", "ä", "a\nb", "x" * 63, "x" * 64, "x" * 65, "x" * 1000, "日本", "'=1+2", "0"]


def some_cases(n, seed, worth=False):
    random = np.random.default_rng(seed)
    index, numbers = random.integers(0, 3, n), random.random(n)
    judgement = Judgement(
        random.integers(-1, 3, n), index, index, index + 1, numbers, numbers,
        numbers if worth else None, numbers, random.choice([AMBIGUOUS, POLICY], n, p=[0.8, 0.2]),
    )  # fmt: skip
    doubts = {3: [Doubt("unseen", "job", "cook", "category")]} if n > 3 else {}
    cases = Cases.of(judgement, doubts, unknown=[None, "west"])
    cases.rows["drawn"] = (random.random(n) < 0.1) & (cases.rows["reason"] <= AMBIGUOUS)
    cases.names = names_of(pd.Series([f"{seed}-{i}" for i in range(n)], dtype=object))
    cases.details, cases.why = {3: "age: 'old' is not a number", 5: "ä"}, {1: "debt"}
    return cases


def test_what_is_stored_comes_back():
    given = [some_cases(50, 0), some_cases(1, 1, worth=True), some_cases(7, 2)]
    given[2].names = None
    file = io.BytesIO()
    for cases in given:
        cases.store(file)
    file.seek(0)
    found = list(restored(file))
    assert len(found) == 3
    for old, new in zip(given, found, strict=True):
        assert (old.names is None) == (new.names is None)
        assert old.names is None or new.names.equals(old.names)
        assert new.rows.tobytes() == old.rows.tobytes()
        assert (new.details, new.why) == (old.details, old.why)
        assert (new.doubts, new.unknown) == (old.doubts, old.unknown)


def test_the_reason_for_each_case():
    cases = some_cases(300, 3)
    decision, reason = cases.rows["decision"], cases.rows["reason"]
    assert (decision[3], reason[3]) == (-1, NOVEL)
    assert ((reason >= 0) == (decision < 0)).all()
    assert set(reason.tolist()) == {-1, AMBIGUOUS, POLICY, NOVEL}
    bad = Cases.of(
        Judgement(*np.zeros((6, 2))), {1: [Doubt("unseen", "a", "b"), Doubt("missing", "c")]}
    )
    assert bad.rows["reason"].tolist() == [-1, UNREADABLE]
    assert np.isnan(bad.rows["worth"]).all()


@pytest.mark.parametrize("capacity", [None, 0, 40, 10_000])
def test_ranks_of_parts_are_those_of_the_whole(capacity):
    whole = some_cases(300, 4)
    candidates = whole.candidates()
    ranks = ranks_of([candidates], capacity)
    parts = [candidates[i : i + 50] for i in range(0, 300, 50)]
    np.testing.assert_array_equal(ranks, ranks_of(parts, capacity))
    reviewed = np.flatnonzero(ranks)
    assert sorted(abs(ranks[reviewed])) == list(range(1, len(reviewed) + 1))
    whole.rank(ranks)
    assert ((whole.rows["decision"] < 0) == (whole.rows["rank"] > 0)).all()


def test_the_order_of_reviews_by_brute_force():
    random = np.random.default_rng(0)
    found = np.zeros(200, CANDIDATE)
    reason = found["reason"] = random.choice([AMBIGUOUS, NOVEL, POLICY, UNREADABLE], 200)
    found["sureness"] = np.where(reason == AMBIGUOUS, random.random(200).round(1), 0.0)
    urgent = {UNREADABLE: 0, NOVEL: 1, POLICY: 1, AMBIGUOUS: 2}
    order = sorted(range(200), key=lambda i: (urgent[reason[i]], found["sureness"][i], i))
    assert ranks_of([found])[order].tolist() == list(range(1, 201))


def test_counts_of_parts_are_those_of_the_whole():
    whole, joined = CaseCounts(), CaseCounts()
    for seed in range(3):
        cases = some_cases(60, seed)
        n_rejected = int((cases.rows["decision"] < 0).sum())
        n_fixed = int((cases.rows["reason"] > AMBIGUOUS).sum())
        cases.rank(ranks_of([cases.candidates()], capacity=20))
        one = CaseCounts()
        for counts in (whole, one):
            counts.add(cases)
        assert (one.n_rejected, one.n_must - one.n_audited) == (n_rejected, n_fixed)
        joined.merge(one)
    assert joined.as_json() == whole.as_json()
    assert (joined.n_cases, joined.n_must, joined.doubts.n_rows) == (180, whole.n_must, 3)
    assert joined.unknown == whole.unknown == {None: 3, "west": 3}


def test_a_capacity_may_be_a_share():
    assert capacity_of(0.1, 1000) == 100
    assert capacity_of(0.3, 10) == 3
    assert capacity_of(7, 1000) == 7
    assert capacity_of(None, 5) is None


# ---- through a spool ----------------------------------------------------------------------


def spooled(decision, sureness, reason, drawn=None, capacity=None, size=None):
    """Records that come out of a spool; ``size`` cases are added at a time."""
    n = len(decision)
    sureness, zeros = np.array(sureness, dtype=float), np.zeros(n, dtype=int)
    judgement = Judgement(np.array(decision), zeros, zeros, zeros + 1, sureness, sureness)
    cases = Cases.of(judgement._replace(kind=np.array(reason)), {})
    if drawn is not None:
        cases.rows["drawn"] = drawn & (cases.rows["reason"] <= AMBIGUOUS)
    parts = [cases.rows[first : first + (size or n)] for first in range(0, n, size or n)]
    file = io.BytesIO()
    candidates, n_cases = spool(map(Cases, parts), file)
    assert n_cases == n
    file.seek(0)
    found = ranked(file, ranks_of(candidates, capacity))
    return np.concatenate([part.rows for part in found])


REASON = [AMBIGUOUS, AMBIGUOUS, NOVEL, AMBIGUOUS, UNREADABLE, POLICY, AMBIGUOUS]
DECISION = [-1, 0, -1, -1, -1, -1, -1]
SURENESS = [0.3, 0.9, 0.5, 0.1, 0.7, 0.6, 0.2]


@pytest.mark.parametrize("size", [1, 3, 7])
def test_who_must_be_reviewed_comes_first(size):
    found = spooled(DECISION, SURENESS, REASON, size=size)
    assert found["rank"].tolist() == [6, 0, 2, 4, 1, 3, 5]
    few = spooled(DECISION, SURENESS, REASON, capacity=4, size=size)
    assert few["rank"].tolist() == [0, 0, 2, 4, 1, 3, 0]
    assert [WORDS[i] if i >= 0 else "" for i in few["reason"]] == [
        "over capacity", "", "novel", "ambiguous", "unreadable", "policy", "over capacity"
    ]  # fmt: skip
    none = spooled(DECISION, SURENESS, REASON, capacity=0, size=size)
    assert (none["rank"] > 0).sum() == 3


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(i, marks=pytest.mark.check) for i in range(8, 20))]
)
def test_an_audit_within_the_capacity_by_brute_force(seed):
    """The most ambiguous cases that fit, if all that were drawn among the decided are reviewed."""
    random = np.random.default_rng(seed)
    n = 60
    decision = np.where(random.random(n) < 0.5, -1, 0)
    reason = np.where(decision < 0, random.choice([0, 0, 0, 1, 3], n), 0)
    sureness, drawn = random.random(n).round(1), random.random(n) < 0.2
    ambiguous = np.flatnonzero((decision < 0) & (reason == 0))
    ambiguous = ambiguous[np.argsort(sureness[ambiguous], kind="stable")]
    fixed = (decision < 0) & (reason != 0)
    best = None
    capacity = int(random.integers(0, 50))
    for k in range(len(ambiguous) + 1):
        first = np.isin(np.arange(n), ambiguous[:k])
        reviewed = fixed | first | drawn
        if reviewed.sum() <= capacity or k == 0:
            best = reviewed, ~(fixed | first) & drawn
    found = spooled(decision, sureness, reason, drawn, capacity, size=17)
    assert ((found["rank"] > 0) == best[0]).all()
    assert (found["drawn"] == best[1]).all()
    assert (found["reason"][best[1]] == POLICY).all()
    assert ((found["decision"] < 0) == best[0]).all()
    assert sorted(found["rank"][best[0]]) == list(range(1, best[0].sum() + 1))


# ---- names --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([*ODD, None, np.nan], [*ODD, "", ""]),
        ([7, 8], ["7", "8"]),
        (["a", 5, None], ["a", "5", ""]),
        (["a\ud800", None], ["a\\ud800", ""]),
    ],
)
def test_names_are_strings_that_stay_as_they_are(given, names):
    found = names_of(pd.Series(given, dtype=object))
    assert found.to_pylist() == names
    file = io.BytesIO()
    Cases(np.zeros(0, some_cases(1, 0).rows.dtype), names=found).store(file)
    file.seek(0)
    assert next(restored(file)).names.to_pylist() == names


def test_a_hash_depends_on_the_string_alone():
    words = list(dict.fromkeys([*ODD, *(f"{i:08d}" for i in range(500))]))
    hashes = hashes_of(words)
    assert len(set(hashes.tolist())) == len(words)
    np.testing.assert_array_equal(hashes, [hashes_of([word])[0] for word in words])
    assert hashes_of(["0001"])[0] == 14034513454549992452  # in every process


def test_ids_that_repeat():
    random = np.random.default_rng(0)
    names = random.choice([f"n{i}" for i in range(800)] + [""], 1000)
    together, first, second = Ids(), Ids(), Ids()
    for part in np.array_split(names, 3):
        together.add(names_of(pd.Series(part, dtype=object)))
    first.add(names_of(pd.Series(names[:400], dtype=object)))
    second.add(names_of(pd.Series(names[400:], dtype=object)))
    first.merge(second)
    seen = pd.Series(names[names != ""])
    for ids in (together, first):
        assert ids.n_repeated == seen.duplicated().sum()
        assert ids.n_empty == (names == "").sum()
