"""The file of every week: whatever happened to its cells, every row has a decision or a reason."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rejo import cli

FEATURES = {"age": "number", "income": "number", "job": "category", "since": "date"}
GAPS = ("income", "since")  # that training has gaps in
N_TRAINED, N_NEW = 300, 40
ONCE = (Phase.explicit, Phase.generate)  # a failing file is small: no time to make it smaller


class Office(NamedTuple):
    """A trained model, and how its office writes tables."""

    home: object
    sep: str
    decimal: str
    date: str

    def write(self, frame, name, quoting=csv.QUOTE_MINIMAL):
        path = self.home / name
        frame.to_csv(path, index=False, sep=self.sep, quoting=quoting)
        return path

    def decide(self, path, *words):
        """Decisions on a file, all cells as they are written."""
        words = ["predict", self.home / "m.rejo", path, "-o", self.home / "out.csv", *words]
        assert call(*words, "--overwrite") == 0
        return pd.read_csv(self.home / "out.csv", dtype=str, keep_default_na=False)


def call(*words):
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return cli.main([str(word) for word in words])


def make_cases(n, seed, sep=",", decimal=".", date="%Y-%m-%d"):
    """Cases as text, with gaps where they are usual."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    grade = np.where(x[:, 0] - x[:, 1] + random.normal(0, 0.5, n) > 0, "good", "bad")
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(0, 1500, n), unit="D")
    frame = pd.DataFrame(
        {
            "case": [f"{i + 1:05d}" for i in range(n)],
            "age": [f"{value:.1f}" for value in np.clip(45 + 9 * x[:, 0], 19, 80)],
            "income": [f"{value:.2f}" for value in np.clip(2000 + 500 * x[:, 1], 300, 4000)],
            "job": random.choice(["clerk", "cook", "smith"], n),
            "since": days.strftime(date),
            "note": random.choice(["", "called", "see file"], n),
            "grade": grade,
        }
    )
    for name in ("age", "income"):
        frame[name] = frame[name].str.replace(".", decimal)
    for name in GAPS:
        frame.loc[random.random(n) < 0.1, name] = ""
    return frame


STYLES = [(",", ".", "%Y-%m-%d"), (";", ",", "%d.%m.%Y"), ("\t", ".", "%d/%m/%Y")]


@pytest.fixture(
    scope="module",
    params=[STYLES[1], *(pytest.param(style, marks=pytest.mark.check) for style in STYLES[::2])],
    ids=["semicolon", "comma", "tab"],
)
def office(request, tmp_path_factory):
    office = Office(tmp_path_factory.mktemp("office"), *request.param)
    path = office.write(make_cases(N_TRAINED, 0, *request.param), "trained.csv")
    words = ("--target", "grade", "--id", "case", "--drop", "note", "--model", "logistic")
    assert call("train", path, *words, "--reject-cost", "0.2", "-o", office.home / "m.rejo") == 0
    return office


# Cells that must not be decided on, by the kind of the column, and what a reason then says.
DAMAGE = {
    "number": ["old", "4o", "12 kg", "1e999", "1e30", "-99999999", "45;46", "2021-03-04", "x"],
    "category": ["astronaut", "clerk/cook", "???x", "17", "=1+2", 'the "boss"'],
    "date": ["soon", "2021-13-45", "31.31.2021", "next week", "12", "0000-00-00"],
}
# Cells that mean the same as before.
HARMLESS = {
    "number": [" {} ", "{}", "+{}"],
    "category": [" {}", "{}  "],
    "date": [" {} ", "{}"],
}


def damaged(draw, frame):
    """Change some cells; return the columns that are now spoilt, by row."""
    bad = {}
    for row in draw(st.lists(st.integers(0, len(frame) - 1), max_size=6, unique=True)):
        name = draw(st.sampled_from([*FEATURES, "note"]))
        kind = FEATURES.get(name, "note")
        old = frame.loc[row, name]
        how = draw(st.sampled_from(["damage", "harmless", "emptied"]))
        if kind == "note":
            frame.loc[row, name] = 'never "used"; at all'
        elif how == "damage":
            frame.loc[row, name] = draw(st.sampled_from(DAMAGE[kind]))
            bad[row] = name
        elif how == "emptied" and name not in GAPS:
            frame.loc[row, name] = draw(st.sampled_from(["", " "]))
            bad[row] = name
        elif how == "harmless" and old:
            frame.loc[row, name] = draw(st.sampled_from(HARMLESS[kind])).format(old)
    return bad


def check(office, data):
    n = data.draw(st.integers(1, N_NEW))
    seed = data.draw(st.integers(1, 1000))
    frame = make_cases(n, seed, office.sep, office.decimal, office.date)
    clean = office.decide(office.write(frame, "clean.csv"))
    bad = damaged(data.draw, frame)
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    found = office.decide(office.write(frame, "damaged.csv", quoting))
    assert found["case"].tolist() == frame["case"].tolist() == clean["case"].tolist()
    for row, name in bad.items():
        assert found.loc[row, "decision"] == "review", (name, frame.loc[row, name])
        assert found.loc[row, "detail"].startswith(f"{name}: "), (name, frame.loc[row, name])
        assert found.loc[row, "suggested"] == found.loc[row, "chance_wrong"] == ""
        assert 1 <= int(found.loc[row, "rank"]) <= len(bad) + empty_rows(frame)
    rest = found.index.drop(list(bad))
    same = found.columns.drop("rank")
    pd.testing.assert_frame_equal(found.loc[rest, same], clean.loc[rest, same])
    ranks = found.loc[found["rank"] != "", "rank"].astype(int)
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    assert (found.loc[ranks.index, "decision"] == "review").all()
    assert (found.loc[ranks.index, "reason"] != "").all()


def empty_rows(frame):
    return int((frame[list(FEATURES)] == "").all(axis=1).sum())


@settings(max_examples=10, phases=ONCE)
@given(data=st.data())
def test_every_row_has_a_decision_or_a_reason(office, data):
    check(office, data)


@pytest.mark.slow
@settings(max_examples=300, phases=ONCE)
@given(data=st.data())
def test_every_row_has_a_decision_or_a_reason_often(office, data):
    check(office, data)


WEEKS = [
    ("age", "n/a"), ("age", ""), ("age", "fourty"), ("age", "4 5"), ("income", "2000 kg"),
    ("income", "9999999999"), ("job", "pilot"), ("since", "yesterday"), ("since", "2099-99-99"),
    ("income", "see note"),
]  # fmt: skip


def test_ten_weekly_files_with_a_damaged_cell_each(office):
    """All rows but the damaged one are decided as they would be without it."""
    for week, (name, value) in enumerate(WEEKS):
        frame = make_cases(N_NEW, 100 + week, office.sep, office.decimal, office.date)
        clean = office.decide(office.write(frame, "clean.csv"))
        frame.loc[3 * week, name] = value
        found = office.decide(office.write(frame, "week.csv"))
        row = found.loc[3 * week]
        assert row["decision"] == "review"
        assert row["rank"] == "1"
        assert row["detail"].startswith(f"{name}: "), row["detail"]
        others = found.index.drop(3 * week)
        same = found.columns.drop("rank")
        pd.testing.assert_frame_equal(found.loc[others, same], clean.loc[others, same])
        refused = ["predict", office.home / "m.rejo", office.home / "week.csv", "--strict"]
        assert call(*refused, "-o", office.home / "no.csv") == 3
        assert not (office.home / "no.csv").exists()


def test_a_row_that_does_not_fit_the_header_is_a_review(office):
    """Its cells may stand in the wrong columns; the rows around it are decided."""
    frame = make_cases(N_NEW, 7, office.sep, office.decimal, office.date)
    path = office.write(frame, "week.csv")
    clean = office.decide(path)
    lines = path.read_text().splitlines()
    lines[3] = lines[3].rpartition(office.sep)[0]
    lines[9] += office.sep + "more"
    path.write_text("\n".join(lines))
    found = office.decide(path)
    assert (found.loc[[2, 8], "decision"] == "review").all()
    assert found.loc[[2, 8], "detail"].str.match(r"the row has \d fields, unlike the header").all()
    others, same = found.index.drop([2, 8]), found.columns.drop("rank")
    pd.testing.assert_frame_equal(found.loc[others, same], clean.loc[others, same])
