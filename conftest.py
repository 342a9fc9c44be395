"""Leaves out what needs an optional package that is not installed; makes every test repeatable."""

import gc
import os
from importlib.util import find_spec

# Small matrices: BLAS threads that wait for each other cost many times what they save.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

NEEDED = {"torch": "src/rejo/torch.py", "onnxruntime": "src/rejo/persistence/_onnx.py"}
collect_ignore = [path for package, path in NEEDED.items() if not find_spec(package)]
# The site: what only Sphinx imports, and what it writes beside the pages.
collect_ignore += ["docs/conf.py", "docs/_ext", "docs/inventories", "docs/gallery"]

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collection_finish():
    """Modules and tests stay to the end: the garbage collector need not look at them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def instruction_set():
    """``REJO_ENGINE`` names what the compiled solvers run on: `make sanitize` takes all in turn."""
    if name := os.environ.get("REJO_ENGINE"):
        from rejo.solvers import _svm

        _svm.use(name)


@pytest.fixture(autouse=True)
def seed():
    """An estimator without ``random_state`` draws the same numbers whatever ran before it."""
    np.random.seed(0)
