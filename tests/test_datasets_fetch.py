"""The catalogue: from a folder, from OpenML, and from the authors' own files, the same table.

No table is part of the repository. Most tests make one of the right shape; those on the real tables
need a folder with them, that of REJO_DATA.
"""

import os
from dataclasses import FrozenInstanceError
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from rejo.datasets import CATALOGUE, available, fetch
from rejo.tables import TableError

pd = pytest.importorskip("pandas")

REAL = Path(os.environ.get("REJO_DATA") or os.devnull)  # no such folder: nothing is found in it
needs_tables = pytest.mark.skipif(
    not (REAL / "MANIFEST.csv").is_file(),
    reason="no folder with the real tables: set REJO_DATA to it",
)

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


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("REJO_DATA", raising=False)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def unreachable(**_):
        raise URLError("no network in tests")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)


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


def stub_openml(monkeypatch, name, frame):
    def fetch_openml(*, data_id, as_frame, parser):
        assert (data_id, as_frame, parser) == (OPENML[name][0], True, "liac-arff")
        return openml_form(name, frame)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)


def assert_same(left, right):
    pd.testing.assert_frame_equal(left.data, right.data)
    pd.testing.assert_series_equal(left.target, right.target, check_names=False)
    pd.testing.assert_frame_equal(left.others, right.others)
    assert left.target_names == right.target_names
    assert left.name == right.name


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_folder_has_the_shape_of_the_catalogue(tmp_path, name):
    entry = CATALOGUE[name]
    frame = made_up(name)
    frame.to_csv(tmp_path / f"{name}.csv", index=False)
    table = fetch(name, tmp_path)
    assert table.feature_names == list(table.data.columns) == list(entry.features)
    assert table.task == entry.task
    np.testing.assert_array_equal(table.target, frame["target"])
    if entry.task == "ordinal":
        assert table.target.cat.ordered
        assert table.target.cat.categories.tolist() == list(range(1, len(entry.counts) + 1))
    else:
        assert table.target.dtype == np.int64
    assert sorted(c for c in table.data if table.data[c].dtype != float) == sorted(entry.nominal)
    assert str(tmp_path) in table.source
    for part in (entry.citation, entry.licence, entry.note):
        assert part in table.DESCR


@pytest.mark.parametrize("name", OPENML)
def test_openml_gives_the_same_table(tmp_path, monkeypatch, name):
    frame = made_up(name)
    frame.to_csv(tmp_path / f"{name}.csv", index=False)
    stub_openml(monkeypatch, name, frame)
    remote = fetch(name)
    assert remote.source == f"OpenML data_id {OPENML[name][0]}"
    assert_same(remote, fetch(name, tmp_path))


@needs_tables
@pytest.mark.parametrize("name", OPENML)
def test_openml_gives_the_same_real_table(monkeypatch, name):
    frame = pd.read_csv(REAL / f"{name}.csv")
    stub_openml(monkeypatch, name, frame)
    assert_same(fetch(name), fetch(name, REAL))


def test_every_table_has_a_source():
    for name, entry in CATALOGUE.items():
        assert (entry.openml is None) == (name not in OPENML)
        assert entry.openml or (entry.published and entry.url)
        assert len(entry.counts) == len(entry.target_names)
        assert set(entry.paper_features) <= set(entry.columns)
    with pytest.raises(TypeError):
        CATALOGUE["new"] = None
    with pytest.raises(FrozenInstanceError):
        CATALOGUE["car"].name = "new"


@pytest.mark.parametrize("name", ["bcct", "bcct_all"])
def test_bcct_as_its_authors_publish_it(tmp_path, name):
    """No header, the class last; patients and annotators follow from the order of the rows."""
    frame = made_up(name)
    frame.to_csv(tmp_path / f"{name}.csv", index=False, header=False)
    table = fetch(name, tmp_path)
    n = CATALOGUE[name].n_images
    np.testing.assert_array_equal(table.data, frame.drop(columns="target"))
    np.testing.assert_array_equal(table.target, frame["target"])
    np.testing.assert_array_equal(table.groups, np.tile(np.arange(1, n + 1), 8))
    np.testing.assert_array_equal(table.others["annotator"], np.repeat(np.arange(1, 9), n))
    assert list(table.others) == ["annotator"]


def test_bcct_groups_of_the_file_are_kept(tmp_path):
    frame = made_up("bcct").assign(group=np.arange(960) // 8, annotator=np.arange(960) % 8)
    frame.to_csv(tmp_path / "bcct.csv", index=False)
    table = fetch("bcct", tmp_path)
    np.testing.assert_array_equal(table.groups, frame["group"])
    assert table.data.shape == (960, 30)


def test_bcct_tasks_of_the_paper(tmp_path):
    frame = made_up("bcct")
    frame.to_csv(tmp_path / "bcct.csv", index=False)
    assert available(tmp_path) == ["bcct", "bcct_binary"]
    table = fetch("bcct_binary", tmp_path, features="paper")
    np.testing.assert_array_equal(table.target, frame["target"] > 2)
    np.testing.assert_array_equal(table.data, frame.iloc[:, [8, 10, 16, 22]])
    assert table.groups.nunique() == 120
    assert table.task == "binary"
    made_up("esl").to_csv(tmp_path / "esl.csv", index=False)
    with pytest.raises(TableError, match="features='paper' is for the BCCT tables only"):
        fetch("esl", tmp_path, features="paper")


def test_mammographic_mass_as_its_authors_publish_it(tmp_path):
    frame = made_up("mammographic_mass").astype(object)
    frame.iloc[0, 1] = frame.iloc[3, 0] = "?"
    frame.to_csv(tmp_path / "mammographic_masses.data", index=False, header=False)
    table = fetch("mammographic_mass", tmp_path)
    assert table.feature_names == ["age", "shape", "margin", "density"]
    assert table.data.isna().sum().sum() == 1
    assert table.others["bi_rads"].isna().sum() == 1
    assert fetch("mammographic_mass", tmp_path, features=["bi_rads", "age"]).data.shape == (961, 2)
    with pytest.raises(TableError, match=r"no column 'ages'. Did you mean 'age'"):
        fetch("mammographic_mass", tmp_path, features=["ages"])
    with pytest.raises(TableError, match="features must be None, 'paper' or a list"):
        fetch("mammographic_mass", tmp_path, features="age")


def test_south_german_credit_as_its_authors_publish_it(tmp_path):
    """German names, blanks between the columns, and 1 for good: the other way round."""
    frame = made_up("south_german_credit")
    raw = frame.assign(target=1 - frame["target"]).rename(columns=lambda c: f"de{len(c)}_{c}")
    raw.to_csv(tmp_path / "SouthGermanCredit.asc", index=False, sep=" ")
    table = fetch("south_german_credit", tmp_path)
    np.testing.assert_array_equal(table.target, frame["target"])
    np.testing.assert_array_equal(table.data, frame.drop(columns="target"))


def test_zeros_of_pima_diabetes(tmp_path):
    frame = made_up("pima_diabetes")
    frame.to_csv(tmp_path / "pima_diabetes.csv", index=False)
    assert not fetch("pima_diabetes", tmp_path).data.isna().any().any()
    marked = fetch("pima_diabetes", tmp_path, mark_missing=True).data
    zero = frame == 0
    for column in marked:
        expected = zero[column] & (column in ("plas", "pres", "skin", "insu", "mass"))
        np.testing.assert_array_equal(marked[column].isna(), expected)


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    assert available() == []
    made_up("esl").to_csv(tmp_path / "esl.csv", index=False)
    monkeypatch.setenv("REJO_DATA", str(tmp_path))
    assert available() == ["esl"]
    assert fetch("esl").data.shape == (488, 4)


def test_without_network_the_error_says_what_to_do(tmp_path):
    with pytest.raises(
        OSError, match=r"car could not be downloaded from OpenML .*no network.*as car\.csv"
    ):
        fetch("car", tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "site"),
    [
        ("bcct", "bcct.csv", "github.com/rjgsousa/RejectOption"),
        ("bcct_binary", "bcct.csv", "github.com/rjgsousa/RejectOption"),
        ("bcct_all", "bcct_all.csv", "github.com/rjgsousa/RejectOption"),
        ("south_german_credit", "SouthGermanCredit.asc", "archive.ics.uci.edu"),
        ("mammographic_mass", "mammographic_masses.data", "archive.ics.uci.edu"),
    ],
)
def test_what_openml_does_not_have(tmp_path, name, file, site):
    with pytest.raises(FileNotFoundError, match="is not at OpenML") as error:
        fetch(name, tmp_path)
    for part in (name, file, site, str(tmp_path)):
        assert part in str(error.value)
    with pytest.raises(FileNotFoundError, match=r"into a data folder \(REJO_DATA or data_home\)"):
        fetch(name)


def test_another_table_under_the_name_is_refused(tmp_path, monkeypatch):
    frame = made_up("swd")
    stub_openml(monkeypatch, "swd", frame[1:].reset_index(drop=True))
    with pytest.raises(
        TableError, match=r"OpenML data_id 1028: this is not the table 'swd': its 999 rows"
    ):
        fetch("swd")
    frame.drop(columns="x3").to_csv(tmp_path / "swd.csv", index=False)
    with pytest.raises(
        TableError, match=r"swd\.csv: this is not the table 'swd': it has no column x3"
    ):
        fetch("swd", tmp_path)
    frame.drop(columns="x3").to_csv(tmp_path / "swd.csv", index=False, header=False)
    with pytest.raises(TableError, match="has 9 columns before the target, not 10"):
        fetch("swd", tmp_path)


def test_an_unknown_name_is_named():
    with pytest.raises(
        TableError, match=r"'german' is not in the catalogue. Did you mean .*'german_credit'"
    ):
        fetch("german")


@needs_tables
def test_the_catalogue_is_the_manifest():
    manifest = pd.read_csv(REAL / "MANIFEST.csv", keep_default_na=False).set_index("name")
    assert sorted(manifest.index) == sorted(TABLES)
    for name, row in manifest.iterrows():
        entry = CATALOGUE[name]
        assert (entry.task, len(entry.columns)) == (row["task"], row["p"])
        assert "/".join(map(str, entry.counts)) == row["class_counts"]
        assert len(entry.nominal) == row["n_categorical"]
        if entry.openml:
            data_id, openml_name, version = entry.openml
            assert row["openml"].startswith(f"{openml_name} v{version} (data_id {data_id}")


@needs_tables
@pytest.mark.parametrize("name", CATALOGUE)
def test_real_tables(name):
    entry = CATALOGUE[name]
    table = fetch(name, REAL)
    assert table.data.shape == (sum(entry.counts), len(entry.features))
    assert table.target.value_counts().loc[list(entry.classes)].tolist() == list(entry.counts)
    assert table.data.isna().sum().sum() == (160 if name == "mammographic_mass" else 0)
    if entry.group:
        assert set(table.groups.value_counts()) == {8}


@needs_tables
def test_a_random_split_of_bcct_leaks():
    """The nearest other row is the same patient's, so a classifier need not learn anything."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    table = fetch("bcct", REAL)
    X = StandardScaler().fit_transform(table.data)
    nearest = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X, return_distance=False)[:, 1]
    groups = table.groups.to_numpy()
    assert (groups[nearest] == groups).mean() > 0.95
