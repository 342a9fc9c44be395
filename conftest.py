"""Leaves out what needs an optional package that is not installed; makes every test repeatable."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import settings

collect_ignore = [] if find_spec("torch") else ["src/rejo/torch.py"]

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def seed():
    """An estimator without ``random_state`` draws the same numbers whatever ran before it."""
    np.random.seed(0)
