"""The loop: the same rows in processes, on a cluster, stopped and gone on."""

import os
import signal

import pytest

from studies.run import known, run, seed_of
from tests.studies.tiny import TinyCell, TinyPlan, bare, rows_of


def test_seeds_depend_on_the_key_alone():
    assert seed_of(0, "bcct", "random", 0.05, 3, "rejoNN") == 1877534448
    assert seed_of("data", 0, "syntheticI", "random", 0.4, 99, 0) == 533122427
    assert seed_of(1) != seed_of("1")


def test_names_are_put_in_order_and_checked():
    assert known("figure", ["b", "a"], "abc") == ("a", "b")
    with pytest.raises(ValueError, match="figure"):
        known("figure", ["d"], "abc")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_do_not_matter(tmp_path, n_jobs):
    plan = TinyPlan(9)
    found = run(plan, tmp_path, n_jobs=n_jobs)
    assert (found.n_computed, found.skipped, found.failed) == (9, [], [])
    assert bare(found.rows) == rows_of(plan)
    assert run(plan, tmp_path, n_jobs=n_jobs).n_computed == 0


def test_a_cell_that_fails_is_named_and_tried_again(tmp_path):
    found = run(TinyPlan(fails=(2,)), tmp_path)
    assert found.n_computed == 3
    assert len(found.failed) == 1
    assert "no luck" in found.failed[0]
    assert len(found.rows) == 6
    assert run(TinyPlan(), tmp_path).n_computed == 1


def test_a_table_that_is_not_there_is_skipped(tmp_path):
    found = run(TinyPlan(), tmp_path, data_home="data1")
    assert found.skipped == ["data1: no table"]
    assert {row["dataset"] for row in found.rows} == {"data0"}


class KillsOnce(TinyPlan):
    """Its first process is killed while it computes."""

    mark = ""

    def compute(self, cell, table):
        if cell.repetition == 5 and not os.path.exists(self.mark):
            open(self.mark, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(cell, table)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
def test_a_process_that_is_killed_costs_nothing(tmp_path):
    plan = KillsOnce(12)
    plan.mark = str(tmp_path / "mark")
    found = run(plan, tmp_path / "rows", n_jobs=2)
    assert (tmp_path / "mark").exists()
    assert (found.n_computed, found.failed) == (12, [])
    assert bare(found.rows) == rows_of(plan)


@pytest.mark.cluster
def test_a_cluster_gives_the_same_rows(tmp_path):
    pytest.importorskip("distributed")
    from studies.paper import PaperStudy
    from tests.cluster_setup import local_cluster

    plan = PaperStudy(
        {"syntheticI": ("SVM-1C/poly", "rejoNN")}, 2, (0.1,), (0.1, 0.3), grid="coarse"
    )
    here = run(plan, tmp_path / "here")  # first: the scheduler, in this process, gets the package
    with local_cluster() as cluster:
        there = run(plan, tmp_path / "there", dask=cluster.scheduler_address)
    assert (there.n_computed, there.failed) == (4, [])
    assert [r | {"seconds": 0} for r in there.rows] == [r | {"seconds": 0} for r in here.rows]


def test_a_worker_with_another_rejo_is_refused(tmp_path, monkeypatch):
    from studies import run as module

    result = module.Result(
        TinyCell("data0", 0), TinyPlan().compute(TinyCell("data0", 0), 1.0), "other"
    )
    monkeypatch.setattr(module, "_on_cluster", lambda *_: (result for _ in range(1)))
    found = run(TinyPlan(1), tmp_path, dask="tcp://nowhere")
    assert found.rows == []
    assert "another rejo" in found.failed[0]
