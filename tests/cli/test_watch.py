"""The weekly file: read as the training table was, and watched column by column."""

import json
import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")

from rejo.cli import main  # noqa: E402


def loans(n, start, seed):
    random = np.random.RandomState(seed)
    income = np.exp(random.normal(10.4, 0.5, n)).round()
    score = random.randint(300, 850, n)
    applied = pd.Timestamp(start) + pd.to_timedelta(np.sort(random.randint(0, 90, n)), unit="D")
    months = random.randint(6, 60, n)
    months[random.rand(n) < 0.05] = -999
    risk = -(score - 600) / 60 - 1.5 * (np.log(income) - 10.4) + random.normal(0, 0.7, n)
    state = np.where(risk > 0.5, "default", "paid").astype(object)
    state[(state == "default") & (random.rand(n) < 0.08)] = "in default"
    return pd.DataFrame(
        {
            "id": [f"L{i:05d}" for i in range(n)],
            "branch": random.choice(["0012", "0013"], n),
            "income": income,
            "score": score,
            "born": (applied - pd.to_timedelta(random.randint(7000, 20_000, n), unit="D")).astype(
                str
            ),
            "applied": applied.strftime("%Y-%m-%d"),
            "months": months,
            "noise": random.normal(size=n).round(3),
            "state": state,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weekly")
    loans(900, "2024-01-01", 0).to_csv(folder / "train.csv", index=False)
    loans(300, "2024-05-01", 1).to_csv(folder / "week.csv", index=False)
    code = main(
        ["train", str(folder / "train.csv"), "--target", "state", "--same", "in default=default",
         "--id", "id", "--by", "branch", "--missing=-999", "--review-budget", "0.2", "--model",
         "logistic", "-o", str(folder / "m.rejo")]
    )  # fmt: skip
    assert code == 0
    return folder


def predict(folder, frame, capsys, *more, name="new.csv"):
    path, out = folder / name, folder / "out.csv"
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_excel(path, index=False)
    capsys.readouterr()
    code = main(
        ["predict", str(folder / "m.rejo"), str(path), "-o", str(out), "--overwrite", *more]
    )
    return code, pd.read_csv(out, dtype=str, keep_default_na=False), capsys.readouterr()


@pytest.fixture
def week(folder):
    return pd.read_csv(folder / "week.csv", dtype={"branch": str}).drop(columns="state")


def test_an_ordinary_week(folder, week, capsys):
    code, out, said = predict(folder, week, capsys)
    assert code == 0
    assert said.err == ""
    assert (out["decision"] != "review").mean() > 0.6
    pytest.importorskip("openpyxl")
    other = predict(folder, week, capsys, name="new.xlsx")
    assert other[0] == 0
    pd.testing.assert_frame_equal(other[1], out)


FAULTS = {
    "a tenth": ("score", lambda x: x / 10),
    "thousands": ("income", lambda x: x / 1000),
    "empty": ("score", lambda x: np.nan),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_in_a_column_that_matters_holds_the_file(folder, week, capsys, what):
    column, change = FAULTS[what]
    code, out, said = predict(folder, week.assign(**{column: change(week[column])}), capsys)
    assert code == 6
    assert (out["decision"] == "review").all()
    assert sorted(map(int, out["rank"])) == list(range(1, len(out) + 1))
    assert f"{column}: " in said.err
    assert f"--accept {column}" in said.err


def test_a_column_that_is_accepted(folder, week, capsys):
    changed = week.assign(score=week["score"] / 10)
    code, out, said = predict(folder, changed, capsys, "--accept", "score")
    assert code == 0
    assert (out["decision"] != "review").any()
    assert "10 times smaller" in said.err


def test_a_column_that_does_not_matter_is_said(folder, week, capsys):
    code, out, said = predict(folder, week.assign(noise=week["noise"] * 2), capsys)
    assert code == 0
    assert "noise" in said.err
    assert (out["decision"] != "review").mean() > 0.6


def test_json_has_the_columns(folder, week, capsys):
    changed = week.assign(score=week["score"] / 10)
    code, _, said = predict(folder, changed, capsys, "--json")
    assert code == 6
    (found,) = json.loads(said.out)["columns"]
    assert (found["column"], found["degree"], found["matters"]) == ("score", "fault", True)


def test_another_name_and_a_title(folder, week, capsys):
    _, expected, _ = predict(folder, week, capsys)
    other = week.rename(columns={"income": "Annual income"})
    code, _, said = predict(folder, other, capsys)
    assert code == 3
    assert "--rename 'Annual income=income'" in said.err
    code, out, _ = predict(folder, other, capsys, "--rename", "Annual income=income")
    assert code == 0
    pd.testing.assert_frame_equal(out, expected)
    path = folder / "title.csv"
    path.write_text("Loans of the week\n\n" + week.to_csv(index=False))
    for more in ([], ["--header", "3"]):
        out = folder / "out.csv"
        model = str(folder / "m.rejo")
        assert main(["predict", model, str(path), "-o", str(out), "--overwrite", *more]) == 0
        found = pd.read_csv(out, dtype=str, keep_default_na=False)
        pd.testing.assert_frame_equal(found, expected)


def test_evaluate_reads_as_training_did(folder, capsys):
    assert main(["evaluate", str(folder / "m.rejo"), str(folder / "week.csv")]) == 0
    said = capsys.readouterr()
    assert "are the same class" in said.out
    assert "0012" in said.out
    assert "as in training and must be reviewed" not in said.out
    assert main(["evaluate", str(folder / "m.rejo"), str(folder / "week.csv"), "--json"]) == 0


def test_inspect_shows_how_tables_are_read(folder, capsys):
    assert main(["inspect", str(folder / "m.rejo")]) == 0
    said = capsys.readouterr().out
    assert '"missing": ["-999"]' in said
    assert '"in default": "default"' in said
    assert "applied: it orders the rows" in said


def test_look_asks_about_classes_and_finds_what_they_hide(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "train.csv")
    frame["fees"] = np.where(frame["state"] == "default", 40 + frame["noise"], 0)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert main(["look", str(path), "--target", "state"]) == 0
    said = capsys.readouterr().out
    assert "--same 'in default=default'" in said
    assert "fees: tells" in said
    assert "applied: it orders the rows" in said
    assert "--missing=-999" in said
    assert main(["look", str(path), "--target", "state", "--same", "in default=default"]) == 0
    assert "fees: tells" not in capsys.readouterr().out


def test_dates_can_be_kept(folder, tmp_path, capsys):
    model = tmp_path / "m.rejo"
    train = ["train", str(folder / "train.csv"), "--target", "state", "--review-budget", "0.2",
             "--same", "in default=default", "--model", "logistic", "-o", str(model)]  # fmt: skip
    assert main([*train, "--keep", "applied", "--verbose"]) == 0
    assert "2 dates: born, applied" in capsys.readouterr().out
    assert main([*train, "--time", "applied", "--overwrite"]) == 0
    said = capsys.readouterr().out
    assert "applied: it orders the rows" in said
    assert "ages at it" in said


@pytest.mark.parametrize("price", ["error=100.000,review=40", "error=5000,review=1,000"])
def test_a_price_with_an_unclear_mark_is_refused(folder, price, capsys):
    with pytest.raises(SystemExit):
        main(["train", str(folder / "train.csv"), "--target", "state", "--costs", price, "-o", "x"])
    assert "thousands" in capsys.readouterr().err


def test_a_password_with_a_question_mark_is_not_shown():
    url = "postgresql://u:s3cr?t@127.0.0.1:1/d#t"
    run = subprocess.run(
        [sys.executable, "-m", "rejo.cli", "look", url], capture_output=True, text=True, check=False
    )
    assert run.returncode == 3
    assert "s3cr" not in run.stderr + run.stdout
    assert "postgresql://u@127.0.0.1:1/d#t" in run.stderr


def test_codes_of_branches_stay_as_they_are_written(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "train.csv", dtype={"branch": str}).drop(columns="born")
    numbered = frame.assign(branch=frame["branch"].str.lstrip("0"))  # a feature, a number
    numbered.to_csv(tmp_path / "t.csv", index=False)
    model = str(tmp_path / "m.rejo")
    words = ["--target", "state", "--same", "in default=default", "--review-budget", "0.2"]
    assert main(["train", str(tmp_path / "t.csv"), *words, "--model", "logistic", "-o", model]) == 0
    frame.to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    assert main(["evaluate", model, str(tmp_path / "new.csv"), "--by", "branch"]) == 0
    assert "0012 " in capsys.readouterr().out


def test_sentences_in_the_report_end_once(folder, tmp_path):
    pytest.importorskip("jinja2")
    words = ["--target", "state", "--same", "in default=default", "--review-budget", "0.2"]
    files = ["-o", str(tmp_path / "m.rejo"), "--report", str(tmp_path / "r.html")]
    frame = pd.read_csv(folder / "train.csv").assign(pay=lambda x: "$" + x["income"].astype(str))
    frame["share"] = np.where(np.arange(len(frame)) % 50 == 0, "n/a", frame["noise"].astype(str))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert main(["train", str(tmp_path / "t.csv"), *words, "--model", "logistic", *files]) == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "How columns were read" in page
    assert ".;" not in page
