"""What lies at the edges: sizes, prices, headers, streams and words that terminals obey."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from rejo import load, save  # noqa: E402
from rejo.cli import _options  # noqa: E402
from rejo.persistence import inspect  # noqa: E402
from rejo.report._report import HIGHEST_PRICE, LEAST_PRICE  # noqa: E402
from rejo.selection import draw_rows  # noqa: E402

PRICE = ("--target", "grade", "--id", "case", "--model", "logistic", "--reject-cost", "0.2")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
COMMAND = [sys.executable, "-c", "import sys; from rejo.cli import main; sys.exit(main())"]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_table_just_larger_than_what_is_tuned_on(run, table, monkeypatch, extra):
    monkeypatch.setattr("rejo.selection.models.LEGS", (70,))  # of 100 cases, not of 99
    classes = ("low", "middle", "high")
    table(100 + extra, classes).to_csv("t.csv", index=False)
    words = (*PRICE, "--order", ",".join(classes), "-o", "m.rejo")
    code, _, err = run("train", "t.csv", *words)
    assert (code, err) == (0, "")


def test_draws_keep_shares_and_rare_classes():
    y = np.repeat(["a", "b", "c"], [6000, 3000, 12])
    rows = draw_rows(y, 300, random_state=1)
    assert len(np.unique(rows)) == len(rows)
    counts = dict(zip(*np.unique(y[rows], return_counts=True), strict=True))
    assert counts == {"a": 200, "b": 100, "c": 10}
    assert (draw_rows(y, 300, random_state=1) == rows).all()
    assert not np.array_equal(draw_rows(y, 300, random_state=2), rows)
    assert (draw_rows(y, len(y)) == np.arange(len(y))).all()


def test_the_number_of_processes_leaves_no_trace(run, table):
    table(150).to_csv("t.csv", index=False)
    hashes = []
    for jobs in ("1", "2"):
        code, _, _ = run("train", "t.csv", *PRICE, "--n-jobs", jobs, "-o", f"m{jobs}.rejo")
        assert code == 0
        hashes.append(inspect(f"m{jobs}.rejo").payload_hash)
    assert hashes[0] == hashes[1]


def test_the_limits_of_prices_are_those_of_the_page():
    assert (_options.LEAST_PRICE, _options.HIGHEST_PRICE) == (LEAST_PRICE, HIGHEST_PRICE)


def test_ranges_are_of_95_percent_whatever_the_confidence(run, table):
    table(400).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "--review-budget", "0.9")
    code, _, err = run("train", "t.csv", *words, "--confidence", "0.5", "-o", "m.rejo")
    assert (code, err) == (0, "")
    table(200, seed=3).to_csv("new.csv", index=False)
    _, out, _ = run("evaluate", "m.rejo", "new.csv", "--json")
    seen = json.loads(out)["expected"]["error_rate"]
    half = load("m.rejo").expect(200).error_rate
    assert seen["high"] - seen["low"] > half.high - half.low


@pytest.mark.parametrize(
    "table_entry",
    [
        {"id": ["case"]},
        {"target": 5},
        {"by": {"a": 1}},
        {"target": "grade", "prices": 5},
        {"target": "grade", "prices": {"error": "x", "review": 1}},
        {"target": "grade", "prices": {"error": 1.0}},
        {"target": "grade", "prices": {"error": 2.0, "review": 1.5}},
    ],
)
def test_a_header_that_train_does_not_write(refused, model, cases, table_entry):
    save(load(model), "odd.rejo", table=table_entry)
    assert "odd.rejo" in refused(4, "predict", "odd.rejo", cases, "-o", "out.csv")
    assert "odd.rejo" in refused(4, "evaluate", "odd.rejo", cases)


def test_words_that_terminals_obey(run, table):
    frame = table()
    frame["grade"] = frame["grade"].replace("bad", "b\x1b[2Jad")
    frame.to_csv("t.csv", index=False)
    code, out, err = run("train", "t.csv", *PRICE, "-o", "m.rejo")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "b?[2Jad" in out


@pytest.mark.check
def test_words_that_the_terminal_cannot_show(table):
    frame = table()
    frame["grade"] = frame["grade"].replace("bad", "高")
    frame.to_csv("t.csv", index=False, encoding="utf-8")
    result = subprocess.run(
        [*COMMAND, "train", "t.csv", *PRICE, "-o", "m.rejo"],
        env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr.count("error")) == (0, 0), result.stderr
    assert "\\u9ad8" in result.stdout


@pytest.mark.skipif(os.name != "posix", reason="closed streams as a POSIX shell closes them")
@pytest.mark.parametrize(
    ("words", "code"), [("inspect m.rejo >&-", 2), ("predict m.rejo - <&-", 3)]
)
def test_closed_streams(model, words, code):
    command = f'"{sys.executable}" -m rejo.cli ' + words.replace("m.rejo", str(model))
    result = subprocess.run(
        ["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert result.returncode == code
    assert "bug" not in result.stderr
