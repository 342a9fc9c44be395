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


def run(*words):
    """Run a module in a process without threads, from which it is safe to fork."""
    found = subprocess.run(
        [sys.executable, "-m", *words],
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


@pytest.fixture(scope="module")
def outcomes():
    return run("tests.fuzz.recipes")


@pytest.mark.parametrize("name", RECIPES)
def test_attributes_that_agree_with_each_other_do_no_harm(name, outcomes):
    kind, detail = outcomes[name]
    assert kind in HARMLESS, detail


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_container_does_no_harm(name, outcomes):
    kind, detail = outcomes[name]
    assert kind in HARMLESS, detail


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
