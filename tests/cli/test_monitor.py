"""The monitor of a case book: exit codes, and the same numbers in JSON and on the page."""

import json
import re
import sqlite3

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")

from benchmarks.bench_monitor import NOTHING, Kind, Lender  # noqa: E402
from rejo.book import Book  # noqa: E402
from tests.browser import chromium  # noqa: E402

NAMES = np.array(["repaid", "default"])
START = pd.Timestamp("2026-01-05T08:00:00Z")
CHANGED = Kind(log_odds=2.0, column=0.8)


def day(week):
    return (START + pd.Timedelta(days=7 * float(week))).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_book(path, kind, *, order=None, weeks=52):
    """A lender's year, batch by batch, and all answers."""
    lender = Lender(3, weekly=60, share=0.2)
    year, _ = lender.year(kind)
    promise = {"rate": "accepted_error_rate", "bound": 0.09, "by": None, "value": None}
    about = lender.about | {"promises": [promise]}
    frame = pd.DataFrame({
        "id": [f"c{i}" for i in range(len(year.week))],
        "decision": np.where(year.decided & ~year.drawn, NAMES[year.forced], None),
        "forced": NAMES[year.forced], "reason": np.where(year.decided, None, "ambiguous"),
        "chance": year.chance, "cost": year.cost, "drawn": year.drawn, "rank": 0,
        "weight": np.where(year.decided, 1 / np.maximum(year.probability, 1e-9), np.nan),
    })  # fmt: skip
    known = np.flatnonzero(np.isfinite(year.answered) & (year.answered < weeks))
    answers = frame.loc[known, ["id"]].assign(
        kind=np.where(year.drawn[known], "review", "outcome"), who="Ann",
        time=[day(week) for week in year.answered[known]], **{"class": NAMES[year.truth[known]]},
    )  # fmt: skip
    later = answers[answers["kind"] == "review"].assign(kind="outcome", time=day(50))
    answers = pd.concat([answers, later] if weeks > 50 else [answers])
    with Book(path, create=True) as book:
        for week in range(weeks):
            columns = [
                {
                    "column": name,
                    "degree": "",
                    "said": "more" * (week > 30),
                    "counts": n[week].tolist(),
                }
                for name, n in year.counts.items()
            ]
            rows = frame[year.week == week]
            rows = rows if order is None else rows.sample(frac=1, random_state=order)
            with book.batch(
                "f" * 64, about, name="loans<b>.rejo", columns=columns, time=day(week)
            ) as batch:
                batch.add(rows)
        book.add_answers(answers, source="answers.csv")


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    home = tmp_path_factory.mktemp("books")
    write_book(home / "calm.db", NOTHING)
    write_book(home / "changed.db", CHANGED)
    return home


@pytest.fixture
def found(run):
    def command(*words):
        code, out, err = run("monitor", *words, "--json")
        return code, json.loads(out), err

    return command


def test_exit_codes_and_what_is_said(books, found, run, refused):
    code, calm, err = found(books / "calm.db")
    assert (code, err, calm["alarm"]) == (0, "", False)
    assert (calm["n_cases"], len(calm["days"])) == (52 * 60, 52)
    code, changed, err = found(books / "changed.db")
    assert (code, changed["alarm"], err.count("\n")) == (6, True, 1)
    raised = {one["name"]: one for one in changed["series"] if one["alarm"]}
    assert {"error", "cost", "x0"} <= raised.keys()
    assert not raised.keys() & {"x1", "x2", "x3", "x4", "x5"}
    for name in ("error", "x0"):
        assert abs(raised[name]["since_week"] - 30) <= 3
    assert raised["error"]["recent"] > 1.5 * raised["error"]["before"]
    assert all(one["do"] for one in raised.values())
    code, out, _ = run("monitor", books / "changed.db")
    assert code == 6
    assert out.count("ALARM") == len(raised)
    assert "loans<b>.rejo" in out
    assert "none.db" in refused(2, "monitor", "none.db")
    assert refused(2, "monitor", books / "calm.db", "-o", "page.txt")
    assert refused(2, "monitor", books / "calm.db", "--since", "2030-01-01")


def test_looks_and_the_order_of_rows_change_nothing(books, found, folder):
    first, again = found(books / "changed.db"), found(books / "changed.db")
    assert first == again
    write_book(folder / "changed.db", CHANGED, order=1)
    other = found("changed.db")[1]
    for one, same in zip(first[1]["series"], other["series"], strict=True):
        assert (one["name"], one["raised"], one["since"]) == (
            same["name"],
            same["raised"],
            same["since"],
        )
    assert other["audit"]["error"]["rate"] == pytest.approx(first[1]["audit"]["error"]["rate"])
    assert other["audit"]["error"]["high"] == pytest.approx(first[1]["audit"]["error"]["high"])


def test_an_earlier_look_saw_what_is_shown_of_it_later(books, found, folder):
    write_book(folder / "then.db", CHANGED, weeks=36)
    then, now = found("then.db")[1], found(books / "changed.db")[1]
    assert len(then["days"]) == 36
    for name in ("error", "cost"):
        for part, values in then["audit"][name]["by_week"].items():
            later = now["audit"][name]["by_week"][part][:36]
            assert np.array(later, float) == pytest.approx(np.array(values, float), nan_ok=True), (
                part
            )


def test_cases_count_anew_after_a_change_that_was_dealt_with(books, found):
    day = "2026-08-17"
    code, later, _ = found(books / "changed.db", "--since", day)
    assert later["days"][0] == day
    assert later["n_cases"] == 20 * 60
    assert code == 6  # the model is as wrong as before, and so is the column
    assert {one["since"] for one in later["series"] if one["name"] == "x0"} == {day}


def test_a_case_that_is_decided_again_counts_once(model, cases, found, run):
    for seed in ("1", "2"):
        words = ("predict", model, cases, "--book", "cases.db", "-o", "out.csv", "--overwrite")
        assert run(*words, "--audit", "0.3", "--seed", seed)[0] == 0
    said = found("cases.db")[1]
    assert (said["n_cases"], said["batches"]) == (60, 1)
    with Book("cases.db") as book:
        drawn = book.cases().groupby("batch")["drawn"].sum()
    assert said["n_audited"] == drawn[2]


@pytest.mark.parametrize("time", ["2026-xx-01", ""])
def test_times_that_are_damaged_are_said(model, cases, refused, run, time):
    words = ("predict", model, cases, "--book", "cases.db", "-o", "out.csv")
    assert run(*words)[0] == 0
    with sqlite3.connect("cases.db") as base:
        base.execute("UPDATE batches SET time = ?", [time])
    refused(2, "monitor", "cases.db")


def test_the_page_shows_the_numbers(books, found, folder, run):
    _, said, _ = found(books / "changed.db", "-o", "page.html")
    page = (folder / "page.html").read_text("utf-8")
    rate = re.search(r'id="error-rate">([\d.]+) %', page)[1]
    assert float(rate) == pytest.approx(100 * said["audit"]["error"]["rate"], abs=0.05)
    alarms = [one for one in said["series"] if one["alarm"]]
    assert len(re.findall(r'<li id="alarm-\d+">', page)) == len(alarms)
    for one in alarms:
        assert one["since"] in page
        assert one["do"] in page
    assert "loans&lt;b&gt;.rejo" in page
    assert "<b>" not in page
    assert not re.search(r"(src|href)=|url\((?!#)|<script", page)
    moved = [one for one in said["series"] if one["kind"] == "column" and one["evidence"] > 0.2]
    assert page.count('<svg class="picture"') == 3 + len(moved)  # errors, costs, reviews
    before = page
    assert run("monitor", books / "calm.db", "-o", "page.html")[0] == 2
    assert (folder / "page.html").read_text("utf-8") == before
    assert run("monitor", books / "calm.db", "-o", "page.html", "--overwrite")[0] == 0
    assert "alarm-0" not in (folder / "page.html").read_text("utf-8")


def test_a_model_and_its_first_file(model, cases, run, found, folder):
    for _ in range(2):  # the same batch is one
        code, _, err = run(
            "predict", model, cases, "--book", "cases.db", "--audit", "0.3", "-o", "out.csv",
            "--overwrite",
        )  # fmt: skip
        assert code == 0, err
    code, said, _ = found("cases.db", "-o", "page.html")
    assert code == 0
    assert (said["n_cases"], said["batches"]) == (60, 1)
    columns = {one["name"] for one in said["series"] if one["kind"] == "column"}
    assert {"age", "income", "job"} <= columns
    assert {"error", "review"} <= {one["kind"] for one in said["series"]}
    assert said["audit"]["error"]["rate"] is None  # nobody has answered
    assert said["n_audited"] > 0
    page = (folder / "page.html").read_text("utf-8")
    assert page.count('<svg class="picture"') == 1  # of reviews: nothing else is known
    (error,) = (one for one in said["series"] if one["kind"] == "error")
    assert (error["n"], error["evidence"]) == (0, 0)


@pytest.mark.check
def test_the_page_in_a_browser(books, found, folder):
    found(books / "changed.db", "-o", "page.html")
    with chromium() as browser:
        for width in (1200, 360):
            page = browser.new_page(viewport={"width": width, "height": 800})
            complaints = []
            page.on("console", lambda said, to=complaints: to.append(said.text))
            page.goto((folder / "page.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.picture").count() >= 4
            assert complaints == []
