"""A small table, a model trained on it, and the command line as a function."""

import re

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

from rejo import cli  # noqa: E402


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(err):
    """What stderr says, but for the stages, and the note that the extension was not built."""
    err = re.sub(r"^\[ *\d+ s\] .*\n", "", err, flags=re.MULTILINE)
    return re.sub(r"rejo: warning: rejo runs on its NumPy reference solver.*\n", "", err)


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code, stdout and stderr."""

    def command(*words):
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as stop:  # argparse: help, version and wrong usage
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, told(err)

    return command


@pytest.fixture
def refused(run):
    """Run a command that must fail with an exit code and one line; return this line."""

    def command(code, *words):
        found, _, err = run(*words)
        assert (found, err.count("\n")) == (code, 1), err
        assert err.startswith("rejo: error: ")
        assert err.endswith("\n")
        return err.removeprefix("rejo: error: ").rstrip("\n")

    return command


def make_table(n=120, classes=("bad", "good"), seed=0):
    """Cases with numbers, a category, dates, missing values, a constant column and row names."""
    random = np.random.RandomState(seed)
    x = random.normal(size=(n, 2))
    score = x[:, 0] - x[:, 1] + random.normal(0, 0.6, n)
    cuts = np.quantile(score, np.arange(1, len(classes)) / len(classes))
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.randint(0, 1500, n), unit="D")
    frame = pd.DataFrame(
        {
            "case": [f"{i + 1:04d}" for i in range(n)],
            "age": (40 + 10 * x[:, 0]).round(1),
            "income": (2000 + 500 * x[:, 1]).round(2),
            "job": random.choice(["clerk", "cook", "smith"], n),
            "since": days.strftime("%Y-%m-%d"),
            "region": random.choice(["north", "south"], n),
            "unit": "kg",
            "grade": np.array(classes)[np.digitize(score, cuts)],
        }
    )
    for name, every in (("income", 10), ("job", 13), ("since", 17)):
        frame.loc[::every, name] = None
    return frame


@pytest.fixture
def table():
    return make_table


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Path of a model, and of the table it was trained on."""
    home = tmp_path_factory.mktemp("trained")
    data, model = home / "cases.csv", home / "model.rejo"
    make_table().to_csv(data, index=False)
    code = cli.main(
        ["train", str(data), "--target", "grade", "--id", "case", "--by", "region",
         "--reject-cost", "0.2", "--model", "logistic", "-o", str(model)]
    )  # fmt: skip
    assert code == 0
    return model, data


@pytest.fixture
def model(trained):
    """Path of a model for the table."""
    return trained[0]


@pytest.fixture
def cases(folder):
    """Path of new cases."""
    path = folder / "new.csv"
    make_table(60, seed=1).to_csv(path, index=False)
    return path


@pytest.fixture
def predict(run):
    """Predict into a file and read it, with every cell as it is written."""

    def command(*words, warning=""):
        code, _, err = run("predict", *words, "-o", "out.csv", "--overwrite")
        assert code == 0, err
        assert bool(warning) == bool(err), err
        assert warning in err
        return pd.read_csv("out.csv", dtype=str, keep_default_na=False)

    return command
