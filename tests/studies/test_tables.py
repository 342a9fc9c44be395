"""Public tables: from a folder, from OpenML, and from the authors' own files, the same table.

No table is part of the repository: these tests make some of the right shape.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from studies.store import StudyError
from studies.tables import CATALOGUE, available, download, fetch

# The labels at OpenML, in our class order; words and digits are nominal there, floats numeric.
OPENML = {
    "letter_ah": (6, ["A", "H"]),
    "vertebral_2c": (1524, ["2", "1"]),
    "german_credit": (31, ["good", "bad"]),
    "australian_credit": (40981, ["0", "1"]),
    "pima_diabetes": (37, ["tested_negative", "tested_positive"]),
    "heart_statlog": (53, ["absent", "present"]),
    "default_credit_card": (42477, ["0", "1"]),
    "era": (1030, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
    "esl": (1027, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
    "lev": (1029, [0.0, 1.0, 2.0, 3.0, 4.0]),
    "swd": (1028, [2.0, 3.0, 4.0, 5.0]),
    "balance_scale": (11, ["L", "B", "R"]),
    "car": (40975, ["unacc", "acc", "good", "vgood"]),
    "newthyroid": (40682, ["3", "1", "2"]),
    "winequality_red": (40691, ["3", "4", "5", "6", "7", "8"]),
}
TABLES = [name for name, entry in CATALOGUE.items() if not entry.file]


def made_up(name):
    """A table in our form with random values, and the catalogue's columns and class counts."""
    entry = CATALOGUE[name]
    rng = np.random.RandomState(0)
    n = sum(entry.counts)
    frame = pd.DataFrame(rng.randint(0, 50, size=(n, len(entry.columns))), columns=entry.columns)
    for column in entry.nominal:
        frame[column] = np.array(["<0", "none", "a b"])[frame[column] % 3]
    if entry.levels:
        sizes = [len(levels) for levels in entry.levels]
        frame[:] = np.hstack([np.eye(size, dtype=int)[rng.randint(size, size=n)] for size in sizes])
    frame["target"] = rng.permutation(np.repeat(entry.classes, entry.counts))
    return frame


def openml_form(name, frame):
    """The same table as scikit-learn's `fetch_openml` gives it with the liac-arff parser."""
    entry = CATALOGUE[name]
    _, labels = OPENML[name]
    data = frame[list(entry.columns)].astype(
        {c: float for c in entry.columns if c not in entry.nominal}
    )
    target = pd.Series(np.array(labels)[frame["target"] - entry.classes[0]], name="class")
    if name == "letter_ah":  # other letters, hyphens in the names
        data = pd.concat([data, data[:100]], ignore_index=True)
        target = pd.concat([target, pd.Series(["B", "Z"] * 50)], ignore_index=True)
        order = np.insert(np.arange(len(frame)), 700, np.arange(len(frame), len(data)))
        data, target = data.iloc[order], target.iloc[order]
        data.columns = [c.replace("_", "-") for c in data.columns]
    elif name == "car":
        first, columns = 0, {}
        for i, levels in enumerate(entry.levels):
            block = data.iloc[:, first : first + len(levels)].to_numpy()
            columns[f"c{i}"] = pd.Categorical(np.array(levels)[block.argmax(axis=1)])
            first += len(levels)
        data = pd.DataFrame(columns)
    elif name in ("german_credit", "pima_diabetes"):  # the same names; any order of them
        data = data[data.columns[::-1]]
    elif name == "heart_statlog":
        pass
    else:
        data.columns = [f"V{i}" for i in range(1, data.shape[1] + 1)]
    nominal = {"australian_credit": ["V1", "V4"], "default_credit_card": ["V2"]}.get(name, [])
    data = data.astype({c: "category" for c in [*entry.nominal, *nominal] if c in data})
    for column in nominal:  # nominal numbers are words in ARFF: "1", not 1.0
        data[column] = data[column].cat.rename_categories(lambda value: f"{value:g}")
    return Bunch(data=data, target=target.astype("category") if target.dtype != float else target)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("REJO_DATA", raising=False)


def assert_same(left, right):
    pd.testing.assert_frame_equal(left.data, right.data)
    pd.testing.assert_series_equal(left.target, right.target, check_names=False)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_folder_has_the_shape_of_the_catalogue(tmp_path, name):
    entry, frame = CATALOGUE[name], made_up(name)
    frame.to_csv(tmp_path / f"{name}.csv", index=False)
    assert name in available(tmp_path)
    table = fetch(name, tmp_path)
    assert list(table.data.columns) == list(entry.features)
    assert table.target.astype(int).tolist() == frame["target"].tolist()
    for column, kind in table.data.dtypes.items():
        assert (kind == "category") == (column in entry.nominal)
        assert column in entry.nominal or (table.data[column] == frame[column]).all()
    assert (table.groups is None) == (entry.group is None)


@pytest.mark.parametrize("name", OPENML)
def test_openml_gives_the_same_table(tmp_path, monkeypatch, name):
    frame = made_up(name)
    monkeypatch.setattr("studies.tables.CATALOGUE", {name: CATALOGUE[name]})

    def fetch_openml(*, data_id, as_frame, parser):
        assert (data_id, as_frame, parser) == (OPENML[name][0], True, "liac-arff")
        return openml_form(name, frame)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    (tmp_path / "ours").mkdir()
    frame.to_csv(tmp_path / "ours" / f"{name}.csv", index=False)
    (tmp_path / "theirs").mkdir()
    assert download(tmp_path / "theirs") == [name]
    assert download(tmp_path / "theirs") == []
    assert_same(fetch(name, tmp_path / "theirs"), fetch(name, tmp_path / "ours"))


@pytest.mark.parametrize(
    ("name", "sep", "header"),
    [("south_german_credit", " ", True), ("mammographic_mass", ",", False), ("bcct", ",", False)],
)
def test_the_files_of_the_authors_give_the_same_table(tmp_path, name, sep, header):
    entry, frame = CATALOGUE[name], made_up(name)
    (tmp_path / "ours").mkdir()
    frame.to_csv(tmp_path / "ours" / f"{name}.csv", index=False)
    theirs = frame[list(entry.columns)].copy()
    theirs["credit"] = np.array(entry.source_classes)[frame["target"] - entry.classes[0]]
    theirs.to_csv(tmp_path / entry.published, sep=sep, header=header, index=False)
    assert_same(fetch(name, tmp_path), fetch(name, tmp_path / "ours"))


def test_patients_follow_from_the_order_of_the_rows(tmp_path):
    made_up("bcct").to_csv(tmp_path / "bcct.csv", index=False)
    table = fetch("bcct", tmp_path)
    assert table.groups.tolist() == [*range(1, 121)] * 8
    two = fetch("bcct_binary", tmp_path, paper=True)
    assert list(two.data.columns) == ["f9", "f11", "f17", "f23"]
    assert two.target.tolist() == [int(k > 2) for k in table.target.astype(int)]


def test_gaps_are_nan_and_zeros_only_if_asked(tmp_path):
    frame = made_up("pima_diabetes")
    frame.to_csv(tmp_path / "pima_diabetes.csv", index=False)
    zeros = (frame["plas"] == 0).sum()
    assert fetch("pima_diabetes", tmp_path).data["plas"].isna().sum() == 0
    marked = fetch("pima_diabetes", tmp_path, mark_missing=True).data
    assert (marked["plas"].isna().sum(), marked["preg"].isna().sum()) == (zeros, 0)
    frame = made_up("mammographic_mass").astype(object)
    frame.loc[3, "age"] = "?"
    frame.to_csv(tmp_path / "mammographic_mass.csv", index=False)
    assert fetch("mammographic_mass", tmp_path).data["age"].isna().sum() == 1


def test_another_table_under_the_name_is_refused(tmp_path):
    frame = made_up("car")
    for wrong in (frame[1:], frame.drop(columns="x3"), frame.assign(target=1), frame[["x1"]]):
        wrong.to_csv(tmp_path / "car.csv", index=False)
        with pytest.raises(StudyError, match="car"):
            fetch("car", tmp_path)


def test_what_is_not_there_is_named_with_where_to_get_it(tmp_path):
    for name, where in (("swd", "OpenML"), ("bcct", "github")):
        with pytest.raises(FileNotFoundError, match=where):
            fetch(name, tmp_path)
    with pytest.raises(StudyError, match="folder"):
        fetch("swd", tmp_path / "no")
    assert available() == []
