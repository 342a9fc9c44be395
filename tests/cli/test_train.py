"""``rejo train``: from tables of all kinds to a model at its operating point."""

import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from rejo import RejoLinear, ReplicationClassifier, catalogue, cli
from rejo.catalogue import METHODS, TRAINED
from rejo.persistence import inspect, load
from rejo.selection import RejectClassifierCV, choose_model
from rejo.tables import TableEncoder

FIXED = ("--target", "grade", "--reject-cost", "0.2", "--model", "logistic", "-o", "m.rejo")


def files():
    return sorted(path.name for path in Path.cwd().iterdir())


def train(run, *words):
    """Train with ``--json``; return the result."""
    code, out, err = run("train", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# ---- tables -------------------------------------------------------------------------------


def test_numbers_categories_dates_missing_values_and_constants(run, table):
    table().to_csv("t.csv", index=False)
    result = train(run, "t.csv", "--id", "case", *FIXED)
    assert (result["n_cases"], result["classes"]) == (120, ["bad", "good"])
    assert result["left_out"] == {"unit": "constant"}
    assert files() == ["m.rejo", "t.csv"]
    assert load("m.rejo").best_estimator_[0].kinds_ == result["columns"] == {
        "age": "number", "income": "number", "job": "category", "since": "date",
        "region": "category",
    }  # fmt: skip


def test_how_the_table_is_written_does_not_matter(run, table):
    """The same model from commas, semicolons with a decimal comma, UTF-16 and a zipped file."""
    frame = table()
    frame.to_csv("comma.csv", index=False)
    frame.to_csv("semicolon.csv", index=False, sep=";", decimal=",")
    frame.to_csv("utf16.csv", index=False, encoding="utf-16")
    frame.to_csv("zipped.csv.gz", index=False)
    hashes, data = set(), set()
    for path in ("comma.csv", "semicolon.csv", "utf16.csv", "zipped.csv.gz"):
        train(run, path, "--id", "case", *FIXED, "--overwrite")
        found = inspect("m.rejo")
        data.add(found.data_hash)
        if path != "semicolon.csv":  # the model knows that numbers have a comma
            hashes.add(found.payload_hash)
    assert (len(data), len(hashes)) == (1, 1)


def test_parquet(run, table):
    frame = table()
    frame["since"] = pd.to_datetime(frame["since"])
    frame.to_parquet("t.parquet")
    result = train(run, "t.parquet", "--id", "case", *FIXED)
    assert result["columns"]["since"] == "date"


def test_options_say_how_to_read(run, table):
    frame = table()
    frame["job"] = frame["job"].fillna("").str.replace("cook", "köchin")
    frame.to_csv("t.csv", index=False, sep="|", encoding="latin-1")
    result = train(run, "t.csv", *FIXED, "--sep", "|", "--encoding", "latin-1", "--decimal", ".")
    assert result["columns"]["age"] == "number"
    assert "köchin" in str(load("m.rejo").best_estimator_[0].learnt_["job"])


def test_from_standard_input(run, table, monkeypatch):
    data = table().to_csv(index=False).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert train(run, "-", *FIXED)["n_cases"] == 120


def test_columns_that_are_not_features(run, table):
    table().to_csv("t.csv", index=False)
    words = ("--id", "case", "--by", "region", "--drop", "since,job")
    result = train(run, "t.csv", *words, *FIXED)
    assert list(result["columns"]) == ["age", "income"]
    found = inspect("m.rejo").table
    assert [found[key] for key in ("target", "id", "by", "ordered")] == [
        "grade", "case", "region", True
    ]  # fmt: skip


# ---- classes ------------------------------------------------------------------------------


def test_three_classes_are_unordered_unless_an_order_is_given(run, refused, table):
    table(classes=("low", "middle", "high")).to_csv("t.csv", index=False)
    refused(2, "train", "t.csv", *FIXED)
    assert files() == ["t.csv"]
    result = train(run, "t.csv", *FIXED, "--order", "low,middle,high")
    assert result["classes"] == ["low", "middle", "high"]
    assert load("m.rejo").classes_.tolist() == ["low", "middle", "high"]
    words = ("t.csv", *FIXED[:4], "--model", "logistic-posterior", "-o", "n.rejo")
    code, out, _ = run("train", *words)
    assert (code, "--order" in out) == (0, True)
    assert inspect("n.rejo").table["ordered"] is False
    assert set(load("n.rejo").predict(table())) <= {"low", "middle", "high", "review"}


def test_a_reject_cost_above_a_half(run, refused, table):
    table(classes=("a", "b", "c", "d")).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--model", "logistic-posterior", "-o", "m.rejo")
    assert train(run, "t.csv", *words, "--reject-cost", "0.7")["reject_cost"] == 0.7
    line = refused(2, "train", "t.csv", *words, "--overwrite", "--reject-cost", "0.8")
    assert "0.75" in line


def test_prices_by_class(run, refused, table):
    table(200).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic-posterior", "-o", "m.rejo")
    prices = "error:bad=50,error:good=5,review=2"
    assert run("train", "t.csv", *words, "--costs", prices)[0] == 0
    assert inspect("m.rejo").table["prices"] == [[0, 50, 2], [5, 0, 2]]
    run("predict", "m.rejo", "t.csv", "-o", "d.csv")
    decisions = pd.read_csv("d.csv")
    queue = decisions.dropna(subset="rank").sort_values("rank")
    assert (queue["worth"].diff().dropna() <= 1e-9).all()  # in money, highest first
    assert (queue["worth"] >= 0).all()
    assert (decisions.loc[decisions["rank"].isna(), "worth"] < 0).all()
    refused(2, "train", "t.csv", *words, "--overwrite", "--costs", "error:worse=5,review=2")


def test_boundaries_for_prices_by_class(run, refused, table):
    table(200).to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic", "-o", "m.rejo")
    prices = "error:bad=50,error:good=5,review=2"
    assert run("train", "t.csv", *words, "--costs", prices)[0] == 0
    assert inspect("m.rejo").table["prices"] == [[0, 50, 2], [5, 0, 2]]
    assert run("predict", "m.rejo", "t.csv", "-o", "d.csv")[0] == 0
    table(200, classes=("low", "mid", "high")).to_csv("t.csv", index=False)
    prices, order = "error:low=50,error:mid=5,error:high=9,review=2", "low,mid,high"
    line = refused(2, "train", "t.csv", *words, "--overwrite", "--costs", prices, "--order", order)
    assert "logistic-posterior" in line  # takes any prices


def test_numbers_sort_as_numbers(run, table):
    table(classes=("9", "10", "100")).to_csv("t.csv", index=False)
    words = (*FIXED[:4], "--model", "logistic-posterior", "-o", "m.rejo")
    assert train(run, "t.csv", *words)["classes"] == ["9", "10", "100"]


def respell(words, *spellings):
    """Write each class in turn in several ways."""
    return [spellings[i % len(spellings)](word) for i, word in enumerate(words)]


@pytest.mark.parametrize(
    ("spellings", "classes", "said"),
    [
        ((str.title, str.upper, lambda word: f" {word} "), {"BAD", "GOOD", "Bad", "Good"}, "GOOD"),
        ((str.lower, lambda word: word.replace("good", "good  ")), {"bad", "good"}, ""),
        (({"bad": "0", "good": "1"}.get, {"bad": "0.0", "good": "1.0"}.get), {"0", "1"}, "'0.0'"),
    ],
)
def test_one_class_in_several_spellings(run, table, spellings, classes, said):
    frame = table()
    frame["grade"] = respell(frame["grade"], *spellings)
    frame.to_csv("t.csv", index=False)
    code, out, err = run("train", "t.csv", "--id", "case", *FIXED)
    assert (code, err) == (0, "")
    assert said in out
    assert ("--exact" in out) == bool(said)
    found = load("m.rejo").classes_.tolist()
    assert len(found) == 2
    assert set(found) <= classes


def test_classes_in_a_file_with_a_decimal_comma(run, table):
    frame = table()
    frame["grade"] = respell(frame["grade"], {"bad": "0", "good": "1"}.get,
                             {"bad": "0,0", "good": "1,0"}.get)  # fmt: skip
    frame.to_csv("t.csv", index=False, sep=";", decimal=",")
    assert len(train(run, "t.csv", "--id", "case", *FIXED)["classes"]) == 2


def test_exact_keeps_spellings_apart(run, table):
    frame = table()
    frame["grade"] = respell(frame["grade"], str.lower, str.upper)
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--reject-cost", "0.2", "--model", "logistic-posterior")
    result = train(run, "t.csv", "--id", "case", *words, "-o", "m.rejo", "--exact")
    assert result["classes"] == ["BAD", "GOOD", "bad", "good"]


def test_an_order_and_prices_match_other_spellings(run, refused, table):
    frame = table(classes=("Low", "Mid", "High"))
    frame["grade"] = respell(frame["grade"], str.title, str.upper)
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--model", "logistic-posterior", "-o", "m.rejo", "--overwrite")
    prices = "error:LOW=5,error:mid=4,high>low=9,high>mid=2,review=1"
    result = train(
        run, "t.csv", "--id", "case", *words, "--order", "low,mid,high", "--costs", prices
    )
    assert result["classes"] == ["low", "mid", "high"]
    assert inspect("m.rejo").table["prices"] == [[0, 5, 5, 1], [4, 0, 4, 1], [9, 2, 0, 1]]
    again = refused(
        2, "train", "t.csv", *words, "--order", "low,Low,mid,high", "--reject-cost", 0.2
    )
    assert "'Low'" in again
    twice = refused(2, "train", "t.csv", *words, "--costs", "error=5,review:low=1,review:LOW=2")
    assert "review:" in twice


@pytest.mark.parametrize(
    "empty",
    [
        "",
        "-",
        "tbc",
        *(
            pytest.param(word, marks=pytest.mark.check)
            for word in ("n/a", "?", "#N/A", "NULL", "none")
        ),
    ],
)
def test_rows_without_a_class_are_left_out(run, table, empty):
    frame = table()
    kept = frame["grade"].where(frame.index % 50 != 7)
    frame[kept.notna()].to_csv("kept.csv", index=False)
    frame.assign(grade=kept.fillna(empty)).to_csv("t.csv", index=False)
    code, out, err = run("train", "t.csv", "--id", "case", *FIXED, "--missing", "tbc", "--json")
    assert (code, json.loads(out)["n_cases"]) == (0, 117)
    assert "3 of 120 rows" in err
    assert err.count("\n") == 1
    assert ("--order" in err) == bool(empty)  # which keeps a word that is a class
    hash = inspect("m.rejo").data_hash
    train(run, "kept.csv", "--id", "case", *FIXED, "--overwrite")
    assert inspect("m.rejo").data_hash == hash


@pytest.mark.parametrize("pair", [("-", "+"), ("none", "some"), ("?", "yes")])
def test_a_class_may_be_a_word_that_often_means_nothing(run, table, pair):
    table(classes=pair).to_csv("t.csv", index=False)
    order = ("--order", ",".join(pair)) if "?" in pair else ()
    result = train(run, "t.csv", "--id", "case", *FIXED, *order)
    assert set(result["classes"]) == set(pair)


def test_a_class_called_review(run, table):
    table(classes=("review", "good")).to_csv("t.csv", index=False)
    code, out, _ = run("train", "t.csv", "--id", "case", *FIXED)
    assert code == 0
    assert "review_" in out
    model = load("m.rejo")
    assert model.reject_label_ == "review_"
    assert run("predict", "m.rejo", "t.csv", "-o", "d.csv", "--book", "b.db")[0] == 0
    found = pd.read_csv("d.csv", dtype=str)
    assert {"review", "review_", "good"} == set(found["decision"])
    said = found[["case"]].assign(**{"class": ["review", "review_", "?", "good"] * 30})
    said.to_csv("said.csv", index=False)
    told = json.loads(run("answers", "b.db", "said.csv", "--json")[1])
    assert (told["added"], told["pending"], told["unknown_classes"]) == (60, 60, {})
    result = json.loads(run("evaluate", "m.rejo", "t.csv", "--json")[1])
    reviewed = (found["decision"] == "review_").mean()
    assert result["seen"]["rejection_rate"]["estimate"] == pytest.approx(reviewed)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.assign(grade=t["case"].add("x")),
        lambda t: t.assign(grade="n/a"),
        lambda t: t.assign(grade=None),
        lambda t: t[["grade", "case"]],
    ],
)
def test_tables_that_cannot_be_learned_from(refused, table, change):
    """Another transcript has what is said of such tables; here are more of them."""
    change(table()).to_csv("t.csv", index=False)
    refused(3, "train", "t.csv", *FIXED)
    assert files() == ["t.csv"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"grade\n", b"\x00\x01\x02,\n"])
def test_files_that_are_not_tables(refused, folder, content):
    (folder / "t.csv").write_bytes(content)
    refused(3, "train", "t.csv", *FIXED)
    assert files() == ["t.csv"]


def test_a_folder_is_not_a_table(refused, folder):
    (folder / "t.csv").mkdir()
    assert "folder" in refused(3, "train", "t.csv", *FIXED)


@pytest.mark.parametrize("option", ["--id", "--by"])
def test_an_unknown_column(refused, table, option):
    table().to_csv("t.csv", index=False)
    assert "'region'" in refused(3, "train", "t.csv", *FIXED, option, "Region")


# ---- the operating point ------------------------------------------------------------------

LOGISTIC = (
    "--target",
    "grade",
    "--id",
    "case",
    "--model",
    "logistic",
    "-o",
    "m.rejo",
    "--overwrite",
)


def test_each_of_the_four_targets(run, table):
    table(200).to_csv("t.csv", index=False)
    price = train(run, "t.csv", *LOGISTIC, "--reject-cost", "0.2")
    assert price["reject_cost"] == 0.2
    same = train(run, "t.csv", *LOGISTIC, "--costs", "error=100,review=20")
    assert same["reject_cost"] == pytest.approx(0.2)
    assert same["expected"] == price["expected"]
    assert inspect("m.rejo").table["prices"] == [[0, 100, 20], [100, 0, 20]]
    budget = train(run, "t.csv", *LOGISTIC, "--review-budget", "15%")
    assert budget["expected"]["rejection_rate"]["estimate"] <= 0.15
    error = train(run, "t.csv", *LOGISTIC, "--max-error", "0.12")
    assert error["expected"]["accepted_error_rate"]["estimate"] <= 0.12
    assert error["operating_point"]["target"] == {"max_error": 0.12}


def test_a_guarantee(run, table):
    table(300).to_csv("t.csv", index=False)
    result = train(run, "t.csv", *LOGISTIC, "--review-budget", "0.3", "--confidence", "0.9")
    assert result["promises"][0]["confidence"] == 0.9
    guarantee = load("m.rejo").guarantee_
    assert guarantee.bound <= 0.3


def test_the_cases_that_prove_a_guarantee_are_not_tuned_on(run, table, monkeypatch):
    """Nothing that is chosen changes with their classes."""
    seen = []

    def spy(prepare, X, y, **options):
        choice = choose_model(prepare, X, y, **options)
        seen.append((set(X.index), choice.chosen.params, choice.chosen.log_loss))
        return choice

    monkeypatch.setattr("rejo.selection.operating.choose_model", spy)
    table(300).to_csv("t.csv", index=False)
    words = ("t.csv", *LOGISTIC, "--max-error", "0.2", "--confidence", "0.9")
    assert run("train", *words)[0] == 0
    assert 150 <= len(seen[0][0]) <= 210
    frame = table(300)
    proof = ~frame.index.isin(list(seen[0][0]))
    frame.loc[proof, "grade"] = frame.loc[proof, "grade"].map({"good": "bad", "bad": "good"})
    frame.to_csv("t.csv", index=False)
    assert run("train", *words, "--overwrite")[0] == 5  # no model keeps to anything on such cases
    assert seen[1] == seen[0]


def test_a_class_too_rare_for_a_guarantee(refused, table):
    frame = table()
    frame.loc[:4, "grade"] = "worse"
    frame.to_csv("t.csv", index=False)
    words = (
        *LOGISTIC,
        "--order",
        "worse,bad,good",
        "--review-budget",
        "0.5",
        "--confidence",
        "0.9",
    )
    rows = np.arange(len(frame))

    def kept(seed):
        return train_test_split(rows, test_size=0.3, random_state=seed)[0]

    seed = next(seed for seed in range(10_000) if kept(seed).min() > 4)
    assert "'worse'" in refused(3, "train", "t.csv", *words, "--seed", seed)
    assert files() == ["t.csv"]


def test_a_target_that_cannot_be_reached(refused, table):
    frame = table()
    frame["grade"] = np.random.RandomState(0).permutation(frame["grade"])  # nothing to learn
    frame.to_csv("t.csv", index=False)
    for words in (("--max-error", "0.0001"), ("--max-error", "0.001", "--confidence", "0.95")):
        line = refused(5, "train", "t.csv", *LOGISTIC, *words)
        least = float(re.search(r"; (0\.\d+) would", line)[1])
        assert 0 < least < 1
    assert files() == ["t.csv"]


# ---- the kind of model --------------------------------------------------------------------


FEW = ("logistic", "logistic-posterior", "svm")  # the others in `make check`


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k in FEW else pytest.mark.check) for k in TRAINED]
)
def test_each_kind_of_model(run, table, kind):
    if METHODS[kind].least_classes > 2:
        pytest.skip("for three or more classes")
    table().to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--reject-cost", "0.2", "-o", "m.rejo")
    result = train(run, "t.csv", *words, "--model", kind)
    assert result["family"] == kind
    kernels = ("svm", "kernel-logistic", "kernel-posterior", "blend")
    assert (result["n_training_rows"] > 0) == (kind in kernels)
    model = load("m.rejo")
    assert set(model.predict(table())) <= {"bad", "good", "review"}


def test_models_to_choose_from_are_compared(run, table):
    table().to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--reject-cost", "0.2", "-o", "m.rejo")
    names = "logistic-posterior,kernel-posterior"
    code, out, _ = run("train", "t.csv", *words, "--model", names, "--verbose")
    assert code == 0
    rows = re.findall(
        r"^  (\S+) +log loss ([\d.]+) +cost ([\d.]+) \(([\d.]+) to ([\d.]+)\)(.*)$", out,
        re.MULTILINE,
    )  # fmt: skip
    assert {name for name, *_ in rows} == {*names.split(","), "blend"}
    losses = [float(loss) for _, loss, *_ in rows]
    assert losses[1:] == sorted(losses[1:])  # the chosen one stands first
    assert all(float(low) < float(cost) < float(high) for *_, cost, low, high, _ in rows)
    (chosen,) = [name for name, *_, mark in rows if "<- chosen" in mark]
    assert chosen == rows[0][0]
    assert f"notes: rejo train, {chosen}" in str(inspect("m.rejo"))


def test_stages_are_told_with_the_time_left(table, capsys, monkeypatch):
    monkeypatch.setattr("rejo.selection.models.LEGS", (60,))
    monkeypatch.setattr("rejo.selection.models.SOON", 0)
    table(200).to_csv("t.csv", index=False)
    names = "logistic-posterior,kernel-posterior"
    assert cli.main(["train", "t.csv", *FIXED[:4], "--model", names, "-o", "m.rejo"]) == 0
    lines = re.findall(r"^\[ *\d+ s\] (.*)$", capsys.readouterr().err, re.MULTILINE)
    assert "60 of 200" in lines[0]
    assert all(re.search(r"about \d+ (s|min) left", line) for line in lines[1:])


def test_auto_leaves_slow_machines_out(run, table, monkeypatch):
    monkeypatch.setattr("rejo.selection.models.TRAINED", ("logistic-posterior", "kernel-posterior"))
    slow = replace(catalogue.METHODS["kernel-posterior"], max_samples=100)
    monkeypatch.setitem(catalogue.METHODS, "kernel-posterior", slow)
    table().to_csv("t.csv", index=False)
    code, out, _ = run("train", "t.csv", *FIXED[:4], "-o", "m.rejo", "--id", "case", "--verbose")
    assert code == 0
    assert re.search("Left out: kernel-posterior .*100 rows", out)


def test_the_seed_makes_a_model_repeatable(run, table):
    table().to_csv("t.csv", index=False)
    hashes = []
    for seed in ("0", "0", "1"):
        words = ("--target", "grade", "--reject-cost", "0.2", "--model", "mlp", "-o", "m.rejo")
        train(run, "t.csv", *words, "--id", "case", "--seed", seed, "--overwrite")
        hashes.append(inspect("m.rejo").payload_hash)
    assert hashes[0] == hashes[1] != hashes[2]


# ---- what is told, and what is written ----------------------------------------------------


def test_json_says_what_the_file_says(run, table):
    table().to_csv("t.csv", index=False)
    result = train(run, "t.csv", "--id", "case", *FIXED)
    assert (result["n_cases"], result["model"]) == (120, "m.rejo")
    found, model = inspect("m.rejo"), load("m.rejo")
    assert result["expected"] == found.expected
    assert result["operating_point"] == found.operating_point
    assert isinstance(model, RejectClassifierCV)
    assert model.summary() == result["summary"]
    assert np.mean(model.predict_forced(table()) == table()["grade"]) > 0.7


def test_the_report_is_one_page_of_its_own(run, table):
    table(150).to_csv("t.csv", index=False)
    words = (*FIXED, "--id", "case", "--by", "region", "--report", "r.html")
    code, out, err = run("train", "t.csv", *words)
    assert (code, err) == (0, "")
    assert files() == ["m.rejo", "r.html", "t.csv"]
    page = Path("r.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//|file:)""", page)
    assert not re.search(r"@import|url\((?!['\"]?(?:data:|#))", page)
    assert "rejo train t.csv --target grade" in page
    for word in ("region", "north", "south"):
        assert word in page
    assert re.search(r"^Report: r\.html \(\d+ KB\)$", out, re.MULTILINE)


def test_the_report_fits_no_model_again(run, table, monkeypatch):
    """Its folds were fitted when the operating point was chosen, the encoder once for each fold."""
    fits = {}

    def count(kind):
        fit = kind.fit

        def counted(self, *args, **kwargs):
            fits[kind] = fits.get(kind, 0) + 1
            return fit(self, *args, **kwargs)

        monkeypatch.setattr(kind, "fit", counted)

    count(RejoLinear)
    count(TableEncoder)
    table().to_csv("t.csv", index=False)
    words = ("train", "t.csv", *LOGISTIC, "--review-budget", "0.4", "--n-jobs", "1")
    assert run(*words)[0] == 0
    without = dict(fits)
    assert run(*words, "--report", "r.html")[0] == 0
    assert fits == {kind: 2 * number for kind, number in without.items()}


def test_posteriors_are_computed_once(run, table, monkeypatch):
    """Folds for tuning are those of the operating point, the report and the comparison."""
    fits = []
    fit = LogisticRegression.fit

    def counted(self, *args, **kwargs):
        fits.append(self.C)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(LogisticRegression, "fit", counted)
    table().to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--model", "logistic-posterior", "--n-jobs", "1")
    words += ("--review-budget", "0.4", "-o", "m.rejo", "--report", "r.html")
    assert run("train", "t.csv", *words)[0] == 0
    assert len(fits) == 3 * 5 + 2 + 1  # three folds for five penalties, two more, all cases


def test_nothing_is_replaced_without_overwrite(refused, run, table, folder):
    table().to_csv("t.csv", index=False)
    for name in ("m.rejo", "r.html"):
        (folder / name).write_text("precious")
        line = refused(2, "train", "t.csv", "--id", "case", *FIXED, "--report", "r.html")
        assert name in line
        assert (folder / name).read_text() == "precious"
        (folder / name).unlink()
    (folder / "m.rejo").write_text("precious")
    train(run, "t.csv", "--id", "case", *FIXED, "--overwrite")
    assert files() == ["m.rejo", "t.csv"]
    load("m.rejo")


def test_a_file_has_one_role(refused, table):
    table().to_csv("t.csv", index=False)
    before = Path("t.csv").read_text()
    words = ("--target", "grade", "--reject-cost", "0.2", "--model", "logistic", "--overwrite")
    refused(2, "train", "t.csv", *words, "-o", "./t.csv")
    refused(2, "train", "t.csv", *words, "-o", "a.html", "--report", "a.html")
    assert Path("t.csv").read_text() == before
    assert files() == ["t.csv"]


@pytest.mark.parametrize(
    "words", ["-o nowhere/m.rejo", "-o .", "-o m.rejo --report nowhere/r.html", "-o m.csv"]
)
def test_a_wrong_output_is_refused_before_any_work(refused, monkeypatch, words):
    monkeypatch.setattr("rejo.cli.train.read_cases", lambda arguments: pytest.fail("read"))
    line = refused(2, "train", "t.csv", "--target", "y", "--reject-cost", "0.2", *words.split())
    assert words.split()[-1].split("/")[0] in line
    assert files() == []


def test_a_failed_write_leaves_the_old_file(refused, table, folder, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "Permission denied")

    table().to_csv("t.csv", index=False)
    (folder / "m.rejo").write_text("old")
    monkeypatch.setattr("os.replace", refuse)
    assert "Permission denied" in refused(2, "train", "t.csv", *FIXED, "--overwrite")
    assert files() == ["m.rejo", "t.csv"]
    assert (folder / "m.rejo").read_text() == "old"


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_page_is_written_whole_or_not_at_all(folder, failure, monkeypatch):
    from rejo.cli._files import CommandError, write_file

    def fail(descriptor):
        assert os.fstat(descriptor).st_size == 4  # the page is on its way
        raise failure

    monkeypatch.setattr("os.fsync", fail)
    (folder / "old.html").write_text("old")
    with pytest.raises((CommandError, KeyboardInterrupt)) as error:
        write_file(folder / "old.html", "half")
    if isinstance(failure, OSError):
        assert "No space left on device" in str(error.value)
    assert files() == ["old.html"]
    assert (folder / "old.html").read_text() == "old"


def test_warnings_of_models_that_are_not_taken_are_not_shown(run, table, monkeypatch):
    """Such as of those that reject all, or nothing, at a low price of a review."""

    def careful(problem=None):
        plain = LogisticRegression()
        model = ReplicationClassifier(plain, reject_cost=0.2)
        return catalogue.Built(model, {"estimator__C": (1e-6,)}, plain)

    frame = table()
    frame.to_csv("t.csv", index=False)
    with pytest.warns(UserWarning, match="rejects"):
        careful().estimator.set_params(reject_cost=0.02, estimator__C=1e-6).fit(
            frame[["age"]], frame["grade"]
        )
    method = replace(catalogue.METHODS["logistic"], build=careful)
    monkeypatch.setitem(catalogue.METHODS, "logistic", method)
    code, _, err = run("train", "t.csv", *LOGISTIC, "--review-budget", "0.4")
    assert (code, err) == (0, "")


@pytest.mark.check
def test_twelve_classes_without_an_order(run, table):
    frame = table(600, tuple(f"kind {letter}" for letter in "abcdefghijkl"))
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--id", "case", "--drop", "since", "-o", "m.rejo", "--overwrite")
    words += ("--model", "logistic-posterior,forest-posterior")
    code, _, err = run("train", "t.csv", *words, "--review-budget", "0.1")
    assert (code, err) == (0, "")
    model = load("m.rejo")
    assert 0.1 - 1.5 / 600 < model.rates_[0] <= 0.1
    result = train(run, "t.csv", *words, "--reject-cost", "0.9")
    assert result["reject_cost"] == 0.9
