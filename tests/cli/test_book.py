"""From decisions to answers and back: ``--book``, ``rejo answers``, ``book`` and ``update``."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from rejo import cli
from rejo.book import Book
from rejo.persistence import inspect, load

from .conftest import make_table

SHARE = 0.2


@pytest.fixture(scope="session")
def posterior(tmp_path_factory):
    """Path of a model with prices, and of the table it was trained on."""
    home = tmp_path_factory.mktemp("posterior")
    data, model = home / "old.csv", home / "old.rejo"
    make_table(300).to_csv(data, index=False)
    code = cli.main(
        ["train", str(data), "--target", "grade", "--id", "case", "--costs", "error=10,review=2",
         "--drop", "region", "--model", "logistic-posterior", "-o", str(model)]
    )  # fmt: skip
    assert code == 0
    return model, data


def new_cases(n, name, seed, **more):
    frame = make_table(n, seed=seed).assign(**more)
    frame["case"] = [f"{name}-{i}" for i in range(n)]
    frame.to_csv(f"{name}.csv", index=False)
    return frame


def books(path="cases.db"):
    with Book(path) as book:
        return book.cases(), book.batches(), book.answers()


@pytest.fixture
def decide(run, posterior):
    """Decide a file into a book; return what is told, and the output."""

    def command(name, *words, code=0):
        words = ("predict", posterior[0], f"{name}.csv", "-o", "out.csv", "--overwrite", *words)
        found, out, err = run(*words, "--book", "cases.db", "--json")
        assert found == code, err
        return (json.loads(out) if out else None), pd.read_csv("out.csv", dtype={"case": str})

    return command


# ---- predict --book -------------------------------------------------------------------------


def test_the_book_has_what_the_output_has(decide, posterior):
    frame = new_cases(200, "week", 1)
    told, out = decide("week", "--capacity", "40")
    assert told["book"] == {"batch": 1, "known": False}
    assert decide("week", "--capacity", "40")[0]["book"] == {"batch": 1, "known": True}
    cases, batches, _ = books()
    assert cases["id"].tolist() == frame["case"].tolist()
    assert cases["decision"].fillna("review").tolist() == out["decision"].tolist()
    assert cases["rank"].tolist() == out["rank"].fillna(0).astype(int).tolist()
    assert cases["reason"].fillna("").tolist() == out["reason"].fillna("").tolist()
    np.testing.assert_allclose(cases["chance"], out["chance_wrong"], atol=1e-4)
    np.testing.assert_allclose(cases["worth"], out["worth"], rtol=1e-4)
    # The forced decision costs 10 if it is wrong.
    np.testing.assert_allclose(cases["cost"], 10 * cases["chance"], rtol=1e-6)
    assert cases["weight"].isna().all()
    assert batches["n"].tolist() == [200]
    assert {one["column"] for one in batches["columns"][0]} == {"age", "income", "job"}
    with Book("cases.db") as book:
        (about,) = book.models().values()
    assert about["classes"] == ["bad", "good"]
    assert about["prices"] == [[0, 10, 2], [10, 0, 2]]
    assert list(book_models()) == [inspect(posterior[0]).payload_hash]


def book_models():
    with Book("cases.db") as book:
        return book.models()


def test_an_audit_is_drawn_by_id_with_known_weights(decide):
    frame = new_cases(1500, "week", 2)
    plain, _ = decide("week")
    told, out = decide("week", "--audit", str(SHARE))
    cases = books()[0]
    cases = cases[cases["batch"] == told["book"]["batch"]].set_index("id")
    drawn, weight = cases["drawn"], cases["weight"]
    assert told["audited"] == drawn.sum()
    assert (out.set_index("case")["detail"] == "audit sample").equals(drawn.rename("detail"))
    decided = cases["decision"].notna() | drawn
    assert decided.sum() == plain["decided"]
    assert (weight.notna() == decided).all()
    # Neyman's allocation: half of the share alike, half by the standard deviation of an error.
    spread = np.sqrt(cases["chance"] * (1 - cases["chance"]))[decided]
    np.testing.assert_allclose(1 / weight[decided], SHARE / 2 * (1 + spread / spread.mean()))
    assert (1 / weight[decided]).sum() == pytest.approx(SHARE * decided.sum())
    assert drawn.sum() == pytest.approx(SHARE * decided.sum(), rel=0.3)
    assert weight[drawn].sum() == pytest.approx(decided.sum(), rel=0.3)
    # The order of the rows does not matter, the seed does.
    frame[::-1].to_csv("week.csv", index=False)
    assert decide("week", "--audit", str(SHARE))[0]["book"]["known"]
    other = decide("week", "--audit", str(SHARE), "--seed", "1")[0]["book"]["batch"]
    cases = books()[0]
    assert (cases[cases["batch"] == other].set_index("id")["drawn"][frame["case"]] != drawn).any()


def test_nothing_in_a_blind_output_tells_an_audited_case(decide):
    new_cases(800, "week", 3)
    _, seen = decide("week", "--audit", str(SHARE))
    _, out = decide("week", "--audit", str(SHARE), "--blind")
    drawn = (seen["detail"] == "audit sample").to_numpy()
    reviewed = (out["decision"] == "review").to_numpy()
    assert (reviewed == (seen["decision"] == "review")).all()
    assert set(out.loc[reviewed, "reason"]) == {"ambiguous"}
    assert out.loc[reviewed, ["chance_wrong", "worth"]].isna().all(axis=None)
    assert out.loc[reviewed, "detail"].str.startswith("between ").all()
    ranks = out.loc[reviewed, "rank"].to_numpy()
    assert sorted(ranks) == list(range(1, reviewed.sum() + 1))
    # Audited cases are spread over the order instead of being last.
    share = (out.loc[drawn, "rank"] / reviewed.sum()).mean()
    assert 0.3 < share < 0.7 < (seen.loc[drawn, "rank"] / reviewed.sum()).mean()
    assert books()[0].groupby("batch")["drawn"].sum().tolist() == [drawn.sum()]


def test_an_empty_table_and_an_empty_file_are_no_obstacle(decide, folder):
    (folder / "cases.db").touch()  # what a process leaves that is killed at once
    new_cases(30, "week", 1)[:0].to_csv("none.csv", index=False)
    assert decide("none")[0]["book"] == {"batch": 1, "known": False}
    assert decide("week")[0]["book"] == {"batch": 2, "known": False}
    assert books()[1]["n"].tolist() == [0, 30]


def test_a_book_that_cannot_be_used_stops_before_any_work(refused, posterior, folder):
    new_cases(30, "week", 1).drop(columns="case").to_csv("nameless.csv", index=False)
    new_cases(30, "twice", 1, case="x").assign(case="x").to_csv("twice.csv", index=False)
    (folder / "text.db").write_text("hello" * 500)
    words = ("predict", posterior[0])
    refused(2, *words, "week.csv", "-o", "o.csv", "--book", "text.db")
    refused(2, *words, "week.csv", "-o", "o.csv", "--book", "nowhere/cases.db")
    refused(2, *words, "week.csv", "-o", "o.csv", "--book", "week.csv")
    refused(2, *words, "week.csv", "-o", "o.csv", "--blind", "--audit", "0.1")
    refused(2, *words, "*.csv", "-o", "many/", "--book", "cases.db")
    for name in ("nameless.csv", "twice.csv"):
        refused_words = (*words, name, "-o", "o.csv", "--book", "cases.db")
        assert cli.main(list(map(str, refused_words))) == 2
    assert not (folder / "o.csv").exists()
    assert not (folder / "cases.db").exists() or not len(books()[0])


# ---- answers --------------------------------------------------------------------------------


@pytest.fixture
def decided(decide):
    frame = new_cases(200, "week", 1)
    _, out = decide("week", "--audit", str(SHARE))
    return frame.set_index("case")["grade"], out[out["decision"] == "review"]["case"].tolist()


def answer(run, file, *words, code=0):
    found, out, err = run("answers", "cases.db", file, "--json", *words)
    assert found == code, err
    return json.loads(out) if out else err


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl", "parquet"])
def test_answers_of_any_format_are_taken_once(run, decided, ending):
    truth, queue = decided
    half = len(queue) // 2
    frame = pd.DataFrame(
        {
            "case": queue,
            "class": [truth[id].upper() if i < half else "" for i, id in enumerate(queue)],
            "who": "Ann",
            "when": "2026-05-04 10:20",
        }
    )
    writers = {"csv": frame.to_csv, "xlsx": frame.to_excel}
    if ending in writers:
        writers[ending](f"a.{ending}", index=False)
    elif ending == "jsonl":
        frame.to_json("a.jsonl", orient="records", lines=True)
    else:
        frame.to_parquet("a.parquet")
    told = answer(run, f"a.{ending}")
    assert (told["added"], told["pending"], told["unknown_ids"]) == (half, len(queue) - half, [])
    assert answer(run, f"a.{ending}")["added"] == 0
    frame.to_csv("again.csv", index=False)
    assert answer(run, "again.csv")["added"] == 0
    cases = books()[0].set_index("id")
    assert cases["review"][queue[:half]].tolist() == truth[queue[:half]].tolist()
    assert set(cases["answered"][queue[:half]]) == {"2026-05-04T10:20:00.000Z"}
    assert cases["truth"].notna().sum() == half


def test_outcomes_and_columns_of_other_names(run, decided):
    truth, _ = decided
    truth.rename("grade").rename_axis("file").reset_index().to_csv("paid.csv", index=False)
    answer(run, "paid.csv", code=3)  # no column for the id
    answer(run, "paid.csv", "--id", "nothing", "--outcome", "grade", code=3)
    answer(run, "paid.csv", "--id", "file", "--outcome", "file", code=3)
    assert answer(run, "paid.csv", "--id", "file", "--outcome", "grade")["added"] == 200
    cases = books()[0].set_index("id")
    assert cases["outcome"].tolist() == cases["truth"].tolist() == truth.tolist()
    assert cases["who"].isna().all()


def test_the_outcome_may_have_the_name_of_the_target(run, decided):
    truth, queue = decided
    truth.rename_axis("case").reset_index().to_csv("paid.csv", index=False)
    told = answer(run, "paid.csv")
    assert (told["columns"]["outcome"], told["added"]) == ("grade", 200)
    both = pd.DataFrame({"case": queue, "class": "good", "grade": "bad"})
    both.to_csv("both.csv", index=False)  # in a queue it may be anything
    assert "outcome" not in answer(run, "both.csv")["columns"]


def test_sheets_that_are_something_else_are_passed_over(run, decided):
    _, queue = decided
    notes = pd.DataFrame({"remark": ["late"], "by": ["Ann"]})
    with pd.ExcelWriter("a.xlsx") as book:
        notes.to_excel(book, sheet_name="notes", index=False)
        for who, ids in {"Ann": queue[:3], "Bo": queue[3:5]}.items():
            frame = pd.DataFrame({"case": ids, "class": "good", "who": who})
            frame.to_excel(book, sheet_name=who, index=False)
    told = answer(run, "a.xlsx")
    assert (told["added"], list(told["passed_over"])) == (5, ["notes"])
    answer(run, "a.xlsx", "--sheet", "notes", code=3)
    notes.to_excel("b.xlsx", index=False)
    answer(run, "b.xlsx", code=3)


@pytest.mark.parametrize(
    ("fact", "value"),
    [("classes", [["bad"], "good"]), ("prices", "free"), ("prices", [[0]]), ("rates", [1]),
     ("rates", {"rejection_rate": 1}), ("columns", [3]), ("columns", {"age": 1}),
     ("promises", 7), ("promises", [{}])],
)  # fmt: skip
def test_facts_of_other_types_are_refused(run, decided, fact, value):
    base = sqlite3.connect("cases.db")
    with base:
        ((about,),) = base.execute("SELECT about FROM models")
        changed = json.dumps(json.loads(about) | {fact: value})
        base.execute("UPDATE models SET about = ?", (changed,))
    base.close()
    assert run("monitor", "cases.db")[0] == 2


def test_hostile_and_foreign_answers_change_nothing_else(run, decided):
    _, queue = decided
    odd = ['=HYPERLINK("http://x")', "'; DROP TABLE cases; --", "other-7", "\x07", "😀" * 2000]
    rows = [(id, "good", "=cmd|' /C calc'!A0") for id in odd]
    rows += [(queue[0], "=1+1", "Bob"), (queue[1], "gold", "Bob"), (queue[2], "good", "@SUM(A1)")]
    pd.DataFrame(rows, columns=["id", "class", "who"]).to_csv("odd.csv", index=False)
    told = answer(run, "odd.csv")
    assert (told["added"], len(told["unknown_ids"])) == (1, len(odd))
    assert told["unknown_classes"] == {"=1+1": 1, "gold": 1}
    cases, _, answers = books()
    assert (len(cases), answers["who"].tolist()) == (200, ["@SUM(A1)"])
    assert run("book", "cases.db", "-o", "all.csv")[0] == 0
    assert pd.read_csv("all.csv")["who"].dropna().tolist() == ["'@SUM(A1)"]
    before = books()[2]
    pd.DataFrame({"id": ["other-1", "other-2"], "class": "good"}).to_csv("other.csv", index=False)
    answer(run, "other.csv", code=3)  # of another book
    (pd.DataFrame({"id": queue, "class": ""})).to_csv("empty.csv", index=False)
    assert answer(run, "empty.csv")["pending"] == len(queue)
    assert books()[2].equals(before)


def test_an_id_that_a_spreadsheet_would_run_is_found_again(run, decide):
    frame = new_cases(40, "week", 1)
    frame["case"] = [f"=1+{i}" for i in range(40)]
    frame.to_csv("week.csv", index=False)
    _, out = decide("week")
    assert out["case"][0] == "'=1+0"
    out.assign(**{"class": "good"})[["case", "class"]].to_csv("a.csv", index=False)
    assert answer(run, "a.csv")["added"] == 40


def test_answers_that_nobody_could_have_meant_are_said(run, decided):
    a, b = decided[1][:2]

    def told(rows, *words, code=0):
        pd.DataFrame(rows, columns=["case", "class", "when"]).to_csv("a.csv", index=False)
        return answer(run, "a.csv", *words, code=code)

    told([(a, "good", "2300-01-01")], code=3)  # it would count for ever
    told([(a, "good", "0026-05-01")], code=3)
    told([(a, "1", "")], code=3)  # not one of the classes
    assert told([("", "good", ""), (a, "good", "")])["unknown_ids"] == [""]
    assert told([(b, "good", ""), (b, "bad", "")])["conflicts"] == [b]
    assert len(books()[2]) == 3
    pd.DataFrame({"case": [a], "outcome": ["bad"]}).to_csv("a.csv", index=False)
    assert answer(run, "a.csv", "--class", "outcome")["added"] == 1


def test_a_number_with_a_point_is_still_an_id(run, decide):
    frame = new_cases(40, "week", 1)
    frame.assign(case=range(40)).to_csv("week.csv", index=False)
    decide("week")
    frame.assign(case=np.arange(40.0), **{"class": "good"})[["case", "class"]].to_csv("a.csv")
    assert pd.read_csv("a.csv", dtype=str)["case"][7] == "7.0"
    assert answer(run, "a.csv")["added"] == 40


def test_conflicts_are_said_and_counted(run, decided):
    truth, queue = decided
    wrong = {"good": "bad", "bad": "good"}
    for who, said in (("Ann", [truth[id] for id in queue]), ("Bob", [wrong[truth[queue[0]]]])):
        frame = pd.DataFrame({"id": queue[: len(said)], "class": said, "who": who})
        frame.to_csv(f"{who}.csv", index=False)
    answer(run, "Ann.csv")
    assert answer(run, "Bob.csv")["conflicts"] == queue[:1]
    told = json.loads(run("book", "cases.db", "--json")[1])
    by = {row["value"]: row for row in told["by_reviewer"]}
    suggested = books()[0].set_index("id")["forced"]
    assert by["Ann"]["answered"] == len(queue)
    assert by["Ann"]["overridden"] == (truth[queue] != suggested[queue]).sum()
    assert by["Bob"]["overridden"] == int(wrong[truth[queue[0]]] != suggested[queue[0]])
    (model,) = told["by_model"]
    assert (model["cases"], model["reviewed"]) == (200, len(queue))
    assert sum(row["cases"] for row in told["by_class"]) == 200
    assert run("book", "cases.db")[0] == 0


# ---- update and the card --------------------------------------------------------------------


def moved(n, seed):
    """Classes (n,) of a world in which age no longer matters, but the job does."""
    job = make_table(n, seed=seed)["job"]
    score = 1.0 * (job == "cook") - (job == "smith")
    return np.where(score + np.random.RandomState(seed).normal(0, 0.3, n) > 0, "good", "bad")


@pytest.mark.parametrize("world", ["moved", "same"])
def test_a_new_model_is_recommended_if_it_is_better(run, decide, posterior, world):
    for week in range(2):
        about = {"grade": moved(300, 20 + week)} if world == "moved" else {}
        frame = new_cases(300, f"w{week}", 20 + week, **about)
        decide(f"w{week}", "--audit", str(SHARE))
        frame[["case", "grade"]].to_csv("o.csv", index=False)
        answer(run, "o.csv", "--outcome", "grade")
    model, data = posterior
    words = ("update", model, "cases.db", data, "--cases", "w0.csv", "w1.csv", "-o", "new.rejo")
    code, out, err = run(*words, "--json")
    told = json.loads(out)
    assert code == (0 if world == "moved" else 5), err
    assert told["recommended"] == (code == 0)
    saved = told["newest"]["saved"]
    assert (saved["low"] > 0) == (world == "moved")
    assert told["learned_from"] + told["tested"] == told["answered"] == 600
    new, old = load("new.rejo"), load(model)
    assert new.classes_.tolist() == old.classes_.tolist()
    assert new.get_params()["cost_of"] == old.get_params()["cost_of"]
    if world == "moved":  # as it says: on cases that neither has seen
        later = new_cases(2000, "later", 99, grade=moved(2000, 99))
        costs = []
        for path in (model, "new.rejo"):
            assert run("predict", path, "later.csv", "-o", "d.csv", "--overwrite")[0] == 0
            decision = pd.read_csv("d.csv")["decision"]
            wrong = (decision != "review") & (decision != later["grade"])
            costs.append((2 * (decision == "review") + 10 * wrong).mean())
        assert saved["low"] - 0.5 < costs[0] - costs[1] < saved["high"] + 0.5


def test_prices_of_each_case_go_through_the_book(run, folder):
    prices = "error:bad=0.3*age,error:good=0.1*age,review=2"
    make_table(300).to_csv("old.csv", index=False)
    words = ("train", "old.csv", "--target", "grade", "--id", "case", "--costs", prices)
    assert run(*words, "--model", "logistic-posterior", "-o", "old.rejo")[0] == 0
    frame = new_cases(400, "w", 5)
    words = ("predict", "old.rejo", "w.csv", "-o", "d.csv", "--book", "cases.db", "--audit", "0.1")
    assert run(*words)[0] == 0
    frame[["case", "grade"]].to_csv("o.csv", index=False)
    answer(run, "o.csv", "--outcome", "grade")
    words = ("update", "old.rejo", "cases.db", "old.csv", "--cases", "w.csv", "-o", "new.rejo")
    told = json.loads(run(*words, "--json")[1])
    assert load("new.rejo").price_columns_ == ["age"]
    # Some of these are tested: at their own prices, a case costs about what all do.
    decision = pd.read_csv("d.csv")["decision"]
    wrong = (decision != "review") & (decision != frame["grade"])
    price = np.where(frame["grade"] == "bad", 0.3, 0.1) * frame["age"]
    cost = np.where(decision == "review", 2, price * wrong)
    assert abs(told["newest"]["old"] - cost.mean()) < 3 * cost.std() / np.sqrt(200)
    assert run("monitor", "cases.db", "--json")[0] == 0
    assert run("inspect", "old.rejo", "--card", "card.md", "--book", "cases.db")[0] == 0
    assert "0.3" in (folder / "card.md").read_text()
    assert books()[0]["cost"].isna().all()  # nobody knows yet what a review of each costs


def test_a_card_says_what_is_known(run, decided, posterior, refused, folder):
    assert run("inspect", posterior[0], "--card", "card.md", "--book", "cases.db")[0] == 0
    card = (folder / "card.md").read_text()
    facts = [inspect(posterior[0]).payload_hash, "bad", "good", "| 10 |", "200 cases"]
    assert [fact for fact in facts if fact not in card] == []
    refused(2, "inspect", posterior[0], "--card", "card.md")
    refused(2, "inspect", posterior[0], "--book", "cases.db")


# ---- kill -9 --------------------------------------------------------------------------------

KILLS = """
import os, random, signal, sys, time
from rejo import cli
import rejo.book, rejo.scoring, rejo.persistence, rejo.tables, pandas, pyarrow, skops.io, sklearn
from rejo.book import Book

sys.path.insert(0, sys.argv[1])
model, n_rounds, seed, N = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), 300
base = pandas.read_csv(sys.argv[5])
random.seed(seed)

def call(words, kill=None):
    started = time.monotonic()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(cli.main(words))
    if kill is not None:
        time.sleep(kill)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert kill is not None or os.waitstatus_to_exitcode(status) in (0, 6), words
    return time.monotonic() - started, os.WIFSIGNALED(status)

def check(batches, answers):
    if not os.path.exists("cases.db") or not os.path.getsize("cases.db"):
        assert (min(batches), min(answers)) == (0, 0)
        return
    with Book("cases.db", create=True) as book:
        assert book._base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        cases, known = book.cases(), book.answers()
        assert book.batches()["n"].tolist() == [N] * len(book.batches())
    sizes = cases.groupby("batch")["id"].nunique().tolist()
    assert sizes == [N] * len(sizes) and len(sizes) in batches, (sizes, batches)
    assert len(set(cases["id"])) == len(cases) == N * len(sizes)
    assert len(known) == known["id"].nunique() and len(known) in [N * k for k in answers]

killed, usual = 0, {"predict": 0.0, "answers": 0.0, "monitor": 0.0}
for i in range(n_rounds + 1):
    ids = [f"{i}-{j}" for j in range(N)]
    base.assign(case=ids).to_csv("new.csv", index=False)
    pandas.DataFrame({"id": ids, "class": "good", "who": "Ann"}).to_csv("a.csv", index=False)
    jobs = {
        "predict": ["predict", model, "new.csv", "-o", "out.csv", "--overwrite", "--book",
                    "cases.db", "--audit", "0.1"],
        "answers": ["answers", "cases.db", "a.csv"],
        "monitor": ["monitor", "cases.db", "-o", "page.html", "--overwrite"],
    }
    for done, (name, words) in enumerate(jobs.items()):
        before, after = (i + (done > 0), i + (done > 1)), (i + 1, i + (done > 0))
        if i:
            killed += call(words, random.uniform(0.0, 1.1 * usual[name]))[1]
            check(*zip(before, after))
            if os.path.exists("out.csv"):
                assert len(pandas.read_csv("out.csv")) == N
            if os.path.exists("page.html"):
                assert open("page.html").read().endswith("</html>")
        took, _ = call(words)
        usual[name] = took if not i else 0.7 * usual[name] + 0.3 * took
        check(after[:1], after[1:])
print(killed)
"""


@pytest.mark.parametrize(
    ("n_rounds", "seed"),
    [
        pytest.param(4, 0, marks=pytest.mark.check),
        pytest.param(60, 1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_a_killed_command_loses_nothing_and_adds_nothing_twice(posterior, folder, n_rounds, seed):
    make_table(300, seed=5).to_csv("base.csv", index=False)
    words = [sys.executable, "-c", KILLS, str(folder), str(posterior[0]), str(n_rounds), str(seed)]
    run = subprocess.run([*words, "base.csv"], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > n_rounds  # of three commands a round; the others were done already
