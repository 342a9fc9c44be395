"""Promises by class, by group and in order of time: the options, and what may be mixed up."""

import json

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit

from rejo import cli
from rejo.cli import _options as options
from rejo.persistence import load
from rejo.selection import cross_fit, folds, operating

from .conftest import make_table

pd = pytest.importorskip("pandas")

TRAIN = ("train", "t.csv", "--target", "grade", "--id", "case", "-o", "m.rejo", "--overwrite",
         "--model", "logistic-posterior")  # fmt: skip


@pytest.fixture
def cases(table):
    """A table with a group that matters, a day for each case, and a patient for every few."""
    frame = table(600, seed=2)
    random = np.random.default_rng(0)
    frame["sex"] = random.choice(["f", "m"], len(frame), p=[0.4, 0.6])
    frame["day"] = np.arange(len(frame))
    frame["patient"] = [f"p{i // 2}" for i in range(len(frame))]
    frame.to_csv("t.csv", index=False)
    return frame


# ---- options ------------------------------------------------------------------------------


def test_limits_are_one_share_or_one_for_each_name():
    assert options.limits("0.05") == 0.05
    assert options.limits("5%") == 0.05
    assert options.limits("ill=0.01, well=5%") == {"ill": 0.01, "well": 0.05}
    assert options.limits('"a, b=0.1",c=d=0.2') == {"a, b": 0.1, "c=d": 0.2}


@pytest.mark.parametrize(
    "words",
    [
        "--review-budget 0.1 --small-groups review",
        "--reject-cost 0.1 --max-error-by-class 0.1",
        "--group patient --groups patient --max-error-by-group 0.3",
        "--group grade --max-error-by-group 0.3",
        "--group sex --time sex --max-error-by-group 0.3 --confidence 0.9",
    ],
)
def test_what_does_not_go_together(refused, cases, words):
    assert "--" in refused(2, *TRAIN, *words.split())


# ---- columns ------------------------------------------------------------------------------


def read(cases, *words):
    cases.to_csv("t.csv", index=False)
    arguments = cli.build_parser().parse_args([*map(str, TRAIN), *words])
    from rejo.cli._cases import read_cases

    return read_cases(arguments)


def test_groups_and_times_of_a_table(cases, capsys):
    cases.loc[[3, 8], "sex"] = [None, "M"]
    cases.loc[[5], "day"] = None
    found = read(cases, "--group", "sex", "--time", "day", "--max-error", "0.1")
    kept = cases.drop([3, 5])
    assert found.group.tolist() == kept["sex"].str.lower().tolist()
    assert found.time.tolist() == kept["day"].tolist()
    assert not {"sex", "day"} & set(found.X.columns)
    assert len(found.X) == len(found.y) == 598
    err = capsys.readouterr().err
    assert err.count("1 of 600 rows") == 2
    exact = read(cases, "--group", "sex", "--max-error", "0.1", "--exact")
    assert sorted(set(exact.group)) == ["M", "f", "m"]


def test_dates_are_times(cases):
    found = read(cases, "--time", "since", "--max-error", "0.1")
    dates = pd.to_datetime(cases["since"].dropna())
    assert (np.argsort(found.time, kind="stable") == np.argsort(dates, kind="stable")).all()


# ---- from training to evaluation ----------------------------------------------------------


def train(run, *words, code=0):
    found, out, err = run(*TRAIN, *words)
    assert found == code, err
    return out, err


@pytest.fixture(scope="module")
def promising(tmp_path_factory):
    """A model that promises by sex; there are too few of one to promise anything."""
    folder = tmp_path_factory.mktemp("promising")
    frame = make_table(1500, seed=2)
    random = np.random.default_rng(0)
    frame["sex"] = random.choice(["f", "m", "x"], len(frame), p=[0.4, 0.59, 0.01])
    frame.to_csv(folder / "t.csv", index=False)
    words = "--group sex --max-error-by-group 0.16 --confidence 0.9 --small-groups review"
    given = [folder / "t.csv" if word == "t.csv" else word for word in TRAIN]
    given[given.index("m.rejo")] = folder / "m.rejo"
    assert cli.main([*map(str, given), *words.split()]) == 0
    return folder / "m.rejo"


@pytest.fixture
def grouped(folder, promising):
    """The same, in this folder."""
    (folder / "m.rejo").write_bytes(promising.read_bytes())
    return load(promising)


@pytest.fixture
def new(table):
    frame = table(400, seed=7)
    random = np.random.default_rng(1)
    frame["sex"] = random.choice(["F", "m", "x", "y"], len(frame), p=[0.4, 0.4, 0.1, 0.1])
    frame.loc[5, "sex"] = None
    frame.to_csv("new.csv", index=False)
    return frame


def test_groups_without_a_promise_are_named(run, grouped):
    assert [promise.value for promise in grouped.guarantees_] == ["f", "m"]
    assert grouped.policy_.reviewed == ["x"]
    assert "sex" not in grouped.best_estimator_[0].kinds_
    out = run("inspect", "m.rejo")[1]
    assert "groups: f, m, x" in out


def test_unknown_groups_go_to_review(predict, grouped, new):
    unknown = f"{(~new['sex'].isin(['F', 'm', 'x'])).sum()} of 400 cases"
    found = predict("m.rejo", "new.csv", warning=unknown)
    policy = found["reason"] == "policy"
    assert (policy == ~new["sex"].isin(["F", "m"])).all()
    assert (found.loc[policy, "decision"] == "review").all()
    said = dict(zip(new["sex"], found["detail"], strict=True))
    assert "'x'" in said["x"]
    assert "'y'" in said["y"]
    assert "missing" in found.loc[5, "detail"]
    assert (found.loc[~policy, "decision"] != "review").any()
    few = predict("m.rejo", "new.csv", "--capacity", "0", warning="capacity")
    assert ((few["decision"] == "review") == policy).all()
    why = predict("m.rejo", "new.csv", "--why", warning=unknown)
    ambiguous = why["reason"] == "ambiguous"
    assert ambiguous.any()
    assert ((why["why"] != "") == ambiguous).all()


def test_the_column_of_the_groups_is_needed(refused, predict, grouped, new):
    new["sex"] = new["sex"].replace({"y": "f", "x": "m"}).fillna("f")
    new.to_csv("new.csv", index=False)
    whole = predict("m.rejo", "new.csv")
    new.rename(columns={"sex": "gender"}).to_csv("other.csv", index=False)
    for command in ("predict", "evaluate"):
        assert "--group" in refused(3, command, "m.rejo", "other.csv")
    found = predict("m.rejo", "other.csv", "--group", "gender")
    assert found["decision"].tolist() == whole["decision"].tolist()


def test_a_group_of_a_model_without_promises_is_only_counted_by(run, model, cases):
    found = json.loads(run("evaluate", model, "t.csv", "--group", "sex", "--json")[1])
    assert found["by_group"]["column"] == "sex"


def test_each_promise_is_judged_on_new_cases(run, grouped, new):
    found = json.loads(run("evaluate", "m.rejo", "new.csv", "--json")[1])
    verdicts = [verdict for verdict in found["target"] if verdict["by"] == "group"]
    assert [verdict["value"] for verdict in verdicts] == ["f", "m"]
    assert {verdict["limit"] for verdict in verdicts} == {0.16}
    decided = pd.DataFrame(found["by_group"]["groups"]).set_index("value")
    assert "(missing)" in decided.index
    for verdict in verdicts:
        row = decided.loc[verdict["value"]]
        assert verdict["seen"] == row["wrong"] / (row["n_cases"] - row["reviewed"])
    new["grade"] = np.where(new["sex"] == "F", "bad", new["grade"])
    new.to_csv("new.csv", index=False)
    found = json.loads(run("evaluate", "m.rejo", "new.csv", "--json")[1])["target"]
    verdicts = {one["value"]: one["verdict"] for one in found}
    assert verdicts["f"] == "missed, beyond chance"


def test_small_groups_are_an_error_unless_something_is_said(run, table):
    frame = table(900, seed=2)
    frame["sex"] = np.where(np.arange(len(frame)) % 90 == 0, "x", "f")
    frame.to_csv("t.csv", index=False)
    words = ("--group", "sex", "--max-error-by-group", "0.2", "--confidence", "0.9")
    code, _, err = run(*TRAIN, *words)
    assert code == 5
    assert "--small-groups" in err
    assert "small_groups" not in err


def test_promises_by_class_and_in_order_of_time(run, cases):
    out, _ = train(
        run, "--max-error-by-class", "BAD=0.3,good=0.4", "--review-budget", "0.9", "--confidence",
        "0.8", "--time", "day", "--drop", "sex,patient", "--json",
    )  # fmt: skip
    found = json.loads(out)
    promises = {promise["value"]: promise for promise in found["promises"]}
    assert set(promises) == {None, "bad", "good"}
    assert promises["bad"]["target"] == 0.3
    assert "day" not in found["columns"]


@pytest.mark.parametrize(
    ("together", "time"),
    [
        ((), ("--time", "day")),
        (("--groups", "patient"), ()),
        pytest.param((), (), marks=pytest.mark.check),
        pytest.param(("--groups", "patient"), ("--time", "day"), marks=pytest.mark.check),
    ],
)
def test_the_race_sees_no_calibration_case(monkeypatch, run, cases, together, time):
    """Rows of the race are those that the model learns from; the others prove the promise."""
    held, raced = [], []
    hold_out, choose_model = folds.hold_out, operating.choose_model

    def watched(n, size, random_state, groups=None, time=None):
        held.append(hold_out(n, size, random_state, groups, time))
        return held[-1]

    def race(prepare, X, y, **how):
        raced.append(X.index.to_numpy())
        return choose_model(prepare, X, y, **how)

    monkeypatch.setattr(folds, "hold_out", watched)
    monkeypatch.setattr(operating, "choose_model", race)
    words = ("--review-budget", "0.9", "--confidence", "0.8", *together, *time)
    train(run, *words, "--group", "sex", "--review-budget-by-group", "0.9")
    ((train_rows, test),) = held
    assert set(train_rows) == set(raced[0])
    assert not set(test) & set(raced[0])
    if together:
        patients = cases["patient"]
        assert not set(patients[test]) & set(patients[raced[0]])
    if time and not together:
        assert test.min() > raced[0].max()


def test_a_bound_on_the_mean_cost(run, cases):
    words = ("--costs", "error=100,review=30", "--confidence", "0.9", "--drop", "sex,patient,day")
    (promise,) = json.loads(train(run, *words, "--json")[0])["promises"]
    assert (promise["rate"], promise["target"]) == ("mean_cost", None)
    (promise,) = json.loads(train(run, *words, "--max-cost", "40", "--json")[0])["promises"]
    assert promise["bound"] <= promise["target"] == 40
    assert "--max-cost" in train(run, *words, "--max-cost", "1", code=5)[1]


# ---- novelty ------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [(), ("--confidence", "0.9")])
def test_novel_cases_count_in_the_budget(run, predict, table, confidence):
    table(1500, seed=2).to_csv("t.csv", index=False)
    train(run, "--review-budget", "0.2", "--novelty", "5%", *confidence)
    new = table(1500, seed=5)
    new.to_csv("new.csv", index=False)
    found = predict("m.rejo", "new.csv")
    counts = found["reason"].value_counts()
    assert 0 < counts["novel"] < 0.08 * len(new)
    assert (found["decision"] == "review").mean() == pytest.approx(0.2, abs=0.05)
    new["age"], new["income"] = 79.0, 3900.0  # inside the limits of each column, far from both
    new.to_csv("far.csv", index=False)
    found = predict("m.rejo", "far.csv", "--accept", "age,income", warning="100.0 %")
    assert (found["reason"] == "novel").mean() > 0.9


def test_what_is_novel_is_named_in_the_units_of_the_table(run, predict, table):
    frame = table(600, seed=2)
    frame.to_csv("t.csv", index=False)
    train(run, "--review-budget", "0.2", "--novelty")
    new = table(60, seed=5)
    new.loc[7, "age"], new.loc[9, "since"] = 110.0, "2031-05-01"
    new.to_csv("new.csv", index=False)
    found = predict("m.rejo", "new.csv")
    low, high = frame["age"].min(), frame["age"].max()
    assert found.loc[7, "reason"] == found.loc[9, "reason"] == "novel"
    assert found.loc[7, "detail"].startswith("age 110: ")
    assert f"{low:.3g} to {high:.3g}" in found.loc[7, "detail"]
    assert found.loc[9, "detail"].startswith("since 2031-05-01: ")
    assert (found.loc[[7, 9], ["suggested", "chance_wrong", "worth"]] == "").all(axis=None)
    assert "novelty" in run("inspect", "m.rejo")[1]


@pytest.mark.parametrize(
    "model",
    [
        "logistic",
        *(pytest.param(name, marks=pytest.mark.check) for name in ("svm", "boosting-posterior")),
    ],
)
def test_every_learner_detects_and_explains(run, predict, table, model):
    table(300, seed=2).to_csv("t.csv", index=False)
    train(run, "--review-budget", "0.3", "--novelty", "--model", model, "--report", "r.html")
    new = table(60, seed=5)
    new.loc[7, "since"] = "2033-05-01"
    new.to_csv("new.csv", index=False)
    found = predict("m.rejo", "new.csv", "--why")
    assert found.loc[7, "detail"].startswith("since 2033-05-01: ")
    ambiguous = found["reason"] == "ambiguous"
    assert ambiguous.any()
    assert found.loc[ambiguous, "why"].str.contains("age|income").mean() > 0.8


def test_promises_for_three_classes_and_a_learner_without_posteriors(run, table):
    classes = ("a", "b", "c")
    frame = table(900, seed=2, classes=classes)
    frame["sex"] = np.where(np.arange(len(frame)) % 3 == 0, "f", "m")
    frame.to_csv("t.csv", index=False)
    words = ("--group", "sex", "--order", "a,b,c", "--report", "r.html", "--novelty")
    limits = ("--max-error-by-group", "0.6", "--max-error-by-decision", "a=0.6,c=0.6")
    train(run, *words, *limits, "--confidence", "0.8", "--model", "logistic")
    new = table(300, seed=5, classes=classes).assign(sex="f")
    new.to_csv("new.csv", index=False)
    found = json.loads(run("evaluate", "m.rejo", "new.csv", "--json")[1])
    asked = [(verdict["part"], verdict["value"]) for verdict in found["target"]]
    assert asked == [
        ("max_error_by_decision", "a"), ("max_error_by_decision", "c"),
        ("max_error_by_group", "f"), ("max_error_by_group", "m"),
    ]  # fmt: skip
    assert [verdict["verdict"] for verdict in found["target"]] == ["met"] * 3 + ["open"]


def test_the_race_is_not_run_again_for_novel_cases(monkeypatch, run, table):
    """The posteriors are those of the race, and novel cases those of a fit on the same folds."""
    table(400, seed=2, classes=("a", "b", "c")).to_csv("t.csv", index=False)
    found, races = [], []
    choose_model, novel_kinds = operating.choose_model, operating.novel_kinds

    def race(*args, **how):
        races.append(choose_model(*args, **how))
        return races[-1]

    def watched(model, X, cases):
        found.append((model, X, cases, novel_kinds(model, X, cases)))
        return found[-1][-1]

    monkeypatch.setattr(operating, "choose_model", race)
    monkeypatch.setattr(operating, "novel_kinds", watched)
    train(run, "--review-budget", "0.3", "--novelty", "5%")
    ((model, X, cases, kind),) = found
    assert len(races) == 1
    assert cases is races[0].chosen.cases
    anew = cross_fit(model, X, cases.classes[cases.y], cv=PredefinedSplit(cases.fold))
    np.testing.assert_array_equal(kind, anew.kind)
    assert 0 < (kind > 0).sum() < 40
    assert cases.p.shape == anew.p.shape
