"""The column ``reason`` of decisions, and cases drawn for an audit."""

import json

import numpy as np
import pandas as pd
import pytest

import rejo
from rejo.estimators import Judgement
from rejo.scoring.deciding import decided_of
from rejo.scoring.reasons import AMBIGUOUS, NOVEL, POLICY, UNREADABLE, WORDS
from rejo.scoring.spool import Spool
from rejo.tables import read_table


def spooled(decision, sureness, reason, drawn=None, capacity=None, size=None):
    """Parts of a spool as one table; ``size`` cases are added at a time."""
    n = len(decision)
    decision, sureness = np.array(decision), np.array(sureness, dtype=float)
    reason = np.array(reason, dtype=np.int8)
    drawn = np.zeros(n, dtype=bool) if drawn is None else np.array(drawn, dtype=bool)
    with Spool() as spool:
        for first in range(0, n, size or n):
            rows = slice(first, first + (size or n))
            zeros = np.zeros_like(decision[rows])
            judgement = Judgement(
                decision[rows], zeros, zeros, zeros + 1, sureness[rows], sureness[rows]
            )
            spool.add(decided_of(None, judgement, reason[rows], drawn[rows]))
        parts = list(spool.parts(capacity))
    columns = {"rank": lambda part: part.rank, "audited": lambda part: part.audited} | {
        name: lambda part, name=name: part.cases[name] for name in ("decision", "reason")
    }
    return pd.DataFrame({
        name: np.concatenate([column(part) for part in parts]) for name, column in columns.items()
    })  # fmt: skip


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
    assert (found["audited"] == best[1]).all()
    assert (found["reason"][best[1]] == POLICY).all()
    assert ((found["decision"] < 0) == best[0]).all()
    assert sorted(found["rank"][best[0]]) == list(range(1, best[0].sum() + 1))


def test_an_audit_sample(run, predict, model, table, monkeypatch):
    table(2000, seed=4).to_csv("many.csv", index=False)
    whole = predict(model, "many.csv")
    found = predict(model, "many.csv", "--audit", "10%")
    decided = whole["decision"] != "review"
    drawn = found["detail"] == "audit sample"
    assert (found.loc[drawn, "reason"] == "policy").all()
    assert (found.loc[drawn, "decision"] == "review").all()
    assert drawn[decided].mean() == pytest.approx(0.1, abs=0.03)
    assert not drawn[~decided].any()
    # A reviewer sees what would have been decided; nothing else has changed.
    kept = whole.columns.drop(["decision", "reason", "detail", "rank"])
    pd.testing.assert_frame_equal(found[kept], whole[kept])
    rest = whole.columns.drop("rank")
    pd.testing.assert_frame_equal(found.loc[~drawn, rest], whole.loc[~drawn, rest])
    frame = read_table("many.csv", text=["case"]).frame
    same = rejo.load(model).review(frame, audit=0.1, random_state=0)
    assert (drawn == (same["reason"] == "policy").to_numpy()).all()
    # The sample is that of the seed, however the file is read.
    monkeypatch.setattr("rejo.scoring.deciding.ROWS", 7)
    pd.testing.assert_frame_equal(predict(model, "many.csv", "--audit", "0.1"), found)
    other = predict(model, "many.csv", "--audit", "0.1", "--seed", "1")
    assert (other["detail"] == "audit sample").ne(drawn).any()


def test_an_audit_is_told_and_counted(run, model, cases):
    words = ("predict", model, cases, "-o", "out.csv", "--overwrite", "--audit", "0.2")
    told = json.loads(run(*words, "--json")[1])
    assert told["audited"] == told["reasons"]["policy"] > 1
    assert sum(told["reasons"].values()) == told["review"] == 60 - told["decided"]
    few = json.loads(run(*words, "--capacity", "15", "--json")[1])
    assert few["review"] == 15
    assert few["audited"] >= told["audited"]
    code, _, err = run(*words, "--capacity", "1")
    assert (code, "capacity" in err) == (0, True)
