"""``rejo predict``: the model's own decisions, row by row, in files that are whole."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import RejoLinear
from rejo.baselines import ThresholdRejectClassifier
from rejo.persistence import save
from rejo.scoring.counts import DoubtCounts
from rejo.tables import read_table
from rejo.tables.doubts import Doubt

COLUMNS = [
    "decision", "suggested", "chance_wrong", "reason", "detail", "rank", "lower", "upper",
    "distance",
]  # fmt: skip


def read(path_or_text):
    """Read an output with every cell as it is written."""
    source = path_or_text if isinstance(path_or_text, Path) else io.StringIO(path_or_text)
    return pd.read_csv(source, dtype=str, keep_default_na=False)


def texts(ranks):
    return ["" if pd.isna(rank) else str(rank) for rank in ranks]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def reviewed(model, path):
    """What the model says of a table, by Python."""
    return rejo.load(model).review(read_table(path, text=["case"]).frame)


# ---- decisions ----------------------------------------------------------------------------


def test_decisions_are_those_of_the_model(predict, model, cases):
    found, expected = predict(model, cases), reviewed(model, cases)
    assert found.columns.tolist() == ["case", *COLUMNS]
    assert found["case"].tolist() == [f"{i + 1:04d}" for i in range(60)]
    for name in ("decision", "lower", "upper"):
        assert found[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(found["distance"].astype(float), expected["distance"], rtol=1e-5)
    assert texts(found["rank"]) == texts(expected["rank"])
    assert 0 < (found["decision"] == "review").sum() < 60


def test_ranks_count_the_reviews_of_the_whole_file(predict, model, cases, monkeypatch):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    found = predict(model, cases)
    rejected = found["decision"] == "review"
    ranks = found.loc[rejected, "rank"].astype(int)
    assert sorted(ranks) == list(range(1, rejected.sum() + 1))
    assert (found.loc[~rejected, "rank"] == "").all()
    sureness = rejo.load(model).sureness(read_table(cases, text=["case"]).frame)[rejected]
    assert (np.diff(sureness[np.argsort(ranks)]) >= 0).all()


@pytest.mark.parametrize("rows", [7, 59, 60])
def test_the_size_of_a_chunk_does_not_matter(predict, model, cases, monkeypatch, rows):
    whole = predict(model, cases)
    monkeypatch.setattr("rejo.scoring.decider.ROWS", rows)
    pd.testing.assert_frame_equal(predict(model, cases), whole)


def test_other_columns_and_another_order_do_not_matter(predict, model, cases):
    whole = predict(model, cases)
    frame = pd.read_csv(cases, dtype=str, keep_default_na=False)
    frame["more"] = "=1+1"
    frame = frame.drop(columns=["unit", "region", "grade"])
    frame[sorted(frame.columns, reverse=True)].to_csv("other.csv", index=False)
    pd.testing.assert_frame_equal(predict(model, "other.csv"), whole)
    frame.to_csv("semicolon.csv", index=False, sep=";")
    pd.testing.assert_frame_equal(predict(model, "semicolon.csv"), whole)


@pytest.mark.parametrize(
    "words",
    [
        ("TRUE", "FALSE"),
        ("007", "012"),
        *(pytest.param(two, marks=pytest.mark.check) for two in (("true", "false"), ("x", "y"))),
    ],
)
def test_words_that_look_like_other_things(run, table, words):
    """A word is the same in training and in prediction, whatever else is in the file."""
    frame = table(200)
    frame["flag"] = np.where(frame["grade"] == "bad", *words)
    frame = frame[["case", "flag", "age", "grade"]]
    frame.to_csv("t.csv", index=False)
    code, _, _ = run(
        "train", "t.csv", "--target", "grade", "--id", "case", "--model", "logistic",
        "--reject-cost", "0.2", "-o", "m.rejo",
    )  # fmt: skip
    assert code == 0
    code, _, err = run("predict", "m.rejo", "t.csv", "-o", "out.csv")
    assert (code, err) == (0, "")
    decision = pd.read_csv("out.csv", dtype=str)["decision"]
    assert (decision == frame["grade"]).mean() > 0.99


def test_other_units_are_said_once(run, table):
    table(400).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "--reject-cost", "0.2")
    assert run("train", "t.csv", *words, "-o", "m.rejo")[0] == 0
    frame = table(300, seed=5)
    frame.to_csv("new.csv", index=False)
    assert run("predict", "m.rejo", "new.csv", "-o", "out.csv")[2] == ""
    frame["age"] *= 100
    frame.to_csv("new.csv", index=False)
    code, _, err = run("predict", "m.rejo", "new.csv", "-o", "out.csv", "--overwrite")
    assert code == 6
    assert err.count("\n") == 1
    assert "100 times larger" in err


def test_names_of_cases_are_kept(predict, model, cases):
    frame = pd.read_csv(cases, dtype=str, keep_default_na=False)
    frame.loc[3:7, "case"] = ["NA", "NULL", "?", "nan", "None"]
    frame.to_csv("named.csv", index=False)
    assert predict(model, "named.csv")["case"].tolist() == frame["case"].tolist()


def test_row_numbers_without_row_names(predict, model, cases, monkeypatch):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    frame = pd.read_csv(cases, dtype=str).drop(columns="case")
    frame.to_csv("nameless.csv", index=False)
    found = predict(model, "nameless.csv", warning="'case'")
    assert found.columns.tolist() == ["row", *COLUMNS]
    assert found["row"].tolist() == [str(i + 1) for i in range(60)]


def test_another_column_of_row_names(predict, model, cases):
    found = predict(model, cases, "--id", "grade", warning="58 of 60 cases")
    assert found.columns[0] == "grade"


def test_row_names_called_like_an_output(predict, model, cases):
    pd.read_csv(cases, dtype=str).rename(columns={"case": "rank"}).to_csv("r.csv", index=False)
    found = predict(model, "r.csv", "--id", "rank")
    assert found.columns.tolist() == ["id rank", *COLUMNS]


def test_no_rows(run, predict, model, cases):
    header = cases.read_text().splitlines()[0]
    Path("none.csv").write_text(header + "\n")
    found = predict(model, "none.csv", warning="no rows")
    assert found.columns.tolist() == ["case", *COLUMNS]
    assert read(run("predict", model, "none.csv")[1]).empty
    code, out, _ = run("predict", model, "none.csv", "-o", "out.csv", "--overwrite", "--json")
    assert code == 0
    assert json.loads(out)["n_cases"] == 0


@pytest.mark.parametrize(
    "inner",
    [
        RejoLinear(class_order=["low", "middle", "high"]),
        RejoLinear(class_order=["low", "middle", "high"], reject_cost=None),
        ThresholdRejectClassifier(
            LogisticRegression(C=1e-3), rule="chow", class_order=["low", "middle", "high"]
        ),
    ],
)
def test_a_model_that_was_fitted_in_python(predict, table, inner):
    frame = table(150, classes=("low", "middle", "high"))
    X, y = frame[["age", "income"]].fillna(0), frame["grade"]
    X.assign(case=frame["case"]).to_csv("t.csv", index=False)
    scaler = StandardScaler().fit(X)
    Z = pd.DataFrame(scaler.transform(X), columns=X.columns)
    Z.assign(case=frame["case"]).to_csv("scaled.csv", index=False)
    pipeline = make_pipeline(scaler, clone(inner)).fit(X, y)
    expected = inner.fit(Z, y).review(Z)
    for fitted, path in ((pipeline, "t.csv"), (inner, "scaled.csv")):
        save(fitted, "m.rejo", overwrite=True)
        found = predict("m.rejo", path, "--id", "case")
        for name in ("decision", "lower", "upper"):
            assert found[name].tolist() == expected[name].tolist()
        assert texts(found["rank"]) == texts(expected["rank"])


# ---- ways in and out ----------------------------------------------------------------------


def test_standard_input_and_output(run, predict, model, cases, monkeypatch):
    whole = predict(model, cases)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(cases.read_bytes())))
    code, out, err = run("predict", model, "-")
    assert (code, err) == (0, "")
    pd.testing.assert_frame_equal(read(out), whole)


def test_parquet_in_and_out(run, predict, model, cases, monkeypatch):
    pytest.importorskip("pyarrow")
    whole = predict(model, cases)
    frame = pd.read_csv(cases, dtype={"case": str})
    frame.to_parquet("new.parquet")
    pd.testing.assert_frame_equal(predict(model, "new.parquet"), whole)
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    assert run("predict", model, "new.parquet", "-o", "out.parquet")[0] == 0
    found = pd.read_parquet("out.parquet")
    assert found.columns.tolist() == ["case", *COLUMNS]
    for name in ("case", "decision", "lower", "upper"):
        assert found[name].tolist() == whole[name].tolist()
    assert texts(found["rank"].astype("Int64")) == texts(whole["rank"])


def test_parquet_row_names_may_hold_anything(run, model, cases):
    pytest.importorskip("pyarrow")
    names = ["a\0b", "", "x\ny", 'q"q', "é", "=1+1"]
    frame = pd.read_csv(cases, dtype={"case": str}).iloc[: len(names)].assign(case=names)
    frame.to_parquet("new.parquet")
    assert run("predict", model, "new.parquet", "-o", "out.parquet")[0] == 0
    assert pd.read_parquet("out.parquet")["case"].tolist() == names


def test_json_counts_what_the_file_has(run, model, cases, folder):
    _, out, _ = run("predict", model, cases, "-o", "out.csv", "--json")
    n = int((read(folder / "out.csv")["decision"] == "review").sum())
    assert json.loads(out) == {
        "output": "out.csv", "n_cases": 60, "decided": 60 - n, "review": n, "in_doubt": 0,
        "over_capacity": 0, "audited": 0, "doubts": [], "columns": [],
        "reasons": {"ambiguous": n, "novel": 0, "policy": 0, "unreadable": 0, "column": 0},
    }  # fmt: skip


def test_a_pipe_is_written_to(model, cases, run, folder):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert run("predict", model, cases, "-o", "pipe")[0] == 0
        assert len(read(reader.stdout.read())) == 60
    assert files(folder) == ["new.csv", "pipe"]


# ---- spreadsheets -------------------------------------------------------------------------


def test_formulas_are_neutralised_and_numbers_are_not(predict, run, table, cases):
    names = ["=1+1", "@x", "-2+3", "+a", "-5", "007", "+49", "x=1", "\tb", "=cmd|' /C calc'!A0"]
    labels = {"bad": "=bad", "good": "+good"}
    frame = table()
    frame["grade"] = frame["grade"].map(labels)
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--reject-cost", "0.2", "--model", "logistic")
    assert run("train", "t.csv", *words, "-o", "m.rejo")[0] == 0
    new = pd.read_csv(cases, dtype=str).iloc[: len(names)].assign(case=names)
    new.to_csv("new.csv", index=False)
    found = predict("m.rejo", "new.csv")
    dangerous = found["case"].str.startswith(("=", "@", "+a", "-2"))
    assert not dangerous.any()
    assert found["case"].tolist()[:8] == ["'=1+1", "'@x", "'-2+3", "'+a", "-5", "007", "+49", "x=1"]
    assert found["decision"].isin(["'=bad", "'+good", "review"]).all()
    assert found["lower"].unique().tolist() == ["'+good"]


# ---- what is wrong with a table -----------------------------------------------------------


def spoil(cases, **cells):
    """Put a value in the row 51 of the cases; return the row as it was."""
    frame = pd.read_csv(cases, dtype=str, keep_default_na=False)
    frame.loc[50, list(cells)] = list(cells.values())
    frame.to_csv("bad.csv", index=False)


BAD_CELLS = [
    ({"age": "old"}, "unreadable", "age: 'old' is not a number"),
    ({"since": "soon"}, "unreadable", "since: 'soon' is not a date"),
    ({"job": "astronaut"}, "novel", "job: 'astronaut' was not in training"),
    ({"age": "999"}, "novel", "age: '999' is far outside the range of training"),
    ({"age": ""}, "unreadable", "age: missing, but hardly ever in training"),
    ({"age": "", "income": "", "job": "", "since": ""}, "unreadable", "the row is empty"),
    (
        {"age": "old", "since": "soon"},
        "unreadable",
        "age: 'old' is not a number; since: 'soon' is not a date",
    ),
    (
        {"age": "old", "job": "astronaut"},
        "unreadable",
        "age: 'old' is not a number; job: 'astronaut' was not in training",
    ),
]


@pytest.mark.parametrize(("cells", "reason", "detail"), BAD_CELLS)
def test_a_bad_cell_is_a_review_with_its_reason(
    run, predict, model, cases, folder, monkeypatch, cells, reason, detail
):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    whole = predict(model, cases)
    spoil(cases, **cells)
    found = predict(model, "bad.csv")
    row = found.loc[50]
    assert row["decision"] == "review"
    assert row[["reason", "detail"]].tolist() == [reason, detail]
    assert row["rank"] == "1"
    assert (row[["suggested", "chance_wrong", "lower", "upper", "distance"]] == "").all()
    # All others are decided as before, and ranked after it.
    others = found.columns.drop(["rank"])
    pd.testing.assert_frame_equal(found.drop(50)[others], whole.drop(50)[others])
    ranks = [frame.drop(50)["rank"].replace("", None).dropna() for frame in (found, whole)]
    assert ranks[0].index.equals(ranks[1].index)
    assert ranks[0].astype(int).rank().tolist() == ranks[1].astype(int).rank().tolist()


def test_the_reason_for_a_review_or_none(predict, model, cases):
    found = predict(model, cases)
    reviewed = found["decision"] == "review"
    assert (found.loc[reviewed, "reason"] == "ambiguous").all()
    assert (found.loc[reviewed, "detail"] == "between bad and good").all()
    assert (found.loc[~reviewed, ["reason", "detail"]] == "").all(axis=None)
    assert (found.loc[~reviewed, "suggested"] == found.loc[~reviewed, "decision"]).all()
    p = rejo.load(model).predict_proba(read_table(cases, text=["case"]).frame)
    wrong = np.where(found["suggested"] == "bad", p[:, 1], p[:, 0])
    np.testing.assert_allclose(found["chance_wrong"].astype(float), wrong, atol=6e-5)


def test_many_reasons_are_cut(predict, model, cases):
    spoil(cases, age="old", income="low", job="astronaut", since="soon")
    parts = predict(model, "bad.csv").loc[50, "detail"].split("; ")
    assert [part.split(":")[0] for part in parts] == ["age", "income", "job", "and 1 more"]


def test_rows_in_doubt_are_counted(run, model, cases, folder):
    frame = pd.read_csv(cases, dtype=str)
    frame.loc[[3, 5], "age"] = ["old", "very old"]
    frame.loc[7, ["age", "income", "job", "since"]] = None
    frame.loc[9, "job"] = "astronaut"
    frame.to_csv("bad.csv", index=False)
    code, out, err = run("predict", model, "bad.csv", "-o", "out.csv", "--json")
    told = json.loads(out)
    assert (code, told["in_doubt"]) == (0, 4)
    assert told["review"] == int((read(folder / "out.csv")["decision"] == "review").sum())
    assert told["doubts"][0] == {"column": "age", "why": "unreadable", "rows": 2, "example": "old"}
    assert {one["why"]: one["rows"] for one in told["doubts"][1:]} == {"empty": 1, "unseen": 1}
    _, out, err = run("predict", model, "bad.csv")
    assert len(read(out)) == 60
    assert err.startswith("rejo: warning: 4 cases ")


def test_a_row_that_lacks_many_values_is_one_reason():
    gaps = [Doubt("missing", name) for name in "abcde"]
    counts = DoubtCounts()
    counts.add({3: gaps, 5: gaps[:2], 8: [Doubt("unseen", "job", "astronaut")]})
    said = counts.summary().partition(": ")[2].split("; ")
    assert [part.split(" with ")[0] for part in said] == ["2 rows", "1 row"]
    assert [one["column"] for one in counts.as_json()] == ["a", "b", "c", "d", "e", "job"]


def test_a_column_that_changed_is_named_first(run, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    frame["age"] = "about " + frame["age"]
    frame.loc[3, "job"] = "astronaut"
    frame.to_csv("bad.csv", index=False)
    code, out, err = run("predict", model, "bad.csv", "-o", "out.csv")
    assert code == 6
    assert "60 (100.0 %)" in out
    assert err.count("\n") == 1
    assert "age" in err


def test_strict_stops_at_the_first_row_in_doubt(refused, model, cases, folder, monkeypatch):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    for cells, _, detail in BAD_CELLS:
        spoil(cases, **cells)
        (folder / "out.csv").write_text("old")
        words = ("predict", model, "bad.csv", "-o", "out.csv", "--overwrite", "--strict")
        assert refused(3, *words).startswith(f"bad.csv, line 52 ('0051'): {detail}. ")
        assert files(folder) == ["bad.csv", "new.csv", "out.csv"]
        assert (folder / "out.csv").read_text() == "old"


def test_nothing_goes_to_standard_output_before_all_is_read(run, model, cases, monkeypatch):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", 7)
    spoil(cases, age="old")
    code, out, _ = run("predict", model, "bad.csv", "--strict")
    assert (code, out) == (3, "")


def test_strict_does_not_mind_a_good_file(predict, model, cases):
    pd.testing.assert_frame_equal(predict(model, cases, "--strict"), predict(model, cases))


def test_a_row_that_is_too_short(refused, predict, model, cases):
    Path("short.csv").write_text(cases.read_text() + "0061,40\n")
    found = predict(model, "short.csv").iloc[-1]
    assert found[["decision", "detail"]].tolist() == [
        "review", "the row has 2 fields, unlike the header"
    ]  # fmt: skip
    assert "line 62" in refused(3, "predict", model, "short.csv", "--strict", "-o", "no.csv")


# ---- whole or not at all ------------------------------------------------------------------


def test_nothing_is_replaced_without_overwrite(refused, model, cases, folder):
    (folder / "out.csv").write_text("precious")
    before = cases.read_bytes()
    assert "--overwrite" in refused(2, "predict", model, cases, "-o", "out.csv")
    refused(2, "predict", model, cases, "-o", cases, "--overwrite")
    for place in (".", "nowhere/out.csv"):
        assert place.split("/")[0] in refused(2, "predict", model, cases, "-o", place)
    assert (folder / "out.csv").read_text() == "precious"
    assert cases.read_bytes() == before


SLOW = """
import sys, time
from rejo.cli import main
from rejo.scoring import decider
from rejo.tables import TableWriter

decider.ROWS = 20
write = TableWriter.write

def slowly(self, frame):
    write(self, frame)
    self._sink._file.flush()
    print("wrote", flush=True)
    time.sleep(0.02)

TableWriter.write = slowly
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "n_writes", [14, *(pytest.param(n, marks=pytest.mark.check) for n in (0, 1, 5))]
)
def test_killed_in_the_middle_of_writing(run, model, table, folder, n_writes):
    """The old file or the new one is there, never a part."""
    table(300, seed=2).to_csv("many.csv", index=False)
    assert run("predict", model, "many.csv", "-o", "new.csv")[0] == 0
    (folder / "out.csv").write_text("old")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            SLOW,
            "predict",
            str(model),
            "many.csv",
            "-o",
            "out.csv",
            "--overwrite",
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    for _ in range(n_writes):
        assert process.stdout.readline() == "wrote\n"
    time.sleep(0.01 * (n_writes % 3))
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGKILL
    found = (folder / "out.csv").read_text()
    assert found in ("old", (folder / "new.csv").read_text())
    assert found == "old" or n_writes == 14


# ---- capacity -----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [7, 60])
@pytest.mark.parametrize(("capacity", "n"), [("3", 3), ("0", 0), ("5%", 3)])
def test_capacity_reviews_the_first_and_decides_the_others(
    run, predict, model, cases, monkeypatch, capacity, n, rows
):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", rows)
    whole = predict(model, cases)
    found = predict(model, cases, "--capacity", capacity)
    ranks = whole["rank"].replace("", "0").astype(int)
    first, over = ranks.between(1, n), ranks > n
    assert first.sum() == n < (ranks > 0).sum()
    assert (found.loc[over, "decision"] == whole.loc[over, "suggested"]).all()
    assert (found.loc[over, "reason"] == "over capacity").all()
    assert (found.loc[over, "rank"] == "").all()
    pd.testing.assert_frame_equal(found[~over], whole[~over])
    rest = whole.columns.drop(["decision", "reason", "rank"])
    pd.testing.assert_frame_equal(found[rest], whole[rest])


def test_capacity_that_is_not_needed(predict, model, cases):
    whole = predict(model, cases)
    for capacity in ("60", "1000", "0.99"):
        pd.testing.assert_frame_equal(predict(model, cases, "--capacity", capacity), whole)


def test_rows_in_doubt_are_never_decided(run, predict, model, cases, folder):
    frame = pd.read_csv(cases, dtype=str)
    frame.loc[[3, 5, 8], "age"] = "old"
    frame.to_csv("bad.csv", index=False)
    found = predict(model, "bad.csv", "--capacity", "4")
    assert found.loc[[3, 5, 8], "rank"].tolist() == ["1", "2", "3"]
    assert (found["decision"] == "review").sum() == 4
    found = predict(model, "bad.csv", "--capacity", "2", warning="3 cases")
    assert found.index[found["decision"] == "review"].tolist() == [3, 5, 8]


def test_what_is_over_the_capacity_is_counted(run, model, cases):
    n = json.loads(run("predict", model, cases, "-o", "a.csv", "--json")[1])["review"]
    _, out, _ = run("predict", model, cases, "-o", "c.csv", "--capacity", "3", "--json")
    told = json.loads(out)
    assert (told["review"], told["decided"], told["over_capacity"]) == (3, 57, n - 3)


def test_capacity_is_exact_with_ties(predict, run, table):
    """Of equal cases the first are reviewed."""
    frame = table(300)
    frame["age"], frame["income"] = frame["age"].round(-1), 0
    frame = frame[["case", "age", "grade"]]
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "--reject-cost", "0.3")
    assert run("train", "t.csv", *words, "-o", "m.rejo")[0] == 0
    whole = predict("m.rejo", "t.csv")
    most = whole.loc[whole["rank"] == "1", "distance"].item()
    alike = whole.index[(whole["rank"] != "") & (whole["distance"] == most)]
    assert len(alike) > 6
    found = predict("m.rejo", "t.csv", "--capacity", "5")
    assert found.index[found["decision"] == "review"].tolist() == alike[:5].tolist()


# ---- models from Python -------------------------------------------------------------------


@pytest.mark.parametrize("rows", [3, 60])
@pytest.mark.parametrize("price", [0.2, None])
def test_gaps_that_a_model_from_python_refuses(predict, table, monkeypatch, rows, price):
    monkeypatch.setattr("rejo.scoring.decider.ROWS", rows)
    X = table(60)[["age", "income"]].fillna(0)
    model = RejoLinear(reject_cost=price)
    model = make_pipeline(StandardScaler(), model).fit(X, table(60)["grade"])
    save(model, "m.rejo")
    X.to_csv("t.csv", index=False)
    whole = predict("m.rejo", "t.csv")
    bad = X.astype(object)
    bad.loc[3, "age"], bad.loc[5, "income"], bad.loc[7] = None, "low", None
    bad.to_csv("bad.csv", index=False)
    found = predict("m.rejo", "bad.csv")
    assert found.loc[[3, 5, 7], "detail"].tolist() == [
        "age: missing, but hardly ever in training",
        "income: 'low' is not a number",
        "the row is empty",
    ]
    label = "reject" if price else "review"
    assert found.loc[[3, 5, 7], "decision"].tolist() == [label] * 3
    same = ["decision", "suggested", "chance_wrong", "distance"]
    good = found.index.drop([3, 5, 7])
    pd.testing.assert_frame_equal(found.loc[good, same], whole.loc[good, same])


def test_ids_that_repeat_or_lack(run, predict, model, cases):
    frame = pd.read_csv(cases, dtype=str)
    frame.loc[[3, 5, 8], "case"] = "0001"
    frame.to_csv("twice.csv", index=False)
    found = predict(model, "twice.csv", warning="3 of 60 cases")
    assert found["case"].tolist() == frame["case"].tolist()
    frame.loc[[3, 5, 8], "case"] = None
    frame.to_csv("gone.csv", index=False)
    code, _, err = run("predict", model, "gone.csv", "-o", "o.csv")
    assert (code, "3 of 60 rows" in err) == (0, True)


def test_a_full_disk_while_decisions_are_kept(refused, model, cases, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rejo.scoring.cases.Cases.store", full)
    assert "TMPDIR" in refused(2, "predict", model, cases)
