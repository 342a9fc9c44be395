"""Attacks on compiled code, memory and time, by name.

They crash a reader that trusts what it reads, so they run in another process, and there each in
one of its own with limits on time and memory; see ``tests/fuzz``.
"""

import json
import os
import subprocess
import sys
import threading

import pytest

pytest.importorskip("pandas")
pytest.importorskip("resource")  # limits; not on Windows

from rejo.persistence import inspect, load, save
from tests.fuzz.bombs import BOMBS
from tests.fuzz.recipes import RECIPES

HARMLESS = ("refused", "predicted")


# One of each kind: a container, an array, the tree's JSON, compiled code, memory, processes.
FEW = (
    "huge_array_header", "matrix_with_indices_outside", "overlapping_members", "deep_nesting",
    "doubling", "colliding_integers", "kernel_of_another_size", "processes_of_a_search",
)  # fmt: skip


def run(*names):
    """Run attacks in a process without threads, from which it is safe to fork."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.recipes", *names],
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize(
    "names",
    [pytest.param(FEW, id="few"), pytest.param((), id="all", marks=pytest.mark.check)],
)
def test_neither_attributes_that_agree_nor_containers_do_harm(names):
    outcomes = run(*names)
    assert outcomes.keys() == set(names or (*RECIPES, *BOMBS))
    assert not {name: found for name, found in outcomes.items() if found[0] not in HARMLESS}


@pytest.mark.parametrize("read", [load, inspect])
def test_a_model_comes_through_a_pipe(read, data, tmp_path):
    from rejo.estimators import RejoLinear

    save(RejoLinear().fit(*data), tmp_path / "model.rejo")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (tmp_path / "model.rejo").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert read(pipe) is not None
    writer.join()
