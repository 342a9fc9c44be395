"""What the suite says of made-up rows, its pictures, its page and its command."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from rejo.cli import main
from rejo.study.figures import render
from rejo.study.suite import TABLES, TableSuite
from rejo.study.suite.duels import find_duels
from rejo.study.suite.findings import about_tests, findings, has_winner
from rejo.study.suite.standings import Standings
from rejo.study.suite.suite_page import make_suite_page, make_suite_report
from tests.study.suite.made_up import SOME, make_rows, row_of


@pytest.fixture(scope="module")
def clear():
    """A method that is always best, and one that is always worst."""
    return Standings(make_rows(excess={"auto": 0.05, "svm-class": 0.2, "svm-posterior": -0.02,
                                       "logistic": 0.1, "logistic-class": 0.08}))  # fmt: skip


def test_there_are_three_complete_rankings(clear):
    everything, two, ordered = clear.rankings
    assert len(everything.tables) == len(TABLES)
    assert "logistic" not in everything.methods  # which needs an order
    assert set(two.methods) == set(ordered.methods) == set(SOME)
    assert {len(two.tables), len(ordered.tables)} == {9}
    for ranking in clear.rankings:
        assert ranking.costs.shape == (len(ranking.tables), len(ranking.methods))
        assert ranking.ranks.sum(axis=1) == pytest.approx(sum(range(1, len(ranking.methods) + 1)))


def test_the_best_and_the_worst_are_found(clear):
    everything = clear.rankings[0]
    assert everything.order[0] == "svm-posterior"
    assert everything.order[-1] == "svm-class"
    assert everything.mean_ranks.min() == 1
    # Its mean rank is one below that of the next; with 22 tables 1.3 would be significant.
    assert everything.level == ["logistic-posterior"]
    assert not has_winner(everything)
    assert "no clear winner" in findings(clear)[0]
    lines = {line.method: line for line in everything.lines}
    assert lines["svm-posterior"].excess == 0
    # The unit is reviewing everything: the mean of the reject costs, 0.1625.
    gap = (0.2 - -0.02) / 0.1625
    assert lines["svm-class"].excess == pytest.approx(gap, abs=0.02)
    assert lines["svm-posterior"].against == (len(TABLES), 0, 0)
    assert lines["svm-class"].against == (0, 0, len(TABLES))
    assert lines["svm-class"].p_value < 0.001
    assert lines["auto"].p_value == 1


def test_statistics_of_a_ranking_are_those_of_its_costs(clear):
    for ranking in clear.rankings:
        theirs = stats.friedmanchisquare(*ranking.costs.round(10).T)
        assert ranking.friedman.chi2 == pytest.approx(theirs.statistic)
        table, method = ranking.tables[2], ranking.methods[1]
        own = [r["risk"] for r in clear.rows if r["dataset"] == table and r["method"] == method]
        assert ranking.costs[2, 1] == pytest.approx(np.mean(own))


def test_areas_where_more_is_better_are_turned(clear):
    ranks = clear.measure_ranks(clear.rankings[0])
    assert ranks["AUARC"] == pytest.approx(ranks["AUGRC"])  # of 1 - E and of E
    assert clear.rankings[0].methods[int(np.argmin(ranks["AUARC"]))] == "svm-posterior"
    assert "ordinal loss" in clear.measure_ranks(clear.rankings[2])


def test_duels_are_between_a_learner_and_the_rivals_around_it(clear):
    duels = {duel.rival: duel for duel in find_duels(clear)}
    assert set(duels) == {"logistic-posterior", "logistic-class"}
    worse = duels["logistic-posterior"]
    assert (worse.n_tables, worse.cheaper) == (18, 0)
    assert worse.difference < 0
    assert worse.tallied.losses == 18
    assert worse.p_value < 0.001
    assert worse.lean == -1
    assert worse.n_points[0] == worse.n_points[1] > 1
    [said] = [words for words in findings(clear, find_duels(clear)) if "same kind" in words]
    assert "significantly cheaper in 0, significantly more expensive in 2" in said


def test_a_duel_is_won_by_the_ranks_that_are_tested():
    """Cheaper by a little on all tables but one, and dearer by a lot on that one."""
    rows = make_rows(methods=("logistic", "logistic-posterior"), noise=1e-6,
                     excess={"logistic-posterior": 0.001})  # fmt: skip
    for row in rows:
        if row["method"] == "logistic" and row["dataset"] == "bcct":
            row["risk"] += 5.0
    standings = Standings(rows)
    [duel] = find_duels(standings)
    assert duel.difference < 0
    assert duel.lean > 0
    assert duel.p_value < 0.05
    [said] = [words for words in findings(standings, [duel]) if "same kind" in words]
    assert "significantly cheaper in 1, significantly more expensive in 0" in said


def test_duels_are_between_the_same_kind_of_classifier():
    methods = ("kernel-logistic", "kernel-posterior", "ordinal-kernel-posterior", "boosting",
               "boosting-class")  # fmt: skip
    duels = find_duels(Standings(make_rows(methods=methods)))
    assert [(duel.rival, duel.n_tables) for duel in duels] == [
        ("kernel-posterior", 9), ("ordinal-kernel-posterior", 9),
    ]  # fmt: skip


def test_a_method_that_is_always_better_than_the_only_other_wins():
    pair = Standings(make_rows(methods=("auto", "svm-class"), excess={"auto": 0.1}))
    assert has_winner(pair.rankings[0])
    assert "svm-class has the lowest mean rank" in findings(pair)[0]
    assert "a clear winner" in findings(pair)[0]


def test_methods_that_are_level_by_a_measure_have_no_rank_correlation():
    rows = make_rows(tables=("iris", "wine"), methods=("auto", "svm-class"), noise=0)
    said = findings(Standings(rows))
    assert any("AUARC does not tell the methods apart" in words for words in said)


def test_no_difference_is_said_to_be_chance():
    same = Standings(make_rows(noise=0.05, seed=3))
    said = findings(same)
    assert not has_winner(same.rankings[0])
    assert any("chance" in words or "no clear winner" in words for words in said)


def test_tests_that_cannot_decide_are_called_so(clear):
    assert "cannot decide" not in about_tests(clear.rankings[0])
    few = Standings(make_rows(tables=("iris", "wine", "digits", "newthyroid")))
    assert "cannot decide" in about_tests(few.rankings[0])


def test_failures_are_listed_and_left_out_for_all():
    rows = make_rows(tables=("iris", "wine", "digits"))
    lost = {("iris", "svm-class", 0), ("wine", "svm-posterior", 1), ("wine", "svm-posterior", 2),
            ("wine", "svm-posterior", 3)}  # fmt: skip
    rows = [
        row_of(r["dataset"], r["repetition"], r["method"], r["reject_cost"], R=0, E=0, problem="no")
        if (r["dataset"], r["method"], r["repetition"]) in lost
        else r
        for r in rows
    ]
    standings = Standings(rows)
    assert [f[:3] for f in standings.failures] == [
        ("iris", "svm-class", 1), ("wine", "svm-posterior", 3),
    ]  # fmt: skip
    [ranking] = standings.rankings
    assert "svm-posterior" not in ranking.methods  # it failed on most splits of a table
    assert "svm-class" in ranking.methods
    assert ranking.values["iris", "auto"].shape == (3, 4)  # without the split that one lacks
    assert ranking.values["digits", "auto"].shape == (4, 4)
    notes = " ".join(ranking.notes)
    assert "svm-posterior is left out: it lacks half of the splits or more of wine." in notes
    assert (
        "iris: 1 of 4 splits are left out for all methods, for want of results of svm-class"
        in notes
    )
    assert "digits" not in notes


def test_the_reference_lines_and_all_costs_are_of_the_same_splits():
    rows = make_rows(tables=("iris", "wine"))
    for row in rows:
        if row["dataset"] == "iris" and row["repetition"] == 0:
            row["risk"] = 9.0  # which would be seen in any mean
    rows = [r for r in rows if (r["dataset"], r["method"], r["repetition"])
            != ("iris", "svm-class", 0)]  # fmt: skip
    report = make_suite_report(rows, TableSuite(("iris", "wine"), 4, SOME))
    [ranking] = report.rankings
    assert ranking.splits == {"iris": [1, 2, 3], "wine": [0, 1, 2, 3]}
    assert ranking.costs.max() < 1
    assert max(costs.max() for costs in report.standings.baselines(ranking).values()) < 1
    assert max(np.nanmax(costs) for costs in report.standings.all_costs().values()) < 1
    assert report.standings.failures == []
    assert report.lacking == [("iris", "svm-class", 1, "not computed")]
    page = make_suite_page(report, dict.fromkeys(report.canvases, b""), {})
    assert "Nothing: every method was fitted" not in page
    assert "not computed" in page


def test_a_method_without_a_table_and_a_ranking_without_methods_are_named():
    rows = make_rows(tables=("iris", "wine", "digits"))
    plan = TableSuite(("iris", "wine", "digits"), 4, SOME)
    some = [r for r in rows if (r["dataset"], r["method"]) != ("iris", "auto")]
    [ranking] = Standings(some, plan).rankings
    assert any("auto is left out" in note and "iris" in note for note in ranking.notes)
    few = [r for r in rows if r["method"] == "auto" or r["dataset"] == "iris"]
    standings = Standings(few, plan)
    assert standings.rankings == []
    [said] = findings(standings)
    assert "All tables: no ranking" in said
    assert "svm-class is left out: it lacks half of the splits or more of digits, wine." in said
    assert make_suite_report(few, plan).said == [said]


def test_a_split_without_a_blend_is_not_lost_for_the_others():
    rows = make_rows(tables=("iris", "wine"), methods=(*SOME, "blend"))
    assert "blend" in Standings(rows).rankings[0].methods
    for row in rows:
        if (row["dataset"], row["method"], row["repetition"]) == ("iris", "blend", 0):
            row["problem"] = "no"
    standings = Standings(rows)
    [ranking] = standings.rankings
    assert ranking.splits == {"iris": [0, 1, 2, 3], "wine": [0, 1, 2, 3]}
    assert ranking.notes == ["blend is left out: it lacks some splits."]
    assert np.isnan(standings.all_costs()["blend"]).tolist() == [True, False]
    assert [f[:3] for f in standings.failures] == [("iris", "blend", 1)]


def test_sizes_that_vary_are_averaged():
    rows = make_rows(tables=("iris", "wine"))
    for row in rows:
        row["n_train"] += row["repetition"] * 10
    report = make_suite_report(rows)
    assert report.sizes["iris"] == (315, 200)
    expected = np.mean([200 / n for n in (300, 310, 320, 330)])
    assert report.rankings[0].ratios["wine"] == pytest.approx(expected)


def test_the_page_says_what_the_plan_was():
    rows = make_rows(tables=("iris", "wine"))
    plan = TableSuite(("iris", "wine"), 4, SOME, tuning_cost=0.1, n_train=120, n_test=77, n_folds=4)
    report = make_suite_report(rows, plan)
    assert report.standings.ranked_at == 0.1
    page = make_suite_page(report, dict.fromkeys(report.canvases, b""), {})
    for words in ("at most 120 rows", "77, for testing", "by 4 folds", "tuned for 0.1"):
        assert words in " ".join(page.split())


def test_the_page_holds_all_and_loads_nothing(clear):
    report = make_suite_report(clear.rows)
    pictures = {name: render(canvas, "svg") for name, canvas in report.canvases.items()}
    assert {"ranks-all", "excess-two-classes", "measures-ordered", "costs"} <= set(pictures)
    page = make_suite_page(report, pictures, {"Command": "rejo <&>"}, ["A <notice>."])
    assert page.count("<img") == len(pictures)
    assert "rejo &lt;&amp;&gt;" in page
    assert "A &lt;notice&gt;." in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)[^\"]*", page)
    for name in (*TABLES, *SOME, "review everything", "decide everything"):
        assert f">{name}<" in page
    assert all(sentence in page for sentence in report.said)
    assert "Nothing: every method was fitted" in page


def test_names_in_a_critical_difference_picture_do_not_overlap(clear):
    canvas = make_suite_report(clear.rows).canvases["ranks-two-classes"]
    canvas.canvas.draw()
    boxes = [t.get_window_extent() for t in canvas.axes[0].texts if t.get_text()]
    frame = canvas.bbox
    for i, box in enumerate(boxes):
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


# ---- the command ----------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch):
    """A quick run that takes seconds."""
    from rejo.cli import _suite_command as command

    monkeypatch.delenv("REJO_DATA", raising=False)
    monkeypatch.setattr(command, "QUICK_TABLES", ("iris", "wine", "balance_scale"))
    monkeypatch.setattr(command, "QUICK_METHODS", ("logistic-posterior", "logistic-class"))


def test_the_command_writes_a_page_and_goes_on(short, tmp_path, capsys):
    from rejo.study import read_archive

    words = ["reproduce", "--suite", "tables", "--quick", "--n-jobs", "1", "-o", str(tmp_path)]
    assert main(words) == 0
    first = capsys.readouterr()
    assert "4 cells computed" in first.out
    assert "Failed fits: none" in first.out
    assert "skipped balance_scale" in first.err
    page = (tmp_path / "index.html").read_text()
    assert "quick run" in page
    assert "left out: balance_scale" in page
    assert {p.stem for p in tmp_path.glob("*.png")} == {
        "ranks-all", "excess-all", "measures-all", "costs",
    }  # fmt: skip
    plan = TableSuite(**json.loads((tmp_path / "plan.json").read_text()))
    assert plan.datasets == ("balance_scale", "iris", "wine")
    rows = read_archive(tmp_path / "rows.csv.xz", TableSuite)
    assert len(rows) == 2 * 2 * 2 * 4
    assert main([*words, "--repetitions", "1"]) == 0
    again = capsys.readouterr().out
    assert "continuing with the 2 splits" in again
    assert "0 cells computed" in again


def test_tables_and_methods_are_listed(capsys):
    assert main(["reproduce", "--suite", "tables", "--list"]) == 0
    listed = capsys.readouterr().out
    for name in (*TABLES, "auto", "forest-posterior", "embedded"):
        assert f"  {name} " in listed


@pytest.mark.parametrize("options", [["--full"], ["--figure", "bcct-svm"]])
def test_options_of_the_paper_are_refused(options, tmp_path, capsys):
    code = main(["reproduce", "--suite", "tables", *options, "-o", str(tmp_path / "new")])
    assert code != 0
    assert f"{options[0]} is about the paper's figures" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
