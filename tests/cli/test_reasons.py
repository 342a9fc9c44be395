"""The column ``reason`` of decisions, and cases drawn for an audit."""

import json

import pandas as pd
import pytest

import rejo
from rejo.scoring.model import encoder_of
from rejo.tables import read_table


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
    # The sample is that of the ids and the seed, however the file is read and in any order.
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    pd.testing.assert_frame_equal(predict(model, "many.csv", "--audit", "0.1"), found)
    table(2000, seed=4)[::-1].to_csv("turned.csv", index=False)
    turned = predict(model, "turned.csv", "--audit", "0.1")[::-1].reset_index(drop=True)
    assert (turned["detail"] == "audit sample").equals(drawn)
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


def test_reasons_for_decided_cases(run, predict, model, cases, refused):
    usual = predict(model, cases, "--why")
    decided = usual["decision"] != "review"
    assert usual.loc[decided, "why"].eq("").all()
    found = predict(model, cases, "--why", "decided")
    assert found.loc[decided, "why"].ne("").all()
    pd.testing.assert_frame_equal(found[~decided], usual[~decided])
    one = predict(model, cases, "--why", "bad")
    bad = one["decision"] == "bad"
    assert 0 < bad.sum() < decided.sum()
    assert one.loc[bad, "why"].equals(found.loc[bad, "why"])
    assert one.loc[decided & ~bad, "why"].eq("").all()
    opened = rejo.load(model)
    frame = read_table(cases, text=["case"]).frame
    rows = bad.to_numpy().nonzero()[0]
    towards = rejo.why(opened, frame, rows=rows)
    side = towards["towards_lower"].where(towards["lower"] == "bad", towards["towards_upper"])
    assert one.loc[bad, "why"].tolist() == side.tolist()
    assert "--why" in refused(2, "predict", model, cases, "--why", "worse")


def test_sentences_for_features(run, predict, model, cases, folder, refused):
    feature = "age"
    folder.joinpath("words.csv").write_text(
        f"feature;low;high\n{feature};L {{value}}.;H {{value}}.\n", encoding="utf-8"
    )
    said = predict(model, cases, "--why", "decided", "--why-words", "words.csv")["why"]
    frame = read_table(cases, text=["case"]).frame
    middle = encoder_of(rejo.load(model)).learnt_[feature]["fill"]
    named = said.str.contains(r"\b[LH] \S+\.", regex=True)
    assert named.sum() > 5
    assert not said[named].str.contains(f"{feature} ").any()
    high = said[named].str.contains(r"\bH ")
    assert (high == (frame.loc[named.to_numpy(), feature].to_numpy() >= middle)).all()
    assert "--why decided" in refused(2, "predict", model, cases, "--why-words", "words.csv")
    folder.joinpath("other.csv").write_text("a,b\n1,2\n")
    words = ("--why", "--why-words", "other.csv")
    assert "feature" in run("predict", model, cases, *words)[2]
