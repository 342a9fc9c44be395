"""The section on Spark of the guide, run as it is written, with two processes on this machine."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rejo import RejectClassifierCV, RejoBoost, cli
from rejo.distributed import fit
from rejo.persistence import load
from tests.cluster_setup import local_cluster

from .conftest import decisions, make_cases, spoil, write

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"
TRAINING = Path(__file__).parents[2] / "examples" / "on_spark.py"
LOST = """
# Ends a task in the second leg, once.
import os, signal, threading
from pathlib import Path
_run_task = run_task

def run_task(tasks):
    ((leg, share),) = tasks
    if leg.stage is not None and BarrierTaskContext.get().partitionId() == 1:
        if not Path("lost").exists():
            Path("lost").touch()
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return _run_task([(leg, share)])
"""

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        find_spec("pyspark") is None or find_spec("xgboost") is None,
        reason="pyspark is not installed (490 MB): `make spark` gets it and runs this test",
    ),
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="Spark needs Java 17 or newer: install it, then `make spark`",
    ),
]


def blocks():
    """Return the code of the section, block by block."""
    section = PAGE.read_text().split("\n## Spark\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model):
    """Where the code of the page has run: first the cases and the model, then what it wrote."""
    folder = tmp_path_factory.mktemp("spark")
    for name in ("new", "loans"):
        (folder / name).mkdir()
    cases = make_cases(2_600, seed=1)
    cases = spoil(cases.copy()).assign(case=cases["case"])
    write(folder / "new" / "a.parquet", cases[:1000], [600, 0, 400])
    write(folder / "new" / "b.parquet", cases[1000:], [1600])
    loans = make_cases(6_000, seed=2).round({"age": 0, "income": -1})
    write(folder / "loans" / "a.parquet", loans, [2000, 2500, 1500])
    shutil.copy(model, folder / "model.rejo")

    *before, using = blocks()
    training = TRAINING.read_text()
    (folder / "page.py").write_text("\n".join([*before, training, LOST, using, "spark.stop()"]))
    loopback = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=folder, env=os.environ | loopback,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


def test_decisions_and_ranks_are_those_of_predict(folder, tmp_path):
    decisions(folder / "new").to_parquet(tmp_path / "new.parquet")
    words = [str(folder / "model.rejo"), str(tmp_path / "new.parquet")]
    assert cli.main(["predict", *words, "-o", str(tmp_path / "one.parquet")]) == 0
    one = pd.read_parquet(tmp_path / "one.parquet").set_index("case")
    found = decisions(folder / "decided").set_index("case").loc[one.index]
    assert set(found["reason"].dropna()) == {"ambiguous", "novel"}
    assert list(found) == [{"rank": "sureness"}.get(name, name) for name in one]
    for name in one.columns.drop("rank"):
        here, there = found[name].astype(object), one[name].astype(object)
        np.testing.assert_array_equal(here.isna(), there.isna())
        np.testing.assert_array_equal(here.dropna(), there.dropna())
    reviews = decisions(folder / "reviews").set_index("case")
    assert reviews["rank"].to_dict() == one["rank"].dropna().to_dict()


def test_the_model_is_that_of_dask_to_the_bit(folder):
    search = RejectClassifierCV(RejoBoost(random_state=0), review_budget=0.2)
    with local_cluster() as cluster:
        there = fit(
            search, folder / "loans", target="grade", columns=["age", "income"], client=cluster
        )
    here = load(folder / "trained.rejo")
    assert (folder / "lost").exists()
    assert here.summary() == there.summary()
    new = make_cases(5_000, seed=3)[["age", "income"]]
    for one, other in zip(here.judge(new), there.judge(new), strict=True):
        np.testing.assert_array_equal(one, other)
