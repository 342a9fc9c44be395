"""A model file, and cases in several Parquet files with odd row groups."""

import os
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("skops")


def make_cases(n, seed):
    """Cases with numbers, words and gaps; some are not as in training."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).round(3)
    frame = pd.DataFrame({
        "case": [f"{seed}-{i:05d}" for i in range(n)],
        "age": 40 + 10 * x[:, 0],
        "income": np.where(random.random(n) < 0.1, np.nan, 2000 + 500 * x[:, 1]),
        "job": random.choice(["clerk", "cook", "smith"], n),
        "region": random.choice(["north", "south"], n),
        "grade": np.where(x[:, 0] - x[:, 1] + 0.5 * x[:, 2] > 0, "good", "bad"),
    })  # fmt: skip
    return frame


def spoil(frame, seed=0):
    """Make a few rows such that they go to review: a new word, a number far outside."""
    random = np.random.default_rng(seed)
    rows = random.choice(len(frame), len(frame) // 50, replace=False)
    frame.loc[rows[::2], "job"] = "astronaut"
    frame.loc[rows[1::2], "age"] = 1e6
    frame.loc[rows[:3], "case"] = ["", "=1+2", frame.loc[rows[3], "case"]]
    return frame


def write(path, frame, sizes):
    """Write a Parquet file whose row groups have these sizes."""
    assert sum(sizes) == len(frame)
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    done = 0
    with pq.ParquetWriter(path, schema) as writer:
        for size in sizes:
            part = frame[done : done + size]
            writer.write_table(pa.Table.from_pandas(part, schema, preserve_index=False))
            done += size


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Path of a model file."""
    from sklearn.pipeline import make_pipeline

    from rejo import RejectClassifierCV, RejoLinear
    from rejo.persistence import save
    from rejo.tables import TableEncoder

    cases = make_cases(400, seed=0)
    pipeline = make_pipeline(TableEncoder(), RejoLinear())
    chosen = RejectClassifierCV(pipeline, review_budget=0.2, cv=3, random_state=0)
    chosen.fit(cases[["age", "income", "job"]], cases["grade"])
    path = tmp_path_factory.mktemp("model") / "model.rejo"
    save(chosen, path, table={"id": "case", "target": "grade"})
    return path


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Folder of cases: four files, with empty row groups and one of a single row."""
    folder = tmp_path_factory.mktemp("new")
    frame = spoil(make_cases(2_600, seed=1))
    write(folder / "a.parquet", frame[:1000], [600, 0, 399, 1])
    write(folder / "b.parquet", frame[1000:2500], [700, 800])
    write(folder / "c.parquet", frame[2500:], [100])
    write(folder / "d.parquet", frame[:0], [0])
    return folder


@pytest.fixture(scope="session")
def whole(data, tmp_path_factory):
    """Path of the same cases in one file."""
    path = tmp_path_factory.mktemp("whole") / "cases.parquet"
    decisions(data).to_parquet(path, index=False)
    return path


@pytest.fixture
def small_parts(monkeypatch):
    """A part for each row group."""
    monkeypatch.setattr("rejo.distributed._part_tasks.LEAST_ROWS", 1)


@pytest.fixture
def on_one_machine(model, whole, tmp_path):
    """Decide the same cases by ``rejo predict``, in one file."""

    def decide(*options):
        from rejo import cli

        path = tmp_path / "one.parquet"
        words = ["predict", str(model), str(whole), "-o", str(path), "--overwrite", *options]
        assert cli.main(words) == 0
        return pd.read_parquet(path)

    return decide


def decisions(folder):
    """Return the rows of a folder, in the order of its parts."""
    parts = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    return pd.concat(map(pd.read_parquet, parts), ignore_index=True)


def contents(folder):
    """Return the bytes of all files of a folder, also of hidden ones."""
    files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
