"""All attributes of all classes that a model file may hold, replaced by hostile values.

Alone and in pairs that agree, in memory before ``save`` and in the file: the model is refused, or
its answers are classes and reviews.  Each change is tried in a fork of another process; see
``tests/fuzz``.
"""

import importlib
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("pandas")
pytest.importorskip("resource")  # limits; not on Windows

from rejo.persistence import TRUSTED_TYPES


def walk(*options):
    """Run the walk in a process without threads, from which it is safe to fork."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    found = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.walk", *map(str, options)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **threads},
        check=True,
    )
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def found():
    """Some changes in files and in memory; fitting the zoo takes most of the time."""
    return walk("--file", 0.4, "--memory", 0.15)


@pytest.mark.check
@pytest.mark.parametrize("where", ["file", "memory"])
def test_hostile_attributes_do_no_harm(found, where):
    assert found[where]["failures"] == []
    assert found[where]["counts"]["refused"] > 50


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("where", ["file", "memory"])
def test_many_hostile_values_of_each_attribute_do_no_harm(where):
    found = walk(f"--{where}", 1, "--values", 4)[where]
    assert found["failures"] == []
    assert found["counts"]["refused"] > 1000


# Ways to write the same, or parts of a random state; not classes.
NO_ESTIMATORS = ("builtins.", "numpy.", "scipy.sparse.")


def _exists(name):
    """Whether this version of scikit-learn has the class."""
    module, _, cls = name.rpartition(".")
    return hasattr(importlib.import_module(module), cls)


@pytest.mark.check
def test_every_class_is_in_the_zoo(found):
    classes = {name for name in TRUSTED_TYPES if not name.startswith(NO_ESTIMATORS)}
    classes = {name for name in classes if _exists(name)}
    assert classes <= set(found["classes"]), sorted(classes - set(found["classes"]))
