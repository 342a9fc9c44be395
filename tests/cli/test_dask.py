"""``--dask ADDRESS``: the same results from a cluster, and errors that name the option."""

import json

import pytest

from tests.cluster_setup import local_cluster

pytest.importorskip(
    "distributed", reason='dask.distributed is not installed: pip install "rejo[dask]"'
)
pytestmark = pytest.mark.cluster
WORDS = ("t.csv", "--target", "grade", "--drop", "case", "--folds", "2", "--json")
METHODS = ("--methods", "logistic,logistic-posterior", "--reject-costs", "0.1,0.3")


def test_compare_gives_the_same_rows_on_a_cluster(run, table):
    table(60).to_csv("t.csv", index=False)
    code, here, err = run("compare", *WORDS, *METHODS, "--n-jobs", "1")
    assert (code, err) == (0, "")
    with local_cluster() as cluster:
        code, there, err = run("compare", *WORDS, *METHODS, "--dask", cluster.scheduler_address)
    assert (code, err) == (0, "")
    assert untimed(there) == untimed(here)


def untimed(out):
    found = json.loads(out)
    assert found["rows"]
    for row in found["rows"]:
        for key in ("fit_seconds", "tune_seconds"):
            del row[key]
    return found


@pytest.mark.parametrize(
    "words", ["--dask tcp://127.0.0.1:1", "--dask localhost", "--dask tcp://127.0.0.1:1 --n-jobs 2"]
)
def test_addresses_that_are_refused(refused, table, words):
    """Nothing listens; no address; a cluster has its own processes."""
    table(60).to_csv("t.csv", index=False)
    assert "--dask" in refused(2, "compare", *WORDS, *words.split())
