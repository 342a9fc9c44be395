"""``rejo train`` on tables that are read in pieces: patterns, folders and large files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rejo.datasets import make_synthetic_1
from rejo.persistence import inspect, load
from rejo.tables import read_table

pytest.importorskip("xgboost")
pytest.importorskip("pyarrow")

ASKED = ("--target", "repaid", "--id", "loan", "-o", "m.rejo")


def loans(n=4000, seed=0):
    X, y = make_synthetic_1(n, random_state=seed)
    random = np.random.RandomState(seed)
    return pd.DataFrame({
        "loan": [f"{i:06d}" for i in range(n)],
        "a": X[:, 0].round(4),
        "b": np.where(random.uniform(size=n) < 0.05, np.nan, X[:, 1].round(4)),
        "ab": (X[:, 0] * X[:, 1]).round(4),
        "job": random.choice(["clerk", "cook", "smith"], n),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.randint(0, 900, n), "D"),
        "customer": np.arange(n) // 2,
        "repaid": np.where(y > 0, "yes", "no"),
    })  # fmt: skip


@pytest.fixture
def pieces():
    """Two Parquet files with five row groups."""
    frame = loans()
    Path("loans").mkdir()
    frame[:1500].to_parquet("loans/1.parquet", row_group_size=800)
    frame[1500:].to_parquet("loans/2.parquet", row_group_size=900)
    return "loans"


@pytest.fixture
def large(monkeypatch):
    """Any file is large."""
    monkeypatch.setattr("rejo.cli._streamed_training.LARGE", 1)


def same(one, other):
    """Whether two model files decide the same new cases alike."""
    new = loans(500, seed=5)
    return np.array_equal(load(one).predict(new), load(other).predict(new))


def test_a_pattern_gives_a_model_that_all_commands_know(run, pieces):
    code, out, err = run("train", "loans/*.parquet", *ASKED, "--review-budget", "0.2", "--verbose")
    assert (code, err) == (0, "")
    assert "4,000 rows" in out
    assert "<- chosen" in out
    found = inspect("m.rejo")
    assert found.table["target"] == "repaid"
    assert found.table["id"] == "loan"
    loans(seed=1).sample(600, random_state=0).to_csv("new.csv", index=False)
    assert run("predict", "m.rejo", "new.csv", "-o", "decided.csv")[::2] == (0, "")
    decided = pd.read_csv("decided.csv", dtype=str)
    assert abs((decided["decision"] == "review").mean() - 0.2) < 0.07
    code, out, err = run("evaluate", "m.rejo", "new.csv", "--json")
    assert (code, err, json.loads(out)["target"][0]["limit"]) == (0, "", 0.2)
    assert run("inspect", "m.rejo")[0] == 0


def test_a_folder_a_pattern_and_large_files_of_any_format_are_the_same_table(run, pieces, large):
    frame = pd.concat([pd.read_parquet(f"loans/{i}.parquet") for i in (1, 2)])
    frame.to_csv("loans.csv", index=False)
    frame.to_csv("semicolon.csv", index=False, sep=";", decimal=",")
    frame.to_csv("packed.csv.gz", index=False)
    frame.to_parquet("whole.parquet", row_group_size=10_000)
    how = ("--target", "repaid", "--id", "loan", "--model", "boosting", "--max-error", "0.1")
    tables = "loans", "loans.csv", "semicolon.csv", "packed.csv.gz"
    for i, table in enumerate((*tables, "whole.parquet")):
        assert run("train", table, *how, "-o", f"{i}.rejo")[::2] == (0, ""), table
        assert same("0.rejo", f"{i}.rejo"), table


def test_progress_has_rows_a_second_and_the_time_left(pieces, capsys):
    from rejo import cli

    words = ["train", pieces, *ASKED, "--review-budget", "0.2", "--model", "boosting"]
    assert cli.main(words) == 0
    err = capsys.readouterr().err
    assert "First pass: 4,000 rows" in err
    assert re.search(r"rows a second .*\d s left", err)
    (fitting,) = [line for line in err.splitlines() if "Fitting boosting on" in line]
    numbers = [int(word.replace(",", "")) for word in fitting.split() if word[0].isdigit()]
    assert sum(numbers[-2:]) == 4000
    assert 0.2 < numbers[-1] / 4000 < 0.4


def test_a_promise_is_proved_by_rows_of_other_customers(run, pieces):
    words = ["train", pieces, *ASKED, "--max-error", "0.15", "--confidence", "0.9", "--json"]
    code, out, err = run(*words, "--groups", "customer", "--model", "boosting")
    assert (code, err) == (0, "")
    result = json.loads(out)
    (promise,) = result["promises"]
    assert promise["target"] == 0.15
    assert promise["rests_on"] == "one_each"
    assert result["columns"].keys() == {"a", "b", "ab", "job", "since"}
    assert result["family"] == "boosting"


@pytest.mark.parametrize("chosen", ["boosting", "logistic"])
def test_one_model_may_be_asked_for(run, pieces, chosen):
    words = ["train", pieces, *ASKED, "--model", chosen, "--reject-cost", "0.2"]
    code, out, err = run(*words, "--json")
    assert (code, err, json.loads(out)["family"]) == (0, "", chosen)


def test_the_better_model_is_chosen_on_held_out_rows(run, pieces):
    code, out, _ = run("train", pieces, *ASKED, "--reject-cost", "0.2", "--json")
    tried = {one["name"]: one["cost"] for one in json.loads(out)["tried"]}
    assert code == 0
    assert json.loads(out)["family"] == min(tried, key=tried.get)
    assert 0 < min(tried.values()) < 0.2


def test_prices_of_each_error_are_for_boosting(run, pieces, refused):
    prices = "no>yes=5,yes>no=1,review=0.4"
    code, out, err = run("train", pieces, *ASKED, "--costs", prices, "--json")
    assert (code, err) == (0, "")
    assert list(json.loads(out)["left_out_models"]) == ["logistic"]
    words = (*ASKED, "--costs", prices, "--model", "logistic", "--overwrite")
    assert "--model" in refused(2, "train", pieces, *words)


def test_classes_are_read_as_from_one_table(run, tmp_path):
    """Spellings are one class, and rows without a class are left out."""
    frame = loans(2000)
    frame.loc[::50, "repaid"] = "YES "
    frame.loc[::77, "repaid"] = None
    Path("odd").mkdir()
    frame.to_parquet("odd/1.parquet", row_group_size=700)
    code, out, err = run("train", "odd", *ASKED, "--review-budget", "0.1")
    assert code == 0
    assert "26 of 2,000 rows" in err
    assert "'yes' and 'YES'" in out
    assert load("m.rejo").classes_.tolist() == ["no", "yes"]
    table = read_table("odd/1.parquet", text=["repaid"]).frame
    assert f"{table['repaid'].notna().sum():,} rows" in out


def test_cells_that_are_no_numbers_count_as_missing(run, large):
    frame = loans(2500).astype({"a": str})
    frame.loc[2000, "a"] = "oops"
    frame.to_csv("t.csv", index=False)
    code, _, err = run("train", "t.csv", *ASKED, "--review-budget", "0.1")
    kinds = load("m.rejo").best_estimator_[0].kinds_ if code == 0 else {}
    assert (code, err) == (0, "")
    assert kinds["a"] in ("number", "category")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--report", "r.html"], "--report"),
        (["--novelty", "0.01"], "--novelty"),
        (["--time", "since", "--confidence", "0.9"], "--time"),
        (["--model", "svm"], "--model svm"),
        (["--groups", "repaid"], "--groups"),
        (["--drop", "agee"], "'agee'"),
        (["--dask", "tcp://127.0.0.1:1", "--n-jobs", "2"], "--n-jobs"),
    ],
)
def test_what_needs_all_rows_is_refused(refused, pieces, words, said):
    code = 3 if "agee" in words else 2
    asked = ("--review-budget", "0.1", *words)
    assert said in refused(code, "train", pieces, *ASKED, *asked)
    assert not Path("m.rejo").exists()


def test_ragged_lines_of_a_large_file_are_refused(refused, large):
    lines = loans(2500).to_csv(index=False).splitlines()
    for wrong in ("1,2", lines[7] + ",9"):
        Path("t.csv").write_text("\n".join([*lines[:1200], wrong, *lines[1200:]]) + "\n")
        said = refused(3, "train", "t.csv", *ASKED, "--review-budget", "0.1")
        assert "line 1201" in said.replace(",", "")


def test_files_whose_types_differ_are_refused(refused, pieces):
    odd = pd.read_parquet("loans/2.parquet").astype({"ab": str})
    odd.to_parquet("loans/2.parquet")
    said = refused(3, "train", pieces, *ASKED, "--review-budget", "0.1")
    assert "loans/2.parquet" in said
    assert "loans/1.parquet" in said


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_are_threads_of_this_machine(run, pieces, monkeypatch, n_jobs):
    from rejo.distributed import Here

    grow, seen = Here.grow, []

    def spy(self, plan, layout, parts, n_threads, tell):
        seen.append(n_threads)
        return grow(self, plan, layout, parts, n_threads, tell)

    monkeypatch.setattr(Here, "grow", spy)
    words = ["train", pieces, *ASKED, "--review-budget", "0.1", "--model", "boosting"]
    assert run(*words, "--n-jobs", str(n_jobs))[::2] == (0, "")
    assert seen == [n_jobs]
    assert load("m.rejo").best_estimator_[-1].n_jobs is None


def test_wrong_tables_are_refused(refused, pieces):
    how = ("--review-budget", "0.1")
    refused(3, "train", "nothing/*.parquet", *ASKED, *how)
    assert "'paid'" in refused(3, "train", pieces, "--target", "paid", "-o", "m.rejo", *how)
    frame = loans(300).assign(repaid="yes")
    Path("one").mkdir()
    frame.to_parquet("one/1.parquet")
    assert "'yes'" in refused(3, "train", "one", *ASKED, *how)
