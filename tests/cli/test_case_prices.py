"""Prices that depend on the case, from a lender's table to decisions in money."""

import argparse
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rejo import ThresholdRejectClassifier, cli, review
from rejo._errors import RejoError
from rejo.cli._options import costs
from rejo.decisions import decide
from rejo.persistence import load, save
from rejo.prices import price_columns, price_matrix, read_prices
from rejo.tables import TableEncoder

pd = pytest.importorskip("pandas")

COSTS = "error:default=0.6*amount,error:repaid=0.02*amount+50,review=40"
CLASSES = ["default", "repaid"]


def make_loans(n=300, seed=0):
    """Loans whose amounts say nothing about their risk."""
    random = np.random.RandomState(seed)
    risk = random.normal(size=n)
    default = risk + random.normal(size=n) > 1
    return pd.DataFrame({
        "risk": risk.round(3), "age": random.randint(18, 90, n),
        "amount": np.exp(random.normal(7, 1, n)).round(2), "job": random.choice(["a", "b"], n),
        "target": np.where(default, *CLASSES),
    })  # fmt: skip


@pytest.fixture(scope="module")
def lender(tmp_path_factory):
    """A model in whose training the amounts were for prices only, and new loans."""
    home = tmp_path_factory.mktemp("lender")
    model, new = home / "loans.rejo", home / "new.csv"
    make_loans().to_csv(home / "loans.csv", index=False)
    make_loans(200, seed=1).to_csv(new, index=False)
    words = ["train", home / "loans.csv", "--target", "target", "--costs", COSTS, "--drop",
             "amount", "--model", "logistic-posterior", "-o", model]  # fmt: skip
    assert cli.main(list(map(str, words))) == 0
    return model, new


def test_decisions_and_worth_are_those_of_each_amount(lender, predict):
    model, new = lender
    table, found = pd.read_csv(new), predict(*lender)
    classifier = load(model)
    p = classifier.predict_proba(table)
    by_hand = decide(p, price_matrix(COSTS, CLASSES, columns=table))
    fine = found["reason"].isin(["", "ambiguous"]).to_numpy()
    assert fine.mean() > 0.9
    decided = np.array([*CLASSES, "review"])[by_hand.decision]
    assert (found["decision"].to_numpy() == decided)[fine].all()
    worth = found["worth"][fine].astype(float)
    np.testing.assert_allclose(worth, by_hand.worth[fine], rtol=1e-4, atol=1e-3)
    ranked = found[fine & (found["decision"] == "review")].astype({"rank": int})
    assert ranked.sort_values("rank")["worth"].astype(float).is_monotonic_decreasing
    assert "amount" not in classifier.best_estimator_[0].get_feature_names_out()


def test_an_amount_that_is_missing_or_unlike_training_goes_to_review(lender, predict, folder):
    table = pd.read_csv(lender[1]).astype({"amount": object})
    cells = {0: None, 1: "abc", 2: -500, 3: 9e7}
    for row, cell in cells.items():
        table.loc[row, "amount"] = cell
    table.to_csv("bad.csv", index=False)
    found = predict(lender[0], "bad.csv")[:4]
    assert set(found["decision"]) == {"review"}
    assert found["detail"].str.startswith("amount: ").all()


def test_amounts_in_other_units_stop_the_file(lender, run, folder):
    table = pd.read_csv(lender[1])
    table.assign(amount=100 * table["amount"]).to_csv("cents.csv", index=False)
    code, _, err = run("predict", lender[0], "cents.csv", "-o", "out.csv")
    assert code == 6
    assert "--accept amount" in err


def test_the_capacity_takes_the_reviews_that_are_worth_most(lender, predict):
    every, some = predict(*lender), predict(*lender, "--capacity", 20)
    kept = some.index[some["decision"] == "review"]
    assert set(every.loc[kept, "rank"].astype(int)) == set(range(1, 21))


def test_reviews_at_prices_of_each_case_are_shared(lender, predict, folder):
    pd.DataFrame({"name": ["ann", "bob"], "cases": [30, 40]}).to_csv("team.csv", index=False)
    found = predict(*lender, "--reviewers", "team.csv").query("decision == 'review'")
    assert found["reviewer"].value_counts().to_dict() == {"bob": 40, "ann": 30, "": len(found) - 70}
    assert found.loc[found["rank"].astype(int) <= 70, "reviewer"].ne("").all()


def test_order_and_decisions_do_not_depend_on_the_pieces(lender, run, folder, monkeypatch):
    pytest.importorskip("pyarrow.parquet")
    table = pd.read_csv(lender[1])
    (folder / "parts").mkdir()
    for i in range(2):
        table[100 * i : 100 * (i + 1)].to_parquet(folder / "parts" / f"{i}.parquet")
    assert run("predict", lender[0], lender[1], "-o", "whole.csv")[0] == 0
    assert run("predict", lender[0], "parts", "-o", "decided")[0] == 0
    whole = pd.read_csv("whole.csv")
    pieces = pd.concat(map(pd.read_parquet, sorted((folder / "decided").glob("*.parquet"))))
    for name in ("decision", "rank", "worth"):
        assert whole[name].equals(pieces[name].reset_index(drop=True).astype(whole[name].dtype))


def test_evaluate_counts_money_case_by_case(lender, run):
    model, new = lender
    _, out, _ = run("evaluate", model, new, "--json")
    found, table = json.loads(out), pd.read_csv(new)
    rows = price_matrix(COSTS, CLASSES, columns=table)[
        np.arange(len(table)), [CLASSES.index(label) for label in table["target"]]
    ]
    decision = run_decisions(run, *lender)
    paid = rows[np.arange(len(rows)), decision]
    assert found["costs"]["decided"] == pytest.approx(paid.mean())
    assert found["costs"]["review_all"] == pytest.approx(40)
    assert found["seen"]["mean_cost"]["estimate"] == pytest.approx(paid.mean())
    assert found["expected"]["mean_cost"]["low"] < found["expected"]["mean_cost"]["high"]
    (verdict,) = found["target"]
    assert verdict["seen"] == pytest.approx(paid.mean())
    by_class = {row["value"]: row["cost"] for row in found["by_true_class"]}
    for label, cost in by_class.items():
        assert cost == pytest.approx(paid[table["target"] == label].sum())


def test_cases_without_a_price_count_in_no_cost(lender, run, folder):
    table = pd.read_csv(lender[1])
    table.loc[:9, "amount"] = -500.0
    table.to_csv("some.csv", index=False)
    table[10:].to_csv("priced.csv", index=False)
    table.assign(amount=-500.0).to_csv("none.csv", index=False)
    some, priced, none = (
        json.loads(run("evaluate", lender[0], f"{name}.csv", "--json", *more)[1])
        for name, *more in (["some"], ["priced"], ["none", "--report", "page.html"])
    )
    assert some["costs"] == pytest.approx(priced["costs"])
    assert some["seen"]["mean_cost"]["estimate"] == pytest.approx(some["costs"]["decided"])
    assert some["target"][0]["seen"] == pytest.approx(some["costs"]["decided"])
    money = sum(row["cost"] for row in some["by_true_class"])
    assert money / 190 == pytest.approx(some["costs"]["decided"])
    assert (none["costs"], none["target"]) == (None, [])
    assert "mean_cost" not in none["seen"]


def run_decisions(run, model, new):
    assert run("predict", model, new, "-o", "own.csv", "--overwrite")[0] == 0
    words = pd.read_csv("own.csv")["decision"]
    return np.array([CLASSES.index(word) if word in CLASSES else -1 for word in words])


def test_new_prices_of_evaluate_may_name_columns_that_the_model_reads(lender, run, refused):
    other = "error=2*amount,review=max(10, 0.01*amount)"
    found = json.loads(run("evaluate", *lender, "--costs", other, "--json")[1])
    table = pd.read_csv(lender[1])
    assert found["costs"]["review_all"] == pytest.approx(
        np.maximum(10, 0.01 * table["amount"]).mean()
    )
    assert found["seen"]["mean_cost"]["estimate"] == pytest.approx(found["costs"]["decided"])
    assert (found["target"], "mean_cost" in found["expected"]) == ([], False)
    assert "job" in refused(2, "evaluate", *lender, "--costs", "error=job,review=1")


@pytest.mark.parametrize(
    ("given", "cell", "words"),
    [
        ("error=0.6*amuont,review=40", None, ["amuont", "amount"]),
        ("error=0.6*job,review=40", None, ["job", "line 2"]),
        ("error=0.6*target,review=40", None, ["--target"]),
        (COSTS, "abc", ["amount", "line 9", "abc"]),
        (COSTS, "", ["amount", "line 9"]),
        (COSTS, "dates", ["amount", "line 2", "2024-05-01"]),
        (COSTS, "-500", ["amount", "line 9", "-500"]),
        ("error:bad=amount,error=5,review=40", None, ["bad", "default"]),
        ("error=0.001*amount,review=4000", None, ["review"]),
    ],
)
def test_prices_that_cannot_be_are_refused_in_training(run, given, cell, words):
    table = make_loans(100).astype({"amount": object})
    if cell is not None:
        table.loc[7 if cell != "dates" else slice(None), "amount"] = cell.replace(
            "dates", "2024-05-01"
        )
    table.to_csv("loans.csv", index=False)
    code, _, err = run(
        "train", "loans.csv", "--target", "target", "--costs", given, "-o", "m.rejo"
    )  # fmt: skip
    assert code != 0
    last = err.strip().splitlines()[-1]
    assert all(word in last for word in words), last


def test_a_review_may_pay_where_errors_are_not_most_expensive(run, refused):
    """To turn away a large loan costs nothing, and a review never pays there."""
    make_loans(200).to_csv("loans.csv", index=False)
    words = ("train", "loans.csv", "--target", "target", "--model", "logistic-posterior")
    costs = "error:default=0.6*amount,error:repaid=max(0, 400-0.1*amount),review={}"
    assert run(*words, "--costs", costs.format(40), "-o", "m.rejo")[0] == 0
    refused(2, *words, "--costs", costs.format(4000), "-o", "m.rejo", "--overwrite")


def test_very_large_amounts_are_ranked_to_the_last_digit(run, predict):
    table = make_loans(150).assign(amount=lambda t: 1e9 + t["age"])
    table.to_csv("loans.csv", index=False)
    words = ("--target", "target", "--drop", "amount,age,risk", "--model", "logistic-posterior")
    costs = "error=amount,review=1000"
    assert run("train", "loans.csv", *words, "--costs", costs, "-o", "m.rejo")[0] == 0
    found = predict("m.rejo", "loans.csv")
    for _, some in found.astype({"rank": int}).groupby("chance_wrong"):
        amounts = table.loc[some.sort_values("rank").index, "amount"]
        assert amounts.is_monotonic_decreasing


def test_a_learner_that_errs_where_it_is_cheap_has_learned(run):
    table = make_loans(400)
    table["risk"] = 3 * (table["target"] == "default") + table["risk"]
    table.to_csv("loans.csv", index=False)
    words = ("train", "loans.csv", "--target", "target", "--model", "logistic", "-o", "m.rejo")
    _, out, _ = run(*words, "--costs", "error:default=500,error:repaid=1,review=0.9", "--json")
    assert not any("learned" in hint for hint in json.loads(out)["remarks"])


def test_look_and_inspect_say_what_a_column_is_used_for(lender, run):
    make_loans(100).to_csv("loans.csv", index=False)
    words = ("look", "loans.csv", "--target", "target", "--costs", COSTS, "--json")
    assert json.loads(run(*words)[1])["price_columns"] == {"amount": True}
    found = json.loads(run(*words, "--drop", "amount")[1])
    assert found["price_columns"] == {"amount": False}
    assert "amount" not in found["columns"]
    header = json.loads(run("inspect", lender[0], "--json")[1])
    assert header["table"]["prices"] == read_prices(COSTS)
    assert header["n_features"] == 3  # the amounts are for prices only


@pytest.mark.parametrize(
    "prices",
    [
        {"error": "__import__('os')", "review": 40},
        {"error": "0.6*other", "review": 40},
        {"error:nobody": "amount", "error": 5, "review": 40},
        {"error": "amount", "review": [40]},
        {"error": "(" * 900 + "amount" + ")" * 900, "review": 40},
        {},
    ],
)
def test_a_header_with_other_formulas_is_refused(lender, refused, prices, folder):
    table = {"target": "target", "prices": prices}
    save(load(lender[0]), "hostile.rejo", table=table)
    for command in ("predict", "evaluate"):
        assert refused(4, command, "hostile.rejo", lender[1]).startswith("hostile.rejo: ")


@pytest.mark.parametrize("encoder", [TableEncoder(prices={"amount": False}), TableEncoder()])
def test_a_model_of_python_says_how_its_amounts_are_read(encoder, lender, run, folder):
    loans = make_loans()
    known = encoder.prices is not None
    X = loans.drop(columns="target" if known else ["target", "amount"])
    classifier = ThresholdRejectClassifier(LogisticRegression(), cost_of=COSTS)
    model = make_pipeline(encoder, classifier)
    model.fit(X, loans["target"], thresholdrejectclassifier__prices=loans)
    save(model, "own.rejo")
    code, _, err = run("predict", "own.rejo", lender[1], "-o", "out.csv")
    assert code == (0 if known else 4), err
    if known:
        expected = review(model, pd.read_csv(lender[1]))["decision"]
        assert (pd.read_csv("out.csv")["decision"] == expected).mean() > 0.95  # but for doubts


def test_training_in_pieces_refuses_formulas(run, folder):
    pytest.importorskip("pyarrow.parquet")
    (folder / "parts").mkdir()
    make_loans(100).to_parquet(folder / "parts" / "0.parquet")
    code, _, err = run("train", "parts", "--target", "target", "--costs", COSTS, "-o", "m.rejo")
    assert code != 0
    assert "amount" in err


PIECES = [
    "error", "review", "error:a", "a>b", "step", "accuracy", "=", ",", ";", ":", ">", "*", "+", "-",
    "(", ")", "min(", "max(", '"', '""', "amount", "0.6", "5", "1e9", "1.000", ".", " ", "/", "**",
    "__class__", "lambda", "\0", "é", "½", "nan", "inf", "%", "0x1", "\u2028", "x" * 60, "(" * 60,
]  # fmt: skip


def made_up_formula(random, depth=0):
    """A formula in the grammar."""
    kind = random.randint(7 if depth < 4 else 2)
    if kind < 2:
        return str(random.choice(["amount", '"a ""b"" c"', "0.6", "5", "1e3", ".5", "x1"]))
    one, two = (made_up_formula(random, depth + 1) for _ in range(2))
    return [f"{one}+{two}", f"{one}*{two}", f"({one} - {two})", f"max({one}, {two})", f"-{one}"][
        kind - 2
    ]


def made_up_prices(random):
    """Prices as people may write them, often with a few mistakes; or any pieces."""
    if random.rand() < 0.2:
        return "".join(random.choice(PIECES, random.randint(14)))
    text = ",".join(f"{key}={made_up_formula(random)}" for key in ("error", "review:a", "review"))
    for _ in range(random.randint(3)):
        at = random.randint(len(text) + 1)
        text = text[:at] + str(random.choice(PIECES)) * random.randint(2) + text[at + 1 :]
    return text


@pytest.mark.check
def test_any_text_is_prices_or_an_error():
    random, n_taken = np.random.RandomState(0), 0
    for _ in range(20_000):
        text = made_up_prices(random)
        try:
            found = costs(text)
            names = price_columns(found)
            columns = {name: np.array([0.0, 3.5, np.nan]) for name in names}
            L = price_matrix(found, ["a", "b"], columns=columns)
        except (argparse.ArgumentTypeError, RejoError):
            continue
        assert (L[~np.isnan(L)] >= 0).all(), text
        assert all(name in text.replace('""', '"') for name in names), text
        n_taken += bool(names)
    assert n_taken > 1000
