"""Small models, and their files."""

import numpy as np
import pytest

pytest.importorskip("skops")


@pytest.fixture(scope="session")
def data():
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (120, 2))
    y = (X[:, 0] + X[:, 1] + random.normal(0, 0.4, 120) > 0).astype(int)
    return X, y


@pytest.fixture(scope="session")
def ordered(data):
    X, _ = data
    return X, np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
